"""Units in which scikit-learn's trees lose nothing of a table or of a quantity.

Its trees read columns in single precision, take values of a column that differ by at most 1e-7 for equal, and split no
node whose impurity is below 2.2e-16, a variance in the squared unit of the quantity: epoch seconds (1.7e9 and more),
farads (1e-9) or a quantity around 1e-9 are constants to them. No increasing affine map of a column or of a quantity
changes a tree otherwise, so one that keeps every digit can be applied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.scaling import column_range, ldexp_columns

# Values of which the largest is so many times as large as their range lose ten bits of the 24 of single precision, and
# twice as many where a variance is a difference of squares.
_OFFSET = 2.0**10
# Binary exponents of the largest value of a column between which single precision has room, and 1e-7 is less than a
# thousandth of a column's values.
_EXPONENTS = (-13, 127)
_MIDDLE = 20  # the exponent that other columns are given: steps of single precision are then far above 1e-7
_SMALLEST_GAP = 1e-7  # of two values that scikit-learn's trees tell apart
_SMALLEST_IMPURITY = float(np.finfo(float).eps)  # of a node that they split, and the rounding of larger variances
# A column is lost of which trees tell fewer values apart than the bins of a histogram of boosted trees, and than most
# of its own.
_ENOUGH, _KEPT_SHARE = 256, 0.9


def in_tree_units(X: Any) -> Any:
    """Columns without an offset that hides their range, at a size that trees can read; the table itself if all are so.

    Sparse tables stay sparse, and their columns keep an offset: a column with a zero has none that counts.
    """
    low, high = column_range(X)
    if not sparse.issparse(X):
        offset = np.where(_hides_range(low, high), low, 0.0)
        if offset.any():
            X, low, high = X - offset.astype(X.dtype), low - offset, high - offset  # of numbers so near, exact
    exponents = _tree_exponents(low, high)
    return ldexp_columns(X, exponents) if exponents.any() else X


def quantity_in_tree_units(y: np.ndarray) -> np.ndarray:
    """A quantity, or several in one unit, of size one: without an offset that hides its range."""
    y = np.asarray(y, dtype=float)
    low, high = y.min(axis=0), y.max(axis=0)
    y = y - np.where(_hides_range(low, high), low, 0.0)
    _, exponent = np.frexp(np.abs(y).max())
    half = -int(exponent) // 2  # in two steps: the power of a subnormal number is itself too large for one
    return np.ldexp(np.ldexp(y, half), -int(exponent) - half)


def columns_lost_to_trees(X: Any) -> np.ndarray:
    """Columns, ascending, of which single precision leaves next to nothing, or values that count as equal do."""
    low, high = column_range(X)
    suspects = np.flatnonzero((_tree_exponents(low, high) != 0) | _hides_range(low, high))
    return np.array([j for j in suspects.tolist() if _loses_values(X[:, [j]])], dtype=int)


def is_quantity_lost_to_trees(y: np.ndarray) -> bool:
    """Whether the variance of a quantity is near the smallest impurity that is split, or near rounding."""
    low, high = float(y.min()), float(y.max())
    spread, size = high - low, max(abs(low), abs(high))
    if low == high or not np.isfinite(spread):
        return False
    deviation = float(np.std((y - low) / spread)) * spread
    return bool(deviation <= np.sqrt(_SMALLEST_IMPURITY * _OFFSET) * max(1.0, size))


def _hides_range(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    size = np.maximum(np.abs(low), np.abs(high))
    return (size > 0) & (low < high) & (size / _OFFSET > high - low)


def _tree_exponents(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Powers of two by which columns have to be divided, zero for those that trees can read."""
    size = np.maximum(np.abs(low), np.abs(high))
    _, exponents = np.frexp(size)
    is_fine = (exponents >= _EXPONENTS[0]) & (exponents <= _EXPONENTS[1])
    return np.where(is_fine | (size == 0), 0, exponents - _MIDDLE)


def _loses_values(column: Any) -> bool:
    values = np.unique(column.toarray() if sparse.issparse(column) else column)
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        read = values.astype(np.float32)
    read = read[np.isfinite(read)].astype(float)
    n_read = np.count_nonzero(np.diff(read) > _SMALLEST_GAP) + 1 if read.size else 0
    return n_read < _KEPT_SHARE * min(values.size, _ENOUGH)
