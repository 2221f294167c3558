"""What a selector that has learned a predictor from the kept columns offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import ClassifierTags, RegressorTags, Tags, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis.base._summary import as_frame
from tamis.base._validation import check_one_target, column_name, describe_non_finite, frame_library
from tamis.learn._bias_corrected import Estimate
from tamis.learn._fold_work import decision_values
from tamis.learn._metrics import find_metric
from tamis.learn._scored_labels import codes_of_labels
from tamis.learn._vote import VoteOfPipelines
from tamis.table._source import read_source
from tamis.table._source_columns import ReadsTables, take_columns
from tamis.table._target import read_target


def _can_predict(selector: KeptColumnsPredictor) -> bool:
    if vars(selector).get("task_") == "unsupervised":
        raise AttributeError(
            f"{type(selector).__name__} was fitted without a target y: it selects features and predicts nothing"
        )
    return True


def _has_method(name: str) -> Any:
    def check(selector: KeptColumnsPredictor) -> bool:
        if "estimator_" not in vars(selector) and _can_predict(selector):
            raise AttributeError(f"which model is chosen, and whether it has {name}, is known after fit")
        if not hasattr(selector.estimator_, name):
            raise AttributeError(f"the chosen model has no {name}: {selector.estimator_!r}")
        return True

    return check


class KeptColumnsPredictor(ReadsTables):
    """Base of a selector whose ``estimator_`` was fitted on the columns that it keeps, as they are in the table."""

    _accepts_sparse: ClassVar[bool] = True

    task: str
    support_: np.ndarray
    order_: np.ndarray
    stability_: np.ndarray
    groups_: dict[str, list[str]]
    classes_: np.ndarray
    estimate_: Estimate
    estimator_: Any
    n_features_: int
    task_: str
    _frame_library: str | None
    _takes_missing: bool  # of the columns that are kept

    def feature_name(self, j: int) -> str:
        """What people call source column ``j``, after ``fit``."""
        return column_name(self, j)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Keep the selected columns of ``X``, as they are.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Like the one given to ``fit``.

        Returns
        -------
        of the type of X, of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        X = self._read_input(X, reset=False)
        self._check_kinds(X, np.flatnonzero(self.support_))
        if (isinstance(X, Mapping) and not sparse.issparse(X)) or frame_library(X):
            return take_columns(X, np.flatnonzero(self.support_))
        return self._transform(X)

    def _kept_columns(self, X: Any) -> Any:
        """The kept columns, as ``estimator_`` is given them."""
        check_is_fitted(self)
        X = self._read_input(X, reset=False)
        self._check_kinds(X, np.flatnonzero(self.support_))
        if not self._takes_missing:
            self._check_none_missing(X)
        if isinstance(X, np.ndarray) and "feature_names_in_" in vars(self):  # fit was given names, which encoders go by
            X = dict(zip(self.feature_names_in_.tolist(), X.T, strict=True))
        if self.n_features_:
            return take_columns(X, np.flatnonzero(self.support_))
        return np.zeros((read_source(X).n_rows if not hasattr(X, "shape") else X.shape[0], 1))

    def _check_none_missing(self, X: Any) -> None:
        """Refuse missing values in kept columns, where ``fit`` was given none and no model knows what to do."""
        places, n_missing = np.flatnonzero(self.support_), np.zeros(self.n_features_in_, dtype=np.int64)
        if sparse.issparse(X) or not places.size:
            return
        n_missing[places] = read_source(take_columns(X, places)).n_missing()
        if message := describe_non_finite(self, n_missing, np.zeros_like(n_missing), ": fit was given none"):
            raise ValueError(message)

    @available_if(_can_predict)
    def predict(self, X: Any) -> np.ndarray:
        """Class or quantity of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        kept = self._kept_columns(X)
        return self.estimator_.predict(kept)

    @available_if(_has_method("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, where the chosen model gives such.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        kept = self._kept_columns(X)
        return self.estimator_.predict_proba(kept)

    @available_if(_has_method("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, where the chosen model gives such.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        kept = self._kept_columns(X)
        return self.estimator_.decision_function(kept)

    @available_if(_can_predict)
    def score(self, X: Any, y: Any) -> float:
        """The metric of ``estimate_`` on other rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
        """
        check_is_fitted(self)
        metric = find_metric(self.estimate_.metric, self.task_, 2)
        kept = self._kept_columns(X)
        output = self._decide(kept) if metric.output == "decision" else self.estimator_.predict(kept)
        check_one_target(self, y)
        labels = column_or_1d(read_target(y, len(output)), warn=True)
        if self.task_ == "classification":
            found, labels = labels.tolist(), codes_of_labels(labels, self.classes_)
            if metric.output == "decision" and np.any(labels < 0):
                raise ValueError(f"y holds a class that fit did not see: {found[int(np.argmin(labels))]!r}")
            if metric.output == "label":
                output = codes_of_labels(output, self.classes_)
        losses = metric.losses(labels, output)
        return float(metric.score(metric.scales(labels, np.ones((1, labels.size))) @ losses)[0])

    def _decide(self, kept: Any) -> np.ndarray:
        """How much speaks for the second of two classes."""
        if isinstance(self.estimator_, VoteOfPipelines):
            return self.estimator_.mean_ranks(kept)
        return decision_values(self.estimator_, kept)

    def summary(self) -> Any:
        """What was found, one row per feature, those kept first.

        Returns
        -------
        data frame of the library that ``fit`` was given, else of pandas or polars, else a dict of lists
            Columns ``feature``, ``rank``, ``kept``, ``stability`` (share of the folds in which it is selected) and
            ``would_do_as_well`` (features interchangeable with it).
        """
        check_is_fitted(self)
        rest = np.setdiff1d(np.arange(self.support_.size), self.order_)
        rank_of = {int(j): place for place, j in enumerate(self.order_, start=1)}
        share = dict(zip(np.flatnonzero(self.support_).tolist(), self.stability_.tolist(), strict=True))
        features = np.concatenate([self.order_, rest]).astype(int).tolist()
        columns: dict[str, list[Any]] = {
            "feature": [self.feature_name(j) for j in features],
            "rank": [rank_of.get(j) for j in features],
            "kept": [bool(self.support_[j]) for j in features],
            "stability": [share.get(j) for j in features],
            "would_do_as_well": [", ".join(self.groups_.get(self.feature_name(j), [])) for j in features],
        }
        return as_frame(columns, self._frame_library)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        task = vars(self).get("task_", self.task)
        tags.classifier_tags, tags.regressor_tags = ClassifierTags(), RegressorTags(poor_score=True)
        tags.estimator_type = {"classification": "classifier", "regression": "regressor"}.get(task)
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
