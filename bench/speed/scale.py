"""Tables read in blocks of rows, up to 10^7 rows and 10^5 columns, and 20 GB of Parquet on 2 GB: time and memory.

Rows of the first tables are made in memory, block by block, so that no disk is measured; each line is a process of its
own. Memory is the peak beside what the process held before the fit. Exponents are fitted to the largest three sizes.
The Parquet table is written to the folder for temporary files, if that has room, and removed.
"""

import io
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bench.process import forget_peak, in_fresh_process, peak_megabytes
from bench.table import Targets, note, show
from tamis import CorrelationScore, GramSchmidt, MaxVariance
from tamis.cli import Environment, main
from tamis.engine import LocalBlocks
from tamis.engine._products import products_of_block

ROWS = (10**3, 10**4, 10**5, 10**6, 10**7)
COLUMNS = (10**2, 10**3, 10**4, 10**5)
N_COLUMNS, N_ROWS = 100, 1000  # while the other grows
BLOCK_ROWS = 2**13
TIMEOUT = 400
METHODS = {
    "GramSchmidt()": lambda: GramSchmidt(),
    "CorrelationScore(stop=10)": lambda: CorrelationScore(stop=10),
    "MaxVariance(stop=10)": lambda: MaxVariance(stop=10),
}
N_WORKERS, CLUSTER_ROWS, CLUSTER_COLUMNS = 100, 10**9, 10**4
MERGED_AT_ONCE = 8


class MadeBlocks(LocalBlocks):
    """Rows of a Gaussian block, in another order and with other signs in every block."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.shape, self.dtype = (n_rows, n_columns), np.dtype(float)
        self._base = np.random.default_rng(0).standard_normal((min(BLOCK_ROWS, n_rows), n_columns))

    def _read(self, columns: np.ndarray | None) -> Iterator[np.ndarray]:
        for block, start in enumerate(range(0, self.shape[0], BLOCK_ROWS)):
            height = min(BLOCK_ROWS, self.shape[0] - start)
            rows = np.roll(np.arange(len(self._base)), 37 * block)[:height]
            part = self._base[rows] if columns is None else self._base[np.ix_(rows, columns)]
            part *= 1.0 + 0.1 * np.sin(block)
            yield part

    def target(self) -> np.ndarray:
        """Three relevant columns and noise."""
        noise = np.random.default_rng(1).standard_normal(self.shape[0])
        signal = self.reduce(_signal, lambda first, second: np.concatenate([first, second]))
        return signal + noise


def _signal(block: np.ndarray) -> np.ndarray:
    return block[:, :3].sum(axis=1)


def measure(method: str, n_rows: int, n_columns: int) -> dict[str, float]:
    """Seconds and megabytes of one fit, in this process."""
    table = MadeBlocks(n_rows, n_columns)
    y = table.target()
    in_memory = n_columns > n_rows  # wide tables are ranked in memory, by other algorithms
    X: Any = np.concatenate(list(table._read(None))) if in_memory else table
    METHODS[method]().fit(
        X[:50] if in_memory else MadeBlocks(500, n_columns), y[:50] if in_memory else np.arange(500.0)
    )
    forget_peak()
    before = peak_megabytes()
    start = time.perf_counter()
    METHODS[method]().fit(X, y)
    return {"seconds": time.perf_counter() - start, "megabytes": peak_megabytes() - before}


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope in logarithms over the largest three sizes."""
    x, y = np.log(sizes[-3:]), np.log(np.maximum(values[-3:], 1e-9))
    return float(np.polyfit(x, y, 1)[0])


def growth(axis: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Time and memory of every method along one axis."""
    rows, found = [], {}
    for method in METHODS:
        seconds, megabytes, reached = [], [], []
        for size in sizes:
            shape = (size, N_COLUMNS) if axis == "rows" else (N_ROWS, size)
            one = in_fresh_process("bench.speed.scale", method, *shape, timeout=TIMEOUT)
            if one is None:
                rows.append((method, f"{shape[0]} x {shape[1]}", f"> {TIMEOUT}", "", ""))
                break
            reached.append(size)
            seconds.append(one["seconds"])
            megabytes.append(one["megabytes"])
            share = one["megabytes"] * 2**20 / (8 * shape[0] * shape[1])
            cells = (f"{one['seconds']:.3f}", f"{one['megabytes']:.0f}", f"{share:.2g}")
            rows.append((method, f"{shape[0]} x {shape[1]}", *cells))
        found[method] = {"sizes": reached, "seconds": seconds, "megabytes": megabytes}
        if len(reached) >= 3:
            found[method]["exponent"] = exponent(reached, seconds)
            rows.append((method, "exponent of time", f"{found[method]['exponent']:.2f}", "", ""))
    show(f"Growth with the {axis}", ("method", "table", "seconds", "MB beside", "of the table"), rows)
    return found


def cluster(*, quick: bool) -> dict[str, Any]:
    """What 10^9 x 10^4 takes on 100 workers such as this machine, from what one block takes here."""
    height, width = (256, 1000) if quick else (2048, CLUSTER_COLUMNS)
    block = np.random.default_rng(0).standard_normal((height, width))
    shift, y = np.zeros(width + 1), np.zeros((height, 1))
    start = time.perf_counter()
    sums = products_of_block(shift, False, block, y, None)
    of_block = time.perf_counter() - start
    start = time.perf_counter()
    sums.merge(sums)
    of_merge = time.perf_counter() - start
    scale = (CLUSTER_COLUMNS / width) ** 2
    rows_each = CLUSTER_ROWS / N_WORKERS
    matrix = 8 * (CLUSTER_COLUMNS + 1) ** 2
    # every worker merges its own blocks; then matrices of eight workers go to one of them, level after level
    n_levels = int(np.ceil(np.log(N_WORKERS) / np.log(MERGED_AT_ONCE)))
    figures = {
        "hours of sums": (rows_each / height) * (of_block + of_merge) * scale / 3600,
        "seconds of merging workers": n_levels * MERGED_AT_ONCE * of_merge * scale,
        "network, GB of matrices": matrix * (N_WORKERS - 1) / 2**30,
        "network, GB of targets": 8 * CLUSTER_ROWS / 2**30,
        "memory of a worker, GB": (3 * matrix + 16 * height * CLUSTER_COLUMNS) / 2**30,
        "memory of the client, GB": (3 * matrix + 4 * 8 * CLUSTER_ROWS) / 2**30,
        "GFLOP/s of a worker": 2e-9 * height * width**2 / of_block,
    }
    show(
        f"Sums of products of 10^9 x 10^4 on {N_WORKERS} workers, from one block of {height} x {width} here",
        ("figure", "value"),
        [(name, f"{value:.3g}") for name, value in figures.items()],
    )
    return figures


def write_parquet(folder: Path, n_bytes: float, n_columns: int, rows_per_group: int) -> int:
    """Files of ten row groups each, of doubles that do not compress; the number of rows."""
    base = np.random.default_rng(0).standard_normal((rows_per_group, n_columns))
    names = [*(f"x{j}" for j in range(n_columns)), "y"]
    n_groups = int(np.ceil(n_bytes / (8 * n_columns * rows_per_group)))
    writer = None
    for group in range(n_groups):
        rng = np.random.default_rng(group + 1)
        X = np.roll(base, 101 * group, axis=0) * rng.uniform(0.5, 1.5, n_columns)
        y = X[:, 3] - X[:, 17] + 0.5 * X[:, -1] + 3 * rng.standard_normal(rows_per_group)
        table = pa.table([*X.T, y], names=names)
        if group % 10 == 0:
            if writer is not None:
                writer.close()
            path = folder / f"part-{group // 10:03d}.parquet"
            writer = parquet.ParquetWriter(path, table.schema, compression="none", use_dictionary=False)
        writer.write_table(table, row_group_size=rows_per_group)
    writer.close()
    return n_groups * rows_per_group


def beyond_memory(targets: Targets, *, quick: bool) -> dict[str, Any]:
    """``tamis select`` on Parquet files of ten times the memory that it is given."""
    n_bytes, memory = (0.3 * 2**30, "300MB") if quick else (20 * 2**30, "2GB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 1.2 * n_bytes:
            note(f"no room for {n_bytes / 2**30:.3g} GB of Parquet in {folder}: not measured")
            return {}
        start = time.perf_counter()
        n_rows = write_parquet(folder, n_bytes, 200, 20_000 if quick else 250_000)
        made = time.perf_counter() - start
        options = ["--glob", str(folder / "part-*.parquet"), "--target", "y", "--memory", memory, "--json"]
        found = in_fresh_process("bench.speed.scale", "select", *options)
    assert found is not None
    kept = [feature["name"] for feature in found["features"]]
    rows = [
        ("table", f"{n_rows} x 201, {n_bytes / 2**30:.3g} GB"),
        ("--memory", memory),
        ("peak of the process, GB", f"{found['megabytes'] / 1024:.2f}"),
        ("seconds", f"{found['seconds']:.0f}"),
        ("seconds to write the table", f"{made:.0f}"),
        ("kept", ", ".join(kept)),
    ]
    show("tamis select on Parquet files larger than its memory", ("figure", "value"), rows)
    limit = 2**10 * (0.3 if quick else 2.0)
    if not quick:
        targets.add("peak on 20 GB, GB", f"{found['megabytes'] / 1024:.2f}", "<= 2", found["megabytes"] <= limit)
    targets.add("relevant columns kept", str(len({"x3", "x17", "x199"} & set(kept))), "3", len(kept) >= 3)
    return {name: found[name] for name in ("seconds", "megabytes")} | {"rows": n_rows}


def select(options: list[str]) -> dict[str, Any]:
    """The command in this process, with its time and its peak."""
    out = io.StringIO()
    start = time.perf_counter()
    code = main(["select", *options], Environment(stdout=out))
    assert code == 0
    return json.loads(out.getvalue()) | {"seconds": time.perf_counter() - start, "megabytes": peak_megabytes()}


def run(*, quick: bool = False) -> dict[str, Any]:
    """Print the tables."""
    targets = Targets()
    found = {
        "bench": "scale",
        "rows": growth("rows", ROWS[:3] if quick else ROWS),
        "columns": growth("columns", COLUMNS[:2] if quick else COLUMNS),
        "cluster": cluster(quick=quick),
        "files": beyond_memory(targets, quick=quick),
    }
    return found | {"reached": targets.show() or quick}


if __name__ == "__main__":
    if sys.argv[1] == "select":
        print(json.dumps(select(sys.argv[2:])))
    else:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
