"""The 2-NN dimension of a table (Facco et al. 2017): how far the second neighbor lies behind the first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.arrays.scaling import rescale_safely, standardize_columns
from tamis.kernels.arrays.tolerances import EQUAL_DISTANCE, floor_count
from tamis.kernels.neighbors.search import nearest_neighbors

Array = Any  # an array of any Array-API namespace


def fit_two_nn(distances: np.ndarray, *, discard: float = 0.1) -> float:
    r"""Slope of :math:`-\log(1 - F)` over :math:`\log\mu`, through the origin.

    The ratios :math:`\mu = r_2 / r_1` of samples in a space of dimension :math:`d` follow
    :math:`F(\mu) = 1 - \mu^{-d}`; the i-th smallest of N stands for :math:`F = i / N`.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, 2)
        To the nearest and second nearest neighbor of each sample.
    discard : float, default=0.1
        Share of the ratios left out, the largest; ``floor((1 - discard) N) + 1`` are kept, but never the last.

    Returns
    -------
    float
        A sample with a neighbor at distance zero has an infinite ratio, which counts in N but cannot lie on the line:
        0 where all are such, as for a law of dimension 0. Infinite where all ratios are 1.
    """
    nearest, second = np.asarray(distances, dtype=float).T
    n = nearest.size
    ratio = np.sort(np.divide(second, nearest, out=np.full(n, np.inf), where=nearest > 0))
    kept = min(floor_count((1.0 - discard) * n) + 1, n - 1, np.count_nonzero(np.isfinite(ratio)))
    x = np.log(ratio[:kept])
    y = -np.log1p(-np.arange(1, kept + 1) / n)
    if kept == 0:
        return 0.0
    return float(x @ y / (x @ x)) if x[-1] > EQUAL_DISTANCE else np.inf


def measure_two_nn(X: Array, *, discard: float = 0.1, standardize: bool = True) -> float:
    """2-NN dimension of the rows of a table of at least 3: numpy, sparse, or an Array-API array on its device."""
    table = standardize_columns(X) if standardize else rescale_safely(X)
    distances = to_numpy(nearest_neighbors(table, 2)[1])
    warn_of_copies(distances, discard)
    return fit_two_nn(distances, discard=discard)


def warn_of_copies(distances: np.ndarray, discard: float) -> None:
    """Say so where more samples are copies of others than are left out, given distances to the nearest ones."""
    n_copied = np.count_nonzero(distances[:, 0] == 0)
    if n_copied > discard * len(distances) and distances.any():
        warnings.warn(
            f"{n_copied} of {len(distances)} samples are copies of others, more than the share of {discard:g} that is "
            "discarded: the dimension comes out low; drop the copies first, np.unique(X, axis=0)",
            UserWarning,
            stacklevel=2,
        )
