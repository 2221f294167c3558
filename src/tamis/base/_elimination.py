"""Rounds of an elimination: how many leave in each, and which."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np

from tamis._sklearn import Interval, RealNotInt, StrOptions

_TIE = 1e-10  # criteria this close, relatively, are equal
_NOTHING = 1e-26  # and so are those below this part of the largest

StepSize = float | str  # a count, a fraction of those left, or "halving"

STEP_CONSTRAINT = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="neither"),
    StrOptions({"halving"}),
]


def batch_size(step: StepSize, n_left: int) -> int:
    """How many of ``n_left`` to leave out now: a count, a fraction of those left, or down to a power of two."""
    if type(step) is int:
        return min(step, n_left)
    if isinstance(step, str):
        return n_left - (1 << (n_left - 1).bit_length() >> 1) if n_left > 1 else n_left
    wanted = int(step) if isinstance(step, Integral) else max(1, int(float(step) * n_left))
    return min(wanted, n_left)


def countdown(step: StepSize, n_left: int) -> Iterator[int]:
    """How many are left at the start of every round, to the last."""
    while n_left > 0:
        yield n_left
        n_left -= batch_size(step, n_left)


def count_rounds(step: StepSize, n_left: int) -> int:
    """Rounds to the last."""
    return -(-n_left // int(step)) if isinstance(step, Integral) else sum(1 for _ in countdown(step, n_left))


def order_by_criterion(values: np.ndarray, features: np.ndarray, noise: float = 0.0) -> np.ndarray:
    """Places by ascending criterion, the last of equal features first; differences up to ``noise`` are rounding."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    close = _TIE * ascending[1:] + max(_NOTHING * ascending[-1], noise)
    run = np.concatenate([[0], np.cumsum(np.diff(ascending) > close)])
    return order[np.lexsort((-features[order], run))]
