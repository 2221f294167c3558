"""Logistic regression on a kernel matrix is that on the table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tamis.kernels.solvers.gram import DenseGram, FactorGram
from tamis.kernels.solvers.logistic import KernelLogisticRegression

QUICK = settings(deadline=None, max_examples=40, derandomize=True)


def make_table(n_rows=20, n_features=8, seed=0):
    rng = np.random.RandomState(seed)
    y = np.where(np.arange(n_rows) % 3 == 0, 1.0, -1.0)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 0] += y
    return X, y


def violation(K, y, cost, v, b, free):
    """Largest violation of the conditions for an optimum, relative to the costs."""
    aim = cost * y / (1.0 + np.exp(y * (K @ v + b)))
    worst = np.abs((aim - v) / cost).max()
    return max(worst, abs(v.sum()) / cost.sum()) if free else worst


def reference(X, y, cost, free):
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000, fit_intercept=free).fit(
        X, y, sample_weight=cost
    )


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("size", [(12, 30), (40, 5)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_model_is_that_of_scikit_learn(size, C, free):
    X, y = make_table(*size)
    cost = np.full(len(y), C)
    model = KernelLogisticRegression(DenseGram(X @ X.T), y, cost, free_intercept=free)
    model.solve()
    expected = reference(X, y, cost, free)
    assert model.converged
    np.testing.assert_allclose(X.T @ model.v, expected.coef_[0], atol=1e-6 * np.abs(expected.coef_).max())
    np.testing.assert_allclose(model.b, np.ravel(expected.intercept_)[0], atol=1e-6)
    np.testing.assert_allclose(model.squared_norm, np.sum(expected.coef_**2), rtol=1e-6)


@QUICK
@given(st.integers(2, 25), st.integers(1, 25), st.floats(-3, 4), st.booleans(), st.booleans(), st.integers(0, 10**6))
def test_the_end_is_an_optimum(n_rows, n_features, power, free, contradictory, seed):
    X, y = make_table(n_rows, n_features, seed)
    if contradictory:
        half = n_rows // 2
        X[half : 2 * half], y[half : 2 * half] = X[:half], -y[:half]
    cost = 10.0**power * np.random.RandomState(seed).uniform(0.5, 2.0, n_rows)
    model = KernelLogisticRegression(DenseGram(X @ X.T), y, cost, free_intercept=free)
    model.solve()
    assert model.converged
    assert violation(X @ X.T, y, cost, model.v, model.b, free) < 1e-8


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("size", [(12, 30), (40, 8)])
def test_the_model_stays_optimal_as_features_leave(size, free):
    X, y = make_table(*size)
    cost = np.full(len(y), 2.0)
    model = KernelLogisticRegression(DenseGram(X @ X.T), y, cost, free_intercept=free)
    model.solve()
    for j in range(X.shape[1]):
        model.gram.matrix -= np.outer(X[:, j], X[:, j])
        model.downdate(X[:, j])
        X[:, j] = 0.0
        model.solve()
        assert model.converged
        assert violation(X @ X.T, y, cost, model.v, model.b, free) < 1e-8


def test_the_model_stays_optimal_as_many_features_leave_at_a_time():
    X, y = make_table(20, 30)
    cost = np.full(20, 2.0)
    model = KernelLogisticRegression(DenseGram(X @ X.T), y, cost, free_intercept=True)
    model.solve()
    for start in range(0, 30, 6):
        leaving = X[:, start : start + 6].T.copy()
        model.gram.replace(model.gram.matrix - leaving.T @ leaving)
        model.downdate_many(leaving)
        X[:, start : start + 6] = 0.0
        model.solve()
        assert model.converged
        assert violation(X @ X.T, y, cost, model.v, model.b, True) < 1e-8


def test_a_start_from_another_matrix_ends_where_a_cold_start_does():
    X, y = make_table(15, 20)
    gram = DenseGram(X @ X.T)
    model = KernelLogisticRegression(gram, y, np.ones(15), free_intercept=True)
    model.solve()
    gram.replace(X[:, :4] @ X[:, :4].T)
    model.refactorize()
    model.solve()
    cold = KernelLogisticRegression(gram, y, np.ones(15), free_intercept=True)
    cold.solve()
    np.testing.assert_allclose(model.v, cold.v, atol=1e-9)
    np.testing.assert_allclose(model.b, cold.b, atol=1e-9)


def test_a_factored_matrix_gives_the_same_model():
    X, y = make_table()
    found = []
    for gram in (DenseGram(X @ X.T), FactorGram(X.T)):
        model = KernelLogisticRegression(gram, y, np.ones(20), free_intercept=True)
        model.solve()
        found.append(model.v)
    np.testing.assert_allclose(*found, atol=1e-9)


def test_too_few_steps_are_told():
    X, y = make_table()
    model = KernelLogisticRegression(DenseGram(X @ X.T), y, np.ones(20), free_intercept=True, max_iter=1)
    model.solve()
    assert not model.converged
    assert model.n_iter == 1
