"""Text that a spreadsheet would take for a formula, marked so that it is shown and not computed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tamis.cli._frame import kind

TEXT_FILES = (".csv", ".tsv")
_MARK = "'"
_BLANKS = (
    "[ \u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]*"  # which spreadsheets pass over, in the spelling of all engines
)
_START = rf"^[\t\r\n]|^{_BLANKS}[=+\-@＝＋－＠\t\r\n]"  # noqa: RUF001  # full-width forms are taken for the others
_NUMBER = rf"^{_BLANKS}[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?{_BLANKS}$"
_starts, _is_number = re.compile(_START), re.compile(_NUMBER.strip("^$"))


def check_safe_csv(out: Path | None) -> None:
    """Refuse ``--safe-csv`` where no text is written."""
    if out is None:
        raise ValueError("--safe-csv is for the file that --out FILE writes: give one, or leave --safe-csv out")
    if out.suffix.lower() not in TEXT_FILES:
        raise ValueError(
            f"--safe-csv is for {' and '.join(TEXT_FILES)}, and --out {out} is none: other formats hold types, "
            "and no formulas; leave --safe-csv out"
        )


def marked(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula; numbers as they are."""
    is_formula = _starts.match(text) is not None and _is_number.fullmatch(text) is None
    return f"{_MARK}{text}" if is_formula else text


def marked_names(names: Iterable[str]) -> dict[str, str]:
    """The name that each column is written under."""
    written = {name: marked(name) for name in names}
    for name, other in written.items():
        if name != other and other in written:
            raise ValueError(
                f"--safe-csv: columns {name!r} and {other!r} would both be written as {other!r}: rename one"
            )
    return written


def marked_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns, which are arrays or polars series, under the names and with the cells that are written."""
    return {name: _marked_cells(columns[given]) for given, name in marked_names(columns).items()}


def _marked_cells(values: Any) -> Any:
    if not isinstance(values, np.ndarray):
        return _marked_series(values)
    if kind(values) != "text":
        return values
    return np.array([None if cell is None else marked(cell) for cell in values.tolist()], dtype=object)


def _marked_series(series: Any) -> Any:
    import polars

    if series.dtype not in (polars.String, polars.Categorical, polars.Enum):
        return series
    text = series.cast(polars.String)
    is_formula = (text.str.contains(_START) & ~text.str.contains(_NUMBER)).fill_null(False)
    return (_MARK + text).zip_with(is_formula, text)
