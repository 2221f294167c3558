"""Numbers that stand in a table as text: '12,5', '1 200', '$3', '40 %'."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

_MOST_TRIED = 20  # levels looked at before all are
_LEAST_SHARE = 0.8  # of the levels that must be numbers for a column to be called one of numbers
_AROUND = re.compile(
    r"^\s*([-+]?)\s*(?:[$€£¥]|USD|EUR|GBP)?\s*([-+]?)\s*(\d[\d\s.,'_]*|[.,]\d+)\s*(?:[$€£¥%]|USD|EUR|GBP)?\s*$"
)
_PLAIN = re.compile(r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$")
_CODE = re.compile(r"^\s*[-+]?0\d")  # '01234' is a code: as a number it would lose its zero
_THOUSANDS = re.compile(r"^\d{1,3}([\s',.]\d{3})+$")


def read_numbers(levels: Sequence[str]) -> np.ndarray | None:
    """The number that each text stands for, NaN for those that are none; None where the column holds no numbers.

    Whether a comma is a decimal one is decided for the column as a whole: it is unless three digits follow it wherever
    it stands, or a point stands after it.
    """
    if not levels or _share(levels[:_MOST_TRIED]) < _LEAST_SHARE or any(_CODE.match(level) for level in levels):
        return None
    bodies = [_body(level) for level in levels]
    if sum(body is not None for body in bodies) < _LEAST_SHARE * len(levels):
        return None
    has_decimal_comma = _has_decimal_comma([body for body in bodies if body is not None])
    return np.array([np.nan if body is None else _number(body, has_decimal_comma) for body in bodies])


def _share(levels: Sequence[str]) -> float:
    return sum(_body(level) is not None for level in levels) / len(levels)


def _body(level: str) -> str | None:
    """Sign and digits of a number, without its unit."""
    if _PLAIN.match(level):
        return level.strip()
    found = _AROUND.match(level)
    if found is None:
        return None
    sign, digits = found[1] + found[2], found[3].strip()
    if len(sign) > 1 or not _is_well_formed(digits):
        return None
    return sign + digits


def _is_well_formed(digits: str) -> bool:
    """Digits with at most one decimal sign, and in threes where anything else stands between them."""
    whole, _, _ = digits.rpartition("," if digits.rfind(",") > digits.rfind(".") else ".")
    if re.fullmatch(r"\d*[.,]?\d*", digits) or _THOUSANDS.match(digits):
        return True
    return bool(whole) and bool(_THOUSANDS.match(whole) or whole.isdigit()) and bool(re.search(r"[.,]\d*$", digits))


def _has_decimal_comma(bodies: Sequence[str]) -> bool:
    with_comma = [body for body in bodies if "," in body]
    if any(body.rfind(".") > body.rfind(",") for body in with_comma):
        return False
    return not all(re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+", body) for body in with_comma) if with_comma else False


def _number(body: str, has_decimal_comma: bool) -> float:
    text = re.sub(r"[\s'_]", "", body)
    # a column of decimal commas has points between thousands, also in cells without a comma
    is_thousands = has_decimal_comma and re.fullmatch(r"[-+]?\d{1,3}(\.\d{3})+", text)
    if (has_decimal_comma and "," in text) or is_thousands:
        text = text.replace(".", "").replace(",", ".")
    else:
        text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return np.nan
