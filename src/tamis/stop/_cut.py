"""Where a curve first passes its limit, and how to say so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.base import Step


def kept_below(curve: np.ndarray, limit: float, n_forced: int = 0) -> int:
    """How many features come before the first whose figure exceeds the limit; the first ``n_forced`` always do."""
    refused = n_forced + np.flatnonzero(curve[n_forced:] > limit)
    return int(refused[0]) if refused.size else curve.size


def n_forced_steps(path: Sequence[Step]) -> int:
    """How many steps of a path, its first, were taken whatever a rule says."""
    return sum(step.info.get("forced", False) for step in path)


def apart(value: float, limit: float) -> str:
    """``value`` in as few digits as tell it from ``limit``: a refusal by a hair must not read as a tie."""
    for digits in range(2, 16):
        text = f"{value:.{digits}g}"
        if float(text) != limit or value == limit:
            return text
    return repr(value)
