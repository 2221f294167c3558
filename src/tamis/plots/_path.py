"""What the stopping rule saw along the ranking, and where it cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.base import Ranker, StopDecision
from tamis.kernels.arrays.columns import to_numpy

_MOST_NAMES = 40
_SMALLEST = 1e-10  # chance that is drawn: the axis would otherwise be one of chances that nobody doubts
_DECADES = 2.0  # of chances from which on the axis is logarithmic
_KEPT, _AFTER = "tab:blue", "0.65"


class PathDisplay:
    """Curve of a stopping rule against the number of features, with the cut marked (Stoppiglia et al. 2003, Figure 1).

    Make it with :meth:`from_estimator`. Features after the cut are gray. A risk or p-value that spans decades is drawn
    on a logarithmic axis, where zeros, and chances below 1e-10, stand at its lower end.

    Parameters
    ----------
    decision : StopDecision
    names : sequence of str
        The ranked features, best first.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`.

    Examples
    --------
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_linear
    >>> from tamis.plots import PathDisplay
    >>> X, y = make_linear(n_samples=50, random_state=0)
    >>> display = PathDisplay.from_estimator(GramSchmidt().fit(X, y))
    >>> display.frame()["kept"][:3]
    [True, True, True]
    """

    def __init__(self, decision: StopDecision, names: list[str]) -> None:
        self.decision = decision
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Ranker, *, ax: Any = None) -> PathDisplay:
        """Draw the path of a fitted ranker.

        Parameters
        ----------
        estimator : fitted ranker
            Its stopping rule must have a curve: a probe, a test or an error, and not a mere number of features.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PathDisplay
        """
        check_is_fitted(estimator)
        decision = estimator.stop_
        if decision.curve.size == 0:
            raise ValueError(
                f"{type(estimator).__name__} was cut by a number of features or its own choice, which have no curve to "
                "draw; fit it with a rule such as CrossValidation or MonteCarloProbe"
            )
        if decision.n_groups is None:
            names = [estimator.feature_name(int(j)) for j in to_numpy(estimator.order_)]
        else:
            names = [str(label) for label in estimator.group_order_]
        display = cls(decision, names)
        display.plot(ax=ax)
        return display

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, ready for any data frame library."""
        decision = self.decision
        noun = "feature" if decision.n_groups is None else "group"
        columns: dict[str, list[Any]] = {
            f"n_{noun}s": decision.curve_at.tolist(),
            noun: [self.names[k - 1] if k > 0 else "" for k in decision.curve_at],
            decision.label: decision.curve.tolist(),
            "kept": [bool(k <= decision.n_candidates) for k in decision.curve_at],
        }
        if decision.spread is not None:
            columns["standard error"] = decision.spread.tolist()
        return columns

    def plot(self, *, ax: Any = None) -> PathDisplay:
        """Draw on ``ax``, or on a new figure."""
        pyplot = _pyplot()
        decision = self.decision
        noun = "features" if decision.n_groups is None else "groups"
        named = decision.curve_at.size <= _MOST_NAMES and np.all(np.diff(decision.curve_at) == 1)
        if ax is None:
            width = max(6.4, 1.5 + 0.35 * decision.curve_at.size) if named else 6.4
            _, ax = pyplot.subplots(figsize=(width, 4.8), layout="constrained")
        lowest = lowest_chance(decision)
        curve = decision.curve if lowest is None else np.maximum(decision.curve, lowest)
        ax.plot(decision.curve_at, curve, color="0.8", zorder=1)
        if decision.spread is not None:
            ax.errorbar(decision.curve_at, curve, decision.spread, fmt="none", color="0.8", zorder=1)
        kept = decision.curve_at <= decision.n_candidates
        is_below = np.zeros(curve.size, dtype=bool) if lowest is None else decision.curve < lowest
        for chosen, color, label in ((kept & ~is_below, _KEPT, "kept"), (~kept & ~is_below, _AFTER, "after the cut")):
            if chosen.any():
                ax.scatter(decision.curve_at[chosen], curve[chosen], color=color, label=label, zorder=2)
        if lowest is not None:
            ax.set_yscale("log")
        if is_below.any():
            colors = np.where(kept[is_below], _KEPT, _AFTER).tolist()
            label = f"{'kept, ' if kept[is_below].all() else ''}below {lowest:.0e}"
            ax.scatter(decision.curve_at[is_below], curve[is_below], marker="v", color=colors, zorder=2, label=label)
        ax.axvline(decision.n_candidates + 0.5, color="tab:red", linewidth=1, label=f"cut at {decision.n_candidates}")
        if decision.threshold is not None:
            ax.axhline(
                decision.threshold,
                color="0.3",
                linestyle="--",
                linewidth=1,
                label=f"threshold {decision.threshold:.3g}",
            )
        if named:
            ticks = [self.names[k - 1] if k > 0 else "none" for k in decision.curve_at]
            ax.set_xticks(decision.curve_at, ticks, rotation=45, ha="right", rotation_mode="anchor")
            for tick, is_kept in zip(ax.get_xticklabels(), kept, strict=True):
                tick.set_color("black" if is_kept else _AFTER)
            ax.set_xlabel(f"{noun} in the order of the ranking")
        else:
            ax.set_xlabel(f"number of {noun}")
        ax.set_ylabel(decision.label)
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def lowest_chance(decision: StopDecision) -> float | None:
    """Lower end of a logarithmic axis; None where the curve is no risk or p-value, or spans less than two decades.

    Zeros, and chances so small that their size says nothing more, stand there.
    """
    curve, threshold = decision.curve, decision.threshold
    is_chance = any(word in decision.label for word in ("risk", "chance", "p-value"))
    if not is_chance or threshold is None or curve.min() < 0 or curve.max() > 1:
        return None
    least, most = min(curve.min(), threshold), max(curve.max(), threshold)
    if most < 10**_DECADES * least:
        return None
    positive = np.append(curve[curve > 0], threshold).min()
    return float(10.0 ** np.floor(np.log10(max(positive, _SMALLEST)) - (curve.min() == 0.0)))


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("drawing needs matplotlib; install it with: pip install 'tamis[plot]'") from error
    return pyplot
