"""Ridge regression from sums over rows: tables that are read in blocks, in whose place a square one stands."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamis.base import Candidates
from tamis.engine import CompressedColumns
from tamis.rank.backward._exact_training import has_free_intercept, train_exactly
from tamis.rank.backward._kept_model import KeptClassifier, KeptRegressor, LinearOutputs
from tamis.rank.backward._kernel_solver import KernelSolver
from tamis.rank.backward._learners import Learner, Subproblem, pose_subproblems
from tamis.rank.backward._tall_linear_solver import TallLinearSolver
from tamis.rank.backward._wide_linear_solver import WideLinearSolver


@dataclass(frozen=True)
class CompressedRidge:
    r"""Ridge models of a table of which only products of columns are known.

    .. math:: \tfrac12 \|w\|^2 + c \|R_Y - R_Z w\|^2, \qquad [R_Z\, R_Y]' [R_Z\, R_Y] = [Z\, Y]' [Z\, Y]

    has the weights of the models on the centered rows ``Z`` and targets ``Y``, whose intercepts are means.

    Attributes
    ----------
    columns : CompressedColumns
        Beside the targets, one per model.
    scale : ndarray of shape (n_columns,)
        Factor of every column: one over its standard deviation, zero where it is constant, or one.
    target_mean : ndarray of shape (n_models,)
        What the intercepts have to explain; zero for models without.
    learner : Learner
        Without an intercept, which means make up for.
    unit : float
        Of the targets.
    tol : float
    """

    columns: CompressedColumns
    scale: np.ndarray
    target_mean: np.ndarray
    learner: Learner
    unit: float
    tol: float

    def train(self, features: np.ndarray | None = None) -> KernelSolver | TallLinearSolver | WideLinearSolver:
        """The solver on some columns, by default all."""
        table, scale, targets = self.columns.X, self.scale, self.columns.targets
        if features is not None:
            table, scale = table[:, features], scale[features]
        rows, cost = np.arange(len(table)), np.full(len(table), self.learner.cost)
        posed = [Subproblem(rows, np.ascontiguousarray(target), cost) for target in targets.T]
        return train_exactly(table * scale, posed, self.learner, self.tol)

    def kept_model(self, features: np.ndarray, y: np.ndarray, task: str) -> KeptRegressor | KeptClassifier:
        """The models on the columns that are kept, in the units of the table."""
        solver = self.train(features)
        coef = solver.weights() * self.scale[features]  # type: ignore[union-attr]
        intercept = self.target_mean - coef @ self.columns.means(features)
        outputs = LinearOutputs(self.unit * coef, self.unit * intercept)
        if task == "regression":
            return KeptRegressor(features, outputs)
        return KeptClassifier(features, outputs, np.unique(y), self.learner.multiclass)


def compress_ridge(
    candidates: Candidates, y: np.ndarray, learner: Learner, *, task: str, standardize: bool, tol: float
) -> CompressedRidge:
    """The models from sums over rows, one pass; refuses what sums do not tell."""
    if learner.class_weight is not None or (learner.multiclass != "ovr" and np.unique(y).size > 2):
        raise ValueError(
            "RFE by ridge regression on rows read in blocks takes no class_weight, and beyond two classes "
            "multiclass='ovr'"
        )
    posed = pose_subproblems(y, task, learner)
    values = np.column_stack([each.target for each in posed])
    centered = standardize or has_free_intercept(learner)
    columns = candidates.compressed_rows(values, fit_intercept=centered, dtype=float)
    assert columns is not None  # of a table that is read in blocks
    scale = np.ones(columns.n_candidates)
    if standardize:
        varies = columns.norm2 > 0
        scale = np.sqrt(np.divide(columns.total, columns.norm2, out=np.zeros_like(scale), where=varies))
    unit = float(np.abs(y).max()) / float(np.abs(values).max()) if task == "regression" else 1.0
    mean = columns.target_mean if learner.intercept else np.zeros_like(columns.target_mean)
    return CompressedRidge(columns, scale, mean, replace(learner, intercept=0.0), unit, tol)
