"""Skewness and kurtosis of columns are those of scipy, from a copy of the columns and by blocks of rows."""

import numpy as np
import pytest
from scipy import sparse, stats

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.arrays.shapes import shape_moments, sum_powers


def shape(columns):
    centered = columns - columns.mean(axis=0)
    return shape_moments(centered, np.ones(len(columns)))


def test_shape_moments_are_skewness_and_excess_kurtosis():
    rng = np.random.RandomState(0)
    X = rng.exponential(size=(50, 4))
    skewness, kurtosis = shape(X)
    np.testing.assert_allclose(skewness, stats.skew(X), rtol=1e-10)
    np.testing.assert_allclose(kurtosis, stats.kurtosis(X), rtol=1e-10)


def test_shape_moments_with_weights_are_those_of_repeated_rows_and_zero_for_constant_columns():
    rng = np.random.RandomState(0)
    X, weight = rng.exponential(size=(30, 3)), np.arange(30) % 4.0
    X[:, 1] = 2.0
    centered = X - weight @ X / weight.sum()
    centered[:, 1] = 0.0
    repeated = np.repeat(X, weight.astype(int), axis=0)
    skewness, kurtosis = shape_moments(np.sqrt(weight)[:, None] * centered, np.sqrt(weight))
    np.testing.assert_allclose(skewness[[0, 2]], stats.skew(repeated[:, [0, 2]]), rtol=1e-10)
    np.testing.assert_allclose(kurtosis[[0, 2]], stats.kurtosis(repeated[:, [0, 2]]), rtol=1e-10)
    assert (skewness[1], kurtosis[1]) == (0, 0)


@pytest.mark.parametrize("kind", ["C", "F", "single", "sparse"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_shapes_of_some_columns_of_a_table_are_those_of_a_copy_of_them(kind, is_weighted, fit_intercept):
    rng = np.random.RandomState(0)
    X = rng.exponential(size=(5000, 40)) + np.where(np.arange(40) == 7, 1e6, 0.0)  # which is ill-centered
    X[:, 3] = 2.0
    table = {"C": X, "F": np.asfortranarray(X), "single": X.astype(np.float32), "sparse": sparse.csr_array(X)}[kind]
    columns = as_columns(table, rng.randint(0, 4, 5000) if is_weighted else None, fit_intercept=fit_intercept)
    some = np.array([0, 3, 7, 12, 39])
    found = columns.shapes(some)
    expected = shape_moments(columns.columns(some), columns.sqrt_weight)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    if fit_intercept:
        assert found[0][1] == found[1][1] == 0.0


def test_sums_of_powers_do_not_depend_on_how_rows_are_cut():
    X = np.random.RandomState(0).exponential(size=(300_000, 2))
    mean, unit, weight = X.mean(axis=0), X.std(axis=0), np.arange(300_000) % 3.0
    found = sum_powers(mean, unit, np.array([0, 1]), X, weight)
    standard = (X - mean) / unit
    np.testing.assert_allclose(found, (weight @ standard**3, weight @ standard**4), rtol=1e-9)
