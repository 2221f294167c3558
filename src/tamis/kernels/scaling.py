"""Columns of one size, so that units do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._array_api import get_namespace, get_namespace_and_device, move_to

from tamis.kernels.columns import as_columns, to_numpy

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
    norm2 = to_numpy(columns.norm2)
    scale = np.sqrt(np.divide(X.shape[0], norm2, out=np.zeros_like(norm2), where=norm2 > 0))
    if sparse.issparse(X):
        return (X @ sparse.diags_array(scale.astype(X.dtype))).tocsr()
    xp, _, _ = get_namespace_and_device(X)
    center = columns.as_array(columns.means(np.arange(X.shape[1])))
    Z = X - xp.astype(center, X.dtype, copy=False)
    Z *= xp.astype(columns.as_array(scale), X.dtype, copy=False)
    return Z


def tame(X: Array) -> Array:
    """Divide by a power of two where values are so large or so small that their squares would be lost."""
    values = X.data if sparse.issparse(X) else X
    if 0 in values.shape:
        return X
    xp, _ = get_namespace(values)
    _, exponent = np.frexp(float(xp.max(xp.abs(values))))
    most = _SAFE_EXPONENT[str(values.dtype).endswith("float32")]
    return X * 2.0 ** -float(exponent) if abs(int(exponent)) > most else X
