"""Geodesic minimal spanning tree: how its length grows with the number of samples."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from tamis._sklearn import Interval
from tamis.dimension._base import DimensionEstimator, rows_of
from tamis.dimension._pairs import distinct_rows
from tamis.kernels.neighbors.search import nearest_neighbors


class GMST(DimensionEstimator):
    r"""Growth of the minimal spanning tree over geodesic distances with the number of samples.

    .. math:: \log L(m) = a \log m + b + \text{error}, \qquad \hat d = \frac{1}{1 - a}

    with :math:`L(m)` the length of the shortest tree that joins m random samples along the graph of nearest neighbors
    (Isomap's), for :math:`L(m) \propto m^{(d - 1) / d}` (Costa and Hero 2004; Doquet 2019, Sec. 2.2.3).

    Parameters
    ----------
    n_neighbors : int, default=10
        Of the graph; at most all other samples.
    n_sizes : int, default=5
        Numbers of samples m, from half to all of them, evenly on the scale of logarithms.
    n_draws : int, default=5
        Random sets of samples of each size.
    standardize : bool, default=True
        Give every column zero mean and unit variance first, so that units do not matter.
    n_subsamples : int, default=20
        Random subsamples from which the standard error is estimated; 0 switches it off.
    subsample : float, default=0.8
        Share of the rows in each, drawn without replacement.
    max_samples : int or None, default=10000
        As for :class:`TwoNN`.
    random_state : int, RandomState or None, default=None
        Of these sets, and of the subsamples.
    n_jobs : int, default=None
        Subsamples in parallel, through joblib.

    Attributes
    ----------
    dimension_ : float
        0 for identical points; at most what the samples can span: the columns that vary, and n - 1.
    standard_error_, subsample_dimensions_, sample_indices_
        As for :class:`TwoNN`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: one search of neighbors and ``n_sizes * n_draws`` trees of O(k n log n) each for each subsample. The tree over
    the geodesic distances of m samples is found without these, from the regions of the graph nearest to each sample
    (Mehlhorn 1988): no n x n matrix. Where the graph falls into parts, the tree is a forest, whose length grows alike.
    Copies of a sample count once. A wrong edge of the graph, a short cut, changes the result (Balasubramanian and
    Schwartz 2002), and as :math:`a` nears 1 its error is blown up: look at the standard error.

    References
    ----------
    Costa and Hero, IEEE Transactions on Signal Processing 52, 2004. Mehlhorn, Information Processing Letters 27, 1988.
    Balasubramanian and Schwartz, Science 295, 2002. Doquet, "Agnostic feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from tamis.dimension import GMST
    >>> X, _ = make_swiss_roll(500, random_state=0)
    >>> round(GMST(random_state=0, n_subsamples=0).fit(X).dimension_)
    2
    """

    _parameter_constraints: ClassVar[dict] = {
        **DimensionEstimator._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_sizes": [Interval(Integral, 2, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        n_sizes: int = 5,
        n_draws: int = 5,
        standardize: bool = True,
        n_subsamples: int = 20,
        subsample: float = 0.8,
        max_samples: int | None = 10_000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            standardize=standardize,
            n_subsamples=n_subsamples,
            subsample=subsample,
            max_samples=max_samples,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.n_neighbors = n_neighbors
        self.n_sizes = n_sizes
        self.n_draws = n_draws

    def _estimate(self, state: np.ndarray, rows: np.ndarray, rng: np.random.RandomState) -> float:
        points = distinct_rows(rows_of(state, rows))
        n = points.shape[0]
        if n == 1:
            return 0.0
        graph = neighbor_graph(points, min(self.n_neighbors, n - 1))
        sizes = np.unique(np.geomspace(max(n / 2, 2), n, self.n_sizes).round().astype(int))
        length = np.array([np.mean(self._lengths(graph, size, rng)) for size in sizes])
        sizes, length = sizes[length > 0], length[length > 0]
        # a tree that does not grow is a line's
        slope = np.polyfit(np.log(sizes), np.log(length), 1)[0] if sizes.size > 1 else 0.0
        most = min(np.count_nonzero(np.ptp(points, axis=0)), n - 1)
        return float(min(1 / (1 - slope), most)) if slope < 1 else float(most)

    def _lengths(self, graph: sparse.csr_array, size: int, rng: np.random.RandomState) -> list[float]:
        n = graph.shape[0]
        n_draws = self.n_draws if size < n else 1  # all samples are the same each time
        return [tree_length(graph, rng.choice(n, size, replace=False)) for _ in range(n_draws)]


def neighbor_graph(X: np.ndarray, n_neighbors: int) -> sparse.csr_array:
    """Symmetric graph in which a sample is linked with its nearest neighbors and with those whose it is."""
    n = X.shape[0]
    indices, distances = nearest_neighbors(X, n_neighbors)
    links = (distances.ravel(), (np.repeat(np.arange(n), n_neighbors), indices.ravel()))
    graph = sparse.csr_array(links, shape=(n, n))
    return graph.maximum(graph.T).tocsr()


def tree_length(graph: sparse.csr_array, samples: np.ndarray) -> float:
    """Length of the minimal spanning tree over the geodesic distances of some samples of a symmetric graph.

    Every node belongs to the sample nearest to it. Of the ways from one sample to another, only those that leave the
    region of the one straight into that of the other matter: one for each link between regions (Mehlhorn 1988).
    """
    distance, _, owner = dijkstra(graph, indices=samples, min_only=True, return_predecessors=True)
    links = sparse.triu(graph).tocoo()
    start, end = owner[links.row], owner[links.col]
    bridge = (start >= 0) & (end >= 0) & (start != end)
    u, v = links.row[bridge], links.col[bridge]
    way = distance[u] + links.data[bridge] + distance[v]
    one, other = np.minimum(owner[u], owner[v]), np.maximum(owner[u], owner[v])
    order = np.lexsort((way, other, one))
    one, other, way = one[order], other[order], way[order]
    shortest = np.ones(way.size, dtype=bool)
    shortest[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    ways = sparse.csr_array((way[shortest], (one[shortest], other[shortest])), shape=graph.shape)
    return float(minimum_spanning_tree(ways).sum())
