r"""Lasso on a Gram matrix, to rounding.

.. math:: \min_u \tfrac12 u^\top G u - c^\top u + \lambda \|u\|_1

With the negative gradient :math:`r = c - Gu` of the quadratic, u is a minimum where (KKT conditions)

.. math:: r_j = \lambda \operatorname{sign}(u_j) \ \text{ if } u_j \ne 0, \qquad |r_j| \le \lambda \ \text{ otherwise.}

Two stages in turn: coordinate descent, which finds most of the support, and a Newton step on the support, which is
exact where no sign changes. Its line search is exact too: along a line the objective is a piecewise quadratic. A warm
start that lacks few weights needs no coordinate descent: the violating weights join the support of the Newton step.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy.linalg.lapack import dposv
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING

_RIDGES = 10.0 ** np.arange(-13.0, 1.0, 2.0)  # of a diagonal entry, so that copies of a column can be solved
_ZERO_COLUMN = 1e-13  # diagonal entry, relative to the largest, of a column that is zero up to rounding
_MAX_ENTERING = 20  # weights that may join the support without coordinate descent
_SWEEPS = 50  # of coordinate descent, between Newton steps
# coordinate descent warns when it has not converged, which is left to Newton's method; before Python 3.14, filters of
# warnings belong to the process, not to a thread
_WARNING_FILTERS = Lock()


@dataclass(frozen=True)
class Iterate:
    """Weights, the negative gradient of the quadratic there, and the objective."""

    u: np.ndarray
    negative_gradient: np.ndarray
    objective: float


class Lasso:
    """One problem, solved from a warm start.

    Parameters
    ----------
    G : ndarray of shape (n_columns, n_columns)
        Symmetric, positive semidefinite, C-contiguous.
    c : ndarray of shape (n_columns,)
    penalty : float
    """

    def __init__(self, G: np.ndarray, c: np.ndarray, penalty: float) -> None:
        self.G, self.c, self.penalty = G, np.ascontiguousarray(c), penalty

    def minimize(self, start: np.ndarray, tol: float, max_iter: int = 100) -> np.ndarray:
        """Weights at which no condition is violated by more than ``tol``, or the best that rounding allows."""
        at = self._evaluate(start)
        for number in range(max_iter):
            if self._kkt_violation(at) <= tol:
                break
            entering = self._find_entering(at, tol)
            if number > 0 or entering.size > _MAX_ENTERING:
                previous, entering = at, entering[:0]
                at = self._evaluate(self._descend_by_coordinates(at.u))
            else:
                previous = None
            # one step is mostly enough; later many, for each stops at the first minimum along its line
            for _ in range(1 if number < 5 else 10):
                if self._kkt_violation(at) <= tol:
                    return at.u
                moved = self._newton_step(at, entering)
                if moved is at:
                    break
                at = moved
            if previous is not None and np.array_equal(at.u, previous.u):
                break  # neither stage moves: the rest is rounding
        return at.u

    def _evaluate(self, u: np.ndarray) -> Iterate:
        r = self.c - self.G @ u
        # u'Gu/2 - c'u = -u'(c + r)/2
        return Iterate(u, r, -0.5 * float(u @ (self.c + r)) + self.penalty * float(np.abs(u).sum()))

    def _kkt_violation(self, at: Iterate) -> float:
        u, r = at.u, at.negative_gradient
        return float(np.where(u != 0, np.abs(r - self.penalty * np.sign(u)), np.abs(r) - self.penalty).max(initial=0.0))

    def _find_entering(self, at: Iterate, tol: float) -> np.ndarray:
        """Weights at zero that violate their condition; not those of columns that are zero up to rounding."""
        diagonal = self.G.diagonal()
        is_column = diagonal > _ZERO_COLUMN * diagonal.max(initial=0.0)
        return np.flatnonzero((at.u == 0) & is_column & (np.abs(at.negative_gradient) > self.penalty + tol))

    def _descend_by_coordinates(self, u: np.ndarray) -> np.ndarray:
        """Some sweeps of scikit-learn's coordinate descent, which needs no more of the table than its Gram matrix."""
        # screening and the duality gap would need the norm of a target, which a quadratic does not have
        with _WARNING_FILTERS, warnings.catch_warnings(), config_context(skip_parameter_validation=True):
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, coefs, _ = lasso_path(
                np.zeros((1, u.size), order="F"),
                np.ones(1),
                alphas=[self.penalty],
                precompute=self.G,
                Xy=self.c,
                coef_init=u.copy(),
                max_iter=_SWEEPS,
                tol=1e-12,
                check_input=False,
                do_screening=False,
            )
        return coefs[:, 0].copy()

    def _newton_step(self, at: Iterate, entering: np.ndarray) -> Iterate:
        """The lower of two ends of a Newton step over the support and the entering weights; ``at`` if none is lower."""
        direction = self._newton_direction(at, entering)
        best = at
        for u in (self._line_search(at, direction), _stop_at_zero(at.u, at.u + direction)):
            end = self._evaluate(u)
            is_level = end.objective <= at.objective + OBJECTIVE_ROUNDING * abs(at.objective)
            # near the minimum objectives are equal to rounding: then the conditions decide
            is_better = end.objective < at.objective or (
                is_level and self._kkt_violation(end) < 0.5 * self._kkt_violation(at)
            )
            if is_better and (best is at or end.objective < best.objective):
                best = end
        return best

    def _newton_direction(self, at: Iterate, entering: np.ndarray) -> np.ndarray:
        """To the minimum over the free weights if their signs stay; entering weights of the wrong sign are left out."""
        signs = np.sign(at.u)
        signs[entering] = np.sign(at.negative_gradient[entering])
        direction, free = np.zeros_like(at.u), np.flatnonzero(signs)
        while free.size:
            gradient = at.negative_gradient[free] - self.penalty * signs[free]
            direction[free] = solve_semidefinite(self.G[free[:, None], free], gradient)
            is_wrong = (at.u[free] == 0) & (direction[free] * signs[free] <= 0)
            if not is_wrong.any():
                break
            direction[free[is_wrong]] = 0.0
            free = free[~is_wrong]
        return direction

    def _line_search(self, at: Iterate, direction: np.ndarray) -> np.ndarray:
        """Exact minimum along the direction, at most the whole step: the slope jumps where a weight crosses zero."""
        u, d = at.u, direction
        slope_of_norm = float(np.where(u != 0, np.sign(u) * d, np.abs(d)).sum())
        slope = self.penalty * slope_of_norm - float(d @ at.negative_gradient)
        curvature = float(d @ (self.G @ d))
        crossing = np.flatnonzero(u * (u + d) < 0)
        lengths = -u[crossing] / d[crossing]
        order = np.argsort(lengths)
        crossing, lengths = crossing[order], lengths[order]
        jumps = 2.0 * self.penalty * np.cumsum(np.abs(d[crossing]))
        rising = np.flatnonzero(slope + lengths * curvature + jumps >= 0)  # just beyond a crossing
        n_passed = rising[0] if rising.size else jumps.size
        passed = jumps[n_passed - 1] if n_passed else 0.0
        end = lengths[n_passed] if rising.size else 1.0
        stationary = (-slope - passed) / curvature if curvature > 0 else end
        moved = u + min(end, stationary) * d
        if rising.size and stationary >= end:
            moved[crossing[n_passed]] = 0.0
        return moved


def _stop_at_zero(u: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """The end of a step, with weights that would change their sign at zero."""
    moved[u * moved < 0] = 0.0
    return moved


def solve_semidefinite(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by Cholesky's factorization with the smallest ridge that allows it; ``matrix`` is overwritten."""
    diagonal = np.arange(len(matrix))
    sizes = matrix[diagonal, diagonal]
    largest = max(float(sizes.max()), np.finfo(float).tiny)
    sizes = np.maximum(sizes, _ZERO_COLUMN * largest)  # each by its own size: columns may differ in scale
    for ridge in _RIDGES:
        matrix[diagonal, diagonal] += ridge * sizes
        _, solution, failed = dposv(matrix, right)
        if not failed:
            return solution
    return right / largest
