"""Least squares whose weights are shrunk by rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.graph import row_sparse
from tamis.kernels.graph.row_sparse import (
    RowRidge,
    SampleGram,
    irls_weights,
    relaxed_irls_weights,
    row_norms,
    row_sparse_norm,
)
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SHAPES = {"tall": (30, 7), "wide": (9, 40), "square": (12, 12), "one feature": (8, 1)}


def problem(shape, seed=0, n_targets=3):
    rng = np.random.RandomState(seed)
    n, d = shape
    return (
        rng.standard_normal((n, d)),
        rng.standard_normal((n, n_targets)),
        rng.uniform(0.1, 3.0, d),
        rng.standard_normal((d, n_targets)),
        rng.uniform(0.2, 5.0, n),
    )


def test_the_norm_sums_the_lengths_of_rows():
    A = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(row_norms(A), [5.0, 0.0, 2.0], atol=1e-7)
    assert row_sparse_norm(A) == pytest.approx(7.0)


@QUICK
@given(seed=st.integers(0, 10**6), smoothing=st.sampled_from([1e-8, 1e-3, 0.5]))
def test_the_tangent_lies_above_the_norm_and_touches_it(seed, smoothing):
    rng = np.random.RandomState(seed)
    at, other = (rng.standard_normal((6, 3)) * (rng.uniform(size=(6, 1)) < 0.7) for _ in range(2))
    slopes = irls_weights(at, smoothing)
    tangent = row_sparse_norm(at, smoothing) + slopes @ (np.sum(other**2, axis=1) - np.sum(at**2, axis=1))
    assert row_sparse_norm(other, smoothing) <= tangent * (1 + 1e-12)


def test_over_relaxed_weights_have_the_same_fixed_points_and_go_twice_as_far():
    A = np.random.RandomState(0).standard_normal((6, 3))
    fixed = irls_weights(A)
    np.testing.assert_allclose(relaxed_irls_weights(A, fixed), fixed)
    last = fixed * [0.5, 0.9, 1.0, 1.1, 2.0, 3.0]
    np.testing.assert_allclose(np.log(relaxed_irls_weights(A, last) / last), 2.0 * np.log(fixed / last), atol=1e-12)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_over_relaxation_adds_an_order_of_magnitude_at_most(factor):
    A = np.random.RandomState(0).standard_normal((6, 3))
    added = relaxed_irls_weights(A, factor * irls_weights(A)) / irls_weights(A)
    np.testing.assert_allclose(added, 10.0 if factor < 1 else 0.1)


def test_blocks_of_features_sum_to_the_product_of_all(monkeypatch):
    Z, _, weight, _, _ = problem((9, 40))
    monkeypatch.setattr(row_sparse, "CACHE_ENTRIES", 1)  # blocks of as many features as there are samples
    np.testing.assert_allclose(SampleGram(Z, 0.0).weighted(weight), (Z * weight) @ Z.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain rows", "weighted rows"])
@pytest.mark.parametrize("has_linear_term", [False, True], ids=["no linear term", "linear term"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_weights_solve_the_normal_equations_in_either_space(shape, has_linear_term, weighted):
    Z, Y, penalty, linear_term, weight = problem(shape)
    linear_term, weight = linear_term if has_linear_term else None, weight if weighted else None
    found = RowRidge(Z, penalty, linear_term=linear_term, row_weight=weight)
    expected = oracle.ridge(Z, Y, penalty, 0.0 if linear_term is None else linear_term, weight)
    np.testing.assert_allclose(found.coefficients(Y), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.fitted(Y), Z @ expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain rows", "weighted rows"])
@pytest.mark.parametrize("has_linear_term", [False, True], ids=["no linear term", "linear term"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_loss_is_the_minimum_up_to_a_constant(shape, has_linear_term, weighted):
    Z, Y, penalty, linear_term, weight = problem(shape)
    linear_term, weight = linear_term if has_linear_term else None, weight if weighted else None
    regression = RowRidge(Z, penalty, linear_term=linear_term, row_weight=weight)

    def gap(target):
        A = regression.coefficients(target)
        attained = oracle.ridge_loss(Z, target, A, penalty, 0.0 if linear_term is None else linear_term, weight)
        return attained - regression.loss(target, regression.fitted(target))

    assert gap(Y) == pytest.approx(gap(3.0 * Y[::-1] + 1.0), abs=1e-8)
    if linear_term is None:
        assert gap(Y) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain rows", "weighted rows"])
def test_products_kept_between_problems_give_the_minimum_to_their_tolerance(weighted):
    Z, Y, penalty, linear_term, weight = problem((9, 40))
    weight = weight if weighted else None
    exact, close = SampleGram(Z, 0.0), SampleGram(Z, 1e-4)
    rng = np.random.RandomState(0)
    for factor in (1.0, 1e-3, 1e-5, 1e-2, 1.0):  # the last changes all weights again
        penalty = penalty * np.exp(factor * rng.standard_normal(penalty.size))
        given = {"linear_term": linear_term, "row_weight": weight}
        fresh = RowRidge(Z, penalty, **given)
        followed = RowRidge(Z, penalty, sample_gram=exact, **given)
        np.testing.assert_allclose(followed.coefficients(Y), fresh.coefficients(Y), rtol=1e-9, atol=1e-12)
        behind = RowRidge(Z, penalty, sample_gram=close, **given)
        behind.coefficients(Y)
        residual = Y - fresh.fitted(Y)
        squares = float(np.sum(residual**2 * (1.0 if weight is None else weight[:, None])))
        expected = fresh.loss(Y, fresh.fitted(Y))
        assert behind.loss(Y, behind.fitted(Y)) == pytest.approx(expected, abs=2e-4 * squares)


def test_features_whose_weights_hardly_change_are_left_out_of_the_products():
    Z, Y, penalty, _, _ = problem((9, 40))
    gram = SampleGram(Z, 1e-4)
    RowRidge(Z, penalty, sample_gram=gram).coefficients(Y)
    before = gram.weighted(1.0 / penalty).copy()
    np.testing.assert_array_equal(gram.weighted(1.0 / penalty * (1.0 + 1e-9)), before)
    changed = penalty.copy()
    changed[3] /= 2.0
    expected = before + np.outer(Z[:, 3], Z[:, 3]) / penalty[3]
    np.testing.assert_allclose(gram.weighted(1.0 / changed), expected, rtol=1e-12)


def test_a_known_gram_matrix_changes_nothing():
    Z, Y, penalty, _, _ = problem(SHAPES["tall"])
    plain, quick = RowRidge(Z, penalty), RowRidge(Z, penalty, gram=Z.T @ Z)
    np.testing.assert_allclose(quick.coefficients(Y), plain.coefficients(Y), rtol=1e-12)


@pytest.mark.parametrize("shape", [(30, 7), (9, 40)], ids=["tall", "wide"])
def test_copies_of_a_feature_get_the_same_weights(shape):
    Z, Y, penalty, _, _ = problem(shape)
    Z, penalty = np.column_stack([Z, Z[:, 2]]), np.append(penalty, penalty[2])
    A = RowRidge(Z, 1e-3 * penalty).coefficients(Y)
    np.testing.assert_allclose(A[-1], A[2], rtol=1e-12)


@pytest.mark.parametrize("shape", [(30, 7), (9, 40)], ids=["tall", "wide"])
def test_penalties_far_apart_cost_no_digits(shape):
    Z, Y, _, _, _ = problem(shape)
    penalty = np.logspace(-3, 9, shape[1])
    A = RowRidge(Z, penalty).coefficients(Y)
    np.testing.assert_allclose(A, oracle.ridge(Z, Y, penalty), rtol=1e-8)


def test_no_matrix_of_the_size_of_the_features_is_built():
    Z, Y, penalty, _, _ = problem((5, 200_000))
    assert RowRidge(Z, penalty).coefficients(Y).shape == (200_000, 3)
