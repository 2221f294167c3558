"""What methods take on a GPU, in passes: the time in which the memory of the device can be read once.

20 000 x 100 000 in single precision, 8 GB, on the device; a pass is half of the time in which the table is copied, for
a copy reads and writes it. AGNOS is given a table of 60 000 x 10 000 on the host, and its first steps, when all columns
are in use, are compared with the bandwidth of the copy and with a large product in single precision. Methods that
compare each row with each, and an elimination from a wide table, have tables of their own; on smaller ones of the same
kind they are compared with numpy on the processor. All are measured in processes of their own; entries are medians, and
the first call of a method, which loads kernels, stands beside them.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scipy reads it once, when it is imported

import numpy as np
import sklearn

from bench.process import in_fresh_process, timed
from bench.table import Targets, note, show
from tamis import RFE, AgnosS, CorrelationScore, FisherScore, GramSchmidt, LaplacianScore, ReliefF
from tamis.assess import fit_score
from tamis.stop import MonteCarloProbe

Fit = Callable[[Any, np.ndarray], Any]  # of a table on a device or on the host and its target

PARTS = {  # full size, and that of a quick run
    "methods": ((20_000, 100_000), (4000, 20_000)),
    "agnos": ((60_000, 10_000), (6000, 2000)),
    "rows": ((20_000, 2000), (2000, 200)),
    "wide": ((500, 100_000), (100, 2000)),
}
ON_HOST = {  # tables of which numpy takes seconds
    "rows": ((10_000, 1000), (1000, 100)),
    "wide": ((500, 20_000), (100, 1000)),
}
N_RELEVANT = 10
DRAWS = MonteCarloProbe(n_draws=99)
MOST_PASSES = {"GramSchmidt": 50, "CorrelationScore, 10 kept": 10, "FisherScore, 10 kept": 10}
SECONDS, SHARE = 5.0, 0.4


def seconds_once(call: Callable[[], Any]) -> float:
    """Seconds of one call; the device has finished when the clock is read."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def seconds_of(call: Callable[[], Any], n_times: int = 5) -> tuple[float, float]:
    """First call, and median of those after it."""
    return seconds_once(call), statistics.median(seconds_once(call) for _ in range(n_times))


def make_table(shape: tuple[int, int]) -> tuple[Any, np.ndarray]:
    """Ten relevant columns among many, and noise of the same size as what they explain of the target."""
    import torch

    generator = torch.Generator("cuda").manual_seed(0)
    X = torch.randn(*shape, device="cuda", generator=generator)
    y = 0.5 * X[:, 1 : 20 * N_RELEVANT : 20].sum(dim=1) + torch.randn(shape[0], device="cuda", generator=generator)
    return X, y.cpu().numpy()


def one_pass(X: Any) -> float:
    """Seconds in which the table can be read once."""
    import torch

    target = torch.empty_like(X)
    return seconds_of(lambda: target.copy_(X))[1] / 2


def methods(shape: tuple[int, int]) -> dict[str, Any]:
    """Seconds of a pass, and of the first and a later call of each method."""
    X, y = make_table(shape)
    classes = (y > 0).astype(int)
    calls = {
        "sum of all entries": lambda: X.sum(),
        "GramSchmidt": lambda: GramSchmidt().fit(X, y),
        "GramSchmidt, 10 kept": lambda: GramSchmidt(stop=10).fit(X, y),
        "GramSchmidt, 50 kept": lambda: GramSchmidt(stop=50).fit(X, y),
        "CorrelationScore, 10 kept": lambda: CorrelationScore(stop=10).fit(X, y),
        "CorrelationScore": lambda: CorrelationScore().fit(X, y),
        "FisherScore, 10 kept": lambda: FisherScore(stop=10).fit(X, classes),
        "FisherScore": lambda: FisherScore().fit(X, classes),
    }
    return {
        "pass": one_pass(X),
        "gigabytes": X.nbytes / 1e9,
        "kept": GramSchmidt().fit(X, y).n_features_,
        "seconds": {name: seconds_of(call) for name, call in calls.items()},
    }


FITS: dict[str, dict[str, Fit]] = {  # figures to compare: columns that come first, or a score
    "rows": {
        "ReliefF, all rows": lambda X, y: ReliefF(stop=10, n_samples=None).fit(X, y > 0).order_[:10],
        "ReliefF, a quantity": lambda X, y: ReliefF(stop=10, n_samples=None).fit(X, y).order_[:10],
        "FIT of 100 features": lambda X, y: fit_score(X, np.arange(100)),
        "LaplacianScore, all rows": lambda X, y: LaplacianScore(stop=10, max_samples=None).fit(X).order_[:10],
        "CorrelationScore, 99 draws": lambda X, y: CorrelationScore(stop=DRAWS).fit(X, y).order_[:10],
    },
    "wide": {
        "RFE, a tenth at a time": lambda X, y: RFE(stop=10, step=0.1).fit(X, y > 0).order_[:10],
        "CorrelationScore, 99 draws": lambda X, y: CorrelationScore(stop=DRAWS).fit(X, y).order_[:10],
    },
}


def beside_host(part: str, shape: tuple[int, int], on_host: tuple[int, int]) -> dict[str, Any]:
    """Seconds of a pass and of each method; on a smaller table those of numpy, and whether results are the same."""
    X, y = make_table(shape)
    seconds = {name: seconds_of(lambda fit=fit: fit(X, y), n_times=3) for name, fit in FITS[part].items()}
    found = {"pass": one_pass(X), "gigabytes": X.nbytes / 1e9, "seconds": seconds, "on_host": {}}
    X, y = make_table(on_host)
    host = X.cpu().numpy()
    for name, fit in FITS[part].items():
        fit(host[:100, :200], y[:100])  # loads modules
        numpy_seconds, expected = timed(lambda fit=fit: fit(host, y))
        median = seconds_of(lambda fit=fit: fit(X, y), n_times=3)[1]
        is_same = np.allclose(as_floats(expected), as_floats(fit(X, y)), rtol=1e-4)
        found["on_host"][name] = (numpy_seconds, median, bool(is_same))
    return found


def as_floats(figures: Any) -> np.ndarray:
    """Figures of a method, wherever they are."""
    return np.asarray(figures.cpu() if hasattr(figures, "cpu") else figures, dtype=float)


def show_beside_host(part: str, found: dict[str, Any], *, quick: bool) -> None:
    (n_samples, n_features), unit = PARTS[part][quick], found["pass"]
    rows = [
        (name, f"{1e3 * first:.1f}", f"{1e3 * median:.1f}", f"{median / unit:.0f}")
        for name, (first, median) in found["seconds"].items()
    ]
    title = f"{n_samples} x {n_features}, {found['gigabytes']:.2f} GB, one pass {1e3 * unit:.3f} ms"
    show(title, ("method", "first, ms", "ms", "passes"), rows)
    n_samples, n_features = ON_HOST[part][quick]
    rows = [
        (name, f"{host:.2f}", f"{device:.3f}", f"{host / device:.1f}", "yes" if is_same else "no")
        for name, (host, device, is_same) in found["on_host"].items()
    ]
    head = ("method", "numpy, s", "GPU, s", "ratio", "same result")
    show(f"{n_samples} x {n_features}, numpy with {os.cpu_count()} cores", head, rows)


def agnos(shape: tuple[int, int]) -> dict[str, float]:
    """Seconds of a fit, and which share of the device's speed the first steps reach."""
    import torch

    from tamis.rank.neural._batch_loader import BatchLoader
    from tamis.rank.neural._elimination import Plan, Trainer
    from tamis.rank.neural._standardized_rows import standardize_rows

    n_samples, n_features = shape
    generator = torch.Generator("cuda").manual_seed(0)
    hidden = [torch.randn(*each, device="cuda", generator=generator) for each in ((n_samples, 30), (30, n_features))]
    table = hidden[0] @ hidden[1] + torch.randn(*shape, device="cuda", generator=generator)
    X = table.cpu().numpy()
    ranker = AgnosS(stop=100, device="cuda", random_state=0)
    first, median = seconds_of(lambda: ranker.fit(X), n_times=3)
    loader = BatchLoader(standardize_rows(X), torch.device("cuda"), None, 0)
    plan = Plan("slack", ranker.n_components_, (), 0.02, 0.05, len(ranker.history_["loss"]))
    trainer = Trainer(loader, plan, torch.Generator().manual_seed(0))

    def train(steps: range) -> None:
        for step in steps:
            trainer.advance(step)

    n_steps = 20
    step = seconds_of(lambda: train(range(n_steps)), n_times=1)[1] / n_steps
    rest = seconds_once(lambda: train(range(n_steps, plan.n_steps)))
    square = torch.randn(8192, 8192, device="cuda", generator=generator)
    arithmetic = 2 * 8192**3 / seconds_of(lambda: square @ square)[1]
    bandwidth = table.nbytes / one_pass(table)
    return {
        "fit, first call, s": first,
        "fit, s": median,
        "training, s": rest + n_steps * step,
        "first steps, ms": 1e3 * step,
        "share of the memory's speed": 2 * table.nbytes / step / bandwidth,
        "share of the arithmetic's": 4.0 * X.size * ranker.n_components_ / step / arithmetic,
    }


def run(*, quick: bool = False) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        note("There is no GPU that torch could use: nothing to measure.")
        return {"bench": "gpu", "reached": True}
    sizes = {part: (*PARTS[part][quick], *(ON_HOST[part][quick] if part in ON_HOST else ())) for part in PARTS}
    found = {part: in_fresh_process("bench.speed.gpu", part, *size, timeout=600) for part, size in sizes.items()}
    measured, trained = found["methods"], found["agnos"]
    assert measured is not None
    assert trained is not None
    unit = measured["pass"]
    note(f"{torch.cuda.get_device_name()}: a copy moves {2e-3 * measured['gigabytes'] / (2 * unit):.2f} TB/s.")
    passes = {name: median / unit for name, (_, median) in measured["seconds"].items()}
    rows = [
        (name, f"{1e3 * first:.1f}", f"{1e3 * median:.1f}", f"{passes[name]:.1f}")
        for name, (first, median) in measured["seconds"].items()
    ]
    title = f"{measured['gigabytes']:.1f} GB, one pass {1e3 * unit:.2f} ms; by default unless a number is kept"
    show(title, ("method", "first, ms", "ms", "passes"), rows)
    n_samples, n_features = PARTS["agnos"][quick]
    show(f"AGNOS-S, {n_samples} x {n_features}", ("what", ""), [(what, f"{it:.3g}") for what, it in trained.items()])
    for part in ON_HOST:
        beside = found[part]
        assert beside is not None
        show_beside_host(part, beside, quick=quick)
    if quick:
        return {"bench": "gpu", **found, "reached": True}
    targets = Targets()
    for name, most in MOST_PASSES.items():
        targets.add(f"{name}, passes", f"{passes[name]:.1f}", f"<= {most}", passes[name] <= most)
    kept, first = measured["kept"], trained["fit, first call, s"]
    targets.add("GramSchmidt keeps the relevant columns", f"{kept}", f"{N_RELEVANT}", kept == N_RELEVANT)
    targets.add("AGNOS-S, first call", f"{first:.1f} s", f"< {SECONDS:g} s", first < SECONDS)
    share = max(trained["share of the memory's speed"], trained["share of the arithmetic's"])
    targets.add("AGNOS-S, larger share in first steps", f"{share:.0%}", f">= {SHARE:.0%}", share >= SHARE)
    return {"bench": "gpu", **found, "reached": targets.show()}


if __name__ == "__main__":
    part, *sizes = sys.argv[1:]
    shapes = [(int(n_rows), int(n_columns)) for n_rows, n_columns in zip(sizes[::2], sizes[1::2], strict=True)]
    with sklearn.config_context(array_api_dispatch=True):
        if part in FITS:
            print(json.dumps(beside_host(part, *shapes)))
        else:
            print(json.dumps({"methods": methods, "agnos": agnos}[part](*shapes)))
