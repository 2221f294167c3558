"""Keep a given number."""

import numpy as np
import pytest

from tamis import GramSchmidt, MaxVariance
from tamis.stop import TopK

X = np.random.RandomState(0).standard_normal((30, 10)) * np.arange(1, 11)


@pytest.mark.parametrize("k", [1, 4, 10, np.int64(3)])
def test_a_number_keeps_that_many_of_the_best(k):
    found = MaxVariance(stop=TopK(k)).fit(X)
    assert found.stop_.n_features == found.support_.sum() == k
    np.testing.assert_array_equal(np.flatnonzero(found.support_), np.sort(found.order_[:k]))
    assert str(int(k)) in found.stop_.reason


@pytest.mark.parametrize(("fraction", "kept"), [(0.5, 5), (0.25, 2), (0.01, 1), (0.99, 9), (0.3, 3), (0.7, 7)])
def test_a_fraction_keeps_that_share_and_at_least_one(fraction, kept):
    assert MaxVariance(stop=TopK(fraction)).fit(X).support_.sum() == kept


def test_a_fraction_is_not_one_short_for_the_last_bit_of_a_product():
    table = np.random.RandomState(0).standard_normal((5, 100))
    for percent in range(1, 100):
        assert MaxVariance(stop=percent / 100).fit(table).support_.sum() == percent


def test_none_keeps_all():
    found = MaxVariance(stop=TopK(None)).fit(X)
    assert found.support_.all()
    assert "all 10" in found.stop_.reason


@pytest.mark.parametrize("stop", [3, 0.3, None])
def test_a_number_a_fraction_or_none_are_short_for_the_rule(stop):
    short, rule = (MaxVariance(stop=given).fit(X) for given in (stop, TopK(stop)))
    np.testing.assert_array_equal(short.support_, rule.support_)
    assert short.stop_.reason == rule.stop_.reason


def test_the_name_finds_the_rule():
    assert MaxVariance(stop="top-k").fit(X).support_.all()


def test_the_search_ends_with_the_number():
    found = GramSchmidt(stop=2).fit(X, X[:, 0] + X[:, 5])
    assert len(found.path_) == 2


def test_fewer_than_asked_are_kept_where_no_more_can_be_ranked_and_the_reason_says_so():
    found = GramSchmidt(stop=6).fit(np.repeat(X[:, :3], 4, axis=1), X[:, 9])
    assert found.support_.sum() == 3
    assert "3" in found.stop_.reason
    assert "6 were asked" in found.stop_.reason


@pytest.mark.parametrize("k", [0, -1, 1.5, 1.0, 0.0, -0.5, "3", np.nan])
def test_what_is_neither_a_number_nor_a_fraction_is_refused(k):
    with pytest.raises(ValueError, match="'n_features' parameter of TopK"):
        MaxVariance(stop=TopK(k)).fit(X)


@pytest.mark.parametrize("stop", [11, TopK(11)])
def test_more_than_there_are_keeps_all_and_warns_with_both_numbers(stop):
    with pytest.warns(UserWarning, match="11 features are asked for, but there are 10: all are kept"):
        found = MaxVariance(stop=stop).fit(X)
    assert found.support_.all()
    assert found.stop_.reason.startswith("all 10 features there are, though 11 were asked for")


def test_more_groups_than_there_are_keep_all():
    with pytest.warns(UserWarning, match="6 groups are asked for, but there are 5"):
        found = MaxVariance(stop=6, groups=np.arange(10) // 2).fit(X)
    assert found.support_.all()
