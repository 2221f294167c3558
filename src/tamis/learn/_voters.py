"""Classifiers on subsets that were drawn from a probability: Figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.scaling import measure_columns
from tamis.rank.stochastic._learners import SubsetLearner, SubsetModels
from tamis.rank.stochastic._table import SubsetTable

_NUMBERS = 2**24  # that voters hold at a time while they learn or judge
_ROWS = 2048  # that are judged at a time


@dataclass(frozen=True)
class VotersBlock:
    """Some voters, and what they need to be asked about other rows.

    Attributes
    ----------
    columns : ndarray
        The columns of the table that any of them looks at.
    center, scale : ndarray
        What is taken out of these columns, and what they are multiplied by.
    subsets : ndarray of shape (n_voters, subset_size)
        Places among the columns.
    models : SubsetModels
    """

    columns: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    subsets: np.ndarray
    models: SubsetModels

    def predict(self, X: Any) -> np.ndarray:
        """Codes that each voter gives to each row."""
        table = SubsetTable((_dense(X, self.columns) - self.center) * self.scale)
        return self.models.predict(table.take(np.arange(X.shape[0]), self.subsets))[:, 0]


@dataclass(frozen=True)
class Voters:
    """Trained classifiers."""

    parts: Sequence[VotersBlock]

    def predict(self, X: Any) -> np.ndarray:
        """Codes that each voter gives to each row: shape (n_voters, n_rows)."""
        return np.concatenate(
            [np.concatenate([part.predict(X[rows]) for part in self.parts]) for rows in blocks(X.shape[0], _ROWS)],
            axis=1,
        )


def train_voters(
    learner: SubsetLearner, X: Any, codes: np.ndarray, n_classes: int, subsets: np.ndarray, *, standardize: bool
) -> Voters:
    """Train a classifier on each subset of the columns of ``X``, with all rows; some at a time."""
    size = subsets.shape[1]
    held = learner.numbers_per_subset(codes.size, 1, size, n_classes) + 4 * codes.size * size
    some = blocks(len(subsets), _NUMBERS // held)
    return Voters([_train(learner, X, codes, n_classes, subsets[part], standardize) for part in some])


def _train(
    learner: SubsetLearner, X: Any, codes: np.ndarray, n_classes: int, subsets: np.ndarray, standardize: bool
) -> VotersBlock:
    columns, places = np.unique(subsets, return_inverse=True)
    places = places.reshape(subsets.shape)
    dense = _dense(X, columns)
    center, scale = measure_columns(dense) if standardize else (np.zeros(columns.size), np.ones(columns.size))
    tables = SubsetTable((dense - center) * scale).take(np.arange(codes.size), places)
    models = learner.fit_subsets(tables, codes[None], np.ones(codes.size), n_classes)
    return VotersBlock(columns, center, scale, places, models)


def _dense(X: Any, columns: np.ndarray) -> np.ndarray:
    chosen = X[:, columns]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=float)
