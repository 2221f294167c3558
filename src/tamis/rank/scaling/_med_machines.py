"""Machines of maximum entropy discrimination: from a linear problem and its tasks to the dual, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from tamis._sklearn import safe_indexing
from tamis.base import LinearModel
from tamis.kernels.arrays.columns import as_columns
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._multiplicative_updates import prepared_columns
from tamis.rank.scaling._med_dual import ClassMargin, MEDDual, Potential, TubeMargin

_LEAST_COST = 10.0  # of c="auto": the expected margin of a row without a multiplier is then 1 - 1/10
_LEAST_CORRELATION = 0.1  # of c="auto": with which a column can still be switched on


@dataclass(frozen=True)
class Priors:
    """Of maximum entropy discrimination.

    Attributes
    ----------
    p0 : float
        Probability that a switch is on.
    kappa : float
        Half the variance of a weight, for columns over the square root of their number.
    c : float or None
        Rate of the margins' exponential prior; None is :func:`least_cost`.
    epsilon : float
        Half the width of the tube, for a quantity.
    """

    p0: float
    kappa: float
    c: float | None
    epsilon: float


@dataclass(frozen=True)
class Machines:
    """A machine for every task and class, or target.

    Attributes
    ----------
    dual : MEDDual
    features : ndarray of int
        Columns of the problem's table.
    rows : list of ndarray
        Of every machine.
    offset : ndarray of shape (n_machines, n_features)
        Means, over the rows of the task, of the prepared columns: subtracted where these are dense.
    n_targets : int
        Machines of a task.
    """

    dual: MEDDual
    features: np.ndarray
    rows: list[np.ndarray]
    offset: np.ndarray
    n_targets: int

    def multipliers(self, values: np.ndarray, n_rows: int) -> np.ndarray:
        """Of shape (n_rows, n_targets); of a quantity the difference of those of both sides of the tube."""
        table = np.zeros((n_rows, self.n_targets))
        parts = self.dual.of_machines(values)
        for m, (rows, sign, part) in enumerate(zip(self.rows, self.dual.signs, parts, strict=True)):
            is_tube = sign.size == 2 * rows.size
            table[rows, m % self.n_targets] = part[: rows.size] - part[rows.size :] if is_tube else part
        return table

    def models(
        self, problem: LinearProblem, features: np.ndarray, W: np.ndarray, bias: np.ndarray
    ) -> list[LinearModel]:
        """Models of all tasks with the expected weights, for the table as it is.

        ``features`` are those of the machines, and others that do not vary.
        """
        U = self.dual.expected_weights(W) / np.sqrt(self.features.size)  # of columns not divided by that root
        intercept = bias - np.einsum("mi,mi->m", self.offset, U)
        if sparse.issparse(problem.table):
            intercept = intercept + U @ (problem.columns.means(self.features) * problem.scale[self.features])
        weights = np.zeros((features.size, len(U)))
        weights[np.searchsorted(features, self.features)] = U.T
        tasks = [slice(start, start + self.n_targets) for start in range(0, len(U), self.n_targets)]
        return [problem.model(features, weights[:, task], intercept[task]) for task in tasks]


@dataclass(frozen=True)
class TaskModel:
    """Linear models of several tasks on the same features.

    Attributes
    ----------
    features : ndarray of shape (k,)
    tasks : ndarray
        Labels of the tasks, sorted.
    models : list of LinearModel
        One per task.
    classes : ndarray or None
    """

    features: np.ndarray
    tasks: np.ndarray
    models: Sequence[LinearModel]
    classes: np.ndarray | None

    def decision_function(self, columns: Any, tasks: Any) -> np.ndarray:
        """Outputs for the models' own columns, each row by the model of its task: shape (n_samples, n_targets)."""
        outputs = np.empty((columns.shape[0], self.models[0].intercept.size))
        for model, rows in self._parts(columns, tasks):
            outputs[rows] = model.decision_function(safe_indexing(columns, rows))
        return outputs

    def predict(self, columns: Any, tasks: Any) -> np.ndarray:
        """Predicted values, or labels for classification, each row by the model of its task."""
        predicted = np.empty(columns.shape[0], dtype=float if self.classes is None else self.classes.dtype)
        for model, rows in self._parts(columns, tasks):
            predicted[rows] = model.predict(safe_indexing(columns, rows))
        return predicted

    def _parts(self, columns: Any, tasks: Any) -> list[tuple[LinearModel, np.ndarray]]:
        labels = np.asarray(tasks)
        if labels.shape != (columns.shape[0],):
            raise ValueError(f"tasks has the shape {labels.shape}, but there are {columns.shape[0]} rows: one per row")
        unknown = labels[~np.isin(labels, self.tasks)]
        if unknown.size:
            raise ValueError(f"tasks names {unknown.tolist()[0]!r}, which was no task of fit")
        parts = [(model, np.flatnonzero(labels == task)) for model, task in zip(self.models, self.tasks, strict=True)]
        return [(model, rows) for model, rows in parts if rows.size]


def pose_machines(
    problem: LinearProblem, features: np.ndarray, owners: np.ndarray, tasks: np.ndarray | None, priors: Priors
) -> Machines:
    """Machines on some columns, with multipliers for their rows.

    Parameters
    ----------
    problem : LinearProblem
    features : ndarray of int
        Columns that vary.
    owners : ndarray of int
        The switch of each of them.
    tasks : ndarray of int or None
        The task of every row; None where there is one.
    priors : Priors
    """
    A = prepared_columns(problem, features) / np.sqrt(features.size)
    A = A.tocsr() if sparse.issparse(A) else A
    weight, n_targets = problem.columns.sqrt_weight**2, problem.Y.shape[1]
    rows_of_machines, tables, signs, weights, linear, offset = [], [], [], [], [], []
    for rows in rows_of_tasks(tasks, A.shape[0]):
        table, mean = (A, np.zeros(features.size)) if tasks is None else _centered(A[rows], weight[rows])
        w, Y, target = weight[rows], problem.Y[rows], np.zeros(rows.size * n_targets)
        if problem.classes is None:  # a multiplier for each side of the tube
            target = np.concatenate([Y[:, 0], -Y[:, 0]])
            Y, w = np.repeat([[1.0], [-1.0]], rows.size, axis=0), np.concatenate([w, w])
            table = sparse.vstack([table, table], format="csr") if sparse.issparse(A) else np.vstack([table, table])
        rows_of_machines += [rows] * n_targets
        tables += [table] * n_targets
        signs += list(Y.T)
        weights += [w] * n_targets
        linear.append(target)
        offset += [mean * np.sqrt(features.size)] * n_targets
    n_sides = 2 if problem.classes is None else 1
    c = least_cost(signs, weights, features.size, priors, n_sides) if priors.c is None else priors.c
    potential: Potential = ClassMargin(c) if problem.classes is not None else TubeMargin(c, priors.epsilon)
    dual = MEDDual(
        tables, signs, np.concatenate(weights), np.concatenate(linear), potential, owners, priors.p0, priors.kappa
    )
    return Machines(dual, features, rows_of_machines, np.stack(offset), n_targets)


def rows_of_tasks(tasks: np.ndarray | None, n_rows: int) -> list[np.ndarray]:
    """Rows of every task; all of them where there is one."""
    return [np.arange(n_rows)] if tasks is None else [np.flatnonzero(tasks == t) for t in range(tasks.max() + 1)]


def _centered(table: Any, weight: np.ndarray) -> tuple[Any, np.ndarray]:
    """Columns less their means, and these; a sparse table stays as it is."""
    if sparse.issparse(table):
        return table, np.zeros(table.shape[1])
    mean = weight @ table / weight.sum()
    return table - mean, mean


def least_cost(
    signs: Sequence[np.ndarray], weights: Sequence[np.ndarray], n_columns: int, priors: Priors, n_sides: int
) -> float:
    r"""A rate c at which columns can be switched on.

    A switch is on with probability 1/2 at :math:`\kappa |w|^2 = \log((1 - p_0) / p_0)`. With multipliers of at most c,
    a column of unit variance over the root of their number D reaches :math:`|w| = \rho\, c\, n / \sqrt{D}` if its
    correlation with the signs is rho: c is such that one tenth is enough, and at least ten.
    """
    # the multipliers of both signs have the same sum; a row has n_sides of them, of which one is above zero
    reach = [2.0 / n_sides * min(w[s > 0].sum(), w[s < 0].sum()) for s, w in zip(signs, weights, strict=True)]
    with np.errstate(divide="ignore"):
        odds = max(float(np.log1p(-priors.p0) - np.log(priors.p0)), 0.0)
    needed = np.sqrt(odds / priors.kappa * n_columns)
    return max(_LEAST_COST, float(needed / (_LEAST_CORRELATION * np.linalg.norm(reach))))


def within_task_units(problem: LinearProblem, tasks: np.ndarray, *, standardize: bool) -> LinearProblem:
    """The problem with columns in units of their deviation within tasks, whose biases take up their means."""
    weight = problem.columns.sqrt_weight**2
    parts = rows_of_tasks(tasks, weight.size)
    norm2 = np.sum([as_columns(safe_indexing(problem.table, rows), weight[rows]).norm2 for rows in parts], axis=0)
    varies = (problem.scale > 0) & (norm2 > 0)
    scale = varies.astype(float)
    if standardize:
        scale = np.sqrt(np.divide(problem.columns.total, norm2, out=np.zeros_like(norm2), where=varies))
    return replace(problem, scale=scale)


def constant_models(problem: LinearProblem, features: np.ndarray, tasks: np.ndarray | None) -> list[LinearModel]:
    """Models without weights: the mean target of every task."""
    weights, shares = np.zeros((features.size, problem.Y.shape[1])), problem.row_shares
    parts = rows_of_tasks(tasks, shares.size)
    means = [np.average(problem.Y[rows], axis=0, weights=shares[rows]) for rows in parts]
    return [problem.model(features, weights, mean) for mean in means]


def stacked_coefficients(models: Sequence[LinearModel], n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all columns and intercepts: one row for every machine of every model."""
    pairs = [model.coefficients(n_columns) for model in models]
    return np.vstack([coef for coef, _ in pairs]), np.concatenate([np.atleast_1d(b) for _, b in pairs])
