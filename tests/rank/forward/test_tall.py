"""Tall tables are ranked from sums over their rows: the result is that of the rows, whatever the rule."""

import numpy as np
import pytest

import tamis.base._candidates as candidates
from tamis import ForwardLeastSquares, GramSchmidt
from tamis.engine import is_tall
from tamis.stop import Probe

N, D = 6000, 50


def a_table(seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N, D)) @ (np.eye(D) + 0.3 * rng.standard_normal((D, D))) + 5
    return X, X[:, :6] @ rng.standard_normal(6) + 3 * rng.standard_normal(N)


X, Y = a_table()
WEIGHT = np.random.RandomState(1).randint(0, 3, N).astype(float)
TARGETS = {
    "quantity": Y,
    "two": np.digitize(Y, [Y.mean()]),
    "three": np.digitize(Y, np.quantile(Y, [0.3, 0.7])),
    "two quantities": np.column_stack([Y, X[:, 9] + np.random.RandomState(2).standard_normal(N)]),
}


def in_rows(ranker, *given, monkeypatch, **named):
    with monkeypatch.context() as patch:
        patch.setattr(candidates, "is_tall", lambda *table, **needs: False)
        return ranker.fit(*given, **named)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-8)
    assert found.stop_.reason == expected.stop_.reason
    for name in ("r2", "press", "dof", "n_candidates"):
        told, wanted = ([step.info[name] for step in each.path_] for each in (found, expected))
        np.testing.assert_allclose(told, wanted, rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"stop": None},
        {"stop": 1},
        {"stop": "leave-one-out"},
        {"stop": "fisher-test"},
        {"stop": 10, "fit_intercept": False},
        {"groups": [j // 3 for j in range(D)]},
        {"keep": [7, 8], "exclude": [0]},
    ],
    ids=str,
)
def test_sums_give_what_rows_give(arguments, weighted, target, monkeypatch):
    y, weight = TARGETS[target], WEIGHT if weighted else None
    assert is_tall(X, 3)
    found = GramSchmidt(**arguments).fit(X, y, sample_weight=weight)
    expected = in_rows(GramSchmidt(**arguments), X, y, sample_weight=weight, monkeypatch=monkeypatch)
    assert_same(found, expected)
    kept = found.transform(X[:50])
    told, wanted = found.estimator_.predict(kept), expected.estimator_.predict(kept)
    np.testing.assert_allclose(told, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["omp", "lars"])
def test_so_they_do_in_matching_pursuit(algorithm, monkeypatch):
    ranker = ForwardLeastSquares(algorithm=algorithm)
    found = ranker.fit(X, Y)
    assert_same(found, in_rows(ForwardLeastSquares(algorithm=algorithm), X, Y, monkeypatch=monkeypatch))


@pytest.mark.parametrize("far", [1e-4, 1e-7, 0.0])
def test_columns_that_depend_on_each_other_lose_no_digits(far, monkeypatch):
    Z = X.copy()
    Z[:, 20] = Z[:, 3] + far * np.random.RandomState(0).standard_normal(N)
    y = Y + 50 * (Z[:, 20] - Z[:, 3])
    found = GramSchmidt(stop=None).fit(Z, y)
    assert_same(found, in_rows(GramSchmidt(stop=None), Z, y, monkeypatch=monkeypatch))


def test_a_target_that_is_explained_ends_the_search_as_it_does_in_rows(monkeypatch):
    y = X[:, :4] @ [1.0, 2.0, -1.0, 3.0]
    found = GramSchmidt(stop=None).fit(X, y)
    assert found.order_.size == 4
    expected = in_rows(GramSchmidt(stop=None), X, y, monkeypatch=monkeypatch)
    np.testing.assert_array_equal(found.order_, expected.order_)


def test_where_tails_are_heavy_rows_are_permuted(monkeypatch):
    rng = np.random.RandomState(0)
    Z, y = rng.standard_cauchy((N, D)), rng.standard_cauchy(N)
    Z[:, 3] += y
    found = GramSchmidt(stop=Probe(n_draws=19, random_state=0)).fit(Z, y)
    expected = in_rows(GramSchmidt(stop=Probe(n_draws=19, random_state=0)), Z, y, monkeypatch=monkeypatch)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.stop_.curve, expected.stop_.curve, rtol=1e-7)


def test_a_fitted_ranker_holds_no_rows():
    import pickle

    assert len(pickle.dumps(GramSchmidt().fit(X, Y))) < X.nbytes / 20


def test_a_row_that_only_itself_predicts_has_no_leave_one_out_error(monkeypatch):
    Z, y = X.copy(), Y.copy()
    Z[:, 7] = 0.0
    Z[5, 7] = 1.0
    y[5] += 1e3
    found = GramSchmidt(stop=5).fit(Z, y)
    expected = in_rows(GramSchmidt(stop=5), Z, y, monkeypatch=monkeypatch)
    assert found.order_[0] == 7
    np.testing.assert_array_equal([step.info["press"] for step in found.path_], np.inf)
    np.testing.assert_array_equal([step.info["press"] for step in expected.path_], np.inf)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("arguments", [{}, {"stop": 10}, {"groups": [j // 3 for j in range(D)]}], ids=str)
def test_single_precision_tables_rank_as_they_do_in_rows(arguments, weighted, monkeypatch):
    Z, weight = X.astype(np.float32), WEIGHT if weighted else None
    assert is_tall(Z, 1)
    found = GramSchmidt(**arguments).fit(Z, Y, sample_weight=weight)
    expected = in_rows(GramSchmidt(**arguments), Z, Y, sample_weight=weight, monkeypatch=monkeypatch)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-4, atol=1e-6)
    for name in ("r2", "press"):
        told, wanted = ([step.info[name] for step in each.path_] for each in (found, expected))
        np.testing.assert_allclose(told, wanted, rtol=1e-4, err_msg=name)


def test_what_single_precision_cannot_tell_from_copies_is_redundant(monkeypatch):
    Z = X.astype(np.float32)
    Z[:, 20] = Z[:, 3] / np.float32(3)
    found = GramSchmidt(stop=None).fit(Z, Y)
    expected = in_rows(GramSchmidt(stop=None), Z, Y, monkeypatch=monkeypatch)
    assert found.order_.size == expected.order_.size == D - 1
