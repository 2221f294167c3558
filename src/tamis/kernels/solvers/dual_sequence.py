r"""Support vector machines in the dual along a sequence of eliminations, of which none changes the working set.

While the free variables stay the same, the weights w of features Q depend on what is eliminated as the minimum of a
quadratic function does, with the inverse Hessian

.. math:: A_{QQ} = I - X_{QF} B X_{QF}^\top,

B being the inverse KKT matrix of the free variables F. So a sequence of eliminations takes no operation on n x n
matrices (:class:`~tamis.kernels.solvers.elimination_sequence.EliminationSequence`), and with the Cholesky factor L of
:math:`A_{EE}`, E in the order of elimination, all dual variables follow at once:

.. math:: v_t = v_0 + \sum_{s \le t} y_s d_s, \qquad (d_1, d_2, \dots) = B X_{EF}^\top L^{-\top}, \qquad y = L^{-1} w_E.

Whether the KKT conditions hold along the sequence, those of the working set included, is then verified in a few
products of matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from tamis.kernels.solvers.elimination_sequence import EliminationSequence
from tamis.kernels.solvers.svm_dual import DualSVM


class DualSequence:
    """Solutions of one problem along a sequence of eliminations.

    Parameters
    ----------
    svm : DualSVM
        Solved.
    columns : ndarray of shape (n_candidates, n)
        Values of features that may be eliminated.
    n_most : int
        Eliminations that there is room for.

    Attributes
    ----------
    sequence : EliminationSequence
        Weights of the candidates.
    is_prepared : ndarray of bool of shape (n_candidates,)
        Which of them may be eliminated next.
    dual : ndarray of shape (n_eliminations, n)
        The dual variables after each elimination, from :meth:`solve` on.
    """

    dual: np.ndarray

    def __init__(self, svm: DualSVM, columns: np.ndarray, n_most: int) -> None:
        self._svm, self._columns = svm, columns
        free = svm.working_set.free
        self._rows = columns if free.size == svm.v.size and (np.diff(free) == 1).all() else columns[:, free]
        self.is_prepared = np.zeros(len(columns), dtype=bool)
        self._prepared: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # B x and its row of A, for some of the places
        self.sequence = EliminationSequence(columns @ svm.v, n_most)
        self._n_taken = 0

    def prepare(self, places: np.ndarray) -> None:
        """Compute rows of A, in two products for all of these places."""
        inverse = self._svm.inverse
        solved = self._rows[places] @ inverse.matrix[inverse.border :]
        rows = solved[:, inverse.border :] @ self._rows.T
        np.negative(rows, out=rows)
        rows[np.arange(places.size), places] += 1.0
        self.is_prepared[places] = True
        self._prepared.update(zip(places.tolist(), zip(solved, rows, strict=True), strict=True))

    def eliminate(self, place: int) -> bool:
        """Add an elimination that was prepared to the sequence; False where rounding would decide on what follows."""
        return self.sequence.eliminate(place, self._prepared[place][1])

    def solve(self) -> int:
        """Compute the solutions along the sequence; after how many eliminations the KKT conditions still hold."""
        svm, places = self._svm, self.sequence.places
        free, border = svm.working_set.free, svm.inverse.border
        factor = self.sequence.factor[:, places].T
        solved = np.array([self._prepared[place][0] for place in places])
        self._directions = solve_triangular(factor, solved, lower=True)
        steps = solve_triangular(factor, self._columns[places] @ svm.v, lower=True)[:, None] * self._directions
        np.cumsum(steps, axis=0, out=steps)
        self.dual = np.tile(svm.v, (len(places), 1))
        self.dual[:, free] += steps[:, border:]
        self._intercept = svm.b + (steps[:, 0] if border else np.zeros(len(places)))
        eliminated = self._columns[places]
        self._products = svm.gram.times(self.dual.T).T - np.tril(self.dual @ eliminated.T) @ eliminated
        self._violation = svm.violations(self.dual, self._products, self._intercept)
        holds = self._violation <= svm.tol
        return len(places) if holds.all() else int(np.argmin(holds))

    def take(self) -> None:
        """Put the problem at the solution after the next elimination; kernel matrix and inverse stay as they are."""
        svm, t = self._svm, self._n_taken
        svm.v, svm.kv, svm.b = self.dual[t].copy(), self._products[t].copy(), float(self._intercept[t])
        svm.kkt_violation = float(self._violation[t])
        svm.n_iter += 1
        self._n_taken += 1

    def downdate(self) -> None:
        """Let the inverse follow the eliminations whose solutions were taken; the kernel matrix has followed."""
        if not self._svm.inverse.add_squares(self._directions[: self._n_taken]):
            self._svm.refactorize()
