#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the tables of doc/papers.md from the kept results of bench_papers.py, with the papers' values in values.json, and
of `bench_assembly --papers`.

  python3 benchmarks/papers/tables.py --write doc/papers.md  puts each between its two markers
  python3 benchmarks/papers/tables.py --check doc/papers.md  exit code 1 unless the file holds exactly these tables"""
import argparse
import pathlib
import re

from assembly_tables import p34_machine, p3_assembly, p4_colours, p4_dummies, p4_errors, p4_limits, p4_orders, p4_sizes, p4_storage
from results import KINDS, ORDERS, VALUES, Run, fail

P0, P1, P2 = VALUES["P0"], VALUES["P1"], VALUES["P2"]
EXAMPLES = P0["examples"]
SLICES = ["", " 64", " 128", " 256", " 512"]


def seconds(value):
    if value is None:
        return "–"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-6:.2g} µs"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def ratio(value):
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def beside(ours, papers, text=ratio):
    return f"{text(ours)} ({text(papers) if papers is not None else '–'})"


def machine(run):
    content = run.run
    parts = []
    for part in ("P0", "P1", "P2"):
        commits = sorted({commit for (case, _), commit in run.commits.items() if case.startswith(part)})
        parts.append(f"{part} at {', '.join(commits)}")
    return f"{content['device']}, {content['threads']} threads of {content['processor']}; {'; '.join(parts)}. A dash: not measured."


def p0_examples(run):
    number = lambda value: f"{int(value):,}"
    rows = []
    for name in EXAMPLES:
        n, nnz = run.value(f"P0/{name}", "unknowns"), run.value(f"P0/{name}", "entries")
        rows.append([name, beside(n, P0["unknowns"][name], number), beside(nnz, P0["entries"][name], number),
                     beside(nnz / n, P0["entries"][name] / P0["unknowns"][name], lambda value: f"{value:.2f}")])
    return table(["example", "unknowns", "entries", "entries a row"], rows)


def p0_stored(run):
    stored = lambda name, what: run.value(f"P0/{name}/{what}", "entries stored over CSR's")
    rows = [[name, beside(stored(name, "ELLPACK"), P0["stored"][name.split()[0]]), beside(stored(name, "BELL"), P0["stored"][name.split()[0]]),
             beside(stored(name, "SELL"), P0["sliced"]), beside(stored(name, "SBELL"), P0["sliced"])]
            for name in EXAMPLES + ["tri sorted", "tet sorted"]]
    return table(["example", "ELLPACK", "BELL", "SELL", "SBELL"], rows)


def p0_slices(run):
    rows = []
    for what in ("SELL", "SBELL"):
        for name in EXAMPLES:
            reference = run.product(f"P0/{name}", what)
            rows.append([f"{what}, {name}"] + [f"{reference / run.product(f'P0/{name}', what + height):.2f}" for height in SLICES])
    return table(["format, example", "32", "64", "128", "256", "512"], rows)


def p0_products(run):
    formats = ["cuSPARSE CSR", "CSR, a warp a row", "CSR, a thread a row", "CSR", "ELLPACK", "BELL", "SELL", "SBELL", "cuSPARSE SELL", "cuSPARSE BSR"]
    rows = []
    for key in ("P0", "P0 large"):
        for name in EXAMPLES + ["tri sorted", "tet sorted"]:
            case = f"{key}/{name}"
            n, nnz = run.get(case, "unknowns"), run.get(case, "entries")
            if nnz is None:
                continue
            rate = lambda what: run.get(f"{case}/{run.place}/{what}", "product")
            rows.append([f"{name}, {n / 1e6:.2f} M"] + [f"{2e-9 * nnz / rate(what):.0f}" if rate(what) else "–" for what in formats])
    return table(["example, unknowns"] + formats, rows)


def p0_gains(run):
    rows = []
    for name in EXAMPLES:
        row = [name]
        for base, papers in (("SELL", "SBELL over SELL"), ("cuSPARSE CSR", "SBELL over cuSPARSE"), ("cuSPARSE BSR", None)):
            for key in ("P0", "P0 large"):
                time = run.get(f"{key}/{name}/{run.place}/{base}", "product")
                mine = run.get(f"{key}/{name}/{run.place}/SBELL", "product")
                row.append(ratio(time / mine) if time and mine else "–")
            if papers:
                row.append(ratio(P0[papers][name]))
        rows.append(row)
    return table(["SBELL over", "SELL", "large", "paper", "cuSPARSE CSR", "large", "paper", "cuSPARSE BSR", "large"], rows)


def p0_precision(run):
    percent = lambda value: f"{100 * value:.0f} %"
    rows = []
    for name in EXAMPLES:
        row = [name]
        for key in ("P0", "P0 large"):
            single = run.get(f"{key}/{name}/{run.place}/SBELL fp32", "product")
            double = run.get(f"{key}/{name}/{run.place}/SBELL", "product")
            row.append(percent(single / double) if single and double else "–")
        rows.append(row + [percent(P0["double over single"][name])])
    return table(["example", "ours", "ours, large", "paper"], rows)


def p0_iterations(run):
    jacobi = run.p0_iterations("P0/quad", "Jacobi")
    whole = lambda value: f"{value:.0f}"
    share = lambda value: f"{value:.3f}"
    rows = [["Jacobi", beside(jacobi, P0["iterations"]["Jacobi"], whole)] + [""] * 4]
    for kind in KINDS:
        mine = [run.p0_iterations("P0/quad", f"{kind} {order}") for order in ORDERS]
        rows.append([kind] + [beside(a, b, whole) for a, b in zip(mine, P0["iterations"][kind])])
        rows.append([f"{kind}, of Jacobi's"] + [beside(a / jacobi, b / P0["iterations"]["Jacobi"], share) for a, b in zip(mine, P0["iterations"][kind])])
    return table(["polynomial"] + [f"order {order}" for order in ORDERS], rows)


def p0_seconds(run):
    rows = []
    for kind in KINDS:
        paper = [value / P0["seconds"]["Jacobi"] for value in P0["seconds"][kind]]
        core = [run.host_solution("P0/quad", "core", f"{kind} {order}") / run.host_solution("P0/quad", "core", "Jacobi") for order in ORDERS]
        device = [run.solution("P0/quad", f"SBELL/{kind} {order}") / run.solution("P0/quad", "SBELL/Jacobi") for order in ORDERS]
        rows.append([f"{kind}, one core, CSR"] + [beside(a, b) for a, b in zip(core, paper)])
        rows.append([f"{kind}, {run.place}, SBELL"] + [ratio(a) for a in device])
    text = table(["time over Jacobi's"] + [f"order {order}" for order in ORDERS], rows)
    return text + (f"\n\nJacobi takes {seconds(run.host_solution('P0/quad', 'core', 'Jacobi'))} on one core (paper: {P0['seconds']['Jacobi']} s), "
                   f"{seconds(run.solution('P0/quad', 'SBELL/Jacobi'))} on the {'device' if run.place == 'cuda' else 'host'}.")


def p0_meshes(run):
    rows = []
    for name in EXAMPLES:
        jacobi, squares = P0["Jacobi and least squares 6"][name]
        key = f"P0/{name}"
        mine = [run.host_solution(key, "core", what) for what in ("Jacobi", "least squares 6")]
        device = [run.solution(key, f"SBELL/{what}") for what in ("Jacobi", "least squares 6", "least squares 6, mixed")]
        rows.append([name, f"{run.p0_iterations(key, 'Jacobi'):.0f}, {run.p0_iterations(key, 'least squares 6'):.0f}", seconds(mine[0]), seconds(mine[1]),
                     beside(mine[1] / mine[0], squares / jacobi), seconds(device[0]), seconds(device[1]), ratio(device[1] / device[0]), seconds(device[2])])
    return table(["example", "iterations", "core: Jacobi", "core: least squares 6", "ratio", f"{run.place}: Jacobi", f"{run.place}: least squares 6", "ratio", "mixed"], rows)


def p0_speedup(run):
    rows = []
    for variant, what in (("CSR", "CSR/least squares 6"), ("CSR, mixed", "CSR/least squares 6, mixed"), ("SBELL", "SBELL/least squares 6"), ("SBELL, mixed", "SBELL/least squares 6, mixed")):
        row = [variant]
        for name in EXAMPLES:
            mine = run.solution(f"P0/{name}", what)
            row += [f"{run.host_solution(f'P0/{name}', place, 'least squares 6') / mine:.0f}" for place in ("core", "host")]
        low, high = P0["speed-up"][variant]
        rows.append(row + [f"{low}–{high}"])
    header = ["over"] + [f"{name}: {place}" for name in EXAMPLES for place in ("one core", "all")] + ["paper, one core"]
    return table(header, rows)


def host_seconds(run, case):
    """Of a solution; those that were not run to the end say so."""
    return ("≈ " if run.get(case, "estimated") else "") + seconds(run.get(case, "solution"))


def p1_comparison(run):
    rows = []
    for key in ("P1/32^2", "P1/100^2", "P1/200^2", "P1/hp", "P1 large/128^3"):
        n = run.get(key, "unknowns")
        if n is None:
            continue
        for what in ("none", "Jacobi", "SSOR", "IC(0), 3 sweeps"):
            if run.get(f"{key}/{run.place}/{what}", "solution") is None:
                continue
            cases = [f"{key}/{place}/{what}" for place in ("core", "host", run.place)]
            times = [run.get(case, "solution") for case in cases]
            over = lambda time, further=0: ratio(time / (times[2] + further)) if time else "–"
            transfer = run.value(f"{key}/{run.place}/matrix", "transfer")
            rows.append([f"{key.split('/')[1]}, {int(n):,}", what, f"{run.iterations(key, what):.0f}"] + [host_seconds(run, case) for case in cases] +
                        [over(times[0]), over(times[1]), over(times[0], transfer),
                         f"{run.value(f'{key}/{run.place}/{what}', 'difference from x_sol'):.0e}"])
    return table(["system, unknowns", "preconditioner", "iterations", "one core", "all cores", run.place, "over one core", "over all", "with transfer", "error"], rows)


def p1_hp(run):
    rows = []
    for number in range(100):
        case = f"P1 hp_laplace/{number}"
        if run.get(case, "unknowns") is None:
            break
        n = run.value(case, "unknowns")
        if n < 2e5:
            continue
        stage = lambda *names: seconds(sum(run.value(case, f"{name} time") for name in names))
        rows.append([f"{n / 1e6:.2f} M", f"{run.value(case, 'cells'):,}", f"{run.value(case, 'entries') / n:.0f}", f"{run.value(case, 'iterations'):.0f}",
                     stage("mesh"), stage("dofs"), stage("extraction"), stage("sparsity", "plan"), stage("assembly"), stage("preconditioner"), stage("solve"),
                     f"{run.value(case, 'device_peak memory') / 1e9:.3g} GB", f"{run.value(case, 'error of a known solution'):.0e}"])
    if not rows:
        return "Not measured yet."
    return table(["unknowns", "cells", "entries a row", "iterations", "mesh", "unknowns numbered", "extraction", "structure", "assembly", "AMG", "solution",
                  "device memory", "error"], rows)


def p2_cases(run):
    cases = [(f"P2/{i + 1}", i) for i in range(len(P2["unknowns"]))]
    cases = [case for case in cases if run.get(case[0], "unknowns")]
    return cases + [(case, None) for case in ("P2 large/192^3", "P2 large/256^3") if run.get(case, "unknowns")]


def of(name, i, further=None):
    """The paper's value of matrix i + 1; None for the large one."""
    values = P2[name] if further is None else P2[name][further]
    return None if i is None else values[i]


def size(run, key):
    return f"{run.value(key, 'unknowns') / 1e3:,.0f} k"


def p2_matrices(run):
    number = lambda value: f"{int(value):,}"
    return table(["matrix", "unknowns", "entries"], [
        [key.split("/")[1], beside(run.value(key, "unknowns"), of("unknowns", i), number),
         beside(run.value(key, "entries"), of("entries", i), number)] for key, i in p2_cases(run)])


def p2_products(run):
    rows = []
    for key, i in p2_cases(run):
        core = run.get(f"{key}/core/CSR", "product")
        ours = lambda what: run.get(f"{key}/{run.place}/{what}", "product")
        paper = lambda what: None if i is None else of("product seconds", i, "CPU") / of("product seconds", i, what)
        scalar = ours("CSR, a thread a row") or ours("CSR")
        over = lambda what, time: beside(core / time, paper(what)) if core else "–"
        rows.append([size(run, key), seconds(core), seconds(scalar), seconds(ours("CSR")), seconds(ours("cuSPARSE CSR")), seconds(ours("mDIA")),
                     over("CSR", scalar), over("mDIA", ours("mDIA")),
                     beside(scalar / ours("mDIA"), None if i is None else of("product seconds", i, "CSR") / of("product seconds", i, "mDIA")),
                     ratio(ours("CSR") / ours("mDIA"))])
    return table(["unknowns", "one core", "CSR, a thread a row", "CSR", "cuSPARSE CSR", "mDIA", "CSR, a thread a row, over core", "mDIA over core",
                  "mDIA over CSR, a thread a row", "mDIA over CSR"], rows)


def p2_solutions(run):
    rows = []
    whole = lambda value: f"{value:.0f}"
    for key, i in p2_cases(run):
        row = [size(run, key)]
        for what, steps, times in (("none", "CG steps", "CG seconds"), ("IC(0), exact", "PCG steps", "PCG seconds")):
            row.append(beside(run.iterations(key, f"mDIA/{what}"), of(steps, i), whole))
            mdia, csr = (run.get(f"{key}/{run.place}/{matrix}/{what}", "solution") for matrix in ("mDIA", "CSR"))
            row += [seconds(mdia), beside(csr / mdia, None if i is None else of(times, i, "CSR") / of(times, i, "mDIA")) if csr else "–"]
        rows.append(row)
    return table(["unknowns", "CG steps", "mDIA", "CSR over mDIA", "PCG steps", "mDIA", "CSR over mDIA"], rows)


def best_sweeps(run, key):
    """The number of sweeps with the shortest time to solution."""
    return min((2, 3, 4, 5, 6), key=lambda n: run.solution(key, f"mDIA/IC(0), {n} sweeps"))


def p2_triangles(run):
    rows = []
    for key, i in p2_cases(run):
        n = best_sweeps(run, key)
        application = lambda what: run.value(f"{key}/{run.place}/{what}", "application")
        exact, sweeps = "IC(0), exact", f"IC(0), {n} sweeps"
        steps = [run.iterations(key, f"mDIA/{what}") for what in (exact, sweeps)]
        sums = [application(what) * step for what, step in zip((exact, sweeps), steps)]
        paper = None if i in (None, 0) else of("direct seconds", i) / of("Jacobi seconds", i)
        rows.append([size(run, key), f"{steps[0]:.0f}", seconds(application(exact)), n, f"{steps[1]:.0f}", seconds(application(sweeps)),
                     ratio(application(exact) / application(sweeps)), beside(sums[0] / sums[1], paper),
                     *(seconds(run.solution(key, f"mDIA/{what}")) for what in (exact, sweeps, "none"))])
    return table(["unknowns", "direct: steps", "one application", "sweeps", "steps", "one application", "direct over sweeps", "over all steps",
                  "solution, direct", "by sweeps", "CG alone"], rows)


def p2_speedup(run):
    rows = []
    for key, i in p2_cases(run):
        core = run.get(f"{key}/core/CSR/IC(0), exact", "solution")
        if core is None:
            continue
        sweeps = f"mDIA/IC(0), {best_sweeps(run, key)} sweeps"
        rows.append([size(run, key), host_seconds(run, f"{key}/core/CSR/IC(0), exact")] + [ratio(core / run.solution(key, what)) for what in ("CSR/IC(0), exact", "mDIA/IC(0), exact", sweeps)]
                    + [P2["speed-up"]])
    return table(["unknowns", "one core, exact", "CSR, exact", "mDIA, exact", "mDIA, sweeps", "paper, average"], rows)


TABLES = {name: function for name, function in list(globals().items()) if re.match(r"p(0|1|2|3|4|34)_|machine$", name) and name != "p2_cases"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", type=pathlib.Path, metavar="FILE")
    group.add_argument("--check", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    path = arguments.write or arguments.check
    run, text, used = Run(), path.read_text(encoding="utf-8"), set()

    def replace(match):
        name = match.group(1)
        if name not in TABLES:
            fail(f"{path} asks for a table {name}, which does not exist")
        used.add(name)
        return f"<!-- {name}: made by benchmarks/papers/tables.py -->\n\n{TABLES[name](run)}\n\n<!-- end -->"

    result = re.sub(r"<!-- (\w+): made by benchmarks/papers/tables\.py -->.*?<!-- end -->", replace, text, flags=re.DOTALL)
    if set(TABLES) - used:
        fail(f"{path} lacks the markers of {', '.join(sorted(set(TABLES) - used))}")
    if arguments.write:
        path.write_text(result, encoding="utf-8")
    elif result != text:
        fail(f"{path} does not hold the tables that the results give; repair: benchmarks/papers/tables.py --write {path}")


if __name__ == "__main__":
    main()
