"""Leading eigenvectors of a large symmetric operator, many at a time, from a start that may be near."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

_MAX_BLOCKS = 6  # in the basis, before it is restarted from the leading vectors
_MAX_PRODUCTS = 300
_INDEPENDENT = 1e-14  # squared length that a direction must keep once the basis is projected out of it


def leading_eigenvectors(
    product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors of the largest eigenvalues of a positive definite operator, as many as ``start`` has columns.

    Parameters
    ----------
    product : callable
        Multiplies the columns of a matrix with the operator.
    start : ndarray of shape (n_features, count)
        The nearer to the eigenvectors, the fewer products.
    tol : float
        Norm of the residual of each, as a share of the largest eigenvalue; errors of the values go with its square.

    Returns
    -------
    values : ndarray of shape (count,)
        Ascending.
    vectors : ndarray of shape (n_features, count)
        Orthonormal.

    Notes
    -----
    Block Davidson iterations: the basis grows by the residuals of those Ritz vectors that have not converged, and is
    restarted from the leading ones. As good as Lanczos iterations per product, of which a pass over the table makes
    many at once.
    """
    count = start.shape[1]
    # by columns, so that those in use lie together, and more are added without a copy of them
    all_basis, all_images = (np.empty((len(start), _MAX_BLOCKS * count), order="F") for _ in range(2))
    used = count
    all_basis[:, :used] = np.linalg.qr(start)[0]
    all_images[:, :used] = product(all_basis[:, :used])
    projected = all_basis[:, :used].T @ all_images[:, :used]
    for _ in range(_MAX_PRODUCTS):
        basis, images = all_basis[:, :used], all_images[:, :used]
        values, rotation = (part[..., -count:] for part in linalg.eigh(projected))
        vectors, rotated = basis @ rotation, images @ rotation
        residuals = rotated - vectors * values
        directions = residuals[:, np.linalg.norm(residuals, axis=0) > tol * values[-1]]
        if used + directions.shape[1] > _MAX_BLOCKS * count:
            used, projected = count, np.diag(values)
            all_basis[:, :used], all_images[:, :used] = vectors, rotated
        basis = all_basis[:, :used]
        directions = _orthonormal_complement(basis, directions)
        if directions.shape[1] == 0:
            break
        new_images = product(directions)
        across = basis.T @ new_images
        last, used = used, used + directions.shape[1]
        all_basis[:, last:used], all_images[:, last:used] = directions, new_images
        projected = np.block([[projected, across], [across.T, directions.T @ new_images]])
    return values, vectors


def _orthonormal_complement(basis: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span what the directions add to an orthonormal basis."""
    directions = directions / np.maximum(np.linalg.norm(directions, axis=0), np.finfo(float).tiny)
    for _ in range(2):  # once more, for what rounding left
        directions = directions - basis @ (basis.T @ directions)
        if directions.shape[1]:
            lengths2, rotation = linalg.eigh(directions.T @ directions)
            kept = lengths2 > _INDEPENDENT
            directions = directions @ (rotation[:, kept] / np.sqrt(lengths2[kept]))
    return directions
