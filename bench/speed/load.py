"""Every public method with its defaults on a tall and on a wide table: seconds, and memory in multiples of the table.

Each fit runs in a process of its own with two threads, and is ended after 90 seconds. Five columns decide on the
target, which is two classes for methods that explain them, else a quantity; the others are noise. Memory is the peak of
the process above what it held with the table and the method imported. Compilation counts, as it does for whoever fits
once. The limits are 60 seconds and 8 times the table in float64; a method that would break them may instead refuse the
table at once, with a message that says what to do. On a machine that does other work too, a fit beyond 60
seconds that took less of the processors is near the limit rather than beyond it.
"""

import argparse
import contextlib
import importlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.process import forget_peak, in_fresh_process, peak_megabytes
from bench.table import Targets, note, show

SHAPES = ((100_000, 50), (500, 20_000))
QUICK_SHAPES = ((6000, 20), (60, 1000))
QUICK_METHODS = ("FisherScore", "LaplacianScore", "dimension.TwoNN")
N_RELEVANT = 5
MAX_SECONDS = 60.0
MAX_TABLES = 8.0
NEAR = f"near {MAX_SECONDS:.0f} s"
END_AFTER = 90.0  # seconds of the fit at most; the process gets START_UP on top for imports and the table
START_UP = 15.0
AT_ONCE = 1.0  # seconds of a fit, within which a refusal says that the table is too large
LATE = f"refused after {AT_ONCE:.0f} s"


def methods() -> Iterator[str]:
    """Public rankers, classifiers and estimators of dimension, as their users import them from ``tamis``."""
    import tamis
    import tamis.dimension

    apart = {"TableSelector", "DimensionEstimator"}  # which hold or found methods, and are none
    for module, prefix in ((tamis, ""), (tamis.dimension, "dimension.")):
        for name in sorted(module.__all__):
            if isinstance(getattr(module, name), type) and name not in apart:
                yield prefix + name


def make_table(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian columns, and a quantity that depends on five of them, spread over the table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    relevant = np.linspace(0, n_columns - 1, N_RELEVANT).astype(int)
    return X, X[:, relevant].sum(axis=1) + rng.standard_normal(n_rows)


def fit_once(name: str, n_rows: int, n_columns: int) -> dict[str, Any]:
    """What a process of its own does: one fit, its seconds, its memory, and how many of the relevant were kept."""
    import tamis
    import tamis.dimension

    estimator = getattr(tamis.dimension if name.startswith("dimension.") else tamis, name.rpartition(".")[2])()
    with contextlib.suppress(ImportError):  # what networks import when they are trained
        importlib.import_module("torch")
    X, y = make_table(n_rows, n_columns)
    if "classification" in getattr(estimator, "tasks", {"classification"}):
        y = (y > 0).astype(int)
    start_megabytes = peak_megabytes()
    forget_peak()
    wall, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        refused = fit_or_refuse(estimator, X, y)
    found: dict[str, Any] = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "tables": (peak_megabytes() - start_megabytes) * 2**20 / X.nbytes,
        "warning": str(told[0].message).splitlines()[0] if told else "",
    }
    if refused:
        return found | {"refused": refused}
    if hasattr(estimator, "support_"):
        relevant = np.linspace(0, n_columns - 1, N_RELEVANT).astype(int)
        found["kept"] = int(estimator.n_features_)
        found["relevant_kept"] = int(estimator.support_[relevant].sum())
        found["relevant_first"] = int(np.isin(estimator.order_[:N_RELEVANT], relevant).sum())
        found["reason"] = estimator.stop_.reason
    return found


def fit_or_refuse(estimator: Any, X: np.ndarray, y: np.ndarray) -> str:
    """Fit; the message of a method that refuses the table, else nothing."""
    try:
        estimator.fit(X, y)
    except ValueError as error:
        return str(error)
    return ""


def measure(name: str, shape: tuple[int, int]) -> dict[str, Any] | None:
    """One fit in a process of its own; None if it was ended, a message if it failed."""
    os.environ |= dict.fromkeys((f"{each}_NUM_THREADS" for each in ("OMP", "OPENBLAS", "MKL", "NUMBA")), "2")
    try:
        return in_fresh_process("bench.speed.load", name, *shape, timeout=END_AFTER + START_UP)
    except RuntimeError as error:
        return {"error": str(error).splitlines()[-1]}


def breaks(found: dict[str, Any] | None) -> str:
    """Which limit a fit breaks, in words; empty if none."""
    if found is None:
        return f"> {END_AFTER:.0f} s"
    if "error" in found:
        return "failed"
    if "refused" in found:
        return LATE if found["seconds"] > AT_ONCE else ""
    over = []
    if found["seconds"] > MAX_SECONDS:
        over = [f"> {MAX_SECONDS:.0f} s" if found["processor_seconds"] > MAX_SECONDS else NEAR]
    return ", ".join(over + ([f"> {MAX_TABLES:.0f} tables"] if found["tables"] > MAX_TABLES else []))


def line(name: str, found: dict[str, Any] | None) -> tuple[str, ...]:
    """A row of the table."""
    if found is None or "error" in found:
        return (name, "", "", "", "", "" if found is None else found["error"][:60], breaks(found))
    kept = f"{found['relevant_kept']} of {found['kept']}" if "kept" in found else ""
    seconds = (f"{found['seconds']:.1f}", f"{found['processor_seconds']:.1f}", f"{found['tables']:.1f}")
    told = f"refused: {found['refused']}" if "refused" in found else found["warning"][:60]
    return (name, *seconds, kept, told, breaks(found))


def run(*, quick: bool = False) -> dict[str, Any]:
    """Print the tables, and which methods break a limit."""
    targets = Targets()
    figures: dict[str, Any] = {"bench": "load"}
    for shape in QUICK_SHAPES if quick else SHAPES:
        title = f"{shape[0]} x {shape[1]}"
        found = {name: measure(name, shape) for name in (QUICK_METHODS if quick else methods())}
        head = ("method", "seconds", "of processors", "tables", "relevant of kept", "warning or refusal", "breaks")
        show(f"With defaults, {title}", head, [line(name, each) for name, each in found.items()])
        for name, each in found.items():
            what = "" if quick else breaks(each)  # of a small table memory is that of the interpreter
            asked = f"<= {MAX_SECONDS:.0f} s, <= {MAX_TABLES:.0f} tables"
            if each is not None and "refused" in each:
                told = f"refused in {each['seconds']:.1f} s: {each['refused']}"
                targets.add(f"{name}, {title}", told, f"{asked}, or a refusal within {AT_ONCE:.0f} s", not what)
            elif what:
                targets.add(f"{name}, {title}", what, asked, what == NEAR)
        figures[title] = found
    note("Seconds are those of a fit; processors' seconds above them are those of two threads.")
    return figures | {"reached": targets.show() or quick}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method")
    parser.add_argument("n_rows", type=int)
    parser.add_argument("n_columns", type=int)
    arguments = parser.parse_args()
    print(json.dumps(fit_once(arguments.method, arguments.n_rows, arguments.n_columns)))


if __name__ == "__main__":
    main()
