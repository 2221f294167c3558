"""The random baseline."""

import numpy as np
import pytest
from scipy import sparse, stats

from tamis import RandomSelection

X = np.random.RandomState(0).standard_normal((10, 6))


def test_every_feature_is_as_likely_at_every_place():
    places = np.zeros((6, 6))
    for seed in range(600):
        order = RandomSelection(stop=None, random_state=seed).fit(X).order_
        places[np.arange(6), order] += 1
    assert stats.chisquare(places.ravel(), ddof=10).pvalue > 1e-4


def test_the_order_depends_on_the_seed_and_on_nothing_else():
    order = RandomSelection(stop=None, random_state=3).fit(X).order_
    np.testing.assert_array_equal(RandomSelection(stop=None, random_state=3).fit(-(X**3), X[:, 0]).order_, order)
    np.testing.assert_array_equal(RandomSelection(stop=None, random_state=3).fit(sparse.csr_array(X)).order_, order)
    others = [tuple(RandomSelection(stop=None, random_state=seed).fit(X).order_) for seed in range(20)]
    assert len(set(others)) > 15


def test_no_seed_draws_anew():
    assert len({tuple(RandomSelection(stop=None).fit(X).order_) for _ in range(20)}) > 1


@pytest.mark.parametrize("k", [1, 4, 6])
def test_it_keeps_as_many_as_asked(k):
    found = RandomSelection(stop=k, random_state=0).fit(X)
    assert found.support_.sum() == k
    np.testing.assert_array_equal(np.sort(found.order_[:k]), np.flatnonzero(found.support_))
