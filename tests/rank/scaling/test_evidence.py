"""Evidence and posterior, against explicit inverses, and derivatives against finite differences."""

import numpy as np
import pytest
from scipy import sparse

from tamis.rank.scaling._evidence import CenteredTable, gaussian_posterior, logistic_posterior
from tests.oracles import evidence as oracle

SHAPES = [(30, 8), (10, 24)]
IDS = ["by columns", "by rows"]


def make(n, k, seed=0, n_targets=1):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, k)
    X -= X.mean(axis=0)
    Y = np.where(X[:, :n_targets] + rng.randn(n, n_targets) > 0, 1.0, -1.0)
    return X, Y, 10.0 ** rng.uniform(-3, 0.5, k)


def table_of(X, *, is_sparse):
    if not is_sparse:
        return CenteredTable(X, np.zeros(X.shape[1]))
    means = np.random.RandomState(1).randn(X.shape[1])
    return CenteredTable(sparse.csc_array(X + means), means)


def posterior(loss, table, variances, Y, cost):
    if loss == "logistic":
        return logistic_posterior(table, variances, Y, cost)
    return gaussian_posterior(table, variances, Y, cost, 3.0)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_gaussian_evidence_is_the_density_of_the_target(shape, is_sparse):
    X, Y, variances = make(*shape)
    found = posterior("squared", table_of(X, is_sparse=is_sparse), variances, Y, np.ones(len(X)))
    w, covariance = oracle.gaussian_weights(X, Y[:, 0], variances, 3.0)
    assert found.evidence == pytest.approx(oracle.gaussian_evidence(X, Y[:, 0], variances, 3.0), rel=1e-10)
    np.testing.assert_allclose(found.coef[:, 0], w, atol=1e-10)
    np.testing.assert_allclose(found.gamma, 1.0 - np.diag(covariance) / variances, atol=1e-9)
    np.testing.assert_allclose(found.dual, 3.0 * (Y - Y.mean() - X @ found.coef), atol=1e-9)
    assert found.squared_error == pytest.approx(np.sum((Y - Y.mean() - X @ found.coef) ** 2))


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_logistic_evidence_is_that_of_an_explicit_hessian(shape, is_sparse):
    X, Y, variances = make(*shape)
    cost = np.random.RandomState(2).uniform(0.5, 2.0, len(X))
    found = posterior("logistic", table_of(X, is_sparse=is_sparse), variances, Y, cost)
    w, b, covariance = oracle.logistic_weights(X, Y[:, 0], variances, cost)
    assert found.evidence == pytest.approx(oracle.logistic_evidence(X, Y[:, 0], variances, cost), rel=1e-9)
    np.testing.assert_allclose(found.coef[:, 0], w, atol=1e-8)
    np.testing.assert_allclose(found.intercept[0], b, atol=1e-8)
    np.testing.assert_allclose(found.gamma, 1.0 - np.diag(covariance) / variances, atol=1e-8)
    assert found.residual <= 1e-10


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_derivatives_by_finite_differences(shape, is_sparse, loss):
    X, Y, variances = make(*shape, n_targets=2)
    cost = np.random.RandomState(2).uniform(0.5, 2.0, len(X))
    table = table_of(X, is_sparse=is_sparse)
    found = posterior(loss, table, variances, Y, cost)
    gradient = 0.5 * (found.gamma - found.moment / variances)
    numeric = np.empty_like(gradient)
    for i in range(variances.size):
        step = np.zeros_like(variances)
        step[i] = 1e-4
        ahead, behind = (posterior(loss, table, variances * np.exp(s), Y, cost).evidence for s in (-step, step))
        numeric[i] = (ahead - behind) / 2e-4
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    assert np.abs(gradient).max() > 0.1
    if loss == "squared":
        ahead, behind = (gaussian_posterior(table, variances, Y, cost, 3.0 * np.exp(s)).evidence for s in (1e-4, -1e-4))
        left = 2.0 * cost.sum() - found.gamma.sum()
        assert 0.5 * (left - 3.0 * found.squared_error) == pytest.approx((ahead - behind) / 2e-4, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_targets_add_up_and_weights_of_rows_are_repetitions(shape, loss):
    X, Y, variances = make(*shape, n_targets=2)
    cost = np.random.RandomState(3).randint(1, 4, len(X)).astype(float)
    X -= cost @ X / cost.sum()
    table = CenteredTable(X, np.zeros(X.shape[1]))
    both = posterior(loss, table, variances, Y, cost)
    each = [posterior(loss, table, variances, y[:, None], cost) for y in Y.T]
    assert both.evidence == pytest.approx(sum(one.evidence for one in each))
    np.testing.assert_allclose(both.gamma, sum(one.gamma for one in each), atol=1e-10)
    np.testing.assert_allclose(both.moment, sum(one.moment for one in each), atol=1e-9)
    rows = np.repeat(np.arange(len(X)), cost.astype(int))
    again = posterior(loss, CenteredTable(X[rows], table.means), variances, Y[rows], np.ones(rows.size))
    assert both.evidence == pytest.approx(again.evidence)
    np.testing.assert_allclose(both.moment, again.moment, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_weights_that_hardly_count_are_told_apart(shape):
    """Gamma of a column with a tiny variance: b x' C^-1 x, to most digits."""
    X, Y, variances = make(*shape)
    variances[3] = 1e-12
    found = posterior("squared", table_of(X, is_sparse=False), variances, Y, np.ones(len(X)))
    C = np.eye(len(X)) / 3.0 + (X * variances) @ X.T
    assert found.gamma[3] == pytest.approx(1e-12 * X[:, 3] @ np.linalg.inv(C) @ X[:, 3], rel=1e-8)


def test_products_in_blocks(monkeypatch):
    X, _, _ = make(10, 24)
    table, M = table_of(X, is_sparse=True), np.random.RandomState(4).randn(5, 10)
    monkeypatch.setattr("tamis.rank.scaling._evidence._BLOCK", 30)
    np.testing.assert_allclose(table.column_norms2(M), np.sum((M @ X) ** 2, axis=0))
    F = np.random.RandomState(5).randn(24, 3)
    np.testing.assert_allclose(table.row_norms2(F), np.sum((X @ F) ** 2, axis=1))
