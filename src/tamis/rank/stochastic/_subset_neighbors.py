"""Nearest neighbors in many subsets of features at once."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.rank.stochastic._subset_learner import SubsetLearner

_MAX_SUCCESSIVE_MINIMA = 16  # neighbors: for more of them a partition is faster


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
    Cost: one product of the test rows with the training rows, per subset. A test row that is among the training
    rows, too, is its own neighbor: with few neighbors use ``evaluation="out-of-bag"``.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import SubsetNeighbors
    >>> OFW(SubsetNeighbors(n_neighbors=3, metric="hamming"))
    OFW(estimator=SubsetNeighbors(metric='hamming', n_neighbors=3))
    """

    repeat_rows: ClassVar[bool] = True

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


def vote_neighbors(
    tables: np.ndarray,
    queries: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    *,
    n_neighbors: int,
    metric: str,
) -> np.ndarray:
    """Class that most of the nearest rows have; the lowest of equals, and the first of rows as far.

    Parameters
    ----------
    tables : ndarray of shape (n_subsets, n_rows, n_columns)
    queries : ndarray of shape (n_subsets, n_queries, n_columns)
    labels : ndarray of shape (n_labelings, n_rows)
        Codes below ``n_classes``.
    n_classes : int
    n_neighbors : int
        At most ``n_rows``.
    metric : {"euclidean", "hamming"}
        The latter counts the columns in which two rows differ.

    Returns
    -------
    ndarray of shape (n_subsets, n_labelings, n_queries)
    """
    if metric == "hamming":
        nearest = np.partition(hamming_keys(queries, tables), n_neighbors - 1, axis=2)[:, :, :n_neighbors]
        nearest %= tables.shape[1]
    else:
        nearest = _smallest(euclidean_keys(queries, tables), n_neighbors)
    votes = np.stack([(labels[:, nearest] == code).sum(axis=3) for code in range(n_classes)])
    return votes.argmax(axis=0).transpose(1, 0, 2)


def euclidean_keys(queries: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Squared distances less what is the same for all rows: shape (n_subsets, n_queries, n_rows)."""
    keys = queries @ tables.transpose(0, 2, 1)
    keys *= -2.0
    keys += np.einsum("brk,brk->br", tables, tables)[:, None, :]
    return keys


def hamming_keys(queries: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Number of columns that differ times the number of rows, plus the place of the row: no two are equal."""
    n_rows, n_columns = tables.shape[1:]
    keys = np.zeros((*queries.shape[:2], n_rows), dtype=np.int32 if n_rows * (n_columns + 1) < 2**31 else np.int64)
    differ = np.empty(keys.shape, dtype=bool)
    for ours, theirs in zip(np.moveaxis(queries, 2, 0).copy(), np.moveaxis(tables, 2, 0).copy(), strict=True):
        np.not_equal(ours[:, :, None], theirs[:, None, :], out=differ)
        keys += differ
    keys *= n_rows
    keys += np.arange(n_rows, dtype=keys.dtype)
    return keys


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Places of the smallest keys of every query; overwrites the keys."""
    if count > _MAX_SUCCESSIVE_MINIMA:
        return keys.argpartition(count - 1, axis=2)[:, :, :count]
    rows = keys.reshape(-1, keys.shape[2])
    places = np.empty((len(rows), count), dtype=np.intp)
    each = np.arange(len(rows))
    for rank in range(count):
        places[:, rank] = rows.argmin(axis=1)
        rows[each, places[:, rank]] = np.inf
    return places.reshape(*keys.shape[:2], count)
