"""Models from sums over rows: the gradient over all rows is zero, and they are those of Newton's method on a table."""

import numpy as np
import pytest

from tamis.kernels.solvers.gram_newton import GramNewton, pays
from tamis.kernels.solvers.svm_primal import PrimalLinearModel


def a_problem(loss, *, seed=0, n=600, d=12, free=True, collinear=False):
    """A table of one feature per row under a constant one, penalties, targets and costs."""
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((d, n)) * np.linspace(0.5, 3, d)[:, None]
    if collinear:
        Z[5] = Z[2]
    output = Z[:4].T @ [1.0, -1.0, 0.5, 0.3] + rng.standard_normal(n)
    target = output if loss == "ridge" else np.where(output > 0, 1.0, -1.0)
    penalty = np.ones(d + 1)
    penalty[0] = 0.0 if free else 1.0
    return np.vstack([np.ones(n), Z]), penalty, target, rng.uniform(0.1, 2.0, n)


def gradient(model):
    error = model.target - model.f
    inside = np.ones(error.size, dtype=bool) if model.loss == "ridge" else model.target * error > 0
    return model.penalty * model.w - 2 * model.table @ (model.cost * np.where(inside, error, 0.0))


def eliminate(model, place):
    kept = np.delete(np.arange(model.w.size), place)
    model.eliminate(np.array([place]), model.table[[place]], kept, model.table[kept])
    model.solve()


@pytest.mark.parametrize("loss", ["ridge", "squared_hinge"])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("collinear", [True, False])
def test_every_model_of_an_elimination_is_that_of_newtons_method(loss, free, collinear):
    table, penalty, target, cost = a_problem(loss, free=free, collinear=collinear)
    ours, theirs = (
        kind(table, penalty, target, cost, loss=loss, tol=1e-12) for kind in (GramNewton, PrimalLinearModel)
    )
    ours.solve(), theirs.solve()
    while ours.w.size > 2:
        assert ours.converged
        unit = np.abs(ours.table @ (cost * np.abs(target))).max()
        assert np.abs(gradient(ours)).max() <= 1e-10 * unit
        np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-10)
        place = 1 + int(np.argmin(ours.w[1:] ** 2))
        eliminate(ours, place), eliminate(theirs, place)


@pytest.mark.parametrize("cost", [1e-4, 1.0, 1e4])
def test_rows_cross_the_margin_few_or_many_at_a_time(cost):
    table, penalty, target, _ = a_problem("squared_hinge", n=2000, d=30)
    model = GramNewton(table, penalty, target, np.full(2000, cost), loss="squared_hinge")
    model.solve()
    for _ in range(28):
        eliminate(model, 1)  # large weights first, so that outputs change much
        assert model.converged
        inside = model.target * model.f < 1
        np.testing.assert_array_equal(inside, model._inside)


def test_sums_are_renewed_on_long_eliminations():
    table, penalty, target, cost = a_problem("squared_hinge", n=1500, d=150)
    model = GramNewton(table, penalty, target, cost, loss="squared_hinge")
    model.solve()
    for _ in range(140):
        eliminate(model, 1 + int(np.argmin(model.w[1:] ** 2)))
    Z = model.table[:, model._inside]
    np.testing.assert_allclose(model._gram, 2 * (Z * cost[model._inside]) @ Z.T, rtol=1e-11, atol=1e-9)


def test_it_pays_for_long_dense_tables_of_quadratic_losses():
    assert pays(np.empty((100, 1000)), "ridge")
    assert pays(np.empty((100, 1000)), "squared_hinge")
    assert not pays(np.empty((100, 1000)), "logistic")
    assert not pays(np.empty((100, 500)), "ridge")
    assert not pays(np.empty((1000, 10_000)), "ridge")


def test_too_few_steps_are_not_taken_for_the_optimum():
    model = GramNewton(*a_problem("squared_hinge"), loss="squared_hinge", max_iter=1)
    model.solve()
    assert not model.converged
