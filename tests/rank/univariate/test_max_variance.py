"""The variance baseline."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context

from tamis import MaxVariance


@pytest.fixture
def X():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 6)) * [1, 5, 0.1, 30, 2, 0.01] + [0, 1e3, 1e6, -5, 1e8, 0]
    return np.column_stack([X, np.full(40, 0.3)])


def test_scores_are_variances_whatever_the_means(X):
    found = MaxVariance(stop=None).fit(X)
    np.testing.assert_allclose(found.scores_, np.var(X, axis=0), rtol=1e-6, atol=1e-30)
    np.testing.assert_array_equal(found.order_, np.argsort(-np.var(X, axis=0)))
    assert found.scores_[6] == 0


def test_the_target_plays_no_part(X):
    y = np.arange(40) % 2
    np.testing.assert_array_equal(MaxVariance().fit(X, y).scores_, MaxVariance().fit(X).scores_)


def test_sparse_and_torch_tables_give_the_same_variances():
    rng = np.random.RandomState(0)
    X = np.where(rng.uniform(size=(40, 6)) < 0.3, rng.standard_normal((40, 6)), 0.0)
    expected = np.var(X, axis=0)
    np.testing.assert_allclose(MaxVariance().fit(sparse.csr_array(X)).scores_, expected, rtol=1e-12)
    with config_context(array_api_dispatch=True):
        np.testing.assert_allclose(MaxVariance().fit(torch.asarray(X)).scores_.numpy(), expected, rtol=1e-12)


def test_auto_stops_where_more_features_recover_all_no_better(X):
    assert MaxVariance().fit(X).stop_.label == MaxVariance(stop="fit-plateau").fit(X).stop_.label != ""


def test_equal_variances_go_to_the_lowest_index():
    X = np.random.RandomState(0).standard_normal((50, 1))
    table = np.hstack([X, -X, X + 1, X])
    np.testing.assert_array_equal(MaxVariance(stop=None).fit(table).order_, [0, 1, 2, 3])
