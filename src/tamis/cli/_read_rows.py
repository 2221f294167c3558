"""Read a table of text row by row: where polars is not installed, or there are many columns of a few rows each."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tamis.cli._frame import Frame
from tamis.cli._text_cells import CODE, MISSING, parse_cells
from tamis.cli._text_encoding import TextFile, TextSize

_MANY_COLUMNS, _FEW_ROWS = 10_000, 100  # a column of polars takes as long as some hundred cells of Python

Row = list[str | None]


def is_wide(size: TextSize, n_columns: int) -> bool:
    """Whether a table has so many columns, and so few rows, that it is rather read row by row."""
    return n_columns > _MANY_COLUMNS and size.n_marks < _FEW_ROWS * n_columns


def read_rows(file: TextFile, separator: str, names: Sequence[str], n_blank: int = 0) -> tuple[list[Row], int]:
    """Cells of all rows, None where they are missing, and how many empty lines were left out.

    The header is below ``n_blank`` lines.
    """
    rows: list[Row] = []
    n_empty = 0
    with file.open() as lines:
        reader = csv.reader(islice(lines, n_blank, None), delimiter=separator, strict=True)
        next(reader)  # the header
        for row in _whole_cells(reader, n_blank):
            if row and len(row) != len(names):
                cells = f"line {n_blank + reader.line_num} has {len(row)} cells, the header {len(names)}"
                raise ValueError(f"{cells}; {other_mark(separator)}")
            filled = [None if cell in MISSING else cell for cell in row]
            if any(cell is not None for cell in filled):
                rows.append(filled)
            else:
                n_empty += 1
    return rows, n_empty


def _whole_cells(reader: Any, n_blank: int) -> Iterator[list[str]]:
    """Rows of a reader, whose limit on cells is told with the line and what may be meant."""
    try:
        yield from reader
    except csv.Error as error:
        if "field limit" not in str(error):
            raise
        raise ValueError(
            f"line {n_blank + reader.line_num} has a cell of more than {csv.field_size_limit()} characters; shorten "
            "it, or see that no quote is left open"
        ) from None


def other_mark(separator: str) -> str:
    """What to do where lines are not split as they should be."""
    return f"if cells are not separated by {separator!r}, name the mark with --separator"


def parse_rows(rows: Sequence[Row], names: Sequence[str], comma: bool) -> Frame:
    """Columns of rows of cells, each parsed by itself."""
    return Frame({}).with_columns(_parse_columns(rows, names, range(len(names)), comma))


def parse_wide_rows(polars: Any, rows: Sequence[Row], names: Sequence[str], comma: bool) -> Frame:
    """The same, where a row is parsed at once: columns of numbers without holes from arrays, others by themselves."""
    shape = len(names), len(rows)
    whole, numbers = np.empty(shape, dtype=np.int64), np.empty(shape)
    is_whole, is_number = (np.full(len(names), bool(rows)) for _ in range(2))
    has_code, has_point = (np.zeros(len(names), dtype=bool) for _ in range(2))
    for i, row in enumerate(rows):
        cells = polars.Series(row, dtype=polars.String)
        as_whole = cells.cast(polars.Int64, strict=False)
        as_number = (cells.str.replace(",", ".", literal=True) if comma else cells).cast(polars.Float64, strict=False)
        whole[:, i], numbers[:, i] = as_whole.fill_null(0).to_numpy(), as_number.to_numpy()
        is_whole &= as_whole.is_not_null().to_numpy()
        is_number &= as_number.is_not_null().to_numpy()
        has_code |= cells.str.contains(CODE).fill_null(value=False).to_numpy()
        has_point |= cells.str.contains(".", literal=True).fill_null(value=False).to_numpy()
    is_whole &= ~has_code
    is_number &= ~is_whole & ~has_code & ~(comma & has_point)
    others = np.flatnonzero(~is_whole & ~is_number).tolist()
    parsed = _parse_columns(rows, names, others, comma)
    columns = {name: whole[j] if is_whole[j] else numbers[j] for j, name in enumerate(names)}
    return Frame(columns).with_columns(parsed)


def _parse_columns(
    rows: Sequence[Row], names: Sequence[str], places: Iterable[int], comma: bool
) -> dict[str, tuple[np.ndarray, Any]]:
    return {names[j]: parse_cells([row[j] for row in rows], comma) for j in places}
