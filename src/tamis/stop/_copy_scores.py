"""Scores of permuted copies of all features at once, for methods that score every feature by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis._sklearn import get_namespace_and_device
from tamis.base import Candidates, Ranker, Ranking
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.arrays.transfer import from_numpy, to_numpy


def scores_of_copies(
    ranker: Ranker, ranking: Ranking, candidates: Candidates, y: np.ndarray | None, seeds: list[int]
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Scores of the features and of their copies, a pair per draw; None where a method has to rank them."""
    of_copies: Any
    if candidates.in_blocks:
        of_copies = ranker.scores_of_copies_in_blocks(candidates, y, seeds)
    else:
        n_rows = candidates.table.shape[0]
        permutations = np.array([np.random.RandomState(seed).permutation(n_rows) for seed in seeds])
        of_copies = ranker.scores_of_permuted_copies(candidates, y, permutations)
    if of_copies is None:
        return None
    of_features = np.where(np.isnan(ranking.scores), -np.inf, ranking.scores)
    of_copies = to_numpy(_equal_up_to_rounding(of_copies, of_features, ROUNDING.of(candidates.table)))
    of_copies = np.where(np.isnan(of_copies), -np.inf, of_copies)
    of_copies[:, candidates.excluded] = -np.inf
    return [(of_features, each) for each in of_copies]


def _equal_up_to_rounding(values: Any, references: np.ndarray, rounding: float) -> Any:
    """Values that equal a reference up to rounding made the same: a copy that ties with a feature must reach it."""
    xp, _, device = get_namespace_and_device(values)
    ordered = from_numpy(np.sort(references), xp, device, values.dtype)
    flat = xp.reshape(values, (-1,))
    place = xp.searchsorted(ordered, flat * (1 - rounding))
    nearest = xp.take(ordered, xp.clip(place, max=references.size - 1))
    with np.errstate(invalid="ignore"):  # infinite scores
        is_tie = xp.isfinite(flat) & (xp.abs(nearest - flat) <= rounding * xp.abs(flat))
    return xp.reshape(xp.where(is_tie, nearest, flat), values.shape)
