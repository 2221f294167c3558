"""How a probability over features settles on a few of them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.kernels.arrays.columns import to_numpy
from tamis.plots._path import _pyplot

_STYLES = ("-", "--", ":", "-.")
_COLORS = [f"C{place}" for place in range(10) if place != 7]  # gray is for all others
OTHERS = "all others"


class ProbabilityDisplay:
    """Probability of the leading features against iterations (Gadat and Younes 2007, Figures 10 and 11).

    The gray line is the sum over all other features; the axis is logarithmic if that sum would flatten the others. Make
    it with :meth:`from_estimator`.

    Parameters
    ----------
    iteration : array of shape (n_snapshots,)
    probability : array of shape (n_snapshots, n_leading)
        Of the leading features, best first.
    names : sequence of str
        The leading features.
    others : array of shape (n_snapshots,), default=None
        Sum over all other features; None if there are none.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.plots import ProbabilityDisplay
    >>> length = np.linspace(0.25, 0.7, 10)
    >>> display = ProbabilityDisplay(np.arange(10), length[:, None], ["petal length"], 1 - length).plot()
    >>> display.frame()["feature"][-1]
    'all others'
    """

    def __init__(self, iteration: Any, probability: Any, names: Sequence[str], others: Any = None) -> None:
        self.iteration = np.asarray(iteration)
        self.probability = np.asarray(probability, dtype=float)
        self.names = list(names)
        self.others = None if others is None else np.asarray(others, dtype=float)
        if self.probability.shape != (self.iteration.size, len(self.names)):
            raise ValueError(
                f"probability of shape {self.probability.shape} is not of {self.iteration.size} iterations and "
                f"{len(self.names)} names"
            )
        if self.others is not None and self.others.shape != self.iteration.shape:
            raise ValueError(f"others of shape {self.others.shape} is not of {self.iteration.size} iterations")

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_features: int = 10, ax: Any = None) -> ProbabilityDisplay:
        """Draw the course of a fitted OFW.

        Parameters
        ----------
        estimator : fitted OFW
        n_features : int, default=10
            How many of its leading features, or groups of them, have a line of their own.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ProbabilityDisplay
        """
        check_is_fitted(estimator)
        if not isinstance(n_features, Integral) or n_features < 1:
            raise ValueError(f"n_features={n_features!r} must be a number of features, 1 or more")
        if not hasattr(estimator, "history_"):
            raise ValueError(f"{type(estimator).__name__} has no history_ of its iterations; give a fitted OFW")
        history = estimator.history_
        probability = np.asarray(to_numpy(history["probability"]), dtype=float)
        if hasattr(estimator, "group_names_"):  # the probability is over groups, and order_ speaks of columns
            leading = np.argsort(-estimator.probability_, kind="stable")[:n_features]
            names = [estimator.group_names_[j] for j in leading]
        else:
            leading = to_numpy(estimator.order_)[:n_features]
            names = [estimator.feature_name(int(j)) for j in leading]
        rest = np.setdiff1d(np.arange(probability.shape[1]), leading)
        others = probability[:, rest].sum(axis=1) if rest.size else None
        return cls(to_numpy(history["iteration"]), probability[:, leading], names, others).plot(ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, a row per feature and iteration, ready for any data frame library."""
        curves = list(zip(self.names, self.probability.T, strict=True))
        if self.others is not None:
            curves.append((OTHERS, self.others))
        return {
            "feature": [name for name, _ in curves for _ in range(self.iteration.size)],
            "iteration": self.iteration.tolist() * len(curves),
            "probability": [value for _, values in curves for value in values.tolist()],
        }

    def plot(self, *, ax: Any = None) -> ProbabilityDisplay:
        """Draw on ``ax``, or on a new figure."""
        pyplot = _pyplot()
        own_figure = ax is None
        if ax is None:
            _, ax = pyplot.subplots(figsize=(7.2, 4.4), layout="constrained")
        if self.others is not None:
            ax.plot(self.iteration, self.others, color="0.65", linewidth=2.5, label=OTHERS, zorder=1)
        for place, (name, values) in enumerate(zip(self.names, self.probability.T, strict=True)):
            cycle, color = divmod(place, len(_COLORS))
            style: dict[str, Any] = {"color": _COLORS[color], "linestyle": _STYLES[cycle % len(_STYLES)]}
            ax.plot(self.iteration, values, label=name, zorder=2, **style)
        self._set_scale(ax)
        ax.margins(x=0.01)
        ax.set_xlabel("iteration")
        ax.set_ylabel("probability")
        ax.spines[["top", "right"]].set_visible(False)
        handles, labels = ax.get_legend_handles_labels()
        if self.others is not None:  # named last, as in the data
            handles, labels = handles[1:] + handles[:1], labels[1:] + labels[:1]
        place_outside: dict[str, Any] = {"loc": "outside right upper"} if own_figure else {}
        (ax.figure if own_figure else ax).legend(handles, labels, frameon=False, **place_outside)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_scale(self, ax: Any) -> None:
        """Logarithmic if a linear axis, which must hold the sum of the others, would flatten the leading features."""
        largest = self.probability.max()
        if self.others is None or not 0 < largest < 0.1 * self.others.max():
            ax.set_ylim(bottom=0)
            return
        ax.set_yscale("log", nonpositive="clip")
        positive = self.probability[self.probability > 0]
        ax.set_ylim(bottom=max(0.5 * positive.min(), 1e-4 * largest))
