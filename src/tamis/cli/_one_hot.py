"""One column of zeros and ones per level of a column of text, for measures that take numbers only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamis.cli._frame import Frame, check_distinct, kind, missing
from tamis.cli._memory import NUMBER, UNLIMITED, Budget
from tamis.cli._naming import columns_hold, drop_option


def encode_levels(features: Frame, budget: Budget = UNLIMITED) -> Frame:
    """One column of zeros and ones per level of each text or boolean column."""
    columns: dict[str, np.ndarray] = {}
    names: list[str] = list(features.block_names)
    for name, values in features.columns.items():
        encoded = _one_hot(name, values, budget) if kind(values) in ("text", "boolean") else {name: values}
        names += encoded
        columns |= encoded
    try:
        check_distinct(names)
    except ValueError as error:
        raise ValueError(
            f"--encode: {error}, one of them a level of a text column; rename or --drop the other"
        ) from None
    return replace(features, columns=columns)


def check_numbers(features: Frame) -> None:
    """Refuse columns that are no numbers, by name, with the way out."""
    text = [name for name, values in features.columns.items() if kind(values) == "text"]
    if text:
        raise ValueError(
            f"{columns_hold(text)} text; leave out with {drop_option(text)}, or one-hot encode with --encode"
        )
    if dates := [name for name, values in features.columns.items() if kind(values) not in ("number", "boolean")]:
        raise ValueError(f"{columns_hold(dates)} dates; leave out with {drop_option(dates)}")


def _one_hot(name: str, values: np.ndarray, budget: Budget) -> dict[str, np.ndarray]:
    """Levels in sorted order, and for each the rows that have it."""
    if n_missing := int(missing(values).sum()):
        raise ValueError(f"column '{name}' holds {n_missing} missing values; impute or drop them first")
    text = np.where(values, "true", "false") if values.dtype == bool else values.astype(str)
    labels, codes = np.unique(text, return_inverse=True)
    if labels.size == values.size:
        raise ValueError(
            f"column '{name}' holds a different text in every row, as an identifier does: encoding it tells nothing; "
            f"leave it out with {drop_option([name])}"
        )
    budget.check(
        2 * NUMBER * labels.size * values.size, f"column '{name}' with one column for each of {labels.size} levels"
    )
    return {f"{name}={label}": (codes == code).astype(np.int8) for code, label in enumerate(labels.tolist())}
