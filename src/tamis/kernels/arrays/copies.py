"""Copies among columns, and orders of columns that depend on their values alone.

All functions sort columns by their products with one random vector, which copies share: one pass over the table,
after which only columns whose products are equal are compared entry by entry.

- :func:`distinct_columns`: without copies up to sign and rounding; for centered columns of unit norm;
- :func:`order_by_values`: all columns, with a sign for each, so that neither places nor signs in the table matter;
- :func:`order_columns`: without copies to the last digit, in the units of the table, dense or sparse;
- :func:`place_columns`: the same, with the place of every column, copies too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import Columns
from tamis.kernels.arrays.scaling import may_lose_squares, rescale_columns
from tamis.kernels.arrays.tolerances import Tolerance

# Largest difference of the entries of two copies of unit norm. A unit or an offset that was changed costs a copy some
# digits: an offset of a million standard deviations leaves ten of sixteen.
_SAME_ENTRY = Tolerance(1e-9, 1e-6)
_BLOCK_ENTRIES = 2**22  # entries of the table that are copied at a time


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
    One pass over the table where nothing is copied.
    """
    varying = np.flatnonzero(norm2 > 0)
    vector = np.asarray(np.random.RandomState(0).standard_normal(Z.shape[0]))
    product = np.abs(vector.astype(Z.dtype) @ Z[:, varying]).astype(float)
    order = np.argsort(product, kind="stable")
    tolerance = _SAME_ENTRY.of(Z)
    starts = np.flatnonzero(np.diff(product[order], prepend=-np.inf) > tolerance * np.linalg.norm(vector))
    ends = np.append(starts[1:], order.size)
    copies: list[int] = []
    for run in np.flatnonzero(ends - starts > 1):  # of columns whose products are the same up to rounding
        copies += _copies_within(Z, np.sort(varying[order[starts[run] : ends[run]]]), tolerance)
    return np.setdiff1d(varying, copies)


def order_by_values(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An order and signs of columns that depend on their values alone, not on their places in a table.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_rows), C-contiguous
        One column after another, at zero mean.

    Returns
    -------
    order : ndarray of shape (n_columns,)
    sign : ndarray of shape (n_columns,)
        1, or -1 where a column is to change its sign; by place in ``columns``, not along the order.
    repeats : ndarray
        Positions along the order at which a column equals the one before it, with these signs, to the last digit.
    """
    vector = np.asarray(np.random.RandomState(0).standard_normal(columns.shape[1]), dtype=columns.dtype)
    product = np.einsum("ij,j->i", columns, vector)  # BLAS would round differently from one place to the next
    sign = np.where(product < 0, -1.0, 1.0).astype(columns.dtype)
    order = np.argsort(np.abs(product), kind="stable")
    size = np.abs(product[order])
    may_repeat = 1 + np.flatnonzero(size[1:] == size[:-1])  # columns that are equal have equal products
    one, before = (columns[each] * sign[each, None] for each in (order[may_repeat], order[may_repeat - 1]))
    return order, sign, may_repeat[np.all(one == before, axis=1)]


def order_columns(X: Any) -> np.ndarray:
    """Indices of the columns in an order that depends on their values alone, without copies to the last digit.

    Units and offsets do not matter either, but for rounding.
    """
    order, is_copy = _order_with_copies(X)
    return order[~is_copy]


def place_columns(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The order of :func:`order_columns`, and for every column of the table its place there, or that of its copy."""
    order, is_copy = _order_with_copies(X)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.cumsum(~is_copy) - 1
    return order[~is_copy], place


def later_copies(columns: Columns, scale: np.ndarray) -> np.ndarray:
    """Indices of columns that, centered and times their factor, equal one before them, or its negative.

    Parameters
    ----------
    columns : Columns
    scale : ndarray of shape (n_columns,)
        With one over the standard deviation as factor, a column in other units is a copy; with zero it is none.

    Notes
    -----
    Cost: a product of the table with one vector; columns whose products agree are compared.
    """
    vector = columns.center_rows(np.random.RandomState(0).standard_normal((columns.n_samples, 1)))
    keys = np.abs(columns.dot(vector)[:, 0] * scale)
    places = np.flatnonzero(scale > 0)
    order = places[np.argsort(keys[places], kind="stable")]
    is_new = np.diff(keys[order], prepend=-np.inf) > _SAME_ENTRY.float64 * keys.max(initial=0.0)
    starts = np.append(np.flatnonzero(is_new), order.size)
    copies: list[int] = []
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if end - start > 1:
            copies += _later_among(columns, scale, np.sort(order[start:end]))
    return np.sort(np.array(copies, dtype=np.int64))


def _later_among(columns: Columns, scale: np.ndarray, suspects: np.ndarray) -> list[int]:
    """Those of a few columns that are a copy of one before them; a block at a time."""
    first, copies = np.empty((columns.n_samples, 0)), []
    for block in blocks(suspects.size, max(1, _BLOCK_ENTRIES // max(columns.n_samples, 1))):
        Z = columns.columns(suspects[block]) * scale[suspects[block]]
        for j, z in zip(suspects[block].tolist(), Z.T, strict=True):
            tolerance = _SAME_ENTRY.float64 * np.abs(z).max() * 10.0
            distance = np.minimum(np.abs(first - z[:, None]).max(axis=0), np.abs(first + z[:, None]).max(axis=0))
            if np.any(distance <= tolerance):
                copies.append(j)
            else:
                first = np.column_stack([first, z])
    return copies


def _order_with_copies(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """All columns in an order that depends on their values alone, and which of them equal the one before."""
    X = sparse.csc_array(X) if sparse.issparse(X) else X
    correlation = _correlate_with_random_vector(X)
    order = np.argsort(correlation, kind="stable")
    is_copy = np.zeros(order.size, dtype=bool)
    for place in (1 + np.flatnonzero(np.diff(correlation[order]) == 0)).tolist():
        is_copy[place] = _are_equal(X, int(order[place - 1]), int(order[place]))
    return order, is_copy


def _correlate_with_random_vector(X: Any) -> np.ndarray:
    """Correlation of every column with one vector, each by itself: BLAS rounds differently from place to place."""
    if may_lose_squares(X):
        X = rescale_columns(X)
    vector = np.random.RandomState(0).standard_normal(X.shape[0])
    vector -= vector.mean()
    if sparse.issparse(X):
        total, squares = X.T @ np.ones(X.shape[0]), X.multiply(X).T @ np.ones(X.shape[0])
        return (X.T @ vector) / np.sqrt(np.maximum(squares - total**2 / X.shape[0], np.finfo(float).tiny))
    correlation = np.empty(X.shape[1])
    for block in blocks(X.shape[1], _BLOCK_ENTRIES // X.shape[0]):
        columns = np.array(X[:, block].T, dtype=float, order="C")  # a copy, for it is centered in place
        columns -= columns.mean(axis=1, keepdims=True)
        norm = np.sqrt(np.einsum("ij,ij->i", columns, columns))
        correlation[block] = np.einsum("ij,j->i", columns, vector) / np.maximum(norm, np.finfo(float).tiny)
    return correlation


def _are_equal(X: Any, i: int, j: int) -> bool:
    if not sparse.issparse(X):
        return np.array_equal(X[:, i], X[:, j])
    a, b = (slice(X.indptr[column], X.indptr[column + 1]) for column in (i, j))
    return np.array_equal(X.indices[a], X.indices[b]) and np.array_equal(X.data[a], X.data[b])


def _copies_within(Z: np.ndarray, columns: np.ndarray, tolerance: float) -> list[int]:
    """Those of a few columns, ascending, that are a copy of one before them."""
    copies: list[int] = []
    while columns.size > 1:
        first, others = Z[:, columns[0]], Z[:, columns[1:]]
        sign = np.sign(first @ others)
        same = np.abs(others * sign - first[:, None]).max(axis=0) <= tolerance
        copies += columns[1:][same].tolist()
        columns = columns[1:][~same]
    return copies
