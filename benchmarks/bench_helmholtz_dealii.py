#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# applications: helmholtz
"""P3's Helmholtz problem, to a residual of 1e-8: iterations and seconds of conjugate gradients alone and with multigrid,
whose smoother is Chebyshev's polynomial or works on patches, by sweeps and inner sweeps (its figure 7). P3 is Z. Fu, T. J.
Lewis, R. M. Kirby and R. T. Whitaker, Architecting the finite element method pipeline for the GPU, 2014.

  bench_helmholtz_dealii.py [--backend auto|host|cuda] [--only NAME]... [--smoother NAME]... [--cores N] [--jobs N]
                            [--set Section/Entry=value]... [--json FILE] [--build DIR]

Meshes are `regular` (parameter_files/helmholtz/regular.prm), `cut` (the same nodes, tetrahedra refined so that they keep
their shapes) and `materials` (two_materials.prm with 1 : 1, 10 and 100). Each run is a process that makes its mesh; with
--jobs several run at a time, which leaves the iterations as they are, and seconds are not kept. --set goes to all
runs that know the entry, for meshes that are coarser and for entries of Solver/AMG. Exit code 1 if a residual is too large."""
import argparse
import concurrent.futures
import os
import pathlib
import sys
import tempfile

from application_runner import ROOT, TOLERANCE, Results, Runner, positive

REGULAR = "helmholtz/regular.prm"
TWO_MATERIALS = "helmholtz/two_materials.prm"
PATCH = {"Solver/AMG/Smoother": "patch"}
MESHES = {  # name: (text, parameter file, further entries) of each system
    "regular": [("Regular", REGULAR, {})],
    "cut": [("Regular, shapes kept", REGULAR, {"Mesh/Simplex refinement": "red"})],
    "materials": [(f"two materials, 1 : {inside}", TWO_MATERIALS, {"Constants": f"inside = {inside}, radius = 0.72557"})
                  for inside in (1, 10, 100)],
}


def patch(sweeps, inner):
    return (f"patch, {sweeps} x {inner}",
            {**PATCH, "Solver/AMG/Sweeps": sweeps, "Solver/AMG/Inner sweeps": inner})


def preconditioners(mesh):
    """(text, entries) of what a mesh is solved with."""
    if mesh != "materials":
        yield "none", {"Solver/Preconditioner": "none"}
    yield "chebyshev", {}
    for inner in (1, 2, 3, 4, 5, 6):
        if mesh == "regular" or inner == 3:
            yield patch(1, inner)
    for inner in (1, 2, 3, 4, 5, 6):
        if mesh == "regular" or inner == 3:
            yield patch(2, inner)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    parser.add_argument("--only", choices=MESHES, action="append")
    parser.add_argument("--smoother", action="append", help='such as "none", "chebyshev" or "patch, 1 x 3"')
    parser.add_argument("--cores", type=positive, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("--jobs", type=positive, default=1, help="runs at a time, that share the threads")
    parser.add_argument("--set", action="append", default=[], metavar="Section/Entry=value")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if any("=" not in entry for entry in options.set):
        parser.error('--set needs "Section/Entry=value"')
    options.set = dict(entry.split("=", 1) for entry in options.set)
    options.cases = [(text, parameter_file, how, {**further, **entries})
                     for mesh in options.only or MESHES
                     for text, parameter_file, further in MESHES[mesh]
                     for how, entries in preconditioners(mesh)
                     if not options.smoother or how in options.smoother]
    if not options.cases:
        parser.error("there is no such smoother on these meshes: " + ", ".join(options.smoother))
    return options


def main():
    options = parse()
    threads = max(1, options.cores // options.jobs)
    results = Results("helmholtz")

    def solve(case):
        _, parameter_file, how, entries = case
        further = {key: value for key, value in options.set.items() if how != "none" or "AMG/" not in key}
        with tempfile.TemporaryDirectory() as folder:
            return Runner(options.build, "helmholtz", pathlib.Path(folder)).run(
                parameter_file, 1, threads, {"Backend": options.backend, **entries, **further})

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (text, _, how, _), report in zip(options.cases, pool.map(solve, options.cases)):
            system = report["cycles"][-1]
            case = f"{text}, {system['n_dofs'] / 1e6:.3g} M nodes, {how}"
            verified = system["relative_residual"] <= 2 * TOLERANCE
            further = {"relative_residual": system["relative_residual"], "precision": system["precision"]}
            if system["amg"]:
                further["operator complexity"] = system["amg"]["operator_complexity"]
                finest = system["amg"]["levels"][0]["aggregation"]
                further["nodes per aggregate"] = finest["ratio"]
                further["cut by aggregates"] = finest["edges_cut_by_aggregates"] / finest["n_edges"]
            results.add(case, "iterations", system["iterations"], "1", verified, **further)
            if options.jobs == 1:
                results.add(case, "set-up and solution",
                            (system["seconds"]["preconditioner"] or 0.0) + system["seconds"]["solve"], "s", verified,
                            iterations=system["iterations"], seconds=system["seconds"])
            if options.json:
                results.write(options.json, report, options.cores)  # whole after each case: what follows may be stopped
    return 0 if results.all_verified() else 1


if __name__ == "__main__":
    sys.exit(main())
