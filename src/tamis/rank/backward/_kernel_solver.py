"""Models with a kernel: features are eliminated from the kernel matrix."""

from __future__ import annotations

import numpy as np

from tamis.kernels.arrays.tolerances import WEIGHT_ERROR
from tamis.kernels.solvers.feature_kernel import FeatureKernel, criterion_changes
from tamis.kernels.solvers.gram import DenseGram
from tamis.rank.backward._elimination_solver import (
    RowGroup,
    SubproblemSolver,
    group_by_rows,
    intercept_product,
    pose_dual,
    principal_submatrix,
)
from tamis.rank.backward._learners import Learner, Subproblem


class KernelSolver(SubproblemSolver):
    """Models with any kernel; the criterion is the change of their squared norm at fixed dual variables.

    Lal et al. 2006, algorithm 2.
    """

    def __init__(self, table: np.ndarray, subproblems: list[Subproblem], learner: Learner, tol: float) -> None:
        self.n_samples = table.shape[1]
        self.added = intercept_product(learner)
        self.kernel = FeatureKernel(
            table.T, learner.kernel, gamma=learner.gamma, degree=learner.degree, coef0=learner.coef0
        )
        self.groups = []
        for rows, members in group_by_rows(subproblems, self.n_samples):
            gram = DenseGram(principal_submatrix(self.kernel.matrix, rows) + self.added)
            models = [pose_dual(gram, subproblem, learner, tol) for subproblem in members]
            self.groups.append(RowGroup(rows, gram, models))
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self.kernel.remaining

    @property
    def rounding_tol(self) -> float:
        """Change of a squared norm that rounding alone explains."""
        V = np.abs(self.dual_variables())
        return WEIGHT_ERROR * float(np.einsum("mi,ij,mj->", V, np.abs(self.kernel.matrix), V))

    def criteria(self) -> np.ndarray:
        """Change of the squared norms without each feature."""
        return criterion_changes(self.kernel, self.dual_variables(), self.kernel.remaining)

    def group_criteria(self, members: list[np.ndarray]) -> np.ndarray:
        """Change of the squared norms without each group."""
        V = self.dual_variables()
        rows = np.flatnonzero(np.any(V != 0, axis=0))
        V = V[:, rows]
        norms = np.einsum("mi,ij,mj->m", V, principal_submatrix(self.kernel.matrix, rows), V)
        changes = np.empty(len(members))
        for place, group in enumerate(members):
            without = np.einsum("mi,ij,mj->m", V, self.kernel.without_group(group, rows), V)
            changes[place] = np.abs(norms - without).sum()
        return changes

    def remove(self, features: np.ndarray) -> None:
        """Eliminate features from the kernel."""
        self.kernel.remove(features)
        for group in self.groups:
            self._replace_kernel(group, principal_submatrix(self.kernel.matrix, group.rows) + self.added)
        self._solve()
