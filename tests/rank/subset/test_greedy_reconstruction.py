"""Greedy reconstruction: the columns from which all columns are best predicted."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.linear_model import LinearRegression

from tamis.base import ColumnCandidates
from tamis.rank.subset._greedy_reconstruction import GreedyReconstruction
from tests.base.test_progress import observed
from tests.oracles.column_subset import members_of, reconstruction, reconstruction_by_groups, standardized

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(4, 25), st.integers(3, 20))


def table(shape=(30, 12), seed=0):
    """Columns that share a few causes, of different units."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + rng.standard_normal(shape)
    return X * 10 ** rng.uniform(-2, 2, shape[1]) + rng.standard_normal(shape[1])


def path_worth(shape):
    """Steps before the last dimension, where all columns explain the same."""
    return min(shape[0] - 2, shape[1])


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_the_order_is_that_of_brute_force(seed, shape, standardize):
    X = table(shape, seed)
    order, shares = reconstruction(X, standardize)
    found = GreedyReconstruction(stop=None, standardize=standardize).fit(X)
    told_apart = int(np.sum(shares > 1e-9))
    np.testing.assert_array_equal(found.order_[:told_apart], order[:told_apart])
    np.testing.assert_allclose(found.scores_[found.order_], shares, rtol=1e-6, atol=1e-12)


@QUICK
@given(table=hnp.arrays(np.int8, st.tuples(st.integers(4, 12), st.integers(1, 8)), elements=st.integers(-2, 2)))
def test_ties_between_small_integers_are_settled_as_by_brute_force(table):
    X = table.astype(float)
    assume((X[0] != X).any())
    assert GreedyReconstruction(stop=None).fit(X).order_.tolist() == reconstruction(X)[0]


@pytest.mark.parametrize("k", [1, 4, 12])
@pytest.mark.parametrize("standardize", [True, False])
def test_what_is_explained_is_the_fit_of_all_columns_on_the_kept_ones(k, standardize):
    X = table()
    found = GreedyReconstruction(stop=k, standardize=standardize).fit(X)
    Z, kept = standardized(X, standardize), found.transform(X)
    left = Z - LinearRegression().fit(kept, Z).predict(kept)
    assert found.path_[-1].info["explained"] == pytest.approx(1 - np.sum(left**2) / np.sum(Z**2))
    assert found.path_[-1].info["explained"] == pytest.approx(np.nansum(found.scores_))


@QUICK
@given(seed=SEED, shape=SHAPE, k=st.integers(1, 20))
def test_the_path_is_made_lazily_and_a_shorter_one_begins_a_longer_one(seed, shape, k):
    X, k = table(shape, seed), min(k, shape[1])
    whole = GreedyReconstruction(stop=None).fit(X)
    np.testing.assert_array_equal(GreedyReconstruction(stop=k).fit(X).order_, whole.order_[:k])
    steps = GreedyReconstruction()._steps(ColumnCandidates(X), None, np.random.RandomState(0), None)
    assert [step.feature for step in islice(steps, k)] == whole.order_[:k].tolist()


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_permuting_the_columns_permutes_the_result(seed, shape, standardize):
    X, shuffle = table(shape, seed), np.random.RandomState(seed).permutation(shape[1])
    ranker = GreedyReconstruction(stop=path_worth(shape), standardize=standardize)
    plain = ranker.fit(X).order_
    np.testing.assert_array_equal(shuffle[ranker.fit(X[:, shuffle]).order_], plain)


@QUICK
@given(seed=SEED, shape=SHAPE, size=st.floats(0.1, 6), offset=st.floats(0, 100))
def test_units_signs_and_offsets_do_not_matter(seed, shape, size, offset):
    rng = np.random.RandomState(seed)
    X = table(shape, seed)
    scale = 10 ** rng.uniform(-size, size, shape[1]) * rng.choice([-1, 1], shape[1])
    ranker = GreedyReconstruction(stop=path_worth(shape))
    plain = ranker.fit(X).order_
    np.testing.assert_array_equal(ranker.fit((X + offset * X.std(axis=0)) * scale).order_, plain)


@QUICK
@given(seed=SEED, shape=SHAPE, data=st.data())
def test_copies_and_combinations_of_chosen_columns_are_not_ranked(seed, shape, data):
    X = table((shape[0] + 25, shape[1]), seed)
    copied = data.draw(st.lists(st.integers(0, shape[1] - 1), min_size=1, max_size=4))
    extra = np.column_stack([-7 * X[:, copied] + 1, X[:, 0] / X[:, 0].std() - X[:, 1] / X[:, 1].std()])
    found = GreedyReconstruction(stop=None).fit(np.column_stack([X, extra]))
    assert found.order_.size == shape[1]
    assert not set(found.order_) & set(range(shape[1], shape[1] + len(copied)))
    assert found.path_[-1].info["explained"] == pytest.approx(1)


@QUICK
@given(seed=SEED, shape=SHAPE, value=st.sampled_from([0.0, 0.1, -3.7, 1e9, 1 / 3]), place=st.integers(0, 3))
def test_constant_columns_are_not_ranked_and_change_nothing(seed, shape, value, place):
    X = table(shape, seed)
    plain, found = (GreedyReconstruction(stop=None).fit(each) for each in (X, np.insert(X, place, value, axis=1)))
    varying = np.delete(np.arange(shape[1] + 1), place)
    np.testing.assert_array_equal(found.order_, varying[plain.order_])
    assert np.isnan(found.scores_[place])


def test_a_table_of_few_causes_is_explained_by_as_many_columns():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 30))
    found = GreedyReconstruction(stop=None).fit(X)
    assert found.order_.size == 4
    assert found.path_[-1].info["explained"] == pytest.approx(1)
    assert "4" in found.stop_.reason


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)], ids=["wide", "tall"])
def test_float32_finds_what_float64_finds(shape):
    X = table(shape).astype(np.float32)
    single, double = GreedyReconstruction(stop=12).fit(X), GreedyReconstruction(stop=12).fit(X.astype(float))
    np.testing.assert_array_equal(single.order_, double.order_)
    np.testing.assert_allclose(single.scores_, double.scores_, rtol=1e-4)
    assert single.scores_.dtype == np.float32


def test_a_wide_table_is_never_squared(monkeypatch):
    largest = []
    monkeypatch.setattr(
        "tamis.kernels.subset.column_subset.gram_of_rows", lambda Z: largest.append(Z.shape[0]) or np.asarray(Z @ Z.T)
    )
    GreedyReconstruction(stop=3).fit(table((10, 500)))
    GreedyReconstruction(stop=3).fit(table((500, 10)))
    assert largest == [10, 10]


def test_two_samples_leave_one_dimension():
    X = np.random.RandomState(0).standard_normal((2, 5))
    found = GreedyReconstruction(stop=None).fit(X)
    assert found.order_.tolist() == [0]
    assert found.scores_[0] == pytest.approx(1)


def test_each_ranked_feature_is_reported_and_a_callback_may_end_the_ranking():
    X = table()
    found, recorder = observed(GreedyReconstruction(stop=5), (X,))
    assert recorder.count("begin", "rank step") == len(found.path_) == 5
    ended, _ = observed(GreedyReconstruction(stop=None), (X,), rank_step=3)
    np.testing.assert_array_equal(ended.order_, GreedyReconstruction(stop=3).fit(X).order_)


def labels_for(n_columns, seed):
    """Groups of unequal size, their columns anywhere in the table."""
    return np.random.RandomState(seed).geometric(0.3, size=n_columns)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_groups_of_one_column_are_columns(seed, shape, standardize):
    X = table(shape, seed)
    columns = GreedyReconstruction(stop=None, standardize=standardize).fit(X)
    groups = GreedyReconstruction(stop=None, standardize=standardize, groups=np.arange(shape[1])).fit(X)
    np.testing.assert_array_equal(groups.order_, columns.order_)
    np.testing.assert_allclose(groups.scores_, columns.scores_, rtol=1e-10, atol=1e-12)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_the_order_of_groups_is_that_of_brute_force(seed, shape, standardize):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    members, names = members_of(labels)
    order, shares, dimensions = reconstruction_by_groups(X, members, standardize)
    found = GreedyReconstruction(stop=None, standardize=standardize, groups=labels).fit(X)
    told_apart = int(np.sum(shares > 1e-9))
    assert found.group_order_[:told_apart].tolist() == [names[g] for g in order[:told_apart]]
    first = [members[g][0] for g in order[:told_apart]]
    np.testing.assert_allclose(found.scores_[first], (shares / dimensions)[:told_apart], rtol=1e-6, atol=1e-12)
    explained = {step.info["group"]: step.info["explained"] for step in found.path_}
    np.testing.assert_allclose(
        [explained[names[g]] for g in order[:told_apart]], np.cumsum(shares)[:told_apart], atol=1e-10
    )


@QUICK
@given(
    table=hnp.arrays(np.int8, st.tuples(st.integers(4, 12), st.integers(1, 10)), elements=st.integers(-1, 1)),
    seed=SEED,
)
def test_groups_with_copies_and_constant_columns_are_ranked_as_by_brute_force(table, seed):
    X, labels = table.astype(float), labels_for(table.shape[1], seed)
    assume((X[0] != X).any())
    members, names = members_of(labels)
    order = reconstruction_by_groups(X, members)[0]
    assert GreedyReconstruction(stop=None, groups=labels).fit(X).group_order_.tolist() == [names[g] for g in order]


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("standardize", [True, False])
def test_what_is_explained_is_the_fit_of_all_columns_on_the_kept_groups(k, standardize):
    X = table()
    found = GreedyReconstruction(stop=k, standardize=standardize, groups=[0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 3]).fit(X)
    Z, kept = standardized(X, standardize), found.transform(X)
    left = Z - LinearRegression().fit(kept, Z).predict(kept)
    assert found.path_[-1].info["explained"] == pytest.approx(1 - np.sum(left**2) / np.sum(Z**2))


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_permuting_the_columns_of_groups_permutes_the_result(seed, shape, standardize):
    X, labels = table((shape[0] + 20, shape[1]), seed), labels_for(shape[1], seed)
    shuffle = np.random.RandomState(seed).permutation(shape[1])
    plain = GreedyReconstruction(stop=None, standardize=standardize, groups=labels).fit(X)
    shuffled = GreedyReconstruction(stop=None, standardize=standardize, groups=labels[shuffle]).fit(X[:, shuffle])
    assert shuffled.group_order_.tolist() == plain.group_order_.tolist()
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-8)


@QUICK
@given(seed=SEED, shape=SHAPE, value=st.sampled_from([0.0, 0.1, -3.7, 1e9, 1 / 3]), place=st.integers(0, 3))
def test_a_constant_column_in_a_group_changes_nothing(seed, shape, value, place):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    plain = GreedyReconstruction(stop=None, groups=labels).fit(X)
    found = GreedyReconstruction(stop=None, groups=np.insert(labels, place, labels[0])).fit(
        np.insert(X, place, value, axis=1)
    )
    assert found.group_order_.tolist() == plain.group_order_.tolist()
    np.testing.assert_allclose(np.delete(found.scores_, place), plain.scores_, rtol=1e-8)


def test_a_large_group_of_noise_does_not_come_before_a_column_that_stands_for_many():
    rng = np.random.RandomState(0)
    cause = rng.standard_normal((200, 1))
    X = np.column_stack([rng.standard_normal((200, 10)), cause + 0.3 * rng.standard_normal((200, 6))])
    found = GreedyReconstruction(stop=1, groups=[0] * 10 + [1, 2, 3, 4, 5, 6]).fit(X)
    assert found.group_order_[0] > 0


def test_a_copy_of_a_group_is_not_ranked():
    X = table((40, 6))
    table_with_copy = np.column_stack([X, 3 - 2 * X[:, [1, 0]]])
    found = GreedyReconstruction(stop=None, groups=[0, 0, 1, 1, 1, 2, 3, 3]).fit(table_with_copy)
    assert sorted(found.group_order_) == [0, 1, 2]
    assert np.isnan(found.scores_[6:]).all()
    assert found.path_[-1].info["explained"] == pytest.approx(1)


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)], ids=["wide", "tall"])
def test_float32_finds_the_groups_that_float64_finds(shape):
    X, labels = table(shape).astype(np.float32), labels_for(shape[1], 0)
    single, double = (GreedyReconstruction(stop=2, groups=labels).fit(each) for each in (X, X.astype(float)))
    np.testing.assert_array_equal(single.order_, double.order_)
    np.testing.assert_allclose(single.scores_, double.scores_, rtol=1e-4)


def test_a_fit_by_groups_names_transforms_and_orders_whole_groups():
    frame = pd.DataFrame(table((40, 6)), columns=list("abcdef"))
    found = GreedyReconstruction(groups={"low": ["a", "d"], "high": ["b", "c", "f"]}, stop=2).fit(frame)
    assert set(found.group_order_[:2]) <= {"low", "high", "e"}
    kept = [name for name in frame if found.support_[frame.columns.get_loc(name)]]
    assert found.get_feature_names_out().tolist() == kept
    np.testing.assert_array_equal(found.transform(frame), frame[kept])
    assert found.n_features_ == len(kept) == found.support_.sum()
