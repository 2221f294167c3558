"""The law of the angle between a fixed subspace and a random vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, ndtri

_SMALLEST_TAIL = 1e-280  # below it logarithms are compared
_MOST_TERMS = 500  # of a continued fraction; in the far tail ten or so suffice
_BISECTIONS = 60  # digits of a double


def probe_survival(cos2: Any, dof: float, n_targets: int = 1, n_columns: Any = 1) -> Any:
    r"""Chance that a random direction, or subspace, of ``dof`` dimensions explains more than ``cos2`` of the targets.

    For one direction the squared cosine follows Beta(m / 2, (v - m) / 2) with m targets, Eq. (2) of Stoppiglia et al.
    for m = 1; for a subspace of r dimensions and one target Beta(r / 2, (v - r) / 2). With several of both, ``cos2`` is
    one minus Wilks' lambda and its law that of Rao (1951),

    .. math:: 1 - \Lambda^{1/t} \sim \mathrm{Beta}(mr/2, d/2), \quad t^2 = \frac{m^2 r^2 - 4}{m^2 + r^2 - 5}, \quad
              d = t \bigl(v - \tfrac{m + r + 1}{2}\bigr) - \tfrac{mr}{2} + 1,

    which is exact where m or r is at most 2, and gives too small a chance where v - m - r is small (.063 for .05 at
    v = 29, m = 9, r = 15). ``betaincc`` keeps the small tail that ``1 - cdf`` rounds to zero.

    Parameters
    ----------
    cos2 : float or ndarray
    dof : float
        Dimension v of the space in which both lie.
    n_targets : int
    n_columns : int or ndarray
        Dimension r of the random subspace.
    """
    is_free, a, b, share = _beta_law(cos2, dof, n_targets, n_columns)
    survival = np.where(is_free, betaincc(a, b, share), 1.0)
    return float(survival) if survival.ndim == 0 else survival


def single_column_cos2(cos2: Any, dof: Any, n_targets: int, n_columns: Any) -> np.ndarray:
    """Squared cosine at which a random direction is as rare as a random subspace is at ``cos2``.

    The solution c of ``probe_survival(c, v, m, 1) == probe_survival(cos2, v, m, r)``: what subspaces of different
    dimensions explain becomes comparable, and what a single column explains stays as it is. Tails too small for a
    double are compared by their logarithms.

    Parameters
    ----------
    cos2, dof, n_targets, n_columns
        As in :func:`probe_survival`; arrays of one shape, or to be broadcast.

    Returns
    -------
    ndarray
        At most ``cos2``; 0 for subspaces that intersect with the targets whatever these are.
    """
    cos2, dof, r = np.broadcast_arrays(np.asarray(cos2, dtype=float), dof, np.asarray(n_columns, dtype=float))
    equivalent = cos2.copy()
    wide = r > 1
    equivalent[wide] = _single_column_cos2(cos2[wide], dof[wide].astype(float), float(n_targets), r[wide])
    return equivalent


def _single_column_cos2(cos2: np.ndarray, dof: np.ndarray, m: float, r: np.ndarray) -> np.ndarray:
    is_free, a, b, share = _beta_law(cos2, dof, m, r)
    survival, rest = np.where(is_free, betaincc(a, b, share), 1.0), np.maximum(dof - m, 1.0) / 2
    below = np.where(is_free, betainc(a, b, share), 0.0)
    # the smaller of the two tails, which keeps its digits
    equivalent = np.where(survival < 0.5, betainccinv(m / 2, rest, survival), betaincinv(m / 2, rest, below))
    # scipy finds no root where almost nothing lies below: there it is 0
    equivalent = np.minimum(np.where(np.isnan(equivalent), 0.0, equivalent), cos2)
    far = np.flatnonzero(is_free & (survival < _SMALLEST_TAIL) & (share < 1.0))
    if far.size:
        tail = log_betaincc(a[far], b[far], share[far])
        equivalent[far] = _solve_log_tail(tail, m / 2, (dof[far] - m) / 2, cos2[far])
    return np.where(is_free & (share >= 1.0), 1.0, equivalent)


def _beta_law(cos2: Any, dof: Any, n_targets: float, n_columns: Any) -> tuple[np.ndarray, ...]:
    """Whether the law of :func:`probe_survival` exists, its two parameters, and where it is asked for."""
    m, r = float(n_targets), np.asarray(n_columns, dtype=float)
    has_root = (np.minimum(m, r) > 1) & (m**2 + r**2 > 5)  # otherwise the law of one direction, t = 1
    t = np.sqrt(np.divide(m**2 * r**2 - 4, m**2 + r**2 - 5, out=np.ones_like(r), where=has_root))
    rest = t * (dof - (m + r + 1) / 2) - m * r / 2 + 1
    share = -np.expm1(np.log1p(-np.clip(cos2, 0.0, 1.0 - 2.0**-53)) / t)
    share = np.where(np.asarray(cos2) >= 1.0, 1.0, np.where(t == 1.0, np.clip(cos2, 0.0, 1.0), share))
    # where m + r > v the two always intersect, so that anything explains everything
    is_free = (rest > 0) & (r > 0) & (m + r <= dof)
    return np.asarray(is_free), np.maximum(m * r / 2, 0.5), np.where(is_free, rest, 1.0) / 2, share


def log_betaincc(a: Any, b: Any, x: np.ndarray) -> np.ndarray:
    """Logarithm of the upper tail of Beta(a, b) at ``x`` above its mean, which may be too small for a double.

    The continued fraction of ``I_z(b, a)``, ``z = 1 - x`` (DLMF 8.17.22), by the modified method of Lentz.
    """
    z = 1.0 - x
    c, d = np.ones_like(z), 1.0 / (1.0 - (a + b) * z / (b + 1.0))
    fraction = d
    for k in range(1, _MOST_TERMS):
        even = k * (a - k) * z / ((b + 2 * k - 1.0) * (b + 2 * k))
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        fraction = fraction * d * c
        odd = -(b + k) * (a + b + k) * z / ((b + 2 * k) * (b + 2 * k + 1.0))
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        fraction = fraction * d * c
        if np.all(np.abs(d * c - 1.0) < np.finfo(float).eps):
            break
    return b * np.log(z) + a * np.log(x) - np.log(b) - betaln(a, b) + np.log(fraction)


def _solve_log_tail(tail: np.ndarray, a: float, b: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """Where the logarithm of the upper tail of Beta(a, b) is ``tail``: bisection of -log(1 - x) below ``highest``."""
    low, high = np.zeros_like(tail), -np.log1p(-highest)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_above = log_betaincc(a, b, -np.expm1(-middle)) < tail
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return -np.expm1(-(low + high) / 2)


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
