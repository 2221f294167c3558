"""Univariate scores of incomplete and weighted tables, and of permuted copies without ranking them."""

import numpy as np
import pytest
from scipy import sparse

from tamis import CorrelationScore, FisherScore
from tamis.base import ColumnCandidates, GroupCandidates
from tamis.base._parallel import Shared
from tamis.stop import MonteCarloProbe
from tamis.stop._draws import DrawPlan, one_draw
from tamis.stop._probe_copies import PermutedRows
from tests.oracles.probe_law import single_column

N, D = 50, 6
GROUPS = [0, 0, 1, 2, 2, 2]


def table(missing=0.2, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N, D)) * np.logspace(-2, 2, D) + 10
    X[rng.uniform(size=X.shape) < missing] = np.nan
    X[:, 3] = np.round(rng.standard_normal(N))
    return X


def target(kind, seed=0):
    rng = np.random.RandomState(seed)
    return {
        "quantity": rng.standard_normal(N) + 5,
        "two": rng.randint(2, size=N),
        "four": rng.randint(4, size=N),
        "several": rng.standard_normal((N, 2)) * [1, 1000],
    }[kind]


def r2_on_available_rows(X, Y, weight):
    """Least squares of a column on the targets, row by row where all are there, times the share of these rows."""
    X, Y = X.reshape(len(X), -1), np.asarray(Y, dtype=float).reshape(len(X), -1)
    rows = ~np.isnan(X).any(axis=1)
    root = np.sqrt(weight[rows])[:, None]
    A, b = root * np.column_stack([np.ones(rows.sum()), Y[rows]]), root * X[rows]
    residual = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    total = b - root * (root.T @ b) / weight[rows].sum()
    wilks = np.linalg.det(residual.T @ residual) / np.linalg.det(total.T @ total)
    return (1 - wilks) * weight[rows].sum() / weight.sum()


def indicators(y):
    return (y[:, None] == np.unique(y)).astype(float)


def p_values(method, X, y, n_draws):
    """What a probe says of the features, best first."""
    ranking = method.rank_top(ColumnCandidates(X), y, None)
    rule = MonteCarloProbe(0.01, n_draws=n_draws)  # so that none is kept, and the p-values are those of the first step
    return rule.decide(method, ranking, ColumnCandidates(X), y, np.random.RandomState(0)).curve


@pytest.mark.parametrize("kind", ["quantity", "two", "four", "several"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_correlation_is_that_of_the_available_rows_times_their_share(kind, weighted):
    X, y = table(), target(kind)
    weight = np.random.RandomState(1).randint(1, 4, N) if weighted else np.ones(N)
    found = CorrelationScore(stop=None).fit(X, y, sample_weight=weight if weighted else None)
    Y = indicators(y) if kind in ("two", "four") else y
    np.testing.assert_allclose(found.scores_, [r2_on_available_rows(x, Y, weight) for x in X.T], rtol=1e-8)


@pytest.mark.parametrize("kind", ["quantity", "four", "several"])
def test_a_group_is_judged_on_the_rows_in_which_all_of_its_columns_are_available(kind):
    X, y = table(), target(kind)
    found = CorrelationScore(stop=None, groups=GROUPS).fit(X, y)
    Y = indicators(y) if kind == "four" else y
    expected = []
    for g in GROUPS:
        columns = X[:, np.array(GROUPS) == g]
        n_rows = np.count_nonzero(~np.isnan(columns).any(axis=1))
        explained = r2_on_available_rows(columns, Y, np.ones(N)) * N / n_rows
        n_targets = {"quantity": 1, "four": 3, "several": 2}[kind]
        expected.append(single_column(explained, n_rows - 1, n_targets, columns.shape[1]) * n_rows / N)
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-7)


@pytest.mark.parametrize("method", [CorrelationScore, FisherScore])
def test_a_large_group_of_noise_neither_outranks_nor_hides_a_single_column(method):
    n_first = n_kept = 0
    for seed in range(10):
        rng = np.random.RandomState(seed)
        levels, y = rng.randint(25, size=250), rng.randint(2, size=250)
        X = np.column_stack([levels[:, None] == np.arange(25), rng.standard_normal(250) + 0.6 * y])
        found = method(groups=["noise"] * 25 + ["number"]).fit(X, y)
        n_first += found.group_order_[0] == "number"
        n_kept += found.support_[-1]
    assert n_first == 10
    assert n_kept >= 9


@pytest.mark.parametrize("kind", ["two", "four"])
def test_the_fisher_score_is_that_of_the_explained_share(kind):
    X, y = table(), target(kind)
    explained = np.array([r2_on_available_rows(x, indicators(y), np.ones(N)) for x in X.T])
    np.testing.assert_allclose(FisherScore(stop=None).fit(X, y).scores_, explained / (1 - explained), rtol=1e-8)


def test_the_unbiased_form_is_that_of_the_available_rows_times_their_share():
    X, y = table(), target("two")
    expected = []
    for x in X.T:
        rows = ~np.isnan(x)
        alone = FisherScore(form="unbiased", stop=None).fit(x[rows, None], y[rows])
        expected.append(alone.scores_[0] * rows.mean())
    np.testing.assert_allclose(FisherScore(form="unbiased", stop=None).fit(X, y).scores_, expected, rtol=1e-9)


def test_a_complete_column_scores_the_same_whether_others_have_gaps_or_not():
    X, y = table(), target("two")
    complete = np.where(np.isnan(X), 10.0, X)
    for method in (CorrelationScore(stop=None), FisherScore(stop=None)):
        assert method.fit(X, y).scores_[3] == pytest.approx(method.fit(complete, y).scores_[3], rel=1e-10)


def test_columns_without_two_different_values_score_nothing():
    X, y = table(), target("two")
    X[:, 0] = np.nan
    X[:, 1] = np.where(np.arange(N) < 20, 1e9, np.nan)
    X[1:, 2] = np.nan
    X[:, 5] = np.where(y == 0, X[:, 5], np.nan)  # available in one class only
    for method in (CorrelationScore(), FisherScore(), FisherScore(form="unbiased")):
        assert method.set_params(stop=None).fit(X, y).scores_[[0, 1, 2, 5]].tolist() == [0, 0, 0, 0]


def test_a_column_with_few_values_left_does_not_come_first_by_chance():
    first = 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((60, 10)), rng.standard_normal(60)
        X[4:, 0] = np.nan
        first += CorrelationScore(stop=1).fit(X, y).support_[0]
    assert first < 12  # 4 expected of 40; without the share of available rows nearly all


def test_noise_with_gaps_is_kept_no_more_often_than_the_risk():
    kept = 0
    for seed in range(60):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((30, 8)), rng.randint(2, size=30)
        X[rng.uniform(size=X.shape) < np.linspace(0, 0.8, 8)] = np.nan
        kept += p_values(FisherScore(), X, y, 9)[0] <= 0.2
    assert kept <= 23  # 12 expected; a chance of 1e-3


@pytest.mark.parametrize("form", ["scatter", "unbiased"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_whole_weights_are_repeated_rows_and_weight_zero_is_none(form, container, missing):
    if missing and container is sparse.csr_array:
        pytest.skip("sparse tables have no missing values")
    X, y = table(missing), target("two")
    weight = np.random.RandomState(2).randint(0, 4, N)
    repeated = np.repeat(np.arange(N), weight)
    weighted = FisherScore(stop=None, form=form).fit(container(X), y, sample_weight=weight)
    plain = FisherScore(stop=None, form=form).fit(container(X[repeated]), y[repeated])
    np.testing.assert_allclose(weighted.scores_, plain.scores_, rtol=1e-9)


def candidates_of(kind, X, weight):
    if kind == "groups":
        return GroupCandidates(X, GROUPS, sample_weight=weight)
    return ColumnCandidates(sparse.csc_array(X) if kind == "sparse" else X, sample_weight=weight)


@pytest.mark.parametrize("y_kind", ["quantity", "two", "four", "several"])
@pytest.mark.parametrize(
    ("kind", "missing", "weighted"),
    [
        ("columns", 0.0, False),
        ("columns", 0.0, True),
        ("columns", 0.2, False),
        ("columns", 0.2, True),
        ("groups", 0.0, False),
        ("sparse", 0.0, False),
    ],
)
def test_copies_scored_at_once_are_those_of_a_ranking_among_them(kind, missing, weighted, y_kind):
    X, y = table(missing), target(y_kind)
    weight = np.random.RandomState(3).uniform(0.5, 3, N) if weighted else None
    candidates = candidates_of(kind, X, weight)
    permutations = np.array([np.random.RandomState(seed).permutation(N) for seed in range(3)])
    methods = [CorrelationScore()] if y_kind in ("quantity", "several") else [CorrelationScore(), FisherScore()]
    for method in methods:
        at_once = method.scores_of_permuted_copies(candidates, y, permutations)
        plan = Shared(DrawPlan(PermutedRows(np.empty(0, dtype=int))))
        ranked = [one_draw(method, candidates, y, seed, plan)[1] for seed in range(3)]
        np.testing.assert_allclose(at_once, ranked, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("method", [CorrelationScore, FisherScore])
def test_the_draws_of_a_probe_are_scored_together_and_none_is_ranked(method, monkeypatch):
    def rank(*arguments):
        raise AssertionError("a draw was ranked")

    monkeypatch.setattr(method, "rank_top", rank)
    assert method(stop=MonteCarloProbe(n_draws=19)).fit(table(missing=0.0), target("two")).stop_.curve.size > 0


def test_what_has_no_shortcut_is_ranked():
    X, y = table(), target("two")
    permutations = np.arange(N)[None]
    assert FisherScore(form="unbiased").scores_of_permuted_copies(ColumnCandidates(X), y, permutations) is None
    assert CorrelationScore().scores_of_permuted_copies(GroupCandidates(X, GROUPS), y, permutations) is None


@pytest.mark.parametrize("method", [CorrelationScore, FisherScore])
def test_a_copy_that_ties_with_a_feature_reaches_it(method):
    """Binary columns take few scores: where a permuted copy equals the feature, rounding must not let it pass."""
    rng = np.random.RandomState(0)
    X, y = (rng.uniform(size=(8, 3)) < 0.5).astype(float), np.arange(8) % 2
    reached = 0
    for seed in np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=10).tolist():
        plan = Shared(DrawPlan(PermutedRows(np.empty(0, dtype=int))))
        features, copies = one_draw(method(), ColumnCandidates(X), y, seed, plan)
        reached += copies.max() >= features.max() * (1 - 1e-9)
    assert reached > 0
    assert p_values(method(), X, y, 10)[0] == (1 + reached) / 11
