"""Methods on a graph of the samples, on arrays of other libraries than numpy."""

from functools import partial

import array_api_strict
import numpy as np
import pytest
import torch
from sklearn import config_context

from tamis import MCFS, SPEC, LaplacianScore
from tamis.kernels.arrays.transfer import to_numpy
from tamis.kernels.graph import affinity
from tamis.rank.spectral import _mcfs
from tamis.rank.spectral._mcfs import lasso_weights, screened_lasso_weights

ON_DEVICE = partial(array_api_strict.asarray, device=array_api_strict.Device("device1"))  # refuses to mix with others
CONTAINERS = pytest.mark.parametrize("container", [torch.asarray, ON_DEVICE], ids=["torch", "strict"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
WEIGHTS = ("heat", "binary", "cosine", "rbf", "class")


def data(n_rows=60, n_features=10, seed=0):
    """Three clusters, a column that is the negative of another, and a constant one."""
    rng = np.random.RandomState(seed)
    y = np.arange(n_rows) % 3
    X = rng.standard_normal((n_rows, n_features))
    X[:, 0] += 3 * y
    X[:, 1] += 3 * (y == 1)
    X[:, 4] = -X[:, 1]
    X[:, 6] = 2.0
    return X + 5.0, y


def fit_on_both(ranker, X, y, container):
    expected = ranker.fit(X, y)
    scores, order, coef = expected.scores_, expected.order_, getattr(expected, "coef_", None)
    with config_context(array_api_dispatch=True):
        found = ranker.fit(container(X), y)
    assert type(found.scores_) is type(container(X))
    return found, scores, order, coef


@CONTAINERS
@DTYPES
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("standardize", [True, False])
def test_the_laplacian_score_is_that_of_the_host(container, dtype, weight, standardize, monkeypatch):
    monkeypatch.setattr(affinity, "_DEVICE_BLOCK", 500)  # several blocks of rows, columns and edges
    X, y = data()
    ranker = LaplacianScore(stop=None, weight=weight, standardize=standardize, self_loops=True)
    found, scores, _, _ = fit_on_both(ranker, X.astype(dtype), y, container)
    np.testing.assert_allclose(to_numpy(found.scores_), scores, rtol=1e-9 if dtype == np.float64 else 1e-4)


@CONTAINERS
@pytest.mark.parametrize("parameters", [{"phi": 1}, {"phi": 2}, {"phi": 3}, {"algorithm": "spectrum"}], ids=str)
@pytest.mark.parametrize("weight", ["heat", "rbf"])
def test_spec_is_that_of_the_host(container, parameters, weight):
    X, _ = data()
    found, scores, order, _ = fit_on_both(SPEC(stop=None, weight=weight, **parameters), X, None, container)
    np.testing.assert_allclose(to_numpy(found.scores_), scores, rtol=1e-8)
    np.testing.assert_array_equal(to_numpy(found.order_), order)


@CONTAINERS
@DTYPES
@pytest.mark.parametrize("weight", WEIGHTS)
def test_mcfs_is_that_of_the_host(container, dtype, weight):
    X, y = data()
    ranker = MCFS(stop=2, n_clusters=2, n_nonzero=4, weight=weight)
    found, _, order, coef = fit_on_both(ranker, X.astype(dtype), y, container)
    size = np.abs(coef).max()
    np.testing.assert_allclose(to_numpy(found.coef_), coef, atol=(1e-8 if dtype == np.float64 else 1e-4) * size)
    np.testing.assert_array_equal(to_numpy(found.order_), order)
    assert found.certificate_["kkt"] < 1e-8


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_a_path_among_some_columns_is_that_among_all(seed, alpha, monkeypatch):
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 80)) + rng.standard_normal((30, 80))
    Z -= Z.mean(axis=0)
    y = Z[:, :5].sum(axis=1) + rng.standard_normal(30)
    monkeypatch.setattr(_mcfs, "_FEWEST_SCREENED", 3)
    with config_context(array_api_dispatch=True):
        weights, beta = screened_lasso_weights(torch.asarray(Z), y, 8 if alpha == 0 else 1, alpha)
    expected = lasso_weights(Z, y, 8 if alpha == 0 else 1, alpha)
    assert beta == pytest.approx(expected[1], rel=1e-9)
    np.testing.assert_allclose(weights, expected[0], atol=1e-9)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_table_stays_on_its_device(weight, transfers):
    X, y = data(n_rows=40, n_features=900)
    with config_context(array_api_dispatch=True):
        LaplacianScore(stop=5, weight=weight).fit(torch.asarray(X), y)
        SPEC(stop=5, phi=3, n_clusters=2, weight=weight).fit(torch.asarray(X), y)
    assert 0 < max(transfers) <= max(40**2, 2 * 900)  # pairs of rows, and two figures of every column


def test_mcfs_takes_from_the_device_only_columns_that_a_path_may_take(transfers, monkeypatch):
    monkeypatch.setattr(_mcfs, "_FEWEST_SCREENED", 20)
    X, _ = data(n_rows=40, n_features=900)
    with config_context(array_api_dispatch=True):
        MCFS(stop=2, n_clusters=2, n_nonzero=3).fit(torch.asarray(X))
    assert 900 <= max(transfers) < 100 * 40
