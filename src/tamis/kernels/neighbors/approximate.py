"""Approximate nearest neighbors of the rows of a table: a search graph in place of all distances.

Rows are the nodes of a hierarchical navigable small world graph (Malkov and Yashunin 2018), as faiss builds it; a query
walks from node to node towards nearer ones. What the walk finds is compared in double precision, from differences, so
that the distances given are true ones and ties go to the lowest row; what it passes by is lost.

The graph is built by one thread from levels drawn with a fixed seed, so that the same rows have the same neighbors,
whatever the number of threads that search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.neighbors.search import nearest_neighbors

_LINKS = 32  # of a node, on every level of the graph
_BUILD_WIDTH = 100  # nodes held while links of a new one are chosen
_SEARCH_WIDTH = 160  # nodes held while a query walks, at least
_SPARE = 3  # candidates beyond the number of neighbors
_BLOCK = 2**22  # numbers held at a time


def approximate_neighbors(
    X: np.ndarray, n_neighbors: int, *, query: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``X`` that are nearly the nearest, by Euclidean distance, nearest first.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int
        How many; at most ``n_samples``, less one where rows are their own queries.
    query : ndarray of shape (n_queries, n_features), default=None
        As for :func:`~tamis.kernels.neighbors.search.nearest_neighbors`: None stands for the rows of ``X``, none of
        which is its own neighbor.

    Returns
    -------
    indices : ndarray of shape (n_queries, n_neighbors), int64
    distances : ndarray of shape (n_queries, n_neighbors)

    Notes
    -----
    Cost about O(n_samples log(n_samples) n_features), memory for the rows in single precision and 256 bytes a row for
    the graph.

    References
    ----------
    Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using hierarchical navigable small
    world graphs", IEEE PAMI, 2018. Douze et al., "The Faiss library", 2024.
    """
    others = X.shape[0] - (query is None)
    if not 1 <= n_neighbors <= others:
        raise ValueError(f"n_neighbors={n_neighbors} must lie between 1 and {others}, the number of other rows")
    if not isinstance(X, np.ndarray):
        raise ValueError("neighbors='approximate' is for dense tables of numpy; take neighbors='exact'")
    center, unit = X.mean(axis=0), float(np.abs(X).max()) or 1.0
    find = _search_graph(_in_single(X, center, unit), min(n_neighbors + (query is None) + _SPARE, X.shape[0]))
    queries = X if query is None else query
    indices = np.empty((len(queries), n_neighbors), dtype=np.int64)
    distances = np.empty((len(queries), n_neighbors), dtype=X.dtype)
    for block in blocks(len(queries), _BLOCK // (X.shape[1] * (n_neighbors + 1 + _SPARE))):
        found = find(_in_single(queries[block], center, unit))
        own = np.arange(block.start, block.stop) if query is None else None
        indices[block], distances[block] = _nearest_among(X, queries[block], found, own, n_neighbors)
    return _complete(X, queries, indices, distances, is_own=query is None)


def _in_single(X: np.ndarray, center: np.ndarray, unit: float) -> np.ndarray:
    return np.ascontiguousarray((X - center) / unit, dtype=np.float32)


def _search_graph(points: np.ndarray, n_found: int) -> Callable[[np.ndarray], np.ndarray]:
    """Rows near each query, -1 where the walk found fewer than asked for."""
    faiss = _import_faiss()
    index = faiss.IndexHNSWFlat(points.shape[1], _LINKS)
    index.hnsw.efConstruction = _BUILD_WIDTH
    index.hnsw.efSearch = max(_SEARCH_WIDTH, 2 * n_found)
    with _one_thread(faiss):  # two that add rows at once link them as the clock will have it
        for block in blocks(len(points), _BLOCK // points.shape[1]):
            index.add(points[block])
    return lambda queries: index.search(queries, n_found)[1]


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            "neighbors='approximate' needs faiss: pip install 'tamis[scale]', or take neighbors='exact'"
        ) from error
    return faiss


def _nearest_among(
    X: np.ndarray, queries: np.ndarray, found: np.ndarray, own: np.ndarray | None, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of the rows found, by distance and then by row; at infinity where there are too few."""
    found = np.sort(found, axis=1)
    difference = X[found] - queries[:, None, :]
    distance = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
    distance[found < 0] = np.inf
    if own is not None:
        distance[found == own[:, None]] = np.inf
    order = np.argsort(distance, axis=1, stable=True)[:, :n_neighbors]
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(distance, order, axis=1)


def _complete(
    X: np.ndarray, queries: np.ndarray, indices: np.ndarray, distances: np.ndarray, *, is_own: bool
) -> tuple[np.ndarray, np.ndarray]:
    """An exact search for the few queries whose walk met too few rows."""
    short = np.flatnonzero(np.isinf(distances[:, -1]))
    if not short.size:
        return indices, distances
    rows, away = nearest_neighbors(X, indices.shape[1] + is_own, query=queries[short])
    if is_own:  # which comes first, or among its copies, or not at all where these are many
        away = np.where(rows == short[:, None], np.inf, away)
    order = np.argsort(away, axis=1, stable=True)[:, : indices.shape[1]]
    indices[short], distances[short] = np.take_along_axis(rows, order, axis=1), np.take_along_axis(away, order, axis=1)
    return indices, distances


SEARCHES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "exact": nearest_neighbors,
    "approximate": approximate_neighbors,
}
