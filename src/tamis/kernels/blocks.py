"""Long axes in pieces, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator


def blocks(total: int, size: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices of at most ``size`` (at least one), none of which ends beyond ``total``."""
    step = max(1, size)
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))
