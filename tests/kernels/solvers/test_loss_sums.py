"""Gradients and Hessians at many weights as sums over rows."""

from itertools import pairwise

import numpy as np
import pytest

from tamis.kernels.solvers.loss_sums import Evaluation, LossSums, sums_of_block

LOSSES = ["squared_hinge", "logistic"]


def a_problem(n=60, n_columns=4, n_classes=3):
    rng = np.random.RandomState(0)
    block = 3 * rng.standard_normal((n, n_columns)) + 1
    return block, rng.randint(n_classes, size=n), rng.uniform(0.5, 2, n)


def an_evaluation(loss, weights, *, positive=0, intercept=1.0, **wanted):
    n_columns = weights.shape[1] - (intercept > 0)
    classes = np.full(len(weights), positive)
    return Evaluation(loss, intercept, np.full(n_columns, 1.0), np.full(n_columns, 1 / 3), weights, classes, **wanted)


def objective(loss, block, codes, cost, w, positive=0):
    """Slow and obvious: one row after the other."""
    total = 0.0
    for row, code, c in zip(block, codes, cost, strict=True):
        margin = (1 if code == positive else -1) * (w[0] + w[1:] @ ((row - 1.0) / 3))
        total += c * (max(0.0, 1 - margin) ** 2 if loss == "squared_hinge" else np.log1p(np.exp(-margin)))
    return total


@pytest.mark.parametrize("loss", LOSSES)
def test_sums_are_the_objective_and_its_derivatives(loss):
    block, codes, cost = a_problem()
    w, h = np.array([0.1, -0.3, 0.5, 0.2, -0.1]), 1e-5
    shifts = np.concatenate([h * np.eye(5), -h * np.eye(5)])
    at = an_evaluation(loss, np.concatenate([[w], w + shifts]), objective_at=(0,), hessian_at=(0,))
    sums = sums_of_block(at, block, codes, cost, 0)
    assert sums.losses[0] == pytest.approx(objective(loss, block, codes, cost, w))
    slopes = [
        (objective(loss, block, codes, cost, w + s) - objective(loss, block, codes, cost, w - s)) / (2 * h)
        for s in shifts[:5]
    ]
    np.testing.assert_allclose(sums.gradients[0], slopes, rtol=1e-6, atol=1e-7)
    change = (sums.gradients[1:6] - sums.gradients[6:]) / (2 * h)
    np.testing.assert_allclose(sums.hessians[0], change, rtol=1e-5, atol=1e-5)


def test_every_vector_has_its_own_class():
    block, codes, cost = a_problem()
    weights = np.random.RandomState(1).standard_normal((3, 5))
    together = sums_of_block(
        Evaluation("logistic", 1.0, np.ones(4), np.full(4, 1 / 3), weights, np.arange(3)), block, codes, cost, 0
    )
    for k in range(3):
        alone = sums_of_block(an_evaluation("logistic", weights[k : k + 1], positive=k), block, codes, cost, 0)
        np.testing.assert_allclose(together.gradients[k], alone.gradients[0], rtol=1e-12)


@pytest.mark.parametrize("intercept", [0.0, 2.0])
def test_blocks_together_tell_what_all_rows_tell(intercept):
    block, codes, cost = a_problem()
    weights = np.random.RandomState(1).standard_normal((3, 4 + (intercept > 0)))
    wanted = {"objective_at": (1,), "hessian_at": (0, 2), "nearest_at": (1,), "n_nearest": 7}
    at = an_evaluation("squared_hinge", weights, intercept=intercept, **wanted)
    whole = sums_of_block(at, block, codes, cost, 0)
    edges = [0, 1, 5, 40, 60]
    parts = [sums_of_block(at, block[a:b], codes[a:b], cost[a:b], a) for a, b in pairwise(edges)]
    merged = parts[0]
    for part in parts[1:]:
        merged = LossSums.merge(merged, part)
    for name in ("gradients", "losses", "hessians", "n_curved"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-12)
    np.testing.assert_array_equal(merged.nearest[0].places, whole.nearest[0].places)
    np.testing.assert_array_equal(merged.nearest[0].entries, whole.nearest[0].entries)


def test_rows_of_least_margin_are_gathered_and_none_without_cost():
    block, codes, cost = a_problem()
    cost[::2] = 0.0
    w = np.array([[0.1, -0.3, 0.5, 0.2, -0.1]])
    at = an_evaluation("squared_hinge", w, nearest_at=(0,), n_nearest=5)
    [near] = sums_of_block(at, block, codes, cost, 100).nearest
    margin = np.where(codes == 0, 1, -1) * (w[0, 0] + (block - 1) / 3 @ w[0, 1:])
    margin[::2] = np.inf
    np.testing.assert_array_equal(near.places - 100, np.sort(np.argsort(margin)[:5]))
    np.testing.assert_allclose(near.margin, margin[near.places - 100])
    np.testing.assert_array_equal(near.joined(near).places, near.places)
