"""Which columns of mixed, incomplete tables are kept: generated tables and tables of packages, beside peers.

Generated tables: 24 columns, of which seven, one of each type, add the same variance to the target (numbers, one of
them by its logarithm; text of 4 and of 30 levels; a boolean; a date; a count); a near copy of one of them, which counts
neither way; fifteen columns of noise of the same types, two of a Cauchy law and one text of 200 levels; an identifier,
which counts as noise; a fifth of all other entries missing. A column that copies the target is looked for by
``check_table`` in a run of its own and is not in the tables that columns are selected of: with it nothing else matters.

Tables of packages: ten columns are added that are permuted copies of the table's own; columns are selected in each of
two halves of the rows, and a gradient boosting machine learns on that half from what was kept and is scored on the
other. Slow contestants see fewer tables and one half only. Seconds are of the processor, on one thread.
"""

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from bench.table import Targets, note, show
from bench.tables.contestants import CONTESTANTS, Entry, installed, is_quantity
from bench.tables.generated import TASKS, PlantedTable, make_table
from bench.tables.levels import many_levels
from bench.tables.packaged import MARK, N_COPIES, TABLES, available, read_table
from tamis.table import check_table

SIZES = (300, 2000)
RISK = 0.05


def n_seeds(entry: Entry, n_rows: int, quick: bool) -> int:
    """Tables of each task; fewer for those who take long."""
    n_tables = entry.tables[SIZES.index(n_rows)]
    if quick:
        return n_tables // 10 if entry.is_slow else 2
    return n_tables


def timed_selection(name: str, X: pd.DataFrame, y: np.ndarray) -> tuple[set[str], float]:
    """Columns that a contestant keeps, and the seconds of processor time it took."""
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = CONTESTANTS[name].select(X, y, 0)
    return kept, time.process_time() - start


def judge(table: PlantedTable, kept: set[str]) -> tuple[float, float, float]:
    """Share of the relevant columns found, whether any noise was kept, and the share of noise among what was kept."""
    found = np.mean([bool(names & kept) for names in table.relevant.values()])
    n_noise = len(kept & table.noise)
    return float(found), float(n_noise > 0), n_noise / max(len(kept), 1)


def mean_and_error(values: Any) -> str:
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        return f"{values.mean():.2f}"
    return f"{values.mean():.2f} +- {values.std(ddof=1) / np.sqrt(values.size):.2f}"


def on_planted(name: str, task: str, n_rows: int, seed: int) -> tuple[float, ...]:
    table = make_table(task, n_rows, seed)
    kept, seconds = timed_selection(name, table.X, table.y)
    return *judge(table, kept), seconds


def planted(entries: dict[str, Entry], n_rows: int, quick: bool) -> dict[str, dict[str, Any]]:
    """Print who found what on tables of one size; the figures by contestant."""
    found: dict[str, dict[str, Any]] = {}
    rows = []
    for name, entry in entries.items():
        seeds = n_seeds(entry, n_rows, quick)
        if seeds == 0:
            continue
        judged = {
            task: Parallel(n_jobs=-1)(delayed(on_planted)(name, task, n_rows, seed) for seed in range(seeds))
            for task in TASKS
        }
        every = np.concatenate([np.array(judged[task]) for task in TASKS])
        rows.append(
            [
                name,
                len(every),
                *(mean_and_error(np.array(judged[task])[:, 0]) for task in TASKS),
                mean_and_error(every[:, 1]),
                mean_and_error(every[:, 2]),
                f"{every[:, 3].mean():.2f}",
            ]
        )
        found[name] = {
            "tables": len(every),
            "found": {task: float(np.array(judged[task])[:, 0].mean()) for task in TASKS},
            "any_noise": float(every[:, 1].mean()),
            "false_discoveries": float(every[:, 2].mean()),
            "seconds": float(every[:, 3].mean()),
        }
    show(
        f"Generated tables, {n_rows} rows x 24 columns: share of seven relevant columns found, noise kept",
        ("method", "tables", *TASKS, "any noise kept", "share of noise", "seconds"),
        rows,
    )
    return found


def look_for_leak(table: PlantedTable) -> tuple[bool, bool, bool, float]:
    """Whether `check_table` names the leak, the identifier, any other column as one of these; and the seconds."""
    start = time.process_time()
    found = check_table(table.X.assign(leak=table.leak), table.y)
    seconds = time.process_time() - start
    named = {(each.code, each.column) for each in found if each.code in ("leak", "identifier")}
    true = {("leak", "leak"), ("identifier", "reference")}
    return ("leak", "leak") in named, ("identifier", "reference") in named, bool(named - true), seconds


def findings(quick: bool) -> dict[int, dict[str, float]]:
    """Print what `check_table` says of tables with a copy of the target among the columns."""
    rows, shares = [], {}
    for n_rows in SIZES:
        tables = [make_table(task, n_rows, seed) for task in TASKS for seed in range(2 if quick else 20)]
        seen = np.array([look_for_leak(table) for table in tables])
        rows.append([n_rows, len(tables), *map(mean_and_error, seen.T[:3]), f"{seen[:, 3].mean():.2f}"])
        shares[n_rows] = dict(zip(("leak", "identifier", "other"), seen.mean(axis=0).tolist(), strict=False))
    show(
        "What check_table says of the same tables with a copy of the target among the columns",
        ("rows", "tables", "leak named", "identifier named", "any other column named so", "seconds"),
        rows,
    )
    return shares


def for_boosting(X: pd.DataFrame) -> pd.DataFrame:
    """Text as categories, of which the machine takes at most 255: the most frequent 200 stay."""
    columns = {}
    for name in X.columns:
        if pd.api.types.is_numeric_dtype(X[name]):
            columns[name] = X[name].astype(float)
        else:
            frequent = X[name].value_counts().index[:200]
            columns[name] = pd.Categorical(X[name].where(X[name].isin(frequent)))
    return pd.DataFrame(columns)


def score(X: pd.DataFrame, y: np.ndarray, rows: np.ndarray, others: np.ndarray) -> float:
    """R^2, or accuracy, on the other rows; with no column at all, that of a constant."""
    if X.shape[1] == 0:
        if is_quantity(y):
            return 0.0
        labels, counts = np.unique(y[rows].astype(str), return_counts=True)
        return float(np.mean(y[others].astype(str) == labels[counts.argmax()]))
    kind = HistGradientBoostingRegressor if is_quantity(y) else HistGradientBoostingClassifier
    model = kind(random_state=0, max_iter=50, categorical_features="from_dtype").fit(X.iloc[rows], y[rows])
    return float(model.score(X.iloc[others], y[others]))


def halves(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    folds = (KFold if is_quantity(y) else StratifiedKFold)(2, shuffle=True, random_state=0)
    return list(folds.split(y[:, None], y))


def on_packaged(label: str, name: str | None, n_halves: int) -> list[tuple[float, ...]]:
    """For each half: own and permuted columns kept, the score, and seconds; no name is all columns."""
    X, y = read_table(TABLES[label])
    ready = for_boosting(X)
    results = []
    for half, others in halves(y)[:n_halves]:
        part = X.iloc[half].reset_index(drop=True)
        kept, seconds = (set(X.columns), 0.0) if name is None else timed_selection(name, part, y[half])
        with threadpool_limits(1):
            reached = score(ready[[column for column in X.columns if column in kept]], y, half, others)
        n_noise = sum(MARK in column for column in kept)
        results.append((len(kept) - n_noise, n_noise, reached, seconds))
    return results


def packaged(entries: dict[str, Entry], quick: bool) -> dict[str, dict[str, float]]:
    """Print what is kept of each table and what a machine makes of it; the means by contestant."""
    labels = list(available())[: 3 if quick else None]
    n_halves = {name: 1 if entry.is_slow else 2 for name, entry in entries.items() if entry.tables[0] >= 5 or not quick}
    outcome: dict[str, list[np.ndarray]] = {name: [] for name in n_halves}
    for label in labels:
        jobs = {None: 2, **n_halves}
        done = Parallel(n_jobs=-1)(delayed(on_packaged)(label, name, n) for name, n in jobs.items())
        by_name = {name: np.array(results) for name, results in zip(jobs, done, strict=True)}
        everything = by_name[None]
        for name, n in n_halves.items():
            outcome[name] += [
                np.append(row, row[2] - whole[2]) for row, whole in zip(by_name[name], everything[:n], strict=True)
            ]
        unit = "R^2" if TABLES[label].is_quantity else "accuracy"
        rows = [
            [
                name or "all columns",
                f"{each[:, 0].mean():g}",
                f"{each[:, 1].mean():g}",
                " ".join(f"{reached:.2f}" for reached in each[:, 2]),
                f"{each[:, 3].mean():.2f}" if name else "",
            ]
            for name, each in by_name.items()
        ]
        show(
            f"{label} ({TABLES[label].package}), {int(everything[0, 0])} columns and {N_COPIES} permuted copies",
            ("columns kept by", "own", "permuted", f"{unit} by half", "seconds"),
            rows,
        )
    return summarize(outcome, len(labels))


def summarize(outcome: dict[str, list[np.ndarray]], n_tables: int) -> dict[str, dict[str, float]]:
    """Print the means over all tables."""
    rows, found = [], {}
    for name, results in outcome.items():
        own, noise, _, seconds, gain = np.array(results).T
        found[name] = {
            "fits": len(own),
            "own": float(own.mean()),
            "noise": float(noise.mean()),
            "any_noise": float(np.mean(noise > 0)),
            "score_minus_all": float(gain.mean()),
            "seconds": float(seconds.mean()),
        }
        rows.append(
            [
                name,
                len(own),
                f"{own.mean():.1f}",
                mean_and_error(noise),
                mean_and_error(noise > 0),
                f"{gain.mean():+.3f} +- {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}",
                f"{seconds.mean():.2f}",
            ]
        )
    show(
        f"All {n_tables} tables of packages: means over halves",
        ("method", "halves", "own kept", "permuted kept", "any permuted kept", "score less that of all", "seconds"),
        rows,
    )
    return found


def run(*, quick: bool = False) -> dict[str, Any]:
    entries = installed()
    for name in [name for name in CONTESTANTS if name not in entries]:
        note(f"{name} is left out: the package {CONTESTANTS[name].package} is not installed (group peers).")
    for label in [label for label in TABLES if label not in available()]:
        note(f"The table {label} is left out: the package {TABLES[label].package} is not installed (group peers).")
    by_size = {n_rows: planted(entries, n_rows, quick) for n_rows in SIZES}
    with threadpool_limits(1):
        named = findings(quick)
    levels = many_levels(quick)
    by_package = packaged(entries, quick) if available() else {}
    return {
        "bench": "tables",
        "planted": by_size,
        "findings": named,
        "levels": levels,
        "packaged": by_package,
        "reached": check(by_size, named),
    }


def check(by_size: dict[int, dict[str, dict[str, Any]]], named: dict[int, dict[str, float]]) -> bool:
    """Noise no more often than the risk, up to two standard errors, and all relevant columns on many rows."""
    targets = Targets()
    for n_rows, found in by_size.items():
        for name, each in found.items():
            if not name.startswith("TableSelector"):
                continue
            most = RISK + 2 * np.sqrt(RISK * (1 - RISK) / each["tables"])
            targets.add(
                f"{name}, {n_rows} rows: tables with any noise kept",
                f"{each['any_noise']:.2f}",
                f"<= {RISK:g} + 2 se = {most:.2f}",
                each["any_noise"] <= most,
            )
    first = by_size[SIZES[-1]]["TableSelector()"]["found"]
    for task, share in first.items():
        targets.add(
            f"TableSelector(), {SIZES[-1]} rows, {task}: relevant found", f"{share:.2f}", ">= 0.95", share >= 0.95
        )
    for n_rows, shares in named.items():
        targets.add(f"leak named, {n_rows} rows", f"{shares['leak']:.2f}", "1", shares["leak"] == 1.0)
    return targets.show()
