"""AutoSelector on tables of 200 000 rows: whether it keeps to its time, and whether the time is well spent.

Beside it a linear model on all columns of all rows, which is what one would fit by hand in as little time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bench.auto.sets import Task
from bench.table import Targets, show
from tamis import AutoSelector

N_ROWS, N_TEST = 200_000, 20_000
BUDGETS = (10.0, 60.0)
BEYOND = 1.2  # times the budget that are allowed


def from_product(n_rows: int) -> Task:
    """Two classes by a column and the product of two others, of 50."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 50))
    return Task(X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n_rows) > 0).astype(int))


def from_friedman(n_rows: int) -> Task:
    return Task(*make_friedman1(n_rows, n_features=50, noise=1.0, random_state=0), is_quantity=True)


def from_clusters(n_rows: int) -> Task:
    """Three classes of four clusters each, in ten of 30 columns."""
    X, y = make_classification(
        n_rows,
        30,
        n_informative=10,
        n_redundant=5,
        n_classes=3,
        n_clusters_per_class=4,
        class_sep=0.7,
        flip_y=0.02,
        random_state=0,
    )
    return Task(X, y)


TABLES: dict[str, Callable[[int], Task]] = {
    "product": from_product,
    "Friedman": from_friedman,
    "clusters": from_clusters,
}


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    with threadpool_limits(1):
        figures = measure(20_000 if quick else N_ROWS, (2.0,) if quick else BUDGETS, targets)
    reached = targets.show()
    return {"bench": "auto-tall", **figures, **({} if quick else {"reached": reached})}


def measure(n_rows: int, budgets: tuple[float, ...], targets: Targets) -> dict[str, Any]:
    """Print the table, note the targets, and return the figures."""
    rows, figures = [], {}
    for name, make in TABLES.items():
        task = make(n_rows + N_TEST)
        X, y, X_test, y_test = task.X[N_TEST:], task.y[N_TEST:], task.X[:N_TEST], task.y[:N_TEST]
        model = make_pipeline(StandardScaler(), Ridge() if task.is_quantity else LogisticRegression())
        start = time.perf_counter()
        by_hand = model.fit(X, y).score(X_test, y_test)
        seconds = time.perf_counter() - start
        rows.append(
            (name, f"linear model ({task.kind})", "", f"{seconds:.1f}", "", "", X.shape[1], f"{by_hand:.3f}", "")
        )
        for budget in budgets:
            start = time.perf_counter()
            auto = AutoSelector(budget, scoring="r2" if task.is_quantity else "accuracy").fit(X, y)
            seconds, score, estimate = time.perf_counter() - start, auto.score(X_test, y_test), auto.estimate_
            fitted = re.search(r"chosen is fitted to (\w+)", auto.reason_)
            rows.append(
                (
                    name,
                    auto.reason_.split(" (cross-validated", 1)[0],
                    f"{budget:g}",
                    f"{seconds:.1f}",
                    estimate.n_rows,
                    fitted[1] if fitted else "all",
                    auto.n_features_,
                    f"{score:.3f}",
                    f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})",
                )
            )
            figures[f"{name}, {budget:g} s"] = [round(seconds, 2), round(score, 4), round(by_hand, 4)]
            targets.add(
                f"{name}, {budget:g} s: seconds",
                f"{seconds:.1f}",
                f"<= {BEYOND * budget:g}",
                seconds <= BEYOND * budget,
            )
            targets.add(
                f"{name}, {budget:g} s: score",
                f"{score:.3f}",
                f">= {by_hand:.3f}, the linear model's",
                score >= by_hand,
            )
    show(
        f"Tables of {n_rows} rows, {N_TEST} others to be judged by",
        (
            "table",
            "what was chosen",
            "budget, s",
            "seconds",
            "rows searched",
            "fitted to",
            "columns",
            "score",
            "estimated",
        ),
        rows,
    )
    return figures
