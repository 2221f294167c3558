"""From the columns of a file to what a ranker takes: numbers, and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tamis.cli._frame import Frame, check_distinct
from tamis.cli._methods import suggest

_MOST_NAMED = 5


@dataclass(frozen=True)
class Table:
    """Features and target.

    Attributes
    ----------
    features : Frame
        Columns of numbers; an encoded column is there once per level.
    y : ndarray or None
    target : str or None
        Name of ``y``.
    levels : dict
        For each encoded column, its levels by the name of their column.
    """

    features: Frame
    y: np.ndarray | None = None
    target: str | None = None
    levels: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the columns of numbers."""
        return self.features.names

    @property
    def owners(self) -> list[str]:
        """For each column of numbers, the feature it belongs to: itself, or the column whose level it is."""
        owner = {column: name for name, levels in self.levels.items() for column in levels}
        return [owner.get(name, name) for name in self.names]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.features.n_rows

    @property
    def n_features(self) -> int:
        """Number of features; the levels of an encoded column are one."""
        return len(set(self.owners))


def prepare(
    frame: Frame, *, target: str | None, drop: Sequence[str] = (), encode: bool = False, needed_by: str | None = None
) -> Table:
    """Set the target apart, drop columns, and refuse or encode what is not a number.

    Parameters
    ----------
    frame : Frame
    target : str or None
        Name of the target; None takes the one that the file sets apart, if any.
    drop : sequence of str
        Columns to leave out, each possibly a list with commas.
    encode : bool
        One-hot encode text and boolean columns.
    needed_by : str or None
        What cannot do without a target, for the error.
    """
    target = frame.target if target is None else target
    if target is None and needed_by is not None:
        raise ValueError(f"{needed_by} needs a target; name its column with --target: {_enumerate(frame.names)}")
    y = None
    if target is not None:
        _check_known("--target", target, frame.names)
        y = _as_target(frame.column(target), target)
    dropped = _dropped(drop, frame.names)
    if target in dropped:
        raise ValueError(f"--drop {target}: that is the target")
    features = frame.keep(set(frame.names) - dropped - {target})
    if not features.names:
        raise ValueError("no column is left to rank")
    levels: dict[str, dict[str, str]] = {}
    if encode:
        features, levels = _encode(features)
    _check_numbers(features)
    return Table(features, y, target, levels)


def _check_known(option: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ValueError(f"{option} {name}: no such column{suggest(name, known)}; the file has {_enumerate(known)}")


def _dropped(drop: Sequence[str], known: Sequence[str]) -> set[str]:
    """Columns to drop; a name may itself hold a comma."""
    names = {name for given in drop for name in ([given] if given in known else given.split(","))}
    for name in sorted(names):
        _check_known("--drop", name, known)
    return names


def _as_target(values: np.ndarray, name: str) -> np.ndarray:
    """A target without holes: numbers as they are, text as labels."""
    kind = _kind(values)
    if kind == "other":
        raise ValueError(f"--target {name}: the column holds neither numbers nor text")
    if missing := _count_missing(values):
        raise ValueError(
            f"--target {name}: the column has no value in {missing} of {values.size} rows; drop those rows first"
        )
    return values.astype(str) if kind == "text" else values


def _kind(values: np.ndarray) -> str:
    """What a column holds: "number", "boolean", "text" or "other"."""
    if values.dtype.kind in "fiu":
        return "number"
    if values.dtype.kind == "b":
        return "boolean"
    if values.dtype.kind == "U" or (values.dtype.kind == "O" and all(v is None or isinstance(v, str) for v in values)):
        return "text"
    return "other"


def _count_missing(values: np.ndarray) -> int:
    if values.dtype.kind == "O":
        return sum(value is None for value in values)
    return int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0


def _check_numbers(features: Frame) -> None:
    """Refuse columns that are no numbers, by name, with the way out."""
    kinds = {name: _kind(values) for name, values in features.columns.items()}
    if other := [name for name, kind in kinds.items() if kind == "other"]:
        raise ValueError(
            f"{_columns_hold(other)} neither numbers nor text; drop {_them(other)} with --drop {','.join(other)}"
        )
    if text := [name for name, kind in kinds.items() if kind == "text"]:
        raise ValueError(
            f"{_columns_hold(text)} text; drop {_them(text)} with --drop {','.join(text)} or one-hot encode "
            f"{_them(text)} with --encode"
        )


def _encode(features: Frame) -> tuple[Frame, dict[str, dict[str, str]]]:
    """One column of zeros and ones per level of each text or boolean column."""
    columns: dict[str, np.ndarray] = {}
    names: list[str] = list(features.block_names)
    levels: dict[str, dict[str, str]] = {}
    for name, values in features.columns.items():
        if _kind(values) not in ("text", "boolean"):
            encoded = {name: values}
        else:
            labels, indicators = _one_hot(name, values)
            encoded = {f"{name}={label}": column for label, column in zip(labels, indicators, strict=True)}
            levels[name] = dict(zip(encoded, labels, strict=True))
        names += encoded
        columns |= encoded
    check_distinct(names)
    return replace(features, columns=columns), levels


def _one_hot(name: str, values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Levels in sorted order, and for each the rows that have it."""
    if missing := _count_missing(values):
        raise ValueError(f"column '{name}' holds {missing} missing values; impute or drop them first")
    text = np.where(values, "true", "false") if values.dtype == bool else values.astype(str)
    labels, codes = np.unique(text, return_inverse=True)
    if labels.size == values.size:
        raise ValueError(
            f"column '{name}' holds a different text in every row, as an identifier does: encoding it tells nothing; "
            f"drop it with --drop {name}"
        )
    return labels.tolist(), (codes == np.arange(labels.size)[:, None]).astype(np.int8)


def _columns_hold(names: Sequence[str]) -> str:
    return f"column {_enumerate(names)} holds" if len(names) == 1 else f"columns {_enumerate(names)} hold"


def _enumerate(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMED]) + more


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
