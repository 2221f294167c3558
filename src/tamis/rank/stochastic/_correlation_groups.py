"""Groups of columns that are nearly copies of one another, without the matrix of all correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks

_WIDTH = 256  # columns that are compared with the leaders at a time
_ROUNDING = 1e-12  # by which a column and a multiple of it may seem to correlate by less than one


def group_columns(X: Any, priority: np.ndarray, threshold: float) -> np.ndarray:
    """Give every column a leader whose correlation with it is high enough, or make it one.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
    priority : ndarray of shape (n_columns,)
        Columns in the order in which they may become leaders.
    threshold : float
        Least absolute correlation between a column and its leader.

    Returns
    -------
    ndarray of shape (n_columns,)
        The leader of each column; a leader is its own.

    Notes
    -----
    Each column goes to the leader it correlates most with, among those before it. Cost O(n L D) for L leaders; memory
    for the leaders' columns and one block of correlations.
    """
    threshold -= _ROUNDING
    leader = np.empty(priority.size, dtype=int)
    chosen: list[int] = []
    led = np.empty((X.shape[0], 0))
    for block in blocks(priority.size, _WIDTH):
        places = priority[block]
        Z = _unit_columns(X, places)
        best, outside = _most_alike(led, Z, threshold)
        inside = np.abs(Z.T @ Z)
        new: list[int] = []  # leaders, by place in the block
        for j in range(places.size):
            nearest = new[int(np.argmax(inside[new, j]))] if new else -1
            if best[j] >= 0 and (not new or outside[j] >= inside[nearest, j]):
                leader[places[j]] = chosen[best[j]]
            elif new and inside[nearest, j] >= threshold:
                leader[places[j]] = places[nearest]
            else:
                leader[places[j]] = places[j]
                new.append(j)
        chosen += places[new].tolist()
        led = np.concatenate([led, Z[:, new]], axis=1)
    return leader


def _unit_columns(X: Any, places: np.ndarray) -> np.ndarray:
    """Columns of zero mean and unit length, zero where they are constant."""
    Z = np.asarray(X[:, places].toarray() if sparse.issparse(X) else X[:, places], dtype=float)
    Z = Z - Z.mean(axis=0)
    norm = np.linalg.norm(Z, axis=0)
    return Z / np.where(norm > 0, norm, 1.0)


def _most_alike(led: np.ndarray, Z: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """Place of the leader each column correlates most with, -1 where none does enough, and how much."""
    if not led.shape[1]:
        return np.full(Z.shape[1], -1), np.zeros(Z.shape[1])
    alike = np.abs(led.T @ Z)
    best, most = alike.argmax(axis=0), alike.max(axis=0)
    return np.where(most >= threshold, best, -1), most
