"""Successive linearization of a concave penalty: the objective falls to a stationary point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.base import ColumnCandidates
from tamis.rank._linear_problem import LinearProblem
from tamis.rank.sparse._concave_path import ConcavePath
from tamis.rank.sparse._hinge_path import HingePath
from tamis.rank.sparse._weighted_logistic import WeightedLogistic

LOSSES = ["hinge", "epsilon_insensitive", "logistic"]


def make(loss, steepness=5.0, max_iter=50, n=25, d=15, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    y = X[:, 0] - X[:, 1] + 0.7 * rng.randn(n)
    task = "regression" if loss == "epsilon_insensitive" else "classification"
    y = y if task == "regression" else (y > np.median(y)).astype(int)
    problem = LinearProblem.pose(ColumnCandidates(X), y, task=task, class_weight=None, standardize=True)
    if loss == "logistic":
        solver = WeightedLogistic(problem, 0, problem.scale, 1e-8)
    else:
        solver = HingePath(problem, 0, problem.scale, loss=loss, epsilon=0.1, tol=1e-8)
    return ConcavePath(solver, d, steepness, max_iter), solver, problem, X


def objective(point, problem, X, loss, steepness=5.0):
    Z, y = (X - X.mean(axis=0)) * problem.scale, problem.Y[:, 0]
    f = Z[:, point.active] @ point.weights + point.intercept
    errors = {
        "hinge": np.maximum(0.0, 1.0 - y * f),
        "logistic": np.logaddexp(0.0, -y * f),
        "epsilon_insensitive": np.maximum(0.0, np.abs(y - f) - 0.1),
    }[loss]
    return errors.mean() + point.alpha * np.sum(1.0 - np.exp(-steepness * np.abs(point.weights)))


def test_the_objective_never_rises_where_almost_free_weights_separate_the_classes():
    path, _, _, _ = make("logistic", 24.0, seed=5934)
    alpha, point, values = 0.22854814894622644 * path.alpha_max, None, []
    for _ in range(6):
        point = path.linearize(alpha, point)
        values.append(point.objective)
    assert np.all(np.diff(values) <= 1e-7 * path.null_loss)


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=st.integers(0, 2**20), share=st.floats(0.02, 0.9), steepness=st.floats(0.2, 30.0))
@settings(max_examples=8, deadline=None)
def test_the_objective_is_that_of_the_point_and_never_rises(loss, seed, share, steepness):
    path, _, problem, X = make(loss, steepness, seed=seed)
    alpha, point, values = share * path.alpha_max, None, []
    for _ in range(6):
        point = path.linearize(alpha, point)
        assert point.objective == pytest.approx(objective(point, problem, X, loss, steepness), rel=1e-7)
        values.append(point.objective)
    assert np.all(np.diff(values) <= 1e-7 * path.null_loss)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_end_is_not_above_any_round_and_no_tangent_is_better(loss):
    path, _, _, _ = make(loss)
    alpha = 0.2 * path.alpha_max
    end = path.solve(alpha)
    assert end.objective <= path.linearize(alpha, None).objective
    assert path.has_converged(end, path.linearize(alpha, end))


@pytest.mark.parametrize("loss", LOSSES)
def test_no_direction_of_a_column_lowers_the_objective(loss):
    path, _, problem, X = make(loss)
    end = path.solve(0.2 * path.alpha_max)
    here = objective(end, problem, X, loss)
    weights = np.zeros(15)
    weights[end.active] = end.weights
    for j in range(15):
        for step in (1e-6, -1e-6):
            moved = weights + step * np.eye(15)[j]
            other = type(end)(end.alpha, np.arange(15), moved, end.intercept, 0.0, 0.0, 0.0, 0.0)
            assert objective(other, problem, X, loss) >= here - 1e-10


@pytest.mark.parametrize("loss", LOSSES)
def test_at_the_largest_penalty_all_weights_are_zero(loss):
    path, solver, _, _ = make(loss)
    assert path.alpha_max == pytest.approx(solver.alpha_max / 5.0)
    assert path.solve(1.001 * path.alpha_max).active.size == 0
    assert path.linearize(0.99 * path.alpha_max, None).active.size > 0


def test_a_path_is_a_sequence_of_separate_points():
    path, _, _, _ = make("hinge")
    alphas = path.alpha_max * np.array([0.9, 0.3, 0.05])
    for alpha, point in zip(alphas, path.path(alphas), strict=True):
        assert point.objective == pytest.approx(make("hinge")[0].solve(alpha).objective, rel=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_a_path_with_a_program_for_each_tangent_reaches_the_points_of_one_program(loss):
    path, _, _, _ = make(loss, n=40, d=80)
    alphas = path.alpha_max * np.geomspace(0.95, 0.05, 12)
    for alpha, point in zip(alphas, path.path(alphas), strict=True):
        alone = make(loss, n=40, d=80)[0].solve(alpha)
        np.testing.assert_array_equal(point.active, alone.active)
        np.testing.assert_allclose(point.weights, alone.weights, rtol=1e-6)


def test_one_program_is_the_l1_problem_whose_penalty_is_the_slope_at_zero():
    path, solver, _, _ = make("hinge", max_iter=1)
    alpha = 0.2 * path.alpha_max
    np.testing.assert_allclose(path.solve(alpha).weights, solver.solve(5.0 * alpha).weights, rtol=1e-7)


@pytest.mark.parametrize("least", [1e-9, 1e-3, 1.0])
def test_logistic_regression_with_a_penalty_for_every_column(least):
    _, solver, problem, X = make("logistic")
    slopes = np.random.RandomState(0).uniform(0.2, 1.0, 15)
    slopes[0] = least
    alpha = 0.3 * solver.alpha_max
    point = solver.weighted(alpha, slopes)
    Z, y = (X - X.mean(axis=0)) * problem.scale, problem.Y[:, 0]
    f = Z[:, point.active] @ point.weights + point.intercept
    r = Z.T @ (y / (1.0 + np.exp(y * f))) / len(y)
    w = np.zeros(15)
    w[point.active] = point.weights
    assert np.all(np.abs(r[w == 0]) <= alpha * slopes[w == 0] * (1 + 1e-6))
    np.testing.assert_allclose(r[w != 0], (alpha * slopes * np.sign(w))[w != 0], atol=1e-8 * alpha + 1e-14)
    assert 0 <= point.gap <= 1e-8
