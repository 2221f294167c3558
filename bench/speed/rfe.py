"""Recursive feature elimination, one feature at a time, against scikit-learn's, in one run.

Leukemia (72 x 7129) and ARCENE (200 x 10 000), columns standardized; constant columns and copies are left out, for
which of two equal features goes first is nobody's business, as is the order of features whose weight is zero but for
rounding. The same problem for both: ``SVC(kernel="linear")`` and ``LinearSVC``, with scikit-learn's defaults for the
time, and at a tolerance of 1e-9 for the order. That takes scikit-learn long on ARCENE: there the order is compared from
our 2000 best features on. Then RFECV against ``CrossValidation`` on the same folds of 2000 genes, at that tolerance;
what an elimination costs as features grow; and sparse tables.
"""

import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE as PeerRFE
from sklearn.feature_selection import RFECV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from bench.process import timed
from bench.table import Targets, note, show
from tamis import RFE
from tamis.datasets import load, names
from tamis.stop import CrossValidation

TIGHT = 1e-9
NOTHING = 1e-20  # part of the largest criterion: weights that are zero but for rounding, in any order


def distinct_table(name: str, n_features: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Standardized columns that vary and differ, be it by sign, in the order of the file."""
    data = load(name)
    X = np.asarray(data.X, dtype=float)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    turned = np.round(X * np.where(X[np.abs(X).argmax(axis=0), np.arange(X.shape[1])] > 0, 1.0, -1.0), 8)
    _, first = np.unique(turned, axis=1, return_index=True)
    return X[:, np.sort(first)[:n_features]], np.asarray(data.y)


def ours(estimator: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, RFE]:
    """Best of three: a second of work is easily disturbed."""
    runs = [timed(lambda: RFE(estimator, stop=1, standardize=False).fit(X, y)) for _ in range(3)]
    return min(runs, key=lambda run: run[0])


def theirs(estimator: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds, fitted = timed(lambda: PeerRFE(estimator, n_features_to_select=1, step=1).fit(X, y))
    return seconds, fitted.ranking_


def machine(kind: str, tol: float | None) -> Any:
    """A peer's machine, at its default tolerance or another."""
    given = {} if tol is None else {"tol": tol}
    return SVC(kernel="linear", **given) if kind == "SVC" else LinearSVC(max_iter=10**6, **given)


def race(name: str, kind: str, n_features: int | None, n_compared: int | None, targets: Targets) -> dict[str, Any]:
    """Times at default tolerance; equal positions at a tight one, among all features or the last ones."""
    X, y = distinct_table(name, n_features)
    seconds, found = ours(machine(kind, None), X, y)
    peer_seconds, _ = theirs(machine(kind, None), X, y)
    kept = np.sort(found.order_[:n_compared])
    _, ranking = theirs(machine(kind, TIGHT), X[:, kept], y)
    weighed = found.scores_[kept] > NOTHING * found.scores_.max()
    equal = int(np.sum((ranking == found.ranking_[kept])[weighed]))
    n_weighed = int(weighed.sum())
    ratio = peer_seconds / seconds
    label = f"{name} {X.shape[0]} x {X.shape[1]}, {kind}"
    if n_features is None:
        targets.add(f"{label}: faster than scikit-learn's", f"{ratio:.0f} x", ">= 80 x", ratio >= 80)
    targets.add(f"{label}: equal positions at tol 1e-9", f"{equal} of {n_weighed}", "all", equal == n_weighed)
    return {
        "table": label,
        "scikit-learn": round(peer_seconds, 2),
        "ours": round(seconds, 3),
        "ratio": round(ratio, 1),
        "equal": equal,
        "compared": n_weighed,
        "of no weight": int(kept.size) - n_weighed,
        "residual": found.certificate_["residual"],
    }


def cross_validated(n_features: int, targets: Targets) -> dict[str, Any]:
    """RFECV and our rule on the same folds of leukemia, with the same machine."""
    X, y = distinct_table("allaml", n_features)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    peer_seconds, peer = timed(lambda: RFECV(machine("SVC", TIGHT), step=1, cv=folds).fit(X, y))
    rule = CrossValidation(machine("SVC", TIGHT), cv=folds, rule="one-se")
    seconds, found = timed(lambda: RFE(machine("SVC", TIGHT), standardize=False, stop=rule).fit(X, y))
    curve = dict(zip(peer.cv_results_["n_features"].tolist(), peer.cv_results_["mean_test_score"], strict=True))
    gap = max(abs(curve[int(k)] - score) for k, score in zip(found.stop_.curve_at, found.stop_.curve, strict=True))
    targets.add("RFECV, 5 folds: mean scores at the numbers tried", f"{gap:.1g} apart", "equal", gap < 1e-9)
    if n_features >= 2000:  # a small table says little of speed
        targets.add(
            "RFECV, 5 folds: faster than scikit-learn's",
            f"{peer_seconds / seconds:.0f} x",
            ">= 20 x",
            peer_seconds > 20 * seconds,
        )
    return {
        "scikit-learn": round(peer_seconds, 1),
        "ours": round(seconds, 2),
        "ratio": round(peer_seconds / seconds, 1),
        "numbers tried": int(found.stop_.curve_at.size),
        "largest difference of mean scores": round(float(gap), 4),
        "scikit-learn keeps": int(peer.n_features_),
        "one standard error keeps": found.stop_.n_features,
        "reason": found.stop_.reason,
    }


def growth(sizes: tuple[int, ...], targets: Targets) -> list[dict[str, Any]]:
    """Seconds per elimination at n = 100 as features grow, all of them eliminated one by one."""
    rows = []
    for n_features in sizes:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((100, n_features))
        y = (X[:, :10].sum(axis=1) + rng.standard_normal(100) > 0).astype(int)
        seconds, found = timed(lambda X=X, y=y: RFE(stop=1).fit(X, y))
        rows.append(
            {
                "features": n_features,
                "seconds": round(seconds, 2),
                "microseconds per elimination": round(1e6 * seconds / n_features, 1),
                "residual": found.certificate_["residual"],
            }
        )
    factor = rows[-1]["microseconds per elimination"] / rows[0]["microseconds per elimination"]
    wider = sizes[-1] / sizes[0]
    targets.add(
        f"an elimination costs more with {wider:.0f} x the features",
        f"{factor:.1f} x",
        f"<= {wider:.0f} x",
        factor <= wider,
    )
    return rows


def traced_megabytes(call: Callable[[], Any]) -> float:
    """Most memory that a call held at a time; the process's own figure would count what others left behind."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def sparse_tables(quick: bool, targets: Targets) -> list[dict[str, Any]]:
    """Wide sparse tables, never made dense: time, memory, and error on the validation part."""
    rows = []
    for name, step in (("nips_dexter", 1), ("nips_dorothea", "halving"), ("nips_dorothea", 0.02)):
        if quick and step != "halving":
            continue
        data = load(name)
        dense = data.X.shape[0] * data.X.shape[1] * 8 / 2**20
        selector = RFE(step=step, stop=200, class_weight="balanced")
        seconds, found = timed(lambda data=data, selector=selector: selector.fit(data.X, data.y))
        more = traced_megabytes(lambda data=data, selector=selector: selector.fit(data.X, data.y))
        model = LinearSVC(class_weight="balanced", max_iter=10**5)
        learned, judged = (found.transform(table).toarray().astype(float) for table in (data.X, data.X_valid))
        scale = np.maximum(learned.std(axis=0), 1e-12)
        said = model.fit(learned / scale, data.y).predict(judged / scale)
        classes = np.unique(data.y_valid)
        error = np.mean([np.mean(said[data.y_valid == c] != c) for c in classes])
        rows.append(
            {
                "table": f"{name} {data.X.shape[0]} x {data.X.shape[1]}",
                "step": step,
                "seconds": round(seconds, 2),
                "megabytes": round(more),
                "dense megabytes": round(dense),
                "balanced error with 200": round(100 * float(error), 1),
                "residual": found.certificate_["residual"],
            }
        )
        targets.add(
            f"{name}, step {step}: memory beside the dense table", f"{more:.0f} MB", f"< {dense:.0f} MB", more < dense
        )
    return rows


def show_rows(title: str, rows: list[dict[str, Any]]) -> None:
    show(title, list(rows[0]), [[f"{v:.1e}" if k == "residual" else v for k, v in row.items()] for row in rows])


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    missing = {"allaml", "arcene", "nips_dexter", "nips_dorothea"} - set(names())
    if missing:
        note(f"data sets missing, set TAMIS_DATA to their folder: {', '.join(sorted(missing))}")
        return {"bench": "rfe-speed", "missing": sorted(missing)}
    width = 1000 if quick else None
    RFE().fit(*distinct_table("allaml", 100))  # imports
    races = [race("allaml", kind, width, None, targets) for kind in ("SVC", "LinearSVC")]
    races.append(race("arcene", "SVC", width, None if quick else 2000, targets))
    if not quick:
        races.append(race("arcene", "LinearSVC", None, 2000, targets))
    show_rows("Elimination one by one, seconds", races)
    validated = cross_validated(500 if quick else 2000, targets)
    show_rows("RFECV against RFE(stop=CrossValidation(rule='one-se')), leukemia, same folds", [validated])
    grown = growth((1000, 3000) if quick else (1000, 3000, 10_000, 30_000, 100_000), targets)
    show_rows("Cost against the number of features, n = 100, squared hinge", grown)
    tables = sparse_tables(quick, targets)
    show_rows("Sparse tables", tables)
    reached = targets.show()
    return {
        "bench": "rfe-speed",
        "races": races,
        "cross-validation": validated,
        "growth": grown,
        "sparse": tables,
        "reached": reached,
    }
