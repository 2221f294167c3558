"""Elimination with any scikit-learn estimator, fitted anew in every round."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis.rank.backward._elimination_solver import EliminationSolver


class RefitSolver(EliminationSolver):
    """Any estimator with ``coef_`` or ``feature_importances_``, fitted anew on the remaining features."""

    def __init__(self, estimator: Any, X: Any, y: np.ndarray) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self._remaining = np.arange(X.shape[1])
        self.n_iter = 0
        self._fit()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self._remaining

    def _fit(self) -> None:
        self.fitted = clone(self.estimator).fit(self.X[:, self._remaining], self.y)
        self.n_iter += 1

    def criteria(self) -> np.ndarray:
        """Squared coefficients, summed over outputs, or importances."""
        fitted = self.fitted[-1] if hasattr(self.fitted, "steps") else self.fitted
        if hasattr(fitted, "coef_"):
            weights = fitted.coef_
            weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
            values = (weights.reshape(-1, weights.shape[-1]) ** 2).sum(axis=0)
        elif hasattr(fitted, "feature_importances_"):
            values = np.asarray(fitted.feature_importances_, dtype=float)
        else:
            raise ValueError(
                f"estimator={self.estimator!r} has neither coef_ nor feature_importances_ after fit: there is nothing "
                "to eliminate by"
            )
        n_remaining = self._remaining.size
        if values.size != n_remaining:
            raise ValueError(f"estimator={self.estimator!r} gives {values.size} weights for {n_remaining} features")
        return values

    @property
    def squared_norm(self) -> float | None:
        """Of the coefficients."""
        return float(self.criteria().sum()) if hasattr(self.fitted, "coef_") else None

    def remove(self, features: np.ndarray) -> None:
        """Fit anew."""
        self._remaining = np.setdiff1d(self._remaining, features)
        self._fit()
