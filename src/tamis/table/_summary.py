"""What a selection found, as a data frame with one row per source column."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

if TYPE_CHECKING:
    from tamis.table._table_selector import TableSelector

_LIBRARIES = ("pandas", "polars", "pyarrow")


def summarize(selector: TableSelector, library: Any) -> Any:
    """Source columns, the best first; those that were not ranked last, with the cause."""
    names = list(selector.encoding_)
    rest = np.setdiff1d(np.arange(len(names)), selector.order_)
    order = np.concatenate([selector.order_, rest]).astype(int).tolist()
    columns = {
        "feature": [names[j] for j in order],
        "rank": [int(selector.ranking_[j]) for j in order],
        "score": [float(selector.scores_[j]) for j in order],
        "kept": [bool(selector.support_[j]) for j in order],
        "why_not": [_why_not(selector, j, names[j]) for j in order],
        "encoded_as": [", ".join(selector.encoded_as_[names[j]]) for j in order],
        "encoding": [selector.encoding_[names[j]] for j in order],
    }
    library = library or next((name for name in _LIBRARIES if importlib.util.find_spec(name)), None)
    return columns if library is None else nw.from_dict(columns, backend=library).to_native()


def _why_not(selector: TableSelector, j: int, name: str) -> str:
    """Why a column is not kept; empty for those that are."""
    if selector.support_[j]:
        return ""
    if name in selector.not_ranked_:
        return selector.not_ranked_[name]
    if j not in selector.order_:
        return "not ranked by the method"
    return f"after the {selector.n_features_} that {'is' if selector.n_features_ == 1 else 'are'} kept"
