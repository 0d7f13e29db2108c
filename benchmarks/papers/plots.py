#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the figures of doc/papers.md from the kept results of bench_papers.py; needs matplotlib (Debian: python3-matplotlib).

  python3 benchmarks/papers/plots.py [FOLDER]    SVG files; the default is doc/images/papers"""
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from results import KINDS, ORDERS, ROOT, VALUES, Run
from tables import best_sweeps, p2_cases

P0, P2 = VALUES["P0"], VALUES["P2"]
EXAMPLES = P0["examples"]
# Text stays text, and identifiers do not change from run to run.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "papers", "font.size": 9, "axes.grid": True, "axes.grid.axis": "y",
                     "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
OURS, PAPER = "#1f5fa8", "#c9772b"
PALETTE = ["#9db7d5", "#5b8cc0", "#1f5fa8", "#0c2f5c"]


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def bars(axes, groups, series, colours):
    """series: [(label, values)], one bar per group; None leaves a gap."""
    width = 0.8 / len(series)
    for i, ((label, values), colour) in enumerate(zip(series, colours)):
        places = [g - 0.4 + (i + 0.5) * width for g in range(len(groups))]
        axes.bar(places, [value or 0 for value in values], width * 0.92, label=label, color=colour)
    axes.set_xticks(range(len(groups)), groups)


def slices(run, folder):
    figure, both = plt.subplots(1, 2, figsize=(7.2, 2.6), sharey=True)
    for axes, what in zip(both, ("SELL", "SBELL")):
        for name, colour in zip(EXAMPLES, PALETTE):
            nnz = run.value(f"P0/{name}", "entries")
            axes.plot(["32", "64", "128", "256", "512"], [2e-9 * nnz / run.product(f"P0/{name}", what + height) for height in ("", " 64", " 128", " 256", " 512")],
                      marker="o", markersize=3, color=colour, label=name)
        axes.set_title(what, fontsize=9)
        axes.set_xlabel("rows in a slice")
    both[0].set_ylim(bottom=0)
    both[0].set_ylabel("GFLOP/s")
    both[0].legend()
    save(figure, folder, "p0_slices")


def products(run, folder):
    formats = ["cuSPARSE CSR", "CSR, a warp a row", "ELLPACK", "BELL", "SELL", "SBELL", "cuSPARSE SELL", "cuSPARSE BSR"]
    colours = ["#c9772b", "#dcdcdc", "#b8c4d2", "#8fa9c6", "#5b8cc0", "#1f5fa8", "#e0a56f", "#8f4d12"]
    figure, both = plt.subplots(2, 1, figsize=(7.2, 4.6))
    for axes, key, title in zip(both, ("P0", "P0 large"), ("the paper's sizes", "several million unknowns")):
        def rate(name, what):
            nnz, time = run.get(f"{key}/{name}", "entries"), run.get(f"{key}/{name}/{run.place}/{what}", "product")
            return 2e-9 * nnz / time if nnz and time else None

        if run.get(f"{key}/quad", "entries") is None or run.get(f"{key}/quad/{run.place}/cuSPARSE CSR", "product") is None:
            return
        bars(axes, EXAMPLES, [(what, [rate(name, what) for name in EXAMPLES]) for what in formats], colours)
        axes.set_title(title, fontsize=9)
        axes.set_ylabel("GFLOP/s")
    both[0].legend(ncol=4, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 1.5))
    save(figure, folder, "p0_products")


def precision(run, folder):
    figure, axes = plt.subplots(figsize=(5, 2.4))
    share = lambda key, name: 100 * run.product(f"{key}/{name}", "SBELL fp32") / run.product(f"{key}/{name}", "SBELL")
    large = [name for name in EXAMPLES if run.get(f"P0 large/{name}/{run.place}/SBELL fp32", "product")]
    series = [("paper", [100 * P0["double over single"][name] for name in EXAMPLES]), ("ours", [share("P0", name) for name in EXAMPLES])]
    if large:
        series.append(("ours, large", [share("P0 large", name) if name in large else None for name in EXAMPLES]))
    bars(axes, EXAMPLES, series, [PAPER, "#8fa9c6", OURS])
    axes.set_ylabel("rate of fp64, % of fp32")
    axes.legend(ncol=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    save(figure, folder, "p0_precision")


def iterations(run, folder):
    figure, axes = plt.subplots(figsize=(5.4, 2.8))
    for kind, marker in zip(KINDS, "os^"):
        jacobi = run.p0_iterations("P0/quad", "Jacobi")
        axes.plot(ORDERS, [run.p0_iterations("P0/quad", f"{kind} {order}") / jacobi for order in ORDERS], marker=marker, color=OURS, label=f"{kind}, ours")
        axes.plot(ORDERS, [value / P0["iterations"]["Jacobi"] for value in P0["iterations"][kind]], marker=marker, color=PAPER, linestyle="--", label=f"{kind}, paper")
    axes.plot(ORDERS, [1 / (order + 1) for order in ORDERS], color="#888888", linewidth=0.8, label="1 / (order + 1)")
    axes.set_xticks(ORDERS)
    axes.set_xlabel("order")
    axes.set_ylabel("iterations, Jacobi = 1")
    axes.set_ylim(0)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, folder, "p0_iterations")


def speedup(run, folder):
    variants = [("CSR", "CSR/least squares 6"), ("CSR, mixed", "CSR/least squares 6, mixed"), ("SBELL", "SBELL/least squares 6"), ("SBELL, mixed", "SBELL/least squares 6, mixed")]
    figure, axes = plt.subplots(figsize=(5.4, 2.6))
    bars(axes, EXAMPLES, [(label, [run.host_solution(f"P0/{name}", "core", "least squares 6") / run.solution(f"P0/{name}", what) for name in EXAMPLES]) for label, what in variants], PALETTE)
    axes.set_ylabel("times one core")
    axes.legend(ncol=4, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    save(figure, folder, "p0_speedup")


def pressure(run, folder):
    cases = [(key, i) for key, i in p2_cases(run) if run.get(f"{key}/core/CSR/IC(0), exact", "solution")]
    sizes = [run.value(key, "unknowns") for key, _ in cases]
    core = [run.solution(key, "CSR/IC(0), exact", "core") for key, _ in cases]
    figure, axes = plt.subplots(figsize=(5.4, 2.8))
    for label, what, colour in (("CSR, exact triangles", lambda key: "CSR/IC(0), exact", "#9db7d5"), ("mDIA, exact triangles", lambda key: "mDIA/IC(0), exact", "#5b8cc0"),
                                ("mDIA, Jacobi sweeps", lambda key: f"mDIA/IC(0), {best_sweeps(run, key)} sweeps", OURS)):
        axes.plot(sizes, [c / run.solution(key, what(key)) for (key, _), c in zip(cases, core)], marker="o", markersize=3, color=colour, label=label)
    axes.axhline(P2["speed-up"], color=PAPER, linestyle="--", label="paper, average with sweeps")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("unknowns")
    axes.set_ylabel("times one core")
    axes.legend(fontsize=7)
    save(figure, folder, "p2_speedup")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "doc/images/papers"
    folder.mkdir(parents=True, exist_ok=True)
    run = Run()
    for draw in (slices, products, precision, iterations, speedup, pressure):
        draw(run, folder)


if __name__ == "__main__":
    main()
