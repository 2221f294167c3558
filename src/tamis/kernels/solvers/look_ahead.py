r"""Linear models that are kept optimal while features are eliminated, several eliminations at a time.

.. math:: \min_w \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \ell(y_i, \langle w, z_i \rangle)

Weights after several eliminations to come are predicted from the quadratic function with the Hessian of the weights as
they are (:class:`~tamis.kernels.solvers.elimination_sequence.EliminationSequence`) and then made exact together, by the
chord method

.. math:: w_t \leftarrow w_t - A_t \, \nabla_t(w_t), \qquad A_t = \text{that Hessian's inverse, downdated},

whose gradients are one product with the table, which is read once for all of them. Each is held to the same tolerance
as a model that is trained by itself. Whether the features are those that should be eliminated is up to the caller, who
drops what follows the first one that is not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from tamis.kernels.solvers.elimination_sequence import EliminationSequence
from tamis.kernels.solvers.svm_primal import LinearModel

Gradients = Callable[[np.ndarray], np.ndarray]  # from weights in rows

ROWS_PER_ROW_OF_START = 4  # one row in so many is in the sample by which weights start
_ROWS_OF_START = 24  # fewest rows per entry of that sample
START_TOL = 1e-3  # of the model of that sample
MAX_RATE = 0.5  # of the gradient after a step to that before it: beyond, the step is not taken as it is
FEW_ROUNDS = 2  # steps that are expected of a good Hessian
_MAX_ROUNDS = 6  # of steps on several eliminations


class LookAheadModel(LinearModel):
    """One linear model, kept optimal while features are eliminated.

    Attributes
    ----------
    w : ndarray of shape (n_entries,)
    inverse : ndarray of shape (n_entries, n_entries)
        Of a Hessian near the weights; empty before the first one.
    n_rounds : int
        Steps of the last search, over all rows.
    n_iter : int
        Steps so far, of all models.
    can_look_ahead : bool
        Whether the rows are enough for several eliminations to be solved together.
    """

    can_look_ahead = True
    table: np.ndarray
    inverse: np.ndarray
    n_iter: int
    n_rounds: int
    _gradient_unit: np.ndarray
    _ahead: list[tuple[int, np.ndarray, np.ndarray, float]]
    _is_solved: bool

    @abstractmethod
    def predict(self, n_most: int) -> EliminationSequence:
        """A sequence of eliminations from the weights as they are, to be filled."""

    @abstractmethod
    def _gradients_ahead(self, W: np.ndarray) -> Iterator[tuple[Gradients, float]]:
        """Functions from weights in rows to gradients, and tolerances, each searched for a zero from that before it.

        The last sums over all rows in double precision, and has the tolerance of the model.
        """

    @property
    def _has_many_rows(self) -> bool:
        """Whether a sample of the rows is worth a model by which to start."""
        return self.target.size >= ROWS_PER_ROW_OF_START * _ROWS_OF_START * self.w.size

    def solve_ahead(self, sequence: EliminationSequence) -> int:
        """Make the weights along a sequence exact; how many of its eliminations are solved.

        Those that come next take their weights from here, as long as :meth:`eliminate` is called in this order.
        """
        W, places = sequence.minima, sequence.places
        remains = np.ones(W.shape, dtype=bool)
        for t, place in enumerate(places):
            remains[t:, place] = False
        for gradients, tol in self._gradients_ahead(W):
            W, residual = self._search_zeros(sequence, W, remains[: len(W)], gradients, tol)
            is_solved = residual <= tol
            W = W if is_solved.all() else W[: int(np.argmin(is_solved))]
            if not len(W):
                break
        self._ahead = [(places[t], W[t], sequence.factor[t].copy(), float(residual[t])) for t in range(len(W))]
        return len(W)

    def _search_zeros(
        self,
        sequence: EliminationSequence,
        W: np.ndarray,
        remains: np.ndarray,
        gradients: Gradients,
        tol: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Steps from weights in rows, as long as they gain; where they lead, and the residual one step before."""
        unit = np.array([self._unit(self._gradient_unit[row]) for row in remains])
        residual, searched = np.full(len(W), np.inf), np.arange(len(W))
        self.n_rounds = 0
        while searched.size and self.n_rounds < _MAX_ROUNDS:
            self.n_rounds += 1
            self._count_steps(searched.size)
            gradient = np.zeros(W.shape)
            gradient[searched] = np.where(remains[searched], gradients(W[searched]), 0.0)
            W = W - sequence.solve(gradient, self.inverse)
            before, residual[searched] = residual[searched], np.abs(gradient[searched]).max(axis=1) / unit[searched]
            searched = searched[self._are_searched_on(residual[searched], before, tol)]
        return W, residual

    def _are_searched_on(self, size: np.ndarray, before: np.ndarray, tol: float) -> np.ndarray:
        """Which are larger than the tolerance, up to the first that steps, if they go on like this, leave too large."""
        rate = np.where(np.isfinite(before), size / before, 0.0)
        is_late = (size > tol) & (rate > MAX_RATE)
        is_late |= size * rate ** (_MAX_ROUNDS - self.n_rounds) > tol
        n_searched = int(np.argmax(is_late)) if is_late.any() else size.size
        return np.flatnonzero(size[:n_searched] > tol)

    def _count_steps(self, n_models: int) -> None:
        """Take note of a step of several models."""
        self.n_iter += n_models

    def keep_ahead(self, n_kept: int) -> None:
        """Forget all but the next eliminations of those that were solved ahead."""
        del self._ahead[n_kept:]

    def _take_ahead(self, eliminated: np.ndarray) -> np.ndarray | None:
        """Go on to the weights of an elimination that was solved ahead; what its inverse loses, None if it was not."""
        self._is_solved = False
        if not self._ahead or eliminated.size > 1 or self._ahead[0][0] != eliminated[0]:
            self._ahead = []
            return None
        _, self.w, column, self.residual = self._ahead.pop(0)
        self._is_solved = True
        return column

    def _keep_entries(self, kept: np.ndarray, table: np.ndarray) -> None:
        """Drop all other entries of the weights, and of those that were solved ahead; ``table`` holds those kept."""
        places = np.full(self.w.size, -1)
        places[kept] = np.arange(kept.size)
        self._ahead = [(int(places[place]), w[kept], column[kept], left) for place, w, column, left in self._ahead]
        self.w, self.penalty, self.table = self.w[kept], self.penalty[kept], table
        self._gradient_unit = self._gradient_unit[kept]

    def _unit(self, gradient_unit: np.ndarray) -> float:
        return float(gradient_unit.max(initial=0.0) + np.finfo(float).tiny)
