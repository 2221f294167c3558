"""Mean and scatter of every column of a table on an accelerator, in one pass over it and in its own precision.

A table in single precision would have to be copied to be summed in double. Instead blocks of some hundred rows are
summed as they are, and the moments of the blocks are merged in double precision (Chan, Golub and LeVeque 1983),

    n m = sum_b n_b m_b,    s = sum_b s_b + sum_b n_b (m_b - m)^2.

Deviations are taken from the mean of their own block, so that a large mean costs no digits of the scatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis._sklearn import get_namespace_and_device, max_precision_float_dtype
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.tolerances import Tolerance
from tamis.kernels.arrays.transfer import from_numpy, to_numpy

Array = Any  # an array of any Array-API namespace

# Relative error of a mean: of those of blocks, of single precision, the errors hardly add.
MEAN_ERROR = Tolerance(1e-12, 1e-7)

_HEIGHT = 256  # rows of a block: sums of so many lose a digit at most, and their moments are few beside the table
_PART = 2**28  # entries that are looked at, or gathered, at a time
_COPIED = 2**26  # entries that are copied in double precision at a time
# Variance beyond which squares of single-precision numbers, or their sums, are lost: they reach from 1e-38 to 1e38.
_SAFE_VARIANCE = 1e-30, 1e30
# Share of the squares of a column that deviations from the mean must have: with less, the mean of single precision is
# off by more than a few millionths of a standard deviation.
_LEAST_SHARE = 1e-4


def column_moments(X: Array, rows: np.ndarray | None = None) -> tuple[Array, Array]:
    """Mean and sum of squared deviations of every column, in double precision.

    Parameters
    ----------
    X : array of any namespace of shape (n_samples, n_columns)
    rows : ndarray of integers, default=None
        Rows to look at; None for all of them.

    Returns
    -------
    mean, scatter : arrays of shape (n_columns,)
        On the device of ``X``. The scatter of a constant column is zero but for rounding.
    """
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    counts: list[int] = []
    means, scatters = [], []
    for block in _stacked_blocks(xp, X, None if rows is None else from_numpy(rows, xp, device)):
        mean, variance = _mean_and_variance(xp, block)
        counts += [block.shape[1]] * block.shape[0]
        means.append(xp.astype(mean, accumulator, copy=False))
        scatters.append(xp.astype(variance, accumulator, copy=False) * block.shape[1])
    count = xp.asarray(counts, dtype=accumulator, device=device)
    n_rows = sum(counts)
    every = means[0] if len(means) == 1 else xp.concat(means)
    mean = count @ every / n_rows
    scatter = sum(xp.sum(each, axis=0) for each in scatters) + count @ (every - mean) ** 2
    if X.dtype == accumulator:
        return mean, scatter
    least, most = (bound * n_rows for bound in _SAFE_VARIANCE)
    is_kept = (scatter > least) & (scatter < most) & (scatter > _LEAST_SHARE * n_rows * mean**2)
    lost = np.flatnonzero(to_numpy(~is_kept))
    return _replaced(X, rows, lost, mean, scatter) if lost.size else (mean, scatter)


def _stacked_blocks(xp: Any, X: Array, rows: Array | None) -> Iterator[Array]:
    """Blocks of rows as the first axis of an array of three, and then what remains, as one block that is lower."""
    n_rows = X.shape[0] if rows is None else rows.shape[0]
    height = max(_HEIGHT, _PART // max(X.shape[1], 1) // _HEIGHT * _HEIGHT)
    for some in blocks(n_rows, height):
        part = X[some, :] if rows is None else xp.take(X, rows[some], axis=0)
        n_whole = part.shape[0] // _HEIGHT
        if n_whole:
            yield xp.reshape(part[: n_whole * _HEIGHT, :], (n_whole, _HEIGHT, X.shape[1]))
        if part.shape[0] % _HEIGHT:
            yield part[n_whole * _HEIGHT :, :][None, :, :]


def _mean_and_variance(xp: Any, block: Array) -> tuple[Array, Array]:
    """Of every column of every block; at once where the namespace can."""
    if hasattr(xp, "var_mean"):
        variance, mean = xp.var_mean(block, dim=1, correction=0)
        return mean, variance
    with np.errstate(over="ignore", invalid="ignore"):  # such columns are looked at again
        mean = xp.mean(block, axis=1)
        # some sum one after another, with errors that add where values are alike: the second pass takes them out
        deviation = block - mean[:, None, :]
        mean, scatter = mean + xp.mean(deviation, axis=1), deviation * deviation
        return mean, xp.mean(scatter, axis=1) - xp.mean(deviation, axis=1) ** 2


def _replaced(X: Array, rows: np.ndarray | None, lost: np.ndarray, mean: Array, scatter: Array) -> tuple[Array, Array]:
    """The same with those of some columns from their entries in double precision, for which there is room."""
    xp, _, device = get_namespace_and_device(X)
    n_columns, n_rows = X.shape[1], X.shape[0] if rows is None else rows.size
    means, scatters = [mean], [scatter]
    for some in blocks(lost.size, _COPIED // n_rows):
        entries = xp.take(X, from_numpy(lost[some], xp, device), axis=1)
        entries = entries if rows is None else xp.take(entries, from_numpy(rows, xp, device), axis=0)
        entries = xp.astype(entries, mean.dtype)
        center = xp.mean(entries, axis=0)
        means.append(center)
        scatters.append(xp.sum((entries - center) ** 2, axis=0))
    place = np.arange(n_columns)
    place[lost] = n_columns + np.arange(lost.size)
    index = from_numpy(place, xp, device)
    return xp.take(xp.concat(means), index), xp.take(xp.concat(scatters), index)
