"""Linear models with no more rows than columns: columns are subtracted from the Gram matrix of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.solvers.dual_sequence import DualSequence
from tamis.kernels.solvers.gram import DenseGram, add_square
from tamis.kernels.solvers.principal_pivoting import BlockPivoting, can_pivot
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

_MIN_AHEAD, _MAX_AHEAD = 24, 128  # eliminations that are solved together
_CANDIDATES_PER_ELIMINATION = 4  # among which the features are that leave
_FEW_PREPARED = 16  # features whose elimination is prepared in one product, after those of least weight at first
_MAX_REFUSED = 3  # eliminations in a row that pivoting does not solve, after which it is not tried again
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
        is_dual_svm = not self.is_sparse and all(isinstance(model, DualSVM) for model in self.models)
        self._can_look_ahead = is_dual_svm
        self._can_pivot = is_dual_svm and all(can_pivot(model) for model in self.models)
        self._n_ahead = _MAX_AHEAD  # eliminations to be solved together next
        self._ahead: list[tuple[int, float]] = []  # features whose elimination is solved, and their criteria
        self._sequences: list[DualSequence] = []
        self._pivoting: list[BlockPivoting] = []
        self._n_refused = 0  # eliminations in a row that pivoting did not solve
        self._n_unchanged = 0  # eliminations in a row that changed no working set, when they are solved one by one
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
        if features.size == 1:
            self._remove_one(int(features[0]))
            return
        self._downdate()
        eliminated = self.search.remove(features)
        if 2 * self.search.n_remaining <= self._n_at_computation:
            self._recompute()
        elif features.size > _MAX_RANK_ONE:
            for group in self.groups:
                self._subtract_many(group, eliminated[:, group.rows])
        else:
            for column in _dense(eliminated):
                self._subtract(column)
        self._solve()

    def _remove_one(self, feature: int) -> None:
        if self._take(feature):
            return
        if 2 * self.search.n_remaining <= self._n_at_computation:
            self._downdate()
            self._recompute()
        if self._can_pivot:
            self._pivot(feature)
            return
        self._downdate()
        n_iter = self.n_iter
        self._subtract(_dense(self.search.remove_one(feature)).ravel())
        self._solve()
        self._count_unchanged(self.n_iter - n_iter <= len(self.models))

    def _recompute(self) -> None:
        """Compute the Gram matrix of the remaining features anew."""
        self._n_at_computation = self.search.n_remaining
        matrix = self._compute_gram()
        for group in self.groups:
            self._replace_kernel(group, principal_submatrix(matrix, group.rows))

    def _look_ahead(self) -> bool:
        """Solve the eliminations that follow together; False where none could be.

        Each is verified: the KKT conditions hold without a change of a working set, and no other feature is as small as
        the one that leaves. Where they do not hold, fewer are solved together the next time.
        """
        n_most = min(self._n_ahead, _MAX_AHEAD, self.search.n_remaining - 1 - self._n_at_computation // 2)
        if not self._can_look_ahead or n_most < _MIN_AHEAD:
            return False
        self._downdate()
        n_candidates = _CANDIDATES_PER_ELIMINATION * n_most
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
        self._n_ahead, self._n_unchanged = 2 * n_solved, 0
        return n_solved > 0

    def _predict(self, n_most: int) -> tuple[list[int], list[float]]:
        """Places among the candidates that leave one after another, and their criteria then."""
        sequences = [each.sequence for each in self._sequences]
        places: list[int] = []
        criteria: list[float] = []
        n_prepared = n_most
        eliminated = np.zeros(sequences[0].w.size)  # infinite for those that are
        while len(places) < n_most:
            squares = np.square(sequences[0].w)
            for sequence in sequences[1:]:
                squares += sequence.w**2
            squares += eliminated
            place = self.search.pick_place(squares)
            if not self._sequences[0].is_prepared[place]:
                self._prepare(place, squares, n_prepared)
                n_prepared = _FEW_PREPARED
            if not all(each.eliminate(place) for each in self._sequences):
                break
            places.append(place)
            criteria.append(float(squares[place]))
            eliminated[place] = np.inf
        for sequence in sequences:
            sequence.truncate(len(places))
        return places, criteria

    def _prepare(self, place: int, squares: np.ndarray, n_prepared: int) -> None:
        """Prepare the elimination of one candidate, and of others that are likely to follow."""
        unprepared = np.flatnonzero(~self._sequences[0].is_prepared)
        likely = unprepared[np.argsort(squares[unprepared])[:n_prepared]]
        for sequence in self._sequences:
            sequence.prepare(np.union1d(likely, place))

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

    def _pivot(self, feature: int) -> None:
        """Eliminate one feature by block principal pivoting.

        Where the pivots do not come to an end, or not to the tolerance, the active-set method goes on from the last
        solution; where that happens again and again, it is the one for all that follow.
        """
        if not self._pivoting:
            self._downdate()
            self._pivoting = [BlockPivoting(model) for model in self.models]
        column = self.search.remove_one(feature).copy()
        self._taken.append(column)
        rows_of_models = [group.rows for group in self.groups for _ in group.models]
        pairs = zip(self._pivoting, rows_of_models, strict=True)
        if not all(pivoting.eliminate(column[rows]) for pivoting, rows in pairs):
            self._pivoting = []
            self._downdate()
            for model in self.models:
                model.refactorize()
            self._solve()
            self._n_refused += 1
            self._can_pivot = self._n_refused < _MAX_REFUSED
            return
        self._n_refused = 0
        self._record()
        self._count_unchanged(all(pivoting.n_exchanged == 0 for pivoting in self._pivoting))
        if any(pivoting.is_due for pivoting in self._pivoting):
            self._subtract_taken()
            for pivoting in self._pivoting:
                pivoting.update()

    def _count_unchanged(self, is_unchanged: bool) -> None:
        """Look ahead again once as many eliminations in a row as are worth it have changed no working set."""
        self._n_unchanged = self._n_unchanged + 1 if is_unchanged else 0
        self._n_ahead = max(self._n_ahead, 2 * self._n_unchanged) if self._n_unchanged >= _MIN_AHEAD else 1

    def _downdate(self) -> None:
        """Let kernel matrices and their inverses follow the eliminations that were taken."""
        n_taken = len(self._taken)
        self._subtract_taken()
        for pivoting in self._pivoting:
            pivoting.release()
        for sequence in self._sequences if n_taken else []:
            sequence.downdate()
        self._ahead, self._sequences, self._pivoting = [], [], []

    def _subtract_taken(self) -> None:
        """Let kernel matrices follow the eliminations that were taken."""
        if self._taken:
            columns = np.array(self._taken)
            for group in self.groups:
                group.data.replace(group.data.matrix - columns[:, group.rows].T @ columns[:, group.rows])
        self._taken = []

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
