"""Classifiers on subsets that were drawn from a probability: Figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.blocks import blocks
from tamis.rank.stochastic._learners import SubsetLearner, SubsetModels
from tamis.rank.stochastic._table import SubsetTable, measure_columns

_NUMBERS = 2**24  # that voters hold at a time while they learn or judge


@dataclass(frozen=True)
class Voters:
    """Trained classifiers, and what they need to be asked about other rows.

    Attributes
    ----------
    columns : ndarray
        The columns of the table that any of them looks at.
    center, scale : ndarray
        What is taken out of these columns, and what they are multiplied by.
    parts : sequence of (subsets, models)
        Subsets, as places among the columns, and the models on them.
    """

    columns: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    parts: Sequence[tuple[np.ndarray, SubsetModels]]

    def predict(self, X: Any) -> np.ndarray:
        """Codes that each voter gives to each row: shape (n_voters, n_rows)."""
        predicted = []
        for rows in blocks(X.shape[0], 2048):
            table = SubsetTable((_dense(X[rows], self.columns) - self.center) * self.scale)
            every = np.arange(table.values.shape[0])
            predicted.append([models.predict(table.take(every, subsets))[:, 0] for subsets, models in self.parts])
        return np.concatenate([np.concatenate(block) for block in predicted], axis=1)


def train_voters(
    learner: SubsetLearner, X: Any, codes: np.ndarray, n_classes: int, subsets: np.ndarray, *, standardize: bool
) -> Voters:
    """Train a classifier on each subset of the columns of ``X``, with all rows."""
    columns, places = np.unique(subsets, return_inverse=True)
    places = places.reshape(subsets.shape)
    dense = _dense(X, columns)
    center, scale = np.zeros(columns.size), np.ones(columns.size)
    if standardize:
        center, scale = measure_columns(dense)
    table = SubsetTable((dense - center) * scale)
    rows = np.arange(len(codes))
    held = learner.numbers_per_subset(rows.size, 1, subsets.shape[1], n_classes) + 3 * rows.size * subsets.shape[1]
    parts = [
        (places[part], learner.fit_subsets(table.take(rows, places[part]), codes[None], np.ones(rows.size), n_classes))
        for part in blocks(len(subsets), _NUMBERS // held)
    ]
    return Voters(columns, center, scale, parts)


def _dense(X: Any, columns: np.ndarray) -> np.ndarray:
    chosen = X[:, columns]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=float)
