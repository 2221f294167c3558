"""Sparsity: how alike all pairwise distances are."""

from __future__ import annotations

import numpy as np

from tamis.dimension._base import DimensionEstimator, rows_of
from tamis.dimension._pairs import pair_distances
from tamis.kernels.arrays.tolerances import EQUAL_DISTANCE


class PairwiseSparsity(DimensionEstimator):
    r"""How far the pairwise distances are concentrated around their mean.

    .. math:: \hat d = \frac{\mu^2}{2 \sigma^2}

    with :math:`\mu` and :math:`\sigma` the mean and the standard deviation of the distances of all pairs of samples
    (Chávez et al. 2001; Doquet 2019, Eq. 2.3): in more dimensions, distances are more alike.

    Parameters
    ----------
    standardize, n_subsamples, subsample, max_samples, random_state, n_jobs : as for TwoNN
        Units, the standard error by subsampling, and how many rows are looked at.

    Attributes
    ----------
    dimension_ : float
        0 for identical points, which is a convention; infinite where all distances are equal, as the formula says.
    standard_error_, subsample_dimensions_, sample_indices_
        As for :class:`TwoNN`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Cost O(n^2 D) for each subsample, in blocks; memory for one block. It looks at samples from afar: clusters make it
    smaller, and it need not be near the dimension of a manifold (Pestov 2007).

    References
    ----------
    Chávez, Navarro, Baeza-Yates and Marroquín, ACM Computing Surveys 33, 2001. Pestov, IJCNN, 2007. Doquet, "Agnostic
    feature selection", PhD thesis, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dimension import PairwiseSparsity
    >>> X = np.random.default_rng(0).standard_normal((500, 10))
    >>> round(PairwiseSparsity().fit(X).dimension_)
    10
    """

    def _estimate(self, state: np.ndarray, rows: np.ndarray, rng: np.random.RandomState) -> float:
        mean, variance = distance_moments(rows_of(state, rows))
        if mean == 0:
            return 0.0
        return float(mean**2 / (2 * variance)) if variance > (EQUAL_DISTANCE * mean) ** 2 else np.inf


def distance_moments(X: np.ndarray) -> tuple[float, float]:
    """Mean and variance of the distances of all pairs, merged block by block (Chan, Golub and LeVeque 1983)."""
    count, mean, scatter = 0, 0.0, 0.0
    for distances in pair_distances(X):
        if (n_new := distances.size) == 0:
            continue
        shift = float(distances.mean()) - mean
        scatter += float(distances.var()) * n_new + shift**2 * count * n_new / (count + n_new)
        mean += shift * n_new / (count + n_new)
        count += n_new
    return mean, scatter / count
