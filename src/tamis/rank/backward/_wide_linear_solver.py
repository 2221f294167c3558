"""Linear models with no more rows than columns: columns are subtracted from the Gram matrix of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.solvers.dual_sequence import DualSequence
from tamis.kernels.solvers.gram import DenseGram, add_square
from tamis.kernels.solvers.svm_dual import DualSVM
from tamis.rank.backward._elimination_solver import (
    RowGroup,
    SubproblemSolver,
    group_by_rows,
    intercept_product,
    pose_dual,
    principal_submatrix,
)
from tamis.rank.backward._learners import Learner, Subproblem
from tamis.rank.backward._weight_search import WeightSearch

_MIN_AHEAD, _MAX_AHEAD = 8, 64  # eliminations that are solved together
_MIN_CANDIDATES, _MAX_CANDIDATES = 256, 512  # among which the features are that leave
_FEATURES_PER_CANDIDATE = 6  # or one in so many of the remaining features
_MAX_RANK_ONE = 4  # columns that are subtracted one by one; more are subtracted in one product


class WideLinearSolver(SubproblemSolver):
    """Linear models in the dual, on the n x n Gram matrix of the rows, which is downdated.

    Eliminating one column costs O(n^2); the weights of all features are computed only when one may have become least.
    As long as working sets stay the same, eliminations are solved many at a time, which takes a few products of
    matrices for all of them; each is verified, and the order is that of single eliminations.
    """

    def __init__(
        self, table: Any, subproblems: list[Subproblem], learner: Learner, tol: float, *, max_iter: int = 10_000
    ) -> None:
        self.search = WeightSearch(table)
        self.is_sparse = sparse.issparse(table)
        self.n_samples = table.shape[1]
        self.added = intercept_product(learner)
        self._n_at_computation = table.shape[0]  # features when the Gram matrix was last computed
        matrix = self._compute_gram()
        self.groups = []
        for rows, members in group_by_rows(subproblems, self.n_samples):
            gram = DenseGram(principal_submatrix(matrix, rows))
            models = [pose_dual(gram, subproblem, learner, tol, max_iter) for subproblem in members]
            self.groups.append(RowGroup(rows, gram, models))
        self._can_look_ahead = not self.is_sparse and all(isinstance(model, DualSVM) for model in self.models)
        self._n_ahead = _MAX_AHEAD  # eliminations to be solved together next
        self._ahead: list[tuple[int, float]] = []  # features whose elimination is solved, and their criteria
        self._sequences: list[DualSequence] = []
        self._taken: list[np.ndarray] = []  # columns that were eliminated so, and are still in the kernel matrices
        self._solve()

    @property
    def features(self) -> np.ndarray:
        """Remaining columns."""
        return self.search.features

    @property
    def n_features(self) -> int:
        """How many columns remain."""
        return self.search.n_remaining

    @property
    def rounding_tol(self) -> float:
        """Squared weight that rounding alone explains."""
        return self.search.rounding_tol(self.dual_variables())

    def weights(self) -> np.ndarray:
        """One row per model, of the remaining columns."""
        return self.dual_variables() @ self.search.table.T

    def criteria(self) -> np.ndarray:
        """Squared weights."""
        return self.search.weights(self.dual_variables())

    def least(self) -> tuple[int, float]:
        """The feature of least weight."""
        if self._ahead or self._look_ahead():
            return self._ahead[0]
        return self.search.least(self.dual_variables())

    def remove(self, features: np.ndarray) -> None:
        """Subtract columns from the Gram matrix, or compute it anew when half of them have been eliminated since.

        Otherwise the small matrix of the last features would be a difference of large ones, and lose its digits.
        """
        if features.size == 1 and self._take(int(features[0])):
            return
        self._downdate()
        if features.size == 1 and 2 * (self.search.n_remaining - 1) > self._n_at_computation:
            n_iter = self.n_iter
            self._subtract(_dense(self.search.remove_one(int(features[0]))).ravel())
            self._solve()
            if self.n_iter - n_iter <= len(self.models):  # no working set has changed
                self._n_ahead = max(2, 2 * self._n_ahead)
            return
        eliminated = self.search.remove(features)
        n_remaining = self.search.n_remaining
        if 2 * n_remaining <= self._n_at_computation:
            self._n_at_computation = n_remaining
            matrix = self._compute_gram()
            for group in self.groups:
                self._replace_kernel(group, principal_submatrix(matrix, group.rows))
        elif features.size > _MAX_RANK_ONE:
            for group in self.groups:
                self._subtract_many(group, eliminated[:, group.rows])
        else:
            for column in _dense(eliminated):
                self._subtract(column)
        self._solve()

    def _look_ahead(self) -> bool:
        """Solve the eliminations that follow together; False where none could be.

        Each is verified: the KKT conditions hold without a change of a working set, and no other feature is as small as
        the one that leaves. Where they do not hold, fewer are solved together the next time.
        """
        if not self._can_look_ahead:
            return False
        self._downdate()
        n_most = min(self._n_ahead, _MAX_AHEAD, self.search.n_remaining - 1 - self._n_at_computation // 2)
        if n_most < _MIN_AHEAD:
            return False
        n_candidates = min(max(_MIN_CANDIDATES, self.n_features // _FEATURES_PER_CANDIDATE), _MAX_CANDIDATES)
        chosen = self.search.choose_candidates(self.dual_variables(), n_candidates)
        table = self.search.rows(chosen)
        self._sequences = [
            DualSequence(model, table[:, group.rows], n_most) for group in self.groups for model in group.models
        ]
        places, criteria = self._predict(n_most)
        n_solved = min(sequence.solve() for sequence in self._sequences) if places else 0
        if n_solved > 1:
            n_solved = 1 + self.search.n_certain(self._duals()[: n_solved - 1], np.array(criteria[1:n_solved]))
        self._ahead = list(zip(chosen[places[:n_solved]].tolist(), criteria[:n_solved], strict=True))
        self._n_ahead = 2 * n_solved
        return n_solved > 0

    def _predict(self, n_most: int) -> tuple[list[int], list[float]]:
        """Places among the candidates that leave one after another, and their criteria then."""
        sequences = [each.sequence for each in self._sequences]
        places: list[int] = []
        criteria: list[float] = []
        while len(places) < n_most:
            squares = np.square(sequences[0].w)
            for sequence in sequences[1:]:
                squares += sequence.w**2
            squares[places] = np.inf
            place = self.search.pick_place(squares)
            if not all(sequence.eliminate(place) for sequence in self._sequences):
                break
            places.append(place)
            criteria.append(float(squares[place]))
        for sequence in sequences:
            sequence.truncate(len(places))
        return places, criteria

    def _duals(self) -> np.ndarray:
        """Dual variables of all models after each elimination of the sequences."""
        duals = np.zeros((len(self._sequences[0].dual), len(self._sequences), self.n_samples))
        rows_of_models = [group.rows for group in self.groups for _ in group.models]
        for m, (sequence, rows) in enumerate(zip(self._sequences, rows_of_models, strict=True)):
            duals[:, m, rows] = sequence.dual
        return duals

    def _take(self, feature: int) -> bool:
        """Eliminate a feature as it was solved ahead; False where another one was, or none."""
        if not self._ahead or self._ahead[0][0] != feature:
            return False
        del self._ahead[0]
        self._taken.append(self.search.remove_one(feature).copy())
        for sequence in self._sequences:
            sequence.take()
        self._record()
        return True

    def _downdate(self) -> None:
        """Let kernel matrices and their inverses follow the eliminations that were taken."""
        if self._taken:
            columns = np.array(self._taken)
            for group in self.groups:
                group.data.replace(group.data.matrix - columns[:, group.rows].T @ columns[:, group.rows])
            for sequence in self._sequences:
                sequence.downdate()
        self._ahead, self._sequences, self._taken = [], [], []

    def _compute_gram(self) -> np.ndarray:
        table = self.search.table
        return _dense(table.T @ table) + self.added

    def _subtract_many(self, group: RowGroup, columns: Any) -> None:
        """Columns of one group's rows, one in each row of ``columns``."""
        matrix = group.data.matrix - _dense(columns.T @ columns)
        if 3 * columns.shape[0] > matrix.shape[0]:  # computing an inverse anew is cheaper than a downdate of that rank
            self._replace_kernel(group, matrix)
            return
        group.data.replace(matrix)
        columns = _dense(columns)
        for model in group.models:
            model.downdate_many(columns)

    def _subtract(self, column: np.ndarray) -> None:
        for group in self.groups:
            values = column[group.rows]
            _subtract_square(group.data.matrix, values, is_sparse=self.is_sparse)
            for model in group.models:
                model.downdate(values)


def is_wide(shape: tuple[int, ...], learner: Learner) -> bool:
    """Whether the dual is less work than the primal; conjugate gradients make the most of a logistic regression's."""
    n_samples, n_features = shape
    return n_samples <= (n_features // 2 if learner.loss == "logistic" else n_features)


def _dense(table: Any) -> np.ndarray:
    return table if isinstance(table, np.ndarray) else table.toarray()


def _subtract_square(matrix: np.ndarray, column: np.ndarray, *, is_sparse: bool) -> None:
    """``matrix -= column column'``, in place."""
    if is_sparse:
        entries = np.flatnonzero(column)
        matrix[np.ix_(entries, entries)] -= column[entries, None] * column[entries]
    else:
        add_square(matrix, column, -1.0)
