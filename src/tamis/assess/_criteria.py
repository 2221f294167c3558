"""The criteria that a comparison judges selections by, found by name, and the rows on which they judge."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis._sklearn import get_threadpool_controller, safe_indexing
from tamis.assess._clusters import cluster_samples
from tamis.assess._fit import fit_score
from tamis.assess._knn import knn_accuracy
from tamis.assess._labels import balanced_error_rate, clustering_accuracy, normalized_mutual_info, purity
from tamis.kernels.arrays.targets import infer_task

IN_SAMPLE, HELD_OUT = "in-sample", "held-out"

_STARTS = 10  # k-means runs that a clustering figure is the mean of, for it depends on the start
_PENALTIES = np.logspace(-1, 4, 6)


@dataclass(frozen=True)
class Criterion:
    """One way to judge a selection.

    Parameters
    ----------
    name : str
        What tables and figures call it.
    function : callable
        ``function(X, y, support)``, or with ``held_out`` ``function(X, y, support, X_test, y_test)``: a finite number.
        ``support`` holds the indices of the kept features in ascending order. Same arguments, same number.
    needs_y : bool, default=False
        Whether it cannot do without a target.
    higher_is_better : bool, default=True
    held_out : bool, default=False
        Whether it judges ``X_test`` from what ``X`` teaches. Another criterion, too, is shown unseen rows when a
        comparison is held-out: it is given the test rows alone.

    Examples
    --------
    >>> from tamis.assess import Criterion
    >>> def mean_variance(X, y, support):
    ...     return X[:, support].var(axis=0).mean()
    >>> Criterion("variance", mean_variance).higher_is_better
    True
    """

    name: str
    function: Callable[..., float]
    needs_y: bool = False
    higher_is_better: bool = True
    held_out: bool = False


def criterion_names() -> list[str]:
    """Names by which ``metrics=`` finds the criteria."""
    return sorted(_REGISTRY)


def resolve_criteria(
    metrics: str | Criterion | Callable[..., float] | Sequence[Any] | None, *, labeled: bool
) -> list[Criterion]:
    """Criteria from names, criteria and plain functions; None is "fit", and "knn_accuracy" where rows are labeled."""
    if metrics is None:
        metrics = ("fit", "knn_accuracy") if labeled else ("fit",)
    if isinstance(metrics, (str, Criterion)) or callable(metrics):
        metrics = (metrics,)
    criteria = [_resolve(metric) for metric in metrics]
    if not criteria:
        raise ValueError("metrics is empty: there is nothing to judge by")
    names = [criterion.name for criterion in criteria]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"metrics holds {twice[0]!r} more than once: give each criterion a name of its own")
    return criteria


def _resolve(metric: Any) -> Criterion:
    if isinstance(metric, Criterion):
        return metric
    if isinstance(metric, str) and metric in _REGISTRY:
        return _REGISTRY[metric]
    if callable(metric):
        return Criterion(getattr(metric, "__name__", type(metric).__name__), metric)
    raise ValueError(f"metric {metric!r} is unknown; choose among {', '.join(criterion_names())}, or give a Criterion")


def assign_evaluation(
    criteria: Sequence[Criterion], evaluation: str, supervised: Sequence[str]
) -> dict[str, list[Criterion]]:
    """Criteria by the rows on which they judge, given the names of the rankers that learn from y."""
    if evaluation not in ("auto", IN_SAMPLE, HELD_OUT):
        raise ValueError(f"evaluation={evaluation!r} is unknown; choose 'auto', '{IN_SAMPLE}' or '{HELD_OUT}'")
    if evaluation == IN_SAMPLE:
        if supervised:
            raise ValueError(
                f"evaluation='{IN_SAMPLE}' would judge {', '.join(supervised)} on the rows whose y they have seen, "
                f"which flatters them; use '{HELD_OUT}', or compare unsupervised rankers only"
            )
        if ahead := [criterion.name for criterion in criteria if criterion.held_out]:
            raise ValueError(f"{', '.join(ahead)} cannot be judged {IN_SAMPLE}; use evaluation='auto' or '{HELD_OUT}'")
        return {IN_SAMPLE: list(criteria)}
    if evaluation == HELD_OUT or supervised:
        return {HELD_OUT: [_unseen(criterion) for criterion in criteria]}
    groups = {
        IN_SAMPLE: [criterion for criterion in criteria if not criterion.held_out],
        HELD_OUT: [criterion for criterion in criteria if criterion.held_out],
    }
    return {name: group for name, group in groups.items() if group}


def _unseen(criterion: Criterion) -> Criterion:
    """The held-out form of a criterion, under the name that was asked for."""
    form = _REGISTRY.get(f"{criterion.name}-{HELD_OUT}")
    if form is None or _REGISTRY.get(criterion.name) is not criterion:
        return criterion
    return replace(form, name=criterion.name)


def check_target(criteria: Sequence[Criterion], y: np.ndarray | None, dataset: str) -> None:
    """Refuse criteria that need a target, or classes, which the data set does not have."""
    for criterion in criteria:
        if not criterion.needs_y:
            continue
        if y is None:
            raise ValueError(f"metric '{criterion.name}' needs y, and data set '{dataset}' has none: give (X, y)")
        if _REGISTRY.get(criterion.name) is not criterion:
            continue
        if not may_be_classes(y):
            raise ValueError(f"metric '{criterion.name}' needs classes, but y of data set '{dataset}' holds quantities")
        if np.unique(y).size < 2:
            raise ValueError(f"metric '{criterion.name}': y of data set '{dataset}' holds one class only")


def may_be_classes(y: np.ndarray) -> bool:
    """Whether the values can be names: fractions cannot, and neither can values that never come twice."""
    if np.unique(y).size == y.size:
        return False
    return y.dtype.kind != "f" or bool(np.all(y == np.round(y)))


def split_rows(y: np.ndarray | None, n_samples: int, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows, in ascending order; stratified where y holds classes, which must be found in both."""
    by_class = y is not None and (infer_task(y) == "classification" or _can_stratify(y, test_size))
    if y is not None and np.unique(y).size < 2:
        raise ValueError(f"y holds one class only ({y.tolist()[0]!r})")
    rows = np.arange(n_samples)
    train, test = train_test_split(rows, test_size=test_size, random_state=seed, stratify=y if by_class else None)
    if by_class and y is not None:
        if missing := np.setdiff1d(y, y[train]).tolist():
            raise ValueError(f"no training row of class {missing[0]!r} with seed {seed}; lower test_size={test_size}")
        if np.unique(y[test]).size < 2:
            raise ValueError(f"test rows of one class only with seed {seed}; raise test_size={test_size}")
    return np.sort(train), np.sort(test)


def _can_stratify(y: np.ndarray, test_size: float) -> bool:
    """Whether whole numbers, too many for classes by the look of them, can be split as classes all the same."""
    classes, counts = np.unique(y, return_counts=True)
    fewest = math.floor(min(test_size, 1 - test_size) * y.size)
    return may_be_classes(y) and bool(counts.min() >= 2) and classes.size <= fewest


def judge(
    criterion: Criterion, support: np.ndarray, X: Any, y: np.ndarray | None, X_test: Any, y_test: np.ndarray | None
) -> tuple[float, str]:
    """Value of a criterion, NaN where it has none, and then why; without ``X_test`` the rows of ``X`` are judged."""
    if not support.size:
        return math.nan, "ValueError: no feature was ranked, there is nothing to judge"
    try:
        if X_test is None:
            value = float(criterion.function(X, y, support))
        elif criterion.held_out:
            value = float(criterion.function(X, y, support, X_test, y_test))
        else:
            value = float(criterion.function(X_test, y_test, support))
    except Exception as failure:  # of whatever kind: the other judgments must not suffer from it
        return math.nan, f"{type(failure).__name__}: {failure}"
    return (value, "") if math.isfinite(value) else (math.nan, f"ValueError: {criterion.name} gave {value}")


def _fit(X: Any, y: Any, support: np.ndarray) -> float:
    return fit_score(X, support)


def _fit_thesis(X: Any, y: Any, support: np.ndarray) -> float:
    return fit_score(X, support, mode="thesis")


def _fit_held_out(X: Any, y: Any, support: np.ndarray, X_test: Any, y_test: Any) -> float:
    return fit_score(X, support, X_test=X_test)


def _knn_held_out(X: Any, y: Any, support: np.ndarray, X_test: Any, y_test: Any) -> float:
    return knn_accuracy(X, y, support, X_test=X_test, y_test=y_test)


def _ber_held_out(X: Any, y: np.ndarray, support: np.ndarray, X_test: Any, y_test: np.ndarray) -> float:
    """Balanced error rate of a ridge classifier: a linear model with a closed form, so that it always converges."""
    scale = StandardScaler(with_mean=not sparse.issparse(X))
    model = make_pipeline(scale, RidgeClassifierCV(_PENALTIES, class_weight="balanced"))
    model.fit(safe_indexing(X, support, axis=1), y)
    return balanced_error_rate(y_test, model.predict(safe_indexing(X_test, support, axis=1)))


def _mean_over_clusterings(figure: Callable[[Any, Any], float], X: Any, y: np.ndarray, support: np.ndarray) -> float:
    """Mean agreement of y with k-means from several starts, with as many clusters as there are classes."""
    n_clusters = np.unique(y).size
    # one thread: k-means adds up in the order in which threads come, and the last digits must not depend on that
    with get_threadpool_controller().limit(limits=1), warnings.catch_warnings():
        # a selection on which rows coincide gives fewer clusters than asked for, and its figure says how bad that is
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = [
            cluster_samples(X, support, n_clusters=n_clusters, n_init=1, random_state=start) for start in range(_STARTS)
        ]
    return float(np.mean([figure(y, each) for each in clusters]))


def _clustering_accuracy(X: Any, y: np.ndarray, support: np.ndarray) -> float:
    return _mean_over_clusterings(clustering_accuracy, X, y, support)


def _purity(X: Any, y: np.ndarray, support: np.ndarray) -> float:
    return _mean_over_clusterings(purity, X, y, support)


def _normalized_mutual_info(X: Any, y: np.ndarray, support: np.ndarray) -> float:
    return _mean_over_clusterings(normalized_mutual_info, X, y, support)


_REGISTRY = {
    criterion.name: criterion
    for criterion in (
        Criterion("fit", _fit),
        Criterion("fit-thesis", _fit_thesis),
        Criterion("fit-held-out", _fit_held_out, held_out=True),
        Criterion("knn_accuracy", knn_accuracy, needs_y=True),
        Criterion("knn_accuracy-held-out", _knn_held_out, needs_y=True, held_out=True),
        Criterion("clustering_accuracy", _clustering_accuracy, needs_y=True),
        Criterion("purity", _purity, needs_y=True),
        Criterion("normalized_mutual_info", _normalized_mutual_info, needs_y=True),
        Criterion("balanced_error_rate", _ber_held_out, needs_y=True, higher_is_better=False, held_out=True),
    )
}
