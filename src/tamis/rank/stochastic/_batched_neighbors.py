"""Votes of the nearest neighbors in many subsets of features at once."""

from __future__ import annotations

import numpy as np

_FEW = 16  # neighbors up to which as many searches for a minimum beat a partition


def vote_neighbors(
    tables: np.ndarray,
    queries: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    *,
    n_neighbors: int,
    metric: str,
) -> np.ndarray:
    """Class that most of the nearest rows have; the lowest of equals, and the first of rows as far.

    Parameters
    ----------
    tables : ndarray of shape (n_subsets, n_rows, n_columns)
    queries : ndarray of shape (n_subsets, n_queries, n_columns)
    labels : ndarray of shape (n_labelings, n_rows)
        Codes below ``n_classes``.
    n_classes : int
    n_neighbors : int
        At most ``n_rows``.
    metric : {"euclidean", "hamming"}
        The latter counts the columns in which two rows differ.

    Returns
    -------
    ndarray of shape (n_subsets, n_labelings, n_queries)
    """
    if metric == "hamming":
        nearest = np.partition(hamming_keys(queries, tables), n_neighbors - 1, axis=2)[:, :, :n_neighbors]
        nearest %= tables.shape[1]
    else:
        nearest = _smallest(euclidean_keys(queries, tables), n_neighbors)
    votes = np.stack([(labels[:, nearest] == code).sum(axis=3) for code in range(n_classes)])
    return votes.argmax(axis=0).transpose(1, 0, 2)


def euclidean_keys(queries: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Squared distances less what is the same for all rows: shape (n_subsets, n_queries, n_rows)."""
    keys = queries @ tables.transpose(0, 2, 1)
    keys *= -2.0
    keys += np.einsum("brk,brk->br", tables, tables)[:, None, :]
    return keys


def hamming_keys(queries: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Number of columns that differ times the number of rows, plus the place of the row: no two are equal."""
    n_rows, n_columns = tables.shape[1:]
    keys = np.zeros((*queries.shape[:2], n_rows), dtype=np.int32 if n_rows * (n_columns + 1) < 2**31 else np.int64)
    differ = np.empty(keys.shape, dtype=bool)
    for ours, theirs in zip(np.moveaxis(queries, 2, 0).copy(), np.moveaxis(tables, 2, 0).copy(), strict=True):
        np.not_equal(ours[:, :, None], theirs[:, None, :], out=differ)
        keys += differ
    keys *= n_rows
    keys += np.arange(n_rows, dtype=keys.dtype)
    return keys


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Places of the smallest keys of every query; the keys are spoiled."""
    if count > _FEW:
        return keys.argpartition(count - 1, axis=2)[:, :, :count]
    rows = keys.reshape(-1, keys.shape[2])
    places = np.empty((len(rows), count), dtype=np.intp)
    each = np.arange(len(rows))
    for rank in range(count):
        places[:, rank] = rows.argmin(axis=1)
        rows[each, places[:, rank]] = np.inf
    return places.reshape(*keys.shape[:2], count)
