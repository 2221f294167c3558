"""Columns of zero mean and unit variance, and changes of units that lose nothing."""

import numpy as np
import pytest
from scipy import sparse

from tamis import MCFS, SPEC, LaplacianScore
from tamis.assess import feature_gram, feature_r2
from tamis.dimension import MLE, TwoNN
from tamis.kernels.arrays.scaling import (
    center_columns,
    center_each_column,
    center_varying,
    ldexp_columns,
    measure_columns,
    overflow_exponents,
    scale_columns,
    standard_deviations,
    standardize_columns,
    standardize_with_units,
    varying_columns,
)
from tamis.stop import FITPlateau

UNITS = 10.0 ** np.array([-200, -170, 0, 3, 160, 200])


def table(n=60):
    rng = np.random.RandomState(0)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((n, 6))


def uneven_table(shape, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal(shape) * np.logspace(-2, 2, shape[1]) + rng.standard_normal(shape[1])


def test_ordinary_tables_are_left_alone():
    assert overflow_exponents(table()) is None
    X = table()
    assert ldexp_columns(X, None) is X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_columns_whose_squares_overflow_are_divided_by_a_power_of_two(kind):
    X = table() * UNITS
    given = sparse.csr_array(X) if kind == "sparse" else X
    found = ldexp_columns(given, overflow_exponents(given))
    found = found.toarray() if kind == "sparse" else found
    ratio = X / found
    assert (ratio == ratio[0]).all()
    assert (np.frexp(ratio[0])[0] == 0.5).all()
    assert 0.1 < np.abs(found).max() < 1e4


@pytest.mark.parametrize("ranker", [LaplacianScore(stop=None), SPEC(phi=3, stop=None), MCFS(stop=None)], ids=repr)
def test_units_beyond_all_squares_do_not_change_a_ranking(ranker):
    X = table()
    expected = ranker.fit(X).scores_
    np.testing.assert_allclose(ranker.fit(X * UNITS).scores_, expected, rtol=1e-8)


def test_units_beyond_all_squares_do_not_change_what_is_recovered():
    X = table()
    np.testing.assert_allclose(feature_r2(X * UNITS, [0, 4]), feature_r2(X, [0, 4]), rtol=1e-8)
    np.testing.assert_allclose(feature_gram(X * UNITS), feature_gram(X), rtol=1e-8, atol=1e-10)
    plain = LaplacianScore(stop=FITPlateau()).fit(X).stop_
    assert LaplacianScore(stop=FITPlateau()).fit(1e-200 * X).stop_.curve == pytest.approx(plain.curve, rel=1e-8)


@pytest.mark.parametrize("estimator", [TwoNN(n_subsamples=0), MLE(n_subsamples=0)], ids=repr)
def test_units_beyond_all_squares_do_not_change_a_dimension(estimator):
    X = table()
    expected = estimator.fit(X).dimension_
    assert estimator.fit(X * UNITS).dimension_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_columns_of_any_unit_get_zero_mean_and_unit_variance(offset):
    X = np.insert((table() + offset) * UNITS, 3, 0.1, axis=1)
    Z = standardize_columns(X)
    varying = np.delete(Z, 3, axis=1)
    np.testing.assert_allclose(varying.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(varying.std(axis=0), 1, rtol=1e-8)
    assert not Z[:, 3].any()


def test_a_sparse_table_is_scaled_and_keeps_its_zeros():
    X = sparse.csr_array(np.where(np.abs(table()) > 1, table(), 0.0))
    Z = standardize_columns(X)
    assert Z.nnz == X.nnz
    np.testing.assert_allclose(Z.toarray().std(axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_constant_columns_are_found_and_scaling_leaves_them_as_they_are(convert):
    X = np.insert(table(), 2, 0.1, axis=1)
    given = convert(X)
    deviations = standard_deviations(given)
    assert deviations[2] == 0
    np.testing.assert_allclose(np.delete(deviations, 2), table().std(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(varying_columns(given), [0, 1, 3, 4, 5, 6])
    scaled = scale_columns(given, deviations)
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    np.testing.assert_array_equal(scaled[:, 2], X[:, 2])
    mean, inverse = measure_columns(given)
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-12)
    assert inverse[2] == 0


@pytest.mark.parametrize("scale", [True, False])
def test_columns_that_vary_are_centered_in_double_precision(scale):
    X = np.insert(table(), 2, 0.1, axis=1).astype(np.float32)
    Z, varies = center_varying(X, scale=scale)
    expected = np.delete(X, 2, axis=1).astype(float)
    expected -= expected.mean(axis=0)
    expected /= expected.std(axis=0) if scale else 1.0
    assert Z.dtype == np.float64
    assert np.flatnonzero(~varies).tolist() == [2]
    np.testing.assert_allclose(Z, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("unit", [1.0, UNITS])
def test_other_rows_are_standardized_by_mean_and_scale_in_the_units_of_the_table(unit):
    X = np.insert(table() * unit, 1, -3.7, axis=1)
    Z, mean, scale, varies = standardize_with_units(X)
    assert np.flatnonzero(~varies).tolist() == [1]
    np.testing.assert_allclose((X - mean) / scale, Z, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(Z[:, varies].std(axis=0), 1, rtol=1e-12)
    assert not Z[:, 1].any()


def test_a_permutation_of_columns_permutes_centered_columns_to_the_last_bit():
    X = uneven_table((37, 11)) + 5.0
    shuffle = np.random.RandomState(1).permutation(11)
    for plain, permuted in zip(center_each_column(X), center_each_column(X[:, shuffle]), strict=True):
        np.testing.assert_array_equal(permuted, plain[shuffle])
    alone = center_each_column(X[:, [4]])
    np.testing.assert_array_equal(alone.rows[0], center_each_column(X).rows[4])


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (20, 20), (2, 5), (5, 1)], ids=str)
@pytest.mark.parametrize("scale", [True, False])
def test_centered_columns_have_the_covariances_as_products(shape, scale):
    X = uneven_table(shape)
    Z, norm2 = center_columns(X, scale=scale)
    expected = np.atleast_2d(np.cov(X.T, bias=True))
    if scale:
        spread = X.std(axis=0)
        expected = expected / np.outer(spread, spread)
    np.testing.assert_allclose(Z.T @ Z, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(norm2, np.diag(expected), rtol=1e-12)


@pytest.mark.parametrize("scale", [True, False])
def test_shares_sum_to_one(scale):
    Z, norm2 = center_columns(uneven_table((12, 40)), scale=scale, share=True)
    assert norm2.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.sum(Z**2, axis=0), norm2, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e9, 1e-9, 1 / 3])
def test_a_constant_column_is_exactly_zero(dtype, scale, value):
    X = uneven_table((30, 4)).astype(dtype)
    X[:, 2] = value
    Z, norm2 = center_columns(X, scale=scale)
    assert Z.dtype == dtype
    assert norm2.dtype == np.float64
    assert norm2[2] == 0
    assert not Z[:, 2].any()
    assert np.all(np.delete(norm2, 2) > 0)


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e150, 1e300])
def test_very_small_and_very_large_units_are_scaled_away(unit):
    X = uneven_table((30, 4))
    Z, norm2 = center_columns(X * unit, scale=True)
    np.testing.assert_allclose(Z, center_columns(X, scale=True)[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(norm2, 1)


def test_a_large_mean_is_taken_out_exactly():
    X = np.random.RandomState(0).standard_normal((50, 3))
    Z, _ = center_columns(X + 1e8, scale=False)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-17)
