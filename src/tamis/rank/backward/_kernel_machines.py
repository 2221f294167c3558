"""Machines with a kernel: features are taken out of it."""

from __future__ import annotations

import numpy as np

from tamis.kernels.solvers.feature_kernel import FeatureKernel, criterion_changes
from tamis.kernels.solvers.gram import DenseGram
from tamis.rank.backward._learners import Learner, Problem
from tamis.rank.backward._machines import LinearMachines, Part, among_rows, by_rows, penalized_intercept, train_dual

_ROUNDING = 8 * float(np.finfo(float).eps)


class KernelMachines(LinearMachines):
    """Machines with any kernel (Lal et al. 2006, algorithm 2): what changes in the norm of fixed machines."""

    def __init__(self, table: np.ndarray, problems: list[Problem], learner: Learner, tol: float) -> None:
        self.n_samples = table.shape[1]
        self.added = penalized_intercept(learner)
        self.kernel = FeatureKernel(
            table.T,
            learner.kernel,
            gamma=settle_gamma(learner.gamma, table),
            degree=learner.degree,
            coef0=learner.coef0,
        )
        self.parts = []
        for rows, group in by_rows(problems, self.n_samples):
            gram = DenseGram(among_rows(self.kernel.matrix, rows) + self.added)
            self.parts.append(Part(rows, gram, [train_dual(gram, problem, learner, tol) for problem in group]))
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Columns left."""
        return self.kernel.alive

    @property
    def noise(self) -> float:
        """Change of a squared norm that rounding alone explains."""
        V = np.abs(self._duals())
        return _ROUNDING * float(np.einsum("mi,ij,mj->", V, np.abs(self.kernel.matrix), V))

    def criteria(self) -> np.ndarray:
        """Change of the squared norms when each feature goes."""
        return criterion_changes(self.kernel, self._duals(), self.kernel.alive)

    def group_criteria(self, members: list[np.ndarray]) -> np.ndarray:
        """Change of the squared norms when each group goes."""
        V = self._duals()
        rows = np.flatnonzero(np.any(V != 0, axis=0))
        V = V[:, rows]
        norms = np.einsum("mi,ij,mj->m", V, among_rows(self.kernel.matrix, rows), V)
        changes = np.empty(len(members))
        for place, group in enumerate(members):
            without = np.einsum("mi,ij,mj->m", V, self.kernel.without_group(group, rows), V)
            changes[place] = np.abs(norms - without).sum()
        return changes

    def remove(self, features: np.ndarray) -> None:
        """Take features out of the kernel."""
        self.kernel.remove(features)
        for part in self.parts:
            self._replace(part, among_rows(self.kernel.matrix, part.rows) + self.added)
        self._solve()


def settle_gamma(gamma: float | str, table: np.ndarray) -> float:
    """What "scale" and "auto" stand for, as in scikit-learn."""
    if not isinstance(gamma, str):
        return float(gamma)
    return 1.0 / (len(table) * ((float(table.var()) or 1.0) if gamma == "scale" else 1.0))
