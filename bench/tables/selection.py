"""Which columns of mixed, incomplete tables are kept: planted and packaged tables, beside peers.

Generated tables: 24 columns, of which seven, one of each type, add the same variance to the target (numbers, one of them
by its logarithm; text of 4 and of 30 levels; a boolean; a date; a count); a near copy of one of them; fifteen columns of
noise of the same types, two of a Cauchy law and one text of 200 levels; an identifier, which counts as noise; a fifth of
all entries missing. A column that copies the target is looked for by ``check_table`` in a run of its own and then
left out, for everybody: with it nothing else would matter. Tables of packages: ten columns are added that are permuted
copies of the table's own; columns are selected in each of two halves of the rows, and a gradient boosting machine
learns on that half from what was kept and is scored on the other. Seconds are of the processor, on one thread.
"""

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from bench.table import Targets, note, show
from bench.tables.contestants import CONTESTANTS, Entry, installed, is_quantity
from bench.tables.generated import TASKS, PlantedTable, make_table
from bench.tables.packaged import MARK, N_COPIES, TABLES, available, read_table
from tamis.table import check_table

SIZES = (300, 2000)
RISK = 0.05


def n_seeds(entry: Entry, n_rows: int, quick: bool) -> int:
    """Fewer tables for those who take long."""
    if quick:
        return 2 if not entry.is_slow else int(n_rows == 300 and not entry.is_very_slow)
    if entry.is_very_slow:
        return 2 if n_rows == 300 else 1
    return 20 if not entry.is_slow else (5 if n_rows == 300 else 2)


def timed_selection(entry: Entry, X: pd.DataFrame, y: np.ndarray, seed: int) -> tuple[set[str], float]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = entry.select(X, y, seed)
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


def planted(entries: dict[str, Entry], n_rows: int, quick: bool) -> dict[str, dict[str, Any]]:
    """Print who found what on tables of one size; the figures by contestant."""
    found: dict[str, dict[str, Any]] = {}
    rows = []
    for name, entry in entries.items():
        seeds = n_seeds(entry, n_rows, quick)
        if seeds == 0:
            continue
        judged = {
            task: [
                (*judge(table, kept), seconds)
                for table in (make_table(task, n_rows, seed) for seed in range(seeds))
                for kept, seconds in [timed_selection(entry, table.X, table.y, 0)]
            ]
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


def findings(quick: bool) -> dict[str, float]:
    """Whether `check_table` names the leak and the identifier, and nothing else as one."""
    counts = {"leak": [], "identifier": [], "false": []}
    seconds = []
    rows = []
    for n_rows in SIZES:
        for key in counts:
            counts[key] = []
        seconds = []
        for task in TASKS:
            for seed in range(2 if quick else 20):
                table = make_table(task, n_rows, seed)
                start = time.process_time()
                found = {(each.code, each.column) for each in check_table(table.X.assign(leak=table.leak), table.y)}
                seconds.append(time.process_time() - start)
                counts["leak"].append(("leak", "leak") in found)
                counts["identifier"].append(("identifier", "reference") in found)
                named = {column for code, column in found if code in ("leak", "identifier")}
                counts["false"].append(bool(named - {"leak", "reference"}))
        rows.append(
            [n_rows, len(seconds), *(mean_and_error(each) for each in counts.values()), f"{np.mean(seconds):.2f}"]
        )
    show(
        "What check_table says of the same tables with a copy of the target among the columns",
        ("rows", "tables", "leak named", "identifier named", "any other column named so", "seconds"),
        rows,
    )
    return {"leak": float(np.mean(counts["leak"])), "false": float(np.mean(counts["false"]))}


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


def packaged(entries: dict[str, Entry], quick: bool) -> dict[str, dict[str, float]]:
    """Print what is kept of each table and what a machine makes of it; the means by contestant."""
    tables = dict(list(available().items())[: 3 if quick else None])
    outcome: dict[str, list[tuple[float, ...]]] = {name: [] for name in entries}
    for label, source in tables.items():
        X, y = read_table(source)
        ready = for_boosting(X)
        folds = (KFold if is_quantity(y) else StratifiedKFold)(2, shuffle=True, random_state=0)
        splits = list(folds.split(X, y if is_quantity(y) else y.astype(str)))
        everything = [score(ready, y, *split) for split in splits]
        own = [name for name in X.columns if MARK not in name]
        without = [score(ready[own], y, *split) for split in splits]
        rows = [
            ["all columns", len(own), N_COPIES, mean_and_error(everything), ""],
            ["without the permuted ones", len(own), 0, mean_and_error(without), ""],
        ]
        for name, entry in entries.items():
            used = 1 if entry.is_very_slow or quick else 2
            if quick and entry.is_very_slow:
                continue
            results = []
            for k, (half, others) in enumerate(splits[:used]):
                kept, seconds = timed_selection(entry, X.iloc[half].reset_index(drop=True), y[half], 0)
                reached = score(ready[[c for c in X.columns if c in kept]], y, half, others)
                n_noise = sum(MARK in c for c in kept)
                results.append((len(kept) - n_noise, n_noise, reached, reached - everything[k], seconds))
            outcome[name] += [(*result, n_noise_any) for result in results for n_noise_any in [float(result[1] > 0)]]
            means = np.mean(results, axis=0)
            rows.append(
                [
                    name,
                    f"{means[0]:g}",
                    f"{means[1]:g}",
                    mean_and_error([each[2] for each in results]),
                    f"{means[4]:.2f}",
                ]
            )
        unit = "R^2" if is_quantity(y) else "accuracy"
        show(
            f"{label} ({source.package}; {len(X)} rows, {len(own)} columns and {N_COPIES} permuted copies)",
            ("columns kept by", "own", "permuted", unit, "seconds"),
            rows,
        )
    return summarize(outcome, len(tables))


def summarize(outcome: dict[str, list[tuple[float, ...]]], n_tables: int) -> dict[str, dict[str, float]]:
    rows, found = [], {}
    for name, results in outcome.items():
        if not results:
            continue
        values = np.array(results)
        found[name] = {
            "fits": len(values),
            "own": float(values[:, 0].mean()),
            "any_noise": float(values[:, 5].mean()),
            "noise": float(values[:, 1].mean()),
            "score_minus_all": float(values[:, 3].mean()),
            "seconds": float(values[:, 4].mean()),
        }
        rows.append(
            [
                name,
                len(values),
                f"{values[:, 0].mean():.1f}",
                mean_and_error(values[:, 1]),
                mean_and_error(values[:, 5]),
                f"{values[:, 3].mean():+.3f} +- {values[:, 3].std(ddof=1) / np.sqrt(len(values)):.3f}",
                f"{values[:, 4].mean():.2f}",
            ]
        )
    show(
        f"All {n_tables} tables of packages: means over halves",
        (
            "method",
            "fits",
            "own kept",
            "permuted kept",
            "any permuted kept",
            "score less that of all columns",
            "seconds",
        ),
        rows,
    )
    return found


def run(*, quick: bool = False) -> dict[str, Any]:
    entries = installed()
    for name in [name for name in CONTESTANTS if name not in entries]:
        note(f"{name} is left out: the package {CONTESTANTS[name].package} is not installed (group peers).")
    for label in [label for label in TABLES if label not in available()]:
        note(f"The table {label} is left out: the package {TABLES[label].package} is not installed (group peers).")
    with threadpool_limits(1):
        by_size = {n_rows: planted(entries, n_rows, quick) for n_rows in SIZES}
        named = findings(quick)
        on_packaged = packaged(entries, quick)
    return {
        "bench": "tables",
        "planted": by_size,
        "findings": named,
        "packaged": on_packaged,
        "reached": check(by_size, named, quick),
    }


def check(by_size: dict[int, dict[str, dict[str, Any]]], named: dict[str, float], quick: bool) -> bool:
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
    targets.add("leak named, 2000 rows", f"{named['leak']:.2f}", "1", named["leak"] == 1.0)
    return targets.show()
