"""Linear models with more rows than columns: columns are eliminated from the table itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.tolerances import WEIGHT_ERROR
from tamis.kernels.solvers.gram import FactorGram
from tamis.kernels.solvers.svm_primal import PrimalLinearModel
from tamis.rank.backward._elimination_solver import RowGroup, SubproblemSolver, group_by_rows, pose_dual
from tamis.rank.backward._learners import Learner, Subproblem


class TallLinearSolver(SubproblemSolver):
    """Linear models on the table, one feature per row of it.

    The squared hinge, ridge and logistic regression by Newton's method in the primal. The hinge, which has no second
    derivative, by the active-set method in the dual, on a Gram matrix that is never formed.
    """

    def __init__(
        self, table: Any, subproblems: list[Subproblem], learner: Learner, tol: float, *, max_iter: int = 100
    ) -> None:
        self._remaining = np.arange(table.shape[0])
        self.n_samples = table.shape[1]
        self._is_dual = learner.loss == "hinge"
        # the intercept is the weight of a constant row, unless it is the multiplier of the dual's equality
        self._n_intercepts = 1 if learner.intercept and not (self._is_dual and learner.free_intercept) else 0
        if self._n_intercepts:
            table = _prepend_constant(learner.intercept, table)
        penalty = np.ones(table.shape[0])
        if self._n_intercepts and learner.free_intercept:
            penalty[0] = 0.0
        self.groups = []
        for rows, members in group_by_rows(subproblems, self.n_samples):
            part = table[:, rows]
            if self._is_dual:
                gram = FactorGram(part)
                models: list[Any] = [pose_dual(gram, subproblem, learner, tol) for subproblem in members]
                self.groups.append(RowGroup(rows, gram, models))
            else:
                models = [
                    PrimalLinearModel(
                        part, penalty, member.target, member.cost, loss=learner.loss, tol=tol, max_iter=max_iter
                    )
                    for member in members
                ]
                self.groups.append(RowGroup(rows, part, models))
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self._remaining

    def _weights(self) -> np.ndarray:
        """One row per model."""
        if self._is_dual:
            weights = [np.stack([model.v for model in group.models]) @ group.data.table.T for group in self.groups]
            return np.concatenate(weights)[:, self._n_intercepts :]
        return np.stack([model.w for model in self.models])[:, self._n_intercepts :]

    @property
    def squared_norm(self) -> float:
        """Of the weights."""
        return float((self._weights() ** 2).sum())

    @property
    def rounding_tol(self) -> float:
        """Squared weight that rounding alone explains."""
        if not self._is_dual:
            return 0.0
        size = sum(
            float(group.data.diagonal.sum()) * float(sum(model.v @ model.v for model in group.models))
            for group in self.groups
        )
        return WEIGHT_ERROR**2 * size

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return (self._weights() ** 2).sum(axis=0)

    def remove(self, features: np.ndarray) -> None:
        """Eliminate columns from the table."""
        eliminated = np.searchsorted(self._remaining, np.sort(features)) + self._n_intercepts
        kept = np.delete(np.arange(self._remaining.size + self._n_intercepts), eliminated)
        self._remaining = self._remaining[kept[self._n_intercepts :] - self._n_intercepts]
        for group in self.groups:
            if self._is_dual:
                columns = group.data.table[eliminated]
                columns = columns.toarray() if sparse.issparse(columns) else columns
                group.data.replace(group.data.table[kept])
                for model in group.models:
                    if len(columns) == 1:
                        model.downdate(columns[0])
                    else:
                        model.refactorize()
            else:
                group.data = group.data[kept]
                for model in group.models:
                    model.eliminate(eliminated, kept, group.data)
        self._solve()


def _prepend_constant(value: float, table: Any) -> Any:
    """The table under a row of one value."""
    row = np.full((1, table.shape[1]), float(value))
    if sparse.issparse(table):
        return sparse.vstack([sparse.csr_array(row), table], format="csr")
    return np.vstack([row, table])
