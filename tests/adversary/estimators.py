"""Bad arrays for what is no ranker: predictors that select while they learn, tables of mixed columns, and judgments.

Tables and targets are spoiled as for the rankers. What came of it is right if it was refused in one line, or if
predictions are finite numbers or labels that were given, scores and dimensions are numbers in their range, and columns
are columns of the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis import OFW, AutoSelector, CorrelationScore, GramSchmidt, InfiniteSVM, OFWClassifier, ReliefF, TableSelector
from tamis.assess import feature_r2, fit_score, knn_accuracy, knn_r2, redundancy
from tamis.dictionary import RBF
from tamis.dimension import (
    GMST,
    MLE,
    BoxCounting,
    CorrelationDimension,
    PackingDimension,
    PairwiseSparsity,
    TwoNN,
)
from tamis.table import check_table
from tests.adversary.arrays import Case, make_case, spoil, what_is_wrong_with_error, what_is_wrong_with_warnings
from tests.adversary.isolation import Attack

Judged = Callable[[Case], str]  # acts on a case and says what is wrong with what it gives


def _learns(make: Callable[[], Any]) -> Judged:
    def act(case: Case) -> str:
        model = make().fit(case.X, case.y)
        return _what_is_wrong_with_predictions(model, np.asarray(model.predict(case.X)), case.y)

    return act


def _what_is_wrong_with_predictions(model: Any, predicted: np.ndarray, y: Any) -> str:
    if len(predicted) != len(y):
        return f"{len(predicted)} predictions of {len(y)} rows"
    if is_classifier(model):
        unknown = set(predicted.tolist()) - set(np.asarray(y).ravel().tolist())
        return f"predicts {sorted(map(str, unknown))[:3]}" if unknown else ""
    return "" if np.isfinite(predicted.astype(float)).all() else "predictions are no numbers"


def _selects(make: Callable[[], Any]) -> Judged:
    def act(case: Case) -> str:
        selector = make().fit(case.X, case.y)
        n_columns = case.X.shape[1] if getattr(case.X, "ndim", 2) == 2 and hasattr(case.X, "shape") else None
        if n_columns is not None and selector.support_.size != n_columns:
            return f"{selector.support_.size} of {n_columns} columns"
        kept = selector.transform(case.X)
        if kept.shape[1] != selector.support_.sum():
            return f"{kept.shape[1]} columns for {selector.support_.sum()} that are kept"
        selector.summary()
        return "" if selector.stop_.reason else "no reason"

    return act


def _measures(call: Callable[[Any, Any], Any], least: float, most: float) -> Judged:
    def act(case: Case) -> str:
        found = np.asarray(call(case.X, case.y), dtype=float)
        rounding = 1e-9
        inside = (found >= least - rounding) & (found <= most + rounding)
        return "" if inside.all() else f"gives {found.ravel()[:5].tolist()}"

    return act


def _finds(case: Case) -> str:
    for finding in check_table(case.X, case.y):
        if not finding.sentence or "\n" in finding.sentence:
            return f"says {finding.sentence!r}"
    return ""


def _groups(case: Case) -> str:
    for group in redundancy(case.X, [0]):
        str(group)
    return ""


JUDGED: dict[str, Judged] = {
    "AutoSelector": _learns(lambda: AutoSelector(1.0, models=["ridge"], n_bootstraps=10, random_state=0)),
    "InfiniteSVM": _learns(lambda: InfiniteSVM(RBF(), max_rounds=5, n_candidates=10, random_state=0)),
    "OFWClassifier": _learns(lambda: OFWClassifier(OFW("ridge", max_iter=20), n_classifiers=5, random_state=0)),
    "TableSelector": _selects(lambda: TableSelector(GramSchmidt(stop=2))),
    "TableSelector, scores": _selects(lambda: TableSelector(CorrelationScore())),
    "TableSelector, ReliefF": _selects(lambda: TableSelector(ReliefF(stop=2, random_state=0))),
    **{
        cls.__name__: _measures(lambda X, y, cls=cls: cls(random_state=0).fit(X).dimension_, 0, np.inf)
        for cls in (GMST, MLE, BoxCounting, CorrelationDimension, PackingDimension, PairwiseSparsity, TwoNN)
    },
    "fit_score": _measures(lambda X, y: fit_score(X, [0]), -np.inf, 1),
    "feature_r2": _measures(lambda X, y: feature_r2(X, [0]), -np.inf, 1),
    "knn_accuracy": _measures(lambda X, y: knn_accuracy(X, y), 0, 1),
    "knn_r2": _measures(lambda X, y: knn_r2(X, y), -np.inf, 1),
    "check_table": _finds,
    "redundancy": _groups,
}
OF_CLASSES = ("InfiniteSVM", "OFWClassifier", "knn_accuracy")


def attack(name: str, case: Case) -> str:
    """Act, and say what is wrong with what came of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            wrong = JUDGED[name](case)
        except Exception as error:
            wrong = what_is_wrong_with_error(error)
    return wrong or what_is_wrong_with_warnings(caught)


def make_attack(rng: np.random.Generator, index: int) -> Attack:
    """An estimator or a function, each in its turn, and a table that is not fit for it."""
    name = list(JUDGED)[index % len(JUDGED)]
    state = rng.bit_generator.state

    def act(folder: Path) -> str:
        del folder
        own = np.random.default_rng()
        own.bit_generator.state = state
        case = make_case(own, OFW if name in OF_CLASSES else GramSchmidt)
        spoil(own, case)
        wrong = attack(name, case)
        return wrong and f"{', '.join(case.done)}: {wrong}"

    return Attack("estimators", name, name, act)
