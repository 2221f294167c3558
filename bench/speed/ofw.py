"""Optimal Feature Weighting: learners on many subsets at once against one scikit-learn fit per subset, in one run.

The same algorithm with the same draws runs with both evaluators. Ours are the quickest of a few turns.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bench.process import in_fresh_process, peak_megabytes, timed
from bench.table import Targets, show
from tamis import OFW
from tamis.datasets import load
from tamis.rank.stochastic import GradientDescent, SubsetEvaluation, SubsetSVM

LEUKEMIA = {
    "subset_size": 100,
    "method": GradientDescent(learning_rate=3000.0, mu=2),
    "tol": 0.0,
    "random_state": 0,
}


class SlowLearner(ClassifierMixin, BaseEstimator):
    """Takes twenty milliseconds of a core, and learns the nearest class mean."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "SlowLearner":
        until = time.perf_counter() + 0.02
        while time.perf_counter() < until:
            pass
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        distance = ((X[:, None, :] - self.means_) ** 2).sum(axis=2)
        return self.classes_[distance.argmin(axis=1)]


def seconds(n_turns: int, X: Any, y: np.ndarray, **parameters: Any) -> float:
    """Quickest time of a whole fit."""
    return min(timed(lambda: OFW(**{**LEUKEMIA, **parameters}).fit(X, y))[0] for _ in range(n_turns))


def against_scikit_learn(quick: bool, targets: Targets) -> dict[str, Any]:
    """The same algorithm, the same draws, and as many steps: only what learns on the subsets differs."""
    data = load("allaml")
    X, y = data["X"], data["y"]
    steps, turns = (20, 1) if quick else (120, 2)
    contestants = [("SVM", "svm", 100, SVC(kernel="linear"))]
    if not quick:
        contestants += [
            ("SVM", "svm", 100, LinearSVC()),
            ("ridge", "ridge", 20, RidgeClassifier()),
            ("5 nearest neighbors", "neighbors", 20, KNeighborsClassifier(algorithm="brute")),
            ("tree of depth 3", "tree", 20, DecisionTreeClassifier(max_depth=3)),
        ]
    rows, figures = [], {}
    for name, learner, size, estimator in contestants:
        here = steps if learner == "svm" else 20
        options = {"subset_size": size, "max_iter": here}
        theirs = seconds(1, X, y, estimator=estimator, **options)
        ours = seconds(turns, X, y, estimator=learner, **options)
        peer = type(estimator).__name__
        rows.append((name, size, here, f"{ours:.2f}", f"{theirs:.1f}", peer, f"{theirs / ours:.0f} x"))
        figures[peer] = theirs / ours
    targets.add("over evaluating with scikit-learn's SVC", f"{figures['SVC']:.0f} x", ">= 25 x", figures["SVC"] >= 25)
    show(
        "Leukemia (72 x 7129, T = 36), 100 subsets a step: all at once, and one scikit-learn fit per subset",
        ("learner", "k", "steps", "ours, s", "scikit-learn, s", "with", "ratio"),
        rows,
    )
    return figures


def per_step(n_turns: int, X: np.ndarray, y: np.ndarray, **parameters: Any) -> float:
    """Time of a step: a long run less a short one, so that what is done once does not count."""
    few, many = (seconds(n_turns, X, y, max_iter=steps, **parameters) for steps in (10, 60))
    return (many - few) / 50


def growth(quick: bool, targets: Targets) -> dict[str, Any]:
    """Cost of a step against the number of subsets and of features."""
    rng = np.random.default_rng(0)
    turns = 1 if quick else 3
    figures: dict[str, Any] = {"subsets": {}, "features": {}}
    X, y = rng.standard_normal((72, 5000)), np.arange(72) % 2
    for n_subsets in (50, 100, 200, 400):
        figures["subsets"][n_subsets] = per_step(turns, X, y, n_subsets=n_subsets)
    for n_features in (1000, 50_000, 100_000, 200_000):
        X = rng.standard_normal((72, n_features))
        figures["features"][n_features] = per_step(turns, X, y)
    rows = [(n, "5000", f"{1e3 * cost:.1f}", f"{1e6 * cost / n:.0f}") for n, cost in figures["subsets"].items()]
    rows += [("100", n, f"{1e3 * cost:.1f}", f"{1e4 * cost:.0f}") for n, cost in figures["features"].items()]
    show("A step of SVMs on 72 rows, subsets of 100", ("subsets", "features", "ms", "microseconds per subset"), rows)
    double = figures["subsets"][400] / figures["subsets"][100]
    targets.add("four times the subsets cost at most", f"{double:.1f} x", "<= 5 x", double <= 5.0)
    cost = figures["features"]
    extra = (cost[200_000] - cost[50_000]) / (cost[100_000] - cost[50_000])
    targets.add(
        "cost beyond 50 000 features, 200 000 over 100 000", f"{extra:.1f} x", "<= 4 x, linear is 3", extra <= 4.0
    )
    return figures


def workers(quick: bool, targets: Targets) -> dict[str, Any]:
    """A learner of 20 ms with one worker and with two, and whether they find the same."""
    data = load("allaml")
    X, y = data["X"], data["y"]
    found, seconds = {}, {}
    for n_jobs in (1, 2):
        ofw = OFW(SlowLearner(), n_subsets=50, subset_size=20, max_iter=2, n_jobs=n_jobs, random_state=0)
        ofw.fit(X[:, :50], y)  # workers start here
        few = timed(lambda ofw=ofw: ofw.set_params(max_iter=1).fit(X, y))[0]
        many, fitted = timed(lambda ofw=ofw: ofw.set_params(max_iter=3 if quick else 6).fit(X, y))
        seconds[n_jobs], found[n_jobs] = many - few, fitted.probability_
    ratio, same = seconds[1] / seconds[2], bool(np.array_equal(found[1], found[2]))
    show(
        "Two workers on a learner of 20 ms, 50 subsets a step",
        ("one worker, s", "two, s", "ratio", "same result"),
        [(f"{seconds[1]:.1f}", f"{seconds[2]:.1f}", f"{ratio:.2f} x", same)],
    )
    targets.add("two workers on a learner of 20 ms", f"{ratio:.2f} x", ">= 1.7 x", ratio >= 1.7)
    targets.add("two workers find the same", str(same), "True", same)
    return {"ratio": ratio, "same": same}


def dorothea(targets: Targets) -> dict[str, Any]:
    """The sparse set of 800 x 100 000, in a process of its own: time and memory."""
    found = in_fresh_process("bench.speed.ofw")
    assert found is not None
    show(
        "DOROTHEA (800 x 100 000, sparse), all features, balanced SVMs on subsets of 100, 50 steps",
        ("seconds", "peak memory, MB", "of which before the fit"),
        [(f"{found['seconds']:.1f}", f"{found['peak']:.0f}", f"{found['before']:.0f}")],
    )
    targets.add("DOROTHEA, peak memory of the process", f"{found['peak']:.0f} MB", "< 2000 MB", found["peak"] < 2000)
    return found


def run_dorothea() -> dict[str, float]:
    data = load("nips_dorothea")
    X, y = sparse.csr_array(data["X"]), data["y"]
    before = peak_megabytes()
    learner, evaluation = SubsetSVM(class_weight="balanced"), SubsetEvaluation(balanced=True)
    ofw = OFW(learner, subset_size=100, evaluation=evaluation, max_iter=50, random_state=0)
    seconds, _ = timed(lambda: ofw.fit(X, y))
    return {"seconds": seconds, "peak": peak_megabytes(), "before": before}


def run(*, quick: bool = False) -> dict[str, Any]:
    warnings.simplefilter("ignore", ConvergenceWarning)  # runs are cut short on purpose
    targets = Targets()
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "scikit-learn": lambda: against_scikit_learn(quick, targets),
        "growth": lambda: growth(quick, targets),
        "workers": lambda: workers(quick, targets),
        "dorothea": lambda: dorothea(targets),
    }
    figures = {name: part() for name, part in parts.items()}
    reached = targets.show()
    return {**figures, "reached": reached or quick}


if __name__ == "__main__":
    import json

    print(json.dumps(run_dorothea()))
