"""What a fitted model tells of its inputs itself: weights of a linear model, importances in trees, contributions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.scaling import standard_deviations
from tamis.rank.model._model_steps import library_of, moving_step, split_steps, transform_by_steps

_NUMBERS = 2**22  # of contributions at a time


def own_kind(model: Any) -> str:
    """What a fitted model tells of its inputs: "coef", "impurity", or nothing, so that "permutation" must."""
    if moving_step(model) is not None:
        return "permutation"
    last = split_steps(model)[1]
    if _has_coef(last):
        return "coef"
    return "impurity" if hasattr(last, "feature_importances_") else "permutation"


def weights_of(model: Any, kind: str, X: Any, sample_weight: np.ndarray | None) -> np.ndarray:
    """Importance of every column of ``X`` by the weights, or the importances in trees, of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    kind : {"coef", "impurity"}
    X : table of shape (n_samples, n_features)
        On which it was fitted.
    sample_weight : ndarray of shape (n_samples,) or None
    """
    _refuse_moved(model, kind)
    last = split_steps(model)[1]
    if kind == "impurity":
        if not hasattr(last, "feature_importances_"):
            raise ValueError(f"estimator={last!r} has no feature_importances_ after fit; use importance='permutation'")
        return _one_per_column(np.asarray(last.feature_importances_, dtype=float), X, last)
    size = np.linalg.norm(_coefficients(last, X), axis=0)
    return size * standard_deviations(transform_by_steps(model, X), sample_weight)


def mean_contributions(
    model: Any,
    seen: Any,
    seen_weight: np.ndarray | None,
    unseen: Any,
    unseen_weight: np.ndarray | None,
    members: list[np.ndarray],
) -> np.ndarray:
    """Mean over rows of the size of what the columns of each candidate add to the outputs of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    seen, unseen : tables of shape (n_rows, n_features)
        Rows on which it was fitted, which set what a linear model's contributions start from, and others.
    seen_weight, unseen_weight : ndarray or None
        Weights of their rows.
    members : list of ndarray
        Columns of every candidate.
    """
    contribute = contributions_of(model, seen, seen_weight)
    codes = np.repeat(np.arange(len(members)), [columns.size for columns in members])
    joined = sparse.csr_array((np.ones(codes.size), (np.concatenate(members), codes)), (unseen.shape[1], len(members)))
    share = np.ones(unseen.shape[0]) if unseen_weight is None else unseen_weight
    table = unseen.tocsr() if sparse.issparse(unseen) else unseen
    n_outputs = contribute(table[:1]).shape[1]
    total = np.zeros(len(members))
    for rows in blocks(table.shape[0], max(1, _NUMBERS // (n_outputs * table.shape[1]))):
        added = contribute(table[rows])
        of_candidates = [np.asarray(added[:, k] @ joined) for k in range(n_outputs)]
        total += share[rows] @ np.sqrt(np.sum(np.square(of_candidates), axis=0))
    return total / share.sum()


def contributions_of(model: Any, seen: Any, seen_weight: np.ndarray | None) -> Callable[[Any], np.ndarray]:
    """A function of rows to what each column adds to each output there, of shape (n_rows, n_outputs, n_features).

    SHAP values of boosted trees, as their libraries compute them; of a linear model its weights times the deviations
    from the means of the rows on which it was fitted.
    """
    _refuse_moved(model, "contributions")
    last, library = split_steps(model)[1], library_of(model)
    if library is not None:
        of_trees = {"lightgbm": _by_lightgbm, "xgboost": _by_xgboost, "catboost": _by_catboost}[library]
        return lambda X: of_trees(last, transform_by_steps(model, X))[:, :, :-1]  # the last is the mean
    if not _has_coef(last):
        raise ValueError(
            f"importance='contributions' is for linear models and for LightGBM, XGBoost and CatBoost, and estimator="
            f"{last!r} is neither; use 'permutation'"
        )
    weights = _coefficients(last, seen)
    Z = transform_by_steps(model, seen)
    share = np.ones(Z.shape[0]) if seen_weight is None else seen_weight
    center = np.asarray(share @ Z) / share.sum()
    return lambda X: (_dense(transform_by_steps(model, X)) - center)[:, None, :] * weights


def _by_lightgbm(model: Any, X: Any) -> np.ndarray:
    """One block of columns per output; sparse tables give sparse ones, a list of them for several outputs."""
    found = model.predict(X, pred_contrib=True)
    if isinstance(found, list):
        return np.stack([_dense(each) for each in found], axis=1)
    return _dense(found).reshape(X.shape[0], -1, X.shape[1] + 1)


def _by_xgboost(model: Any, X: Any) -> np.ndarray:
    table = importlib.import_module("xgboost").DMatrix(X, missing=model.missing)
    last = getattr(model, "best_iteration", None)  # where it stopped early
    found = model.get_booster().predict(
        table, pred_contribs=True, iteration_range=(0, 0) if last is None else (0, last + 1)
    )
    return found.reshape(X.shape[0], -1, X.shape[1] + 1).astype(float)


def _by_catboost(model: Any, X: Any) -> np.ndarray:
    pool = importlib.import_module("catboost").Pool(X, cat_features=model.get_params().get("cat_features"))
    return np.asarray(model.get_feature_importance(pool, type="ShapValues")).reshape(X.shape[0], -1, X.shape[1] + 1)


def _refuse_moved(model: Any, kind: str) -> None:
    if (step := moving_step(model)) is not None:
        raise ValueError(
            f"importance='{kind}' is of the columns that the last step sees, and {type(step).__name__} makes others of "
            "those of X; use importance='permutation', which permutes the columns of X"
        )


def _has_coef(model: Any) -> bool:
    return getattr(model, "coef_", None) is not None


def _coefficients(model: Any, X: Any) -> np.ndarray:
    """Weights of a linear model, of shape (n_outputs, n_features)."""
    if not _has_coef(model):
        raise ValueError(f"estimator={model!r} has no coef_ after fit; use importance='permutation'")
    return _one_per_column(np.atleast_2d(_dense(model.coef_)), X, model)


def _one_per_column(values: np.ndarray, X: Any, model: Any) -> np.ndarray:
    if values.shape[-1] != X.shape[1]:
        raise ValueError(f"estimator={model!r} gives {values.shape[-1]} weights for {X.shape[1]} columns")
    return values


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float)
