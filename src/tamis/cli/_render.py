"""Results as text for people and as JSON for programs."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from tamis.cli._environment import one_line
from tamis.cli._results import Feature

MOST_SHOWN = 100  # features of a table for people: programs take JSON
_NARROWEST = 20  # characters for a column that is wrapped, however narrow the terminal


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str, width: int | None = None) -> str:
    """Aligned columns; a row of one cell stands alone, as the heading of those that follow.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequence of str
    align : str
        "<" or ">" for each column.
    width : int or None
        Characters in a line, within which the last column is wrapped; None does not wrap.
    """
    lines = [[_cell(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*(line for line in lines if len(line) == len(head)), strict=True)]
    before = sum(widths[:-1]) + 2 * (len(widths) - 1)
    room = max(_NARROWEST, width - before) if width is not None else None
    text = []
    for line in lines:
        if len(line) < len(head):
            text += ["", line[0]]
            continue
        *cells, last = (f"{cell:{side}{size}}" for cell, side, size in zip(line, align, widths, strict=True))
        wrapped = [last] if room is None else textwrap.wrap(last, room, break_on_hyphens=False) or [""]
        text.append("  ".join([*cells, wrapped[0]]).rstrip())
        text += [" " * before + more for more in wrapped[1:]]
    return "\n".join(text)


def _cell(text: str) -> str:
    """One line, as far to the right as it was."""
    return text[: len(text) - len(text.lstrip(" "))] + one_line(text)


def feature_table(features: Sequence[Feature], curve: str = "") -> str:
    """Features in order; ``curve`` heads the column of what the stopping rule saw, if it looked at anything."""
    columns = [
        ("rank", ">", [str(feature.rank) for feature in features]),
        ("feature", "<", [feature.name for feature in features]),
        ("score", ">", [number(feature.score) for feature in features]),
    ]
    if curve:
        columns.append((curve, ">", [number(feature.curve) for feature in features]))
    heads, sides, cells = zip(*columns, strict=True)
    return text_table(heads, list(zip(*cells, strict=True)), "".join(sides))


def number(value: float | None, digits: int = 4) -> str:
    """A few digits, or a dash where there is no number."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}g}"


def json_object(content: dict[str, Any]) -> str:
    """Strict JSON on one line; NaN and infinity, which JSON lacks, are null."""
    return json.dumps(_finite(content), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
