"""Plots of test error against the number of features, written to a folder."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.papers.embedded_curves import EVERYTHING, Curves

# Okabe and Ito's colors: they stay apart for color-blind readers, and markers differ as well. Those of earlier curves
# are larger, so that they can be seen where a later one covers them.
STYLES = {
    "RFE": ("#0072B2", "o", 8),
    "Fisher": ("#E69F00", "s", 7),
    "bound: radius, margin": ("#009E73", "^", 6.5),
    "bound: span": ("#CC79A7", "v", 6),
    "grafting": ("#D55E00", "D", 4.5),
    "random": ("#7f7f7f", "X", 6),
}
PAPER_STYLES = {"RFE": ("#0072B2", "o"), "L0-SVM": ("black", "^"), "OFW": ("black", "s")}


@dataclass(frozen=True)
class Panel:
    """One set of axes."""

    title: str
    curves: Curves
    paper: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    level: tuple[str, float] | None = None  # a horizontal line beside that of all features
    is_log: bool = False  # errors


def figures_folder() -> Path:
    """Where plots go: the variable ``TAMIS_FIGURES``, else ``figures`` in the working directory."""
    return Path(os.environ.get("TAMIS_FIGURES", "figures"))


def draw(name: str, title: str, panels: Sequence[Panel]) -> str | None:
    """Draw panels side by side into ``name``.png; the path, or None without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print(f"no plot {name}.png: matplotlib is not installed")
        return None
    figure = Figure(figsize=(5.6 * len(panels) + 0.6, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for place, panel in zip(axes, panels, strict=True):
        draw_panel(place, panel)
    known: dict[str, Any] = {}
    for place in axes:
        known |= dict(zip(*reversed(place.get_legend_handles_labels()), strict=True))
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    path = save(figure, figures_folder() / f"{name}.png")
    print(f"plot: {path}")
    return str(path)


def draw_panel(axes: Any, panel: Panel) -> None:
    """Curves by method, with what the paper prints as hollow markers."""
    curves = panel.curves
    for name, errors in curves.errors.items():
        color, marker, size = STYLES[name]
        shown = ~np.isnan(errors)
        sizes = np.array(curves.sizes)[shown]
        axes.plot(sizes, errors[shown], color=color, marker=marker, markersize=size, linewidth=1.5, label=name)
    axes.axhline(curves.everything, color="black", linestyle="--", linewidth=1.2, label=EVERYTHING)
    if panel.level is not None:
        axes.axhline(panel.level[1], color="black", linestyle=":", linewidth=1.2, label=panel.level[0])
    for name, printed in panel.paper.items():
        color, marker = PAPER_STYLES[name]
        style = {"color": color, "marker": marker, "markersize": 9, "markeredgewidth": 1.6, "linestyle": "none"}
        axes.plot(list(printed), list(printed.values()), markerfacecolor="none", label=f"{name}, paper", **style)
    axes.set_xscale("log")
    axes.set_xticks(curves.sizes, [str(k) for k in curves.sizes])
    axes.minorticks_off()
    if panel.is_log:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        ticks = [tick for tick in (1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.set_yticks([], minor=True)
    elif curves.everything < 0.3 * axes.get_ylim()[1]:
        axes.set_ylim(bottom=0)
    axes.grid(color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("number of features")
    axes.set_ylabel("test error in percent")
    axes.set_title(panel.title, fontsize=10)


def save(figure: Any, path: Path) -> Path:
    """Write a figure beside its place first, so that nobody finds half of it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(suffix=".png", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            figure.savefig(stream, format="png", dpi=150)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    return path
