"""Features per subset, chosen by the error on rows that the probability was not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from tamis.base import fresh
from tamis.learn._voters import train_voters
from tamis.rank.stochastic._feature_weighting import draw_subsets
from tamis.rank.stochastic._named import open_learner
from tamis.rank.stochastic._split import Splitter

_DRAWN = 50  # subsets that a size is judged by, in every fold


def choose_size(
    ofw: Any, X: Any, codes: np.ndarray, n_candidates: int, seed: int
) -> tuple[int, dict[int, float] | None]:
    """Features per subset: given, the root of their number, or the best of several, with the errors of all."""
    if isinstance(ofw.subset_size, str):
        return int(np.ceil(n_candidates**0.5)), None
    if isinstance(ofw.subset_size, Integral):
        return min(int(ofw.subset_size), n_candidates), None
    errors = cross_validate_sizes(ofw, X, codes, check_sizes(ofw.subset_size, n_candidates), seed)
    return min(errors, key=errors.__getitem__), errors


def check_sizes(sizes: Sequence[int], most: int) -> list[int]:
    """The sizes to choose from, none above ``most``, or an error that says what is wrong with them."""
    if not len(sizes) or any(not isinstance(size, Integral) or size < 1 for size in sizes):
        raise ValueError(f"subset_size={sizes!r} must hold whole numbers of features, at least 1")
    return sorted({min(int(size), most) for size in sizes})


def cross_validate_sizes(ofw: Any, X: Any, codes: np.ndarray, sizes: Sequence[int], seed: int) -> dict[int, float]:
    """Mean held-out error of single subsets of each size."""
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise ValueError("a class has a single row, so that subset_size cannot be cross-validated: give one number")
    folds = list(StratifiedKFold(min(ofw.cv, smallest), shuffle=True, random_state=seed).split(codes, codes))
    errors = Parallel(n_jobs=ofw.n_jobs)(
        delayed(_held_out_error)(
            fresh(ofw, subset_size=size, stop=None, null_control=False, n_jobs=None, random_state=seed), X, codes, *fold
        )
        for size in sizes
        for fold in folds
    )
    return dict(zip(sizes, np.reshape(errors, (len(sizes), -1)).mean(axis=1).tolist(), strict=True))


def _held_out_error(ofw: Any, X: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    ofw.fit(X[train], codes[train])
    rng = np.random.RandomState(ofw.random_state)
    subsets = draw_subsets(ofw.probability_, _DRAWN, ofw.subset_size_, rng)
    n_classes = int(codes.max()) + 1
    with open_learner(ofw.estimator, None) as learner:
        voters = train_voters(learner, X[train], codes[train], n_classes, subsets, standardize=ofw.standardize)
        predicted = voters.predict(X[test])
    judge = Splitter(codes, n_classes, 0, one_vs_all=False, out_of_bag=False, balanced=ofw.balanced)
    split = judge.split(train, test, np.ones_like(train), np.ones_like(test))
    return float(split.errors(predicted[:, None, :]).mean())
