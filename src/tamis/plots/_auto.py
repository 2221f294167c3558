"""What an automatic selection tried, what it chose, and how well that will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.learn._auto_selector import AutoSelector
from tamis.learn._bias_corrected import Estimate
from tamis.plots._path import _pyplot

_COLUMNS = ("ranker", "scaling", "model", "n_features", "score", "chosen")
_MOST_TICKS = 12


class AutoDisplay:
    """Cross-validated score of every configuration against its number of features, the chosen one marked.

    Make it with :meth:`from_estimator`. A line joins the best configurations of each ranker; those that were dropped
    early have no score and are not shown. The bar at the chosen one is the interval of the estimate, which is corrected
    for the choice; where nothing is kept there is none. The dotted line is guessing.

    Parameters
    ----------
    columns : mapping of str to list
        ``ranker``, ``scaling``, ``model``, ``n_features``, ``score`` and ``chosen`` of every configuration that has
        predicted all rows.
    estimate : Estimate

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import AutoSelector
    >>> from tamis.plots import AutoDisplay
    >>> auto = AutoSelector(rankers=["fisher"], models=["ridge"]).fit(*load_wine(return_X_y=True))
    >>> sorted(set(AutoDisplay.from_estimator(auto).frame()["ranker"]))
    ['all', 'fisher']
    """

    def __init__(self, columns: Mapping[str, list[Any]], estimate: Estimate) -> None:
        self.columns = columns
        self.estimate = estimate

    @classmethod
    def from_estimator(cls, estimator: AutoSelector, *, ax: Any = None) -> AutoDisplay:
        """Draw what a fitted selector has tried.

        Parameters
        ----------
        estimator : fitted AutoSelector
            With a target.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        AutoDisplay
        """
        check_is_fitted(estimator)
        if estimator.task_ == "unsupervised":
            raise ValueError("without a target no models were compared: there is nothing to draw")
        results = estimator.results_
        judged = np.flatnonzero(np.isfinite(results["score"])).tolist()
        display = cls({name: [results[name][i] for i in judged] for name in _COLUMNS}, estimator.estimate_)
        return display.plot(ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, ready for any data frame library."""
        return {name: list(values) for name, values in self.columns.items()}

    def plot(self, *, ax: Any = None) -> AutoDisplay:
        """Draw on ``ax``, or on a new figure."""
        pyplot = _pyplot()
        if ax is None:
            _, ax = pyplot.subplots(figsize=(7.2, 4.8), layout="constrained")
        ranker, sizes, scores = (np.array(self.columns[name]) for name in ("ranker", "n_features", "score"))
        ax.scatter(sizes, scores, s=10, color="0.8", zorder=1)
        for place, name in enumerate(dict.fromkeys(ranker.tolist())):
            size, best = _best_of_each_size(sizes[ranker == name], scores[ranker == name])
            ax.plot(size, best, marker="o", markersize=4, color=f"C{place}", label=f"{name}, best model", zorder=2)
        chosen = np.flatnonzero(self.columns["chosen"])
        if chosen.size:
            ax.scatter(
                sizes[chosen], scores[chosen], s=120, facecolors="none", edgecolors="black", label="chosen", zorder=4
            )
            self._draw_estimate(ax, float(np.median(sizes[chosen])))
        self._draw_guessing(ax)
        ax.set_xscale("log")
        ticks = _spread_out(np.unique(sizes))
        ax.set_xticks(ticks, [f"{size}" for size in ticks])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("number of features")
        ax.set_ylabel(f"{self.estimate.metric.replace('_', ' ')} on held-out rows")
        ax.legend(frameon=False, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_estimate(self, ax: Any, size: float) -> None:
        """The corrected estimate and its interval."""
        estimate = self.estimate
        ax.plot([size, size], [estimate.low, estimate.high], color="black", linewidth=1.5, zorder=3)
        ax.scatter([size], [estimate.value], marker="_", s=150, color="black", label="corrected estimate", zorder=3)

    def _draw_guessing(self, ax: Any) -> None:
        """A line where that is not far below everything else."""
        estimate = self.estimate
        lowest = min([estimate.low, *self.columns["score"]], default=estimate.low)
        if estimate.chance > lowest - 2 * (1e-12 + estimate.high - estimate.low):
            ax.axhline(estimate.chance, color="0.3", linestyle=":", linewidth=1, label="guessing", zorder=1)


def _best_of_each_size(sizes: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best score at each number of features, ascending."""
    each = np.unique(sizes)
    return each, np.array([scores[sizes == size].max() for size in each])


def _spread_out(sizes: np.ndarray) -> list[int]:
    """Numbers of features that are far enough apart on a logarithmic axis to be written; the largest is among them."""
    step = (np.log(sizes[-1]) - np.log(sizes[0])) / _MOST_TICKS
    kept: list[int] = []
    for size in sizes[::-1].tolist():
        if not kept or np.log(kept[-1]) - np.log(size) >= step:
            kept.append(size)
    return kept[::-1]
