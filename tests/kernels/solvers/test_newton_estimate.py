"""Newton's method, one evaluation at a time."""

import numpy as np
import pytest
from scipy.special import expit

from tamis.kernels.solvers.newton_estimate import Curvature, Estimate
from tamis.kernels.solvers.row_sample import RowSample

LOSSES = ["squared_hinge", "logistic"]


class Problem:
    """All rows in memory."""

    def __init__(self, loss, n=300, n_entries=5, *, scale=1.0, noise=1.0, cost=1.0, seed=0):
        rng = np.random.RandomState(seed)
        self.table = np.vstack([np.ones(n), scale * rng.standard_normal((n_entries - 1, n))])
        self.signs = np.where(self.table[1] - self.table[2] + noise * rng.standard_normal(n) > 0, 1.0, -1.0)
        self.cost = np.full(n, cost)
        self.penalty = np.concatenate([[0.0], np.ones(n_entries - 1)])
        self.loss, self.unit = loss, self.cost.sum()
        self.sample = RowSample(loss, self.table, self.signs, self.cost, n)

    def evaluate(self, w):
        margin = self.signs * (w @ self.table)
        if self.loss == "squared_hinge":
            error = np.maximum(1 - margin, 0)
            value, slope, curvature = error**2, -2 * error, 2.0 * (margin < 1)
        else:
            p = expit(-margin)
            value, slope, curvature = np.logaddexp(0, -margin), -p, p * (1 - p)
        gradient = self.penalty * w + self.table @ (self.cost * slope * self.signs)
        hessian = (self.table * (self.cost * curvature)) @ self.table.T
        return self.cost @ value + 0.5 * self.penalty @ w**2, gradient, hessian

    def curvature(self, hessian, at, remains=None):
        remains = np.ones(at.size, dtype=bool) if remains is None else remains
        return Curvature(hessian, remains, self.penalty, self.sample, self.sample.outputs(at))


def improve(problem, estimate, n_most=60, with_hessian=lambda number: True):
    """How many evaluations it takes until the estimate is final."""
    curvature = None
    for number in range(n_most):
        if estimate.hessian is not None:
            curvature = problem.curvature(estimate.hessian, estimate.hessian_at, estimate.remains)
        estimate.follow(curvature)
        found = [problem.evaluate(w) for w in estimate.points()]
        has_hessian = with_hessian(number) or estimate.needs_hessian
        kept = np.ix_(estimate.remains, estimate.remains)
        estimate.update(
            np.array([np.where(estimate.remains, gradient, 0) for _, gradient, _ in found]),
            problem.unit,
            np.array([value for value, _, _ in found]),
            [hessian[kept] for _, _, hessian in found] if has_hessian else [],
        )
        if estimate.is_final:
            return number + 1
    return n_most + 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("start", [0.0, 3.0, -40.0])
def test_the_gradient_is_zero_wherever_the_search_begins(loss, start):
    problem = Problem(loss)
    estimate = Estimate(np.full(5, start), np.ones(5, dtype=bool), 1e-10)
    assert improve(problem, estimate) <= 60
    assert estimate.residual <= 1e-10
    assert np.abs(problem.evaluate(estimate.w)[1]).max() <= 1e-10 * problem.unit


@pytest.mark.parametrize("loss", LOSSES)
def test_classes_that_can_be_separated_are_at_a_high_cost(loss):
    problem = Problem(loss, noise=0.0, cost=1e4)
    estimate = Estimate(np.zeros(5), np.ones(5, dtype=bool), 1e-10)
    assert improve(problem, estimate) <= 60
    assert np.abs(problem.evaluate(estimate.w)[1]).max() <= 1e-10 * problem.unit


@pytest.mark.parametrize("loss", LOSSES)
def test_one_hessian_serves_for_several_steps(loss):
    problem = Problem(loss, n=4000)
    estimate = Estimate(np.zeros(5), np.ones(5, dtype=bool), 1e-10)
    improve(problem, estimate, with_hessian=lambda number: number == 0)
    assert estimate.residual <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
def test_entries_that_an_estimate_has_not_stay_zero(loss):
    problem, remains = Problem(loss), np.array([True, True, False, True, True])
    estimate = Estimate(np.zeros(5), remains, 1e-10)
    improve(problem, estimate)
    assert estimate.w[2] == 0
    assert np.abs(problem.evaluate(estimate.w)[1][remains]).max() <= 1e-10 * problem.unit


def test_a_tolerance_below_rounding_ends_the_search():
    problem = Problem("logistic")
    estimate = Estimate(np.zeros(5), np.ones(5, dtype=bool), 1e-30)
    assert improve(problem, estimate) <= 60
    assert estimate.residual <= 1e-13


def test_proposed_weights_are_evaluated_in_the_place_of_a_step():
    problem = Problem("squared_hinge")
    best = Estimate(np.zeros(5), np.ones(5, dtype=bool), 1e-12)
    improve(problem, best)
    estimate = Estimate(np.full(5, 3.0), np.ones(5, dtype=bool), 1e-10)
    improve(problem, estimate, n_most=1)
    estimate.follow(problem.curvature(estimate.hessian, estimate.hessian_at))
    estimate.propose(best.w)
    np.testing.assert_array_equal(estimate.points(), best.w[None])
    estimate.update(problem.evaluate(best.w)[1][None], problem.unit, np.empty(0))
    assert estimate.is_final


def test_eliminations_from_a_minimum_lead_to_that_of_the_quadratic_function():
    problem = Problem("logistic")
    best = Estimate(np.zeros(5), np.ones(5, dtype=bool), 1e-12)
    improve(problem, best)
    _, _, hessian = problem.evaluate(best.w)
    curvature = problem.curvature(hessian, best.w)
    remains = np.array([True, True, False, True, False])
    found = curvature.eliminate(np.flatnonzero(~remains), best.w)
    full = hessian + np.diag(problem.penalty)
    kept = np.flatnonzero(remains)
    expected = np.linalg.solve(full[np.ix_(kept, kept)], (full @ best.w)[kept])
    np.testing.assert_allclose(found[kept], expected, rtol=1e-8)
    assert not found[~remains].any()
    gradient = np.random.RandomState(0).standard_normal(5)
    solved = curvature.solve(gradient, curvature.n_eliminated)
    np.testing.assert_allclose(solved[kept], np.linalg.solve(full[np.ix_(kept, kept)], gradient[kept]), rtol=1e-8)
    anew = curvature.restricted(remains)
    np.testing.assert_allclose(anew.solve(gradient, 0), solved, rtol=1e-8)
    assert anew.source is curvature.source


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sample_brings_a_step_nearer_to_the_minimum(loss):
    problem = Problem(loss, n=8000)
    every = slice(None, None, 8)
    sample = RowSample(loss, problem.table[:, every], problem.signs[every], 8 * problem.cost[every], 8000)
    best = Estimate(np.zeros(5), np.ones(5, dtype=bool), 1e-10)
    improve(problem, best)
    start = best.w + 0.1
    _, gradient, hessian = problem.evaluate(start)
    curvature = Curvature(hessian, np.ones(5, dtype=bool), problem.penalty, sample, sample.outputs(start))
    plain = start - curvature.solve(gradient, 0)
    refined = curvature.refine(plain, start, 0)
    left, left_by_plain = (np.abs(problem.evaluate(w)[1]).max() for w in (refined, plain))
    assert left < 0.5 * left_by_plain
