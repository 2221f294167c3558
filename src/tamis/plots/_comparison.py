"""Rankers side by side: what they reach with how many features, above or inside the band of random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.assess._comparison import ALL_FEATURES, RANDOM, Comparison
from tamis.plots._path import _pyplot

_MARKERS = "osD^vPX<>*"
_PANEL = (4.2, 3.4)  # inches


class ComparisonDisplay:
    """Values against the number of features, one line per ranker with a band of one standard deviation.

    Random selections are the grey band, all features the dashed line. Make it with :meth:`from_comparison`.

    Parameters
    ----------
    comparison : Comparison
    metrics, datasets : sequence of str
        A row of panels per metric, a column per data set.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes, of shape (n_metrics, n_datasets)
    figure_ : matplotlib figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import MaxVariance
    >>> from tamis.assess import compare
    >>> from tamis.plots import ComparisonDisplay
    >>> display = ComparisonDisplay.from_comparison(compare([MaxVariance()], load_wine().data, ks=[2, 4]))
    >>> display.frame()["k"]
    [2, 4, 2, 4, 13]
    """

    def __init__(self, comparison: Comparison, metrics: Sequence[str], datasets: Sequence[str]) -> None:
        self.comparison = comparison
        self.metrics = metrics
        self.datasets = datasets

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, metric: str | None = None, dataset: str | None = None, ax: Any = None
    ) -> ComparisonDisplay:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
        metric, dataset : str, default=None
            None draws all, a panel each.
        ax : matplotlib axes, default=None
            Where to draw, if there is one panel only; None makes a new figure.

        Returns
        -------
        ComparisonDisplay
        """
        columns = comparison.frame()
        metrics = _choose("metric", metric, list(dict.fromkeys(columns["metric"])))
        datasets = _choose("dataset", dataset, list(dict.fromkeys(columns["dataset"])))
        return cls(comparison, metrics, datasets).plot(ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, ready for any data frame library."""
        columns = self.comparison.summary()
        shown = [
            metric in self.metrics and dataset in self.datasets
            for metric, dataset in zip(columns["metric"], columns["dataset"], strict=True)
        ]
        return {
            name: [value for value, show in zip(values, shown, strict=True) if show] for name, values in columns.items()
        }

    def plot(self, *, ax: Any = None) -> ComparisonDisplay:
        """Draw on ``ax``, if there is one panel only, or on a new figure."""
        pyplot = _pyplot()
        shape = (len(self.metrics), len(self.datasets))
        if ax is None:
            width, height = _PANEL
            figure, axes = pyplot.subplots(
                *shape, figsize=(width * shape[1] + 2, height * shape[0] + 0.4), layout="constrained", squeeze=False
            )
        elif shape == (1, 1):
            figure, axes = ax.figure, np.array([[ax]])
        else:
            raise ValueError(f"ax is one panel and there are {shape[0] * shape[1]}; choose a metric and a dataset")
        columns = self.frame()
        rankers = [name for name in dict.fromkeys(columns["ranker"]) if name not in (RANDOM, ALL_FEATURES)]
        for (row, column), panel in np.ndenumerate(axes):
            self._draw_panel(panel, columns, rankers, self.metrics[row], self.datasets[column])
            panel.set_ylabel(self._label(columns, self.metrics[row]) if column == 0 else "")
            panel.set_xlabel("number of features" if row == shape[0] - 1 else "")
        handles = {label: handle for each in axes.flat for handle, label in zip(*_legend(each), strict=True)}
        home: dict[str, Any] = {"loc": "outside right upper"} if ax is None else {}
        (figure if ax is None else ax).legend(handles.values(), handles.keys(), frameon=False, **home)
        self.axes_, self.figure_ = axes, figure
        return self

    def _draw_panel(
        self, ax: Any, columns: dict[str, list[Any]], rankers: list[str], metric: str, dataset: str
    ) -> None:
        """One metric on one data set; a ranker has the same color in every panel."""
        table = {name: np.array(values) for name, values in columns.items()}
        here = (table["metric"] == metric) & (table["dataset"] == dataset)
        for place, name in enumerate([RANDOM, *rankers]):
            chosen = here & (table["ranker"] == name) & (table["n_values"] > 0)
            k, mean, std = (table[column][chosen] for column in ("k", "mean", "std"))
            style: dict[str, Any] = {
                "color": "0.55" if name == RANDOM else f"C{(place - 1) % 10}",
                "marker": None if name == RANDOM and k.size > 1 else _MARKERS[(place - 1) % len(_MARKERS)],
                "linestyle": ("-", "--", ":", "-.")[(place - 1) // 10 % 4] if place else "-",
            }
            if k.size == 1:  # a band needs two ends; bars stand side by side
                ax.errorbar(k + (place + 1) / (len(rankers) + 2) - 0.5, mean, std, capsize=3, label=name, **style)
            elif k.size:
                ax.plot(k, mean, label=name, markersize=4, **style)
                ax.fill_between(k, mean - std, mean + std, color=style["color"], alpha=0.15 if place else 0.35, lw=0)
        ks = np.unique(table["k"][here & (table["ranker"] != ALL_FEATURES)])
        for n_features, level in zip(*_reference(table, here), strict=True):
            ax.axhline(level, color="0.2", linestyle="--", linewidth=1, label=ALL_FEATURES)
            ax.annotate(
                f"all {n_features}", (0.01, level), xycoords=("axes fraction", "data"), va="bottom", fontsize="small"
            )
        if ks.size > 1:
            ax.set_xscale("log")
        elif ks.size == 1:
            ax.set_xlim(ks[0] - 0.5, ks[0] + 0.5)
        ax.set_xticks(ks, [str(k) for k in ks])
        ax.minorticks_off()
        ax.set_title(dataset, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)

    def _label(self, columns: dict[str, list[Any]], metric: str) -> str:
        evaluation = columns["evaluation"][columns["metric"].index(metric)]
        better = "" if self.comparison.higher_is_better[metric] else ", lower is better"
        return f"{metric} ({evaluation}{better})"


def _reference(table: dict[str, np.ndarray], here: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number and mean value of all features."""
    chosen = here & (table["ranker"] == ALL_FEATURES) & (table["n_values"] > 0)
    return table["k"][chosen], table["mean"][chosen]


def _legend(ax: Any) -> tuple[list[Any], list[str]]:
    return ax.get_legend_handles_labels()


def _choose(what: str, asked: str | None, known: list[str]) -> list[str]:
    if asked is None:
        return known
    if asked not in known:
        raise ValueError(f"there is no {what} '{asked}' in this comparison; choose among {', '.join(known)}")
    return [asked]
