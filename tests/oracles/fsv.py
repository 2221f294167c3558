"""Feature selection concave as a loop of whole linear programs (Bradley and Mangasarian 1998)."""

from __future__ import annotations

import numpy as np

from tests.oracles import l1_program


def objective(w, b, Z, y, C, steepness, loss="hinge", epsilon=0.0):
    """``sum_j (1 - exp(-a |w_j|)) + C sum_i xi_i``; the first term alone where C is infinite."""
    penalty = float(np.sum(1.0 - np.exp(-steepness * np.abs(w))))
    if np.isinf(C):
        return penalty
    return penalty + C * float(np.sum(l1_program.losses(y, Z @ w + b, loss, epsilon)))


def linearize(w, Z, y, C, steepness, loss="hinge", epsilon=0.0):
    """The minimum with the tangent of the penalty at w: weights, intercept, and the value of the linear program."""
    slopes = steepness * np.maximum(np.exp(-steepness * np.abs(w)), 1e-9)
    return l1_program.solve(Z, y, slopes, C, loss, epsilon)


def successive_linear_programs(Z, y, C, steepness=5.0, loss="hinge", epsilon=0.0, max_iter=50):
    """Weights and intercept of every program until the objective stays; None where no program is feasible."""
    w, rounds = np.zeros(Z.shape[1]), []
    for _ in range(max_iter):
        found = linearize(w, Z, y, C, steepness, loss, epsilon)
        if found is None:
            return None
        w, b, _ = found
        w = np.where(np.abs(w) > 1e-9, w, 0.0)
        value = objective(w, b, Z, y, C, steepness, loss, epsilon)
        if rounds and rounds[-1][2] - value <= 1e-7 * abs(value):
            break
        rounds.append((w, b, value))
    return rounds
