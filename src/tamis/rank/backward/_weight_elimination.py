"""Elimination by what columns, or groups of them, contribute to the squared norm of the weights of trained models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis.base import Elimination, StepSize, n_to_eliminate
from tamis.rank.backward._elimination_solver import EliminationSolver


class WeightElimination(Elimination):
    """Features by what they contribute to the squared norm of the weights of trained models."""

    def __init__(self, solver: EliminationSolver) -> None:
        self.solver = solver

    @property
    def remaining(self) -> np.ndarray:  # type: ignore[override]
        """Columns of the table."""
        return self.solver.features

    @property
    def n_remaining(self) -> int:
        """How many these are."""
        return self.solver.n_features

    @property
    def rounding_tol(self) -> float:  # type: ignore[override]
        """Criterion that rounding alone explains."""
        return self.solver.rounding_tol

    def criteria(self) -> np.ndarray:
        """Contributions to the squared norm."""
        return self.solver.criteria()

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """The least, without computing all criteria where the solver can do that."""
        one_leaves = n_to_eliminate(step, self.n_remaining) == 1
        least = self.solver.least() if one_leaves and self.keep.size == 0 else None
        return super().next_to_leave(step) if least is None else (np.array([least[0]]), np.array([least[1]]))

    def remove(self, leaving: np.ndarray) -> None:
        """Train without them, at once: the solver starts from where it is."""
        self.solver.remove(leaving)

    def info(self) -> Mapping[str, Any]:
        """How many columns remain, and the margin: one over the norm of the weights of all models."""
        norm2 = self.solver.squared_norm
        info: dict[str, Any] = {"n_features": self.solver.n_features}
        if norm2 is not None:
            info["margin"] = 1.0 / norm2**0.5 if norm2 > 0 else np.inf
        return info

    def certificate(self) -> dict[str, Any]:
        """How well the models were trained."""
        solver = self.solver
        return {"converged": solver.converged, "residual": solver.residual, "n_iter": solver.n_iter}


class GroupWeightElimination(WeightElimination):
    """Groups of columns by the same, or by their absolute weights, per column.

    What a group of noise contributes grows with the number of its columns: without the division large groups would
    stay for their size.

    Parameters
    ----------
    solver : EliminationSolver
    members : list of ndarray
        Columns of every group.
    norm : {"l2", "l1"}
    """

    def __init__(self, solver: EliminationSolver, members: list[np.ndarray], norm: str) -> None:
        super().__init__(solver)
        self.members, self.norm = members, norm
        self._remaining = np.arange(len(members))

    @property
    def remaining(self) -> np.ndarray:  # type: ignore[override]
        """Groups."""
        return self._remaining

    @property
    def n_remaining(self) -> int:
        """How many these are."""
        return self._remaining.size

    def criteria(self) -> np.ndarray:
        """Of each group, per column: the change of the squared norm without it, or the sum over its columns."""
        groups = [self.members[g] for g in self._remaining]
        sizes = np.array([columns.size for columns in groups])
        if self.norm == "l2" and (whole := self.solver.group_criteria(groups)) is not None:
            return whole / sizes
        values = np.zeros(sum(columns.size for columns in self.members))
        criteria = self.solver.criteria()
        values[self.solver.features] = criteria if self.norm == "l2" else np.sqrt(criteria)
        return np.array([values[columns].sum() for columns in groups]) / sizes

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """The groups of the least criteria."""
        return Elimination.next_to_leave(self, step)

    def remove(self, leaving: np.ndarray) -> None:
        """Train without their columns."""
        self._remaining = self._remaining[~np.isin(self._remaining, leaving)]
        super().remove(np.concatenate([self.members[g] for g in leaving]))
