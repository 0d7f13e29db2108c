# SPDX-License-Identifier: LGPL-2.1-or-later
"""The papers' values and the newest results of bench_papers.py, for tables.py and plots.py."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VALUES = json.loads((ROOT / "benchmarks/papers/values.json").read_text(encoding="utf-8"))
KINDS = ["Neumann", "least squares", "Chebyshev"]
ORDERS = [2, 3, 4, 5, 6]


def fail(message):
    sys.exit(f"error: {message}")


class Run:
    """The runs on one device: value(case, metric) by the names that benchmarks/papers/*.cc give. The newest counts: of a
    file's runs the last, of files that of the latest day. Others give what it lacks, as a part may be measured again."""

    def __init__(self):
        runs = []
        for path in sorted((ROOT / "benchmarks/results").glob("papers_*.json")):
            content = json.loads(path.read_text(encoding="utf-8"))
            runs += [(run, path) for run in (content if isinstance(content, list) else [content])]
        if not runs:
            fail("there is no papers_*.json in benchmarks/results")
        has_device = lambda run: run["device"] != run.get("processor")
        runs.sort(key=lambda item: (has_device(item[0]), item[0]["date"]))
        self.run, self.path = next(item for item in reversed(runs) if "processor" in item[0])
        self.runs = [run for run, _ in runs if run["device"] == self.run["device"]]
        self.values, self.commits = {}, {}
        for run in self.runs:
            for result in run["results"]:
                if not result["verified"]:
                    fail(f"{self.path}: \"{result['case']}\" is not verified")
                self.values[result["case"], result["metric"]] = result["value"]
                self.commits[result["case"], result["metric"]] = f"{run['commit']} ({run['date']})"
        self.place = "cuda" if has_device(self.run) else "host"

    def get(self, case, metric):
        return self.values.get((case, metric))

    def value(self, case, metric):
        if (case, metric) not in self.values:
            fail(f"{self.path} has no \"{metric}\" of \"{case}\"")
        return self.values[case, metric]

    def product(self, key, what, place=None):
        return self.value(f"{key}/{place or self.place}/{what}", "product")

    def solution(self, key, what, place=None):
        return self.value(f"{key}/{place or self.place}/{what}", "solution")

    def iterations(self, key, what):
        return self.value(f"{key}/{self.place}/{what}", "iterations")

    def host_solution(self, key, place, what):
        """P0: one iteration on the host times the iterations that the fastest place needs."""
        return self.value(f"{key}/{place}/CSR/{what}", "iteration") * self.p0_iterations(key, what)

    def p0_iterations(self, key, what):
        found = self.get(f"{key}/{self.place}/SBELL/{what}", "iterations")
        return found if found is not None else self.iterations(key, f"CSR/{what}")
