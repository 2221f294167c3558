"""The criteria that a comparison judges selections by, found by name, and the rows on which they judge."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV, RidgeCV
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis._sklearn import get_threadpool_controller, safe_indexing
from tamis.assess._clusters import cluster_samples
from tamis.assess._encode_frame import FrameEncoder, is_mixed
from tamis.assess._fit import fit_score
from tamis.assess._knn import knn_accuracy, knn_r2
from tamis.assess._labels import balanced_error_rate, clustering_accuracy, normalized_mutual_info, purity
from tamis.kernels.arrays.targets import infer_task

IN_SAMPLE, HELD_OUT = "in-sample", "held-out"
_CLASSES, _QUANTITIES = "classification", "regression"

_STARTS = 10  # k-means runs that a clustering figure is the mean of, for it depends on the start
_PENALTIES = np.logspace(-1, 4, 6)
_OFTEN = 5  # rows per value, on average, from which whole numbers of many values look like names


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
    task : {"classification", "regression"} or None, default=None
        What y must hold, where one of them would give a figure that means nothing.
    takes_frames : bool, default=False
        Whether it is given data frames with text or missing values as they are; others are for numbers only.

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
    task: str | None = None
    takes_frames: bool = False

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, scoring: Any = None, *, name: str | None = None, encode: bool = True
    ) -> Criterion:
        """Judge by a model that is trained on the kept features of the training rows and scored on held-out rows.

        Parameters
        ----------
        estimator : classifier or regressor of scikit-learn
            Cloned for each judgment; seeds that are None are set to 0, so that figures can be repeated.
        scoring : str or callable, default=None
            As in scikit-learn, higher is better; None is the estimator's own score.
        name : str, default=None
            None is the class of the estimator with the name of the score.
        encode : bool, default=True
            Whether data frames with text or missing values are encoded first, by what the training rows teach (one-hot
            levels, medians and indicators of missing numbers); False hands the kept columns over as they are, to a
            pipeline that encodes them itself.

        Returns
        -------
        Criterion

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from tamis.assess import Criterion
        >>> Criterion.from_estimator(RandomForestClassifier(), "roc_auc").name
        'RandomForestClassifier roc_auc'
        """
        check_scoring(estimator, scoring=scoring)  # what is wrong should be known before any work is done
        seeds = {
            key: 0 if value is None else value
            for key, value in sorted(estimator.get_params().items())
            if key.split("__")[-1] == "random_state"
        }
        if name is None:
            of = "score" if scoring is None else getattr(scoring, "__name__", str(scoring))
            name = f"{type(estimator).__name__} {of}"
        return cls(
            name,
            ModelScore(estimator, scoring, seeds, encode),
            needs_y=True,
            held_out=True,
            task="classification" if is_classifier(estimator) else "regression" if is_regressor(estimator) else None,
            takes_frames=True,
        )


@dataclass(frozen=True)
class ModelScore:
    """Score on held-out rows of a model of the kept features."""

    estimator: BaseEstimator
    scoring: Any
    seeds: Mapping[str, Any]
    encode: bool

    def __call__(self, X: Any, y: Any, support: np.ndarray, X_test: Any, y_test: Any) -> float:
        model = clone(self.estimator).set_params(**self.seeds)
        kept, unseen = (safe_indexing(table, support, axis=1) for table in (X, X_test))
        if self.encode and (is_mixed(kept) or is_mixed(unseen)):
            encoder = FrameEncoder().fit(kept)
            kept, unseen = encoder.transform(kept), encoder.transform(unseen)
        model.fit(kept, y)
        return float(check_scoring(model, scoring=self.scoring)(model, unseen, y_test))


def criterion_names() -> list[str]:
    """Names by which ``metrics=`` finds the criteria."""
    return sorted(_REGISTRY)


def resolve_criteria(
    metrics: str | Criterion | Callable[..., float] | Sequence[Any] | None, *, task: str | None, mixed: bool = False
) -> list[Criterion]:
    """Criteria from names, criteria and plain functions; None chooses by the task, which is None where there is none.

    Tables of numbers are judged by "fit" and "knn_accuracy" or "knn_r2", mixed ones by a model that they are encoded
    for.
    """
    if metrics is None:
        metrics = ("fit",) if task is None else ("fit", _NEIGHBORS[task])
        if mixed:
            if task is None:
                raise ValueError("give metrics: a mixed table without y can be judged by a criterion of your own only")
            metrics = (_MODELS[task],)
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


def check_target(
    criteria: Sequence[Criterion], y: np.ndarray | None, dataset: str, *, task: str | None = None, mixed: bool = False
) -> None:
    """Refuse criteria that need what the data set does not have: a target, classes, quantities, or numbers only."""
    for criterion in criteria:
        name = criterion.name
        if mixed and not criterion.takes_frames:
            raise ValueError(
                f"metric '{name}' is for numbers, and data set '{dataset}' holds text or missing values; use "
                "Criterion.from_estimator(model), which encodes them"
            )
        if not criterion.needs_y:
            continue
        if y is None:
            raise ValueError(f"metric '{name}' needs y, and data set '{dataset}' has none: give (X, y)")
        found = task or ("classification" if may_be_classes(y) else "regression")
        if criterion.task == "classification" and found == "regression":
            raise ValueError(
                f"metric '{name}' needs classes, but y of data set '{dataset}' holds quantities; use 'knn_r2' or "
                "Criterion.from_estimator(regressor), or task='classification' if its numbers are names"
            )
        if criterion.task == "regression" and found == "classification":
            raise ValueError(
                f"metric '{name}' needs quantities, but y of data set '{dataset}' holds classes; use 'knn_accuracy' or "
                "Criterion.from_estimator(classifier), or task='regression' if its numbers are quantities"
            )
        if criterion.task is not None and np.unique(y).size < 2:
            raise ValueError(f"metric '{name}': y of data set '{dataset}' holds one class only")


def may_be_classes(y: np.ndarray) -> bool:
    """Whether the values look like names: labels that are no numbers, two or a few whole ones, or such as come often.

    Whole numbers of many values count as names only where each comes often on average: subjects of a study do, and
    measurements that were rounded do not.
    """
    n_distinct = np.unique(y).size
    if n_distinct == y.size:
        return False
    if infer_task(y) == "classification":
        return y.dtype.kind != "f" or bool(np.all(y == np.round(y)))
    return bool(np.all(y == np.round(y))) and y.size >= _OFTEN * n_distinct


def split_rows(
    y: np.ndarray | None, n_samples: int, test_size: float, seed: int, *, task: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows, in ascending order; stratified where y holds classes, which must be found in both."""
    by_class = (
        y is not None and task != "regression" and (infer_task(y) == "classification" or _can_stratify(y, test_size))
    )
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


def _knn_r2_held_out(X: Any, y: Any, support: np.ndarray, X_test: Any, y_test: Any) -> float:
    return knn_r2(X, y, support, n_neighbors=min(5, len(y)), X_test=X_test, y_test=y_test)


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
        Criterion("knn_accuracy", knn_accuracy, needs_y=True, task=_CLASSES),
        Criterion("knn_accuracy-held-out", _knn_held_out, needs_y=True, held_out=True, task=_CLASSES),
        Criterion("knn_r2", knn_r2, needs_y=True, task=_QUANTITIES),
        Criterion("knn_r2-held-out", _knn_r2_held_out, needs_y=True, held_out=True, task=_QUANTITIES),
        Criterion("clustering_accuracy", _clustering_accuracy, needs_y=True, task=_CLASSES),
        Criterion("purity", _purity, needs_y=True, task=_CLASSES),
        Criterion("normalized_mutual_info", _normalized_mutual_info, needs_y=True, task=_CLASSES),
        Criterion(
            "balanced_error_rate", _ber_held_out, needs_y=True, higher_is_better=False, held_out=True, task=_CLASSES
        ),
    )
}

_NEIGHBORS = {_CLASSES: "knn_accuracy", _QUANTITIES: "knn_r2"}
# of mixed tables, with the columns encoded for them; their own defaults, but for scales that differ
_MODELS = {
    _CLASSES: Criterion.from_estimator(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "balanced_accuracy",
        name="balanced_accuracy",
    ),
    _QUANTITIES: Criterion.from_estimator(make_pipeline(StandardScaler(), RidgeCV()), "r2", name="r2"),
}
