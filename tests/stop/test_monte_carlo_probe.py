"""Permuted copies among the features: the same answer as plain loops, and the promised error rates."""

from typing import ClassVar

import array_api_strict
import numpy as np
import pytest
import torch
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context

from tamis import (
    RFE,
    CorrelationScore,
    FisherScore,
    GramSchmidt,
    MaxVariance,
    RandomSelection,
    SVMBoundElimination,
    TreeSelector,
)
from tamis.base import ColumnCandidates, GroupCandidates
from tamis.datasets import make_linear
from tamis.dictionary import Monomials
from tamis.kernels.arrays.transfer import to_numpy
from tamis.stop import MonteCarloProbe
from tamis.stop._draw_statistics import _corrected
from tests.oracles.chance import most
from tests.oracles.gram_schmidt import deflation
from tests.oracles.probes import (
    benjamini_hochberg,
    draw_seeds,
    pooled_p_values,
    scores_of_copies,
    step_down,
)


def problem(seed, n=40, d=8, strength=0.7):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    return X, strength * (X[:, 0] + X[:, 1] - X[:, 2]) + 1.5 * rng.standard_normal(n)


def squared_correlation(x, y):
    return np.corrcoef(x, y)[0, 1] ** 2


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("risk", "n_draws"), [(0.1, 9), (0.1, 49), (0.3, 29)])
def test_the_kept_features_are_those_of_a_plain_step_down_over_all_draws(seed, risk, n_draws):
    X, y = problem(seed)
    real, copies = scores_of_copies(squared_correlation, X, y, draw_seeds(7, n_draws))
    expected = step_down(real.mean(axis=0), copies, risk)
    found = CorrelationScore(stop=MonteCarloProbe(risk, n_draws=n_draws, random_state=7)).fit(X, y)
    assert set(found.get_support(indices=True).tolist()) == expected
    np.testing.assert_allclose(found.scores_, real.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_the_false_discovery_rule_is_benjamini_hochberg_on_pooled_copies(seed, rate):
    X, y = problem(seed)
    real, copies = scores_of_copies(squared_correlation, X, y, draw_seeds(3, 19))
    expected = benjamini_hochberg(pooled_p_values(real.mean(axis=0), copies), rate)
    found = CorrelationScore(stop=MonteCarloProbe(fdr=rate, n_draws=19, random_state=3)).fit(X, y)
    assert set(found.get_support(indices=True).tolist()) == expected


@pytest.mark.parametrize("seed", range(4))
def test_a_sequential_ranker_is_judged_by_its_median_rank_among_shuffled_copies(seed):
    X, y = problem(seed, d=5)
    n, d = X.shape
    real, copies = [], []
    for draw in draw_seeds(2, 9):
        rng = np.random.RandomState(draw)
        both = np.hstack([X, X[rng.permutation(n)]])
        place = rng.permutation(2 * d)
        order = place[deflation(both[:, place], y[:, None])[0]]
        rank = np.empty(2 * d)
        rank[order] = np.arange(1, 2 * d + 1)
        real.append(-rank[:d])
        copies.append(-rank[d:])
    expected = step_down(np.median(real, axis=0), np.array(copies), 0.3)
    found = GramSchmidt(stop=MonteCarloProbe(0.3, n_draws=9, random_state=2)).fit(X, y)
    assert set(found.get_support(indices=True).tolist()) == expected


def test_most_draws_are_saved_when_the_answer_is_settled():
    X, y = make_linear(60, n_features=20, coef=[0.0], noise=1.0, random_state=0)
    found = CorrelationScore(stop=MonteCarloProbe(0.05, n_draws=999)).fit(X, y)
    assert not found.support_.any()
    drawn = int(found.stop_.reason.split(" draws")[0].split()[-1])
    assert drawn < 500
    real, copies = scores_of_copies(squared_correlation, X, y, draw_seeds(0, 999))
    assert step_down(real[0], copies, 0.05) == set()


@pytest.mark.parametrize(
    ("ranker", "n_drawings", "d"), [(CorrelationScore, 120, 10), (FisherScore, 120, 10), (GramSchmidt, 60, 5)]
)
def test_noise_is_kept_no_more_often_than_the_risk(ranker, n_drawings, d):
    kept = 0
    for seed in range(n_drawings):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((25, d)), rng.permutation(np.arange(25) % 2)
        kept += ranker(stop=MonteCarloProbe(0.2, n_draws=9)).fit(X, y).stop_.n_features > 0
    assert kept <= most(n_drawings, 0.2)


def test_heavy_tails_do_not_raise_the_error_rate():
    n_drawings, kept = 120, 0
    for seed in range(n_drawings):
        rng = np.random.RandomState(seed)
        X, y = np.exp(2 * rng.standard_normal((25, 20))), np.exp(2 * rng.standard_normal(25))
        kept += CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9)).fit(X, y).stop_.n_features > 0
    assert kept <= most(n_drawings, 0.2)


def test_false_discoveries_stay_a_small_share_of_what_is_kept():
    shares = []
    for seed in range(40):
        X, y = make_linear(60, n_features=20, coef=[2, 2, 2, 2], noise=2.0, random_state=seed)
        kept = CorrelationScore(stop=MonteCarloProbe(fdr=0.2, n_draws=19)).fit(X, y).get_support(indices=True)
        shares.append(np.mean(kept >= 4) if kept.size else 0.0)
    # shares lie in [0, 1], so that Hoeffding bounds the luck of forty of them
    assert np.mean(shares) < 0.2 + np.sqrt(np.log(1e4) / (2 * 40))


@pytest.mark.parametrize("ranker", [CorrelationScore, GramSchmidt])
@pytest.mark.parametrize("rule", [{}, {"fdr": 0.2}, {"conditional": True}], ids=["risk", "fdr", "conditional"])
def test_the_number_of_jobs_changes_nothing(ranker, rule):
    X, y = problem(0)
    one = ranker(stop=MonteCarloProbe(0.2, n_draws=14, n_jobs=1, **rule)).fit(X, y)
    with parallel_config(backend="threading"):
        two = ranker(stop=MonteCarloProbe(0.2, n_draws=14, n_jobs=2, **rule)).fit(X, y)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.stop_.curve, two.stop_.curve)


def test_two_processes_give_the_same_answer_as_one():
    X, y = problem(1)
    one, two = (CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9, n_jobs=jobs)).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert one.stop_.reason == two.stop_.reason


def test_the_same_seed_gives_the_same_draws_and_another_seed_others():
    X, y = problem(2, strength=0.2)

    def curve(seed):
        return CorrelationScore(stop=MonteCarloProbe(0.1, n_draws=9, random_state=seed)).fit(X, y).stop_.curve

    np.testing.assert_array_equal(curve(0), curve(0))
    np.testing.assert_array_equal(curve(None), curve(None))
    assert any(not np.array_equal(curve(0), curve(seed)) for seed in range(1, 5))


def test_conditional_probes_keep_fewer_mates_of_the_relevant_feature():
    plain = conditional = 0
    for seed in range(8):
        rng = np.random.RandomState(seed)
        cause = rng.standard_normal(80)
        X = np.column_stack([cause, *(0.8 * cause + 0.6 * rng.standard_normal((5, 80))), rng.standard_normal((80, 4))])
        y = 2 * cause + 0.5 * rng.standard_normal(80)
        for flag in (False, True):
            kept = CorrelationScore(stop=MonteCarloProbe(0.1, n_draws=19, conditional=flag)).fit(X, y).support_
            assert kept[0]
            if flag:
                conditional += kept.sum() - 1
            else:
                plain += kept.sum() - 1
    assert plain >= 36
    assert conditional < plain / 2


def test_conditional_probes_hold_the_risk_on_noise():
    kept = 0
    for seed in range(60):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((25, 8)), rng.standard_normal(25)
        kept += CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9, conditional=True)).fit(X, y).stop_.n_features > 0
    assert kept <= most(60, 0.2)


def test_kept_features_come_first_whatever_the_way_they_were_found():
    X, y = problem(3)
    for rule in (MonteCarloProbe(0.3, n_draws=9, conditional=True), MonteCarloProbe(0.3, n_draws=9)):
        found = CorrelationScore(stop=rule).fit(X, y)
        assert set(found.order_[: found.stop_.n_features]) == set(found.get_support(indices=True))
        assert np.all(np.diff(found.scores_[found.order_]) <= 0)
        assert sorted(found.order_) == list(range(8))


def test_a_feature_that_separates_the_classes_without_error_is_kept():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((30, 5)), np.arange(30) % 2
    X[:, 3] = y
    found = FisherScore(stop=MonteCarloProbe(0.1, n_draws=9)).fit(X, y)
    assert found.support_[3]
    assert found.order_[0] == 3


def test_sparse_tables_give_what_dense_ones_give():
    X, y = problem(4)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = (CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9)).fit(t, y) for t in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.scores_, thin.scores_, rtol=1e-9)
    np.testing.assert_array_equal(dense.support_, thin.support_)


def test_the_reason_names_the_refused_feature_and_the_draws():
    X, y = make_linear(100, n_features=6, coef=[3, 3], random_state=0)
    found = CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9)).fit(X, y)
    assert found.stop_.n_features == 2
    assert f"'x{found.order_[2]}'" in found.stop_.reason
    assert "9 draws" in found.stop_.reason
    assert "risk 0.2" in found.stop_.reason


def test_all_features_may_stand_out():
    X, y = make_linear(200, n_features=2, coef=[3, 3], random_state=0)
    found = CorrelationScore(stop=MonteCarloProbe(0.1, n_draws=9)).fit(X, y)
    assert found.support_.all()
    assert "all 2" in found.stop_.reason


@pytest.mark.parametrize("ranker", [MaxVariance(), RandomSelection()], ids=repr)
def test_unsupervised_rankers_are_refused_by_name(ranker):
    X, y = problem(0)
    with pytest.raises(ValueError, match=rf"MonteCarloProbe.*{type(ranker).__name__}.*unsupervised"):
        ranker.set_params(stop=MonteCarloProbe()).fit(X, y)


def test_too_few_draws_for_the_risk_are_refused():
    with pytest.raises(ValueError, match=r"n_draws=9.*0\.05.*at least 19"):
        CorrelationScore(stop=MonteCarloProbe(0.05, n_draws=9)).fit(*problem(0))


@pytest.mark.parametrize(
    "dictionary", [Monomials(2), Monomials(2, min_degree=2, interaction_only=True)], ids=["more", "as many"]
)
def test_dictionaries_are_refused_even_with_as_many_candidates_as_variables(dictionary):
    X, y = problem(0, d=3)
    with pytest.raises(ValueError, match=r"MonteCarloProbe.*dictionary.*Probe"):
        GramSchmidt(dictionary=dictionary, stop=MonteCarloProbe(0.2, n_draws=9)).fit(X, y)


def test_conditional_probes_need_a_dense_table():
    X, y = problem(0)
    with pytest.raises(ValueError, match=r"conditional=True.*dense"):
        CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9, conditional=True)).fit(sparse.csr_array(X), y)


def test_conditional_probes_refuse_missing_values():
    X, y = problem(0)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"conditional=True.*NaN"):
        CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9, conditional=True)).fit(X, y)


@pytest.mark.parametrize("ranker", [CorrelationScore, GramSchmidt])
def test_a_row_of_weight_three_is_permuted_as_three_rows(ranker):
    X, y = problem(0)
    weight = np.random.RandomState(0).randint(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    rule = MonteCarloProbe(0.2, n_draws=9)
    weighted, repeated = ranker(stop=rule).fit(X, y, sample_weight=weight), ranker(stop=rule).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_allclose(weighted.stop_.curve, repeated.stop_.curve)


def test_weights_that_are_no_whole_numbers_stay_in_their_places():
    X, y = problem(0)
    weight = np.random.RandomState(0).uniform(0.5, 3, len(y))
    found = CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=9)).fit(X, y, sample_weight=weight)
    assert found.scores_.max() == CorrelationScore(stop=None).fit(X, y, sample_weight=weight).scores_.max()


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 2, 2, 3, 3]])
@pytest.mark.parametrize("importance", ["mutual_information", "gain_ratio", "error"])
def test_single_splits_of_permuted_copies_are_those_of_permuted_tables(importance, groups):
    X, y = problem(0)
    X[5:9, 2] = np.nan
    y, order = np.digitize(y, [-1, 1]), np.random.RandomState(1).permutation(len(y))
    weight = np.random.RandomState(2).uniform(0.5, 3, len(y))
    ranker = TreeSelector(importance=importance, groups=groups, stop=None)
    candidates = ColumnCandidates(X, sample_weight=weight)
    if groups is not None:
        candidates = GroupCandidates(X, groups, sample_weight=weight)
    at_once = ranker.scores_of_permuted_copies(candidates, y, order[None])[0]
    expected = ranker.fit(X[order], y, sample_weight=weight).scores_
    np.testing.assert_allclose(at_once, expected if groups is None else expected[::2], rtol=1e-9)


class CoarseInDraws(CorrelationScore):
    """Counts the copies of itself that draws were ranked with."""

    n_copies: ClassVar[list[int]] = []

    def scores_of_permuted_copies(self, candidates, y, permutations):
        return None

    def for_draws(self):
        self.n_copies.append(1)
        return super().for_draws()


def test_every_draw_is_ranked_by_the_copy_that_the_ranker_gives_for_it():
    X, y = problem(0)
    CoarseInDraws.n_copies.clear()
    CoarseInDraws(stop=MonteCarloProbe(0.1, n_draws=9)).fit(X, y)
    assert len(CoarseInDraws.n_copies) == 1 + 9  # one for the check before any work


@pytest.mark.parametrize(("step", "in_draws"), [(1, 0.1), (2, 2), (0.3, 0.3), ("halving", "halving")])
def test_an_elimination_one_by_one_is_coarser_in_draws(step, in_draws):
    for ranker in (RFE(step=step), SVMBoundElimination(step=step)):
        assert ranker.for_draws().step == in_draws
        assert ranker.step == step


@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
def test_an_elimination_that_is_coarser_in_draws_keeps_its_promise():
    rng = np.random.RandomState(0)
    kept = [
        RFE(estimator="ridge", task="regression")
        .fit(rng.standard_normal((30, 15)), rng.standard_normal(30))
        .n_features_
        for _ in range(40)
    ]
    assert np.count_nonzero(kept) <= most(40, 0.05)


def test_importances_in_trees_are_compared_with_those_of_copies_of_the_same_feature():
    """A date of noise in five columns takes more splits than a flag that matters."""
    rng = np.random.RandomState(0)
    flag, date = rng.randint(2, size=300), rng.uniform(size=(300, 5))
    y = np.where(rng.uniform(size=300) < 0.3, rng.randint(2, size=300), flag)
    X = np.column_stack([flag, date])
    found = TreeSelector(
        groups=[0, 1, 1, 1, 1, 1], n_trees=10, stop=MonteCarloProbe(0.1, n_draws=9), random_state=0
    ).fit(X, y)
    assert found.support_.tolist() == [True] + [False] * 5
    assert found.scores_[0] < 0.5


def test_corrected_importances_hold_the_risk_on_noise_of_all_kinds():
    kept = 0
    for seed in range(30):
        rng = np.random.RandomState(seed)
        X = np.column_stack([rng.randint(2, size=40), rng.randint(4, size=40), rng.standard_normal((40, 3))])
        found = TreeSelector(n_trees=5, stop=MonteCarloProbe(0.2, n_draws=9), random_state=0).fit(
            X, rng.randint(2, size=40)
        )
        kept += found.n_features_ > 0
    assert kept <= most(30, 0.2)


def test_the_correction_is_the_mean_over_the_copies_and_the_feature():
    rng = np.random.RandomState(0)
    of_features, of_copies = rng.uniform(size=(4, 3)), rng.uniform(size=(4, 3))
    of_copies[1, 2] = of_features[2, 2] = -np.inf  # not used: nothing gained
    scores, copies = _corrected(of_features, of_copies)
    of_copies[1, 2] = of_features[2, 2] = 0.0
    for j in range(3):
        mean = sum(of_features[:, j]) / 4
        by_chance = (mean + sum(of_copies[:, j])) / 5
        assert scores[j] == pytest.approx(mean - by_chance)
        np.testing.assert_allclose(copies[:, j], of_copies[:, j] - by_chance)
    of_features[:, 1] = -np.inf
    assert _corrected(of_features, of_copies)[0][1] == -np.inf  # never used: not ranked


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize("method", [CorrelationScore, FisherScore])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_on_a_device_give_the_decision_of_the_host(method, container, dtype):
    X, y = make_linear(n_samples=80, coef=[2, 2], n_features=12, random_state=0)
    y = (y > 0).astype(int)
    X[:, 5] = X[:, 4]
    X = X.astype(dtype)
    rule = MonteCarloProbe(n_draws=39)
    expected = method(stop=rule, exclude=[7]).fit(X, y)
    with config_context(array_api_dispatch=True):
        found = method(stop=rule, exclude=[7]).fit(container(X), y)
    assert found.stop_.n_features == expected.stop_.n_features > 0
    np.testing.assert_allclose(found.stop_.curve, expected.stop_.curve)
    np.testing.assert_array_equal(to_numpy(found.order_), expected.order_)


@pytest.mark.parametrize("method", [CorrelationScore, FisherScore])
def test_a_figure_of_every_copy_of_ten_draws_leaves_the_device(method, transfers):
    X, y = make_linear(n_samples=80, coef=[2, 2], n_features=200, random_state=0)
    with config_context(array_api_dispatch=True):
        method(stop=MonteCarloProbe(n_draws=39)).fit(torch.asarray(X), (y > 0).astype(int))
    assert max(transfers) == 10 * 200


@pytest.mark.parametrize("level", [{"fdr": 0.3}, {"risk": 0.3}], ids=["fdr", "risk"])
def test_features_kept_or_excluded_anyway_do_not_help_others_past_the_probe(level):
    """A true feature among those that stay is no discovery: the others are judged as if it were not there."""
    for seed in range(10):
        rng = np.random.RandomState(seed)
        X = rng.standard_normal((60, 30))
        y = X[:, :8].sum(axis=1) + rng.standard_normal(60)
        rule = MonteCarloProbe(**level, n_draws=19, random_state=seed)
        among = CorrelationScore(stop=rule, keep=list(range(6)), exclude=[28, 29]).fit(X, y)
        alone = CorrelationScore(stop=rule).fit(X[:, 6:28], y)
        assert among.get_support()[6:28].tolist() == alone.get_support().tolist()


def test_what_stays_anyway_is_given_where_copies_depend_on_the_kept_features():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((300, 7))
    y = X[:, :2].sum(axis=1) + 0.3 * rng.standard_normal(300)
    for level in ({"fdr": 0.1}, {"risk": 0.1}):
        rule = MonteCarloProbe(**level, conditional=True, random_state=0)
        selector = CorrelationScore(stop=rule, keep=[5], exclude=[3]).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [0, 1, 5]


@pytest.mark.parametrize("fdr", [0.05, 0.01])
@pytest.mark.parametrize("n_features", [2, 10, 50])
def test_a_lone_relevant_feature_is_kept_at_small_rates(fdr, n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, n_features))
    y = 5 * X[:, 0] + 0.1 * rng.normal(size=200)
    assert CorrelationScore(stop=MonteCarloProbe(fdr=fdr)).fit(X, y).get_support()[0]
