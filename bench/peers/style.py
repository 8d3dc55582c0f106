"""How pictures look: one palette that colour-blind readers tell apart (Okabe and Ito), marks that differ in
shape too, text as text."""

import matplotlib
import matplotlib.pyplot as plt

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "dgrad",  # the same bytes for the same numbers
    "font.family": "sans-serif", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False,
})

INK = "#222222"
GRID = "#d0d0d0"
OURS = "#0072b2"
LIGHT = "#9ecae1"

_MARKS = {
    "dgrad_plan": ("#0072b2", "o", 40), "dgrad": ("#56b4e9", "o", 26),
    "torch": ("#d55e00", "^", 26), "torch_convt": ("#d55e00", "v", 26),
    "tf": ("#e69f00", "s", 20), "jax": ("#009e73", "D", 18), "ort": ("#cc79a7", "P", 30),
    "openvino": ("#999933", "X", 28), "best": ("#d55e00", "^", 26),
}


def mark(peer):
    """Keyword arguments of scatter."""
    colour, shape, size = _MARKS.get(peer, ("#777777", ".", 40))
    return {"color": colour, "marker": shape, "s": size, "linewidths": 0}


def tall_figure(rows):
    """For one row of text a layer."""
    return plt.subplots(figsize=(8, 1.4 + 0.27 * rows))


def name_rows(axes, names):
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def finish(figure, axes, title, subtitle, path):
    """Title, legend above the plot, grid behind it; writes the picture."""
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    height = figure.get_size_inches()[1]
    figure.text(0.01, 1 - 0.06 / height, title, ha="left", va="top", fontsize=12,
                fontweight="bold")
    figure.text(0.01, 1 - 0.3 / height, subtitle, ha="left", va="top", fontsize=8, color="#555555")
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.0, 1 - 0.45 / height),
                      ncols=min(len(labels), 4), frameon=False, fontsize=8, handletextpad=0.3)
    lines = -(-len(handles) // 4)
    figure.tight_layout(rect=(0, 0, 1, 1 - (0.55 + 0.18 * lines) / height))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
