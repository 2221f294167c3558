"""Test error against the number of features: how columns are ranked, judged, and shown in a table."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.table import show
from tamis import RandomSelection

RANDOM, EVERYTHING = "random", "all features"


@dataclass(frozen=True)
class Method:
    """A ranker, made from the weight of errors C, and how many training rows it is shown (None: all)."""

    name: str
    make: Callable[[float], Any]
    n_rows: int | None = None


class Ranked(NamedTuple):
    """Columns, best first; how long that took, on how many rows, and whether the ranker says that it converged."""

    order: np.ndarray
    seconds: float
    n_rows: int
    converged: bool


@dataclass(frozen=True)
class Curves:
    """Errors in percent by method, one per number of features (NaN beyond what was ranked), and with all features."""

    sizes: tuple[int, ...]
    errors: Mapping[str, np.ndarray]
    everything: float
    spread: Mapping[str, np.ndarray] | None = None  # standard errors

    def figures(self) -> dict[str, Any]:
        """What the last line of the benchmark says of them."""
        errors = {
            name: [None if np.isnan(e) else round(float(e), 3) for e in each] for name, each in self.errors.items()
        }
        return {"k": self.sizes, **errors, EVERYTHING: round(self.everything, 3)}

    def at(self, method: str, size: int) -> float:
        return float(self.errors[method][self.sizes.index(size)])

    def lead(self, method: str, over: str, most: int) -> tuple[float, int]:
        """The smallest lead in points over another method up to a number of features, and where it is."""
        leads = {k: self.at(over, k) - self.at(method, k) for k in self.sizes if k <= most}
        worst = min(leads, key=lambda k: leads[k])
        return leads[worst], worst


def rank(method: Method, cost: float, X: np.ndarray, y: np.ndarray) -> Ranked:
    """Rank columns, on a stratified part of the rows where the method asks for that."""
    if method.n_rows is not None and method.n_rows < y.size:
        X, _, y, _ = train_test_split(X, y, train_size=method.n_rows, stratify=y, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said in the table instead
        ranker = method.make(cost).fit(X, y)
    converged = bool(ranker.certificate_.get("converged", True))
    return Ranked(ranker.order_, time.perf_counter() - start, y.size, converged)


def random_order(X: np.ndarray, seed: int) -> np.ndarray:
    """Columns in a random order."""
    return RandomSelection(stop=None, random_state=seed).fit(X).order_


def tune(machine: Any, costs: Sequence[float], X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """A machine on standardized columns, trained with the C that cross-validates best; and that C."""
    steps = make_pipeline(StandardScaler(), clone(machine))
    key = f"{steps.steps[-1][0]}__C"
    if len(costs) == 1:
        return steps.set_params(**{key: costs[0]}).fit(X, y), costs[0]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(steps, {key: list(costs)}, cv=folds).fit(X, y)
    return search.best_estimator_, search.best_params_[key]


class Judge:
    """Trains on the first columns of a ranking, and says which test rows come out wrong."""

    def __init__(self, machine: Any, costs: Sequence[float], train: tuple[Any, Any], test: tuple[Any, Any]) -> None:
        self.machine, self.costs, self.train, self.test = machine, costs, train, test

    def wrong(self, columns: np.ndarray | slice) -> tuple[np.ndarray, float]:
        """Whether each test row is misclassified by a machine on the given columns; and its C."""
        (X, y), (X_test, y_test) = self.train, self.test
        machine, cost = tune(self.machine, self.costs, X[:, columns], y)
        return machine.predict(X_test[:, columns]) != y_test, cost

    def curve(self, order: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """A row per number of features, NaN where fewer are ranked."""
        rows = [self.wrong(order[:k])[0] if k <= order.size else np.full(self.test[1].size, np.nan) for k in sizes]
        return np.array(rows, dtype=float)


def percent(wrong: np.ndarray) -> np.ndarray:
    """Error by number of features."""
    return 100.0 * wrong.mean(axis=-1)


def balanced_percent(wrong: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean of the errors of the classes."""
    return 100.0 * np.mean([wrong[..., y == label].mean(axis=-1) for label in np.unique(y)], axis=0)


def show_curves(title: str, curves: Curves, how: Mapping[str, str], paper: Mapping[str, Mapping[int, float]]) -> None:
    """One row per method, ours and then what the paper prints; one column per number of features."""
    rows: list[tuple[Any, ...]] = []
    for name, each in curves.errors.items():
        spread = curves.spread[name] if curves.spread else np.full(each.size, np.nan)
        cells = [_cell(error, se) for error, se in zip(each, spread, strict=True)]
        rows.append((name, *cells, "", how.get(name, "")))
    rows.append((EVERYTHING, *[""] * len(curves.sizes), f"{curves.everything:.2f}", how.get(EVERYTHING, "")))
    for name, printed in paper.items():
        rows.append((f"paper: {name}", *[f"{printed[k]:.2f}" if k in printed else "" for k in curves.sizes], "", ""))
    show(title, ("method", *[str(k) for k in curves.sizes], "all", "ranked on"), rows)


def _cell(error: float, se: float) -> str:
    if np.isnan(error):
        return "-"
    return f"{error:.2f}" if np.isnan(se) else f"{error:.1f} ({se:.1f})"
