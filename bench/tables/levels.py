"""Text of many levels that tells nothing: how often it is kept, encoded by cross-fitting or by the rows before."""

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import TargetEncoder
from threadpoolctl import threadpool_limits

from bench.table import show
from tamis import CorrelationScore, GramSchmidt, TableSelector
from tamis.base import Ranker

N_ROWS, N_LEVELS = 400, 200
RISK = 0.05
TARGETS = ("quantity", "two classes")
RANKERS = {"GramSchmidt": GramSchmidt(), "CorrelationScore": CorrelationScore()}


def is_kept(ranker: Ranker, target: str, seed: int) -> tuple[bool, bool]:
    """Whether a text of noise is kept beside a number of noise: by scikit-learn's cross-fitted means, and by ours."""
    rng = np.random.default_rng(seed)
    text, number = rng.integers(0, N_LEVELS, N_ROWS).astype(str), rng.standard_normal(N_ROWS)
    y = rng.standard_normal(N_ROWS) if target == "quantity" else rng.integers(0, 2, N_ROWS)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = TargetEncoder(target_type="continuous" if target == "quantity" else "binary", random_state=seed)
        by_folds = ranker.fit(np.column_stack([encoder.fit_transform(text[:, None], y), number]), y)
        in_order = TableSelector(ranker).fit({"text": text, "number": number}, y)
    return bool(by_folds.support_[0]), bool(in_order.support_[0])


def many_levels(quick: bool) -> dict[str, dict[str, float]]:
    """Print the share of tables in which the text is kept; half the risk is nominal, for it is one of two columns."""
    n_seeds = 40 if quick else 300
    rows, found = [], {}
    for name, ranker in RANKERS.items():
        for target in TARGETS:
            kept: Any = Parallel(n_jobs=-1)(delayed(is_kept)(ranker, target, seed) for seed in range(n_seeds))
            by_folds, in_order = np.mean(kept, axis=0).tolist()
            rows.append([name, target, n_seeds, f"{by_folds:.3f}", f"{in_order:.3f}", f"{RISK / 2:.3f}"])
            found[f"{name}, {target}"] = {"cross-fitted": by_folds, "rows before": in_order}
    show(
        f"Text of {N_LEVELS} levels that tells nothing, {N_ROWS} rows: share of tables in which it is kept",
        ("method", "target", "tables", "cross-fitted means", "means of the rows before", "nominal"),
        rows,
    )
    return found
