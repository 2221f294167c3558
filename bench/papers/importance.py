"""What a model depends on, with and without a promise: ``ModelImportance`` and Boruta on the same tables, in one run.

The 569 rows and 30 columns of scikit-learn's breast cancer data beside 100 columns of standard normal noise, drawn anew
for every table. ``ModelImportance`` with its default rule, ``MonteCarloProbe`` with 19 draws at a risk of 5 %: no noise
kept in at least 95 % of the tables is what that promises. Boruta (Kursa and Rudnicki 2010) is ``BorutaPy`` as its page
says, trees of depth 5, with 100 trees and 50 rounds for its time; "tentative" columns are not kept. It runs on fewer of
the tables, and so do importances that hold out rows; how many is in the table. Then what a draw needs: trees of
its forest against columns kept, noise kept and seconds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.process import timed
from bench.table import Targets, note, show
from tamis import ModelImportance
from tamis.rank.model import _model_importance

N_NOISE = 100
Kept = np.ndarray
Selector = Callable[[np.ndarray, np.ndarray, int], Kept]


def make_table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Breast cancer, its 30 columns first, beside noise."""
    X, y = load_breast_cancer(return_X_y=True)
    noise = np.random.default_rng(seed).standard_normal((len(y), N_NOISE))
    return np.column_stack([X, noise]), y


def ours(estimator: Any, X: np.ndarray, y: np.ndarray, seed: int, **parameters: Any) -> Kept:
    return ModelImportance(clone(estimator), random_state=seed, **parameters).fit(X, y).support_


def boruta(X: np.ndarray, y: np.ndarray, seed: int) -> Kept:
    from boruta import BorutaPy

    model = RandomForestClassifier(max_depth=5, random_state=seed)
    return BorutaPy(model, n_estimators=100, max_iter=50, random_state=seed).fit(X, y).support_


def contestants(quick: bool) -> dict[str, tuple[Selector, int]]:
    """What is run, and on how many tables."""
    forest = RandomForestClassifier()
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    found: dict[str, tuple[Selector, int]] = {
        "ModelImportance(forest)": (partial(ours, forest), 2 if quick else 40),
        "ModelImportance(logistic regression)": (partial(ours, linear), 2 if quick else 40),
        "the same, contributions": (partial(ours, linear, importance="contributions"), 2 if quick else 40),
    }
    if not quick:
        found["ModelImportance(forest), permutation"] = (partial(ours, forest, importance="permutation"), 10)
    if has("lightgbm"):
        from lightgbm import LGBMClassifier

        boosted = LGBMClassifier(n_estimators=50, num_leaves=7, verbose=-1, n_jobs=1)
        found["ModelImportance(LightGBM), contributions"] = (partial(ours, boosted), 1 if quick else 40)
    if has("boruta"):
        found["Boruta"] = (boruta, 1 if quick else 10)
    return found


def has(name: str) -> bool:
    try:
        __import__(name)
    except ImportError:
        note(f"{name} is not installed: make .venv/peers")
        return False
    return True


def race(quick: bool, targets: Targets) -> list[dict[str, Any]]:
    """Every contestant on the first tables."""
    rows = []
    for name, (select, n_tables) in contestants(quick).items():
        results = []
        for seed in range(n_tables):
            X, y = make_table(seed)
            seconds, kept = timed(partial(select, X, y, seed))
            results.append((int(kept[:30].sum()), int(kept[30:].sum()), seconds))
        real, noise, seconds = np.array(results).T
        rows.append(
            {
                "method": name,
                "tables": n_tables,
                "kept of 30": round(float(real.mean()), 1),
                "noise kept": round(float(noise.mean()), 2),
                "tables with noise": f"{int(np.count_nonzero(noise))} of {n_tables}",
                "seconds": round(float(np.median(seconds)), 2),
            }
        )
        if name.startswith("ModelImportance"):
            clean = float(np.mean(noise == 0))
            targets.add(f"{name}: tables without noise", f"{clean:.0%} of {n_tables}", ">= 95 %", clean >= 0.95)
    by_name = {row["method"]: row for row in rows}
    if "Boruta" in by_name:
        forest, peer = by_name["ModelImportance(forest)"]["seconds"], by_name["Boruta"]["seconds"]
        targets.add("ModelImportance(forest): seconds", f"{forest:g}", f"<= Boruta's {peer:g}", forest <= peer)
    return rows


def trees_per_draw(quick: bool) -> list[dict[str, Any]]:
    """Columns kept and time, by the trees of a draw's forest."""
    rows, given = [], _model_importance.TREES_IN_DRAWS
    try:
        for n_trees in (10, 20) if quick else (10, 20, 40, 60, 100):
            _model_importance.TREES_IN_DRAWS = n_trees
            results = []
            for seed in range(1 if quick else 10):
                X, y = make_table(seed)
                seconds, kept = timed(partial(ours, RandomForestClassifier(), X, y, seed))
                results.append((kept[:30].sum(), kept[30:].sum(), seconds))
            real, noise, seconds = np.mean(results, axis=0)
            rows.append(
                {
                    "trees in a draw": n_trees,
                    "tables": len(results),
                    "kept of 30": round(float(real), 1),
                    "noise kept": round(float(noise), 2),
                    "seconds": round(float(seconds), 2),
                }
            )
    finally:
        _model_importance.TREES_IN_DRAWS = given
    return rows


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    ours(RandomForestClassifier(5), *make_table(0), 0, stop=1)  # imports
    raced = race(quick, targets)
    show(f"30 columns and {N_NOISE} of noise", list(raced[0]), [list(row.values()) for row in raced])
    trees = trees_per_draw(quick)
    show("Trees of a forest in each of 19 draws", list(trees[0]), [list(row.values()) for row in trees])
    reached = targets.show()
    return {"bench": "importance", "methods": raced, "trees": trees, "reached": reached}
