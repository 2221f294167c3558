"""Training to the exact optimum: columns as the solvers want them, and the solver that suits kernel and table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from tamis._sklearn import get_namespace_and_device, max_precision_float_dtype
from tamis.kernels.arrays.scaling import standardize_columns
from tamis.kernels.arrays.transfer import is_on_host
from tamis.kernels.solvers.feature_kernel import resolve_gamma
from tamis.rank.backward._device_table import DeviceTable
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
    elif not is_on_host(X):
        return _prepare_on_device(X, sample_weight, standardize=standardize, centered=centered)
    if standardize:
        return standardize_columns(X.astype(float, copy=False), sample_weight)
    if sparse.issparse(X) or not centered:
        return X.astype(float)
    return X - X.mean(axis=0, dtype=float)


def _prepare_on_device(X: Any, sample_weight: np.ndarray | None, *, standardize: bool, centered: bool) -> Any:
    xp, _, device = get_namespace_and_device(X)
    X = xp.astype(X, max_precision_float_dtype(xp, device), copy=False)
    if standardize:
        return standardize_columns(X, sample_weight)
    return X - xp.mean(X, axis=0) if centered else X


def can_train_in_place(X: Any, learner: Learner | None) -> bool:
    """Whether models can be trained on a table where it is.

    On a device these are linear models with no more rows than columns, in double precision.
    """
    if is_on_host(X):
        return True
    xp, _, device = get_namespace_and_device(X)
    has_double = max_precision_float_dtype(xp, device) == xp.float64
    return learner is not None and is_linear(learner) and is_wide(X.shape, learner) and has_double


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
    """The solver that suits kernel and prepared table, trained on all of its columns.

    A table on a device is one that can stay there, see :func:`can_train_in_place`.
    """
    if not is_on_host(table):
        return WideLinearSolver(DeviceTable.from_columns(table), subproblems, learner, tol)
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
