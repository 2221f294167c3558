"""Knockoffs: the diagonal of least reconstructability, the law given the columns, and estimates of correlation."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from tamis.stop._knockoffs import (
    KnockoffLaw,
    estimate_correlation,
    ledoit_wolf_correlation,
    minimize_reconstructability,
    moment_mismatch,
    thresholded_correlation,
)
from tests.oracles.knockoffs import conditional_law, joint_correlation, least_reconstructable, slopes


def correlation(p, seed, n=None):
    rng = np.random.RandomState(seed)
    B = rng.standard_normal((p, n or p + 3))
    return np.corrcoef(B)


def standardized(n, R, seed):
    Z = np.random.RandomState(seed).standard_normal((n, len(R))) @ np.linalg.cholesky(R).T
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


@pytest.mark.parametrize(("p", "seed"), [(2, 0), (3, 1), (5, 2), (8, 3)])
def test_the_diagonal_is_that_of_exact_coordinate_minimization(p, seed):
    R = correlation(p, seed)
    np.testing.assert_allclose(minimize_reconstructability(R), least_reconstructable(R), rtol=1e-4)


@pytest.mark.parametrize("strength", [0.0, 0.5, 0.95, 0.999])
def test_the_objective_has_no_slope_at_the_minimum(strength):
    distance = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    R = strength**distance if strength else np.eye(60)
    assert np.abs(slopes(R, minimize_reconstructability(R))).max() < 1e-4


def test_uncorrelated_columns_have_independent_knockoffs():
    law = KnockoffLaw.of(np.eye(4))
    np.testing.assert_allclose(law.S, np.eye(4), rtol=1e-4)
    np.testing.assert_allclose(law.prediction, 0.0, atol=1e-3)


def test_the_law_given_the_columns_is_that_of_the_joint_law():
    R = correlation(6, 4)
    law = KnockoffLaw.of(R)
    z = np.random.RandomState(0).standard_normal(6)
    mean, covariance = conditional_law(z, R, np.diag(law.S))
    np.testing.assert_allclose(z @ law.prediction, mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(law.factor @ law.factor.T, covariance, atol=1e-10)


def test_groups_of_columns_have_a_block_each_and_a_joint_law():
    R, codes = correlation(7, 5), np.array([0, 1, 1, 2, 0, 3, 3])
    law = KnockoffLaw.of(R, codes)
    assert not law.S[codes[:, None] != codes].any()
    joint = np.block([[R, R - law.S], [R - law.S, R]])
    assert np.linalg.eigvalsh(joint)[0] > 0
    np.testing.assert_allclose(law.factor @ law.factor.T, 2 * law.S - law.S @ np.linalg.solve(R, law.S), atol=1e-10)


def test_the_law_of_groups_does_not_depend_on_the_basis_of_a_group():
    R, codes = correlation(5, 6), np.array([0, 0, 1, 2, 2])
    T = np.eye(5)
    T[:2, :2] = [[0.8, 0.6], [-0.6, 0.8]]
    there = T @ R @ T.T  # an orthogonal change of basis: a diagonal of ones no longer, which the law does not ask for
    np.testing.assert_allclose(KnockoffLaw.of(there, codes).S, T @ KnockoffLaw.of(R, codes).S @ T.T, atol=1e-4)


def test_columns_of_permuted_names_have_the_permuted_diagonal():
    R = correlation(6, 7)
    order = np.array([3, 1, 5, 0, 2, 4])
    s = minimize_reconstructability(R)
    np.testing.assert_allclose(minimize_reconstructability(R[np.ix_(order, order)]), s[order], rtol=1e-6)


def test_shrinkage_is_that_of_scikit_learn():
    Z = standardized(40, correlation(10, 8), 0)
    np.testing.assert_allclose(ledoit_wolf_correlation(Z), ledoit_wolf(Z, assume_centered=True)[0], atol=1e-10)


def test_entries_that_chance_explains_are_zero_where_columns_outnumber_rows():
    R = np.eye(60)
    R[0, 1] = R[1, 0] = 0.9
    Z = standardized(50, R, 0)
    found, name = estimate_correlation(Z)
    assert name == "thresholded"
    assert found[0, 1] > 0.5
    assert np.count_nonzero(found) < 60 + 2 * 20
    assert np.linalg.eigvalsh(thresholded_correlation(Z))[0] >= 0.1 - 1e-9


def test_columns_that_others_all_but_determine_have_knockoffs_that_all_but_equal_them():
    Z = standardized(3000, np.eye(4), 0)
    R, _ = estimate_correlation(np.column_stack([Z, Z[:, 0] + 1e-6 * Z[:, 1]]))
    s = np.diag(KnockoffLaw.of(R).S)
    assert s[0] < 0.05
    assert s[1] > 0.8


def test_drawn_knockoffs_have_the_joint_correlation():
    R = correlation(4, 9)
    Z = standardized(200_000, R, 1)
    law = KnockoffLaw.of(R)
    both = np.hstack([Z, law.draw(Z @ law.prediction, np.random.RandomState(2))])
    np.testing.assert_allclose(np.corrcoef(both.T), joint_correlation(R, np.diag(law.S)), atol=0.02)


def test_the_mismatch_of_moments_is_that_of_chance_where_the_law_fits_and_more_where_it_does_not():
    R, codes = correlation(12, 10, n=20), np.arange(12)
    Z, rng = standardized(2000, R, 3), np.random.RandomState(4)
    law = KnockoffLaw.of(R)
    mismatch, by_chance = moment_mismatch(Z, law.draw(Z @ law.prediction, rng), codes)
    assert 0.7 < mismatch / by_chance < 1.4
    wrong = KnockoffLaw.of(np.eye(12))
    mismatch, by_chance = moment_mismatch(Z, wrong.draw(Z @ wrong.prediction, rng), codes)
    assert mismatch > 3 * by_chance


def test_a_single_group_has_nothing_to_be_correlated_with():
    assert moment_mismatch(np.ones((3, 2)), np.ones((3, 2)), np.zeros(2, dtype=int)) == (0.0, 0.0)
