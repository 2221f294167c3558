"""The law of the angle between a fixed subspace and a random vector."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincc, ndtri


def probe_survival(cos2: float, dof: float, n_targets: int = 1) -> float:
    """Chance that a direction drawn in ``dof`` dimensions has a squared cosine above ``cos2`` with the targets.

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


def enough_draws(risk: float) -> int:
    """The fewest draws from which a p-value below the risk, and not just equal to it, can come."""
    return int(1 / risk)


def tail_error(
    x_shape: tuple[np.ndarray, np.ndarray], y_shape: tuple[np.ndarray, np.ndarray], n: float, tail: float
) -> float:
    """By how much, relatively, the Gaussian law errs on the tail of permuted products ``x' y``; mean over columns x.

    The second-order Edgeworth terms at the two-sided ``tail`` quantile z of a sum over n random pairings, whose excess
    kurtosis is k_x k_y / n and whose skewness is s_x s_y / sqrt(n); the worst over the targets y.
    """
    z = float(-ndtri(np.clip(tail / 2, 1e-12, 0.49)))
    he3, he5 = z**3 - 3 * z, z**5 - 10 * z**3 + 15 * z
    skewness2 = np.outer(x_shape[0], y_shape[0]) ** 2 / n
    kurtosis = np.outer(x_shape[1], y_shape[1]) / n
    return float(np.abs(z * (kurtosis / 24 * he3 + skewness2 / 72 * he5)).mean(axis=0).max())


def shape_moments(columns: np.ndarray, sqrt_weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Skewness and excess kurtosis of centered columns that were multiplied by ``sqrt_weight``; 0 for constant ones."""
    weight = sqrt_weight**2 / np.sum(sqrt_weight**2)
    raw = columns / np.where(sqrt_weight > 0, sqrt_weight, 1.0)[:, None]
    scale = np.sqrt(weight @ raw**2)
    standard = raw / np.where(scale > 0, scale, 1.0)
    return weight @ standard**3, np.where(scale > 0, weight @ standard**4 - 3.0, 0.0)
