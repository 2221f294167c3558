"""Importance of features in any model: its weights, its impurities, held-out permutation, or contributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from tamis._sklearn import HasMethods, Interval, StrOptions, safe_indexing
from tamis.base import (
    GROUPS_CONSTRAINT,
    Candidates,
    Ranker,
    Ranking,
    Shared,
    WeightedRanker,
    check_read_by_trees,
    finish,
    fresh,
    may_rescale_trees,
    open_parallel,
    run_in_background,
    track,
)
from tamis.kernels.arrays.targets import encode_classes, infer_task
from tamis.kernels.arrays.tolerances import TRAINED_TIE
from tamis.kernels.arrays.tree_units import in_tree_units, quantity_in_tree_units
from tamis.rank._missing import takes_missing
from tamis.rank._validation import validation_folds
from tamis.rank.model._distinct_inputs import DistinctInputs, distinct_inputs
from tamis.rank.model._forest import grow_forest
from tamis.rank.model._model_derivatives import fit_quietly
from tamis.rank.model._model_steps import (
    as_the_library_reads,
    check_learned_columns,
    library_of,
    moving_step,
    names_columns,
)
from tamis.rank.model._model_weights import mean_contributions, own_kind, weights_of
from tamis.rank.model._permutation_drops import permutation_drops

_FORESTS = (ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)
_TREES = 100  # of the forest where no estimator is given
TREES_IN_DRAWS = 40  # at most: scores of features are means over draws, which adds up to many more
_FOLDS_IN_DRAWS = 3
_TREES_AT_A_TIME = 10  # of a forest, between two looks at Ctrl-C


class ModelImportance(WeightedRanker):
    r"""Rank features by their importance in any model, such as a forest, boosted trees or a pipeline.

    Of a model :math:`f` that was fitted without the rows of fold :math:`F`, "permutation" is what its score
    :math:`s` loses there if the values of a feature are permuted, and "contributions" is the mean size of what the
    feature adds to the outputs; both are means over the folds,

    .. math:: S_j = s(f, X_F) - \frac1R \sum_{r=1}^R s(f, X_F^{\pi_r(j)}) \quad \text{or} \quad
              S_j = \frac{1}{|F|} \sum_{i \in F} \|\phi_j(x_i)\|, \qquad f(x) = \phi_0 + \sum_j \phi_j(x).

    Of a model fitted on all rows, "coef" is :math:`\|w_j\| \sigma_j`, the norm over outputs of its weights per standard
    deviation of the column that they multiply, and "impurity" what it holds as ``feature_importances_``.

    Parameters
    ----------
    estimator : estimator, default=None
        Anything with ``fit`` and ``predict``: scikit-learn's, a pipeline, LightGBM, XGBoost, CatBoost. A clone is
        fitted; ``sklearn.frozen.FrozenEstimator`` keeps one that was fitted before. None is a random forest.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that stand out from permuted copies (``MonteCarloProbe(n_draws=19)``).
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    importance : {"auto", "coef", "impurity", "permutation", "contributions"} or callable, default="auto"
        "auto" is "contributions" for the three libraries of boosted trees, "coef" for a model that has ``coef_`` once
        it is fitted, "impurity" for one that has ``feature_importances_``, else "permutation"; so it is for a pipeline
        whose steps need not keep columns in their places, as scalers and imputers do. A callable gets a model that was
        fitted without a fold, the table and the target of the fold, and gives one score per column, higher is better.
    cv : int, splitter or iterable, default=None
        Folds for all but "coef" and "impurity"; None is 5. A number is lowered to the rows of the smallest class, and
        keeps rows of a group together where ``fit`` is given ``row_groups``.
    scoring : str or callable, default=None
        For "permutation", as in scikit-learn; None is minus the Brier score where a classifier gives probabilities,
        else its accuracy, and the explained share of the variance for quantities.
    n_repeats : int, default=5
        Permutations of every feature in every fold.
    task : {"auto", "regression", "classification"}, default="auto"
        Which forest is grown where no estimator is given, which decides else. "auto" takes labels, two distinct values,
        or at most 20 distinct whole numbers as classes.
    n_jobs : int, default=None
        For the folds, or for the trees where no estimator is given; one that is given has its own.
    random_state : int, RandomState or None, default=None
        Draws permutations, and seeds an estimator where its own ``random_state`` is None.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. They are
        permuted together; their contributions are summed row by row; other importances are summed.

    Attributes
    ----------
    importance_ : str
        What ``importance`` was, or what "auto" came to; "callable" for one.
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` is NaN for constant columns.

    Notes
    -----
    With ``MonteCarloProbe``, the default rule, this is Boruta (Kursa and Rudnicki 2010) with a promise: the chance of
    keeping any noise is at most the risk, whatever the model is. All importances but "permutation" are larger by chance
    for some kinds of columns than for others, such as those with many values in trees, or those that are nearly
    collinear in linear models: the probe then compares features and copies less what each has by chance.

    In draws of a probe, a random forest is grown with 40 trees at most, every candidate is permuted once, three folds
    stand in for ``cv=None``, and a ``random_state`` of the estimator itself is replaced by one per draw. Features and
    copies are ranked alike, so that the risk stays what it is, and the score of a feature is the mean over the draws.

    The model sees the columns that vary, copies once, in an order that depends on their values: neither places nor
    copies matter, and copies share a score. Where an estimator was told what is in which column (``ColumnTransformer``,
    ``categorical_features``) or was fitted before, columns stay where they are, and no probe can be used.

    Trees read single precision and split no node of a tiny variance, so that to them epoch seconds, farads or a
    quantity around 1e-9 are constant. Impurities of a forest by itself do not depend on units: it is given others where
    need be. For any other importance or model with trees such columns and targets are refused.

    Boosted trees are asked for SHAP values themselves: ``predict(pred_contrib=True)`` of LightGBM, ``pred_contribs`` of
    XGBoost, "ShapValues" of CatBoost; of a linear model :math:`\phi_j(x) = w_j (x_j - \bar x_j)`. Several outputs count
    by their Euclidean norm. XGBoost is given classes as numbers from zero up, any other model the labels of ``y``.

    Weights of rows go to ``fit``, to the scorer where it takes them, and into means and standard deviations; permuted
    values change rows, weights do not, which is an approximation. Missing values, several targets and sparse tables go
    to the estimator where it takes them.

    Deviations: permutation importance was proposed for the rows that a tree of a forest has not drawn (Breiman 2001);
    here whole folds are held out, so that any model will do.

    Cost: one fit for "coef" and "impurity"; one per fold else, and for "permutation" predictions of n_samples rows per
    candidate and repeat, many of them in one call.

    References
    ----------
    Breiman, "Random forests", Machine Learning 45, 2001. Kursa and Rudnicki, "Feature selection with the Boruta
    package", J. Stat. Softw. 36, 2010. Lundberg et al., "From local explanations to global understanding with
    explainable AI for trees", Nature Machine Intelligence 2, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from tamis import ModelImportance
    >>> X = np.random.RandomState(0).standard_normal((200, 6))
    >>> y = np.where(X[:, 2] > 0, X[:, 4] > 0.5, X[:, 4] > -0.5)
    >>> ModelImportance(random_state=0).fit(X, y).get_feature_names_out()
    array(['x2', 'x4'], dtype=object)
    >>> ModelImportance(HistGradientBoostingClassifier(max_iter=10), stop=2, random_state=0).fit(X, y).importance_
    'permutation'
    """

    units: ClassVar[str | None] = "refused"
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {"groups", "sparse"}

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "estimator": [HasMethods(["fit", "get_params"]), None],
        "importance": [StrOptions({"auto", "coef", "impurity", "permutation", "contributions"}), callable],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        importance: str | Callable[..., Any] = "auto",
        cv: Any = None,
        scoring: Any = None,
        n_repeats: int = 5,
        task: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        groups: Any = None,
    ) -> None:
        self.estimator = estimator
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.importance = importance
        self.cv = cv
        self.scoring = scoring
        self.n_repeats = n_repeats
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.groups = groups

    def has_biased_scores(self) -> bool:
        """Whether scores of noise depend on its kind: held-out permutation is zero on average, whatever the kind is."""
        return vars(self).get("importance_", self.importance) != "permutation"

    def _takes_missing(self) -> bool:
        return takes_missing(RandomForestClassifier() if self.estimator is None else self.estimator)

    def _takes_several_targets(self) -> bool:
        return self.estimator is None or get_tags(self.estimator).target_tags.multi_output

    def _find_task(self, y: np.ndarray | None) -> str:
        """What the estimator explains, where one is given that says so."""
        _check_predicts(self.estimator)
        of_estimator = None
        if self.estimator is not None and (is_classifier(self.estimator) or is_regressor(self.estimator)):
            of_estimator = "classification" if is_classifier(self.estimator) else "regression"
        if of_estimator is not None and self.task not in ("auto", of_estimator):
            raise ValueError(
                f"task='{self.task}', but estimator={type(self.estimator).__name__} is for {of_estimator}; leave task "
                "out or give another estimator"
            )
        if of_estimator is not None or self.task != "auto":
            return of_estimator or self.task
        return infer_task(np.asarray(y))

    def for_draws(self) -> Ranker:
        """As for every ranker, with fewer trees, folds and permutations; columns must not have to stay in place."""
        task = vars(self).get("task_", self.task)
        if self.estimator is None and task == "auto":
            return fresh(self, n_repeats=1)
        estimator = self._model(task)
        if names_columns(estimator):
            raise ValueError(
                f"estimator={type(estimator).__name__} names columns by their places, or was fitted before, and cannot "
                "rank permuted copies beside them: give a number of features as stop, or CrossValidation()"
            )
        estimator.set_params(**dict.fromkeys(_random_states(estimator)))
        if isinstance(estimator, _FORESTS):
            estimator.set_params(n_estimators=min(estimator.n_estimators, TREES_IN_DRAWS))
        cv = _FOLDS_IN_DRAWS if self.cv is None else self.cv
        importance = (
            vars(self).get("importance_", self.importance) if not callable(self.importance) else self.importance
        )
        return fresh(self, estimator=estimator, importance=importance, cv=cv, n_repeats=1)

    def _model(self, task: str) -> Any:
        """The estimator to be fitted, not fitted."""
        if self.estimator is not None:
            return clone(self.estimator)
        if task == "classification":
            return RandomForestClassifier(_TREES, n_jobs=self.n_jobs)
        return RandomForestRegressor(_TREES, max_features=1 / 3, n_jobs=self.n_jobs)

    def _check_read_by_trees(self, candidates: Candidates, y: np.ndarray | None) -> None:
        """As for every ranker; the trees of a forest whose impurities are read get units in which nothing is lost."""
        model = self._model(self._find_task(y))
        if not self._rescales(model):
            check_read_by_trees(model, candidates.table, np.asarray(y), self.feature_name)

    def _rescales(self, model: Any) -> bool:
        return self.importance in ("auto", "impurity") and may_rescale_trees(model)

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        y, weight = np.asarray(y), candidates.sample_weight
        task = self._find_task(y)
        model = self._model(task)
        _set_seeds(model, rng)
        inputs = distinct_inputs(candidates, in_place=names_columns(model))
        check_learned_columns(model, candidates.column_names)
        inputs = replace(inputs, table=as_the_library_reads(model, inputs.table))
        if library_of(model) == "xgboost" and task == "classification":
            y = encode_classes(y)[1]
        kind = self._kind_before_fit(model)
        if kind in ("auto", "coef", "impurity"):
            table = inputs.table
            if self._rescales(model):
                table, y = in_tree_units(table), y if task == "classification" else quantity_in_tree_units(y)
            fitted, converged = self._fit_all(model, table, y, weight)
            kind = own_kind(fitted) if kind == "auto" else kind
        self.importance_ = kind
        if kind in ("coef", "impurity"):
            scores = inputs.sum_members(weights_of(fitted, kind, inputs.table, weight))
        else:
            folds = self._folds(candidates, y, task)
            scores, converged = self._average_folds(model, inputs, y, weight, folds, rng)
        if not converged:
            name = type(model).__name__
            warnings.warn(
                f"{name} did not converge when ModelImportance fitted it; raise its max_iter, or scale the columns",
                ConvergenceWarning,
                stacklevel=2,
            )
        ranking = Ranking.from_scores(inputs.share(scores, candidates.n_candidates), rounding=TRAINED_TIE)
        return replace(ranking, certificate={"converged": converged})

    def _kind_before_fit(self, model: Any) -> str:
        """The kind of importance; "auto" where a fitted model has to tell."""
        if callable(self.importance):
            return "callable"
        if self.importance != "auto":
            return self.importance
        if moving_step(model) is not None:
            return "permutation"
        return "auto" if library_of(model) is None else "contributions"

    def _fit_all(self, model: Any, table: Any, y: np.ndarray, weight: np.ndarray | None) -> tuple[Any, bool]:
        """A model fitted on all rows, and whether it converged."""
        if type(model) not in _FORESTS or isinstance(getattr(model, "class_weight", None), str):
            return run_in_background(self, partial(_fit, model, table, y, weight), task_name="fit")
        forest = clone(model).set_params(warm_start=True)
        sizes = [*range(_TREES_AT_A_TIME, forest.n_estimators, _TREES_AT_A_TIME), forest.n_estimators]
        grown = grow_forest(forest, sizes, table, y, weight)
        for forest in track(self, grown, task_name="trees", total=len(sizes)):  # noqa: B007
            pass
        return forest, True

    def _folds(self, candidates: Candidates, y: np.ndarray, task: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows to fit on and rows held out."""
        classes = np.unique(y) if task == "classification" and y.ndim == 1 else None
        folds = validation_folds(self.cv, candidates, y, classes, self._kept_rows)
        if folds is None:
            fewest = (
                "y has too few rows" if classes is None else "a class of y has a single row, or is in no fold whole"
            )
            raise ValueError(
                f"{fewest} to hold any out, which importance='{self.importance_}' does: drop that class, or use "
                "'coef' or 'impurity', which are taken from a model of all rows"
            )
        return folds

    def _average_folds(
        self,
        model: Any,
        inputs: DistinctInputs,
        y: np.ndarray,
        weight: np.ndarray | None,
        folds: list[tuple[np.ndarray, np.ndarray]],
        rng: np.random.RandomState,
    ) -> tuple[np.ndarray, bool]:
        """Mean importance on held-out rows over the folds, and whether all models converged."""
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(folds)).tolist()
        measure = partial(_measure, self.importance_, self.importance, self.scoring, self.n_repeats)
        shared = Shared((inputs, y, weight))
        n_jobs = None if self.estimator is None else self.n_jobs  # which are the forest's where none is given
        with open_parallel(n_jobs, shared=[shared]) as parallel:
            found = parallel(
                delayed(_one_fold)(measure, model, shared, *fold, seed) for fold, seed in zip(folds, seeds, strict=True)
            )
            scores, converged = zip(
                *track(self, found, task_name="fold", total=len(folds), interruptible=False), strict=True
            )
            finish(found)
        return np.mean(scores, axis=0), all(converged)


def _check_predicts(estimator: Any) -> None:
    """Refuse what does not predict; a stack of models has ``predict`` only once it is fitted."""
    if estimator is not None and not (hasattr(estimator, "predict") or hasattr(type(estimator), "predict")):
        raise ValueError(f"estimator={estimator!r} has no predict: give a model, or a pipeline that ends in one")


def _fit(model: Any, table: Any, y: np.ndarray, weight: np.ndarray | None) -> tuple[Any, bool]:
    """A fitted clone, and whether it converged."""
    fitted = clone(model)
    return fitted, fit_quietly(fitted, table, y, weight)[1]


def _one_fold(
    measure: Callable[..., np.ndarray],
    model: Any,
    shared: Shared[tuple[DistinctInputs, np.ndarray, np.ndarray | None]],
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> tuple[np.ndarray, bool]:
    """Importance of every ranked candidate on held-out rows, and whether the model converged."""
    inputs, y, weight = shared.value
    seen, unseen = (
        (safe_indexing(inputs.table, rows), y[rows], None if weight is None else weight[rows]) for rows in (train, test)
    )
    fitted, converged = _fit(model, *seen)
    return measure(fitted, seen, unseen, inputs, seed), converged


def _measure(
    kind: str,
    function: Any,
    scoring: Any,
    n_repeats: int,
    model: Any,
    seen: tuple[Any, np.ndarray, np.ndarray | None],
    unseen: tuple[Any, np.ndarray, np.ndarray | None],
    inputs: DistinctInputs,
    seed: int,
) -> np.ndarray:
    """Importance of a model fitted on rows that were seen."""
    table, y, weight = unseen
    if kind == "contributions":
        return mean_contributions(model, seen[0], seen[2], table, weight, inputs.members)
    if kind == "permutation":
        rng = np.random.RandomState(seed)
        permutations = np.array([rng.permutation(table.shape[0]) for _ in range(n_repeats)])
        return permutation_drops(model, table, y, inputs.members, permutations, scoring, weight)
    found = np.asarray(function(model, table, y))
    if found.shape != (table.shape[1],) or found.dtype.kind not in "fiub" or not np.isfinite(found).all():
        raise ValueError(
            f"importance gave an array of type {found.dtype} and shape {found.shape}, but one finite score for each of "
            f"{table.shape[1]} columns of the table that it was given is needed"
        )
    return inputs.sum_members(found.astype(float))


def _random_states(estimator: Any) -> dict[str, Any]:
    """Seeds of an estimator and of those in it, by the names of their parameters."""
    given = estimator.get_params()
    return {name: given[name] for name in sorted(given) if name.split("__")[-1] == "random_state"}


def _set_seeds(estimator: Any, rng: np.random.RandomState) -> None:
    """Seeds where an estimator has none."""
    missing = [name for name, seed in _random_states(estimator).items() if seed is None]
    estimator.set_params(**{name: rng.randint(2**31 - 1) for name in missing})
