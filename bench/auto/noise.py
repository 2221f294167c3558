"""AutoSelector on small tables without any signal: nothing is to be kept, and the interval is to hold chance.

Where nothing is kept, predictions are a guess, and so is what is estimated; the naive score is that of what was
refused.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.table import Targets, show
from tamis import AutoSelector
from tamis.base import NothingKeptWarning

N_ROWS, N_COLUMNS = 80, 40
N_TABLES = 40
BUDGET = 2.0


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    with threadpool_limits(1):
        figures = noise(4 if quick else N_TABLES, 1.0 if quick else BUDGET, targets)
    reached = targets.show()
    return {"bench": "auto-noise", **figures, **({} if quick else {"reached": reached})}


def noise(n_tables: int, budget: float, targets: Targets) -> dict[str, Any]:
    """Print what is kept of tables of noise, classes and quantities in turn."""
    rows, figures = [], {}
    for label, is_quantity in (("2 classes", False), ("regression", True)):
        fitted = [fit(seed, is_quantity, budget) for seed in range(n_tables // 2)]
        kept = np.array([each.n_features_ for each in fitted])
        estimates = [each.estimate_ for each in fitted]
        held = np.array([each.low <= each.chance <= each.high for each in estimates])
        less = [np.mean([getattr(each, of) - each.chance for each in estimates]) for of in ("value", "naive")]
        rows.append(
            (
                label,
                len(fitted),
                f"{np.mean(kept == 0):.0%}",
                kept.max(),
                f"{held.mean():.0%}",
                *(f"{x:+.3f}" for x in less),
            )
        )
        figures[label] = {"kept": kept.tolist(), "held": held.tolist()}
        targets.add(
            f"noise, {label}: tables of which nothing is kept",
            f"{np.mean(kept == 0):.0%}",
            ">= 90 %",
            np.mean(kept == 0) >= 0.9,
        )
        targets.add(f"noise, {label}: chance within the interval", f"{held.mean():.0%}", ">= 90 %", held.mean() >= 0.9)
    show(
        f"Noise, {N_ROWS} rows x {N_COLUMNS} columns, {budget:g} s each",
        (
            "target",
            "tables",
            "nothing kept",
            "most kept",
            "chance in the interval",
            "estimate less chance",
            "naive less chance",
        ),
        rows,
    )
    return figures


def fit(seed: int, is_quantity: bool, budget: float) -> AutoSelector:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    y = rng.standard_normal(N_ROWS) if is_quantity else rng.permutation(np.arange(N_ROWS) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingKeptWarning)
        return AutoSelector(budget, random_state=seed).fit(X, y)
