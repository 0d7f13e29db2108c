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
import os
import pathlib
import statistics
import sys
import tempfile

from application_runner import AGREEMENT, ROOT, Results, Runner, positive, solves_the_same

VOLUME = 2.0 * 0.2 * 0.3


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    n_cores = len(os.sched_getaffinity(0))
    parser.add_argument("--cores", type=positive, default=n_cores, help="threads, and MPI processes")
    parser.add_argument("--refinements", type=positive, default=4, help="of 20 x 2 x 3 cells; 4: 1.5 M unknowns")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--repetitions", type=positive, default=5, help="assemblies after the first, in each run")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    return parser.parse_args()


def stages(system):
    """Seconds of one system that was made and solved, in the three numbers that are compared."""
    seconds = system["seconds"]
    first = sum(seconds[stage] or 0.0 for stage in ("extraction", "sparsity", "plan", "assembly"))
    return {
        "structure and first assembly": first,
        "repeated assembly": system["repeated_assembly"],
        "PCG-Jacobi": (seconds["preconditioner"] or 0.0) + seconds["solve"],
    }


def main():
    options = parse()
    n = options.cores
    ours, one, many = f"PatchFEM, {n} threads", "deal.II + Trilinos, 1 process", f"deal.II + Trilinos, {n} processes"
    times, systems = {}, {}
    verified = True
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.build, "elasticity", pathlib.Path(folder))
        settings = {
            "Mesh/Global refinements": options.refinements,
            "Assembly/Repetitions": options.repetitions,
            "Solver/Preconditioner": "jacobi",
            # The difference to zero is the solution: its norms are what processes are compared by.
            "Exact solution/Formula": "0; 0; 0",
        }

        def run(n_processes, n_threads, further):
            return runner.run("elasticity/cantilever.prm", n_processes, n_threads, {**settings, **further})

        for _ in range(options.rounds):
            report = run(1, n, {"Backend": "host", "Baseline": "trilinos_jacobi"})
            host = report["cycles"][-1]
            found = {ours: host, one: host["baseline"]}
            if n > 1:
                found[many] = run(n, 1, {"Backend": "trilinos"})["cycles"][-1]
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
    results = Results("cpu")
    for stage, by in times.items():
        medians = {who: statistics.median(seconds) for who, seconds in by.items()}
        for who, seconds in by.items():
            further = {"minimum": min(seconds), "maximum": max(seconds), "n_repetitions": len(seconds)}
            if stage == "PCG-Jacobi":
                further.update({key: systems[who][key] for key in ("iterations", "format", "relative_residual")})
            results.add(title + stage, who, medians[who], "s", verified, **further)
        for who in medians:
            if who != ours:
                results.add(title + stage, f"{who} / PatchFEM", medians[who] / medians[ours], "1", verified)

    if options.json:
        results.write(options.json, report, n)
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(main())
