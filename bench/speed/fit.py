"""FIT against one scikit-learn regressor per feature, and in bounded memory where the table is large."""

import json
import sys
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

from bench.process import forget_peak, in_fresh_process, peak_megabytes, timed
from bench.table import Targets, show
from tamis.assess import feature_gram, feature_r2, fit_score


def make_table(n: int, d: int, dtype: Any = np.float64) -> np.ndarray:
    """Twenty hidden variables and noise."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((n, 20)).astype(dtype)
    X = hidden @ rng.standard_normal((20, d)).astype(dtype)
    X += rng.standard_normal(size=(n, d), dtype=dtype)
    return X


def regressors(Z: np.ndarray, kept: np.ndarray, features: np.ndarray) -> np.ndarray:
    """The algorithm as printed: one regressor per feature, each with its own search."""
    known = Z[:, kept]
    return np.array([r2_score(Z[:, j], KNeighborsRegressor(5).fit(known, Z[:, j]).predict(known)) for j in features])


def against_regressors(n: int, d: int, k: int, n_measured: int) -> dict[str, Any]:
    X = make_table(n, d)
    kept = np.arange(k)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    feature_r2(X[:200], kept, mode="thesis")  # libraries load their parts on first use
    forget_peak()
    before = peak_megabytes()
    ours, r2 = timed(lambda: feature_r2(X, kept, mode="thesis"))
    megabytes = peak_megabytes() - before
    some = np.linspace(0, d - 1, n_measured).astype(int)
    peer, expected = timed(lambda: regressors(Z, kept, some))
    known = Z[:, kept]
    together, _ = timed(lambda: KNeighborsRegressor(5).fit(known, Z).predict(known))
    return {
        "ours": ours,
        "megabytes": megabytes,
        "per_regressor": peer / n_measured,
        "regressors": peer / n_measured * d,
        "multi_output": together,
        "difference": float(np.abs(r2[some] - expected).max()),
    }


def from_gram(n: int, d: int, k: int) -> dict[str, Any]:
    """Many selections of one table: the Gram matrix once, then no pass over the features."""
    X = make_table(n, d)
    once, gram = timed(lambda: feature_gram(X))
    plain, value = timed(lambda: fit_score(X, np.arange(k)))
    with_gram, same = timed(lambda: fit_score(X, np.arange(k), gram=gram))
    return {"gram": once, "plain": plain, "with_gram": with_gram, "difference": abs(value - same)}


def large(n: int, d: int, k: int) -> dict[str, Any]:
    X = make_table(n, d, np.float32)
    forget_peak()
    before = peak_megabytes()
    seconds, value = timed(lambda: fit_score(X, np.arange(k)))
    return {"seconds": seconds, "megabytes": peak_megabytes() - before, "table": X.nbytes / 2**20, "fit": value}


def run(*, quick: bool = False) -> dict[str, Any]:
    n, d, k = (2000, 500, 50) if quick else (10_000, 2000, 100)
    race = in_fresh_process(__spec__.name, "against_regressors", n, d, k, 20)
    show(
        f"FIT of {k} kept features, {n} x {d}, thesis mode",
        ("contestant", "seconds", "it / ours"),
        [
            ("feature_r2", f"{race['ours']:.2f}", ""),
            (
                f"{d} scikit-learn regressors (20 measured, times {d // 20})",
                f"{race['regressors']:.0f}",
                f"{race['regressors'] / race['ours']:.0f} x",
            ),
            (
                "one scikit-learn regressor of all features",
                f"{race['multi_output']:.2f}",
                f"{race['multi_output'] / race['ours']:.1f} x",
            ),
        ],
    )
    gram = in_fresh_process(__spec__.name, "from_gram", 500, 5000 if quick else 20_000, k)
    show(
        "One more selection of a table of 500 rows, leave-one-out",
        ("Gram matrix, once", "passing over the features", "from the Gram matrix", "difference"),
        [
            (
                f"{gram['gram']:.3f} s",
                f"{gram['plain']:.3f} s",
                f"{gram['with_gram']:.3f} s",
                f"{gram['difference']:.0e}",
            )
        ],
    )
    size = (6000, 1000, 100) if quick else (60_000, 10_000, 100)
    big = in_fresh_process(__spec__.name, "large", *size)
    show(
        "A large table, float32, leave-one-out",
        ("table", "its size", "seconds", "memory beyond it"),
        [(f"{size[0]} x {size[1]}", f"{big['table']:.0f} MB", f"{big['seconds']:.1f}", f"{big['megabytes']:.0f} MB")],
    )
    targets = Targets()
    ratio = race["regressors"] / race["ours"]
    targets.add("FIT over scikit-learn's regressors", f"{ratio:.0f} x", ">= 20 x", ratio >= 20)
    targets.add("same values", f"{race['difference']:.0e}", "< 1e-10", race["difference"] < 1e-10)
    targets.add("memory of the large table", f"{big['megabytes']:.0f} MB", "< 1000 MB", big["megabytes"] < 1000)
    reached = targets.show()
    return {"bench": "fit-speed", "race": race, "gram": gram, "large": big, "ratio": ratio, "reached": reached}


if __name__ == "__main__":
    task, *sizes = sys.argv[1:]
    print(json.dumps(globals()[task](*map(int, sizes))))
