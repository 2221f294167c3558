"""Bounds that a correct program crosses by bad luck less than once in ten thousand runs."""

from scipy.stats import binom

LUCK = 1e-4


def most(n, p):
    """Successes of n trials of chance p, or of less, exceed this with probability below LUCK."""
    return int(binom.isf(LUCK, n, p))


def fewest(n, p):
    """Successes of n trials of chance p, or of more, fall short of this with probability below LUCK."""
    return int(binom.ppf(LUCK, n, p))
