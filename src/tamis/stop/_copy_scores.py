"""Scores of permuted copies of all features at once, for methods that score every feature by itself."""

from __future__ import annotations

import numpy as np

from tamis.base import Candidates, Ranker, Ranking
from tamis.kernels.arrays.tolerances import ROUNDING


def scores_of_copies(
    ranker: Ranker, ranking: Ranking, candidates: Candidates, y: np.ndarray | None, seeds: list[int]
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Scores of the features and of their copies, a pair per draw; None where a method has to rank them."""
    if candidates.in_blocks:
        of_copies: np.ndarray | None = ranker.scores_of_copies_in_blocks(candidates, y, seeds)
    else:
        n_rows = candidates.table.shape[0]
        permutations = np.array([np.random.RandomState(seed).permutation(n_rows) for seed in seeds])
        of_copies = ranker.scores_of_permuted_copies(candidates, y, permutations)
    if of_copies is None:
        return None
    of_features = np.where(np.isnan(ranking.scores), -np.inf, ranking.scores)
    of_copies = np.where(np.isnan(of_copies), -np.inf, of_copies)
    of_copies[:, candidates.excluded] = -np.inf
    of_copies = _equal_up_to_rounding(of_copies, of_features, ROUNDING.of(candidates.table))
    return [(of_features, each) for each in of_copies]


def _equal_up_to_rounding(values: np.ndarray, references: np.ndarray, rounding: float) -> np.ndarray:
    """Values that equal a reference up to rounding made the same: a copy that ties with a feature must reach it."""
    ordered = np.sort(references)
    place = np.minimum(np.searchsorted(ordered, values * (1 - rounding)), ordered.size - 1)
    nearest = ordered[place]
    with np.errstate(invalid="ignore"):  # infinite scores
        is_tie = np.isfinite(values) & (np.abs(nearest - values) <= rounding * np.abs(values))
    return np.where(is_tie, nearest, values)
