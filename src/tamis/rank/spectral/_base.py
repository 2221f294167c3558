"""What the methods on a graph of the samples share: its parameters and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions

from tamis.base import Ranker
from tamis.kernels.columns import to_numpy
from tamis.kernels.scaling import scale_columns, unit_spread
from tamis.kernels.graph import ClassGraph, Graph, KernelGraph, heat_width, neighbor_graph
from tamis.kernels.neighbors import nearest_neighbors
from tamis.kernels.targets import encode_classes


class GraphRanker(Ranker):
    """Base of methods that look at features along a graph of the samples.

    Subclasses store ``n_neighbors``, ``weight``, ``width``, ``self_loops`` and ``standardize``, and call
    :meth:`_graph`.
    """

    supervised: ClassVar[bool] = False
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})

    n_neighbors: int
    weight: str
    width: float | None
    self_loops: bool
    standardize: bool

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weight": [StrOptions({"heat", "binary", "cosine", "rbf", "class"})],
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "self_loops": ["boolean"],
        "standardize": ["boolean"],
    }

    def _graph(self, X: Any, y: Any) -> Graph:
        """The graph that the parameters describe; refused if it ties no samples at all."""
        graph = self._tie_samples(X, y)
        if not graph.degree.any():
            raise ValueError(
                f"width={self.width:g} is so small against the distances between samples that every weight of the "
                "graph is zero; take a larger one, or None to have it chosen from the data"
            )
        return graph

    def _tie_samples(self, X: Any, y: Any) -> Graph:
        if self.weight == "class":
            return ClassGraph(self._class_codes(X, y))
        points = scale_columns(X, unit_spread(X)) if self.standardize else X
        loop = float(self.self_loops)
        if self.weight == "rbf":
            width = self.width
            if width is None:
                n_neighbors = min(self.n_neighbors, X.shape[0] - 1)
                width = heat_width(to_numpy(nearest_neighbors(points, n_neighbors)[1]))
            return KernelGraph(points if sparse.issparse(points) else to_numpy(points), width, loop=loop)
        return neighbor_graph(points, self.n_neighbors, weight=self.weight, width=self.width, loop=loop)

    def _class_codes(self, X: Any, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("weight='class' ties samples of one class: give their classes as y")
        labels = column_or_1d(np.asarray(to_numpy(y) if hasattr(y, "shape") else y))
        if labels.size != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, but y has {labels.size}: give one class per row")
        return encode_classes(labels)[1]
