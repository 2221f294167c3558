"""Support vector machines with squared slack, enclosing balls and leave-one-out, the slow way."""

import numpy as np
from scipy.optimize import minimize


def solve_qp(Q, target, signs, total):
    """Minimize ``v'Qv / 2 - target'v`` over ``signs * v >= 0`` and ``sum(v) = total``, by the free set.

    All sets of free variables are tried where there are few; SLSQP proposes one where there are many.
    """
    n = len(target)
    scale = np.trace(Q) / n
    start = np.full(n, total / n)
    found = minimize(
        lambda v: (0.5 * v @ Q @ v - target @ v) / scale,
        start,
        jac=lambda v: (Q @ v - target) / scale,
        bounds=[(0, None) if sign > 0 else (None, 0) for sign in signs],
        constraints={"type": "eq", "fun": lambda v: v.sum() - total, "jac": lambda v: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    free = np.abs(found.x) > 1e-6 * np.abs(found.x).max()
    for _ in range(50):
        v, b = solve_free(Q, target, total, free)
        wrong_sign = free & (signs * v < 0)
        wants_in = ~free & (signs * (target - Q @ v - b) > 1e-10 * np.abs(target).max())
        if not wrong_sign.any() and not wants_in.any():
            return v, b
        free = (free & ~wrong_sign) | wants_in
    raise AssertionError("the oracle did not converge")


def solve_free(Q, target, total, free):
    """The equality-constrained minimum over free variables, others zero."""
    k = free.sum()
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = Q[np.ix_(free, free)]
    system[k, :k] = system[:k, k] = 1.0
    solution = np.linalg.lstsq(system, np.append(target[free], total), rcond=None)[0]
    v = np.zeros(len(target))
    v[free] = solution[:k]
    return v, solution[k]


def train(K, y, ridge):
    """Dual weights times signs, and the intercept, of a machine."""
    return solve_qp(K + ridge * np.eye(len(y)), y, y, 0.0)


def enclose(K, ridge):
    """Weights of the points on the smallest ball, and its squared radius."""
    Q = K + ridge * np.eye(len(K))
    weights = solve_qp(2 * Q, np.diagonal(Q).copy(), np.ones(len(K)), 1.0)[0]
    return weights, weights @ np.diagonal(Q) - weights @ Q @ weights


def variance(K, ridge):
    """Mean squared distance from the mean, by the definition of Eq. 17."""
    Q = K + ridge * np.eye(len(K))
    return np.mean(np.diagonal(Q)) - Q.mean()


def radius_margin(K, y, ridge, radius="ball"):
    """``4 R^2 ||w||^2`` of a machine trained on ``K``."""
    radius2 = enclose(K, ridge)[1] if radius == "ball" else variance(K, ridge)
    v, _ = train(K, y, ridge)
    return 4 * radius2 * (v @ (K + ridge * np.eye(len(y))) @ v)


def span_terms(K, y, v, ridge):
    """``alpha_k S_k^2`` of every row, zero off the support."""
    rows = np.flatnonzero(v)
    Q = K + ridge * np.eye(len(y))
    terms = np.zeros(len(y))
    for place, row in enumerate(rows):
        rest = np.delete(rows, place)
        # distance from the affine span of the other support vectors (Vapnik and Chapelle 2000, Eq. 9)
        system = np.zeros((len(rest) + 1, len(rest) + 1))
        system[:-1, :-1] = Q[np.ix_(rest, rest)]
        system[-1, :-1] = system[:-1, -1] = 1.0
        right = np.append(Q[rest, row], 1.0)
        terms[row] = np.abs(v[row]) * (Q[row, row] - right @ np.linalg.solve(system, right))
    return terms


def span(K, y, ridge):
    """``sum_k alpha_k S_k^2`` of a machine trained on ``K``."""
    return span_terms(K, y, train(K, y, ridge)[0], ridge).sum()


def leave_one_out(K, y, ridge):
    """Outputs at every row of the machine trained without it, and that machine's support."""
    outputs, supports = np.empty(len(y)), []
    for row in range(len(y)):
        rest = np.delete(np.arange(len(y)), row)
        v, b = train(K[np.ix_(rest, rest)], y[rest], ridge)
        outputs[row] = K[row, rest] @ v + b
        supports.append(set(rest[v != 0].tolist()))
    return outputs, supports
