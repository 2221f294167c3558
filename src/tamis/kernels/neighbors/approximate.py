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
from scipy.spatial.distance import cdist

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
    graph = SearchGraph(X, n_neighbors, holds_queries=query is None)
    return graph.nearest(X, np.arange(len(X))) if query is None else graph.nearest(query)


class SearchGraph:
    """Rows of a table, ready to be searched for those that are nearly the nearest to others.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int
        How many are asked for.
    metric : {"euclidean", "manhattan"}, default="euclidean"
    holds_queries : bool, default=True
        Whether rows of ``X``, which are not their own neighbors, are among the queries.
    """

    def __init__(
        self, X: np.ndarray, n_neighbors: int, *, metric: str = "euclidean", holds_queries: bool = True
    ) -> None:
        self.X, self.n_neighbors, self.metric = X, n_neighbors, metric
        self._center, self._unit = X.mean(axis=0), float(np.abs(X).max()) or 1.0
        self._n_found = min(n_neighbors + holds_queries + _SPARE, len(X))
        self._index = _link_rows(self._in_single(X), self._n_found, metric)

    def nearest(self, queries: np.ndarray, own: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows nearest to each query and their distances, nearest first, and of equally distant ones the first.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
        own : ndarray of int of shape (n_queries,), default=None
            Row that a query is, and which is no neighbor of it; -1, or None for all, where it is none.
        """
        indices = np.empty((len(queries), self.n_neighbors), dtype=np.int64)
        distances = np.empty((len(queries), self.n_neighbors), dtype=self.X.dtype)
        own = np.full(len(queries), -1) if own is None else own
        for block in blocks(len(queries), _BLOCK // (self.X.shape[1] * (self.n_neighbors + 1 + _SPARE))):
            _, found = self._index.search(self._in_single(queries[block]), self._n_found)  # -1 where these are fewer
            indices[block], distances[block] = self._nearest_among(queries[block], np.sort(found, axis=1), own[block])
        short = np.flatnonzero(np.isinf(distances[:, -1]))  # few, whose walk met too few rows
        for block in blocks(short.size, max(1, _BLOCK // len(self.X))):
            some = short[block]
            everyone = self._search_exactly(queries[some])
            indices[some], distances[some] = self._nearest_among(queries[some], everyone, own[some])
        return indices, distances

    def _in_single(self, X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((X - self._center) / self._unit, dtype=np.float32)

    def _nearest_among(self, queries: np.ndarray, found: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of the rows found, by distance and then by row; at infinity where there are too few."""
        difference = self.X[found] - queries[:, None, :]
        if self.metric == "manhattan":
            distance = np.abs(difference, out=difference).sum(axis=2)
        else:
            distance = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
        distance[(found < 0) | (found == own[:, None])] = np.inf
        order = np.argsort(distance, axis=1, stable=True)[:, : self.n_neighbors]
        return np.take_along_axis(found, order, axis=1), np.take_along_axis(distance, order, axis=1)

    def _search_exactly(self, queries: np.ndarray) -> np.ndarray:
        """One row more than asked for, which may be the query itself, in ascending order."""
        n_found = min(self.n_neighbors + 1, len(self.X))
        if self.metric == "euclidean":
            return np.sort(nearest_neighbors(self.X, n_found, query=queries)[0], axis=1)
        distance = cdist(queries, self.X, "cityblock")
        return np.sort(np.argsort(distance, axis=1, stable=True)[:, :n_found], axis=1)


def _link_rows(points: np.ndarray, n_found: int, metric: str) -> Any:
    """The graph of faiss, by whose ``search`` so many rows near each query are found."""
    faiss = _import_faiss()
    kind = faiss.METRIC_L1 if metric == "manhattan" else faiss.METRIC_L2
    index = faiss.IndexHNSWFlat(points.shape[1], _LINKS, kind)
    index.hnsw.efConstruction = _BUILD_WIDTH
    index.hnsw.efSearch = max(_SEARCH_WIDTH, 2 * n_found)
    with _one_thread(faiss):  # two that add rows at once link them as the clock will have it
        for block in blocks(len(points), _BLOCK // points.shape[1]):
            index.add(points[block])
    return index


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


SEARCHES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "exact": nearest_neighbors,
    "approximate": approximate_neighbors,
}
