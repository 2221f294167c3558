r"""How well all features can be recovered from the neighbors that a few of them define.

With :math:`N(i)` the neighbors of sample i, the p-nearest-neighbor regressor of every feature at once is one sparse
averaging matrix P, and

.. math:: R^2_j = 1 - \frac{\sum_i (x_{ij} - (PX)_{ij})^2}{\sum_i (x_{ij} - \bar x_j)^2}

costs p additions per entry of X after a single neighbor search. Its mean over standardized features Z needs no feature
at all: with :math:`K = Z Z' / D = (\phi_i'\phi_k)`,

.. math:: \frac{1}{D}\sum_j R^2_j = 1 - \frac{1}{n}\sum_i \Big\|\phi_i - \frac{1}{p}\sum_{k \in N(i)} \phi_k\Big\|^2 .
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from tamis._sklearn import get_namespace_and_device, is_numpy_namespace, max_precision_float_dtype, safe_indexing
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import as_columns, to_numpy
from tamis.kernels.arrays.scaling import scale_columns, standard_deviations
from tamis.kernels.arrays.tolerances import CONSTANT, NEAREST_TIE
from tamis.kernels.neighbors.search import nearest_neighbors, smallest

Array = Any  # an array of any Array-API namespace

_BLOCK = {True: 2**22, False: 2**27}  # numbers held at a time: on the host, on an accelerator


def own_neighbors(
    X: Array, n_neighbors: int, *, itself: bool, search: Callable[[Any, int], tuple[Any, Any]] = nearest_neighbors
) -> Array:
    """Rows from which each row is predicted: its nearest others, one of them replaced by itself if ``itself``."""
    if not itself:
        return search(X, n_neighbors)[0]
    xp, _, device = get_namespace_and_device(X if not sparse.issparse(X) else np.empty(0))
    own = xp.arange(X.shape[0], dtype=xp.int64, device=device)[:, None]
    if n_neighbors == 1:
        return own
    return xp.concat([own, search(X, n_neighbors - 1)[0]], axis=1)


def r2_from_neighbors(X: Array, neighbors: Array, *, observed: Array | None = None) -> Array:
    """R^2 of every column predicted by the mean over ``neighbors``, which are rows of ``X``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        What is averaged.
    neighbors : integer array of shape (n_queries, n_neighbors)
    observed : array or sparse matrix of shape (n_queries, n_features), default=None
        What is predicted; None stands for ``X`` itself.

    Returns
    -------
    array of shape (n_features,)
        At most 1; below 0 where the mean of the column does better; NaN for constant columns, where there is nothing
        to recover, and 0 where other rows than these make it seem that there is.

    Notes
    -----
    One pass over the columns in blocks; on the host, memory for a few million numbers beside the input.
    """
    observed = X if observed is None else observed
    if sparse.issparse(X):
        return _sparse_r2(X, neighbors, observed)
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    average = _averaging_matrix(neighbors, X.shape[0]) if is_numpy_namespace(xp) else None
    width = _BLOCK[is_numpy_namespace(xp)] // max(X.shape[0], neighbors.shape[0])
    found = []
    for some in blocks(X.shape[1], width):
        averaged = xp.astype(X[:, some], accumulator, copy=True)
        actual = averaged if observed is X else xp.astype(observed[:, some], accumulator)
        center = xp.mean(averaged, axis=0)
        size = (
            xp.sum(actual**2, axis=0) + actual.shape[0] * center**2
        )  # observed rows may be zero, with a mean of X > 0
        actual = actual - center  # keeps digits where the mean is large beside the deviation
        averaged = actual if observed is X else averaged - center
        predicted = average @ averaged if average is not None else _gathered_mean(xp, averaged, neighbors)
        total = xp.sum((actual - xp.mean(actual, axis=0)) ** 2, axis=0)
        found.append(_r2(xp, xp.sum((actual - predicted) ** 2, axis=0), total, size))
    return xp.concat(found)


def _averaging_matrix(neighbors: np.ndarray, n_samples: int) -> sparse.csr_array:
    """Row i averages the neighbors of i."""
    n_queries, n_neighbors = neighbors.shape
    ends = np.arange(0, n_queries * n_neighbors + 1, n_neighbors)
    share = np.full(neighbors.size, 1.0 / n_neighbors)
    return sparse.csr_array((share, neighbors.ravel(), ends), shape=(n_queries, n_samples))


def _gathered_mean(xp: Any, X: Array, neighbors: Array) -> Array:
    total = xp.take(X, neighbors[:, 0], axis=0)
    for slot in range(1, neighbors.shape[1]):
        total = total + xp.take(X, neighbors[:, slot], axis=0)
    return total / neighbors.shape[1]


def _r2(xp: Any, residual2: Array, total: Array, size: Array) -> Array:
    constant = total <= CONSTANT**2 * size
    recovered = xp.where(residual2 <= CONSTANT * size, xp.full_like(total, xp.nan), xp.zeros_like(total))
    return xp.where(constant, recovered, 1.0 - residual2 / xp.where(constant, xp.ones_like(total), total))


def _sparse_r2(X: Any, neighbors: np.ndarray, observed: Any) -> np.ndarray:
    residual = observed - _averaging_matrix(neighbors, X.shape[0]) @ X
    columns = as_columns(observed)
    size = np.asarray(observed.multiply(observed).sum(axis=0)).ravel()
    return _r2(np, np.asarray(residual.multiply(residual).sum(axis=0)).ravel(), columns.norm2, size)


def standardized_gram(X: Array) -> np.ndarray:
    """``K = Z Z' / D`` of the D standardized columns that are not constant, as numpy.

    Cost O(n_samples^2 n_features) in blocks of columns, memory n_samples^2.
    """
    deviations = standard_deviations(X)
    gram = _sparse_gram(X, deviations) if sparse.issparse(X) else _dense_gram(X, deviations)
    return gram * (X.shape[0] / np.trace(gram)) if gram.any() else gram


def _dense_gram(X: Array, deviations: np.ndarray) -> np.ndarray:
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    gram = xp.zeros((X.shape[0], X.shape[0]), dtype=accumulator, device=device)
    for some in blocks(X.shape[1], _BLOCK[is_numpy_namespace(xp)] // X.shape[0]):
        block = xp.astype(X[:, some], accumulator)
        block = scale_columns(block - xp.mean(block, axis=0), deviations[some])
        gram = gram + block @ block.T
    return to_numpy(gram)


def _sparse_gram(X: Any, deviations: np.ndarray) -> np.ndarray:
    """``(A - 1 m') (A - 1 m')'`` without ever subtracting the means m; constant columns are left out."""
    columns = as_columns(X)
    varying = np.flatnonzero(columns.norm2 > 0)
    A = scale_columns(X.tocsc()[:, varying].astype(float), deviations[varying])
    mean = columns.means(varying) / deviations[varying]
    projection = A @ mean
    return (A @ A.T).toarray() - projection[:, None] - projection[None, :] + mean @ mean


def fit_from_gram(gram: np.ndarray, neighbors: np.ndarray) -> float:
    """Mean R^2 over all features from ``K = Z Z' / D`` alone; does not depend on the number of features."""
    rows = np.arange(len(gram))[:, None]
    to_neighbors = gram[rows, neighbors].mean(axis=1)
    among = gram[neighbors[:, :, None], neighbors[:, None, :]].mean(axis=(1, 2))
    return float(1.0 - np.mean(np.diagonal(gram) - 2.0 * to_neighbors + among))


def fit_along(X: Any, order: np.ndarray, sizes: Sequence[int], gram: np.ndarray, n_neighbors: int) -> Iterator[float]:
    """Leave-one-out FIT of the first features of an order, for ascending ``sizes``, one by one.

    Of dense, sparse and Array-API tables; the distances of the latter stay on their device, and neighbors come from it.
    Squared distances are sums over features, extended from one size to the next. Memory n_samples^2, time
    O(n_samples^2) per feature and per size.
    """
    deviations = standard_deviations(X)
    xp, _, device = get_namespace_and_device(gram if sparse.issparse(X) else X)
    distance2 = xp.zeros(gram.shape, dtype=max_precision_float_dtype(xp, device), device=device)
    counted = 0
    for size in sizes:
        for some in blocks(size - counted, _BLOCK[is_numpy_namespace(xp)] // X.shape[0]):
            added = order[counted + some.start : counted + some.stop]
            distance2 += _squared_distances(safe_indexing(X, added, axis=1), deviations[added])
        counted = size
        yield fit_from_gram(gram, to_numpy(_nearest(distance2, n_neighbors)))


def _squared_distances(columns: Any, deviations: np.ndarray) -> Any:
    """Of all pairs of rows, on columns divided by their deviations and centered, so that products lose few digits."""
    columns = columns.toarray() if sparse.issparse(columns) else columns
    xp, _, device = get_namespace_and_device(columns)
    if is_numpy_namespace(xp):
        centered = columns - columns.mean(axis=0, dtype=float)
        return euclidean_distances(scale_columns(centered, deviations), squared=True)
    columns = xp.astype(columns, max_precision_float_dtype(xp, device))
    Z = scale_columns(columns - xp.mean(columns, axis=0), deviations)
    norm2 = xp.sum(Z * Z, axis=1)
    return xp.clip(norm2[:, None] + norm2[None, :] - 2.0 * (Z @ Z.T), min=0.0)


def fit_of_all(gram: np.ndarray, n_neighbors: int) -> float:
    """Leave-one-out FIT of all features together, whose distances follow from ``K``, too."""
    size = np.diagonal(gram)
    return fit_from_gram(gram, _nearest(size[:, None] + size[None, :] - 2.0 * gram, n_neighbors))


def _nearest(distance2: Array, n_neighbors: int) -> Array:
    """Nearest other rows by squared distance; ties go to the lowest."""
    xp, _, device = get_namespace_and_device(distance2)
    rows = xp.arange(distance2.shape[0], device=device)
    tie_broken = distance2 + NEAREST_TIE * xp.mean(distance2) * xp.astype(rows, distance2.dtype)
    if isinstance(tie_broken, np.ndarray):
        np.fill_diagonal(tie_broken, np.inf)
        return np.argpartition(tie_broken, n_neighbors - 1, axis=1)[:, :n_neighbors]
    infinite = xp.asarray(xp.inf, dtype=distance2.dtype, device=device)
    tie_broken = xp.where(rows[:, None] == rows[None, :], infinite, tie_broken)
    return smallest(xp, tie_broken, n_neighbors)
