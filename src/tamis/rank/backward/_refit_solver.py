"""Elimination with any scikit-learn estimator, fitted anew in every round."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from tamis.base import fit_weighted
from tamis.rank.backward._elimination_solver import EliminationSolver
from tamis.rank.backward._exact_training import prepare_columns


class RefitSolver(EliminationSolver):
    """Any estimator with ``coef_`` or ``feature_importances_``, fitted anew on the remaining features.

    Parameters
    ----------
    estimator : estimator
    X : table
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
    sample_weight : ndarray of shape (n_samples,) or None
    importance_getter : "auto", str or callable
        Where importances are found in the fitted estimator: a path of attributes, or a function of the estimator.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        importance_getter: Any = "auto",
    ) -> None:
        self.estimator, self.X, self.y, self.sample_weight = estimator, X, y, sample_weight
        self.importance_getter = importance_getter
        self._remaining = np.arange(X.shape[1])
        self.n_iter = 0
        self._fit()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self._remaining

    def _fit(self) -> None:
        self.fitted = fit_weighted(clone(self.estimator), self.X[:, self._remaining], self.y, self.sample_weight)
        self.n_iter += 1

    def criteria(self) -> np.ndarray:
        """Importances, or squared coefficients, summed over outputs; squares of what ``importance_getter`` finds."""
        values = self._own_importances() if self.importance_getter == "auto" else self._asked_importances()
        n_remaining = self._remaining.size
        if values.size != n_remaining:
            raise ValueError(f"estimator={self.estimator!r} gives {values.size} weights for {n_remaining} features")
        return values

    def _own_importances(self) -> np.ndarray:
        fitted = self.fitted[-1] if hasattr(self.fitted, "steps") else self.fitted
        if hasattr(fitted, "coef_"):
            return _sum_of_squares(fitted.coef_)
        if hasattr(fitted, "feature_importances_"):
            return np.asarray(fitted.feature_importances_, dtype=float)
        raise ValueError(
            f"estimator={self.estimator!r} has neither coef_ nor feature_importances_ after fit: there is nothing "
            "to eliminate by; say where importances are found by importance_getter"
        )

    def _asked_importances(self) -> np.ndarray:
        getter = self.importance_getter
        return _sum_of_squares(getter(self.fitted) if callable(getter) else attrgetter(getter)(self.fitted))

    @property
    def squared_norm(self) -> float | None:
        """Of the coefficients."""
        return float(self.criteria().sum()) if hasattr(self.fitted, "coef_") else None

    def remove(self, features: np.ndarray) -> None:
        """Fit anew."""
        self._remaining = np.setdiff1d(self._remaining, features)
        self._fit()


def _sum_of_squares(weights: Any) -> np.ndarray:
    """Squared weights of every feature, of shape (n_features,) or (n_outputs, n_features), summed over outputs."""
    weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights, dtype=float)
    return (weights.reshape(-1, weights.shape[-1]) ** 2).sum(axis=0)


def prepare_for_refit(X: Any, sample_weight: np.ndarray | None, *, standardize: bool) -> Any:
    """Columns as :func:`prepare_columns` has them; missing values stay missing, and do not count in mean and variance.

    Means and variances are then those of ``StandardScaler``.
    """
    values = X.data if sparse.issparse(X) else X
    if not standardize or not np.isnan(values).any():
        return prepare_columns(X, sample_weight, standardize=standardize, centered=False)
    scaler = StandardScaler(with_mean=not sparse.issparse(X)).set_output(transform="default")
    return scaler.fit(X.astype(float), sample_weight=sample_weight).transform(X.astype(float))
