r"""Sets of k features that define faithful neighborhoods: several starts, of which the best is improved.

See :mod:`tamis.rank.subset._alignment` and :mod:`tamis.rank.subset._ridge_greedy` for the starts and
:mod:`tamis.rank.subset._faithful_swaps` for the improvement. All searches that follow products of columns run on a
table with the same products and fewer rows, or on some of its rows where it is large both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from tamis.kernels.arrays.copies import distinct_columns
from tamis.kernels.arrays.scaling import center_columns
from tamis.kernels.subset.column_subset import gram_of_rows, quadratic_forms
from tamis.rank.subset._alignment import AlignmentSearch, component_affinities
from tamis.rank.subset._centered_columns import fewest_rows
from tamis.rank.subset._faithful_swaps import SwapSearch, fit_among, nearest_rows
from tamis.rank.subset._ridge_greedy import RidgeSearch, rank_columns

_COMPONENTS = [10, 20, 50]  # of the alignments
_MAX_SWAPS = 200  # of an alignment search
MAX_GREEDY = 512  # features chosen one at a time; more of them are chosen at once
_SKETCH = 1000  # rows for products of columns, where there are more both of rows and of columns
_QUERIES = 500  # rows on which candidates for a swap are screened
_SINGLE = 2**22  # entries beyond which tables are held in single precision
LIGHT_ALPHA = 0.1  # ridge of the start with a light penalty
ORDER_ALPHA = 1.0  # ridge of an order that serves any number of features


class Start(NamedTuple):
    """An initial set for the local search."""

    name: str
    kept: list[int]
    affinity: np.ndarray  # proposes features to swap in
    fit: float


class FaithfulSet:
    """The search for sets of distinct columns with a high leave-one-out FIT.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int
        At most ``n_samples - 1``.
    rng : RandomState
        For the rows that stand for all where there are many; not used otherwise.
    keep : sequence of int
        Columns of ``X`` that every set holds, as far as they vary and are no copies of each other.

    Attributes
    ----------
    columns : ndarray
        Indices in ``X`` of the distinct columns; all results are places among these.
    forced : list of int
        Places of those of ``keep``.
    """

    def __init__(self, X: np.ndarray, n_neighbors: int, rng: np.random.RandomState, keep: Sequence[int] = ()) -> None:
        Z, norm2 = center_columns(X, scale=True)
        self.columns = _distinct_columns(Z, norm2, keep)
        if not self.columns.size:
            raise ValueError(f"no column of X varies, up to rounding, among the {len(X)} samples looked at")
        Z = Z.astype(np.float64 if Z.size <= _SINGLE else np.float32, copy=False)
        gram = gram_of_rows(Z)
        self.gram = gram * (len(Z) / np.trace(gram))
        self.n_neighbors = n_neighbors
        self._queries = np.sort(rng.permutation(len(Z))[:_QUERIES])
        self.Z = Z if self.columns.size == Z.shape[1] else Z[:, self.columns]
        self._table = fewest_rows(self.Z)
        if len(self._table) > _SKETCH:
            rows = np.sort(rng.choice(len(Z), _SKETCH, replace=False))
            self._table, varies = center_columns(self.Z[rows], scale=True)
            if not varies.all():  # constant in these rows
                seen = np.flatnonzero(varies)
                self.columns, self.Z, self._table = self.columns[seen], self.Z[:, seen], self._table[:, seen]
        self._table_gram = gram_of_rows(self._table)
        self._forms = quadratic_forms(self._table, self._table_gram)
        place = {column: i for i, column in enumerate(self.columns.tolist())}
        self.forced = [place[column] for column in keep if column in place]
        # orders of forward selection, as far as they were followed: the same for sets of all sizes
        self._by_ridge = self._rank(LIGHT_ALPHA)
        self._ranked_by_ridge: list[int] = []
        self._ranked_by_alignment = {r: list(self.forced) for r in _COMPONENTS}

    def _rank(self, alpha: float) -> Iterator[tuple[int, float]]:
        return rank_columns(RidgeSearch(self._table, alpha, self._table_gram, self._forms, self.forced), MAX_GREEDY)

    def order(self, kept: list[int] | None = None) -> Iterator[tuple[int, float]]:
        """All columns, or those given, each with what ridge regression explains more with it, as a share of all.

        Forced columns, which must be among those given, come first.
        """
        if kept is None:
            yield from self._rank(ORDER_ALPHA)
            return
        first = [kept.index(column) for column in self.forced]
        search = RidgeSearch(self._table[:, kept], ORDER_ALPHA, self._table_gram, self._forms[kept], first)
        for place, gain in rank_columns(search, MAX_GREEDY):
            yield kept[place], gain

    def fit(self, kept: list[int]) -> float:
        """Leave-one-out FIT over all rows of the table."""
        return fit_among(*nearest_rows(self.Z, kept, self.n_neighbors), self.gram, self.n_neighbors)

    def starts(self, size: int) -> Iterator[Start]:
        """Sets of one size, at least that of ``forced``; beyond ``MAX_GREEDY`` by ridge regression only."""
        for r, affinity in zip(_COMPONENTS, self._affinities, strict=True):
            if size <= MAX_GREEDY:
                search = self._align(size, r, affinity)
                search.improve(_MAX_SWAPS)
                yield Start(f"alignment, {r} components", search.kept, affinity, self.fit(search.kept))
        self._ranked_by_ridge += [
            column for column, _ in islice(self._by_ridge, max(0, size - len(self._ranked_by_ridge)))
        ]
        heavy = [column for column, _ in islice(self._rank(size / 20), size)]
        for name, kept in ((f"ridge {LIGHT_ALPHA}", self._ranked_by_ridge[:size]), ("ridge k/20", heavy)):
            yield Start(name, kept, self._affinities[1], self.fit(kept))

    @cached_property
    def _affinities(self) -> list[np.ndarray]:
        return component_affinities(self._table, self._table_gram, _COMPONENTS)

    def _align(self, size: int, n_components: int, affinity: np.ndarray) -> AlignmentSearch:
        """Forward selection by alignment, up to a size."""
        ranked = self._ranked_by_alignment[n_components]
        search = AlignmentSearch(self._table, affinity, ranked[:size], self.forced)
        search.extend(size)
        ranked += search.kept[len(ranked) :]
        return search

    def improvement(self, start: Start) -> SwapSearch:
        """The local search from a start."""
        alignment = AlignmentSearch(self._table, start.affinity, start.kept, self.forced)
        return SwapSearch(self.Z, self.gram, alignment, self.n_neighbors, self._queries)


def _distinct_columns(Z: np.ndarray, norm2: np.ndarray, keep: Sequence[int]) -> np.ndarray:
    """Columns that vary, one of all copies: one of ``keep`` where it is among these, else the first."""
    if not len(keep):
        return distinct_columns(Z, norm2)
    order = np.concatenate([keep, np.setdiff1d(np.arange(norm2.size), keep)]).astype(int)
    return np.sort(order[distinct_columns(Z[:, order], norm2[order])])
