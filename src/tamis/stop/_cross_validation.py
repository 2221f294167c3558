"""Cross-validation of the number of features, with the ranking inside each fold."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis._sklearn import HasMethods, StrOptions, safe_indexing
from tamis.base import (
    ROWS,
    Candidates,
    Ranker,
    Ranking,
    StopDecision,
    StoppingRule,
    check_read_by_trees,
    finish,
    open_parallel,
    rankings_at,
    score_weighted,
    split_rows,
    track,
    weight_parameters,
)
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents
from tamis.kernels.arrays.targets import infer_task


class CrossValidation(StoppingRule, name="cross-validation"):
    r"""Keep as many features as a model predicts best with on rows that neither it nor the ranking has seen.

    .. math:: \hat k = \arg\max_k \bar s_k, \qquad
              \bar s_k = \frac1F \sum_f \mathrm{score}(\text{model on the first } k \text{ features of fold } f)

    ``rule="one-se"`` keeps the smallest :math:`k` whose mean score is within one standard error of the best.

    Parameters
    ----------
    estimator : predictor, default=None
        None is logistic regression on standardized columns for classes, ridge regression else.
    cv : int, splitter or iterable, default=5
        Where ``fit`` is given ``row_groups``, a number is one of folds that keep the rows of a group together;
        ``GroupKFold()`` and its like need them.
    scoring : str or callable, default=None
        As in scikit-learn; None is the estimator's own score.
    rule : {"best", "one-se"}, default="best"
    n_features : sequence of int, default=None
        Numbers to try; None is every one up to 10, then steps of a quarter.
    n_jobs : int, default=None
        Folds in parallel, through joblib.

    Notes
    -----
    Ranking on all rows and cross-validating only the model reports errors that are far too low when features are many
    (Ambroise and McLachlan 2002); here the ranker is cloned and fitted in each fold. Cost: one ranking per fold and one
    model per fold and number; a method whose sets are not nested is run anew for each number.

    Columns are given to the model as they are, unless the ranker standardizes them for its own models (``RFE``, with
    ``standardize=True``): then they are standardized here too, by the training rows of the fold.

    ``stop_.fold_scores`` holds the score of every fold at each number of features, ``stop_.curve`` their mean. Weights
    of rows go to the ranker, to the ``fit`` of the model (of a pipeline: of each of its steps) and to the scorer where
    these take them; the reason says so where the model does not. Folds count alike.

    References
    ----------
    Ambroise and McLachlan, PNAS 99, 2002. Hastie, Tibshirani and Friedman, The elements of statistical learning, 7.10.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from tamis import GramSchmidt
    >>> from tamis.datasets import make_linear
    >>> from tamis.stop import CrossValidation
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> GramSchmidt(stop=CrossValidation(LinearRegression(), rule="one-se")).fit(X, y).stop_.n_features
    5
    """

    requires: ClassVar[frozenset[str]] = frozenset({ROWS})

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "rule": [StrOptions({"best", "one-se"})],
        "n_features": ["array-like", None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        n_features: Sequence[int] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_features = n_features
        self.n_jobs = n_jobs

    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut at the number with the best held-out score."""
        if y is None:
            raise ValueError("CrossValidation needs a target y to predict; pass it to fit")
        if ranking.order.size == 0:
            return StopDecision(0, "no feature could be ranked")
        y = np.asarray(y)
        estimator = self._predictor(ranker, candidates, y)
        is_as_given = ranker.ranks_columns() and ranker.fit_scaler(candidates.table, candidates.sample_weight) is None
        check_read_by_trees(estimator, candidates.table if is_as_given else None, y, candidates.column_name)
        sizes = self._sizes(ranking.order.size)
        folds = split_rows(
            self.cv,
            candidates.table,
            y,
            classifier=is_classifier(estimator) and y.ndim == 1,
            kept_rows=ranker._kept_rows,
            row_groups=candidates.row_groups,
        )
        with open_parallel(self.n_jobs, shared=[candidates]) as parallel:
            results = parallel(
                delayed(_fold_scores)(ranker, estimator, self.scoring, candidates, y, train, test, sizes)
                for train, test in folds
            )
            scores = np.array(list(track(ranker, results, task_name="fold", total=len(folds))))
            finish(results)
        mean = scores.mean(axis=0)
        if np.isnan(mean).any():
            raise ValueError("a score of held-out rows is no number (NaN): give another scoring, or fewer folds")
        # one fold alone tells nothing of the spread
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.zeros(sizes.size)
        best = int(np.argmax(mean))
        threshold = mean[best] if self.rule == "best" else mean[best] - error[best]
        chosen = int(np.flatnonzero(mean >= threshold)[0])
        kept = int(sizes[chosen])
        reason = f"{kept} {candidates.noun}s predict best on held-out rows ({mean[chosen]:.4g} +- {error[chosen]:.2g})"
        if self.rule == "one-se":
            reason = (
                f"{kept} {candidates.noun}s are the fewest within one standard error of the best held-out score "
                f"({mean[chosen]:.4g} against {mean[best]:.4g} +- {error[best]:.2g} with {sizes[best]})"
            )
        if candidates.sample_weight is not None and not weight_parameters(estimator, candidates.sample_weight):
            reason += f"; {type(estimator).__name__} takes no weights of rows and was fitted without"
        return StopDecision(
            kept,
            reason,
            curve=mean,
            curve_at=sizes,
            spread=error,
            threshold=float(threshold),
            label="held-out score",
            fold_scores=scores,
        )

    def _predictor(self, ranker: Ranker, candidates: Candidates, y: np.ndarray) -> Any:
        """The estimator that was given, else a linear one for what the ranker takes the target for."""
        if self.estimator is not None:
            return self.estimator
        task = ranker._find_task(y)
        if task == "unsupervised":
            task = infer_task(y) if y.ndim == 1 else "regression"
        return _default_estimator(candidates.table, task == "classification")

    def _sizes(self, most: int) -> np.ndarray:
        """Numbers of features to try."""
        if self.n_features is not None:
            asked = np.unique(np.asarray(self.n_features))
            if asked.size == 0 or asked[0] < 1 or asked[-1] > most:
                raise ValueError(f"n_features must lie between 1 and {most}, the number of ranked features")
            return asked
        sizes = list(range(1, min(10, most) + 1))
        while sizes[-1] < most:
            sizes.append(min(most, int(np.ceil(sizes[-1] * 1.25))))
        return np.array(sizes)


def _fold_scores(
    ranker: Ranker,
    estimator: BaseEstimator,
    scoring: Any,
    candidates: Candidates,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    sizes: np.ndarray,
) -> list[float]:
    """Rank on the training rows, then score the model on what is selected at every k."""
    seen, unseen = candidates.take_rows(train), safe_indexing(candidates.table, test)
    weights = weight_parameters(estimator, seen.sample_weight)
    held_out_weight = None if candidates.sample_weight is None else candidates.sample_weight[test]
    scorer = check_scoring(estimator, scoring=scoring)
    scores = []
    for k, own in zip(sizes, rankings_at(ranker, seen, y[train], sizes.tolist()), strict=True):
        kept = own.order[:k]
        columns, held_out = seen.compute(seen.table, kept), seen.compute(unseen, kept)
        if (exponents := overflow_exponents(columns)) is not None:  # models lose the squares of such values
            columns, held_out = ldexp_columns(columns, exponents), ldexp_columns(held_out, exponents)
        if (scaler := ranker.fit_scaler(columns, seen.sample_weight)) is not None:
            columns, held_out = scaler.transform(columns), scaler.transform(held_out)
        model = clone(estimator).fit(columns, y[train], **weights)
        scores.append(score_weighted(scorer, model, held_out, y[test], held_out_weight))
    return scores


def _default_estimator(table: Any, is_classes: bool) -> BaseEstimator:
    """A plain linear model after standardization, and after imputation of means where values are missing."""
    steps = [StandardScaler(with_mean=False), LogisticRegression(max_iter=1000) if is_classes else RidgeCV()]
    if get_config()["enable_metadata_routing"]:
        steps = [step.set_fit_request(sample_weight=True) for step in steps]
        steps[-1].set_score_request(sample_weight=True)
    values = table.data if sparse.issparse(table) else table
    if isinstance(values, np.ndarray) and np.isnan(values).any():
        steps.insert(0, SimpleImputer(keep_empty_features=True))
    return make_pipeline(*steps)
