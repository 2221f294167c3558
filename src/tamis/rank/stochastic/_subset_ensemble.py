"""An ensemble of classifiers, each on a subset of features: Figure 1 of Gadat & Younes (2007)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.scaling import measure_columns
from tamis.rank.stochastic._subset_learner import SubsetLearner, SubsetModels, SubsetTable

_BLOCK_NUMBERS = 2**24  # numbers held at a time by the classifiers of one block
_BLOCK_ROWS = 2048  # rows predicted at a time


@dataclass(frozen=True)
class EnsembleBlock:
    """Some classifiers of an ensemble, with the columns that they use and how these were scaled.

    Attributes
    ----------
    columns : ndarray
        The columns of the table that any of them uses.
    center, scale : ndarray
        Subtracted from these columns, and multiplied by.
    subsets : ndarray of shape (n_classifiers, subset_size)
        Indices into ``columns``.
    models : SubsetModels
    """

    columns: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    subsets: np.ndarray
    models: SubsetModels

    def predict(self, X: Any) -> np.ndarray:
        """Codes that each classifier gives to each row."""
        table = SubsetTable((_dense(X, self.columns) - self.center) * self.scale)
        return self.models.predict(table.take(np.arange(X.shape[0]), self.subsets))[:, 0]


@dataclass(frozen=True)
class SubsetEnsemble:
    """Trained classifiers, in blocks that fit into memory."""

    parts: Sequence[EnsembleBlock]

    def predict(self, X: Any) -> np.ndarray:
        """Codes that each classifier gives to each row: shape (n_classifiers, n_rows)."""
        return np.concatenate(
            [
                np.concatenate([part.predict(X[rows]) for part in self.parts])
                for rows in blocks(X.shape[0], _BLOCK_ROWS)
            ],
            axis=1,
        )


def fit_ensemble(
    learner: SubsetLearner,
    X: Any,
    codes: np.ndarray,
    n_classes: int,
    subsets: Sequence[np.ndarray],
    *,
    standardize: bool,
) -> SubsetEnsemble:
    """Train a classifier on each subset of the columns of ``X``, with all rows; subsets of one size are a matrix."""
    parts: list[EnsembleBlock] = []
    for each in subsets:
        size = each.shape[1]
        held = learner.numbers_per_subset(codes.size, 1, size, n_classes) + 4 * codes.size * size
        for part in blocks(len(each), _BLOCK_NUMBERS // held):
            parts.append(_fit_block(learner, X, codes, n_classes, each[part], standardize))
    return SubsetEnsemble(parts)


def _fit_block(
    learner: SubsetLearner, X: Any, codes: np.ndarray, n_classes: int, subsets: np.ndarray, standardize: bool
) -> EnsembleBlock:
    columns, places = np.unique(subsets, return_inverse=True)
    places = places.reshape(subsets.shape)
    dense = _dense(X, columns)
    center, scale = measure_columns(dense) if standardize else (np.zeros(columns.size), np.ones(columns.size))
    tables = SubsetTable((dense - center) * scale).take(np.arange(codes.size), places)
    models = learner.fit_subsets(tables, codes[None], np.ones(codes.size), n_classes)
    return EnsembleBlock(columns, center, scale, places, models)


def _dense(X: Any, columns: np.ndarray) -> np.ndarray:
    chosen = X[:, columns]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=float)
