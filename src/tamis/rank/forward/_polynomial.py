"""A polynomial of standardized columns, and how it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.copies import distinct_columns
from tamis.kernels.arrays.scaling import standardize_with_units
from tamis.kernels.arrays.targets import Target
from tamis.rank.forward._least_squares_model import LeastSquaresModel
from tamis.rank.forward._monomial_pruning import DowndatedModel


@dataclass(frozen=True)
class Variables:
    """The distinct columns of a table that vary, standardized.

    Attributes
    ----------
    table : ndarray of shape (n_samples, n_variables)
        Of zero mean and unit variance.
    columns : ndarray of shape (n_variables,)
        The columns of the table that these are, ascending: the first of each set of copies.
    mean, scale : ndarray of shape (n_features,)
        What every column of the table is standardized by.
    """

    table: np.ndarray
    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray


def distinct_variables(X: np.ndarray, sample_weight: np.ndarray | None = None) -> Variables:
    """Take out constant columns and copies, up to unit, offset and sign; bring the others to unit variance."""
    Z, mean, scale, varies = standardize_with_units(X, sample_weight)
    if not varies.any():
        raise ValueError("every column of X is constant, up to rounding: there is nothing to rank")
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    columns = distinct_columns(Z * np.sqrt(weight / weight.sum())[:, None], varies.astype(float))
    return Variables(Z[:, columns], columns, mean, scale)


def fit_linear(columns: Columns, places: np.ndarray, target: Target) -> tuple[LeastSquaresModel, DowndatedModel]:
    """Least squares on a few candidates, with an intercept: to predict with, and to remove columns from."""
    weight = columns.sqrt_weight**2
    mean = weight @ target.values / columns.total
    Q, R = qr(columns.columns(places), mode="economic")
    model = DowndatedModel(Q, R, columns.center_rows(target.values), weight)
    coef = solve_triangular(R, Q.T @ model.Y) if places.size else np.empty((0, mean.size))
    linear = LeastSquaresModel(
        features=places,
        coef=coef,
        intercept=mean - columns.means(places) @ coef,
        r2=1.0 - model.squared_error() / float(np.square(model.Y).sum()),
        press=model.press(),
        classes=target.classes,
    )
    return linear, model


@dataclass(frozen=True)
class Polynomial:
    """A polynomial of standardized columns.

    Attributes
    ----------
    factors : tuple of tuples of int
        Columns of the table that each monomial multiplies.
    mean, scale : ndarray of shape (n_features,)
        What the columns are standardized by.
    linear : LeastSquaresModel
        The model in the monomials: coefficients, intercept, r2, leave-one-out error.
    power : int
        Binary exponent of the unit in which ``linear`` measures the target; 0 unless its squares would be lost.
    """

    factors: tuple[tuple[int, ...], ...]
    mean: np.ndarray
    scale: np.ndarray
    linear: LeastSquaresModel
    power: int = 0

    def monomials(self, X: Any) -> np.ndarray:
        """The monomials of a table: shape (n_samples, n_monomials)."""
        X = np.asarray(X, dtype=float)
        out = np.ones((len(X), len(self.factors)))
        for column, factors in enumerate(self.factors):
            for j in factors:
                out[:, column] *= (X[:, j] - self.mean[j]) / self.scale[j]
        return out

    def decision_function(self, X: Any) -> np.ndarray:
        """Values of the polynomial: shape (n_samples, n_targets)."""
        return np.ldexp(self.linear.decision_function(self.monomials(X)), self.power)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted quantities, or labels."""
        if self.linear.classes is None:
            return self.decision_function(X)[:, 0]
        return self.linear.predict(self.monomials(X))
