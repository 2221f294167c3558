"""Pivoted QR: the column of which the earlier ones leave the most."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.linalg import qr

from tamis.base import ColumnCandidates
from tamis.rank.subset._pivoted_qr import PivotedQR
from tests.base.test_progress import observed
from tests.oracles.column_subset import members_of, pivots, pivots_by_groups, reconstruction, reconstruction_by_groups

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(4, 30), st.integers(3, 30))


def table(shape=(30, 12), seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + rng.standard_normal(shape)
    return X * 10 ** rng.uniform(-1, 1, shape[1]) + rng.standard_normal(shape[1])


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_the_order_is_that_of_the_pivots_of_scipy(seed, shape):
    X = table(shape, seed)
    R, pivot = qr(X - X.mean(axis=0), mode="r", pivoting=True)
    rank = min(shape[0] - 1, shape[1])
    found = PivotedQR(stop=None, standardize=False).fit(X)
    np.testing.assert_array_equal(found.order_, pivot[:rank])
    np.testing.assert_allclose(found.scores_[found.order_], np.abs(np.diag(R))[:rank] / shape[0] ** 0.5, rtol=1e-8)


def test_the_order_is_that_of_scipy_while_norms_fall_by_ten_orders_of_magnitude():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 40)) * np.logspace(0, -4, 40) @ rng.standard_normal((40, 40))
    _, pivot = qr(X - X.mean(axis=0), mode="r", pivoting=True)
    np.testing.assert_array_equal(PivotedQR(stop=None, standardize=False).fit(X).order_, pivot)


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_standardized_columns_are_pivoted_from_the_one_that_explains_the_most(seed, shape):
    X = table(shape, seed)
    first = reconstruction(X, n_steps=1)[0][0]
    order, spreads = pivots(X, first=first)
    found = PivotedQR(stop=None).fit(X)
    told_apart = min(len(order), shape[0] - 2)
    np.testing.assert_array_equal(found.order_[:told_apart], order[:told_apart])
    np.testing.assert_allclose(found.scores_[found.order_[:told_apart]], spreads[:told_apart], rtol=1e-7)
    shares = [step.info["r2"] for step in found.path_]
    np.testing.assert_allclose(shares, 1 - found.scores_[found.order_] ** 2, atol=1e-12)


@QUICK
@given(table=hnp.arrays(np.int8, st.tuples(st.integers(4, 12), st.integers(1, 9)), elements=st.integers(-2, 2)))
def test_ties_between_small_integers_go_to_the_lowest_index(table):
    X = table.astype(float)
    assume((X[0] != X).any())
    assert PivotedQR(stop=None, standardize=False).fit(X).order_.tolist() == pivots(X, standardize=False)[0]


@QUICK
@given(seed=SEED, shape=SHAPE, k=st.integers(1, 30))
def test_the_path_is_made_lazily_and_a_shorter_one_begins_a_longer_one(seed, shape, k):
    X, k = table(shape, seed), min(k, shape[1])
    whole = PivotedQR(stop=None).fit(X)
    np.testing.assert_array_equal(PivotedQR(stop=k).fit(X).order_, whole.order_[:k])
    steps = PivotedQR()._steps(ColumnCandidates(X), None, np.random.RandomState(0), None)
    assert [step.feature for step in islice(steps, k)] == whole.order_[:k].tolist()


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_permuting_the_columns_permutes_the_result(seed, shape, standardize):
    X, shuffle = table(shape, seed), np.random.RandomState(seed).permutation(shape[1])
    ranker = PivotedQR(stop=min(shape[0] - 2, shape[1]), standardize=standardize)
    plain = ranker.fit(X).order_
    np.testing.assert_array_equal(shuffle[ranker.fit(X[:, shuffle]).order_], plain)


@QUICK
@given(seed=SEED, shape=SHAPE, size=st.floats(0.1, 6), offset=st.floats(0, 100))
def test_units_signs_and_offsets_do_not_matter_once_standardized(seed, shape, size, offset):
    rng = np.random.RandomState(seed)
    X = table(shape, seed)
    scale = 10 ** rng.uniform(-size, size, shape[1]) * rng.choice([-1, 1], shape[1])
    ranker = PivotedQR(stop=min(shape[0] - 2, shape[1]))
    plain = ranker.fit(X).order_
    np.testing.assert_array_equal(ranker.fit((X + offset * X.std(axis=0)) * scale).order_, plain)


@QUICK
@given(seed=SEED, shape=SHAPE, data=st.data())
def test_copies_are_not_ranked_and_disturb_no_one(seed, shape, data):
    X = table(shape, seed)
    copied = data.draw(st.lists(st.integers(0, shape[1] - 1), min_size=1, max_size=4))
    plain, crowded = (
        PivotedQR(stop=None, standardize=False).fit(each) for each in (X, np.column_stack([X, 1 - X[:, copied]]))
    )
    np.testing.assert_array_equal(crowded.order_, plain.order_)


@QUICK
@given(
    seed=SEED,
    shape=SHAPE,
    value=st.sampled_from([0.0, 0.1, -3.7, 1e9, 1 / 3]),
    place=st.integers(0, 3),
    standardize=st.booleans(),
)
def test_constant_columns_are_not_ranked_and_change_nothing(seed, shape, value, place, standardize):
    X = table(shape, seed)
    ranker = PivotedQR(stop=None, standardize=standardize)
    plain = ranker.fit(X).order_
    found = ranker.fit(np.insert(X, place, value, axis=1))
    np.testing.assert_array_equal(found.order_, np.delete(np.arange(shape[1] + 1), place)[plain])
    assert np.isnan(found.scores_[place])


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)], ids=["wide", "tall"])
@pytest.mark.parametrize("standardize", [True, False])
def test_float32_finds_what_float64_finds(shape, standardize):
    X = table(shape).astype(np.float32)
    single, double = (PivotedQR(stop=12, standardize=standardize).fit(each) for each in (X, X.astype(float)))
    np.testing.assert_array_equal(single.order_, double.order_)
    np.testing.assert_allclose(single.scores_, double.scores_, rtol=1e-4)
    assert single.scores_.dtype == np.float32


def test_two_samples_leave_one_dimension():
    X = np.array([[0.0, 0.0, 1.0], [1.0, 3.0, 0.0]])
    assert PivotedQR(stop=None, standardize=False).fit(X).order_.tolist() == [1]
    assert PivotedQR(stop=None).fit(X).order_.tolist() == [0]


def test_each_ranked_feature_is_reported_and_a_callback_may_end_the_ranking():
    X = table()
    found, recorder = observed(PivotedQR(stop=5), (X,))
    assert recorder.count("begin", "rank step") == len(found.path_) == 5
    ended, _ = observed(PivotedQR(stop=None), (X,), rank_step=3)
    np.testing.assert_array_equal(ended.order_, PivotedQR(stop=3).fit(X).order_)


def labels_for(n_columns, seed):
    """Groups of unequal size, their columns anywhere in the table."""
    return np.random.RandomState(seed).geometric(0.3, size=n_columns)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_groups_of_one_column_are_columns(seed, shape, standardize):
    X = table(shape, seed)
    columns = PivotedQR(stop=None, standardize=standardize).fit(X)
    groups = PivotedQR(stop=None, standardize=standardize, groups=np.arange(shape[1])).fit(X)
    np.testing.assert_array_equal(groups.order_, columns.order_)
    np.testing.assert_allclose(groups.scores_, columns.scores_, rtol=1e-10)
    np.testing.assert_allclose(
        [step.info["r2"] for step in groups.path_], [step.info["r2"] for step in columns.path_], atol=1e-10
    )


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_the_order_of_groups_is_that_of_explicit_deflation(seed, shape, standardize):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    members, names = members_of(labels)
    first = reconstruction_by_groups(X, members)[0][0] if standardize else None
    order, spreads = pivots_by_groups(X, members, standardize, first)
    found = PivotedQR(stop=None, standardize=standardize, groups=labels).fit(X)
    assert found.group_order_.tolist() == [names[g] for g in order]
    np.testing.assert_allclose(found.scores_[[members[g][0] for g in order]], spreads, rtol=1e-7)


@QUICK
@given(
    table=hnp.arrays(np.int8, st.tuples(st.integers(4, 12), st.integers(1, 12)), elements=st.integers(-1, 1)),
    seed=SEED,
)
def test_groups_with_copies_and_constant_columns_are_ranked_as_by_explicit_deflation(table, seed):
    X, labels = table.astype(float), labels_for(table.shape[1], seed)
    assume((X[0] != X).any())
    members, names = members_of(labels)
    order = pivots_by_groups(X, members, standardize=False)[0]
    found = PivotedQR(stop=None, standardize=False, groups=labels).fit(X)
    assert found.group_order_.tolist() == [names[g] for g in order]


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_permuting_the_columns_of_groups_permutes_the_result(seed, shape, standardize):
    X, labels = table((shape[0] + 30, shape[1]), seed), labels_for(shape[1], seed)
    shuffle = np.random.RandomState(seed).permutation(shape[1])
    plain = PivotedQR(stop=None, standardize=standardize, groups=labels).fit(X)
    shuffled = PivotedQR(stop=None, standardize=standardize, groups=labels[shuffle]).fit(X[:, shuffle])
    assert shuffled.group_order_.tolist() == plain.group_order_.tolist()
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-8)


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_neither_a_constant_column_nor_copies_of_all_its_columns_change_a_group(seed, shape):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    group = np.flatnonzero(labels == labels[0])
    plain = PivotedQR(stop=None, standardize=False, groups=labels).fit(X)
    crowded = PivotedQR(stop=None, standardize=False, groups=np.concatenate([labels, labels[group], labels[:1]])).fit(
        np.column_stack([X, 2 - X[:, group], np.full(shape[0], 0.1)])
    )
    assert crowded.group_order_.tolist() == plain.group_order_.tolist()
    np.testing.assert_allclose(crowded.scores_[: shape[1]], plain.scores_, rtol=1e-9)


def test_a_copy_of_a_group_is_not_ranked():
    X = table((30, 6))
    found = PivotedQR(stop=None, groups=[0, 0, 1, 1, 1, 2, 3, 3]).fit(np.column_stack([X, 3 - 2 * X[:, [1, 0]]]))
    assert sorted(found.group_order_) == [0, 1, 2]
    assert np.isnan(found.scores_[6:]).all()


def test_a_fit_by_groups_names_transforms_and_orders_whole_groups():
    frame = pd.DataFrame(table((40, 6)), columns=list("abcdef"))
    found = PivotedQR(groups={"low": ["a", "d"], "high": ["b", "c", "f"]}, stop=2).fit(frame)
    assert set(found.group_order_[:2]) <= {"low", "high", "e"}
    kept = [name for name in frame if found.support_[frame.columns.get_loc(name)]]
    assert found.get_feature_names_out().tolist() == kept
    np.testing.assert_array_equal(found.transform(frame), frame[kept])
    assert found.n_features_ == len(kept) == found.support_.sum()
