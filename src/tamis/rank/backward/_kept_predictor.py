"""A selector that predicts: the columns that it kept go to the estimator that was fitted on them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import ClassifierTags, RegressorTags, Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import check_same_namespace, get_namespace, move_to
from tamis.base import fit_weighted
from tamis.kernels.arrays.transfer import like
from tamis.rank.backward._learners import task_of


def _estimator_has(method: str) -> Callable[[KeptColumnsPredictor], bool]:
    """Whether the estimator has a method: the given one, and the fitted one once there is one."""

    def check(selector: KeptColumnsPredictor) -> bool:
        if not isinstance(selector.estimator, str):
            getattr(selector.estimator, method)
        elif not hasattr(selector, "estimator_"):
            return method in selector._methods_before_fit()
        if hasattr(selector, "estimator_"):
            getattr(selector.estimator_, method)
        return True

    return check


class KeptColumnsPredictor:
    """Mixin of selectors whose ``estimator_`` is fitted on the columns that they keep; it has what that has.

    Attributes
    ----------
    estimator : str or estimator
        The name of a loss, or an estimator.
    task : {"auto", "regression", "classification"}
    estimator_ : estimator
        Fitted on the columns that are kept.
    provides : frozenset of str
        What the selector can do.
    """

    provides: ClassVar[frozenset[str]]
    estimator: Any
    task: str
    estimator_: Any

    @property
    def classes_(self) -> np.ndarray:
        """Labels, where ``estimator_`` has them."""
        return self.estimator_.classes_

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Predictions of ``estimator_`` from the columns of ``X`` that are kept.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        columns = self._kept_columns(X, "predict")
        return like(self.estimator_.predict(columns), X)

    @available_if(_estimator_has("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of ``estimator_`` on the columns of ``X`` that are kept.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
            As a rule the accuracy for classes, R² for quantities.
        """
        columns = self._kept_columns(X, "score")
        y = _on_host(y)
        if sample_weight is None:
            return self.estimator_.score(columns, y)
        return self.estimator_.score(columns, y, sample_weight=_on_host(sample_weight))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of ``estimator_`` from the columns of ``X`` that are kept.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        columns = self._kept_columns(X, "decision_function")
        return like(self.estimator_.decision_function(columns), X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes by ``estimator_`` from the columns of ``X`` that are kept.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        columns = self._kept_columns(X, "predict_proba")
        return like(self.estimator_.predict_proba(columns), X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        columns = self._kept_columns(X, "predict_log_proba")
        return like(self.estimator_.predict_log_proba(columns), X)

    def _kept_columns(self, X: Any, method: str) -> Any:
        """What ``transform`` keeps, as the array on which ``estimator_`` was fitted; for the method of that name."""
        check_is_fitted(self)
        if "array_api" in self.provides:
            check_same_namespace(X, self, attribute="scores_", method=method)
        columns = _on_host(self.transform(X))  # type: ignore[attr-defined]
        return nw.from_native(columns).to_numpy() if nw.dependencies.is_into_dataframe(columns) else columns

    def _methods_before_fit(self) -> set[str]:
        """What the model of a named loss can have, before the target is known."""
        methods = {"predict", "score"}
        if "regression" not in (self.task, task_of(self.estimator)):
            methods.add("decision_function")
        return methods | ({"predict_proba", "predict_log_proba"} if self.estimator == "logistic" else set())

    def _tags_of_predictor(self, tags: Tags) -> Tags:
        """Tags of a selector with those of a predictor: of the given estimator, or of the task, where it is known."""
        if isinstance(self.estimator, str):
            task = task_of(self.estimator) or vars(self).get("task_", self.task)
            if task == "classification":
                tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(poor_score=True)
            elif task == "regression":
                tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags(poor_score=True)
            tags.target_tags.multi_output = False
            return tags
        given = deepcopy(get_tags(self.estimator))
        tags.estimator_type = given.estimator_type
        tags.classifier_tags, tags.regressor_tags = given.classifier_tags, given.regressor_tags
        for own in (tags.classifier_tags, tags.regressor_tags):
            if own is not None:
                own.poor_score = True
        tags.target_tags, tags.target_tags.required = given.target_tags, True
        tags.input_tags.sparse = given.input_tags.sparse
        return tags


def _on_host(values: Any) -> Any:
    """Values of another array library as numpy; all else as it is."""
    _, is_array_api = get_namespace(values)
    return move_to(values, xp=np, device="cpu") if is_array_api else values


def fit_given_estimator(
    estimator: Any, columns: Any, y: np.ndarray, sample_weight: np.ndarray | None, *, standardize: bool
) -> Any:
    """A copy of an estimator, fitted on the columns, behind a ``StandardScaler`` if they are to be standardized."""
    if not standardize:
        return fit_weighted(clone(estimator), columns, y, sample_weight)
    scaler = fit_standard_scaler(columns, sample_weight)
    model = fit_weighted(clone(estimator), scaler.transform(columns), y, sample_weight)
    return Pipeline([("standardize", scaler), ("estimator", model)])


def fit_standard_scaler(columns: Any, sample_weight: np.ndarray | None) -> StandardScaler:
    """Zero mean and unit variance; sparse columns are only scaled."""
    scaler = StandardScaler(with_mean=not sparse.issparse(columns)).set_output(transform="default")
    return scaler.fit(columns, sample_weight=sample_weight)


def fit_constant_model(columns: Any, y: np.ndarray, sample_weight: np.ndarray | None, *, task: str) -> Any:
    """The model where no column is kept: the most frequent class, or the mean."""
    model = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    return model.fit(columns, y, sample_weight=sample_weight)
