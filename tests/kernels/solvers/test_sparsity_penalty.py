"""Penalties: proximal operators, conditions and dual norms against slow versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.solvers.sparsity_penalty import SparsityPenalty, soft_threshold
from tests.oracles import sparse_penalty as oracle

GROUPS = [[0, 1, 2], [3], [4, 5], [6, 7, 8, 9]]
STARTS = np.array([0, 3, 4, 6])
ROOTS = np.sqrt([3.0, 1.0, 2.0, 4.0])
RATIOS = [0.0, 0.3, 0.9, 1.0]


def make(alpha=0.7, l1_ratio=0.3, **others):
    return SparsityPenalty(alpha, STARTS, 10, l1_ratio=l1_ratio, group_weights=ROOTS, **others)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_the_value_is_the_sum_over_groups(ratio, l2):
    u = np.random.RandomState(0).standard_normal(10)
    expected = oracle.penalty_value(u, GROUPS, 0.7, ratio, ROOTS, l2)
    assert make(l1_ratio=ratio, l2=l2).value(u) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("seed", range(3))
def test_the_prox_of_a_group_is_what_its_dual_gives(ratio, seed):
    v = 2 * np.random.RandomState(seed).standard_normal(10)
    u = make(l1_ratio=ratio).prox(v, 0.8)
    for group, root in zip(GROUPS, ROOTS, strict=True):
        by_dual = oracle.prox_by_its_dual(v[group], 0.8 * 0.7 * (1 - ratio) * root, 0.8 * 0.7 * ratio, 2000)
        np.testing.assert_allclose(u[group], by_dual, atol=1e-9)
    np.testing.assert_allclose(u, oracle.prox(v, GROUPS, 0.7, 0.8, ratio, ROOTS), atol=1e-14)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    seed=st.integers(0, 2**31 - 1),
    ratio=st.sampled_from(RATIOS),
    l2=st.sampled_from([0.0, 1.5]),
    bound=st.sampled_from([np.inf, 0.4]),
)
def test_no_point_is_lower_than_the_prox(seed, ratio, l2, bound):
    rng = np.random.RandomState(seed)
    if np.isfinite(bound):
        ratio = 1.0  # the box goes with the l1 norm
    penalty, v = make(l1_ratio=ratio, l2=l2, bound=bound), 2 * rng.standard_normal(10)
    u = penalty.prox(v, 0.6)

    def value(point):
        return 0.5 * np.sum((point - v) ** 2) + 0.6 * penalty.value(point)

    for size in (1e-4, 1e-2, 1.0):
        other = np.clip(u + size * rng.standard_normal(10) * (rng.random_sample(10) < 0.5), -bound, bound)
        assert value(u) <= value(other) + 1e-14
    # with f = |u - v|^2 / 1.2 the negative gradient is (v - u) / 0.6
    assert penalty.kkt_violation((v - u) / 0.6, u).max() <= 1e-12


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_step_of_zero_moves_nothing(ratio):
    v = np.random.RandomState(0).standard_normal(10)
    np.testing.assert_array_equal(make(l1_ratio=ratio).prox(v, 0.0), v)


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("size", [1e-120, 1.0, 1e120])
def test_dual_norms_are_the_roots_of_their_equation(ratio, size):
    q = size * np.random.RandomState(1).standard_normal(10)
    q[3] = 0.0
    expected = [oracle.dual_norm(q[group], ratio, root) for group, root in zip(GROUPS, ROOTS, strict=True)]
    np.testing.assert_allclose(make(l1_ratio=ratio).dual_norms(q), expected, rtol=1e-11)


def test_the_dual_norm_of_the_lasso_is_the_largest_entry():
    q = np.random.RandomState(1).standard_normal(10)
    np.testing.assert_array_equal(make(l1_ratio=1.0).dual_norms(q), [np.abs(q[group]).max() for group in GROUPS])


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_dual_norm_bounds_products_and_is_reached(ratio):
    rng = np.random.RandomState(0)
    penalty, q = make(alpha=1.0, l1_ratio=ratio), rng.standard_normal(10)
    norm = penalty.dual_norms(q).max()
    ratios = [q @ u / penalty.value(u) for u in rng.standard_normal((2000, 10))]
    assert max(ratios) <= norm
    # at an alpha just below, the prox of q moves away from zero; the product there reaches the norm
    u = penalty.prox(q, norm * (1 - 1e-6))
    assert q @ u / penalty.value(u) == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize("ratio", RATIOS)
def test_zero_is_a_minimum_from_the_dual_norm_on(ratio):
    r = np.random.RandomState(2).standard_normal(10)
    norm = make(l1_ratio=ratio).dual_norms(r).max()
    zero = np.zeros(10)
    assert make(norm * (1 + 1e-9), ratio).kkt_violation(r, zero).max() == 0.0
    assert make(norm * (1 - 1e-6), ratio).kkt_violation(r, zero).max() > 0.0


@pytest.mark.parametrize(("ratio", "bound", "l2"), [(1.0, 0.5, 0.0), (1.0, np.inf, 0.8), (0.4, np.inf, 0.8)])
def test_the_conjugate_is_the_largest_difference(ratio, bound, l2):
    rng = np.random.RandomState(0)
    penalty, q = make(l1_ratio=ratio, bound=bound, l2=l2), 2 * rng.standard_normal(10)
    conjugate = penalty.conjugate(q)
    points = np.clip(rng.standard_normal((500, 10)), -bound, bound)
    assert max(q @ u - penalty.value(u) for u in points) <= conjugate
    # reached where q is in the subdifferential: the limit of proximal steps
    u = np.zeros(10)
    for _ in range(300):
        u = penalty.prox(u + q, 1.0)
    assert q @ u - penalty.value(u) == pytest.approx(conjugate, rel=1e-9)


@pytest.mark.parametrize("ratio", RATIOS)
def test_gradient_and_curvature_are_those_of_differences(ratio):
    u = np.random.RandomState(0).standard_normal(10)
    penalty, h = make(l1_ratio=ratio, l2=0.5), 1e-6
    steps = h * np.eye(10)
    gradient = [(penalty.value(u + e) - penalty.value(u - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(penalty.gradient_of_norms(u) + 0.5 * u, gradient, atol=1e-8)
    hessian = np.zeros((9, 9))
    free = np.delete(np.arange(10), 5)
    penalty.add_curvature(hessian, u, free)
    slopes = [(penalty.gradient_of_norms(u + e) - penalty.gradient_of_norms(u - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(hessian, (np.array(slopes) + 0.5 * np.eye(10))[np.ix_(free, free)], atol=1e-7)


def test_at_the_bound_the_slope_may_only_point_outwards():
    penalty = SparsityPenalty(1.0, np.arange(3), 3, bound=2.0)
    u = np.array([2.0, -2.0, 2.0])
    np.testing.assert_allclose(penalty.kkt_violation(np.array([5.0, -5.0, 0.5]), u), [0.0, 0.0, 0.5])


def test_some_groups_in_another_order():
    penalty = make()
    groups = np.array([3, 0])
    part = penalty.restrict_to(groups)
    np.testing.assert_array_equal(penalty.columns_of(groups), [6, 7, 8, 9, 0, 1, 2])
    np.testing.assert_array_equal(part.sizes, [4, 3])
    u = np.random.RandomState(0).standard_normal(10)
    parts = [make().restrict_to(np.array([g])).value(u[group]) for g, group in enumerate(GROUPS)]
    assert part.value(u[penalty.columns_of(groups)]) == pytest.approx(parts[3] + parts[0])


def test_no_columns_at_all():
    empty = SparsityPenalty(1.0, np.arange(3), 3).restrict_to(np.empty(0, dtype=int))
    nothing = np.zeros(0)
    assert empty.value(nothing) == 0.0
    assert empty.kkt_violation(nothing, nothing).size == empty.dual_norms(nothing).size == 0


def test_the_soft_threshold_lowers_absolute_values():
    np.testing.assert_array_equal(soft_threshold(np.array([-3.0, -0.5, 0.0, 2.0]), 1.0), [-2.0, 0.0, 0.0, 1.0])
