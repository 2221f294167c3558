"""Nearest-neighbor classification and regression from the kept features."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from tamis.assess._labels import read_labels
from tamis.assess._support import as_numpy, as_support, check_names
from tamis.assess._tables import kept_columns, read_table, read_test_table
from tamis.base._raw_input import check_container
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.arrays.scaling import rescale_safely
from tamis.kernels.neighbors.search import nearest_neighbors


def knn_predict(
    X: Any, y: Any, support: Any = None, *, n_neighbors: int = 1, standardize: bool = True, X_test: Any = None
) -> np.ndarray:
    """Label of each sample by vote of its nearest neighbors on the kept features, itself left out.

    Parameters
    ----------
    X, y, support, n_neighbors, standardize, X_test
        As for :func:`knn_accuracy`.

    Returns
    -------
    ndarray
        One label per row of ``X``, or of ``X_test`` if given. Ties go to the label of the nearest among the tied.
    """
    nearest, labels = _nearest_rows(X, y, support, n_neighbors, standardize, X_test)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes[_vote(codes[nearest], classes.size)]


def _nearest_rows(
    X: Any, y: Any, support: Any, n_neighbors: int, standardize: bool, X_test: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``X`` nearest to each row that is judged, and the target of ``X``."""
    table, names = read_table(X)
    target = _read_target(y, table.shape[0], "X", "y")
    check_names(support, names)
    kept = as_support(support, table.shape[1])
    held_out = None if X_test is None else read_test_table(X_test, table, names)
    most = table.shape[0] - (held_out is None)
    if not (isinstance(n_neighbors, Integral) and 1 <= n_neighbors <= most):
        raise ValueError(f"n_neighbors={n_neighbors!r} must lie between 1 and {most}, the rows to choose from")
    known, asking = kept_columns(table, kept, held_out, standardize=standardize)
    return to_numpy(nearest_neighbors(known, n_neighbors, query=asking)[0]), target


def _read_target(y: Any, n_samples: int, table: str, name: str) -> np.ndarray:
    """Labels, one per row and none missing."""
    labels = read_labels(column_or_1d(as_numpy(check_container(y, name))), name)
    if labels.size != n_samples:
        raise ValueError(f"{table} has {n_samples} rows, but {name} has {labels.size}: give one label per row")
    return labels


def _vote(votes: np.ndarray, n_classes: int) -> np.ndarray:
    """Most frequent code of each row; of those, the one that comes first."""
    rows = np.arange(len(votes))[:, None]
    counts = np.zeros((len(votes), n_classes), dtype=np.int64)
    np.add.at(counts, (rows, votes), 1)
    frequent = counts[rows, votes]
    return votes[rows[:, 0], np.argmax(frequent, axis=1)]


def knn_accuracy(
    X: Any,
    y: Any,
    support: Any = None,
    *,
    n_neighbors: int = 1,
    standardize: bool = True,
    X_test: Any = None,
    y_test: Any = None,
) -> float:
    r"""Share of samples that their nearest neighbors on the kept features classify right, leave-one-out.

    .. math:: 1 - ER(S, y) = \frac{1}{n} \sum_i \delta(y_i, y_{N(i)})

    Doquet (2019), Eq. 5.2.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    support : mask, indices or fitted ranker, default=None
        The kept features; None stands for all.
    n_neighbors : int, default=1
        Voters; ties go to the label of the nearest among the tied.
    standardize : bool, default=True
        Search with kept columns of unit variance.
    X_test, y_test : table and labels, default=None
        Held-out rows to judge instead, from their neighbors in ``X``.

    Returns
    -------
    float

    Notes
    -----
    The table 6.7 of the thesis, headed "5-NearestNeighbor classifier", is that of one neighbor.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis.assess import knn_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> round(knn_accuracy(X, y, [2, 3]), 2)
    0.95
    """
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both or none")
    predicted = knn_predict(X, y, support, n_neighbors=n_neighbors, standardize=standardize, X_test=X_test)
    actual = _read_target(y if y_test is None else y_test, predicted.size, "X_test", "y_test")
    return float(np.mean(predicted == actual))


def knn_r2(
    X: Any,
    y: Any,
    support: Any = None,
    *,
    n_neighbors: int = 5,
    standardize: bool = True,
    X_test: Any = None,
    y_test: Any = None,
) -> float:
    r"""Share of the variance of a quantity that the mean of its nearest neighbors on the kept features explains.

    .. math:: R^2 = 1 - \frac{\sum_i (y_i - \hat y_i)^2}{\sum_i (y_i - \bar y)^2}, \qquad
              \hat y_i = \frac1k \sum_{j \in N_k(i)} y_j

    leave-one-out: no row is among its own neighbors.

    Parameters
    ----------
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Quantities.
    support : mask, indices or fitted ranker, default=None
        The kept features; None stands for all.
    n_neighbors : int, default=5
    standardize : bool, default=True
        Search with kept columns of unit variance.
    X_test, y_test : table and quantities, default=None
        Held-out rows to judge instead, from their neighbors in ``X``.

    Returns
    -------
    float
        At most 1; 0 is as good as the mean of the judged rows, less is worse.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tamis.assess import knn_r2
    >>> X, y = load_diabetes(return_X_y=True)
    >>> knn_r2(X, y, [2, 8]) > knn_r2(X, y, [1])
    True
    """
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both or none")
    nearest, known = _nearest_rows(X, y, support, n_neighbors, standardize, X_test)
    actual = _read_target(y if y_test is None else y_test, len(nearest), "X_test", "y_test")
    if known.dtype.kind not in "fiub" or actual.dtype.kind not in "fiub":
        raise ValueError("y holds labels, and knn_r2 needs quantities; use knn_accuracy")
    both = rescale_safely(np.concatenate([actual, known]).astype(float))  # R2 does not depend on units
    actual, known = both[: actual.size], both[actual.size :]
    return float(r2_score(actual, known[nearest].mean(axis=1)))
