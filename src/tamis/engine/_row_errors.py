"""What only rows tell of a least-squares path: leave-one-out errors, and the shape of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.kernels.arrays.tolerances import FULL_LEVERAGE

_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class Errors:
    """Of the model after each direction, over all rows.

    Attributes
    ----------
    press : ndarray of shape (n_directions,)
        Sum of squared leave-one-out errors; infinite where a row is predicted by itself alone.
    moments : ndarray of shape (n_directions, 3, n_targets)
        Weighted means of the residuals' second, third and fourth powers, in units of the target's standard deviation.
    """

    press: np.ndarray
    moments: np.ndarray


def shape_of(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Skewness and excess kurtosis of every target; zero where nothing is left of it."""
    second = np.where(moments[0] > 0, moments[0], 1.0)
    return moments[1] / second**1.5, np.where(moments[0] > 0, moments[2] / second**2 - 3.0, 0.0)


class RowErrors:
    """Residuals and leverages of all rows, updated by directions of a path.

    The leave-one-out error of a row is its residual divided by one minus its leverage.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_columns)
    mean : ndarray of shape (n_columns,)
        What is subtracted from the columns.
    values : ndarray of shape (n_samples, n_targets)
    sample_weight : ndarray of shape (n_samples,) or None
    fit_intercept : bool

    Attributes
    ----------
    moments : ndarray of shape (3, n_targets)
        As :class:`Errors` has them, of the residuals now.
    null_press : float
        Sum of squared leave-one-out errors without any column.
    """

    def __init__(
        self,
        table: np.ndarray,
        mean: np.ndarray,
        values: np.ndarray,
        sample_weight: np.ndarray | None,
        *,
        fit_intercept: bool,
    ) -> None:
        self._table, self._mean = table, mean
        weight = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self._sqrt_weight = np.sqrt(weight)
        self._has_unit_weights = bool(np.all(weight == 1.0))
        self._total = float(weight.sum())
        center = weight @ values / self._total if fit_intercept else np.zeros(values.shape[1])
        self._residual = self._sqrt_weight[:, None] * (values - center)
        size = np.sqrt(np.einsum("ij,ij->j", self._residual, self._residual) / self._total)
        self._unit = np.where(size > 0, size, 1.0)  # of the targets: powers of residuals in it cannot overflow
        self._residual /= self._unit
        self._leverage = weight / self._total if fit_intercept else np.zeros(len(table))
        factor = 1.0 - self._leverage
        self.null_press = float(np.sum((self._unit * self._residual / np.where(factor > 0, factor, 1.0)[:, None]) ** 2))
        self._columns: list[int] = []
        self._triangle = np.zeros((0, 0))  # loadings of the columns so far on the directions
        self.moments = np.sum(
            [self._powers(rows, self._residual[rows].T) for rows in blocks(len(table), _BLOCK_ROWS)],
            axis=0,
        )

    def add(
        self,
        columns: Sequence[int],
        loadings: Sequence[np.ndarray],
        projections: np.ndarray,
        *,
        with_shape: bool = True,
    ) -> Errors:
        """Errors after each of some further directions.

        Parameters
        ----------
        columns : sequence of int
            Column of the table that each direction comes from.
        loadings : sequence of ndarray
            Coordinates of the column on all directions up to its own.
        projections : ndarray of shape (n_directions, n_targets)
            Products of the directions with the targets.
        with_shape : bool, default=True
            Whether moments of the residuals are computed; else they are zero.
        """
        n_before, n_new = len(self._columns), len(columns)
        self._columns += list(columns)
        triangle = np.zeros((n_before + n_new, n_before + n_new))
        triangle[:n_before, :n_before] = self._triangle
        for place, loading in enumerate(loadings, start=n_before):
            triangle[: loading.size, place] = loading
        self._triangle = triangle
        new = np.eye(n_before + n_new)[:, n_before:]
        coefficients = solve_triangular(triangle, new)  # directions as combinations of columns

        def errors_in(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            return self._errors_in(rows, coefficients, projections / self._unit, with_shape)

        parts = list(map_in_threads(errors_in, list(blocks(len(self._table), _BLOCK_ROWS))))
        moments = np.sum([power for _, power in parts], axis=0)
        self.moments = moments[-1]
        return Errors(np.sum([press for press, _ in parts], axis=0), moments)

    def _powers(self, rows: slice, residual: np.ndarray) -> np.ndarray:
        """Weighted means over some rows of powers of residuals, of shape (n_targets, n_rows)."""
        if self._has_unit_weights:
            square = residual * residual
            third, fourth = (np.einsum("ij,ij->i", square, factor) for factor in (residual, square))
            return np.stack([square.sum(axis=1), third, fourth]) / self._total
        root = self._sqrt_weight[rows]
        weight = root**2 / self._total
        plain = residual / np.where(root > 0, root, 1.0)
        square = plain * plain
        return np.stack([square @ weight, (square * plain) @ weight, (square * square) @ weight])

    def _errors_in(
        self, rows: slice, coefficients: np.ndarray, projections: np.ndarray, with_shape: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """One direction after another, on rows few enough that their vectors stay in a cache."""
        Z = np.take(self._table[rows], self._columns, axis=1)
        Z -= self._mean[self._columns]
        Q = np.ascontiguousarray((Z @ coefficients).T)
        if not self._has_unit_weights:
            Q *= self._sqrt_weight[rows]
        factor, residual = 1.0 - self._leverage[rows], np.ascontiguousarray(self._residual[rows].T)
        press, moments, work = np.zeros(len(Q)), np.zeros((len(Q), *self.moments.shape)), np.empty(Q.shape[1])
        for place, (q, projection) in enumerate(zip(Q, projections, strict=True)):
            factor -= np.multiply(q, q, out=work)
            for target, part in enumerate(projection):
                residual[target] -= np.multiply(q, part, out=work)
                with np.errstate(divide="ignore", invalid="ignore"):  # a row that only itself predicts: see below
                    np.divide(residual[target], factor, out=work)
                press[place] += self._unit[target] ** 2 * float(work @ work)
            if with_shape:
                moments[place] = self._powers(rows, residual)
        # leverages only grow, so that a look at the last ones tells
        if factor.min(initial=1.0) <= FULL_LEVERAGE:
            leverage = self._leverage[rows] + np.cumsum(Q * Q, axis=0)
            press[(leverage >= 1.0 - FULL_LEVERAGE).any(axis=1)] = np.inf
        self._leverage[rows] = 1.0 - factor
        self._residual[rows] = residual.T
        return press, moments
