#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# applications: elasticity
"""PatchFEM's host path on N threads beside deal.II + Trilinos in one process and in N MPI processes: one machine, one
problem (parameter_files/elasticity/cantilever.prm), the same mesh, matrix entries, preconditioner and tolerance.

  bench_cpu_dealii.py [--cores N] [--refinements R] [--rounds N] [--repetitions N] [--json FILE] [--build DIR]

A round runs the application twice: on the back end host with Trilinos as the baseline in the same process, and with the
back end trilinos under mpirun. Rounds alternate between the two, so that whatever else the machine does meets both;
medians over the rounds count. The solutions are compared by their norms in L2 and H1 and, within one process, entry by
entry. Exit code 1 if they do not agree."""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 1e-8  # of conjugate gradients, relative to |b|
AGREEMENT = 1e-7  # of solutions, relative; residuals of 1e-8 made differences of some 1e-10
VOLUME = 2.0 * 0.2 * 0.3


def fail(message):
    sys.exit(f"error: {message}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def positive(text):
        value = int(text)
        if value < 1:
            raise argparse.ArgumentTypeError("must be at least 1")
        return value

    n_cores = len(os.sched_getaffinity(0))
    parser.add_argument("--cores", type=positive, default=n_cores, help="threads, and MPI processes")
    parser.add_argument("--refinements", type=positive, default=4, help="of 20 x 2 x 3 cells; 4: 1.5 M unknowns")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--repetitions", type=positive, default=5, help="assemblies after the first, in each run")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    return parser.parse_args()


class Runner:
    """Runs the application and reads its report."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.program = options.build / "applications" / "elasticity"
        self.mpirun = shutil.which("mpirun") or shutil.which("mpiexec")
        if not self.program.exists():
            fail(f"there is no {self.program}; build the target elasticity, or name the build folder with --build")
        if self.mpirun is None:
            fail("there is no mpirun in PATH")

    def run(self, n_processes, n_threads, settings):
        settings = {
            "Mesh/Global refinements": self.options.refinements,
            "Assembly/Repetitions": self.options.repetitions,
            "Solver/Preconditioner": "jacobi",
            "Solver/Tolerance": TOLERANCE,
            "Solver/Maximum iterations": 100000,
            "Output/Pictures": "none",
            # The difference to zero is the solution: its norms are what processes are compared by.
            "Exact solution/Formula": "0; 0; 0",
            **settings,
        }
        parameter_file = ROOT / "parameter_files" / "elasticity" / "cantilever.prm"
        command = [str(self.program), str(parameter_file), "--output", str(self.folder)]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        environment = dict(os.environ, OMP_NUM_THREADS=str(n_threads), DEAL_II_NUM_THREADS=str(n_threads))
        if n_processes > 1:
            command = [self.mpirun, "-n", str(n_processes)] + command
            # Containers run as root, and may show hardware threads as cores.
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                               OMPI_MCA_hwloc_base_use_hwthreads_as_cpus="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                               OMPI_MCA_btl_vader_single_copy_mechanism="none")
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))


def stages(system):
    """Seconds of one system that was made and solved, in the three numbers that are compared."""
    seconds = system["seconds"]
    first = sum(seconds[stage] or 0.0 for stage in ("extraction", "sparsity", "plan", "assembly"))
    return {
        "structure and first assembly": first,
        "repeated assembly": system["repeated_assembly"],
        "PCG-Jacobi": (seconds["preconditioner"] or 0.0) + seconds["solve"],
    }


def solves_the_same(system, reference):
    norms = [(system["errors"][norm], reference["errors"][norm]) for norm in ("L2", "H1")]
    return (
        system["n_dofs"] == reference["n_dofs"]
        and system["relative_residual"] <= 2 * TOLERANCE
        and all(abs(a - b) <= AGREEMENT * b for a, b in norms)
    )


def main():
    options = parse()
    n = options.cores
    ours, one, many = f"PatchFEM, {n} threads", "deal.II + Trilinos, 1 process", f"deal.II + Trilinos, {n} processes"
    times, systems = {}, {}
    verified = True
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, pathlib.Path(folder))
        for _ in range(options.rounds):
            report = runner.run(1, n, {"Backend": "host", "Baseline": "trilinos_jacobi"})
            host = report["cycles"][-1]
            found = {ours: host, one: host["baseline"]}
            if n > 1:
                found[many] = runner.run(n, 1, {"Backend": "trilinos"})["cycles"][-1]
            for who, system in found.items():
                systems[who] = system
                for stage, seconds in stages(system).items():
                    times.setdefault(stage, {}).setdefault(who, []).append(seconds)
                verified = verified and solves_the_same(system, host)
            # Entry by entry, against the root mean square of the displacements over the beam's volume.
            mean = host["errors"]["L2"] / VOLUME**0.5
            verified = verified and host["baseline"]["max_difference"] <= AGREEMENT * mean

    host = systems[ours]
    title = f"cantilever, Q1 elasticity, {host['n_dofs'] / 1e6:.2g} M DoF, {n} cores: "
    results = []

    def add(stage, metric, value, unit, **further):
        results.append({"case": title + stage, "metric": metric, "value": value, "unit": unit, "verified": verified, **further})
        print(f"{title + stage:<76} {metric:<52} {value:10.4g} {unit:<2} {'verified' if verified else 'WRONG'}")

    for stage, by in times.items():
        medians = {who: statistics.median(seconds) for who, seconds in by.items()}
        for who, seconds in by.items():
            further = {"minimum": min(seconds), "maximum": max(seconds), "n_repetitions": len(seconds)}
            if stage == "PCG-Jacobi":
                further.update({key: systems[who][key] for key in ("iterations", "format", "relative_residual")})
            add(stage, who, medians[who], "s", **further)
        for who in medians:
            if who != ours:
                add(stage, f"{who} / PatchFEM", medians[who] / medians[ours], "1")

    if options.json:
        run = {"benchmark": "cpu", "commit": report["commit"], "device": report["device"],
               "date": datetime.date.today().isoformat(), "threads": n, "results": results}
        temporary = options.json.with_name(options.json.name + ".tmp")
        temporary.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        temporary.replace(options.json)
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(main())
