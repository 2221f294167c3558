"""Derivatives of kernel expansions and perceptrons, and differences in place of them."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from tamis.rank.model._derivative_norms import (
    kernel_derivatives,
    mean_derivatives,
    mean_differences,
    network_derivatives,
)

RNG = np.random.RandomState(0)
POINTS = RNG.standard_normal((6, 3))


def difference(function, points, width=1e-5):
    """Of shape (n_points, n_outputs, n_features)."""
    shifts = width * np.eye(points.shape[1])
    return np.stack([(function(points + s) - function(points - s)) / (2 * width) for s in shifts], axis=-1)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_kernel_expansions(kernel):
    vectors, coefficients = RNG.standard_normal((5, 3)), RNG.standard_normal((2, 5))
    parameters = {"gamma": 0.4} if kernel == "rbf" else {"gamma": 0.4, "coef0": 0.7}

    def outputs(points):
        return pairwise_kernels(points, vectors, metric=kernel, **parameters) @ coefficients.T

    found = kernel_derivatives(POINTS, vectors, coefficients, kernel, **parameters)
    np.testing.assert_allclose(found, difference(outputs, POINTS), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sizes", [(3, 2), (3, 4, 2), (3, 4, 5, 1)], ids=str)
def test_perceptrons_of_any_depth(sizes):
    weights = [RNG.standard_normal(shape) for shape in pairwise(sizes)]
    biases = [RNG.standard_normal(size) for size in sizes[1:]]

    def outputs(points):
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            points = np.tanh(points @ weight + bias)
        return points @ weights[-1] + biases[-1]

    found = network_derivatives(POINTS, weights, biases, "tanh")
    np.testing.assert_allclose(found, difference(outputs, POINTS), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("numbers", [1, 40, 2**21])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_differences_and_derivatives_sum_to_the_same_in_blocks_of_any_size(norm, numbers, monkeypatch):
    monkeypatch.setattr("tamis.rank.model._derivative_norms.NUMBERS", numbers)

    def outputs(points):
        return np.column_stack([points[:, 0] ** 2, points[:, 0] * points[:, 1]])

    def derivatives(points):
        zero = np.zeros(len(points))
        first = np.column_stack([2 * points[:, 0], zero, zero])
        return np.stack([first, np.column_stack([points[:, 1], points[:, 0], zero])], axis=1)

    expected = np.sum(np.abs(derivatives(POINTS)) ** (2 if norm == "l2" else 1), axis=(0, 1)) / len(POINTS)
    np.testing.assert_allclose(mean_derivatives(derivatives, POINTS, 6, norm), expected)
    width = np.array([1e-4, 1e-3, 1.0])
    np.testing.assert_allclose(mean_differences(outputs, POINTS, width, norm), expected, rtol=1e-8)


def test_columns_of_no_width_are_left_alone():
    found = mean_differences(lambda points: points.sum(axis=1), POINTS, np.array([1e-4, 0.0, 1e-4]), "l2")
    np.testing.assert_allclose(found, [1.0, 0.0, 1.0])
