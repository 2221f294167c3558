"""Where a curve first passes its limit, and how to say so."""

from __future__ import annotations

import numpy as np


def kept_below(curve: np.ndarray, limit: float) -> int:
    """How many features come before the first whose figure exceeds the limit."""
    refused = np.flatnonzero(curve > limit)
    return int(refused[0]) if refused.size else curve.size


def apart(value: float, limit: float) -> str:
    """``value`` in as few digits as tell it from ``limit``: a refusal by a hair must not read as a tie."""
    for digits in range(2, 16):
        text = f"{value:.{digits}g}"
        if float(text) != limit or value == limit:
            return text
    return repr(value)
