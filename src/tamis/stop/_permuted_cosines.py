"""The law of the best irrelevant candidate, by permutation: no Gaussian assumption on either side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis._sklearn import move_to
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch


def permuted_cos2(search: OrthogonalSearch, observed: float, n_draws: int, rng: np.random.RandomState) -> np.ndarray:
    """How many of the remaining candidates reach ``observed`` when what is left of Y is permuted; one count per draw.

    What the kept features leave of Y is permuted, projected off them again (permuting brings part of them back), and
    its cos^2 with every remaining, projected candidate is taken. One BLAS-3 product serves all draws. A row of weight 3
    is permuted as three rows; weights that are no whole numbers stay with their rows, which is an approximation.
    """
    xp, columns = search.xp, search.columns
    left, sqrt_weight = move_to(search.Y, columns.sqrt_weight, xp=np, device="cpu")
    basis = move_to(xp.stack(search.basis, axis=1), xp=np, device="cpu") if search.basis else np.empty((len(left), 0))
    size = left.T @ left
    directions = []
    for drawn in _permuted_rows(left, sqrt_weight, n_draws, rng):
        shares = basis.T @ drawn
        directions.append((drawn - basis @ shares) @ _whitener(size - shares.T @ shares))
    product = columns.dot(columns.as_array(np.concatenate(directions, axis=1)))
    unreachable = xp.full_like(search.front.norm2, xp.inf)
    needed = xp.where(search.front.alive, search.front.norm2, unreachable) * max(observed, np.finfo(float).tiny)
    counts, start = np.empty(n_draws, dtype=int), 0
    for b, direction in enumerate(directions):
        stop = start + direction.shape[1]
        reached = xp.sum(product[:, start:stop] ** 2, axis=1) >= needed
        counts[b] = int(xp.sum(xp.astype(reached, xp.int64)))
        start = stop
    return counts


def _permuted_rows(
    left: np.ndarray, sqrt_weight: np.ndarray, n_draws: int, rng: np.random.RandomState
) -> Iterator[np.ndarray]:
    """Weighted rows, permuted among all copies that their weights stand for."""
    weight = np.round(sqrt_weight**2)
    whole = np.allclose(weight, sqrt_weight**2, rtol=1e-10)
    if not whole or weight.max() == 1:
        rows = np.flatnonzero(sqrt_weight > 0)
        for _ in range(n_draws):
            drawn = np.zeros_like(left)
            drawn[rows] = left[rng.permutation(rows)]
            yield drawn
        return
    copies = np.repeat(np.arange(len(left)), weight.astype(int))
    scale = np.where(sqrt_weight > 0, sqrt_weight, 1.0)[:, None]
    each = (left / scale)[copies]
    for _ in range(n_draws):
        drawn = np.zeros_like(left)
        np.add.at(drawn, copies, each[rng.permutation(len(copies))])
        yield drawn / scale


def _whitener(gram: np.ndarray) -> np.ndarray:
    """Turns columns with this Gram matrix into an orthonormal basis; class indicators span one dimension less."""
    values, vectors = np.linalg.eigh(gram)
    spanned = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
    return vectors[:, spanned] / np.sqrt(values[spanned])
