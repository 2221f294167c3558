"""Ridge fits on many subsets at once are those of scikit-learn on each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from tamis.rank.stochastic._subset_ridge import fit_ridge

SHAPES = [(4, 30, 3), (3, 6, 20), (2, 7, 7)]  # more rows than columns, fewer, as many


def make_problem(shape, n_targets=3, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal(shape) + 2.0, rng.choice([-1.0, 1.0], (n_targets, shape[1])), rng.uniform(1, 4, shape[1])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_fits_are_those_of_scikit_learn(shape, alpha):
    tables, targets, weight = make_problem(shape)
    weights, intercept = fit_ridge(tables, targets, weight, alpha=alpha)
    for b, table in enumerate(tables):
        peer = Ridge(alpha=alpha, solver="svd").fit(table, targets.T, sample_weight=weight)
        np.testing.assert_allclose(weights[b], peer.coef_, atol=1e-8)
        np.testing.assert_allclose(intercept[b], peer.intercept_, atol=1e-8)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    seed=st.integers(0, 2**31 - 1), n_rows=st.integers(1, 8), n_columns=st.integers(1, 8), alpha=st.floats(0.01, 100)
)
def test_the_slope_of_the_objective_is_zero(seed, n_rows, n_columns, alpha):
    tables, targets, weight = make_problem((2, n_rows, n_columns), seed=seed)
    weights, intercept = fit_ridge(tables, targets, weight, alpha=alpha)
    residual = (targets - weights @ tables.transpose(0, 2, 1) - intercept[:, :, None]) * weight
    np.testing.assert_allclose(residual @ tables, alpha * weights, atol=1e-8)
    np.testing.assert_allclose(residual.sum(axis=2), 0.0, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_repeated_rows(shape):
    tables, targets, _ = make_problem(shape)
    often = np.random.RandomState(1).randint(1, 4, shape[1])
    weighted = fit_ridge(tables, targets, often.astype(float), alpha=1.0)
    again = np.repeat(np.arange(shape[1]), often)
    repeated = fit_ridge(tables[:, again], targets[:, again], np.ones(again.size), alpha=1.0)
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_of_zeros_gets_no_weight(shape):
    tables, targets, weight = make_problem(shape)
    padded = np.concatenate([tables, np.zeros((*shape[:2], 1))], axis=2)
    weights, intercept = fit_ridge(padded, targets, weight, alpha=1.0)
    np.testing.assert_allclose(weights[:, :, -1], 0.0, atol=1e-15)
    np.testing.assert_allclose(intercept, fit_ridge(tables, targets, weight, alpha=1.0)[1], atol=1e-10)


def test_the_tables_are_left_as_they_were():
    tables, targets, weight = make_problem((2, 5, 3))
    before = tables.copy()
    fit_ridge(tables, targets, weight, alpha=1.0)
    np.testing.assert_array_equal(tables, before)
