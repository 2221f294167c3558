"""What an elimination trains: the objective behind a name or a scikit-learn estimator, and its binary subproblems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from tamis.kernels.arrays.scaling import rescale_safely
from tamis.kernels.arrays.targets import (
    class_weights,
    encode_classes,
    encode_target,
    has_fractions,
    infer_task,
    subproblems,
)

LOSSES = ("squared_hinge", "hinge", "logistic", "ridge", "epsilon_insensitive")


@dataclass(frozen=True)
class Learner:
    r"""The objective of the models that are trained here, to their exact optimum.

    .. math:: \tfrac12 \|w\|^2 + \sum_i c_i \ell(y_i, f(x_i)), \qquad f(x) = \langle w, \phi(x) \rangle + b

    Attributes
    ----------
    loss : str
        "hinge", "squared_hinge", "logistic", "ridge" or "epsilon_insensitive".
    cost : float
        Weight c of the loss of a row against half the squared norm of the weights.
    intercept : float
        Value of the column that the intercept multiplies; 0 for none.
    free_intercept : bool
        Whether the intercept is not penalized.
    class_weight : mapping, "balanced" or None
    multiclass : str
        "ovr", "ovo" or "multinomial".
    epsilon : float
        Half the width of the tube in which an epsilon-insensitive loss is zero.
    kernel, gamma, degree, coef0
        As in scikit-learn.
    """

    loss: str
    cost: float
    intercept: float = 1.0
    free_intercept: bool = True
    class_weight: Any = None
    multiclass: str = "ovr"
    kernel: Any = "linear"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    epsilon: float = 0.1


@dataclass(frozen=True)
class Subproblem:
    """One regression or one separation of two classes: its rows, their targets and the cost of an error on each.

    Or of all classes at once, by a multinomial model: targets are then their numbers from 0 on, as integers.
    """

    rows: np.ndarray
    target: np.ndarray
    cost: np.ndarray


def read_estimator(estimator: Any, n_classes: int) -> Learner | None:
    """The objective of a scikit-learn estimator, if it is one that is solved here; None otherwise."""
    if type(estimator) in (SVC, SVR, LinearSVC, LinearSVR, Ridge, RidgeClassifier, LogisticRegression):
        estimator._validate_params()
    if type(estimator) in (SVC, SVR) and estimator.kernel != "precomputed":
        is_regression = type(estimator) is SVR
        return Learner(
            "epsilon_insensitive" if is_regression else "hinge",
            estimator.C,
            class_weight=None if is_regression else estimator.class_weight,
            multiclass="ovo",
            kernel=estimator.kernel,
            gamma=estimator.gamma,
            degree=estimator.degree,
            coef0=estimator.coef0,
            epsilon=estimator.epsilon if is_regression else 0.0,
        )
    if type(estimator) is LogisticRegression and n_classes >= 2 and _is_plain(estimator):
        intercept = float(estimator.fit_intercept)
        weight = estimator.class_weight
        return Learner("logistic", estimator.C, intercept=intercept, class_weight=weight, multiclass="multinomial")
    if type(estimator) is LinearSVR and estimator.loss == "epsilon_insensitive":
        scale = estimator.intercept_scaling if estimator.fit_intercept else 0.0
        return Learner(estimator.loss, estimator.C, intercept=scale, free_intercept=False, epsilon=estimator.epsilon)
    if n_classes > 2 and getattr(estimator, "class_weight", None) is not None:
        return None  # liblinear weighs the one class and not the rest, which the subproblems here cannot express
    if type(estimator) is LinearSVC and estimator.penalty == "l2" and estimator.multi_class == "ovr":
        scale = estimator.intercept_scaling if estimator.fit_intercept else 0.0
        return Learner(
            estimator.loss, estimator.C, intercept=scale, free_intercept=False, class_weight=estimator.class_weight
        )
    if type(estimator) in (Ridge, RidgeClassifier) and _is_number(estimator.alpha) and not estimator.positive:
        weight = getattr(estimator, "class_weight", None)
        intercept = float(estimator.fit_intercept)
        return Learner("ridge", 0.5 / estimator.alpha, intercept=intercept, class_weight=weight)
    return None


def _is_number(alpha: Any) -> bool:
    return np.ndim(alpha) == 0 and alpha > 0


def _is_plain(estimator: LogisticRegression) -> bool:
    """Whether the penalty is the squared norm of the weights alone."""
    ridge = estimator.l1_ratio in (None, 0) and estimator.penalty in ("l2", "deprecated")
    return ridge and estimator.solver != "liblinear" and np.isfinite(estimator.C)


def pose_subproblems(
    y: np.ndarray, task: str, learner: Learner, sample_weight: np.ndarray | None = None
) -> list[Subproblem]:
    """One for a quantity or two classes; beyond, one per class or pair of classes, or one of all classes.

    A row of weight m costs what m copies of it would.
    """
    all_rows = np.arange(len(y))
    if task == "regression":
        values = encode_target(y, task).values
        values = (values if learner.loss == "epsilon_insensitive" else rescale_safely(values))[:, 0]
        cost = np.full(len(y), learner.cost) if sample_weight is None else learner.cost * sample_weight
        return [Subproblem(all_rows, values, cost)]
    classes, codes, cost = classes_and_costs(y, learner, sample_weight)
    if classes.size == 2:
        return [Subproblem(all_rows, np.where(codes == 1, 1.0, -1.0), cost)]
    if learner.multiclass == "multinomial":
        return [Subproblem(all_rows, codes, cost)]
    posed = []
    for against, rows in subproblems(codes, classes.size, learner.multiclass):
        posed.append(Subproblem(rows, np.where(codes[rows] == against[0], 1.0, -1.0), cost[rows]))
    return posed


def classes_and_costs(
    y: np.ndarray, learner: Learner, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, the number of its class for every row, and the cost of an error on it."""
    row_weight = np.ones(len(y)) if sample_weight is None else sample_weight
    classes, codes = encode_classes(y)
    share = class_weights(learner.class_weight, classes, codes, row_weight)
    return classes, codes, learner.cost * row_weight * share[codes]


def task_of(estimator: Any) -> str | None:
    """What a named loss or an estimator is for; None where it is for both."""
    if isinstance(estimator, str):
        return {"auto": None, "ridge": None, "epsilon_insensitive": "regression"}.get(estimator, "classification")
    if is_classifier(estimator):
        return "classification"
    return "regression" if is_regressor(estimator) else None


def resolve_task(y: np.ndarray, task: str, estimator: Any) -> str:
    """Classification or regression; refuses quantities as classes, and tasks that an estimator is not for."""
    name = f"'{estimator}'" if isinstance(estimator, str) else type(estimator).__name__
    own = task_of(estimator)
    if task == "auto":
        task = own or (infer_task(y) if y.ndim == 1 else "regression")
    elif own is not None and own != task:
        raise ValueError(f"task='{task}' contradicts estimator={name}, which is for {own}")
    if task == "classification" and has_fractions(y):
        raise ValueError(
            f"y holds quantities, and estimator={name} needs classes; use estimator='ridge' or a regressor, or give "
            "classes as whole numbers or text in place of continuous values"
        )
    return task
