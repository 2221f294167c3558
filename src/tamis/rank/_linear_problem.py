"""A linear model to be learned: columns and target in units of size one, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from tamis.base import Candidates, LinearModel
from tamis.engine import CompressedColumns
from tamis.kernels.arrays.columns import Columns, as_columns
from tamis.kernels.arrays.copies import later_copies
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents
from tamis.kernels.arrays.targets import class_weights, encode_target


@dataclass(frozen=True)
class LinearProblem:
    """Columns, targets and row weights of a linear model.

    Attributes
    ----------
    table : table
        In double precision, in units in which its squares can be summed; as it is where rows are compressed.
    columns : Columns
        Its columns, centered; their row weights include those of classes. Rows of a tall table may be compressed.
    scale : ndarray of shape (n_columns,)
        Factor of every column, zero where it is constant.
    Y : ndarray of shape (n_samples, n_targets)
        1 and -1, one target for two classes and one per class beyond; or a quantity of zero mean and unit variance.
    row_shares : ndarray of shape (n_samples,)
        Weights of the rows, which sum to one.
    classes : ndarray or None
    unit, center : float
        Of a quantity: weights have to be multiplied by the unit.
    exponents : ndarray or None
        Powers of two by which columns were divided.
    """

    table: Any
    columns: Columns
    scale: np.ndarray
    Y: np.ndarray
    row_shares: np.ndarray
    classes: np.ndarray | None
    unit: float
    center: float
    exponents: np.ndarray | None

    @classmethod
    def pose(
        cls,
        candidates: Candidates,
        y: np.ndarray,
        *,
        task: str,
        class_weight: Any,
        standardize: bool,
        has_squared_loss: Callable[[np.ndarray | None], bool] = lambda classes: False,
    ) -> LinearProblem:
        """From a validated table and its target.

        Parameters
        ----------
        candidates : Candidates
        y : ndarray of shape (n_samples,)
        task : str
        class_weight : dict, "balanced" or None
        standardize : bool
        has_squared_loss : callable
            Whether the loss is squared, given the classes: rows of a tall table are then compressed.
        """
        target = encode_target(y, task)
        row_weight = candidates.sample_weight
        if target.classes is not None and class_weight is not None:
            rows = np.ones(len(y)) if row_weight is None else row_weight
            codes = np.searchsorted(target.classes, y)
            row_weight = rows * class_weights(class_weight, target.classes, codes, rows)[codes]
        elif class_weight is not None:
            raise ValueError("class_weight is for classes, but y holds quantities; use sample_weight")
        if target.classes is not None:
            Y = target.values if target.values.shape[1] == 1 else 2.0 * target.values - 1.0
            center, unit = 0.0, 1.0
            shares = _row_shares(row_weight, len(Y))
        else:
            shares = _row_shares(row_weight, len(y))
            Y, center, unit = _standardized(target.values, shares)
        columns: Columns | None = None
        exponents, table = None, candidates.table
        if has_squared_loss(target.classes):
            columns = candidates.compressed_rows(Y, sample_weight=row_weight, dtype=float)
        if columns is None and candidates.in_blocks:
            raise ValueError(
                "this loss needs all rows in memory, and X is read in blocks: use loss='squared', or Lasso"
            )
        if columns is None:
            exponents = overflow_exponents(candidates.table) if standardize else None
            table = ldexp_columns(candidates.table, exponents).astype(float, copy=False)
            columns = as_columns(table, row_weight)
        return cls(table, columns, _scale_of(columns, standardize), Y, shares, target.classes, unit, center, exponents)

    @property
    def targets(self) -> np.ndarray:
        """``Y`` in the rows of ``columns``: where these are compressed, centered and compressed too."""
        return self.columns.targets if isinstance(self.columns, CompressedColumns) else self.Y

    def on_rows(self, columns: CompressedColumns, *, standardize: bool) -> LinearProblem:
        """The same problem on some of its rows, compressed beside their targets."""
        return replace(self, columns=columns, scale=_scale_of(columns, standardize))

    def without_table(self) -> LinearProblem:
        """The same but for table and columns, for tasks that make their own: workers are sent the targets alone."""
        return replace(self, table=None, columns=cast(Any, None))

    def without_copies(self) -> LinearProblem:
        """The same with factor zero for copies of an earlier column, be it in other units: the first has all weight."""
        scale = self.scale.copy()
        scale[later_copies(self.columns, self.scale)] = 0.0
        return replace(self, scale=scale)

    def kept_scale(self, kept: np.ndarray) -> np.ndarray:
        """The factor of every column, zero but for those that are kept."""
        scale = np.zeros_like(self.scale)
        scale[kept] = self.scale[kept]
        return scale

    def constant_model(self, features: np.ndarray) -> LinearModel:
        """The model without weights: the mean targets."""
        mean = self.row_shares @ self.Y - self._compressed_mean()
        return self.model(features, np.zeros((features.size, self.Y.shape[1])), mean)

    def model(self, features: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> LinearModel:
        """The model of the table as it is, from weights of centered and scaled columns.

        Parameters
        ----------
        features : ndarray of shape (k,)
        weights : ndarray of shape (k, n_targets)
        intercept : ndarray of shape (n_targets,)
            Beside the mean of the targets, where compression took that out.
        """
        coef = weights * self.scale[features, None] * self.unit
        intercept = intercept + self._compressed_mean()
        intercept = self.center + self.unit * intercept - self.columns.means(features) @ coef
        if self.exponents is not None:
            with np.errstate(over="ignore"):
                coef = np.ldexp(coef, -self.exponents[features, None])
        return LinearModel(features, coef, intercept, self.classes)

    def _compressed_mean(self) -> np.ndarray:
        """Means of the targets that compression took out; zero in rows."""
        return self.columns.target_mean if isinstance(self.columns, CompressedColumns) else np.zeros(self.Y.shape[1])


def _scale_of(columns: Columns, standardize: bool) -> np.ndarray:
    """Factor of every column: zero where it is constant, else one, or one over its standard deviation."""
    norm2, varies = columns.norm2, columns.norm2 > 0
    if not standardize:
        return varies.astype(float)
    return np.sqrt(np.divide(columns.total, norm2, out=np.zeros_like(norm2), where=varies))


def _row_shares(weight: np.ndarray | None, n_rows: int) -> np.ndarray:
    return np.full(n_rows, 1.0 / n_rows) if weight is None else weight / weight.sum()


def _standardized(values: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, float, float]:
    """A quantity at zero mean and unit variance, as the rows are weighted; its mean and unit."""
    size = float(np.abs(values).max())  # first, so that squares of very large or small numbers do not overflow
    values = values / size
    mean = float(share @ values[:, 0])
    values = values - mean
    spread = max(float(np.sqrt(share @ values[:, 0] ** 2)), np.finfo(float).tiny)
    return values / spread, mean * size, spread * size
