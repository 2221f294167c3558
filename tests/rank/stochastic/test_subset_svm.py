"""Linear support vector machines on many subsets at once are those of liblinear on each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from tamis.rank.stochastic._subset_svm import coordinate_descent_dual, fit_svm, newton_primal

QUICK = settings(deadline=None, max_examples=30, derandomize=True)
SHAPES = [(4, 30, 3), (3, 12, 20), (2, 10, 10)]  # more rows than columns, fewer, as many


def make_problem(shape, n_labelings=2, seed=0):
    """Tables, signs that the first column tells apart up to noise, and uneven costs."""
    rng = np.random.RandomState(seed)
    tables = rng.standard_normal(shape)
    signs = np.where(rng.standard_normal((n_labelings, shape[1])) > 0, 1.0, -1.0)
    signs[:, :2] = [1.0, -1.0]
    return tables + 0.5 * signs[0][:, None], signs, rng.uniform(0.2, 3.0, (n_labelings, shape[1]))


def solve_dual(tables, signs, cost, tol=1e-9):
    gram = tables @ tables.transpose(0, 2, 1) + 1.0
    return coordinate_descent_dual(gram, signs, cost, tol=tol, max_iter=20_000)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_machines_are_those_of_scikit_learn(shape):
    tables, signs, cost = make_problem(shape)
    weights, intercept = fit_svm(tables, signs, cost, tol=1e-9, max_iter=20_000)
    assert weights.shape == (shape[0], 2, shape[2])
    assert intercept.shape == (shape[0], 2)
    for b, table in enumerate(tables):
        for line, (sign, price) in enumerate(zip(signs, cost, strict=True)):
            peer = LinearSVC(tol=1e-9, max_iter=100_000).fit(table, sign, sample_weight=price)
            np.testing.assert_allclose(weights[b, line], peer.coef_[0], atol=1e-6)
            assert intercept[b, line] == pytest.approx(peer.intercept_[0], abs=1e-6)


@QUICK
@given(
    seed=st.integers(0, 2**31 - 1), n_rows=st.integers(2, 15), n_columns=st.integers(1, 6), scale=st.floats(0.01, 10)
)
def test_dual_and_primal_have_the_same_solution(seed, n_rows, n_columns, scale):
    tables, signs, cost = make_problem((2, n_rows, n_columns), seed=seed)
    cost *= scale
    weights, intercept = newton_primal(tables, signs, cost, tol=1e-9, max_iter=1000)
    signed = solve_dual(tables, signs, cost) * signs
    np.testing.assert_allclose(signed @ tables, weights, atol=1e-6)
    np.testing.assert_allclose(signed.sum(axis=2), intercept, atol=1e-6)


@QUICK
@given(seed=st.integers(0, 2**31 - 1), n_rows=st.integers(2, 15), n_columns=st.integers(1, 6))
def test_the_primal_solution_has_no_slope(seed, n_rows, n_columns):
    tables, signs, cost = make_problem((2, n_rows, n_columns), seed=seed)
    weights, intercept = newton_primal(tables, signs, cost, tol=1e-10, max_iter=1000)
    slack = 1.0 - signs * (weights @ tables.transpose(0, 2, 1) + intercept[:, :, None])
    pull = 2.0 * cost * np.maximum(slack, 0.0) * signs
    np.testing.assert_allclose(weights, pull @ tables, atol=1e-6)
    np.testing.assert_allclose(intercept, pull.sum(axis=2), atol=1e-6)


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-8])
def test_the_dual_solution_is_optimal_within_the_tolerance(tol):
    tables, signs, cost = make_problem((3, 12, 20))
    dual = solve_dual(tables, signs, cost, tol)
    assert dual.min() >= 0
    signed = dual * signs
    decision = (signed @ tables) @ tables.transpose(0, 2, 1) + signed.sum(axis=2)[:, :, None]
    gradient = signs * decision + dual / (2.0 * cost) - 1.0
    assert gradient.min() >= -tol - 1e-12
    assert gradient[dual > 0].max() <= tol + 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cost_is_a_number_of_repeated_rows(shape):
    tables, signs, _ = make_problem(shape)
    often = np.random.RandomState(1).randint(1, 4, shape[1])
    weighted = fit_svm(tables, signs, np.tile(often.astype(float), (2, 1)), tol=1e-9, max_iter=20_000)
    again = np.repeat(np.arange(shape[1]), often)
    plain = fit_svm(tables[:, again], signs[:, again], np.ones((2, again.size)), tol=1e-9, max_iter=20_000)
    for one, other in zip(weighted, plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_of_zeros_gets_no_weight_and_changes_nothing(shape):
    tables, signs, cost = make_problem(shape)
    padded = np.concatenate([tables, np.zeros((*shape[:2], 2))], axis=2)
    weights, intercept = fit_svm(tables, signs, cost, tol=1e-9, max_iter=20_000)
    more, same = fit_svm(padded, signs, cost, tol=1e-9, max_iter=20_000)
    np.testing.assert_array_equal(more[:, :, -2:], 0.0)
    np.testing.assert_allclose(more[:, :, :-2], weights, atol=1e-6)
    np.testing.assert_allclose(same, intercept, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_stays_single_and_agrees_at_the_tolerance_of_a_search(shape):
    tables, signs, cost = make_problem(shape)
    single = fit_svm(tables.astype(np.float32), signs, cost, tol=1e-3, max_iter=1000)
    double = fit_svm(tables, signs, cost, tol=1e-3, max_iter=1000)
    for one, other in zip(single, double, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, atol=1e-2)


@pytest.mark.parametrize("shape", SHAPES)
def test_large_values_and_costs_do_no_harm(shape):
    tables, signs, cost = make_problem(shape)
    for found in fit_svm(1e4 * tables, signs, 1e3 * cost, tol=0.1, max_iter=50):
        assert np.isfinite(found).all()


@pytest.mark.parametrize("n_columns", [30, 60, 90, 120])
def test_a_thousand_passes_are_enough_whatever_the_shape(n_columns):
    tables, signs, cost = make_problem((2, 90, n_columns))
    weights, intercept = fit_svm(tables, signs, cost, tol=1e-3, max_iter=1000)
    exact, level = fit_svm(tables, signs, cost, tol=1e-10, max_iter=100_000)
    moved = (weights - exact) @ tables.transpose(0, 2, 1) + (intercept - level)[:, :, None]
    assert np.abs(moved).max() <= 0.05
