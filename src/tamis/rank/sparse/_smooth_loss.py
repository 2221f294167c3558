"""The base of sparsity terms with a smooth loss: squared, logistic or squared hinge."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.exceptions import ConvergenceWarning

from tamis.base import Candidates, Shared, fresh
from tamis.engine import CompressedColumns, join_parts
from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.penalized_path import PenalizedPath
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._validation import classification_errors, stay_at_last
from tamis.rank.sparse._base import PenalizedRanker
from tamis.rank.sparse._held_out_products import fold_of_rows, held_out_errors
from tamis.rank.sparse._target_paths import TargetPaths

_NORM_STEPS = 100
_NORM_TOL = 1e-12  # of the bound on a norm
# What methods provide that have a squared loss, which is known from sums over rows
FROM_SUMS = PenalizedRanker.provides | {"dask", "row_blocks"}


class SmoothLossRanker(PenalizedRanker):
    """A method says its loss in :meth:`_loss` and its penalty in :meth:`_penalty`."""

    def _loss(self, classes: np.ndarray | None) -> str:
        """Name of the loss for classes, or for a quantity, which has the squared one only."""
        asked = self.get_params(deep=False).get("loss", "auto")
        if classes is None:
            if asked not in ("auto", "squared"):
                raise ValueError(
                    f"loss='{asked}' is for classes, but y holds quantities; use loss='squared' or "
                    "task='classification'"
                )
            return "squared"
        return "logistic" if asked == "auto" else asked

    def _has_squared_loss(self, classes: np.ndarray | None) -> bool:
        return self._loss(classes) == "squared"

    def _penalty(self, problem: LinearProblem, members: Sequence[np.ndarray] | None) -> dict[str, Any]:
        """Keyword arguments of :class:`PenalizedPath` that describe the penalty."""
        return {}

    def _make_solver(
        self, problem: LinearProblem, target: int, scale: np.ndarray, members: Sequence[np.ndarray] | None
    ) -> PenalizedPath:
        loss = self._loss(problem.classes)
        penalty = self._penalty(problem, members)
        y = np.ascontiguousarray(problem.targets[:, target])
        return PenalizedPath(problem.columns, y, LOSSES[loss], scale, members=members, tol=self.tol, **penalty)

    def _held_out_errors(self, problem: LinearProblem, outputs: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The loss, summed over the targets; the rate of errors for the squared hinge."""
        loss = self._loss(problem.classes)
        return (
            classification_errors(outputs, Y) if loss == "squared_hinge" else LOSSES[loss].value(outputs, Y).sum(axis=1)
        )

    def _fold_tasks(
        self,
        candidates: Candidates,
        y: np.ndarray,
        problem: LinearProblem,
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        alphas: np.ndarray,
    ) -> list[Any]:
        parts = self._compressed_folds(candidates, problem, folds)
        if parts is None:
            return super()._fold_tasks(candidates, y, problem, folds, alphas)
        small, shared = problem.without_table(), Shared(parts)
        return [
            delayed(fresh(self)._compressed_errors)(candidates, small, shared, fold, alphas)
            for fold in range(len(folds))
        ]

    def _compressed_folds(
        self, candidates: Candidates, problem: LinearProblem, folds: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[CompressedColumns] | None:
        """Rows held out by each fold, and those that no fold holds out, compressed; None where rows are needed."""
        # weights that balance the classes are those of the training rows
        if not isinstance(problem.columns, CompressedColumns) or self.class_weight == "balanced":
            return None
        fold = fold_of_rows(folds, len(problem.Y))
        if fold is None or not np.bincount(fold, weights=problem.row_shares).all():
            return None
        return candidates.compressed_parts(problem.Y, problem.columns.sample_weight, fold, int(fold.max()) + 1)

    def _compressed_errors(
        self,
        candidates: Candidates,
        problem: LinearProblem,
        parts: Shared[list[CompressedColumns]],
        fold: int,
        alphas: np.ndarray,
    ) -> np.ndarray:
        """Mean error on the rows of one part at every penalty, by models of those of the others."""
        seen, held_out = parts.value[:fold] + parts.value[fold + 1 :], parts.value[fold]
        training = self._without_copies(candidates, problem.on_rows(join_parts(seen), standardize=self.standardize))
        models = self._path_models(candidates, training, alphas, len(problem.Y))
        return stay_at_last(held_out_errors(problem, held_out, models), alphas.size)

    def _given_alpha(self, problem: LinearProblem, paths: TargetPaths) -> float | str:
        max_norm = self.get_params(deep=False).get("max_norm")
        if max_norm is None:
            return super()._given_alpha(problem, paths)
        if self.alpha != "auto":  # type: ignore[attr-defined]
            raise ValueError("alpha and max_norm are two ways to say the penalty; give one of them")
        return alpha_of_norm(paths, float(max_norm) / problem.unit, self.n_alphas)


class GroupPenaltyRanker(SmoothLossRanker):
    """A penalty on groups of weights."""

    def _penalized_groups(self, candidates: Candidates) -> Sequence[np.ndarray] | None:
        return candidates.members

    def _root_sizes(self, members: Sequence[np.ndarray] | None) -> np.ndarray | None:
        """Square root of the number of columns of every group, so that larger ones are not preferred."""
        return None if members is None else np.sqrt([len(columns) for columns in members])


def alpha_of_norm(paths: TargetPaths, max_norm: float, n_alphas: int) -> float:
    """The penalty whose minimum has weights of a given l1 norm: the multiplier of the constraint.

    The norm falls as the penalty grows, and does so linearly between two changes of the active set (squared loss):
    regula falsi, with the Illinois modification, from the interval of a path in which it lies.
    """
    high, low = paths.alpha_max, None
    norm_high = 0.0
    for fit in paths.follow(paths.alpha_max * np.geomspace(1.0, 1e-6, 2 * n_alphas), to_the_end=True):
        norm = float(np.abs(fit.weights).sum())
        if norm >= max_norm:
            low, norm_low = fit.alpha, norm
            break
        high, norm_high = fit.alpha, norm
    if low is None:  # the constraint does not bind: the minimum lies within, unless errors vanish as weights grow
        if fit.loss <= 1e-3 * paths.null_loss and norm_high < (1.0 - 1e-6) * max_norm and fit.loss > 0:
            warnings.warn(
                f"weights are still growing at a millionth of the largest penalty, where their norm is {norm_high:.4g} "
                "times the unit of y; the constraint max_norm does not bind there",
                ConvergenceWarning,
                stacklevel=2,
            )
        return high
    above, below, last = norm_low - max_norm, norm_high - max_norm, 0
    alpha = low
    for _ in range(_NORM_STEPS):
        alpha = (low * below - high * above) / (below - above) if above != below else low
        [fit] = paths.follow([alpha])
        excess = float(np.abs(fit.weights).sum()) - max_norm
        if abs(excess) <= _NORM_TOL * max_norm or high - low <= 1e-15 * high:
            break
        if excess > 0:
            low, above = alpha, excess
            below = 0.5 * below if last == 1 else below
            last = 1
        else:
            high, below = alpha, excess
            above = 0.5 * above if last == -1 else above
            last = -1
    return float(alpha)
