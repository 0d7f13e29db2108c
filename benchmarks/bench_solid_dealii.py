#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# applications: solid
"""Nonlinear solids: seconds of all steps of load, and of the whole program, with defaults.

  bench_solid_dealii.py [--backend auto|host|cuda] [--only NAME]... [--repetitions N] [--cores N] [--small] [--json FILE] [--build DIR]

`rubber` is the block of torch-fem's benchmark, 5 x N x N nodes of cubes, neo-Hookean, pulled to ten times its length in ten steps that
are equal in the logarithm; planes of symmetry stand for its middle planes, which are held there. Its force is compared with the
closed form. `plastic` is a cube of J2 plasticity that is clamped at one end and pulled by 1 % in 20 steps. --small is for tests.
Exit code 1 if a result is wrong."""
import argparse
import math
import os
import pathlib
import statistics
import sys
import tempfile

from application_runner import ROOT, Results, Runner, positive

BLOCK = "solid/rubber_block.prm"


def rubber(n):
    length = 4 / n
    return BLOCK, {"Mesh/Generator arguments": f"4, {n}, {n} : 0, 0, 0 : {length!r}, 1, 1 : true", "Constants": f"length = {length!r}"}


def plastic(n):
    return BLOCK, {"Mesh/Generator arguments": f"{n}, {n}, {n} : 0, 0, 0 : 1, 1, 1 : true", "Constants": "length = 1",
                   "Boundary conditions/Dirichlet": "0: 0; 0; 0, 1: 0.01*t; 0; 0", "Steps/First": 0.05,
                   "Material/Law": "j2", "Material/Young's modulus": 210000, "Material/Yield stress": 240,
                   "Material/Saturation stress": 100, "Material/Saturation rate": 16, "Material/Hardening modulus": 1000,
                   "Material/Kinematic hardening modulus": 500}


CASES = {"rubber": (rubber, (64, 104), (6,)), "plastic": (plastic, (100,), (5,))}


def closed_form(stretch, young=1000.0, poisson=0.3):
    """Force by undeformed area of a neo-Hookean bar."""
    shear, lame = young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    low, high = 0.01, 1.0
    for _ in range(200):
        across = (low + high) / 2
        if shear * (across**2 - 1) + lame * math.log(stretch * across**2) > 0:
            high = across
        else:
            low = across
    return shear * stretch + (lame * math.log(stretch * low**2) - shear) / stretch


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--repetitions", type=positive, default=3)
    parser.add_argument("--cores", type=positive, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    return parser.parse_args()


def main():
    options = parse()
    results = Results("solid")
    for name in options.only or CASES:
        make, sizes, small = CASES[name]
        for n in small if options.small else sizes:
            parameter_file, settings = make(n)
            reports = []
            for _ in range(options.repetitions):
                with tempfile.TemporaryDirectory() as folder:
                    reports.append(Runner(options.build, "solid", pathlib.Path(folder)).run(
                        parameter_file, 1, options.cores, {"Backend": options.backend, **settings}, linear=False))
            report, cycle = reports[-1], reports[-1]["cycles"][-1]
            steps = report["steps"]
            verified = all(step["corrections"][-1]["residual"] <= step["corrections"][-1]["tolerance"] for step in steps)
            if name == "rubber":
                force = steps[-1]["results"]["reactions"]["1"]["force_x"]
                verified = verified and abs(force / closed_form(10) - 1) < 1e-6
            case = f"{name}, {cycle['n_dofs']} unknowns, {len(steps)} steps"
            seconds = [sum(step["seconds"] for step in r["steps"]) for r in reports]
            results.add(case, "steps of load", statistics.median(seconds), "s", verified,
                        corrections=sum(len(step["corrections"]) - 1 for step in steps), iterations=cycle["iterations"],
                        cut_backs=sum(step["cut_backs"] for step in steps), memory_bytes=cycle["memory_bytes"],
                        seconds=cycle["seconds"])
            if options.json:
                results.write(options.json, report, options.cores)
    return 0 if results.all_verified() else 1


if __name__ == "__main__":
    sys.exit(main())
