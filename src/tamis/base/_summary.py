"""A fitted ranker as a table for people: one row per feature, in any data frame library, and as HTML."""

from __future__ import annotations

import html
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis._sklearn import move_to

if TYPE_CHECKING:
    from tamis.base._ranker import Ranker

_MOST_SHOWN = 20
_TYPES: dict[str, type] = {"score": float, "why_not": str, "risk": float, "redundant_with": str}
_CHANCES = ("risk", "chance", "p-value")  # labels of curves that speak of single features


def summary_columns(ranker: Ranker) -> dict[str, list[Any]]:
    """What is known of every feature of a fitted ranker, best first; those that were not ranked come last."""
    order, scores, support = (_as_numpy(values) for values in (ranker.order_, ranker.scores_, ranker.support_))
    rest = np.setdiff1d(np.arange(support.size), order)
    features = np.concatenate([order, rest]).astype(int).tolist()
    ranks = _as_numpy(ranker.ranking_)
    is_ranked = np.isin(np.arange(support.size), order)
    return {
        "feature": [ranker.feature_name(j) for j in features],
        "rank": [int(ranks[j]) if is_ranked[j] else None for j in features],
        "score": [float(scores[j]) for j in features],
        "kept": [bool(support[j]) for j in features],
        "why_not": [None if support[j] else _why_not(ranker, j, bool(is_ranked[j])) for j in features],
        "risk": _chances(ranker, features),
        "redundant_with": _redundancies(ranker, features),
    }


def _why_not(ranker: Ranker, feature: int, is_ranked: bool) -> str:
    """Why a feature is not kept."""
    if feature in ranker._excluded_columns:
        return "excluded, as asked"
    return "after the cut" if is_ranked else "not ranked: the search ended before, or it adds nothing"


def _chances(ranker: Ranker, features: list[int]) -> list[float | None]:
    """Risk or p-value at which each feature was taken or refused, where the rule looked at such; None elsewhere."""
    decision = ranker.stop_
    if not any(word in decision.label for word in _CHANCES):
        return [None] * len(features)
    at = dict(zip(decision.curve_at.tolist(), decision.curve.tolist(), strict=True))
    places = _places(ranker)
    return [at.get(places.get(j, 0)) if j not in ranker._forced_columns else None for j in features]


def _places(ranker: Ranker) -> dict[int, int]:
    """Place of every ranked feature in the order, from 1, as the curve counts: features of a group share one."""
    order = _as_numpy(ranker.order_).tolist()
    if ranker.stop_.n_groups is None:
        return {feature: place for place, feature in enumerate(order, start=1)}
    group_of: dict[Any, int] = {}
    return {
        step.feature: group_of.setdefault(step.info.get("group"), len(group_of) + 1)
        for step in ranker.path_
        if "group" in step.info
    }


def _redundancies(ranker: Ranker, features: list[int]) -> list[str | None]:
    """The feature with which another became redundant, where the method tells."""
    if hasattr(ranker, "subproblems_"):  # of several problems, each has its own
        return [None] * len(features)
    redundant = getattr(ranker, "redundant_", None) or {}
    owner = {
        other: ranker.feature_name(int(feature))
        for feature, others in redundant.items()
        if isinstance(feature, (int, np.integer))
        for other in np.asarray(others).tolist()
    }
    return [owner.get(j) for j in features]


def as_frame(columns: dict[str, list[Any]], library: str | None) -> Any:
    """Columns as a data frame of a library; None takes pandas, else polars, and the columns where neither is there."""
    for name in ("pandas", "polars") if library is None else (library,):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return _frame_of(name, module, columns)
    return columns


def _frame_of(library: str, module: Any, columns: dict[str, list[Any]]) -> Any:
    """A data frame whose columns have their types also where they hold nothing."""
    types = {name: kind for name, kind in _TYPES.items() if name in columns}
    if library == "pyarrow":
        arrow = {float: module.float64(), str: module.string()}
        typed = {name: module.array(columns[name], type=arrow[kind]) for name, kind in types.items()}
        return module.table(columns | typed)
    if library == "polars":
        return module.DataFrame(columns, schema_overrides=types)
    return module.DataFrame(columns | {name: module.Series(columns[name], dtype=kind) for name, kind in types.items()})


def as_html(ranker: Ranker) -> str:
    """The kept features with their scores and the reason, for notebooks."""
    return columns_as_html(type(ranker).__name__, summary_columns(ranker), ranker.stop_.reason)


def columns_as_html(name: str, columns: dict[str, list[Any]], reason: str) -> str:
    """The same of the columns of a summary."""
    kept = [place for place, is_kept in enumerate(columns["kept"]) if is_kept]
    has_risk = any(columns["risk"][place] is not None for place in kept)
    head = "<th>rank</th><th style='text-align:left'>feature</th><th>score</th>" + "<th>risk</th>" * has_risk
    rows = "".join(_row(columns, place, has_risk) for place in kept[:_MOST_SHOWN])
    more = f"<p>and {len(kept) - _MOST_SHOWN} more</p>" if len(kept) > _MOST_SHOWN else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}" if kept else ""
    title = f"{name} keeps {len(kept)} of {len(columns['kept'])} features"
    return f"<div><p><b>{html.escape(title)}</b>: {html.escape(reason)}</p>{table}</div>"


def _row(columns: dict[str, list[Any]], place: int, has_risk: bool) -> str:
    cells = [f"<td>{columns['rank'][place] or ''}</td>"]
    cells.append(f"<td style='text-align:left'>{html.escape(str(columns['feature'][place]))}</td>")
    cells.append(f"<td>{_number(columns['score'][place])}</td>")
    if has_risk:
        cells.append(f"<td>{_number(columns['risk'][place])}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.3g}"


def _as_numpy(values: Any) -> np.ndarray:
    return np.asarray(move_to(values, xp=np, device="cpu"))
