"""Gram-Schmidt ranking of many candidates against its peers, all in one run.

N = 1000, Q = 100 000, 50 features, float64: scikit-learn's ``orthogonal_mp`` and fastcan through their public
interface, explicit deflation, 50 plain products ``X' q`` (the floor of one pass per feature), our search with one pass
per feature and with the exact block scheme, and the whole estimator. Every entry is the median of a few repetitions,
taken in rounds over all contestants, so that noise hits all alike.
"""

import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from sklearn.linear_model import orthogonal_mp

from bench.table import Targets, show
from tamis import GramSchmidt
from tamis.kernels.columns import as_columns
from tamis.kernels.orthogonal_search import OrthogonalSearch


def make_problem(n: int, n_candidates: int, correlated: bool) -> tuple[np.ndarray, np.ndarray]:
    """Fifty relevant columns among many; neighbors share half their variance if ``correlated``."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_candidates))
    if correlated:
        X[:, 1:] += X[:, :-1]
    y = X[:, :50] @ (0.3 * rng.standard_normal(50)) + rng.standard_normal(n)
    return X, y


def explicit_deflation(X: np.ndarray, y: np.ndarray, k: int) -> list[int]:
    """The textbook way: every candidate is projected at every step."""
    Z, left = X - X.mean(axis=0), y - y.mean()
    size = np.einsum("ij,ij->j", Z, Z)
    order: list[int] = []
    for _ in range(k):
        norm2 = np.einsum("ij,ij->j", Z, Z)
        criterion = np.where(norm2 > 1e-10 * size, (left @ Z) ** 2 / np.maximum(norm2, 1e-300), -1)
        criterion[order] = -1
        best = int(np.argmax(criterion))
        order.append(best)
        q = Z[:, best] / np.sqrt(norm2[best])
        Z -= np.outer(q, q @ Z)
        left = left - q * (q @ left)
    return order


def searched(X: np.ndarray, y: np.ndarray, k: int, working_set: int) -> list[int]:
    """Our kernel alone."""
    search = OrthogonalSearch(as_columns(X), y[:, None], limit=k, working_set=working_set)
    return [step.feature for step in islice(search, k)]


def estimator(X: np.ndarray, y: np.ndarray, k: int) -> list[int]:
    """Our estimator: validation, search, model and leave-one-out error along the path."""
    return GramSchmidt(stop=k).fit(X, y).order_.tolist()


def fast_can(X: np.ndarray, y: np.ndarray, k: int) -> list[int]:
    """fastcan's orthogonal least squares."""
    from fastcan import FastCan

    return FastCan(n_features_to_select=k, verbose=0).fit(X, y[:, None]).indices_.tolist()


def matching_pursuit(X: np.ndarray, y: np.ndarray, k: int) -> list[int]:
    """scikit-learn's orthogonal matching pursuit (it centers nothing and projects no candidate)."""
    return np.flatnonzero(orthogonal_mp(X, y, n_nonzero_coefs=k)).tolist()


def products(X: np.ndarray, q: np.ndarray, k: int) -> None:
    """k plain products, the floor of one pass per feature."""
    for _ in range(k):
        X.T @ q


def measure(
    contestants: dict[str, Callable[[], Any]], repeat: dict[str, int]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds and result of each, taken in rounds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    results: dict[str, Any] = {}
    for turn in range(max(repeat.values())):
        for name, call in contestants.items():
            if turn < repeat[name]:
                start = time.perf_counter()
                results[name] = call()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}, results


def run(*, quick: bool = False) -> dict[str, Any]:
    n, n_candidates, k = (500, 20_000, 50) if quick else (1000, 100_000, 50)
    X, y = make_problem(n, n_candidates, correlated=False)
    X32 = X.astype(np.float32)
    q = np.random.default_rng(1).standard_normal(n)
    everything = 2 * n_candidates
    contestants: dict[str, Callable[[], Any]] = {
        "50 plain products": lambda: products(X, q, k),
        "one pass per feature": lambda: searched(X, y, k, everything),
        "blocks": lambda: searched(X, y, k, 4096),
        "GramSchmidt (estimator)": lambda: estimator(X, y, k),
        "GramSchmidt, float32": lambda: estimator(X32, y, k),
        "one pass, float32": lambda: searched(X32, y, k, everything),
        "orthogonal_mp": lambda: matching_pursuit(X, y, k),
        "fastcan": lambda: fast_can(X, y, k),
        "explicit deflation": lambda: explicit_deflation(X, y, k),
    }
    repeat = dict.fromkeys(contestants, 5) | {"orthogonal_mp": 3, "fastcan": 2, "explicit deflation": 1}
    seconds, results = measure(contestants, repeat)
    show(
        f"Ranking {k} of {n_candidates} candidates, {n} rows (median seconds)",
        ("contestant", "seconds", "orthogonal_mp / it", "fastcan / it", "it / 50 products"),
        [
            (
                name,
                f"{s:.3f}",
                f"{seconds['orthogonal_mp'] / s:.1f} x",
                f"{seconds['fastcan'] / s:.1f} x",
                f"{s / seconds['50 plain products']:.2f} x",
            )
            for name, s in seconds.items()
        ],
    )
    naive = results["explicit deflation"]
    X_c, y_c = make_problem(n, n_candidates, correlated=True)
    same = {
        "one pass per feature": results["one pass per feature"] == naive,
        "blocks": results["blocks"] == naive,
        "blocks, correlated columns": searched(X_c, y_c, k, 4096) == explicit_deflation(X_c, y_c, k),
        "fastcan": results["fastcan"] == naive,
        "float32": results["GramSchmidt, float32"] == naive,
    }
    show("Same order as explicit deflation", ("contestant", "same"), list(same.items()))
    ratio = {
        "plain_over_omp": seconds["orthogonal_mp"] / seconds["one pass per feature"],
        "plain_over_fastcan": seconds["fastcan"] / seconds["one pass per feature"],
        "plain_to_products": seconds["one pass per feature"] / seconds["50 plain products"],
        "blocks_over_omp": seconds["orthogonal_mp"] / seconds["blocks"],
        "blocks_over_fastcan": seconds["fastcan"] / seconds["blocks"],
        "float32_to_float64": seconds["one pass, float32"] / seconds["one pass per feature"],
    }
    targets = Targets()
    if not quick:
        targets.add(
            "one pass: over orthogonal_mp",
            f"{ratio['plain_over_omp']:.1f} x",
            ">= 2.3 x",
            ratio["plain_over_omp"] >= 2.3,
        )
        targets.add(
            "one pass: over fastcan", f"{ratio['plain_over_fastcan']:.1f} x", ">= 5 x", ratio["plain_over_fastcan"] >= 5
        )
        targets.add(
            "one pass: to 50 products",
            f"{ratio['plain_to_products']:.2f} x",
            "<= 1.25 x",
            ratio["plain_to_products"] <= 1.25,
        )
        targets.add(
            "float32 to float64, one pass",
            f"{ratio['float32_to_float64']:.2f} x",
            "about half",
            ratio["float32_to_float64"] <= 0.65,
        )
        targets.add(
            "blocks: over orthogonal_mp", f"{ratio['blocks_over_omp']:.1f} x", ">= 5 x", ratio["blocks_over_omp"] >= 5
        )
        targets.add(
            "blocks: over fastcan",
            f"{ratio['blocks_over_fastcan']:.1f} x",
            ">= 12 x",
            ratio["blocks_over_fastcan"] >= 12,
        )
    ours = [value for name, value in same.items() if name not in ("fastcan", "float32")]
    targets.add("same order as explicit deflation", str(all(ours)), "True", all(ours))
    reached = targets.show()
    return {"bench": "gram-schmidt-speed", "seconds": seconds, "ratio": ratio, "same_order": same, "reached": reached}
