"""Second derivatives of losses, and what deleting weights costs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from tamis.rank.backward._saliency import (
    deviance_curvature,
    logistic_curvature,
    measure_saliency,
    squared_hinge_curvature,
)

WIDTH = 1e-4


def bend(loss, outputs):
    """Second differences of every row's loss in one output at a time."""
    columns = []
    for c in range(outputs.shape[1]):
        step = WIDTH * (np.arange(outputs.shape[1]) == c)
        columns.append((loss(outputs + step) - 2 * loss(outputs) + loss(outputs - step)) / WIDTH**2)
    return np.column_stack(columns)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_log_loss_bends_as_its_second_differences_say(n_outputs):
    outputs = np.random.RandomState(0).standard_normal((20, n_outputs)) * 3

    def loss(outputs):
        return np.logaddexp(0.0, outputs[:, 0]) if n_outputs == 1 else logsumexp(outputs, axis=1)

    np.testing.assert_allclose(logistic_curvature(outputs), bend(loss, outputs), atol=1e-6)


def test_the_squared_hinge_bends_below_the_margin_only():
    margins = np.array([[-2.0], [0.5], [1.5]])
    np.testing.assert_allclose(
        squared_hinge_curvature(margins), bend(lambda m: np.maximum(0, 1 - m[:, 0]) ** 2, margins), atol=1e-6
    )


@pytest.mark.parametrize("log_link", [True, False])
@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0, 3.0])
def test_the_deviance_bends_as_its_second_differences_say(power, log_link):
    rng = np.random.RandomState(0)
    y, mean = rng.rand(10) + 0.5, rng.rand(10) + 0.5

    def loss(predictor):
        mu = np.exp(predictor[:, 0]) if log_link else predictor[:, 0]
        first = np.log(mu) if power == 1 else mu ** (1 - power) / (1 - power)
        second = np.log(mu) if power == 2 else mu ** (2 - power) / (2 - power)
        return second - y * first

    predictor = (np.log(mean) if log_link else mean)[:, None]
    expected = bend(loss, predictor)[:, 0]
    np.testing.assert_allclose(deviance_curvature(mean, y, power, log_link=log_link), expected, atol=1e-6)


@pytest.mark.parametrize("numbers", [1, 2**20])
def test_saliency_sums_over_rows_and_outputs_in_blocks_and_sparse_alike(numbers, monkeypatch):
    monkeypatch.setattr("tamis.rank.backward._saliency._NUMBERS", numbers)
    rng = np.random.RandomState(0)
    X, weights, curvature = rng.standard_normal((7, 4)), rng.standard_normal((2, 4)), rng.rand(7, 2)
    expected = [
        sum(0.5 * (curvature[:, c] @ X[:, i] ** 2 + 0.3) * weights[c, i] ** 2 for c in range(2)) for i in range(4)
    ]
    for table in (X, sparse.csr_array(X), np.asfortranarray(X)):
        np.testing.assert_allclose(measure_saliency(table, weights, curvature, 0.3), expected)
