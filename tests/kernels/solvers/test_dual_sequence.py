"""Solutions in the dual along eliminations are those of the problems without these features."""

import numpy as np
import pytest

from tamis.kernels.solvers.dual_sequence import DualSequence
from tamis.kernels.solvers.gram import DenseGram
from tamis.kernels.solvers.svm_dual import DualSVM


def a_problem(loss, *, free, n=25, d=120, seed=0):
    """A solved machine and its table of one feature per row."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((d, n))
    y = np.where(X[0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    machine = pose(X, y, loss, free)
    machine.solve()
    return machine, X, y


def pose(X, y, loss, free):
    n = y.size
    return DualSVM(
        DenseGram(X.T @ X),
        y,
        signs=None if loss == "ridge" else y,
        upper=np.full(n, 0.02 if loss == "hinge" else np.inf),
        ridge=np.full(n, 0.0 if loss == "hinge" else 0.5),
        total=0.0 if free else None,
    )


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "ridge"])
def test_every_solution_is_that_of_the_problem_without_the_features(loss, free):
    machine, X, y = a_problem(loss, free=free)
    places = np.argsort((X @ machine.v) ** 2)[:12].tolist()
    ahead = DualSequence(machine, X, len(places))
    ahead.prepare(np.array(places))
    assert all(ahead.eliminate(place) for place in places)
    n_solved = ahead.solve()
    assert n_solved > 0
    for t in range(n_solved):
        fresh = pose(np.delete(X, places[: t + 1], axis=0), y, loss, free)
        fresh.solve()
        np.testing.assert_allclose(ahead.dual[t], fresh.v, atol=1e-9)
        ahead.take()
        assert machine.converged
        np.testing.assert_allclose(machine.squared_norm, fresh.squared_norm, rtol=1e-8)
        np.testing.assert_allclose(machine.b, fresh.b, atol=1e-8)


def test_the_machine_goes_on_from_what_was_taken():
    machine, X, _ = a_problem("squared_hinge", free=True)
    places = np.argsort((X @ machine.v) ** 2)[:6].tolist()
    ahead = DualSequence(machine, X, len(places))
    ahead.prepare(np.array(places))
    assert all(ahead.eliminate(place) for place in places)
    ahead.solve()
    ahead.take(), ahead.take(), ahead.take()
    left = np.delete(X, places[:3], axis=0)
    machine.gram.replace(left.T @ left)
    ahead.downdate()
    downdated = machine.inverse.matrix
    machine.refactorize()
    np.testing.assert_allclose(downdated, machine.inverse.matrix, atol=1e-9)
    machine.solve()
    assert machine.converged


def test_a_change_of_the_working_set_ends_the_sequence():
    machine, X, y = a_problem("squared_hinge", free=True, n=40, d=30)
    places = np.argsort(-((X @ machine.v) ** 2))[:10].tolist()  # large weights, so that outputs change much
    ahead = DualSequence(machine, X, len(places))
    ahead.prepare(np.array(places))
    n_added = sum(ahead.eliminate(place) for place in places)
    n_solved = ahead.solve()
    assert n_solved < n_added
    fresh = pose(np.delete(X, places[: n_solved + 1], axis=0), y, "squared_hinge", True)
    fresh.solve()
    assert set(fresh.working_set.free) != set(machine.working_set.free)
