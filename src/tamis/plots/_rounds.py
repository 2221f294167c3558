"""How an active set grows, round by round, until nothing outside of it would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tamis.plots._edge_map import arrange_panels
from tamis.plots._map_panels import spell_log_ticks

_PANEL = (6.4, 1.9)  # inches


class RoundsDisplay:
    r"""Objective, active maps and largest violation of an InfiniteSVM against its rounds.

    The objective (Flamary et al. 2011, Eq. 2) never rises. The violation is the largest :math:`\|r_\theta\|` (Eq. 3)
    among the candidates of a round: above the dashed level of 1, one entered; at or below it, all satisfy their
    condition. Make it with :meth:`from_estimator`.

    Parameters
    ----------
    history : sequence of Round
        Such as ``InfiniteSVM.history_``.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
    figure_ : matplotlib figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import InfiniteSVM
    >>> from tamis.dictionary import RBF
    >>> from tamis.plots import RoundsDisplay
    >>> X = np.random.RandomState(0).uniform(-2, 2, size=(100, 2))
    >>> svm = InfiniteSVM(RBF(), random_state=0).fit(X, np.linalg.norm(X - [1, 0], axis=1) < 0.8)
    >>> display = RoundsDisplay.from_estimator(svm)
    >>> len(display.frame()["round"]) == svm.n_iter_
    True
    """

    def __init__(self, history: Sequence[Any]) -> None:
        self.history = list(history)
        if not self.history:
            raise ValueError("history holds no rounds to draw")

    @classmethod
    def from_estimator(cls, svm: Any, *, ax: Any = None) -> RoundsDisplay:
        """Draw the rounds of a fitted machine.

        Parameters
        ----------
        svm : fitted InfiniteSVM
        ax : array of three matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        RoundsDisplay
        """
        check_is_fitted(svm)
        history = getattr(svm, "history_", None)
        if not isinstance(history, list) or not all(hasattr(each, "violation") for each in history):
            raise ValueError(f"{type(svm).__name__} has no history_ of rounds; give a fitted InfiniteSVM")
        return cls(history).plot(ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, a row per round, ready for any data frame library."""
        columns: dict[str, list[Any]] = {"round": list(range(1, len(self.history) + 1))}
        for name in ("objective", "n_active", "violation", "n_evaluations"):
            columns[name] = [getattr(each, name) for each in self.history]
        return columns

    def plot(self, *, ax: Any = None) -> RoundsDisplay:
        """Draw on ``ax``, which holds three axes, or on a new figure."""
        axes = arrange_panels(ax, 3, _PANEL, wide=False)
        data, size = self.frame(), len(self.history)
        marker = "." if size <= 60 else ""
        axes[0].plot(data["round"], data["objective"], color="C0", marker=marker)
        axes[1].plot(data["round"], data["n_active"], color="C0", marker=marker, drawstyle="steps-mid", clip_on=False)
        axes[2].plot(data["round"], data["violation"], color="C0", marker=marker)
        axes[2].axhline(1.0, color="tab:red", linestyle="--", linewidth=1, label="1: satisfied")
        if max(data["violation"]) > 10 and min(data["violation"]) > 0:
            axes[2].set_yscale("log")
            spell_log_ticks(axes[2].yaxis, *axes[2].get_ylim())
        axes[2].legend(frameon=False)
        for panel, label in zip(axes, ("objective", "active maps", "largest violation"), strict=True):
            panel.set(ylabel=label, xlim=(0.5, size + 0.5))
            panel.spines[["top", "right"]].set_visible(False)
            panel.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axes[1].set_ylim(0, 1.1 * max(1, *data["n_active"]))
        axes[1].yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axes[2].set_xlabel("round")
        self.axes_, self.figure_ = axes, axes[0].figure
        self.figure_.align_ylabels(axes)
        return self
