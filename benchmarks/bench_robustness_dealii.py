#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# applications: elasticity laplace
"""What is hard for multigrid, solved with nothing but defaults: slender beams, thin plates, a shell, graded meshes, stiff and
soft layers, fibres, balls and checks, nearly incompressible bodies, hanging nodes, flat boxes.

  bench_robustness_dealii.py [--backend auto|host|cuda] [--only NAME]... [--finer N] [--no-ml] [--no-direct] [--cores N]
                             [--set Section/Entry=value]... [--json FILE] [--build DIR]

Each case is solved beside Trilinos ML, which runs in one process, and in another run beside UMFPACK, whose solution is
taken for the exact one of the matrix. Beside them it is solved three times alone, as is a cube with about as many unknowns.
UMFPACK's runs come first, several at the same time with two threads each: nothing of them is timed.
--only matches beginnings of names. --finer refines all meshes so many times more; --no-ml and --no-direct leave out what
then takes minutes a case, or memory. --set goes to all runs.

A row has the iterations, the seconds of set-up and solution, of both; the operator complexity; the time of an iteration
per entry of the matrix beside that of the cube, medians; the residual, with an r where rounding ended the iteration; and
the largest difference to UMFPACK over the largest value. It is verified if the residual is at most the tolerance or rounding,
and the difference at most 1e-5 or what DIFFERENCE_OF says. Exit code 1 if one is not."""
import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys
import tempfile

from application_runner import ROOT, TOLERANCE, Results, Runner, positive

DIFFERENCE = 1e-5
N_RUNS = 3
# The last digits of A alone, which two assemblies round differently, change these solutions as much: with one thread and
# with two deal.II's own assembly makes systems whose solutions differ by 2e-5 (cells of 50 : 1) and 3e-5 (1 : 1e6).
DIFFERENCE_OF = dict.fromkeys(("stretched_50", "stretched_50_tetrahedra", "stiff_1e6", "stiff_1e6_tetrahedra", "adaptive_50"), 5e-5)
BEAM = "elasticity/cantilever.prm"
CUBE = "laplace/convergence_3d.prm"
TETRAHEDRA = {"Mesh/Simplices": "kuhn"}
SOURCE = "sin(37*x*y+11*z)*cos(41*z*x)"  # which excites what a constant one does not
SHAKEN = {"Boundary conditions/Traction": "",
          "Loads/Body force": f"{SOURCE}; sin(41*x*y-7*z)*cos(31*z*x); sin(29*x*z+5*y)*cos(43*z*y)"}
HEATED = {"Finite element/Degree": 1, "Refinement/Cycles": 1, "Boundary conditions/Robin": "", "Boundary conditions/Flux": "",
          "Boundary conditions/Dirichlet": "all: 0", "Loads/Source": SOURCE,
          "Exact solution/Formula": "", "Mesh/Generator": "subdivided_hyper_rectangle"}
ADAPTIVE = {"Refinement/Strategy": "adaptive", "Refinement/Cycles": 3}


def box(cells, size, colours="true"):
    numbers = ", ".join(map(str, cells))
    return {"Mesh/Generator arguments": f"{numbers} : 0, 0, 0 : {', '.join(map(str, size))} : {colours}"}


def beam(length):
    return box((20, 2, 3), (length, 0.2, 0.3))


def graded(name):
    """A mesh of GRADED, which is clamped at x = 0 and loaded at x = 1."""
    return {"Mesh/Generator": "", "Mesh/Generator arguments": "", "Mesh/File": f"{{meshes}}/{name}.vtk",
            "Boundary ids/Rules": "1: x > 1 - 1e-9; 2: x > 1e-9 && x < 1 - 1e-9"}


def growing(length, n, ratio):
    """Coordinates of @p n cells, the last @p ratio times as long as the first."""
    sizes = [ratio ** (i / (n - 1)) for i in range(n)]
    return [length * sum(sizes[:i]) / sum(sizes) for i in range(n)] + [length]


def write_box(path, axes):
    """Hexahedra between the coordinates of three @p axes, in VTK's format."""
    n = [len(axis) for axis in axes]
    points = [f"{x!r} {y!r} {z!r}" for z in axes[2] for y in axes[1] for x in axes[0]]
    corners = [dx + n[0] * (dy + n[1] * dz) for dz in (0, 1) for dx, dy in ((0, 0), (1, 0), (1, 1), (0, 1))]
    firsts = [i + n[0] * (j + n[1] * k) for k in range(n[2] - 1) for j in range(n[1] - 1) for i in range(n[0] - 1)]
    cells = ["8 " + " ".join(str(first + corner) for corner in corners) for first in firsts]
    path.write_text("\n".join(["# vtk DataFile Version 3.0", "graded box", "ASCII", "DATASET UNSTRUCTURED_GRID",
                               f"POINTS {len(points)} double", *points, f"CELLS {len(cells)} {9 * len(cells)}", *cells,
                               f"CELL_TYPES {len(cells)}", *["12"] * len(cells), ""]), encoding="ascii")


def heated(thickness):
    return {**HEATED, **box((8, 8, 8), (1, 1, thickness), "false")}


def cube(n_dofs, scalar, tetrahedra):
    """(parameter file, entries) of the isotropic case with about so many unknowns."""
    n = max(round((n_dofs / (1 if scalar else 3)) ** (1 / 3)) - 1, 2)
    entries = {**HEATED, **box((n, n, n), (1, 1, 1), "false")} if scalar else box((n, n, n), (1, 1, 1))
    return CUBE if scalar else BEAM, {**entries, **(TETRAHEDRA if tetrahedra else {}), "Mesh/Global refinements": 0}


# name: (text, parameter file, global refinements, further entries)
CASES = {"cube": ("cube", BEAM, 1, box((10, 10, 10), (1, 1, 1)))}
CASES["cube_tetrahedra"] = ("cube, tetrahedra", BEAM, 1, {**CASES["cube"][3], **TETRAHEDRA})
CASES["laplace_cube"] = ("Laplace, cube", CUBE, 2, heated(1))
SOLIDS = {
    **{f"stretched_{ratio}": (f"beam of cells {ratio} : 1", 2, beam(2 * ratio)) for ratio in (2, 5, 10, 20, 50)},
    "plate": ("plate of thickness 0.01", 2, box((10, 10, 2), (1, 1, 0.01))),
    "cubes": ("beam of 100 x 1 x 1.5, cells are cubes", 1, box((200, 2, 3), (20, 0.2, 0.3))),
    "stiff_1e3": ("beam of 1 : 1e3 in stiffness", 2, {"Material/Young's modulus": "x < 1 ? 1e9 : 1e12"}),
    "stiff_1e6": ("beam of 1 : 1e6 in stiffness", 2, {"Material/Young's modulus": "x < 1 ? 1e9 : 1e15"}),
    "incompressible": ("Poisson's ratio 0.4999", 2, {"Material/Poisson's ratio": 0.4999}),
}
GRADED = {
    "graded_beam": ("beam, cells 1 : 50 in length", (growing(1, 120, 50), growing(0.02, 8, 1), growing(0.03, 12, 1))),
    "graded_plate": ("plate, layers 1 : 20 in thickness", (growing(1, 32, 1), growing(1, 32, 1), growing(0.05, 10, 20))),
    "graded_layers": ("cube, layers 1 : 200 in thickness", (growing(1, 20, 1), growing(1, 20, 1), growing(1, 20, 200))),
    "graded_cube": ("cube, cells 1 : 30 in each direction", (growing(1, 20, 30),) * 3),
}
SOLIDS.update({name: (text, 0, graded(name)) for name, (text, _) in GRADED.items()})
for name, (text, level, entries) in SOLIDS.items():
    CASES[name] = (text, BEAM, level, entries)
    CASES[name + "_tetrahedra"] = (text + ", tetrahedra", BEAM, level, {**entries, **TETRAHEDRA})
for ratio in (1, 10, 50):
    CASES[f"adaptive_{ratio}"] = (f"beam of cells {ratio} : 1, hanging nodes", BEAM, 1, {**beam(2 * ratio), **ADAPTIVE})
CASES["adaptive_plate"] = ("plate of thickness 0.01, hanging nodes", BEAM, 1, {**SOLIDS["plate"][2], **ADAPTIVE})
CASES["laplace_flat_10"] = ("Laplace, thickness 0.1", CUBE, 2, heated(0.1))
CASES["laplace_flat_100"] = ("Laplace, thickness 0.01", CUBE, 2, heated(0.01))
CASES["laplace_adaptive_10"] = ("Laplace, thickness 0.1, hanging nodes", CUBE, 1,
                                {**heated(0.1), **ADAPTIVE})
SOLIDS_AND_SHELLS = {
    "thin_plate": ("plate of thickness 0.001", box((16, 16, 2), (1, 1, 0.001))),
    "cubes_plate": ("plate of thickness 0.01, cells are cubes", box((50, 50, 1), (1, 1, 0.01))),
    "shell": ("cylindrical shell of thickness 0.01", {
        "Mesh/Generator": "cylinder_shell", "Mesh/Generator arguments": "1 : 0.5 : 0.51 : 32 : 10",
        "Boundary ids/Rules": "0: z < 1e-9; 1: z > 1e-9", "Boundary conditions/Dirichlet": "0: 0; 0; 0"}),
}
for name, (text, entries) in SOLIDS_AND_SHELLS.items():
    CASES[name] = (text, BEAM, 1, {**SHAKEN, **entries})


def repeated(n, axes, square, cells=None):
    """Where the distance to the middle of one of n^3 boxes, along @p axes and over their length, has a smaller @p square; in
    whole cells, of which there are so many along an axis, or cut through them."""
    at = {x: f"{n}*(floor({cells}*{x})+0.5)/{cells}" if cells else f"{n}*{x}" for x in axes}
    return "+".join(f"({at[x]}-floor({at[x]})-0.5)^2" for x in axes) + f" < {square}"


def random(n, share):
    """Where one of n^3 boxes is among that @p share of them."""
    number = "+".join(f"floor({n}*{x})*{factor}" for x, factor in zip("xyz", (12.9898, 78.233, 37.719)))
    return f"sin({number})*43758.5453-floor(sin({number})*43758.5453) < {share}"


def materials(n):
    """Where a cube of n^3 cells has another coefficient."""
    return {"layers": repeated(n / 8, "z", 0.06, n), "thin_layers": f"{n / 2}*z-floor({n / 2}*z) < 0.5",
            "balls": repeated(n / 8, "xyz", 0.11, n), "fibres": repeated(n / 4, "yz", 0.04, n), "checks": random(n / 2, 0.5),
            "few_checks": random(n, 0.1), "many_checks": random(n, 0.5), "cut_layers": repeated(0.37 * n, "z", 0.04),
            "cut_balls": repeated(n / 8, "xyz", 0.11), "cut_fibres": repeated(n / 3.7, "yz", 0.04)}


CASES["laplace_uniform"] = ("Laplace, uniform", CUBE, 1, {**HEATED, **box((16, 16, 16), (1, 1, 1), "false")})
CASES["uniform"] = ("uniform", BEAM, 1, {**SHAKEN, **box((8, 8, 8), (1, 1, 1))})
for contrast in ("1e-6", "1e-3", "1e3", "1e6"):
    for shape, where in materials(32).items():
        CASES[f"laplace_{shape}_{contrast}"] = (f"Laplace, {shape.replace('_', ' ')} of {contrast}", CUBE, 1, {
            **CASES["laplace_uniform"][3], "Material/Coefficient": f"{where} ? {contrast} : 1"})
    for shape, where in materials(16).items():
        CASES[f"{shape}_{contrast}"] = (f"{shape.replace('_', ' ')} of {contrast}", BEAM, 1, {
            **CASES["uniform"][3], "Material/Young's modulus": f"{where} ? {contrast} : 1"})


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    parser.add_argument("--only", action="append", metavar="NAME", help="of " + ", ".join(CASES))
    parser.add_argument("--finer", type=int, default=0)
    parser.add_argument("--no-ml", action="store_true")
    parser.add_argument("--no-direct", action="store_true")
    parser.add_argument("--cores", type=positive, default=len(os.sched_getaffinity(0)), help="threads")
    parser.add_argument("--set", action="append", default=[], metavar="Section/Entry=value")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if any("=" not in entry for entry in options.set):
        parser.error('--set needs "Section/Entry=value"')
    options.set = dict(entry.split("=", 1) for entry in options.set)
    for beginning in options.only or []:
        if not any(name.startswith(beginning) for name in CASES):
            parser.error(f"no case is called {beginning}; there are: {', '.join(CASES)}")
    options.cases = [name for name in CASES if not options.only or name.startswith(tuple(options.only))]
    return options


def set_up_and_solution(system):
    return (system["seconds"]["preconditioner"] or 0.0) + system["seconds"]["solve"]


def time_per_entry(reports):
    """Seconds of an iteration per entry of the matrix, the median. Start and check of the true residual cost as much as two."""
    return statistics.median(system["seconds"]["solve"] / (system["iterations"] + 2) / system["nnz"]
                             for system in (report["cycles"][-1] for report in reports))


def residual(system):
    return f"{system['relative_residual']:.1e}{'r' if system['stopped_at_rounding'] else ' '}"


def main():
    options = parse()
    os.environ.setdefault("CUDA_MODULE_LOADING", "EAGER")  # or the few steps of a cube would pay for loading kernels
    with tempfile.TemporaryDirectory() as meshes:
        for name, (_, axes) in GRADED.items():
            write_box(pathlib.Path(meshes) / f"{name}.vtk", axes)
        return run_all(options, meshes)


def run(options, parameter_file, entries, baseline="none", cores=None):
    """The report of one run."""
    settings = {"Backend": options.backend, "Solver/Maximum iterations": 10000, **entries, **options.set, "Baseline": baseline}
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.build, parameter_file.split("/")[0], pathlib.Path(folder))
        return runner.run(parameter_file, 1, cores or options.cores, settings, may_fail=True)


def entries_of_case(options, name, meshes):
    """The entries of a case; @p meshes is where those of GRADED are."""
    _, _, level, entries = CASES[name]
    entries = {"Mesh/Global refinements": max(level + options.finer, 0), **entries}
    return {key: value.format(meshes=meshes) if key == "Mesh/File" else value for key, value in entries.items()}


def run_all(options, meshes):
    """The exit code; @p meshes is where those of GRADED are."""
    entries_of = {name: entries_of_case(options, name, meshes) for name in options.cases}
    direct = {}
    if not options.no_direct:
        with concurrent.futures.ThreadPoolExecutor(max(options.cores // 2, 1)) as pool:
            runs = {name: pool.submit(run, options, CASES[name][1], entries, "umfpack", min(options.cores, 2))
                    for name, entries in entries_of.items()}
            direct = {name: started.result() for name, started in runs.items()}
    results = Results("robustness", prints=False)
    cubes = {}
    print(f"{'case':<44} {'unknowns':>9} {'steps':>5} {'ML':>5} {'time':>7} {'ML':>7} {'compl.':>6} {'t/entry':>7} "
          f"{'residual':>9} {'ML':>9} {'to LU':>8}")
    for name in options.cases:
        text, parameter_file = CASES[name][:2]
        entries = entries_of[name]
        reports = {"umfpack": direct[name]} if direct else {}
        if not options.no_ml:
            reports["trilinos_ml"] = run(options, parameter_file, entries, "trilinos_ml")
        alone = [run(options, parameter_file, entries) for _ in range(N_RUNS)]
        reports["none"] = alone[0]
        finished = {baseline: report for baseline, report in reports.items() if report["finished"]}
        errors = {baseline: report["error"] for baseline, report in reports.items() if not report["finished"]}
        for baseline, error in errors.items():
            print(f"{text}, with Baseline = {baseline}: {error}")
        if not finished:
            results.add(text, "iterations", 0, "1", False, errors=errors)
            continue
        report = finished.get("none", next(iter(finished.values())))
        system = report["cycles"][-1]
        ratio = float("nan")
        if "none" in finished:
            reference, of_cube = cube(system["n_dofs"], name.startswith("laplace"), "tetrahedra" in name)
            key = (reference, *of_cube.items())
            if key not in cubes:
                cubes[key] = time_per_entry([run(options, reference, of_cube) for _ in range(N_RUNS)])
            ratio = time_per_entry(alone) / cubes[key]
        ml = finished["trilinos_ml"]["cycles"][-1]["baseline"] if "trilinos_ml" in finished else None
        difference = (finished["umfpack"]["cycles"][-1]["baseline"]["relative_difference"] if "umfpack" in finished else None)
        verified = ((system["relative_residual"] <= TOLERANCE or system["stopped_at_rounding"])
                    and (options.no_direct or (difference is not None and difference <= DIFFERENCE_OF.get(name, DIFFERENCE))))
        case = f"{text}, {system['n_dofs'] / 1e3:.3g} k unknowns"
        complexity = system["amg"]["operator_complexity"] if system["amg"] else 0.0
        keys = ("relative_residual", "stopped_at_rounding", "backward_error", "iterations", "seconds", "nnz", "n_dofs")
        further = {"operator complexity": complexity, "precision": system["precision"], "relative_difference": difference,
                   "errors": errors, **{key: system[key] for key in keys if key != "iterations"}}
        results.add(case, "iterations", system["iterations"], "1", verified, **further)
        results.add(case, "set-up and solution", set_up_and_solution(system), "s", verified, iterations=system["iterations"])
        results.add(case, "time per iteration and entry beside the cube", ratio, "1", verified)
        if ml:
            results.add(case, "iterations of ML", ml["iterations"], "1", verified, **{key: ml[key] for key in keys})
            results.add(case, "set-up and solution of ML in one process", set_up_and_solution(ml), "s", verified)
        print(f"{text:<44} {system['n_dofs']:>9} {system['iterations']:>5} {ml['iterations'] if ml else '-':>5} "
              f"{set_up_and_solution(system):7.3f} {f'{set_up_and_solution(ml):7.3f}' if ml else '-':>7} {complexity:6.2f} "
              f"{ratio:7.2f} {residual(system):>9} {residual(ml) if ml else '-':>9} "
              f"{f'{difference:.1e}' if difference is not None else '-':>8}{'' if verified else '  WRONG'}", flush=True)
        if options.json:
            results.write(options.json, report, options.cores)  # whole after each case: what follows may be stopped
    return 0 if results.all_verified() else 1


if __name__ == "__main__":
    sys.exit(main())
