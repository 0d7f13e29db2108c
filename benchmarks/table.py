#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the tables of performance from the raw results in benchmarks/results: all of them for doc/performance.md, those
of HEADLINES for README.md.

  python3 benchmarks/table.py          prints all of them
  python3 benchmarks/table.py --write  puts them between the two markers in those files
  python3 benchmarks/table.py --check  exit code 1 unless the files hold exactly these tables

Of each (device, benchmark, case, metric) the newest result counts. results/README.md describes the files."""
import argparse
import json
import pathlib
import re
import sys

BEGIN = "<!-- performance: made by benchmarks/table.py -->"
END = "<!-- end of performance -->"
ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a reader wants first: benchmark, and patterns that the whole of case and metric match.
HEADLINES = [
    ("spmv", r"Q1 .* 3D, (S.*|symmetric.*|cuSPARSE.*), fp64, .*", "rate"),
    ("spmv", r"Q1 elasticity 3D, .*SBELL.*, fp32, .*", "rate"),
    ("spmv", r"pressure on voxels, (mDIA|CSR), fp64, .*", "rate"),
    ("tetrahedra", ".*", "rate"),
    ("assembly", ".*fp64.*", "rate|extra memory"),
    ("pcg", ".*", "time"),
    ("pipeline", ".*", "time"),
    ("amg", r".*AMG in fp32, (9|10)\..*", "set-up|set-up again|solution"),
    ("multigrid", ".*", "assembly, set-up and solution: ML / PatchFEM|iterations|iterations of ML"),
    ("cpu", ".*", ".*processes / PatchFEM"),
    ("pressure", r"(numbering|.*Jacobi|.*AMG).*, 14\.6 M cells", "time"),
]
PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")]


def fail(message):
    sys.exit(f"table.py: {message}")


def number(value, unit):
    """Three significant digits with the unit's prefix; a plain number for unit 1."""
    if unit in ("1", ""):
        return f"{value:.3g}"
    if unit == "%":
        return f"{value:.3g} %"
    for scale, prefix in PREFIXES:
        if abs(value) >= scale or scale == 1e-12:
            digits = f"{value / scale:.3g}"
            return f"{digits} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def read_runs(folder):
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            fail(f"{path} is not JSON: {error}")
        for run in content if isinstance(content, list) else [content]:
            for key in ("benchmark", "commit", "device", "date", "results"):
                if key not in run:
                    fail(f"{path} has no \"{key}\"")
            for result in run["results"]:
                for key in ("case", "metric", "value", "unit", "verified"):
                    if key not in result:
                        fail(f"a result in {path} has no \"{key}\"")
                if result["verified"] is not True:
                    fail(f"{path}: \"{result['case']}\" is not verified, so it is no result")
            yield path, run


def newest(folder):
    """(device, benchmark, case, metric) -> (run, result), in the order of the files; of two the later date counts."""
    found = {}
    for _, run in read_runs(folder):
        for result in run["results"]:
            if result.get("detail"):
                continue
            key = (run["device"], run["benchmark"], result["case"], result["metric"])
            if key not in found or run["date"] >= found[key][0]["date"]:
                found[key] = (run, result)
    return found


def is_headline(key):
    return any(key[1] == benchmark and re.fullmatch(case, key[2]) and re.fullmatch(metric, key[3])
               for benchmark, case, metric in HEADLINES)


def table(found):
    lines = []
    for device in sorted({key[0] for key in found}):
        entries = [(key, *value) for key, value in found.items() if key[0] == device]
        rates = [run for _, run, _ in entries if "copy_rate" in run]
        title = f"**{device}**"
        if rates:
            latest = max(rates, key=lambda run: run["date"])
            title += f", copy {number(latest['copy_rate'], 'B/s')}"
            if "read_rate" in latest:
                title += f", read {number(latest['read_rate'], 'B/s')}"
        lines += [title, "", "| benchmark | case | | measured | limit | of limit | commit, date |", "|---|---|---|--:|--:|--:|---|"]
        for (_, benchmark, case, metric), run, result in sorted(entries, key=lambda e: e[0]):
            limit = number(result["limit"], result["unit"]) if result.get("limit") is not None else ""
            share = result.get("fraction_of_limit")
            share = f"{100 * share:.0f} %" if share is not None else ""
            lines.append(f"| {benchmark} | {case} | {metric} | {number(result['value'], result['unit'])} | {limit} | {share} "
                         f"| {run['commit']}, {run['date']} |")
        lines.append("")
    return "\n".join(lines).rstrip() if lines else "No results have been kept yet."


def split(path):
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        fail(f"{path} needs the two markers, once and in this order: {BEGIN} and {END}")
    before, rest = text.split(BEGIN)
    middle, after = rest.split(END)
    return before, middle, after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "results")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", action="store_true")
    group.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.results.is_dir():
        fail(f"there is no folder {arguments.results}")

    found = newest(arguments.results)
    if not arguments.write and not arguments.check:
        print(table(found))
        return
    headlines = {key: value for key, value in found.items() if is_headline(key)}
    for path, text in ((ROOT / "README.md", table(headlines)), (ROOT / "doc" / "performance.md", table(found))):
        before, middle, after = split(path)
        if arguments.write:
            path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
        elif middle != f"\n\n{text}\n\n":
            fail(f"the table in {path} is not the one the results give; repair: table.py --write")


if __name__ == "__main__":
    main()
