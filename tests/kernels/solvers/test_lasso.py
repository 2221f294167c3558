"""The lasso on a Gram matrix ends where its conditions say, and where scikit-learn's lasso on the table ends."""

import threading
import warnings

import numpy as np
import pytest
from sklearn.linear_model import Lasso as TableLasso

from tamis.kernels.solvers.lasso import Lasso, solve_semidefinite


def make_problem(n=60, n_columns=40, share=0.1, seed=0, collinearity=0.0):
    """A least-squares problem, and a penalty that is a share of the one at which all weights are zero."""
    rng = np.random.RandomState(seed)
    Z = rng.standard_normal((n, n_columns)) + collinearity * rng.standard_normal((n, 1))
    y = Z[:, :5].sum(axis=1) + rng.standard_normal(n)
    return Z, y, Z.T @ Z, Z.T @ y, share * np.abs(Z.T @ y).max()


def kkt_violation(G, c, u, penalty):
    r = c - G @ u
    return np.where(u != 0, np.abs(r - penalty * np.sign(u)), np.abs(r) - penalty).max()


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("collinearity", [0.0, 3.0])
@pytest.mark.parametrize(("n", "n_columns"), [(60, 15), (60, 40), (30, 200)])
def test_the_minimum_is_that_of_the_lasso_on_the_table(n, n_columns, collinearity, share):
    Z, y, G, c, penalty = make_problem(n, n_columns, share, collinearity=collinearity)
    u = Lasso(G, c, penalty).minimize(np.zeros(n_columns), 1e-9 * penalty, 300)
    assert kkt_violation(G, c, u, penalty) <= 1e-9 * penalty
    table = TableLasso(penalty / n, fit_intercept=False, tol=1e-14, max_iter=500_000).fit(Z, y)
    np.testing.assert_allclose(u, table.coef_, atol=1e-5)


@pytest.mark.parametrize("n_missing", [1, 10, 30])
def test_a_warm_start_that_lacks_some_weights_ends_where_a_cold_one_does(n_missing):
    _, _, G, c, penalty = make_problem(200, 60, 0.01)
    cold = Lasso(G, c, penalty).minimize(np.zeros(60), 1e-10 * penalty)
    start = cold.copy()
    start[np.flatnonzero(cold)[:n_missing]] = 0.0
    copy = start.copy()
    np.testing.assert_allclose(Lasso(G, c, penalty).minimize(start, 1e-10 * penalty), cold, atol=1e-9)
    assert np.array_equal(start, copy)


def test_threads_solve_at_once_and_leave_the_filters_of_warnings_as_they_were():
    problems = [make_problem(40, 120, 0.01, seed) for seed in range(8)]
    alone = [Lasso(G, c, penalty).minimize(np.zeros(120), 1e-9 * penalty) for _, _, G, c, penalty in problems]
    found = [None] * len(problems)

    def solve(i):
        _, _, G, c, penalty = problems[i]
        found[i] = Lasso(G, c, penalty).minimize(np.zeros(120), 1e-9 * penalty)

    filters = list(warnings.filters)
    threads = [threading.Thread(target=solve, args=(i,)) for i in range(len(problems))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == filters
    for one, other in zip(alone, found, strict=True):
        assert np.array_equal(one, other)


def test_a_tolerance_below_rounding_ends_too():
    _, _, G, c, penalty = make_problem(20, 60, 1e-3)
    u = Lasso(G, c, penalty).minimize(np.zeros(60), 0.0, 10_000)
    assert kkt_violation(G, c, u, penalty) <= 1e-10 * np.abs(c).max()


def test_copies_of_a_column_are_solved_for():
    matrix = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])
    x = solve_semidefinite(matrix.copy(), matrix @ [1.0, 1.0, 1.0])
    np.testing.assert_allclose(matrix @ x, matrix @ [1.0, 1.0, 1.0], atol=1e-8)
