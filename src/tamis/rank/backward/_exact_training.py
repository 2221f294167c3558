"""Training to the exact optimum: columns as the solvers want them, and the solver that suits kernel and table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.scaling import standardize_columns
from tamis.kernels.solvers.feature_kernel import resolve_gamma
from tamis.rank.backward._kernel_solver import KernelSolver
from tamis.rank.backward._learners import Learner, Subproblem
from tamis.rank.backward._tall_linear_solver import TallLinearSolver
from tamis.rank.backward._wide_linear_solver import WideLinearSolver, is_wide


def is_linear(learner: Learner) -> bool:
    """Whether the models have one weight per column."""
    return isinstance(learner.kernel, str) and learner.kernel == "linear"


def prepare_columns(X: Any, sample_weight: np.ndarray | None, *, standardize: bool, centered: bool) -> Any:
    """Columns in double precision, of unit variance if asked; centered where an intercept makes up for it."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    if standardize:
        return standardize_columns(X.astype(float, copy=False), sample_weight)
    if sparse.issparse(X) or not centered:
        return X.astype(float)
    return X - X.mean(axis=0, dtype=float)


def has_free_intercept(learner: Learner) -> bool:
    """Whether columns of linear models may be shifted: an intercept without penalty makes up for it."""
    return is_linear(learner) and learner.free_intercept and learner.intercept > 0


def resolve_kernel(learner: Learner, table: Any, sample_weight: np.ndarray | None) -> Learner:
    """The learner with the number behind ``gamma`` on the prepared table of all columns, of which some may leave."""
    if is_linear(learner):
        return learner
    if sparse.issparse(table):
        raise ValueError(
            f"sparse input is not supported with kernel={learner.kernel!r}; use kernel='linear', or X.toarray()"
        )
    return replace(learner, gamma=resolve_gamma(learner.gamma, table, sample_weight))


def train_exactly(
    table: Any, subproblems: list[Subproblem], learner: Learner, tol: float
) -> KernelSolver | TallLinearSolver | WideLinearSolver:
    """The solver that suits kernel and prepared table, trained on all of its columns."""
    table = table.T
    if not is_linear(learner):
        return KernelSolver(table, subproblems, learner, tol)
    if sparse.issparse(table):
        table = table.tocsr()
    if is_wide(table.shape[::-1], learner):
        return WideLinearSolver(
            table if sparse.issparse(table) else np.ascontiguousarray(table), subproblems, learner, tol
        )
    return TallLinearSolver(table, subproblems, learner, tol)
