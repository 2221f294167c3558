"""Approximate neighbors of rows within each class: a search graph for every class in place of all distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tamis.kernels.neighbors.approximate import SearchGraph
from tamis.rank.relief._relief_weights import NeighborSearch, PairDifferences

_ROWS_AT_ONCE = 1024  # whose neighbors threads of faiss share out


def _call(work: Callable[[], Any]) -> Any:
    return work()


class ApproximateSearch(NeighborSearch):
    """Rows that are nearly the nearest, see :mod:`tamis.kernels.neighbors.approximate`.

    Parameters
    ----------
    Z, metric, columns, variance
        As for :class:`NeighborSearch`.
    build : callable
        Calls the function that links the rows, which takes long.
    """

    uses_threads: ClassVar[bool] = False  # those of faiss are enough

    def __init__(
        self,
        Z: np.ndarray,
        metric: str,
        *,
        columns: PairDifferences | None = None,
        variance: np.ndarray | None = None,
        build: Callable[[Callable[[], Any]], Any] = _call,
    ) -> None:
        super().__init__(Z, metric, columns=columns, variance=variance)
        self._build = build

    def n_rows_at_once(self) -> int:
        """Rows whose neighbors are searched at a time."""
        return _ROWS_AT_ONCE

    def search_within(
        self, parts: Sequence[np.ndarray], k: int, *, in_order: bool = False
    ) -> Callable[[np.ndarray], list[np.ndarray]]:
        """As for :class:`NeighborSearch`; the nearest of those that are found comes first in any case."""
        points, queries = self._coordinates()
        graphs = self._build(lambda: [SearchGraph(points[part], k, metric=self.metric) for part in parts])

        def find(rows: np.ndarray) -> list[np.ndarray]:
            return [
                part[graph.nearest(queries[rows], _places(rows, part))[0]]
                for part, graph in zip(parts, graphs, strict=True)
            ]

        return find

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Points whose squared distances to queries have the variance of the point, the same rows as queries do not.

        That of the query is the same for all its neighbors.
        """
        if self.variance is None or not self.variance.any():
            return self.Z, self.Z
        spread = np.sqrt(self.variance).astype(self.Z.dtype)
        return np.column_stack([self.Z, spread]), np.column_stack([self.Z, np.zeros_like(spread)])


def _places(rows: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Place of each row in a part of them, in increasing order; -1 where it is not there."""
    place = np.minimum(np.searchsorted(part, rows), part.size - 1)
    return np.where(part[place] == rows, place, -1)
