"""Centered columns of the candidates, with no more rows than columns wherever only products of columns count."""

from __future__ import annotations

import numpy as np

from tamis.base import Candidates
from tamis.engine import compress_rows
from tamis.kernels.arrays.scaling import center_columns


def centered_columns(
    candidates: Candidates, *, scale: bool, share: bool = False, needs_products: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Centered columns divided by sqrt(n), and their squared norms, which are then the variances.

    Those of a tall table come from sums over its rows, of which no centered copy is made.

    Parameters
    ----------
    candidates : Candidates
    scale, share : bool
        As in :func:`tamis.kernels.arrays.scaling.center_columns`.
    needs_products : bool, default=True
        Whether all products of columns are needed: then there are no more rows than columns. False leaves as they are
        tables for which a few passes over the rows are cheaper.

    Returns
    -------
    Z : ndarray of shape (n_rows, n_columns)
        Of the type of the table.
    norm2 : ndarray of shape (n_columns,)
    """
    found = candidates.compressed_rows(needs_products=needs_products, dtype=float)
    if found is None:
        Z, norm2 = center_columns(candidates.table, scale=scale, share=share)
        return (fewest_rows(Z) if needs_products else Z), norm2
    varies = found.norm2 > 0
    norm2 = varies.astype(float) if scale else found.norm2 / found.total
    factor = 1.0 / np.sqrt(np.where(varies, found.norm2, 1.0)) if scale else found.total**-0.5
    if share:
        total = norm2.sum()
        factor, norm2 = factor / total**0.5, norm2 / total
    return (found.X * factor).astype(candidates.table.dtype, order="C", copy=False), norm2


def fewest_rows(Z: np.ndarray) -> np.ndarray:
    """Columns with the same products and no more rows than columns."""
    if Z.shape[0] <= Z.shape[1]:
        return Z
    try:
        return compress_rows(Z, fit_intercept=False).X
    except FloatingPointError:  # columns so much smaller than others that their squares are lost: rows serve as well
        return Z
