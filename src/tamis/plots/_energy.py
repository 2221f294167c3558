"""How the mean error falls while a probability over features is learned."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.kernels.arrays.columns import to_numpy
from tamis.plots._edge_map import arrange_panels

_PANEL = (6.4, 3.8)  # inches
_WINDOWS = 40  # windows of the moving mean that a run is made of, if none is asked for
PERMUTED = "permuted labels"


class EnergyDisplay:
    """Mean error against iterations, one line per run (Gadat and Younes 2007, Figures 6, 7, 17, 24 and 27).

    The pale line is the error of each iteration, the full one its moving mean, and the dashed one that of labels
    permuted at random: a run that falls no lower than that has learned nothing. Make it with :meth:`from_estimators`.

    Parameters
    ----------
    energies : mapping of str to array of shape (n_iter,)
        Error of each iteration, per run.
    null_energies : mapping of str to array, default=None
        The same with permuted labels, for some of the runs.
    effective_numbers : mapping of str to array of shape (n_iter,), default=None
        Effective number of features of each iteration, per run; drawn in a second panel.
    window : int, default=None
        Iterations in the moving mean; None means a fortieth of the run.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
    figure_ : matplotlib figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.plots import EnergyDisplay
    >>> falling = 0.1 + 0.3 * np.exp(-np.arange(200) / 50) + 0.02 * np.sin(np.arange(200))
    >>> display = EnergyDisplay({"gradient": falling}, window=20).plot()
    >>> sorted(display.frame())
    ['energy', 'iteration', 'permuted', 'run', 'smoothed']
    """

    def __init__(
        self,
        energies: Mapping[str, Any],
        *,
        null_energies: Mapping[str, Any] | None = None,
        effective_numbers: Mapping[str, Any] | None = None,
        window: int | None = None,
    ) -> None:
        if not energies:
            raise ValueError("there are no runs to draw: give at least one, such as {'mine': fitted}")
        if window is not None and (not isinstance(window, Integral) or window < 1):
            raise ValueError(f"window={window!r} must be a number of iterations, 1 or more")
        self.energies = {name: _check_curve(name, values) for name, values in energies.items()}
        self.null_energies = _check_same_runs(null_energies, self.energies)
        self.effective_numbers = _check_same_runs(effective_numbers, self.energies)
        self.window = window

    @classmethod
    def from_estimators(
        cls, estimators: Any, *, effective_number: bool = False, window: int | None = None, ax: Any = None
    ) -> EnergyDisplay:
        """Draw the runs of fitted estimators together.

        Parameters
        ----------
        estimators : fitted OFW, or mapping of str to fitted OFW
            What each line is called. A run with a ``null_history_`` also shows what permuted labels give.
        effective_number : bool, default=False
            Also draw the effective number of features, in a second panel.
        window : int, default=None
            Iterations in the moving mean; None means a fortieth of the run.
        ax : matplotlib axes, or two of them with ``effective_number``, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        EnergyDisplay
        """
        if isinstance(estimators, list | tuple):
            raise ValueError("give several runs as a mapping that names them, such as {'natural': a, 'diffusion': b}")
        runs = estimators if isinstance(estimators, Mapping) else {type(estimators).__name__: estimators}
        for name, run in runs.items():
            check_is_fitted(run)
            if not hasattr(run, "history_"):
                raise ValueError(f"{name} has no history_ of its iterations; give a fitted OFW")
        energies = {name: run.history_["energy"] for name, run in runs.items()}
        nulls = {name: run.null_history_ for name, run in runs.items() if vars(run).get("null_history_")}
        numbers = {name: run.history_["effective_number"] for name, run in runs.items()} if effective_number else None
        null_energies = {name: history["energy"] for name, history in nulls.items()}
        display = cls(energies, null_energies=null_energies, effective_numbers=numbers, window=window)
        return display.plot(ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, a row per run and iteration, ready for any data frame library."""
        columns: dict[str, list[Any]] = {name: [] for name in ("run", "permuted", "iteration", "energy", "smoothed")}
        if self.effective_numbers:
            columns["effective_number"] = []
        for permuted, curves in ((False, self.energies), (True, self.null_energies)):
            for name, values in curves.items():
                columns["run"] += [name] * values.size
                columns["permuted"] += [permuted] * values.size
                columns["iteration"] += range(1, values.size + 1)
                columns["energy"] += values.tolist()
                columns["smoothed"] += self.smooth(values).tolist()
                if self.effective_numbers:
                    numbers = None if permuted else self.effective_numbers.get(name)
                    columns["effective_number"] += [None] * values.size if numbers is None else numbers.tolist()
        return columns

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Moving mean, over fewer iterations at both ends, where a window would stick out."""
        half = (max(1, values.size // _WINDOWS) if self.window is None else self.window) // 2
        at = np.arange(values.size)
        first, last = np.maximum(at - half, 0), np.minimum(at + half + 1, values.size)
        total = np.concatenate([[0.0], np.cumsum(values)])
        return (total[last] - total[first]) / (last - first)

    def plot(self, *, ax: Any = None) -> EnergyDisplay:
        """Draw on ``ax``, two of them if there are effective numbers, or on a new figure."""
        axes = arrange_panels(ax, 1 + bool(self.effective_numbers), _PANEL, wide=False)
        for place, (name, values) in enumerate(self.energies.items()):
            color = f"C{place % 10}"
            self._draw_line(axes[0], values, color, name, "-")
            if name in self.null_energies:
                label = PERMUTED if len(self.energies) == 1 else f"{name}, {PERMUTED}"
                self._draw_line(axes[0], self.null_energies[name], color, label, "--")
            if name in self.effective_numbers:
                numbers = self.effective_numbers[name]
                axes[1].plot(np.arange(1, numbers.size + 1), numbers, color=color, label=name)
        axes[0].set_ylabel("mean error")
        self.axes_, self.figure_ = axes, axes[0].figure
        if len(axes[0].lines) > 2:  # beside the curves, which fill the panel; given axes belong to others
            handles, labels = axes[0].get_legend_handles_labels()
            if ax is None:
                self.figure_.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)
            else:
                axes[0].legend(handles, labels, frameon=False)
        if self.effective_numbers:
            axes[1].set_ylabel("effective number of features")
            axes[1].set_ylim(bottom=0)
        axes[-1].set_xlabel("iteration")
        for panel in axes:
            panel.margins(x=0.01)
            panel.spines[["top", "right"]].set_visible(False)
        return self

    def _draw_line(self, ax: Any, values: np.ndarray, color: str, label: str, linestyle: str) -> None:
        iteration = np.arange(1, values.size + 1)
        ax.plot(iteration, values, color=color, alpha=0.2 if linestyle == "-" else 0.1, linewidth=0.8, zorder=1)
        ax.plot(iteration, self.smooth(values), color=color, label=label, linestyle=linestyle, zorder=2)


def _check_curve(name: str, values: Any) -> np.ndarray:
    curve = np.asarray(to_numpy(values), dtype=float)
    if curve.ndim != 1 or curve.size == 0 or not np.all(np.isfinite(curve)):
        raise ValueError(f"the run '{name}' must have one finite value per iteration, and at least one iteration")
    return curve


def _check_same_runs(curves: Mapping[str, Any] | None, runs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    if unknown := sorted(set(curves or {}) - set(runs)):
        raise ValueError(f"there is no run '{unknown[0]}'; the runs are {', '.join(runs)}")
    return {name: _check_curve(name, values) for name, values in (curves or {}).items()}
