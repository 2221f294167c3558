r"""A quadratic with a sparsity penalty, on a Gram matrix, to rounding.

.. math:: \min_u \tfrac12 u^\top G u - c^\top u + \alpha \Omega(u) + \tfrac{l_2}{2} \|u\|^2

with the penalties of :mod:`tamis.kernels.solvers.sparsity_penalty`. Two stages in turn: accelerated proximal gradient
steps (FISTA), which find which weights are zero, and Newton steps over those that are not, where the objective is
smooth. The lasso has a solver of its own (:mod:`tamis.kernels.solvers.lasso`).
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.lasso import Lasso, solve_semidefinite
from tamis.kernels.solvers.sparsity_penalty import SparsityPenalty

_PROXIMAL_STEPS = 30  # between Newton steps
_NEWTON_STEPS = 8
_HALVINGS = 12  # of a Newton step
_POWER_STEPS = 8  # towards the largest eigenvalue


def minimize_quadratic(
    G: np.ndarray, c: np.ndarray, penalty: SparsityPenalty, start: np.ndarray, *, tol: float, max_iter: int = 200
) -> np.ndarray:
    """Weights at which no condition is violated by more than ``tol``, or the best that rounding allows.

    Parameters
    ----------
    G : ndarray of shape (n_columns, n_columns)
        Symmetric, positive semidefinite.
    c : ndarray of shape (n_columns,)
    penalty : SparsityPenalty
        Of these columns.
    start : ndarray of shape (n_columns,)
    tol : float
    max_iter : int
        Times that the two stages are repeated.
    """
    if penalty.is_lasso:
        if penalty.l2:
            G = G.copy()
            G[np.diag_indices_from(G)] += penalty.l2
        return Lasso(G, c, penalty.alpha).minimize(start, tol, max_iter)
    problem = _SparseQuadratic(G, c, penalty)
    u, best = problem.penalty.prox(start, 0.0), np.inf
    for _ in range(max_iter):
        for _ in range(_NEWTON_STEPS):
            moved = problem.newton_step(u)
            if moved is u:
                break
            u = moved
        violation = problem.kkt_violation(u)
        if violation <= tol:
            break
        moved = problem.proximal_steps(u)
        if np.array_equal(moved, u) or (violation >= best and problem.value(moved) >= problem.value(u)):
            break  # neither stage moves: the rest is rounding
        u, best = moved, violation
    return u


class _SparseQuadratic:
    """The objective, and the two kinds of steps."""

    def __init__(self, G: np.ndarray, c: np.ndarray, penalty: SparsityPenalty) -> None:
        self.G, self.c, self.penalty = G, c, penalty
        self.lipschitz = _largest_eigenvalue(G)

    def negative_gradient(self, u: np.ndarray) -> np.ndarray:
        return self.c - self.G @ u

    def value(self, u: np.ndarray) -> float:
        return float(0.5 * u @ (self.G @ u) - self.c @ u) + self.penalty.value(u)

    def kkt_violation(self, u: np.ndarray) -> float:
        return float(self.penalty.kkt_violation(self.negative_gradient(u), u).max(initial=0.0))

    def proximal_steps(self, u: np.ndarray) -> np.ndarray:
        """FISTA (Beck and Teboulle 2009), restarted where the momentum points uphill (O'Donoghue and Candes 2015)."""
        ahead, momentum = u, 1.0
        for _ in range(_PROXIMAL_STEPS):
            while True:
                moved = self.penalty.prox(ahead + self.negative_gradient(ahead) / self.lipschitz, 1.0 / self.lipschitz)
                change = moved - ahead
                if float(change @ (self.G @ change)) <= self.lipschitz * float(change @ change) * (1 + 1e-12):
                    break
                self.lipschitz *= 1.5  # the power method's estimate was too small
            next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            step = moved - u
            if float((ahead - moved) @ step) > 0:
                ahead, momentum = moved, 1.0
            else:
                ahead, momentum = moved + (momentum - 1.0) / next_momentum * step, next_momentum
            u = moved
        return u

    def newton_step(self, u: np.ndarray) -> np.ndarray:
        """A Newton step over the free weights, with a line search; u itself where it finds no decrease."""
        free = np.flatnonzero((u != 0) & (np.abs(u) < self.penalty.bound))
        if not free.size:
            return u
        gradient = -self.negative_gradient(u) + self.penalty.l2 * u + self.penalty.gradient_of_norms(u)
        hessian = self.G[free[:, None], free]
        self.penalty.add_curvature(hessian, u, free)
        direction = -solve_semidefinite(hessian, gradient[free])
        value, violation = self.value(u), self.kkt_violation(u)
        for length in 0.5 ** np.arange(_HALVINGS):
            moved = u.copy()
            moved[free] += length * direction
            if self.penalty.l1_ratio > 0:
                moved[u * moved < 0] = 0.0
            moved = np.clip(moved, -self.penalty.bound, self.penalty.bound)
            new_value = self.value(moved)
            # near the minimum objectives are equal to rounding: then the conditions decide
            is_level = new_value <= value + OBJECTIVE_ROUNDING * abs(value)
            if new_value < value - OBJECTIVE_ROUNDING * abs(value) or (
                is_level and self.kkt_violation(moved) < 0.5 * violation
            ):
                return moved
        return u


def _largest_eigenvalue(G: np.ndarray) -> float:
    """By the power method; an estimate from below, which the caller raises where it was too small."""
    v = np.ones(len(G)) / np.sqrt(max(len(G), 1))
    v += 1e-3 * np.cos(np.arange(len(G)))  # orthogonal to no eigenvector but by chance
    size = 0.0
    for _ in range(_POWER_STEPS):
        product = G @ v
        size = float(np.linalg.norm(product))
        if size == 0.0:
            break
        v = product / size
    return max(1.05 * size, np.finfo(float).tiny)
