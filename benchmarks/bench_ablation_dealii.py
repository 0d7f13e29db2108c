#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# applications: ablation
"""Times with and without the rules of multigrid: each case is solved with all of them, without any, and without each one alone.

  bench_ablation_dealii.py [--case NAME]... [--size small|middle|large]... [--rules NAME,...] [--every] [--after FILE]
                           [--telling] [--minutes M] [--backend auto|host|cuda] [--set Section/Entry=value]... [--cores N] [--json FILE] [--build DIR]

Sizes are about 15 k, 0.2 M and 1 to 3 M unknowns, all by default, the small ones of all cases first. --case matches beginnings of
names; `robustness` stands for the cases of bench_robustness_dealii.py, which are there only if they are asked for. Rules that change
no bit of a case on a smaller mesh are left out on larger ones, unless they look at the size; --after takes the smaller ones from what
--json kept of an earlier run, --every all rules. With --telling it fails unless every rule changes something in some case. A case is
discretised once. Those that are not begun after M minutes (8) are left out, and said.

The time is that of set-up, solution and set-up for new values, medians of up to three rounds. Behind each rule stands the time without it
over that with all rules: above 1 the rule is worth something there."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import bench_robustness_dealii as robustness
from application_runner import ROOT, TOLERANCE, Results, fail, positive

SIZES = ("small", "middle", "large")
WEIGHTS = {"small": 1, "middle": 2, "large": 4}  # of the time
PARTS = ("set-up", "solution", "set-up again")
OF_SIZE = {"small aggregates", "Rayleigh bound", "precision by condition", "partial W-cycle",
           "quantised matrix", "coarse size by work"}
BEAM, CUBE = robustness.BEAM, robustness.CUBE
YOUNG, POISSON = "Material/Young's modulus", "Material/Poisson's ratio"
REFINEMENTS, ARGUMENTS = "Mesh/Global refinements", "Mesh/Generator arguments"


def box(cells, extent, colours="true"):
    return {ARGUMENTS: f"{', '.join(map(str, cells))} : 0, 0, 0 : {', '.join(map(str, extent))} : {colours}"}


def brick(entries=lambda n: {}, parameter_file=BEAM):
    """2 x 1 x 1, of 2 n x n x n cells with @p entries of n, which is 15, 30 or 60."""
    return parameter_file, lambda size: {**box((30, 15, 15), (2, 1, 1)), REFINEMENTS: size, **entries(15 * 2**size)}


def refined(first, entries, parameter_file=BEAM):
    """The mesh of @p entries, refined @p first times and more."""
    return parameter_file, lambda size: {**entries, REFINEMENTS: first + size}


def of_degree(degree, cells):
    """@p cells along the half of a brick, by size."""
    return BEAM, lambda size: {**box((2 * cells[size], cells[size], cells[size]), (2, 1, 1)), REFINEMENTS: 0,
                               "Finite element/Degree": degree}


def young(formula):
    return lambda n: {YOUNG: formula(n)}


def hashed(n):
    """A number between 0 and 1 for each cell."""
    number = f"(sin(floor(x*{n})*12.9898+floor(y*{n})*78.233+floor(z*{n})*37.719)*43758.5453)"
    return f"({number}-floor({number}))"


def waves(n, *terms):
    """A product of sines along axes, as fine for the cells on each mesh."""
    return "*".join(f"sin({frequency * n / 60}*{axis})" for frequency, axis in terms)


BALLS = ((40, "x"), (37, "y"), (43, "z"))
SHELL = {"Mesh/Generator": "cylinder_shell", ARGUMENTS: "1 : 0.495 : 0.505 : 128 : 40", "Boundary ids/Rules": "5: z<1e-6; 1: z>1-1e-6",
         "Boundary conditions/Dirichlet": "5: 0; 0; 0"}
CASES = {
    "uniform": brick(),
    "random": brick(young(lambda n: f"70000*(1e-3+0.999*(0.05+0.9*{hashed(n)})^3)")),
    "cells1e3": brick(young(lambda n: f"{hashed(n)}<0.1 ? 1e12 : 1e9")),
    "cells1e6": brick(young(lambda n: f"{hashed(n)}<0.1 ? 1e15 : 1e9")),
    "fibres": brick(young(lambda n: f"{waves(n, (40, 'y'), (37, 'z'))}>0.9 ? 1e12 : 1e9")),
    "pores": brick(young(lambda n: f"{waves(n, *BALLS)}>0.2 ? 1e5 : 1e9")),
    "balls": brick(young(lambda n: f"{waves(n, *BALLS)}>0.2 ? 1e12 : 1e9")),
    "layers": brick(young(lambda n: f"{waves(n, (60, 'z'))}>0 ? 1e15 : 1e9")),
    "nu49": brick(lambda n: {POISSON: 0.49}),
    "nu499": brick(lambda n: {POISSON: 0.499}),
    "tetrahedra": brick(lambda n: {"Mesh/Simplices": "kuhn"}),
    "wheelset": refined(0, {}, "elasticity/wheelset.prm"),
    "plate": refined(1, box((32, 32, 1), (1, 1, 0.01))),
    "stripes": refined(1, {**box((32, 32, 1), (1, 1, 0.01)), YOUNG: "sin(40*x)>0 ? 1e12 : 1e9"}),
    "shell": refined(0, SHELL),
    "beam": refined(2, box((20, 2, 3), (20, 0.2, 0.3))),
    "slender": refined(2, box((20, 2, 3), (100, 0.2, 0.3))),
    "degree2": of_degree(2, (6, 15, 36)),
    "degree4": of_degree(4, (3, 8, 18)),
    "hanging": refined(1, {**robustness.beam(20), **robustness.ADAPTIVE}),
    "floating": brick(lambda n: {"Boundary conditions/Dirichlet": "", "Solver/Null space": "project"}),
    "laplace": (CUBE, lambda size: {**robustness.HEATED, **box((24, 24, 24), (1, 1, 1), "false"), REFINEMENTS: size}),
    "laplace_flat": (CUBE, lambda size: {**robustness.HEATED, **box((24, 24, 24), (1, 1, 0.01), "false"), REFINEMENTS: size}),
    "laplace_tensor": (CUBE, lambda size: {**robustness.HEATED, **box((24, 24, 24), (1, 1, 1), "false"), REFINEMENTS: size,
                                           "Material/Coefficient": "100; 30; 0; 20; 0; 1"}),
    "laplace_balls": (CUBE, lambda size: {**robustness.HEATED, **box((24, 24, 24), (1, 1, 1), "false"), REFINEMENTS: size,
                                          "Material/Coefficient": f"{waves(24 * 2**size, *BALLS)}>0.2 ? 1e3 : 1"}),
}
BY_DEFAULT = list(CASES)
for name, (_, parameter_file, level, entries) in robustness.CASES.items():
    CASES[f"robustness_{name}"] = refined(level, entries, parameter_file)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", metavar="NAME", help="of " + ", ".join(CASES))
    parser.add_argument("--size", action="append", choices=SIZES)
    parser.add_argument("--rules", default="all", metavar="NAME,...")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--after", type=pathlib.Path)
    parser.add_argument("--telling", action="store_true")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    parser.add_argument("--set", action="append", default=[], metavar="Section/Entry=value")
    parser.add_argument("--cores", type=positive, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if any("=" not in entry for entry in options.set):
        parser.error('--set needs "Section/Entry=value"')
    for beginning in options.case or []:
        if not any(name.startswith(beginning) for name in CASES):
            parser.error(f"no case is called {beginning}; there are: {', '.join(CASES)}")
    options.cases = [name for name in CASES if name.startswith(tuple(options.case))] if options.case else BY_DEFAULT
    options.sizes = [size for size in SIZES if size in (options.size or SIZES)]
    return options


def run(options, meshes, name, size, rules, seconds):
    """What the program ablation says of a case, with `error` where it says nothing. Variants share so many @p seconds."""
    parameter_file, entries_of = CASES[name]
    settings = {"Backend": options.backend, "Solver/Tolerance": TOLERANCE, "Solver/Maximum iterations": 3000, "Output/Pictures": "none",
                "Solver/Preconditioner": "amg", **entries_of(SIZES.index(size)), **dict(entry.split("=", 1) for entry in options.set)}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "ablation.json"
        command = [options.build / "benchmarks" / "ablation", out, f"{seconds:.0f}", settings.get("Refinement/Cycles", 1),
                   ",".join(rules), parameter_file.split("/")[0], ROOT / "parameter_files" / parameter_file, "--output", pathlib.Path(folder) / "results"]
        for key, value in settings.items():
            command += ["--set", f"{key}={str(value).format(meshes=meshes) if key == 'Mesh/File' else value}"]
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds + 120,
                                  env={**os.environ, "OMP_NUM_THREADS": str(options.cores), "OMP_WAIT_POLICY": "passive",
                                       "CUDA_MODULE_LOADING": "EAGER"})
            error = (done.stderr.strip().splitlines() or ["no message"])[-1]
        except subprocess.TimeoutExpired:
            error = f"no end in {seconds + 120:.0f} s"
        return json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"error": error}


def time_of(variant):
    return sum(variant[part] for part in PARTS)


def table(found):
    """Rows (rule, time ratio or None where it fails, variant), the most telling first."""
    with_all = found["variants"]["none"]
    rows = [(rule, None if "error" in variant else time_of(variant) / time_of(with_all), variant)
            for rule, variant in found["variants"].items() if rule != "none"]
    return sorted(rows, key=lambda row: -(float("inf") if row[1] is None else max(row[1], 1 / row[1])))


def show(case, found):
    with_all = found["variants"]["none"]
    print(f"{case}: " + " + ".join(f"{part} {with_all[part]:.4f}" for part in PARTS) +
          f" = {time_of(with_all):.4f} s, {with_all['steps']} steps, complexity {with_all['operator complexity']:.2f}")
    for rule, ratio, variant in table(found):
        if ratio is None:
            print(f"  without {rule:<26} fails: {variant['error'][:120]}")
        elif rule == "all" or not 0.97 < ratio < 1.03 or variant["steps"] != with_all["steps"]:
            parts = " ".join(f"{variant[part] / max(with_all[part], 1e-9):6.2f}" for part in PARTS)
            print(f"  without {rule:<26} {ratio:6.2f} ({parts}) {variant['steps']:5d} steps, "
                  f"complexity {variant['operator complexity']:.2f}")
    for rule in found["left out"]:
        print(f"  without {rule:<26} left out, for the time")
    sys.stdout.flush()


def keep(results, case, found):
    with_all = found["variants"]["none"]
    for rule, variant in found["variants"].items():
        further = {key: value for key, value in variant.items() if key != "error"}
        if rule == "none":
            results.add(case, "set-up, solution and set-up again", time_of(variant), "s", True, n_rows=found["unknowns"], **further)
        elif "error" in variant:
            results.add(case, f"fails without {rule}", 1, "1", True, detail=True, note=variant["error"], **further)
        else:
            results.add(case, f"time without {rule} over that with all rules", time_of(variant) / time_of(with_all), "1", True, detail=True,
                        **further)


def summary(all_found):
    """Of each rule the largest and the least ratio of all cases."""
    ratios = {}
    for case, found in all_found.items():
        for rule, ratio, _ in table(found):
            ratios.setdefault(rule, []).append((float("inf") if ratio is None else ratio, case))
    print("\nTime without a rule over that with all: where it is worth most, and where it costs most")
    for rule, of_rule in sorted(ratios.items(), key=lambda item: -max(item[1])[0]):
        (most, at_most), (least, at_least) = max(of_rule), min(of_rule)
        print(f"  {rule:<26} {most:8.2f}  {at_most:<42} {least:6.2f}  {at_least}")


def telling_rules(path):
    """[case]: rules without which a kept result has another residual."""
    found, telling = {}, {}
    for result in json.loads(path.read_text(encoding="utf-8"))["results"]:
        rule = result["metric"].removeprefix("time without ").removeprefix("fails without ").removesuffix(" over that with all rules")
        found.setdefault(result["case"], {})[rule] = result.get("residual")
    known = sorted({rule for residuals in found.values() for rule in residuals} - {"set-up, solution and set-up again"})
    for case, residuals in found.items():
        with_all = residuals.pop("set-up, solution and set-up again")
        name = case.split(",")[0]
        if name != "uniform":
            told = telling.setdefault(name, [])
            told += [rule for rule in known if residuals.get(rule) != with_all and rule not in told + ["all"]]
    return telling


def run_all(options, meshes):
    """The exit code."""
    end = time.monotonic() + 60 * options.minutes
    results = Results("ablation", prints=False)
    all_found, tried, ever_told, skipped, failed = {}, set(), set(), [], False
    telling = telling_rules(options.after) if options.after else {}
    plan = [(name, size) for size in options.sizes for name in options.cases]
    for index, (name, size) in enumerate(plan):
        left = end - time.monotonic()
        if left < 5:
            skipped.append(f"{name} {size}")
            continue
        rules = options.rules.split(",")
        if name in telling and not options.every:
            rules = [rule for rule in telling[name] + sorted(OF_SIZE - set(telling[name])) if rule in rules or options.rules == "all"]
        weights = [WEIGHTS[size] for _, size in plan[index:]]
        found = run(options, meshes, name, size, rules, min(left, max(5, 1.5 * left * weights[0] / sum(weights))))
        with_all = found.get("variants", {}).get("none", found)
        if with_all is found and "error" not in found:
            skipped.append(f"{name} {size}")
            continue
        if "error" in with_all:
            failed = True
            print(f"{name}, {size}: {with_all['error']}")
            continue
        case = f"{name}, {found['unknowns'] / 1e3:.3g} k unknowns"
        all_found[case] = found
        show(case, found)
        told = [rule for rule, _, variant in table(found) if variant.get("residual") != with_all["residual"] and rule != "all"]
        ever_told |= set(told)
        tried |= set(found["variants"]) - {"none", "all"}
        if name != "uniform":  # which shows what rules cost where they find nothing
            told += [rule for rule in found["left out"] if rule != "all"]
            telling[name] = told + [rule for rule in telling.get(name, []) if rule not in told]
        keep(results, case, found)
        if options.json:
            results.write(options.json, found, options.cores)  # whole after each case: what follows may be stopped
    if all_found:
        summary(all_found)
    silent = tried - ever_told
    if silent:
        print(f"\nNothing changes without {', '.join(sorted(silent))}")
    if skipped:
        print(f"\nLeft out for the time: {', '.join(skipped)}")
    return 1 if failed or (options.telling and (silent or not tried)) else 0


def main():
    options = parse()
    if not (options.build / "benchmarks" / "ablation").exists():
        fail(f"there is no {options.build / 'benchmarks' / 'ablation'}; build the target ablation")
    with tempfile.TemporaryDirectory() as meshes:
        for name, (_, axes) in robustness.GRADED.items():
            robustness.write_box(pathlib.Path(meshes) / f"{name}.vtk", axes)
        return run_all(options, meshes)


if __name__ == "__main__":
    sys.exit(main())
