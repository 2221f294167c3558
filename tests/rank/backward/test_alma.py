"""ALMA: what its paper proves, and the slow loop over rows."""

import numpy as np
import pytest
from scipy import sparse

from tamis.rank.backward._alma import (
    adapt_norm,
    bound_corrections,
    count_spare,
    dual_weights,
    find_hyperplane,
    normalize_rows,
)
from tests.oracles import alma as oracle


def separable(seed, n_samples=30, n_features=6, gap=0.3):
    """Rows beyond a gap on both sides of a plane."""
    rng = np.random.RandomState(seed)
    direction = rng.standard_normal(n_features)
    X = rng.standard_normal((n_samples * 20, n_features))
    output = X @ direction / np.linalg.norm(direction)
    X, output = X[np.abs(output) > gap][:n_samples], output[np.abs(output) > gap][:n_samples]
    return X, np.sign(output)


def norm(w, q):
    return np.sum(np.abs(w) ** q) ** (1 / q)


def run(X, y, p, alpha, slack=0.0):
    return find_hyperplane(X, y, p=p, alpha=alpha, slack=slack, passes=range(1, 20001))


@pytest.mark.parametrize("slack", [0.0, 0.7])
@pytest.mark.parametrize("p", [2.0, 3.5, 9.0])
@pytest.mark.parametrize("numbers", [1, 2**13])
def test_it_makes_the_corrections_of_the_loop_over_rows(p, slack, numbers, monkeypatch):
    monkeypatch.setattr("tamis.rank.backward._alma._MIN_NUMBERS", numbers)
    X, y = separable(0)
    X = normalize_rows(X, p)
    weights, slacks, n_corrections, n_passes = oracle.alma(X, y, p, 0.5, slack)
    for table in (X, sparse.csr_array(X), np.asfortranarray(X)):
        found = run(table, y, p, 0.5, slack)
        assert (found.n_corrections, found.n_passes, found.converged) == (n_corrections, n_passes, True)
        np.testing.assert_allclose(found.weights, weights, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(found.slacks * y, slacks, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("p", [2.0, 4.0, 8.0])
def test_corrections_and_margin_keep_the_bounds_of_the_paper(p, alpha, seed):
    X, y = separable(seed)
    X = normalize_rows(X, p)
    largest = oracle.largest_margin(X, y, p)
    found = run(X, y, p, alpha)
    assert found.converged
    assert found.n_corrections <= bound_corrections(p, alpha, largest)
    assert norm(found.weights, p / (p - 1)) <= 1 + 1e-12
    margin = (y * (X @ found.weights)).min()
    assert margin > (1 - alpha) * found.gamma
    assert found.gamma >= largest * (1 - 1e-9)
    assert margin >= (1 - alpha) * largest


@pytest.mark.parametrize("p", [2.0, 5.0])
def test_with_slack_it_settles_on_labels_that_no_plane_separates_within_the_bound_too(p):
    rng = np.random.RandomState(0)
    X = normalize_rows(rng.standard_normal((40, 2)), p)
    y = np.where(rng.rand(40) < 0.5, 1.0, -1.0)
    found = run(X, y, p, 0.5, slack=1.0)
    assert found.converged
    assert found.n_corrections <= bound_corrections(p, 0.5, np.sqrt(1 / (2 * 40)))
    assert np.hypot(norm(found.weights, p / (p - 1)), np.linalg.norm(found.slacks)) <= 1 + 1e-12
    assert np.all((y * (X @ found.weights) + found.slacks) / np.sqrt(2) > 0.5 * found.gamma)
    without = find_hyperplane(X, y, p=p, alpha=0.5, passes=range(1, 50))
    assert not without.converged
    assert without.n_passes == 49


@pytest.mark.parametrize("p", [2.0, 2.5, 6.0, 20.0])
def test_the_way_from_weights_to_theta_and_back_ends_where_it_began(p):
    w = np.random.RandomState(0).standard_normal(9) * 10.0 ** np.arange(-4, 5)
    w[3] = 0.0
    q = p / (p - 1)
    out = np.ones((3, 9))
    assert dual_weights(oracle.gradient_of_half_squared_norm(w, q), p, out) == pytest.approx(norm(w, q))
    np.testing.assert_allclose(out[0], w, rtol=1e-9)
    assert dual_weights(np.zeros(9), p, out) == 0
    assert not out[0].any()


@pytest.mark.parametrize("p", [2.0, 3.0, 18.4])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_rows_get_unit_length_in_any_units_and_empty_ones_stay(p, unit):
    X = np.random.RandomState(0).standard_normal((5, 7)) * unit
    X[2] = 0.0
    X[:, 1] = 0.0
    expected = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    rows = normalize_rows(X, p)
    np.testing.assert_allclose(np.sum(np.abs(rows) ** p, axis=1), expected)
    np.testing.assert_allclose(normalize_rows(sparse.csr_array(X), p).toarray(), rows, rtol=1e-12)


def test_the_norm_follows_the_number_of_features():
    assert adapt_norm(1) == adapt_norm(2) == 2.0
    assert adapt_norm(3) > 2.0
    assert adapt_norm(100) == pytest.approx(2 * np.log(100))
    assert adapt_norm(10_000) == round(2 * np.log(10_000))  # powers are products there


def test_features_are_spared_while_every_budget_lasts():
    powers = np.array([[0.0, 0.1, 0.2, 0.3], [0.1, 0.1, 0.1, 0.1]])
    assert count_spare(powers, np.array([0.31, 1.0])) == 3
    assert count_spare(powers, np.array([0.31, 0.15])) == 1
    assert count_spare(powers, np.array([0.31, 0.05])) == 0
    assert count_spare(powers, np.array([9.0, 9.0])) == 4
