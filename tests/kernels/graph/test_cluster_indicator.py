"""Memberships in clusters by multiplicative steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.graph.affinity import neighbor_graph
from tamis.kernels.graph.cluster_indicator import (
    FLOOR,
    IndicatorProblem,
    Reconstruction,
    descend,
    indicator_of,
    orthogonality_gap,
    orthogonality_penalty,
)
from tamis.kernels.graph.row_sparse import RowRidge
from tests.oracles import spectral_selection as oracle

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SEED = st.integers(0, 10**6)
GAMMA = st.sampled_from([0.0, 0.5, 10.0, 1e4, 1e8])


class Case:
    """A random problem, and J written out term by term."""

    def __init__(self, seed, gamma, *, n_samples=14, n_features=6, n_clusters=3):
        rng = np.random.RandomState(seed)
        self.Z = rng.standard_normal((n_samples, n_features))
        self.penalty = rng.uniform(0.1, 2.0, n_features)
        self.linear_term = rng.standard_normal((n_features, n_clusters))
        self.weight = rng.uniform(0.2, 3.0, n_samples)
        self.noise = 0.3 * rng.standard_normal((n_samples, n_clusters))
        self.T, self.C = rng.standard_normal((n_samples, 4)), rng.standard_normal((n_clusters, 4))
        self.v = rng.uniform(0.1, 1.0, (n_samples, 1))
        self.nu, self.alpha = rng.uniform(0.1, 2.0, 2).tolist()
        self.gamma = gamma
        self.graph = neighbor_graph(self.Z, 3)
        self.problem = IndicatorProblem(
            self.graph,
            RowRidge(self.Z, self.penalty, linear_term=self.linear_term, row_weight=self.weight),
            self.alpha,
            self.gamma,
            smoothness=self.nu,
            noise=self.noise,
            reconstruction=Reconstruction(self.v, self.T @ self.C.T, self.C @ self.C.T),
        )
        self.F = rng.uniform(0.01, 1.0, (n_samples, n_clusters))
        self.other = self.F * np.exp(rng.standard_normal(self.F.shape))

    def value(self, F):
        L = oracle.normalized_laplacian(self.graph)
        Y = F - self.noise
        A = oracle.ridge(self.Z, Y, self.penalty, self.linear_term, self.weight)
        loss = oracle.ridge_loss(self.Z, Y, A, self.penalty, self.linear_term, self.weight)
        return (
            oracle.shape(self.nu * L, F, self.gamma) + self.alpha * loss + np.sum(self.v * (self.T - F @ self.C) ** 2)
        )

    def bound(self, F):
        """The separable bound at ``self.F``, from its derivation."""
        at, u = self.F, F / self.F
        A = oracle.ridge(self.Z, at - self.noise, self.penalty, self.linear_term, self.weight)
        S = np.eye(len(at)) - oracle.normalized_laplacian(self.graph)
        d, G = self.alpha * self.weight[:, None], self.C @ self.C.T
        B = d * (self.Z @ A + self.noise) + self.v * (self.T @ self.C.T)
        a = (self.nu + d) * at + self.v * (at @ np.maximum(G, 0)) + np.maximum(-B, 0)
        b = self.gamma * at @ at.T @ at
        c = self.nu * S @ at + self.v * (at @ np.maximum(-G, 0)) + np.maximum(B, 0) + self.gamma * at
        return self.value(at) + np.sum(at * (a * (u**2 - 1) + b * (u**4 - 1) / 2 - 2 * c * np.log(u))), (a, b, c)


@QUICK
@given(seed=SEED, gamma=GAMMA)
def test_the_value_is_the_objective_up_to_a_constant(seed, gamma):
    case = Case(seed, gamma)
    expected = case.value(case.other) - case.value(case.F)
    found = case.problem.evaluate(case.other).value - case.problem.evaluate(case.F).value
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8 * max(1.0, gamma))


@QUICK
@given(seed=SEED, gamma=GAMMA, wide=st.booleans())
def test_the_bound_lies_above_the_objective_and_the_step_is_its_minimum(seed, gamma, wide):
    case = Case(seed, gamma, n_features=30 if wide else 6)
    bound, (a, b, c) = case.bound(case.other)
    assert case.value(case.other) <= bound + 1e-8 * abs(bound)
    u = case.problem.factors(case.F, case.problem.evaluate(case.F))
    np.testing.assert_allclose(a * u**2 + b * u**4, c, rtol=1e-7)


@QUICK
@given(seed=SEED, gamma=GAMMA)
def test_the_step_goes_at_least_as_far_as_the_usual_rule(seed, gamma):
    case = Case(seed, gamma)
    _, (a, b, c) = case.bound(case.other)
    u = case.problem.factors(case.F, case.problem.evaluate(case.F))
    assert np.all(np.abs(np.log(u)) >= np.abs(np.log(c / (a + b))) / 4 - 1e-9)


@QUICK
@given(seed=SEED, gamma=GAMMA, relaxation=st.sampled_from([1.0, 4.0, 16.0]), wide=st.booleans())
def test_steps_never_raise_the_objective_and_keep_memberships_positive(seed, gamma, relaxation, wide):
    case = Case(seed, gamma, n_features=30 if wide else 6)
    F, before = case.F, case.value(case.F)
    for _ in range(6):
        F, relaxation = descend(case.problem, F, 1, relaxation)
        after = case.value(F)
        assert after <= before + 1e-10 * abs(before)
        assert F.min() >= FLOOR
        before = after


def test_a_membership_at_the_floor_can_grow_again():
    case = Case(0, 1.0)
    F = case.F.copy()
    F[:, 0] = FLOOR
    assert descend(case.problem, F, 50)[0][:, 0].max() > 1e-3


def test_memberships_of_a_partition_have_unit_columns_and_leave_out_empty_clusters():
    labels = np.array([0, 0, 2, 2, 2])
    F = indicator_of(labels, 4, offset=0.0)
    np.testing.assert_allclose(np.linalg.norm(F, axis=0), [1, 0, 1, 0])
    np.testing.assert_array_equal(F.argmax(axis=1), labels)
    np.testing.assert_allclose(indicator_of(labels, 4, offset=0.02), F + 0.02)


def test_the_gap_from_orthogonality_is_zero_for_orthonormal_columns_only():
    Q = np.linalg.qr(np.random.RandomState(0).standard_normal((9, 3)))[0]
    assert orthogonality_gap(Q) < 1e-14
    assert orthogonality_gap(2 * Q) == pytest.approx(3 * np.sqrt(3))
    assert orthogonality_penalty(2 * Q, 4.0) == pytest.approx(2 * 27)
