"""A sample of the rows, for what would take too long on all of them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from tamis._sklearn import Interval

MAX_SAMPLES_CONSTRAINT = [Interval(Integral, 3, None, closed="left"), None]


def draw_rows(n_rows: int, max_samples: int | None, random_state: Any = None) -> np.ndarray | None:
    """Rows to work on, ascending; None for all of them. The seed None is 0, so that a result can be repeated."""
    if max_samples is None or n_rows <= max_samples:
        return None
    rng = check_random_state(0 if random_state is None else random_state)
    return np.sort(rng.choice(n_rows, int(max_samples), replace=False))


def draw_rows_of_blocks(n_rows: int, n_drawn: int, rng: np.random.RandomState) -> np.ndarray:
    """So many of the rows of a table that is read in blocks, ascending.

    Without a permutation of all rows, which may be more than memory holds.
    """
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    return np.sort(sample_without_replacement(n_rows, n_drawn, random_state=rng))
