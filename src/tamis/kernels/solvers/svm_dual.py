r"""The dual of support vector machines, exactly, by a primal active-set method that is warm-started.

.. math:: \min_v \tfrac12 v^\top (K + \mathrm{diag}(\rho)) v - t^\top v \quad\text{subject to}\quad
          0 \le s_i v_i \le u_i, \qquad \textstyle\sum_i v_i = \tau,

the equality only where there is a free intercept b, its multiplier. With :math:`t = s = y \in \{-1, 1\}^n`,
:math:`\tau = 0` and :math:`v_i = \alpha_i y_i` this is the hinge (:math:`u = C, \rho = 0`) or the squared hinge
(:math:`u = \infty, \rho = 1 / 2C`); without bounds, ridge regression; with :math:`t = \mathrm{diag}(K) / 2` and
:math:`\tau = 1` the smallest enclosing ball.

Let :math:`g = t - (K + \mathrm{diag}(\rho)) v - b` be the negative gradient of the Lagrangian. The KKT conditions are

.. math:: g_i = 0 \ \text{ where } 0 < s_i v_i < u_i, \qquad s_i g_i \le 0 \ \text{ where } s_i v_i = 0, \qquad
          s_i g_i \ge 0 \ \text{ where } s_i v_i = u_i.

Each iteration takes the Newton step over the free variables (those between their bounds) up to the first bound, where
the blocking variable is fixed; at their minimum the variable that violates its condition most is freed. The inverse of
the KKT matrix of the free variables follows, and is downdated when the kernel loses a feature: O(n^2) an iteration,
one or a few from the solution with one more feature.

Of the solvers of the hinge and the squared hinge this is the one for a kernel, or for no more rows than columns, and
the only one for the ball: :mod:`~tamis.kernels.solvers.svm_primal` and
:mod:`~tamis.kernels.solvers.svm_augmented_lagrangian` need explicit columns and factor D x D matrices,
:mod:`~tamis.kernels.solvers.squared_hinge_group_lasso` has a group norm as its penalty.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import daxpy

from tamis.kernels.solvers.gram import DenseGram, Gram
from tamis.kernels.solvers.working_set import SINGULAR_PIVOT, KKTInverse, WorkingSet

_ROUNDING = 4 * float(np.finfo(float).eps)
_ILL_CONDITIONED_PIVOT = 1e-6  # relative to the diagonal: below, a pivot is not zero but has lost most of its digits
_MIN_DECREASE = 1e-6  # of a KKT violation: below, it is not worth freeing a variable with such a pivot
_INDEFINITE_PIVOT = 0.5  # relative to the diagonal: pivots this far below zero are not rounding
_MAX_STALLED = 3  # Newton steps that leave a violation, after which the inverse is computed anew; twice that is the end
_NOT_A_KERNEL = "the kernel matrix is not positive semi-definite on these rows: lower C, or use another kernel"
NOT_SEPARABLE = "the features left do not separate the classes, or hardly, and C is infinite: give a finite C"


@dataclass(frozen=True)
class DualSolution:
    """The end of a search.

    Attributes
    ----------
    dual : ndarray of shape (n,)
        :math:`v`; the weights of a linear model are ``X' v``.
    intercept : float
    free : ndarray of bool
        Variables between their bounds.
    residual : float
        Largest violation of the KKT conditions, in units of the largest target.
    n_iter : int
    converged : bool
    """

    dual: np.ndarray
    intercept: float
    free: np.ndarray
    residual: float
    n_iter: int
    converged: bool


class DualSVM:
    """One dual problem and its solution, which is kept optimal while the kernel loses features.

    Parameters
    ----------
    gram : Gram
        K.
    target : ndarray of shape (n,)
        t.
    signs : ndarray of shape (n,) or None
        s; None for no bounds.
    upper : ndarray of shape (n,)
        u.
    ridge : ndarray of shape (n,)
        :math:`\\rho`.
    total : float or None
        :math:`\\tau`; None for no equality, and an intercept of zero.
    tol : float
        Largest violation of the KKT conditions, in units of the largest target.
    max_iter : int
        Iterations of one :meth:`solve`.

    Attributes
    ----------
    v, kv : ndarray of shape (n,)
        The dual variables and ``K v``.
    b : float
        The intercept.
    kkt_violation : float
        Largest violation of the KKT conditions after the last :meth:`solve`.
    n_iter : int
        Iterations so far.
    """

    def __init__(
        self,
        gram: Gram,
        target: np.ndarray,
        *,
        signs: np.ndarray | None,
        upper: np.ndarray,
        ridge: np.ndarray,
        total: float | None,
        tol: float = 1e-10,
        max_iter: int = 10_000,
    ) -> None:
        self.gram, self.target, self.ridge, self.total = gram, target, ridge, total
        self._is_strictly_convex, self._has_ridge = bool(np.all(ridge > 0)), bool(np.any(ridge))
        self._scale = float(np.abs(target).max()) or 1.0
        self.tol, self.max_iter = tol * self._scale, max_iter
        self.n_iter, self.kkt_violation = 0, np.inf
        self.v, self.kv, self.b = np.zeros(target.size), np.zeros(target.size), 0.0
        self.working_set = WorkingSet(target.size, signs, upper)
        self.inverse = KKTInverse(has_equality=total is not None)
        if signs is not None and total:  # zero is not feasible: the first variable starts with all of the sum
            self.v[0] = total
            self.kv = gram.times(self.v)
            self._free_alone(0)
        else:
            self._invert()

    def copy(self) -> DualSVM:
        """The same problem at the same point; only the kernel matrix is shared."""
        twin = copy(self)
        twin.v, twin.kv = self.v.copy(), self.kv.copy()
        twin.working_set, twin.inverse = self.working_set.copy(), self.inverse.copy()
        return twin

    # The solution, and how good it is.

    def solution(self) -> DualSolution:
        """The point of the last :meth:`solve`."""
        is_free = np.zeros(self.v.size, dtype=bool)
        is_free[self.working_set.free] = True
        return DualSolution(self.v, self.b, is_free, self.residual, self.n_iter, self.converged)

    @property
    def converged(self) -> bool:
        """Whether the KKT conditions hold, to the tolerance or to rounding."""
        return self.is_negligible(self.kkt_violation)

    @property
    def residual(self) -> float:
        """Largest violation of the KKT conditions, in units of the largest target."""
        return self.kkt_violation / self._scale

    @property
    def squared_norm(self) -> float:
        """``v' K v``: the squared norm of a linear model's weights."""
        return float(self.v @ self.kv)

    @property
    def objective(self) -> float:
        """``t'v - v'(K + diag(ridge))v / 2``, which is maximal at the solution."""
        return float(self.target @ self.v - 0.5 * self.v @ (self.kv + self.ridge * self.v))

    def negative_gradient(self) -> np.ndarray:
        """``g = t - K v - ridge v - b``, of the Lagrangian."""
        g = self.target - self.kv
        if self._has_ridge:
            g -= self.ridge * self.v
        g -= self.b
        return g

    def is_negligible(self, violation: float) -> bool:
        """Whether a violation is within the tolerance, or within the rounding error of a gradient entry."""
        return violation <= self.tol or violation <= _ROUNDING * float(
            self.gram.diagonal.max() * np.abs(self.v).sum() + abs(self.b)
        )

    def _free_violation(self, g: np.ndarray) -> float:
        """Violation by the free variables: their largest gradient, and the error of the equality relative to v."""
        free = self.working_set.free
        if not free.size:
            return 0.0
        largest = float(np.abs(g[free]).max())
        if self.total is None:
            return largest
        error = abs(self.total - float(self.v.sum()))
        if error > self.tol:
            error /= max(1.0, float(np.abs(self.v).max()))
        return max(largest, error)

    def violations(self, dual: np.ndarray, products: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Largest violation of the KKT conditions of this working set, in each row of several points.

        ``products`` are those with the kernel matrix of each. A point outside the box violates them infinitely.
        """
        box = self.working_set
        g = self.target - products - self.ridge * dual - intercept[:, None]
        largest = np.where(box.is_at_bound, box.feasible_direction * g, np.abs(g)).max(axis=1)
        if self.total is not None:
            error = np.abs(self.total - dual.sum(axis=1)) / np.maximum(1.0, np.abs(dual).max(axis=1))
            largest = np.maximum(largest, error)
        return np.where(box.contain(dual), largest, np.inf)

    # The active-set method.

    def solve(self) -> None:
        """Iterate until the KKT conditions hold, no further progress is possible, or iterations have run out."""
        n_stalled = 0
        self._mean_diagonal = float(self.gram.diagonal.mean())
        for _ in range(self.max_iter):
            self.n_iter += 1
            g = self.negative_gradient()
            self.kkt_violation = self._free_violation(g)
            if self.is_negligible(self.kkt_violation):
                if not self.working_set.is_bounded or not self._free_most_violating(g):
                    return
                n_stalled = 0
                continue
            n_stalled += 1
            if n_stalled == _MAX_STALLED:  # a Newton step should have ended here: rounding has built up in the inverse
                self.refactorize()
            elif n_stalled == 2 * _MAX_STALLED:
                return
            elif self._newton_step(g):
                n_stalled -= 1  # progress: a variable was fixed at its bound
        self.kkt_violation = max(self._free_violation(g), float((self.working_set.feasible_direction * g).max()))

    def _newton_step(self, g: np.ndarray) -> bool:
        """Step to the minimum over the free variables, or to the first bound; whether one was met."""
        error = 0.0 if self.total is None else self.total - float(self.v.sum())
        return self._step(self.inverse.matrix @ self.inverse.bordered(error, g[self.working_set.free]))

    def _step(self, step: np.ndarray) -> bool:
        """Move intercept and free variables by a step, or as far along it as the box allows; whether a bound was met.

        ``step`` has the layout of the KKT matrix: the intercept first, if there is one.
        """
        free, border = self.working_set.free, self.inverse.border
        direction = step[1:] if border else step
        after = self.v[free] + direction
        if self.working_set.contains(after):  # by far the most frequent case, at the least cost
            self._update_products(free, direction)
            self.v[free] = after
            if border:
                self.b += float(step[0])
            return False
        length, blocking = self.working_set.ratio_test(self.v[free], direction, 1.0)
        self._move(step, length, blocking)
        return blocking >= 0

    def _move(self, direction: np.ndarray, length: float, blocking: int) -> None:
        """Move intercept and free variables along a direction; the blocking variable is fixed at the bound it meets."""
        if not math.isfinite(length):
            raise ValueError(NOT_SEPARABLE)
        free, border = self.working_set.free, self.inverse.border
        before = self.v[free]
        change = direction[border:] * length
        if blocking >= 0:
            at_upper = self.working_set.is_rising(blocking, direction[border + blocking])
            bound = self.working_set.bound(int(free[blocking]), at_upper=at_upper)
            change[blocking] = bound - before[blocking]
        self._update_products(free, change)
        self.v[free] = before + change
        if border:
            self.b += length * float(direction[0])
        if blocking >= 0:
            self.v[free[blocking]] = bound  # exactly, whatever the sum above was rounded to
            self.working_set.delete(blocking, at_upper=at_upper)
            self.inverse.delete(blocking)

    def _update_products(self, rows: np.ndarray | int, change: np.ndarray | float) -> None:
        """``K v`` after a change of some variables."""
        full = np.zeros(self.v.size)
        full[rows] = change
        self.kv += self.gram.times(full)

    # Changes of the working set.

    def _invert(self) -> bool:
        """Invert the KKT matrix of the free variables anew; False where that is inaccurate."""
        free = self.working_set.free
        block = self.gram.block(free)
        diagonal = np.arange(free.size)
        block[diagonal, diagonal] += self.ridge[free]
        return self.inverse.refactorize(block)

    def _free_most_violating(self, g: np.ndarray) -> bool:
        """Free the variable at a bound that violates the KKT conditions most; False if none does."""
        if self.inverse.border and not self.working_set.free.size:
            return self._free_violating_pair()
        violation = self.working_set.feasible_direction * g
        j = int(violation.argmax())
        largest = float(violation[j])
        if self.is_negligible(largest) or self._is_ill_conditioned(j, largest):
            self.kkt_violation = max(self.kkt_violation, largest)
            return False
        self._free(j, float(g[j]))
        return True

    def _free_violating_pair(self) -> bool:
        """Free the maximal violating pair; False if there is none.

        With an equality and no free variable a variable can only move together with another one.
        """
        gradient = self.target - self.kv - self.ridge * self.v  # negative, of the objective: the multiplier is unknown
        can_increase = self.working_set.feasible_direction > 0
        i = int(np.where(can_increase, gradient, -np.inf).argmax())
        j = int(np.where(can_increase, np.inf, gradient).argmin())
        gap = float(gradient[i] - gradient[j])
        self.b = float(gradient[j])
        if self.is_negligible(gap):
            self.b += 0.5 * gap
            self.kkt_violation = max(0.0, gap)
            return False
        self._free_alone(j)
        self._free(i, gap)
        return True

    def _is_ill_conditioned(self, j: int, violation: float) -> bool:
        """Whether freeing a variable gains little and makes the KKT matrix so ill-conditioned that rounding decides."""
        free = self.working_set.free
        if self._is_strictly_convex or not free.size or violation > _MIN_DECREASE * self._scale:
            return False
        column = self.inverse.bordered(1.0, self.gram.column(free, j))
        pivot = self.gram.diagonal[j] - float(column @ (self.inverse.matrix @ column))
        return bool(SINGULAR_PIVOT < pivot / self.gram.diagonal.max() < _ILL_CONDITIONED_PIVOT)

    def _free_alone(self, j: int) -> None:
        """Make a variable the only free one."""
        self.working_set.replace(np.empty(0, dtype=np.int64))
        self.working_set.append(j)
        self._invert()

    def _free(self, j: int, slope: float) -> None:
        """Append variable ``j``, which wants to move in the direction of ``slope``, to the free ones.

        Where its column depends linearly on theirs there is a direction without curvature: all move along it until one
        of the free variables meets a bound and makes room, or variable ``j`` meets its other bound.
        """
        diagonal = float(self.gram.diagonal[j] + self.ridge[j])
        singular = SINGULAR_PIVOT * max(diagonal, self._mean_diagonal)
        is_fresh = False
        while True:
            column = self.inverse.bordered(1.0, self.gram.column(self.working_set.free, j))
            solved = self.inverse.matrix @ column
            pivot = diagonal - float(column @ solved)
            if self._is_strictly_convex and pivot < -_INDEFINITE_PIVOT * abs(diagonal):
                if is_fresh:
                    raise ValueError(_NOT_A_KERNEL)
                is_fresh = True
                self._invert()  # updates may have lost the inverse to rounding
                continue
            if self._is_strictly_convex or pivot > singular:
                break
            if self._exchange(j, 1.0 if slope > 0 else -1.0, solved):
                return
            if not self.working_set.free.size:
                self._free_alone(j)
                return
        self.inverse.append(solved, max(pivot, float(self.ridge[j])))
        self.working_set.append(j)

    def _exchange(self, j: int, direction: float, solved: np.ndarray) -> bool:
        """Move variable ``j``, and the free ones so that their gradients stay zero; whether ``j`` met its other bound.

        ``solved`` is the inverse KKT matrix times the column of ``j``.
        """
        box, before = self.working_set, float(self.v[j])
        at_upper = bool(direction * box.signs[j] > 0)
        to_bound = abs(box.bound(j, at_upper=at_upper) - before)
        length, blocking = box.ratio_test(self.v[box.free], -direction * solved[self.inverse.border :], to_bound)
        self._move(-direction * solved, length, blocking)
        if blocking < 0:
            box.fix(j, at_upper=at_upper)
            self.v[j] = box.bound(j, at_upper=at_upper)
        else:
            self.v[j] = before + direction * length
        self._update_products(j, self.v[j] - before)
        return blocking < 0

    # Changes of the kernel matrix.

    def refactorize(self) -> None:
        """Follow any change of the kernel matrix: products and inverse are computed anew, the point stays."""
        self.kv = self.gram.times(self.v)
        self._mean_diagonal = float(self.gram.diagonal.mean())
        if self._invert() or self._is_strictly_convex:
            return
        # Some of the free variables have become linearly dependent: free them one by one, the dependent ones going to
        # a bound.
        free = self.working_set.free
        self.working_set.replace(np.empty(0, dtype=np.int64))
        self._invert()
        for j in free.tolist():
            if self.inverse.border and not self.working_set.free.size:
                self._free_alone(j)
            else:
                self._free(j, float(self.negative_gradient()[j]))

    def downdate(self, column: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``column column'``, a feature, and take the first Newton step."""
        weight = float(column @ self.v)
        self.kv = daxpy(column, self.kv, a=-weight)
        while self.working_set.free.size:
            free_column = self.inverse.bordered(0.0, column[self.working_set.free])
            solved = self.inverse.matrix @ free_column
            pivot = 1.0 - float(free_column @ solved)
            if pivot > SINGULAR_PIVOT:
                break
            if self._is_strictly_convex:  # an inverse exists, and is only lost to rounding
                self.refactorize()
                return
            # Without the feature the free variables are linearly dependent: fix one of them at a bound.
            self._move_to_bound(solved if weight >= 0 else -solved)
        else:
            return
        if self.inverse.downdate(solved, pivot):
            self._step(solved * (weight / pivot))  # the gradient of the free variables is now weight * column
        else:
            self.refactorize()

    def downdate_many(self, columns: np.ndarray) -> None:
        """Follow a kernel matrix that has just lost ``columns' columns``, one row of ``columns`` per feature."""
        free = self.working_set.free
        if 3 * len(columns) > free.size or not self.inverse.downdate_many(columns[:, free]):
            self.refactorize()
            return
        self.kv -= (columns @ self.v) @ columns

    def _move_to_bound(self, direction: np.ndarray) -> None:
        """Move along a direction without curvature, or against it, until a free variable meets a bound."""
        free = self.working_set.free
        for way in (direction, -direction):
            length, blocking = self.working_set.ratio_test(self.v[free], way[self.inverse.border :], np.inf)
            if blocking >= 0:
                self._move(way, length, blocking)
                return
        raise ValueError(NOT_SEPARABLE)


def solve_dual(
    K: np.ndarray,
    target: np.ndarray,
    *,
    signs: np.ndarray | None,
    upper: np.ndarray | float,
    ridge: np.ndarray | float,
    total: float | None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> DualSolution:
    """Solve one problem from a cold start; arguments as for :class:`DualSVM`, scalars standing for equal entries."""
    svm = DualSVM(
        DenseGram(np.asarray(K, dtype=float)),
        np.asarray(target, dtype=float),
        signs=signs,
        upper=np.broadcast_to(np.asarray(upper, dtype=float), target.shape),
        ridge=np.broadcast_to(np.asarray(ridge, dtype=float), target.shape),
        total=total,
        tol=tol,
        max_iter=max_iter,
    )
    svm.solve()
    return svm.solution()
