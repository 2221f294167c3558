"""Columns by their values: which are copies of others, whatever their unit, offset and sign, and in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks

_CLOSE = {"float64": 1e-9, "float32": 1e-6}  # largest difference of entries, relative to the norm of a column
_NUMBERS = 2**22  # that are copied at a time


def distinct_columns(Z: np.ndarray, norm2: np.ndarray) -> np.ndarray:
    """Indices, ascending, of the columns that are neither zero nor a copy of one before them, up to sign.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Columns of unit norm, or zero.
    norm2 : ndarray of shape (n_columns,)
        Exactly zero for the latter.

    Notes
    -----
    Copies have the same product with any vector, up to sign. Columns are sorted by that with one random vector, and
    compared only where these products are the same up to rounding: one pass over the table where nothing is copied.
    """
    live = np.flatnonzero(norm2 > 0)
    probe = np.asarray(np.random.RandomState(0).standard_normal(Z.shape[0]))
    mark = np.abs(probe.astype(Z.dtype) @ Z[:, live]).astype(float)
    order = np.argsort(mark, kind="stable")
    close = _CLOSE[str(Z.dtype)]
    starts = np.flatnonzero(np.diff(mark[order], prepend=-np.inf) > close * np.linalg.norm(probe))
    ends = np.append(starts[1:], order.size)
    shared = np.flatnonzero(ends - starts > 1)
    copies: list[int] = []
    for group in shared:
        copies += _copies_within(Z, np.sort(live[order[starts[group] : ends[group]]]), close)
    return np.setdiff1d(live, copies)


def order_by_values(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An order and signs of columns that depend on their values alone: it does not matter where they stood.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_rows), C-contiguous
        One column after another, at zero mean.

    Returns
    -------
    order : ndarray of shape (n_columns,)
    sign : ndarray of shape (n_columns,)
        1, or -1 where a column is to be turned upside down; by place, not along the order.
    repeats : ndarray
        Places along the order where the column before comes once more, with these signs, to the last digit.
    """
    along = np.asarray(np.random.RandomState(0).standard_normal(columns.shape[1]), dtype=columns.dtype)
    key = np.einsum("ij,j->i", columns, along)  # row by row, unlike BLAS: the place of a row must not matter
    sign = np.where(key < 0, -1.0, 1.0).astype(columns.dtype)
    order = np.argsort(np.abs(key), kind="stable")
    turned = columns[order] * sign[order, None]
    return order, sign, 1 + np.flatnonzero(np.all(turned[1:] == turned[:-1], axis=1))


def order_columns(X: Any) -> np.ndarray:
    """Places of the columns in an order that depends on their values alone, without copies to the last digit.

    Units and offsets do not matter either, but for rounding.
    """
    X = sparse.csc_array(X) if sparse.issparse(X) else X
    key = _column_keys(X)
    order = np.argsort(key, kind="stable")
    alike = 1 + np.flatnonzero(np.diff(key[order]) == 0)
    copies = [place for place in alike.tolist() if _are_equal(X, int(order[place - 1]), int(order[place]))]
    return np.delete(order, copies)


def _column_keys(X: Any) -> np.ndarray:
    """Correlation of every column with one random vector, column by column, unlike BLAS: places must not matter."""
    along = np.random.RandomState(0).standard_normal(X.shape[0])
    along -= along.mean()
    if sparse.issparse(X):
        total, squares = X.T @ np.ones(X.shape[0]), X.multiply(X).T @ np.ones(X.shape[0])
        return (X.T @ along) / np.sqrt(np.maximum(squares - total**2 / X.shape[0], np.finfo(float).tiny))
    key = np.empty(X.shape[1])
    for block in blocks(X.shape[1], _NUMBERS // X.shape[0]):
        columns = np.ascontiguousarray(X[:, block].T, dtype=float)
        columns -= columns.mean(axis=1, keepdims=True)
        norm = np.sqrt(np.einsum("ij,ij->i", columns, columns))
        key[block] = np.einsum("ij,j->i", columns, along) / np.maximum(norm, np.finfo(float).tiny)
    return key


def _are_equal(X: Any, i: int, j: int) -> bool:
    if not sparse.issparse(X):
        return np.array_equal(X[:, i], X[:, j])
    a, b = (slice(X.indptr[column], X.indptr[column + 1]) for column in (i, j))
    return np.array_equal(X.indices[a], X.indices[b]) and np.array_equal(X.data[a], X.data[b])


def _copies_within(Z: np.ndarray, columns: np.ndarray, close: float) -> list[int]:
    """Those of a few columns, ascending, that are a copy of one before them."""
    copies: list[int] = []
    while columns.size > 1:
        first, others = Z[:, columns[0]], Z[:, columns[1:]]
        sign = np.sign(first @ others)
        same = np.abs(others * sign - first[:, None]).max(axis=0) <= close
        copies += columns[1:][same].tolist()
        columns = columns[1:][~same]
    return copies
