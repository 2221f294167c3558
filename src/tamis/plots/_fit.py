"""Which features a selection leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.assess import feature_r2
from tamis.assess._tables import read_table
from tamis.plots._path import _pyplot


class FitDisplay:
    """Cumulative distribution of the R² of all features, one curve per selection (Doquet 2019, Figure 6.1).

    A curve that stays low longer is better: at x it shows the share of features recovered with an R² of at most x. Make
    it with :meth:`from_selections`.

    Parameters
    ----------
    r2 : mapping of str to ndarray of shape (n_features,)
        R² of every feature per selection.
    names : list of str
        The features.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import LaplacianScore
    >>> from tamis.plots import FitDisplay
    >>> X, _ = load_wine(return_X_y=True, as_frame=True)
    >>> display = FitDisplay.from_selections(X, {"Laplacian": LaplacianScore(stop=3).fit(X), "all": None})
    >>> sorted(display.frame())
    ['Laplacian', 'all', 'feature']
    """

    def __init__(self, r2: Mapping[str, np.ndarray], names: list[str]) -> None:
        self.r2 = dict(r2)
        self.names = names

    @classmethod
    def from_selections(
        cls,
        X: Any,
        selections: Mapping[str, Any],
        *,
        n_neighbors: int = 5,
        mode: str = "loo",
        standardize: bool = True,
        X_test: Any = None,
        ax: Any = None,
    ) -> FitDisplay:
        """Judge some selections of one table and draw them together.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        selections : mapping of str to mask, indices, fitted ranker or None
            What each curve is called, and the features it keeps.
        n_neighbors, mode, standardize, X_test
            As for :func:`tamis.assess.feature_r2`.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        FitDisplay
        """
        if not isinstance(selections, Mapping):
            raise ValueError("selections must map names to selections, such as {'mine': support}")
        if not selections:
            raise ValueError("there are no selections to draw: give at least one, such as {'mine': support}")
        table, names = read_table(X)
        options = {"n_neighbors": n_neighbors, "mode": mode, "standardize": standardize, "X_test": X_test}
        r2 = {name: feature_r2(X, support, **options) for name, support in selections.items()}
        display = cls(r2, names or [f"x{j}" for j in range(table.shape[1])])
        display.plot(ax=ax)
        return display

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, ready for any data frame library."""
        return {"feature": list(self.names), **{name: values.tolist() for name, values in self.r2.items()}}

    def worst(self, selection: str, n_features: int = 10) -> list[tuple[str, float]]:
        """Features that a selection recovers least, with their R².

        Parameters
        ----------
        selection : str
            Name of the curve.
        n_features : int, default=10

        Returns
        -------
        list of (name, R²), the worst first
        """
        if selection not in self.r2:
            raise ValueError(f"no selection is called '{selection}'; choose one of {', '.join(self.r2)}")
        values = self.r2[selection]
        return [(self.names[j], float(values[j])) for j in np.argsort(values, kind="stable")[:n_features]]

    def plot(self, *, ax: Any = None) -> FitDisplay:
        """Draw on ``ax``, or on a new figure."""
        pyplot = _pyplot()
        if ax is None:
            _, ax = pyplot.subplots(figsize=(6.4, 4.8), layout="constrained")
        lowest = min(0.0, *(np.quantile(values, 0.01) for values in self.r2.values()))
        for name, values in self.r2.items():
            ax.ecdf(values, label=f"{name} (FIT {values.mean():.3f})")
        ax.set_xlim(max(lowest, -1.0), 1.0)  # a few features far below zero would squeeze all others
        ax.set_ylim(0.0, 1.0)
        ax.set_xlabel("R² of a feature, predicted from the kept ones")
        ax.set_ylabel("share of features at or below")
        ax.legend(frameon=False, loc="upper left")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
