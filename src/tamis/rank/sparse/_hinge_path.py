"""Minima of a hinge or epsilon-insensitive loss with an l1 penalty, along a sequence of penalties: linear programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers.l1_program import L1Program, L1Solution
from tamis.kernels.solvers.penalized_path import PathPoint
from tamis.rank._linear_problem import LinearProblem

_N_PROGRAMS = 3  # for the first tangents along a path, one each; all later ones have the last
_STEP_RATIO = 0.3  # between neighbors of the decreasing sequence that leads to a single penalty


class HingePath:
    r"""One target: :math:`\sum_i p_i \xi_i + \alpha \sum_j |w_j|`, with shares :math:`p_i` of the rows that sum to one.

    Parameters
    ----------
    problem : LinearProblem
    target : int
    scale : ndarray of shape (n_columns,)
        Factor of every column; zero leaves it out.
    loss : {"hinge", "epsilon_insensitive"}
    epsilon : float
    tol : float
        Relative gap of every program.

    Attributes
    ----------
    alpha_max : float
        The smallest alpha at which all weights are zero.
    null_loss : float
        Mean loss there.
    """

    def __init__(
        self, problem: LinearProblem, target: int, scale: np.ndarray, *, loss: str, epsilon: float, tol: float
    ) -> None:
        self._problem, self._scale, self._loss, self._epsilon, self._tol = problem, scale, loss, epsilon, tol
        self._y = np.ascontiguousarray(problem.Y[:, target])
        self._shares = problem.row_shares
        # rows are weighted by their costs of errors, and not by their columns
        is_weighted = bool(np.any(problem.columns.sqrt_weight != 1.0))
        self._columns = as_columns(problem.table) if is_weighted else problem.columns
        # weights of scaled columns are penalized: one of the table's own columns counts with one over its factor
        self._penalties = np.divide(1.0, scale, out=np.full(scale.size, np.inf), where=scale > 0)
        self._programs = [self._make_program(self._shares)]
        self._hard_program: L1Program | None = None
        self.alpha_max = self._programs[0].max_penalty(self._penalties, tol=tol) if np.any(scale > 0) else 0.0
        self.null_loss = self._mean_loss(self._null_outputs())

    def path(self, alphas: Sequence[float]) -> Iterator[PathPoint]:
        """Minima at decreasing penalties."""
        for alpha in alphas:
            yield self.weighted(float(alpha), np.ones(self._scale.size))

    def solve(self, alpha: float) -> PathPoint:
        """The minimum at one penalty, through some larger ones: each starts from the last; zero is the hard margin."""
        if alpha == 0.0:
            return self.weighted(0.0, np.ones(self._scale.size))
        n_steps = int(np.ceil(np.log(max(self.alpha_max / alpha, 1.0)) / -np.log(_STEP_RATIO)))
        for larger in self.alpha_max * _STEP_RATIO ** np.arange(1, n_steps):
            self._programs[0].solve(larger * self._penalties, tol=self._tol)
        [point] = self.path([alpha])
        return point

    def weighted(
        self, alpha: float, slopes: np.ndarray, start: PathPoint | None = None, *, number: int = 0
    ) -> PathPoint:
        """The minimum where the weight of every scaled column has a penalty of its own, ``alpha`` times its slope.

        Zero is the hard margin: the smallest weights without an error, and the objective is the sum of their penalties.
        ``start`` is not used: the simplex method goes on from the last basis of the program of this number, which is
        near for the same tangent at the last alpha, and far for the last tangent at that alpha.
        """
        if alpha >= self.alpha_max > 0 and np.all(slopes == 1.0):
            # at the smallest of these a vertex with weights costs no more than none: take none
            return self._point(alpha, self._programs[0].solve(2.0 * alpha * self._penalties, tol=self._tol))
        if alpha > 0:
            program = self._program_of(number)
            return self._point(alpha, program.solve(alpha * slopes * self._penalties, tol=self._tol))
        if self._hard_program is None:
            self._hard_program = self._make_program(np.inf)
        return self._point(0.0, self._hard_program.solve(slopes * self._penalties, tol=self._tol))

    def _program_of(self, number: int) -> L1Program:
        place = min(number, _N_PROGRAMS - 1)
        while len(self._programs) <= place:
            self._programs.append(self._make_program(self._shares))
        return self._programs[place]

    def _make_program(self, error_costs: np.ndarray | float) -> L1Program:
        return L1Program(self._columns, self._y, error_costs, loss=self._loss, epsilon=self._epsilon)

    def _point(self, alpha: float, solution: L1Solution) -> PathPoint:
        active = solution.active
        outputs = self._columns.columns(active) @ solution.weights + solution.intercept
        loss = self._mean_loss(outputs)
        # the intercept of the problem's columns, whose means may be weighted
        shift = (self._problem.columns.means(active) - self._columns.means(active)) @ solution.weights
        return PathPoint(
            alpha,
            active,
            solution.weights / self._scale[active],
            solution.intercept + float(shift),
            loss,
            solution.objective,
            0.0,
            max(solution.gap, 0.0) * max(solution.objective, np.finfo(float).tiny),
        )

    def _null_outputs(self) -> np.ndarray:
        """The best constant: a weighted median, of the ends of the intervals without an error."""
        if self._loss == "hinge":
            return np.full(self._y.size, 1.0 if self._shares @ self._y > 0 else -1.0)
        ends = np.concatenate([self._y - self._epsilon, self._y + self._epsilon])
        order = np.argsort(ends)
        middle = np.searchsorted(np.cumsum(np.tile(self._shares, 2)[order]), 1.0 - 1e-12)  # both ends sum to two
        return np.full(self._y.size, ends[order[min(int(middle), order.size - 1)]])

    def _mean_loss(self, outputs: np.ndarray) -> float:
        if self._loss == "hinge":
            errors = np.maximum(0.0, 1.0 - self._y * outputs)
        else:
            errors = np.maximum(0.0, np.abs(self._y - outputs) - self._epsilon)
        return float(self._shares @ errors)
