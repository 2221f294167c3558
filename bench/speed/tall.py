"""Tables with many more rows than columns, against peers on the same data in the same run.

Entries are medians of wall times, in seconds, contestants in turn, all cores. The default probe's table has five
relevant columns of 200, the path of 50 features has fifty.
"""

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.feature_selection import RFE as PeerRFE
from sklearn.linear_model import LassoCV, LogisticRegression, RidgeClassifier, lasso_path, orthogonal_mp
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

from bench.process import timed
from bench.table import Targets, note, show
from tamis import (
    RFE,
    CorrelationScore,
    ElasticNet,
    FeatureMedoids,
    FisherScore,
    GramSchmidt,
    GreedyReconstruction,
    GroupLasso,
    Lasso,
    MaxVariance,
    PCALeverage,
    PivotedQR,
)
from tamis.base import Candidates
from tamis.datasets import load, names
from tamis.kernels.neighbors.approximate import approximate_neighbors
from tamis.kernels.neighbors.search import nearest_neighbors

N_TURNS = 5
N_FEATURES = 50
REAL_SETS = ("arcene", "tox171", "prostate_ge")  # wide tables of the thesis
PEER_ROUNDS = 3  # rounds of scikit-learn's RFE that are run; its time is that of all, at the mean of these


def make_table(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian columns, each correlated with the one before, fifty of them relevant."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    X[:, 1:] += X[:, :-1]
    return X, X[:, :N_FEATURES] @ (0.3 * rng.standard_normal(N_FEATURES)) + rng.standard_normal(n_rows)


def race(contestants: dict[str, Callable[[], Any]], n_turns: int = N_TURNS) -> dict[str, float]:
    """Median seconds of each, after one call to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(n_turns + 1):
            for name, call in contestants.items():
                start = time.perf_counter()
                call()
                if turn:
                    times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def paths(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Fifty features; ten, and those that the probe keeps, of a target that depends on five; and floors."""
    few = X[:, :5].sum(axis=1) + 5 * np.random.default_rng(1).standard_normal(len(X))
    return {
        "orthogonal_mp": lambda: orthogonal_mp(X, y, n_nonzero_coefs=N_FEATURES),
        "GramSchmidt(stop=50)": lambda: GramSchmidt(stop=N_FEATURES).fit(X, y),
        "GramSchmidt(stop=10), 5 relevant": lambda: GramSchmidt(stop=10).fit(X, few),
        "GramSchmidt(), 5 relevant": lambda: GramSchmidt().fit(X, few),
        "X' X": lambda: X.T @ X,
        "50 products X' y": lambda: [X.T @ y for _ in range(N_FEATURES)],
    }


def least_squares(targets: Targets, quick: bool) -> dict[str, Any]:
    """Fifty features, and the default probe, beside orthogonal matching pursuit."""
    found, rows = {}, []
    shapes = ((20_000, 100), (2000, 1000)) if quick else ((100_000, 200), (10_000, 2000))
    for (n, d), factor in zip(shapes, (2.0, 1.0), strict=True):
        seconds = race(paths(*make_table(n, d)), 2 if quick else N_TURNS)
        rows += [(f"{n} x {d}", name, f"{value:.3f}") for name, value in seconds.items()]
        found[f"{n} x {d}"] = seconds
        ratio = seconds["orthogonal_mp"] / seconds["GramSchmidt(stop=50)"]
        targets.add(f"{n} x {d}: orthogonal_mp / GramSchmidt(stop=50)", f"{ratio:.2f}", f">= {factor}", ratio >= factor)
        more = seconds["GramSchmidt(), 5 relevant"] / seconds["GramSchmidt(stop=10), 5 relevant"]
        targets.add(f"{n} x {d}: default probe / the same path without it", f"{more:.2f}", "<= 1.5", more <= 1.5)
    show("Least squares on tall tables", ("table", "method", "seconds"), rows)
    return found


def univariate(targets: Targets, quick: bool) -> dict[str, Any]:
    """Scores of single columns beside a check of the entries and one product."""
    X, y = make_table(*((20_000, 100) if quick else (100_000, 200)))
    classes = (y > 0).astype(int)
    seconds = race(
        {
            "isfinite and X' y": lambda: (np.isfinite(X).all(), X.T @ y),
            "CorrelationScore(stop=10)": lambda: CorrelationScore(stop=10).fit(X, y),
            "CorrelationScore()": lambda: CorrelationScore().fit(X, y),
            "FisherScore(stop=10)": lambda: FisherScore(stop=10).fit(X, classes),
            "MaxVariance(stop=10)": lambda: MaxVariance(stop=10).fit(X),
        },
        2 if quick else N_TURNS,
    )
    floor = seconds["isfinite and X' y"]
    show(
        f"Scores of single columns, {X.shape[0]} x {X.shape[1]}",
        ("method", "seconds", "ratio"),
        [(name, f"{value:.3f}", f"{value / floor:.1f}") for name, value in seconds.items()],
    )
    for name, value in seconds.items():
        if name.endswith("(stop=10)"):
            targets.add(f"{name} / (isfinite and X' y)", f"{value / floor:.1f}", "<= 5", value <= 5 * floor)
    return seconds


def fit_in_rows(ranker: Any, *given: np.ndarray) -> Any:
    """Fit without sums over rows: what is done with a table that is not tall."""
    with patch.object(Candidates, "compressed_rows", lambda self, *given, **named: None):
        return ranker.fit(*given)


def subsets(targets: Targets, quick: bool) -> dict[str, Any]:
    """Columns that stand for all columns, beside X' X, and beside the same from a centered copy of the table."""
    found, rows = {}, []
    methods = (GreedyReconstruction, FeatureMedoids, PivotedQR, PCALeverage)
    for n, d in ((20_000, 50), (10_000, 100)) if quick else ((100_000, 50), (100_000, 200), (20_000, 500)):
        X, _ = make_table(n, max(d, N_FEATURES))
        contestants: dict[str, Callable[[], Any]] = {"X' X": lambda X=X: X.T @ X}
        for method in methods:
            name = f"{method.__name__}(stop=20)"
            contestants[name] = lambda method=method, X=X: method(stop=20).fit(X)
            contestants[f"{name}, centered copy"] = lambda method=method, X=X: fit_in_rows(method(stop=20), X)
        seconds = race(contestants, 1 if quick else 3)
        for method in methods:
            name = f"{method.__name__}(stop=20)"
            ours, copied = seconds[name], seconds[f"{name}, centered copy"]
            floor = seconds["X' X"]
            rows.append((f"{n} x {d}", name, f"{ours:.3f}", f"{ours / floor:.1f}", f"{copied / ours:.1f}"))
            targets.add(
                f"{n} x {d}: {name} from a centered copy / ours", f"{copied / ours:.1f}", ">= 1.5", copied >= 1.5 * ours
            )
        found[f"{n} x {d}"] = seconds
    show("Columns that stand for all", ("table", "method", "seconds", "/ X' X", "centered copy / ours"), rows)
    return found


def penalized(targets: Targets, quick: bool) -> dict[str, Any]:
    """Paths of 100 penalties, and the penalty by cross-validation, beside X' X, the rows and scikit-learn."""
    found, rows = {}, []
    path = {"alpha": "path", "stop": None}
    for n, d in ((20_000, 50),) if quick else ((100_000, 200), (20_000, 500)):
        X, y = make_table(n, max(d, N_FEATURES))
        groups = np.arange(d) // 5
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        rankers = {
            "Lasso path": lambda path=path: Lasso(**path),
            "ElasticNet path": lambda path=path: ElasticNet(**path),
            "GroupLasso path": lambda path=path, groups=groups: GroupLasso(**path, groups=groups),
            "Lasso(), 5 folds": lambda: Lasso(),
        }
        contestants: dict[str, Callable[[], Any]] = {
            "X' X": lambda X=X: X.T @ X,
            "scikit-learn: Lasso path": lambda Z=Z, y=y: lasso_path(Z, y - y.mean(), precompute=True, tol=1e-8),
            "scikit-learn: Lasso(), 5 folds": lambda Z=Z, y=y: LassoCV(precompute=True, cv=5, tol=1e-8).fit(Z, y),
        }
        for name, make in rankers.items():
            contestants[name] = lambda make=make, X=X, y=y: make().fit(X, y)
            contestants[f"rows: {name}"] = lambda make=make, X=X, y=y: fit_in_rows(make(), X, y)
        seconds = race(contestants, 1 if quick else 2)
        for name in rankers:
            ours, in_rows, peer = seconds[name], seconds[f"rows: {name}"], seconds.get(f"scikit-learn: {name}")
            floor = seconds["X' X"]
            rows.append(
                (
                    f"{n} x {d}",
                    name,
                    f"{ours:.3f}",
                    f"{ours / floor:.1f}",
                    f"{in_rows / ours:.1f}",
                    "" if peer is None else f"{peer / ours:.1f}",
                )
            )
            targets.add(f"{n} x {d}: {name} from rows / ours", f"{in_rows / ours:.1f}", ">= 1", in_rows >= ours)
        found[f"{n} x {d}"] = seconds
    head = ("table", "method", "seconds", "/ X' X", "rows / ours", "scikit-learn / ours")
    show("Sparsity terms with a squared loss", head, rows)
    return found


def peer_elimination(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds of scikit-learn's elimination of all features but one, from its first, middle and last rounds."""
    times = []
    for width in np.linspace(X.shape[1], 2, PEER_ROUNDS).astype(int).tolist():
        part = X[:, :width]
        start = time.perf_counter()
        PeerRFE(estimator, n_features_to_select=width - 1, step=1).fit(part, y)
        times.append((time.perf_counter() - start) / 2)  # the selection and the model that is left: two fits
    return float(np.mean(times)) * (X.shape[1] - 1)


def elimination(targets: Targets, quick: bool) -> dict[str, Any]:
    """RFE, one feature at a time."""
    X, y = make_table(*((10_000, 50) if quick else (100_000, 200)))
    classes = (y > 0).astype(int)
    peers = {"squared_hinge": LinearSVC(), "logistic": LogisticRegression(), "ridge": RidgeClassifier()}
    rows, found = [], {}
    for name, peer in peers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = race({name: lambda name=name: RFE(name, stop=1).fit(X, classes)}, 1)[name]
            theirs = peer_elimination(peer, X, classes)
        rows.append((name, f"{seconds:.2f}", f"{theirs:.0f}", f"{theirs / seconds:.0f}"))
        found[name] = {"seconds": seconds, "peer": theirs}
        shape = f"{X.shape[0]} x {X.shape[1]}"
        targets.add(f"RFE {name}, {shape}: seconds", f"{seconds:.2f}", "< 3", seconds < 3)
        targets.add(
            f"RFE {name}, {shape}: scikit-learn / ours", f"{theirs / seconds:.0f}", ">= 10", theirs >= 10 * seconds
        )
    show(
        f"RFE, {X.shape[0]} x {X.shape[1]}, one at a time (scikit-learn's time from {PEER_ROUNDS} of its rounds)",
        ("model", "seconds", "scikit-learn", "ratio"),
        rows,
    )
    wide, label = make_table(*((100, 1000) if quick else (500, 10_000)))
    seconds = race({"wide": lambda: RFE(stop=1).fit(wide, label > 0)}, 1)["wide"]
    targets.add(f"RFE, {wide.shape[0]} x {wide.shape[1]}: seconds", f"{seconds:.2f}", "< 5", seconds < 5)
    return found | {"wide": seconds}


def neighbors(targets: Targets, quick: bool) -> dict[str, Any]:
    """Five neighbors of every row, on tables that are hard for a search."""
    rng = np.random.default_rng(0)
    n, d = (200, 2000) if quick else (500, 20_000)
    outlying = rng.standard_normal((300, 500) if quick else (1500, 3000))
    outlying[0] *= 100
    tables = {
        f"Gaussian {n} x {d}": rng.standard_normal((n, d)),
        f"low rank {n} x {d}": rng.standard_normal((n, 10)) @ rng.standard_normal((10, d))
        + 0.1 * rng.standard_normal((n, d)),
        f"one row 100 times as far, {outlying.shape[0]} x {outlying.shape[1]}": outlying,
    }
    if missing := [name for name in REAL_SETS if name not in names()]:
        note(f"data sets missing, set TAMIS_DATA to their folder: {', '.join(missing)}")
    for name in () if quick else [name for name in REAL_SETS if name in names()]:
        tables[name] = load(name).X
    rows, found = [], {}
    for name, X in tables.items():
        seconds = race(
            {
                "ours": lambda X=X: nearest_neighbors(X, 5),
                "scikit-learn": lambda X=X: NearestNeighbors(n_neighbors=5).fit(X).kneighbors(),
            },
            2 if quick else N_TURNS,
        )
        ratio = seconds["ours"] / seconds["scikit-learn"]
        rows.append((name, f"{seconds['ours']:.3f}", f"{seconds['scikit-learn']:.3f}", f"{ratio:.2f}"))
        found[name] = seconds
        targets.add(f"neighbors, {name}: ours / scikit-learn's", f"{ratio:.2f}", "<= 1.2", ratio <= 1.2)
    show("Five neighbors of every row", ("table", "ours", "scikit-learn", "ratio"), rows)
    return found


def many_rows(targets: Targets, quick: bool) -> dict[str, Any]:
    """Five neighbors of many rows around a surface of five dimensions: exact, and by a search graph."""
    rng = np.random.default_rng(0)
    rows, found = [], {}
    for n in (2000,) if quick else (20_000, 100_000):
        X = np.tanh(rng.standard_normal((n, 5)) @ rng.standard_normal((5, 50))) + 0.01 * rng.standard_normal((n, 50))
        exact_seconds, (_, exact) = timed(lambda X=X: nearest_neighbors(X, 5))
        seconds, (_, distances) = timed(lambda X=X: approximate_neighbors(X, 5))
        recall = float((distances <= exact[:, -1:] * (1 + 1e-9)).mean())
        ratio = exact_seconds / seconds
        rows.append((f"{n} x 50", f"{exact_seconds:.2f}", f"{seconds:.2f}", f"{ratio:.2f}", f"{recall:.3f}"))
        found[f"{n}"] = {"exact": exact_seconds, "approximate": seconds, "recall": recall}
        targets.add(f"approximate neighbors, {n} x 50: recall", f"{recall:.3f}", ">= 0.95", recall >= 0.95)
    show("Five neighbors of every row, by a search graph", ("table", "exact", "approximate", "ratio", "recall"), rows)
    return found


def run(*, quick: bool = False) -> dict[str, Any]:
    """Print the tables and the targets."""
    targets = Targets()
    found = {
        "bench": "tall",
        "least_squares": least_squares(targets, quick),
        "univariate": univariate(targets, quick),
        "subsets": subsets(targets, quick),
        "penalized": penalized(targets, quick),
        "elimination": elimination(targets, quick),
        "neighbors": neighbors(targets, quick),
        "many_rows": many_rows(targets, quick),
    }
    return found | {"reached": targets.show() or quick}
