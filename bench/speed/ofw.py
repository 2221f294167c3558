"""Optimal Feature Weighting: learners on many subsets at once against one scikit-learn fit per subset, in one run.

Each figure is the quickest of a few turns, contestants taking turns. The same algorithm with the same draws runs with both
evaluators; only what a step costs is compared.
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

LEUKEMIA = {"subset_size": 100, "learning_rate": 3000.0, "tol": 0.0, "random_state": 0}


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


def seconds_per_step(n_turns: int, few: int, many: int, **parameters: Any) -> float:
    """Quickest time of a step: a longer run less a shorter one, so that what is done once does not count."""
    X, y = parameters.pop("X"), parameters.pop("y")

    def run(steps: int) -> float:
        return timed(lambda: OFW(**parameters, max_iter=steps).fit(X, y))[0]

    return min(run(many) - run(few) for _ in range(n_turns)) / (many - few)


def against_scikit_learn(quick: bool, targets: Targets) -> dict[str, Any]:
    data = load("allaml")
    X, y = data["X"], data["y"]
    turns = 1 if quick else 3
    ours = seconds_per_step(turns, 20, 60 if quick else 120, X=X, y=y, **LEUKEMIA)
    rows, figures = [], {}
    for name, estimator in (("SVC", SVC(kernel="linear")), ("LinearSVC", LinearSVC())):
        if quick and name == "LinearSVC":
            continue
        theirs = seconds_per_step(turns, 2, 4 if quick else 8, X=X, y=y, estimator=estimator, **LEUKEMIA)
        rows.append(
            (
                f"SVM, subsets of 100 genes ({name})",
                f"{1e3 * ours:.1f}",
                f"{1e3 * theirs:.0f}",
                f"{theirs / ours:.0f} x",
            )
        )
        figures[name] = theirs / ours
    targets.add("over evaluating with scikit-learn's SVC", f"{figures['SVC']:.0f} x", ">= 25 x", figures["SVC"] >= 25)
    if not quick:
        others = (
            ("ridge", "ridge", RidgeClassifier()),
            ("5 nearest neighbors", "neighbors", KNeighborsClassifier(algorithm="brute")),
            ("tree of depth 3", "tree", DecisionTreeClassifier(max_depth=3)),
        )
        for name, learner, estimator in others:
            settings = {**LEUKEMIA, "subset_size": 20, "X": X, "y": y}
            mine = seconds_per_step(turns, 5, 20, estimator=learner, **settings)
            theirs = seconds_per_step(turns, 2, 4, estimator=estimator, **settings)
            rows.append(
                (f"{name}, subsets of 20", f"{1e3 * mine:.1f}", f"{1e3 * theirs:.0f}", f"{theirs / mine:.0f} x")
            )
            figures[learner] = theirs / mine
    show(
        "A step of 100 subsets on leukemia (72 x 7129, T = 36): all at once, and one scikit-learn fit per subset",
        ("learner", "ours, ms", "scikit-learn, ms", "ratio"),
        rows,
    )
    return figures


def growth(quick: bool, targets: Targets) -> dict[str, Any]:
    """Cost of a step against the number of subsets and of features."""
    rng = np.random.default_rng(0)
    turns = 1 if quick else 3
    figures: dict[str, Any] = {"subsets": {}, "features": {}}
    X, y = rng.standard_normal((72, 5000)), np.arange(72) % 2
    for n_subsets in (50, 100, 200, 400):
        cost = seconds_per_step(turns, 5, 25, X=X, y=y, n_subsets=n_subsets, **LEUKEMIA)
        figures["subsets"][n_subsets] = cost
    for n_features in (1000, 10_000, 100_000):
        X = rng.standard_normal((72, n_features))
        figures["features"][n_features] = seconds_per_step(turns, 5, 25, X=X, y=y, **LEUKEMIA)
    rows = [(n, "5000", f"{1e3 * cost:.1f}", f"{1e6 * cost / n:.0f}") for n, cost in figures["subsets"].items()]
    rows += [("100", n, f"{1e3 * cost:.1f}", f"{1e4 * cost:.0f}") for n, cost in figures["features"].items()]
    show("A step of SVMs on 72 rows, subsets of 100", ("subsets", "features", "ms", "microseconds per subset"), rows)
    double = figures["subsets"][400] / figures["subsets"][100]
    targets.add("four times the subsets cost at most", f"{double:.1f} x", "<= 5 x", double <= 5.0)
    wide, narrow = figures["features"][100_000], figures["features"][1000]
    extra = (wide - narrow) / 99_000
    targets.add("a further feature costs, per step", f"{1e9 * extra:.0f} ns", "<= 200 ns", extra <= 200e-9)
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
    from tamis.rank.stochastic import SubsetSVM

    data = load("nips_dorothea")
    X, y = sparse.csr_array(data["X"]), data["y"]
    before = peak_megabytes()
    ofw = OFW(SubsetSVM(class_weight="balanced"), subset_size=100, balanced=True, max_iter=50, random_state=0)
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
