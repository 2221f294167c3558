"""Linear models with no more rows than columns: columns are subtracted from the Gram matrix of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.solvers.gram import DenseGram, add_square
from tamis.rank.backward._elimination_solver import (
    RowGroup,
    SubproblemSolver,
    group_by_rows,
    intercept_product,
    pose_dual,
    principal_submatrix,
)
from tamis.rank.backward._learners import Learner, Subproblem
from tamis.rank.backward._weight_search import WeightSearch

_MAX_RANK_ONE = 4  # columns that are subtracted one by one; more are subtracted in one product


class WideLinearSolver(SubproblemSolver):
    """Linear models in the dual, on the n x n Gram matrix of the rows, which is downdated.

    Eliminating one column costs O(n^2); the weights of all features are computed only when one may have become least.
    """

    def __init__(
        self, table: Any, subproblems: list[Subproblem], learner: Learner, tol: float, *, max_iter: int = 10_000
    ) -> None:
        self.search = WeightSearch(table)
        self.is_sparse = sparse.issparse(table)
        self.n_samples = table.shape[1]
        self.added = intercept_product(learner)
        self._n_at_computation = table.shape[0]  # features when the Gram matrix was last computed
        matrix = self._compute_gram()
        self.groups = []
        for rows, members in group_by_rows(subproblems, self.n_samples):
            gram = DenseGram(principal_submatrix(matrix, rows))
            models = [pose_dual(gram, subproblem, learner, tol, max_iter) for subproblem in members]
            self.groups.append(RowGroup(rows, gram, models))
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self.search.features

    @property
    def n_features(self) -> int:
        """How many columns remain."""
        return self.search.n_remaining

    @property
    def rounding_tol(self) -> float:
        """Squared weight that rounding alone explains."""
        return self.search.rounding_tol(self.dual_variables())

    def weights(self) -> np.ndarray:
        """One row per model, of the remaining columns."""
        return self.dual_variables() @ self.search.table.T

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return self.search.weights(self.dual_variables())

    def least(self) -> tuple[int, float]:
        """The feature of least weight."""
        return self.search.least(self.dual_variables())

    def remove(self, features: np.ndarray) -> None:
        """Subtract columns from the Gram matrix, or compute it anew when half of them have been eliminated since.

        Otherwise the small matrix of the last features would be a difference of large ones, and lose its digits.
        """
        if features.size == 1 and 2 * (self.search.n_remaining - 1) > self._n_at_computation:
            self._subtract(_dense(self.search.remove_one(int(features[0]))).ravel())
            self._solve()
            return
        eliminated = self.search.remove(features)
        n_remaining = self.search.n_remaining
        if 2 * n_remaining <= self._n_at_computation:
            self._n_at_computation = n_remaining
            matrix = self._compute_gram()
            for group in self.groups:
                self._replace_kernel(group, principal_submatrix(matrix, group.rows))
        elif features.size > _MAX_RANK_ONE:
            for group in self.groups:
                self._subtract_many(group, eliminated[:, group.rows])
        else:
            for column in _dense(eliminated):
                self._subtract(column)
        self._solve()

    def _compute_gram(self) -> np.ndarray:
        table = self.search.table
        return _dense(table.T @ table) + self.added

    def _subtract_many(self, group: RowGroup, columns: Any) -> None:
        """Columns of one group's rows, one in each row of ``columns``."""
        matrix = group.data.matrix - _dense(columns.T @ columns)
        if 3 * columns.shape[0] > matrix.shape[0]:  # computing an inverse anew is cheaper than a downdate of that rank
            self._replace_kernel(group, matrix)
            return
        group.data.replace(matrix)
        columns = _dense(columns)
        for model in group.models:
            model.downdate_many(columns)

    def _subtract(self, column: np.ndarray) -> None:
        for group in self.groups:
            values = column[group.rows]
            _subtract_square(group.data.matrix, values, is_sparse=self.is_sparse)
            for model in group.models:
                model.downdate(values)


def is_wide(shape: tuple[int, ...], learner: Learner) -> bool:
    """Whether the dual is less work than the primal; conjugate gradients make the most of a logistic regression's."""
    n_samples, n_features = shape
    return n_samples <= (n_features // 2 if learner.loss == "logistic" else n_features)


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if sparse.issparse(table) else table


def _subtract_square(matrix: np.ndarray, column: np.ndarray, *, is_sparse: bool) -> None:
    """``matrix -= column column'``, in place."""
    if is_sparse:
        entries = np.flatnonzero(column)
        matrix[np.ix_(entries, entries)] -= column[entries, None] * column[entries]
    else:
        add_square(matrix, column, -1.0)
