"""Correlation score: squared correlations, one column at a time."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.feature_selection import f_classif, r_regression

from tamis import CorrelationScore, GramSchmidt

N, D = 50, 8


@pytest.fixture
def X():
    rng = np.random.RandomState(0)
    return (rng.standard_normal((N, D)) + np.linspace(-5, 5, D)) * np.logspace(-3, 3, D)


@pytest.fixture
def y(X):
    return X[:, 3] / X[:, 3].std() + np.random.RandomState(1).standard_normal(N)


def test_scores_are_squared_correlations(X, y):
    found = CorrelationScore(stop=None).fit(X, y)
    np.testing.assert_allclose(found.scores_, r_regression(X, y) ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.scores_, [np.corrcoef(x, y)[0, 1] ** 2 for x in X.T], rtol=1e-9)
    np.testing.assert_array_equal(found.order_, np.argsort(-found.scores_))


def test_two_classes_are_correlated_with_their_sign(X, y):
    labels = np.where(y > np.median(y), "up", "down")
    expected = r_regression(X, (y > np.median(y)).astype(float)) ** 2
    np.testing.assert_allclose(CorrelationScore().fit(X, labels).scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_many_classes_give_the_r2_of_an_analysis_of_variance(X, y, n_classes):
    labels = np.argsort(np.argsort(y)) * n_classes // N
    F = f_classif(X, labels)[0]
    ratio = F * (n_classes - 1) / (N - n_classes)  # between over within
    np.testing.assert_allclose(CorrelationScore().fit(X, labels).scores_, ratio / (1 + ratio), rtol=1e-8)


def test_without_centering_it_is_the_plain_squared_cosine(X, y):
    expected = (y @ X) ** 2 / (np.sum(X**2, axis=0) * np.sum(y**2))
    np.testing.assert_allclose(CorrelationScore(center=False).fit(X, y).scores_, expected, rtol=1e-10)


def test_weights_are_repeated_rows(X, y):
    count = np.random.RandomState(2).randint(0, 4, size=N)
    weighted = CorrelationScore().fit(X, y, sample_weight=count)
    repeated = CorrelationScore().fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-9)


def test_constant_columns_score_zero_and_come_last(X, y):
    X[:, 2], X[:, 5] = 0.1, 1e9
    found = CorrelationScore(stop=None).fit(X, y)
    assert found.scores_[[2, 5]].tolist() == [0, 0]
    assert set(found.order_[-2:]) == {2, 5}


def test_the_best_score_is_the_first_step_of_gram_schmidt(X, y):
    scores, first = CorrelationScore().fit(X, y), GramSchmidt(stop=1).fit(X, y)
    assert first.order_[0] == scores.order_[0]
    assert first.scores_[first.order_[0]] == pytest.approx(scores.scores_.max(), rel=1e-10)


@pytest.mark.parametrize("n_classes", [None, 3])
def test_sparse_float32_and_torch_tables_give_the_same_scores(X, y, n_classes):
    if n_classes:
        y = np.argsort(np.argsort(y)) * n_classes // N
    X = np.where(np.abs(X - X.mean(axis=0)) > 0.5 * X.std(axis=0), X, 0.0)
    expected = CorrelationScore().fit(X, y).scores_
    np.testing.assert_allclose(CorrelationScore().fit(sparse.csr_array(X), y).scores_, expected, rtol=1e-8)
    single = CorrelationScore().fit(X.astype(np.float32), y).scores_
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-5)
    with config_context(array_api_dispatch=True):
        tensor = CorrelationScore().fit(torch.asarray(X), y).scores_
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-8)


def test_a_scheme_takes_the_best_score_over_its_problems(X, y):
    labels = np.argsort(np.argsort(y)) * 3 // N
    found = CorrelationScore(multiclass="ovr", stop=2).fit(X, labels)
    each = [r_regression(X, (labels == c).astype(float)) ** 2 for c in range(3)]
    np.testing.assert_allclose(found.scores_, np.max(each, axis=0), rtol=1e-8)
    union = set().union(*(np.argsort(-scores)[:2].tolist() for scores in each))
    assert set(found.get_support(indices=True).tolist()) == union


def test_duplicated_columns_tie_and_the_first_wins():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((1001, 3))
    y = X[:, 1] + rng.standard_normal(1001)
    for copies in ([1, 0, 1, 2, 1], [2, 1, 1, 0, 1]):
        found = CorrelationScore(stop=1).fit(X[:, copies], y)
        assert found.order_[0] == copies.index(1)
        ties = np.flatnonzero(np.array(copies) == 1)
        assert np.unique(found.scores_[ties]).size == 1
        assert found.order_[:3].tolist() == ties.tolist()
