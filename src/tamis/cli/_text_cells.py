"""From cells of text to a column: numbers, booleans, dates, or text as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

CODE = r"^\s*[+-]?0\d+\s*$"  # a number that would lose its zero, in the spelling of polars
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?")

_BOOLEANS = {"true": True, "false": False}
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?")
_NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?|[+-]?inf", re.IGNORECASE)
_CODE = re.compile(r"[+-]?0\d+")  # as a number it would lose its zero

Cells = Sequence[str | None]


def looks_parsed(values: np.ndarray) -> bool:
    """Whether the first cell of a column of text is such that :func:`parse_cells` may find more than text in it."""
    first = next((cell for cell in values if cell is not None), "").strip()
    return first.lower() in _BOOLEANS or any(pattern.fullmatch(first) for pattern in (_NUMBER, _ISO_DATE, _ISO_TIME))


def parse_cells(cells: Cells, comma: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Whole numbers, else numbers, else booleans, else dates, else text; codes such as 01234 are text.

    Parameters
    ----------
    cells : sequence of str or None
        None where a value is missing.
    comma : bool
        Whether numbers are written with a decimal comma.

    Returns
    -------
    values : ndarray
        Missing are NaN, NaT, or None among booleans and text.
    original : ndarray or None
        The cells, where ``values`` would be written in another way: dates, and whole numbers of which some are missing.
    """
    place = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}  # each is read once: dates repeat
    values, original = _parse_distinct(list(place), comma)
    row = np.fromiter((place[cell] for cell in cells), dtype=np.intp, count=len(cells))
    return values[row], None if original is None else original[row]


def _parse_distinct(cells: Cells, comma: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """As :func:`parse_cells`."""
    text = np.array(cells, dtype=object)
    stripped = [None if cell is None or cell.strip() in MISSING else cell.strip() for cell in cells]
    given = [cell for cell in stripped if cell is not None]
    has_holes = len(given) < len(stripped)
    if not given:
        return np.full(len(cells), np.nan), None
    if (whole := _whole_numbers(given)) is not None:
        if any(map(_CODE.fullmatch, given)):
            return text, None
        return (_spread(whole.astype(float), stripped, np.nan), text) if has_holes else (whole, None)
    if (numbers := _numbers(given, comma)) is not None:
        return _spread(numbers, stripped, np.nan), None
    if all(cell.lower() in _BOOLEANS for cell in given):
        booleans = np.array([_BOOLEANS[cell.lower()] for cell in given])
        return (_spread(booleans.astype(object), stripped, None) if has_holes else booleans), None
    if (dates := _dates(given)) is not None:
        return _spread(dates, stripped, np.datetime64("NaT")), text
    return text, None


def _spread(values: np.ndarray, cells: Cells, missing: object) -> np.ndarray:
    """The values of those cells that have one, and ``missing`` at the others."""
    column = np.full(len(cells), missing, dtype=values.dtype)
    column[[cell is not None for cell in cells]] = values
    return column


def _whole_numbers(cells: Sequence[str]) -> np.ndarray | None:
    try:
        numbers = np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    return None if _has(cells, "_") else numbers  # 1_000 is a number to Python alone


def _numbers(cells: Sequence[str], comma: bool) -> np.ndarray | None:
    try:
        numbers = np.array([float(cell.replace(",", ".") if comma else cell) for cell in cells])
    except ValueError:
        return None
    return None if _has(cells, "_") or (comma and _has(cells, ".")) else numbers  # where 1,5 is meant, 1.000 is unclear


def _has(cells: Sequence[str], character: str) -> bool:
    return any(character in cell for cell in cells)


def _dates(cells: Sequence[str]) -> np.ndarray | None:
    """Dates and times of ISO 8601, in local time or all in UTC."""
    if all(map(_ISO_DATE.fullmatch, cells)):
        unit = "datetime64[D]"
    elif all(map(_ISO_TIME.fullmatch, cells)) and len({cell.endswith("Z") for cell in cells}) == 1:
        unit = "datetime64[us]"
    else:
        return None
    try:
        return np.array([cell.removesuffix("Z") for cell in cells], dtype=unit)
    except ValueError:  # the 30th of February
        return None
