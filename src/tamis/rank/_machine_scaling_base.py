"""The base of methods that alternate machines with an update of the factors that scale their columns."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, LinearModel, fresh, open_parallel
from tamis.rank._kernel_model import KernelModel
from tamis.rank._kernel_parameters import check_kernel_takes
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._multiplicative_updates import (
    FactorUpdate,
    Round,
    group_owners,
    multiplicative_updates,
    prepared_columns,
)
from tamis.rank._scaled_machines import KERNELS, ScaledMachines, Trained
from tamis.rank._scaling_base import EarlyStoppedScaling
from tamis.rank._validation import selection_error, validation_folds

_COSTS = 10.0 ** np.arange(-2.0, 4.0)  # from which C="auto" is chosen
_MACHINE_TOL = 1e-9  # of every machine
_LARGEST_RESIDUAL = 1e-6  # of any machine, above which a warning is given


class MachineScaling(EarlyStoppedScaling):
    """Scaling factors by multiplicative updates, from the weights of machines on the scaled columns.

    A method says by which exponents (:meth:`_update`), in which units its kernel is (:meth:`_kernel_gamma`), what its
    factors are certified by (:meth:`_certify_factors`), and what is trained on the features that are kept
    (:meth:`_final_machines`).
    """

    _parameter_constraints: ClassVar[dict] = {
        **EarlyStoppedScaling._parameter_constraints,
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "early_stopping": ["boolean"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    # at the end few are left, and the order of the others is that in which they vanished: weights tell more
    _orders_all_at_the_end: ClassVar[bool] = False

    loss: str
    C: float | str
    kernel: str
    gamma: float | str
    degree: float
    coef0: float
    early_stopping: bool
    cv: Any
    n_jobs: int | None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel == "linear"
        return tags

    # what a method writes

    @abstractmethod
    def _update(self) -> FactorUpdate:
        """Exponents of the update."""

    @abstractmethod
    def _kernel_gamma(self, A: Any, weight: np.ndarray) -> float:
        """gamma of the kernel for these columns and weights of rows, also of the linear one, which it multiplies."""

    @abstractmethod
    def _certify_factors(self, candidates: Candidates, rounds: Sequence[Round]) -> dict[str, Any]:
        """How far the factors are from a fixed point; ``rounds`` may be empty."""

    @abstractmethod
    def _final_machines(
        self, problem: LinearProblem, features: np.ndarray, A: Any
    ) -> tuple[ScaledMachines, np.ndarray]:
        """What is trained on the features that are kept, which vary and have the columns A; and their factors."""

    # rounds

    def _prepare(self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None) -> int:
        self.C_ = self._validated_cost(candidates, y, problem, n_top) if self.C == "auto" else float(self.C)
        return self._validated_rounds(candidates, y, problem) if self.early_stopping else self.max_iter

    def _loss(self, problem: LinearProblem) -> str:
        is_quantity = problem.classes is None
        if self.loss == "auto":
            return "squared" if is_quantity else "squared_hinge"
        if is_quantity and self.loss != "squared":
            raise ValueError(
                f"loss='{self.loss}' is for classes, but y holds quantities; use loss='squared' or "
                "task='classification'"
            )
        return self.loss

    def _machines(self, problem: LinearProblem, A: Any) -> ScaledMachines:
        check_kernel_takes(A, self.kernel)
        weight = problem.columns.sqrt_weight**2
        return ScaledMachines(
            problem.Y,
            self.C_ * weight,
            self._loss(problem),
            self.kernel,
            self._kernel_gamma(A, weight),
            float(self.degree),
            float(self.coef0),
            _MACHINE_TOL,
        )

    def _rounds(self, candidates: Candidates, problem: LinearProblem) -> Iterator[Round]:
        alive = np.flatnonzero(problem.scale > 0)
        if not alive.size:
            return iter(())
        A = prepared_columns(problem, alive)
        machines = self._machines(problem, A)
        return multiplicative_updates(A, alive, group_owners(candidates), machines, self.tol, self._update())

    def _certify(self, candidates: Candidates, rounds: Sequence[Round], n_rounds: int) -> dict[str, Any]:
        change = residual = 0.0
        if rounds:
            last = rounds[-1]
            change = float(np.abs(last.updated - last.sigma).max())
            change /= max(float(last.updated.max()), np.finfo(float).tiny)
            residual = max(done.machines.residual for done in rounds)
        if residual > _LARGEST_RESIDUAL:
            warnings.warn(
                f"{type(self).__name__} trained machines only to a violation of {residual:.2g}; lower the cost C of "
                "errors",
                ConvergenceWarning,
                stacklevel=2,
            )
        is_cut = len(rounds) >= self.max_iter and n_rounds == self.max_iter and change > self.tol
        if is_cut:
            warnings.warn(
                f"{type(self).__name__}'s scaling factors still change by {change:.2g} after {len(rounds)} rounds; "
                f"raise max_iter={self.max_iter}, or tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return {
            "converged": bool(residual <= _LARGEST_RESIDUAL) and not is_cut,
            "n_iter": len(rounds),
            "change": change,
            "residual": residual,
            **self._certify_factors(candidates, rounds),
        }

    # the model of what is kept

    def _train(self, problem: LinearProblem, features: np.ndarray) -> LinearModel | KernelModel:
        if self.kernel != "linear":
            return self._train_kernel_model(problem, features)
        weights, intercept = np.zeros((features.size, problem.Y.shape[1])), problem.row_shares @ problem.Y
        varying = np.flatnonzero(problem.scale[features] > 0)
        if varying.size:
            A = prepared_columns(problem, features[varying])
            machines, sigma = self._final_machines(problem, features[varying], A)
            trained = machines.train(A, sigma)
            weights[varying], intercept = trained.coef, centered_intercept(problem, features[varying], trained)
        return problem.model(features, weights, intercept)

    def _train_kernel_model(self, problem: LinearProblem, features: np.ndarray) -> KernelModel:
        if not features.size:
            return KernelModel.constant(features, problem)
        A = prepared_columns(problem, features)
        machines, sigma = self._final_machines(problem, features, A)
        return kernel_model(features, problem, A * sigma, sigma, machines, machines.train(A, sigma))

    # cross-validation and held-out rows

    def _validated_cost(
        self, candidates: Candidates, y: np.ndarray, problem: LinearProblem, n_top: int | None
    ) -> float:
        """The smallest cost with the least error on held-out rows, with as many features as are asked for."""
        folds = validation_folds(self.cv, candidates, y, problem.classes, self._kept_rows)
        if folds is None:
            return 1.0
        tasks = [(float(C), train, test) for C in _COSTS for train, test in folds]
        small = problem.without_table()
        with open_parallel(self.n_jobs, "list", shared=[candidates]) as parallel:
            errors = parallel(
                delayed(selection_error)(fresh(self, C=C, n_jobs=None), candidates, y, small, train, test, n_top)
                for C, train, test in tasks
            )
        mean = np.reshape(errors, (_COSTS.size, len(folds))).mean(axis=1)
        return float(_COSTS[int(np.argmin(mean))])

    def _model_of(self, problem: LinearProblem, done: Round) -> LinearModel | KernelModel:
        """The machines of a round, on columns times their scaling factors."""
        if self.kernel != "linear":
            rows = prepared_columns(problem, done.alive) * done.sigma
            return kernel_model(done.alive, problem, rows, done.sigma, done.settings, done.machines)
        coef, intercept = done.machines.coef, centered_intercept(problem, done.alive, done.machines)
        assert coef is not None  # of a linear kernel
        return problem.model(done.alive, coef, intercept)


def kernel_model(
    features: np.ndarray,
    problem: LinearProblem,
    rows: np.ndarray,
    sigma: np.ndarray,
    machines: ScaledMachines,
    trained: Trained,
) -> KernelModel:
    """The model of machines with a kernel, on training rows times the scaling factors."""
    assert trained.dual is not None  # of a kernel
    return KernelModel(features, problem, sigma, machines.function, rows, trained.dual, trained.intercept)


def centered_intercept(problem: LinearProblem, features: np.ndarray, trained: Trained) -> np.ndarray:
    """The intercept of centered columns; sparse ones were not centered."""
    if not sparse.issparse(problem.table):
        return trained.intercept
    return trained.intercept + (problem.columns.means(features) * problem.scale[features]) @ trained.coef
