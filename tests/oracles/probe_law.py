"""Closed forms of the law of a probe's squared cosine, as printed in appendix A of Stoppiglia et al. (2003)."""

from math import asin, factorial, pi, sqrt

from scipy import stats
from scipy.optimize import brentq

from tamis.kernels.probe.law import probe_survival


def double_factorial(n):
    return 1 if n <= 0 else n * double_factorial(n - 2)


def distribution(x, v):
    """Chance that the squared cosine of a random vector in dimension v is at most x."""
    if v % 2 == 0:
        polynomial = 0.0 if v == 2 else 1.0
        for k in range(1, v // 2 - 1):
            polynomial += 2**k * factorial(k) / double_factorial(2 * k + 1) * (1 - x) ** k
        return 2 / pi * (asin(sqrt(x)) + sqrt(x * (1 - x)) * polynomial)
    polynomial = 1.0
    for k in range(1, (v - 3) // 2 + 1):
        polynomial += double_factorial(2 * k - 1) / (2**k * factorial(k)) * (1 - x) ** k
    return sqrt(x) * polynomial


def cumulated(chances):
    """Eq. (4), step by step: the chance that the probe beats one of the first n features."""
    curve, before = [], 0.0
    for chance in chances:
        before = before + chance * (1 - before)
        curve.append(before)
    return curve


def single_column(explained, v, n_targets, n_columns):
    """What one random column explains as rarely as ``n_columns`` of them explain more than ``explained``."""
    if n_columns == 1:
        return explained
    chance = probe_survival(explained, v, n_targets, n_columns)
    law = stats.beta(n_targets / 2, (v - n_targets) / 2)
    return brentq(lambda x: law.sf(x) - chance, 0.0, explained, xtol=1e-14)
