#!/usr/bin/env python3
"""Draws what bench_landscape measured: lines and maps of rates, cliffs marked.

    bench_landscape landscape.json && bench/landscape.py landscape.json -o docs/performance/landscape.svg

Needs matplotlib (scripts/lib/requirements-bench.txt).
"""

import argparse
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import style

CLIFF = 1 / 3
COLUMNS = 3


def panels(figure_maps):
    rows = -(-len(figure_maps) // COLUMNS)
    figure, grid = plt.subplots(rows, COLUMNS, figsize=(11, 1.1 + 2.3 * rows), squeeze=False)
    axes = list(grid.flat)
    for unused in axes[len(figure_maps):]:
        unused.set_visible(False)
    return figure, axes


def draw_line(axes, one):
    """Rates along one axis; the colour of a point is its algorithm."""
    values, points = one["x"]["values"], one["points"]
    axes.plot(values, [point["limit"] for point in points], color=style.GRID, linewidth=1.5, zorder=1)
    axes.plot(values, [point["gflops"] for point in points], color="#888888", linewidth=0.7, zorder=2)
    for algorithm in sorted({point["algorithm"] for point in points}):
        mine = [(x, point["gflops"]) for x, point in zip(values, points)
                if point["algorithm"] == algorithm]
        axes.scatter(*zip(*mine), s=9, label=algorithm, color=ALGORITHMS.get(algorithm, "#777777"),
                     zorder=3, linewidths=0)
    for x, point in zip(values, points):
        if point["limit_dip"] < CLIFF:
            axes.scatter([x], [point["gflops"]], s=70, facecolors="none", edgecolors="#d55e00",
                         zorder=4)
    axes.set_ylim(0, None)
    axes.set_xlabel(one["x"]["label"], fontsize=8)


ALGORITHMS = {"direct": "#0072b2", "winograd": "#cc79a7", "pixels": "#e69f00", "grouped": "#009e73",
              "taps": "#8c564b", "small_groups": "#56b4e9", "dot": "#222222"}


def draw_map(figure, axes, one):
    """Rates on two axes."""
    x, y = one["x"]["values"], one["y"]["values"]
    rates = [[one["points"][i * len(y) + j]["gflops"] for i in range(len(x))] for j in range(len(y))]
    image = axes.imshow(rates, origin="lower", aspect="auto", cmap="cividis", vmin=0)
    figure.colorbar(image, ax=axes, pad=0.02).ax.tick_params(labelsize=7)
    axes.set_xticks(range(len(x)), x)
    axes.set_yticks(range(len(y)), y)
    axes.set_xlabel(one["x"]["label"], fontsize=8)
    axes.set_ylabel(one["y"]["label"], fontsize=8)
    for index, point in enumerate(one["points"]):
        if point["limit_dip"] < CLIFF:
            axes.scatter([index // len(y)], [index % len(y)], s=60, facecolors="none",
                         edgecolors="#d55e00", linewidths=1.5)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="what bench_landscape wrote")
    parser.add_argument("-o", "--output", required=True, help="the picture, SVG")
    arguments = parser.parse_args()
    data = json.loads(pathlib.Path(arguments.result).read_text(encoding="utf-8"))
    figure, axes = panels(data["maps"])
    for plot, one in zip(axes, data["maps"]):
        plot.set_title(one["title"], fontsize=9, loc="left")
        plot.tick_params(labelsize=7)
        if len(one["y"]["values"]) == 1:
            draw_line(plot, one)
        else:
            draw_map(figure, plot, one)
    points = [point for one in data["maps"] for point in one["points"]]
    cliffs = sum(point["limit_dip"] < CLIFF for point in points)
    subnormal = max(one["ratio"] for one in data["subnormal"])
    height = figure.get_size_inches()[1]
    figure.text(0.01, 1 - 0.06 / height, "Rates over shapes that differ by one step", va="top",
                fontsize=13, fontweight="bold")
    figure.text(
        0.01, 1 - 0.32 / height,
        f"{data['info']['cpu']}, one thread, float32 NHWC, packed filters, GFLOP/s; "
        "grey: what the best rate of all, bandwidth and the cost of a call allow.\n"
        f"{len(points)} shapes, {cliffs} of them (ringed) below a third of a neighbour's share of "
        f"that. Subnormal data: at most {subnormal:.2f} times the time.",
        va="top", fontsize=8, color="#555555")
    handles = {}
    for plot in axes:
        for handle, label in zip(*plot.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="upper left", ncols=len(handles),
                  bbox_to_anchor=(0.0, 1 - 0.62 / height), frameon=False, fontsize=8, markerscale=2)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.85 / height))
    figure.savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
