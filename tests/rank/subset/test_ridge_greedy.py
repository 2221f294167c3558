"""Forward selection by ridge regression of all columns."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.rank.subset._ridge_greedy import RidgeSearch, rank_columns
from tests.oracles.neighbor_faithful import ridge_loss, ridge_order, unit_columns

QUICK = settings(deadline=None, max_examples=25, derandomize=True)
SEED = st.integers(0, 2**31 - 1)


def columns(seed=0, shape=(12, 15)):
    rng = np.random.RandomState(seed)
    return unit_columns(
        rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + rng.standard_normal(shape)
    )


def search_of(Y, alpha, some=slice(None)):
    K = Y @ Y.T
    return RidgeSearch(Y[:, some], alpha, K, np.einsum("ij,ik,kj->j", Y, K, Y)[some])


@QUICK
@given(seed=SEED, alpha=st.sampled_from([0.01, 0.1, 1.0, 5.0]))
def test_order_and_gains_are_those_of_brute_force(seed, alpha):
    Y = columns(seed)
    order, gains = ridge_order(Y, alpha, 10)
    found = list(islice(search_of(Y, alpha), 10))
    assert [column for column, _ in found] == order
    np.testing.assert_allclose([gain for _, gain in found], gains)


def test_gains_of_some_columns_sum_to_what_they_explain_of_all():
    Y = columns()
    found = list(search_of(Y, 1.0, [2, 5, 7]))
    assert sorted(place for place, _ in found) == [0, 1, 2]
    assert sum(gain for _, gain in found) == pytest.approx(1 - ridge_loss(Y, [2, 5, 7], 1.0))


@pytest.mark.parametrize("one_by_one", [1, 4, 100])
def test_all_columns_are_ranked_those_that_come_late_by_their_gain_at_once(one_by_one):
    Y = columns()
    search = search_of(Y, 1.0)
    found = list(rank_columns(search, one_by_one))
    assert sorted(column for column, _ in found) == list(range(15))
    assert [c for c, _ in found[:one_by_one]] == ridge_order(Y, 1.0, min(one_by_one, 15))[0]
    assert np.all(np.diff([gain for _, gain in found[one_by_one:]]) <= 0)


def test_gains_keep_their_digits_over_a_long_path():
    Y = columns(shape=(10, 200))
    found = list(search_of(Y, 0.1))
    assert sum(gain for _, gain in found) == pytest.approx(1 - ridge_loss(Y, list(range(200)), 0.1), rel=1e-9)
    assert all(gain > 0 for _, gain in found)
