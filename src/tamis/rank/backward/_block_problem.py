r"""Squared-hinge and logistic models of classes on a table that is read in blocks: what a pass over its rows tells.

.. math:: \min_{w, b} \tfrac12 \|w\|^2 + \sum_i c_i \ell\bigl(y_i (\langle w, z_i \rangle + b)\bigr),
          \qquad \ell(m) = \max(0, 1 - m)^2 \text{ or } \log(1 + e^{-m}),

with z the columns shifted and scaled; the intercept is free or penalized as the learner says. Weights are optimal where
the gradient is zero, and are held to a largest entry of ``tol`` times :math:`\sum_i c_i`, which is that of the
intercept where all rows are on one side. Classes and costs of the rows are in memory, columns are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from tamis.base import Candidates
from tamis.engine import ArrayBlocks, RowBlocks
from tamis.kernels.solvers.loss_sums import Evaluation, LossSums, prepare_rows, sums_of_block
from tamis.kernels.solvers.row_sample import RowSample
from tamis.rank.backward._exact_training import has_free_intercept, is_linear, train_exactly
from tamis.rank.backward._kept_model import KeptClassifier, KeptLogisticRegression, LinearOutputs
from tamis.rank.backward._kernel_solver import KernelSolver
from tamis.rank.backward._learners import Learner, Subproblem, classes_and_costs
from tamis.rank.backward._tall_linear_solver import TallLinearSolver
from tamis.rank.backward._wide_linear_solver import WideLinearSolver

BLOCK_LOSSES = ("squared_hinge", "logistic")

_SAMPLE_ENTRIES = 2**22  # of the rows by whose model weights start: 32 MB, or
_SAMPLE_ROWS_PER_ENTRY = 8  # so many rows per weight, where there are many columns


@dataclass(frozen=True)
class BlockProblem:
    """One model for two classes, or one per class, on the columns that vary.

    Entries of the weights are the intercept first, if there is one, then these columns.

    Attributes
    ----------
    table : RowBlocks
    columns : ndarray of int
        Columns of the table that vary, ascending.
    mean, scale : ndarray of shape (n_table_columns,)
        What columns are shifted and multiplied by.
    rms : ndarray of shape (n_table_columns,)
        Root mean square of every column, so prepared.
    classes : ndarray
    codes : ndarray of int of shape (n_rows,)
        Class of every row; -1 for rows without weight.
    cost : ndarray of shape (n_rows,)
    learner : Learner
    tol : float
    """

    table: RowBlocks
    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    rms: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    cost: np.ndarray
    learner: Learner
    tol: float

    @property
    def positive(self) -> np.ndarray:
        """Code of the class that every model separates from the others."""
        return np.array([1]) if self.classes.size == 2 else np.arange(self.classes.size)

    @property
    def n_intercepts(self) -> int:
        """1, or 0 for models without."""
        return 1 if self.learner.intercept else 0

    @cached_property
    def penalty(self) -> np.ndarray:
        """Of every entry: 1, and 0 for a free intercept."""
        penalty = np.ones(self.n_intercepts + self.columns.size)
        if has_free_intercept(self.learner):
            penalty[0] = 0.0
        return penalty

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Entries of the gradient where all rows count in full, one direction for all."""
        sizes = self.rms[self.columns] * float(self.cost.sum())
        if not self.n_intercepts:
            return sizes
        of_columns = np.zeros_like(sizes) if has_free_intercept(self.learner) else sizes  # centered ones sum to zero
        return np.concatenate([[self.learner.intercept * float(self.cost.sum())], of_columns])

    def gradient_unit(self, remains: np.ndarray) -> float:
        """What the gradient of a model on some entries is measured in."""
        return float(self._sizes[remains].max(initial=0.0) + np.finfo(float).tiny)

    def evaluate(
        self,
        remains: np.ndarray,
        weights: np.ndarray,
        models: np.ndarray,
        *,
        objective_at: tuple[int, ...] = (),
        hessian_at: tuple[int, ...] = (),
        nearest_at: tuple[int, ...] = (),
        n_nearest: int = 0,
    ) -> LossSums:
        """One pass over the rows.

        Parameters
        ----------
        remains : ndarray of bool of shape (n_entries,)
            Entries whose columns are read; all weights of others are zero.
        weights : ndarray of shape (n_vectors, n_remaining)
        models : ndarray of int of shape (n_vectors,)
            Which model each is a weight vector of.
        objective_at, hessian_at, nearest_at : tuple of int
            Weights at which objectives, Hessians and rows of least margin are wanted.
        n_nearest : int
            How many of these rows.

        Returns
        -------
        LossSums
            With the penalty in gradients and objectives, not in Hessians.
        """
        columns = self.columns[remains[self.n_intercepts :]]
        at = Evaluation(
            self.learner.loss,
            self.learner.intercept,
            self.mean[columns],
            self.scale[columns],
            weights,
            self.positive[models],
            objective_at,
            hessian_at,
            nearest_at,
            n_nearest,
        )
        # rows without columns are in no file
        table = self.table if columns.size else ArrayBlocks(np.empty((len(self.codes), 0)))
        read = columns if columns.size < table.shape[1] else None
        task = partial(sums_of_block, at)
        beside = (self.codes, self.cost, _place_of_first)
        sums = table.reduce(task, LossSums.merge, *beside, columns=read, purpose="gradients")
        penalty = self.penalty[remains]
        sums.gradients += penalty * weights
        sums.losses += 0.5 * (weights[list(objective_at)] ** 2 @ penalty)
        return sums

    @property
    def is_small(self) -> bool:
        """Whether the rows by whose models weights start are all that there are."""
        return bool(np.count_nonzero(self.cost) <= self._n_sampled)

    @property
    def _n_sampled(self) -> int:
        n_entries = self.penalty.size
        return max(_SAMPLE_ENTRIES // n_entries, _SAMPLE_ROWS_PER_ENTRY * n_entries)

    def samples(self) -> list[RowSample]:
        """Some rows, drawn at random but always the same, for every model."""
        rows, table = self._sample
        cost = self.cost[rows] * (np.count_nonzero(self.cost) / rows.size)
        signs = [np.where(self.codes[rows] == positive, 1.0, -1.0) for positive in self.positive]
        return [RowSample(self.learner.loss, table, each, cost, self.codes.size) for each in signs]

    @cached_property
    def _sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Which rows, and their prepared entries, one entry per row of the table."""
        rows = np.flatnonzero(self.cost)
        if rows.size > self._n_sampled:
            chosen = np.random.default_rng(0).choice(rows.size, self._n_sampled, replace=False, shuffle=False)
            rows = rows[np.sort(chosen)]
        columns = self.columns
        block = self.table.take_rows(rows, columns if columns.size < self.table.shape[1] else None)
        prepared = prepare_rows(block, self.mean[columns], self.scale[columns], self.learner.intercept)
        return rows, np.ascontiguousarray(prepared.T)

    def model_of(self, features: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> KeptClassifier:
        """The models on some columns of the table, in its units, given weights of the prepared columns."""
        coef = weights * self.scale[features]
        outputs = LinearOutputs(coef, intercepts - coef @ self.mean[features])
        kind = KeptLogisticRegression if self.learner.loss == "logistic" else KeptClassifier
        return kind(features, outputs, self.classes, self.learner.multiclass)


@dataclass(frozen=True)
class GatheredRows:
    """The models of a table so small that all its rows are gathered, by one pass.

    Attributes
    ----------
    problem : BlockProblem
        That :attr:`~BlockProblem.is_small`.
    """

    problem: BlockProblem

    def train(self, features: np.ndarray | None = None) -> KernelSolver | TallLinearSolver | WideLinearSolver:
        """The solver on some columns, by default all."""
        problem, samples = self.problem, self.problem.samples()
        table = np.zeros((samples[0].signs.size, problem.mean.size))
        table[:, problem.columns] = samples[0].table[problem.n_intercepts :].T
        posed = [Subproblem(np.arange(len(table)), each.signs, each.cost) for each in samples]
        return train_exactly(table if features is None else table[:, features], posed, problem.learner, problem.tol)

    def kept_model(self, features: np.ndarray) -> KeptClassifier:
        """The models on some columns, in the units of the table."""
        solver = self.train(features)
        return self.problem.model_of(features, solver.weights(), solver.intercepts())  # type: ignore[union-attr]


def _place_of_first(rows: slice) -> int:
    return int(rows.start)


def can_train_in_blocks(learner: Learner) -> bool:
    """Whether sums over rows are enough for the models, by one pass or several."""
    return is_linear(learner) and learner.loss in ("ridge", *BLOCK_LOSSES)


def pose_in_blocks(
    candidates: Candidates, y: np.ndarray, learner: Learner, *, standardize: bool, tol: float
) -> BlockProblem:
    """The models of a table that is read in blocks, one pass for means and deviations of its columns."""
    weight = candidates.sample_weight
    counted = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    codes, cost = np.full(len(y), -1), np.zeros(len(y))
    classes, codes[counted], cost[counted] = classes_and_costs(
        y[counted], learner, None if weight is None else weight[counted]
    )
    if learner.multiclass != "ovr" and classes.size > 2:
        raise ValueError(
            f"RFE on rows read in blocks trains one model per class, not multiclass={learner.multiclass!r}, beyond two "
            f"classes: use estimator={learner.loss!r} with multiclass='ovr', or give X as an array"
        )
    measured = candidates.as_columns(fit_intercept=standardize or has_free_intercept(learner))
    norm2, mean = np.asarray(measured.norm2), measured.means(np.arange(candidates.n_columns))
    varies = norm2 > 0
    if not varies.any():
        raise ValueError("every column of X is constant: there is nothing to rank")
    deviation = np.sqrt(norm2 / measured.total)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies) if standardize else varies * 1.0
    return BlockProblem(
        candidates.table,
        np.flatnonzero(varies),
        mean,
        scale,
        deviation * scale,
        classes,
        codes,
        cost,
        learner,
        tol,
    )
