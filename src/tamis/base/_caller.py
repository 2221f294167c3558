"""Where a person called the library: warnings point there, not into it."""

from __future__ import annotations

import inspect

_PACKAGES = ("tamis", "sklearn")


def caller_level() -> int:
    """``stacklevel`` of a warning raised by the caller of this function, so that it points outside of the library."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        frame, level = frame.f_back, level + 1
    return max(level, 1)
