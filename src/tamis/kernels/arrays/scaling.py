"""Preparing columns: zero mean, unit variance, and units in which squares can be summed.

For zero mean and unit variance there is one function, :func:`standardize_columns`, for every kind of table. The others
are its parts, and its variants for those who need more than the table:

- :func:`measure_columns`, :func:`standard_deviations`, :func:`varying_columns`: what it measures;
- :func:`center_varying`: dense tables, in double precision, without their constant columns;
- :func:`standardize_with_units`: dense tables, with the means and deviations in the units of the table;
- :func:`center_each_column`: dense tables, where a permutation of the columns must not change a single bit;
- :func:`center_columns`: dense tables in blocks, divided by the root of the number of rows: ``Z' Z`` is a covariance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tamis._sklearn import get_namespace, get_namespace_and_device, move_to
from tamis.kernels.arrays.blocks import column_blocks
from tamis.kernels.arrays.columns import Columns, as_columns, to_numpy
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.tolerances import CONSTANT

Array = Any  # an array of any Array-API namespace

_ROWS_LOOKED_AT = 1000  # for units, which all values of a column share

# Largest binary exponent of a column whose squares can be summed over any number of rows: squares of 2^300 reach 2^600
# of 2^1024 in double precision, those of 2^37 reach 2^74 of 2^128 in single precision; likewise for small numbers.
_SAFE_EXPONENT = {False: 300, True: 37}


def standardize_columns(X: Array, sample_weight: np.ndarray | None = None) -> Array:
    """Columns of zero mean and unit variance, whatever their units; constant ones are zero.

    Parameters
    ----------
    X : array of any namespace, or sparse table, of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None
        How often each row counts.

    Returns
    -------
    array or CSR matrix of shape (n_samples, n_features)
        Of the type of ``X``. Sparse tables keep their mean, which distances do not see: they would not stay sparse.
    """
    X = rescale_columns(X)
    columns = as_columns(X, sample_weight)
    scale = _inverse_deviations(columns)
    if sparse.issparse(X):
        return (X @ sparse.diags_array(scale.astype(X.dtype))).tocsr()
    xp, _, _ = get_namespace_and_device(X)
    center = columns.as_array(columns.means(np.arange(X.shape[1])))
    Z = X - xp.astype(center, X.dtype, copy=False)
    Z *= xp.astype(columns.as_array(scale), X.dtype, copy=False)
    return Z


def measure_columns(X: Array, sample_weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean of every column, and one over its standard deviation, zero where it is constant: for other rows to come."""
    exponents = overflow_exponents(X)
    columns = as_columns(ldexp_columns(X, exponents), sample_weight)
    means, scale = columns.means(np.arange(X.shape[1])), _inverse_deviations(columns)
    if exponents is None:
        return means, scale
    with np.errstate(over="ignore"):  # of the smallest numbers there are, which no factor makes one
        scale = np.ldexp(scale, -exponents)
    return np.ldexp(means, exponents), np.where(np.isfinite(scale), scale, 0.0)


def standard_deviations(X: Array, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Standard deviation of every column, exactly zero where it is constant."""
    columns = as_columns(X, sample_weight)
    return np.sqrt(to_numpy(columns.norm2) / columns.total)


def varying_columns(X: Array, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Indices, ascending, of the columns that are not constant up to rounding."""
    if may_lose_squares(X):
        X = rescale_columns(X)
    return np.flatnonzero(to_numpy(as_columns(X, sample_weight).norm2) > 0)


def _inverse_deviations(columns: Columns) -> np.ndarray:
    norm2 = to_numpy(columns.norm2)
    return np.sqrt(np.divide(columns.total, norm2, out=np.zeros_like(norm2), where=norm2 > 0))


def scale_columns(X: Array, deviations: np.ndarray) -> Array:
    """Divide the columns by numbers of which zero leaves a column as it is; sparse tables stay sparse."""
    divisor = np.where(deviations == 0, 1.0, deviations)
    if sparse.issparse(X):
        return sparse.csr_array(X @ sparse.diags_array(1.0 / divisor).astype(X.dtype))
    xp, _, device = get_namespace_and_device(X)
    return X / xp.astype(move_to(divisor, xp=xp, device=device), X.dtype)


def center_varying(X: Array, *, scale: bool) -> tuple[Array, np.ndarray]:
    """Dense columns that vary, centered, of unit variance if ``scale``, in double precision; and which of them vary."""
    columns = as_columns(X)
    norm2 = to_numpy(columns.norm2)
    varies = norm2 > 0
    Z = columns.columns(np.flatnonzero(varies))
    if scale:
        Z /= columns.as_array(np.sqrt(norm2[varies] / X.shape[0]))
    return Z, varies


class Standardized(NamedTuple):
    """A standardized table, and how to standardize other rows: ``(rows - mean) / scale``.

    Attributes
    ----------
    table : ndarray of shape (n_samples, n_features)
        Zero mean and unit variance, zero for constant columns; in double precision.
    mean, scale : ndarray of shape (n_features,)
        In the units of the table; the scale of constant columns is one.
    varies : ndarray of shape (n_features,)
        False for constant columns.
    """

    table: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    varies: np.ndarray


def standardize_with_units(X: np.ndarray, sample_weight: np.ndarray | None = None) -> Standardized:
    """Standardize a dense table; a permutation of its columns permutes the result, to the last bit."""
    exponents = overflow_exponents(X)
    Z, mean, norm = center_each_column(ldexp_columns(X, exponents), sample_weight)
    varies = norm > 0
    Z /= np.where(varies, norm, np.inf)[:, None]
    root = (len(X) if sample_weight is None else float(sample_weight.sum())) ** 0.5  # of the number of rows
    scale = np.where(varies, norm / root, 1.0)
    power = np.zeros(varies.size, dtype=int) if exponents is None else exponents
    return Standardized(Z.T * root, np.ldexp(mean, power), np.ldexp(scale, power), varies)


class CenteredColumns(NamedTuple):
    """Centered columns as the rows of a C-contiguous array, their means, and their norms, zero for constant ones."""

    rows: np.ndarray
    mean: np.ndarray
    norm: np.ndarray


def center_each_column(X: np.ndarray, sample_weight: np.ndarray | None = None) -> CenteredColumns:
    """Center dense columns, each by itself: what becomes of one does not depend, to the last bit, on the others.

    Sums run along the rows of the transposed table; matrix products, as in :func:`standardize_columns`, round
    differently from one place of the table to the next. With weights, a row counts in means and norms as often as they
    say.
    """
    rows = np.array(X.T, dtype=float, order="C")
    size = _norm_of_rows(rows, sample_weight)
    mean = (
        rows.mean(axis=1) if sample_weight is None else np.einsum("ij,j->i", rows, sample_weight / sample_weight.sum())
    )
    rows -= mean[:, None]
    norm = _norm_of_rows(rows, sample_weight)
    return CenteredColumns(rows, mean, np.where(norm > CONSTANT * size, norm, 0.0))


def _norm_of_rows(rows: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    if sample_weight is None:
        return np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.sqrt(np.einsum("ij,j,ij->i", rows, sample_weight, rows))


def center_columns(X: np.ndarray, *, scale: bool, share: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Centered columns divided by sqrt(n), and their squared norms, which are then the variances.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    scale : bool
        Divide by the standard deviation as well.
    share : bool
        Divide by one number more, so that the squared norms are shares of the total: they sum to one.

    Returns
    -------
    Z : ndarray of shape (n_samples, n_features)
        A copy, of the type of ``X``; columns that rounding alone makes vary are exactly zero.
    norm2 : ndarray of shape (n_features,)
        In double precision: variances of the columns of ``X``, or ones, and exactly zero for constant columns.
    """
    n_rows, n_columns = X.shape
    Z, norm2 = np.empty_like(X), np.zeros(n_columns)
    for cols in column_blocks(n_rows, n_columns):
        block = X[:, cols].astype(float)
        size = np.abs(block).max(axis=0)
        block -= block.mean(axis=0)
        block -= block.mean(axis=0)  # what rounding left of a large mean
        peak = np.abs(block).max(axis=0)
        varies = peak > CONSTANT * size
        unit = np.where(varies, peak, 1.0)  # squares of very large or very small units would not be finite
        block /= unit  # no product by one over it, which is infinite for the smallest numbers
        block *= varies
        variance = np.mean(block * block, axis=0)
        if scale:
            block /= np.sqrt(np.where(varies, n_rows * variance, 1.0))
            norm2[cols] = varies
        else:
            block *= unit / np.sqrt(n_rows)
            norm2[cols] = variance * unit**2
        Z[:, cols] = block
    if share:
        total = norm2.sum()
        Z /= Z.dtype.type(total**0.5)
        norm2 /= total
    return Z, norm2


def rescale_safely(X: Array) -> Array:
    """Divide by a power of two where values are so large or so small that their squares would be lost."""
    values = X.data if sparse.issparse(X) else X
    if 0 in values.shape:
        return X
    xp, _ = get_namespace(values)
    _, exponent = np.frexp(float(xp.max(xp.abs(values))))
    if abs(int(exponent)) <= _safe_exponent(X):
        return X
    half = -int(exponent) // 2  # in two steps: the power of a subnormal number is itself too large for one
    return X * 2.0**half * 2.0 ** (-int(exponent) - half)


def rescale_columns(X: Array) -> Array:
    """Divide columns by powers of two where the squares of their values would be lost; no digit changes otherwise."""
    return ldexp_columns(X, overflow_exponents(X))


def may_lose_squares(X: Array) -> bool:
    """Whether columns are in units in which squares are lost, told from rows at equal distances: no pass over a table.

    That is where the largest of these values is too large, or too small. Exact on up to 1000 rows; a single value
    that is too large in a column of others may be passed over on more.
    """
    if 0 in X.shape:
        return False
    return overflow_exponents(X[:: -(-X.shape[0] // _ROWS_LOOKED_AT), :]) is not None


def overflow_exponents(X: Array) -> np.ndarray | None:
    """Binary exponent of the largest value of every column where its square would be lost, else zero; None if none is.

    For :func:`ldexp_columns`: a change of units that costs no digit.
    """
    lowest, highest = column_range(X)
    _, exponents = np.frexp(np.maximum(np.abs(highest), np.abs(lowest)))
    exponents = np.where(np.abs(exponents) > _safe_exponent(X), exponents, 0)
    return exponents if exponents.any() else None


def column_range(X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of every column of a table with rows, in double precision.

    Missing values are passed over; a column that holds nothing else is zero.
    """
    if sparse.issparse(X):
        extremes = [np.asarray(extreme.toarray()).reshape(-1) for extreme in (X.min(axis=0), X.max(axis=0))]
    elif has_missing(X):
        extremes = [np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)]
    else:
        xp, _ = get_namespace(X)
        extremes = [to_numpy(xp.min(X, axis=0)), to_numpy(xp.max(X, axis=0))]
    lowest, highest = (np.nan_to_num(extreme.astype(float)) for extreme in extremes)
    return lowest, highest


def ldexp_columns(X: Array, exponents: np.ndarray | None) -> Array:
    """Divide every column by two to the power of its exponent; the table itself where there are none."""
    if exponents is None:
        return X
    half = exponents // 2
    for part in (half, exponents - half):
        X = scale_columns(X, np.ldexp(1.0, part))
    return X


def _safe_exponent(X: Array) -> int:
    return _SAFE_EXPONENT[str(X.dtype).endswith("float32")]
