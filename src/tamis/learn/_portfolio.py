"""What :class:`tamis.AutoSelector` tries: rankers and models, as data."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from tamis.base import Ranker, check_read_by_trees
from tamis.learn._learning_table import LearningTable
from tamis.learn._recursive_relief import RecursiveReliefF
from tamis.rank.backward._rfe import RFE
from tamis.rank.model._tree_selector import TreeSelector
from tamis.rank.sparse._l1_svm import L1SVM
from tamis.rank.sparse._lasso import Lasso
from tamis.rank.univariate._correlation_score import CorrelationScore
from tamis.rank.univariate._fisher_score import FisherScore

ALL = "all"
_FEW_CLASSES = 4
_MOST_STEPS = 100_000  # of libsvm, that no fit goes on for ever
_LEAVES = 15
_LARGEST_GRAM = 5000  # rows of a square matrix whose eigenvectors ridge regression may ask for
_ALPHAS = np.logspace(-3, 4, 15)


@dataclass(frozen=True)
class Problem:
    """What decides which entries fit.

    Attributes
    ----------
    task : {"classification", "regression"}
    n_classes : int
    n_rows, n_columns : int
        Of the table of numbers.
    is_sparse, is_binary : bool
        How it is stored; whether it holds zeros and ones only.
    is_balanced : bool
        Whether every class counts alike in the score.
    random_state : int
    classes : tuple or None
        Labels, where models are to be given these and not their codes.
    """

    task: str
    n_classes: int
    n_rows: int
    n_columns: int
    is_sparse: bool
    is_binary: bool
    is_balanced: bool
    random_state: int
    classes: tuple[Any, ...] | None = None


def describe_problem(
    data: LearningTable, n_classes: int, is_balanced: bool, seed: int, classes: tuple[Any, ...] | None
) -> Problem:
    """What is to be learned of a table."""
    table = data.table
    is_array = isinstance(table, np.ndarray)
    is_binary = is_array and bool(np.isin(table[:100], (0, 1)).all() and np.isin(table, (0, 1)).all())
    return Problem(
        data.task,
        n_classes,
        data.y.size,
        data.n_columns,
        sparse.issparse(table),
        is_binary,
        is_balanced,
        seed,
        classes,
    )


@dataclass(frozen=True)
class RankerEntry:
    """A ranker by name, and how its cost grows with rows and columns."""

    name: str
    make: Callable[[Problem], Ranker]
    fits: Callable[[Problem], bool]
    row_exponent: float = 1.0
    column_exponent: float = 1.0


@dataclass(frozen=True)
class ModelEntry:
    """A model by name, with one setting of its parameters.

    Attributes
    ----------
    name, setting : str
        "rbf-svm", "C=10".
    make : function of a problem
    fits : function of a problem
    scalings : tuple of str
        Those it may be given; empty: whatever suits the table.
    simplicity : int
        Place among models of equal worth, the simplest first.
    row_exponent, column_exponent : float
        How its cost grows.
    is_costly : bool
        Whether it is tried after all that are not.
    place : tuple of int
        Of the setting, on the grid of settings of that name.
    is_further : bool
        Whether it is tried only where a setting next to it is among the best.
    """

    name: str
    setting: str
    make: Callable[[Problem], BaseEstimator]
    fits: Callable[[Problem], bool]
    scalings: tuple[str, ...] = ()
    simplicity: int = 0
    row_exponent: float = 1.0
    column_exponent: float = 1.0
    is_costly: bool = False
    place: tuple[int, ...] = ()
    is_further: bool = False

    @property
    def label(self) -> str:
        """Name with its setting."""
        return f"{self.name} ({self.setting})" if self.setting else self.name

    def is_next_to(self, other: ModelEntry) -> bool:
        """Whether it is the same model with a setting one step further, in one parameter or in several."""
        if self.name != other.name or self.place == other.place:
            return False
        return all(abs(a - b) <= 1 for a, b in zip(self.place, other.place, strict=True))


def _always(problem: Problem) -> bool:
    return True


def _dense(problem: Problem) -> bool:
    return not problem.is_sparse


def _classes(problem: Problem) -> bool:
    return problem.task == "classification"


def _make_first(problem: Problem) -> Ranker:
    return FisherScore() if problem.task == "classification" else CorrelationScore(task="regression")


def _make_rfe(problem: Problem) -> Ranker:
    return RFE(task=problem.task, step=1 if problem.n_columns <= 200 else 0.1)


def _make_l1(problem: Problem) -> Ranker:
    if problem.task == "regression":
        return Lasso(task="regression", alpha="path")
    return L1SVM(task="classification", loss="squared_hinge", C="path", n_alphas=30, tol=1e-4)


def _make_forest(problem: Problem) -> Ranker:
    return TreeSelector(n_trees=100, task=problem.task)


def _make_relief(problem: Problem) -> Ranker:
    return RecursiveReliefF(task=problem.task)


RANKERS: tuple[RankerEntry, ...] = (
    RankerEntry("fisher", _make_first, _always),
    RankerEntry("rfe", _make_rfe, _always, 1.5, 1.0),
    RankerEntry("forest", _make_forest, _always, 1.1, 0.6),
    RankerEntry("relief", _make_relief, _dense, 2.0, 1.0),
    RankerEntry("l1", _make_l1, _always, 1.2, 1.0),
)


def _weights(problem: Problem) -> str | None:
    return "balanced" if problem.is_balanced else None


def _make_ridge(problem: Problem) -> BaseEstimator:
    if min(problem.n_rows, problem.n_columns) > _LARGEST_GRAM:
        given = {"solver": "lsqr", "max_iter": 100, "tol": 1e-3}
        if problem.task == "regression":
            return Ridge(**given)
        return RidgeClassifier(class_weight=_weights(problem), **given)
    if problem.task == "regression":
        return RidgeCV(_ALPHAS)
    return RidgeClassifierCV(_ALPHAS, class_weight=_weights(problem))


@dataclass(frozen=True)
class _Logistic:
    C: float

    def __call__(self, problem: Problem) -> BaseEstimator:
        return LogisticRegression(C=self.C, max_iter=300, class_weight=_weights(problem))


@dataclass(frozen=True)
class _LinearSVM:
    C: float

    def __call__(self, problem: Problem) -> BaseEstimator:
        return LinearSVC(C=self.C, class_weight=_weights(problem), random_state=problem.random_state)


@dataclass(frozen=True)
class _RadialSVM:
    """Makes support vector machines with a Gaussian kernel; ``width`` divides the usual gamma of ``"scale"``."""

    C: float
    width: float

    def __call__(self, problem: Problem) -> BaseEstimator:
        if problem.task == "classification":
            return ScaledSVC(self.C, self.width, class_weight=_weights(problem), max_iter=_MOST_STEPS)
        return TransformedTargetRegressor(
            ScaledSVR(self.C, self.width, max_iter=_MOST_STEPS), transformer=StandardScaler()
        )


class ScaledSVC(SVC):
    """``SVC`` whose ``gamma`` is that of "scale" divided by ``width``, whatever columns it is given."""

    def __init__(self, C: float = 1.0, width: float = 1.0, class_weight: Any = None, max_iter: int = -1) -> None:
        super().__init__(C=C, class_weight=class_weight, max_iter=max_iter, cache_size=500)
        self.width = width

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScaledSVC:
        """Train; see ``SVC``."""
        self.gamma = _gamma(X, self.width)
        return super().fit(X, y, sample_weight)


class ScaledSVR(SVR):
    """``SVR`` whose ``gamma`` is that of "scale" divided by ``width``, whatever columns it is given."""

    def __init__(self, C: float = 1.0, width: float = 1.0, max_iter: int = -1) -> None:
        super().__init__(C=C, max_iter=max_iter, cache_size=500)
        self.width = width

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ScaledSVR:
        """Train; see ``SVR``."""
        self.gamma = _gamma(X, self.width)
        return super().fit(X, y, sample_weight)


def _gamma(X: Any, width: float) -> float:
    variance = float(X.multiply(X).mean() - X.mean() ** 2) if hasattr(X, "multiply") else float(np.var(X))
    return 1.0 / (width * X.shape[1] * variance) if variance > 0 else 1.0


@dataclass(frozen=True)
class _Neighbors:
    n_neighbors: int

    def __call__(self, problem: Problem) -> BaseEstimator:
        n_neighbors = min(self.n_neighbors, max(1, problem.n_rows // 3))
        if problem.task == "classification":
            return KNeighborsClassifier(n_neighbors)
        return KNeighborsRegressor(n_neighbors, weights="distance")


def _make_boosting(problem: Problem) -> BaseEstimator:
    if problem.task == "regression":
        return HistGradientBoostingRegressor(
            early_stopping=False, max_leaf_nodes=_LEAVES, random_state=problem.random_state
        )
    return HistGradientBoostingClassifier(
        early_stopping=False, max_leaf_nodes=_LEAVES, class_weight=_weights(problem), random_state=problem.random_state
    )


@dataclass(frozen=True)
class _NaiveBayes:
    alpha: float

    def __call__(self, problem: Problem) -> BaseEstimator:
        return BernoulliNB(alpha=self.alpha, fit_prior=not problem.is_balanced)


def _few_classes(problem: Problem) -> bool:
    return not problem.is_sparse and (problem.task == "regression" or problem.n_classes <= _FEW_CLASSES)


def _indicators(problem: Problem) -> bool:
    return _classes(problem) and (problem.is_sparse or problem.is_binary)


_AS_IT_IS = ("as it is",)

_COSTS, _WIDTHS = (1.0, 10.0, 100.0, 1000.0), (0.125, 0.35, 1.0, 4.0, 10.0)
_RADIAL = {(C, width): (i, j) for i, C in enumerate(_COSTS) for j, width in enumerate(_WIDTHS)}
_FIRST_RADIAL = ((1.0, 1.0), (10.0, 1.0), (10.0, 4.0), (100.0, 10.0))


def _on_a_line(*values: float) -> dict[tuple[float, ...], tuple[int, ...]]:
    return {(value,): (place,) for place, value in enumerate(values)}


def _settings(
    name: str,
    parameters: tuple[str, ...],
    tried: Mapping[Any, tuple[int, ...]],
    first: tuple[Any, ...],
    make: Callable[..., Callable[[Problem], BaseEstimator]],
    fits: Callable[[Problem], bool],
    simplicity: int,
    row_exponent: float = 1.0,
    scalings: tuple[str, ...] = (),
) -> list[ModelEntry]:
    """One entry per setting; all but the ``first`` are tried only beside the best."""
    return [
        ModelEntry(
            name,
            ", ".join(f"{parameter}={value:g}" for parameter, value in zip(parameters, values, strict=True)),
            make(*values),
            fits,
            scalings,
            simplicity,
            row_exponent,
            place=place,
            is_further=values not in first,
        )
        for values, place in tried.items()
    ]


_ALPHAS_OF_COUNTS, _COSTS_OF_LOSS = _on_a_line(0.01, 0.1, 1.0), _on_a_line(0.01, 0.1, 1.0, 10.0, 100.0)
_COSTS_OF_MARGIN, _NUMBERS_OF_NEIGHBORS = _on_a_line(0.001, 0.01, 0.1, 1.0, 10.0), _on_a_line(1, 3, 5, 9, 17)

MODELS: tuple[ModelEntry, ...] = (
    ModelEntry("ridge", "", _make_ridge, _always, (), 0, 1.0, 1.3),
    *_settings(
        "naive-bayes", ("alpha",), _ALPHAS_OF_COUNTS, ((0.1,),), _NaiveBayes, _indicators, 1, scalings=_AS_IT_IS
    ),
    *_settings("logistic", ("C",), _COSTS_OF_LOSS, ((1.0,),), _Logistic, _classes, 1),
    *_settings("linear-svm", ("C",), _COSTS_OF_MARGIN, ((0.1,),), _LinearSVM, _classes, 1),
    *_settings("knn", ("k",), _NUMBERS_OF_NEIGHBORS, ((5,),), _Neighbors, _always, 2, 2.0),
    *_settings("rbf-svm", ("C", "width"), _RADIAL, _FIRST_RADIAL, _RadialSVM, _always, 3, 2.0),
    ModelEntry("boosting", "", _make_boosting, _few_classes, _AS_IT_IS, 4, 1.0, 1.0, True),
)


class _Given:
    """A ranker or model that the user named: a copy every time."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __call__(self, problem: Problem) -> Any:
        return clone(self.estimator)


def choose_rankers(given: Any) -> list[RankerEntry]:
    """Entries that the user wants; "all" is none of them, for all features are always compared."""
    chosen, extra = _choose("rankers", given, [entry.name for entry in RANKERS], Ranker)
    known = [entry for entry in RANKERS if entry.name in chosen]
    return known + [RankerEntry(name, _Given(ranker), _always, 1.5, 1.2) for name, ranker in extra.items()]


def choose_models(given: Any) -> list[ModelEntry]:
    """Entries that the user wants."""
    names = list(dict.fromkeys(entry.name for entry in MODELS))
    chosen, extra = _choose("models", given, names, BaseEstimator)
    known = [entry for entry in MODELS if entry.name in chosen]
    found = known + [
        ModelEntry(name, "", _Given(model), _always, (), 5, 2.0, 1.0, True) for name, model in extra.items()
    ]
    if not found:
        raise ValueError("models leaves no model: give at least one, such as models=['ridge']")
    return found


def check_models_explain(models: Sequence[ModelEntry], task: str, y: np.ndarray) -> None:
    """Refuse models of the user's that explain something else than the target, or whose trees see nothing of it."""
    for entry in models:
        if not isinstance(entry.make, _Given):
            continue
        model = entry.make.estimator
        fits = is_classifier(model) if task == "classification" else is_regressor(model)
        if not fits:
            taken_for, wanted = ("classes", "classifier") if task == "classification" else ("a quantity", "regressor")
            raise ValueError(
                f"models[{entry.name!r}]={model!r} is no {wanted}, and y was taken as {taken_for}: give a {wanted}"
            )
        check_read_by_trees(model, None, y, str)  # columns are standardized as well


def _choose(parameter: str, given: Any, names: list[str], kind: type) -> tuple[list[str], dict[str, Any]]:
    """Names that stay, and the objects that come in addition or in place of one."""
    if isinstance(given, str):
        given = names if given == "auto" else [given]
    if isinstance(given, Mapping):
        extra = {str(name): each for name, each in given.items() if each is not None}
        for name in (name for name, each in given.items() if each is None):
            _check_known(parameter, name, names)
        for name, each in extra.items():
            if not isinstance(each, kind) or isinstance(each, type):
                raise ValueError(f"{parameter}['{name}'] must be an instance of {kind.__name__}, or None; got {each!r}")
        return [name for name in names if name not in given], extra
    wanted = _as_names(parameter, given, names)
    for name in wanted:
        _check_known(parameter, name, names)
    return [name for name in names if name in wanted], {}


def _as_names(parameter: str, given: Any, names: Sequence[str]) -> list[str]:
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise ValueError(
            f"{parameter}={given!r} must be 'auto', some of {', '.join(names)}, or a mapping from names to objects "
            "(None takes one away)"
        )
    return [name for name in given if name != ALL]


def _check_known(parameter: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise ValueError(f"{parameter}: '{name}' is unknown; {hint}choose among {', '.join(names)}")
