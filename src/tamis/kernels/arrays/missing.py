"""Missing values (NaN) of a dense table: whether there are any, and correlations on the rows that are available.

On the rows in which column j is available, with row weights ``w`` and the targets ``y``, sums over the rows give

    N_j = sum w x y' - (sum w x)(sum w y)' / W_j,    G_j = sum w y y' - (sum w y)(sum w y)' / W_j,
    T_j = sum w x^2  - (sum w x)^2 / W_j,            W_j = sum w,

and ``N_j G_j^- N_j' / T_j``, the squared multiple correlation. All of these are products of three tables (available or
not, the values with 0 where they are missing, their squares) with a few vectors: one product for all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import column_blocks, sum_entries
from tamis.kernels.arrays.tolerances import CONSTANT, TIE


def has_missing(X: Any) -> bool:
    """Whether a validated table holds NaN; those that may are dense tables of numpy."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "f":
        return False
    return bool(np.isnan(sum_entries(X))) and bool(np.isnan(X).any())


def available_cos2(
    X: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None, *, fit_intercept: bool = True
) -> np.ndarray:
    """Squared multiple correlation of every column with targets, on its available rows, times their share of all rows.

    That is the share of the targets' variance over all rows that a column explains if it tells nothing where it is
    missing. Under chance the number of rows times it has the same law for all columns, up to the order of one over the
    number of available rows: columns can be compared, however many of their values are missing.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        NaN where values are missing.
    targets : ndarray of shape (n_samples, n_problems, n_targets)
        Several problems at once, such as permutations of the same targets.
    weights : ndarray of shape (n_samples, n_problems) or None
        Of the rows.
    fit_intercept : bool
        Center columns and targets, on the available rows.

    Returns
    -------
    ndarray of shape (n_problems, n_columns)
        0 for columns, or targets, that do not vary on the available rows.
    """
    n_problems, n_targets = targets.shape[1:]
    W = np.ones(targets.shape[:2]) if weights is None else weights
    Y = _standardized(targets, fit_intercept)
    upper = np.triu_indices(n_targets)
    WY = W[:, :, None] * Y
    of_rows = np.concatenate([W[:, :, None], WY, WY[:, :, upper[0]] * Y[:, :, upper[1]]], axis=2)
    of_values = of_rows[:, :, : 1 + n_targets]
    total = W.sum(axis=0)
    cos2 = np.empty((n_problems, X.shape[1]))
    for block in column_blocks(len(X), X.shape[1]):
        available, Z, offset = _filled(X[:, block], fit_intercept)
        sums = _products(available, of_rows)
        products = _products(Z, of_values)
        size = sums[:, :, 0]
        squares = (Z * Z).T @ W
        N, G, T = products[:, :, 1:], _symmetric(sums[:, :, 1 + n_targets :], n_targets), squares
        if fit_intercept:
            per_row = 1.0 / np.where(size > 0, size, 1.0)
            mean_x, mean_y = products[:, :, 0] * per_row, sums[:, :, 1 : 1 + n_targets] * per_row[:, :, None]
            N = N - mean_x[:, :, None] * sums[:, :, 1 : 1 + n_targets]
            G = G - size[:, :, None, None] * mean_y[:, :, :, None] * mean_y[:, :, None, :]
            T = T - size * mean_x**2
        varies = CONSTANT**2 * (squares + size * offset[:, None] ** 2) < T
        explained = _quadratic_form(N, G) / np.where(varies, T, 1.0)
        cos2[:, block] = (np.where(varies, np.clip(explained, 0.0, 1.0), 0.0) * size / total).T
    return cos2


def _standardized(targets: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Targets of comparable size, so that one tolerance serves all of them; centered where that changes nothing."""
    Y = targets - targets.mean(axis=0) if fit_intercept else targets
    scale = np.sqrt(np.mean(Y**2, axis=0))
    return Y / np.where(scale > 0, scale, 1.0)


def _filled(X: np.ndarray, fit_intercept: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which values are available, the values less their mean with 0 for missing ones, and that mean."""
    is_available = ~np.isnan(X)
    available = is_available.astype(float)
    Z = np.where(is_available, X, 0.0).astype(float, copy=False)
    mean = Z.sum(axis=0) / np.maximum(available.sum(axis=0), 1.0)
    if not fit_intercept:
        return available, Z, np.zeros_like(mean)
    return available, np.where(is_available, Z - mean, 0.0), mean


def _products(table: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """``table' v`` of every vector, of shape (n_columns, n_problems, n_vectors)."""
    n_rows, n_problems, n_vectors = vectors.shape
    return (table.T @ vectors.reshape(n_rows, -1)).reshape(-1, n_problems, n_vectors)


def _symmetric(upper: np.ndarray, size: int) -> np.ndarray:
    """Symmetric matrices from the entries of their upper triangles, along the last axis."""
    row, column = np.triu_indices(size)
    full = np.empty((*upper.shape[:-1], size, size))
    full[..., row, column] = full[..., column, row] = upper
    return full


def _quadratic_form(N: np.ndarray, G: np.ndarray) -> np.ndarray:
    """``N G^- N'``; targets that do not vary on the available rows, or depend on others, add nothing."""
    if N.shape[2] == 1:
        g = G[:, :, 0, 0]
        varies = g > TIE.float64
        return np.where(varies, N[:, :, 0] ** 2 / np.where(varies, g, 1.0), 0.0)
    values, vectors = np.linalg.eigh(G)
    spanned = values > TIE.float64 * np.maximum(values[..., -1:], 1.0)
    coordinates = np.einsum("jbm,jbmk->jbk", N, vectors)
    return np.sum(np.where(spanned, coordinates**2 / np.where(spanned, values, 1.0), 0.0), axis=2)
