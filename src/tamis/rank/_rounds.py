"""Methods that solve one problem after another, each with fewer features: their order, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.model_selection import train_test_split

_DIGITS = 9  # of a share of the largest weight: a machine's tolerance


def order_by_rounds(rounds: Sequence[Mapping[int, float]]) -> list[int]:
    """Candidates by the last round in which they had a weight, and by its size there.

    Parameters
    ----------
    rounds : sequence of mappings
        Candidate -> size of its weights, for those that have any.
    """
    order: list[int] = []
    placed: set[int] = set()
    for magnitudes in reversed(rounds):
        new = [j for j in magnitudes if j not in placed]
        largest = max(magnitudes.values(), default=1.0)
        # rounded: copies of a column differ in the last digits of what was learned
        order += sorted(new, key=lambda j: (-round(magnitudes[j] / largest, _DIGITS), j))
        placed.update(new)
    return order


def round_criteria(rounds: Sequence[Mapping[int, float]], order: Sequence[int]) -> list[float]:
    """Number of rounds that a candidate has lasted, plus a share of one by the size of its last weights."""
    last = {j: (number, size) for number, magnitudes in enumerate(rounds) for j, size in magnitudes.items()}
    largest = [max(magnitudes.values(), default=1.0) for magnitudes in rounds]
    return [last[j][0] + last[j][1] / (largest[last[j][0]] * (1.0 + 1e-9)) for j in order]


def hold_out(
    y: np.ndarray, share: float, *, is_classes: bool, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray] | None:
    """Training and validation rows, with the classes in proportion; None where a class, or training, has too few."""
    stratify = None
    if len(y) - np.ceil(share * len(y)) < 2:
        return None
    if is_classes:
        counts = np.unique(y, return_counts=True)[1]
        if counts.min() < 2 or round(share * len(y)) < counts.size or round((1 - share) * len(y)) < counts.size:
            return None
        stratify = y
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=share, stratify=stratify, random_state=rng)
    return np.sort(train), np.sort(test)


def best_round(errors: Sequence[float]) -> int:
    """The last round with the least error: of equal ones that with the fewest features."""
    return int(np.flatnonzero(np.asarray(errors) <= min(errors))[-1])
