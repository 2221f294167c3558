r"""Minima of a convex loss with a sparsity penalty, along a decreasing sequence of penalties.

.. math:: F_\alpha(w, b) = \sum_i p_i L(z_i^\top w + b, y_i)
          + \alpha \Bigl( \rho_1 \Omega(w) + \tfrac{\rho_2}{2} \|w\|^2 \Bigr), \qquad \sum_i p_i = 1,

with the penalties of :mod:`tamis.kernels.solvers.sparsity_penalty`, over the columns z of a table, centered (which the
intercept makes up for) and scaled. With :math:`g_j = \sum_i p_i L'_i z_{ij}`, (w, b) is a minimum where -g meets the
KKT conditions given there and :math:`\sum_i p_i L'_i = 0`. A dual point is :math:`\theta_i = \zeta L'_i`: by Fenchel's
duality the minimum is at least

.. math:: -\sum_i p_i L^*(\theta_i, y_i) - h^*(-Z^\top p\,\theta), \qquad
          h = \alpha(\rho_1\Omega + \tfrac{\rho_2}{2}\|.\|^2),

where without the quadratic term :math:`\zeta \le 1` is the largest factor that makes the last term zero.

The solver works on a set of columns that grows. Over it, a squared loss is a quadratic in the columns' Gram matrix, and
any other is minimized by proximal Newton steps. Several penalties are solved one after the other before the gradients
of all columns are computed for all of them in one product, so that a pass over the table serves several penalties;
the first penalty at which a column outside violates its condition is solved again with that column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.columns import Columns
from tamis.kernels.solvers.losses import LOSSES, Loss
from tamis.kernels.solvers.sparse_quadratic import minimize_quadratic
from tamis.kernels.solvers.sparsity_penalty import SparsityPenalty

_MOST_AT_ONCE = 16  # penalties between two passes over the table
_MOST_GRADIENTS = 2**24  # entries: 128 MB
_FIRST_GROUPS = 50  # of the working set, besides 1.5 times as many as are active
_NEWTON_STEPS = 100
_HALVINGS = 40
_SUFFICIENT_DECREASE = 1e-4  # share of the decrease that the slope promises (Armijo's condition)
_STEP_RATIO = 0.5  # between neighbors of the decreasing sequence that leads to a single penalty
_SMALL_ALPHA = 1e3  # times smaller than the largest: from there on tolerances shrink with alpha
_ROUNDING = 1e-15  # of a gradient, relative to what a column and the residual without features could give
_NOTHING = 1e-13  # gradient that rounding alone explains, relative to what a column and the residual could give


@dataclass(frozen=True)
class PathPoint:
    """The minimum at one penalty.

    Attributes
    ----------
    alpha : float
    active : ndarray of int
        Columns with a weight that is not zero, ascending.
    weights : ndarray of shape (n_active,)
        Of the centered and scaled columns.
    intercept : float
    loss, objective : float
        Mean loss, and F.
    kkt : float
        Largest violation of the conditions over all columns, in units of the gradient.
    gap : float
        Difference of F and the dual objective: how far F is, at most, from its minimum.
    """

    alpha: float
    active: np.ndarray
    weights: np.ndarray
    intercept: float
    loss: float
    objective: float
    kkt: float
    gap: float


@dataclass(frozen=True)
class _State:
    """Weights of the working set, the intercept, and what follows from them."""

    w: np.ndarray
    b: float
    outputs: np.ndarray
    derivative: np.ndarray


class PenalizedPath:
    """One target: its loss, its columns, and the penalty's groups.

    Parameters
    ----------
    columns : Columns
        In double precision; their row weights are those of the loss. Without an intercept they are centered already,
        as compressed rows are: that of the minimum is then zero. Of these there may be fewer than ``columns.total``.
    y : ndarray of shape (n_samples,)
    loss : Loss
    scale : ndarray of shape (n_columns,)
        Factor of every column; zero leaves it out.
    members : sequence of ndarray or None
        Columns of every group; None is every column by itself.
    l1_ratio : float
        :math:`\\tau` of the penalty.
    group_weights : ndarray or None
        :math:`\\omega`; None is one.
    sparse_share, ridge_share : float
        :math:`\\rho_1` and :math:`\\rho_2`.
    bound : float
        Largest absolute weight.
    tol : float
        Largest violation of the conditions, relative to ``alpha_max``, or to 1000 alpha where that is less.

    Attributes
    ----------
    alpha_max : float
        The smallest alpha at which all weights are zero.
    null_loss : float
        Mean loss there.

    Notes
    -----
    Cost of a path: one product of the table with as many vectors per 16 penalties, at best; O(n k^2) once for the Gram
    matrix of k columns (a squared loss), or at every Newton step (others), and O(s^3) per penalty for s active weights.
    """

    def __init__(
        self,
        columns: Columns,
        y: np.ndarray,
        loss: Loss,
        scale: np.ndarray,
        *,
        members: Sequence[np.ndarray] | None = None,
        l1_ratio: float = 1.0,
        group_weights: np.ndarray | None = None,
        sparse_share: float = 1.0,
        ridge_share: float = 0.0,
        bound: float = np.inf,
        tol: float = 1e-8,
    ) -> None:
        self.columns, self.y, self.loss = columns, y, loss
        self._sqrt_p = columns.sqrt_weight / np.sqrt(columns.total)
        self._p = self._sqrt_p**2
        self._order = np.arange(columns.n_candidates) if members is None else np.concatenate(members)
        sizes = np.ones(self._order.size, dtype=int) if members is None else np.array([len(m) for m in members])
        self._scale = scale[self._order]
        self.sparse_share, self.ridge_share = sparse_share, ridge_share
        self.penalty = SparsityPenalty(
            0.0,
            np.cumsum(sizes) - sizes,
            self._order.size,
            l1_ratio=l1_ratio,
            group_weights=group_weights,
            bound=bound,
        )
        self._is_quadratic = loss is LOSSES["squared"]
        self._groups = np.empty(0, dtype=int)  # the working set
        self._is_working = np.zeros(sizes.size, dtype=bool)
        self._A = np.empty((64, y.size))  # columns of the working set, one per row, times the root of p
        self._gram = np.empty((0, 0))
        self._Ay = np.empty(0)
        b = best_shift(loss, self._p, y, np.zeros(y.size), float(self._p @ y)) if columns.fit_intercept else 0.0
        self._state = self._evaluate(np.empty(0), b)
        gradient = self._gradients([self._state])[:, 0]
        norms = self.penalty.dual_norms(gradient)
        size = np.sqrt(columns.norm2[self._order] / columns.total) * self._scale
        possible = float(size.max(initial=0.0) * np.sqrt(self._p @ self._state.derivative**2))
        largest = float(norms.max(initial=0.0)) / sparse_share
        self.alpha_max = largest if largest > _NOTHING * possible else 0.0
        self._rounding = _ROUNDING * possible
        self._tol, self._relative_tol = tol * (self.alpha_max or possible or 1.0), tol
        self.null_loss = self._mean_loss(self._state.outputs)
        self._extend(self._most_correlated(norms))

    # what the working set holds

    @property
    def _rows(self) -> np.ndarray:
        return self._A[: self._state.w.size]

    def _most_correlated(self, norms: np.ndarray) -> np.ndarray:
        """Groups that are likely to become active next, by the dual norm of their gradients."""
        n_active = int(np.count_nonzero(self._working_penalty().group_norms(self._state.w)))
        count = min(norms.size, _FIRST_GROUPS + n_active + n_active // 2)
        nearest = np.argpartition(-norms, count - 1)[:count]
        return np.sort(nearest[~self._is_working[nearest] & (norms[nearest] > 0)])

    def _working_penalty(self) -> SparsityPenalty:
        return self.penalty.restrict_to(self._groups)

    def _penalty_at(self, alpha: float, groups: np.ndarray) -> SparsityPenalty:
        return self.penalty.restrict_to(groups).at(alpha * self.sparse_share, alpha * self.ridge_share)

    def _extend(self, groups: np.ndarray) -> None:
        """Append groups to the working set, at weight zero."""
        if not groups.size:
            return
        places = self.penalty.columns_of(groups)
        new = (self.columns.columns(self._order[places]) * (self._scale[places] / np.sqrt(self.columns.total))).T
        old = self._state.w.size
        total = old + places.size
        if total > len(self._A):
            grown = np.empty((max(total, 2 * len(self._A)), self.y.size))
            grown[:old] = self._A[:old]
            self._A = grown
        self._A[old:total] = new
        self._groups = np.concatenate([self._groups, groups])
        self._is_working[groups] = True
        if self._is_quadratic:
            gram = np.empty((total, total))
            cross = self._A[:total] @ new.T
            gram[:old, :old], gram[:, old:], gram[old:, :] = self._gram, cross, cross.T
            self._gram = gram
            self._Ay = np.concatenate([self._Ay, new @ (self._sqrt_p * self.y)])
        self._state = self._padded(self._state, total)

    @staticmethod
    def _padded(state: _State, size: int) -> _State:
        w = np.concatenate([state.w, np.zeros(size - state.w.size)])
        return _State(w, state.b, state.outputs, state.derivative)

    # the objective

    def _evaluate(self, w: np.ndarray, b: float) -> _State:
        outputs = (w @ self._A[: w.size]) / self._sqrt_p + b if w.any() else np.full(self.y.size, b)
        return _State(w, b, outputs, self.loss.derivative(outputs, self.y))

    def _mean_loss(self, outputs: np.ndarray) -> float:
        return float(self._p @ self.loss.value(outputs, self.y))

    def _objective(self, state: _State, penalty: SparsityPenalty) -> float:
        return self._mean_loss(state.outputs) + penalty.value(state.w)

    def _gradients(self, states: Sequence[_State]) -> np.ndarray:
        """Negative gradients of the mean loss by all weights, a column per state: one pass over the table."""
        V = np.stack([state.derivative for state in states], axis=1) * self._sqrt_p[:, None]
        if self.columns.fit_intercept:
            V -= self._sqrt_p[:, None] * (self._sqrt_p @ V)  # orthogonal to the intercept, to the last bit
        product = self.columns.dot(V) / np.sqrt(self.columns.total)
        return -product[self._order] * self._scale[:, None]

    # minimizing over the working set

    def _tolerance(self, alpha: float) -> float:
        """Largest violation of a condition; relative to alpha itself where that is a small share of the largest."""
        if alpha <= 0:
            return self._tol
        return min(self._tol, max(_SMALL_ALPHA * self._relative_tol * alpha, self._rounding))

    def _solve(self, alpha: float, tol: float) -> None:
        """Go from the present state to the minimum over the working set."""
        if self._is_quadratic:
            penalty = self._penalty_at(alpha, self._groups)
            w = minimize_quadratic(self._gram, self._Ay, penalty, self._state.w, tol=0.5 * tol)
            self._state = self._evaluate(w, self._state.b)
            return
        for _ in range(_NEWTON_STEPS):
            if not self._newton_step(alpha, tol):
                break
        # the sum of the derivatives is zero then, which makes them, scaled, a point of the dual problem
        shift = best_shift(self.loss, self._p, self.y, self._state.outputs)
        self._state = self._evaluate(self._state.w, self._state.b + shift)

    def _newton_step(self, alpha: float, tol: float) -> bool:
        """A proximal Newton step over the groups that are active or violate their conditions; False at the minimum."""
        state, rows = self._state, self._rows
        penalty = self._penalty_at(alpha, self._groups)
        weighted = self._sqrt_p * state.derivative
        r = -(rows @ weighted)
        of_intercept = -float(self._p @ state.derivative)
        violation = penalty.kkt_violation(r, state.w)
        if max(float(violation.max(initial=0.0)), abs(of_intercept)) <= tol:
            return False
        is_free = (penalty.group_norms(state.w) > 0) | (violation > 0.5 * tol)
        groups = np.flatnonzero(is_free)
        places = penalty.columns_of(groups)
        part, A = penalty.restrict_to(groups), rows[places]
        curvature = self.loss.second_derivative(state.outputs, self.y)
        total = max(float(self._p @ curvature), 1e-12)
        weighted_rows = A * np.sqrt(curvature)
        cross = A @ (curvature * self._sqrt_p)
        G = weighted_rows @ weighted_rows.T - np.outer(cross, cross / total)
        w = state.w[places]
        c = r[places] - cross * (of_intercept / total) + G @ w
        inner_tol = max(0.1 * tol, min(0.01 * float(violation.max(initial=0.0)), tol * 100))
        u = minimize_quadratic(G, c, part, w, tol=inner_tol)
        step = np.zeros_like(state.w)
        step[places] = u - w
        of_step = (of_intercept - float(cross @ step[places])) / total
        return self._line_search(step, of_step, penalty, r, of_intercept)

    def _line_search(
        self, step: np.ndarray, intercept_step: float, penalty: SparsityPenalty, r: np.ndarray, of_intercept: float
    ) -> bool:
        """Shorten the step until the objective falls enough; whether the state has moved."""
        state = self._state
        value, penalty_value = self._objective(state, penalty), penalty.value(state.w)
        change = (step @ self._rows) / self._sqrt_p + intercept_step
        promised = penalty.value(state.w + step) - penalty_value - float(r @ step) - of_intercept * intercept_step
        length = 1.0
        for _ in range(_HALVINGS):
            w = state.w + length * step
            outputs = state.outputs + length * change
            new_value = self._mean_loss(outputs) + penalty.value(w)
            rounding = 1e-15 * (1.0 + abs(value))
            if new_value <= value + _SUFFICIENT_DECREASE * length * min(promised, 0.0) + rounding:
                moved = self._evaluate(w, state.b + length * intercept_step)
                has_moved = not np.array_equal(moved.w, state.w) or moved.b != state.b
                self._state = moved
                return has_moved
            length *= 0.5
        return False

    # the path

    def path(self, alphas: Sequence[float]) -> Iterator[PathPoint]:
        """Minima at decreasing penalties, one after the other."""
        done, at_once = 0, 1
        most = max(1, min(_MOST_AT_ONCE, _MOST_GRADIENTS // max(self._order.size, 1)))
        while done < len(alphas):
            chunk = list(alphas[done : done + at_once])
            states = []
            for alpha in chunk:
                self._solve(alpha, self._tolerance(alpha))
                states.append(self._state)
            gradients = self._gradients(states)
            n_solved, entering = 0, np.empty(0, dtype=int)
            for alpha, state, gradient in zip(chunk, states, gradients.T, strict=True):
                violation = self._violations(alpha, state, gradient)
                entering = np.flatnonzero(~self._is_working & (violation > self._tolerance(alpha)))
                if entering.size:
                    self._state = self._padded(state, self._state.w.size)
                    break
                yield self._point(alpha, state, gradient, float(violation.max(initial=0.0)))
                n_solved += 1
            done += n_solved
            at_once = min(2 * at_once, most) if n_solved == len(chunk) else max(1, n_solved)
            norms = self.penalty.dual_norms(gradients[:, min(n_solved, len(chunk) - 1)])
            self._extend(np.union1d(entering, self._most_correlated(norms)) if done < len(alphas) else entering)

    def start_from(self, point: PathPoint) -> None:
        """Go on from the weights of a point, whatever its penalty: no objective of what follows is above its own."""
        place = np.empty_like(self._order)
        place[self._order] = np.arange(self._order.size)
        groups = np.unique(np.searchsorted(self.penalty.starts, place[point.active], side="right") - 1)
        self._extend(groups[~self._is_working[groups]])
        w = np.zeros(self._order.size)
        w[place[point.active]] = point.weights
        self._state = self._evaluate(w[self.penalty.columns_of(self._groups)], point.intercept)

    def solve(self, alpha: float) -> PathPoint:
        """The minimum at one penalty, through a few larger ones that are solved roughly."""
        n_steps = int(np.ceil(np.log(max(self.alpha_max / alpha, 1.0)) / -np.log(_STEP_RATIO))) if alpha > 0 else 8
        larger = self.alpha_max * _STEP_RATIO ** np.arange(1, n_steps)
        for rough in larger[larger > alpha]:
            self._solve(float(rough), max(0.05 * float(rough), self._rounding))
            norms = self.penalty.dual_norms(self._gradients([self._state])[:, 0])
            self._extend(self._most_correlated(norms))
        [point] = self.path([alpha])
        return point

    def _violations(self, alpha: float, state: _State, gradient: np.ndarray) -> np.ndarray:
        w = np.zeros(self._order.size)
        w[self.penalty.columns_of(self._groups)[: state.w.size]] = state.w
        return self.penalty.at(alpha * self.sparse_share, alpha * self.ridge_share).kkt_violation(gradient, w)

    def _point(self, alpha: float, state: _State, gradient: np.ndarray, violation: float) -> PathPoint:
        places = np.flatnonzero(state.w)
        columns = self._order[self.penalty.columns_of(self._groups)[places]]
        ascending = np.argsort(columns)
        penalty = self._penalty_at(alpha, self._groups)
        objective = self._mean_loss(state.outputs) + penalty.value(self._padded(state, penalty.n_columns).w)
        return PathPoint(
            float(alpha),
            columns[ascending],
            state.w[places][ascending],
            state.b,
            self._mean_loss(state.outputs),
            objective,
            max(violation, abs(float(self._p @ state.derivative)) if self.columns.fit_intercept else 0.0),
            objective - self._dual_objective(alpha, state, gradient),
        )

    def _dual_objective(self, alpha: float, state: _State, gradient: np.ndarray) -> float:
        """The objective of the dual point that the residuals give, as it is or scaled so that it is feasible."""
        penalty = self.penalty.at(alpha * self.sparse_share, alpha * self.ridge_share)
        derivative = state.derivative
        as_it_is = -np.inf
        if penalty.l2 > 0 or np.isfinite(penalty.bound):
            as_it_is = -float(self._p @ self.loss.conjugate(derivative, self.y)) - penalty.conjugate(gradient)
        norm = float(penalty.dual_norms(gradient).max(initial=0.0))
        factor = 1.0 if norm <= penalty.alpha else penalty.alpha / norm
        return max(as_it_is, -float(self._p @ self.loss.conjugate(factor * derivative, self.y)))


def best_shift(loss: Loss, shares: np.ndarray, y: np.ndarray, outputs: np.ndarray, start: float = 0.0) -> float:
    """What to add to all outputs for the least mean loss, by Newton's method within a bracket."""
    low, high, shift = -np.inf, np.inf, start
    for _ in range(200):
        slope = float(shares @ loss.derivative(outputs + shift, y))
        if slope == 0.0:
            break
        low, high = (shift, high) if slope < 0 else (low, shift)
        curvature = float(shares @ loss.second_derivative(outputs + shift, y))
        moved = shift - slope / curvature if curvature > 0 else np.nan
        if not low < moved < high:
            is_bracketed = np.isfinite(low) and np.isfinite(high)
            moved = 0.5 * (low + high) if is_bracketed else shift - np.sign(slope) * max(1.0, abs(shift))
        if abs(moved - shift) <= 1e-16 * max(1.0, abs(shift)):
            break
        shift = moved
    return shift
