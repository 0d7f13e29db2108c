#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keeps results of bench_papers.py, or of papers itself, in benchmarks/results, and makes tables and figures of them.

  python3 benchmarks/papers/keep.py FILE...

FILE may also be the report.json of laplace with hp_large.prm. Files are named from the oldest to the newest. What the
kept file of the same device and day has beside them stays, so that one part can be measured again; of a result that is
there twice the newer counts."""
import argparse
import datetime
import importlib.util
import json
import pathlib
import subprocess
import sys

from results import ROOT, fail

FOLDER = ROOT / "benchmarks/results"
HP_TOLERANCE = 1e-8  # of hp_large.prm


def read(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, dict) and content.get("application") == "laplace":
        return [results_of(content, datetime.date.fromtimestamp(path.stat().st_mtime).isoformat())]
    return content if isinstance(content, list) else [content]


def results_of(report, date):
    """The cycles of a report.json; its solutions are checked with a second system, whose solution is known."""
    results = []
    for number, cycle in enumerate(report["cycles"]):
        verified = cycle["relative_residual"] <= HP_TOLERANCE and cycle["solver_check"]["error"] < 1e3 * HP_TOLERANCE
        values = {"unknowns": cycle["n_dofs"], "cells": cycle["n_cells"], "entries": cycle["nnz"], "iterations": cycle["iterations"],
                  "error of a known solution": cycle["solver_check"]["error"]}
        values.update({f"{stage} time": value for stage, value in cycle["seconds"].items()})
        values.update({f"{name} memory": value for name, value in cycle["memory_bytes"].items() if value is not None})
        unit = lambda metric: "s" if metric.endswith("time") else ("B" if metric.endswith("memory") else "1")
        results += [{"case": f"P1 hp_laplace/{number}", "metric": metric, "value": value, "unit": unit(metric), "detail": True, "verified": verified}
                    for metric, value in values.items()]
    return {"benchmark": "papers", "commit": report["commit"], "device": report["device"], "date": date, "results": results}


def check(run, path):
    for key in ("benchmark", "commit", "device", "date", "results"):
        if key not in run:
            fail(f"{path} has no \"{key}\"")
    if run["benchmark"] != "papers" or run["commit"].endswith("-dirty"):
        fail(f"{path} is of {run['benchmark']} at {run['commit']}; wanted is papers at a commit without changes")
    for result in run["results"]:
        if result["verified"] is not True:
            fail(f"{path}: \"{result['case']}\" is not verified, so it is no result")


def merge(runs):
    """One run per commit, in the order of their newest results, without what later ones have, too."""
    merged, seen = {}, set()
    for run in reversed(runs):
        kept = merged.setdefault(run["commit"], {**run, "results": []})
        # In front of those that are there already: they came later.
        new = [result for result in run["results"] if (result["case"], result["metric"]) not in seen]
        seen |= {(result["case"], result["metric"]) for result in new}
        kept["results"] = new + kept["results"]
    return [run for run in reversed(merged.values()) if run["results"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    if importlib.util.find_spec("matplotlib") is None:
        fail(f"{sys.executable} has no matplotlib, which the figures need (Debian: python3-matplotlib, for /usr/bin/python3)")
    runs = []
    for path in arguments.files:
        for run in read(path):
            check(run, path)
            runs.append(run)
    device, date = runs[-1]["device"], runs[-1]["date"]
    if any((run["device"], run["date"]) != (device, date) for run in runs):
        fail("these are runs of several devices or days; each gets a file of its own")
    name = lambda commit: f"papers_{device.lower().replace(' ', '-')}_{date}_{commit}.json"
    superseded = sorted(FOLDER.glob(name("*")))
    merged = merge([run for path in superseded for run in read(path)] + runs)
    for path in superseded:
        path.unlink()
    target = FOLDER / name(merged[-1]["commit"])
    # A result a line.
    text = json.dumps([{**run, "results": [f"@{i}@" for i in range(len(run["results"]))]} for run in merged], indent=1)
    for run in merged:
        for i, result in enumerate(run["results"]):
            text = text.replace(f"\"@{i}@\"", json.dumps(result), 1)
    target.write_text(text + "\n", encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: " + ", ".join(f"{len(run['results'])} results of {run['commit']}" for run in merged))
    for command in (["tables.py", "--write", ROOT / "doc/papers.md"], ["plots.py"]):
        subprocess.run([sys.executable, ROOT / "benchmarks/papers" / command[0], *command[1:]], check=True)


if __name__ == "__main__":
    main()
