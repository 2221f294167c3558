"""False discoveries against power, one panel per design."""

from __future__ import annotations

from collections.abc import Mapping

from bench.errors.contestants import GIVEN, LEDOIT_WOLF, PERMUTED, RATE, SAFE
from bench.papers.embedded_plots import figures_folder, save

# Okabe and Ito's colors; one color and one marker per method. Filled: tamis, hollow: others.
STYLES = {
    SAFE: ("#0072B2", "o", True),
    GIVEN: ("#56B4E9", "s", True),
    PERMUTED: ("#D55E00", "^", True),
    "RFE, permuted probes": ("#009E73", "D", True),
    "knockpy, true covariance": ("#CC79A7", "s", False),
    LEDOIT_WOLF: ("#B8860B", "o", False),
    "least squares + BH": ("black", "v", False),
    "hidimstat, desparsified lasso + BH": ("#E69F00", "P", False),
    "stability selection": ("#7f7f7f", "X", False),
    "RFECV": ("#8B0000", "^", False),
    "Boruta": ("#4B0082", "D", False),
}
N_ACROSS = 5


def draw_errors(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str | None:
    """Draw error-control.png; the path, or None without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot error-control.png: matplotlib is not installed")
        return None
    across = min(N_ACROSS, len(found))
    down = -(-len(found) // across)
    figure = Figure(figsize=(3.1 * across + 0.4, 2.9 * down + 1.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"Conditional false discoveries and power, rate asked for {RATE}", fontsize=12)
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    known = {}
    for axes, (label, here) in zip(panels.flat, found.items(), strict=False):
        for name, (color, marker, is_ours) in STYLES.items():
            if name in here:
                known[name] = axes.plot(
                    here[name]["fdr"],
                    here[name]["power"],
                    linestyle="none",
                    marker=marker,
                    color=color,
                    markersize=8,
                    markeredgewidth=1.6,
                    markerfacecolor=color if is_ours else "none",
                )[0]
        axes.axvline(RATE, color="black", linestyle=":", linewidth=1.2)
        axes.set_title(label, fontsize=9)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    panels[0, 0].set_ylim(-0.05, 1.05)
    for axes in panels[-1]:
        axes.set_xlabel("false discovery rate")
    for axes in panels[:, 0]:
        axes.set_ylabel("power")
    order = [name for name in STYLES if name in known]
    figure.legend(
        [known[name] for name in order], order, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    path = save(figure, figures_folder() / "error-control.png")
    print(f"plot: {path}")
    return str(path)
