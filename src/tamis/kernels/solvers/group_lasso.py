r"""Group lasso on Gram matrices, to rounding.

.. math:: \min_U \sum_k \bigl( \tfrac12 u_k^\top G_k u_k - c_k^\top u_k \bigr) + \lambda \sum_g \|U_g\|_F

over a matrix of weights with one row per column of a table and one column per target; group :math:`g` is ``width``
neighboring rows. With the negative gradient :math:`R = C - GU` of the quadratic, U is a minimum where (KKT conditions)

.. math:: R_g = \lambda U_g / \|U_g\| \ \text{ if } U_g \ne 0, \qquad \|R_g\| \le \lambda \ \text{ if } U_g = 0.

Every iteration has three stages:

1. block coordinate descent over a working set: the groups that are not zero, and those that violate the second
   condition the most;
2. groups whose own minimum is at zero are set to zero;
3. a damped Newton step over the groups that are not zero, where the objective is smooth.

With one row per group and one target this is the lasso, which has a solver of its own
(:mod:`tamis.kernels.solvers.lasso`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.kernels.arrays.tolerances import OBJECTIVE_ROUNDING
from tamis.kernels.solvers.lasso import Lasso, solve_semidefinite

_LINE_SEARCH_STEPS = 40
_MIN_DAMPING, _MAX_DAMPING = 1e-2, 1e2
_SUFFICIENT_DECREASE = 1e-3  # share of the decrease that the slope promises (Armijo's condition)
_FIRST_ENTERING = 10  # groups that enter the working set in the first iteration; twice as many in each that follows
_SWEEPS = 10  # of block coordinate descent, where Newton's method finds no decrease
_ZERO_COLUMN = 1e-13  # curvature, relative to the largest, of columns that are zero up to rounding


def group_norms(U: np.ndarray, width: int) -> np.ndarray:
    """Frobenius norm of every group of rows."""
    by_group = U.reshape(-1, width * U.shape[1])
    return np.abs(by_group[:, 0]) if by_group.shape[1] == 1 else np.sqrt(np.einsum("ij,ij->i", by_group, by_group))


def group_directions(U: np.ndarray, norms: np.ndarray, width: int) -> np.ndarray:
    """Every group divided by its norm; zero where it is zero."""
    factor = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return U * np.repeat(factor, width)[:, None]


def group_dots(U: np.ndarray, V: np.ndarray, width: int) -> np.ndarray:
    """Inner product of two matrices, group by group."""
    size = width * U.shape[1]
    return np.einsum("ij,ij->i", U.reshape(-1, size), V.reshape(-1, size))


def kkt_violation(R: np.ndarray, U: np.ndarray, width: int, penalty: float) -> np.ndarray:
    """Violation of every group's condition, given the negative gradient; not positive for zero groups that meet it."""
    norms = group_norms(U, width)
    if not norms.any():
        return group_norms(R, width) - penalty
    of_nonzero = group_norms(R - penalty * group_directions(U, norms, width), width)
    return np.where(norms > 0, of_nonzero, group_norms(R, width) - penalty)


class GroupLasso:
    """One problem, solved from a warm start.

    Parameters
    ----------
    G : ndarray of shape (n_targets, n_columns, n_columns)
        Symmetric, positive semidefinite.
    C : ndarray of shape (n_columns, n_targets)
    penalty : float
    width : int
        Rows per group.
    """

    def __init__(self, G: np.ndarray, C: np.ndarray, penalty: float, width: int) -> None:
        self.G, self.C, self.penalty, self.width = G, C, penalty, width
        self.damping, self.sufficient_decrease = 0.0, _SUFFICIENT_DECREASE
        diagonal = np.einsum("kii->ik", G)
        # Lipschitz constants of the groups' gradients: the trace of a block is at least its largest eigenvalue
        self.lipschitz = diagonal.reshape(-1, width, C.shape[1]).sum(axis=1).max(axis=1)
        self.zero_curvature = _ZERO_COLUMN * max(float(diagonal.max(initial=0.0)), np.finfo(float).tiny)

    def minimize(self, start: np.ndarray, tol: float, max_iter: int = 100) -> np.ndarray:
        """Weights at which no condition is violated by more than ``tol``, or the best that rounding allows."""
        if self.width * start.shape[1] == 1:
            return Lasso(self.G[0], self.C[:, 0], self.penalty).minimize(start[:, 0], tol, max_iter)[:, None]
        U, max_entering = start.copy(), _FIRST_ENTERING
        R = self._negative_gradient(U)
        for number in range(max_iter):
            excess = kkt_violation(R, U, self.width, self.penalty)
            if excess.max(initial=0.0) <= tol:
                break
            support = group_norms(U, self.width) > 0
            entering = np.flatnonzero(~support & (excess > tol))
            if entering.size > max_entering:
                entering = entering[np.argpartition(-excess[entering], max_entering)[:max_entering]]
            max_entering *= 2
            self._descend_by_blocks(U, R, np.union1d(entering, np.flatnonzero(support)))
            self._remove_groups(U, R)
            # now and then a whole Newton step: where columns are nearly collinear, damped ones hardly move
            is_undamped = number % 4 == 3
            self.sufficient_decrease = 1e-9 if is_undamped else _SUFFICIENT_DECREASE
            self.damping = 0.0 if is_undamped else self.damping
            if not self._newton_step(U, R) and not entering.size and not self._sweep_support(U, R):
                break  # the remaining violation is rounding
        return U

    def _negative_gradient(self, U: np.ndarray) -> np.ndarray:
        return self.C - self._product(U)

    def _product(self, U: np.ndarray) -> np.ndarray:
        if len(self.G) == 1:
            return self.G[0] @ U
        return np.einsum("kij,jk->ik", self.G, U, optimize=True)

    def _objective(self, U: np.ndarray, R: np.ndarray) -> float:
        """From the negative gradient: u'Gu/2 - c'u = -u'(c + r)/2."""
        return -0.5 * float(np.vdot(U, self.C + R)) + self.penalty * float(group_norms(U, self.width).sum())

    # block coordinate descent

    def _descend_by_blocks(self, U: np.ndarray, R: np.ndarray, groups: np.ndarray) -> None:
        """A proximal gradient step for one of the given groups after the other, in place; R follows."""
        for g in groups.tolist():
            rows, lipschitz = slice(g * self.width, (g + 1) * self.width), self.lipschitz[g]
            if lipschitz <= self.zero_curvature:
                continue
            target = R[rows] + lipschitz * U[rows]
            norm = float(np.sqrt(np.vdot(target, target)))
            shrunk = target * (max(0.0, 1.0 - self.penalty / norm) / lipschitz) if norm > 0 else np.zeros_like(target)
            change = shrunk - U[rows]
            U[rows] = shrunk
            if len(self.G) == 1:
                R -= self.G[0][:, rows] @ change
            else:
                R -= np.einsum("kij,jk->ik", self.G[:, :, rows], change)

    def _sweep_support(self, U: np.ndarray, R: np.ndarray) -> bool:
        """Some sweeps over the groups that are not zero; whether they lowered the objective or the violation."""
        objective, violation = self._objective(U, R), kkt_violation(R, U, self.width, self.penalty).max()
        for _ in range(_SWEEPS):
            self._descend_by_blocks(U, R, np.flatnonzero(group_norms(U, self.width)))
        R[:] = self._negative_gradient(U)
        is_nearer = kkt_violation(R, U, self.width, self.penalty).max() < 0.9 * violation
        return bool(is_nearer) or self._objective(U, R) < objective - OBJECTIVE_ROUNDING * abs(objective)

    def _remove_groups(self, U: np.ndarray, R: np.ndarray) -> None:
        """Set groups to zero that are best there, given the others: ``||R_g + G_gg U_g|| <= penalty``.

        Newton steps alone only approach zero.
        """
        support = np.flatnonzero(group_norms(U, self.width))
        rows = support[:, None] * self.width + np.arange(self.width)
        own = np.einsum("kgij,gjk->gik", self.G[:, rows[:, :, None], rows[:, None, :]], U[rows])
        at_zero = R.reshape(-1, self.width, U.shape[1])[support] + own
        norms = np.sqrt(np.einsum("gik,gik->g", at_zero, at_zero))
        for g in support[norms <= self.penalty].tolist():
            part = slice(g * self.width, (g + 1) * self.width)
            contribution = np.einsum("kij,jk->ik", self.G[:, :, part], U[part])
            if np.linalg.norm(R[part] + contribution[part]) <= self.penalty:  # also after others were removed
                U[part] = 0.0
                R += contribution

    # Newton's method over the groups that are not zero

    def _newton_step(self, U: np.ndarray, R: np.ndarray) -> bool:
        """One step in place, damped as much as its decrease requires; whether there was a decrease."""
        norms = group_norms(U, self.width)
        rows = np.flatnonzero(np.repeat(norms > 0, self.width))
        if not rows.size:
            return False
        directions = group_directions(U, norms, self.width)
        gradient = (R - self.penalty * directions)[rows]  # negative, of the whole objective
        while True:
            step = np.zeros_like(U)
            step[rows] = self._solve(rows, directions[rows], np.repeat(norms, self.width)[rows], gradient)
            if self._accept(U, R, step, gradient, rows):
                break
            if self.damping >= _MAX_DAMPING:
                return False
            self.damping = max(10.0 * self.damping, _MIN_DAMPING)
        self.damping = 0.3 * self.damping if self.damping > _MIN_DAMPING else 0.0
        return True

    def _accept(self, U: np.ndarray, R: np.ndarray, step: np.ndarray, gradient: np.ndarray, rows: np.ndarray) -> bool:
        """Move to the lower of two ends of a step, if that is enough of a decrease."""
        objective, required = self._objective(U, R), self.sufficient_decrease * float(np.vdot(step[rows], gradient))
        lowest, accepted = np.inf, None
        for moved in (self._line_search(U, step, gradient, rows), self._stop_at_zero(U, U + step)):
            R_moved = self._negative_gradient(moved)
            value = self._objective(moved, R_moved)
            is_level = value <= objective + OBJECTIVE_ROUNDING * abs(objective)
            is_enough = value < objective - required or (is_level and self._halves_violation(moved, R_moved, U, R))
            if value < lowest and is_enough:
                lowest, accepted = value, (moved, R_moved)
        if accepted is not None:
            U[:], R[:] = accepted
        return accepted is not None

    def _halves_violation(self, moved: np.ndarray, R_moved: np.ndarray, U: np.ndarray, R: np.ndarray) -> bool:
        """Whether the KKT violation is halved: near the minimum, objectives are equal to rounding."""
        new = kkt_violation(R_moved, moved, self.width, self.penalty).max()
        return bool(new < 0.5 * kkt_violation(R, U, self.width, self.penalty).max())

    def _stop_at_zero(self, U: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """The end of a step, with groups at zero that would turn by more than a right angle."""
        moved[np.repeat(group_dots(U, moved, self.width) <= 0, self.width)] = 0.0
        return moved

    def _line_search(self, U: np.ndarray, step: np.ndarray, gradient: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The lowest point along the step, at most its end."""
        curvature = float(np.vdot(step, self._product(step)))
        directions = group_directions(U, group_norms(U, self.width), self.width)
        # slope of the quadratic alone: that of the objective less that of the norms
        linear = -float(np.vdot(step[rows], gradient)) - self.penalty * float(
            group_dots(step, directions, self.width).sum()
        )

        def slope(t: float) -> float:
            moved = U + t * step
            towards = group_directions(moved, group_norms(moved, self.width), self.width)
            return linear + t * curvature + self.penalty * float(np.vdot(step, towards))

        def value(t: float) -> float:
            norms = group_norms(U + t * step, self.width)
            return t * (linear + 0.5 * t * curvature) + self.penalty * float(norms.sum())

        return U + line_search(slope, value) * step

    def _solve(self, rows: np.ndarray, directions: np.ndarray, norms: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solve with the Hessian over the given rows and all targets."""
        m, n_targets = right.shape
        hessian = np.zeros((m, n_targets, m, n_targets))
        for k in range(n_targets):
            hessian[:, k, :, k] = self.G[k][rows[:, None], rows]
        self._add_norm_curvature(hessian, directions, norms)
        return solve_semidefinite(hessian.reshape(m * n_targets, -1), right.ravel()).reshape(right.shape)

    def _add_norm_curvature(self, hessian: np.ndarray, directions: np.ndarray, norms: np.ndarray) -> None:
        """Add the Hessian of the norms, ``(I - vv') / ||U_g||`` with ``v = U_g / ||U_g||`` in every group.

        It is zero along v, and the quadratic may be flat there too where columns depend on each other. Damping
        replaces ``I - vv'`` by ``I - (1 - damping) vv'``, so that a step is not much longer than the weights are.
        """
        shape = (self.width, directions.shape[1])
        v = directions.reshape(len(directions) // self.width, -1)
        curvature = np.eye(v.shape[1]) - (1.0 - self.damping) * v[:, :, None] * v[:, None, :]
        curvature *= (self.penalty / norms[:: self.width])[:, None, None]
        every = np.arange(len(v))
        blocks = hessian.reshape(len(v), *shape, len(v), *shape)
        blocks[every, :, :, every] += curvature.reshape(-1, *shape, *shape)


def line_search(slope: Callable[[float], float], value: Callable[[float], float]) -> float:
    """Length in (0, 1] near the minimum of a convex function that falls at 0.

    The slope there is at most a tenth of the first one, or negative at 1; the value is not above the first one.
    """
    first_slope, first_value = slope(0.0), value(0.0)
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(_LINE_SEARCH_STEPS):
        here = slope(t)
        is_flat = abs(here) <= 0.1 * abs(first_slope) or (t == 1.0 and here <= 0)
        if is_flat and value(t) <= first_value + OBJECTIVE_ROUNDING * abs(first_value):
            return t
        low, high = (t, high) if here < 0 else (low, t)
        # the secant's zero first, then bisection
        t = first_slope / (first_slope - here) if t == 1.0 and first_slope < 0 < here else 0.5 * (low + high)
    return low
