"""The best split of every column: what one threshold tells of the target.

Columns come as whole numbers, the ranks of their values, and rows are summed per value: every threshold of every column
is judged at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.sparse_indices import with_short_indices

Criteria = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

EQUAL_GAIN = 1e-12  # shares of rows and information in nats that differ by no more are equal, up to rounding

_ENTRIES = 2**22  # of a table that are sorted at a time


def rank_values(X: Any, *, on_block: Callable[[], object] | None = None) -> Any:
    """Every column by the ranks of its distinct values, in single precision.

    Dense columns count from zero. Sparse ones keep their zeros: positive values are 1, 2, ... and negative ones -1, -2,
    ... away from zero. Either way the order of the values is kept, and nothing else of them. Missing values stay NaN.
    ``on_block`` is called between blocks of columns of a dense table.
    """
    if sparse.issparse(X):
        return _rank_stored(X)
    codes = np.empty(X.shape, dtype=np.float32, order="F")
    for block in blocks(X.shape[1], _ENTRIES // X.shape[0]):
        if on_block is not None and block.start > 0:
            on_block()
        part = np.asarray(X[:, block])
        order = np.argsort(part, axis=0, kind="stable")
        values = np.take_along_axis(part, order, axis=0)
        level = np.zeros(part.shape, dtype=np.float32)
        np.cumsum(values[1:] != values[:-1], axis=0, out=level[1:], dtype=np.float32)
        if np.isnan(values[-1]).any():  # missing values come last, and each of them counts as another one
            level[np.isnan(values)] = np.nan
        np.put_along_axis(codes[:, block], order, level, axis=0)
    return codes


def _rank_stored(X: Any) -> sparse.csc_array:
    X = sparse.csc_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    order = np.lexsort((X.data, column))
    column, values = column[order], X.data[order]
    is_new = np.ones(values.size, dtype=bool)
    is_new[1:] = (values[1:] != values[:-1]) | (column[1:] != column[:-1])
    n_levels = np.bincount(column, weights=is_new, minlength=X.shape[1])
    n_negative = np.bincount(column, weights=is_new & (values < 0), minlength=X.shape[1])
    at_zero = np.cumsum(n_levels) - n_levels + n_negative
    level = np.cumsum(is_new) - at_zero[column]
    codes = np.empty(values.size, dtype=np.float32)
    codes[order] = np.where(values < 0, level - 1, level)
    return with_short_indices(sparse.csc_array((codes, X.indices, X.indptr), shape=X.shape))


def value_range(codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of every column, of those that are available."""
    if not sparse.issparse(codes):
        return np.fmin.reduce(codes, axis=0), np.fmax.reduce(codes, axis=0)
    lowest, highest = (np.asarray(extreme.toarray()).reshape(-1) for extreme in (codes.min(axis=0), codes.max(axis=0)))
    return lowest, highest


def missing_on_either_side(codes: Any) -> list[Any]:
    """Codes with missing values below all others, and with missing values above: a split may send them to either side.

    The codes as they are where none is missing.
    """
    if not has_missing(codes):
        return [codes]
    missing = np.isnan(codes)
    return [np.where(missing, np.float32(value), codes) for value in (-1, len(codes))]


def split_information(
    codes: Any, labels: np.ndarray, min_samples_leaf: int = 1, weight: np.ndarray | None = None
) -> np.ndarray:
    """Mutual information, in nats, of the classes and the best split of every column.

    Parameters
    ----------
    codes : table of shape (n_samples, n_columns)
        As :func:`rank_values` gives it.
    labels : ndarray of shape (n_samples,)
        Class codes from 0.
    min_samples_leaf : int
        Rows that each side of a split has to hold, at least 1.
    weight : ndarray of shape (n_samples,) or None
        How often each row counts.

    Returns
    -------
    ndarray of shape (n_columns,)
        NaN where no split is allowed.

    Notes
    -----
    Counts per distinct value, cumulated along each column: no loop over columns or thresholds, and for sparse tables no
    more work than what is stored.
    """
    left, right, start = _sides(codes, _indicators(labels, weight))
    return _best(_information(left, right), left.sum(axis=1), right.sum(axis=1), start, min_samples_leaf)


def split_errors(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of the rows that a split classifies right and no split does not, and its mutual information.

    The most frequent class is predicted, on either side or everywhere. Arguments are the numbers of rows of each class
    on either side, one row per split.
    """
    n_rows = left[0].sum() + right[0].sum()
    return (left.max(axis=1) + right.max(axis=1) - (left + right).max(axis=1)) / n_rows, _information(left, right)


def gain_ratios(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mutual information of a split, and its ratio to the entropy of the sides (C4.5); as :func:`split_errors`.

    The threshold of a column is that of the largest mutual information, not of the largest ratio, which would favor
    those that set a few rows apart (Quinlan 1996).
    """
    gain, n_left, n_right = _information(left, right), left.sum(axis=1), right.sum(axis=1)
    shares = np.stack([n_left, n_right]) / (n_left + n_right)
    entropy = -xlogy(shares, shares).sum(axis=0)
    return gain, np.divide(gain, entropy, out=np.zeros(gain.size), where=entropy > 0)


def best_splits(
    codes: Any, labels: np.ndarray, criteria: Criteria, min_samples_leaf: int = 1, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The first criterion of the best split of every column, and the second one of that split.

    As :func:`split_information`. Of splits that are equal by the first criterion the second decides.
    """
    left, right, start = _sides(codes, _indicators(labels, weight))
    first, second = criteria(left, right)
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    best = _best(first, n_left, n_right, start, min_samples_leaf)
    reaches_it = first >= np.repeat(best, np.diff(start, append=first.size)) - EQUAL_GAIN
    return best, _best(np.where(reaches_it, second, -np.inf), n_left, n_right, start, min_samples_leaf)


def best_splits_either_side(
    codes: Any, labels: np.ndarray, criteria: Criteria, min_samples_leaf: int = 1, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`best_splits`, with missing values on the better side of the split."""
    sides = missing_on_either_side(codes)
    first, second = best_splits(sides[0], labels, criteria, min_samples_leaf, weight)
    for side in sides[1:]:
        other_first, other_second = best_splits(side, labels, criteria, min_samples_leaf, weight)
        is_equal = np.abs(other_first - first) <= EQUAL_GAIN
        better = np.where(is_equal, other_second > second + EQUAL_GAIN, other_first > first) | np.isnan(first)
        first, second = np.where(better, other_first, first), np.where(better, other_second, second)
    return first, second


def best_threshold(
    codes: np.ndarray,
    labels: np.ndarray,
    criteria: Criteria,
    min_samples_leaf: int = 1,
    weight: np.ndarray | None = None,
) -> int:
    """The value of a column at or below which rows are on the lower side of its best split, the lowest of equal ones.

    ``codes`` is one column of ranks from 0, of shape (n_samples, 1), some split of which is allowed.
    """
    left, right, _ = _sides(codes, _indicators(labels, weight))
    first, second = criteria(left, right)
    allowed = (left.sum(axis=1) >= min_samples_leaf) & (right.sum(axis=1) >= min_samples_leaf)
    allowed &= first >= first[allowed].max() - EQUAL_GAIN
    return int((allowed & (second >= second[allowed].max() - EQUAL_GAIN)).argmax())


def split_variance(
    codes: Any, quantity: np.ndarray, min_samples_leaf: int = 1, weight: np.ndarray | None = None
) -> np.ndarray:
    """Share of the variance of a quantity that the best split of every column explains.

    As :func:`split_information`; exact, and so the same for all columns that divide the rows alike, if the quantity and
    the weights come in whole numbers.
    """
    weight = np.ones(quantity.size) if weight is None else weight
    left, right, start = _sides(codes, np.column_stack([weight, weight * quantity]))
    n_left, n_right = left[:, 0], right[:, 0]
    between = left[:, 1] ** 2 / np.where(n_left > 0, n_left, 1) + right[:, 1] ** 2 / np.where(n_right > 0, n_right, 1)
    mean = np.average(quantity, weights=weight)
    variance = np.average((quantity - mean) ** 2, weights=weight)
    return _best((between / weight.sum() - mean**2) / variance, n_left, n_right, start, min_samples_leaf)


def _indicators(labels: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """One column per class, with how often each row counts."""
    return (labels[:, None] == np.arange(labels.max() + 1)) * (1.0 if weight is None else weight[:, None])


def _information(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Mutual information of sides and classes, from the number of rows of each class on either side."""
    n_left, n_right, of_class = left.sum(axis=1), right.sum(axis=1), left[0] + right[0]
    # n H(y | side) = n_side log n_side - sum_c n_side,c log n_side,c
    conditional = xlogy(n_left, n_left) - xlogy(left, left).sum(axis=1)
    conditional += xlogy(n_right, n_right) - xlogy(right, right).sum(axis=1)
    share = of_class / of_class.sum()
    return -xlogy(share, share).sum() - conditional / of_class.sum()


def _best(
    gain: np.ndarray, n_left: np.ndarray, n_right: np.ndarray, start: np.ndarray, min_samples_leaf: int
) -> np.ndarray:
    allowed = (n_left >= min_samples_leaf) & (n_right >= min_samples_leaf)
    best = np.maximum.reduceat(np.where(allowed, gain, -np.inf), start)
    return np.where(np.isfinite(best), np.maximum(best, 0.0), np.nan)


def _sides(codes: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of the weights on either side of a threshold above every value, and where each column's values start."""
    sums, start = _sums_per_value(codes, weights)
    left = np.cumsum(sums, axis=0)
    before = np.vstack([np.zeros(weights.shape[1]), left])[start]
    left -= np.repeat(before, np.diff(start, append=len(sums)), axis=0)
    return left, weights.sum(axis=0) - left, start


def _sums_per_value(codes: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the weights over the rows that share a value: one row per value of every column, columns in turn."""
    lowest, highest = (extreme.astype(np.int64) for extreme in value_range(codes))
    is_sparse = sparse.issparse(codes)
    if is_sparse:  # zero has a place of its own, even where no row has it: the sums there are none
        lowest, highest = np.minimum(lowest, 0), np.maximum(highest, 0)
    width = highest - lowest + 1
    start = np.cumsum(width) - width
    if is_sparse:
        column, row = np.repeat(np.arange(codes.shape[1]), np.diff(codes.indptr)), codes.indices
        value = codes.data.astype(np.int64) + (start - lowest)[column]
    else:
        value = (codes.T.astype(np.int64) + (start - lowest)[:, None]).reshape(-1)  # column after column
        row = np.tile(np.arange(codes.shape[0]), codes.shape[1])
    sums = np.empty((int(width.sum()), weights.shape[1]))
    for target, weight in enumerate(weights.T):
        sums[:, target] = np.bincount(value, weights=weight[row], minlength=len(sums))
        if is_sparse:
            stored = np.bincount(column, weights=weight[row], minlength=codes.shape[1])
            sums[start - lowest, target] = weight.sum() - stored
    return sums, start
