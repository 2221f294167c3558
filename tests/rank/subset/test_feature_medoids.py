"""Feature medoids: every feature has a close stand-in among the kept ones."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tamis.base import ColumnCandidates
from tamis.rank.subset._feature_medoids import FeatureMedoids
from tests.base.test_progress import observed
from tests.oracles.column_subset import medoids, medoids_by_groups, members_of, squared_correlations

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(4, 30), st.integers(3, 25))


def table(shape=(30, 12), seed=0):
    """Columns in a few groups, of different units."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((shape[0], 3))[:, rng.randint(3, size=shape[1])] + rng.standard_normal(shape)
    return X * 10 ** rng.uniform(-3, 3, shape[1]) + rng.standard_normal(shape[1])


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_the_order_is_that_of_plain_greedy_search(seed, shape, standardize):
    X = table(shape, seed)
    order, shares = medoids(X, standardize)
    found = FeatureMedoids(stop=None, standardize=standardize).fit(X)
    told_apart = int(np.sum(shares > 1e-9))
    np.testing.assert_array_equal(found.order_[:told_apart], order[:told_apart])
    np.testing.assert_allclose(found.scores_[found.order_], shares, rtol=1e-7, atol=1e-13)
    np.testing.assert_allclose([step.info["coverage"] for step in found.path_], np.cumsum(shares), atol=1e-12)


@QUICK
@given(table=hnp.arrays(np.int8, st.tuples(st.integers(4, 12), st.integers(1, 10)), elements=st.integers(-2, 2)))
def test_ties_between_small_integers_are_settled_as_by_plain_greedy_search(table):
    X = table.astype(float)
    assume((X[0] != X).any())
    assert FeatureMedoids(stop=None).fit(X).order_.tolist() == medoids(X)[0]


@QUICK
@given(seed=SEED, shape=SHAPE, k=st.integers(1, 25))
def test_the_path_is_made_lazily_and_a_shorter_one_begins_a_longer_one(seed, shape, k):
    X, k = table(shape, seed), min(k, shape[1])
    whole = FeatureMedoids(stop=None).fit(X)
    np.testing.assert_array_equal(FeatureMedoids(stop=k).fit(X).order_, whole.order_[:k])
    steps = FeatureMedoids()._steps(ColumnCandidates(X), None, np.random.RandomState(0), None)
    assert [step.feature for step in islice(steps, k)] == whole.order_[:k].tolist()


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_permuting_the_columns_permutes_the_result(seed, shape):
    X, shuffle = table(shape, seed), np.random.RandomState(seed).permutation(shape[1])
    plain, shuffled = (FeatureMedoids(stop=None).fit(each) for each in (X, X[:, shuffle]))
    k = max(1, plain.order_.size - 2)  # of the last two columns neither is the more central
    np.testing.assert_array_equal(shuffle[shuffled.order_][:k], plain.order_[:k])
    np.testing.assert_allclose(shuffled.scores_[shuffled.order_], plain.scores_[plain.order_], atol=1e-12)


@QUICK
@given(seed=SEED, shape=SHAPE, size=st.floats(0.1, 6), offset=st.floats(0, 100))
def test_units_signs_and_offsets_do_not_matter(seed, shape, size, offset):
    rng = np.random.RandomState(seed)
    X = table(shape, seed)
    scale = 10 ** rng.uniform(-size, size, shape[1]) * rng.choice([-1, 1], shape[1])
    plain, moved = (FeatureMedoids(stop=None).fit(each) for each in (X, (X + offset * X.std(axis=0)) * scale))
    told_apart = int(np.sum(plain.scores_ > 1e-8))
    np.testing.assert_array_equal(moved.order_[:told_apart], plain.order_[:told_apart])
    np.testing.assert_allclose(moved.scores_[moved.order_], plain.scores_[plain.order_], rtol=1e-6, atol=1e-9)


@QUICK
@given(seed=SEED, shape=SHAPE, data=st.data())
def test_copies_are_not_ranked_but_their_first_is(seed, shape, data):
    X = table(shape, seed)
    copied = data.draw(st.lists(st.integers(0, shape[1] - 1), min_size=1, max_size=4))
    found = FeatureMedoids(stop=None).fit(np.column_stack([X, -7 * X[:, copied] + 1]))
    assert sorted(found.order_) == list(range(shape[1]))
    np.testing.assert_array_equal(found.assignment_[shape[1] :], copied)
    np.testing.assert_allclose(found.assignment_r2_, 1)


@QUICK
@given(seed=SEED, shape=SHAPE, value=st.sampled_from([0.0, 0.1, -3.7, 1e9, 1 / 3]), place=st.integers(0, 3))
def test_constant_columns_are_not_ranked_and_change_nothing(seed, shape, value, place):
    X = table(shape, seed)
    plain, found = (FeatureMedoids(stop=None).fit(each) for each in (X, np.insert(X, place, value, axis=1)))
    varying = np.delete(np.arange(shape[1] + 1), place)
    np.testing.assert_array_equal(found.order_, varying[plain.order_])
    assert np.isnan(found.scores_[place])
    assert found.assignment_[place] == -1
    assert found.assignment_r2_[place] == 0


@pytest.mark.parametrize("k", [1, 3, 12])
def test_every_feature_is_assigned_to_the_kept_one_that_correlates_most_with_it(k):
    X = table()
    found = FeatureMedoids(stop=k).fit(X)
    kept, pairs = found.get_support(indices=True), squared_correlations(X)
    np.testing.assert_array_equal(found.assignment_, kept[pairs[:, kept].argmax(axis=1)])
    np.testing.assert_allclose(found.assignment_r2_, pairs[:, kept].max(axis=1))
    np.testing.assert_array_equal(found.assignment_[kept], kept)
    assert found.assignment_r2_.mean() == pytest.approx(found.path_[-1].info["coverage"])


def test_groups_of_alike_features_get_one_medoid_each():
    rng = np.random.RandomState(0)
    group = np.repeat([0, 1, 2, 3], [9, 6, 4, 1])
    X = rng.standard_normal((200, 4))[:, group] + 0.3 * rng.standard_normal((200, 20))
    found = FeatureMedoids(stop=4).fit(X)
    assert group[found.order_].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(group[found.assignment_], group)


def test_without_standardizing_features_that_vary_more_count_more():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.standard_normal((100, 1)) + 0.1 * rng.standard_normal((100, 5)), rng.standard_normal(100)])
    X[:, 5] *= 100
    assert FeatureMedoids(stop=1, standardize=False).fit(X).order_.tolist() == [5]
    assert FeatureMedoids(stop=1).fit(X).order_[0] < 5


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)], ids=["wide", "tall"])
def test_float32_finds_what_float64_finds(shape):
    X = table(shape).astype(np.float32)
    single, double = FeatureMedoids(stop=15).fit(X), FeatureMedoids(stop=15).fit(X.astype(float))
    np.testing.assert_array_equal(single.order_, double.order_)
    np.testing.assert_allclose(single.scores_, double.scores_, rtol=1e-4)
    assert single.scores_.dtype == np.float32


def test_two_samples_make_all_features_copies_of_the_first():
    found = FeatureMedoids(stop=None).fit(np.random.RandomState(0).standard_normal((2, 5)))
    assert found.order_.tolist() == [0]
    assert found.scores_[0] == pytest.approx(1)
    assert "add nothing" in FeatureMedoids(stop=3).fit(np.random.RandomState(0).standard_normal((2, 5))).stop_.reason


def test_each_ranked_feature_is_reported_and_a_callback_may_end_the_ranking():
    X = table()
    found, recorder = observed(FeatureMedoids(stop=5), (X,))
    assert recorder.count("begin", "rank step") == len(found.path_) == 5
    ended, _ = observed(FeatureMedoids(stop=None), (X,), rank_step=3)
    np.testing.assert_array_equal(ended.order_, FeatureMedoids(stop=3).fit(X).order_)


def labels_for(n_columns, seed):
    """Groups of unequal size, their columns anywhere in the table."""
    return np.random.RandomState(seed).geometric(0.3, size=n_columns)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_groups_of_one_column_are_columns(seed, shape, standardize):
    X = table(shape, seed)
    columns = FeatureMedoids(stop=None, standardize=standardize).fit(X)
    groups = FeatureMedoids(stop=None, standardize=standardize, groups=np.arange(shape[1])).fit(X)
    np.testing.assert_array_equal(groups.order_, columns.order_)
    np.testing.assert_allclose(groups.scores_, columns.scores_, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(groups.assignment_, columns.assignment_)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_the_order_of_groups_is_that_of_plain_greedy_search(seed, shape, standardize):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    members, names = members_of(labels)
    order, shares = medoids_by_groups(X, members, standardize)
    found = FeatureMedoids(stop=None, standardize=standardize, groups=labels).fit(X)
    told_apart = int(np.sum(shares > 1e-9))
    assert found.group_order_[:told_apart].tolist() == [names[g] for g in order[:told_apart]]
    first = [members[g][0] for g in order[:told_apart]]
    np.testing.assert_allclose(found.scores_[first], shares[:told_apart], rtol=1e-7, atol=1e-13)
    assert found.path_[-1].info["coverage"] == pytest.approx(1)


@QUICK
@given(
    table=hnp.arrays(np.int8, st.tuples(st.integers(4, 12), st.integers(1, 12)), elements=st.integers(-1, 1)),
    seed=SEED,
)
def test_groups_with_copies_and_constant_columns_are_ranked_as_by_plain_greedy_search(table, seed):
    X, labels = table.astype(float), labels_for(table.shape[1], seed)
    assume((X[0] != X).any())
    members, names = members_of(labels)
    found = FeatureMedoids(stop=None, groups=labels).fit(X)
    assert found.group_order_.tolist() == [names[g] for g in medoids_by_groups(X, members)[0]]
    varies = X.std(axis=0) > 0
    np.testing.assert_array_equal(found.assignment_ >= 0, varies)
    np.testing.assert_allclose(found.assignment_r2_, varies)


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_permuting_the_columns_of_groups_permutes_the_result(seed, shape):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    shuffle = np.random.RandomState(seed).permutation(shape[1])
    plain = FeatureMedoids(stop=None, groups=labels).fit(X)
    shuffled = FeatureMedoids(stop=None, groups=labels[shuffle]).fit(X[:, shuffle])
    k = max(1, plain.group_order_.size - 2)  # of the last two neither is the more central
    assert shuffled.group_order_[:k].tolist() == plain.group_order_[:k].tolist()
    cut = FeatureMedoids(stop=k, groups=labels).fit(X)
    shuffled_cut = FeatureMedoids(stop=k, groups=labels[shuffle]).fit(X[:, shuffle])
    np.testing.assert_allclose(shuffled_cut.assignment_r2_, cut.assignment_r2_[shuffle], atol=1e-12)


def test_every_feature_is_assigned_to_the_kept_column_that_correlates_most_with_it():
    X = np.insert(table((40, 12)), 4, 1.0, axis=1)  # a constant column in the middle of a group
    labels = np.array([0, 0, 1, 2, 2, 2, 3, 3, 3, 3, 1, 4, 5])
    found = FeatureMedoids(stop=2, groups=np.where(labels == 5, 2, labels)).fit(X)
    kept, pairs = found.get_support(indices=True), squared_correlations(X)
    expected = kept[pairs[:, kept].argmax(axis=1)]
    expected[4] = -1
    np.testing.assert_array_equal(found.assignment_, expected)
    np.testing.assert_allclose(found.assignment_r2_, pairs[:, kept].max(axis=1), atol=1e-12)
    assert found.assignment_r2_.sum() / 12 == pytest.approx(found.path_[-1].info["coverage"])


def test_a_copy_of_a_group_is_not_ranked():
    X = table((30, 6))
    found = FeatureMedoids(stop=None, groups=[0, 0, 1, 1, 1, 2, 3, 3]).fit(np.column_stack([X, 3 - 2 * X[:, [1, 0]]]))
    assert sorted(found.group_order_) == [0, 1, 2]


def test_a_fit_by_groups_names_transforms_and_orders_whole_groups():
    frame = pd.DataFrame(table((40, 6)), columns=list("abcdef"))
    found = FeatureMedoids(groups={"low": ["a", "d"], "high": ["b", "c", "f"]}, stop=2).fit(frame)
    assert set(found.group_order_[:2]) <= {"low", "high", "e"}
    kept = [name for name in frame if found.support_[frame.columns.get_loc(name)]]
    assert found.get_feature_names_out().tolist() == kept
    np.testing.assert_array_equal(found.transform(frame), frame[kept])
    assert found.n_features_ == len(kept) == found.support_.sum()
