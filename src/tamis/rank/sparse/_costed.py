"""The base of sparse support vector machines, whose parameter is the cost C of errors."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranking, fresh
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.solvers.l1_program import InfeasibleError
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._validation import classification_errors
from tamis.rank.sparse._base import NO_PENALTY, PenalizedRanker
from tamis.rank.sparse._target_paths import SparseFit, TargetPaths


class CostedRanker(PenalizedRanker):
    r"""A penalty plus C times the sum of errors: :math:`\alpha = 1 / (n C)` times the penalty, plus their mean."""

    C: float | str
    loss: str
    epsilon: float

    _parameter_constraints: ClassVar[dict] = {
        **{name: constraint for name, constraint in PenalizedRanker._parameter_constraints.items() if name != "alpha"},
        "C": [StrOptions({"auto", "path"}), Interval(Real, 0, None, closed="right")],
    }

    def _units(self, problem: LinearProblem) -> tuple[float, float]:
        """Both terms grow with the unit of a quantity."""
        return 1.0, problem.unit

    def _given_alpha(self, problem: LinearProblem, paths: TargetPaths) -> float | str:
        has_kinks = self.loss not in ("squared_hinge", "logistic")
        if not isinstance(self.C, str) and np.isinf(self.C) and not has_kinks:
            raise ValueError(f"C=inf asks for no errors, which loss='{self.loss}' cannot have; use loss='hinge'")
        return self.C if isinstance(self.C, str) else 1.0 / (problem.columns.total * float(self.C))

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        try:
            # programs multiply the table by one vector at a time, and solve small systems in between
            with limit_blas_threads(candidates.table.shape[0]):
                return super()._rank_top(candidates, y, rng, n_top)
        except InfeasibleError as error:
            is_quantity = self._problem.classes is None
            why = f"some exceed epsilon={self.epsilon:g}" if is_quantity else "the classes overlap"
            raise ValueError(f"C=inf asks for no errors, but {why} whatever the weights; use a finite C") from error

    def _refit(self, candidates: Candidates, kept: np.ndarray, features: np.ndarray) -> SparseFit:
        try:
            return super()._refit(candidates, kept, features)
        except InfeasibleError:  # too few are kept for a hard margin: as few errors as they allow
            paths = self._make_paths(self._problem, candidates, self._problem.kept_scale(features))
            return paths.solve(NO_PENALTY * self.alpha_max_)

    def _at_penalty(self, alpha: float, problem: LinearProblem) -> CostedRanker:
        """A copy whose cost amounts to this penalty."""
        return fresh(self, C=1.0 / (problem.columns.total * alpha))

    def _cost_of(self, alpha: float) -> float:
        return 1.0 / (self._problem.columns.total * alpha) if alpha > 0 else np.inf

    def _describe_alpha(self, alpha: float) -> str:
        C, C_min = self._cost_of(alpha), self._cost_of(self.alpha_max_)
        if np.isinf(C):
            return "C = inf (no errors)"
        return f"C = {C:.4g} ({C / C_min:.2g} times the largest that leaves none)"

    def _describe_penalty(self) -> None:
        self.C_, self.C_min_ = self._cost_of(self.alpha_), self._cost_of(self.alpha_max_)
        if hasattr(self, "cv_results_"):
            self.cv_results_["C"] = np.array([self._cost_of(alpha) for alpha in self.cv_results_["alpha"]])

    def _held_out_errors(self, problem: LinearProblem, outputs: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The rate of errors for classes, the absolute error for a quantity."""
        return np.abs(outputs - Y)[:, 0] if problem.classes is None else classification_errors(outputs, Y)


def resolve_loss(loss: str, problem: LinearProblem) -> str:
    """The loss behind "auto"; refuses those of classes for a quantity, and the reverse."""
    is_quantity = problem.classes is None
    if loss == "auto":
        return "epsilon_insensitive" if is_quantity else "hinge"
    if is_quantity and loss != "epsilon_insensitive":
        raise ValueError(
            f"loss='{loss}' is for classes, but y holds quantities; use loss='epsilon_insensitive' or "
            "task='classification'"
        )
    if not is_quantity and loss == "epsilon_insensitive":
        raise ValueError("loss='epsilon_insensitive' is for quantities, but y holds classes; use loss='hinge'")
    return loss
