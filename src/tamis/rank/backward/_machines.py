"""Machines that are kept trained while features leave, whatever form suits the table best."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis.kernels.solvers.gram import Gram
from tamis.kernels.solvers.logistic import LogisticMachine
from tamis.kernels.solvers.svm_dual import DualMachine
from tamis.rank.backward._learners import Learner, Problem


class Machines(ABC):
    """What an elimination asks of its machines.

    Attributes
    ----------
    residual : float
        Largest violation of optimality so far.
    converged : bool
    n_iter : int
        Steps of all trainings.
    """

    residual: float = 0.0
    converged: bool = True
    n_iter: int

    @property
    @abstractmethod
    def features(self) -> np.ndarray:
        """Columns left, ascending."""

    @property
    def n_features(self) -> int:
        """How many columns are left."""
        return self.features.size

    @abstractmethod
    def criteria(self) -> np.ndarray:
        """What each feature left contributes to the squared norm of the weights."""

    @abstractmethod
    def remove(self, features: np.ndarray) -> None:
        """Train without these features; some must be left."""

    def least(self) -> tuple[int, float] | None:
        """The feature that contributes least, where it is found without looking at all of them."""
        return None

    def group_criteria(self, members: list[np.ndarray]) -> np.ndarray | None:
        """What groups contribute, where that is not the sum over their features."""
        return None

    @property
    def noise(self) -> float:
        """Criterion that rounding alone explains."""
        return 0.0

    @property
    @abstractmethod
    def squared_norm(self) -> float | None:
        """Of the weights of all machines, if they have any."""

    def _note(self, machines: list[Any]) -> None:
        """Remember how the last trainings went."""
        for machine in machines:
            self.residual = max(self.residual, machine.residual)
            self.converged = self.converged and machine.converged


def train_dual(gram: Gram, problem: Problem, learner: Learner, tol: float) -> Any:
    """A machine on a kernel matrix; not yet solved."""
    free = learner.intercept > 0 and learner.free_intercept
    if learner.loss == "logistic":
        return LogisticMachine(gram, problem.target, problem.cost, free_intercept=free, tol=tol)
    hard = learner.loss == "hinge"
    return DualMachine(
        gram,
        problem.target,
        signs=None if learner.loss == "ridge" else problem.target,
        upper=problem.cost if hard else np.full(problem.target.size, np.inf),
        ridge=np.zeros(problem.target.size) if hard else 0.5 / problem.cost,
        total=0.0 if free else None,
        tol=tol,
    )


def penalized_intercept(learner: Learner) -> float:
    """What a penalized intercept adds to every entry of a kernel matrix."""
    return 0.0 if learner.free_intercept else learner.intercept**2


@dataclass
class Part:
    """Machines on the same rows, and the matrix or table that they share."""

    rows: np.ndarray | slice
    data: Any
    machines: list[Any]


def by_rows(problems: list[Problem], n_samples: int) -> list[tuple[np.ndarray | slice, list[Problem]]]:
    """Problems on all rows together, others each by itself."""
    whole = [problem for problem in problems if problem.rows.size == n_samples]
    parts: list[tuple[np.ndarray | slice, list[Problem]]] = [(slice(None), whole)] if whole else []
    return parts + [(problem.rows, [problem]) for problem in problems if problem.rows.size < n_samples]


class LinearMachines(Machines):
    """Machines in one or more parts; ``added`` is what a penalized intercept adds to every product of rows."""

    parts: list[Part]
    n_samples: int
    added: float

    @cached_property
    def machines(self) -> list[Any]:
        """All machines."""
        return [machine for part in self.parts for machine in part.machines]

    @property
    def n_iter(self) -> int:  # type: ignore[override]
        """Steps of all trainings."""
        return sum(machine.n_iter for machine in self.machines)

    def _solve(self) -> None:
        machines = self.machines
        for machine in machines:
            machine.solve()
        self._note(machines)

    @property
    def squared_norm(self) -> float:
        """``v' K v``, summed over the machines; a penalized intercept has no part in it."""
        return sum(machine.squared_norm - self.added * float(machine.v.sum()) ** 2 for machine in self.machines)

    def _replace(self, part: Part, matrix: np.ndarray) -> None:
        """Go on with another matrix."""
        part.data.matrix = matrix
        part.data.refresh()
        for machine in part.machines:
            machine.rebase()

    def _duals(self) -> np.ndarray:
        """Duals of all machines, zero for rows that they do not have."""
        machines = self.machines
        if len(machines) == 1:
            return machines[0].v[None]
        V = np.zeros((len(machines), self.n_samples))
        places = [part.rows for part in self.parts for _ in part.machines]
        for values, rows, machine in zip(V, places, machines, strict=True):
            values[rows] = machine.v
        return V


def among_rows(products: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
    """The part of a symmetric matrix that belongs to some rows."""
    return products if isinstance(rows, slice) else products[np.ix_(rows, rows)]


class FittedMachines(Machines):
    """Any estimator with ``coef_`` or ``feature_importances_``, trained anew on the features left."""

    def __init__(self, estimator: Any, X: Any, y: np.ndarray) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self._left = np.arange(X.shape[1])
        self.n_iter = 0
        self._fit()

    @property
    def features(self) -> np.ndarray:
        """Columns left."""
        return self._left

    def _fit(self) -> None:
        self.fitted = clone(self.estimator).fit(self.X[:, self._left], self.y)
        self.n_iter += 1

    def criteria(self) -> np.ndarray:
        """Squared coefficients, summed over outputs, or importances."""
        fitted = self.fitted[-1] if hasattr(self.fitted, "steps") else self.fitted
        if hasattr(fitted, "coef_"):
            weights = fitted.coef_
            weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
            values = (weights.reshape(-1, weights.shape[-1]) ** 2).sum(axis=0)
        elif hasattr(fitted, "feature_importances_"):
            values = np.asarray(fitted.feature_importances_, dtype=float)
        else:
            raise ValueError(
                f"estimator={self.estimator!r} has neither coef_ nor feature_importances_ after fit: there is nothing "
                "to eliminate by"
            )
        if values.size != self._left.size:
            raise ValueError(f"estimator={self.estimator!r} gives {values.size} weights for {self._left.size} features")
        return values

    @property
    def squared_norm(self) -> float | None:
        """Of the coefficients."""
        return float(self.criteria().sum()) if hasattr(self.fitted, "coef_") else None

    def remove(self, features: np.ndarray) -> None:
        """Train anew."""
        self._left = np.setdiff1d(self._left, features)
        self._fit()
