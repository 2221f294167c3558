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
from sklearn.utils._array_api import _is_numpy_namespace, get_namespace_and_device, move_to

from tamis.kernels.blocks import blocks
from tamis.kernels.columns import to_numpy

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
        return _settle(X, query, indices, n_neighbors)
    xp, _, _ = get_namespace_and_device(X)
    center = xp.mean(X, axis=0)  # the nearer the origin, the fewer digits the product loses
    points, asking = X - center, None if query is None else query - center
    search = _search_host if _is_numpy_namespace(xp) else _search_device
    indices = search(points, points if asking is None else asking, asked)
    return _settle(points, asking, indices, n_neighbors)


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


def _settle(X: Array, query: Array | None, candidates: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Exact distances of the candidates, sorted by distance and then by row; a row is no neighbor of itself."""
    xp, _, device = get_namespace_and_device(candidates)
    candidates = xp.sort(xp.astype(candidates, xp.int64, copy=False), axis=1)
    height = _BLOCK[_is_numpy_namespace(xp)] // (candidates.shape[1] * X.shape[1])
    indices, distances = [], []
    for block in blocks(candidates.shape[0], height):
        rows = xp.arange(block.start, block.stop, device=device)
        found = _sorted_by_distance(X, query, rows, candidates[block, :])
        tied = _tied_at_the_edge(found[1], n_neighbors) if candidates.shape[1] < X.shape[0] else None
        if tied is not None and bool(xp.any(tied)):
            found = _settle_ties(X, query, rows, found, tied, n_neighbors)
        indices.append(found[0][:, :n_neighbors])
        distances.append(found[1][:, :n_neighbors])
    return xp.concat(indices, axis=0), xp.concat(distances, axis=0)


def _sorted_by_distance(X: Array, query: Array | None, rows: Array, place: Array) -> tuple[Array, Array]:
    """Candidates in ascending order of place, sorted by their exact distance; a row itself comes last."""
    xp, _, _ = get_namespace_and_device(place)
    distances_to = _sparse_distances if sparse.issparse(X) else _dense_distances
    distance = distances_to(X, X if query is None else query, rows, place)
    if query is None:
        distance = xp.where(place == rows[:, None], xp.full_like(distance, xp.inf), distance)
    order = xp.argsort(distance, axis=1, stable=True)
    return xp.take_along_axis(place, order, axis=1), xp.take_along_axis(distance, order, axis=1)


def _tied_at_the_edge(distance: Array, n_neighbors: int) -> Array:
    """Rows whose last neighbor is as far as the last candidate, so that candidates may lack others as far."""
    xp, _, _ = get_namespace_and_device(distance)
    finite = xp.where(xp.isinf(distance), -xp.ones_like(distance), distance)
    return distance[:, n_neighbors - 1] >= (1 - 1e-6) * xp.max(finite, axis=1)


def _settle_ties(
    X: Array, query: Array | None, rows: Array, found: tuple[Array, Array], tied: Array, n_neighbors: int
) -> tuple[Array, Array]:
    """Look at all rows of ``X`` again where many are equally far, and take the lowest of those."""
    xp, _, device = get_namespace_and_device(found[0])
    indices, distances = found[0][:, :n_neighbors], found[1][:, :n_neighbors]
    some = xp.nonzero(tied)[0]
    everyone = xp.astype(xp.arange(X.shape[0], device=device), distances.dtype)
    settled = []
    for block in blocks(some.shape[0], _BLOCK[_is_numpy_namespace(xp)] // X.shape[0]):
        places = some[block]
        asking = xp.take(rows, places)
        apart, size = _squared_distances(X, X if query is None else query, asking)
        edge = xp.take(distances[:, -1], places)[:, None] ** 2
        slack = (1e-4 if apart.dtype == xp.float32 else 1e-9) * size
        key = xp.where(apart < edge - slack, -xp.ones_like(apart), everyone[None, :])
        key = xp.where(apart > edge + slack, xp.full_like(apart, xp.inf), key)
        if query is None:
            itself = everyone[None, :] == xp.astype(asking, everyone.dtype)[:, None]
            key = xp.where(itself, xp.full_like(apart, xp.inf), key)
        lowest = xp.sort(xp.astype(_smallest(xp, key, n_neighbors), xp.int64), axis=1)
        settled.append(_sorted_by_distance(X, query, asking, lowest))
    # each row from where it is now: among the settled ones, or where it was
    source = np.arange(indices.shape[0])
    source[to_numpy(some)] = indices.shape[0] + np.arange(some.shape[0])
    take_from = source if _is_numpy_namespace(xp) else move_to(source, xp=xp, device=device)
    every = zip((indices, distances), zip(*settled, strict=True), strict=True)
    indices, distances = (xp.take(xp.concat([was, *now], axis=0), take_from, axis=0) for was, now in every)
    return indices, distances


def _squared_distances(X: Array, query: Array, rows: Array) -> tuple[Array, Array]:
    """Squared distances of some queries to all rows by a product, and the size of what cancels in it."""
    if sparse.issparse(X):
        asking = query.tocsr()[rows]
        product = (asking @ X.T).toarray()
        own, other = (np.asarray(table.multiply(table).sum(axis=1)).reshape(-1) for table in (asking, X))
        xp: Any = np
    else:
        xp, _, _ = get_namespace_and_device(X)
        asking = xp.take(query, rows, axis=0)
        product, own, other = asking @ X.T, xp.sum(asking**2, axis=1), xp.sum(X**2, axis=1)
    size = own[:, None] + other[None, :]
    return xp.where(size > 2 * product, size - 2 * product, xp.zeros_like(size)), size


def _dense_distances(X: Array, query: Array, rows: Array, place: Array) -> Array:
    xp, _, _ = get_namespace_and_device(X)
    near = xp.reshape(xp.take(X, xp.reshape(place, (-1,)), axis=0), (*place.shape, X.shape[1]))
    near = near - xp.take(query, rows, axis=0)[:, None, :]
    return xp.sqrt(xp.sum(near * near, axis=2))


def _sparse_distances(X: Any, query: Any, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
    asking = np.repeat(rows, place.shape[1])
    apart = query.tocsr()[asking] - X.tocsr()[place.ravel()]
    return np.sqrt(np.asarray(apart.multiply(apart).sum(axis=1)).reshape(place.shape))
