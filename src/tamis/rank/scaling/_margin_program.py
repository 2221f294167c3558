r"""The linear program of the largest margin at constant sum of squared scaling factors (Lal et al. 2006, Eq. 19).

With a linear kernel the maximum over :math:`\alpha` is the minimum over w and b of
:math:`\frac12 \sum_i w_i^2 / \sigma_i^2` with :math:`y_k (w^\top x_k + b) \ge 1`. Of given weights the best squared
factors are :math:`\sigma_i^2 = |w_i| / W`, :math:`W = \sum_i |w_i|`, and the minimum is :math:`W^2 / 2`: the weights
are those of the hard-margin machine with an l1 norm,

.. math:: \min_{w, b} \sum_i |w_i| \ \text{ with }\ y_k (w^\top x_k + b) \ge 1, \qquad\text{dual to}\qquad
          \max_{\alpha \ge 0} \sum_k \alpha_k \ \text{ with }\ \sum_k \alpha_k y_k = 0, \
          \Big|\sum_k \alpha_k y_k x_{ki}\Big| \le 1,

whose multipliers are :math:`\mu_i^+ + \mu_i^- = |w_i|`. The dual variables of (19) are W times those of the program:
then every column with a factor has :math:`\left(\sum_k \alpha_k y_k x_{ki}\right)^2 = W^2`, no other has more, and the
derivatives of (19) by the squared factors, minus half of these, are equal as the constraint asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tamis.kernels.arrays.columns import Columns, as_columns, to_numpy
from tamis.kernels.solvers.l1_program import InfeasibleError, L1Program
from tamis.rank._linear_problem import LinearProblem

SOFT_COST = 1.0  # of errors, where C is infinite but every hyperplane makes some


@dataclass(frozen=True)
class MarginSolution:
    """Programs of all targets, for columns of unit size.

    Attributes
    ----------
    weights : ndarray of shape (n_columns, n_targets)
    intercept : ndarray of shape (n_targets,)
        Of centered columns.
    multipliers : ndarray of shape (n_samples, n_targets)
        :math:`\\alpha_k y_k`; they are at most the cost of an error.
    products : ndarray of shape (n_columns, n_targets)
        :math:`|\\sum_k \\alpha_k y_k x_{ki}|`, at most one, and one where a weight is not zero. A column without a
        weight would get one if its weight cost less than this in place of one.
    C : float
        The cost of an error, before weights of rows.
    objective : float
        :math:`W^2 / 2`, and for a finite C :math:`W^2 / 2 + C W \\sum_k \\xi_k`, summed over the targets.
    gap : float
        Largest relative duality gap of a program.
    converged : bool
    """

    weights: np.ndarray
    intercept: np.ndarray
    multipliers: np.ndarray
    products: np.ndarray
    C: float
    objective: float
    gap: float
    converged: bool


def solve_margin(
    problem: LinearProblem,
    scale: np.ndarray,
    C: float,
    epsilon: float,
    tol: float,
    on_wait: Callable[[], object] | None = None,
) -> MarginSolution:
    """One program for each target; with a finite C for all of them where one has no solution without an error.

    Parameters
    ----------
    problem : LinearProblem
    scale : ndarray of shape (n_columns,)
        Factor of every column; zero leaves it out.
    C : float
        May be infinite.
    epsilon : float
        Error that costs nothing, for a quantity.
    tol : float
        Relative duality gap.
    on_wait : callable, default=None
        Called again and again while the solver is at work.
    """
    try:
        return _solve_targets(problem, scale, C, epsilon, tol, on_wait)
    except InfeasibleError:
        return _solve_targets(problem, scale, SOFT_COST, epsilon, tol, on_wait)


def _solve_targets(
    problem: LinearProblem,
    scale: np.ndarray,
    C: float,
    epsilon: float,
    tol: float,
    on_wait: Callable[[], object] | None,
) -> MarginSolution:
    row_weight = problem.columns.sqrt_weight**2
    # rows are weighted by their costs of errors, and not by their columns
    columns = problem.columns if np.all(row_weight == 1.0) else as_columns(problem.table)
    costs = np.full(row_weight.size, np.inf) if np.isinf(C) else C * row_weight
    penalties = np.divide(1.0, scale, out=np.full(scale.size, np.inf), where=scale > 0)
    loss = "hinge" if problem.classes is not None else "epsilon_insensitive"
    n_targets = problem.Y.shape[1]
    weights, multipliers = np.zeros((scale.size, n_targets)), np.zeros((row_weight.size, n_targets))
    intercept, objective, gap, converged = np.zeros(n_targets), 0.0, 0.0, True
    for t, y in enumerate(problem.Y.T):
        program = L1Program(columns, y, costs, loss=loss, epsilon=epsilon, on_wait=on_wait)
        solution = program.solve(penalties, tol=tol)
        active = solution.active
        weights[active, t] = solution.weights / scale[active]
        multipliers[:, t] = solution.multipliers
        # the intercept of the problem's columns, whose means may be weighted
        intercept[t] = solution.intercept + (problem.columns.means(active) - columns.means(active)) @ solution.weights
        norm = float(np.abs(weights[:, t]).sum())
        # objective = W + C sum(xi)
        objective += norm * (solution.objective - 0.5 * norm)
        gap, converged = max(gap, solution.gap), converged and solution.converged
    products = np.abs(_products(columns, multipliers)) * scale[:, None]
    return MarginSolution(weights, intercept, multipliers, products, C, objective, gap, converged)


def _products(columns: Columns, multipliers: np.ndarray) -> np.ndarray:
    """``X' multipliers`` of the table's own columns."""
    return to_numpy(columns.dot(columns.as_array(multipliers))).astype(float)
