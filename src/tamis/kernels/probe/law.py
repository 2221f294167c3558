"""The law of the angle between a fixed subspace and a random vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincc, ndtri


def probe_survival(cos2: Any, dof: float, n_targets: int = 1, n_columns: Any = 1) -> Any:
    r"""Chance that a random direction, or subspace, of ``dof`` dimensions explains more than ``cos2`` of the targets.

    For one direction the squared cosine follows Beta(m / 2, (v - m) / 2) with m targets, Eq. (2) of Stoppiglia et al.
    for m = 1; for a subspace of r dimensions and one target Beta(r / 2, (v - r) / 2). With several of both, ``cos2`` is
    one minus Wilks' lambda and its law that of Rao (1951),

    .. math:: 1 - \Lambda^{1/t} \sim \mathrm{Beta}(mr/2, d/2), \quad t^2 = \frac{m^2 r^2 - 4}{m^2 + r^2 - 5}, \quad
              d = t \bigl(v - \tfrac{m + r + 1}{2}\bigr) - \tfrac{mr}{2} + 1,

    which is exact where m or r is at most 2. ``betaincc`` keeps the small tail that ``1 - cdf`` rounds to zero.

    Parameters
    ----------
    cos2 : float or ndarray
    dof : float
        Dimension v of the space in which both lie.
    n_targets : int
    n_columns : int or ndarray
        Dimension r of the random subspace.
    """
    m, r = float(n_targets), np.asarray(n_columns, dtype=float)
    has_root = (np.minimum(m, r) > 1) & (m**2 + r**2 > 5)  # otherwise the law of one direction, t = 1
    t = np.sqrt(np.divide(m**2 * r**2 - 4, m**2 + r**2 - 5, out=np.ones_like(r), where=has_root))
    rest = t * (dof - (m + r + 1) / 2) - m * r / 2 + 1
    share = -np.expm1(np.log1p(-np.clip(cos2, 0.0, 1.0 - 2.0**-53)) / t)
    share = np.where(np.asarray(cos2) >= 1.0, 1.0, np.where(t == 1.0, np.clip(cos2, 0.0, 1.0), share))
    # where m + r > v the two always intersect, so that anything explains everything
    is_free = (rest > 0) & (r > 0) & (m + r <= dof)
    survival = np.where(is_free, betaincc(np.maximum(m * r / 2, 0.5), np.where(is_free, rest, 1.0) / 2, share), 1.0)
    return float(survival) if survival.ndim == 0 else survival


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
    square = standard * standard  # products, for numpy raises to powers above 2 many times slower
    standard *= square
    square *= square
    return weight @ standard, np.where(scale > 0, weight @ square - 3.0, 0.0)
