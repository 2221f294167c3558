"""What stands for a feature over draws of permuted copies, and what it is compared with."""

from __future__ import annotations

import numpy as np

from tamis.base import Ranker


def compares_scores(ranker: Ranker) -> bool:
    """Whether scores of a feature and of copies are compared; else their ranks are."""
    return ranker.one_shot or ranker.has_biased_scores()


def statistics_of_draws(
    feature_scores: np.ndarray, copy_scores: np.ndarray, ranker: Ranker, *, are_weights: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """What stands for a feature over the draws, and what it is compared with: one row of copies per draw.

    Copies that were not drawn are NaN.
    """
    if are_weights:
        return _aggregate_draws(feature_scores, one_shot=True), copy_scores
    if ranker.has_biased_scores():
        return _corrected(feature_scores, copy_scores)
    return _aggregate_draws(feature_scores, ranker.one_shot), copy_scores


def _corrected(feature_scores: np.ndarray, copy_scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean scores of the features, and scores of their copies, each less what the feature has by chance.

    That is the mean over its copies and itself: if nothing is related to the target, a feature is exchangeable with
    its copies, and so it remains.
    """
    never_used = np.isneginf(feature_scores).all(axis=0)
    drawn = ~np.isnan(copy_scores)
    no_copies = (np.isneginf(copy_scores) | ~drawn).all(axis=0)  # of columns that are constant or excluded
    of_features = np.where(np.isneginf(feature_scores), 0.0, feature_scores)  # what a tree does not use gains nothing
    of_copies = np.where(np.isneginf(copy_scores), 0.0, copy_scores)
    mean = _aggregate_draws(of_features, one_shot=True)
    by_chance = (mean + np.nansum(of_copies, axis=0)) / (1 + drawn.sum(axis=0))
    return np.where(never_used, -np.inf, mean - by_chance), np.where(no_copies, -np.inf, of_copies - by_chance)


def _aggregate_draws(values: np.ndarray, one_shot: bool) -> np.ndarray:
    """What stands for a feature over the draws: its mean score, or its median rank."""
    if not one_shot:
        return np.median(values, axis=0)
    first = values[0]  # the mean of equal scores is that score to the last digit, so that ties with copies stay ties
    with np.errstate(invalid="ignore"):
        return first + np.where(values == first, 0.0, values - first).mean(axis=0)


def spread_units(spread: np.ndarray | None) -> np.ndarray | float:
    """What scores are divided by, so that those of permuted copies of all features spread as the median one's do."""
    if spread is None or not np.any(spread > 0):
        return 1.0
    varying = spread[spread > 0]
    return np.where(spread > 0, spread, varying.min()) / np.median(varying)  # constant features stay the last
