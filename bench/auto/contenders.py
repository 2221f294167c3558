"""Who selects: one race of configurations with four preferences among its equals, and what people do by hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import RFE, AutoSelector, GramSchmidt
from tamis.learn._race_file import RaceFile
from tamis.stop import CrossValidation

PREFERENCES: dict[str, dict[str, Any]] = {
    "balanced": {"prefer": "balanced"},
    "accurate": {"prefer": "accurate"},
    "small": {"prefer": "small"},
    "vote": {"ensemble": True},
}
ALL = "all + best model"
BY_HAND = ("RFE one-se", "Gram-Schmidt + logistic", "KBest 20 + logistic")
MANY_COLUMNS = 100  # above, half of the columns are eliminated at a time


@dataclass(frozen=True)
class Fitted:
    """A selector that predicts.

    ``seconds`` of a preference are those of the race that all preferences share.
    """

    name: str
    predictor: Any
    n_features: int
    seconds: float


def race(X: Any, y: np.ndarray, time_budget: float, **given: Any) -> Iterator[Fitted]:
    """One race, whose checkpoint the other preferences choose from: it outlives the first fit for that."""
    with TemporaryDirectory() as folder, patch.object(RaceFile, "discard"):
        raced: float | None = None
        for name, preference in PREFERENCES.items():
            selector = AutoSelector(time_budget, checkpoint=Path(folder) / "race", **preference, **given)
            start = time.perf_counter()
            selector.fit(X, y)
            raced = time.perf_counter() - start if raced is None else raced
            yield Fitted(name, selector, selector.n_features_, raced)


def all_features(X: Any, y: np.ndarray, time_budget: float, **given: Any) -> Fitted:
    """The best of the same models and scalings by cross-validation, with every column."""
    start = time.perf_counter()
    selector = AutoSelector(time_budget, rankers=["all"], prefer="accurate", **given).fit(X, y)
    return Fitted(ALL, selector, X.shape[1], time.perf_counter() - start)


def by_hand(X: np.ndarray, y: np.ndarray, is_quantity: bool) -> Iterator[Fitted]:
    """What people write themselves; quantities have ridge regression in place of logistic regression."""
    model = RidgeCV(np.logspace(-3, 3, 13)) if is_quantity else LogisticRegression(max_iter=1000)
    score = f_regression if is_quantity else f_classif
    step: Any = "halving" if X.shape[1] > MANY_COLUMNS else 1
    selectors = (
        RFE(step=step, stop=CrossValidation(rule="one-se")),
        make_pipeline(StandardScaler(), GramSchmidt(min_features=1), clone(model)),
        make_pipeline(StandardScaler(), SelectKBest(score, k=min(20, X.shape[1])), clone(model)),
    )
    for name, selector in zip(BY_HAND, selectors, strict=True):
        start = time.perf_counter()
        selector.fit(X, y)
        seconds = time.perf_counter() - start
        chosen = selector if isinstance(selector, RFE) else selector[1]
        yield Fitted(name, selector, int(chosen.get_support().sum()), seconds)


def losses(predictor: Any, X: Any, y: np.ndarray, is_quantity: bool) -> np.ndarray:
    """Of each row: whether it is taken for another class, or the squared error in units of the variance of ``y``."""
    predicted = predictor.predict(X)
    return (predicted - y) ** 2 / y.var() if is_quantity else (predicted != y).astype(float)
