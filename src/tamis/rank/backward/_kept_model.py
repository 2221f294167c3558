"""Models of the named losses on the columns that an elimination keeps, in the units of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, log_softmax, softmax
from sklearn.metrics import accuracy_score, r2_score

from tamis.base import check_model_columns, predictions
from tamis.kernels.arrays.scaling import ldexp_columns, measure_columns, overflow_exponents
from tamis.kernels.arrays.targets import encode_classes
from tamis.kernels.solvers.feature_kernel import Kernel, kernel_between
from tamis.rank.backward._elimination_solver import is_multinomial
from tamis.rank.backward._exact_training import has_free_intercept, is_linear, prepare_columns, train_exactly
from tamis.rank.backward._learners import Learner, pose_subproblems


@dataclass(frozen=True)
class LinearOutputs:
    """Linear functions of the columns, one per model.

    Attributes
    ----------
    coef : ndarray of shape (n_models, k)
    intercept : ndarray of shape (n_models,)
    """

    coef: np.ndarray
    intercept: np.ndarray

    def __call__(self, columns: Any) -> np.ndarray:
        """Outputs of shape (n_samples, n_models)."""
        return np.asarray(columns @ self.coef.T) + self.intercept


@dataclass(frozen=True)
class KernelOutputs:
    """Kernel expansions, one per model, over the training rows that have a weight.

    Attributes
    ----------
    exponents : ndarray of shape (k,)
        Powers of two by which columns are divided first.
    mean, scale : ndarray of shape (k,)
        Columns are then shifted and multiplied by these.
    rows : ndarray of shape (n_rows, k)
        Training rows, so prepared.
    dual : ndarray of shape (n_models, n_rows)
    intercept : ndarray of shape (n_models,)
    kernel, gamma, degree, coef0
        As in scikit-learn; ``gamma`` is a number.
    """

    exponents: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    rows: np.ndarray
    dual: np.ndarray
    intercept: np.ndarray
    kernel: Kernel
    gamma: float
    degree: float
    coef0: float

    def __call__(self, columns: Any) -> np.ndarray:
        """Outputs of shape (n_samples, n_models)."""
        Z = (np.ldexp(np.asarray(columns, dtype=float), -self.exponents) - self.mean) * self.scale
        K = kernel_between(Z, self.rows, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        return K @ self.dual.T + self.intercept


@dataclass(frozen=True)
class KeptRegressor:
    """A regression on the columns that were kept.

    Attributes
    ----------
    features : ndarray of shape (k,)
        The columns of the table that it takes, ascending.
    outputs : LinearOutputs or KernelOutputs
    """

    features: np.ndarray
    outputs: LinearOutputs | KernelOutputs

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns of a linear model, of shape (k,)."""
        return _linear(self.outputs).coef[0]

    @property
    def intercept_(self) -> float:
        """Intercept."""
        return float(self.outputs.intercept[0])

    def predict(self, columns: Any) -> np.ndarray:
        """Predicted values, from the columns that were kept."""
        check_model_columns(columns, self.features)
        return self.outputs(columns)[:, 0]

    def score(self, columns: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions."""
        return float(r2_score(y, self.predict(columns), sample_weight=sample_weight))


@dataclass(frozen=True)
class KeptClassifier:
    """A separation of classes on the columns that were kept.

    Attributes
    ----------
    features : ndarray of shape (k,)
        The columns of the table that it takes, ascending.
    outputs : LinearOutputs or KernelOutputs
    classes_ : ndarray of shape (n_classes,)
    multiclass : {"ovr", "ovo", "multinomial"}
    """

    features: np.ndarray
    outputs: LinearOutputs | KernelOutputs
    classes_: np.ndarray
    multiclass: str

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns of linear models, one row per model."""
        return _linear(self.outputs).coef

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one per model."""
        return self.outputs.intercept

    def decision_function(self, columns: Any) -> np.ndarray:
        """Outputs for the columns that were kept: one per row for two classes (positive: the second), else per class.

        For one model per pair of classes they are the votes, ties being broken by the sums of the outputs.
        """
        check_model_columns(columns, self.features)
        outputs = self.outputs(columns)
        if self.classes_.size == 2:
            return outputs[:, 0]
        return _votes(outputs, self.classes_.size) if self.multiclass == "ovo" else outputs

    def predict(self, columns: Any) -> np.ndarray:
        """Predicted labels, from the columns that were kept."""
        outputs = self.decision_function(columns)
        return predictions(outputs.reshape(len(outputs), -1), self.classes_)

    def score(self, columns: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label is predicted."""
        return float(accuracy_score(y, self.predict(columns), sample_weight=sample_weight))


@dataclass(frozen=True)
class KeptLogisticRegression(KeptClassifier):
    """Logistic regression, which has probabilities; those of one model per class are divided by their sum."""

    def predict_log_proba(self, columns: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes."""
        outputs = self.decision_function(columns)
        if self.classes_.size == 2:
            return log_softmax(np.column_stack([np.zeros_like(outputs), outputs]), axis=1)
        if self.multiclass == "multinomial":
            return log_softmax(outputs, axis=1)
        return np.log(self.predict_proba(columns))

    def predict_proba(self, columns: Any) -> np.ndarray:
        """Probabilities of the classes, one column each."""
        outputs = self.decision_function(columns)
        if self.classes_.size == 2:
            return np.column_stack([expit(-outputs), expit(outputs)])
        if self.multiclass == "multinomial":
            return softmax(outputs, axis=1)
        shares = expit(outputs)
        return shares / shares.sum(axis=1, keepdims=True)


def train_kept_model(
    X: Any,
    y: np.ndarray,
    features: np.ndarray,
    learner: Learner,
    *,
    task: str,
    sample_weight: np.ndarray | None,
    standardize: bool,
    tol: float,
) -> KeptRegressor | KeptClassifier:
    """Train on the columns ``features``, which are all that ``X`` has; ``learner.gamma`` is a number with a kernel."""
    subproblems = pose_subproblems(y, task, learner, sample_weight)
    centered = has_free_intercept(learner)
    table = prepare_columns(X, sample_weight, standardize=standardize, centered=centered)
    solver = train_exactly(table, subproblems, learner, tol)
    exponents, mean, scale = _units(X, sample_weight, standardize=standardize, centered=centered)
    intercept = solver.intercepts()
    if is_multinomial(subproblems[0]):  # a number more for all classes changes nothing: those of zero sum
        intercept = intercept - intercept.mean()
    outputs: LinearOutputs | KernelOutputs
    if is_linear(learner):
        coef = solver.weights() * scale  # type: ignore[union-attr]
        outputs = LinearOutputs(np.ldexp(coef, -exponents), intercept - coef @ mean)
    else:
        dual = solver.dual_variables()
        rows = np.flatnonzero(np.any(dual != 0, axis=0))
        parameters = (learner.kernel, float(learner.gamma), learner.degree, learner.coef0)
        outputs = KernelOutputs(exponents, mean, scale, table[rows], dual[:, rows], intercept, *parameters)
    if task == "regression":
        unit = float(np.abs(y).max()) / float(np.abs(subproblems[0].target).max())
        return KeptRegressor(features, _in_units_of(unit, outputs))
    classes = np.unique(y)
    has_probability = learner.loss == "logistic" and (learner.multiclass != "ovo" or classes.size == 2)
    kind = KeptLogisticRegression if has_probability else KeptClassifier
    return kind(features, outputs, classes, learner.multiclass)


def constant_model(
    y: np.ndarray, learner: Learner, *, task: str, sample_weight: np.ndarray | None
) -> KeptRegressor | KeptClassifier:
    """The model without columns: the mean, or outputs that are the logarithms of the shares of the classes."""
    none = np.empty(0, dtype=np.int64)
    if task == "regression":
        mean = np.average(np.asarray(y, dtype=float), weights=sample_weight)
        return KeptRegressor(none, LinearOutputs(np.empty((1, 0)), np.array([mean])))
    classes, codes = encode_classes(y)
    share = np.log(
        np.bincount(codes, weights=sample_weight) / (len(y) if sample_weight is None else sample_weight.sum())
    )
    intercept = share[1:] - share[:1] if classes.size == 2 else share
    kind = KeptLogisticRegression if learner.loss == "logistic" else KeptClassifier
    return kind(none, LinearOutputs(np.empty((intercept.size, 0)), intercept), classes, "multinomial")


def _units(
    X: Any, sample_weight: np.ndarray | None, *, standardize: bool, centered: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What :func:`prepare_columns` does to the columns: powers of two they are divided by, shifts, and factors."""
    exponents, mean, scale = np.zeros(X.shape[1], dtype=int), np.zeros(X.shape[1]), np.ones(X.shape[1])
    if standardize:
        X = X.astype(float)
        found = overflow_exponents(X)
        exponents = exponents if found is None else found
        mean, scale = measure_columns(ldexp_columns(X, found), sample_weight)
    elif centered and not sparse.issparse(X):
        mean = X.mean(axis=0, dtype=float)
    return exponents, np.zeros_like(mean) if sparse.issparse(X) else mean, scale


def _in_units_of(unit: float, outputs: LinearOutputs | KernelOutputs) -> LinearOutputs | KernelOutputs:
    """The same functions times a number."""
    if unit == 1.0:
        return outputs
    if isinstance(outputs, LinearOutputs):
        return LinearOutputs(unit * outputs.coef, unit * outputs.intercept)
    return replace(outputs, dual=unit * outputs.dual, intercept=unit * outputs.intercept)


def _linear(outputs: LinearOutputs | KernelOutputs) -> LinearOutputs:
    if isinstance(outputs, LinearOutputs):
        return outputs
    raise AttributeError("models with a kernel have no coef_")


def _votes(outputs: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes of the models of all pairs of classes, plus less than half a vote by the sums of their outputs.

    The outputs of pair (i, j), i < j, are positive for class i; the same as in scikit-learn's ``SVC``.
    """
    votes, sums = np.zeros((len(outputs), n_classes)), np.zeros((len(outputs), n_classes))
    for values, (i, j) in zip(outputs.T, combinations(range(n_classes), 2), strict=True):
        votes[:, i] += values > 0
        votes[:, j] += values <= 0
        sums[:, i] += values
        sums[:, j] -= values
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))
