"""The law of the best candidate without a part in the target, by permutation: no Gaussian assumption on either side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamis._sklearn import move_to
from tamis.engine import CompressedColumns, LinearModel, permuted_products
from tamis.kernels.solvers.group_search import GroupSearch
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch

_MOST_COPIES = 2**24  # of rows that whole weights stand for: more than can be permuted in memory and time


def permuted_counts(
    search: OrthogonalSearch | GroupSearch,
    observed: float,
    n_draws: int,
    rng: np.random.RandomState,
    *,
    n_columns: int = 1,
) -> np.ndarray:
    """How many of the remaining candidates reach ``observed`` when the residual of Y is permuted; a count per draw.

    The residual is permuted, projected off the kept features again (permuting brings part of them back), and what every
    remaining, projected candidate explains of it is compared. A row of weight 3 is permuted as three rows; weights that
    are no whole numbers, or stand for millions of rows, stay with their rows, which is an approximation.
    """
    residual, sqrt_weight = move_to(search.Y, search.columns.sqrt_weight, xp=np, device="cpu")
    basis = np.array([move_to(q, xp=np, device="cpu") for q in search.basis]).reshape(len(search.basis), len(residual))
    gram = residual.T @ residual
    bases = []
    for drawn in _permuted_rows(residual, sqrt_weight, n_draws, rng):
        shares = basis @ drawn
        bases.append((drawn - basis.T @ shares) @ _whitener(gram - shares.T @ shares))
    return search.count_reaching(bases, observed, n_columns)


def permuted_counts_in_blocks(
    search: OrthogonalSearch | GroupSearch,
    columns: CompressedColumns,
    values: np.ndarray,
    selected: np.ndarray,
    observed: float,
    seeds: Sequence[int],
    *,
    n_columns: int = 1,
) -> np.ndarray:
    """The same where rows are read in blocks, within which residuals are permuted: one pass for all draws.

    All that counts of a permuted residual ``r`` is ``Z' r`` and its norm, which permuting does not change. Compressed
    columns ``R`` have ``R' v = Z' r`` for some ``v``, which stands for it.

    Parameters
    ----------
    search : OrthogonalSearch or GroupSearch
        After the steps so far.
    columns : CompressedColumns
        Among which it is.
    values : ndarray of shape (n_rows, n_targets)
        The targets, in rows.
    selected : ndarray of int
        Columns of the steps so far.
    observed : float
    seeds : sequence of int
        One for each draw.
    n_columns : int, default=1
    """
    weight, R = columns.sample_weight, columns.X
    center = np.average(values, axis=0, weights=weight) if columns.n_projected else np.zeros(values.shape[1])
    coefficients = np.linalg.lstsq(R[:, selected], columns.targets, rcond=None)[0]
    model = LinearModel(selected, coefficients, center)
    products = permuted_products(columns.rows(), columns.mean, values, weight, seeds, model)
    basis = np.array(search.basis).reshape(len(search.basis), len(R))
    gram = search.Y.T @ search.Y
    bases = []
    for product in products:
        drawn = np.linalg.lstsq(R.T, product, rcond=None)[0]
        shares = basis @ drawn
        bases.append((drawn - basis.T @ shares) @ _whitener(gram - shares.T @ shares))
    return search.count_reaching(bases, observed, n_columns)


def _permuted_rows(
    residual: np.ndarray, sqrt_weight: np.ndarray, n_draws: int, rng: np.random.RandomState
) -> Iterator[np.ndarray]:
    """Weighted rows, permuted among all copies that their weights stand for, unless these are too many to be held."""
    weight = np.round(sqrt_weight**2)
    whole = np.allclose(weight, sqrt_weight**2, rtol=1e-10)
    if not whole or weight.max() == 1 or weight.sum() > _MOST_COPIES:
        rows = np.flatnonzero(sqrt_weight > 0)
        for _ in range(n_draws):
            drawn = np.zeros_like(residual)
            drawn[rows] = residual[rng.permutation(rows)]
            yield drawn
        return
    copies = np.repeat(np.arange(len(residual)), weight.astype(int))
    scale = np.where(sqrt_weight > 0, sqrt_weight, 1.0)[:, None]
    each = (residual / scale)[copies]
    for _ in range(n_draws):
        drawn = np.zeros_like(residual)
        np.add.at(drawn, copies, each[rng.permutation(len(copies))])
        yield drawn / scale


def _whitener(gram: np.ndarray) -> np.ndarray:
    """Turns columns with this Gram matrix into an orthonormal basis; class indicators span one dimension less."""
    values, vectors = np.linalg.eigh(gram)
    spanned = values > 1e-10 * max(values[-1], np.finfo(float).tiny)
    return vectors[:, spanned] / np.sqrt(values[spanned])
