"""Bad rows after a good fit: transform, predict, score and the like of everything that is fitted.

An estimator is fitted to a small table as it should be, a data frame or an array, and then given one that is spoiled
as those for ``fit`` are, or whose columns are others. What came of it is right if it is refused in one line, or if it
has a row for every row that came in, and the columns that are kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import tamis
from tamis import OFW, AutoSelector, CorrelationScore, GramSchmidt, InfiniteSVM, OFWClassifier, TableSelector
from tamis.dictionary import RBF
from tamis.testing.checks import seeded
from tamis.testing.instances import ARGUMENTS
from tests.adversary.arrays import Case, spoil, what_is_wrong_with_error
from tests.adversary.isolation import Attack

N_ROWS, N_COLUMNS = 30, 5
CALLS = ("transform", "predict", "predict_proba", "decision_function", "score", "inverse_transform")
SUBJECTS: dict[str, Callable[[], Any]] = {
    **{name: lambda name=name: seeded(getattr(tamis, name)(**ARGUMENTS[name][0])) for name in sorted(ARGUMENTS)},
    "AutoSelector": lambda: AutoSelector(1.0, models=["ridge"], rankers=["fisher"], n_bootstraps=10),
    "InfiniteSVM": lambda: InfiniteSVM(RBF(), max_rounds=3, n_candidates=10, random_state=0),
    "InfiniteSVM, columns": lambda: InfiniteSVM(max_rounds=3, random_state=0),
    "OFWClassifier": lambda: OFWClassifier(OFW("ridge", max_iter=20), n_classifiers=3, random_state=0),
    "TableSelector": lambda: TableSelector(GramSchmidt(stop=2)),
    "TableSelector, scores": lambda: TableSelector(CorrelationScore(stop=2)),
}


def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Quarters, and classes that the first column tells."""
    X = np.round(4 * rng.normal(size=(N_ROWS, N_COLUMNS))) / 4
    return X, (X[:, 0] + 0.5 * rng.normal(size=N_ROWS) > 0).astype(int)


def named(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


# columns that are not those of fit


def other_order(rng: np.random.Generator, X: np.ndarray) -> Any:
    return named(X).iloc[:, ::-1]


def other_order_of_polars(rng: np.random.Generator, X: np.ndarray) -> Any:
    return pl.DataFrame({f"x{j}": X[:, j] for j in reversed(range(X.shape[1]))})


def other_names(rng: np.random.Generator, X: np.ndarray) -> Any:
    return named(X).rename(columns={"x1": "z"})


def twice(rng: np.random.Generator, X: np.ndarray) -> Any:
    return named(X).set_axis(["x0", *[f"x{j}" for j in range(X.shape[1] - 1)]], axis=1)


def fewer(rng: np.random.Generator, X: np.ndarray) -> Any:
    return named(X).iloc[:, 1:] if rng.random() < 0.5 else X[:, 1:]


def more(rng: np.random.Generator, X: np.ndarray) -> Any:
    return named(np.column_stack([X, X])) if rng.random() < 0.5 else np.column_stack([X, X])


def no_rows(rng: np.random.Generator, X: np.ndarray) -> Any:
    return named(X)[:0] if rng.random() < 0.5 else X[:0]


def text_in_a_cell(rng: np.random.Generator, X: np.ndarray) -> Any:
    cells = X.astype(object)
    cells[rng.integers(X.shape[0]), :] = "text"
    return named(cells) if rng.random() < 0.5 else cells


OTHER_COLUMNS = (other_order, other_order_of_polars, other_names, twice, fewer, more, no_rows, text_in_a_cell)


def attack(fitted: Any, X: Any, y: Any) -> str:
    """Call everything, and say what is wrong with what comes of it."""
    for name in CALLS:
        if not hasattr(fitted, name):
            continue
        with warnings.catch_warnings(action="ignore"):
            try:
                found = getattr(fitted, name)(X, y) if name == "score" else getattr(fitted, name)(X)
            except Exception as error:
                if wrong := what_is_wrong_with_error(error):
                    return f"{name}: {wrong}"
                continue
        if wrong := _what_is_wrong_with(name, found, X, fitted):
            return f"{name} gives {wrong}"
    return ""


def _what_is_wrong_with(name: str, found: Any, X: Any, fitted: Any) -> str:
    if name == "score":
        return "" if np.isfinite(found) else str(found)
    n_rows = X.shape[0] if getattr(X, "ndim", 2) == 2 and hasattr(X, "shape") else len(X)
    if found.shape[0] != n_rows:
        return f"{found.shape[0]} rows for {n_rows}"
    if name == "transform" and hasattr(fitted, "support_") and found.shape[1] != fitted.support_.sum():
        return f"{found.shape[1]} columns for {fitted.support_.sum()} that are kept"
    return ""


def make_attack(rng: np.random.Generator, index: int) -> Attack:
    """An estimator, each in its turn, fitted as it should be, and rows that are not fit for it."""
    name = list(SUBJECTS)[index % len(SUBJECTS)]
    state = rng.bit_generator.state

    def act(folder: Path) -> str:
        del folder
        own = np.random.default_rng()
        own.bit_generator.state = state
        X, y = table(own)
        has_names = own.random() < 0.5
        with warnings.catch_warnings(action="ignore"):
            fitted = SUBJECTS[name]().fit(named(X) if has_names else X, y)
        case = Case(X.copy(), y)
        if own.random() < 0.4:
            change = OTHER_COLUMNS[own.integers(len(OTHER_COLUMNS))]
            case.X = change(own, case.X)
            case.done.append(change.__name__)
        else:
            spoil(own, case)
        wrong = attack(fitted, case.X, case.y)
        return wrong and f"fitted to a {'frame' if has_names else 'array'}, {', '.join(case.done)}: {wrong}"

    return Attack("rows", name, name, act)
