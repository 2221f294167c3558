"""Exact nearest neighbors of the rows of a table, in bounded memory.

A matrix product finds the candidates, ``||a - b||^2 = ||a||^2 + ||b||^2 - 2 a'b`` in blocks of rows; a few more than
needed, because that formula loses digits where points nearly coincide. The distances of the candidates then come from
differences, so that equal points are at distance exactly zero, and ties go to the lowest row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._array_api import _is_numpy_namespace, get_namespace_and_device

from tamis.kernels.blocks import blocks

Array = Any  # an array of any Array-API namespace

_SPARE = 4  # candidates beyond those asked for, against the rounding of the product
_TREE_COLUMNS = 12  # up to here a k-d tree beats the product
_BLOCK = {True: 2**20, False: 2**27}  # numbers held at a time: on the host, on an accelerator


def nearest_neighbors(X: Array, n_neighbors: int, *, query: Array | None = None) -> tuple[Array, Array]:
    """Nearest rows of ``X``, by Euclidean distance, nearest first; ties go to the lowest row.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        numpy, scipy sparse, or any Array-API array, on its device.
    n_neighbors : int
        How many; at most ``n_samples``, less one where rows are their own queries.
    query : array of shape (n_queries, n_features), default=None
        Points to find neighbors of. None stands for the rows of ``X``, none of which is its own neighbor: the one to
        leave out is known by its place, so that a copy of it counts.

    Returns
    -------
    indices : array of shape (n_queries, n_neighbors), int64
    distances : array of shape (n_queries, n_neighbors)

    Notes
    -----
    Cost O(n_queries n_samples n_features) (a k-d tree for few columns), memory for one block of rows.
    """
    others = X.shape[0] - (query is None)
    if not 1 <= n_neighbors <= others:
        raise ValueError(f"n_neighbors={n_neighbors} must lie between 1 and {others}, the number of other rows")
    asked = min(n_neighbors + (query is None) + _SPARE, X.shape[0])
    if sparse.issparse(X):
        indices = _search_host(X, X if query is None else query, asked)
        return _settle(X, query, indices, n_neighbors, _sparse_distances)
    xp, _, _ = get_namespace_and_device(X)
    center = xp.mean(X, axis=0)  # the nearer the origin, the fewer digits the product loses
    points, asking = X - center, None if query is None else query - center
    search = _search_host if _is_numpy_namespace(xp) else _search_device
    indices = search(points, points if asking is None else asking, asked)
    return _settle(points, asking, indices, n_neighbors, _dense_distances)


def _search_host(X: Any, query: Any, asked: int) -> np.ndarray:
    """Candidates by scikit-learn's blocked search."""
    algorithm = "kd_tree" if not sparse.issparse(X) and X.shape[1] <= _TREE_COLUMNS else "brute"
    return NearestNeighbors(n_neighbors=asked, algorithm=algorithm).fit(X).kneighbors(query, return_distance=False)


def _search_device(X: Array, query: Array, asked: int) -> Array:
    """Candidates by matrix products on the device where the points live."""
    xp, _, _ = get_namespace_and_device(X)
    size = xp.sum(X * X, axis=1)
    found = []
    for rows in blocks(query.shape[0], _BLOCK[False] // X.shape[0]):
        found.append(_smallest(xp, size[None, :] - 2.0 * (query[rows, :] @ X.T), asked))
    return xp.concat(found, axis=0)


def _smallest(xp: Any, values: Array, count: int) -> Array:
    """Places of the smallest values of every row; a whole sort only where the namespace has nothing better."""
    if hasattr(xp, "topk"):
        return xp.topk(values, count, dim=1, largest=False).indices
    if hasattr(xp, "argpartition"):
        return xp.argpartition(values, min(count, values.shape[1] - 1), axis=1)[:, :count]
    return xp.argsort(values, axis=1)[:, :count]


def _settle(
    X: Array, query: Array | None, candidates: Array, n_neighbors: int, distances_to: Any
) -> tuple[Array, Array]:
    """Exact distances of the candidates, sorted by distance and then by row; a row is no neighbor of itself."""
    xp, _, device = get_namespace_and_device(candidates)
    candidates = xp.sort(xp.astype(candidates, xp.int64, copy=False), axis=1)
    height = _BLOCK[_is_numpy_namespace(xp)] // (candidates.shape[1] * X.shape[1])
    indices, distances = [], []
    for rows in blocks(candidates.shape[0], height):
        place = candidates[rows, :]
        distance = distances_to(X, X if query is None else query, rows, place)
        if query is None:
            own = xp.arange(rows.start, rows.stop, device=device)
            distance = xp.where(place == own[:, None], xp.full_like(distance, xp.inf), distance)
        nearest = xp.argsort(distance, axis=1, stable=True)[:, :n_neighbors]
        indices.append(xp.take_along_axis(place, nearest, axis=1))
        distances.append(xp.take_along_axis(distance, nearest, axis=1))
    return xp.concat(indices, axis=0), xp.concat(distances, axis=0)


def _dense_distances(X: Array, query: Array, rows: slice, place: Array) -> Array:
    xp, _, _ = get_namespace_and_device(X)
    near = xp.reshape(xp.take(X, xp.reshape(place, (-1,)), axis=0), (*place.shape, X.shape[1]))
    near = near - query[rows, None, :]
    return xp.sqrt(xp.sum(near * near, axis=2))


def _sparse_distances(X: Any, query: Any, rows: slice, place: np.ndarray) -> np.ndarray:
    asking = np.repeat(np.arange(rows.start, rows.stop), place.shape[1])
    apart = query.tocsr()[asking] - X.tocsr()[place.ravel()]
    return np.sqrt(np.asarray(apart.multiply(apart).sum(axis=1)).reshape(place.shape))
