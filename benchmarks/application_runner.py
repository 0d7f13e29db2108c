# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs applications for benchmarks, on threads or in several MPI processes, and reads their reports."""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 1e-8  # of conjugate gradients, relative to |b|
AGREEMENT = 1e-7  # of solutions, relative; residuals of 1e-8 made differences of some 1e-10


def fail(message):
    sys.exit(f"error: {message}")


def positive(text):
    """For arguments of the command line."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


class Runner:
    """One application of a build."""

    def __init__(self, build, program, folder):
        self.folder = folder
        self.program = build / "applications" / program
        self.mpirun = shutil.which("mpirun") or shutil.which("mpiexec") or shutil.which("orterun")
        if not self.program.exists():
            fail(f"there is no {self.program}; build the target {program}, or name the build folder with --build")
        if self.mpirun is None:
            fail("there is no mpirun in PATH")

    def run(self, parameter_file, n_processes, n_threads, settings, may_fail=False, linear=True):
        """The report of a run of @p parameter_file, a name below parameter_files. With @p may_fail also that of a run that
        ended with an error, which the report then has. Problems that are not @p linear keep their tolerances."""
        common = {"Solver/Tolerance": TOLERANCE, "Solver/Maximum iterations": 100000} if linear else {}
        settings = {"Output/Pictures": "none", **common, **settings}
        command = [str(self.program), str(ROOT / "parameter_files" / parameter_file), "--output", str(self.folder)]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        environment = dict(os.environ, OMP_NUM_THREADS=str(n_threads), DEAL_II_NUM_THREADS=str(n_threads))
        if n_processes > 1:
            command = [self.mpirun, "-n", str(n_processes)] + command
            # Containers run as root, and may show hardware threads as cores.
            environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                               OMPI_MCA_hwloc_base_use_hwthreads_as_cpus="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                               OMPI_MCA_btl_vader_single_copy_mechanism="none",
                               PRTE_MCA_rmaps_default_mapping_policy="hwthread:oversubscribe")  # Open MPI 5
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0 and not (may_fail and report.exists()):
            fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return json.loads(report.read_text(encoding="utf-8"))


def solves_the_same(system, reference):
    """Whether the residual is small enough, and the errors to the function given as exact are those of @p reference."""
    norms = [(system["errors"][norm], reference["errors"][norm]) for norm in ("L2", "H1")]
    return (
        system["n_dofs"] == reference["n_dofs"]
        and system["relative_residual"] <= 2 * TOLERANCE
        and all(abs(a - b) <= AGREEMENT * b for a, b in norms)
    )


class Results:
    """Collects results, prints them and writes them as benchmarks/results/README.md says."""

    def __init__(self, benchmark, prints=True):
        self.run = {"benchmark": benchmark}
        self.results = []
        self.prints = prints

    def add(self, case, metric, value, unit, verified, **further):
        self.results.append({"case": case, "metric": metric, "value": value, "unit": unit, "verified": verified, **further})
        if self.prints:
            print(f"{case:<76} {metric:<52} {value:10.4g} {unit:<2} {'verified' if verified else 'WRONG'}")

    def all_verified(self):
        return all(result["verified"] for result in self.results)

    def write(self, path, report, n_threads):
        run = {**self.run, "commit": report["commit"], "device": report["device"],
               "date": datetime.date.today().isoformat(), "threads": n_threads, "results": self.results}
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)
