"""The active-set method ends at an optimum, whatever the problem, and stays there while features leave."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from tamis.kernels.solvers.gram import DenseGram, FactorGram, add_square
from tamis.kernels.solvers.svm_dual import DualSVM, solve_dual
from tests.oracles import rfe as oracle

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
KINDS = ["hinge", "squared_hinge", "ridge", "ball"]
TOL = 1e-10


def make_table(n_rows, n_features, seed, shape="plain"):
    """A table and labels; the shape says in which way it is awkward."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = np.where(np.arange(n_rows) % 2 == 0, 1.0, -1.0)
    X[:, 0] += 0.7 * y
    half = n_rows // 2
    if shape == "copies":
        X[half : 2 * half], y[half : 2 * half] = X[:half], y[:half]
    elif shape == "contradictions":
        X[half : 2 * half], y[half : 2 * half] = X[:half], -y[:half]
    elif shape == "grid":
        X = np.round(X)
    elif shape == "deficient":
        X[:, n_features // 2 :] = X[:, : n_features - n_features // 2]
    elif shape == "zeros":
        X[::3] = 0.0
    elif shape == "thin":
        X *= rng.random_sample(X.shape) < 0.3
    return X, y


def pose(kind, K, y, cost, equality=True):
    """Arguments of a problem."""
    n = len(y)
    free = np.full(n, np.inf)
    total = 0.0 if equality else None
    if kind == "hinge":
        return {"target": y, "signs": y, "upper": np.full(n, cost), "ridge": np.zeros(n), "total": total}
    if kind == "squared_hinge":
        return {"target": y, "signs": y, "upper": free, "ridge": np.full(n, 0.5 / cost), "total": total}
    if kind == "ridge":
        return {"target": K[0] + y, "signs": None, "upper": free, "ridge": np.full(n, 0.5 / cost), "total": total}
    ridge = np.full(n, 0.5 / cost)
    return {"target": 0.5 * (np.diagonal(K) + ridge), "signs": np.ones(n), "upper": free, "ridge": ridge, "total": 1.0}


def violation(K, v, b, target, signs, upper, ridge, total):
    """Largest violation of the conditions for an optimum, in units of the largest target."""
    r = target - K @ v - ridge * v - b
    unit = np.abs(target).max()
    worst = 0.0 if total is None else abs(v.sum() - total) / max(1.0, np.abs(v).max())
    if signs is None:
        return max(worst, np.abs(r).max() / unit)
    inside, rounding = signs * v, 1e-14 * np.abs(v).max()
    assert np.all(inside >= -rounding)
    assert np.all(inside <= upper + rounding)
    r = signs * r / unit
    at_lower, at_upper = inside <= rounding, inside >= upper - rounding
    worst = max(worst, np.max(r, where=~at_upper, initial=0.0))
    return max(worst, np.max(-r, where=~at_lower, initial=0.0))


def objective(K, v, target, ridge):
    return 0.5 * v @ K @ v + 0.5 * ridge @ v**2 - target @ v


shapes = st.sampled_from(["plain", "copies", "contradictions", "grid", "deficient", "zeros", "thin"])
sizes = st.tuples(st.integers(2, 24), st.integers(2, 30))
costs = st.floats(-2, 4).map(lambda power: 10.0**power)


@settings(QUICK, max_examples=100)
@given(st.sampled_from(KINDS), sizes, shapes, costs, st.booleans(), st.integers(0, 10**6))
def test_the_end_is_an_optimum(kind, size, shape, cost, equality, seed):
    X, y = make_table(*size, seed, shape)
    K = X @ X.T
    problem = pose(kind, K, y, cost, equality)
    found = solve_dual(K, **problem)
    assert found.converged
    assert found.residual <= TOL
    assert violation(K, found.dual, found.intercept, **problem) < 1e-8


@QUICK
@given(sizes, shapes, costs, st.integers(0, 10**6))
def test_the_end_is_an_optimum_where_costs_differ(size, shape, cost, seed):
    X, y = make_table(*size, seed, shape)
    K = X @ X.T
    problem = {**pose("hinge", K, y, cost), "upper": cost * np.random.RandomState(seed).uniform(0.1, 3, len(y))}
    found = solve_dual(K, **problem)
    assert found.converged
    assert violation(K, found.dual, found.intercept, **problem) < 1e-8


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "squared_hinge", "ridge"])
@pytest.mark.parametrize("shape", ["plain", "copies", "contradictions", "deficient"])
@pytest.mark.parametrize("size", [(12, 20), (25, 4)])
def test_the_objective_is_that_of_another_solver(size, shape, kind, equality):
    X, y = make_table(*size, 0, shape)
    K = X @ X.T
    for cost in (0.01, 1.0, 10.0):
        problem = pose(kind, K, y, cost, equality)
        found = solve_dual(K, **problem)
        v, _ = oracle.train(K, problem["target"], np.full(len(y), cost), kind, "free" if equality else 0)
        expected = objective(K, v, problem["target"], problem["ridge"])
        np.testing.assert_allclose(objective(K, found.dual, problem["target"], problem["ridge"]), expected, rtol=1e-7)
        np.testing.assert_allclose(X.T @ found.dual, X.T @ v, atol=1e-5 * (1 + np.abs(X.T @ v).max()))


def test_the_solutions_are_those_of_scikit_learn():
    X, y = make_table(30, 6, 1)
    svc = SVC(kernel="linear", C=0.7, tol=1e-7).fit(X, y)  # in single precision
    found = solve_dual(X @ X.T, **pose("hinge", X @ X.T, y, 0.7))
    np.testing.assert_allclose(X.T @ found.dual, svc.coef_[0], atol=1e-5)
    np.testing.assert_allclose(found.intercept, svc.intercept_[0], atol=1e-5)
    np.testing.assert_array_equal(np.flatnonzero(found.dual), np.sort(svc.support_))
    K = X @ X.T + 4.0  # the intercept multiplies a column of twos
    linear = LinearSVC(C=0.7, intercept_scaling=2.0, tol=1e-10, max_iter=100_000).fit(X, y)
    found = solve_dual(K, **pose("squared_hinge", K, y, 0.7, equality=False))
    np.testing.assert_allclose(X.T @ found.dual, linear.coef_[0], atol=1e-6)
    np.testing.assert_allclose(4.0 * found.dual.sum(), linear.intercept_[0], atol=1e-6)


def test_the_smallest_enclosing_ball_holds_every_point_and_touches_those_that_count():
    X, y = make_table(40, 3, 2)
    K = X @ X.T
    problem = {**pose("ball", K, y, 1.0), "ridge": np.zeros(40), "target": 0.5 * np.diagonal(K)}
    found = solve_dual(K, **problem)
    distance = np.linalg.norm(X - found.dual @ X, axis=1)
    np.testing.assert_allclose(distance[found.dual > 0], distance.max(), rtol=1e-8)
    np.testing.assert_allclose(found.dual.sum(), 1.0)
    assert 2 <= np.count_nonzero(found.dual) <= 4


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["plain", "copies", "contradictions", "grid", "zeros", "thin"])
@pytest.mark.parametrize("size", [(10, 80), (24, 8)])
def test_a_solution_stays_optimal_until_its_last_feature_has_left(size, shape, kind, equality):
    X, y = make_table(*size, 3, shape)
    K = X @ X.T
    problem = pose(kind, K, y, 1.0, equality)
    svm = DualSVM(DenseGram(K.copy()), **problem)
    svm.solve()
    for j in np.random.RandomState(4).permutation(X.shape[1])[:-1]:
        svm.gram.matrix -= np.outer(X[:, j], X[:, j])
        svm.downdate(X[:, j])
        X[:, j] = 0.0
        svm.solve()
        assert svm.converged
        assert violation(X @ X.T, svm.v, svm.b, **problem) < 1e-8


@settings(QUICK, max_examples=100)
@given(st.sampled_from(["hinge", "squared_hinge"]), sizes, shapes, costs, st.booleans(), st.integers(0, 10**6))
def test_a_solution_stays_optimal_as_features_leave_whatever_the_cost(kind, size, shape, cost, equality, seed):
    X, y = make_table(*size, seed, shape)
    problem = pose(kind, X @ X.T, y, cost, equality)
    svm = DualSVM(DenseGram(X @ X.T), **problem)
    svm.solve()
    for j in range(X.shape[1] - 1):
        svm.gram.matrix -= np.outer(X[:, j], X[:, j])
        svm.downdate(X[:, j])
        X[:, j] = 0.0
        svm.solve()
        assert svm.converged
        assert violation(X @ X.T, svm.v, svm.b, **problem) < 1e-7


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "squared_hinge", "ridge"])
@pytest.mark.parametrize("shape", ["plain", "copies", "contradictions", "zeros", "thin"])
@pytest.mark.parametrize("n_leaving", [2, 7, 30])
def test_a_solution_stays_optimal_as_many_features_leave_at_a_time(n_leaving, shape, kind, equality):
    X, y = make_table(40, 100, 3, shape)
    problem = pose(kind, X @ X.T, y, 1.0, equality)
    svm = DualSVM(DenseGram(X @ X.T), **problem)
    svm.solve()
    for start in range(0, 99 - n_leaving, n_leaving):
        leaving = X[:, start : start + n_leaving].T.copy()
        svm.gram.replace(svm.gram.matrix - leaving.T @ leaving)
        svm.downdate_many(leaving)
        X[:, start : start + n_leaving] = 0.0
        svm.solve()
        assert svm.converged
        assert violation(X @ X.T, svm.v, svm.b, **problem) < 1e-8


@pytest.mark.parametrize("kind", ["hinge", "squared_hinge", "ridge"])
def test_a_start_from_another_solution_ends_where_a_cold_start_does(kind):
    X, y = make_table(20, 30, 5)
    problem = pose(kind, X @ X.T, y, 1.0)
    svm = DualSVM(DenseGram(X @ X.T), **problem)
    svm.solve()
    svm.gram.replace(X[:, :12] @ X[:, :12].T)
    svm.refactorize()
    svm.solve()
    cold = solve_dual(svm.gram.matrix, **problem)
    np.testing.assert_allclose(X[:, :12].T @ svm.v, X[:, :12].T @ cold.dual, atol=1e-9)
    np.testing.assert_allclose(svm.b, cold.intercept, atol=1e-9)


def test_one_feature_less_takes_few_steps():
    X, y = make_table(40, 400, 6)
    problem = pose("squared_hinge", X @ X.T, y, 1.0)
    svm = DualSVM(DenseGram(X @ X.T), **problem)
    svm.solve()
    cold = svm.n_iter
    for j in range(100):
        svm.gram.matrix -= np.outer(X[:, j], X[:, j])
        svm.downdate(X[:, j])
        svm.solve()
    assert svm.n_iter - cold < 3 * 100


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_factored_matrix_is_the_matrix(make):
    T = make_table(5, 12, 7)[0] * (np.random.RandomState(0).random_sample((5, 12)) < 0.5)
    factor, matrix = FactorGram(make(T)), DenseGram(T.T @ T)
    rows, values = np.array([7, 0, 3]), np.random.RandomState(1).standard_normal(12)
    np.testing.assert_allclose(factor.diagonal, matrix.diagonal)
    np.testing.assert_allclose(factor.times(values), matrix.times(values))
    np.testing.assert_allclose(factor.column(rows, 4), matrix.column(rows, 4))
    np.testing.assert_allclose(factor.block(rows), matrix.block(rows))
    assert factor.block(np.zeros(0, dtype=int)).shape == (0, 0)
    assert factor.column(np.zeros(0, dtype=int), 4).shape == (0,)
    for result in (factor.diagonal, factor.times(values), factor.column(rows, 4), factor.block(rows)):
        assert type(result) is np.ndarray


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", ["hinge", "squared_hinge", "ball"])
def test_a_solution_on_a_factored_matrix_is_that_on_the_matrix(kind, make):
    X, y = make_table(30, 5, 8)
    X *= np.random.RandomState(0).random_sample(X.shape) < 0.6
    K = X @ X.T
    problem = pose(kind, K, y, 1.0)
    svm = DualSVM(FactorGram(make(X.T)), **problem)
    svm.solve()
    assert violation(K, svm.v, svm.b, **problem) < 1e-8
    np.testing.assert_allclose(svm.squared_norm, svm.v @ K @ svm.v)


@pytest.mark.parametrize("size", [(8, 20), (30, 2)])
def test_an_infinite_cost_gives_the_hard_margin(size):
    X, y = make_table(*size, 9)
    X[:, 0] += 4.0 * y
    K = X @ X.T
    found = solve_dual(K, **pose("hinge", K, y, np.inf))
    margins = y * (K @ found.dual + found.intercept)
    np.testing.assert_allclose(margins.min(), 1.0)
    np.testing.assert_allclose(margins[found.dual != 0], 1.0)
    np.testing.assert_allclose(X.T @ found.dual, SVC(kernel="linear", C=1e6, tol=1e-7).fit(X, y).coef_[0], atol=1e-5)


@pytest.mark.parametrize("shape", ["plain", "contradictions", "grid"])
def test_an_infinite_cost_where_nothing_separates_is_refused(shape):
    X, y = make_table(40, 2, 10, shape)
    with pytest.raises(ValueError, match="do not separate the classes, or hardly, and C is infinite: give a finite C"):
        solve_dual(X @ X.T, **pose("hinge", X @ X.T, y, np.inf))


def test_an_infinite_cost_is_refused_as_soon_as_a_feature_that_separates_has_left():
    X, y = make_table(40, 3, 10)
    X[:, 2] += 6.0 * y
    svm = DualSVM(DenseGram(X @ X.T), **pose("hinge", X @ X.T, y, np.inf))
    svm.solve()
    assert svm.converged
    svm.gram.matrix -= np.outer(X[:, 2], X[:, 2])

    def go_on():
        svm.downdate(X[:, 2])
        svm.solve()

    with pytest.raises(ValueError, match="give a finite C"):
        go_on()


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("left_over", [1e-17, 0.0, -1e-17])
def test_a_row_of_which_rounding_has_left_a_trace_is_empty(left_over, equality):
    X, y = make_table(9, 3, 12)
    X[4:6] = 0.0
    K = X @ X.T
    K[4, 4] = K[5, 5] = left_over
    problem = pose("hinge", K, y, 1.0, equality)
    found = solve_dual(K, **problem)
    assert found.converged
    assert violation(X @ X.T, found.dual, found.intercept, **problem) < 1e-8


def test_too_few_steps_are_told():
    X, y = make_table(30, 4, 11)
    found = solve_dual(X @ X.T, **pose("hinge", X @ X.T, y, 1.0), max_iter=3)
    assert not found.converged
    assert found.n_iter == 3


@pytest.mark.parametrize("kind", ["hinge", "squared_hinge"])
def test_a_matrix_of_zeros_is_solved_by_the_intercept_alone(kind):
    y = np.array([1.0, 1.0, 1.0, -1.0])
    problem = pose(kind, np.zeros((4, 4)), y, 1.0)
    found = solve_dual(np.zeros((4, 4)), **problem)
    assert found.converged
    assert violation(np.zeros((4, 4)), found.dual, found.intercept, **problem) < 1e-10


@QUICK
@given(st.sampled_from(["hinge", "squared_hinge"]), st.floats(-8, 8), st.integers(0, 10**6))
def test_the_unit_of_the_table_is_made_up_for_by_the_cost(kind, power, seed):
    X, y = make_table(15, 6, seed)
    unit = 10.0**power
    K = X @ X.T
    plain = solve_dual(K, **pose(kind, K, y, 1.0))
    scaled = solve_dual(unit**2 * K, **pose(kind, unit**2 * K, y, unit**-2))
    assert scaled.converged
    np.testing.assert_allclose(
        X.T @ scaled.dual * unit**2, X.T @ plain.dual, atol=1e-7 * np.abs(X.T @ plain.dual).max()
    )


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_a_square_is_added_whatever_the_layout(order):
    column = np.arange(1.0, 5.0)
    matrix = np.eye(8)[::2, ::2] if order == "strided" else np.array(np.eye(4), order=order)
    add_square(matrix, column, 0.5)
    np.testing.assert_allclose(matrix, np.eye(4) + 0.5 * np.outer(column, column))
