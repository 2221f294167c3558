"""Without a target: the features from which all can be recovered, and how well that holds for other rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from tamis.base import Ranker, fresh
from tamis.dimension._two_nn import TwoNN
from tamis.kernels.neighbors.fit_criterion import r2_from_neighbors
from tamis.kernels.neighbors.search import nearest_neighbors
from tamis.learn._bias_corrected import Estimate
from tamis.learn._learning_table import Fold, LearningTable
from tamis.rank.subset._neighbor_faithful import NeighborFaithful
from tamis.table._by_source import first_of_each
from tamis.table._source import Source

_FEWEST_ROWS = 10
_N_SPLITS = 5
_N_NEIGHBORS = 5
_TEST_SIZE = 0.3


@dataclass(frozen=True)
class Faithful:
    """Features from which all can be recovered.

    Attributes
    ----------
    support : ndarray of bool
    order : ndarray
    stability : ndarray
        Share of the splits in which each kept feature is selected.
    estimate : Estimate
        FIT of held-out rows.
    reason : str
    """

    support: np.ndarray
    order: np.ndarray
    stability: np.ndarray
    estimate: Estimate
    reason: str


def without_target(table: Any) -> LearningTable:
    """A table to select from without a target, or a ``ValueError`` where neighbors cannot be told."""
    if sparse.issparse(table):
        raise ValueError("without a target y, neighbors among rows are looked at: give X as a dense table")
    n_rows = table.n_rows if isinstance(table, Source) else table.shape[0]
    if n_rows < _FEWEST_ROWS:
        raise ValueError(
            f"X has {n_rows} rows, too few to judge a selection without a target: give more, or a target y"
        )
    return LearningTable(table, np.zeros(n_rows), "unsupervised")


def select_faithful(
    data: LearningTable, *, row_groups: np.ndarray | None, confidence: float, seed: int, splits: Any
) -> Faithful:
    """Select on all rows, and judge the same procedure on rows that it does not see.

    ``splits`` wraps the loop over splits, to report progress.
    """
    fold = data.all_rows()
    ranker, order = _select(fold, None, seed)
    n_rows = fold.train.shape[0]
    shares, scores, of_random = np.zeros(data.n_columns), [], []
    rng = np.random.RandomState(seed)
    for train, test in splits(_split(n_rows, row_groups, seed)):
        part = data.fold(train, test)
        _, selected = _select(part, order.size, seed)
        shares[selected] += 1
        scores.append(_fit(part, part.columns_of(selected)))
        of_random.append(_fit(part, part.columns_of(rng.permutation(data.n_columns)[: order.size])))
    support = np.zeros(data.n_columns, dtype=bool)
    support[order] = True
    low, high = np.quantile(scores, [(1 - confidence) / 2, (1 + confidence) / 2])
    value = float(np.mean(scores))
    estimate = Estimate(
        "fit", value, float(low), float(high), _fit_itself(fold, order), float(np.mean(of_random)), n_rows
    )
    why = _of_columns(ranker.stop_.reason, fold, data)
    reason = (
        f"{order.size} of {data.n_columns} features are the fewest from which all are recovered about as well as from "
        f"any number ({why}); {_dimension(fold)}; on held-out rows they recover {value:.3g} of the variance of all "
        f"features ({low:.3g} to {high:.3g} over {len(scores)} splits), as many random ones {estimate.chance:.3g}"
    )
    return Faithful(support, order, shares[np.flatnonzero(support)] / len(scores), estimate, reason)


def _of_columns(reason: str, fold: Fold, data: LearningTable) -> str:
    """The ranker's own reason, which counts columns as they were encoded."""
    n_encoded = fold.train.shape[1]
    return reason if n_encoded == data.n_columns else f"of the {n_encoded} columns that they are encoded as: {reason}"


def _select(fold: Fold, n_features: int | None, seed: int) -> tuple[Ranker, np.ndarray]:
    """The ranker, fitted, and the source columns that it keeps, best first."""
    ranker = fresh(NeighborFaithful(random_state=seed), stop="auto" if n_features is None else n_features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(fold.train)
    return ranker, first_of_each(fold.places[np.asarray(ranker.order_)[: ranker.n_features_]])


def _split(n_rows: int, row_groups: np.ndarray | None, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    kind = ShuffleSplit if row_groups is None else GroupShuffleSplit
    return list(
        kind(_N_SPLITS, test_size=_TEST_SIZE, random_state=seed).split(np.empty((n_rows, 0)), groups=row_groups)
    )


def _fit(fold: Fold, columns: np.ndarray) -> float:
    """Mean R² of all columns in test rows, predicted from their neighbors among the training rows on some columns."""
    mean, deviation = fold.train.mean(axis=0), fold.train.std(axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    seen, unseen = (fold.train - mean) / deviation, (fold.test - mean) / deviation
    n_neighbors = min(_N_NEIGHBORS, len(seen))
    neighbors = nearest_neighbors(seen[:, columns], n_neighbors, query=unseen[:, columns])[0]
    return float(np.nanmean(r2_from_neighbors(seen, neighbors, observed=unseen)))


def _fit_itself(fold: Fold, order: np.ndarray) -> float:
    """Leave-one-out on all rows, which the selection has seen: mostly too high."""
    deviation = fold.train.std(axis=0)
    table = (fold.train - fold.train.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    neighbors = nearest_neighbors(table[:, fold.columns_of(order)], min(_N_NEIGHBORS, len(table) - 1))[0]
    return float(np.nanmean(r2_from_neighbors(table, neighbors)))


def _dimension(fold: Fold) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f"the intrinsic dimension of the rows is about {TwoNN().fit(fold.train).dimension_:.2g}"
    except ValueError:
        return "the intrinsic dimension of the rows cannot be told"
