"""The solver on the active set against FISTA with restart, and whole runs of the active-set method."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from bench.papers.infinite_textures import PAPER, Arm, cut_patches, draw_patches
from bench.table import Targets, show
from tamis.datasets import load
from tamis.dictionary import Gabor
from tamis.kernels.solvers.group_lasso import group_norms
from tamis.kernels.solvers.squared_hinge_group_lasso import SquaredHingeGroupLasso

N_COLUMNS, REPEATS = 200, 3
CLOSE = 1e-8  # relative distance of the objectives at which FISTA counts as arrived
PATIENCE = 10.0  # seconds that it may take


def gabor_columns(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns as the method meets them: responses to random Gabor functions, standardized, one per row."""
    rng, textures = np.random.RandomState(seed), load("brodatz")
    images = np.concatenate([cut_patches(textures[name], n_samples // 2, rng) for name in ("D29", "D92")])
    dictionary = Gabor(**PAPER).fit(images)
    features = np.asarray(dictionary.compute(dictionary.prepare(images), dictionary.sample(N_COLUMNS, rng)), float)
    columns = ((features - features.mean(axis=0)) / features.std(axis=0)).T
    return np.ascontiguousarray(columns), np.repeat([-1.0, 1.0], n_samples // 2)


def latent_columns(n_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that ten hidden causes drive, made positive, standardized."""
    rng = np.random.RandomState(seed)
    features = np.abs(rng.randn(n_samples, 10) @ rng.randn(10, N_COLUMNS) + rng.randn(n_samples, N_COLUMNS))
    columns = np.ascontiguousarray(((features - features.mean(axis=0)) / features.std(axis=0)).T)
    output = rng.randn(8) @ columns[:8] + 2.0 * rng.randn(n_samples)
    return columns, np.where(output > np.median(output), 1.0, -1.0)


def objective(columns: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, penalty: float, width: int) -> float:
    hinge = np.maximum(0.0, 1.0 - y * (w @ columns + b))
    return 0.5 * float(hinge @ hinge) + penalty * float(group_norms(w[:, None], width).sum())


def fista(columns: np.ndarray, y: np.ndarray, penalty: float, width: int, goal: float) -> tuple[float, float]:
    """Seconds until the objective is at ``goal``, and the objective then; with adaptive restart (infinite: never)."""
    step = 1.0 / np.linalg.norm(np.vstack([columns, np.ones(y.size)]), 2) ** 2  # not timed: a gift
    start = time.perf_counter()
    w, b, t = np.zeros(len(columns)), 0.0, 1.0
    v, c = w, b
    number = 0
    while True:
        pull = y * np.maximum(0.0, 1.0 - y * (v @ columns + c))
        aim = v + step * (columns @ pull)
        norms = group_norms(aim[:, None], width)
        shrink = np.maximum(0.0, 1.0 - step * penalty / np.maximum(norms, 1e-300))
        new_w, new_b = aim * np.repeat(shrink, width), c + step * float(pull.sum())
        uphill = (v - new_w) @ (new_w - w) + (c - new_b) * (new_b - b) > 0
        new_t = 1.0 if uphill else 0.5 + np.sqrt(0.25 + t * t)
        ahead = 0.0 if uphill else (t - 1.0) / new_t
        v, c = new_w + ahead * (new_w - w), new_b + ahead * (new_b - b)
        w, b, t, number = new_w, new_b, new_t, number + 1
        if number % 10 == 0:
            seconds, value = time.perf_counter() - start, objective(columns, y, w, b, penalty, width)
            if value <= goal or seconds > PATIENCE:
                return (seconds if value <= goal else np.inf), value


def ours(columns: np.ndarray, y: np.ndarray, penalty: float, width: int) -> tuple[float, SquaredHingeGroupLasso]:
    """Best time of a few from cold, and the machine at its minimum."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        machine = SquaredHingeGroupLasso(y[:, None], width)
        machine.add_columns(columns)
        machine.solve(penalty, 1e-6)
        best = min(best, time.perf_counter() - start)
    return best, machine


def compare_solvers(
    targets: Targets, make: Callable[[int, int], tuple[np.ndarray, np.ndarray]], name: str, factors: tuple[int, ...]
) -> list[dict[str, Any]]:
    rows, found = [], []
    for n_samples in (400, 10_000):
        columns, y = make(n_samples, 0)
        smallest = n_samples / np.abs(columns @ (y - y.mean())).max()
        for width in (1, 4):
            for factor in factors:
                penalty = n_samples / (factor * smallest)
                seconds, machine = ours(columns, y, penalty, width)
                value = machine.loss() + penalty * float(machine.group_norms.sum())
                theirs, other = fista(columns, y, penalty, width, value * (1.0 + CLOSE))
                gap = (other - value) / value
                active = int(np.count_nonzero(machine.group_norms))
                rows.append(
                    [
                        f"{n_samples}",
                        "l1" if width == 1 else f"groups of {width}",
                        f"{factor} Cmin",
                        f"{active}",
                        f"{machine.kkt_residual:.0e}",
                        f"{1e3 * seconds:.1f} ms",
                        f"> {PATIENCE:.0f} s" if np.isinf(theirs) else f"{1e3 * theirs:.0f} ms",
                        f"{'> ' if np.isinf(theirs) else ''}{min(theirs, PATIENCE) / seconds:.0f} x",
                        f"{gap:+.0e}",
                    ]
                )
                found.append({"n": n_samples, "width": width, "factor": factor, "ours": seconds, "fista": theirs})
                if n_samples == 10_000:
                    what = f"n = 10 000, k = 200, {name}, {rows[-1][1]}, {rows[-1][2]}"
                    targets.add(what, f"{1e3 * seconds:.1f} ms", "< 50 ms", seconds < 0.05)
                arrived = f"FISTA ends no lower, {name}, n = {n_samples}, {rows[-1][1]}, {rows[-1][2]}"
                targets.add(arrived, f"{gap:+.0e}", f">= -{CLOSE:.0e}", gap >= -CLOSE)
    head = ("n", "norm", "C", "active", "KKT", "ours", "FISTA", "ratio", "objective above ours")
    show(f"From cold to KKT 1e-6, 200 columns ({name}); FISTA to {CLOSE:.0e} of that objective", head, rows)
    return found


def grow(targets: Targets, n_samples: int) -> float:
    """Features enter one by one, the most violating first, until 200 are in."""
    columns, y = latent_columns(n_samples, 1)
    smallest = n_samples / np.abs(columns @ (y - y.mean())).max()
    penalty = n_samples / (300 * smallest)
    machine, remaining = SquaredHingeGroupLasso(y[:, None]), np.arange(N_COLUMNS)
    start = time.perf_counter()
    while remaining.size:
        chosen = int(np.abs(columns[remaining] @ machine.signed_hinge()[:, 0]).argmax())
        machine.add_columns(columns[remaining[chosen]][None, :])
        remaining = np.delete(remaining, chosen)
        machine.solve(penalty, 1e-6)
    seconds = time.perf_counter() - start
    show(
        f"From 1 to 200 features, n = {n_samples}, solved to KKT 1e-6 after each",
        ("seconds in all", "ms per feature", "active at the end"),
        [[f"{seconds:.2f}", f"{5 * seconds:.1f}", f"{np.count_nonzero(machine.group_norms)}"]],
    )
    targets.add(f"growing to 200 features, n = {n_samples}", f"{seconds:.2f} s", "< 10 s", seconds < 10.0)
    return seconds


def whole_runs(targets: Targets) -> dict[str, float]:
    """100 rounds on 400 patches."""
    images, labels, _, _ = draw_patches(0)
    rows, found = [], {}
    for refine in (False, True):
        svm = Arm("", PAPER, 81, refine=refine).machine(20.0, 0).set_params(tol=1e-6)  # so that all rounds are run
        best = np.inf
        for _ in range(REPEATS):
            start = time.perf_counter()
            svm.fit(images, labels)
            best = min(best, time.perf_counter() - start)
        name = "refined" if refine else "81 candidates a round"
        found[name] = best
        rows.append([name, f"{svm.n_iter_}", f"{svm.importances_.size}", f"{best:.2f} s"])
        if not refine:
            targets.add("100 rounds, n = 400, 81 candidates", f"{best:.2f} s", "< .5 s", best < 0.5)
    show("Whole runs on 400 patches, C = 20, features included", ("run", "rounds", "active", "time"), rows)
    return found


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    factors = (10, 100) if quick else (3, 30, 300)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        figures = {
            "latent": compare_solvers(targets, latent_columns, "latent", factors[:1] if quick else factors),
            "gabor": [] if quick else compare_solvers(targets, gabor_columns, "gabor", factors),
            "growing": grow(targets, 10_000),
            "whole": whole_runs(targets),
        }
    return figures | {"reached": targets.show()}
