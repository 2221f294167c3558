"""What only rows tell of a least-squares path: leave-one-out errors, and the shape of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from tamis.engine._row_blocks import ArrayBlocks, RowBlocks
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.tolerances import FULL_LEVERAGE

_CACHE_ROWS = 8192  # whose vectors stay in a cache while one direction after another is looked at


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
    """Errors in all rows of the models along a path, found a few directions at a time.

    The leave-one-out error of a row is its residual divided by one minus its leverage. Nothing is kept of single rows:
    a pass begins with the model of all directions before.

    Parameters
    ----------
    table : ndarray or RowBlocks of shape (n_samples, n_columns)
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
        table: np.ndarray | RowBlocks,
        mean: np.ndarray,
        values: np.ndarray,
        sample_weight: np.ndarray | None,
        *,
        fit_intercept: bool,
    ) -> None:
        self._table = ArrayBlocks(table) if isinstance(table, np.ndarray) else table
        self._mean, self._values, self._weight = mean, values, sample_weight
        self._total = float(len(values) if sample_weight is None else sample_weight.sum())
        self._fit_intercept = fit_intercept
        self._columns: list[int] = []
        self._triangle = np.zeros((0, 0))  # loadings of the columns so far on the directions
        self._projections = np.zeros((0, values.shape[1]))
        self._center = np.zeros(values.shape[1])
        if fit_intercept:
            self._center = np.average(values, axis=0, weights=sample_weight)
        self._unit = np.ones(values.shape[1])
        _, spread = self._at_start()
        # of the targets: powers of residuals in it cannot overflow
        self._unit = np.where(spread[0] > 0, np.sqrt(spread[0]), 1.0)
        self.null_press, self.moments = self._at_start()

    def _at_start(self) -> tuple[float, np.ndarray]:
        """Errors of the model without any column, which no column tells of."""
        nothing = ArrayBlocks(np.empty((len(self._values), 0)))
        press, moments = nothing.sum(self._task(0, with_shape=True), self._values, self._weight)
        return float(press[0]), moments[0]

    def _task(self, n_before: int, *, with_shape: bool) -> partial:
        """What is done in a block of rows for the directions after the first ``n_before``."""
        coefficients = solve_triangular(self._triangle, np.eye(len(self._columns)))  # directions from columns
        model = _PathModel(
            self._mean[self._columns],
            coefficients,
            self._projections / self._unit,
            self._center,
            self._unit,
            self._total,
            self._fit_intercept,
        )
        return partial(_errors_in_block, model, n_before, with_shape)

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
        self._projections = np.concatenate([self._projections, projections])
        press, moments = self._table.sum(
            self._task(n_before, with_shape=with_shape),
            self._values,
            self._weight,
            columns=np.array(self._columns),
            purpose="leave-one-out errors",
        )
        self.moments = moments[-1]
        return Errors(press[1:], moments[1:])


@dataclass(frozen=True)
class _PathModel:
    """The models along a path, for whoever looks at rows; targets in units of their standard deviation."""

    mean: np.ndarray
    coefficients: np.ndarray  # of the columns, one direction per column
    projections: np.ndarray
    center: np.ndarray
    unit: np.ndarray
    total: float
    fit_intercept: bool


def _errors_in_block(
    model: _PathModel,
    n_before: int,
    with_shape: bool,
    block: np.ndarray,
    values: np.ndarray,
    weight: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Squared leave-one-out errors and powers of residuals before and after each direction, summed over some rows."""
    n_models = len(model.projections) - n_before + 1
    press, moments = np.zeros(n_models), np.zeros((n_models, 3, values.shape[1]))
    for rows in blocks(len(values), _CACHE_ROWS):
        part = _errors_in_rows(
            model, n_before, with_shape, block[rows], values[rows], None if weight is None else weight[rows]
        )
        press += part[0]
        moments += part[1]
    return press, moments


def _errors_in_rows(
    model: _PathModel,
    n_before: int,
    with_shape: bool,
    columns: np.ndarray,
    values: np.ndarray,
    weight: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """One direction after another, on rows few enough that their vectors stay in a cache."""
    root = None if weight is None else np.sqrt(weight)
    residual = np.ascontiguousarray(((values - model.center) / model.unit).T)
    Q = np.ascontiguousarray(((columns - model.mean) @ model.coefficients).T)
    if root is not None:
        residual *= root
        Q *= root
    leverage = np.zeros(len(values))
    if model.fit_intercept:
        leverage += (1.0 if weight is None else weight) / model.total
    leverage += np.einsum("ij,ij->j", Q[:n_before], Q[:n_before])
    residual -= model.projections[:n_before].T @ Q[:n_before]
    later = Q[n_before:]
    press, moments = np.zeros(len(later) + 1), np.zeros((len(later) + 1, 3, len(residual)))
    factor, work = 1.0 - leverage, np.empty(len(values))
    for place in range(len(later) + 1):
        if place:
            q = later[place - 1]
            factor -= np.multiply(q, q, out=work)
            for target, part in enumerate(model.projections[n_before + place - 1]):
                residual[target] -= np.multiply(q, part, out=work)
        for target in range(len(residual)):
            with np.errstate(divide="ignore", invalid="ignore"):  # a row that only itself predicts: see below
                np.divide(residual[target], factor, out=work)
            press[place] += model.unit[target] ** 2 * float(work @ work)
        if with_shape:
            moments[place] = _powers_of_residuals(residual, root) / model.total
    # leverages only grow, so that a look at the last ones tells
    if factor.min(initial=1.0) <= FULL_LEVERAGE:
        every = leverage + np.concatenate([np.zeros((1, len(values))), np.cumsum(later * later, axis=0)])
        press[(every >= 1.0 - FULL_LEVERAGE).any(axis=1)] = np.inf
    return press, moments


def _powers_of_residuals(residual: np.ndarray, root: np.ndarray | None) -> np.ndarray:
    """Weighted sums of second, third and fourth powers of residuals, of shape (n_targets, n_rows)."""
    if root is None:
        square = residual * residual
        third, fourth = (np.einsum("ij,ij->i", square, factor) for factor in (residual, square))
        return np.stack([square.sum(axis=1), third, fourth])
    plain = residual / np.where(root > 0, root, 1.0)
    square, weight = plain * plain, root**2
    return np.stack([square @ weight, (square * plain) @ weight, (square * square) @ weight])
