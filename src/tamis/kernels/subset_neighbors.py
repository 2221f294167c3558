"""Votes of the nearest neighbors in many subsets of features at once."""

from __future__ import annotations

import numpy as np


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
    far = hamming_keys(queries, tables) if metric == "hamming" else euclidean_keys(queries, tables)
    nearest = far.argpartition(n_neighbors - 1, axis=2)[:, :, :n_neighbors]
    votes = np.stack([(labels[:, nearest] == code).sum(axis=3) for code in range(n_classes)])
    return votes.argmax(axis=0).transpose(1, 0, 2)


def euclidean_keys(queries: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Squared distances less what is the same for all rows: shape (n_subsets, n_queries, n_rows)."""
    keys = queries @ tables.transpose(0, 2, 1)
    keys *= -2.0
    keys += np.einsum("brk,brk->br", tables, tables)[:, None, :]
    return keys


def hamming_keys(queries: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Number of columns that differ, and then the place of the row: no two keys of a query are equal."""
    n_rows = tables.shape[1]
    keys = np.zeros((*queries.shape[:2], n_rows), dtype=np.int32)
    for column in range(tables.shape[2]):
        keys += queries[:, :, None, column] != tables[:, None, :, column]
    keys *= n_rows
    keys += np.arange(n_rows, dtype=np.int32)
    return keys
