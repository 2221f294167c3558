"""Nearest neighbors in many subsets."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.rank.stochastic._batched_neighbors import vote_neighbors
from tamis.rank.stochastic._learners import SubsetLearner


class SubsetNeighbors(SubsetLearner):
    r"""Majority vote of the nearest neighbors, in many subsets of features at once.

    .. math:: d(x, x')^2 = \sum_{j \in \omega} (x_j - x'_j)^2 \quad\text{or}\quad
        d(x, x') = \sum_{j \in \omega} [x_j \ne x'_j]

    the latter for discrete features (Gadat & Younes 2007, Sec. 5.1.1). Predictions are those of scikit-learn's
    ``KNeighborsClassifier``, up to neighbors as far as each other.

    Parameters
    ----------
    n_neighbors : int, default=5
    metric : {"euclidean", "hamming"}, default="euclidean"

    Notes
    -----
    Cost: one product of the rows judged on with those learned from, per subset. A row that is judged on and was learned
    from is its own neighbor: with few neighbors ask for ``evaluation="out-of-bag"``.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import SubsetNeighbors
    >>> OFW(SubsetNeighbors(n_neighbors=3, metric="hamming"))
    OFW(estimator=SubsetNeighbors(metric='hamming', n_neighbors=3))
    """

    repeats: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions({"euclidean", "hamming"})],
    }

    def __init__(self, *, n_neighbors: int = 5, metric: str = "euclidean") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit_subsets(self, tables: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> NeighborModels:
        """Keep the rows; see :class:`SubsetLearner`."""
        return NeighborModels(tables, labels, n_classes, min(self.n_neighbors, tables.shape[1]), self.metric)

    def numbers_per_subset(self, n_train: int, n_test: int, size: int, n_classes: int) -> int:
        """Distances, and their order."""
        return 2 * n_train * n_test


@dataclass(frozen=True)
class NeighborModels:
    """The rows learned from, and how to ask them."""

    tables: np.ndarray
    labels: np.ndarray
    n_classes: int
    n_neighbors: int
    metric: str

    def predict(self, tables: np.ndarray) -> np.ndarray:
        """Class that most of the nearest rows have."""
        return vote_neighbors(
            self.tables, tables, self.labels, self.n_classes, n_neighbors=self.n_neighbors, metric=self.metric
        )
