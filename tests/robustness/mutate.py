#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs applications on inputs that are nearly right: valid ones, changed at random. Every run has to end in one of two ways:

  ok       exit status 0, a report that says that it finished, nothing on standard error, and where the solution is known
           (u = x, which every space of finite elements contains) a small error
  refused  another exit status and exactly one line on standard error, which begins with the program's name

All else is a failure: a signal, no end within the time limit, several lines, control characters or a library's words on
standard error, a wrong result, cells that were lost on the way, cells that overlap, input files that were changed. Inputs
that fail stay in --keep, one folder for each with the command, its output and, in the name, the seed of that one case.

  tests/robustness/mutate.py --seed 1 --count 500 --kind gmsh4 --program build/applications/laplace

Kinds: {kinds}. Images of voxels are read by the program pressure_poisson next to --program."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import inputs

KINDS = list(inputs.MESH_FORMATS) + ["parameters", "voxels"]
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", DEAL_II_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   # One process needs no daemon of Open MPI beside it, which may be slow to come.
                   OMPI_MCA_ess_singleton_isolated="1")
NUMBER = re.compile(r"(?<![\w.$])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.])")
WORDS = ["0", "-1", "1", "2", "3", "7", "99", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
         "9223372036854775808", "-9223372036854775808", "1e308", "1e400", "-1e-320", "0.5", "nan", "inf", "0x10", "1e3", "x",
         "", "1,5", "$", "*", "\u00e9", "1 1", "--1", "+1"]
# Values of parameters. Nothing that names a place outside of the folder of the case.
VALUES = WORDS + ["true", "none", "auto", "host", "trilinos", "cuda", "emulated_device", "single", "mixed", "all: exact", "all: 0",
                  "0: exact", "0 1: x; 2: y", "x", "y", "1/0", "1/(x-x)", "sqrt(-1-x)", "sin(x", "x)", "x ? 1", "x +* y", "rand()",
                  "if(x,1", "a", "b", "c", "pi", ":", ";", "|", "\"", "'", "1:", "1: 1: 1", "all:", "kuhn", "dealii", "global",
                  "hp_adaptive", "1, 2", "jacobi", "amg", "ml", "ssor", "incomplete_cholesky", "chebyshev", "patch", "csr",
                  "hyper_cube", "hyper_ball", "hyper_shell", "0, 0 : 1 : false", "x" * 5000, "(" * 2000, "x 90", "z 1e308", "last"]
# Entries that do not change the solution u = x, whatever they say.
HARMLESS = {"Backend", "Precision", "Degree", "Mapping degree", "Cycles", "Strategy", "Refine fraction", "Format",
            "Sorting window", "Maximum iterations", "Preconditioner", "Smoother", "Sweeps", "Global refinements",
            "Coarse refinements", "Simplices", "Pictures", "Quadrature points"}
# What there is to choose, so that not all changes are refused.
CHOICES = {"Backend": "host emulated_device trilinos auto", "Precision": "double mixed single auto", "Degree": "1 2 3 4",
           "Mapping degree": "auto 1", "Cycles": "1 2 3", "Strategy": "global adaptive", "Refine fraction": "0 0.1 1",
           "Quadrature points": "3 5 10", "Format": "auto csr sell bell sliced_ellpack symmetric ellpack coo hybrid", "Sorting window": "1 2 auto",
           "Maximum iterations": "1 100 2147483647", "Simplices": "none kuhn dealii", "Global refinements": "0 1 2",
           "Preconditioner": "none jacobi block_jacobi neumann least_squares chebyshev ssor incomplete_cholesky amg",
           "Smoother": "auto chebyshev jacobi l1_jacobi patch factorized_inverse", "Sweeps": "1 2 3", "Coarse refinements": "0 1", "Pictures": "none last all"}
# A run with a large number here is long and not wrong.
LONG = {"Cycles", "Global refinements", "Coarse refinements", "Generator arguments"}

Case = collections.namedtuple("Case", "kind files program u_is_x n_cells mesh_line must_refuse change")


def changed_word(rng, word):
    if re.fullmatch(r"[-+]?\d+", word) and rng.random() < 0.6:
        return str(rng.choice([int(word) + 1, int(word) - 1, -int(word), 10 * int(word), 2 * int(word)]))
    if NUMBER.fullmatch(word) and rng.random() < 0.4:
        return repr(float(word) * rng.choice([-1, 10, 0.5, 1e6, 1e-6, 1e200]))
    return rng.choice(WORDS)


def mutate_lines(rng, lines):
    """(what was done, the text, whether numbers may now be others)."""
    lines, i, j = list(lines), rng.randrange(len(lines)), rng.randrange(len(lines))
    end = "\n"
    # Heads and counts are few among many lines of data, and matter most.
    if rng.random() < 0.3:
        i = rng.choice([k for k, line in enumerate(lines) if k < 12 or re.search("[A-Za-z$*]", line) or len(line) < 12])
    way = rng.choice(["delete", "duplicate", "swap", "number", "number", "number", "number", "words", "drop word", "join",
                      "truncate", "concatenate", "concatenate", "garbage", "byte", "byte", "section", "ends", "append"])
    alters = way in ("number", "words", "drop word", "byte", "join", "garbage")
    if way == "delete":
        del lines[i]
    elif way == "duplicate":
        lines.insert(j if rng.random() < 0.3 else i, lines[i])
    elif way == "swap":
        lines[i], lines[j] = lines[j], lines[i]
    elif way in ("number", "words", "drop word"):
        words = re.split(r"([ ,]+)", lines[i])
        k = 2 * rng.randrange((len(words) + 1) // 2)
        if way == "number":
            words[k] = changed_word(rng, words[k])
        elif way == "drop word":
            words[k] = ""
        else:
            other = re.split(r"([ ,]+)", lines[j])
            m = 2 * rng.randrange((len(other) + 1) // 2)
            words[k], other[m] = other[m], words[k]
            if i != j:
                lines[j] = "".join(other)
        lines[i] = "".join(words)
    elif way == "join":
        lines[i:i + 2] = [" ".join(lines[i:i + 2])]
    elif way == "section":
        j = min(len(lines), i + rng.randrange(1, 12))
        part = lines[i:j]
        if rng.random() < 0.5:
            del lines[i:j]
        lines[(k := rng.randrange(len(lines) + 1)):k] = part
    elif way == "garbage":
        lines.insert(i, "".join(rng.choice("$*#:;,!=x 1\t\x00\x01\x1b\x7f\x0b\x0c\u00e9\u2028") for _ in range(rng.randrange(1, 20))))
    elif way == "append":
        lines += rng.choice([["x"], lines[-1:], lines[i:i + 1], ["# comment"], ["", " ", ""], ["\x00"], ["1 2 3 4 5"]])
    elif way == "ends":
        end = rng.choice(["\r\n", "\r", "\n\n", " \n"])
    data = (end.join(lines) + end).encode(errors="surrogateescape")
    if way == "truncate":
        data = data[:rng.randrange(len(data))]
    elif way == "concatenate":
        data = data + rng.choice([data, data[rng.randrange(len(data)):]])
    elif way == "byte":
        k = rng.randrange(len(data))
        data = rng.choice([data[:k] + bytes([rng.choice(b"\x00\x01\x1b\xff -+e1*$,\n")]) + data[k + 1:], data[:k] + data[k + 1:],
                           data[:k] + bytes([data[k] ^ (1 << rng.randrange(7)) if data[k] not in b"./" else 49]) + data[k + 1:],
                           b"\xef\xbb\xbf" + data, b"\xff\xfe" + data])
    return way, data, alters


def mutate_geometry(rng, mesh):
    """Changes a mesh so that its file is as well formed as before."""
    way = rng.choice(["move", "move", "swap nodes", "swap in cell", "twice", "copy", "merge", "crack", "remove", "nothing"])
    cell = rng.choice(mesh.cells)
    if way == "move":
        inner = [i for i, x in enumerate(mesh.points) if all(0 < c < 1 for c in x)]
        point = rng.choice(inner)
        scale = rng.choice([0.1, 0.5, 1, 2])
        mesh.points[point] = [c + rng.uniform(-scale, scale) for c in mesh.points[point]]
    elif way == "swap nodes":
        other, i, j = rng.choice(mesh.cells), rng.randrange(len(cell)), rng.randrange(len(cell))
        cell[i], other[j] = other[j], cell[i]
    elif way == "swap in cell":
        rng.shuffle(cell)
    elif way == "twice":
        mesh.cells.insert(rng.randrange(len(mesh.cells)), list(cell))
    elif way == "copy":
        # All cells or one, with points of their own.
        copied = [cell] if rng.random() < 0.5 else list(mesh.cells)
        shift = len(mesh.points)
        mesh.points += [list(x) for x in mesh.points]
        mesh.cells += [[v + shift for v in c] for c in copied]
    elif way == "merge":
        cell[rng.randrange(len(cell))] = rng.randrange(len(mesh.points))
    elif way == "crack":
        i = rng.randrange(len(cell))
        mesh.points.append(list(mesh.points[cell[i]]))
        cell[i] = len(mesh.points) - 1
    elif way == "remove":
        mesh.cells.remove(cell)
    kept = {frozenset(face) for c in mesh.cells for face in mesh.faces_of(c)}
    mesh.faces = [(face, i) for face, i in mesh.faces if frozenset(face) in kept]
    return way


def mesh_case(rng, kind, change):
    writer, suffix = inputs.MESH_FORMATS[kind]
    dim, simplices = rng.choice([2, 3]), rng.random() < 0.5
    mesh = inputs.Mesh(rng, dim, simplices, rng.choice([2, 3]) if dim == 2 else 2)
    seed_of_writer = rng.randrange(1 << 30)
    ids = sorted({i for _, i in mesh.faces})
    name = {(2, True): "triangles", (2, False): "quadrilaterals", (3, True): "tetrahedra", (3, False): "hexahedra"}
    n_cells, must_refuse = len(mesh.cells), False
    # Without counts there is nothing that data could be held against.
    counted = kind != "abaqus"
    lines = writer(mesh, random.Random(seed_of_writer))
    materials = "the left half, right" if "$PhysicalNames" in lines else "1, 2"
    line = f"{n_cells} {name[dim, simplices]}, materials {materials}, boundary ids {', '.join(map(str, ids))}" if counted else None
    if not change:
        way, data = "nothing", ("\n".join(lines) + "\n").encode()
    elif rng.random() < 0.3:
        way = mutate_geometry(rng, mesh)
        measure = mesh.total_measure()
        must_refuse = way == "twice" or (way in ("move", "copy", "swap in cell") and measure is not None and measure > 1 + 1e-9)
        n_cells, line = len(mesh.cells), None
        data = ("\n".join(writer(mesh, random.Random(seed_of_writer))) + "\n").encode()
    else:
        way, data, alters = mutate_lines(rng, lines)
        line = None if alters else line
    files = {"case.prm": inputs.LAPLACE.format(dimension=dim, file="mesh" + suffix).encode(), "mesh" + suffix: data}
    return Case(kind, files, "", True, n_cells if counted else None, line, must_refuse, way)


def parameter_case(rng, kind, change):
    text, changed = inputs.PARAMETERS, []
    for _ in range(rng.choice([1, 1, 1, 2, 3]) if change else 0):
        lines = text.split("\n")[:-1] or [""]  # nothing may be left by the change before
        if rng.random() < 0.75:
            i = rng.choice([i for i, line in enumerate(lines) if "=" in line] or [0])
            name, _, old = lines[i].partition("=")
            entry = name.replace("set", "", 1).strip()
            values = VALUES + ([changed_word(rng, old.strip())] * 40 if old.strip() else [])
            values += CHOICES.get(entry, "").split() * (len(values) // 4)
            if entry in LONG:
                values = [v for v in values if not re.search(r"\d{2}|[4-9]|e", v)]
            lines[i] = name + "= " + rng.choice(values)
            if rng.random() < 0.05:
                lines.insert(rng.randrange(len(lines)), rng.choice(["  set Export system = ../case.prm", "subsection Output\n set Folder = .\nend"]))
            changed.append(entry)
            text = "\n".join(lines) + "\n"
        else:
            # A digit that is lost or gained may make a run long.
            while True:
                way, data, _ = mutate_lines(rng, lines)
                text = data.decode(errors="surrogateescape")
                if all(not re.search(r"\d{2}|[4-9]|e", line.partition("=")[2].split("#")[0].replace("false", "").replace("true", ""))
                       for line in text.splitlines() if any(name in line for name in LONG)):
                    break
            changed.append(way)
    data = text.encode(errors="surrogateescape")
    return Case(kind, {"case.prm": data}, "", set(changed) <= HARMLESS, None, None, False, ", ".join(changed))


def voxel_case(rng, kind, change):
    data = inputs.voxels(rng)
    head, _, labels = data.partition(b"default\n")
    if not change:
        way = "nothing"
    elif b"BINARY" in data:
        way, head, _ = mutate_lines(rng, head.decode().split("\n")[:-1] + ["LOOKUP_TABLE default"])
        if way not in ("truncate", "concatenate", "append"):
            data = head + (labels if rng.random() < 0.8 else labels[:rng.randrange(len(labels))])
        else:
            data += rng.choice([data, b"x", b"\x00\x00\x00\x01"])
    else:
        way, data, _ = mutate_lines(rng, data.decode().split("\n")[:-1])
    must_refuse = way == "concatenate"
    return Case(kind, {"case.prm": inputs.PRESSURE.encode(), "image.vtk": data}, "pressure_poisson", False, None, None, must_refuse, way)


def limited(command, memory, seconds):
    """The command under limits of its memory (MiB), processor time, and the size of files, without core dumps."""
    limits = f"ulimit -v {memory << 10}; ulimit -t {seconds}; ulimit -f {1 << 19}; ulimit -c 0"
    return ["/bin/sh", "-c", limits + '; exec "$@"', "sh"] + command


def digest(folder, names):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() if (folder / name).is_file() else None for name in names}


def classify(case, name, code, out, err, folder):
    """`ok`, `refused`, or what failed."""
    if code < 0:
        return f"crash: signal {-code}"
    report = {}
    try:
        report = json.loads((folder / "out" / "report.json").read_text())
    except (OSError, ValueError) as error:
        if code == 0 or not isinstance(error, FileNotFoundError):
            return "report: there is none that can be read"
    if code != 0:
        if not err.endswith("\n") or err.count("\n") != 1:
            return "stderr: not one line"
        if re.search(r"[\x00-\x09\x0b-\x1f\x7f]", err):
            return "stderr: control characters"
        if not err.startswith(name + ": ") or len(err) < len(name) + 10:
            return "stderr: does not begin with the program's name"
        if re.search("Something went wrong inside a library|terminate called|Assertion|Stacktrace|[Ee]rror <", err):
            return "stderr: a library's words"
        if report.get("finished") is not False and report:
            return "report: finished, but the run failed"
        return "refused"
    if err:
        return "stderr: not empty though the run succeeded"
    if report.get("finished") is not True:
        return "report: not finished, but the run succeeded"
    if case.must_refuse:
        return "accepted: overlapping or repeated"
    cycle = report["cycles"][-1]
    errors = [value for value in (cycle.get("errors") or {}).values() if value is not None]
    if any(not math.isfinite(value) for value in errors):
        return "wrong: the error is not a number"
    if case.u_is_x:
        text = b"".join(data for file, data in case.files.items() if file != "case.prm").decode(errors="replace")
        size = max([1.0] + [abs(float(x)) for x in NUMBER.findall(text) if abs(float(x)) < 1e300])
        if not errors or max(errors) > (1e-6 if text else 1e-3) * min(size, 1e100) ** 3:
            return f"wrong: errors {errors} of u = x"
    if case.n_cells is not None and cycle["n_cells"] != case.n_cells:
        return f"wrong: {cycle['n_cells']} cells where the input has {case.n_cells}"
    if case.mesh_line is not None and "Mesh: " + case.mesh_line + "\n" not in out:
        return f"wrong: the mesh is not 'Mesh: {case.mesh_line}'"
    return "ok"


MAKERS = dict({kind: mesh_case for kind in inputs.MESH_FORMATS}, parameters=parameter_case, voxels=voxel_case)


def run_case(options, kind, seed, change=True):
    """One case in a folder of its own: (kind, seed, result, standard error). Without a change it has to be ok."""
    case = MAKERS[kind](random.Random(f"{kind} {seed}"), kind, change)
    program = options.program if not case.program else options.program.with_name(case.program)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"mutate-{kind}-"))
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    before = digest(folder, case.files)
    command = [str(program), "case.prm", "--output", "out"]
    # Without a daemon, Open MPI's processes would share one folder of temporary files and remove it for each other.
    process = subprocess.Popen(limited(command, options.memory, options.time), cwd=folder, env=dict(ENVIRONMENT, TMPDIR=str(folder)),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = (text.decode(errors="replace") for text in process.communicate(timeout=10 * options.time))
        result = classify(case, program.name, process.returncode, out, err, folder)
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            result = "hang: no end within the time limit"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = (text.decode(errors="replace") for text in process.communicate())
        result = "hang: no end within the time limit"
    if digest(folder, case.files) != before:
        result = "input: files were changed"
    if not change and result == "refused":
        result = "unchanged: refused"
    if result not in ("ok", "refused"):
        kept = options.keep / f"{kind}-{seed}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, kept)
        for name, data in case.files.items():
            (kept / name).write_bytes(data)
        (kept / "what.txt").write_text(f"{result}\nchange: {case.change}\n{' '.join(command)}\nexit status {process.returncode}\n"
                                       f"--- standard output\n{out}\n--- standard error\n{err}")
    shutil.rmtree(folder, ignore_errors=True)
    return kind, seed, result, err


def main():
    parser = argparse.ArgumentParser(description=__doc__.format(kinds=", ".join(KINDS)),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="the cases are those of seed, seed + 1, ...")
    parser.add_argument("--count", type=int, default=20, help="cases of each kind, beside one that is not changed")
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be given several times; all of them by default")
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/applications/laplace"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", type=int, default=30, help="seconds of a processor that a run may take, or ten times as many by the clock")
    parser.add_argument("--memory", type=int, default=4096, help="MiB of address space that a run may take")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("mutate-failures"), help="folder of inputs that fail")
    parser.add_argument("--verbose", action="store_true", help="every case with what the program said")
    options = parser.parse_args()
    options.program = options.program.resolve()
    if not os.access(options.program, os.X_OK):
        parser.error(f"--program: {options.program} cannot be run; build it first")
    failed = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for kind in options.kind or KINDS:
            results = collections.Counter()
            cases = [pool.submit(run_case, options, kind, options.seed, False)]
            cases += [pool.submit(run_case, options, kind, options.seed + i) for i in range(options.count)]
            for case in concurrent.futures.as_completed(cases):
                _, seed, result, err = case.result()
                results[result.partition(":")[0]] += 1
                if options.verbose:
                    print(f"  {kind} {seed} {result}: {err.strip()}")
                if result not in ("ok", "refused"):
                    failed = True
                    print(f"  FAILED {kind} {seed}: {result}; kept in {options.keep / f'{kind}-{seed}'}", flush=True)
            print(f"{kind}: " + ", ".join(f"{n} {result}" for result, n in results.most_common()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
