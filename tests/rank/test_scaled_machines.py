"""Machines on scaled columns: their forms agree, and the contribution of a column is a derivative."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tamis.rank._scaled_machines import ScaledMachines
from tests.oracles import zero_norm as oracle

LOSSES = ["squared_hinge", "hinge", "squared"]


def make(loss="squared_hinge", kernel="linear", n=25, d=6, gamma=0.3, degree=2.0, coef0=1.0, seed=0):
    rng = np.random.RandomState(seed)
    A = rng.randn(n, d)
    Y = np.where(A[:, :2] + 0.7 * rng.randn(n, 2) > 0, 1.0, -1.0)
    cost = rng.uniform(0.5, 2.0, n)
    return ScaledMachines(Y, cost, loss, kernel, gamma, degree, coef0, 1e-10), A, rng.uniform(0.3, 2.0, d)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", [(25, 6), (10, 30)], ids=["primal", "dual"])
def test_weights_are_those_of_other_machines_on_explicitly_scaled_columns(shape, loss):
    machines, A, sigma = make(loss, n=shape[0], d=shape[1])
    trained = machines.train(A, sigma)
    Z = A * sigma * np.sqrt(machines.gamma)
    for t in range(2):
        w, b = oracle.train(Z, machines.Y[:, t], machines.cost, loss)
        np.testing.assert_allclose(trained.coef[:, t], w * sigma * np.sqrt(machines.gamma), rtol=1e-4, atol=1e-6)
        if loss != "hinge":  # whose intercept may have an interval
            assert trained.intercept[t] == pytest.approx(b, abs=1e-5)
    W = np.stack([oracle.train(Z, y, machines.cost, loss)[0] for y in machines.Y.T])
    np.testing.assert_allclose(trained.weights2, np.sum(W**2, axis=0), rtol=1e-3, atol=1e-7)
    assert trained.residual <= 1e-8


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_primal_and_dual_form_agree(loss):
    machines, A, sigma = make(loss)
    primal, dual = machines._train_primal(A, sigma), machines._train_dual(A, sigma)
    np.testing.assert_allclose(primal.coef, dual.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(primal.intercept, dual.intercept, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(primal.weights2, dual.weights2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", [*LOSSES, "sparse_fisher"])
@pytest.mark.parametrize("shape", [(25, 6), (10, 30)], ids=["primal", "dual"])
def test_sparse_columns_give_the_same(shape, loss):
    machines, A, sigma = make(loss, n=shape[0], d=shape[1])
    A = np.where(np.abs(A) > 0.6, A, 0.0)
    dense, thin = machines.train(A, sigma), machines.train(sparse.csc_array(A), sigma)
    np.testing.assert_allclose(thin.coef, dense.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(thin.weights2, dense.weights2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", [*LOSSES, "sparse_fisher"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_contributions_are_derivatives_of_the_squared_norm(kernel, loss):
    """By finite differences of ``sum_t v_t' K(sigma) v_t`` by the squared factors, with fixed dual variables."""
    machines, A, sigma = make(loss, kernel)
    trained = machines._train_dual(A, sigma)
    V, step = trained.dual, 1e-5

    def squared_norm(squares):
        return float(np.sum(V * (machines.kernel_matrix(A * np.sqrt(squares)) @ V)))

    for j in range(sigma.size):
        change = step * np.eye(sigma.size)[j]
        slope = (squared_norm(sigma**2 + change) - squared_norm(sigma**2 - change)) / (2 * step)
        expected = sigma[j] ** 2 * max(slope, 0.0)
        assert trained.weights2[j] == pytest.approx(expected, rel=1e-5, abs=1e-7 * trained.weights2.max() + 1e-9)


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_the_total_derivative_of_the_optimum_is_that_with_fixed_dual_variables(kernel, loss):
    """The dual optimum is ``max t'v - v'(K + R)v / 2``: by the envelope theorem it falls by half of it."""
    machines, A, sigma = make(loss, kernel)

    def optimum(squares):
        factors = np.sqrt(squares)
        K, V = machines.kernel_matrix(A * factors), machines._train_dual(A, factors).dual
        return float(np.sum(machines.Y * V) - 0.5 * np.sum(V * (K @ V)) - 0.5 * np.sum(0.5 / machines.cost @ V**2))

    derivatives = machines._derivatives(
        A, machines.kernel_matrix(A * sigma), machines._train_dual(A, sigma).dual, sigma
    )
    for j in range(sigma.size):
        change = 1e-4 * np.eye(sigma.size)[j]
        slope = (optimum(sigma**2 + change) - optimum(sigma**2 - change)) / 2e-4
        assert slope == pytest.approx(-0.5 * derivatives[j], rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_fisher_meets_the_conditions_of_its_lasso(kernel):
    """``1/2 sum_i C_i (y_i - (K v)_i - b)^2 + |v|_1``: gradients of one where v is not zero, no larger elsewhere."""
    machines, A, sigma = make("sparse_fisher", kernel)
    machines = replace(machines, cost=20.0 * machines.cost)
    trained, K = machines._train_dual(A, sigma), machines.kernel_matrix(A * sigma)
    for t in range(2):
        v = trained.dual[:, t]
        residual = machines.cost * (machines.Y[:, t] - K @ v - trained.intercept[t])
        assert abs(residual.sum()) < 1e-6 * np.abs(residual).sum()
        gradient = K @ residual
        assert np.all(np.abs(gradient) <= 1 + 1e-5)
        np.testing.assert_allclose(gradient[v != 0], np.sign(v[v != 0]), atol=1e-5)
    assert 0 < np.count_nonzero(trained.dual) < trained.dual.size


def test_a_large_penalty_leaves_sparse_fisher_some_dual_variables():
    machines, A, sigma = make("sparse_fisher", "rbf")
    machines = replace(machines, cost=1e-9 * machines.cost)
    assert np.count_nonzero(machines.train(A, sigma).dual, axis=0).min() > 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("kernel", "d"), [("linear", 6), ("linear", 40), ("poly", 6), ("rbf", 6)])
def test_the_optimum_falls_by_the_half_derivatives(kernel, d, loss):
    machines, A, sigma = make(loss, kernel, d=d)
    trained, step = machines.train(A, sigma), 1e-5
    for j in range(3):
        up, down = sigma.copy(), sigma.copy()
        up[j] *= np.exp(step)
        down[j] *= np.exp(-step)
        slope = (machines.train(A, up).objective - machines.train(A, down).objective) / (2 * step)
        assert slope == pytest.approx(-trained.half_derivatives[j], rel=1e-4, abs=1e-6 * trained.objective)
    np.testing.assert_array_equal(trained.weights2, np.maximum(trained.half_derivatives, 0.0))


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
def test_heavily_penalized_weights_are_as_exact_as_others(loss):
    machines, A, sigma = make(loss)
    light, heavy = replace(machines, gamma=1e-15), replace(machines, gamma=1e-40)
    np.testing.assert_allclose(heavy.train(A, sigma).coef, 1e-25 * light.train(A, sigma).coef, rtol=1e-6)
    assert heavy.train(A, sigma).residual <= 1e-8
