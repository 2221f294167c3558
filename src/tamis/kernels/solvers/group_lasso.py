r"""Quadratics with a norm per group of weights, to rounding.

.. math:: \min_U \sum_k \bigl( \tfrac12 u_k^\top G_k u_k - c_k^\top u_k \bigr) + \lambda \sum_g \|U_g\|_F

over a matrix of weights with one row per column of a table and one column per target; group :math:`g` is ``width``
neighboring rows. With :math:`R = C - GU` it is solved where

.. math:: R_g = \lambda U_g / \|U_g\| \ \text{ if } U_g \ne 0, \qquad \|R_g\| \le \lambda \ \text{ if } U_g = 0.

Groups that violate the second condition enter one after the other, each at its own minimum; then Newton's method goes
on over all that are not zero, where the objective is smooth. A group that would turn round leaves. With one row and one
target per group this is the lasso: scikit-learn's coordinate descent finds most of the support, then Newton's step is
exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from threading import Lock

import numpy as np
from scipy.linalg.lapack import dposv
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._cd_fast import enet_coordinate_descent_gram

_LINE_STEPS = 40
_LEAST_DAMPING, _MOST_DAMPING = 1e-2, 1e2
_ROUNDING = 1e-14
_FEWEST_ENTERING = 10
_SWEEPS = 50  # of coordinate descent, between Newton steps
_ONE_AT_A_TIME = Lock()
_UNUSED = np.random.RandomState(0)  # coordinate descent asks for one, and takes coordinates in turn
_RIDGES = 10.0 ** np.arange(-13.0, 1.0, 2.0)  # of the diagonal, so that copies of a column can be solved for


def group_norms(U: np.ndarray, width: int) -> np.ndarray:
    """Frobenius norm of every group of rows."""
    by_group = U.reshape(-1, width * U.shape[1])
    return np.abs(by_group[:, 0]) if by_group.shape[1] == 1 else np.sqrt(np.einsum("ij,ij->i", by_group, by_group))


def group_directions(U: np.ndarray, norms: np.ndarray, width: int) -> np.ndarray:
    """Every group divided by its norm; zero where it is zero."""
    factor = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return U * np.repeat(factor, width)[:, None]


def violation(R: np.ndarray, U: np.ndarray, width: int, penalty: float) -> np.ndarray:
    """How far every group is from its condition: not positive for those at zero that meet it."""
    norms = group_norms(U, width)
    if not norms.any():
        return group_norms(R, width) - penalty
    inside = group_norms(R - penalty * group_directions(U, norms, width), width)
    return np.where(norms > 0, inside, group_norms(R, width) - penalty)


class GroupLasso:
    """One such problem, solved from where a similar one ended.

    Parameters
    ----------
    G : ndarray of shape (n_targets, n_columns, n_columns)
        Symmetric, not indefinite.
    C : ndarray of shape (n_columns, n_targets)
    penalty : float
    width : int
        Rows per group.
    """

    def __init__(self, G: np.ndarray, C: np.ndarray, penalty: float, width: int) -> None:
        self.G, self.C, self.penalty, self.width = G, C, penalty, width
        self.damping, self.enough = 0.0, 1e-3  # enough: of the fall that the slope promises
        diagonal = np.einsum("kii->ik", G)
        # the trace of a group's block is at least its largest eigenvalue
        self.curvature = diagonal.reshape(-1, width, C.shape[1]).sum(axis=1).max(axis=1)
        self.least = 1e-13 * max(float(diagonal.max(initial=0.0)), np.finfo(float).tiny)

    def minimize(self, U: np.ndarray, tol: float, max_iter: int = 100) -> np.ndarray:
        """Weights at which no condition is violated by more than ``tol``, or the best that rounding allows."""
        if self.width * U.shape[1] == 1:
            return self._minimize_lasso(U, tol, max_iter)
        U, batch = U.copy(), _FEWEST_ENTERING
        R = self._pull(U)
        for number in range(max_iter):
            excess = violation(R, U, self.width, self.penalty)
            if excess.max(initial=0.0) <= tol:
                break
            waiting = np.flatnonzero((group_norms(U, self.width) == 0) & (excess > tol))
            if waiting.size > batch:
                waiting = waiting[np.argpartition(-excess[waiting], batch)[:batch]]
            self._visit(U, R, np.union1d(waiting, np.flatnonzero(group_norms(U, self.width))))
            self._drop(U, R)
            batch *= 2
            is_bold = number % 4 == 3  # as far as it goes: along groups that are all but copies, damping only crawls
            self.enough, self.damping = (1e-9, 0.0) if is_bold else (1e-3, self.damping)
            if not self._newton(U, R) and not waiting.size and not self._sweep(U, R):
                break  # rounding is all that is left
        return U

    def _drop(self, U: np.ndarray, R: np.ndarray) -> None:
        """Set groups to zero that are best there, the others as they are: Newton's steps only come near to it."""
        groups = np.flatnonzero(group_norms(U, self.width))
        shape = (-1, self.width, U.shape[1])
        rows = groups[:, None] * self.width + np.arange(self.width)
        own = np.einsum("kgij,gjk->gik", self.G[:, rows[:, :, None], rows[:, None, :]], U[rows])
        pull = np.sqrt(np.einsum("gik,gik->g", without := R.reshape(shape)[groups] + own, without))
        for g in groups[pull <= self.penalty].tolist():
            part = slice(g * self.width, (g + 1) * self.width)
            back = np.einsum("kij,jk->ik", self.G[:, :, part], U[part])
            if np.linalg.norm(R[part] + back[part]) <= self.penalty:  # still, where others have gone before
                U[part] = 0.0
                R += back

    def _sweep(self, U: np.ndarray, R: np.ndarray) -> bool:
        """Visit all groups that are not zero, some times; whether that led anywhere."""
        before, apart = self._value(U, R), violation(R, U, self.width, self.penalty).max()
        for _ in range(_FEWEST_ENTERING):
            self._visit(U, R, np.flatnonzero(group_norms(U, self.width)))
        R[:] = self._pull(U)
        is_nearer = violation(R, U, self.width, self.penalty).max() < 0.9 * apart
        return bool(is_nearer) or self._value(U, R) < before - _ROUNDING * abs(before)

    def _minimize_lasso(self, U: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
        """Coordinate descent and Newton's method in turn."""
        for number in range(max_iter):
            if number == 0 and U.any():  # where a similar problem ended, a few weights that enter may be all there is
                U = U.copy()
                R = self._pull(U)
                waiting = np.flatnonzero((U[:, 0] == 0) & (np.abs(R[:, 0]) > self.penalty + tol))
                self._visit(U, R, waiting[:_FEWEST_ENTERING])
            else:
                U = descend_by_coordinates(self.G[0], self.C[:, 0], self.penalty, U[:, 0])[:, None]
                R = self._pull(U)
            if violation(R, U, 1, self.penalty).max(initial=0.0) <= tol:
                break
            # one step is mostly enough; else many, for each stops at the first weight that gets to zero
            for _ in range(1 if number < 5 else 10):
                if not self._newton(U, R) or violation(R, U, 1, self.penalty).max(initial=0.0) <= tol:
                    break
        return U

    def _pull(self, U: np.ndarray) -> np.ndarray:
        return self.C - self._product(U)

    def _product(self, U: np.ndarray) -> np.ndarray:
        if len(self.G) == 1:
            return self.G[0] @ U
        return np.einsum("kij,jk->ik", self.G, U, optimize=True)

    def _value(self, U: np.ndarray, R: np.ndarray) -> float:
        """Objective, from ``R``: u'Gu/2 - c'u = -u'(c + r)/2."""
        return -0.5 * float(np.vdot(U, self.C + R)) + self.penalty * float(group_norms(U, self.width).sum())

    def _visit(self, U: np.ndarray, R: np.ndarray, groups: np.ndarray) -> None:
        """Step every given group towards its own minimum, the others as they are now; R follows."""
        for g in groups.tolist():
            rows, curvature = slice(g * self.width, (g + 1) * self.width), self.curvature[g]
            if curvature <= self.least:  # columns of zeros, pulled by rounding
                continue
            aim = R[rows] + curvature * U[rows]
            size = float(np.sqrt(np.vdot(aim, aim)))
            new = aim * (max(0.0, 1.0 - self.penalty / size) / curvature) if size > 0 else np.zeros_like(aim)
            change = new - U[rows]
            U[rows] = new
            if len(self.G) == 1:
                R -= self.G[0][:, rows] @ change
            else:
                R -= np.einsum("kij,jk->ik", self.G[:, :, rows], change)

    def _newton(self, U: np.ndarray, R: np.ndarray) -> bool:
        """One step over the groups that are not zero; whether it led anywhere."""
        norms = group_norms(U, self.width)
        rows = np.flatnonzero(np.repeat(norms > 0, self.width))
        if not rows.size:
            return False
        unit = group_directions(U, norms, self.width)
        gradient = (R - self.penalty * unit)[rows]
        while not self._try(U, R, rows, unit, norms, gradient):
            if self.width * U.shape[1] == 1 or self.damping >= _MOST_DAMPING:
                return False
            self.damping = max(10.0 * self.damping, _LEAST_DAMPING)
        self.damping = 0.3 * self.damping if self.damping > _LEAST_DAMPING else 0.0
        return True

    def _try(
        self, U: np.ndarray, R: np.ndarray, rows: np.ndarray, unit: np.ndarray, norms: np.ndarray, gradient: np.ndarray
    ) -> bool:
        """Take the better of two ends of a step, if that is enough of what the step promises."""
        step = np.zeros_like(U)
        step[rows] = self._solve(rows, unit[rows], np.repeat(norms, self.width)[rows], gradient)
        before = self._value(U, R)
        # a single weight may have to stop at zero at once, and the next step is another one for it
        promised = 0.0 if self.width * U.shape[1] == 1 else self.enough * float(np.vdot(step[rows], gradient))
        best, arrived = np.inf, None
        for moved in (self._straight(U, step, gradient, rows), self._turn(U, U + step)):
            there = self._pull(moved)
            value = self._value(moved, there)
            is_level = value <= before + _ROUNDING * abs(before)
            if value < best and (value < before - promised or (is_level and self._is_nearer(moved, there, U, R))):
                best, arrived = value, (moved, there)
        if arrived is not None:
            U[:], R[:] = arrived
        return arrived is not None

    def _is_nearer(self, moved: np.ndarray, there: np.ndarray, U: np.ndarray, R: np.ndarray) -> bool:
        """Whether the conditions are violated by half as much: near the minimum, values are equal to rounding."""
        new, old = (violation(*at, self.width, self.penalty).max() for at in ((there, moved), (R, U)))
        return bool(new < 0.5 * old)

    def _turn(self, U: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Where a step leads, with groups that would turn round stopped at zero."""
        moved[np.repeat(group_dots(U, moved, self.width) <= 0, self.width)] = 0.0
        return moved

    def _straight(self, U: np.ndarray, step: np.ndarray, gradient: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The lowest point of the way, at most the whole step: weights that cross zero there are left at zero."""
        start = -float(np.vdot(step[rows], gradient))
        bend = float(np.vdot(step, self._product(step)))
        if self.width * U.shape[1] == 1:
            return _walk(U, step, start, bend, self.penalty)
        norms = group_norms(U, self.width)
        pull = start - self.penalty * float(group_dots(step, group_directions(U, norms, self.width), self.width).sum())

        def slope(t: float) -> float:
            moved = U + t * step
            unit = group_directions(moved, group_norms(moved, self.width), self.width)
            return pull + t * bend + self.penalty * float(np.vdot(step, unit))

        def value(t: float) -> float:
            return t * (pull + 0.5 * t * bend) + self.penalty * float(group_norms(U + t * step, self.width).sum())

        return U + find_rise(slope, value) * step

    def _solve(self, rows: np.ndarray, unit: np.ndarray, norms: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solve with the Hessian over the given rows and all targets."""
        m, n_targets = right.shape
        if n_targets == 1:
            matrix = self.G[0][rows[:, None], rows]
            hessian = matrix.reshape(m, 1, m, 1)
        else:
            hessian = np.zeros((m, n_targets, m, n_targets))
            for k in range(n_targets):
                hessian[:, k, :, k] = self.G[k][rows[:, None], rows]
            matrix = hessian.reshape(m * n_targets, -1)
        if self.width * n_targets > 1:
            self._bend(hessian, unit, norms)
        diagonal = np.arange(len(matrix))
        largest = max(float(matrix[diagonal, diagonal].max()), self.least)
        for ridge in largest * _RIDGES:
            matrix[diagonal, diagonal] += ridge
            _, solution, failed = dposv(matrix, right.ravel())
            if not failed:
                return solution.reshape(right.shape)
        return right / largest

    def _bend(self, hessian: np.ndarray, unit: np.ndarray, norms: np.ndarray) -> None:
        """Add the curvature of the norms, ``(I - uu') / ||U_g||`` in every group.

        Along u there is none, and nowhere else any where columns depend on each other: damping puts some there, so
        that a step is not much longer than the weights are.
        """
        shape = (self.width, unit.shape[1])
        units = unit.reshape(len(unit) // self.width, -1)
        bend = np.eye(units.shape[1]) - (1.0 - self.damping) * units[:, :, None] * units[:, None, :]
        bend *= (self.penalty / norms[:: self.width])[:, None, None]
        every = np.arange(len(units))
        blocks = hessian.reshape(len(units), *shape, len(units), *shape)
        blocks[every, :, :, every] += bend.reshape(-1, *shape, *shape)


def group_dots(U: np.ndarray, V: np.ndarray, width: int) -> np.ndarray:
    """Inner product of two matrices, group by group."""
    size = width * U.shape[1]
    return np.einsum("ij,ij->i", U.reshape(-1, size), V.reshape(-1, size))


def descend_by_coordinates(G: np.ndarray, c: np.ndarray, penalty: float, u: np.ndarray) -> np.ndarray:
    """Some rounds of coordinate descent on a lasso, from ``u``."""
    # the function says by a warning that it has more to do, which is what Newton's method is for; filters of warnings
    # belong to the whole process
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        out = enet_coordinate_descent_gram(
            u.copy(), penalty, 0.0, G, np.ascontiguousarray(c), np.ones(1), _SWEEPS, 1e-12, _UNUSED, False, False, False
        )
    return out[0]


def _walk(U: np.ndarray, step: np.ndarray, start: float, bend: float, penalty: float) -> np.ndarray:
    """Minimize along a step where every weight is a group: the slope jumps where a weight crosses zero."""
    u, d = U[:, 0], step[:, 0]
    crossed = np.flatnonzero(u * (u + d) < 0)
    at = -u[crossed] / d[crossed]
    order = np.argsort(at)
    crossed, at = crossed[order], at[order]
    jumps = 2.0 * penalty * np.cumsum(np.abs(d[crossed]))
    risen = np.flatnonzero(start + at * bend + jumps >= 0)  # just beyond a crossing
    passed = jumps[risen[0] - 1] if risen.size and risen[0] else jumps[-1] if jumps.size and not risen.size else 0.0
    end = at[risen[0]] if risen.size else 1.0
    between = (-start - passed) / bend if bend > 0 else end
    moved = U + min(end, between) * step
    if risen.size and between >= end:
        moved[crossed[risen[0]]] = 0.0
    return moved


def find_rise(slope: Callable[[float], float], value: Callable[[float], float]) -> float:
    """Where, up to 1, a convex function that falls at 0 stops to fall: to a tenth of its first slope, and not above."""
    start, origin = slope(0.0), value(0.0)
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(_LINE_STEPS):
        here = slope(t)
        is_flat = abs(here) <= 0.1 * abs(start) or (t == 1.0 and here <= 0)
        if is_flat and value(t) <= origin + _ROUNDING * abs(origin):
            return t
        low, high = (t, high) if here < 0 else (low, t)
        # where a straight slope would cross zero, unless that is one of the ends
        t = start / (start - here) if t == 1.0 and start < 0 < here else 0.5 * (low + high)
    return low
