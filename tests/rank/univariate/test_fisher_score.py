"""Fisher score: between-class over within-class scatter."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.feature_selection import f_classif

from tamis import FisherScore

N, D = 54, 7


def data(n_classes=3, seed=0):
    """Classes of unequal sizes."""
    rng = np.random.RandomState(seed)
    y = np.minimum(rng.geometric(0.4, size=N), n_classes) - 1
    X = rng.standard_normal((N, D)) * np.logspace(-2, 2, D) + 4.0
    X[:, 2] += 0.2 * y
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_score_is_the_f_statistic_up_to_degrees_of_freedom(n_classes):
    X, y = data(n_classes)
    found = FisherScore(stop=None).fit(X, y)
    np.testing.assert_allclose(found.scores_, (n_classes - 1) / (N - n_classes) * f_classif(X, y)[0], rtol=1e-8)
    np.testing.assert_array_equal(found.order_, np.argsort(-found.scores_))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_score_follows_its_formula(n_classes):
    X, y = data(n_classes)
    mean = X.mean(axis=0)
    groups = [X[y == c] for c in range(n_classes)]
    between = sum(len(group) * (group.mean(axis=0) - mean) ** 2 for group in groups)
    within = sum(len(group) * group.var(axis=0) for group in groups)
    np.testing.assert_allclose(FisherScore(stop=None).fit(X, y).scores_, between / within, rtol=1e-9)


def test_the_unbiased_form_follows_its_formula():
    X, y = data(2)
    mean, a, b = X.mean(axis=0), X[y == 0], X[y == 1]
    expected = ((a.mean(axis=0) - mean) ** 2 + (b.mean(axis=0) - mean) ** 2) / (
        a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)
    )
    np.testing.assert_allclose(FisherScore(stop=None, form="unbiased").fit(X, y).scores_, expected, rtol=1e-9)


def test_the_unbiased_form_refuses_more_than_two_classes_and_names_the_way_out():
    with pytest.raises(ValueError, match=r"form='unbiased'.*holds 3.*form='scatter'"):
        FisherScore(stop=None, form="unbiased").fit(*data(3))


def test_features_at_or_below_the_threshold_are_not_ranked():
    X, y = data()
    scores = FisherScore(stop=None).fit(X, y).scores_
    threshold = float(np.sort(scores)[3])
    found = FisherScore(threshold=threshold, stop=None).fit(X, y)
    assert set(found.order_) == set(np.flatnonzero(scores > threshold))
    np.testing.assert_allclose(found.scores_, scores)
    assert np.all(found.ranking_[scores <= threshold] == found.order_.size + 1)


def test_a_threshold_above_every_score_keeps_nothing_and_says_so():
    X, y = data()
    found = FisherScore(stop=None, threshold=1e6).fit(X, y)
    assert found.order_.size == 0
    assert not found.support_.any()
    with pytest.warns(UserWarning, match="No features were selected"):
        assert found.transform(X).shape == (N, 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [0.0, 0.1, 3.7, 123456.7, 1e9])
def test_a_constant_column_scores_zero(dtype, container, value):
    X, y = data()
    X[:, 4] = value
    scores = FisherScore(stop=None).fit(container(X.astype(dtype)), y).scores_
    assert scores[4] == 0
    assert np.all(np.delete(scores, 4) > 0)


def test_a_column_that_tells_the_classes_apart_without_spread_comes_first_with_an_infinite_score():
    X, y = data()
    X[:, 5] = np.array([0.1, 0.7, 0.3])[y]
    found = FisherScore(stop=1).fit(X, y)
    assert found.scores_[5] == np.inf
    assert found.support_.tolist() == [j == 5 for j in range(D)]


def test_labels_may_be_anything_that_sorts():
    X, y = data(2)
    expected = FisherScore(stop=None).fit(X, y).scores_
    for labels in (np.array(["no", "yes"])[y], y.astype(bool), 3.5 * y, y.tolist()):
        np.testing.assert_array_equal(FisherScore(stop=None).fit(X, labels).scores_, expected)


@pytest.mark.parametrize("form", ["scatter", "unbiased"])
def test_sparse_float32_and_torch_tables_give_the_same_scores(form):
    X, y = data(2)
    X = np.where(np.random.RandomState(1).uniform(size=X.shape) < 0.4, X, 0.0)
    expected = FisherScore(stop=None, form=form).fit(X, y).scores_
    for container in (sparse.csr_array, sparse.csc_array, sparse.csc_matrix):
        np.testing.assert_allclose(FisherScore(stop=None, form=form).fit(container(X), y).scores_, expected, rtol=1e-9)
    single = FisherScore(stop=None, form=form).fit(X.astype(np.float32), y).scores_
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-5)
    with config_context(array_api_dispatch=True):
        tensor = FisherScore(stop=None, form=form).fit(torch.asarray(X), y).scores_
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("form", ["scatter", "unbiased"])
@pytest.mark.parametrize("offset", [0.0, 30.0, 1e4, 1e6])
def test_a_large_mean_does_not_blur_the_score_of_a_tensor_in_single_precision(form, offset):
    X, y = data(2)
    single = (X / X.std(axis=0) + offset).astype(np.float32)
    expected = FisherScore(stop=None, form=form).fit(single, y).scores_
    with config_context(array_api_dispatch=True):
        found = FisherScore(stop=None, form=form).fit(torch.asarray(single), y).scores_
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-9)


def test_a_large_mean_does_not_blur_the_score():
    X, y = data()
    plain = FisherScore(stop=None).fit(X, y).scores_
    shifted = FisherScore(stop=None).fit(X / X.std(axis=0) + 1e6, y).scores_
    np.testing.assert_allclose(shifted, plain, rtol=1e-5)
