"""Paths of linear programs: warm starts, weights of rows, hard margins."""

import numpy as np
import pytest

from tamis.base import ColumnCandidates
from tamis.kernels.solvers.l1_program import InfeasibleError
from tamis.rank._linear_problem import LinearProblem
from tamis.rank.sparse._hinge_path import HingePath
from tests.oracles import l1_program as oracle

LOSSES = ["hinge", "epsilon_insensitive"]


def pose(loss, n=20, d=30, weight=None, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * 10.0 ** rng.uniform(-1, 1, d)
    y = X[:, 0] / X[:, 0].std() + rng.randn(n)
    y = (y > 0).astype(int) if loss == "hinge" else y
    task = "classification" if loss == "hinge" else "regression"
    problem = LinearProblem.pose(
        ColumnCandidates(X, sample_weight=weight), y, task=task, class_weight=None, standardize=True
    )
    return problem, X


def make(loss, **options):
    problem, X = pose(loss, **options)
    return HingePath(problem, 0, problem.scale, loss=loss, epsilon=0.1, tol=1e-8), problem, X


def scaled(problem, X):
    share = problem.row_shares
    return (X - share @ X) * problem.scale


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_path_is_that_of_separate_programs(loss, is_weighted):
    weight = np.random.RandomState(1).randint(1, 4, 20).astype(float) if is_weighted else None
    path, problem, X = make(loss, weight=weight)
    Z, y = scaled(problem, X), problem.Y[:, 0]
    largest = oracle.max_penalty(Z, y, problem.row_shares, loss, 0.1)
    assert path.alpha_max == pytest.approx(largest, rel=1e-6)
    for point in path.path(path.alpha_max * np.geomspace(0.99, 1e-3, 10)):
        _, _, minimum = oracle.solve(Z, y, point.alpha, problem.row_shares, loss, 0.1)
        assert point.objective == pytest.approx(minimum, rel=1e-7)
        assert point.gap <= 1e-8
        dense = np.zeros(Z.shape[1])
        dense[point.active] = point.weights
        value = oracle.objective(Z, y, dense, point.intercept, point.alpha, problem.row_shares, loss, 0.1)
        assert value == pytest.approx(minimum, rel=1e-7)  # also the intercept is that of columns with weighted means
        assert point.loss == pytest.approx(value - point.alpha * np.abs(dense).sum(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_single_penalty_is_that_of_the_path(loss):
    path, _, _ = make(loss)
    alpha = 0.05 * path.alpha_max
    [along] = list(make(loss)[0].path([alpha]))
    alone = path.solve(alpha)
    assert alone.objective == pytest.approx(along.objective, rel=1e-9)
    assert alone.alpha == alpha


@pytest.mark.parametrize("loss", LOSSES)
def test_every_column_may_have_its_own_penalty(loss):
    path, problem, X = make(loss)
    slopes = np.random.RandomState(2).uniform(1e-3, 1.0, 30)
    alpha = 0.3 * path.alpha_max
    point = path.weighted(alpha, slopes)
    minimum = oracle.solve(scaled(problem, X), problem.Y[:, 0], alpha * slopes, problem.row_shares, loss, 0.1)[2]
    assert point.objective == pytest.approx(minimum, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_penalty_is_the_hard_margin(loss):
    path, problem, X = make(loss)
    Z, y = scaled(problem, X), problem.Y[:, 0]
    point = path.solve(0.0)
    assert point.alpha == 0.0
    assert point.loss <= 1e-9
    assert point.objective == pytest.approx(oracle.solve(Z, y, 1.0, np.inf, loss, 0.1)[2], rel=1e-8)
    narrow = make(loss, d=1, n=40)[0]
    with pytest.raises(InfeasibleError):
        narrow.solve(0.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_loss_without_features_is_that_of_the_best_constant(loss, is_weighted):
    weight = np.random.RandomState(1).randint(1, 9, 20).astype(float) if is_weighted else None
    for epsilon in (0.0, 0.1, 1.0):
        problem, _ = pose(loss, weight=weight, seed=4)
        path = HingePath(problem, 0, problem.scale, loss=loss, epsilon=epsilon, tol=1e-8)
        ends = np.concatenate([problem.Y[:, 0] - epsilon, problem.Y[:, 0] + epsilon, [-1.0, 1.0]])
        least = min(problem.row_shares @ oracle.losses(problem.Y[:, 0], b, loss, epsilon) for b in ends)
        assert path.null_loss == pytest.approx(least, rel=1e-9)


def test_columns_without_a_factor_are_left_out():
    problem, _ = pose("hinge")
    kept = np.array([3, 7])
    path = HingePath(problem, 0, problem.kept_scale(kept), loss="hinge", epsilon=0.0, tol=1e-8)
    assert set(path.solve(1e-3).active) <= {3, 7}
    nothing = HingePath(problem, 0, np.zeros(30), loss="hinge", epsilon=0.0, tol=1e-8)
    assert nothing.alpha_max == 0.0
