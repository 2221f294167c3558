"""Graph methods and ReliefF against their peers: same data, same settings, one run, each call in a fresh process.

Peers: scikit-feature (the fork that still installs), skrebate and fast-select; ``make bench`` installs them. Every
contestant first runs on a few rows, so that libraries load and compile before the clock starts; calls that take less
than two seconds are made twice, and the quicker counts. Seconds are medians over the turns, memory is the most that the
process ever held beyond what it held with the data loaded.
"""

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.process import forget_peak, in_fresh_process, peak_megabytes, timed
from bench.table import Targets, show
from tamis import MCFS, NDFS, SPEC, LaplacianScore, ReliefF

HEAT = {"metric": "euclidean", "neighbor_mode": "knn", "weight_mode": "heat_kernel", "k": 5, "t": 1}


def make_clusters(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Five clusters in the first tenth of the columns, two classes; a heat kernel of width 1 suits the distances."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 5
    X = rng.standard_normal((n, d))
    X[:, : max(2, d // 10)] += 2.0 * rng.standard_normal((5, max(2, d // 10)))[y]
    return X / np.sqrt(d), (y % 2)


def skfeature_laplacian(X: np.ndarray, y: np.ndarray) -> list[int]:
    from skfeature.function.similarity_based.lap_score import lap_score
    from skfeature.utility.construct_W import construct_W

    return lap_score(X, mode="index", W=construct_W(X, **HEAT)).tolist()


def skfeature_spec(X: np.ndarray, y: np.ndarray) -> list[int]:
    from skfeature.function.similarity_based.SPEC import spec

    return np.argsort(-spec(X, mode="raw"), kind="stable").tolist()


def skfeature_mcfs(X: np.ndarray, y: np.ndarray) -> list[int]:
    from skfeature.function.sparse_learning_based.MCFS import mcfs
    from skfeature.utility.construct_W import construct_W

    weights = mcfs(X, n_selected_features=X.shape[1], mode="raw", W=construct_W(X, **HEAT), n_clusters=5)
    return np.argsort(-np.abs(weights).max(axis=1), kind="stable").tolist()


def skfeature_ndfs(X: np.ndarray, y: np.ndarray) -> list[int]:
    from skfeature.function.sparse_learning_based.NDFS import ndfs
    from skfeature.utility.construct_W import construct_W

    return ndfs(X, mode="index", W=construct_W(X, **HEAT), n_clusters=5).tolist()


def skrebate_relief(X: np.ndarray, y: np.ndarray) -> list[int]:
    from skrebate import ReliefF as Peer

    return Peer(n_neighbors=10).fit(X, y).top_features_.tolist()


def fast_select_relief(X: np.ndarray, y: np.ndarray) -> list[int]:
    from fast_select import ReliefF as Peer

    return np.argsort(-Peer(n_neighbors=10).fit(X, y).feature_importances_, kind="stable").tolist()


def order_of(ranker: Any, X: np.ndarray, y: np.ndarray) -> list[int]:
    return ranker.fit(X, y).order_.tolist()


AS_SKFEATURE = {"width": 1.0, "self_loops": True, "standardize": False, "stop": None}
CONTESTANTS: dict[str, Callable[[np.ndarray, np.ndarray], list[int]]] = {
    "LaplacianScore": lambda X, y: order_of(LaplacianScore(**AS_SKFEATURE), X, y),
    "scikit-feature lap_score": skfeature_laplacian,
    "SPEC": lambda X, y: order_of(
        SPEC(weight="rbf", width=0.5**0.5, self_loops=True, standardize=False, prefer="rough", stop=None), X, y
    ),
    "scikit-feature spec": skfeature_spec,
    "MCFS": lambda X, y: order_of(MCFS(n_nonzero=X.shape[1], **AS_SKFEATURE), X, y),
    "scikit-feature mcfs": skfeature_mcfs,
    "NDFS": lambda X, y: order_of(NDFS(gamma=1e9, random_state=0, **AS_SKFEATURE), X, y),
    "NDFS, our gamma": lambda X, y: order_of(NDFS(random_state=0, **AS_SKFEATURE), X, y),
    "scikit-feature ndfs": skfeature_ndfs,
    "NDFS, noise": lambda X, y: order_of(NDFS(gamma=1e9, random_state=0, **AS_SKFEATURE), X, y),
    "NDFS, our gamma, noise": lambda X, y: order_of(NDFS(random_state=0, **AS_SKFEATURE), X, y),
    "scikit-feature ndfs, noise": skfeature_ndfs,
    "ReliefF": lambda X, y: order_of(ReliefF(stop=None), X, y),
    "ReliefF, manhattan": lambda X, y: order_of(ReliefF(metric="manhattan", stop=None), X, y),
    "fast-select ReliefF": fast_select_relief,
    "skrebate ReliefF": skrebate_relief,
}
# contestant, samples, features, turns
RACES = [
    ("LaplacianScore", 10_000, 50, 3),
    ("scikit-feature lap_score", 10_000, 50, 1),
    ("SPEC", 1000, 50, 3),
    ("scikit-feature spec", 1000, 50, 2),
    ("MCFS", 1000, 50, 3),
    ("scikit-feature mcfs", 1000, 50, 2),
    ("NDFS", 1000, 50, 3),
    ("NDFS, our gamma", 1000, 50, 3),
    ("scikit-feature ndfs", 1000, 50, 2),
    ("NDFS, noise", 1000, 50, 3),
    ("NDFS, our gamma, noise", 1000, 50, 3),
    ("scikit-feature ndfs, noise", 1000, 50, 2),
    ("ReliefF", 2000, 1000, 5),
    ("ReliefF, manhattan", 2000, 1000, 3),
    ("fast-select ReliefF", 2000, 1000, 5),
    ("skrebate ReliefF", 2000, 1000, 1),
    ("SPEC", 5000, 50, 1),
    ("scikit-feature spec", 5000, 50, 1),
    ("MCFS", 5000, 50, 1),
    ("scikit-feature mcfs", 5000, 50, 1),
    ("NDFS", 5000, 50, 1),
    ("scikit-feature ndfs", 5000, 50, 1),
    ("LaplacianScore", 50_000, 50, 1),
    ("NDFS", 100, 10_000, 1),
]
PEERS = {
    "LaplacianScore": "scikit-feature lap_score",
    "SPEC": "scikit-feature spec",
    "MCFS": "scikit-feature mcfs",
    "NDFS": "scikit-feature ndfs",
    "NDFS, our gamma": "scikit-feature ndfs",
    "NDFS, noise": "scikit-feature ndfs, noise",
    "NDFS, our gamma, noise": "scikit-feature ndfs, noise",
    "ReliefF": "skrebate ReliefF",
}


def one_process(name: str, n: int, d: int) -> dict[str, Any]:
    """A timed call, and another where it is quick; meant to run in a process of its own."""
    X, y = make_clusters(n, d)
    if "noise" in name:  # scikit-feature's NDFS then ends after a few sweeps, elsewhere at its limit of 1000
        X = np.random.default_rng(0).standard_normal((n, d))
    call = CONTESTANTS[name]
    call(X[:60, :20].copy(), y[:60])
    forget_peak()
    before = peak_megabytes()
    seconds, order = timed(lambda: call(X.copy(), y))
    megabytes = peak_megabytes() - before
    if seconds < 2:
        seconds = min(seconds, timed(lambda: call(X.copy(), y))[0])
    return {"seconds": seconds, "megabytes": megabytes, "order": order}


def overlap(one: list[int], other: list[int], k: int) -> float:
    """Share of the first k features that both have."""
    return len(set(one[:k]) & set(other[:k])) / k


def measure(races: list[tuple[str, int, int, int]], patience: float) -> dict[tuple[str, int, int], dict[str, Any]]:
    """Median seconds of every contestant, infinite for those that are not done after ``patience`` seconds."""
    calls: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for turn in range(max(turns for *_, turns in races)):
        for name, n, d, turns in races:
            if turn < turns:
                call = in_fresh_process(__spec__.name, name, n, d, timeout=patience)
                calls.setdefault((name, n, d), []).append(call or {"seconds": np.inf, "megabytes": np.nan, "order": []})
    return {
        key: {**each[0], "seconds": statistics.median(call["seconds"] for call in each)} for key, each in calls.items()
    }


def show_races(measured: dict[tuple[str, int, int], dict[str, Any]], patience: float) -> dict[str, float]:
    """Print the table; how many times faster than its peer each of ours is."""
    rows, ratios = [], {}
    for (name, n, d), entry in measured.items():
        peer = measured.get((PEERS.get(name, ""), n, d))
        versus = alike = ""
        if peer is not None:
            done = np.isfinite(peer["seconds"])
            ratio = ratios[f"{name}, {n} x {d}"] = (peer["seconds"] if done else patience) / entry["seconds"]
            versus = f"{'' if done else '> '}{ratio:.0f} x"
            alike = f"{overlap(entry['order'], peer['order'], d // 10):.2f}" if done else ""
        seconds = f"{entry['seconds']:.3f}" if np.isfinite(entry["seconds"]) else f"> {patience:.0f}"
        megabytes = f"{entry['megabytes']:.0f}" if np.isfinite(entry["megabytes"]) else ""
        rows.append((name, f"{n} x {d}", seconds, megabytes, versus, alike))
    show(
        "Seconds and peak memory beyond the data; the peer is scikit-feature, or skrebate for ReliefF",
        ("contestant", "table", "seconds", "MB", "peer / it", "same first tenth"),
        rows,
    )
    return ratios


def run(*, quick: bool = False) -> dict[str, Any]:
    patience = 20.0 if quick else 120.0
    races = [(name, n // 5, d // 5 if d > 100 else d, 1) for name, n, d, _ in RACES] if quick else RACES
    measured = measure(races, patience)
    ratios = show_races(measured, patience)
    [ours], [fastest] = (
        [entry for (name, *_), entry in measured.items() if name == which]
        for which in ("ReliefF", "fast-select ReliefF")
    )
    ratios["ReliefF over fast-select"] = fastest["seconds"] / ours["seconds"]
    targets = Targets()
    if not quick:
        laplacian = measured["LaplacianScore", 10_000, 50]
        targets.add("LaplacianScore, 10 000 x 50", f"{laplacian['seconds']:.2f} s", "< 1 s", laplacian["seconds"] < 1)
        for what, key, most in (
            ("its memory (n x n: 800 MB)", ("LaplacianScore", 10_000, 50), 200),
            ("LaplacianScore, 50 000 x 50 (n x n: 20 GB)", ("LaplacianScore", 50_000, 50), 500),
            ("NDFS, 100 x 10 000 (D x D: 800 MB)", ("NDFS", 100, 10_000), 400),
        ):
            megabytes = measured[key]["megabytes"]
            targets.add(what, f"{megabytes:.0f} MB", f"< {most} MB", megabytes < most)
        for n in (1000, 5000):
            for name in ("SPEC", "MCFS", "NDFS"):
                ratio = ratios[f"{name}, {n} x 50"]
                targets.add(f"{name} over scikit-feature, {n} x 50", f"{ratio:.0f} x", ">= 50 x", ratio >= 50)
        ratio = ratios["ReliefF over fast-select"]
        targets.add("ReliefF over fast-select", f"{ratio:.2f} x", ">= 1 x", ratio >= 1)
    reached = targets.show()
    figures = {
        f"{name}, {n} x {d}": {what: entry[what] for what in ("seconds", "megabytes")}
        for (name, n, d), entry in measured.items()
        if np.isfinite(entry["seconds"])
    }
    return {"bench": "spectral-speed", "measured": figures, "ratio": ratios, "reached": reached}


if __name__ == "__main__":
    contestant, *sizes = sys.argv[1:]
    print(json.dumps(one_process(contestant, *map(int, sizes))))
