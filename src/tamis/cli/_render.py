"""Results as text for people and as JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from tamis.cli._environment import one_line
from tamis.cli._results import Feature


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """Aligned columns; ``align`` has "<" or ">" for each."""
    lines = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(line, align, widths, strict=True)).rstrip()
        for line in lines
    )


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
