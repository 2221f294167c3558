"""Newton's method within an orthant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.orthant_newton import Curvature, minimize_in_orthant
from tests.oracles import grafting as oracle
from tests.oracles.grafting import problem

NAMES = sorted(LOSSES)
SEEDS = st.integers(0, 2**20)


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_newton_ends_at_a_minimum_over_the_columns_that_it_keeps(name, seed):
    X, Y = problem(name, seed)
    y, sign = Y[:, 0], np.random.RandomState(seed).choice([-1.0, 1.0], X.shape[1])
    fit = minimize_in_orthant(X, y, LOSSES[name], np.zeros(X.shape[1]), 0.0, sign, alpha=0.05, l2=0.01, tol=1e-11)
    assert fit.converged
    assert np.all(fit.weights * sign[fit.kept] > 0)
    kept = X[:, fit.kept]
    assert oracle.violation(kept, y, fit.weights, fit.intercept, name, 0.05, 0.01) < 1e-10
    value = oracle.objective(kept, y, fit.weights, fit.intercept, name, 0.05, 0.01)
    assert fit.objective == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(fit.outputs, kept @ fit.weights + fit.intercept, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_newton_copes_with_columns_that_depend_on_each_other(name):
    X, Y = problem(name)
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    fit = minimize_in_orthant(X, Y[:, 0], LOSSES[name], np.zeros(8), 0.0, np.ones(8), alpha=0.01, l2=0.0, tol=1e-10)
    assert fit.converged


def test_a_hessian_follows_columns_that_enter_and_leave():
    X, _ = problem("logistic", d=7)
    weight = np.random.RandomState(0).uniform(size=len(X))
    whole = Curvature.compute(X, weight)
    A = np.column_stack([X, np.ones(len(X))])
    np.testing.assert_allclose(whole.matrix, A.T @ np.diag(weight) @ A, rtol=1e-12, atol=1e-12)
    grown = Curvature.compute(X[:, :4], weight).append(X[:, :5], 1).append(X, 2)
    np.testing.assert_allclose(grown.matrix, whole.matrix, rtol=1e-12, atol=1e-12)
    fewer = grown.restrict_to(np.array([0, 2, 5]))
    np.testing.assert_allclose(fewer.matrix, Curvature.compute(X[:, [0, 2, 5]], weight).matrix, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_hessian_from_elsewhere_leads_to_the_same_minimum(name):
    X, Y = problem(name)
    settings = {"alpha": 0.01, "l2": 0.0, "tol": 1e-12}
    sign = np.sign(X.T @ Y[:, 0])
    near = minimize_in_orthant(X, Y[:, 0], LOSSES[name], np.zeros(6), 0.0, sign, **settings)
    Z, start = X[:, near.kept], 1.01 * near.weights
    far = Curvature.compute(Z, np.linspace(0.001, 1.0, len(X)))
    other = minimize_in_orthant(
        Z, Y[:, 0], LOSSES[name], start, near.intercept, np.sign(start), **settings, curvature=far
    )
    assert other.converged
    np.testing.assert_allclose(other.weights, near.weights, atol=1e-8)
    assert other.intercept == pytest.approx(near.intercept, abs=1e-8)
