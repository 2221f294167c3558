r"""Columns that stand for all columns: the algebra behind column-subset selection.

Notation: ``Z`` holds the centered columns divided by ``sqrt(n)``, so that ``Z' Z`` is their covariance matrix (their
correlation matrix once they are scaled); ``S`` are the columns chosen so far, ``Q`` an orthonormal basis of their span,
``P = I - Q Q'`` and ``r_j = P z_j`` the residual of column j.

*Greedy reconstruction* adds the column that explains the most variance of all columns,

    gain_j = || Z' r_j ||^2 / || r_j ||^2 = num_j / residual_norm2_j.

With ``q`` the unit direction of the chosen column and ``K = Z Z'``, everything follows from the two products
``t = Z' q`` and ``w = Z' P K q`` (``P`` without ``q`` already), which are one pass over ``Z``: ``E = Z' P Z`` becomes
``E - t t'``, and before it does ``E t = w + (t' t) t``, so that

    num_j            = || E e_j ||^2  <-  num_j - 2 t_j w_j - t_j^2 (t' t),
    residual_norm2_j = e_j' E e_j     <-  residual_norm2_j - t_j^2.

All of this depends on ``Z`` through ``Z' Z`` alone. In the place of a table with more rows than columns a square one
with the same ``Z' Z`` is to be given; ``K`` is then never larger than ``Z``.

*Pivoted QR* adds the column with the largest residual, ``residual_norm2_j``.

Both recurrences are differences and lose digits as residuals become small. Every candidate therefore carries a bound on
the rounding error made since its terms were last computed from the column itself, and all candidates that could be the
best within these bounds are computed anew before one is chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tamis.kernels.arrays.blocks import column_blocks
from tamis.kernels.arrays.tolerances import PRODUCT_ERROR, REDUNDANT, TIE


class Precision(NamedTuple):
    """Relative rounding errors of quantities computed from a table."""

    redundant: float  # squared residual norm, as a share of the column's, below which it is rounding error
    product: float  # error of a product of two vectors, relative to their norms
    tie: float  # difference below which two values are tied


def precision_of(Z: np.ndarray) -> Precision:
    """The rounding that goes with the type of a table."""
    return Precision(REDUNDANT.of(Z), PRODUCT_ERROR.of(Z), TIE.of(Z))


def first_largest(values: np.ndarray, tie: float) -> int:
    """Index of the largest value; of those within ``tie``, relatively, the lowest."""
    best = float(values.max())
    return int(np.argmax(values >= best - tie * abs(best)))


def gram_of_rows(Z: np.ndarray) -> np.ndarray:
    """``K = Z Z'``; products in the table's own precision, summed in double precision."""
    if Z.dtype == np.float64:
        return Z @ Z.T
    K = np.zeros((Z.shape[0], Z.shape[0]))
    for cols in column_blocks(Z.shape[0], Z.shape[1]):
        K += Z[:, cols] @ Z[:, cols].T
    return K


def quadratic_forms(Z: np.ndarray, K: np.ndarray) -> np.ndarray:
    """``z_j' K z_j`` for every column."""
    forms = np.empty(Z.shape[1])
    K = K.astype(Z.dtype, copy=False)
    for cols in column_blocks(*Z.shape):
        forms[cols] = np.einsum("ij,ij->j", K @ Z[:, cols], Z[:, cols], dtype=float)
    return forms


def explained_by_each(Z: np.ndarray, norm2: np.ndarray) -> np.ndarray:
    """Variance of all columns that each one explains alone, ``sum_i (z_i' z_j)^2 / z_j' z_j``; 0 for constant ones."""
    return np.divide(quadratic_forms(Z, gram_of_rows(Z)), norm2, out=np.zeros(norm2.size), where=norm2 > 0)


class Basis:
    """Orthonormal directions, one added at a time."""

    def __init__(self, n_rows: int) -> None:
        self._Q = np.empty((n_rows, 8), order="F")
        self.size = 0

    def append(self, q: np.ndarray) -> None:
        """Add a unit vector that is orthogonal to the others."""
        if self.size == self._Q.shape[1]:
            self._Q = np.asfortranarray(np.hstack([self._Q, np.empty_like(self._Q)]))
        self._Q[:, self.size] = q
        self.size += 1

    def residual(self, V: np.ndarray) -> np.ndarray:
        """Residual of the columns of ``V`` off the basis; projected twice, which is enough."""
        Q = self._Q[:, : self.size]
        V = V - Q @ (Q.T @ V)
        return V - Q @ (Q.T @ V)


class ColumnSearch(ABC):
    """Forward search by a criterion of the residuals of the columns; iterate for (feature, criterion).

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Centered columns, or others with the same products and fewer rows.
    norm2 : ndarray of shape (n_columns,)
        Their squared norms; columns with zero are never chosen.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray) -> None:
        self.Z = Z
        self.norm2 = norm2
        self.precision = precision_of(Z)
        self.basis = Basis(Z.shape[0])
        self.residual_norm2 = np.where(norm2 > 0, norm2, -np.inf)  # -inf for chosen and redundant columns
        self._product_error = self.precision.product * np.sqrt(
            norm2
        )  # error of a product of a column with a unit vector
        self._residual_norm2_error = self._product_error * np.sqrt(norm2)

    @abstractmethod
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bound on the criterion of each column, given the rounding errors."""

    @abstractmethod
    def _exact_criterion(self, columns: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """The criterion of some columns, from their residuals."""

    @abstractmethod
    def _downdate(self, q: np.ndarray) -> None:
        """Project a chosen direction out of the recurrences of all columns: one pass over the table."""

    def __iter__(self) -> Iterator[tuple[int, float]]:
        while (choice := self._choose()) is not None:
            feature, q, criterion = choice
            self.basis.append(q)
            self._downdate(q)
            self.residual_norm2[feature] = -np.inf
            yield feature, criterion

    def _choose(self) -> tuple[int, np.ndarray, float] | None:
        """The best column, its direction and its criterion; None if all are chosen or redundant."""
        while True:
            remaining = self.residual_norm2 > self.precision.redundant * self.norm2
            self.residual_norm2[~remaining] = -np.inf
            if not remaining.any():
                return None
            low, high = self._bounds()
            near = np.flatnonzero(remaining & (high >= (1 - self.precision.tie) * low[remaining].max()))
            if not near.size:  # squares of what remains are lost beside those of the largest columns
                return None
            criteria = self._recompute(near)
            if criteria.max() > -np.inf:
                place = first_largest(criteria, self.precision.tie)
                feature = int(near[place])
                residual = self.basis.residual(self.Z[:, feature].astype(float))
                return feature, residual / np.linalg.norm(residual), float(criteria[place])

    def _recompute(self, columns: np.ndarray) -> np.ndarray:
        """The criterion of some columns from the columns themselves; -inf for those that prove redundant."""
        criteria = np.empty(columns.size)
        for place in column_blocks(self.Z.shape[0], columns.size):
            some = columns[place]
            residuals = self.basis.residual(self.Z[:, some].astype(float))
            self.residual_norm2[some] = np.einsum("ij,ij->j", residuals, residuals)
            self._residual_norm2_error[some] = self._product_error[some] * np.sqrt(self.residual_norm2[some])
            criteria[place] = self._exact_criterion(some, residuals)
        redundant = self.residual_norm2[columns] <= self.precision.redundant * self.norm2[columns]
        self.residual_norm2[columns[redundant]] = -np.inf
        return np.where(redundant, -np.inf, criteria)

    def _downdate_norms(self, t: np.ndarray) -> None:
        """Downdate the squared norms by ``t = Z' q``."""
        self.residual_norm2 -= t * t
        self._residual_norm2_error += (2 * np.abs(t) + self._product_error) * self._product_error

    def _dot(self, V: np.ndarray) -> np.ndarray:
        """``V' Z`` in the table's own precision; a double ``V`` would make a single-precision table double."""
        return (V.T.astype(self.Z.dtype, copy=False) @ self.Z).astype(float, copy=False)


class ReconstructionSearch(ColumnSearch):
    """Greedy reconstruction: the criterion is the variance of all columns that one explains beyond earlier ones."""

    def __init__(self, Z: np.ndarray, norm2: np.ndarray) -> None:
        super().__init__(Z, norm2)
        self.K = gram_of_rows(self.Z)
        self.num = quadratic_forms(self.Z, self.K)
        self._num_error = self.precision.product * self.num
        self._form_error = self.precision.product * float(np.linalg.norm(self.K))  # of q' K q, however small it is

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        floor = self.precision.redundant * self.norm2
        with np.errstate(divide="ignore", invalid="ignore"):  # chosen and redundant columns
            low = (self.num - self._num_error) / (self.residual_norm2 + self._residual_norm2_error)
            high = (self.num + self._num_error) / np.maximum(self.residual_norm2 - self._residual_norm2_error, floor)
        return low - self._form_error, high + self._form_error

    def _exact_criterion(self, columns: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        norm2 = self.residual_norm2[columns]
        # rounding of K may hide that a column explains at least its own residual
        forms = np.maximum(np.einsum("ij,ij->j", self.K @ residuals, residuals), norm2**2)
        criteria = np.divide(forms, norm2, out=np.zeros(columns.size), where=norm2 > 0)
        self.num[columns] = forms
        self._num_error[columns] = criteria * self._residual_norm2_error[columns]
        return criteria

    def _downdate(self, q: np.ndarray) -> None:
        Kq = self.K @ q
        half = Kq - 0.5 * (q @ Kq) * q
        # K is deflated as well, to P K P, so that residual forms do not cancel against what chosen columns explain
        self.K -= np.column_stack([q, half]) @ np.vstack([half, q])
        PKq = self.basis.residual(Kq)
        t, w = self._dot(np.column_stack([q, PKq]))
        gain = t @ t
        self.num -= t * (2 * w + gain * t)
        # first-order error propagation, |d num / dt| and |d num / dw| times the errors of t and w, and the products
        by_t, by_w = 2 * np.abs(w) + 2 * gain * np.abs(t), 2 * np.abs(t) * np.linalg.norm(PKq)
        self._num_error += (by_t + by_w + (gain + np.linalg.norm(PKq)) * self._product_error) * self._product_error
        self._downdate_norms(t)


class PivotedSearch(ColumnSearch):
    """Pivoted QR: the criterion is the squared norm of the residual of a column.

    Parameters
    ----------
    Z, norm2 : as for every search
    first : int or None
        First column, where all have the same norm.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray, *, first: int | None = None) -> None:
        super().__init__(Z, norm2)
        self._first = first

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return self.residual_norm2 - self._residual_norm2_error, self.residual_norm2 + self._residual_norm2_error

    def _choose(self) -> tuple[int, np.ndarray, float] | None:
        if self._first is None or self.basis.size:
            return super()._choose()
        z = self.Z[:, self._first].astype(float)
        return self._first, z / np.linalg.norm(z), float(self.norm2[self._first])

    def _exact_criterion(self, columns: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        return self.residual_norm2[columns].copy()

    def _downdate(self, q: np.ndarray) -> None:
        self._downdate_norms(self._dot(q[:, None])[0])
