"""Neighbor-faithful selection: the features whose nearest neighbors recover all features."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from tamis.assess import fit_score
from tamis.rank.subset import _faithful_set as faithful_set
from tamis.rank.subset._feature_medoids import FeatureMedoids
from tamis.rank.subset._greedy_reconstruction import GreedyReconstruction
from tamis.rank.subset._neighbor_faithful import NeighborFaithful
from tamis.stop import CrossValidation, FITPlateau, IntrinsicDimension
from tests.base.test_progress import observed
from tests.oracles.neighbor_faithful import every_fit, loo_fit, ridge_order, unit_columns

QUICK = settings(deadline=None, max_examples=20, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(7, 30), st.integers(3, 20))


def table(shape=(40, 30), seed=0, causes=3):
    """Columns that share a few causes, of different units."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((shape[0], causes)) @ rng.standard_normal((causes, shape[1]))
    X += 0.5 * rng.standard_normal(shape)
    return X * 10 ** rng.uniform(-2, 2, shape[1]) + rng.standard_normal(shape[1])


@QUICK
@given(seed=SEED, shape=SHAPE, k=st.integers(1, 20), n_neighbors=st.integers(1, 8), polish=st.booleans())
def test_fit_is_that_of_the_judge_and_of_the_definition(seed, shape, k, n_neighbors, polish):
    X = table(shape, seed)
    found = NeighborFaithful(stop=min(k, shape[1]), n_neighbors=n_neighbors, polish=polish).fit(X)
    n_neighbors = min(n_neighbors, shape[0] - 1)
    assert found.fit_ == pytest.approx(fit_score(X, found, n_neighbors=n_neighbors))
    assert found.fit_ == pytest.approx(loo_fit(X, np.flatnonzero(found.support_), n_neighbors))


@QUICK
@given(seed=SEED, shape=SHAPE, k=st.integers(1, 10))
def test_fit_never_falls_from_the_best_start_on(seed, shape, k):
    X, k = table(shape, seed), min(k, shape[1] - 1)
    found, start = (NeighborFaithful(stop=k, polish=polish).fit(X) for polish in (True, False))
    history = found.certificate_["history"]
    assert np.all(np.diff(history) >= 0)
    assert history[0] == pytest.approx(start.fit_) == pytest.approx(max(found.certificate_["fit_of_starts"].values()))
    assert history[-1] == pytest.approx(found.fit_)
    assert (found.certificate_["n_swaps"] > 0) == (found.fit_ > start.fit_)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_on_small_tables_few_sets_of_that_size_are_better(k):
    for seed in range(5):
        X = table((30, 9), seed)
        every = every_fit(X, k)
        reached = NeighborFaithful(stop=k).fit(X).fit_
        assert reached <= every.max() + 1e-12
        assert np.mean(every > reached + 1e-12) < 0.1


def test_fit_is_higher_than_that_of_methods_that_do_not_look_at_neighbors():
    for seed in range(3):
        X = table((80, 200), seed, causes=8)
        found = NeighborFaithful(stop=8).fit(X)
        for other in (FeatureMedoids(stop=8), GreedyReconstruction(stop=8)):
            assert found.fit_ > fit_score(X, other.fit(X))


@QUICK
@given(seed=SEED, shape=SHAPE)
def test_all_features_are_put_in_the_order_of_ridge_regression(seed, shape):
    X = table(shape, seed)
    found = NeighborFaithful(stop=None).fit(X)
    order, gains = ridge_order(unit_columns(X), faithful_set.ORDER_ALPHA, shape[1])
    np.testing.assert_array_equal(found.order_, order)
    np.testing.assert_allclose(found.scores_[order], gains)
    assert found.support_.all()


@QUICK
@given(seed=SEED, shape=SHAPE, k=st.integers(1, 10))
def test_only_the_kept_features_are_ranked_and_scored(seed, shape, k):
    k = min(k, shape[1])
    found = NeighborFaithful(stop=k).fit(table(shape, seed))
    assert found.order_.size == k
    np.testing.assert_array_equal(np.isnan(found.scores_), ~found.support_)
    assert np.all(found.scores_[found.support_] > 0)
    assert [step.feature for step in found.path_] == found.order_.tolist()


@pytest.mark.parametrize("stop", ["auto", FITPlateau(0.1), CrossValidation(cv=3)], ids=["auto", "plateau", "cv"])
def test_a_rule_sees_a_nested_order_and_the_best_set_of_its_size_is_kept(stop):
    X, y = table(), np.arange(40) % 2
    found = NeighborFaithful(stop=stop).fit(X, y)
    k = found.stop_.n_features
    assert 1 <= k < X.shape[1]
    np.testing.assert_array_equal(found.support_, NeighborFaithful(stop=k).fit(X).support_)
    assert found.stop_.curve.size == found.stop_.curve_at.size > 0


def test_a_rule_that_keeps_nothing_is_obeyed():
    class Nothing(FITPlateau):
        def decide(self, *arguments, **named):
            return replace(super().decide(*arguments, **named), n_features=0)

    found = NeighborFaithful(stop=Nothing()).fit(table())
    assert not found.support_.any()
    assert found.fit_ == 0.0


def test_copies_and_constants_are_not_ranked():
    X = table()
    found = NeighborFaithful(stop=None).fit(np.column_stack([X, -2.54 * X[:, 3] + 1, np.full(40, 7.0), X[:, 0]]))
    assert sorted(found.order_) == list(range(30))
    assert np.isnan(found.scores_[30:]).all()
    kept = NeighborFaithful(stop=5).fit(np.column_stack([X, X])).support_
    np.testing.assert_array_equal(kept[30:], False)


@pytest.mark.parametrize("shape", [(2, 5), (3, 5), (4, 1), (5, 6), (6, 7), (7, 40)], ids=str)
@pytest.mark.parametrize("stop", ["auto", 1, 0.5, None])
def test_tiny_tables_are_no_trouble(shape, stop):
    found = NeighborFaithful(stop=stop).fit(np.random.RandomState(0).standard_normal(shape))
    assert 1 <= found.support_.sum() <= shape[1]
    assert np.isfinite(found.scores_[found.order_]).all()
    assert np.isfinite(found.fit_)


def test_row_order_and_seed_do_not_matter_where_rows_are_few():
    X = table()
    plain = NeighborFaithful(stop=4).fit(X)
    for other in (
        NeighborFaithful(stop=4, random_state=3).fit(X),
        NeighborFaithful(stop=4).fit(X[np.random.RandomState(1).permutation(40)]),
        NeighborFaithful(stop=4).fit(-1000.0 * X + 3),
    ):
        np.testing.assert_array_equal(other.order_, plain.order_)


def test_many_rows_are_sampled_and_the_result_can_be_repeated():
    X = table((300, 20), causes=6)
    selector = NeighborFaithful(stop=4, max_samples=60)
    first, second = (selector.fit(X).order_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert selector.fit_ == pytest.approx(fit_score(X, selector))
    orders = {tuple(NeighborFaithful(stop=4, max_samples=60, random_state=s).fit(X).order_) for s in range(5)}
    assert len(orders) > 1


def test_a_sketch_of_a_table_that_is_large_both_ways_does_about_as_well(monkeypatch):
    X = table((120, 150), causes=6)
    whole = NeighborFaithful(stop=6, polish=False).fit(X).fit_
    monkeypatch.setattr(faithful_set, "_SKETCH", 60)
    rare = np.zeros(120)
    rare[0] = 1.0
    found = NeighborFaithful(stop=6, polish=False).fit(np.column_stack([X, rare]))
    assert found.fit_ > 0.8 * whole
    ranked = NeighborFaithful(stop=None).fit(np.column_stack([X, rare])).order_
    assert ranked.size in (150, 151)


def test_more_features_than_are_chosen_one_by_one(monkeypatch):
    monkeypatch.setattr(faithful_set, "MAX_GREEDY", 5)
    monkeypatch.setattr("tamis.rank.subset._neighbor_faithful.MAX_GREEDY", 5)
    X = table()
    found = NeighborFaithful(stop=12).fit(X)
    assert found.support_.sum() == 12
    assert list(found.certificate_["fit_of_starts"]) == ["ridge 0.1", "ridge k/20"]
    assert sorted(NeighborFaithful(stop=None).fit(X).order_) == list(range(30))


def test_single_precision_finds_about_the_same(monkeypatch):
    X = table((60, 100)).astype(np.float32)
    double = NeighborFaithful(stop=8).fit(X.astype(float))
    single = NeighborFaithful(stop=8).fit(X)
    assert single.scores_.dtype == np.float32
    assert single.fit_ == pytest.approx(double.fit_, abs=0.02)
    monkeypatch.setattr(faithful_set, "_SINGLE", 0)
    assert NeighborFaithful(stop=8).fit(X).fit_ == pytest.approx(double.fit_, abs=0.02)


def test_starts_and_passes_are_reported_and_a_callback_may_end_them():
    X = table()
    found, recorder = observed(NeighborFaithful(stop=5), (X,))
    assert recorder.count("begin", "start step") == 5
    assert 1 <= recorder.count("begin", "polish step") <= 2
    np.testing.assert_array_equal(found.order_, NeighborFaithful(stop=5).fit(X).order_)
    ended, _ = observed(NeighborFaithful(stop=5), (X,), start_step=2)
    assert len(ended.certificate_["fit_of_starts"]) == 2


@pytest.mark.parametrize("stop", ["auto", 3, None])
@pytest.mark.parametrize("size", [1e-310, 1.7e308])
def test_numbers_as_large_or_as_small_as_there_are_do_no_harm(size, stop):
    X = table((40, 8))
    X = np.abs(X) / np.abs(X).max(axis=0)
    plain = NeighborFaithful(stop=stop).fit(X)
    np.testing.assert_array_equal(NeighborFaithful(stop=stop).fit(X * size).support_, plain.support_)


def test_columns_that_only_rounding_makes_vary_are_refused():
    with pytest.raises(ValueError, match="every column of X is constant, up to rounding"):
        NeighborFaithful(stop=2).fit(1e15 + np.random.RandomState(0).standard_normal((30, 4)))


def test_the_plateau_is_looked_for_among_the_sets_that_are_really_selected():
    X = table((60, 40), causes=4)
    found = NeighborFaithful().fit(X)
    k, decision = found.n_features_, found.stop_
    assert decision.curve[decision.curve_at == k][0] == pytest.approx(found.fit_)
    assert f"{found.fit_:.1%}" in decision.reason
    for size, value in zip(decision.curve_at.tolist(), decision.curve, strict=True):
        own = NeighborFaithful(stop=size).fit(X)
        assert value == pytest.approx(own.fit_)
        if size == k:
            np.testing.assert_array_equal(own.order_, found.order_)
        assert (size >= k) == (value >= decision.threshold)


def test_cross_validation_judges_at_every_number_the_set_of_that_number():
    X = table((60, 20), causes=4)
    y = X[:, 0] + X[:, 7]
    rule, rows = CrossValidation(LinearRegression(), n_features=[1, 3, 8], cv=KFold(3)), KFold(3)
    decision = NeighborFaithful(stop=rule).fit(X, y).stop_
    expected = []
    for k in (1, 3, 8):
        scores = []
        for train, test in rows.split(X):
            kept = NeighborFaithful(stop=k).fit(X[train]).order_[:k]
            model = LinearRegression().fit(X[np.ix_(train, kept)], y[train])
            scores.append(model.score(X[np.ix_(test, kept)], y[test]))
        expected.append(np.mean(scores))
    np.testing.assert_allclose(decision.curve, expected)


def test_a_rule_that_tells_the_number_late_gets_the_set_of_that_number():
    X = table()
    found = NeighborFaithful(stop=IntrinsicDimension()).fit(X)
    np.testing.assert_array_equal(found.order_, NeighborFaithful(stop=found.n_features_).fit(X).order_)


def test_with_columns_that_stay_it_still_keeps_as_many_as_recover_all():
    for seed in range(3):
        X = table((100, 16), seed)
        free = NeighborFaithful().fit(X)
        for keep in ([0], [15, 3], list(range(6))):
            found = NeighborFaithful(keep=keep).fit(X)
            assert found.support_[keep].all()
            assert found.order_[: len(keep)].tolist() == keep
            assert found.fit_ >= fit_score(X, None) - FITPlateau().tolerance - 1e-9
            assert found.stop_.curve_at[0] >= len(keep)
            assert found.n_features_ <= free.n_features_ + len(keep)


@pytest.mark.parametrize("k", [2, 3])
def test_few_sets_that_hold_what_stays_are_better(k):
    for seed in range(5):
        X = table((30, 9), seed)
        sets = [members for members in combinations(range(9), k) if 4 in members]
        every = np.array([loo_fit(X, np.array(members), 5) for members in sets])
        found = NeighborFaithful(stop=k, keep=[4]).fit(X)
        assert found.support_[4]
        assert found.order_.size == k
        assert found.fit_ <= every.max() + 1e-12
        assert np.mean(every > found.fit_ + 1e-12) < 0.1


def test_a_copy_of_a_column_that_stays_is_not_ranked():
    X = np.column_stack([table(), table()[:, 3]])
    found = NeighborFaithful(stop=5, keep=[30]).fit(X)
    assert found.order_[0] == 30
    assert found.order_.size == 5
    assert np.isnan(found.scores_[3])
    assert np.isfinite(found.scores_[30])


def test_as_many_stay_as_are_named_whatever_the_number_asked_for():
    assert np.flatnonzero(NeighborFaithful(stop=1, keep=[7, 2]).fit(table()).support_).tolist() == [2, 7]
    nested = NeighborFaithful(stop=None, keep=[7, 2]).fit(table())
    assert nested.order_[:2].tolist() == [7, 2]
    assert nested.order_.size == 30
