"""ReliefF of arrays of other libraries than numpy, against that of numpy."""

from functools import partial

import array_api_strict
import numpy as np
import pytest
import torch
from sklearn import config_context

from tamis import ReliefF
from tamis.kernels.arrays.transfer import to_numpy
from tamis.rank.relief import _device_rows
from tamis.stop import MonteCarloProbe

ON_DEVICE = partial(array_api_strict.asarray, device=array_api_strict.Device("device1"))  # refuses to mix with others
CONTAINERS = pytest.mark.parametrize("container", [torch.asarray, ON_DEVICE], ids=["torch", "strict"])


def data(n_rows=60, n_features=7, n_classes=3, dtype=float):
    """Columns in very different units, one of few values, one of which is constant, and rows that stand twice."""
    rng = np.random.RandomState(0)
    y = rng.randint(n_classes, size=n_rows)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 2] += y
    X[:, 4] = rng.randint(4, size=n_rows)
    X[:, 5] = 3.0
    X[10:14] = X[20:24]
    return (X * np.logspace(-2, 2, n_features) + 4.0).astype(dtype), y


def agree(ranker, X, y, container):
    """A ranker of numpy's table, and one of another library's; scores agree."""
    expected = ranker.fit(X, y)
    scores, order = expected.scores_, expected.order_
    with config_context(array_api_dispatch=True):
        found = ranker.fit(container(X), y)
    assert type(found.scores_) is type(container(X))
    rtol, atol = (1e-5, 1e-6) if X.dtype == np.float32 else (1e-10, 1e-12)
    np.testing.assert_allclose(to_numpy(found.scores_), scores, rtol=rtol, atol=atol)
    np.testing.assert_array_equal(to_numpy(found.order_), order)


@CONTAINERS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("difference", ["absolute", "squared"])
def test_classes_are_compared_as_on_the_host(container, dtype, metric, difference, monkeypatch):
    X, y = data(dtype=dtype)
    monkeypatch.setattr(_device_rows, "_MOST_NUMBERS", 2000)  # several blocks of rows, and of differences
    agree(ReliefF(stop=None, n_neighbors=4, metric=metric, difference=difference), X, y, container)


@CONTAINERS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [20.0, None])
def test_quantities_are_compared_as_on_the_host(container, dtype, sigma):
    X, _ = data(dtype=dtype)
    agree(ReliefF(stop=None, sigma=sigma), X, X[:, 0] * X[:, 2], container)


@CONTAINERS
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_labels_and_groups_are_compared_as_on_the_host(container, metric):
    X, y = data()
    agree(ReliefF(stop=None, discrete=[4, 5], metric=metric, groups=[0, 0, 1, 2, 3, 4, 3]), X, y, container)


@CONTAINERS
def test_few_neighbors_and_some_rows_are_compared_as_on_the_host(container):
    X, y = data()
    agree(ReliefF(stop=None, n_neighbors=100, n_samples=20, random_state=0), X, y, container)


@CONTAINERS
@pytest.mark.parametrize("discrete", [None, [4]])
def test_the_probe_decides_as_on_the_host(container, discrete):
    X, y = data(n_rows=90)
    agree(ReliefF(stop=MonteCarloProbe(n_draws=19, n_jobs=2), discrete=discrete, n_neighbors=5), X, y, container)


def test_only_neighbors_and_figures_of_columns_leave_the_device(transfers):
    X = np.random.RandomState(0).standard_normal((80, 500))
    with config_context(array_api_dispatch=True):
        ReliefF(stop=5, n_neighbors=3).fit(torch.asarray(X), X[:, 0] > 0)
    assert 0 < max(transfers) <= 80 * (3 + 4)  # near pairs of a class, of which few are no neighbors
