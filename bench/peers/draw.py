#!/usr/bin/env python3
"""Draws the results of compare.py: bars against the best peers, a roofline, and tables in Markdown.

    draw.py suite.json [more.json ...] -o docs/performance [--machine machine.json]

For each file NAME.json: NAME-ratio.svg (how many times the best peer's rate), NAME-peers.svg (the rates of
all), NAME-roofline.svg (with the machine's limits) and NAME.md. Files of the first form of compare.py, a bare
list of rows, are read too.
"""

import argparse
import json
import math
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

import style
import summary
from layers import from_case

LABELLED = 6  # layers that a roofline names: those furthest below it
KINDS = (("dgrad", "one-shot"), ("dgrad_plan", "plan, filter packed"))


def read(path):
    """(rows, threads, machine or None)."""
    data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if isinstance(data, list):
        layers = [from_case(row["case"]) for row in data]
        return [{**row, "name": layer.name, "dtype": layer.dtype, "layout": layer.layout,
                 "read_bytes": layer.read_bytes, "written_bytes": layer.written_bytes}
                for row, layer in zip(data, layers)], 2, None
    return data["rows"], data["threads"], data.get("machine")


def subtitle(rows, threads, machine):
    first = rows[0]
    where = f"{machine['info']['cpu']}, " if machine else ""
    return f"{where}{threads} threads, {first['dtype']} {first['layout']}, medians of interleaved rounds"


def draw_ratios(rows, where, path):
    """One bar a layer and kind of call: times the rate of the best peer."""
    figure, axes = style.tall_figure(len(rows))
    height, least, most = 0.38, 0.5, 2.0
    for (ours, label), colour, shift in zip(KINDS, (style.LIGHT, style.OURS), (-0.5, 0.5)):
        for i, row in enumerate(rows):
            value, place = summary.ratio(row, ours), i + shift * height
            if not value:
                continue
            # From the line of equality: slower goes to the left.
            axes.barh(place, value - 1, height, left=1, color=colour, label=label if i == 0 else None)
            axes.annotate(f"{value:.2f}", (value, place), va="center",
                          xytext=(3 if value >= 1 else -3, 0), textcoords="offset points",
                          ha="left" if value >= 1 else "right", fontsize=7, color=style.INK)
            least, most = min(least, value), max(most, value)
    axes.axvline(1, color=style.INK, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(least / 1.25, most * 1.25)
    plain_ticks(axes.xaxis, [0.1, 0.25, 0.5, 1, 2, 4, 8, 16])
    axes.set_xlabel("rate over the best peer's (logarithmic; 1: the same)")
    style.name_rows(axes, [row["name"] for row in rows])
    style.finish(figure, axes, "How many times as fast as the best other library", where, path)


def draw_rates(rows, where, path):
    """One row a layer, one mark a library: who does how much."""
    figure, axes = style.tall_figure(len(rows))
    present = [peer for peer in summary.NAMES if any(peer in summary.rates(row) for row in rows)]
    for i, row in enumerate(rows):
        values = list(summary.rates(row).values())
        if values:
            axes.plot([min(values), max(values)], [i, i], color=style.GRID, linewidth=2, zorder=1)
    for peer in present:
        points = [(summary.rates(row)[peer], i) for i, row in enumerate(rows)
                  if peer in summary.rates(row)]
        axes.scatter(*zip(*points), zorder=3 if peer in summary.OURS else 2,
                     label=summary.NAMES[peer], **style.mark(peer))
    axes.set_xscale("log")
    plain_ticks(axes.xaxis, [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
    axes.set_xlabel("GFLOP/s of the multiplications that land (logarithmic)")
    style.name_rows(axes, [row["name"] for row in rows])
    style.finish(figure, axes, "Rates of all libraries", where, path)


def plain_ticks(axis, values):
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def intensity(row):
    """Multiplications and additions for each byte of the tensors."""
    return row["gflop"] * 1e9 / (row["read_bytes"] + row["written_bytes"])


def draw_roofline(rows, machine, where, path):
    """Each layer's plan against what FMA peak and memory bandwidth allow a direct sum. Winograd needs
    fewer multiplications and small layers stay in the caches: these may lie above the lines."""
    rows = [row for row in rows if "dgrad_plan" in summary.rates(row)]
    if not rows:
        return False
    figure, axes = plt.subplots(figsize=(8, 5.2))
    dtype = rows[0]["dtype"]
    peak = machine["gflops"].get(dtype, machine["gflops"]["float32"])
    bandwidth = max(machine["gigabytes_per_second"]["memory"][how] for how in ("read", "copy"))
    low = min(intensity(row) for row in rows) / 2
    high = max(intensity(row) for row in rows) * 2
    knee = peak / bandwidth
    share = lambda row: summary.rates(row)["dgrad_plan"] / min(peak, bandwidth * intensity(row))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot([low, knee, high], [low * bandwidth, peak, peak], color=style.INK, linewidth=1.5)
    axes.text(high, peak * 1.06, f"FMA peak {peak:.0f} GFLOP/s", ha="right", fontsize=8)
    axes.text(low * 1.1, low * 1.1 * bandwidth * 1.15, f"memory {bandwidth:.0f} GB/s", fontsize=8,
              rotation=math.degrees(math.atan(bandwidth)), rotation_mode="anchor",
              transform_rotates_text=True)
    best = {}
    for row in rows:
        found = summary.best_peer(row, "dgrad_plan")
        if found:
            best[row["name"]] = found[1]
            axes.plot([intensity(row)] * 2, [found[1], summary.rates(row)["dgrad_plan"]],
                      color=style.GRID, linewidth=1.5, zorder=1)
    if best:
        axes.scatter([intensity(row) for row in rows if row["name"] in best], best.values(),
                     label="best other library", zorder=2, **style.mark("best"))
    axes.scatter([intensity(row) for row in rows],
                 [summary.rates(row)["dgrad_plan"] for row in rows], label="dgrad plan", zorder=3,
                 **style.mark("dgrad_plan"))
    for row in sorted(rows, key=share)[:LABELLED]:
        axes.annotate(row["name"], (intensity(row), summary.rates(row)["dgrad_plan"]),
                      xytext=(6, -2), textcoords="offset points", fontsize=7, va="top")
    plain_ticks(axes.xaxis, [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
    plain_ticks(axes.yaxis, [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000])
    axes.set_xlabel("FLOP for each byte of the tensors (logarithmic)")
    axes.set_ylabel("GFLOP/s of the direct sum (logarithmic)")
    style.finish(figure, axes, "How close each layer comes to the machine's limits", where,
                 path)
    return True


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("-o", "--output", required=True, help="the folder for pictures and tables")
    parser.add_argument("--machine", help="JSON of bench_machine, where the results have none")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    given = arguments.machine and json.loads(pathlib.Path(arguments.machine).read_text())
    for path in arguments.results:
        rows, threads, machine = read(path)
        machine = machine or given or None
        name, where = pathlib.Path(path).stem, subtitle(rows, threads, machine)
        draw_ratios(rows, where, folder / f"{name}-ratio.svg")
        draw_rates(rows, where, folder / f"{name}-peers.svg")
        pictures = [f"{name}-ratio.svg", f"{name}-peers.svg"]
        if machine and draw_roofline(rows, machine, where, folder / f"{name}-roofline.svg"):
            pictures.append(f"{name}-roofline.svg")
        lines = [f"# {name}", "", f"GFLOP/s. {where}.", "", summary.markdown(rows, machine)]
        lines += [f"* {summary.headline(rows, ours)}" for ours in summary.OURS
                  if summary.headline(rows, ours)]
        lines += [""] + [f"![{picture}]({picture})" for picture in pictures]
        refused = summary.failures(rows)
        if refused:
            lines += ["", "Not timed:", ""] + [f"* {line}" for line in refused]
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{folder / name}.md")


if __name__ == "__main__":
    main()
