"""Centering and the searches for columns that stand for all columns."""

from itertools import islice

import numpy as np
import pytest

from tamis.kernels.arrays.scaling import center_columns
from tamis.kernels.subset.column_subset import (
    Basis,
    PivotedSearch,
    ReconstructionSearch,
    explained_by_each,
    first_largest,
    gram_of_rows,
)
from tests.oracles.column_subset import reconstruction, standardized
from tests.oracles.gram_schmidt import residual

SHAPES = pytest.mark.parametrize("shape", [(12, 40), (40, 12), (20, 20), (2, 5), (5, 1)], ids=str)


def table(shape, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal(shape) * np.logspace(-2, 2, shape[1]) + rng.standard_normal(shape[1])


@SHAPES
@pytest.mark.parametrize("scale", [True, False])
def test_what_a_column_explains_alone_is_its_least_squares_fit_of_all(shape, scale):
    X = table(shape)
    X[:, -1] = 5.0 if shape[1] > 1 else X[:, -1]
    Z, norm2 = center_columns(X, scale=scale)
    found = explained_by_each(Z, norm2)
    expected = [np.sum(Z**2) - np.sum(residual(Z[:, [j]], Z) ** 2) for j in range(shape[1])]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * np.sum(Z**2))


def test_products_of_single_precision_rows_are_summed_in_double_precision(monkeypatch):
    Z, _ = center_columns(np.random.RandomState(0).standard_normal((20, 3000)).astype(np.float32), scale=True)
    exact = Z.astype(float) @ Z.T.astype(float)
    monkeypatch.setattr("tamis.kernels.arrays.blocks.CACHE_ENTRIES", 2000)
    K = gram_of_rows(Z)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, exact, atol=1e-6 * exact.max())


def test_residuals_are_orthogonal_to_a_growing_basis():
    rng = np.random.RandomState(0)
    basis, V = Basis(50), rng.standard_normal((50, 30))
    V[:, 20] = V[:, :20] @ rng.standard_normal(20) + 1e-9 * rng.standard_normal(50)
    for j in range(30):
        off_basis = basis.residual(V[:, j])
        basis.append(off_basis / np.linalg.norm(off_basis))
    Q = basis._Q[:, :30]
    np.testing.assert_allclose(Q.T @ Q, np.eye(30), atol=1e-13)


def test_of_values_that_differ_by_rounding_the_first_is_the_largest():
    assert first_largest(np.array([1.0, 2.0, 2.0 + 1e-14, 0.0]), 1e-12) == 1
    assert first_largest(np.array([-np.inf, -3.0, -3.0 + 1e-14]), 1e-12) == 1
    assert first_largest(np.array([1.0, 2.0, 2.1]), 1e-12) == 2


@SHAPES
@pytest.mark.parametrize("scale", [True, False])
def test_the_tracked_figures_are_those_of_the_explicit_residuals(shape, scale):
    X = table(shape, seed=3)
    Z, norm2 = center_columns(X, scale=scale)
    search = ReconstructionSearch(Z, norm2)
    chosen = [feature for feature, _ in islice(search, 4)]
    residuals = residual(Z[:, chosen], Z)
    others = np.setdiff1d(np.flatnonzero(search.residual_norm2 > -np.inf), chosen)
    np.testing.assert_allclose(search.residual_norm2[others], np.sum(residuals**2, axis=0)[others], rtol=1e-7)
    np.testing.assert_allclose(search.num[others], np.sum((residuals.T @ residuals) ** 2, axis=0)[others], rtol=1e-7)


@pytest.mark.parametrize("shape", [(15, 60), (60, 15)], ids=str)
def test_nearly_dependent_columns_are_ordered_as_by_brute_force(shape):
    """What is left of the table falls by ten orders of magnitude along the path."""
    rng = np.random.RandomState(0)
    rank = min(shape)
    X = rng.standard_normal((shape[0], rank)) * np.logspace(0, -4, rank) @ rng.standard_normal((rank, shape[1]))
    order, shares = reconstruction(X)
    Z, norm2 = center_columns(X, scale=True, share=True)
    found = list(ReconstructionSearch(Z, norm2))
    assert [feature for feature, _ in found] == order
    np.testing.assert_allclose([gain for _, gain in found], shares, rtol=1e-3, atol=1e-14)


def test_pivoting_may_be_told_where_to_begin():
    Z, norm2 = center_columns(table((20, 6)), scale=False)
    assert next(iter(PivotedSearch(Z, norm2)))[0] == 5
    assert next(iter(PivotedSearch(Z, norm2, first=2))) == (2, pytest.approx(norm2[2]))


def test_steps_are_made_one_at_a_time():
    Z, norm2 = center_columns(standardized(table((30, 9))), scale=True)
    for search in (ReconstructionSearch(Z, norm2), PivotedSearch(Z, norm2)):
        assert len(list(islice(search, 3))) == 3
        assert search.basis.size == 3
