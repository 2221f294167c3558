"""Columns of drawn subsets, side by side: what learners on many subsets are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.scaling import measure_columns


class SubsetTable:
    """A table from which subsets of columns are taken, many at a time; sparse tables stay sparse.

    A feature that a subset holds twice counts once: its other places show a column of zeros, which no learner looks at.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_columns)

    Attributes
    ----------
    values : ndarray or sparse array of shape (n_samples, n_columns + 1)
        With a column of zeros at the end.
    n_columns : int
    """

    def __init__(self, X: Any) -> None:
        n_samples, self.n_columns = X.shape
        if sparse.issparse(X):
            nothing = sparse.csc_array((n_samples, 1), dtype=X.dtype)
            self.values: Any = sparse.hstack([X, nothing], format="csc")
        else:
            self.values = np.zeros((n_samples, self.n_columns + 1), dtype=X.dtype)
            self.values[:, :-1] = X

    def take(self, rows: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        """Some rows of the columns of each subset: shape (n_subsets, n_rows, subset_size)."""
        places = hide_repeats(subsets, self.n_columns)
        source = self.values
        if sparse.issparse(source):
            used, places_used = np.unique(places, return_inverse=True)
            source, places = source[:, used].toarray(), places_used.reshape(places.shape)
        taken = np.empty((rows.size, places.size), dtype=source.dtype)
        flat = places.ravel()
        for target, row in zip(taken, rows.tolist(), strict=True):  # a row at a time stays in the cache
            source[row].take(flat, out=target, mode="clip")
        return taken.reshape(rows.size, *places.shape).transpose(1, 0, 2)


def take_columns(values: Any, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Some rows of some different columns, dense."""
    return values[:, features][rows].toarray() if sparse.issparse(values) else values[np.ix_(rows, features)]


def hide_repeats(subsets: np.ndarray, hidden: int) -> np.ndarray:
    """Subsets, each sorted, with ``hidden`` in the place of features that it holds already."""
    places = np.sort(subsets, axis=1)
    repeated = places[:, 1:] == places[:, :-1]
    places[:, 1:][repeated] = hidden
    return places


def scale_table(X: Any, columns: np.ndarray, *, standardize: bool, single: bool) -> Any:
    """Some columns, of unit variance, and of zero mean unless the table is sparse; in the precision that is enough."""
    X = X[:, columns]
    precision = np.float32 if single and standardize else np.float64
    if not standardize:
        return X.astype(precision)
    center, scale = measure_columns(X)
    if sparse.issparse(X):
        return (X @ sparse.diags_array(scale)).astype(precision)
    return ((X - center) * scale).astype(precision)
