"""Learners by name."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier

from tamis.rank.stochastic._learners import SubsetLearner
from tamis.rank.stochastic._subset_estimator import SubsetEstimator
from tamis.rank.stochastic._subset_neighbors import SubsetNeighbors
from tamis.rank.stochastic._subset_ridge import SubsetRidge
from tamis.rank.stochastic._subset_svm import SubsetSVM
from tamis.rank.stochastic._subset_tree import SubsetTree

NAMED = {
    "svm": SubsetSVM(),
    "ridge": SubsetRidge(),
    "neighbors": SubsetNeighbors(),
    "hamming": SubsetNeighbors(metric="hamming"),
    "tree": SubsetTree(),
}


def open_learner(estimator: Any, n_jobs: int | None) -> SubsetLearner:
    """The learner behind a name, a learner itself, or a classifier that learns one subset after another."""
    if isinstance(estimator, str):
        return clone(NAMED[estimator])
    if isinstance(estimator, SubsetLearner):
        estimator._validate_params()
        return clone(estimator)
    if not is_classifier(estimator):
        raise ValueError(f"estimator={estimator} is no classifier: give one")
    return SubsetEstimator(estimator, n_jobs=n_jobs)
