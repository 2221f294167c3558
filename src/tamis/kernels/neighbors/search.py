"""Exact nearest neighbors of the rows of a table, in bounded memory.

1. Candidates: ``||a - b||^2 = ||a||^2 + ||b||^2 - 2 a'b`` by a matrix product, in blocks of rows, gives a few more
   candidates than neighbors, with a lower bound on the distance of all other rows, given the rounding errors.
2. Refinement: distances of candidates are computed from differences, so that equal points are at distance exactly zero.
3. Where the bound cannot exclude that another row is nearer, because points nearly coincide, or as near, because
   distances tie, all rows that may lie within the radius of the neighbors found are compared in the same way.

Ties go to the lowest row. On an accelerator all of this happens where the table lives, a block of products at a time;
what is compared there in the third step are products in double precision, and only pairs that these leave come back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from tamis._sklearn import get_namespace_and_device, is_numpy_namespace, max_precision_float_dtype, move_to
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import to_numpy

Array = Any  # an array of any Array-API namespace

_SPARE = 3  # candidates beyond the number of neighbors
_TREE_COLUMNS = 6  # up to here a k-d tree is faster than the product
_FEW, _TALL = 16, 8192  # candidates and rows up to which a product in single precision is faster than one in double
_WIDE = 512  # columns from which to compare rows by their differences takes longer than the product
_SHARE = 1e-3  # of the squared norms of two points that their squared distance must have, for a product to give it
_BLOCK = {True: 2**20, False: 2**27}  # numbers held at a time: on the host, on an accelerator
_SPARSE_MEGABYTES = 64  # that a block of distances between sparse rows may take
_PRODUCT_BLOCK = 2**22  # numbers held at a time of the product in single precision
_RADIUS_ERROR = 1e-6  # relative error of the square of a radius, that of single precision
_CACHE = 2**17  # numbers held at a time of the differences, to stay in cache


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
    Cost O(n_queries n_samples n_features) (a k-d tree for few columns), memory for one block of rows; many rows that
    nearly coincide or tie cost more.
    """
    others = X.shape[0] - (query is None)
    if not 1 <= n_neighbors <= others:
        raise ValueError(f"n_neighbors={n_neighbors} must lie between 1 and {others}, the number of other rows")
    n_candidates = min(n_neighbors + (query is None) + _SPARE, X.shape[0])
    if sparse.issparse(X):
        X, query = X.tocsr(), None if query is None else query.tocsr()
        candidates, bound = _search_product(X, X if query is None else query, n_candidates)
    else:
        xp, _, _ = get_namespace_and_device(X)
        center = xp.mean(X, axis=0)  # the product loses fewer digits near the origin
        X, query = X - center, None if query is None else query - center
        if is_numpy_namespace(xp) and X.shape[1] >= _WIDE and X.shape[0] <= _TALL:
            return _nearest_in_wide(X, query, n_neighbors)
        candidates, bound = _choose_search(X, n_candidates)(X, X if query is None else query, n_candidates)
    indices, distances = _refine(X, query, candidates, bound, n_neighbors)
    return indices, distances if sparse.issparse(X) else xp.astype(distances, X.dtype, copy=False)


def _choose_search(X: Array, n_candidates: int) -> Any:
    xp, _, _ = get_namespace_and_device(X)
    if not is_numpy_namespace(xp):
        return _search_device
    if X.shape[1] <= _TREE_COLUMNS:
        return _search_tree
    return _search_single if n_candidates <= _FEW and X.shape[0] <= _TALL else _search_product


def _search_tree(X: np.ndarray, query: np.ndarray, n_candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates by a k-d tree, whose distances are exact but for the last digits."""
    distances, indices = NearestNeighbors(n_neighbors=n_candidates, algorithm="kd_tree").fit(X).kneighbors(query)
    return indices, distances[:, -1].astype(float) ** 2 * (1 - 1e-12)


def _search_product(X: Any, query: Any, n_candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates by scikit-learn's blocked products in double precision, dense or sparse."""
    with config_context(working_memory=_SPARSE_MEGABYTES):  # of which scikit-learn takes a gigabyte by default
        distances, indices = NearestNeighbors(n_neighbors=n_candidates, algorithm="brute").fit(X).kneighbors(query)
    rounding = _relative_rounding(X.shape[1], 2.0**-53) * (_squared_norms(query) + _squared_norms(X).max())
    return indices, distances[:, -1].astype(float) ** 2 - rounding


def _search_single(X: np.ndarray, query: np.ndarray, n_candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Candidates by products in single precision, half the memory traffic; a few minima cost less than a partition."""
    unit = np.abs(X).max() or 1.0
    points = np.asarray(X / unit, dtype=np.float32)
    queries = points if query is X else np.asarray(query / unit, dtype=np.float32)
    norm2, query_norm2 = (_squared_norms(table) / unit**2 for table in (X, query))
    rounding = _relative_rounding(X.shape[1], 2.0**-24) * (query_norm2 + norm2.max())
    half = (norm2 / 2).astype(np.float32)
    indices, bound = np.empty((len(query), n_candidates), dtype=np.int64), np.empty(len(query))
    for block in blocks(len(query), _PRODUCT_BLOCK // len(X)):
        values = queries[block] @ points.T
        np.subtract(half, values, out=values)  # half of ||b||^2 - 2 a'b
        rows = np.arange(len(values))
        for rank in range(n_candidates):
            indices[block, rank] = values.argmin(axis=1)
            bound[block] = values[rows, indices[block, rank]]
            values[rows, indices[block, rank]] = np.inf
    return indices, (2.0 * bound + query_norm2 - rounding) * unit**2


def _nearest_in_wide(X: np.ndarray, query: np.ndarray | None, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of few long rows by products in double precision.

    Differences are taken only where two distances could be equal, but for rounding, or are so small that a product
    loses their digits. The rounding of a pair is relative to the norms of these two: a row far from all others leaves
    the distances of the others what they are.
    """
    points = X.astype(float, copy=False)
    queries = points if query is None else query.astype(float, copy=False)
    norm2, query_norm2 = _squared_norms(points), _squared_norms(queries)
    relative = _relative_rounding(X.shape[1], 2.0**-53)
    n_taken = min(n_neighbors + 1, len(X) - (query is None))  # one more tells whether the last is certain
    indices, distance2 = np.empty((len(queries), n_taken), dtype=np.int64), np.empty((len(queries), n_taken))
    for block in blocks(len(queries), _PRODUCT_BLOCK // len(X)):
        values = queries[block] @ points.T
        values *= -2.0
        values += norm2 * (1.0 - relative)  # lower bounds, but for what is the same in a row
        if query is None:
            values[np.arange(len(values)), np.arange(block.start, block.stop)] = np.inf
        near = np.argpartition(values, n_taken - 1, axis=1)[:, :n_taken]
        lowest = np.take_along_axis(values, near, axis=1)
        order = np.lexsort((near, lowest), axis=1)
        indices[block] = np.take_along_axis(near, order, axis=1)
        distance2[block] = np.take_along_axis(lowest, order, axis=1)
    size = norm2[indices] + query_norm2[:, None]
    distance2 += query_norm2[:, None] + relative * norm2[indices]
    gap = np.diff(distance2 - relative * size, axis=1)
    is_certain = np.all(gap > 2 * relative * size[:, :-1], axis=1) & np.all(distance2 > _SHARE * size, axis=1)
    indices, distance2 = indices[:, :n_neighbors], distance2[:, :n_neighbors]
    upper = np.sqrt(np.maximum(distance2, 0.0) + relative * size[:, :n_neighbors])
    if is_certain.all():
        return indices, np.sqrt(distance2).astype(X.dtype, copy=False)
    distances = np.where(is_certain[:, None], np.sqrt(np.maximum(distance2, 0.0)), upper).astype(X.dtype, copy=False)
    return _compare_within_radius(X, query, indices, distances, np.flatnonzero(~is_certain))


def _search_device(X: Array, query: Array, n_candidates: int) -> tuple[Array, Array]:
    """Candidates by matrix products on the device where the points live, by lower bounds of their distances.

    As in :func:`_nearest_in_wide`, the rounding of a pair is relative to the norms of these two.
    """
    xp, _, device = get_namespace_and_device(X)
    X, query = (in_full_precision(xp, device, table) for table in (X, query))
    norm2, query_norm2 = xp.sum(X * X, axis=1), xp.sum(query * query, axis=1)
    kept = 1.0 - _relative_rounding(X.shape[1], _unit_of(xp, X.dtype))
    indices, farthest = [], []
    for rows in blocks(query.shape[0], _BLOCK[False] // X.shape[0]):
        values = kept * norm2[None, :] - 2.0 * (query[rows, :] @ X.T)
        found = xp.astype(smallest(xp, values, n_candidates), xp.int64)
        indices.append(found)
        farthest.append(xp.max(xp.take_along_axis(values, found, axis=1), axis=1))
    return xp.concat(indices, axis=0), xp.concat(farthest) + kept * query_norm2


def _unit_of(xp: Any, dtype: Any) -> float:
    """Relative error of one rounding."""
    return 2.0 ** (-24 if dtype == xp.float32 else -53)


def in_full_precision(xp: Any, device: Any, X: Array) -> Array:
    """A table whose products keep the digits of its type, to which torch may be told to prefer speed."""
    if X.dtype == xp.float32 and not _multiplies_fully(xp):
        return xp.astype(X, max_precision_float_dtype(xp, device))
    return X


def _multiplies_fully(xp: Any) -> bool:
    """Whether products of matrices in single precision round no factor to fewer digits."""
    try:
        return getattr(xp, "get_float32_matmul_precision", lambda: "highest")() == "highest"
    except RuntimeError:  # torch does not tell once it was told otherwise for one kind of device
        return False


def _relative_rounding(n_columns: int, unit: float) -> float:
    """Bound on the rounding error of ``b'b - 2 a'b``, relative to the squared norms of the points."""
    return 2.0 * (n_columns + 8) * unit


def _squared_norms(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=float).reshape(-1)
    return np.einsum("ij,ij->i", X, X, dtype=float)


def smallest(xp: Any, values: Array, count: int) -> Array:
    """Places of the smallest values of every row; a whole sort only where the namespace has nothing better."""
    if hasattr(xp, "topk"):
        return xp.topk(values, count, dim=1, largest=False).indices
    if hasattr(xp, "argpartition"):
        return xp.argpartition(values, min(count, values.shape[1] - 1), axis=1)[:, :count]
    return xp.argsort(values, axis=1)[:, :count]


def _refine(X: Array, query: Array | None, candidates: Array, bound: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Exact distances of the candidates, sorted by distance and then by row; of all rows in doubt where needed."""
    xp, _, device = get_namespace_and_device(candidates)
    candidates = xp.sort(xp.astype(candidates, xp.int64, copy=False), axis=1)
    complete = candidates.shape[1] == X.shape[0]
    height = (_CACHE if is_numpy_namespace(xp) else _BLOCK[False]) // (candidates.shape[1] * X.shape[1])
    indices, distances = [], []
    for block in blocks(candidates.shape[0], height):
        rows = xp.arange(block.start, block.stop, device=device)
        place = candidates[block, :]
        distance = _distances(X, query, rows, place)
        if query is None:
            distance = xp.where(place == rows[:, None], xp.full_like(distance, xp.inf), distance)
        order = xp.argsort(distance, axis=1, stable=True)[:, :n_neighbors]
        indices.append(xp.take_along_axis(place, order, axis=1))
        distances.append(xp.take_along_axis(distance, order, axis=1))
    place, distance = xp.concat(indices, axis=0), xp.concat(distances, axis=0)
    uncertain = xp.astype(distance[:, -1], bound.dtype) ** 2 >= bound
    if complete or not bool(xp.any(uncertain)):
        return place, distance
    # all of them together: wide tables are refined a row at a time, and every comparison passes over the table
    return _compare_within_radius(X, query, place, distance, xp.nonzero(uncertain)[0])


def _distances(X: Array, query: Array | None, rows: Array, place: Array) -> Array:
    """Distances of some queries to some rows of ``X`` each, from differences; summed in double on an accelerator."""
    queries = X if query is None else query
    if sparse.issparse(X):
        difference = queries[np.repeat(rows, place.shape[1])] - X[place.ravel()]
        return np.sqrt(np.asarray(difference.multiply(difference).sum(axis=1)).reshape(place.shape))
    xp, _, device = get_namespace_and_device(X)
    if is_numpy_namespace(xp):
        difference = X[place]
        difference -= queries[rows, None, :]
        return np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
    near = xp.reshape(xp.take(X, xp.reshape(place, (-1,)), axis=0), (*place.shape, X.shape[1]))
    near = near - xp.take(queries, rows, axis=0)[:, None, :]
    return xp.sqrt(xp.sum(near * near, axis=2, dtype=max_precision_float_dtype(xp, device)))


def _compare_within_radius(
    X: Array, query: Array | None, indices: Array, distances: Array, uncertain: Array
) -> tuple[Array, Array]:
    """Compare all rows that rounding errors cannot exclude from the neighbors of the uncertain queries."""
    xp, _, device = get_namespace_and_device(indices)
    places = to_numpy(uncertain)
    nearest_rows, nearest_distances = [], []
    for block in blocks(places.size, _BLOCK[is_numpy_namespace(xp)] // X.shape[0]):
        queries = uncertain[block]
        radius = to_numpy(xp.take(distances[:, -1], queries)).astype(float)
        i, j = _pairs_within_radius(X, query, queries, radius)
        distance = _pair_distances(X, query, to_numpy(queries)[i], j)
        order = np.lexsort((j, distance, i))
        start = np.searchsorted(i[order], np.arange(radius.size))
        nearest = order[start[:, None] + np.arange(indices.shape[1])]
        nearest_rows.append(j[nearest])
        nearest_distances.append(distance[nearest])
    all_rows: Any = to_numpy(indices).copy()
    all_distances: Any = to_numpy(distances).copy()
    all_rows[places], all_distances[places] = np.concatenate(nearest_rows), np.concatenate(nearest_distances)
    if is_numpy_namespace(xp):
        return all_rows, all_distances
    return move_to(all_rows, xp=xp, device=device), move_to(all_distances, xp=xp, device=device)


def _pairs_within_radius(
    X: Array, query: Array | None, rows: Array, radius: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (query, row of ``X``) whose distance may be at most ``radius``, given the rounding errors of a product."""
    on_host = sparse.issparse(X) or isinstance(X, np.ndarray)
    i, j = (_pairs_on_host if on_host else _pairs_on_device)(X, X if query is None else query, rows, radius)
    if query is None:
        others = to_numpy(rows)[i] != j
        i, j = i[others], j[others]
    return i, j


def _pairs_on_host(X: Any, queries: Any, rows: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    some = queries[rows]
    if sparse.issparse(X):
        product, query_norm2, norm2 = (some @ X.T).toarray(), _squared_norms(some), _squared_norms(X)
    else:
        product, query_norm2, norm2 = (
            each.astype(float) for each in (some @ X.T, np.sum(some**2, axis=1), np.sum(X**2, axis=1))
        )
    distance2 = query_norm2[:, None] + norm2[None, :] - 2.0 * product
    unit = 2.0**-53 if sparse.issparse(X) else _unit_of(np, X.dtype)
    rounding = _relative_rounding(X.shape[1], unit) * (query_norm2 + norm2.max()) + _RADIUS_ERROR * radius**2
    i, j = np.nonzero(distance2 <= (radius**2 + rounding)[:, None])
    return i, j


def _pairs_on_device(X: Array, queries: Array, rows: Array, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same in double precision, if the device has it, for single leaves too many; some rows of ``X`` at a time."""
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    relative = _relative_rounding(X.shape[1], _unit_of(xp, accumulator))
    some = xp.astype(xp.take(queries, rows, axis=0), accumulator, copy=False)
    query_norm2 = (1.0 - relative) * xp.sum(some * some, axis=1)
    reach = xp.astype(move_to(radius**2 * (1.0 + _RADIUS_ERROR), xp=xp, device=device), accumulator) - query_norm2
    pairs = []
    for part in blocks(X.shape[0], _BLOCK[False] // max(X.shape[1], rows.shape[0])):
        points = xp.astype(X[part, :], accumulator, copy=False)
        norm2 = (1.0 - relative) * xp.sum(points * points, axis=1)
        near = xp.nonzero(norm2[None, :] - 2.0 * (some @ points.T) <= reach[:, None])
        pairs.append((to_numpy(near[0]), part.start + to_numpy(near[1])))
    i, j = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return i, j


def _pair_distances(X: Array, query: Array | None, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Distances of pairs, from differences, as numpy."""
    on_host = sparse.issparse(X) or isinstance(X, np.ndarray)
    xp, _, device = (np, None, None) if on_host else get_namespace_and_device(X)
    found = []
    for some in blocks(rows.size, _BLOCK[on_host] // X.shape[1]):
        pair = [part[some] if on_host else move_to(part[some], xp=xp, device=device) for part in (rows, others)]
        found.append(to_numpy(_distances(X, query, pair[0], pair[1][:, None])).reshape(-1))
    return np.concatenate(found)
