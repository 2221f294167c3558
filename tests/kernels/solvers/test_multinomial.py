"""Multinomial logistic regression is that of scikit-learn, on tables and on kernel matrices, and stays so."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from tamis.kernels.solvers.gram import DenseGram
from tamis.kernels.solvers.multinomial import KernelMultinomialModel, MultinomialModel

MAKERS = {"dense": np.asarray, "sparse": sparse.csr_array}


def make_table(n_rows=60, n_features=8, n_classes=3, seed=0):
    rng = np.random.RandomState(seed)
    codes = np.arange(n_rows) % n_classes
    X = rng.standard_normal((n_rows, n_features))
    X[:, 0] += codes
    X[:, 1] -= codes == 1
    return X, codes


def penalties(n_entries, free):
    return np.append(0.0 if free else 1.0, np.ones(n_entries - 1))


def gradient(table, penalty, codes, cost, weights):
    """Of the objective, from its definition."""
    n_classes = len(weights)
    left = softmax(weights @ table, axis=0) - np.eye(n_classes)[codes].T
    return penalty * weights + (cost * left) @ table.T


@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
def test_weights_are_those_of_scikit_learn(C, n_classes, kind):
    X, codes = make_table(n_classes=n_classes)
    table = np.vstack([np.ones(60), X.T])
    model = MultinomialModel(MAKERS[kind](table), penalties(9, True), codes, np.full(60, C))
    model.solve()
    expected = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, codes)
    assert model.converged
    np.testing.assert_allclose(model.weights[:, 1:], expected.coef_, atol=1e-6)
    assert np.abs(gradient(table, penalties(9, True), codes, np.full(60, C), model.weights)).max() < 1e-7 * C


@pytest.mark.parametrize("n_leaving", [1, 3])
@pytest.mark.parametrize("free", [True, False])
def test_features_are_eliminated_and_the_model_is_that_of_the_remaining_ones(free, n_leaving):
    X, codes = make_table(80, 20)
    table, cost = np.vstack([np.ones(80), X.T]), np.random.RandomState(2).uniform(0.2, 2.0, 80)
    model = MultinomialModel(table, penalties(21, free), codes, cost)
    model.solve()
    rng = np.random.RandomState(1)
    while len(table) > n_leaving + 1:
        eliminated = np.sort(1 + rng.permutation(len(table) - 1)[:n_leaving])
        kept = np.delete(np.arange(len(table)), eliminated)
        columns, table = table[eliminated], table[kept]
        model.eliminate(eliminated, columns, kept, table)
        model.solve()
        assert model.converged
        assert np.abs(gradient(table, penalties(len(table), free), codes, cost, model.weights)).max() < 1e-6


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("size", [(60, 8), (20, 50)])
def test_a_kernel_matrix_gives_the_model_of_its_table(size, free):
    X, codes = make_table(*size)
    cost, gram = np.ones(size[0]), DenseGram(X @ X.T)
    kernel = KernelMultinomialModel(gram, codes, cost, free_intercept=free)
    for n_left in (size[1], size[1] - 1, size[1] - 4):
        gram.replace(X[:, :n_left] @ X[:, :n_left].T)
        kernel.refactorize()
        kernel.solve()
        table = np.vstack([np.ones((int(free), size[0])), X[:, :n_left].T])
        model = MultinomialModel(table, np.repeat([0.0, 1.0], [int(free), n_left]), codes, cost)
        model.solve()
        assert kernel.converged
        np.testing.assert_allclose(kernel.v @ X[:, :n_left], model.weights[:, int(free) :], atol=1e-7)
        np.testing.assert_allclose(kernel.squared_norm, (model.weights[:, int(free) :] ** 2).sum(), rtol=1e-6)


def test_steps_that_run_out_are_told():
    X, codes = make_table()
    model = MultinomialModel(X.T, np.ones(8), codes, np.ones(60), max_iter=1)
    model.solve()
    assert not model.converged
