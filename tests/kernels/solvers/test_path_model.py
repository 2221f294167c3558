"""Weights along a path of eliminations, guessed from what is known."""

import numpy as np

from tamis.kernels.solvers.loss_sums import NearRows
from tamis.kernels.solvers.newton_estimate import Estimate
from tamis.kernels.solvers.path_model import PathModel
from tamis.kernels.solvers.row_sample import RowSample

PENALTY = np.array([0.0, 1.0, 1.0, 1.0])


def separable_rows(n=400):
    rng = np.random.RandomState(0)
    x = rng.standard_normal((3, n))
    x[0] += np.where(x[0] > 0, 1.5, -1.5)
    return np.vstack([np.ones(n), x]), np.sign(x[0])


def test_the_model_of_rows_near_the_margin_is_that_of_all_rows_once_none_is_missing():
    table, signs = separable_rows()
    n = signs.size
    cost = np.full(n, 100.0)
    all_rows = RowSample("squared_hinge", table, signs, cost, n)
    path = PathModel(RowSample("squared_hinge", table[:, ::40], signs[::40], 40 * cost[::40], n), PENALTY, 1e-10)
    remains = np.ones(4, dtype=bool)
    estimate = path.start(remains)
    path.count_curved(5, 4)
    assert path.needs_near_rows
    for _ in range(10):
        margin = signs * (estimate.w @ table)
        places = np.sort(np.argsort(margin)[:32])
        path.take_near(
            NearRows(places, table.T[places], signs[places], cost[places], margin[places]), remains, estimate.w
        )
        path.go_on(estimate, estimate)
    expected = all_rows.minimum(remains, PENALTY, np.zeros(4), 1e-11)
    np.testing.assert_allclose(estimate.w, expected, rtol=1e-6, atol=1e-8)


def test_without_a_hessian_nothing_is_guessed():
    table, signs = separable_rows()
    path = PathModel(RowSample("logistic", table, signs, np.ones(signs.size), signs.size), PENALTY, 1e-10)
    first = path.start(np.ones(4, dtype=bool))
    path.begin(first.remains)
    assert not path.can_guess
    after = Estimate(np.zeros(4), np.array([True, True, False, True]), 1e-10)
    path.go_on(first, after)
    assert not after.w.any()
