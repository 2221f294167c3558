"""InfiniteSVM with images in the memory of a GPU: the same machine, and how much sooner."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bench.table import Targets, note, show
from tamis import InfiniteSVM
from tamis.dictionary import Gabor

SIZE, N_CANDIDATES, N_ROUNDS = 32, 500, 15


def make_textures(n_images: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise, and waves of two directions in it."""
    rng = np.random.RandomState(seed)
    row, column = np.indices((SIZE, SIZE))
    labels = rng.randint(2, size=n_images)
    angle = np.where(labels == 1, 0.6, 0.9)[:, None, None] + 0.1 * rng.standard_normal((n_images, 1, 1))
    phase = rng.uniform(0, 2 * np.pi, size=(n_images, 1, 1))
    waves = np.cos(2 * np.pi * 0.2 * (np.cos(angle) * column + np.sin(angle) * row) + phase)
    return (waves + 1.5 * rng.standard_normal(waves.shape)).astype(np.float32), labels


def run(*, quick: bool = False) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        note("There is no GPU that torch could use: nothing to compare.")
        return {"reached": True}
    targets, rows, ratios = Targets(), [], {}
    for n_images in (1000,) if quick else (1000, 10_000):
        images, labels = make_textures(2 * n_images, 0)
        half = slice(0, n_images), slice(n_images, None)
        svm = InfiniteSVM(Gabor(), n_candidates=N_CANDIDATES, max_rounds=N_ROUNDS, random_state=0)
        seconds, outputs = {}, {}
        for name in ("cpu", "gpu", "gpu, warm"):
            signals = torch.asarray(images, device="cuda") if name != "cpu" else images
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                svm.fit(signals[half[0]], labels[half[0]])
            seconds[name] = time.perf_counter() - start
            outputs[name] = svm.decision_function(signals[half[1]])
        agree = float(np.mean((outputs["cpu"] > 0) == (outputs["gpu"] > 0)))
        right = float(np.mean((outputs["gpu"] > 0) == (labels[half[1]] == 1)))
        ratios[n_images] = seconds["cpu"] / seconds["gpu, warm"]
        times = [f"{seconds[name]:.2f} s" for name in seconds]
        rows.append([f"{n_images}", *times, f"{ratios[n_images]:.1f} x", f"{agree:.4f}", f"{right:.3f}"])
        targets.add(f"same decisions, n = {n_images}", f"{agree:.4f}", ">= .99", agree >= 0.99)
    head = ("images", "cpu", "gpu", "gpu, warm", "ratio", "decisions in common", "accuracy")
    show(f"{SIZE} x {SIZE} pixels, {N_CANDIDATES} candidates a round, {N_ROUNDS} rounds", head, rows)
    return {"ratios": ratios, "reached": targets.show()}
