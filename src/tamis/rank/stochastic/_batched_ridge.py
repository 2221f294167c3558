r"""Ridge classifiers on many subsets of features at once.

For each subset, :math:`\min_{w, b} \sum_i c_i (t_i - \langle w, x_i\rangle - b)^2 + \alpha \|w\|^2` with targets of -1
and 1 and a free intercept, in closed form: a system as large as there are columns, or rows, whichever are fewer.
"""

from __future__ import annotations

import numpy as np


def fit_ridge(
    tables: np.ndarray, targets: np.ndarray, weight: np.ndarray, *, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Fit every subset to every target.

    Parameters
    ----------
    tables : ndarray of shape (n_subsets, n_rows, n_columns)
    targets : ndarray of shape (n_targets, n_rows)
    weight : ndarray of shape (n_rows,)
        Of the rows; positive.
    alpha : float

    Returns
    -------
    weights : ndarray of shape (n_subsets, n_targets, n_columns)
    intercept : ndarray of shape (n_subsets, n_targets)
    """
    share = weight / weight.sum()
    center, level = share @ tables, targets @ share
    root = np.sqrt(weight)
    Z = (tables - center[:, None, :]) * root[:, None]
    right = ((targets - level[:, None]) * root).T
    _, n_rows, n_columns = tables.shape
    flipped = Z.transpose(0, 2, 1)
    if n_rows <= n_columns:
        dual = np.linalg.solve(_add_diagonal(Z @ flipped, alpha), right[None])
        weights = dual.transpose(0, 2, 1) @ Z
    else:
        weights = np.linalg.solve(_add_diagonal(flipped @ Z, alpha), flipped @ right).transpose(0, 2, 1)
    return weights, level - np.einsum("btk,bk->bt", weights, center)


def _add_diagonal(matrices: np.ndarray, value: float) -> np.ndarray:
    diagonal = np.arange(matrices.shape[1])
    matrices[:, diagonal, diagonal] += value
    return matrices
