"""Recursive feature elimination as it is written (Lal et al. 2006, algorithm 1 and 2): train from nothing each time."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import pairwise_kernels


@dataclass
class Problem:
    """Two classes as 1 and -1, or a quantity, on some rows, and what an error on each costs."""

    rows: np.ndarray
    target: np.ndarray
    cost: np.ndarray


@dataclass
class Round:
    """Who left, the criterion of every candidate then, and what the machines were."""

    left: list
    criteria: np.ndarray
    squared_norm: float


def pose(y, C=1.0, multiclass="ovr", class_weight=None):
    """One problem for two classes, one per class or per pair of classes beyond."""
    labels, everything = np.unique(y), np.arange(len(y))
    cost = np.array([C * (class_weight or {}).get(label, 1.0) for label in y.tolist()])
    if len(labels) == 2:
        return [Problem(everything, np.where(y == labels[1], 1.0, -1.0), cost)]
    if multiclass == "ovr":
        return [Problem(everything, np.where(y == label, 1.0, -1.0), cost) for label in labels]
    pairs = ((a, np.flatnonzero((y == a) | (y == b))) for a, b in combinations(labels, 2))
    return [Problem(rows, np.where(y[rows] == a, 1.0, -1.0), cost[rows]) for a, rows in pairs]


def quantity(y, C=1.0):
    """A target that is no class."""
    return [Problem(np.arange(len(y)), np.asarray(y, dtype=float), np.full(len(y), C))]


def train(K, target, cost, loss, intercept="free"):
    """Dual weights ``v`` and the intercept of one machine on a kernel matrix.

    The intercept is "free", or 0 for none; a penalized one is a constant that is added to ``K``.
    """
    if loss == "ridge":
        return train_ridge(K, target, cost, intercept)
    if loss == "logistic":
        return train_logistic(K, target, cost, intercept)
    upper, ridge = (cost, 0.0) if loss == "hinge" else (np.full(len(cost), np.inf), 0.5 / cost)
    v, b = solve_box(K + np.diag(np.broadcast_to(ridge, cost.shape)), target, upper, intercept == "free")
    return v, b


def solve_box(Q, signs, upper, balanced):
    """Minimum of ``v' Q v / 2 - signs' v`` with ``0 <= signs v <= upper``, and a sum of zero if balanced.

    An interior-point method: Newton's on the conditions for an optimum, products of distances to bounds and of their
    multipliers being as large as ``mu``, which falls to nothing.
    """
    n = len(signs)
    Q = Q * np.outer(signs, signs)
    capped = np.isfinite(upper)
    e = 1 if balanced else 0
    a = np.where(capped, 0.5 * np.where(capped, upper, 1.0), 1.0)
    room = np.where(capped, a, 1.0)  # to the upper bound, followed by itself: a difference would lose its digits
    z, x, b = np.ones(n), np.where(capped, 1.0, 0.0), 0.0
    for _ in range(200):
        gap = 1.0 - Q @ a - e * b * signs + z - x
        mu = (a @ z + room @ x) / (n + np.count_nonzero(capped))
        if mu < 1e-15 and np.abs(gap).max() < 1e-11 and abs(e * (signs @ a)) < 1e-11:
            break
        mu *= 0.2
        system = np.zeros((n + e, n + e))
        system[:n, :n] = Q + np.diag(z / a + x / room + 1e-13)
        system[:n, n:], system[n:, :n] = signs[:, None][:, :e], signs[None][:e]
        right = gap + (mu / a - z) - np.where(capped, mu / room - x, 0.0)
        step = np.linalg.solve(system, np.append(right, [-signs @ a] * e))
        da, db = step[:n], step[n:].sum()
        dz, dx = mu / a - z - z / a * da, np.where(capped, mu / room - x + x / room * da, 0.0)
        length = min([1.0] + [0.99 / max(-d / q) for d, q in ((da, a), (-da * capped, room), (dz, z)) if min(d) < 0])
        if np.any(dx < 0):
            length = min(length, 0.99 / max(-dx[dx < 0] / x[dx < 0]))
        a, b, z, x = a + length * da, b + length * db, z + length * dz, x + length * dx
        room = room - length * da * capped
    return signs * a, float(b)


def train_ridge(K, target, cost, intercept):
    """Solve the normal equations of the dual."""
    A = K + np.diag(0.5 / cost)
    if intercept != "free":
        return np.linalg.solve(A, target), 0.0
    one = np.ones((len(K), 1))
    found = np.linalg.solve(np.block([[A, one], [one.T, np.zeros((1, 1))]]), np.append(target, 0.0))
    return found[:-1], float(found[-1])


def train_logistic(K, target, cost, intercept):
    """By scikit-learn, on coordinates that have the products of ``K``."""
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    machine = LogisticRegression(
        C=1.0, solver="newton-cholesky", tol=1e-13, max_iter=1000, fit_intercept=intercept == "free"
    ).fit(Z, target, sample_weight=cost)
    f = machine.decision_function(Z)
    return cost * target / (1.0 + np.exp(target * f)), float(np.ravel(machine.intercept_)[0])


def linear(X):
    """Products of the rows."""
    return X @ X.T


def named_kernel(name, **parameters):
    """A kernel of scikit-learn as a function of one table."""

    def evaluate(X):
        return pairwise_kernels(X, metric=name, **parameters) if X.shape[1] else evaluate(np.zeros((len(X), 1)))

    return evaluate


def duals(X, problems, loss, kernel=linear, intercept="free"):
    """``v`` of every machine, zero for rows that it does not have; a number as intercept is penalized."""
    penalized = 0.0 if intercept == "free" else intercept**2
    V = np.zeros((len(problems), len(X)))
    for v, problem in zip(V, problems, strict=True):
        K = kernel(X[problem.rows]) + penalized
        v[problem.rows] = train(K, problem.target, problem.cost, loss, intercept if intercept == "free" else 0)[0]
    return V


def algorithm_1(X, V, candidates, norm="l2"):
    """Squared, or absolute, weights of linear machines, over the columns of every candidate."""
    squares = ((V @ X) ** 2).sum(axis=0)
    return np.array([(squares if norm == "l2" else np.sqrt(squares))[columns].sum() for columns in candidates])


def algorithm_2(X, V, candidates, kernel):
    """Change of the squared norms when every candidate goes, the machines being what they are."""
    K = kernel(X)
    changes = []
    for columns in candidates:
        without = kernel(np.delete(X, columns, axis=1))
        changes.append(sum(abs(v @ K @ v - v @ without @ v) for v in V))
    return np.array(changes)


def judge(X, problems, loss, left, kernel=None, intercept="free", norm="l2"):
    """The round of an elimination with the candidates ``left``, each a list of columns; linear without a kernel."""
    columns = sorted(j for candidate in left for j in candidate)
    places = [[columns.index(j) for j in candidate] for candidate in left]
    part = X[:, columns]
    V = duals(part, problems, loss, kernel or linear, intercept)
    criteria = algorithm_2(part, V, places, kernel) if kernel else algorithm_1(part, V, places, norm)
    criteria = criteria / [len(candidate) for candidate in left]
    norm2 = sum(v @ kernel(part) @ v for v in V) if kernel else np.sum((V @ part) ** 2)
    return Round(left, criteria, float(norm2))


def eliminate(X, problems, loss, kernel=None, intercept="free", groups=None, norm="l2", n_leaving=1):
    """Candidates in the order in which they leave, and the rounds; of equal ones the last leaves first."""
    left = [[j] for j in range(X.shape[1])] if groups is None else [list(columns) for columns in groups]
    gone, rounds = [], []
    while left:
        now = judge(X, problems, loss, left, kernel, intercept, norm)
        leaving = sorted(range(len(left)), key=lambda g: now.criteria[g])[:n_leaving]
        rounds.append(now)
        gone += [left[g] for g in leaving]
        left = [columns for g, columns in enumerate(left) if g not in leaving]
    return gone, rounds


def check_path(path, X, problems, loss, kernel=None, intercept="free", rtol=1e-6):
    """Each feature that leaves one by one is one of the least then, and what is told of it is right."""
    for n_features in range(len(path), 0, -1):
        left = sorted([step.feature] for step in path[:n_features])
        now = judge(X, problems, loss, left, kernel, intercept)
        step = path[n_features - 1]
        own = now.criteria[left.index([step.feature])]
        slack = 1e-10 * (1.0 + now.squared_norm)
        assert own <= now.criteria.min() * (1.0 + rtol) + slack, (step, now)
        np.testing.assert_allclose(step.criterion, own, rtol=rtol, atol=slack)
        assert step.info["n_features"] == n_features
        if now.squared_norm > 1e-6:
            np.testing.assert_allclose(step.info["margin"], now.squared_norm**-0.5, rtol=10 * rtol)
