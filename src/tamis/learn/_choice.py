"""Which configuration to take: the fewest features that do not do worse, compared row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

TOLERANCE = {"accurate": 0.0, "balanced": 0.5, "small": 1.0}  # in standard errors of the paired difference
FEW_ROWS = 150
N_VOTERS = 7
_EQUAL = 1e-12  # mean losses that differ by rounding alone
_RISK = 0.05  # of preferring fewer features, with few rows, to all that are as good


@dataclass(frozen=True)
class Rule:
    r"""The choice among configurations with losses :math:`\ell_{ij}` of row i and configuration j.

    With :math:`\bar\ell_j = \sum_i u_i \ell_{ij}` and :math:`b` the configuration with the least, j does not do worse
    if :math:`\bar\ell_j - \bar\ell_b \le t \, \mathrm{se}(\bar\ell_j - \bar\ell_b)`; of these the first in the order of
    the columns is taken, which is that of the number of features, then of simplicity.

    With ``support`` s (few rows) it is the best configuration with all features, :math:`a`, unless the one chosen does
    better by s standard errors, :math:`\bar\ell_j - \bar\ell_a \le -s \, \mathrm{se}(\bar\ell_j - \bar\ell_a)`.

    Attributes
    ----------
    prefer : {"balanced", "accurate", "small"}
    n_features : ndarray of shape (n_configurations,)
        Ascending.
    is_all : ndarray of bool
        Configurations with all features.
    support : float or None
    """

    prefer: str
    n_features: np.ndarray
    is_all: np.ndarray
    support: float | None

    def choose(self, losses: np.ndarray, scales: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Place of the configuration that each sample of the rows would choose.

        Parameters
        ----------
        losses : ndarray of shape (n_rows, n_configurations)
        scales : ndarray of shape (n_samples, n_rows)
            u of each row in each sample, zero where it is not in it.
        counts : ndarray of shape (n_samples, n_rows)
            How often each row is in the sample.
        """
        mean = scales @ losses
        second = scales**2 / np.where(counts > 0, counts, 1)  # of a row counted w times, w (u / w)^2
        size = counts.sum(axis=1)
        best = (mean <= mean.min(axis=1, keepdims=True) + _EQUAL).argmax(axis=1)  # of equals the first
        chosen = best.copy()
        if self.prefer != "accurate":
            for b in np.unique(best):
                at = np.flatnonzero(best == b)
                error = _standard_errors(losses - losses[:, [b]], scales[at], second[at], size[at])
                worse = mean[at] - mean[at, b][:, None]
                chosen[at] = (worse <= TOLERANCE[self.prefer] * error + _EQUAL).argmax(axis=1)
        if self.support is not None and self.is_all.any():
            chosen = self._with_support(self.support, losses, scales, second, size, mean, chosen)
        return chosen

    def _with_support(
        self,
        support: float,
        losses: np.ndarray,
        scales: np.ndarray,
        second: np.ndarray,
        size: np.ndarray,
        mean: np.ndarray,
        chosen: np.ndarray,
    ) -> np.ndarray:
        """The best configuration with all features where the one chosen is not better by enough."""
        every = np.flatnonzero(self.is_all)
        of_all = mean[:, every]
        reference = every[(of_all <= of_all.min(axis=1, keepdims=True) + _EQUAL).argmax(axis=1)]  # of equals the first
        difference = (losses[:, chosen] - losses[:, reference]).T
        change = (scales * difference).sum(axis=1)
        square = size * (second * difference**2).sum(axis=1)
        error = np.sqrt(np.maximum(square - change**2, 0.0) / size)
        supported = change <= -support * error + _EQUAL
        return np.where(supported, chosen, reference)


def support_with_few_rows(prefer: str, n_rows: int, n_tried: int) -> float | None:
    """Standard errors by which fewer features must be better than all; None with rows enough.

    The best of many that are as good as all features is better by chance: Bonferroni's quantile of the normal law for
    as many as were tried. With ``prefer="small"`` fewer need only do as well.
    """
    if n_rows >= FEW_ROWS:
        return None
    return 0.0 if prefer == "small" else float(norm.ppf(1 - _RISK / n_tried))


def _standard_errors(differences: np.ndarray, scales: np.ndarray, second: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Standard errors over rows of scaled sums of differences, of shape (n_samples, n_configurations)."""
    mean = scales @ differences
    square = size[:, None] * (second @ differences**2)
    return np.sqrt(np.maximum(square - mean**2, 0.0) / size[:, None])


def paired(losses: np.ndarray, scales: np.ndarray, j: int, reference: int) -> tuple[float, float]:
    """Difference of two configurations, and its standard error over rows.

    Deviations are from the mean over all rows, not from that of each class: where classes are of different sizes and
    err differently, it is larger than that of the balanced score (by a fifth at one row in ten), never smaller.
    """
    difference = losses[:, [j]] - losses[:, [reference]]
    size = np.array([float(losses.shape[0])])
    mean = float((scales @ difference)[0, 0])
    return mean, float(_standard_errors(difference, scales, scales**2, size)[0, 0])


def voters(mean: np.ndarray) -> np.ndarray:
    """Places of the best seven configurations, or of all where there are fewer; of equals the first."""
    return np.argsort(mean, kind="stable")[:N_VOTERS]


def vote(outputs: np.ndarray, task: str) -> np.ndarray:
    """What most of the columns say (of equals the lowest code), or their mean.

    Parameters
    ----------
    outputs : ndarray of shape (n_rows, n_voters)
    task : {"classification", "regression"}
    """
    if task == "regression" or outputs.dtype.kind == "f":
        return outputs.mean(axis=1)
    counts = np.stack([(outputs == code).sum(axis=1) for code in range(int(outputs.max()) + 1)], axis=1)
    return counts.argmax(axis=1)
