r"""Linear machines with an l1 penalty, as a linear program solved by column generation.

For one target, a loss that is zero in the interval :math:`[l_i, h_i]` of outputs and has slope one outside,

.. math:: \min_{w, b}\ \sum_j c_j |w_j| + \sum_i C_i \xi_i, \qquad
          \xi_i = \max(0,\ l_i - f_i,\ f_i - h_i), \quad f_i = x_i^\top w + b.

The hinge has :math:`[1, \infty)` for the label 1 and :math:`(-\infty, -1]` for -1, the epsilon-insensitive loss
:math:`[y_i - \epsilon, y_i + \epsilon]`. The dual program, over multipliers :math:`\beta = p - q`, is

.. math:: \max_{0 \le p, q \le C}\ l^\top p - h^\top q \quad\text{subject to}\quad
          |X^\top \beta|_j \le c_j, \quad 1^\top \beta = 0,

and it is the one that is handed to HiGHS: every column of the table is a row with two bounds, of which the multiplier
is the weight :math:`w_j`, and the one of the equality is the intercept. Penalties and costs of errors are bounds here,
so that a basis stays dual feasible when they change and when columns are added, and the dual simplex goes on from it.

Only some columns are in the program: at first those with the largest :math:`|X^\top \beta|_j` at w = 0, then those that
violate their constraint most, with those that nearly do. It ends when none does, which proves the optimum over all
columns. From one program to the next, columns that are far from their constraint leave.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from tamis.kernels.arrays.columns import Columns, to_numpy
from tamis.kernels.background import call_in_background

_FEASIBILITY = 1e-10  # of HiGHS, for multipliers and outputs in units of one: the least that it takes
_NEGLIGIBLE_WEIGHT = 1e-11  # of a column of unit variance, for outputs in units of one: zero but for rounding
# The gap is relative to the objective, unless that is below 1e-6 of the objective at unit errors or 1e-2 of the unit of
# multipliers, a fraction of what any weight costs where penalties are equal: then it is zero but for rounding.
_FLOOR_OF_COSTS, _FLOOR_OF_SCALE = 1e-6, 1e-2
_FIRST_COLUMNS = 200  # at most, at the start
_ENTERING_COLUMNS = 50  # at most, in each later round, or half as many as there are
_ACTIVE_SHARE = 0.9  # of its bound: a column with a smaller |x_j' beta| is inactive
_COLUMNS_PER_ACTIVE = (
    1.3  # in a program, from which the inactive ones leave it: they cost time, and much memory of HiGHS
)
_NEAR_BOUND = 0.1  # of its bound: how much a column may lack to violate it that enters with those that do
_INTERIOR_POINT_SIZE = 600  # rows and columns from which an interior point method beats the simplex, from scratch
_INTERIOR_POINT_SHARE = 0.2  # of columns that are new, from which a program counts as one from scratch
_QUICK_SIZE = 2**16  # entries of a program that takes less time than Ctrl-C may wait for
_LARGEST_REFINEMENT = 1e-5  # of the largest multiplier or weight
_BASIC, _UPPER = int(highspy.HighsBasisStatus.kBasic), int(highspy.HighsBasisStatus.kUpper)
_LEAST_SCALE = 1e-9  # of the largest cost: what HiGHS takes for infinite begins at 1e20 units
_RAY_PRODUCT = 1e-9  # |x_j' ray| / (|x_j| |ray|) below which a column does not bound a ray of the dual


class InfeasibleError(ValueError):
    """Infinite costs, and no weights without an error."""


@dataclass(frozen=True)
class L1Solution:
    """An optimum and its certificate.

    Attributes
    ----------
    active : ndarray of int, ascending
        Columns whose weights are not zero.
    weights : ndarray of shape (n_active,)
        Theirs.
    intercept : float
        Outputs are ``columns.columns(active) @ weights + intercept``: that of centered columns where those are.
    multipliers : ndarray of shape (n_samples,)
        The dual point: ``sum(multipliers) == 0`` and ``|multipliers| <= error costs`` up to rounding,
        ``|X' multipliers| <= penalties`` up to what is said for the gap. The signs are those of ``y`` for the hinge,
        and of ``y - output`` for the epsilon-insensitive loss.
    objective : float
        ``sum_j c_j |w_j| + sum_i C_i xi_i`` of weights and intercept. Where a cost is infinite, errors (of rounding)
        count with twice the largest multiplier, which is exact.
    gap : float
        ``(P - Q) / max(P, 1e-6 u sum(C), 1e-2 u min(max C, max c))`` with ``P`` the objective, ``Q <= minimum`` the
        dual objective of ``multipliers``, ``c`` for columns of unit variance, and ``u`` the unit of the outputs: one
        for the hinge, the largest ``|y - median(y)|`` for the epsilon-insensitive loss. P and Q are computed anew from
        the table, not taken from the solver, with multipliers divided by the largest ``|X'beta|_j / c_j`` above one. An
        excess below 1e-10 of ``min(max C, max c)`` or of the largest multiplier is added to all penalties instead, as
        some may be next to zero.
    n_rounds : int
        Programs solved, each but the first with columns added.
    n_generated : int
        Columns in the last one.
    converged : bool
        Whether ``gap <= tol``.
    """

    active: np.ndarray
    weights: np.ndarray
    intercept: float
    multipliers: np.ndarray
    objective: float
    gap: float
    n_rounds: int
    n_generated: int
    converged: bool


class L1Program:
    r"""``min sum_j c_j |w_j| + sum_i C_i xi_i`` for one target, solved again and again from the last optimum.

    Parameters
    ----------
    columns : Columns
        Of the table, from ``as_columns(X)``: without weights of rows, which belong into ``error_costs``. Columns need
        no scaling: one of standard deviation s with penalty c is one of unit variance with penalty c / s.
    y : array of shape (n_samples,)
        Labels -1 and 1 for the hinge, otherwise numbers.
    error_costs : float or array of shape (n_samples,)
        C, not negative. Infinite: no error is allowed (hard margin; with the epsilon-insensitive loss, a hard tube).
    loss : {"hinge", "epsilon_insensitive"}
    epsilon : float
        Of the second loss.
    on_wait : callable, default=None
        Called four times a second while HiGHS is at work. Ctrl-C ends it, and raises.

    Notes
    -----
    Complexity: per round one product of the table with a vector and the simplex iterations, each O(n m) for m columns
    in the program; the program holds these as a dense n x m copy. Not to be pickled, nor used by two threads at once.

    References
    ----------
    Bradley and Mangasarian, "Massive data discrimination via linear support vector machines", 2000 (subsets of rows);
    Zhu, Rosset, Hastie and Tibshirani, "1-norm support vector machines", 2003; Huangfu and Hall, "Parallelizing the
    dual revised simplex method", 2018 (HiGHS).
    """

    def __init__(
        self,
        columns: Columns,
        y: np.ndarray,
        error_costs: np.ndarray | float,
        *,
        loss: str = "hinge",
        epsilon: float = 0.0,
        on_wait: Callable[[], object] | None = None,
    ) -> None:
        self._columns = columns
        y = np.asarray(y, dtype=float)
        self._center, self._unit = 0.0, 1.0
        if loss == "hinge":
            if not np.isin(y, (-1.0, 1.0)).all():
                raise ValueError("y must be -1 or 1 for the hinge: map the two classes to these")
            self._low, self._high = np.where(y > 0, 1.0, -np.inf), np.where(y > 0, np.inf, -1.0)
        elif loss == "epsilon_insensitive":
            if not epsilon >= 0:
                raise ValueError(f"epsilon must not be negative, got {epsilon}")
            self._center = float(np.median(y))
            self._unit = float(np.abs(y - self._center).max()) or 1.0
            y, epsilon = (y - self._center) / self._unit, epsilon / self._unit
            self._low, self._high = y - epsilon, y + epsilon
        else:
            raise ValueError(f"loss must be 'hinge' or 'epsilon_insensitive', not {loss!r}")
        self._deviation = np.sqrt(np.maximum(to_numpy(columns.norm2), 0.0) / columns.n_samples)
        self.set_error_costs(error_costs)
        self._generated = np.zeros(0, dtype=np.int64)  # in the order of the rows of the program
        self._table = np.zeros((columns.n_samples, 0))  # the generated columns, of unit variance
        self._is_inactive = np.zeros(0, dtype=bool)  # those that the last solution is far from
        self._model = _DualModel(self._low, self._high, on_wait)

    def set_error_costs(self, error_costs: np.ndarray | float) -> None:
        """Other costs of errors, for the next call of :meth:`solve`; a number, or one for each row."""
        costs = np.broadcast_to(np.asarray(error_costs, dtype=float), self._low.shape)
        if not (costs >= 0).all():
            raise ValueError("error_costs must not be negative nor NaN")
        self._costs = costs.copy()

    def solve(self, penalties: np.ndarray | float = 1.0, *, tol: float = 1e-8, max_rounds: int = 1000) -> L1Solution:
        """Solve for given penalties, from the columns and the basis of the last call.

        Parameters
        ----------
        penalties : float or array of shape (n_columns,)
            c, not negative; infinite ones keep a column out.
        tol : float
            Gap at which it has converged. Columns are added while ``|X'beta|_j > (1 + tol / 10) c_j`` for some.
        max_rounds : int
            Programs to solve before giving up, with ``converged=False``.

        Returns
        -------
        L1Solution

        Raises
        ------
        InfeasibleError
            Where costs are infinite and no weights are without an error (the classes are not linearly separable).
        """
        penalties = np.broadcast_to(np.asarray(penalties, dtype=float), self._deviation.shape)
        if not (penalties >= 0).all():
            raise ValueError("penalties must not be negative nor NaN")
        # columns of unit variance; a constant one has no use, as the intercept does the same for nothing
        bounds = np.divide(penalties, self._deviation, out=np.full(penalties.shape, np.inf), where=self._deviation > 0)
        if not self._generated.size:
            size = np.abs(self._correlate(self.null_multipliers()))
            self._generate(_largest(size, np.isfinite(bounds), _FIRST_COLUMNS))
        else:
            self._drop_inactive()
        n_rounds, entering = 0, np.zeros(0, dtype=np.int64)
        scale = _scale_of_multipliers(self._costs, bounds)
        while n_rounds == 0 or (entering.size and n_rounds < max_rounds):
            self._generate(entering)
            self._model.solve(self._costs, bounds[self._generated], scale)
            self._model.refine(self._table, self._costs, bounds[self._generated])
            beta = self._multipliers()
            size = np.abs(self._correlate(beta))
            entering = self._violating(size, bounds, 0.1 * tol * bounds + _FEASIBILITY * scale)
            n_rounds += 1
        if self._model.ray is None:
            self._is_inactive = size[self._generated] < _ACTIVE_SHARE * bounds[self._generated]
        return self._solution(beta, size, penalties, bounds, scale, n_rounds, tol)

    def max_penalty(self, proportions: np.ndarray | float = 1.0, *, tol: float = 1e-9) -> float:
        r"""Smallest c at which ``w = 0`` is optimal for penalties ``c * proportions``.

        The minimum V(c) is concave and piecewise linear in c, and constant from the one asked for on. Newton's method
        on ``V(inf) - V(c)``, which is convex, rises to it in finitely many steps:
        ``c <- (V(inf) - sum_i C_i xi_i) / sum_j proportions_j |w_j|``. One division gives the largest cost of errors
        for given penalties: w = 0 is optimal for all costs ``C / c`` in place of ``C`` and penalties of one.

        The multipliers of :meth:`null_multipliers` bound it from above. They are the only ones at w = 0, and the bound
        is exact, where the costs of the two classes have equal sums.
        """
        if not np.isfinite(self._costs).all():
            raise ValueError("with infinite error_costs w = 0 is optimal for no penalty: give finite ones")
        proportions = np.broadcast_to(np.asarray(proportions, dtype=float), self._deviation.shape)
        null = self.null_multipliers()
        at_null = self._dual_objective(null)
        size = np.abs(self._correlate(null)) * self._deviation
        size = size[self._deviation > 0] / proportions[self._deviation > 0]
        upper = float(np.max(size, initial=0.0))
        if at_null <= 0.0 or upper == 0.0:
            return 0.0
        c = 0.5 * upper
        while (solution := self.solve(c * proportions, tol=tol)).active.size == 0:
            c, upper = 0.5 * c, c
            if c < tol * at_null:
                return 0.0
        while solution.active.size:
            norm = float(proportions[solution.active] @ np.abs(solution.weights))
            root = (self._unit * at_null - (solution.objective - c * norm)) / norm
            if not c * (1.0 + tol) < root < upper:
                return min(max(root, c), upper)
            c = root
            solution = self.solve(c * proportions, tol=tol)
        return c

    def null_multipliers(self) -> np.ndarray:
        """Multipliers that are optimal where all weights are zero; infinite costs count as one.

        For the hinge ``y_i C_i / sum(C of its class)`` times the smaller sum, so that ``X' beta`` are differences of
        class means. In general ``-C`` and ``C`` for outputs ``b`` above and below their interval, b the best intercept,
        and an equal share of the costs for those at its ends.
        """
        costs = np.where(np.isfinite(self._costs), self._costs, 1.0)
        # the slope of the loss by b is -sum(C of finite ends below) before all ends, and grows by C at each
        ends = np.concatenate([self._low[np.isfinite(self._low)], self._high[np.isfinite(self._high)]])
        steps = np.concatenate([costs[np.isfinite(self._low)], costs[np.isfinite(self._high)]])
        order = np.argsort(ends)
        slope = np.cumsum(steps[order]) - costs[np.isfinite(self._low)].sum()
        rounding = 1e-12 * costs.sum()
        b = ends[order][np.searchsorted(slope, -rounding)]
        beta = costs * (self._low > b) - costs * (self._high < b)
        at_end = self._high == b if beta.sum() > 0 else self._low == b
        total = costs[at_end].sum()
        if total > 0:
            beta[at_end] -= costs[at_end] * (beta.sum() / total)
        return _balance(beta)

    def _correlate(self, beta: np.ndarray) -> np.ndarray:
        """``X' beta`` for columns of unit variance; from double precision for those in the program."""
        V = self._columns.as_array(beta[:, None])
        product = to_numpy(self._columns.dot(V))[:, 0].astype(float)
        product = np.divide(product, self._deviation, out=np.zeros_like(product), where=self._deviation > 0)
        product[self._generated] = beta @ self._table
        return product

    def _violating(self, size: np.ndarray, bounds: np.ndarray, tolerances: np.ndarray) -> np.ndarray:
        """Columns to add: those whose constraints cut off the last dual solution, or its ray, most; none if none does.

        ``size`` is that of all products of columns with the dual solution.
        """
        ray = self._model.ray
        if ray is None:
            excess = size - bounds
            is_violated = excess > tolerances
            is_violated[self._generated] = False
            # those that nearly do would follow in later rounds, or at the next penalties
            is_entering = excess > -_NEAR_BOUND * bounds if is_violated.any() else is_violated
        else:  # the dual objective grows along it, until a constraint is met
            excess = np.abs(self._correlate(ray))
            is_entering = np.isfinite(bounds) & (excess > _RAY_PRODUCT * np.linalg.norm(ray) * ray.size**0.5)
        is_entering[self._generated] = False
        if ray is not None and not is_entering.any():
            raise InfeasibleError(
                "no weights are without an error, which infinite error costs ask for (for the hinge: classes are not "
                "linearly separable): give finite ones"
            )
        return _largest(excess, is_entering, max(_ENTERING_COLUMNS, self._generated.size // 2))

    def _generate(self, entering: np.ndarray) -> None:
        """Add columns to the program."""
        if not entering.size:
            return
        new = to_numpy(self._columns.columns(entering)) / self._deviation[entering]
        self._generated = np.append(self._generated, entering)
        self._is_inactive = np.append(self._is_inactive, np.zeros(entering.size, dtype=bool))
        self._table = np.column_stack([self._table, new])
        self._model.add_columns(new)

    def _drop_inactive(self) -> None:
        """Take columns that the last solution is far from out of the program, if they are many."""
        n_active = int(np.count_nonzero(~self._is_inactive))
        if self._generated.size < max(_FIRST_COLUMNS, _COLUMNS_PER_ACTIVE * n_active):
            return
        kept = self._model.drop_columns(self._is_inactive)
        self._generated, self._table = self._generated[kept], self._table[:, kept]
        self._is_inactive = self._is_inactive[kept]

    def _multipliers(self) -> np.ndarray:
        """The solver's, within the box and with a sum of zero."""
        return _balance(np.clip(self._model.multipliers, -self._costs, self._costs))

    def _dual_objective(self, beta: np.ndarray) -> float:
        """In units of the outputs."""
        low, high = np.where(np.isfinite(self._low), self._low, 0.0), np.where(np.isfinite(self._high), self._high, 0.0)
        return float(low @ np.maximum(beta, 0.0) + high @ np.minimum(beta, 0.0))

    def _solution(
        self,
        beta: np.ndarray,
        size: np.ndarray,
        penalties: np.ndarray,
        bounds: np.ndarray,
        scale: float,
        n_rounds: int,
        tol: float,
    ) -> L1Solution:
        """Objective, dual objective and gap from the solver's weights, multipliers and their products with columns."""
        w, b = self._model.weights, self._model.intercept
        negligible = _FEASIBILITY * max(scale, float(np.abs(beta).max(initial=0.0)))
        raised = bounds + min(float(np.max(size - bounds, initial=0.0)), negligible)
        beta = beta / np.max(np.divide(size, raised, out=np.zeros_like(size), where=size > raised), initial=1.0)
        costs = np.where(np.isfinite(self._costs), self._costs, 2.0 * np.abs(beta).max(initial=0.0))
        w = np.where(np.abs(w) > _NEGLIGIBLE_WEIGHT, w, 0.0)
        f = self._table @ w + b
        errors = np.maximum(0.0, np.maximum(self._low - f, f - self._high))
        place = np.flatnonzero(w)
        place = place[np.argsort(self._generated[place])]
        active, w = self._generated[place], w[place]
        weights = w / self._deviation[active]
        objective = float(penalties[active] @ np.abs(weights) + costs @ errors)
        raised_objective = float(raised[active] @ np.abs(w) + costs @ errors)
        floor = max(_FLOOR_OF_COSTS * float(costs.sum()), _FLOOR_OF_SCALE * scale)
        gap = (raised_objective - self._dual_objective(beta)) / max(raised_objective, floor)
        gap = gap if self._model.ray is None else np.inf
        return L1Solution(
            active=active,
            weights=self._unit * weights,
            intercept=self._unit * b + self._center,
            multipliers=beta,
            objective=self._unit * objective,
            gap=gap,
            n_rounds=n_rounds,
            n_generated=self._generated.size,
            converged=gap <= tol,
        )


def _largest(values: np.ndarray, is_allowed: np.ndarray, n_most: int) -> np.ndarray:
    """Places of the largest among the allowed values, in their order."""
    allowed = np.flatnonzero(is_allowed)
    return allowed[np.argsort(-values[allowed], kind="stable")[:n_most]]


def _scale_of_multipliers(costs: np.ndarray, bounds: np.ndarray) -> float:
    """A unit of the multipliers, which are limited by the costs and, by way of the products, by the penalties."""
    finite = costs[np.isfinite(costs) & (costs > 0)]
    limits = [np.max(values) for values in (finite, bounds[np.isfinite(bounds) & (bounds > 0)]) if values.size]
    return max(float(min(limits, default=1.0)), _LEAST_SCALE * float(np.max(finite, initial=0.0)))


def _balance(beta: np.ndarray) -> np.ndarray:
    """Shrink the positive or the negative multipliers, so that they sum to zero within the same box."""
    positive, negative = np.maximum(beta, 0.0), np.minimum(beta, 0.0)
    total, against = positive.sum(), -negative.sum()
    if total > against:
        positive *= against / total
    elif against > total:
        negative *= total / against
    return positive + negative


def _codes(statuses: list) -> np.ndarray:
    """Statuses of a basis as numbers."""
    return np.fromiter(map(int, statuses), dtype=np.int64, count=len(statuses))


def _are_close(values: np.ndarray, reference: np.ndarray) -> bool:
    """Whether they differ by what a refinement may change."""
    largest = float(np.max(np.abs(reference), initial=0.0))
    return bool(np.max(np.abs(values - reference), initial=0.0) <= _LARGEST_REFINEMENT * largest)


def _interrupt_when(is_cancelled: threading.Event) -> Callable[[Any], None]:
    """A callback of HiGHS that ends a run once it is cancelled."""

    def check(event: Any) -> None:
        event.interrupt(is_cancelled.is_set())  # HiGHS remembers it from one run to the next

    return check


class _DualModel:
    """The dual program in HiGHS: variables p and q with finite ends, a row for each column, after the equality.

    Attributes
    ----------
    multipliers, weights, intercept
        Of the last solution.
    ray : ndarray of shape (n_samples,) or None
        Direction of multipliers in which the last program was unbounded.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray, on_wait: Callable[[], object] | None = None) -> None:
        self._on_wait, self._is_cancelled, self._is_running = on_wait, threading.Event(), threading.Lock()
        up, down = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
        self._rows = np.concatenate([up, down])  # sample of each variable
        self._signs = np.repeat([1.0, -1.0], [up.size, down.size])  # beta = p - q
        self._places = np.arange(self._rows.size, dtype=np.int32)
        self._n_samples, self._n_columns, self._n_solved = low.size, 0, 0
        self._highs: Any = highspy.Highs()  # its stubs lack some of the functions called here
        self._highs.silent()
        options: dict[str, Any] = {
            "solver": "simplex",
            "simplex_strategy": 1,  # dual
            "simplex_scale_strategy": 0,  # columns are of unit variance
            "presolve": "off",
            "parallel": "off",
            "primal_feasibility_tolerance": _FEASIBILITY,
            "dual_feasibility_tolerance": _FEASIBILITY,
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        for asked in (self._highs.cbSimplexInterrupt, self._highs.cbIpmInterrupt):  # in every iteration
            asked.subscribe(_interrupt_when(self._is_cancelled))
        self._highs.addVars(self._rows.size, np.zeros(self._rows.size), np.zeros(self._rows.size))
        self._ends = np.concatenate([low[up], high[down]])
        self._highs.changeColsCost(self._rows.size, self._places, -self._signs * self._ends)  # HiGHS minimizes
        self._add_rows(np.ones((low.size, 1)), np.zeros(1))

    def add_columns(self, table: np.ndarray) -> None:
        """Constraints of further columns of the table; their bounds are given to :meth:`solve`."""
        self._n_columns += table.shape[1]
        self._add_rows(table, np.full(table.shape[1], np.inf))

    def drop_columns(self, is_dropped: np.ndarray) -> np.ndarray:
        """Remove constraints that do not hold with equality at the last basis, which stays; returns the others."""
        basis = self._highs.getBasis()
        statuses = basis.row_status
        if not basis.valid or len(statuses) != self._n_columns + 1:  # none is left by a run that was interrupted
            return np.arange(self._n_columns)
        is_dropped = is_dropped & (_codes(statuses)[1:] == _BASIC)
        kept, dropped = np.flatnonzero(~is_dropped), np.flatnonzero(is_dropped)
        self._highs.deleteRows(dropped.size, (dropped + 1).astype(np.int32))  # the first row is the equality
        basis.row_status = [statuses[0], *(statuses[place + 1] for place in kept)]
        self._highs.setBasis(basis)
        self._n_columns = self._n_solved = kept.size
        return kept

    def _add_rows(self, table: np.ndarray, bounds: np.ndarray) -> None:
        values = np.ascontiguousarray((table[self._rows] * self._signs[:, None]).T)
        m, n = values.shape
        starts = np.arange(m, dtype=np.int32) * n
        self._highs.addRows(m, -bounds, bounds, m * n, starts, np.tile(self._places, m), values.ravel())

    def solve(self, costs: np.ndarray, bounds: np.ndarray, scale: float) -> None:
        """Optimum for given costs of errors and bounds of ``|X' beta|``.

        HiGHS sees multipliers divided by ``scale``, so that they are about one; a basis does not depend on it.
        """
        with self._is_running:  # one that was cancelled may not have ended
            self._is_cancelled.clear()
        n, m = self._rows.size, self._n_columns
        self._highs.changeColsBounds(n, self._places, np.zeros(n), costs[self._rows] / scale)
        rows = np.arange(1, m + 1, dtype=np.int32)
        self._highs.changeRowsBounds(m, rows, -bounds / scale, bounds / scale)
        n_new, self._n_solved = m - self._n_solved, m
        is_large = min(self._n_samples, m) >= _INTERIOR_POINT_SIZE and np.isfinite(costs).all()
        if is_large and n_new >= _INTERIOR_POINT_SHARE * m:
            # its crossover ends at a basis, from which the simplex goes on
            self._highs.setOptionValue("solver", "ipx")
            self._run()
            self._highs.setOptionValue("solver", "simplex")
        status = self._run()
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnbounded):
            self._highs.clearSolver()  # from the basis of slacks, where the last one was singular or cycled
            status = self._run()
        self.ray = None
        if status == highspy.HighsModelStatus.kUnbounded:
            _, _, ray = self._highs.getPrimalRay()
            self.ray = self._to_samples(np.asarray(ray))
            self.multipliers, self.weights, self.intercept = np.zeros(self._n_samples), np.zeros(m), 0.0
            return
        solution = self._highs.getSolution()
        self.multipliers = scale * self._to_samples(np.asarray(solution.col_value))
        duals = -np.asarray(solution.row_dual)  # of a maximum
        self.intercept, self.weights = float(duals[0]), duals[1:]

    def refine(self, table: np.ndarray, costs: np.ndarray, bounds: np.ndarray) -> None:
        """Solve for multipliers and weights of the last basis anew: after many updates HiGHS is off by some 1e-9.

        Outputs of the samples S of basic variables are at an end of their interval, and products with the columns A of
        nonbasic rows at a bound: ``X_SA w + b = ends``, ``X_A' beta = bounds`` and ``sum(beta) = 0``.
        """
        basis = self._highs.getBasis()
        variables, rows = _codes(basis.col_status), _codes(basis.row_status)
        is_basic, at_bound = variables == _BASIC, rows[1:] != _BASIC
        limits = np.where(rows[1:] == _UPPER, bounds, -bounds)[at_bound]
        is_square = np.count_nonzero(is_basic) == np.count_nonzero(at_bound) + 1 and rows[0] != _BASIC
        if self.ray is not None or not is_square or not np.isfinite(limits).all():
            return
        A = np.column_stack([np.ones(self._n_samples), table[:, at_bound]])
        S = self._rows[is_basic]
        beta = self._to_samples(np.where(variables == _UPPER, costs[self._rows], 0.0))
        try:
            change = np.linalg.solve(A[S].T, np.append(0.0, limits) - A.T @ beta)
            solved = np.linalg.solve(A[S], self._ends[is_basic])
        except np.linalg.LinAlgError:
            return
        beta += np.bincount(S, change, minlength=self._n_samples)
        weights = np.zeros(self._n_columns)
        weights[at_bound] = solved[1:]
        # anything else comes from an ill-conditioned basis
        if _are_close(beta, self.multipliers) and _are_close(weights, self.weights):
            self.multipliers, self.weights, self.intercept = beta, weights, float(solved[0])

    def _run(self) -> highspy.HighsModelStatus:
        def run() -> None:
            with self._is_running:
                self._highs.run()

        if self._n_samples * self._n_columns <= _QUICK_SIZE:
            run()  # a thread takes longer to start
        else:
            call_in_background(run, on_wait=self._on_wait, cancel=self._is_cancelled.set)
        return self._highs.getModelStatus()

    def _to_samples(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self._rows, self._signs * values, minlength=self._n_samples)
