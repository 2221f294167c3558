r"""Support vector machines in the dual, exactly, from a start that is nearly right.

.. math:: \min_v \tfrac12 v^\top (K + \mathrm{diag}(\rho)) v - t^\top v \quad\text{subject to}\quad
          0 \le s_i v_i \le u_i, \qquad \textstyle\sum_i v_i = \tau,

the equality only where there is a free intercept, its multiplier. With :math:`t = s = y \in \{-1, 1\}^n`,
:math:`\tau = 0` and :math:`v_i = \alpha_i y_i` this is the hinge (:math:`u = C, \rho = 0`) or the squared hinge
(:math:`u = \infty, \rho = 1 / 2C`); without bounds, ridge regression; with :math:`t = \mathrm{diag}(K) / 2` and
:math:`\tau = 1` the smallest enclosing ball. Optimal is what leaves :math:`r = t - Kv - \rho v - b` zero where a
variable is between its bounds, and nowhere pointing off a bound.

A primal active-set method: variables between their bounds are free, the inverse of their system is kept, bordered when
one enters, shrunk when one leaves and down-dated when a feature goes. A step costs :math:`O(n^2)`; from the machine
with one more feature it takes one step, or a few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import daxpy

from tamis.kernels.solvers.gram import DenseGram, Gram, add_square

_SINGULAR = 1e-10  # pivots this small, relative to the diagonal, belong to dependent variables
_AGE = 64  # down-dates after which the inverse is computed anew
_WRONG = 1e-5  # entries of system times inverse may differ from the identity by so much
_ROUNDING = 4 * float(np.finfo(float).eps)
_BLURRED = 1e-6  # pivots below this can be told from zero, but not used for small steps:
_FAINT = 1e-6  # those that take less than this off a violation
_INDEFINITE = 0.5  # pivots this far below zero are no rounding
_LOWER, _FREE, _UPPER = 0, 1, 2
_NO_KERNEL = "the kernel matrix is not positive semi-definite on these rows: lower C, or use another kernel"
NOT_SEPARABLE = "the features left do not separate the classes, or hardly, and C is infinite: give a finite C"


@dataclass(frozen=True)
class DualSolution:
    """Where a machine came to rest.

    Attributes
    ----------
    dual : ndarray of shape (n,)
        :math:`v`; a linear machine's weights are ``X' v``.
    intercept : float
    free : ndarray of bool
        Variables between their bounds.
    residual : float
        Largest violation of optimality, in units of the largest target.
    n_iter : int
    converged : bool
    """

    dual: np.ndarray
    intercept: float
    free: np.ndarray
    residual: float
    n_iter: int
    converged: bool


class DualMachine:
    """One machine, kept optimal while its matrix loses features.

    Parameters
    ----------
    gram : Gram
    target : ndarray of shape (n,)
    signs : ndarray of shape (n,) or None
        None: no bounds.
    upper : ndarray of shape (n,)
    ridge : ndarray of shape (n,)
    total : float or None
        None: no equality, and an intercept of zero.
    tol : float
        Largest violation of optimality, in units of the largest target.
    max_iter : int
        Steps of one :meth:`solve`.
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
        self.bounded, self.capped = signs is not None, bool(np.any(np.isfinite(upper)))
        self.curved, self.flat = bool(np.all(ridge > 0)), not np.any(ridge)
        self.signs = np.ones(target.size) if signs is None else signs
        self.upper, self._least_upper = upper, float(upper.min())
        self.unit = float(np.abs(target).max()) or 1.0
        self.tol, self.max_iter = tol * self.unit, max_iter
        self.n_iter = 0
        self.start_cold()

    @property
    def _offset(self) -> int:
        """Place of the first free variable in the system: after the intercept, if there is one."""
        return 0 if self.total is None else 1

    def start_cold(self) -> None:
        """Forget everything: nothing is free, and all is at its lower bound."""
        n = self.target.size
        self.v, self.kv, self.b = np.zeros(n), np.zeros(n), 0.0
        self.status = np.full(n, _LOWER if self.bounded else _FREE, dtype=np.int8)
        self.way_off = self.signs * self.bounded
        self._set_free(np.arange(0 if self.bounded else n))
        self.inverse: np.ndarray
        if self.bounded and self.total:  # feasible: one variable holds it all
            self.v[0] = self.total
            self.kv = self.gram.times(self.v)
            self._free_alone(0)
        else:
            self.refactor()

    def _set_free(self, rows: np.ndarray) -> None:
        """Which variables are free, in the order of the system, with what is asked of them at every step."""
        self.free, self._free_signs, self._free_upper = rows, self.signs[rows], self.upper[rows]

    def _system_vector(self, first: float, values: np.ndarray) -> np.ndarray:
        """Entries of the free variables, after that of the intercept if there is one."""
        if self.total is None:
            return values
        vector = np.empty(values.size + 1)
        vector[0], vector[1:] = first, values
        return vector

    def refactor(self) -> bool:
        """Invert the system of the free variables anew; False if that could not be done well."""
        self._age = 0
        k, e = self.free.size, self._offset
        system = np.zeros((k + e, k + e))
        system[e:, e:] = self.gram.block(self.free)
        system[np.arange(e, k + e), np.arange(e, k + e)] += self.ridge[self.free]
        system[:e, e:] = system[e:, :e] = 1.0
        self.inverse = np.zeros((e, e))
        if not k:
            return True
        try:
            self.inverse = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            self.inverse = np.linalg.pinv(system, hermitian=True)
        return bool(np.abs(system @ self.inverse - np.eye(k + e)).max() < _WRONG)

    def rebase(self) -> None:
        """Take note that the matrix is another one: start from the solution of the old one, if that can be done."""
        self.kv = self.gram.times(self.v)
        if not self.refactor() and not self.curved:
            self._free_one_by_one(self.free)

    def _free_one_by_one(self, rows: np.ndarray) -> None:
        """Free variables between their bounds that depend on each other: those that cannot be go to a bound."""
        self._set_free(np.empty(0, dtype=np.int64))
        self.refactor()
        for j in rows.tolist():
            if self.total is not None and not self.free.size:
                self._free_alone(j)
            else:
                self._border(j, float(self.residuals()[j]))

    def forget(self, column: np.ndarray) -> None:
        """Take note that the matrix has just lost ``column column'``: a feature that was removed."""
        weight = float(column @ self.v)
        self.kv = daxpy(column, self.kv, a=-weight)
        while self.free.size:
            with_free = self._system_vector(0.0, column[self.free])
            u = self.inverse @ with_free
            left = 1.0 - float(with_free @ u)
            if left > _SINGULAR:
                break
            if self.curved:  # it has an inverse, which only rounding denies
                self.rebase()
                return
            # without the feature the free variables depend on each other: one makes room
            self._flatten(u if weight >= 0 else -u)
        else:
            return
        self._age += 1
        if self._age >= _AGE:
            self.rebase()
            return
        add_square(self.inverse, u, 1.0 / left)
        self._step(u * (weight / left))  # Newton's: what the free variables now lack is the weight times the column

    def forget_many(self, columns: np.ndarray) -> None:
        """Take note that the matrix has just lost ``columns' columns``, one row of ``columns`` per feature."""
        if 3 * len(columns) > self.free.size:
            self.rebase()
            return
        with_free = columns[:, self.free]
        if self._offset:
            with_free = np.pad(with_free, ((0, 0), (1, 0)))
        across = with_free @ self.inverse
        left = np.eye(len(columns)) - across @ with_free.T
        try:
            factor = cholesky(left, lower=True)
        except np.linalg.LinAlgError:
            factor = np.zeros((1, 1))
        if factor.diagonal().min() ** 2 <= _SINGULAR:
            self.rebase()
            return
        self.kv -= (columns @ self.v) @ columns
        half = solve_triangular(factor, across, lower=True)
        self.inverse += half.T @ half
        self._age += 1
        if self._age >= _AGE:
            self.rebase()

    def _flatten(self, direction: np.ndarray) -> None:
        """Go along a direction without curvature, or against it, until a free variable comes to a bound."""
        for move in (direction, -direction):
            length, blocked = self._reach(move[self._offset :], np.inf)
            if blocked >= 0:
                return self._slide(move, length, blocked)
        raise ValueError(NOT_SEPARABLE)

    def solution(self) -> DualSolution:
        """What has been found."""
        return DualSolution(self.v, self.b, self.status == _FREE, self.residual, self.n_iter, self.converged)

    @property
    def converged(self) -> bool:
        """Whether the last :meth:`solve` came to its end."""
        return self.worst <= self.tol or self.worst <= self._rounding()

    def _rounding(self) -> float:
        """What is left of a residual that is zero but for rounding."""
        return _ROUNDING * float(self.gram.diagonal.max() * np.abs(self.v).sum() + abs(self.b))

    @property
    def residual(self) -> float:
        """Largest violation of optimality of the last solution, in units of the largest target."""
        return self.worst / self.unit

    @property
    def squared_norm(self) -> float:
        """``v' K v``: the squared norm of a linear machine's weights."""
        return float(self.v @ self.kv)

    def residuals(self) -> np.ndarray:
        """``t - K v - ridge v - b``."""
        r = self.target - self.kv
        if not self.flat:
            r -= self.ridge * self.v
        r -= self.b
        return r

    def _set_status(self, row: int, status: int) -> None:
        """Note where a variable is, and in which direction it may leave: up or down, or not at all as it is free."""
        self.status[row] = status
        self.way_off[row] = 0.0 if status == _FREE else self.signs[row] if status == _LOWER else -self.signs[row]

    def solve(self) -> None:
        """Steps until optimal, or as many as are allowed; ``worst`` is then the largest violation."""
        stalled = 0
        for _ in range(self.max_iter):
            self.n_iter += 1
            r = self.residuals()
            self.worst = self._inner_violation(r)
            if self.worst > self.tol and self.worst > self._rounding():
                stalled += 1
                if stalled == 3:  # rounding has piled up
                    self.rebase()
                    continue
                if stalled == 6:
                    return
                if self._advance(r[self.free]):
                    stalled -= 1  # a bound was hit: its variable is no longer free
                continue
            if not self.bounded or not self._enter(r):
                return
            stalled = 0
        self.worst = max(self._inner_violation(r), float((self.way_off * r).max()))

    def _inner_violation(self, r: np.ndarray) -> float:
        """Largest residual of a free variable, or by how much all miss their total, in units of the largest or one."""
        if not self.free.size:
            return 0.0
        inside = float(np.abs(r[self.free]).max())
        if self.total is None:
            return inside
        missing = abs(self.total - float(self.v.sum()))
        if missing > self.tol:
            missing /= max(1.0, float(np.abs(self.v).max()))
        return max(inside, missing)

    def _advance(self, r: np.ndarray) -> bool:
        """Go to the minimum over the free variables, or to the first bound on the way; whether there was one."""
        missing = 0.0 if self.total is None else self.total - float(self.v.sum())
        return self._step(self.inverse @ self._system_vector(missing, r))

    def _step(self, move: np.ndarray) -> bool:
        """Make a step, or as much of it as bounds allow; whether one was hit."""
        along = move[1:] if self._offset else move
        after = self.v[self.free] + along
        if not self.bounded or self._are_inside(self._free_signs * after):  # the usual case: nothing is in the way
            self._shift(along)
            self.v[self.free] = after
            if self._offset:
                self.b += float(move[0])
            return False
        length, blocked = self._reach(along, 1.0)
        self._slide(move, length, blocked)
        return blocked >= 0

    def _are_inside(self, values: np.ndarray) -> bool:
        """Whether free variables, times their signs, are between their bounds."""
        if values.min() < 0:
            return False
        return not self.capped or bool(values.max() <= self._least_upper or (values <= self._free_upper).all())

    def _shift(self, by: np.ndarray) -> None:
        """Follow a change of the free variables with the products."""
        change = np.zeros(self.v.size)
        change[self.free] = by
        self.kv += self.gram.times(change)

    def _reach(self, along: np.ndarray, most: float) -> tuple[float, int]:
        """How far the free variables may go, ``most`` at most, and which of them is in the way, -1 if none."""
        if not self.free.size:
            return most, -1
        inside, speed = self._free_signs * self.v[self.free], self._free_signs * along
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(speed < 0, inside / -speed, (self._free_upper - inside) / speed)
        room[speed == 0] = np.inf
        blocked = int(room.argmin())
        return (most, -1) if room[blocked] >= most else (max(float(room[blocked]), 0.0), blocked)

    def _slide(self, move: np.ndarray, length: float, blocked: int) -> None:
        """Move intercept and free variables; the one that is blocked comes to rest at its bound."""
        if not math.isfinite(length):
            raise ValueError(NOT_SEPARABLE)
        before = self.v[self.free]
        by = move[self._offset :] * length
        if blocked >= 0:
            rising = self._free_signs[blocked] * move[self._offset + blocked] > 0
            bound = self._free_signs[blocked] * self._free_upper[blocked] if rising else 0.0
            by[blocked] = bound - before[blocked]
        self._shift(by)
        self.v[self.free] = before + by
        if self._offset:
            self.b += length * float(move[0])
        if blocked >= 0:
            self.v[self.free[blocked]] = bound
            self._leave(blocked, _UPPER if rising else _LOWER)

    def _leave(self, place: int, bound: int) -> None:
        """Fix a free variable at a bound; the inverse loses its row and column."""
        self._set_status(int(self.free[place]), bound)
        self._set_free(np.delete(self.free, place))
        if not self.free.size:
            self.inverse = np.zeros((self._offset, self._offset))
            return
        at = place + self._offset
        kept = np.delete(np.arange(len(self.inverse)), at)
        across = self.inverse[kept, at]
        self.inverse = self.inverse[np.ix_(kept, kept)] - across[:, None] * (across / self.inverse[at, at])

    def _enter(self, r: np.ndarray) -> bool:
        """Free the variable that violates its bound most; False if none does."""
        if self._offset and not self.free.size:
            return self._enter_pair()
        wish = self.way_off * r  # how much each variable at a bound wants to leave it
        j = int(wish.argmax())
        if wish[j] <= self.tol or wish[j] <= self._rounding():
            self.worst = max(self.worst if self.free.size else 0.0, float(wish[j]))
            return False
        if self._is_blurred(j, float(wish[j])):
            self.worst = max(self.worst if self.free.size else 0.0, float(wish[j]))
            return False
        self._border(j, float(r[j]))
        return True

    def _is_blurred(self, j: int, wish: float) -> bool:
        """Whether a variable wants to move so little, and depends so much on the free ones, that rounding decides."""
        if self.curved or not self.free.size or wish > _FAINT * self.unit:
            return False
        with_free = self._system_vector(1.0, self.gram.column(self.free, j))
        pivot = self.gram.diagonal[j] - float(with_free @ (self.inverse @ with_free))
        return bool(_SINGULAR < pivot / self.gram.diagonal.max() < _BLURRED)

    def _enter_pair(self) -> bool:
        """With nothing free a variable can only move with another one; False if no pair wants to."""
        i, j, gap = self._widest_pair()
        pull = self.target - self.kv - self.ridge * self.v
        self.b = float(pull[j])
        if gap <= self.tol or gap <= self._rounding():
            self.b += 0.5 * gap
            self.worst = max(0.0, gap)
            return False
        self._free_alone(j)
        self._border(i, gap)
        return True

    def _free_alone(self, j: int) -> None:
        self._set_status(j, _FREE)
        self._set_free(np.array([j]))
        self.refactor()

    def _widest_pair(self) -> tuple[int, int, float]:
        """The pair of variables at bounds whose exchange lowers the objective most, and by which slope."""
        pull = self.target - self.kv - self.ridge * self.v
        may_rise = (self.status == _LOWER) == (self.signs > 0)
        i = int(np.where(may_rise, pull, -np.inf).argmax())
        j = int(np.where(may_rise, np.inf, pull).argmin())
        return i, j, float(pull[i] - pull[j])

    def _border(self, j: int, slope: float) -> None:
        """Free variable ``j``; where it depends on the free ones, one of them makes room first."""
        diagonal = float(self.gram.diagonal[j] + self.ridge[j])
        singular = _SINGULAR * max(diagonal, float(self.gram.diagonal.mean()))
        while True:
            with_free = self._system_vector(1.0, self.gram.column(self.free, j))
            u = self.inverse @ with_free
            pivot = diagonal - float(with_free @ u)
            if self.curved and pivot < -_INDEFINITE * abs(diagonal):
                raise ValueError(_NO_KERNEL)
            if self.curved or pivot > singular:
                pivot = max(pivot, float(self.ridge[j]))
                break
            toward = 1.0 if slope > 0 else -1.0
            length, blocked = self._reach(-toward * u[self._offset :], self._room(j, toward))
            self._slide_with(j, toward, u, length, blocked)
            if blocked < 0:
                return  # it has gone from one bound to the other
            if not self.free.size:
                self._free_alone(j)
                return
        k = u.size
        grown = np.empty((k + 1, k + 1))
        np.multiply(u[:, None], u / pivot, out=grown[:k, :k])
        grown[:k, :k] += self.inverse
        grown[:k, k] = grown[k, :k] = -u / pivot
        grown[k, k] = 1.0 / pivot
        self.inverse = grown
        self._set_free(np.append(self.free, j))
        self._set_status(j, _FREE)

    def _room(self, j: int, toward: float) -> float:
        """How far one variable may go."""
        inside = float(self.signs[j] * self.v[j])
        return float(self.upper[j]) - inside if toward * self.signs[j] > 0 else inside

    def _slide_with(self, j: int, toward: float, u: np.ndarray, length: float, blocked: int) -> None:
        """Move variable ``j``, and the free ones so that nothing else changes for them."""
        self._slide(-toward * u, length, blocked)
        before = self.v[j]
        self.v[j] = before + toward * length
        if blocked < 0:
            rising = toward * self.signs[j] > 0
            self._set_status(j, _UPPER if rising else _LOWER)
            self.v[j] = self.signs[j] * self.upper[j] if rising else 0.0
        change = np.zeros(self.v.size)
        change[j] = self.v[j] - before
        self.kv += self.gram.times(change)


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
    """Solve one problem from nothing; arguments as for :class:`DualMachine`, scalars standing for equal entries."""
    machine = DualMachine(
        DenseGram(np.asarray(K, dtype=float)),
        np.asarray(target, dtype=float),
        signs=signs,
        upper=np.broadcast_to(np.asarray(upper, dtype=float), target.shape),
        ridge=np.broadcast_to(np.asarray(ridge, dtype=float), target.shape),
        total=total,
        tol=tol,
        max_iter=max_iter,
    )
    machine.solve()
    return machine.solution()
