# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables of P3 and P4 in doc/papers.md, from the newest results of `bench_assembly --papers`. What is not measured has no
row, and a table without rows says so."""
import json
import re

from results import ROOT, fail

LABELS = ["colour", "global_nz", "global_nz with 16 KB", "grouped_nz", "grouped_nz with 16 KB", "local_nz", "shared_nz",
          "shared_nz, both halves", "shared_nz with 16 KB"]


def newest():
    """(case, metric) -> result, and where each comes from."""
    runs = []
    for path in sorted((ROOT / "benchmarks/results").glob("assembly_*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        runs += content if isinstance(content, list) else [content]
    found, sources = {}, set()
    for run in sorted(runs, key=lambda run: run["date"]):
        for result in run["results"]:
            if re.match(r"P3 Regular|P4 (?=table|figure|order)|P4 \d+ nodes", result["case"]):
                if not result["verified"]:
                    fail(f"\"{result['case']}\" is not verified")
                found[result["case"], result["metric"]] = result
                sources.add(f"{run['device']} at {run['commit']} ({run['date']})")
    return found, sources


FOUND, SOURCES = newest()


def value(case, metric="time", key="value"):
    return FOUND.get((case, metric), {}).get(key)


def short(number, digits=3):
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.{digits}g}"


def table(header, rows):
    rows = [row for row in rows if any(row[1:])]
    if not rows:
        return "Not measured yet: `bench_assembly --papers`."
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def meshes():
    """(nodes, triangles), from coarse to fine."""
    found = {re.match(r"P4 (\d+) nodes, (\d+) triangles", case) for case, _ in FOUND}
    return sorted({(int(match[1]), int(match[2])) for match in found if match})


def picoseconds(case, key="value"):
    time = value(case, key=key)
    return "" if time is None else short(1e12 * time)


def p34_machine(_):
    return "; ".join(sorted(SOURCES)) + "." if SOURCES else "Not measured yet: `bench_assembly --papers`."


def p3_assembly(_):
    case = next((case for case, _ in FOUND if case.startswith("P3")), "P3 Regular, ,").rsplit(",", 1)[0]
    row = lambda label, what: [label, *(short(1e3 * time) if time else "" for time in (value(f"{case}, {what}"), value(f"{case}, {what}", key="paper"))),
                               short(value(f"{case}, {what}", key="faster_than_a_core"))]
    return table(["fp64", "ms", "paper, ms", "over one core"],
                 [row("one core", "one core of the host")] + [row(f"`{name}`", name) for name in ("boundary_array", "patches", "gather", "shared_nz")])


def p4_storage(_):
    rows = []
    for cells in ("triangles", "tetrahedra"):
        for order in range(1, 6):
            get = lambda key: short(value(f"P4 table IV, {cells} of order {order}", "numbers of a cell, symmetric", key), 5)
            rows.append([f"{cells}, {order}", get("nodes"), get("coordinates"), get("both_halves"), get("value"), get("cells_in_16_KB_fp32")])
    return table(["cells, order", "nodes", "coordinates", "matrix and load", "symmetric", "cells in 16 KB, fp32"], rows)


def p4_limits(_):
    rows = []
    for order in (1, 3):
        for label in LABELS:
            case = f"P4 order {order}, {label}, fp64"
            share, rate = value(case, key="of_copy_rate"), value(case, key="flop_rate")
            rows.append([f"{order}, `{label}`", short(value(case, key="bytes")), f"{100 * share:.0f} %" if share else "",
                         short(value(case, key="flops")), short(1e-9 * rate) if rate else ""])
    return table(["order, strategy", "bytes a cell", "of the copy rate", "operations a cell", "GFLOP/s"], rows)


def p4_errors(_):
    labels = [label for label in LABELS if "16 KB" not in label and "halves" not in label]
    rows = []
    for nodes, cells in meshes():
        get = lambda label, key="value": value(f"P4 {nodes} nodes, {cells} triangles, {label}", "mean relative error in fp32", key)
        rows.append([f"{nodes:,}, {cells:,}"] + [short(get(label), 2) for label in labels] +
                    [short(get(label, "points_in_fp64"), 2) for label in ("colour", "shared_nz")] + [short(get("colour", "paper"), 2)])
    return table(["nodes, triangles"] + [f"`{label}`" for label in labels] +
                 ["`colour`, points in fp64", "`shared_nz`, points in fp64", "paper"], rows)


def p4_colours(_):
    case = lambda pieces: f"P4 figure 3, colours times {pieces}"
    return table(["colours", "ps a cell, fp32", "beside the fewest"],
                 [[f"times {pieces}", picoseconds(case(pieces)), short(value(case(pieces), key="beside_fewest_colours"))] for pieces in (1, 2, 4)])


def p4_sizes(_):
    labels = [label for label in LABELS if "halves" not in label]
    rows = []
    for nodes, cells in meshes():
        case = f"P4 {nodes} nodes, {cells} triangles"
        pairs = [[picoseconds(f"{case}, {label}, {number}") for number in ("fp32", "fp64")] for label in labels]
        rows.append([f"{cells:,}"] + [" / ".join(pair) if all(pair) else "" for pair in pairs] + [picoseconds(f"{case}, one core of the host, fp64")])
    return table(["triangles"] + [f"`{label}`" for label in labels] + ["one core, fp64"], rows)


def p4_orders(_):
    rows = []
    for label in LABELS:
        for number in ("fp32", "fp64"):
            cells = [short(value(f"P4 order {order}, {label}, {number}", key="faster_than_a_core")) for order in range(1, 6)]
            rows.append([f"`{label}`, {number}"] + cells)
    return table(["faster than one core"] + [f"order {order}" for order in range(1, 6)], rows)


def p4_dummies(_):
    rows = []
    for label in LABELS:
        cells = []
        for order in range(1, 6):
            case = f"P4 order {order}, {label}, fp32"
            dummy = value(case, key="dummy")
            cells.append(f"{value(case) / dummy:.2f}" if dummy else "")
        rows.append([f"`{label}`"] + cells)
    return table(["time over that of the dummy, fp32"] + [f"order {order}" for order in range(1, 6)], rows)
