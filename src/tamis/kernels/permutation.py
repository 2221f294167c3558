"""The law of the best irrelevant candidate, by permutation: no Gaussian assumption on either side."""

from __future__ import annotations

import numpy as np
from sklearn.utils._array_api import move_to

from tamis.kernels.orthogonal_search import OrthogonalSearch


def permuted_cos2(search: OrthogonalSearch, observed: float, n_draws: int, rng: np.random.RandomState) -> np.ndarray:
    """How many of the remaining candidates reach ``observed`` when what is left of Y is permuted; one count per draw.

    What the kept features leave of Y is permuted, projected off them again (permuting brings part of them back), and
    its cos^2 with every remaining, projected candidate is taken. One BLAS-3 product serves all draws.
    """
    xp, columns = search.xp, search.columns
    left = move_to(search.Y, xp=np, device="cpu")
    rows = np.flatnonzero(move_to(columns.sqrt_weight, xp=np, device="cpu") > 0)
    basis = move_to(xp.stack(search.basis, axis=1), xp=np, device="cpu") if search.basis else None
    directions = []
    for _ in range(n_draws):
        drawn = np.zeros_like(left)
        drawn[rows] = left[rng.permutation(rows)]
        if basis is not None:
            for _ in range(2):
                drawn -= basis @ (basis.T @ drawn)
        directions.append(_orthonormal_basis(drawn))
    width = [direction.shape[1] for direction in directions]
    cosine2 = columns.dot(columns.as_array(np.concatenate(directions, axis=1))) ** 2
    alive = search.front.alive
    norm2 = xp.where(alive, search.front.norm2, xp.ones_like(search.front.norm2))
    counts, start = np.empty(n_draws, dtype=int), 0
    for b, stop in enumerate(np.cumsum(width)):
        reached = xp.sum(cosine2[:, start : int(stop)], axis=1) / norm2 >= observed
        counts[b] = int(xp.sum(xp.astype(reached & alive, xp.int64)))
        start = int(stop)
    return counts


def _orthonormal_basis(V: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the span of the columns; class indicators span one dimension less than they count."""
    U, values, _ = np.linalg.svd(V, full_matrices=False)
    return U[:, values > 1e-10 * max(values[0], np.finfo(float).tiny)]
