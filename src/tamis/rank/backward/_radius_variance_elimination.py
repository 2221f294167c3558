r"""The radius-margin bound of linear SVMs on standardized columns, the variance in place of the squared radius.

Every column has unit variance, so that with D columns and a ridge 1/C on the diagonal of the kernel

.. math:: R^2 = D + \tfrac{1}{C} (1 - \tfrac1n), \qquad
          4 (R^2 - 1) \bigl(\|w\|^2 + w_p^2\bigr)

is the bound without column p at the same dual variables: :math:`\|w\|^2` is twice the dual objective, which has
:math:`-v^\top K v`, and the kernel loses :math:`w_p^2` of it. The factor is the same for all columns: the one to leave
is that of least :math:`w_p^2`, as in recursive feature elimination, and the solvers of that method serve. For a group
of q columns, which is compared per column, :math:`4 (R^2 - q) (\|w\|^2 + \sum_{p} w_p^2)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from tamis.base import Elimination, StepSize, n_to_eliminate
from tamis.rank.backward._elimination_solver import SubproblemSolver
from tamis.rank.backward._learners import Learner, Subproblem
from tamis.rank.backward._tall_linear_solver import TallLinearSolver
from tamis.rank.backward._wide_linear_solver import WideLinearSolver

_MAX_NEWTON_STEPS = 100  # of the primal solver, which takes about ten


class RadiusVarianceElimination(Elimination):
    """Columns, or groups of them, by the bound without them.

    Parameters
    ----------
    Z : ndarray or sparse array of shape (n_rows, n_columns)
        Columns of unit variance.
    signs : ndarray of shape (n_svms, n_rows)
        1 or -1.
    C : float
        Cost of squared slack, as a ridge 1/C on the diagonal of the kernel.
    columns : ndarray of int
        Columns of the table that those of ``Z`` are.
    members : list of ndarray or None
        Columns of ``Z`` in each group.
    tol : float
    max_iter : int
        Iterations per SVM and round.
    sample_weight : ndarray of shape (n_rows,) or None
        How often each row counts.
    """

    def __init__(
        self,
        Z: Any,
        signs: np.ndarray,
        C: float,
        columns: np.ndarray,
        members: list[np.ndarray] | None,
        *,
        tol: float,
        max_iter: int,
        sample_weight: np.ndarray | None = None,
    ) -> None:
        self.columns, self.members = columns, members
        counts = np.ones(Z.shape[0]) if sample_weight is None else sample_weight
        self.solver = train(Z, signs, C, counts, tol, max_iter)
        self._n_rows, self._ridge = float(counts.sum()), 1.0 / C
        if members is not None:
            self._groups = np.array([g for g, part in enumerate(members) if part.size], dtype=np.int64)

    @property
    def remaining(self) -> np.ndarray:  # type: ignore[override]
        """Columns of the table, or groups."""
        return self.columns[self.solver.features] if self.members is None else self._groups

    @property
    def n_remaining(self) -> int:
        """How many these are."""
        return self.solver.n_features if self.members is None else self._groups.size

    @property
    def rounding_tol(self) -> float:  # type: ignore[override]
        """Criterion that rounding alone explains."""
        return self.solver.rounding_tol * (1.0 if self.members is None else self.radius2)

    @property
    def radius2(self) -> float:
        """Mean squared distance from the center, the ridge included."""
        return self.solver.n_features + self._ridge * (1.0 - 1.0 / self._n_rows)

    def criteria(self) -> np.ndarray:
        """Squared weights; of a group, what the bound gains per column, up to a term that all groups share."""
        if self.members is None:
            return self.solver.criteria()
        sizes = self._sizes()
        return (self.radius2 - sizes) * self._squared_weights() / sizes

    def reported(self, criteria: np.ndarray) -> np.ndarray:
        """The bound without each."""
        squared_weights = criteria if self.members is None else self._squared_weights()
        return 4.0 * (self.radius2 - self._sizes()) * (sum(self._norms2()) + squared_weights)

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """The least, without computing all weights where the solver can do that."""
        alone = self.members is None and n_to_eliminate(step, self.n_remaining) == 1
        least = self.solver.least() if alone else None
        if least is None:
            return super().next_to_leave(step)
        return self.columns[[least[0]]], self.reported(np.array([least[1]]))

    def remove(self, leaving: np.ndarray) -> None:
        """Train without them."""
        if self.members is None:
            self.solver.remove(np.searchsorted(self.columns, leaving))
            return
        self._groups = self._groups[~np.isin(self._groups, leaving)]
        self.solver.remove(np.concatenate([self.members[g] for g in leaving]))

    def info(self) -> Mapping[str, Any]:
        """Bound, radius and margin with the columns that remain."""
        norms2 = self._norms2()
        return {
            "bound": 4.0 * self.radius2 * sum(norms2),
            "margin": max(norms2) ** -0.5 if max(norms2) > 0 else np.inf,  # an SVM still at zero after max_iter
            "n_features": self.solver.n_features,
            "radius2": self.radius2,
        }

    def certificate(self) -> dict[str, Any]:
        """How well the SVMs were trained."""
        solver = self.solver
        return {"converged": solver.converged, "residual": solver.residual, "n_iter": solver.n_iter}

    def _norms2(self) -> list[float]:
        """``||w||^2`` of every SVM, that of slack included: twice the optimal value of primal and dual."""
        return [2.0 * model.objective for model in self.solver.models]

    def _sizes(self) -> np.ndarray | float:
        return 1.0 if self.members is None else np.array([self.members[g].size for g in self._groups], dtype=float)

    def _squared_weights(self) -> np.ndarray:
        """Sum over the columns of each group."""
        assert self.members is not None
        values = np.zeros(self.columns.size)
        values[self.solver.features] = self.solver.criteria()
        return np.array([values[self.members[g]].sum() for g in self._groups])


def train(Z: Any, signs: np.ndarray, C: float, counts: np.ndarray, tol: float, max_iter: int) -> SubproblemSolver:
    """SVMs with squared slack: on the Gram matrix of the rows where there are more columns, else on the table."""
    n_rows, n_columns = Z.shape
    all_rows = np.arange(n_rows)
    # The dual's ridge is 1 / (2 cost) in a solver of ||w||^2 / 2 + cost * sum of squared slack.
    learner = Learner("squared_hinge", 0.5 * C)
    subproblems = [Subproblem(all_rows, sign, learner.cost * counts) for sign in signs]
    table = Z.T.tocsr() if sparse.issparse(Z) else np.ascontiguousarray(Z.T)
    if n_rows <= n_columns:
        return WideLinearSolver(table, subproblems, learner, tol, max_iter=max_iter)
    return TallLinearSolver(table, subproblems, learner, tol, max_iter=min(max_iter, _MAX_NEWTON_STEPS))
