#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the tables of performance from the raw results in benchmarks/results: all of them for doc/performance.md, and
what HEADLINES names, beside what it is compared with, for README.md.

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
# What a reader wants first, at most ten rows: words for it, benchmark, patterns that the whole of case and metric match, and
# that of the cases it is compared with, which must be of the same run; of several the best counts.
HEADLINES = [
    ("from unknowns to solution by multigrid", "multigrid", r"(cantilever|cube with a face held, P1|cube, Q1 Laplace.* on 16 threads).*",
     r"all, from DoFs to solution: ML / PatchFEM", None),
    ("assembly, set-up and solution", "multigrid", r"cantilever.*", r"assembly, set-up and solution: ML / PatchFEM", None),
    ("conjugate gradients", "pcg", r"(?!.*cuSPARSE).* Jacobi, .*", "time", r".*cuSPARSE.*"),
    ("product", "spmv", r"Q1 elasticity 3D, (?!cuSPARSE).*, fp64, .*", "rate",
     r"Q1 elasticity 3D, .*cuSPARSE.*, fp64, .*"),
    ("product", "tetrahedra", r"(?!.*cuSPARSE).*", "rate", r".*cuSPARSE.*"),
    ("product", "spmv", r"pressure on voxels, (?!cuSPARSE).*", "rate", r"pressure on voxels, cuSPARSE.*"),
    ("assembly", "assembly", r"Q1 elasticity, .*fp64.*", "rate", None),
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


def headlines(found):
    """Of each device a table of what HEADLINES names: ours, its share of what the bytes allow, and the best beside it."""
    lines = []
    for device in sorted({key[0] for key in found}, reverse=True):
        rows = []
        for words, benchmark, ours, metric, theirs in HEADLINES:
            matching = {
                key: value for key, value in found.items()
                if key[:2] == (device, benchmark) and re.fullmatch(ours, key[2]) and re.fullmatch(metric, key[3])
            }
            if theirs is None:
                picked = sorted(matching.items())
            else:
                better = max if metric == "rate" else min
                picked = [better(matching.items(), key=lambda item: item[1][1]["value"])] if matching else []
            for (_, _, case, found_metric), (run, result) in picked:
                value, unit, more, beside, ratio = result["value"], result["unit"], "", "", ""
                if found_metric.endswith("/ PatchFEM"):
                    stage, who = found_metric.rpartition(": ")[::2]
                    beside, ratio = who.removesuffix(" / PatchFEM"), f"{value:.3g}"
                    own = next(other for other in run["results"] if (other["case"], other["metric"]) == (case, f"{stage}: PatchFEM"))
                    value, unit = own["value"], own["unit"]
                    more = f", {own['iterations']} iterations" if "iterations" in own else ""
                    beside += "".join(f", {other['value']} iterations" for other in run["results"]
                                      if other["case"] == case and other["metric"] == f"iterations of {beside}")
                elif theirs is not None:
                    others = [other for other in run["results"] if other["metric"] == metric and re.fullmatch(theirs, other["case"])]
                    if others:
                        best = better(others, key=lambda other: other["value"])
                        quotient = value / best["value"]
                        differs = [part for part in best["case"].split(", ") if part not in case.split(", ")]
                        beside = f"{', '.join(differs)}: {number(best['value'], unit)}"
                        ratio = f"{quotient if metric == 'rate' else 1 / quotient:.3g}"
                share = f"{100 * result['fraction_of_limit']:.0f} %" if result.get("fraction_of_limit") is not None else ""
                rows.append(f"| {words} | {case} | {number(value, unit)}{more} | {share} | {beside} | {ratio} |")
        if rows:
            lines += [f"**{device}**", "", "| | case | PatchFEM | of limit | beside it, same run | ratio |",
                      "|---|---|--:|--:|---|--:|", *rows, ""]
    return "\n".join(lines).rstrip()


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
        lines += [title, "", "| benchmark | case | measured (share of the limit) | commit, date |", "|---|---|---|---|"]
        cases = {}  # (benchmark, case, commit, date) -> its metrics, a row
        for (_, benchmark, case, metric), run, result in sorted(entries, key=lambda e: e[0]):
            share = result.get("fraction_of_limit")
            text = f"{metric} {number(result['value'], result['unit'])}" + (f" ({100 * share:.0f} %)" if share is not None else "")
            cases.setdefault((benchmark, case, run["commit"], run["date"]), []).append(text)
        lines += [f"| {benchmark} | {case} | {'; '.join(texts)} | {commit}, {date} |"
                  for (benchmark, case, commit, date), texts in cases.items()]
        lines.append("")
    return "\n".join(lines).rstrip() if lines else "No results have been kept yet."


def strategies(folder):
    """Of each device the rates of the strategies of assembly side by side, which bench_assembly keeps as details."""
    found, dates = {}, {}  # device -> case -> strategy, or what compares them -> its newest result
    for _, run in read_runs(folder):
        for result in run["results"]:
            case, metric = result["case"], result["metric"]
            if run["benchmark"] != "assembly" or not result.get("detail") or case.startswith(("P3", "P4")) or case.endswith("rows a patch"):
                continue
            if metric in ("rate", "refused"):
                case, _, metric = case.rpartition(", ")
            if run["date"] >= dates.get((run["device"], case, metric), ""):
                dates[run["device"], case, metric] = run["date"]
                found.setdefault(run["device"], {}).setdefault(case, {})[metric] = result
    lines = []
    for device, cases in sorted(found.items()):
        columns = list(dict.fromkeys(metric for results in cases.values() for metric in results))
        columns.sort(key=lambda metric: "/" in metric)  # strategies first
        lines += ["", "", f"**{device}**, strategies of assembly, Mcells/s, the best in bold; – refuses", "",
                  f"| case | {' | '.join(columns)} |", f"|---|{'--:|' * len(columns)}"]
        for case, results in cases.items():
            best = max((result["value"] for result in results.values() if result["unit"] == "cells/s"), default=0)
            cells = []
            for result in map(results.get, columns):
                if result is None:
                    text = ""
                elif result["metric"] == "refused":
                    text = "–"
                elif result["unit"] == "cells/s":
                    text = f"{result['value'] / 1e6:.3g}"
                    text = f"**{text}**" if result["value"] == best else text
                else:
                    text = f"{result['value']:.3g} ({result['note']})"
                cells.append(text)
            lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


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
    tables = table(found) + strategies(arguments.results)
    if not arguments.write and not arguments.check:
        print(tables)
        return
    for path, text in ((ROOT / "README.md", headlines(found)), (ROOT / "doc" / "performance.md", tables)):
        before, middle, after = split(path)
        if arguments.write:
            path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
        elif middle != f"\n\n{text}\n\n":
            fail(f"the table in {path} is not the one the results give; repair: table.py --write")


if __name__ == "__main__":
    main()
