#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Repeats the measurements of P0, P1 and P2 on this machine; doc/papers.md shows them beside the papers' own.

  ./patchfem bench papers [--json FILE] [--meshes DIR] [--system FILE] [--no-large] [--shrink N]

Gmsh makes the unstructured meshes, unless DIR holds triangles.msh and tetrahedra.msh, made by it elsewhere. The system of
P1 on an hp space comes from the application hp_laplace, unless FILE is one that `Export system` wrote; in a build without
deal.II and without FILE it is left out. With a GPU the examples also run at sizes that fill it."""
# applications: papers
# with deal.II: hp_laplace
# packages: gmsh
import argparse
import json
import pathlib
import shutil
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
    system = folder / "hp_laplace.bin"
    settings = {"Export system": system, "Refinement/Cycles": HP_CYCLES, "Output/Pictures": "none", "Backend": "host"}
    command = [program, ROOT / "parameter_files/hp_laplace/square_hole.prm", "--output", folder / "hp_laplace"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    call(command)
    return system


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path)
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
    meshes = arguments.meshes or make_meshes(folder)
    hp_laplace = arguments.build / "applications/hp_laplace"
    system = arguments.system
    if system is None and hp_laplace.exists():
        system = make_system(hp_laplace, folder)
    if system is None:
        print("The system of P1 on an hp space is left out: making it needs deal.II; --system names a file.")

    command = [program, "--meshes", meshes, "--shrink", arguments.shrink]
    runs = [command + (["--system", system] if system else [])]
    has_gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
    if has_gpu and not arguments.no_large:
        runs.append(command + ["--large"])
    merged = None
    for number, run in enumerate(runs):
        part = folder / f"part{number}.json"
        if subprocess.run([str(word) for word in run + ["--json", part]], check=False).returncode != 0:
            fail("papers failed, or a result of it is wrong")
        content = json.loads(part.read_text(encoding="utf-8"))
        if merged is None:
            merged = {**content, "processor": processor()}
        else:
            merged["results"] += content["results"]
    if arguments.json:
        temporary = arguments.json.with_name(arguments.json.name + ".tmp")
        temporary.write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")
        temporary.replace(arguments.json)


if __name__ == "__main__":
    main()
