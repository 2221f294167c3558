"""What the methods on a graph of the samples share: its parameters and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions, safe_indexing
from tamis.base import Ranker, run_in_background
from tamis.base._row_sample import MAX_SAMPLES_CONSTRAINT, draw_rows
from tamis.base._validation import check_classes
from tamis.kernels.arrays.scaling import rescale_columns, scale_columns, standard_deviations, standardize_columns
from tamis.kernels.arrays.targets import encode_classes
from tamis.kernels.arrays.transfer import is_on_host, to_numpy
from tamis.kernels.graph.affinity import (
    ClassGraph,
    DeviceKernelGraph,
    Graph,
    KernelGraph,
    heat_width,
    neighbor_graph,
)
from tamis.kernels.neighbors.approximate import SEARCHES


class RowSampleRanker(Ranker):
    """Base of methods that compare each row with each, and work on a sample where there are more than ``max_samples``.

    Subclasses store it.
    """

    max_samples: int | None

    _parameter_constraints: ClassVar[dict] = {**Ranker._parameter_constraints, "max_samples": MAX_SAMPLES_CONSTRAINT}

    def _sample_rows(self, X: Any, y: Any) -> tuple[Any, Any, np.ndarray | None]:
        """The part of the table to work on, its classes if there are any, and which rows these are, None for all."""
        rows = draw_rows(X.shape[0], self.max_samples, self.get_params(deep=False).get("random_state"))
        if rows is None:
            return X, y, None
        return safe_indexing(X, rows), None if y is None else safe_indexing(y, rows), rows


class GraphRanker(RowSampleRanker):
    """Base of methods that look at features along a graph of the samples.

    Subclasses store ``n_neighbors``, ``weight``, ``width``, ``self_loops``, ``standardize`` and ``neighbors``, and call
    :meth:`_graph`.
    """

    supervised: ClassVar[bool] = False
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})

    n_neighbors: int
    weight: str
    width: float | None
    self_loops: bool
    standardize: bool
    neighbors: str

    _parameter_constraints: ClassVar[dict] = {
        **RowSampleRanker._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weight": [StrOptions({"heat", "binary", "cosine", "rbf", "class"})],
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "self_loops": ["boolean"],
        "standardize": ["boolean"],
        "neighbors": [StrOptions(set(SEARCHES))],
    }

    def _sample_rows(self, X: Any, y: Any) -> tuple[Any, Any, np.ndarray | None]:
        # a graph of classes costs no more than the table
        return (X, y, None) if self.weight == "class" else super()._sample_rows(X, y)

    def _rescale(self, X: Any) -> Any:
        """The table in units whose squares can be summed, where units do not matter."""
        return rescale_columns(X) if self.standardize else X

    def _graph(self, X: Any, y: Any) -> Graph:
        """The graph that the parameters describe; refused if it ties no samples at all."""
        tie = partial(self._tie_samples, X, y)
        graph = run_in_background(self, tie, task_name="graph") if is_on_host(X) else tie()
        if not graph.degree.any():
            raise ValueError(
                "no two samples point the same way, so that every weight of the graph is zero; take weight='heat'"
                if self.weight == "cosine"
                else f"width={self.width} is so small against the distances between samples that every weight of the "
                "graph is zero; take a larger one, or None to have it chosen from the data"
            )
        return graph

    def _tie_samples(self, X: Any, y: Any) -> Graph:
        if self.weight == "class":
            return ClassGraph(self._class_codes(X, y))
        points = self._points(X)
        loop = float(self.self_loops)
        if self.weight == "rbf":
            width = self.width
            if width is None:
                n_neighbors = min(self.n_neighbors, X.shape[0] - 1)
                width = heat_width(to_numpy(SEARCHES[self.neighbors](points, n_neighbors)[1]))
            return (KernelGraph if is_on_host(points) else DeviceKernelGraph)(points, width, loop=loop)
        search = SEARCHES[self.neighbors]
        return neighbor_graph(points, self.n_neighbors, weight=self.weight, width=self.width, loop=loop, search=search)

    def _points(self, X: Any) -> Any:
        """The samples between which similarity is measured."""
        if not self.standardize:
            return X
        # what the cosine between samples is depends on the origin, which sparse tables cannot move
        return scale_columns(X, standard_deviations(X)) if self.weight == "cosine" else standardize_columns(X)

    def _class_codes(self, X: Any, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("weight='class' ties samples of one class: give their classes as y")
        return encode_classes(check_classes(y, X))[1]
