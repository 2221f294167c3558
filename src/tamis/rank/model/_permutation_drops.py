"""How much worse a fitted model does on rows where the values of a column are permuted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import Tags, get_tags

from tamis.base import score_weighted
from tamis.kernels.arrays.blocks import blocks
from tamis.rank.model._model_steps import as_the_library_reads

_ENTRIES = 2**22  # of tables with permuted columns that are predicted in one call
_OUTPUTS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class StackedTables:
    """A fitted model for tables that stand one below another: it predicts all in one call and hands out their parts.

    Scorers of scikit-learn take it for the model.

    Parameters
    ----------
    model : fitted estimator
    stacked : table of shape (n_tables * n_rows, n_features)
    n_rows : int
        Of each table.
    """

    def __init__(self, model: Any, stacked: Any, n_rows: int) -> None:
        self._model, self._stacked, self._n_rows = model, stacked, n_rows
        self._outputs: dict[str, Any] = {}
        self._rows = slice(0, n_rows)
        self._table = stacked[self._rows]

    def choose(self, i: int) -> Any:
        """Speak of table ``i`` from now on, which is handed out."""
        self._rows = slice(i * self._n_rows, (i + 1) * self._n_rows)
        self._table = self._stacked[self._rows]
        return self._table

    def __getattr__(self, name: str) -> Any:
        """Outputs for the chosen table; of any other, and anything else, that of the model."""
        own = getattr(self._model, name)
        if name not in _OUTPUTS:
            return own

        @wraps(own)  # scorers look at its name
        def outputs(X: Any, **parameters: Any) -> Any:
            if X is not self._table or parameters:
                return own(X, **parameters)
            if name not in self._outputs:
                self._outputs[name] = own(self._stacked)
            found = self._outputs[name]
            return [each[self._rows] for each in found] if isinstance(found, list) else found[self._rows]

        return outputs

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self._model)


def permutation_drops(
    model: Any,
    X: Any,
    y: np.ndarray,
    members: Sequence[np.ndarray],
    permutations: np.ndarray,
    scoring: Any = None,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Score of a fitted model less that where the columns of a candidate are permuted, the mean over permutations.

    Parameters
    ----------
    model : fitted estimator
    X : ndarray or sparse array of shape (n_rows, n_features)
        Rows that the model has not seen.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
    members : sequence of ndarray
        Columns of every candidate, which are permuted together.
    permutations : ndarray of shape (n_repeats, n_rows)
        Of the rows; the same for all candidates, so that copies score alike.
    scoring : str, callable or None
    sample_weight : ndarray of shape (n_rows,) or None

    Returns
    -------
    ndarray of shape (n_candidates,)
    """
    scorer = default_scorer(model, y) if scoring is None else check_scoring(model, scoring=scoring)
    table = sparse.csc_array(X) if sparse.issparse(X) else X
    changes = [(np.empty(0, dtype=int), permutations[0])]  # none, for the score that all are compared with
    changes += [(columns, rows) for columns in members for rows in permutations]
    scores = np.empty(len(changes))
    for block in blocks(len(changes), max(1, _ENTRIES // max(1, X.shape[0] * X.shape[1]))):
        some = changes[block]
        tables = StackedTables(model, as_the_library_reads(model, _stack(table, some)), X.shape[0])
        try:
            scores[block] = [
                score_weighted(scorer, tables, tables.choose(i), y, sample_weight) for i in range(len(some))
            ]
        except AttributeError as error:
            raise ValueError(
                f"scoring={scoring!r} needs probabilities, or another output that estimator={model!r} does not give: "
                "choose another score, such as 'balanced_accuracy', or another estimator"
            ) from error
    if not np.isfinite(scores).all():
        raise ValueError(f"scoring={scoring!r} is not finite on held-out rows: there is nothing to rank by")
    return scores[0] - scores[1:].reshape(len(members), len(permutations)).mean(axis=1)


def default_scorer(model: Any, y: np.ndarray) -> Callable[..., float]:
    """Minus the Brier score of a classifier that gives probabilities; else the estimator's own score."""
    if y.ndim == 1 and is_classifier(model):
        return minus_brier_score if hasattr(model, "predict_proba") else check_scoring(model, scoring="accuracy")
    return check_scoring(model, scoring=None if is_classifier(model) else "r2")


def minus_brier_score(model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Minus the mean squared distance between the probabilities of the classes and the class."""
    is_class = np.asarray(y)[:, None] == np.asarray(model.classes_)
    errors = np.sum((model.predict_proba(X) - is_class) ** 2, axis=1)
    return -float(np.average(errors, weights=sample_weight))


def _stack(X: Any, changes: Sequence[tuple[np.ndarray, np.ndarray]]) -> Any:
    """Copies of a table one below another, in each of which some columns have their rows permuted."""
    if sparse.issparse(X):
        return sparse.vstack([_permuted(X, *change) for change in changes], format="csr")
    n_rows = X.shape[0]
    stacked = np.tile(X, (len(changes), 1))
    for i, (columns, rows) in enumerate(changes):
        stacked[i * n_rows : (i + 1) * n_rows, columns] = X[np.ix_(rows, columns)]
    return stacked


def _permuted(X: Any, columns: np.ndarray, rows: np.ndarray) -> Any:
    """A sparse table by columns, some of which have their rows permuted."""
    indices, place = X.indices.copy(), np.argsort(rows)
    for column in columns.tolist():
        stored = slice(X.indptr[column], X.indptr[column + 1])
        indices[stored] = place[X.indices[stored]]
    return sparse.csc_array((X.data, indices, X.indptr), shape=X.shape)
