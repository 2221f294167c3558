"""The weight of the loss by cross-validation, along a path of growing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import check_cv

from tamis.learn._candidates import compute_columns


def choose_C(
    svm: Any, signals: Any, codes: np.ndarray, smallest: float, rng: np.random.RandomState
) -> tuple[float, dict[str, Any]]:
    """The C of highest mean accuracy over the folds, the smallest of equals, and what was seen.

    Every fold fits its own dictionary and grows its own active set, from the smallest C to the largest: what was found
    for one value is where the next one starts.
    """
    factors = np.sort(np.asarray(svm.path, dtype=float))
    if factors.ndim != 1 or not factors.size or not np.all((factors > 0) & (factors < np.inf)):
        raise ValueError(f"path={svm.path!r} must hold positive multiples of the smallest C, such as (2, 4, 8)")
    if np.isinf(smallest):
        raise ValueError('C="cv" has nothing to choose: no feature is pulled towards either class, whatever C is')
    values = smallest * factors
    folds = list(check_cv(svm.cv, codes, classifier=True).split(np.zeros(len(codes)), codes))
    seeds = rng.randint(2**31 - 1, size=len(folds))
    tasks = (
        delayed(_score_path)(_copy_of(svm), signals, codes, train, test, values, int(seed))
        for (train, test), seed in zip(folds, seeds, strict=True)
    )
    found = np.array(Parallel(n_jobs=svm.n_jobs, prefer="threads")(tasks))
    accuracy, sizes = found[:, :, 0], found[:, :, 1]
    mean = accuracy.mean(axis=0)
    best = int(np.flatnonzero(mean >= mean.max() - 1e-12)[0])
    return float(values[best]), {
        "C": values,
        "mean_accuracy": mean,
        "std_accuracy": accuracy.std(axis=0),
        "mean_n_active": sizes.mean(axis=0),
    }


def _copy_of(svm: Any) -> Any:
    """One for a fold, which knows all classes."""
    copy = clone(svm).set_params(n_jobs=1)
    copy.classes_ = svm.classes_
    return copy


def _score_path(
    svm: Any, signals: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray, values: np.ndarray, seed: int
) -> list[tuple[float, int]]:
    """Accuracy on the samples held out, and the number of maps, for every C."""
    n_classes = codes.max() + 1
    if np.unique(codes[train]).size < n_classes:
        raise ValueError(f"a fold lacks one of the {n_classes} classes; lower cv, or give a C")
    search = svm._open(signals[train], codes[train], np.random.RandomState(seed))
    held_out = signals[test]
    if hasattr(svm.dictionary_, "prepare"):
        held_out = svm.dictionary_.prepare(held_out)
    scores = []
    for C in values:
        for _ in search.rounds(float(C), svm.max_rounds, svm.patience):
            pass
        kept, weights, intercept = search.weights()
        columns = compute_columns(svm.dictionary_, held_out, kept)
        outputs = columns @ weights.reshape(-1, intercept.size) + intercept
        said = (outputs[:, 0] > 0).astype(int) if intercept.size == 1 else outputs.argmax(axis=1)
        scores.append((float(np.mean(said == codes[test])), len(kept)))
    return scores
