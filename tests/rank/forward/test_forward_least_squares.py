"""Forward least squares: orthogonal matching pursuit, and the order of least-angle regression."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import lars_path, orthogonal_mp

from tamis import ForwardLeastSquares, GramSchmidt
from tests.oracles import least_squares
from tests.oracles.gram_schmidt import deflation

N, D = 60, 20


def data(seed=0, n=N, d=D, n_classes=None):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + rng.standard_normal((n, d))
    X = X * np.logspace(-1, 2, d) + 3.0
    y = (X - X.mean(axis=0)) @ (rng.standard_normal(d) / X.std(axis=0)) + 3 * rng.standard_normal(n)
    return X, y if n_classes is None else np.argsort(np.argsort(y)) * n_classes // n


def unit(X):
    Z = X - X.mean(axis=0)
    return Z / np.linalg.norm(Z, axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_k_features_are_those_of_orthogonal_matching_pursuit_on_unit_columns(seed):
    X, y = data(seed)
    found = ForwardLeastSquares(stop=8).fit(X, y)
    coef = orthogonal_mp(unit(X), y - y.mean(), n_nonzero_coefs=8, return_path=True)
    for k in range(1, 9):
        assert set(np.flatnonzero(coef[:, k - 1])) == set(found.order_[:k])
        model = found.model_at(k)
        expected = coef[model.features, k - 1] / np.linalg.norm(X - X.mean(axis=0), axis=0)[model.features]
        np.testing.assert_allclose(model.coef[:, 0], expected, rtol=1e-7)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_only_the_target_is_projected(n_classes, weighted, fit_intercept):
    X, y = data(3, n_classes=n_classes)
    Y = y[:, None] if n_classes is None else np.eye(n_classes)[y]
    if n_classes == 2:
        Y = 2.0 * y[:, None] - 1
    weight = 0.3 + np.random.RandomState(1).uniform(size=N) if weighted else None
    order, shares, _ = deflation(X, Y, weight, fit_intercept, n_steps=10, project_candidates=False)
    found = ForwardLeastSquares(stop=10, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    assert found.order_.tolist() == order
    # the score is the squared cosine in the projected space, so that the rules of Gram-Schmidt apply
    np.testing.assert_allclose(found.scores_[order], shares, rtol=1e-7)


def test_it_differs_from_gram_schmidt_on_correlated_columns_and_agrees_on_orthogonal_ones():
    orders = [
        (ForwardLeastSquares(stop=8).fit(*data(seed)).order_, GramSchmidt(stop=8).fit(*data(seed)).order_)
        for seed in range(5)
    ]
    assert any(not np.array_equal(one, other) for one, other in orders)
    X, y = data()
    Q = np.linalg.qr(X - X.mean(axis=0))[0]
    one, other = (ranker(stop=None).fit(Q, y) for ranker in (ForwardLeastSquares, GramSchmidt))
    np.testing.assert_array_equal(one.order_, other.order_)
    np.testing.assert_allclose(one.scores_, other.scores_, rtol=1e-8)


def test_sparse_and_torch_tables_give_the_same_order():
    X, y = data()
    X = np.where(np.abs(X - 3) > np.abs(X - 3).mean(axis=0), X, 0.0)
    expected = ForwardLeastSquares(stop=6).fit(X, y)
    thin = ForwardLeastSquares(stop=6).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.order_, expected.order_)
    with config_context(array_api_dispatch=True):
        tensor = ForwardLeastSquares(stop=6).fit(torch.asarray(X), y)
    np.testing.assert_array_equal(tensor.order_.numpy(), expected.order_)


@pytest.mark.parametrize("path", ["omp", "lars"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_models_along_either_path_are_least_squares_models(path, fit_intercept):
    X, y = data(2)
    found = ForwardLeastSquares(stop=7, algorithm=path, fit_intercept=fit_intercept).fit(X, y)
    for k in range(8):
        model = found.model_at(k)
        coef, intercept = least_squares.fit(X[:, model.features], y[:, None], None, fit_intercept)
        np.testing.assert_allclose(model.coef, coef, rtol=1e-6)
        np.testing.assert_allclose(model.intercept, intercept, rtol=1e-6, atol=1e-9)
        expected = least_squares.leave_one_out(X[:, model.features], y[:, None], None, fit_intercept)
        assert model.press == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stop", [5, None])
def test_the_lars_path_is_the_order_in_which_unit_columns_become_active(seed, stop):
    X, y = data(seed)
    _, active, _ = lars_path(unit(X), y - y.mean(), method="lar")
    found = ForwardLeastSquares(algorithm="lars", stop=stop).fit(X, y)
    assert found.order_.tolist() == list(active)[: stop or D]


@pytest.mark.parametrize("seed", range(3))
def test_the_lars_path_goes_on_past_constant_and_duplicated_columns_as_if_they_were_not_there(seed):
    X, y = data(seed)
    X[:, 4], X[:, 9] = 7.0, X[:, 2]
    found = ForwardLeastSquares(algorithm="lars", stop=12).fit(X, y)
    clean = np.delete(np.arange(D), [4, 9])
    _, active, _ = lars_path(unit(X[:, clean]), y - y.mean(), method="lar")
    assert found.order_.tolist() == clean[active[:12]].tolist()


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_the_lars_path_takes_many_classes_only_as_two_class_problems(scheme):
    X, y = data(n_classes=3)
    with pytest.raises(ValueError, match=r"algorithm='lars'.*multiclass='ovr'"):
        ForwardLeastSquares(algorithm="lars", stop=2).fit(X, y)
    assert len(ForwardLeastSquares(algorithm="lars", stop=2, multiclass=scheme).fit(X, y).subproblems_) == 3
