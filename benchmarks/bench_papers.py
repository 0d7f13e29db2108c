#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Repeats the measurements of P0, P1 and P2 on this machine; doc/papers.md shows them beside the papers' own.

  ./patchfem bench papers [--json FILE] [--part P0|P1|P2] [--meshes DIR] [--system FILE] [--no-large] [--shrink N]

Gmsh makes the unstructured meshes, unless DIR holds triangles.msh and tetrahedra.msh, made by it elsewhere. The system of
P1 on an hp space comes from the application laplace, unless FILE is one that `Export system` wrote; in a build without
deal.II and without FILE it is left out. With a GPU the examples also run at sizes that fill it. A run that is stopped, or
that fails, leaves what it has in the file; papers/keep.py keeps it."""
# applications: papers
# with deal.II: laplace
# packages: gmsh
import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HP_CYCLES = 9  # 50,969 unknowns; one cycle less has 30,755, and P1 40,000


def fail(message):
    sys.exit(f"error: {message}")


def call(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def make_meshes(folder):
    gmsh = shutil.which("gmsh")
    if gmsh is None:
        fail("there is no gmsh in PATH; install it (Debian: gmsh), or name a folder of its meshes with --meshes")
    for name, dim in (("triangles", 2), ("tetrahedra", 3)):
        call([gmsh, f"-{dim}", "-v", "1", "-format", "msh22", "-o", folder / f"{name}.msh", ROOT / f"benchmarks/papers/meshes/{name}.geo"])
    return folder


def make_system(program, folder):
    settings = {"Export system": "system.bin", "Refinement/Cycles": HP_CYCLES, "Output/Pictures": "none", "Backend": "host"}
    command = [program, ROOT / "parameter_files/laplace/hp_square_hole.prm", "--output", folder / "hp_square_hole"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    call(command)
    return folder / "hp_square_hole" / "system.bin"


def write_merged(runs, path):
    if not runs:
        return
    merged = {**runs[0], "results": [result for run in runs for result in run["results"]]}
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--part", choices=["P0", "P1", "P2"], help="one paper alone; default: all")
    parser.add_argument("--meshes", type=pathlib.Path)
    parser.add_argument("--system", type=pathlib.Path)
    parser.add_argument("--no-large", action="store_true", help="the papers' sizes alone")
    parser.add_argument("--shrink", type=int, default=1, help="divides the edges of all examples, to try things out")
    arguments = parser.parse_args()
    program = arguments.build / "benchmarks/papers/papers"
    if not program.exists():
        fail(f"there is no {program}; build the target papers, or name the build folder with --build")
    folder = arguments.build / "benchmarks/papers/work"
    folder.mkdir(exist_ok=True)
    wanted = lambda part: arguments.part in (None, part)
    meshes = arguments.meshes or (make_meshes(folder) if wanted("P0") else folder)
    laplace = arguments.build / "applications/laplace"
    system = arguments.system
    if system is None and wanted("P1") and laplace.exists():
        system = make_system(laplace, folder)
    if system is None and wanted("P1"):
        print("The system of P1 on an hp space is left out: making it needs deal.II; --system names a file.")

    command = [program, "--meshes", meshes, "--shrink", arguments.shrink] + (["--part", arguments.part] if arguments.part else [])
    runs = [command + (["--system", system] if system else [])]
    has_gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
    if has_gpu and not arguments.no_large:
        runs.append(command + ["--large"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    parts = [folder / f"part{number}.json" for number in range(len(runs))]
    for part in parts:
        part.unlink(missing_ok=True)
    try:
        for run, part in zip(runs, parts):
            if subprocess.run([str(word) for word in run + ["--json", part]], check=False).returncode != 0:
                fail("papers failed, or a result of it is wrong")
    finally:
        if arguments.json:
            write_merged([json.loads(part.read_text(encoding="utf-8")) for part in parts if part.exists()], arguments.json)


if __name__ == "__main__":
    main()
