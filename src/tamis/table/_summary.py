"""What a selection found, one row per source column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.base._summary import summary_columns

if TYPE_CHECKING:
    from tamis.table._table_selector import TableSelector


def summary_by_source(selector: TableSelector, places: np.ndarray) -> dict[str, list[Any]]:
    """The summary of the ranker, told of source columns: the best first, those that were not ranked last.

    Parameters
    ----------
    selector : TableSelector
        Fitted.
    places : ndarray of int of shape (n_encoded,)
        Source column of every encoded one.
    """
    names = list(selector.encoding_)
    rest = np.setdiff1d(np.arange(len(names)), selector.order_)
    order = np.concatenate([selector.order_, rest]).astype(int).tolist()
    is_ranked = np.isin(np.arange(len(names)), selector.order_)
    risk, redundant_with, why_not = _of_best_column(selector, places, names)
    return {
        "feature": [names[j] for j in order],
        "rank": [int(selector.ranking_[j]) if is_ranked[j] else None for j in order],
        "score": [float(selector.scores_[j]) for j in order],
        "kept": [bool(selector.support_[j]) for j in order],
        "why_not": [
            None if selector.support_[j] else selector.not_ranked_.get(names[j], why_not.get(j)) for j in order
        ],
        "risk": [risk.get(j) for j in order],
        "redundant_with": [redundant_with.get(j) for j in order],
        "encoded_as": [", ".join(selector.encoded_as_[names[j]]) for j in order],
        "encoding": [selector.encoding_[names[j]] for j in order],
    }


def _of_best_column(
    selector: TableSelector, places: np.ndarray, names: list[str]
) -> tuple[dict[int, float], dict[int, str], dict[int, str]]:
    """Risk, redundancy and cause of the best encoded column of every source column."""
    ranker = selector.ranker_
    columns = summary_columns(ranker)
    of_ranker = np.concatenate([ranker.order_, np.setdiff1d(np.arange(places.size), ranker.order_)]).astype(int)
    encoded_names = [ranker.feature_name(k) for k in range(places.size)]
    source_of = {name: names[place] for name, place in zip(encoded_names, places.tolist(), strict=True)}
    risk: dict[int, float] = {}
    redundant_with: dict[int, str] = {}
    why_not: dict[int, str] = {}
    for row, j in enumerate(places[of_ranker].tolist()):
        if j in why_not:
            continue
        why_not[j] = columns["why_not"][row] or ""
        if columns["risk"][row] is not None:
            risk[j] = columns["risk"][row]
        if columns["redundant_with"][row] is not None:
            owner = columns["redundant_with"][row]  # an encoded column, or the label of a group of them
            redundant_with[j] = source_of.get(owner, owner)
    return risk, redundant_with, why_not
