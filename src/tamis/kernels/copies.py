"""Columns that are copies of others, whatever their unit, offset and sign."""

from __future__ import annotations

import numpy as np

_CLOSE = {"float64": 1e-9, "float32": 1e-6}  # largest difference of entries, relative to the norm of a column


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
