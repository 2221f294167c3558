"""An interior-point method for the dual of maximum entropy discrimination."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from tamis.rank.scaling._med_dual import MEDDual

_NEGLIGIBLE = 1e-9  # of the largest curvature: columns below are left out of the Hessian matrix, not of the gradient
_TO_BOUNDARY = 0.995  # share of the way to a bound that a step may go
_FIRST_MU = 0.1  # of the barrier, times c: a multiplier of that order times a slack of the order of one
_SUFFICIENT = 1e-4  # of the increase that the slope foretells (Armijo)
_MAX_MATRIX_BYTES = 2**32


@dataclass(frozen=True)
class Iterate:
    """Multipliers after a Newton step.

    Attributes
    ----------
    multipliers : ndarray
    bias : ndarray of shape (n_machines,)
    W : ndarray of shape (n_machines, n_columns)
        Sums of multiplier times sign times row.
    value : float
        Of the dual objective.
    projected_gradient : float
    gradient : ndarray
        Of the Lagrangian of the equality constraints: that of J less sign times bias.
    """

    multipliers: np.ndarray
    bias: np.ndarray
    W: np.ndarray
    value: float
    projected_gradient: float
    gradient: np.ndarray


def newton_steps(dual: MEDDual, tol: float) -> Iterator[Iterate]:
    r"""Maximize :math:`J(\lambda) + \mu \sum_t \log \lambda_t` with the equality constraints, for a falling mu.

    Each step solves the Newton equations of the perturbed optimality conditions (slacks z of the bounds), and goes so
    far that the barrier function does not fall. Ends once the projected gradient of J is at most ``tol``.
    """
    mu = _FIRST_MU * dual.potential.c
    lam = starting_point(dual, mu)
    z, bias = mu / lam, np.zeros(len(dual.tables))
    W = dual.weights(lam)
    while True:
        gradient = dual.gradient(lam, W)
        solve = newton_system(dual, lam, W, z / lam)
        step, bias = constrained_step(dual, solve, lam, gradient + mu / lam)
        dz = mu / lam - z - z / lam * step
        step_W = dual.weights(step)
        size = line_search(dual, lam, W, step, step_W, float((gradient + mu / lam) @ step), mu)
        lam = lam + size * step
        W = dual.weights(lam)
        z = z + min(1.0, _to_bound(z, dz)) * dz
        z = np.clip(z, 1e-8 * mu / lam, 1e8 * mu / lam)
        reduced = dual.gradient(lam, W) - dual.all_signs * np.repeat(bias, np.diff(dual.bounds))
        projected_gradient = dual.projected_gradient(lam, reduced)
        yield Iterate(lam, bias, W, dual.value(lam, W), projected_gradient, reduced)
        if projected_gradient <= tol or size == 0.0:  # or rounding leaves nothing to gain
            return
        residual = max(np.abs(reduced + z).max(), np.abs(lam * z - mu).max())
        if residual <= max(10.0 * mu, 0.1 * tol):
            mu = max(min(0.2 * mu, mu**1.5), 1e-3 * tol**2)


def starting_point(dual: MEDDual, mu: float) -> np.ndarray:
    """Multipliers equal within the signs of a machine, so that they meet its equality constraint.

    Of the size, among some, at which the barrier function is largest.
    """
    parts = []
    for sign, weight in zip(dual.signs, dual.of_machines(dual.weight), strict=True):
        totals = np.where(sign > 0, weight[sign > 0].sum(), weight[sign < 0].sum())
        parts.append(weight * totals.min() / totals)
    shape = np.concatenate(parts)
    W = dual.weights(shape)
    sizes = 0.5 * dual.potential.c * 10.0 ** -np.arange(0.0, 8.0, 0.5)
    values = [dual.value(size * shape, size * W) + mu * shape.size * np.log(size) for size in sizes]
    return sizes[int(np.argmax(values))] * shape


def constrained_step(
    dual: MEDDual, solve: Callable[[np.ndarray], np.ndarray], lam: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The Newton step under the equality constraints, and their multipliers: the biases."""
    constraints = np.zeros((lam.size, len(dual.tables)))
    for m, sign in enumerate(dual.signs):
        constraints[dual.bounds[m] : dual.bounds[m + 1], m] = sign
    solved = solve(np.column_stack([slope, constraints]))
    schur = constraints.T @ solved[:, 1:]
    bias = np.linalg.solve(schur, constraints.T @ (solved[:, 0] + lam))
    return solved[:, 0] - solved[:, 1:] @ bias, bias


def line_search(
    dual: MEDDual, lam: np.ndarray, W: np.ndarray, step: np.ndarray, step_W: np.ndarray, slope: float, mu: float
) -> float:
    """The largest of some lengths of the step at which the barrier function rises enough."""
    upper = dual.potential.c * dual.weight - lam
    size = min(1.0, _to_bound(lam, step), _to_bound(upper, -step))
    before = dual.value(lam, W) + mu * np.log(lam).sum()
    rounding = 1e-13 * (1.0 + abs(before))
    for _ in range(60):
        there = lam + size * step
        after = dual.value(there, W + size * step_W) + mu * np.log(there).sum()
        if after >= before + _SUFFICIENT * size * slope - rounding:
            return size
        size *= 0.5
    return 0.0


def _to_bound(values: np.ndarray, step: np.ndarray) -> float:
    """Length of a step at which the first of some positive values has almost fallen to zero."""
    falling = step < 0
    return _TO_BOUNDARY * float(np.min(-values[falling] / step[falling], initial=np.inf))


def newton_system(
    dual: MEDDual, lam: np.ndarray, W: np.ndarray, barrier: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Solver of systems with minus the Hessian matrix of J, plus the diagonal matrix of the barrier, under constraints.

    By a Cholesky factor of the order of the number of multipliers or, by Woodbury's identity, of the number of weights,
    whichever is less.
    """
    _, curvature = dual.potential.derivatives(lam / dual.weight)
    diagonal = barrier - curvature / dual.weight
    penalty = PenaltyCurvature.at(dual, W)
    n_multipliers, n_weights = lam.size, penalty.W.size
    check_matrix_fits(min(n_multipliers, n_weights), n_multipliers)
    if n_multipliers <= n_weights:
        return _solver_by_rows(dual, penalty, diagonal)
    return _solver_by_columns(dual, penalty, diagonal)


@dataclass(frozen=True)
class PenaltyCurvature:
    r"""Second derivatives of the penalty in the weights: within a switch, :math:`d\, I + e\, w w^\top`.

    With :math:`d = 2 \kappa p` and :math:`e = 4 \kappa^2 p (1 - p)`. Columns that hardly have any are left out.

    Attributes
    ----------
    columns : ndarray or slice
        Of the tables.
    W : ndarray of shape (n_machines, n_kept)
    d, e : ndarray of shape (n_kept,)
    members : sparse array of shape (n_kept, n_switches) or None
        Which switch each belongs to; None where each has its own.
    """

    columns: Any
    W: np.ndarray
    d: np.ndarray
    e: np.ndarray
    members: Any

    @classmethod
    def at(cls, dual: MEDDual, W: np.ndarray) -> PenaltyCurvature:
        """For the weights ``W``."""
        p, owners = dual.probabilities(W), dual.owners
        d, e = 2.0 * dual.kappa * p, 4.0 * dual.kappa**2 * p * (1.0 - p)
        largest = d + e * dual.squared_norms(W)
        kept = np.flatnonzero(largest[owners] > _NEGLIGIBLE * largest.max())
        columns = slice(None) if kept.size == owners.size else kept
        members = None
        if dual.n_switches < owners.size:
            shape = (kept.size, dual.n_switches)
            members = sparse.csr_array((np.ones(kept.size), (np.arange(kept.size), owners[kept])), shape=shape)
        return cls(columns, W[:, kept], d[owners[kept]], e[owners[kept]], members)

    @property
    def is_diagonal(self) -> bool:
        """Whether every switch belongs to one weight."""
        return self.W.shape[0] == 1 and self.members is None

    def root(self) -> np.ndarray:
        """Square root of the diagonal, where there is nothing else."""
        return np.sqrt(self.d + self.e * self.W[0] ** 2)

    def add_up(self, values: np.ndarray) -> np.ndarray:
        """Sums over the columns of every switch, of an array whose first axis is columns."""
        return values if self.members is None else self.members.T @ values

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of switches for each of their columns."""
        return values if self.members is None else self.members @ values

    def times_root(self, values: np.ndarray) -> np.ndarray:
        """The symmetric square root of all blocks times an array of shape (n_machines, n_kept, m)."""
        norm2 = self.spread(self.add_up(np.einsum("mi,mi->i", self.W, self.W)))
        # (1 + b |w|^2)^2 = 1 + e |w|^2 / d
        ratio = self.e / self.d
        b = ratio / (1.0 + np.sqrt(1.0 + ratio * norm2))
        products = self.spread(self.add_up(np.einsum("mi,mik->ik", self.W, values)))
        return np.sqrt(self.d)[:, None] * (values + (b * self.W)[:, :, None] * products)


def _solver_by_rows(
    dual: MEDDual, penalty: PenaltyCurvature, diagonal: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """By the matrix of multipliers itself."""
    signs = dual.all_signs
    tables = [table[:, penalty.columns] for table in dual.tables]
    if penalty.is_diagonal:
        matrix = _outer(_times_columns(tables[0], penalty.root()))
    else:
        matrix = np.zeros((signs.size, signs.size))
        coupled = []
        for m, table in enumerate(tables):
            rows = slice(dual.bounds[m], dual.bounds[m + 1])
            matrix[rows, rows] = _outer(_times_columns(table, np.sqrt(penalty.d)))
            part = _times_columns(table, np.sqrt(penalty.e) * penalty.W[m])
            coupled.append(part if penalty.members is None else part @ penalty.members)
        stacked = sparse.vstack(coupled) if sparse.issparse(coupled[0]) else np.vstack(coupled)
        matrix += _outer(stacked)
    # r r' of the constraints r of each machine, times some factor: the step, along which they stay, does not change.
    # Without, the matrix is singular in their direction where rows are centered and c is large.
    size = float(np.mean(matrix.diagonal()))
    for m in range(len(tables)):
        rows = slice(dual.bounds[m], dual.bounds[m + 1])
        matrix[rows, rows] += size
    matrix *= signs[:, None]
    matrix *= signs
    matrix[np.diag_indices_from(matrix)] += diagonal
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return lambda right: cho_solve(factor, right, check_finite=False)


def _solver_by_columns(
    dual: MEDDual, penalty: PenaltyCurvature, diagonal: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """By the matrix of weights: ``(T + B B')^-1 = T^-1 - T^-1 B (I + B' T^-1 B)^-1 B' T^-1``, B = S X R."""
    signs = dual.all_signs
    tables = [table[:, penalty.columns] for table in dual.tables]
    n_machines, n_kept = penalty.W.shape
    matrix: np.ndarray = np.zeros((n_machines, n_kept, n_machines, n_kept))
    for m, (table, part) in enumerate(zip(tables, dual.of_machines(diagonal), strict=True)):
        scaled = sparse.diags_array(part**-0.5) @ table if sparse.issparse(table) else table * (part**-0.5)[:, None]
        matrix[m, :, m, :] = _outer(scaled.T)
    order = n_machines * n_kept
    for _ in range(2):  # R' (X' T^-1 X) R: the root is symmetric
        matrix = penalty.times_root(matrix.reshape(n_machines, n_kept, order)).reshape(order, order).T
    matrix = np.ascontiguousarray(matrix)
    matrix[np.diag_indices(order)] += 1.0
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def to_weights(values: np.ndarray) -> np.ndarray:
        parts = dual.of_machines(signs[:, None] * values)
        products = [np.asarray(table.T @ part) for table, part in zip(tables, parts, strict=True)]
        return penalty.times_root(np.stack(products)).reshape(order, -1)

    def to_multipliers(values: np.ndarray) -> np.ndarray:
        parts = penalty.times_root(values.reshape(n_machines, n_kept, -1))
        products = [np.asarray(table @ part) for table, part in zip(tables, parts, strict=True)]
        return signs[:, None] * np.concatenate(products)

    def solve_once(right: np.ndarray) -> np.ndarray:
        scaled = right / diagonal[:, None]
        inner = cho_solve(factor, to_weights(scaled), check_finite=False)
        return scaled - to_multipliers(inner) / diagonal[:, None]

    def solve(right: np.ndarray) -> np.ndarray:
        found = solve_once(right)
        # the difference of two large terms: one step of iterative refinement
        residual = right - diagonal[:, None] * found - to_multipliers(to_weights(found))
        return found + solve_once(residual)

    return solve


def _times_columns(table: Any, factors: np.ndarray) -> Any:
    return table @ sparse.diags_array(factors) if sparse.issparse(table) else table * factors


def _outer(table: Any) -> np.ndarray:
    """``table table'``, dense."""
    product = table @ table.T
    return product.toarray() if sparse.issparse(product) else product


def check_matrix_fits(order: int, n_multipliers: int) -> None:
    """Refuse a system that memory would hardly hold."""
    size = 8 * order**2
    if size > _MAX_MATRIX_BYTES:
        raise ValueError(
            f"the Newton system of {n_multipliers} multipliers takes {size / 2**30:.0f} GiB; give fewer rows, or fewer "
            f"columns: the smaller of both, times the number of classes or tasks, may be at most "
            f"{int((_MAX_MATRIX_BYTES / 8) ** 0.5)}"
        )
