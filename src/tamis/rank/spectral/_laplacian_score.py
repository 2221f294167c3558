"""Laplacian score: features that vary little between similar samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tamis.base import Candidates, Ranker, Ranking
from tamis.kernels.arrays.columns import as_columns, to_numpy
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.graph.affinity import dirichlet_energy
from tamis.rank._row_sample import note_rows
from tamis.rank.spectral._base import GraphRanker


class LaplacianScore(GraphRanker):
    r"""Rank features by how little they vary along a graph of similar samples, for the variance they have.

    .. math:: L_j = \frac{\sum_{i<k} M_{ik} (x_{ij} - x_{kj})^2}{\sum_i \Delta_{ii} (x_{ij} - \tilde\mu_j)^2},
              \qquad \Delta_{ii} = \sum_k M_{ik},\quad
              \tilde\mu_j = \frac{\sum_i \Delta_{ii} x_{ij}}{\sum_i \Delta_{ii}}

    (He, Cai and Niyogi 2005; Doquet 2019, Eq. 3.21 corrected: the difference is squared, the Laplacian is
    :math:`\Delta - M`, and low is good.)

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_neighbors : int, default=5
        Neighbors that a sample is tied to.
    weight : {"heat", "binary", "cosine", "rbf", "class"}, default="heat"
        M: ``exp(-d^2 / (2 width^2))`` between neighbors; 1 between neighbors; the cosine between neighbors by cosine;
        the heat kernel between all pairs; or 1 / (size of the class) between samples of one class, which needs ``y``.
    width : float, default=None
        Of the heat kernel; None takes the root mean square of the distances to the neighbors.
    self_loops : bool, default=False
        Whether a sample is tied to itself with weight 1, which evens out the degrees.
    standardize : bool, default=True
        Measure distances with columns of unit variance. The score itself does not depend on units.
    max_samples : int or None, default=5000
        Rows to work on: of more, so many are drawn, the same ones for the same seed, and the reason says so. None
        takes all. Not needed, nor used, with ``weight="class"``.
    neighbors : {"exact", "approximate"}, default="exact"
        How neighbors are searched: "approximate" takes about O(n log n) steps for O(n^2) and misses a few of a hundred;
        for a hundred thousand dense rows and more, with ``max_samples=None``; it needs the extra ``scale``.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        :math:`-L_j`, between -2 and 0; NaN for constant columns, which are not ranked.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker.

    Notes
    -----
    Cost: a neighbor search, O(n^2 D) time in blocks, then one product of the sparse graph with ``X``; no n x n matrix
    is held, whatever the weight. Sparse input stays sparse; Array-API input is searched and scored on its device.

    With ``weight="class"``, :math:`L_j = 1 / (1 + F_j)` with F the Fisher score (Eq. 3.23). That holds with weights
    1 / (size of the class), as here, and with the weights 1 of Eq. 3.22 only if all classes are of one size.

    Limits: it scores one feature at a time, so copies of a good feature are all kept, and 100 features recover the
    others less well than 100 random ones on the eight sets of the thesis (mean FIT 0.679 against 0.727, ``python -m
    bench spectral``).

    scikit-feature's settings are
    ``weight="heat", width=1, self_loops=True``: on standardized columns that kernel underflows, and what is ranked then
    is rounding.

    References
    ----------
    He, Cai and Niyogi, "Laplacian score for feature selection", NIPS 2005. Doquet, "Agnostic feature selection", PhD
    thesis, 2019, Sec. 3.2.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import LaplacianScore
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> LaplacianScore(stop=2).fit(X).get_feature_names_out()
    array(['petal length (cm)', 'petal width (cm)'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = Ranker.provides | {"array_api", "sparse"}

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        n_neighbors: int = 5,
        weight: str = "heat",
        width: float | None = None,
        self_loops: bool = False,
        standardize: bool = True,
        max_samples: int | None = 5000,
        neighbors: str = "exact",
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.width = width
        self.self_loops = self_loops
        self.standardize = standardize
        self.max_samples = max_samples
        self.neighbors = neighbors

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X, y, rows = self._sample_rows(candidates.table, y)
        X = self._rescale(X)
        graph = self._graph(X, y)
        spread = to_numpy(as_columns(X, graph.degree).norm2).astype(float)
        scores = -divide_where_varying(dirichlet_energy(graph, X), spread)
        return replace(
            Ranking.from_scores(scores, rounding=ROUNDING.of(X)), notes=note_rows(rows, candidates.table.shape[0])
        )


def divide_where_varying(values: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """``values / spread``, NaN where a column does not vary."""
    varies = spread > 0
    return np.where(varies, values / np.where(varies, spread, 1.0), np.nan)
