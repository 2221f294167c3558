"""Accuracy and number of active features over rounds, as figure 1 of Flamary et al. shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.papers.embedded_plots import figures_folder, save

COLORS = ("#7f7f7f", "#0072B2", "#D55E00", "#009E73")
DASHES = ("--", "-", "-", ":")


@dataclass(frozen=True)
class Panel:
    """Curves of some arms."""

    title: str
    arms: Sequence[Any]


def draw(name: str, title: str, panels: Sequence[Panel]) -> str | None:
    """Draw panels side by side, accuracy above and active features below; the path, or None without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print(f"no plot {name}.png: matplotlib is not installed")
        return None
    figure = Figure(figsize=(5.4 * len(panels), 6.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    axes = figure.subplots(2, len(panels), sharex=True, sharey="row", squeeze=False)
    for (above, below), panel in zip(axes.T, panels, strict=True):
        for arm, color, dash in zip(panel.arms, COLORS, DASHES, strict=False):
            for place, curves in ((above, arm.accuracy), (below, arm.active)):
                mean, error = summarize(curves, 100)
                rounds = np.arange(1, 101)
                place.plot(rounds, mean, color=color, linestyle=dash, label=arm.name)
                place.fill_between(rounds, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
        above.set_title(panel.title)
        above.legend(loc="lower right", fontsize=8, frameon=False)
        below.set_xlabel("round")
    axes[0, 0].set_ylabel("test accuracy")
    axes[1, 0].set_ylabel("active features")
    return str(save(figure, figures_folder() / f"{name}.png"))


def summarize(curves: Sequence[np.ndarray], n_rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error; a run that ended stays where it was."""
    long = np.array([np.pad(curve, (0, max(0, n_rounds - curve.size)), mode="edge")[:n_rounds] for curve in curves])
    return long.mean(axis=0), long.std(axis=0) / np.sqrt(len(long))
