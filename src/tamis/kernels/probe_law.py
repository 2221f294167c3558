"""The law of the angle between a fixed subspace and a random vector."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincc, ndtri


def probe_survival(cos2: float, dof: float, n_targets: int = 1) -> float:
    """Chance that a random direction in ``dof`` dimensions has a squared cosine above ``cos2`` with ``n_targets`` targets.

    The squared cosine follows Beta(m / 2, (v - m) / 2), Eq. (2) for m = 1; ``betaincc`` keeps the small tail that
    ``1 - cdf`` rounds to zero.
    """
    if dof <= n_targets:
        return 1.0  # a random direction explains everything there is
    return float(betaincc(n_targets / 2, (dof - n_targets) / 2, np.clip(cos2, 0.0, 1.0)))


def best_of(survival: float, n_candidates: int) -> float:
    """Chance that the best of ``n_candidates`` independent probes passes where one does with chance ``survival``."""
    return float(-np.expm1(n_candidates * np.log1p(-survival))) if survival < 1 else 1.0


def check_draws(n_draws: int, risk: float) -> None:
    """Refuse a number of draws from which no p-value as small as the risk can come."""
    if (n_draws + 1) * risk < 1:
        needed = int(np.ceil(1 / risk)) - 1
        raise ValueError(f"n_draws={n_draws} cannot tell a risk of {risk:g}; use at least {needed}")


def tail_error(x_skew: np.ndarray, x_kurt: np.ndarray, y: np.ndarray, tail: float) -> float:
    """By how much, relatively, the Gaussian law errs on the tail of permuted products ``x' y``; mean over columns.

    The second-order Edgeworth terms at the two-sided ``tail`` quantile z of a sum over n random pairings, whose excess
    kurtosis is k_x k_y / n and whose skewness is s_x s_y / sqrt(n).
    """
    n = y.shape[0]
    z = float(-ndtri(np.clip(tail / 2, 1e-12, 0.49)))
    y_skew, y_kurt = shape_moments(y)
    kurtosis = x_kurt * y_kurt / n
    skewness2 = (x_skew * y_skew) ** 2 / n
    he3, he5 = z**3 - 3 * z, z**5 - 10 * z**3 + 15 * z
    return float(np.mean(np.abs(z * (kurtosis / 24 * he3 + skewness2 / 72 * he5))))


def shape_moments(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Skewness and excess kurtosis of every column; zero for constant ones."""
    centered = columns - columns.mean(axis=0)
    scale = np.sqrt((centered**2).mean(axis=0))
    standard = centered / np.where(scale > 0, scale, 1.0)
    return (standard**3).mean(axis=0), np.where(scale > 0, (standard**4).mean(axis=0) - 3.0, 0.0)
