"""Seconds of AGNOS by elimination and of NeighborFaithful on the thesis's data, and of AGNOS on a large table on a GPU.

On the GPU: 60 000 x 10 000, low rank plus noise, in single precision, and which share of the memory's and of the
arithmetic's speed the training reaches; both ceilings are measured in the same run.
"""

import time
from typing import Any

import numpy as np

from bench.papers.spectral import SETS, K
from bench.process import timed
from bench.table import Targets, note, show
from tamis import AgnosG, AgnosS, AgnosW, NeighborFaithful
from tamis.datasets import load, names

MOST = 5.0  # seconds
LARGE = (60_000, 10_000)


def small_tables(chosen: list[str], targets: Targets) -> dict[str, dict[str, float]]:
    """Best of two runs: other work on the machine only ever adds."""
    methods = {
        "AGNOS-S": AgnosS(stop=K, device="cpu", random_state=0),
        "AGNOS-W": AgnosW(stop=K, device="cpu", random_state=0),
        "AGNOS-G": AgnosG(stop=K, device="cpu", random_state=0),
        "NeighborFaithful": NeighborFaithful(stop=K, random_state=0),
        "NeighborFaithful, starts": NeighborFaithful(stop=K, polish=False, random_state=0),
    }
    AgnosS(stop=1, max_iter=5, device="cpu").fit(np.random.RandomState(0).standard_normal((20, 5)))  # loads torch
    seconds: dict[str, dict[str, float]] = {method: {} for method in methods}
    for name in chosen:
        X = load(name).X.astype(float)
        for method, ranker in methods.items():
            seconds[method][name] = min(timed(lambda ranker=ranker, X=X: ranker.fit(X))[0] for _ in range(2))
    rows = [(method, *(f"{each[name]:.2f}" for name in chosen)) for method, each in seconds.items()]
    show(f"Seconds, k = {K}", ("method", *(SETS[name] for name in chosen)), rows)
    for method in ("AGNOS-S", "NeighborFaithful"):
        slowest = max(seconds[method].values())
        targets.add(f"{method}, slowest set", f"{slowest:.2f} s", f"<= {MOST} s", slowest <= MOST)
    return seconds


def wide_and_long(targets: Targets) -> float:
    """2600 x 10 000, where the starts take longest."""
    X = low_rank(2600, 10_000).astype(float)
    seconds, _ = timed(lambda: NeighborFaithful(stop=K, random_state=0).fit(X))
    targets.add("NeighborFaithful, 2600 x 10 000", f"{seconds:.1f} s", "<= 10 s", seconds <= 10)
    return seconds


def low_rank(n_samples: int, n_features: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    shape = (n_samples, n_features)
    hidden = rng.standard_normal((n_samples, 30), dtype=np.float32) @ rng.standard_normal(
        (30, n_features), dtype=np.float32
    )
    return hidden + rng.standard_normal(shape, dtype=np.float32)


def ceilings() -> tuple[float, float]:
    """Bytes per second that a copy moves, and operations per second of a large product in single precision."""
    import torch

    source = torch.empty(2**29, device="cuda")
    target = torch.empty_like(source)
    square = torch.randn(8192, 8192, device="cuda")
    return (
        2 * source.nbytes / on_device(lambda: target.copy_(source)),
        2 * 8192**3 / on_device(lambda: square @ square),
    )


def on_device(call: Any, n_times: int = 5) -> float:
    import torch

    call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(n_times):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / n_times


def large_table(targets: Targets) -> dict[str, float]:
    import torch

    from tamis.rank.neural._batch_loader import BatchLoader
    from tamis.rank.neural._elimination import Plan, Trainer
    from tamis.rank.neural._standardized_rows import standardize_rows

    X = low_rank(*LARGE)
    n_samples = len(X)
    ranker = AgnosS(stop=K, device="cuda", random_state=0)
    total, _ = timed(lambda: ranker.fit(X))
    in_use = ranker.history_["n_features"]
    loader = BatchLoader(standardize_rows(X), torch.device("cuda"), None, 0)
    plan = Plan("slack", ranker.n_components_, (), 0.02, 0.05, len(in_use))
    trainer = Trainer(loader, plan, torch.Generator().manual_seed(0))
    full = on_device(lambda: trainer.advance(0), n_times=20)
    start = time.perf_counter()
    for step in range(plan.n_steps):
        trainer.advance(step)
    torch.cuda.synchronize()
    training = time.perf_counter() - start
    bandwidth, arithmetic = ceilings()
    step_bytes, step_operations = 2 * 4.0 * X.size, 4.0 * X.size * ranker.n_components_
    shares = {
        "fit, s": total,
        "training, s": training,
        "first steps, ms": 1e3 * full,
        "share of the memory's speed": step_bytes / full / bandwidth,
        "share of the arithmetic's": step_operations / full / arithmetic,
        "share of the memory's, whole training": 8.0 * n_samples * float(in_use.sum()) / training / bandwidth,
    }
    show(
        f"AGNOS-S on {torch.cuda.get_device_name()}, {LARGE[0]} x {LARGE[1]}",
        ("what", ""),
        [(k, f"{v:.3g}") for k, v in shares.items()],
    )
    targets.add("AGNOS-S, 60 000 x 10 000 on the GPU", f"{total:.1f} s", "< 60 s", total < 60)
    return shares


def run(*, quick: bool = False) -> dict[str, Any]:
    wanted = ["orl", "yale"] if quick else list(SETS)
    chosen = [name for name in wanted if name in names()]
    if missing := [name for name in wanted if name not in chosen]:
        note(f"data sets missing, set TAMIS_DATA to their folder: {', '.join(missing)}")
    targets = Targets()
    figures: dict[str, Any] = {"bench": "agnos-speed", "seconds": small_tables(chosen, targets)}
    if not quick:
        figures["wide and long"] = wide_and_long(targets)
        import torch

        if torch.cuda.is_available():
            figures["gpu"] = large_table(targets)
        else:
            note("no GPU here: the large table is left out")
    return {**figures, "reached": targets.show()}
