"""Models that look ahead have a zero gradient over all rows, alone and when several eliminations are solved."""

import numpy as np
import pytest

from tamis.kernels.solvers.chord_newton import ChordNewton, pays
from tamis.kernels.solvers.gram_newton import GramNewton
from tamis.kernels.solvers.svm_primal import PrimalLinearModel

LOSSES = ["logistic", "squared_hinge"]


def a_model(loss, problem, **options):
    """The model that looks ahead."""
    if loss == "logistic":
        return ChordNewton(*problem, **options)
    return GramNewton(*problem, loss=loss, **options)


def a_problem(kind="plain", *, n=900, d=14, seed=0, free=True):
    """A table of one feature per row under a constant one, penalties, targets and costs."""
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((d, n)) * np.linspace(0.5, 3, d)[:, None]
    output = Z[:4].T @ [1.0, -1.0, 0.5, 0.3] + rng.standard_normal(n)
    cost = rng.uniform(0.1, 2.0, n)
    if kind == "separable":
        output = Z[0]
    if kind == "unbalanced":
        output -= np.quantile(output, 0.99)
    if kind == "copies":
        Z[5] = Z[2]
    if kind == "nearly dependent":
        Z[7] = Z[1] + Z[3] + 1e-7 * Z[7]
    if kind == "high cost":
        cost *= 1e4
    penalty = np.ones(d + 1)
    penalty[0] = 0.0 if free else 1.0
    return np.vstack([np.ones(n), Z]), penalty, np.where(output > 0, 1.0, -1.0), cost


def relative_gradient(table, penalty, target, cost, loss, w):
    """Largest entry of the gradient, in the units of the tolerance."""
    f = w @ table
    slope = -target / (1.0 + np.exp(target * f)) if loss == "logistic" else -2 * target * np.maximum(1 - target * f, 0)
    return np.abs(penalty * w + table @ (cost * slope)).max() / np.abs(table @ cost).max()


def eliminate(model, place):
    kept = np.delete(np.arange(model.w.size), place)
    model.eliminate(np.array([place]), model.table[[place]], kept, model.table[kept])
    model.solve()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kind", ["plain", "separable", "unbalanced", "copies", "nearly dependent", "high cost"])
def test_every_model_of_an_elimination_is_that_of_newtons_method(kind, free, loss):
    problem = a_problem(kind, free=free)
    ours, theirs = a_model(loss, problem, tol=1e-11), PrimalLinearModel(*problem, loss=loss, tol=1e-11)
    ours.solve(), theirs.solve()
    while ours.w.size > 2:
        assert ours.converged
        assert relative_gradient(ours.table, ours.penalty, ours.target, ours.cost, loss, ours.w) <= 1e-11
        np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-9)
        if kind != "nearly dependent":
            np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-5, atol=1e-6)
        place = 1 + int(np.argmin(ours.w[1:] ** 2))
        eliminate(ours, place), eliminate(theirs, place)


@pytest.mark.parametrize("loss", LOSSES)
def test_large_weights_may_be_eliminated(loss):
    model = a_model(loss, a_problem(n=2000, d=30))
    model.solve()
    for _ in range(28):
        eliminate(model, 1)
        assert model.converged
        assert relative_gradient(model.table, model.penalty, model.target, model.cost, loss, model.w) <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["plain", "unbalanced", "copies", "nearly dependent"])
def test_eliminations_solved_together_are_those_solved_one_by_one(kind, loss):
    problem = a_problem(kind, n=4000, d=20)
    together, single = (a_model(loss, problem) for _ in range(2))
    together.solve(), single.solve()
    places = [14, 9, 11, 5, 17]
    sequence = together.predict(len(places))
    for place in places:
        assert sequence.eliminate(place, together.inverse[place])
    n_solved = together.solve_ahead(sequence)
    assert n_solved >= (0 if kind == "unbalanced" else 3)  # with few rows inside the margin curvature changes much
    entries = np.arange(problem[0].shape[0])
    for t, place in enumerate(places):
        n_iter = together.n_iter
        for model in (together, single):
            eliminate(model, int(np.flatnonzero(entries == place)[0]))
        entries = entries[entries != place]
        assert (together.n_iter == n_iter) == (t < n_solved)
        assert together.converged
        gradient = relative_gradient(together.table, together.penalty, together.target, together.cost, loss, together.w)
        assert gradient <= 1e-10
        np.testing.assert_allclose(together.objective, single.objective, rtol=1e-10)


def test_what_was_solved_ahead_is_dropped_where_another_feature_leaves():
    model, fresh = (ChordNewton(*a_problem(n=3000)) for _ in range(2))
    model.solve()
    sequence = model.predict(4)
    for place in (3, 8, 5, 9):
        sequence.eliminate(place, model.inverse[place])
    model.solve_ahead(sequence)
    eliminate(model, 3)
    eliminate(model, 1)  # not what was expected
    fresh.table, fresh.penalty, fresh.w = model.table, model.penalty, np.zeros(model.w.size)
    fresh._gradient_unit = model._gradient_unit
    fresh.solve()
    np.testing.assert_allclose(model.w, fresh.w, rtol=1e-7, atol=1e-9)


def test_too_few_steps_are_not_taken_for_the_optimum():
    model = ChordNewton(*a_problem(), max_iter=1)
    model.solve()
    assert not model.converged


def test_it_pays_for_long_dense_tables_of_the_logistic_loss():
    assert pays(np.empty((100, 1000)), "logistic")
    assert not pays(np.empty((100, 4000)), "squared_hinge")
    assert not pays(np.empty((100, 1000)), "ridge")
    assert not pays(np.empty((100, 500)), "logistic")
    assert not pays(np.empty((1000, 10_000)), "logistic")


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_of_models_ahead_are_those_over_all_rows(loss):
    """Roughly, in single precision or over rows near the margin, and then exactly."""
    table, penalty, target, cost = problem = a_problem(n=4000, d=20)
    model = a_model(loss, problem)
    model.solve()
    model.predict(1)
    W = model.w + 0.01 * np.random.RandomState(1).standard_normal((9, model.w.size))
    margin = target * (W @ table)
    slope = -1.0 / (1.0 + np.exp(margin)) if loss == "logistic" else -2.0 * np.maximum(1.0 - margin, 0.0)
    expected = penalty * W + (cost * target * slope) @ table.T
    (roughly, _), (exactly, tol) = model._gradients_ahead(W)
    np.testing.assert_allclose(roughly(W), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_allclose(exactly(W), expected, rtol=0, atol=1e-12 * np.abs(table @ cost).max())
    assert tol == model.tol


def test_the_hessian_of_nearly_dependent_columns_is_summed_in_double_precision():
    model = ChordNewton(*a_problem("nearly dependent"))
    model.solve()
    model._set_hessian()
    probability = 1.0 / (1.0 + np.exp(-model.f))
    hessian = np.diag(model.penalty) + (model.table * model.cost * probability * (1.0 - probability)) @ model.table.T
    np.testing.assert_allclose(hessian @ model.inverse, np.eye(model.w.size), atol=1e-3)


def test_numbers_beyond_single_precision_are_not_solved_ahead_but_one_by_one():
    table, penalty, target, cost = a_problem(n=3000)
    table[6] *= 1e39
    model = ChordNewton(table, penalty, target, cost)
    model.solve()
    sequence = model.predict(8)
    for place in (3, 8, 5, 9, 10, 11, 12, 13):
        sequence.eliminate(place, model.inverse[place])
    assert model.solve_ahead(sequence) == 0
    eliminate(model, 3)
    assert np.isfinite(model.w).all()


def test_gradients_in_single_precision_are_finite_far_from_the_weights():
    model = ChordNewton(*a_problem("separable", n=4000))
    model.solve()
    W = model.w + 50.0 * np.random.RandomState(0).standard_normal((8, model.w.size))
    roughly, _ = next(model._gradients_ahead(W))
    assert np.isfinite(roughly(W)).all()


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-8])
def test_a_start_on_rows_that_tell_nothing_of_the_target_is_no_hindrance(tol):
    target = np.where(np.arange(200) // 4 % 2 == 0, 1.0, -1.0)
    values = np.where(np.arange(200) % 4 == 0, 0.0, 0.1 * target)  # zero in the rows that the start looks at
    problem = np.vstack([np.ones(200), values]), np.array([0.0, 1.0]), target, np.ones(200)
    model = ChordNewton(*problem, tol=tol)
    model.solve()
    assert model.converged
    assert relative_gradient(*problem, "logistic", model.w) <= 10 * tol
