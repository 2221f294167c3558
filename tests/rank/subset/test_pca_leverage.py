"""Leverage scores from the leading principal components."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from tamis.rank.subset import _pca_leverage
from tamis.rank.subset._pca_leverage import PCALeverage, count_components
from tests.oracles.column_subset import leverages, members_of, standardized

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(3, 30), st.integers(2, 30))


def table(shape=(30, 12), seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1])) + rng.standard_normal(shape)
    return X * 10 ** rng.uniform(-1, 1, shape[1]) + rng.standard_normal(shape[1])


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans(), r=st.integers(1, 10))
def test_the_scores_are_squared_rows_of_the_singular_vectors(seed, shape, standardize, r):
    X = table(shape, seed)
    found = PCALeverage(stop=None, n_components=r, standardize=standardize).fit(X)
    assert found.n_components_ == min(r, shape[0] - 1, shape[1])
    np.testing.assert_allclose(found.scores_, leverages(X, found.n_components_, standardize), rtol=1e-6, atol=1e-9)
    assert found.scores_.sum() == pytest.approx(found.n_components_)
    assert np.all(np.diff(found.scores_[found.order_]) <= 0)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans(), share=st.floats(0.05, 0.99))
def test_a_share_means_the_fewest_components_that_explain_it(seed, shape, standardize, share):
    X = table(shape, seed)
    found = PCALeverage(n_components=share, standardize=standardize).fit(X)
    reference = PCA(n_components=share, svd_solver="full").fit(standardized(X, standardize))
    assert found.n_components_ == reference.n_components_
    assert found.explained_variance_ratio_ == pytest.approx(reference.explained_variance_ratio_.sum())
    assert found.explained_variance_ratio_ >= share - 1e-9


def test_all_components_give_the_diagonal_of_the_projector_onto_the_rows():
    X = table((8, 20))
    found = PCALeverage(n_components=None).fit(X)
    Z = standardized(X)
    np.testing.assert_allclose(found.scores_, np.diag(np.linalg.pinv(Z) @ Z), rtol=1e-9)
    assert found.n_components_ == 7
    assert found.explained_variance_ratio_ == pytest.approx(1)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)], ids=["wide", "tall"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_components_of_a_large_table_come_out_the_same_by_iteration(monkeypatch, shape, dtype):
    X = table(shape).astype(dtype)
    expected = PCALeverage(n_components=3, stop=None).fit(X)
    monkeypatch.setattr(_pca_leverage, "_LARGE", 20)
    monkeypatch.setattr(_pca_leverage, "_FEW", 0.1)
    calls = []
    monkeypatch.setattr(_pca_leverage, "svds", lambda *args, **kw: calls.append(1) or _svds(*args, **kw))
    found = PCALeverage(n_components=3, stop=None).fit(X)
    assert calls
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-8 if dtype == np.float64 else 1e-3)
    assert found.explained_variance_ratio_ == pytest.approx(expected.explained_variance_ratio_, rel=1e-5)


_svds = _pca_leverage.svds


def test_equal_singular_values_at_the_cut_are_all_taken():
    X = np.vstack([np.eye(6), -np.eye(6)]) * np.array([3.0, 2.0, 2.0, 2.0, 1.0, 0.5])
    for asked in (2, 3, 4):
        found = PCALeverage(n_components=asked, standardize=False, stop=None).fit(X)
        assert found.n_components_ == 4
        np.testing.assert_allclose(found.scores_, [1, 1, 1, 1, 0, 0], atol=1e-12)
        assert found.order_.tolist() == [0, 1, 2, 3, 4, 5]
    assert PCALeverage(n_components=1, standardize=False).fit(X).n_components_ == 1


def test_equal_singular_values_at_the_cut_are_all_taken_by_iteration_too(monkeypatch):
    monkeypatch.setattr(_pca_leverage, "_LARGE", 5)
    monkeypatch.setattr(_pca_leverage, "_FEW", 0.5)
    X = np.vstack([np.eye(8), -np.eye(8)]) * np.array([3.0, 2.0, 2.0, 2.0, 1.0, 0.5, 0.4, 0.3])
    assert PCALeverage(n_components=2, standardize=False).fit(X).n_components_ == 4


def test_the_number_of_components_never_exceeds_the_rank():
    values = np.array([4.0, 2.0, 1.0, 1e-14])
    assert count_components(values, 10, rounding=1e-10) == 3
    assert count_components(values, None, rounding=1e-10) == 3
    assert count_components(values, 0.5, rounding=1e-10) == 1
    assert count_components(values, 4 / 7, rounding=1e-10) == 1
    assert count_components(values, 0.6, rounding=1e-10) == 2
    assert count_components(values, 0.9999, rounding=1e-10) == 3


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_permuting_the_columns_permutes_the_result(seed, shape):
    X, shuffle = table(shape, seed), np.random.RandomState(seed).permutation(shape[1])
    plain, shuffled = (PCALeverage(n_components=2).fit(each) for each in (X, X[:, shuffle]))
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-6, atol=1e-9)


@QUICK
@given(seed=SEED, shape=SHAPE, size=st.floats(0.1, 6), offset=st.floats(0, 100))
def test_units_signs_and_offsets_do_not_matter(seed, shape, size, offset):
    rng = np.random.RandomState(seed)
    X = table(shape, seed)
    scale = 10 ** rng.uniform(-size, size, shape[1]) * rng.choice([-1, 1], shape[1])
    plain, moved = (PCALeverage(n_components=2).fit(each) for each in (X, (X + offset * X.std(axis=0)) * scale))
    np.testing.assert_allclose(moved.scores_, plain.scores_, rtol=1e-5, atol=1e-8)


@QUICK
@given(seed=SEED, shape=SHAPE, copied=st.integers(0, 1))
def test_copies_share_a_score_and_come_after_their_original(seed, shape, copied):
    X = table(shape, seed)
    found = PCALeverage(stop=None).fit(np.column_stack([X, 5 - 3 * X[:, copied]]))
    assert found.scores_[-1] == found.scores_[copied]
    assert found.ranking_[copied] < found.ranking_[-1]


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_constant_columns_score_zero_and_come_last(value):
    X = np.insert(table(), [0, 5], value, axis=1)
    found = PCALeverage(stop=None).fit(X)
    assert found.scores_[[0, 6]].tolist() == [0, 0]
    assert found.order_[-2:].tolist() == [0, 6]


@pytest.mark.parametrize("shape", [(20, 300), (300, 20)], ids=["wide", "tall"])
def test_float32_finds_what_float64_finds(shape):
    X = table(shape).astype(np.float32)
    single, double = (PCALeverage(n_components=3).fit(each) for each in (X, X.astype(float)))
    np.testing.assert_allclose(single.scores_, double.scores_, rtol=1e-3, atol=1e-6)
    assert single.scores_.dtype == np.float32


def test_two_samples_give_all_features_the_same_score():
    found = PCALeverage(stop=None).fit(np.random.RandomState(0).standard_normal((2, 5)))
    np.testing.assert_allclose(found.scores_, 0.2)
    assert found.order_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n_components", [0, -1, 1.0, 1.5, 0.0, "two"])
def test_a_senseless_number_of_components_is_refused_by_name(n_components):
    with pytest.raises(ValueError, match="n_components"):
        PCALeverage(n_components=n_components).fit(table())


def labels_for(n_columns, seed):
    """Groups of unequal size, their columns anywhere in the table."""
    return np.random.RandomState(seed).geometric(0.3, size=n_columns)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans())
def test_groups_of_one_column_are_columns(seed, shape, standardize):
    X = table(shape, seed)
    columns = PCALeverage(stop=None, standardize=standardize).fit(X)
    groups = PCALeverage(stop=None, standardize=standardize, groups=np.arange(shape[1])).fit(X)
    np.testing.assert_array_equal(groups.order_, columns.order_)
    np.testing.assert_allclose(groups.scores_, columns.scores_, rtol=1e-10)


@QUICK
@given(seed=SEED, shape=SHAPE, standardize=st.booleans(), r=st.integers(1, 10))
def test_the_score_of_a_group_is_the_trace_of_its_block_of_the_projector(seed, shape, standardize, r):
    X, labels = np.insert(table(shape, seed), 1, 0.1, axis=1), labels_for(shape[1] + 1, seed)
    found = PCALeverage(stop=None, n_components=r, standardize=standardize, groups=labels).fit(X)
    _, _, V = np.linalg.svd(standardized(X, standardize), full_matrices=False)
    projector = V[: found.n_components_].T @ V[: found.n_components_]
    members, names = members_of(labels)
    traces = np.array([np.trace(projector[np.ix_(group, group)]) for group in members])
    np.testing.assert_allclose(found.scores_[[group[0] for group in members]], traces, rtol=1e-6, atol=1e-9)
    ranked = [traces[names.index(name)] for name in found.group_order_]
    assert np.all(np.diff(ranked) <= 1e-8)
    np.testing.assert_allclose(traces.sum(), leverages(X, found.n_components_, standardize).sum())


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_permuting_the_columns_of_groups_permutes_the_result(seed, shape):
    X, labels = table(shape, seed), labels_for(shape[1], seed)
    shuffle = np.random.RandomState(seed).permutation(shape[1])
    plain = PCALeverage(n_components=2, groups=labels).fit(X)
    shuffled = PCALeverage(n_components=2, groups=labels[shuffle]).fit(X[:, shuffle])
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-6, atol=1e-9)


def test_a_fit_by_groups_names_transforms_and_orders_whole_groups():
    frame = pd.DataFrame(table((40, 6)), columns=list("abcdef"))
    found = PCALeverage(groups={"low": ["a", "d"], "high": ["b", "c", "f"]}, stop=2).fit(frame)
    assert set(found.group_order_[:2]) <= {"low", "high", "e"}
    kept = [name for name in frame if found.support_[frame.columns.get_loc(name)]]
    assert found.get_feature_names_out().tolist() == kept
    np.testing.assert_array_equal(found.transform(frame), frame[kept])
    assert found.n_features_ == len(kept) == found.support_.sum()
