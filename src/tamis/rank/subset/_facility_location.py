r"""Greedy facility location on columns: choose columns so that every column has a chosen one that explains it well.

A column s explains ``worth_sj = (z_s' z_j)^2 / z_s' z_s`` of the variance of column j (with scaled columns, their
squared correlation). The chosen set S covers ``F(S) = sum_j cover_j`` with ``cover_j = max_{s in S} worth_sj``, and
each step adds the column with the largest gain

    gain_s = sum_j max(0, worth_sj - cover_j).

``F`` is submodular: gains only ever fall, so a gain known earlier bounds the present one, and only candidates whose
bound could be the largest are looked at again (lazy evaluation). Four facts make this cheap, without a matrix of all
pairs:

- the first gains are ``z_s' K z_s / z_s' z_s`` with ``K = Z Z'``: two products over the table;
- candidates are looked at by blocks, one matrix product each;
- bounds need no more than single precision, with its rounding added; the few candidates that are left are then
  computed in the precision of the table;
- covers only ever rise, so a column j that s does not explain better than the chosen ones never counts for s again.
  What is left of a candidate's row of worths soon is short, and to bound its gain again costs no product.

Two columns that are closest to each other and to no others gain exactly the same. Such ties go to the column that
explains more on its own, ``sum_j worth_sj``, then to the lowest index.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.subset.column_subset import compress_rows, first_largest, gram_of_rows, precision_of, quadratic_forms

_FEW, _MANY = 16, 256  # candidates per block: few at the beginning of a step, more while it is not settled
_EXACT = 4  # candidates that are computed in full precision at once
_BLOCK = 2**22  # entries of the rows of one block: 16 MB in single precision
_CACHED = 2**18  # entries of the rows that are worked on at once
_SHORT = 0.25  # share of the columns that a row worth keeping may hold
_KEPT = 2**24  # entries of rows that may be kept in all: 128 MB


class CoverSearch:
    """Iterate over (feature, gain), best first, until every column that varies is chosen or a copy of a chosen one.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Centered columns.
    norm2 : ndarray of shape (n_columns,)
        Their squared norms; columns with zero are never chosen.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray) -> None:
        self.Z = compress_rows(Z)
        self.norm2 = norm2
        self.precision = precision_of(Z)
        self._slack = self.precision.product * float(norm2.max())  # error of a gain, however small
        self.cover = np.zeros(norm2.size)
        self.alone = np.full(norm2.size, -np.inf)  # what each column explains on its own
        np.divide(quadratic_forms(self.Z, gram_of_rows(self.Z)), norm2, out=self.alone, where=norm2 > 0)
        self.bound = self.alone.copy()  # of the gain; -inf for columns out of play
        self._rows = _ShortRows(self.Z, norm2)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        while (feature := self._settle()) is not None:
            gain = float(self.bound[feature])
            columns, worth = self._row(feature)
            self.cover[columns] = np.maximum(self.cover[columns], worth)
            self.cover[feature] = self.norm2[feature]
            self.bound[self.cover >= (1 - self.precision.redundant) * self.norm2] = -np.inf
            yield feature, gain

    def _settle(self) -> int | None:
        """The best candidate: the highest bounds are renewed until they are gains and no other can reach them."""
        in_play = self.bound > -np.inf
        if not in_play.any():
            return None
        renewed, exact = np.zeros_like(in_play), np.zeros_like(in_play)
        size, most = _FEW, max(1, min(_MANY, _BLOCK // in_play.size))
        reached = -np.inf  # what some candidate gains for sure, less what makes a tie
        while (open_ := np.flatnonzero(in_play & ~exact & (self.bound >= min(reached, self.bound.max())))).size:
            if open_.size > size:
                open_ = np.sort(open_[np.argpartition(-self.bound[open_], size)[:size]])
            old = open_[~renewed[open_]]
            if old.size:
                surely, bound = self._rows.bound_gains(old, self.cover)
                self.bound[old] = np.minimum(self.bound[old], bound)
                renewed[old] = True
                size = min(2 * size, most)
            else:
                best = open_[np.argsort(-self.bound[open_])[:_EXACT]]
                self.bound[best] = [self._gain(s) for s in best.tolist()]
                exact[best] = True
                surely = float(self.bound[best].max())
            reached = max(reached, self._tied_with(surely))
        tied = np.flatnonzero(exact & (self.bound >= self._tied_with(float(self.bound[exact].max()))))
        return int(tied[first_largest(self.alone[tied], self.precision.tie)])

    def _tied_with(self, gain: float) -> float:
        """The least gain that rounding may have kept from being this one."""
        return (1 - self.precision.tie) * gain - self._slack

    def _gain(self, candidate: int) -> float:
        columns, worth = self._row(candidate)
        return float(np.maximum(worth - self.cover[columns], 0.0).sum())

    def _row(self, candidate: int) -> tuple[np.ndarray | slice, np.ndarray]:
        """Columns that may count for a candidate, and what it explains of them, in the precision of the table."""
        columns = self._rows.columns(candidate)
        unit = self.Z[:, candidate] / self.Z.dtype.type(self.norm2[candidate] ** 0.5)
        return columns, (unit @ self.Z[:, columns]) ** 2


def worths(Z: np.ndarray, norm2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """``(z_s' z_j)^2 / z_s' z_s`` for candidates s and all columns j, in the table's own precision."""
    unit = Z[:, candidates] / np.sqrt(norm2[candidates]).astype(Z.dtype)
    product = unit.T @ Z
    return np.square(product, out=product)


def assign_columns(Z: np.ndarray, norm2: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which chosen column explains each column best, and the share of its variance that it does.

    Returns
    -------
    owner : ndarray of shape (n_columns,)
        A member of ``chosen``, the first of those that do equally well; -1 for columns that do not vary.
    share : ndarray of shape (n_columns,)
        Squared correlation with it; 0 for columns that do not vary.
    """
    owner, cover, tie = np.full(norm2.size, -1), np.zeros(norm2.size), precision_of(Z).tie
    for part in blocks(chosen.size, _BLOCK // norm2.size):
        worth = worths(Z, norm2, chosen[part])
        value = worth.max(axis=0)
        first = np.argmax(worth >= (1 - tie) * value, axis=0)
        better = (1 - tie) * value > cover
        owner[better], cover[better] = chosen[part][first[better]], value[better]
    owner[chosen], cover[chosen] = chosen, norm2[chosen]
    return owner, np.divide(cover, norm2, out=np.zeros(norm2.size), where=norm2 > 0).clip(max=1.0)


class _ShortRows:
    """Bounds on gains from rows of worths, kept without the columns that the chosen ones explain better.

    Rows are in single precision and hold upper bounds: what rounding may hide is added.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray) -> None:
        # columns of very different size would vanish beside each other in single precision
        self._dtype = np.float32 if norm2[norm2 > 0].min() > 1e-10 * norm2.max() else np.float64
        self._Z = Z.astype(self._dtype, copy=False)
        self._norm2 = norm2
        # twice the error of a product of unit vectors, of which the worth is the square: a rounding for each factor and
        # for each sum, which BLAS makes in blocks of some hundred terms
        n_roundings = 4 + min(Z.shape[0], 512 + Z.shape[0] / 512)
        self._slack = (np.finfo(self._dtype).eps * n_roundings * norm2).astype(self._dtype)
        self._rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._total = 0

    def columns(self, candidate: int) -> np.ndarray | slice:
        """Columns that may count for a candidate."""
        return self._rows[candidate][0] if candidate in self._rows else slice(None)

    def bound_gains(self, candidates: np.ndarray, cover: np.ndarray) -> tuple[float, np.ndarray]:
        """A gain that the best of some candidates reaches, and the highest that the gain of each may be."""
        high = np.empty(candidates.size)
        kept = np.array([s in self._rows for s in candidates.tolist()], dtype=bool)
        sure = -np.inf
        if kept.any():
            sure, high[kept] = self._from_kept(candidates[kept], cover)
        if not kept.all():
            surely, high[~kept] = self._from_table(candidates[~kept], cover)
            sure = max(sure, surely)
        return sure, high

    def _from_kept(self, candidates: np.ndarray, cover: np.ndarray) -> tuple[float, np.ndarray]:
        rows = [self._rows[s] for s in candidates.tolist()]
        columns, worth = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        starts = np.cumsum([0, *(row.size for _, row in rows[:-1])])
        above = np.maximum(worth - cover[columns], 0.0)
        high = np.add.reduceat(above, starts)  # no row is empty: a candidate in play explains itself best
        for s, row, part in zip(candidates.tolist(), rows, np.split(above, starts[1:]), strict=True):
            left = np.flatnonzero(part)
            if 4 * left.size < 3 * part.size:
                self._keep(s, row[0][left], row[1][left])
        best_columns, best_worth = rows[int(high.argmax())]
        return self._surely(high, best_columns[best_worth > cover[best_columns]]), high

    def _from_table(self, candidates: np.ndarray, cover: np.ndarray) -> tuple[float, np.ndarray]:
        high = np.empty(candidates.size)
        cover = cover.astype(self._dtype)
        worth = worths(self._Z, self._norm2, candidates)
        worth += self._slack
        for part in blocks(candidates.size, _CACHED // cover.size):
            above = worth[part] - cover
            counts = above > 0
            np.maximum(above, self._dtype(0.0), out=above)
            high[part] = above.sum(axis=1)
            for s, row, counted in zip(candidates[part].tolist(), worth[part], counts, strict=True):
                if np.count_nonzero(counted) <= _SHORT * cover.size:
                    columns = np.flatnonzero(counted)
                    self._keep(s, columns.astype(np.int32), row[columns])
        return self._surely(high, np.flatnonzero(worth[high.argmax()] > cover)), high

    def _surely(self, high: np.ndarray, columns: np.ndarray) -> float:
        """What is left of the highest bound, given the columns that count for it, if all rounding went one way."""
        return float(high.max() * (1 - 1e-6) - 2 * self._slack[columns].sum())

    def _keep(self, candidate: int, columns: np.ndarray, worth: np.ndarray) -> None:
        """Keep what is left of a row, while there is room."""
        if candidate in self._rows:
            self._total -= self._rows.pop(candidate)[0].size
        if self._total + columns.size <= max(_KEPT, self._Z.size):
            self._rows[candidate] = columns, worth
            self._total += columns.size
