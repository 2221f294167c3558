"""Levels by the mean target of other rows, such that a column of noise correlates with the target by chance only."""

from __future__ import annotations

import numpy as np


def ordered_means(codes: np.ndarray, targets: np.ndarray, seed: int = 0) -> np.ndarray:
    r"""Mean of the target over the rows of the same level that come before, in a random order of the rows.

    With :math:`\sigma` the order and :math:`\bar y` the mean of all,

    .. math:: e_i = \frac{\sum_{j : c_j = c_i, \sigma_j < \sigma_i} (y_j - \bar y)}
                         {1 + \#\{j : c_j = c_i, \sigma_j < \sigma_i\}}

    (ordered target statistics of Prokhorenkova et al. 2018, with a prior that counts as one row). If the levels tell
    nothing, :math:`e_i` depends on earlier targets only and :math:`\sum_i e_i y_i` is a martingale: its variance is
    :math:`\sigma_y^2 \sum_i e_i^2`, that of any column drawn without looking at the target, which is what probes and
    permuted copies are. Cross-fitting by folds does not have this property: there row i enters the code of row j and
    row j that of row i, each pair counts twice, and the variance of the correlation is twice as large (a column of
    200 levels of noise is then kept at 11 to 15 % where 2.5 % are nominal).

    Parameters
    ----------
    codes : ndarray of int of shape (n_samples,)
    targets : ndarray of shape (n_samples, n_targets)
    seed : int, default=0

    Returns
    -------
    ndarray of shape (n_samples, n_targets)

    References
    ----------
    Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin, "CatBoost: unbiased boosting with categorical features",
    NeurIPS 2018, Sec. 3.2.
    """
    n_samples = codes.size
    order = np.lexsort((np.random.RandomState(seed).permutation(n_samples), codes))
    deviations = (targets - targets.mean(axis=0))[order]
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order[0]] - 1))
    sizes = np.diff(starts, append=n_samples)
    before = np.cumsum(deviations, axis=0) - deviations
    sums = before - np.repeat(before[starts], sizes, axis=0)
    counts = np.arange(n_samples) - np.repeat(starts, sizes)
    means = np.empty_like(sums)
    means[order] = sums / (1.0 + counts)[:, None]
    return means
