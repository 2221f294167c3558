"""Many rankers on many data sets, cut at many numbers of features, with the random line beside."""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from numbers import Integral
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis._sklearn import safe_indexing
from tamis.assess._comparison import ALL_FEATURES, RANDOM, Comparison
from tamis.assess._contenders import Contender, Data, inner, name_data, name_rankers, name_row_groups, read_data
from tamis.assess._criteria import (
    HELD_OUT,
    IN_SAMPLE,
    Criterion,
    assign_evaluation,
    check_target,
    judge,
    may_be_classes,
    resolve_criteria,
)
from tamis.assess._encode_frame import digest
from tamis.assess._results_file import ResultsFile, Row, fingerprint, run_tasks
from tamis.assess._splits import Splits
from tamis.base import Ranker, fresh
from tamis.kernels.arrays.columns import to_numpy
from tamis.rank.univariate._random_selection import RandomSelection
from tamis.table import TableSelector

_FEWEST_RANDOM = 10  # draws below which the spread of random selections is anybody's guess


def compare(
    rankers: Mapping[str, Ranker] | Sequence[Ranker],
    data: Any,
    y: Any = None,
    *,
    ks: Sequence[int] = (10, 20, 50, 100),
    metrics: Any = None,
    task: str = "auto",
    evaluation: str = "auto",
    cv: Any = None,
    row_groups: Any = None,
    n_seeds: int = 3,
    n_random: int = 10,
    test_size: float = 0.3,
    random_state: int = 0,
    n_jobs: int | None = None,
    results_file: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    r"""Judge rankers side by side at several numbers of features, against random selections and all features.

    .. math:: \bar v_k \pm s_k \text{ over the seeds,} \qquad
              \text{like random where } \bar v_k \le \bar v_k^{\mathrm{random}} + s_k^{\mathrm{random}}

    (the other way round where lower is better): a method within one standard deviation of random is marked so.

    Parameters
    ----------
    rankers : mapping of name to ranker, or sequence of rankers
        Those of a sequence are named by their class, and by their parameters where the class comes twice. Each is
        fitted once per data set, seed and training rows, and its order cut at every k; ``stop`` does not matter. One
        whose sets are not nested, such as :class:`~tamis.NeighborFaithful`, is fitted anew for every k. On mixed tables
        each ranks source columns, as the ranker of a :class:`~tamis.table.TableSelector`, which may be given as well.
    data : table, or mapping of name to table or (table, y)
        Arrays, data frames or sparse tables; data frames may hold text, dates and missing values.
    y : array-like of shape (n_samples,), default=None
        Target, where ``data`` is one table.
    ks : sequence of int, default=(10, 20, 50, 100)
        Numbers of features to keep; those beyond the features of a data set are skipped with a note.
    metrics : sequence of str, :class:`Criterion` or function(X, y, support), default=None
        "fit", "fit-thesis", "fit-held-out", "knn_accuracy", "knn_accuracy-held-out", "knn_r2", "knn_r2-held-out",
        "clustering_accuracy", "purity", "normalized_mutual_info", "balanced_error_rate" (of a ridge classifier);
        :meth:`Criterion.from_estimator` judges by any model and score of scikit-learn. None is "fit", and where there
        is a target "knn_accuracy" for classes, "knn_r2" for quantities; on mixed tables "balanced_accuracy" of a
        logistic regression or "r2" of a ridge regression.
    task : {"auto", "classification", "regression"}, default="auto"
        What y holds; "auto" takes labels, and whole numbers that come often, for classes.
    evaluation : {"auto", "in-sample", "held-out"}, default="auto"
        In-sample: rank all rows and judge them, leave-one-out. Held-out: rank the training rows of a split and judge
        its test rows. "auto" judges all lines held-out if any ranker is supervised, else each metric in its own way.
    cv : int, splitter or iterable, default=None
        Cross-validation in place of splits by ``n_seeds`` and ``test_size``: each fold is the test rows once.
    row_groups : array-like of shape (n_samples,), or mapping of data set to such, default=None
        Which rows belong together, such as those of a patient: they are never on both sides of a split, with the
        splits of ``test_size`` or with a ``cv`` that takes groups, such as ``GroupKFold()``.
    n_seeds : int, default=3
        Seeds, ``random_state`` and up, of the rankers and of the splits. What does not depend on them is done once.
    n_random : int, default=10
        Draws of the random line, at least 10; held-out, they take turns on the splits of the others.
    test_size : float, default=0.3
        Share of held-out rows, stratified by class.
    random_state : int, default=0
    n_jobs : int, default=None
        Tasks (data set, ranker, seed) in parallel, through joblib; the values do not depend on it.
    results_file : path, default=None
        Written whole after each task. A later call with the same file does only what is missing, failed, or was
        computed from other data, parameters, ``ks``, metrics or seeds. Code is not looked at: start a new file after
        changing a method.
    progress : function(done, total), default=None
        Called after each task.

    Returns
    -------
    Comparison

    Warns
    -----
    RuntimeWarning
        Where a ranker or metric failed; its rows hold NaN and the error, the others are not touched.

    Notes
    -----
    The cost is that of the rankings plus one judgment per cut. Random selections are a strong line where features are
    redundant, and published tables often lack it.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Chap. 6.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamis import FisherScore, MaxVariance
    >>> from tamis.assess import compare
    >>> table = compare([FisherScore(), MaxVariance()], *load_wine(return_X_y=True), ks=[2, 5], metrics="knn_accuracy")
    >>> sorted(set(table.frame()["ranker"]))
    ['FisherScore', 'MaxVariance', 'all features', 'random']
    """
    named = name_rankers(rankers)
    tables = name_data(data, y)
    of_rows = name_row_groups(row_groups, tables)
    sets = [read_data(name, *table, ks, of_rows.get(name)) for name, table in tables.items()]
    supervised = [name for name, ranker in named.items() if inner(ranker).supervised]
    _check_numbers(n_seeds, n_random, test_size, random_state)
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task={task!r} is unknown; choose 'auto', 'classification' or 'regression'")
    given_task = None if task == "auto" else task
    mixed = any(each.is_mixed for each in sets)
    criteria = resolve_criteria(metrics, task=_common_task(sets, given_task), mixed=mixed)
    for each in sets:
        check_target(criteria, each.y, each.name, task=given_task, mixed=each.is_mixed)
        if supervised and each.y is None:
            raise ValueError(f"{supervised[0]} is supervised and data set '{each.name}' has no y: give (X, y)")
    if cv is not None and evaluation == IN_SAMPLE:
        raise ValueError(f"cv judges held-out rows, and evaluation='{IN_SAMPLE}' does not; give one of them")
    groups = assign_evaluation(criteria, evaluation if cv is None else HELD_OUT, supervised)

    lines: dict[str, Contender | None] = {**named, RANDOM: RandomSelection(), ALL_FEATURES: None}
    rows_of = Splits(cv, n_seeds, test_size, int(random_state), given_task)
    plan = _plan(sets, lines, groups, rows_of, n_random)
    tasks = {task.key: task for task in plan}
    file = None if results_file is None else ResultsFile(results_file)
    fingerprints = None if file is None else _fingerprints(tasks)
    parts = {key: task.parts() for key, task in tasks.items()}
    found = run_tasks(_run_parts, parts, fingerprints, n_jobs=n_jobs, shared=sets, file=file, progress=progress)
    rows = [row for each in found.values() for row in each]
    comparison = Comparison(
        rows=rows,
        higher_is_better={criterion.name: criterion.higher_is_better for criterion in criteria},
        notes=tuple(note for each in sets for note in each.notes),
    )
    if failed := list(dict.fromkeys(row["ranker"] for row in rows if row["error"])):
        first = next(row for row in rows if row["error"])
        warnings.warn(
            f"{', '.join(failed)} failed in part or whole, see the column 'error'; first: {first['error']}",
            RuntimeWarning,
            stacklevel=2,
        )
    return comparison


@dataclass(frozen=True)
class _Task:
    """One ranking and its judgments. ``ranker`` is None for all features; ``train`` and ``test`` for all rows."""

    data: Data
    line: str
    ranker: Contender | None
    criteria: tuple[Criterion, ...]
    evaluation: str
    seed: int
    train: np.ndarray | None = None
    test: np.ndarray | None = None

    @property
    def key(self) -> str:
        """Which task this is, in the file of results."""
        return json.dumps([self.data.name, self.line, self.evaluation, self.seed])

    def parts(self) -> tuple[_Task, Data, np.ndarray | None, np.ndarray | None]:
        """What is its own, and what it has in common with others, which workers are sent once."""
        return replace(self, data=cast(Any, None), train=None, test=None), self.data, self.train, self.test

    def rows(self) -> tuple[Any, Any, Any, Any]:
        """X and y that the ranker may see, then those it is judged on; all rows, and None, in-sample."""
        X, y = self.data.X, self.data.y
        if self.train is None:
            return X, y, None, None
        tables = [safe_indexing(X, rows) for rows in (self.train, self.test)]
        targets = [None if y is None else y[rows] for rows in (self.train, self.test)]
        return tables[0], targets[0], tables[1], targets[1]


def _check_numbers(n_seeds: int, n_random: int, test_size: float, random_state: int) -> None:
    if not (isinstance(n_seeds, Integral) and n_seeds >= 1):
        raise ValueError(f"n_seeds={n_seeds!r} must be a whole number, at least 1")
    if not (isinstance(n_random, Integral) and n_random >= _FEWEST_RANDOM):
        raise ValueError(f"n_random={n_random!r}: the spread of random selections needs {_FEWEST_RANDOM} draws or more")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size!r} must lie between 0 and 1: it is a share of the rows")
    if not isinstance(random_state, Integral):
        raise ValueError(f"random_state={random_state!r} must be a whole number, for each seed to have a name")


def _common_task(sets: Sequence[Data], given: str | None) -> str | None:
    """What the targets of all data sets hold; None where one has no target, or they do not hold the same."""
    if any(each.y is None for each in sets):
        return None
    found = {given or ("classification" if may_be_classes(each.y) else "regression") for each in sets}  # type: ignore[arg-type]
    return found.pop() if len(found) == 1 else None


def _plan(
    sets: Sequence[Data],
    lines: Mapping[str, Contender | None],
    groups: Mapping[str, Sequence[Criterion]],
    rows_of: Splits,
    n_random: int,
) -> Iterator[_Task]:
    """Every task, in the order of the table."""
    for data in sets:
        splits = rows_of.of(data) if HELD_OUT in groups else []
        for (line, ranker), (evaluation, criteria) in product(lines.items(), groups.items()):
            n_seeds = len(splits) if evaluation == HELD_OUT else rows_of.n_seeds
            n_runs = max(n_random, n_seeds) if line == RANDOM else n_seeds
            if evaluation == IN_SAMPLE and (ranker is None or not _seeds_of(ranker)):
                n_runs = 1  # every seed would give the same
            for i in range(n_runs):
                rows = splits[i % n_seeds] if evaluation == HELD_OUT else (None, None)
                yield _Task(data, line, ranker, tuple(criteria), evaluation, rows_of.random_state + i, *rows)


def _seeds_of(ranker: Contender) -> list[str]:
    """Parameters that hold a seed, also those of an estimator inside."""
    names = [name for name in ranker.get_params() if name.split("__")[-1] == "random_state"]
    return [name for name in names if "stop" not in name.split("__")]


def _fingerprints(tasks: Mapping[str, _Task]) -> dict[str, str]:
    """What the rows of each task depend on; a table is read once."""
    digests = {}
    for name, data in {task.data.name: task.data for task in tasks.values()}.items():
        X = digest(data.X) if data.is_mixed else data.X if sparse.issparse(data.X) else to_numpy(data.X)
        digests[name] = fingerprint(X, data.y, data.ks)
    return {
        key: fingerprint(
            digests[task.data.name],
            task.ranker,
            [vars(criterion) for criterion in task.criteria],
            [task.evaluation, task.seed, task.train, task.test],
        )
        for key, task in tasks.items()
    }


def _run_parts(task: _Task, data: Data, train: np.ndarray | None, test: np.ndarray | None) -> list[Row]:
    """A task that came without what others have, too."""
    return _run_task(replace(task, data=data, train=train, test=test))


def _run_task(task: _Task) -> list[Row]:
    """Rank, once or for every k, and judge every cut by every criterion; what goes wrong is written down."""
    X, y, X_test, y_test = task.rows()
    order, seconds, error = np.arange(X.shape[1]), 0.0, ""
    results: list[Row] = []
    for k in (X.shape[1],) if task.ranker is None else task.data.ks:
        if task.ranker is not None and (not results or "nested" not in inner(task.ranker).provides):
            order, seconds, error = _try_ranking(task, k, X, y)
        kept = np.sort(order[:k])  # whichever way a set was found, its figures are the same to the last digit
        for criterion in task.criteria:
            value, problem = (math.nan, error) if error else judge(criterion, kept, X, y, X_test, y_test)
            results.append(
                {
                    "dataset": task.data.name,
                    "ranker": task.line,
                    "seed": task.seed,
                    "k": k,
                    "metric": criterion.name,
                    "value": value,
                    "seconds": seconds,
                    "n_kept": int(kept.size),
                    "evaluation": task.evaluation,
                    "error": problem,
                }
            )
    return results


def _try_ranking(task: _Task, k: int, X: Any, y: np.ndarray | None) -> tuple[np.ndarray, float, str]:
    """Features best first, how long that took, and what went wrong."""
    assert task.ranker is not None
    started = time.perf_counter()
    try:
        is_nested = "nested" in inner(task.ranker).provides
        order, error = _rank(task.ranker, task, task.data.ks[-1] if is_nested else k, X, y), ""
    except Exception as failure:  # of whatever kind: the other rankers must not suffer from it
        order, error = np.empty(0, dtype=np.int64), f"{type(failure).__name__}: {failure}"
    return order, time.perf_counter() - started, error


def _rank(ranker: Contender, task: _Task, n_features: int, X: Any, y: np.ndarray | None) -> np.ndarray:
    """Features, best first, as a seeded copy of the ranker finds them."""
    copy = fresh(inner(ranker), stop=n_features)
    copy.set_params(**dict.fromkeys(_seeds_of(copy), task.seed))
    target = y if copy.supervised else None
    if task.data.is_mixed or isinstance(ranker, TableSelector):
        selector = clone(ranker) if isinstance(ranker, TableSelector) else TableSelector()
        return to_numpy(selector.set_params(ranker=copy).fit(X, target).order_)
    if task.data.feature_names is not None:
        copy.name_features(task.data.feature_names)
    return to_numpy(copy.fit(X, target).order_)
