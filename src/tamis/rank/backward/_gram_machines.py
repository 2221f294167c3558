"""Linear machines on few rows: features are taken out of the products of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.solvers.gram import DenseGram, add_square
from tamis.rank.backward._learners import Learner, Problem
from tamis.rank.backward._machines import LinearMachines, Part, among_rows, by_rows, penalized_intercept, train_dual
from tamis.rank.backward._weight_search import WeightSearch

_FEW = 4  # columns that are taken out of a matrix one by one


class GramMachines(LinearMachines):
    """Linear machines on the n x n products of the rows, from which columns are taken out: no more rows than columns.

    Taking one column out costs O(n^2); weights of all features are computed only when they may have changed enough.
    """

    def __init__(self, table: Any, problems: list[Problem], learner: Learner, tol: float) -> None:
        self.search = WeightSearch(table)
        self.is_sparse = sparse.issparse(table)
        self.n_samples = table.shape[1]
        self.added = penalized_intercept(learner)
        self._n_fresh = table.shape[0]
        products = self._products()
        self.parts = []
        for rows, group in by_rows(problems, self.n_samples):
            gram = DenseGram(among_rows(products, rows))
            self.parts.append(Part(rows, gram, [train_dual(gram, problem, learner, tol) for problem in group]))
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Columns left."""
        return self.search.features

    @property
    def n_features(self) -> int:
        """How many columns are left."""
        return self.search.n_left

    @property
    def noise(self) -> float:
        """Squared weight that rounding alone explains."""
        return self.search.noise(self._duals())

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return self.search.weights(self._duals())

    def least(self) -> tuple[int, float]:
        """The feature of least weight."""
        return self.search.least(self._duals())

    def remove(self, features: np.ndarray) -> None:
        """Take columns out of the products."""
        if features.size == 1 and 2 * (self.search.n_left - 1) > self._n_fresh:
            self._take_out(_dense(self.search.remove_one(int(features[0]))).ravel())
            self._solve()
            return
        gone = self.search.remove(features)
        n_left = self.search.n_left
        if 2 * n_left <= self._n_fresh:  # what is left must not lose digits to what has gone
            self._n_fresh = n_left
            products = self._products()
            for part in self.parts:
                self._replace(part, among_rows(products, part.rows))
        elif features.size > _FEW:
            for part in self.parts:
                self._take_out_many(part, gone[:, part.rows])
        else:
            for column in _dense(gone):
                self._take_out(column)
        self._solve()

    def _products(self) -> np.ndarray:
        table = self.search.table
        return _dense(table.T @ table) + self.added

    def _take_out_many(self, part: Part, rows: Any) -> None:
        matrix = part.data.matrix - _dense(rows.T @ rows)
        if 3 * rows.shape[0] > matrix.shape[0]:  # too many to make them dense, and for a down-date
            self._replace(part, matrix)
            return
        part.data.matrix = matrix
        part.data.refresh()
        columns = _dense(rows)
        for machine in part.machines:
            machine.forget_many(columns)

    def _take_out(self, column: np.ndarray) -> None:
        for part in self.parts:
            mine = column[part.rows]
            _subtract_square(part.data.matrix, mine, is_sparse=self.is_sparse)
            for machine in part.machines:
                machine.forget(mine)


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if sparse.issparse(table) else table


def _subtract_square(matrix: np.ndarray, column: np.ndarray, *, is_sparse: bool) -> None:
    """``matrix -= column column'``, in place."""
    if is_sparse:
        entries = np.flatnonzero(column)
        matrix[np.ix_(entries, entries)] -= column[entries, None] * column[entries]
    else:
        add_square(matrix, column, -1.0)
