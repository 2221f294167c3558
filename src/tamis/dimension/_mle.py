"""Maximum likelihood: the dimension from how fast the neighbors of a sample thin out."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.dimension._base import DimensionEstimator
from tamis.dimension._neighborhoods import Neighborhoods, find_neighborhoods
from tamis.kernels.arrays.tolerances import EQUAL_DISTANCE
from tamis.kernels.neighbors.approximate import SEARCHES


class MLE(DimensionEstimator):
    r"""Dimension that makes the distances to the k nearest neighbors most likely.

    .. math:: d(x)^{-1} = \frac{1}{k - 1} \sum_{j=1}^{k-1} \log \frac{T_k(x)}{T_j(x)}, \qquad
              \hat d^{-1} = \frac1n \sum_x d(x)^{-1}

    (Levina and Bickel 2005; :math:`T_j` is the distance to the j-th neighbor), for samples that are a Poisson process
    around each of them. ``aggregate="mean"`` averages the local dimensions themselves (Doquet 2019, Eq. 2.8).

    Parameters
    ----------
    n_neighbors : int, default=20
        k; at most all other samples.
    aggregate : {"harmonic", "mean"}, default="harmonic"
        What is averaged: the inverses, as is most likely if the dimension is the same everywhere (MacKay and
        Ghahramani 2005), or the local dimensions. The former is the default: it is less biased at small k, and a
        sample whose neighbors are all equally far, of infinite dimension, does not make the average infinite.
    standardize, n_subsamples, subsample, max_samples, neighbors, random_state, n_jobs : as for TwoNN
        Units, the standard error by subsampling, and how many rows are looked at.

    Attributes
    ----------
    dimension_ : float
        0 for identical points; infinite where the neighbors of every sample (with "mean", of any) are equally far.
    standard_error_, subsample_dimensions_, sample_indices_
        As for :class:`TwoNN`.
    local_dimension_ : ndarray of shape (n_sampled,)
        Around each sample looked at, with k - 2 in place of k - 1, which makes it unbiased (Levina and Bickel 2005,
        Sec. 3).
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost: as :class:`TwoNN`. Neighbors at distance zero are left out of the sums; a sample with no others says nothing
    about :math:`\hat d`, and its local dimension is 0.

    References
    ----------
    Levina and Bickel, NIPS 17, 2005. MacKay and Ghahramani, "Comments on 'Maximum likelihood estimation of intrinsic
    dimension'", 2005. Doquet, "Agnostic feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dimension import MLE
    >>> plane = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> round(MLE().fit(plane @ [[1, 0, 2], [3, 1, 0]]).dimension_, 1)
    1.9
    """

    provides: ClassVar[frozenset[str]] = frozenset({"sparse", "array_api"})

    _parameter_constraints: ClassVar[dict] = {
        **DimensionEstimator._parameter_constraints,
        "n_neighbors": [Interval(Integral, 2, None, closed="left")],
        "aggregate": [StrOptions({"harmonic", "mean"})],
        "neighbors": [StrOptions(set(SEARCHES))],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 20,
        aggregate: str = "harmonic",
        standardize: bool = True,
        n_subsamples: int = 20,
        subsample: float = 0.8,
        max_samples: int | None = 10_000,
        neighbors: str = "exact",
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
        self.aggregate = aggregate
        self.neighbors = neighbors

    def _prepare(self, X: Any) -> Neighborhoods:
        return find_neighborhoods(X, self._k(X.shape[0]), self.subsample if self.n_subsamples else 1.0, self.neighbors)

    def _estimate(self, state: Neighborhoods, rows: np.ndarray, rng: np.random.RandomState) -> float:
        count, total = sum_log_ratios(state.within(rows, self._k(rows.size)))
        if not count.any():
            return 0.0
        if self.aggregate == "mean":
            return float(np.mean(_local_dimension(count, total)[count > 0]))
        return float(count.sum() / total.sum()) if total.sum() > EQUAL_DISTANCE * count.sum() else np.inf

    def _local(self, state: Neighborhoods) -> np.ndarray:
        return _local_dimension(*sum_log_ratios(state.distances[:, : self._k(state.distances.shape[0])]))

    def _k(self, n_samples: int) -> int:
        return min(self.n_neighbors, n_samples - 1)


def sum_log_ratios(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each sample, how many neighbors before the last have T_j > 0, and their sum of log(T_k / T_j)."""
    is_distinct = distances > 0
    count = np.count_nonzero(is_distinct[:, :-1], axis=1)
    logs = np.log(distances, out=np.zeros_like(distances), where=is_distinct)
    return count, count * logs[:, -1] - logs[:, :-1].sum(axis=1)


def _local_dimension(count: np.ndarray, total: np.ndarray) -> np.ndarray:
    """One term less than there are, against the bias of an inverse; a single term is taken as it is."""
    is_finite = total > EQUAL_DISTANCE * count
    dimension = np.divide(np.maximum(count - 1, 1), total, out=np.full(total.size, np.inf), where=is_finite)
    return np.where(count > 0, dimension, 0.0)
