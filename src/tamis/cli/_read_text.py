"""Read CSV and TSV, with polars where it is installed and the standard library where it is not."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import TextIO

import numpy as np

from tamis.cli._frame import Frame, check_distinct
from tamis.cli._polars import from_polars, require_polars

_MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?")


def read_csv(path: Path) -> Frame:
    """Comma-separated values; semicolons and tabs are understood where the header has no comma."""
    with _open(path) as lines:
        header = lines.readline()
    return _read_delimited(path, next((mark for mark in ",;\t" if mark in header), ","))


def read_tsv(path: Path) -> Frame:
    """Tab-separated values."""
    return _read_delimited(path, "\t")


def _read_delimited(path: Path, separator: str) -> Frame:
    with _open(path) as lines:
        header = next(csv.reader(lines, delimiter=separator), [])
    if not header:
        raise ValueError("it is empty")
    check_distinct(header)
    try:
        polars = require_polars("fast reading")
    except ImportError:
        return _read_plain(path, separator)
    table = polars.read_csv(path, separator=separator, null_values=list(_MISSING), infer_schema_length=None)
    return from_polars(table)


def _read_plain(path: Path, separator: str) -> Frame:
    """The same without polars: slower, and with the whole text in memory."""
    with _open(path) as lines:
        reader = csv.reader(lines, delimiter=separator, strict=True)
        header = next(reader)
        rows = []
        for row in reader:
            if row and len(row) != len(header):
                raise ValueError(f"line {reader.line_num} has {len(row)} fields, the header {len(header)}")
            rows.append(row)
    columns = zip(*filter(None, rows), strict=True) if any(rows) else [()] * len(header)
    return Frame({name: _parse_column(cells) for name, cells in zip(header, columns, strict=True)})


def _parse_column(cells: tuple[str, ...]) -> np.ndarray:
    """Whole numbers, else numbers, else booleans, else text."""
    filled = [None if cell in _MISSING else cell for cell in cells]
    for dtype in (np.int64, np.float64):
        try:
            if dtype is np.float64 or None not in filled:
                return np.array([np.nan if cell is None else dtype(cell) for cell in filled], dtype=dtype)
        except (ValueError, OverflowError):
            continue
    if set(filled) <= {"true", "false"}:
        return np.array([cell == "true" for cell in filled])
    return np.array(filled, dtype=object)


def _open(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")
