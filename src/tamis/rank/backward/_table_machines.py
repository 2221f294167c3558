"""Linear machines on many rows: features are taken out of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.solvers.gram import FactorGram
from tamis.kernels.solvers.svm_primal import PrimalMachine
from tamis.rank.backward._learners import Learner, Problem
from tamis.rank.backward._machines import LinearMachines, Part, by_rows, train_dual

_ROUNDING = 8 * float(np.finfo(float).eps)


class TableMachines(LinearMachines):
    """Linear machines on the table itself: more rows than columns.

    The squared hinge, ridge and logistic regression by Newton's method in the primal, the hinge by the active-set
    method on products that are never formed.
    """

    def __init__(self, table: Any, problems: list[Problem], learner: Learner, tol: float) -> None:
        self._left = np.arange(table.shape[0])
        self.n_samples = table.shape[1]
        self.dual = learner.loss == "hinge"
        self.n_intercepts = 1 if learner.intercept and not (self.dual and learner.free_intercept) else 0
        if self.n_intercepts:
            table = _beneath(learner.intercept, table)
        self.parts = []
        for rows, group in by_rows(problems, self.n_samples):
            mine = table[:, rows]
            machines: list[Any]
            if self.dual:
                gram = FactorGram(mine)
                machines = [train_dual(gram, problem, learner, tol) for problem in group]
                self.parts.append(Part(rows, gram, machines))
                continue
            penalty = np.ones(table.shape[0])
            if self.n_intercepts and learner.free_intercept:
                penalty[0] = 0.0
            machines = [
                PrimalMachine(mine, penalty, problem.target, problem.cost, loss=learner.loss, tol=tol)
                for problem in group
            ]
            self.parts.append(Part(rows, mine, machines))
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Columns left."""
        return self._left

    def _weights(self) -> np.ndarray:
        """One row per machine."""
        if self.dual:
            parts = [np.stack([machine.v for machine in part.machines]) @ part.data.table.T for part in self.parts]
            return np.concatenate(parts)[:, self.n_intercepts :]
        return np.stack([machine.w for machine in self.machines])[:, self.n_intercepts :]

    @property
    def squared_norm(self) -> float:
        """Of the weights."""
        return float((self._weights() ** 2).sum())

    @property
    def noise(self) -> float:
        """Squared weight that rounding alone explains."""
        if not self.dual:
            return 0.0
        size = sum(
            float(part.data.diagonal.sum()) * float(sum(m.v @ m.v for m in part.machines)) for part in self.parts
        )
        return _ROUNDING**2 * size

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return (self._weights() ** 2).sum(axis=0)

    def remove(self, features: np.ndarray) -> None:
        """Take rows out of the table."""
        gone = np.searchsorted(self._left, np.sort(features)) + self.n_intercepts
        kept = np.delete(np.arange(self._left.size + self.n_intercepts), gone)
        self._left = self._left[kept[self.n_intercepts :] - self.n_intercepts]
        for part in self.parts:
            if self.dual:
                columns = part.data.table[gone]
                columns = columns.toarray() if sparse.issparse(columns) else columns
                part.data.replace(part.data.table[kept])
                for machine in part.machines:
                    if len(columns) == 1:
                        machine.forget(columns[0])
                    else:
                        machine.rebase()
            else:
                part.data = part.data[kept]
                for machine in part.machines:
                    machine.keep(kept, gone, part.data)
        self._solve()


def _beneath(value: float, table: Any) -> Any:
    """The table under a row of one value."""
    row = np.full((1, table.shape[1]), float(value))
    return (
        sparse.vstack([sparse.csr_array(row), table], format="csr")
        if sparse.issparse(table)
        else np.vstack([row, table])
    )
