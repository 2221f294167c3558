r"""State of an active-set method on a box: which variables are free, and the inverse of their KKT matrix.

Variables between their bounds, :math:`0 < s_i v_i < u_i`, are free and form the working set F; the others rest at a
bound. The Newton step over F, with or without the equality :math:`1^\top v = \tau`, solves a system in

.. math:: A = \begin{pmatrix} 0 & 1^\top \\ 1 & K_{FF} + \mathrm{diag}(\rho_F) \end{pmatrix}
          \qquad\text{or}\qquad A = K_{FF} + \mathrm{diag}(\rho_F).
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from tamis.kernels.solvers.gram import add_square

SINGULAR_PIVOT = 1e-10  # a pivot this small, relative to the diagonal, is that of a linearly dependent variable
_MAX_DOWNDATES = 64  # after which the inverse is computed anew, so that rounding does not accumulate
_MAX_INVERSE_ERROR = 1e-5  # largest entry of A A^-1 - I for which the inverse is of use


class WorkingSet:
    """Free variables of the box ``0 <= s v <= u``, and which way the others may leave their bound.

    Parameters
    ----------
    n : int
        Number of variables; all start at their lower bound, or free where there is no box.
    signs : ndarray of shape (n,) or None
        None: no bounds.
    upper : ndarray of shape (n,)

    Attributes
    ----------
    free : ndarray of int
        In the order of the rows of the KKT matrix.
    feasible_direction : ndarray of shape (n,)
        Sign of a move from its bound into the box; 0 for free variables.
    """

    def __init__(self, n: int, signs: np.ndarray | None, upper: np.ndarray) -> None:
        self.is_bounded = signs is not None
        self._has_upper_bounds = bool(np.any(np.isfinite(upper)))
        self.signs = np.ones(n) if signs is None else signs
        self.upper, self._smallest_upper = upper, float(upper.min())
        self.feasible_direction = self.signs * self.is_bounded
        self.replace(np.arange(0 if self.is_bounded else n))

    def copy(self) -> WorkingSet:
        """A working set that changes independently of this one."""
        twin = copy(self)
        twin.feasible_direction = self.feasible_direction.copy()  # all other arrays are replaced, never written to
        return twin

    def replace(self, free: np.ndarray) -> None:
        """Another list of free variables."""
        self.free, self._free_signs, self._free_upper = free, self.signs[free], self.upper[free]

    def set_free(self, is_free: np.ndarray) -> None:
        """Free these variables; the others are at their lower bounds."""
        self.feasible_direction = np.where(is_free, 0.0, self.signs)
        self.replace(np.flatnonzero(is_free))

    @property
    def is_at_bound(self) -> np.ndarray:
        """Which variables are not free."""
        is_at_bound = np.ones(self.signs.size, dtype=bool)
        is_at_bound[self.free] = False
        return is_at_bound

    def append(self, j: int) -> None:
        """Free a variable."""
        self.feasible_direction[j] = 0.0
        self.replace(np.append(self.free, j))

    def delete(self, position: int, *, at_upper: bool) -> None:
        """Fix the free variable at this position of the list at a bound."""
        self.fix(int(self.free[position]), at_upper=at_upper)
        self.replace(np.delete(self.free, position))

    def fix(self, j: int, *, at_upper: bool) -> None:
        """Note at which bound a variable outside the list is."""
        self.feasible_direction[j] = -self.signs[j] if at_upper else self.signs[j]

    def contains(self, values: np.ndarray) -> bool:
        """Whether these values of the free variables are inside the box."""
        if not self.is_bounded:
            return True
        values = self._free_signs * values
        if values.min() < 0:
            return False
        return not self._has_upper_bounds or bool(
            values.max() <= self._smallest_upper or (values <= self._free_upper).all()
        )

    def contain(self, points: np.ndarray) -> np.ndarray:
        """Which points, one in each row, have their free variables inside the box."""
        if not self.is_bounded:
            return np.ones(len(points), dtype=bool)
        inside = (self.signs * points)[:, self.free]
        return (inside.min(axis=1, initial=0.0) >= 0) & (inside <= self._free_upper).all(axis=1)

    def ratio_test(self, values: np.ndarray, direction: np.ndarray, max_step: float) -> tuple[float, int]:
        """Longest step of the free variables inside the box, and the position of the one that blocks; -1 if none."""
        if not self.free.size:
            return max_step, -1
        inside, slope = self._free_signs * values, self._free_signs * direction
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(slope < 0, inside / -slope, (self._free_upper - inside) / slope)
        ratio[slope == 0] = np.inf
        blocking = int(ratio.argmin())
        return (max_step, -1) if ratio[blocking] >= max_step else (max(float(ratio[blocking]), 0.0), blocking)

    def is_rising(self, position: int, direction: float) -> bool:
        """Whether a free variable that moves in this direction meets its upper bound, not the lower one."""
        return bool(self._free_signs[position] * direction > 0)

    def bound(self, j: int, *, at_upper: bool) -> float:
        """Value of a variable at a bound."""
        return float(self.signs[j] * self.upper[j]) if at_upper else 0.0


class KKTInverse:
    """Inverse of the KKT matrix of the working set, updated as variables enter or leave and the kernel changes.

    Parameters
    ----------
    has_equality : bool
        Whether the matrix has a first row and column for the multiplier of an equality.

    Attributes
    ----------
    matrix : ndarray of shape (n_free + border, n_free + border)
    border : int
        1 with an equality, 0 without: position of the first free variable.
    """

    def __init__(self, *, has_equality: bool) -> None:
        self.border = int(has_equality)
        self.matrix: np.ndarray = np.zeros((self.border, self.border))
        self._n_downdates = 0

    def copy(self) -> KKTInverse:
        """An inverse that changes independently of this one."""
        twin = copy(self)
        twin.matrix = self.matrix.copy()
        return twin

    def bordered(self, first: float, values: np.ndarray) -> np.ndarray:
        """A right-hand side: the entry of the equality, if there is one, and those of the free variables."""
        if not self.border:
            return values
        vector = np.empty(values.size + 1)
        vector[0], vector[1:] = first, values
        return vector

    def refactorize(self, block: np.ndarray) -> bool:
        """Invert anew, given the matrix of the free variables; False where that is inaccurate."""
        n_free, border = len(block), self.border
        self.matrix, self._n_downdates = np.zeros((border, border)), 0
        if not n_free:
            return True
        system = np.zeros((n_free + border, n_free + border))
        system[border:, border:] = block
        system[:border, border:] = system[border:, :border] = 1.0
        try:
            self.matrix = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            self.matrix = np.linalg.pinv(system, hermitian=True)
        return bool(np.abs(system @ self.matrix - np.eye(n_free + border)).max() < _MAX_INVERSE_ERROR)

    def append(self, solved: np.ndarray, pivot: float) -> None:
        """Add a variable with the column a and the diagonal d: ``solved = A^-1 a``, ``pivot = d - a'A^-1 a``."""
        k = solved.size
        matrix = np.zeros((k + 1, k + 1))
        matrix[:k, :k] = self.matrix
        add_square(matrix, np.append(solved, -1.0), 1.0 / pivot)
        self.matrix = matrix

    def delete(self, position: int) -> None:
        """Remove the free variable at this position; with the last one nothing remains to be inverted."""
        removed = position + self.border
        n_kept = len(self.matrix) - 1
        if n_kept == self.border:
            self.matrix = np.zeros((self.border, self.border))
            return
        add_square(self.matrix, self.matrix[removed].copy(), -1.0 / self.matrix[removed, removed])
        matrix = np.empty((n_kept, n_kept))
        before, after = slice(removed), slice(removed, None)
        for rows, old_rows in ((before, before), (after, slice(removed + 1, None))):
            matrix[rows, before] = self.matrix[old_rows, before]
            matrix[rows, after] = self.matrix[old_rows, removed + 1 :]
        self.matrix = matrix

    def downdate(self, solved: np.ndarray, pivot: float) -> bool:
        """``(A - x x')^-1``, given ``solved = A^-1 x`` and ``pivot = 1 - x'A^-1 x``; False where it is due anew."""
        self._n_downdates += 1
        if self._n_downdates >= _MAX_DOWNDATES:
            return False
        add_square(self.matrix, solved, 1.0 / pivot)
        return True

    def add_squares(self, rows: np.ndarray) -> bool:
        """``A^-1 + X'X``, the border included in each row of X; False where it is to be computed anew."""
        self._n_downdates += 1
        if self._n_downdates >= _MAX_DOWNDATES:
            return False
        self.matrix += rows.T @ rows
        return True

    def downdate_many(self, rows: np.ndarray) -> bool:
        """``(A - X'X)^-1`` by Woodbury's formula, X over the free variables; False where it is to be computed anew."""
        if self.border:
            rows = np.pad(rows, ((0, 0), (1, 0)))
        across = rows @ self.matrix
        try:
            factor = cholesky(np.eye(len(rows)) - across @ rows.T, lower=True)
        except np.linalg.LinAlgError:
            return False
        self._n_downdates += 1
        if factor.diagonal().min() ** 2 <= SINGULAR_PIVOT or self._n_downdates >= _MAX_DOWNDATES:
            return False
        half = solve_triangular(factor, across, lower=True)
        self.matrix += half.T @ half
        return True
