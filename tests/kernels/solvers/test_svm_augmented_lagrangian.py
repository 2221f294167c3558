"""Hinge and epsilon-insensitive models in the primal: no duality gap, and none while features leave."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC, SVR

from tamis.kernels.solvers.gram import DenseGram
from tamis.kernels.solvers.svm_augmented_lagrangian import AugmentedLagrangianSVM
from tamis.kernels.solvers.svr_dual import DualSVR

MAKERS = {"dense": np.asarray, "sparse": sparse.csr_array}
EPSILONS = [None, 0.0, 0.1, 0.7]  # None: the hinge


def make_problem(epsilon, n_rows=80, n_features=7, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[rng.random_sample(X.shape) < 0.2] = 0.0
    target = X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.standard_normal(n_rows)
    return np.vstack([np.ones(n_rows), X.T]), np.sign(target) if epsilon is None else target


def penalties(n_entries, free):
    return np.append(0.0 if free else 1.0, np.ones(n_entries - 1))


def trained(table, target, cost, epsilon, free=True, make=np.asarray, **options):
    model = AugmentedLagrangianSVM(make(table), penalties(len(table), free), target, cost, epsilon=epsilon, **options)
    model.solve()
    return model


def duality_gap(table, target, cost, epsilon, free, w, v):
    """Relative gap between the objective at ``w`` and the dual's at ``v``, and how far ``v`` is from being feasible."""
    penalty = penalties(len(table), free)
    error = target - w @ table
    loss = np.maximum(target * error, 0.0) if epsilon is None else np.maximum(np.abs(error) - epsilon, 0.0)
    primal = 0.5 * penalty @ w**2 + cost @ loss
    dual = target @ v - (epsilon or 0.0) * np.abs(v).sum() - 0.5 * penalty @ (table @ v) ** 2
    outside = np.maximum(np.abs(v) - cost, 0.0).max()
    if epsilon is None:
        outside = max(outside, np.maximum(-target * v, 0.0).max())
    return (primal - dual) / (1.0 + abs(primal)), max(outside, abs(v.sum()) / cost.sum() if free else 0.0)


def check(model, table, target, cost, epsilon, free):
    gap, infeasibility = duality_gap(table, target, cost, epsilon, free, model.w, model.v)
    assert model.converged
    assert abs(gap) < 1e-8
    assert infeasibility < 1e-9
    np.testing.assert_allclose(model.f, model.w @ table, atol=1e-9)
    np.testing.assert_allclose(model.weights[1:], model.w[1:], atol=1e-7 * (1.0 + np.abs(model.w).max()))


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_there_is_no_duality_gap(epsilon, C, kind, free):
    table, target = make_problem(epsilon)
    cost = C * np.random.RandomState(1).uniform(0.5, 2.0, target.size)
    check(trained(table, target, cost, epsilon, free, MAKERS[kind]), table, target, cost, epsilon, free)


def test_weights_are_those_of_libsvm():
    table, target = make_problem(None)
    model = trained(table, target, np.ones(80), None)
    np.testing.assert_allclose(
        model.weights[1:], SVC(kernel="linear", tol=1e-9).fit(table[1:].T, target).coef_[0], atol=1e-6
    )
    table, target = make_problem(0.1)
    model = trained(table, target, np.ones(80), 0.1)
    expected = SVR(kernel="linear", epsilon=0.1, tol=1e-9).fit(table[1:].T, target)
    np.testing.assert_allclose(model.weights[1:], expected.coef_[0], atol=1e-6)
    np.testing.assert_allclose(model.w[0], expected.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("n_leaving", [1, 4])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_features_are_eliminated_and_the_model_is_that_of_the_remaining_ones(epsilon, n_leaving):
    table, target = make_problem(epsilon, 120, 20)
    cost = np.ones(120)
    model = trained(table, target, cost, epsilon)
    rng = np.random.RandomState(1)
    while len(table) > n_leaving + 1:
        eliminated = np.sort(1 + rng.permutation(len(table) - 1)[:n_leaving])
        kept = np.delete(np.arange(len(table)), eliminated)
        columns, table = table[eliminated], table[kept]
        model.eliminate(eliminated, columns, kept, table)
        model.solve()
        check(model, table, target, cost, epsilon, True)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.sampled_from(EPSILONS), st.integers(6, 60), st.integers(2, 6), st.floats(-3, 3), st.integers(0, 999))
def test_rows_and_columns_may_be_copies_and_whole_numbers(epsilon, n_rows, n_features, power, seed):
    table, target = make_problem(epsilon, n_rows, n_features, seed)
    rng = np.random.RandomState(seed)
    table = np.round(table[:, rng.randint(0, n_rows, n_rows)])
    table[1:] = table[rng.randint(1, n_features + 1, n_features)]
    cost = np.full(n_rows, 10.0**power)
    model = trained(table, target, cost, epsilon)
    gap, infeasibility = duality_gap(table, target, cost, epsilon, True, model.w, model.v)
    assert model.converged
    assert abs(gap) < 1e-7
    assert infeasibility < 1e-8


def test_equal_columns_have_equal_weights():
    table, target = make_problem(None)
    model = trained(np.vstack([table, table[1]]), target, np.ones(80), None)
    np.testing.assert_allclose(model.weights[1], model.weights[-1], rtol=1e-12)


def test_steps_that_run_out_are_told():
    table, target = make_problem(None)
    model = trained(table, target, np.ones(80), None, max_iter=3)
    assert not model.converged
    assert model.n_iter == 3


@pytest.mark.parametrize("n_features", [7, 120])
@pytest.mark.parametrize("epsilon", EPSILONS[1:])
@pytest.mark.parametrize("free", [True, False])
def test_regression_in_the_dual_has_no_gap_either_and_follows_its_kernel(free, epsilon, n_features):
    table, target = make_problem(epsilon, 60, n_features)
    table, cost = (table[1:] if free else table), np.full(60, 0.7)
    gram = DenseGram(table.T @ table)
    model = DualSVR(gram, target, cost, epsilon=epsilon, free_intercept=free)

    def check_dual(rows):
        model.solve()
        w = np.append(model.b, model.v @ rows.T) if free else model.v @ rows.T
        whole = np.vstack([np.ones(60), rows]) if free else rows
        gap, infeasibility = duality_gap(whole, target, cost, epsilon, free, w, model.v)
        assert model.converged
        assert abs(gap) < 1e-8
        assert infeasibility < 1e-9
        np.testing.assert_allclose(model.squared_norm, ((model.v @ rows.T) ** 2).sum(), rtol=1e-8, atol=1e-10)

    check_dual(table)
    gram.matrix -= np.outer(table[-1], table[-1])
    model.downdate(table[-1])
    check_dual(table[:-1])
    gram.replace(table[:-4].T @ table[:-4])
    model.downdate_many(table[-4:-1])
    check_dual(table[:-4])
