"""Solvers that keep the models of an elimination trained while features are eliminated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tamis.kernels.solvers.gram import Gram
from tamis.kernels.solvers.logistic import KernelLogisticRegression
from tamis.kernels.solvers.multinomial import KernelMultinomialModel
from tamis.kernels.solvers.svm_dual import DualSVM
from tamis.kernels.solvers.svr_dual import DualSVR
from tamis.rank.backward._learners import Learner, Subproblem


class EliminationSolver(ABC):
    """What an elimination asks of its models: criteria of the remaining features, and training without some of them.

    Attributes
    ----------
    residual : float
        Largest violation of optimality so far.
    converged : bool
    n_iter : int
        Iterations of all trainings.
    """

    residual: float = 0.0
    converged: bool = True
    n_iter: int

    @property
    @abstractmethod
    def features(self) -> np.ndarray:
        """Remaining columns, ascending."""

    @property
    def n_features(self) -> int:
        """How many columns remain."""
        return self.features.size

    @abstractmethod
    def criteria(self) -> np.ndarray:
        """What each remaining feature contributes to the squared norm of the weights."""

    @abstractmethod
    def remove(self, features: np.ndarray) -> None:
        """Train without these features; some must remain."""

    def least(self) -> tuple[int, float] | None:
        """The feature of the smallest criterion, where it is found without computing all criteria."""
        return None

    def group_criteria(self, members: list[np.ndarray]) -> np.ndarray | None:
        """Criteria of groups, where they are not sums over the features."""
        return None

    @property
    def rounding_tol(self) -> float:
        """Criterion that rounding alone explains."""
        return 0.0

    @property
    @abstractmethod
    def squared_norm(self) -> float | None:
        """Of the weights of all models, if they have any."""


DualModel = DualSVM | DualSVR | KernelLogisticRegression | KernelMultinomialModel


def pose_dual(gram: Gram, subproblem: Subproblem, learner: Learner, tol: float, max_iter: int = 10_000) -> DualModel:
    """The model of a subproblem on a kernel matrix; not yet solved."""
    free = learner.intercept > 0 and learner.free_intercept
    target, cost = subproblem.target, subproblem.cost
    if is_multinomial(subproblem):
        return KernelMultinomialModel(gram, target, cost, free_intercept=free, tol=tol)
    if learner.loss == "epsilon_insensitive":
        return DualSVR(gram, target, cost, epsilon=learner.epsilon, free_intercept=free, tol=tol)
    if learner.loss == "logistic":
        return KernelLogisticRegression(gram, target, cost, free_intercept=free, tol=tol)
    is_hinge = learner.loss == "hinge"
    return DualSVM(
        gram,
        target,
        signs=None if learner.loss == "ridge" else target,
        upper=cost if is_hinge else np.full(target.size, np.inf),
        ridge=np.zeros(target.size) if is_hinge else 0.5 / cost,
        total=0.0 if free else None,
        tol=tol,
        max_iter=max_iter,
    )


def is_multinomial(subproblem: Subproblem) -> bool:
    """Whether it is one of all classes at once."""
    return bool(np.issubdtype(subproblem.target.dtype, np.integer))


def intercept_product(learner: Learner) -> float:
    """What a penalized intercept adds to every entry of a kernel matrix."""
    return 0.0 if learner.free_intercept else learner.intercept**2


@dataclass
class RowGroup:
    """Models on the same rows, and the kernel matrix or table that they share."""

    rows: np.ndarray | slice
    data: Any
    models: list[Any]


def group_by_rows(subproblems: list[Subproblem], n_samples: int) -> list[tuple[np.ndarray | slice, list[Subproblem]]]:
    """Subproblems on all rows together (one against the rest), others (pairs of classes) each by itself."""
    whole = [subproblem for subproblem in subproblems if subproblem.rows.size == n_samples]
    groups: list[tuple[np.ndarray | slice, list[Subproblem]]] = [(slice(None), whole)] if whole else []
    return groups + [(subproblem.rows, [subproblem]) for subproblem in subproblems if subproblem.rows.size < n_samples]


class SubproblemSolver(EliminationSolver):
    """One model per subproblem, in groups that share their rows.

    Attributes
    ----------
    groups : list of RowGroup
    n_samples : int
    added : float
        What a penalized intercept adds to every entry of the kernel matrix.
    """

    groups: list[RowGroup]
    n_samples: int
    added: float

    @cached_property
    def models(self) -> list[Any]:
        """The models of all groups."""
        return [model for group in self.groups for model in group.models]

    @property
    def n_iter(self) -> int:  # type: ignore[override]
        """Iterations of all trainings."""
        return sum(model.n_iter for model in self.models)

    def _solve(self) -> None:
        for model in self.models:
            model.solve()
        self._record()

    def _record(self) -> None:
        """Note how well the models are trained."""
        for model in self.models:
            self.residual = max(self.residual, model.residual)
            self.converged = self.converged and model.converged

    @property
    def squared_norm(self) -> float:
        """``v' K v``, summed over the models, without the part of a penalized intercept."""
        return sum(model.squared_norm - self.added * float(model.v.sum()) ** 2 for model in self.models)

    def intercepts(self) -> np.ndarray:
        """Of every model, or of every class of a multinomial one; a penalized one is ``added`` times the sum of v."""
        return np.concatenate(
            [np.atleast_1d(model.b + self.added * model.v.sum(axis=-1)) for model in self.models]
        ).astype(float)

    def _replace_kernel(self, group: RowGroup, matrix: np.ndarray) -> None:
        """Go on with another kernel matrix."""
        group.data.replace(matrix)
        for model in group.models:
            model.refactorize()

    def dual_variables(self) -> np.ndarray:
        """One row per model, zero for the samples that it does not have; one per class of a multinomial model."""
        models = self.models
        if len(models) == 1:
            return np.atleast_2d(models[0].v)
        V = np.zeros((len(models), self.n_samples))
        rows_of_models = [group.rows for group in self.groups for _ in group.models]
        for values, rows, model in zip(V, rows_of_models, models, strict=True):
            values[rows] = model.v
        return V


def principal_submatrix(matrix: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
    """Rows and the same columns of a symmetric matrix."""
    return matrix if isinstance(rows, slice) else matrix[np.ix_(rows, rows)]
