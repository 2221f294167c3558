r"""Common spatial patterns: directions in which two covariance matrices differ most, for many pairs at once.

With :math:`S_1` and :math:`S_2` the covariances of two classes, the filters solve

.. math:: S_1 w = \lambda (S_1 + S_2) w, \qquad W^T S_1 W = \mathrm{diag}(\lambda), \qquad W^T (S_1 + S_2) W = I:

a large :math:`\lambda` is a direction of large variance in class 1 and small variance in class 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis._sklearn import array_namespace, device


def average_by_class(values: Any, codes: np.ndarray, n_classes: int) -> Any:
    """Mean over the samples of each class, of shape (n_classes, ...), for arrays of any namespace."""
    xp = array_namespace(values)
    member = (np.arange(n_classes)[:, None] == codes) / np.bincount(codes, minlength=n_classes)[:, None]
    member = xp.asarray(member, dtype=values.dtype, device=device(values))
    return xp.reshape(member @ xp.reshape(values, (values.shape[0], -1)), (n_classes, *values.shape[1:]))


def shrink_covariances(covariances: np.ndarray, shrinkage: float) -> np.ndarray:
    """``(1 - shrinkage) S + shrinkage * trace(S) / size * I`` for matrices of shape (..., size, size)."""
    size = covariances.shape[-1]
    level = np.trace(covariances, axis1=-2, axis2=-1)[..., None, None] / size
    return (1.0 - shrinkage) * covariances + shrinkage * level * np.eye(size)


def find_filters(first: np.ndarray, second: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """The filters of both ends of the spectrum, the most telling first: largest, smallest, second largest, ...

    Parameters
    ----------
    first, second : ndarray of shape (..., n_channels, n_channels)
        Covariances of the two classes.
    n_components : int
        At most ``n_channels``.

    Returns
    -------
    filters : ndarray of shape (..., n_components, n_channels)
        Scaled to unit variance under the sum of both; the largest entry is positive.
    eigenvalues : ndarray of shape (..., n_components)
        Shares of the first class in that variance.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where the sum of both is singular.
    """
    size = first.shape[-1]
    lower = np.linalg.cholesky(first + second)
    pivots = np.diagonal(lower, axis1=-2, axis2=-1)
    if np.any(pivots.min(axis=-1) ** 2 <= size * np.finfo(lower.dtype).eps * pivots.max(axis=-1) ** 2):
        raise np.linalg.LinAlgError("the sum of the covariances is singular")
    inverse = np.linalg.inv(lower)
    values, vectors = np.linalg.eigh(inverse @ first @ np.swapaxes(inverse, -1, -2))
    ends = [i // 2 if i % 2 else size - 1 - i // 2 for i in range(n_components)]
    filters = np.swapaxes(np.swapaxes(inverse, -1, -2) @ vectors[..., ends], -1, -2)
    peak = np.take_along_axis(filters, np.abs(filters).argmax(axis=-1)[..., None], axis=-1)
    return filters * np.where(peak < 0, -1.0, 1.0), values[..., ends]


def find_filters_of_classes(covariances: np.ndarray, n_components: int) -> np.ndarray:
    """Filters of two classes, or of each of more classes against the mean of the others.

    Parameters
    ----------
    covariances : ndarray of shape (n_classes, ..., n_channels, n_channels)
    n_components : int

    Returns
    -------
    ndarray of shape (..., n_filters, n_channels)
        ``n_components`` filters for two classes, ``n_classes * n_components`` for more.
    """
    n_classes = len(covariances)
    if n_classes == 2:
        return find_filters(covariances[0], covariances[1], n_components)[0]
    total = covariances.sum(axis=0)
    each = [find_filters(own, (total - own) / (n_classes - 1), n_components)[0] for own in covariances]
    return np.concatenate(each, axis=-2)


def log_variances(covariances: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Logarithm of ``w' S w`` for each matrix (n, n_channels, n_channels) and filter (k, n_channels): shape (n, k)."""
    return np.log(np.sum((covariances @ filters.T) * filters.T, axis=-2))


def find_patterns(covariances: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """How what each filter passes shows on the channels, ``S w / w' S w``: what a map of the head should display.

    Parameters
    ----------
    covariances : ndarray of shape (..., n_channels, n_channels)
    filters : ndarray of shape (..., n_filters, n_channels)

    Returns
    -------
    ndarray of shape (..., n_filters, n_channels)
    """
    projected = filters @ covariances
    return projected / np.sum(projected * filters, axis=-1, keepdims=True)
