r"""Greedy facility location on columns: choose columns so that every column has a chosen one that explains it well.

A column s explains ``similarity_sj = (z_s' z_j)^2 / z_s' z_s`` of the variance of column j (with scaled columns, their
squared correlation). The chosen set S has the coverage ``F(S) = sum_j coverage_j``, with
``coverage_j = max_{s in S} similarity_sj``, and each step adds the column with the largest gain

    gain_s = sum_j max(0, similarity_sj - coverage_j).

``F`` is submodular: gains only ever fall, so a gain known earlier bounds the present one, and only candidates whose
bound could be the largest are evaluated again (the lazy greedy algorithm of Minoux 1978). Four facts make this cheap,
without a matrix of all pairs:

- the first gains are ``z_s' K z_s / z_s' z_s`` with ``K = Z Z'``: two products over the table;
- candidates are evaluated by blocks, one matrix product each;
- bounds need no more than single precision, with its rounding error added; the few candidates that may still be the
  best are then computed in the precision of the table;
- coverages only ever rise, so a column j that s does not explain better than the chosen ones never counts for s again.
  Rows of similarities become sparse, and to bound a gain again from the stored entries costs no product.

Two columns that are closest to each other and to no others gain exactly the same. Such ties go to the column that
explains more on its own, ``sum_j similarity_sj``, then to the lowest index.

A group G of columns explains what the best of them does, ``similarity_Gj = max_{s in G} similarity_sj``. ``F`` is then
that of the union of the chosen groups and submodular as before; all else holds with groups in the place of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.subset.column_subset import first_largest, gram_of_rows, precision_of, quadratic_forms
from tamis.kernels.subset.group_subset import group_of_each

_FEW, _MANY = 16, 256  # candidates per block: few at the beginning of a step, then twice as many each time
_EXACT = 4  # candidates computed in full precision at once
_BLOCK = 2**22  # entries of the rows of one block: 16 MB in single precision
_CACHED = 2**18  # entries of the rows that are evaluated at once, to stay in cache
_SHORT = 0.25  # share of the columns that a stored row may hold
_STORED = 2**24  # entries of all stored rows: 128 MB


class FacilityLocationSearch:
    """Iterate over (candidate, gain), best first, until every column that varies is chosen or a copy of a chosen one.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_columns)
        Centered columns, or others with the same products and fewer rows.
    norm2 : ndarray of shape (n_columns,)
        Their squared norms; columns with zero are never chosen.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray) -> None:
        self.Z = Z
        self.norm2 = norm2
        self.precision = precision_of(Z)
        self._gain_error = self.precision.product * float(norm2.max())
        self.coverage = np.zeros(norm2.size)
        self.alone = np.full(norm2.size, -np.inf)  # what each column explains on its own
        np.divide(quadratic_forms(self.Z, gram_of_rows(self.Z)), norm2, out=self.alone, where=norm2 > 0)
        self.bound = self.alone.copy()  # upper bound on the gain; -inf for chosen candidates and copies of them
        self._rows = _SparseRows(self.Z, norm2)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        while (candidate := self._best_candidate()) is not None:
            gain = float(self.bound[candidate])
            columns, similarity = self._row(candidate)
            self.coverage[columns] = np.maximum(self.coverage[columns], similarity)
            members = self._members(candidate)
            self.coverage[members] = self.norm2[members]
            self.bound[self._are_covered(self.coverage >= (1 - self.precision.redundant) * self.norm2)] = -np.inf
            yield candidate, gain

    def _members(self, candidate: int) -> int | np.ndarray:
        """Columns of a candidate that vary."""
        return candidate

    def _are_covered(self, columns: np.ndarray) -> np.ndarray:
        """Which candidates are explained entirely, given which columns are."""
        return columns

    def _explained_alone(self, candidates: np.ndarray) -> np.ndarray:
        """``sum_j similarity_sj`` of some candidates."""
        return self.alone[candidates]

    def _best_candidate(self) -> int | None:
        """The candidate with the largest gain: the largest bounds are tightened until no other candidate can reach it.

        Bounds of earlier steps are first tightened in single precision, then replaced by exact gains.
        """
        available = self.bound > -np.inf
        if not available.any():
            return None
        is_fresh, is_exact = np.zeros_like(available), np.zeros_like(available)
        size, max_size = _FEW, max(1, min(_MANY, _BLOCK // self.norm2.size))
        threshold = -np.inf  # candidates whose bound is below can neither be the best nor tied with it
        while (
            competing := np.flatnonzero(available & ~is_exact & (self.bound >= min(threshold, self.bound.max())))
        ).size:
            if competing.size > size:
                competing = np.sort(competing[np.argpartition(-self.bound[competing], size)[:size]])
            stale = competing[~is_fresh[competing]]
            if stale.size:
                attained, bound = self._rows.bound_gains(stale, self.coverage)
                self.bound[stale] = np.minimum(self.bound[stale], bound)
                is_fresh[stale] = True
                size = min(2 * size, max_size)
            else:
                best = competing[np.argsort(-self.bound[competing])[:_EXACT]]
                self.bound[best] = [self._gain(s) for s in best.tolist()]
                is_exact[best] = True
                attained = float(self.bound[best].max())
            threshold = max(threshold, self._tie_threshold(attained))
        tied = np.flatnonzero(is_exact & (self.bound >= self._tie_threshold(float(self.bound[is_exact].max()))))
        return int(tied[first_largest(self._explained_alone(tied), self.precision.tie)])

    def _tie_threshold(self, gain: float) -> float:
        """The least gain that is tied with this one, given the rounding errors."""
        return (1 - self.precision.tie) * gain - self._gain_error

    def _gain(self, candidate: int) -> float:
        columns, similarity = self._row(candidate)
        return float(np.maximum(similarity - self.coverage[columns], 0.0).sum())

    def _row(self, candidate: int) -> tuple[np.ndarray | slice, np.ndarray]:
        """Columns that may count for a candidate, and its similarities to them, in the precision of the table."""
        columns = self._rows.columns(candidate)
        unit = self.Z[:, candidate] / self.Z.dtype.type(self.norm2[candidate] ** 0.5)
        return columns, (unit @ self.Z[:, columns]) ** 2


class GroupFacilityLocationSearch(FacilityLocationSearch):
    """The same over groups of columns, each of which explains what the best of its columns does.

    Parameters
    ----------
    Z, norm2 : as for columns
    members : sequence of ndarray
        Columns of every group; a group without any that varies is never chosen.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray, members: Sequence[np.ndarray]) -> None:
        super().__init__(Z, norm2)
        self.members = [group[norm2[group] > 0] for group in members]
        # a group explains at most what its columns explain each on its own
        self.bound = np.array([self.alone[group].sum() if group.size else -np.inf for group in self.members])
        self._rows = _SparseGroupRows(self.Z, norm2, self.members)
        self._codes = group_of_each(members)

    def _members(self, candidate: int) -> int | np.ndarray:
        return self.members[candidate]

    def _are_covered(self, columns: np.ndarray) -> np.ndarray:
        return np.bincount(self._codes, weights=~columns, minlength=len(self.members)) == 0

    def _explained_alone(self, candidates: np.ndarray) -> np.ndarray:
        if candidates.size == 1:
            return np.zeros(1)  # there is no tie to settle
        return np.array([best_similarities(self.Z, self.norm2, self.members[g]).sum() for g in candidates])

    def _row(self, candidate: int) -> tuple[np.ndarray | slice, np.ndarray]:
        columns = self._rows.columns(candidate)
        return columns, best_similarities(self.Z, self.norm2, self.members[candidate], columns)


def similarities(Z: np.ndarray, norm2: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """``(z_s' z_j)^2 / z_s' z_s`` for candidates s and all columns j, in the table's own precision."""
    unit = Z[:, candidates] / np.sqrt(norm2[candidates]).astype(Z.dtype)
    product = unit.T @ Z
    return np.square(product, out=product)


def best_similarities(
    Z: np.ndarray, norm2: np.ndarray, group: np.ndarray, columns: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """``max_{s in G} (z_s' z_j)^2 / z_s' z_s`` for the given columns j, in the table's own precision."""
    others = Z[:, columns]
    best = np.zeros(others.shape[1], dtype=Z.dtype)
    for part in blocks(group.size, _BLOCK // max(others.shape[1], 1)):
        unit = Z[:, group[part]] / np.sqrt(norm2[group[part]]).astype(Z.dtype)
        np.maximum(best, np.square(unit.T @ others).max(axis=0), out=best)
    return best


def assign_columns(Z: np.ndarray, norm2: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which chosen column explains each column best, and the share of its variance that it does.

    Returns
    -------
    owner : ndarray of shape (n_columns,)
        A member of ``chosen``, the first of those that do equally well; -1 for columns that do not vary.
    share : ndarray of shape (n_columns,)
        Squared correlation with it; 0 for columns that do not vary.
    """
    owner, coverage, tie = np.full(norm2.size, -1), np.zeros(norm2.size), precision_of(Z).tie
    for part in blocks(chosen.size, _BLOCK // norm2.size):
        similarity = similarities(Z, norm2, chosen[part])
        value = similarity.max(axis=0)
        first = np.argmax(similarity >= (1 - tie) * value, axis=0)
        better = (1 - tie) * value > coverage
        owner[better], coverage[better] = chosen[part][first[better]], value[better]
    owner[chosen], coverage[chosen] = chosen, norm2[chosen]
    return owner, np.divide(coverage, norm2, out=np.zeros(norm2.size), where=norm2 > 0).clip(max=1.0)


class _SparseRows:
    """Bounds on gains from rows of similarities, stored without the columns that the chosen ones explain better.

    Rows are in single precision and hold upper bounds: the rounding error is added.
    """

    def __init__(self, Z: np.ndarray, norm2: np.ndarray) -> None:
        # single precision would lose small columns beside very large ones
        self._dtype = np.float32 if norm2[norm2 > 0].min() > 1e-10 * norm2.max() else np.float64
        self._Z = Z.astype(self._dtype, copy=False)
        self._norm2 = norm2
        # twice the error of a product of unit vectors, of which the similarity is the square: one rounding for each
        # factor and for each sum, which BLAS makes in blocks of some hundred terms
        n_roundings = 4 + min(Z.shape[0], 512 + Z.shape[0] / 512)
        self._rounding = (np.finfo(self._dtype).eps * n_roundings * norm2).astype(self._dtype)
        self._rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._total = 0

    def columns(self, candidate: int) -> np.ndarray | slice:
        """Columns that may count for a candidate."""
        return self._rows[candidate][0] if candidate in self._rows else slice(None)

    def bound_gains(self, candidates: np.ndarray, coverage: np.ndarray) -> tuple[float, np.ndarray]:
        """A lower bound on the largest gain of some candidates, and an upper bound on the gain of each."""
        upper = np.empty(candidates.size)
        stored = np.array([s in self._rows for s in candidates.tolist()], dtype=bool)
        attained = [-np.inf]
        if stored.any():
            lower, upper[stored] = self._bound_from_stored(candidates[stored], coverage)
            attained.append(lower)
        if not stored.all():
            lower, upper[~stored] = self._bound_from_table(candidates[~stored], coverage)
            attained.append(lower)
        return max(attained), upper

    def _similarities(self, candidates: np.ndarray) -> np.ndarray:
        """Rows of some candidates, one entry per column of the table."""
        return similarities(self._Z, self._norm2, candidates)

    def _bound_from_stored(self, candidates: np.ndarray, coverage: np.ndarray) -> tuple[float, np.ndarray]:
        rows = [self._rows[s] for s in candidates.tolist()]
        columns, similarity = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        starts = np.cumsum([0, *(row.size for _, row in rows[:-1])])
        above = np.maximum(similarity - coverage[columns], 0.0)
        upper = np.add.reduceat(above, starts)  # no row is empty: an available candidate explains itself best
        for s, row, part in zip(candidates.tolist(), rows, np.split(above, starts[1:]), strict=True):
            counting = np.flatnonzero(part)
            if 4 * counting.size < 3 * part.size:
                self._store(s, row[0][counting], row[1][counting])
        best_columns, best_similarity = rows[int(upper.argmax())]
        return self._lower_bound(upper, best_columns[best_similarity > coverage[best_columns]]), upper

    def _bound_from_table(self, candidates: np.ndarray, coverage: np.ndarray) -> tuple[float, np.ndarray]:
        upper = np.empty(candidates.size)
        coverage = coverage.astype(self._dtype)
        similarity = self._similarities(candidates)
        similarity += self._rounding
        for part in blocks(candidates.size, _CACHED // coverage.size):
            above = similarity[part] - coverage
            counts = above > 0
            np.maximum(above, self._dtype(0.0), out=above)
            upper[part] = above.sum(axis=1)
            for s, row, counted in zip(candidates[part].tolist(), similarity[part], counts, strict=True):
                if np.count_nonzero(counted) <= _SHORT * coverage.size:
                    columns = np.flatnonzero(counted)
                    self._store(s, columns.astype(np.int32), row[columns])
        return self._lower_bound(upper, np.flatnonzero(similarity[upper.argmax()] > coverage)), upper

    def _lower_bound(self, upper: np.ndarray, columns: np.ndarray) -> float:
        """The largest upper bound, less all rounding errors added over the columns that count for it."""
        return float(upper.max() * (1 - 1e-6) - 2 * self._rounding[columns].sum())

    def _store(self, candidate: int, columns: np.ndarray, similarity: np.ndarray) -> None:
        """Store the entries of a row that count, while there is room."""
        if candidate in self._rows:
            self._total -= self._rows.pop(candidate)[0].size
        if self._total + columns.size <= max(_STORED, self._Z.size):
            self._rows[candidate] = columns, similarity
            self._total += columns.size


class _SparseGroupRows(_SparseRows):
    """The same for groups of columns: a row holds the largest similarities to any column of the group."""

    def __init__(self, Z: np.ndarray, norm2: np.ndarray, members: Sequence[np.ndarray]) -> None:
        super().__init__(Z, norm2)
        self._members = members

    def _similarities(self, candidates: np.ndarray) -> np.ndarray:
        return np.array([best_similarities(self._Z, self._norm2, self._members[g]) for g in candidates])
