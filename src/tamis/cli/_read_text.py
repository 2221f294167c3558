"""Read CSV and TSV, with polars where it is installed and the standard library where it is not."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tamis.cli._frame import Frame, check_distinct, check_number_of_columns, kind
from tamis.cli._memory import Budget
from tamis.cli._naming import columns_hold
from tamis.cli._polars import from_polars, null_counts, panics_as_errors, require_polars
from tamis.cli._read_rows import is_wide, other_mark, parse_rows, parse_wide_rows, read_rows
from tamis.cli._text_cells import CODE, MISSING, looks_parsed, parse_cells
from tamis.cli._text_encoding import BYTES_PER_CHARACTER, TextFile, decode, encoding_of_head, open_bytes
from tamis.engine import TextLayout

_SEPARATORS = ",;\t|"
_SAMPLE_LINES, _SAMPLE_SIZE = 100, 100_000
_LONGEST_HEADER = 2**20  # bytes, of a file that is read in blocks
_BYTES_PER_CELL = 36.0  # of a table of text in memory, beside its characters, as polars and as numbers
_BYTES_PER_COLUMN = 300.0  # with its name, however few rows there are
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class TextFormat:
    """How a table of text is written; None is found out.

    Attributes
    ----------
    encoding : str or None
    separator : str or None
        Between two cells.
    decimal : str or None
        "." or ",".
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None


def read_csv(path: Path, given: TextFormat, budget: Budget) -> Frame:
    """Values separated by commas, semicolons, tabs or bars, whichever splits all lines alike."""
    return _read_delimited(decode(path, given.encoding, budget), given.separator, given.decimal, budget)


def read_tsv(path: Path, given: TextFormat, budget: Budget) -> Frame:
    """Tab-separated values."""
    return _read_delimited(decode(path, given.encoding, budget), given.separator or "\t", given.decimal, budget)


def find_layout(path: Path, suffix: str, given: TextFormat) -> TextLayout:
    """How the cells of a file that is too large to be read at once are written, from its first lines."""
    try:
        head = _head(path)
        encoding = given.encoding or encoding_of_head(head).removesuffix("-sig")
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"cannot read {path} as {suffix}: {error}") from None
    try:
        head = head.decode(encoding, errors="replace").encode()
    except LookupError:
        raise ValueError(f"--encoding {encoding}: no such encoding; common ones are utf-8, latin-1, utf-16") from None
    try:
        sample, blank = _from_header(_first_lines(TextFile(path, head)))
        separator = given.separator or ("\t" if suffix == ".tsv" else _find_separator(sample))
        names, n_header_lines = _read_header(sample, separator)
    except ValueError as error:
        raise ValueError(f"cannot read {path} as {suffix}: {error}") from None
    rows = _rows(sample, separator)[1:]
    comma = given.decimal == "," or (given.decimal is None and separator != "," and _has_decimal_commas(rows))
    coded = [name for j, name in enumerate(names) if any(len(row) > j and re.fullmatch(CODE, row[j]) for row in rows)]
    decimal = "," if comma else "."
    return TextLayout(separator, decimal, encoding, MISSING, tuple(names), len(blank) + n_header_lines, tuple(coded))


def _head(path: Path) -> bytes:
    """The first bytes of a text file, which may be compressed: its header, if a block may hold it."""
    with open_bytes(path) as file:
        head = more = file.read(_SAMPLE_SIZE)
        while more and b"\n" not in head.lstrip() and len(head) < _LONGEST_HEADER:
            head += (more := file.read(_SAMPLE_SIZE))
    return head


def _read_delimited(file: TextFile, separator: str | None, decimal: str | None, budget: Budget) -> Frame:
    sample, blank = _from_header(_first_lines(file))
    _check_header(sample, separator, budget)
    separator = _find_separator(sample) if separator is None else separator
    names, _ = _read_header(sample, separator)
    comma = decimal == "," or (
        decimal is None and separator != "," and _has_decimal_commas(_rows(sample, separator)[1:])
    )
    size = file.size(separator)
    n_cells = size.n_marks + size.n_lines
    needed = BYTES_PER_CHARACTER * size.n_bytes + _BYTES_PER_CELL * n_cells + _BYTES_PER_COLUMN * len(names)
    budget.check(needed, f"its {n_cells} cells")
    try:
        polars = require_polars("fast reading")
    except ImportError:
        rows, n_empty = read_rows(file, separator, names, len(blank))
        frame = parse_rows(rows, names, comma).with_notes(_empty_note(n_empty))
    else:
        with panics_as_errors(polars):
            if is_wide(size, len(names)):
                rows, n_empty = read_rows(file, separator, names, len(blank))
                frame = parse_wide_rows(polars, rows, names, comma).with_notes(_empty_note(n_empty))
            else:
                frame = _read_polars(polars, file, bool(blank), separator, names, comma, budget)
    notes = [file.note] if file.note else []
    if decimal is None and comma:
        notes.append("read with decimal commas (say --decimal . if they are none)")
    if decimal is None and not comma:
        notes += _decimal_note(frame)
    return frame.with_notes(notes)


def _first_lines(file: TextFile) -> list[str]:
    """Lines to look at: a hundred, fewer where they are long, but two."""
    sample: list[str] = []
    size = 0
    with file.open() as lines:
        for line in lines:
            sample.append(line)
            size += len(line)
            if len(sample) == _SAMPLE_LINES or (size > _SAMPLE_SIZE and len(sample) > 1):
                break
    return sample


def _from_header(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Lines from the first that is not blank on, and the blank ones before it."""
    n_blank = next((n for n, line in enumerate(lines) if line.strip(" \r\n")), None)
    if n_blank is None:
        raise ValueError("it is empty")
    return list(lines[n_blank:]), list(lines[:n_blank])


def _read_header(sample: Sequence[str], separator: str) -> tuple[list[str], int]:
    """Names of the columns, and how many lines they take."""
    reader = csv.reader(sample, delimiter=separator)
    try:
        return _names(next(reader)), reader.line_num
    except csv.Error:
        raise ValueError(
            f"its header has a name of more than {csv.field_size_limit()} characters; give shorter ones, or if it ends "
            f"nowhere, see that no quote is left open; {other_mark(separator)}"
        ) from None


def _check_header(sample: Sequence[str], separator: str | None, budget: Budget) -> None:
    """Refuse lines of more cells than can be looked at, before they are split."""
    n_columns = max(line.count(mark) for line in sample for mark in (separator or _SEPARATORS)) + 1
    if not any('"' in line for line in sample):
        check_number_of_columns(n_columns)
    budget.check(_BYTES_PER_COLUMN * n_columns, f"a line of {n_columns} cells")


def _find_separator(sample: Sequence[str]) -> str:
    """The mark that splits all lines into the same number of cells, the most of them; else the first in the header."""
    marks = [mark for mark in _SEPARATORS if mark in sample[0]]
    widths = {mark: {len(row) for row in _rows(sample, mark) if row} for mark in marks}
    even = {mark: max(found) for mark, found in widths.items() if len(found) == 1 and found != {1}}
    return max(even, key=even.__getitem__) if even else next(iter(marks), ",")


def _rows(sample: Sequence[str], separator: str) -> list[list[str]]:
    """Cells of the first lines, but for the last row, which may go on beyond them; none where a cell is too long."""
    try:
        rows = list(csv.reader(sample, delimiter=separator))
    except csv.Error:
        return []
    return rows[:-1] if len(rows) > 2 and len(sample) > 2 else rows


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Whether cells are numbers with a comma, and none is one with a point."""
    cells = [cell for row in rows for cell in row]
    return any(map(_DECIMAL_COMMA.fullmatch, cells)) and not any(map(_DECIMAL_POINT.fullmatch, cells))


def _names(header: Sequence[str]) -> list[str]:
    """Names of the columns, without blanks around them; those without one are called by their place."""
    stripped = [name.strip() for name in header]
    if not any(stripped):
        raise ValueError(
            f"its first row, of {len(header)} empty cells, names no column; if the header is below it, remove the row, "
            "else write names into it"
        )
    given = stripped if len(set(stripped)) == len(set(header)) else header
    names = [name or f"column_{place}" for place, name in enumerate(given, start=1)]
    check_distinct(names)
    return names


def _read_polars(
    polars: Any, file: TextFile, begins_blank: bool, separator: str, names: Sequence[str], comma: bool, budget: Budget
) -> Frame:
    try:
        table = polars.read_csv(
            file.source(begins_blank=begins_blank),
            separator=separator,
            null_values=list(MISSING),
            infer_schema=False,  # text: to infer types from all rows takes longer than all the rest
            glob=False,
        )
    except polars.exceptions.ComputeError as error:
        if "more fields" not in str(error):
            raise
        raise ValueError(f"a line has more cells than the header, {len(names)}; {other_mark(separator)}") from error
    if len(table.columns) != len(names):
        raise ValueError(f"its header has {len(names)} names, its lines {len(table.columns)} cells")
    table = _with_numbers(polars, table, comma)
    table.columns = list(names)
    n_empty = 0
    if all(null_counts(table)):  # else no line can be empty
        empty = table.select(polars.all_horizontal(polars.all().is_null())).to_series()
        n_empty = int(empty.sum())
        table = table.filter(~empty) if n_empty else table
    frame = from_polars(table, budget)
    parsed = {
        name: parse_cells(values.tolist(), comma)
        for name, values in frame.columns.items()
        if values.dtype == object and kind(values) == "text" and looks_parsed(values)
    }
    return frame.with_columns(parsed).with_notes(_empty_note(n_empty))


def _with_numbers(polars: Any, table: Any, comma: bool) -> Any:
    """The table, all text, with its columns of numbers as such; those with codes such as 01234 stay text."""
    every = polars.all()
    whole = _cast_columns(table, every, polars.Int64)
    rest = table.drop(series.name for series in whole)
    whole += _cast_columns(rest, every, polars.Int128)
    rest = rest.drop(series.name for series in whole if series.name in rest.columns)
    if comma:  # 1.000 is unclear then
        has_point = rest.select(every.str.contains(".", literal=True).any()).row(0)
        rest = rest[[name for name, has in zip(rest.columns, has_point, strict=True) if not has]]
    written = every.str.replace(",", ".", literal=True) if comma else every
    numbers = _cast_columns(rest, written, polars.Float64)
    has_code = table[[series.name for series in whole]].select(every.str.contains(CODE).any())
    return table.with_columns(numbers + [series for series in whole if not has_code[series.name].any()])


def _cast_columns(table: Any, written: Any, dtype: Any) -> list[Any]:
    """Those columns all of whose cells can be read as of a type."""
    cast = table.select(written.cast(dtype, strict=False))
    same = [n == before for n, before in zip(null_counts(cast), null_counts(table), strict=True)]
    return [
        series for series, is_same in zip(cast, same, strict=True) if is_same and series.null_count() < series.len()
    ]


def _decimal_note(frame: Frame) -> list[str]:
    """Which columns of text may be numbers with a decimal comma; or thousands, so that this is not guessed."""
    suspects = [
        name
        for name, values in frame.columns.items()
        if values.dtype == object
        and kind(values) == "text"
        and _DECIMAL_COMMA.fullmatch(next(cell for cell in values if cell is not None))
    ]
    return [f"{columns_hold(suspects)} text such as 1,5: if these are numbers, say --decimal ,"] if suspects else []


def _empty_note(n_empty: int) -> list[str]:
    return [f"left out {n_empty} empty line{'s' if n_empty > 1 else ''}"] if n_empty > 0 else []
