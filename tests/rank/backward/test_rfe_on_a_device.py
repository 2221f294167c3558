"""Recursive feature elimination of arrays of other libraries than numpy, against that of numpy."""

from functools import partial

import array_api_strict
import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from tamis import RFE
from tamis.kernels.arrays.transfer import to_numpy
from tamis.rank.backward._device_table import DeviceTable
from tamis.stop import CrossValidation, MonteCarloProbe

ON_DEVICE = partial(array_api_strict.asarray, device=array_api_strict.Device("device1"))  # refuses to mix with others
CONTAINERS = pytest.mark.parametrize("container", [torch.asarray, ON_DEVICE], ids=["torch", "strict"])


def data(n_rows=30, n_features=90, n_classes=2, dtype=float):
    rng = np.random.RandomState(0)
    y = np.arange(n_rows) % n_classes
    X = rng.standard_normal((n_rows, n_features))
    X[:, :n_classes] += 2.0 * np.eye(n_classes)[y]
    return (X * 10.0 ** rng.uniform(-1, 1, n_features) + 3.0).astype(dtype), y


def agree(ranker, X, y, container):
    """A ranker of numpy's table, and one of another library's: the same order, scores and predictions."""
    expected = ranker.fit(X, y)
    scores, order, predicted = expected.scores_, expected.order_, expected.predict(X)
    with config_context(array_api_dispatch=True):
        found = ranker.fit(container(X), y)
        predictions, accuracy = found.predict(container(X)), found.score(container(X), container(y))
    assert type(found.scores_) is type(predictions) is type(container(X))
    np.testing.assert_array_equal(to_numpy(found.order_), order)
    np.testing.assert_allclose(to_numpy(found.scores_), scores, rtol=1e-6)
    np.testing.assert_allclose(to_numpy(predictions), predicted, rtol=1e-6)
    assert accuracy == pytest.approx(found.estimator_.score(X[:, to_numpy(found.support_)], y))


@CONTAINERS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", ["squared_hinge", "hinge", "logistic", "ridge", "epsilon_insensitive"])
def test_wide_tables_are_eliminated_as_on_the_host(container, dtype, estimator):
    X, y = data(dtype=dtype)
    is_regression = estimator in ("ridge", "epsilon_insensitive")
    agree(RFE(estimator, stop=4), X, X[:, 0] - X[:, 1] if is_regression else y, container)


@CONTAINERS
@pytest.mark.parametrize(
    "parameters",
    [
        {"step": 3},
        {"step": 0.3},
        {"step": "halving"},
        {"standardize": False},
        {"groups": np.arange(90) // 3},
        {"multiclass": "ovo"},
        {"multiclass": "multinomial", "estimator": "logistic"},
        {"keep": [7]},
        {"estimator": RidgeClassifier()},
    ],
    ids=str,
)
def test_what_leaves_is_the_same_however_it_is_chosen(container, parameters):
    X, y = data(n_classes=3)
    agree(RFE(stop=4, **parameters), X, y, container)


@CONTAINERS
@pytest.mark.parametrize(
    "parameters",
    [{}, {"kernel": "rbf"}, {"estimator": DecisionTreeClassifier(random_state=0), "step": 0.5}],
    ids=["tall", "kernel", "given estimator"],
)
def test_what_is_trained_on_the_host_is_ranked_all_the_same(container, parameters):
    X, y = data(n_rows=60, n_features=8)
    agree(RFE(stop=2, **parameters), X, y, container)


@CONTAINERS
def test_the_probe_decides_as_on_the_host(container):
    X, y = data(n_features=40)
    agree(RFE(stop=MonteCarloProbe(n_draws=19), step=0.3), X, y, container)


def test_cross_validation_decides_as_on_the_host():
    X, y = data(n_features=40)
    agree(RFE(stop=CrossValidation(n_features=[2, 5], cv=3), step=0.3), X, y, torch.asarray)


def test_columns_leave_the_device_only_a_few_hundred_at_a_time(transfers):
    X, y = data(n_rows=20, n_features=3000)
    with config_context(array_api_dispatch=True):
        RFE(stop=4, step=0.1).fit(torch.asarray(X), y)
        assert max(transfers) <= 3000
        RFE(stop=4).fit(torch.asarray(X), y)
    assert max(transfers) <= 512 * 20


def test_a_table_on_a_device_multiplies_as_one_of_numpy():
    rng = np.random.RandomState(0)
    values, V = rng.standard_normal((9, 4)), rng.standard_normal((2, 4))
    with config_context(array_api_dispatch=True):
        table = DeviceTable.from_columns(torch.asarray(values.T))
        np.testing.assert_allclose(table @ V.T, values @ V.T)
        np.testing.assert_allclose(V @ table.T, V @ values.T)
        np.testing.assert_allclose(table.T @ table, values.T @ values)
        np.testing.assert_allclose(table.squared_norms(), (values**2).sum(axis=1))
        np.testing.assert_array_equal(table[np.int64(3)], values[3])
        np.testing.assert_array_equal(table[values[:, 0] > 0].toarray(), values[values[:, 0] > 0])
        np.testing.assert_array_equal(table[np.array([4, 1])][:, np.array([2, 0])].toarray(), values[[4, 1]][:, [2, 0]])
        np.testing.assert_array_equal(table[np.array([4, 1])][:, slice(None)].toarray(), values[[4, 1]])
