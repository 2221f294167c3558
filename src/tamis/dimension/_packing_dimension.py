"""Packing dimension: how many samples can lie a radius apart."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tamis._sklearn import Interval
from tamis.dimension._base import DimensionEstimator, rows_of
from tamis.dimension._pairs import close_pairs, distinct_rows


class PackingDimension(DimensionEstimator):
    r"""Growth of the number of samples that lie at least a radius apart, as the radius shrinks.

    .. math:: \hat d = - \frac{\log M(r_2) - \log M(r_1)}{\log r_2 - \log r_1}

    with :math:`M(r)` the size of a set of samples no two of which are nearer than :math:`r`, found by taking samples in
    random order while they fit, and :math:`\log M` averaged over orders (Kégl 2003; Doquet 2019, Sec. 2.2.2).

    Parameters
    ----------
    n_neighbors : int, default=40
        Other samples within the larger radius, on average; at most all of them.
    ratio : float, default=0.2
        Share of these pairs that lie within the smaller radius.
    n_orders : int, default=10
        Random orders.
    standardize : bool, default=True
        Give every column zero mean and unit variance first, so that units do not matter.
    n_subsamples : int, default=20
        Random subsamples from which the standard error is estimated; 0 switches it off.
    subsample : float, default=0.8
        Share of the rows in each, drawn without replacement.
    max_samples : int or None, default=10000
        As for :class:`TwoNN`.
    random_state : int, RandomState or None, default=None
        Of the orders, and of the subsamples.
    n_jobs : int, default=None
        Subsamples in parallel, through joblib.

    Attributes
    ----------
    dimension_ : float
        0 for identical points; infinite where all pairs are equally far.
    standard_error_, subsample_dimensions_, sample_indices_
        As for :class:`TwoNN`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost O(n^2 D) for each subsample, in blocks; memory for one block and ``n_neighbors`` pairs per sample. Copies of a
    sample count once. Unlike the correlation dimension it does not depend on how dense samples lie, but it saturates:
    a set of n samples has no packing larger than n, so that the estimate is far too low beyond a few dimensions
    (3 of 5 and 4.5 of 10 for 1500 samples in a cube).

    References
    ----------
    Kégl, "Intrinsic dimension estimation using packing numbers", NIPS 15, 2003. Doquet, "Agnostic feature selection",
    PhD thesis, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dimension import PackingDimension
    >>> line = np.random.default_rng(0).uniform(size=(300, 1))
    >>> round(PackingDimension(random_state=0).fit(line @ [[1, 2, 3]]).dimension_)
    1
    """

    _parameter_constraints: ClassVar[dict] = {
        **DimensionEstimator._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "ratio": [Interval(Real, 0, 1, closed="neither")],
        "n_orders": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 40,
        ratio: float = 0.2,
        n_orders: int = 10,
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
        self.ratio = ratio
        self.n_orders = n_orders

    def _estimate(self, state: np.ndarray, rows: np.ndarray, rng: np.random.RandomState) -> float:
        points = distinct_rows(rows_of(state, rows))
        if (n := points.shape[0]) == 1:
            return 0.0
        if (pairs := close_pairs(points, self.n_neighbors, self.ratio)) is None:
            return np.inf
        orders = [rng.permutation(n) for _ in range(self.n_orders)]
        log_size = []
        for place in (pairs.inner, pairs.outer):
            nearer = np.searchsorted(pairs.d2, pairs.d2[place])
            graph = _neighbor_graph(pairs.first[:nearer], pairs.second[:nearer], n)
            log_size.append(np.mean([np.log(pack_greedily(graph, order)) for order in orders]))
        return float((log_size[0] - log_size[1]) / pairs.log_radii)


def _neighbor_graph(first: np.ndarray, second: np.ndarray, n: int) -> sparse.csr_array:
    """Symmetric graph of pairs that cannot both be in a packing."""
    both = np.concatenate([first, second]), np.concatenate([second, first])
    return sparse.csr_array((np.ones(both[0].size, dtype=bool), both), shape=(n, n))


def pack_greedily(graph: sparse.csr_array, order: np.ndarray) -> int:
    """Number of samples taken in that order, each unless one taken before is its neighbor."""
    starts, neighbors = graph.indptr, graph.indices
    excluded = np.zeros(order.size, dtype=bool)
    size = 0
    for i in order.tolist():
        if not excluded[i]:
            size += 1
            excluded[neighbors[starts[i] : starts[i + 1]]] = True
    return size
