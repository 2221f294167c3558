r"""Features whose similarities agree with the leading components of all features.

With unit columns ``z_j``, ``K_S = sum_{j in S} z_j z_j'`` and ``T = U diag(v^power) U'`` from the leading eigenvectors
U and eigenvalues v of ``K = sum_j z_j z_j'``, the alignment of a set is the cosine, up to a constant,

    f(S) = <K_S, T> / ||K_S||_F = sum_S c_j / sqrt(sum_{b, c in S} (z_b' z_c)^2),    c_j = z_j' T z_j.

Large c_j are wanted, alike columns are paid for in the denominator. What adding or leaving out any column does to both
follows from ``g_j = z_j' K_S z_j = sum_{b in S} (z_j' z_b)^2``, which one product with the table keeps up to date.
"""

from __future__ import annotations

import numpy as np

from tamis.kernels.subset.column_subset import first_largest

_CACHED = 2**24  # squared products that may be kept, so that a column can be taken out without a pass over the table
_TIE = {"float64": 1e-10, "float32": 1e-6}  # relative difference below which two alignments are the same
_POWER = 0.7  # of the eigenvalues: between one, which only sees the first components, and zero


def component_affinities(Y: np.ndarray, gram: np.ndarray, n_components: list[int]) -> list[np.ndarray]:
    """``c_j`` of every column of ``Y``, given ``Y Y'``, for several numbers of components.

    Cost O(m^3 + m D max(n_components)) for a table of m rows and D columns.
    """
    values, vectors = np.linalg.eigh(gram)
    most = min(max(n_components), len(values))
    values, vectors = np.maximum(values[::-1][:most], 0.0), vectors[:, ::-1][:, :most]
    squares = (vectors.T.astype(Y.dtype) @ Y).astype(float) ** 2
    return [values[:r] ** _POWER @ squares[:r] for r in n_components]


class AlignmentSearch:
    """A set of columns, its alignment, and that of every set that differs by one column.

    Parameters
    ----------
    Y : ndarray of shape (n_rows, n_columns)
        Columns of unit norm.
    affinity : ndarray of shape (n_columns,)
        ``c_j``.
    kept : sequence of int
        Columns to begin with.
    """

    def __init__(self, Y: np.ndarray, affinity: np.ndarray, kept: list[int] | None = None) -> None:
        self.Y = Y
        self.affinity = affinity
        self.kept: list[int] = []
        self._inside = np.zeros(affinity.size, dtype=bool)
        self._norm4 = np.einsum("ij,ij->j", Y, Y, dtype=float) ** 2
        self._shared = np.zeros(affinity.size)  # g
        self._sum, self._size2 = 0.0, 0.0  # numerator, squared denominator
        self._rows: dict[int, np.ndarray] = {}
        self._tie = _TIE[str(Y.dtype)]
        for column in kept or []:
            self.add(column)

    def add(self, column: int, squares: np.ndarray | None = None) -> None:
        """Take a column in; ``squares`` are its squared products with all columns, if they are known."""
        squares = self._squares(column) if squares is None else squares
        self._sum += self.affinity[column]
        self._size2 += 2.0 * self._shared[column] + self._norm4[column]
        self._shared += squares
        self._inside[column] = True
        self.kept.append(column)
        if len(self._rows) * squares.size < _CACHED:
            self._rows[column] = squares

    def drop(self, column: int) -> np.ndarray:
        """Leave a column out; its squared products, to take it back."""
        squares = self._rows.pop(column, None)
        squares = self._squares(column) if squares is None else squares
        self.kept.remove(column)
        self._inside[column] = False
        self._shared -= squares
        self._size2 -= 2.0 * self._shared[column] + self._norm4[column]
        self._sum -= self.affinity[column]
        return squares

    def _squares(self, column: int) -> np.ndarray:
        return (self.Y[:, column] @ self.Y).astype(float) ** 2

    def alignment_with(self) -> np.ndarray:
        """Alignment of the set and one more column, for every column; -inf for those inside."""
        size2 = self._size2 + 2.0 * self._shared + self._norm4
        usable = ~self._inside
        values = np.full(size2.size, -np.inf)
        values[usable] = (self._sum + self.affinity[usable]) / np.sqrt(size2[usable])
        return values

    def alignment_without(self) -> np.ndarray:
        """Alignment of the set less each of its columns, in the order of ``kept``."""
        kept = np.array(self.kept)
        size2 = self._size2 - 2.0 * self._shared[kept] + self._norm4[kept]
        left = self._sum - self.affinity[kept]
        return left / np.sqrt(np.maximum(size2, 1e-12 * self._size2))

    def from_least_loss(self) -> list[int]:
        """The columns of the set, those that are missed least first."""
        order = np.lexsort((np.array(self.kept), -self.alignment_without()))
        return [self.kept[place] for place in order]

    def extend(self, size: int) -> None:
        """Add the best column, again and again, up to ``size`` of them."""
        while len(self.kept) < size:
            self.add(first_largest(self.alignment_with(), self._tie))

    def improve(self, most: int) -> int:
        """Exchange columns for better ones, those that are missed least first; until a pass in vain, or ``most``.

        Returns
        -------
        int
            Number of exchanges.
        """
        done = before = 0
        while True:
            for column in self.from_least_loss():
                squares = self.drop(column)
                values = self.alignment_with()
                best = first_largest(values, self._tie)
                if values[best] > values[column] * (1 + 10 * self._tie):
                    self.add(best)
                    done += 1
                else:
                    self.add(column, squares)
                if done == most:
                    return done
            if done == before:
                return done
            before = done
