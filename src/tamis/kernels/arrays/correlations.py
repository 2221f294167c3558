"""Correlations of some columns with all, never of all with all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import Columns, to_numpy

_BLOCK = 2**23  # correlations held at once


def squared_correlations(columns: Columns, kept: np.ndarray, varies: np.ndarray) -> Iterator[np.ndarray]:
    """Squared correlation of every feature with each kept one in turn; zero where either is constant."""
    norm = np.sqrt(np.where(varies, to_numpy(columns.norm2), 1.0))
    for some in blocks(kept.size, _BLOCK // norm.size):
        block = kept[some]
        # the kept columns are scaled before the product: their squares may not fit the table's precision
        unit = columns.columns(block) / columns.as_array(norm[block])[None, :]
        correlation = to_numpy(columns.dot(unit)) / norm[:, None]
        correlation[~varies] = 0.0
        correlation[:, ~varies[block]] = 0.0
        yield from np.minimum(correlation.T**2, 1.0)
