"""Scores become an order: the best first, ties by index, whether they are on the host or on a device."""

import numpy as np
import pytest
import torch
from sklearn import config_context

from tamis.base import Ranking

ROUNDING = 1e-3


def slow_order(scores, rounding):
    """One candidate after another joins the run of those it ties with, or begins the next."""
    places = sorted((j for j in range(len(scores)) if not np.isnan(scores[j])), key=lambda j: -scores[j])
    tied, previous = np.array(scores), None
    for j in places:
        is_tied = previous is not None and (
            scores[previous] == scores[j] or scores[j] - scores[previous] >= -rounding * abs(scores[j])
        )
        tied[j] = tied[previous] if is_tied else scores[j]
        previous = j
    return sorted(places, key=lambda j: (-tied[j], j)), tied


def drawn_scores(seed):
    rng = np.random.RandomState(seed)
    n = rng.randint(1, 40)
    scores = rng.randint(-3, 4, n) + rng.choice([0.0, 1e-4, 9e-4, 0.3], n)
    for value in (np.nan, np.inf, -np.inf, -0.0):
        scores[rng.uniform(size=n) < 0.1] = value
    return scores


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("seed", range(30))
def test_scores_that_tie_are_made_equal_and_go_by_index(seed, on_device):
    scores = drawn_scores(seed)
    order, tied = slow_order(scores, ROUNDING)
    with config_context(array_api_dispatch=True):
        found = Ranking.from_scores(torch.asarray(scores) if on_device else scores, rounding=ROUNDING)
    assert found.order.tolist() == order
    np.testing.assert_array_equal(found.scores, tied)


def test_nothing_is_ranked_where_there_is_no_score():
    assert Ranking.from_scores(np.full(3, np.nan)).order.size == 0
