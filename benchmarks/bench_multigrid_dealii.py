#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# applications: elasticity laplace
"""The way from a DoFHandler with DoFs distributed to the solution with `Preconditioner = amg` beside deal.II + Trilinos
ML with the same near-null space on N MPI processes: one machine, the same mesh, matrix entries and tolerance (1e-8).

  bench_multigrid_dealii.py [--cores N] [--backend auto|host|cuda] [--only NAME]... [--finer N] [--rounds N]
                            [--json FILE] [--build DIR]

Cases are `cantilever` (trilinear hexahedra), `cube` and `tetrahedra` (elasticity of a cube that one face holds, linear
elements) and `laplace` (a cube, trilinear); --finer refines all meshes so many times more. Rounds alternate between
the two programs and medians count. Solutions are compared by their norms in L2 and H1. Exit code 1 if they do not agree."""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

from application_runner import ROOT, Results, Runner, positive, solves_the_same

HELD_CUBE = {
    "Refinement/Cycles": 1,
    "Boundary conditions/Dirichlet": "0: 0; 0; 0",
    "Loads/Body force": "0; 0; -1",
    "Exact solution/Formula": "0; 0; 0",
}
CASES = {  # name: text, parameter file, entry that refines and its value, further entries
    "cantilever": ("cantilever, Q1 elasticity", "elasticity/cantilever.prm", "Mesh/Global refinements", 4,
                   {"Exact solution/Formula": "0; 0; 0"}),
    "cube": ("cube with a face held, Q1 elasticity", "elasticity/convergence_3d_tetrahedra.prm",
             "Mesh/Coarse refinements", 6, {**HELD_CUBE, "Mesh/Simplices": "none"}),
    "tetrahedra": ("cube with a face held, P1 elasticity", "elasticity/convergence_3d_tetrahedra.prm",
                   "Mesh/Coarse refinements", 6, HELD_CUBE),
    "laplace": ("cube, Q1 Laplace", "laplace/convergence_3d.prm", "Mesh/Global refinements", 4,
                {"Mesh/Generator": "subdivided_hyper_cube", "Mesh/Generator arguments": "5 : 0 : 1 : false",
                 "Refinement/Cycles": 1, "Finite element/Degree": 1, "Material/Coefficient": "1", "Loads/Source": "1",
                 "Boundary conditions/Dirichlet": "all: 0", "Boundary conditions/Robin": "", "Exact solution/Formula": "0"}),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    n_cores = len(os.sched_getaffinity(0))
    parser.add_argument("--cores", type=positive, default=n_cores, help="threads, and MPI processes")
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--finer", type=int, default=0)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    return parser.parse_args()


def stages(system):
    """Seconds of one system that was made and solved."""
    seconds = {stage: value or 0.0 for stage, value in system["seconds"].items()}
    structure = seconds["extraction"] + seconds["sparsity"] + seconds["plan"]
    solution = seconds["assembly"] + seconds["preconditioner"] + seconds["solve"]
    return {
        "matrix and right-hand side": structure + seconds["assembly"],
        "set-up and solution": seconds["preconditioner"] + seconds["solve"],
        "assembly, set-up and solution": solution,
        "all, from DoFs to solution": structure + solution,
    }


def main():
    options = parse()
    n = options.cores
    results = Results("multigrid")
    for name in options.only or CASES:
        text, parameter_file, refining, level, further = CASES[name]
        settings = {**further, refining: level + options.finer}
        times, systems, verified = {"PatchFEM": {}, "ML": {}}, {}, True
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(options.build, parameter_file.split("/")[0], pathlib.Path(folder))
            for _ in range(options.rounds):
                theirs = runner.run(parameter_file, n, 1,
                                    {**settings, "Backend": "trilinos", "Solver/Preconditioner": "ml"})
                ours = runner.run(parameter_file, 1, n,
                                  {**settings, "Backend": options.backend, "Solver/Preconditioner": "amg"})
                for who, report in (("PatchFEM", ours), ("ML", theirs)):
                    systems[who] = report["cycles"][-1]
                    for stage, seconds in stages(systems[who]).items():
                        times[who].setdefault(stage, []).append(seconds)
                verified = verified and all(solves_the_same(found, systems["PatchFEM"]) for found in systems.values())
        system = systems["PatchFEM"]
        where = f"{n} threads" if ours["backend"] == "host" else f"{ours['device']} and {n} threads"
        case = f"{text}, {system['n_dofs'] / 1e6:.2g} M DoF, amg ({system['precision']}) on {where}, ML in {n} processes"
        for stage in times["ML"]:
            medians = {who: statistics.median(seconds[stage]) for who, seconds in times.items()}
            results.add(case, f"{stage}: PatchFEM", medians["PatchFEM"], "s", verified, n_repetitions=options.rounds,
                        iterations=system["iterations"], seconds=system["seconds"],
                        memory_bytes=system["memory_bytes"])
            results.add(case, f"{stage}: ML / PatchFEM", medians["ML"] / medians["PatchFEM"], "1", verified,
                        seconds=systems["ML"]["seconds"])
        results.add(case, "iterations", system["iterations"], "1", verified, relative_residual=system["relative_residual"])
        results.add(case, "iterations of ML", systems["ML"]["iterations"], "1", verified,
                    relative_residual=systems["ML"]["relative_residual"])
        if options.json:
            results.write(options.json, ours, n)  # whole after each case: what follows may be stopped
    return 0 if results.all_verified() else 1


if __name__ == "__main__":
    sys.exit(main())
