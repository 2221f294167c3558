"""Linear models with more rows than columns: columns are eliminated from the table itself."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks, limit_blas_threads, map_in_threads
from tamis.kernels.arrays.tolerances import TIE, WEIGHT_ERROR
from tamis.kernels.solvers import chord_newton, gram_newton
from tamis.kernels.solvers.gram import FactorGram
from tamis.kernels.solvers.look_ahead import LookAheadModel
from tamis.kernels.solvers.multinomial import MultinomialModel
from tamis.kernels.solvers.svm_augmented_lagrangian import AugmentedLagrangianSVM
from tamis.kernels.solvers.svm_primal import PrimalLinearModel
from tamis.rank.backward._elimination_solver import RowGroup, SubproblemSolver, group_by_rows, is_multinomial, pose_dual
from tamis.rank.backward._learners import Learner, Subproblem

_MIN_AHEAD, _MAX_AHEAD = 4, 32  # eliminations that are solved together
_FEW_ROUNDS, _MANY_ROUNDS = 2, 5  # of steps: more, or fewer, are solved together then
_ROWS_PER_COPY = 2048  # samples that are copied at a time, so that those of all features are in a cache
_MAX_ROWS_PER_COLUMN = 2  # of the active-set method; with more rows too many of them change their status

_PrimalModel = (
    PrimalLinearModel | chord_newton.ChordNewton | gram_newton.GramNewton | AugmentedLagrangianSVM | MultinomialModel
)


class TallLinearSolver(SubproblemSolver):
    """Linear models on the table, one feature per row of it.

    The squared hinge, ridge and logistic regression by Newton's method in the primal; with many more rows than columns,
    eliminations of the squared hinge and of logistic regression are solved several at a time. The hinge and the
    epsilon-insensitive loss, which have no second derivative, by an augmented Lagrangian method; with at most twice as
    many rows as columns, or a hard margin, by the active-set method in the dual, on a Gram matrix that is never formed.
    ``max_iter`` is that of the smooth losses.
    """

    def __init__(
        self, table: Any, subproblems: list[Subproblem], learner: Learner, tol: float, *, max_iter: int = 100
    ) -> None:
        self._remaining = np.arange(table.shape[0])  # in the order of the table's rows, which changes
        self.n_samples = table.shape[1]
        is_hard = not all(np.isfinite(subproblem.cost).all() for subproblem in subproblems)
        is_smooth = learner.loss not in ("hinge", "epsilon_insensitive")
        self._is_dual = not is_smooth and (is_hard or self.n_samples <= _MAX_ROWS_PER_COLUMN * table.shape[0])
        # the intercept is the weight of a constant row, unless it is the multiplier of the dual's equality
        self._n_intercepts = 1 if learner.intercept and not (self._is_dual and learner.free_intercept) else 0
        self._constant = learner.intercept
        # a copy in any case, for it is written to
        table = _copy_under_constants(table, self._n_intercepts, learner.intercept)
        penalty = np.ones(table.shape[0])
        if self._n_intercepts and learner.free_intercept:
            penalty[0] = 0.0
        self._target_center = 0.0
        if learner.loss == "epsilon_insensitive" and not self._is_dual and not penalty.all():
            [subproblem] = subproblems  # of zero median for the augmented Lagrangian: a free intercept makes up for it
            self._target_center = float(np.median(subproblem.target))
            subproblems = [replace(subproblem, target=subproblem.target - self._target_center)]
        self.groups = []
        for rows, members in group_by_rows(subproblems, self.n_samples):
            part = table[:, rows]
            if self._is_dual:
                gram = FactorGram(part)
                models: list[Any] = [pose_dual(gram, subproblem, learner, tol) for subproblem in members]
                self.groups.append(RowGroup(rows, gram, models))
            else:
                models = [_pose_primal(part, penalty, member, learner, tol, max_iter) for member in members]
                self.groups.append(RowGroup(rows, part, models))
        self._can_look_ahead = all(isinstance(model, LookAheadModel) and model.can_look_ahead for model in self.models)
        self._n_ahead = _MAX_AHEAD // 2  # eliminations to be solved together next
        self._ahead: list[int] = []  # features whose elimination is solved already
        self._n_solved = 0  # eliminations that were solved together last
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return np.sort(self._remaining)

    @property
    def n_features(self) -> int:
        """How many columns remain."""
        return self._remaining.size

    def weights(self) -> np.ndarray:
        """One row per model, of the remaining columns."""
        return self._weights()[:, np.argsort(self._remaining)]

    def intercepts(self) -> np.ndarray:
        """Of every model, or of every class of a multinomial one."""
        if self._n_intercepts:
            return self._constant * self._entries()[:, 0] + self._target_center
        return np.array([model.b for model in self.models]) if self._is_dual else np.zeros(len(self._weights()))

    def _entries(self) -> np.ndarray:
        """Weights of the rows of the table, the intercept's first if it is one of them; one row per model."""
        if self._is_dual:
            weights = [np.stack([model.v for model in group.models]) @ group.data.table.T for group in self.groups]
            return np.concatenate(weights)
        return np.vstack([model.weights for model in self.models])

    def _weights(self) -> np.ndarray:
        """One row per model, in the order of the table."""
        return self._entries()[:, self._n_intercepts :]

    @property
    def squared_norm(self) -> float:
        """Of the weights."""
        return float((self._weights() ** 2).sum())

    @property
    def rounding_tol(self) -> float:
        """Squared weight that rounding, or the tolerance of a model, explains."""
        if not self._is_dual:
            return sum(model.weight_error**2 for model in self.models)
        size = sum(
            float(group.data.diagonal.sum()) * float(sum(model.v @ model.v for model in group.models))
            for group in self.groups
        )
        return WEIGHT_ERROR**2 * size

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return (self._weights() ** 2).sum(axis=0)[np.argsort(self._remaining)]

    def remove(self, features: np.ndarray) -> None:
        """Eliminate columns from the table."""
        # rows are shared out among threads here; matrices of the weights are too small for threads of BLAS
        with limit_blas_threads(self._remaining.size**2) if self._can_look_ahead else nullcontext():
            self._remove(features)

    def _remove(self, features: np.ndarray) -> None:
        if self._can_look_ahead:
            self._look_ahead(features)
        eliminated = np.flatnonzero(np.isin(self._remaining, features)) + self._n_intercepts
        n_entries = self._remaining.size + self._n_intercepts
        kept, moved = _fill_gaps(eliminated, n_entries)
        self._remaining = self._remaining[kept[self._n_intercepts :] - self._n_intercepts]
        for group in self.groups:
            table = group.data.table if self._is_dual else group.data
            columns = table[eliminated]
            if sparse.issparse(table):
                table, columns = table[kept], columns.toarray()
            else:
                table[moved] = table[kept[moved]]
                table = table[: kept.size]
            if self._is_dual:
                self._downdate(group, columns, table)
                continue
            group.data = table
            for model in group.models:
                model.eliminate(eliminated, columns, kept, table)
        self._solve()

    def _look_ahead(self, features: np.ndarray) -> None:
        """Solve an elimination together with those that are likely to follow, unless it was solved with others.

        These are eliminations of the least weight. Where another one is asked for, as with columns to keep or with
        groups, or where steps do not converge, fewer are solved together the next time.
        """
        if self._ahead:
            if features.tolist() == self._ahead[:1]:
                del self._ahead[0]
                return
            self._n_ahead = max(1, self._n_solved - len(self._ahead))
            self._ahead = []
        elif max(model.n_rounds for model in self.models) <= _FEW_ROUNDS:
            self._n_ahead = min(2 * self._n_ahead, _MAX_AHEAD)
        n_most = min(self._n_ahead, self._remaining.size - 1)
        if n_most < _MIN_AHEAD or features.size > 1:
            return
        sequences = [model.predict(n_most) for model in self.models]
        place = int(np.flatnonzero(self._remaining == features[0])[0])
        places: list[int] = []
        while len(places) < n_most:
            entry, pairs = place + self._n_intercepts, zip(sequences, self.models, strict=True)
            if not all(sequence.eliminate(entry, model.inverse[entry]) for sequence, model in pairs):
                break
            places.append(place)
            criteria = np.sum([sequence.w[self._n_intercepts :] ** 2 for sequence in sequences], axis=0)
            criteria[places] = np.inf
            least = np.flatnonzero(criteria <= criteria.min() * (1.0 + TIE.float64))
            place = int(least[self._remaining[least].argmax()])
        for sequence in sequences:
            sequence.truncate(len(places))
        if not places:
            return
        self._n_solved = min(model.solve_ahead(each) for model, each in zip(self.models, sequences, strict=True))
        for model in self.models:
            model.keep_ahead(self._n_solved)
        self._ahead = self._remaining[places[1 : self._n_solved]].tolist()
        if self._n_solved < n_most:
            self._n_ahead = max(1, self._n_solved)
        elif max(model.n_rounds for model in self.models) >= _MANY_ROUNDS:
            self._n_ahead = max(1, n_most // 2)

    def _downdate(self, group: RowGroup, columns: np.ndarray, table: Any) -> None:
        """The active-set method's part of an elimination."""
        group.data.downdate(table, columns)
        for model in group.models:
            if len(columns) == 1:
                model.downdate(columns[0])
            else:
                model.refactorize()


def _fill_gaps(eliminated: np.ndarray, n_entries: int) -> tuple[np.ndarray, np.ndarray]:
    """Which entry is at each place when the last ones fill the gaps of those eliminated, and the places of these."""
    n_kept = n_entries - eliminated.size
    kept, moved = np.arange(n_kept), eliminated[eliminated < n_kept]
    kept[moved] = np.setdiff1d(np.arange(n_kept, n_entries), eliminated)
    return kept, moved


def _pose_primal(
    table: Any, penalty: np.ndarray, subproblem: Subproblem, learner: Learner, tol: float, max_iter: int
) -> _PrimalModel:
    """The model of a subproblem on a table; not yet solved."""
    target, cost = subproblem.target, subproblem.cost
    if is_multinomial(subproblem):
        return MultinomialModel(table, penalty, target, cost, tol=tol)
    if learner.loss == "hinge":
        return AugmentedLagrangianSVM(table, penalty, target, cost, tol=tol)
    if learner.loss == "epsilon_insensitive":
        return AugmentedLagrangianSVM(table, penalty, target, cost, epsilon=learner.epsilon, tol=tol)
    if chord_newton.pays(table, learner.loss):
        return chord_newton.ChordNewton(table, penalty, target, cost, tol=tol, max_iter=max_iter)
    if gram_newton.pays(table, learner.loss):
        return gram_newton.GramNewton(table, penalty, target, cost, loss=learner.loss, tol=tol, max_iter=max_iter)
    return PrimalLinearModel(table, penalty, target, cost, loss=learner.loss, tol=tol, max_iter=max_iter)


def _copy_under_constants(table: Any, n_constants: int, value: float) -> Any:
    """A copy of the table under so many rows of one value, each of its rows in one piece of memory."""
    n_entries, n_samples = table.shape
    constants = np.full((n_constants, n_samples), float(value))
    if sparse.issparse(table):
        return sparse.vstack([sparse.csr_array(constants), table], format="csr") if n_constants else table.copy()
    copy = np.empty((n_constants + n_entries, n_samples))
    copy[:n_constants] = constants

    def fill(part: slice) -> None:
        copy[n_constants:, part] = table[:, part]

    for _ in map_in_threads(fill, list(blocks(n_samples, _ROWS_PER_COPY))):
        pass
    return copy
