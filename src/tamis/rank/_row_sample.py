"""A sample of the rows for methods whose cost grows with their square or faster."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tamis._sklearn import Interval

MAX_SAMPLES_CONSTRAINT = [Interval(Integral, 3, None, closed="left"), None]


def draw_rows(n_rows: int, max_samples: int | None, random_state: Any = None) -> np.ndarray | None:
    """Rows to work on, ascending; None for all of them. The seed None is 0, so that a ranking can be repeated."""
    if max_samples is None or n_rows <= max_samples:
        return None
    rng = check_random_state(0 if random_state is None else random_state)
    return np.sort(rng.choice(n_rows, int(max_samples), replace=False))


def with_all_classes(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sample and, of each class that it lacks, two rows, as far as there are."""
    lacking = np.setdiff1d(y, y[rows])
    return np.union1d(rows, [row for label in lacking for row in np.flatnonzero(y == label)[:2]]).astype(np.int64)


def note_rows(rows: np.ndarray | None, n_rows: int) -> tuple[str, ...]:
    """What the reason says of a sample."""
    return note_sample(n_rows if rows is None else rows.size, n_rows)


def note_sample(n_seen: int, n_rows: int) -> tuple[str, ...]:
    """The same, by the number of rows in it."""
    return () if n_seen >= n_rows else (f"ranked on {n_seen} of {n_rows} rows, drawn at random (max_samples)",)
