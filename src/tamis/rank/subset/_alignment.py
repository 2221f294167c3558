r"""Features whose similarities agree with the leading components of all features.

With unit columns ``z_j``, ``K_S = sum_{j in S} z_j z_j'`` and ``T = U diag(v^power) U'`` from the leading eigenvectors
U and eigenvalues v of ``K = sum_j z_j z_j'``, the alignment of a set is the cosine, up to a constant,

    f(S) = <K_S, T> / ||K_S||_F = sum_S c_j / sqrt(sum_{b, c in S} (z_b' z_c)^2),    c_j = z_j' T z_j.

Large c_j raise the numerator, similar columns the denominator. The change of both when any column is added or removed
follows from ``g_j = z_j' K_S z_j = sum_{b in S} (z_j' z_b)^2``, which one product with the table keeps up to date.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.tolerances import TIE
from tamis.kernels.subset.column_subset import first_largest

_CACHED = 2**24  # squared products that may be cached, so that a column can be removed without a pass over the table
_AT_ONCE = 64  # columns whose products with all columns are computed together
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
    forced : sequence of int
        Those of them that are never swapped.
    """

    def __init__(
        self, Y: np.ndarray, affinity: np.ndarray, kept: Sequence[int] = (), forced: Collection[int] = ()
    ) -> None:
        self.Y = Y
        self.affinity = affinity
        self.forced = forced
        self.kept: list[int] = []
        self._is_kept = np.zeros(affinity.size, dtype=bool)
        self._norm4 = np.einsum("ij,ij->j", Y, Y, dtype=float) ** 2
        self._g = np.zeros(affinity.size)  # g_j = sum_{b in S} (z_j' z_b)^2
        self._numerator, self._norm2 = 0.0, 0.0  # sum_S c_j and ||K_S||_F^2
        self._cached: dict[int, np.ndarray] = {}
        self._tie = TIE.of(Y)
        for some in blocks(len(kept), _AT_ONCE):
            for column, products in zip(kept[some], Y[:, list(kept[some])].T @ Y, strict=True):
                self.add(column, products.astype(float) ** 2)

    def add(self, column: int, squares: np.ndarray | None = None) -> None:
        """Add a column; ``squares`` are its squared products with all columns, if they are known."""
        squares = self._squares(column) if squares is None else squares
        self._numerator += self.affinity[column]
        self._norm2 += 2.0 * self._g[column] + self._norm4[column]
        self._g += squares
        self._is_kept[column] = True
        self.kept.append(column)
        if len(self._cached) * squares.size < _CACHED:
            self._cached[column] = squares

    def remove(self, column: int) -> np.ndarray:
        """Remove a column; returns its squared products, to add it again."""
        squares = self._cached.pop(column, None)
        squares = self._squares(column) if squares is None else squares
        self.kept.remove(column)
        self._is_kept[column] = False
        self._g -= squares
        self._norm2 -= 2.0 * self._g[column] + self._norm4[column]
        self._numerator -= self.affinity[column]
        return squares

    def _squares(self, column: int) -> np.ndarray:
        return (self.Y[:, column] @ self.Y).astype(float) ** 2

    def alignment_with(self) -> np.ndarray:
        """Alignment of the set and one more column, for every column; -inf for those in it."""
        norm2 = self._norm2 + 2.0 * self._g + self._norm4
        outside = ~self._is_kept
        values = np.full(norm2.size, -np.inf)
        values[outside] = (self._numerator + self.affinity[outside]) / np.sqrt(norm2[outside])
        return values

    def alignment_without(self) -> np.ndarray:
        """Alignment of the set less each of its columns, in the order of ``kept``."""
        kept = np.array(self.kept)
        norm2 = self._norm2 - 2.0 * self._g[kept] + self._norm4[kept]
        numerator = self._numerator - self.affinity[kept]
        return numerator / np.sqrt(np.maximum(norm2, 1e-12 * self._norm2))

    def by_least_loss(self) -> list[int]:
        """The columns that may be swapped, that whose removal leaves the largest alignment first."""
        order = np.lexsort((np.array(self.kept), -self.alignment_without()))
        return [self.kept[place] for place in order if self.kept[place] not in self.forced]

    def extend(self, size: int) -> None:
        """Add the best column, again and again, up to ``size`` of them."""
        while len(self.kept) < size:
            self.add(first_largest(self.alignment_with(), self._tie))

    def improve(self, max_swaps: int) -> int:
        """Swap columns for better ones, by least loss, until a pass changes nothing or ``max_swaps`` have been made.

        Returns
        -------
        int
            Number of swaps.
        """
        n_swaps = before = 0
        while True:
            for column in self.by_least_loss():
                squares = self.remove(column)
                values = self.alignment_with()
                best = first_largest(values, self._tie)
                if values[best] > values[column] * (1 + 10 * self._tie):
                    self.add(best)
                    n_swaps += 1
                else:
                    self.add(column, squares)
                if n_swaps == max_swaps:
                    return n_swaps
            if n_swaps == before:
                return n_swaps
            before = n_swaps
