"""Columns of one size, so that units do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis._sklearn import get_namespace, get_namespace_and_device, move_to
from tamis.kernels.arrays.columns import Columns, as_columns, to_numpy

Array = Any  # an array of any Array-API namespace

_SAFE_EXPONENT = {False: 300, True: 37}  # binary exponents whose squares can be summed: double, single precision


def unit_spread(X: Array) -> np.ndarray:
    """Standard deviation of every column, one where a column is constant: what to divide by."""
    norm2 = to_numpy(as_columns(X).norm2)
    return np.where(norm2 > 0, np.sqrt(np.maximum(norm2, 0) / X.shape[0]), 1.0)


def scale_columns(X: Array, spread: np.ndarray) -> Array:
    """Divide the columns; distances need no centering, so that sparse tables stay sparse."""
    if sparse.issparse(X):
        return sparse.csr_array(X @ sparse.diags_array(1.0 / spread).astype(X.dtype))
    xp, _, device = get_namespace_and_device(X)
    return X / xp.astype(move_to(spread, xp=xp, device=device), X.dtype)


def standardize_columns(X: Array) -> Array:
    """Columns of zero mean and unit variance, constant ones zero; sparse ones keep their mean, unseen by distances."""
    columns = as_columns(X)
    scale = _unit_scale(columns, X.shape[0])
    if sparse.issparse(X):
        return (X @ sparse.diags_array(scale.astype(X.dtype))).tocsr()
    xp, _, _ = get_namespace_and_device(X)
    center = columns.as_array(columns.means(np.arange(X.shape[1])))
    Z = X - xp.astype(center, X.dtype, copy=False)
    Z *= xp.astype(columns.as_array(scale), X.dtype, copy=False)
    return Z


def measure_columns(X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Mean of every column, and one over its standard deviation, zero where it is constant: for other rows to come."""
    columns = as_columns(X)
    return to_numpy(columns.means(np.arange(X.shape[1]))), _unit_scale(columns, X.shape[0])


def _unit_scale(columns: Columns, n_rows: int) -> np.ndarray:
    norm2 = to_numpy(columns.norm2)
    return np.sqrt(np.divide(n_rows, norm2, out=np.zeros_like(norm2), where=norm2 > 0))


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


def overflow_exponents(X: Array) -> np.ndarray | None:
    """Binary exponent of the largest value of every column where its square would be lost, else zero; None if none is.

    For :func:`ldexp_columns`: a change of units that costs no digit.
    """
    if sparse.issparse(X):
        highest, lowest = (np.asarray(extreme.toarray()).reshape(-1) for extreme in (X.max(axis=0), X.min(axis=0)))
    else:
        xp, _ = get_namespace(X)
        highest, lowest = to_numpy(xp.max(X, axis=0)), to_numpy(xp.min(X, axis=0))
    _, exponents = np.frexp(np.maximum(np.abs(highest), np.abs(lowest)).astype(float))
    exponents = np.where(np.abs(exponents) > _safe_exponent(X), exponents, 0)
    return exponents if exponents.any() else None


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
