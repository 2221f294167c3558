"""Doquet (2019), tables 6.2 and 6.3: the 2-NN dimension of eight data sets, and the other estimators beside it.

Figures in the columns "thesis" are the thesis's; its table 6.3 gives means and variances of 20 draws of 80 % of rows.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.table import Targets, note, show
from tamis.datasets import load
from tamis.dimension import GMST, MLE, BoxCounting, CorrelationDimension, PackingDimension, PairwiseSparsity, TwoNN
from tamis.kernels.neighbors.two_nn import measure_two_nn

# name: table 6.2 unnormalized, normalized; table 6.3 mean and variance unnormalized, normalized
THESIS = {
    "arcene": (18.01, 39.89, (16.99, 0.74), (38.04, 7.20)),
    "isolet": (8.29, 8.53, (9.02, 0.03), (9.25, 0.02)),
    "orl": (5.60, 5.50, (5.39, 0.08), (5.26, 0.07)),
    "pixraw10p": (3.74, 3.94, (3.91, 0.19), (4.11, 0.15)),
    "prostate_ge": (22.27, 22.32, (21.56, 2.90), (23.11, 4.36)),
    "tox171": (6.35, 14.75, (6.13, 0.12), (14.27, 0.94)),
    "warppie10p": (2.63, 2.62, (2.58, 0.01), (2.59, 0.01)),
    "yale": (9.27, 9.62, (9.60, 0.98), (9.74, 0.91)),
}
WITHIN = 0.005


def data_sets() -> dict[str, np.ndarray]:
    """The sets that are on this machine; the others are named."""
    found = {}
    for name in THESIS:
        try:
            found[name] = load(name).X
        except FileNotFoundError as error:
            note(f"{name} is left out: {error}")
    return found


def table_two(fitted: dict[str, list[TwoNN]], targets: Targets) -> dict[str, Any]:
    rows, figures = [], {}
    for name, pair in fitted.items():
        for label, published, found in zip(("as it is", "normalized"), THESIS[name], pair, strict=False):
            gap = found.dimension_ - published
            rows.append((name, label, f"{published:.2f}", f"{found.dimension_:.3f}", f"{gap:+.3f}"))
            what = f"table 6.2, {name}, {label}"
            targets.add(what, f"{found.dimension_:.3f}", f"{published} +- {WITHIN}", abs(gap) <= WITHIN)
        figures[name] = [found.dimension_ for found in pair]
    show("Table 6.2: 2-NN dimension", ("set", "data", "thesis", "ours", "difference"), rows)
    return figures


def renormalized_draws(X: np.ndarray, n_draws: int) -> np.ndarray:
    """2-NN dimension of random 80 % of the rows, normalized by themselves; our estimator normalizes all rows once."""
    rng = np.random.RandomState(0)
    size = int(0.8 * len(X))
    return np.array([measure_two_nn(X[rng.choice(len(X), size, replace=False)]) for _ in range(n_draws)])


def table_three(sets: dict[str, np.ndarray], fitted: dict[str, list[TwoNN]], targets: Targets) -> dict[str, Any]:
    """Means and variances of 20 draws."""
    rows, figures, near = [], {}, []
    for name, (raw, normalized) in fitted.items():
        as_it_is, once = raw.subsample_dimensions_, normalized.subsample_dimensions_
        each = renormalized_draws(sets[name], len(once))
        for label, published, draws, error in (
            ("as it is", THESIS[name][2], as_it_is, raw.standard_error_),
            ("normalized once", THESIS[name][3], once, normalized.standard_error_),
            ("normalized in each draw", THESIS[name][3], each, None),
        ):
            mean, variance = draws.mean(), draws.var(ddof=1)
            gap = (mean - published[0]) / np.sqrt((variance + published[1]) / len(draws))
            thesis = f"{published[0]:.2f} ({published[1]:.2f})"
            shown = "" if error is None else f"{error:.2f}"
            rows.append((name, label, thesis, f"{mean:.2f} ({variance:.2f})", f"{gap:+.1f}", shown))
            figures[f"{name}, {label}"] = {"mean": mean, "variance": variance, "standard_error": error}
            if label != "normalized once":
                near.append(abs(gap) <= 3)
    show(
        "Table 6.3: mean (variance) of the 2-NN dimension over 20 draws of 80 % of the rows",
        ("set", "data", "thesis", "ours", "gap in s.e.", "standard error (all rows)"),
        rows,
    )
    targets.add("table 6.3, means within 3 s.e. of the difference", f"{sum(near)}", f"{len(near)}", all(near))
    return figures


def other_estimators(sets: dict[str, np.ndarray], n_subsamples: int) -> dict[str, Any]:
    """The six others on normalized data; no published figures."""
    rows, figures = [], {}
    for name, X in sets.items():
        cells = []
        for cls in (MLE, GMST, CorrelationDimension, PackingDimension, BoxCounting, PairwiseSparsity):
            found = cls(n_subsamples=n_subsamples, random_state=0).fit(X)
            error = "" if found.standard_error_ is None else f" +- {found.standard_error_:.1f}"
            cells.append(f"{found.dimension_:.1f}{error}")
            figures[f"{name}, {cls.__name__}"] = found.dimension_
        rows.append((name, THESIS[name][1], *cells))
    head = ("set", "2-NN, thesis", "MLE", "GMST", "correlation", "packing", "boxes", "sparsity")
    show("Other estimators, normalized data, with standard errors", head, rows)
    return figures


def fastest(function: Callable[[], Any], n_runs: int) -> float:
    """Shortest of several runs, in seconds."""
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def against_scikit_dimension(X: np.ndarray, n_runs: int, targets: Targets) -> dict[str, Any]:
    """The same estimate by scikit-dimension, which keeps one ratio less and tells no error."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = {
        "tamis": TwoNN(n_subsamples=0, standardize=False),
        "tamis, one ratio less": TwoNN(n_subsamples=0, standardize=False, discard=0.1 + 1 / len(X)),
        "tamis, with standard error": TwoNN(standardize=False, random_state=0),
    }
    seconds = {label: fastest(lambda e=estimator: e.fit(Z), n_runs) for label, estimator in ours.items()}
    value = {label: estimator.dimension_ for label, estimator in ours.items()}
    try:
        from skdim.id import TwoNN as Peer
    except ImportError:
        note("scikit-dimension is not installed: no comparison of speed")
    else:
        peer = Peer()
        seconds["scikit-dimension"] = fastest(lambda: peer.fit(Z), n_runs)
        value["scikit-dimension"] = float(peer.dimension_)
        ratio = seconds["scikit-dimension"] / seconds["tamis"]
        targets.add("2-NN on Isolet, times as fast as scikit-dimension", f"{ratio:.1f}", ">= 2", ratio >= 2)
        gap = abs(value["tamis, one ratio less"] - value["scikit-dimension"])
        targets.add("2-NN on Isolet, same value with its cut", f"{gap:.1e}", "<= 1e-6", gap <= 1e-6)
    show(
        f"2-NN on Isolet, normalized, {X.shape[0]} x {X.shape[1]} (best of {n_runs} runs)",
        ("", "dimension", "seconds"),
        [(label, f"{value[label]:.4f}", f"{seconds[label]:.3f}") for label in seconds],
    )
    return {"seconds": seconds, "dimension": value}


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    sets = data_sets()
    fitted = {
        name: [TwoNN(standardize=standardize, random_state=0).fit(X) for standardize in (False, True)]
        for name, X in sets.items()
    }
    figures: dict[str, Any] = {
        "bench": "dimension",
        "missing": sorted(set(THESIS) - set(sets)),
        "table_6_2": table_two(fitted, targets),
        "table_6_3": table_three(sets, fitted, targets),
        "others": other_estimators(sets, 0 if quick else 20),
    }
    if "isolet" in sets:
        figures["speed"] = against_scikit_dimension(sets["isolet"], 2 if quick else 5, targets)
    figures["reached"] = targets.show()
    return figures
