"""From the columns of a file to features, a target, and what else a column may stand for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.base._target_values import as_number
from tamis.cli._frame import Frame, any_missing, kind, missing
from tamis.cli._memory import UNLIMITED, Budget
from tamis.cli._naming import columns_hold, drop_option, enumerate_names, suggest, them
from tamis.kernels.arrays.targets import infer_task

_LONGEST_LABEL = 10_000  # characters; labels are held at the width of the longest
_BYTES_PER_LETTER = 4  # of labels in an array
_MOST_SHOWN = 30
_FEW = 0.05  # share of the rows that hold text, among numbers
LARGEST_WHOLE = 2.0**53  # up to which numbers in double precision are whole numbers exactly


@dataclass(frozen=True)
class Columns:
    """Which columns of a file play which part.

    Attributes
    ----------
    target : str or None
        None takes the one that the file sets apart, if any.
    weights, row_groups : str or None
    drop, keep : sequence of str
        Columns to leave out, and those to keep whatever the rule says; each possibly a list with commas.
    task : str
        What the target is said to be: "auto", "classification" or "regression".
    """

    target: str | None = None
    weights: str | None = None
    row_groups: str | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    task: str = "auto"


@dataclass(frozen=True)
class Table:
    """Features and target.

    Attributes
    ----------
    features : Frame
        Columns to rank, as the file has them.
    y : ndarray or None
    target : str or None
        Name of ``y``.
    target_written : array, series or None
        ``y`` as the file has it.
    weights, row_groups : ndarray or None
        Weight of each row; which rows belong together.
    keep : tuple of str
        Features to keep whatever the rule says.
    n_rows_dropped : int
        Rows left out because they have no target.
    """

    features: Frame
    y: np.ndarray | None = None
    target: str | None = None
    target_written: Any = None
    weights: np.ndarray | None = None
    row_groups: np.ndarray | None = None
    keep: tuple[str, ...] = ()
    n_rows_dropped: int = 0

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return self.features.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.features.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about how the table was read."""
        return self.features.notes

    def is_numeric(self) -> bool:
        """Whether all features are numbers or booleans, and none of the values is missing."""
        columns = list(self.features.columns.values())
        return all(values.dtype.kind in "fiub" for values in columns) and not any_missing(columns)


def prepare(
    frame: Frame,
    columns: Columns,
    *,
    drop_rows_without_target: bool = False,
    needed_by: str | None = None,
    budget: Budget = UNLIMITED,
) -> Table:
    """Set the target, weights and row groups apart, and leave out what is to be left out.

    Parameters
    ----------
    frame : Frame
    columns : Columns
    drop_rows_without_target : bool
        Leave out rows whose target is missing; else they are refused.
    needed_by : str or None
        What cannot do without a target, for the error.
    budget : Budget
        Memory that labels may take, each of which is held as wide as the longest.
    """
    parts = find_parts(frame.names, frame.target, columns, needed_by=needed_by)
    target = parts.target
    n_rows = frame.n_rows
    if target is not None and drop_rows_without_target:
        frame = frame.take_rows(~missing(frame.column(target)))
    features = frame.keep(set(parts.features))
    _check_kinds(features)
    return Table(
        features,
        y=None if target is None else as_target(frame.column(target), target, columns.task, budget),
        target=target,
        target_written=None if target is None else frame.originals.get(target),
        weights=None if columns.weights is None else as_weights(frame.column(columns.weights), columns.weights),
        row_groups=None
        if columns.row_groups is None
        else as_groups(frame.column(columns.row_groups), columns.row_groups),
        keep=tuple(parts.keep),
        n_rows_dropped=n_rows - frame.n_rows,
    )


@dataclass(frozen=True)
class Parts:
    """Which columns play which part, once all of them are known to be there.

    Attributes
    ----------
    target, weights, row_groups : str or None
    features, keep : list of str
        Columns to rank, and those of them that stay.
    """

    target: str | None
    weights: str | None
    row_groups: str | None
    features: list[str]
    keep: list[str]


def find_parts(known: Sequence[str], own_target: str | None, columns: Columns, *, needed_by: str | None) -> Parts:
    """Refuse columns that are not there, or play two parts, and find those that are left to rank.

    Parameters
    ----------
    known : sequence of str
        Columns of the file.
    own_target : str or None
        The one that the file itself sets apart.
    columns : Columns
        What was asked for.
    needed_by : str or None
        What cannot do without a target, for the error.
    """
    target = own_target if columns.target is None else columns.target
    if target is None and needed_by is not None:
        raise ValueError(f"{needed_by} needs a target; name its column with --target: {enumerate_names(known)}")
    apart = {"--target": target, "--weights": columns.weights, "--row-groups": columns.row_groups}
    _check_apart(apart, known)
    dropped = _names("--drop", columns.drop, known)
    keep = _names("--keep", columns.keep, known)
    for option, name in apart.items():
        if name in dropped or name in keep:
            raise ValueError(
                f"{'--drop' if name in dropped else '--keep'} {shlex.quote(str(name))}: that is the {option[2:]}"
            )
    if both := sorted(set(keep) & set(dropped)):
        raise ValueError(f"--keep {shlex.quote(both[0])}: --drop leaves it out")
    apart_names = set(dropped) | set(apart.values())
    features = [name for name in known if name not in apart_names]
    if not features:
        raise ValueError("no column is left to rank")
    return Parts(target, columns.weights, columns.row_groups, features, keep)


def _check_apart(apart: dict[str, str | None], known: Sequence[str]) -> None:
    """Columns that are no features must be there, and play one part each."""
    parts: dict[str, str] = {}
    for option, name in apart.items():
        if name is None:
            continue
        _check_known(option, name, known)
        if name in parts:
            raise ValueError(f"{option} {shlex.quote(name)}: that is already the column of {parts[name]}")
        parts[name] = option


def _check_known(option: str, name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    hint = "; if its cells are separated by another mark, name it with --separator" if len(known) == 1 else ""
    held = f"the file has {enumerate_names(known)}{hint}"
    raise ValueError(f"{option} {shlex.quote(name)}: no such column{suggest(name, known)}; {held}")


def _names(option: str, given: Sequence[str], known: Sequence[str]) -> list[str]:
    """Names that an option lists; a name may itself hold a comma."""
    names = dict.fromkeys(name for each in given for name in _split(each, set(known)))
    for name in names:
        _check_known(option, name, known)
    return list(names)


def _split(given: str, known: set[str]) -> list[str]:
    """``given`` at those of its commas that leave the longest known name first; at every comma where none is known."""
    most_parts = 1 + max((name.count(",") for name in known), default=0)
    parts, names = given.split(","), []
    while parts:
        sizes = range(min(most_parts, len(parts)), 1, -1)
        n = next((n for n in sizes if ",".join(parts[:n]) in known), 1)
        names.append(",".join(parts[:n]))
        parts = parts[n:]
    return names


def as_target(values: np.ndarray, name: str, task: str = "auto", budget: Budget = UNLIMITED) -> np.ndarray:
    """A target without holes: numbers as they are, text as labels."""
    option = f"--target {shlex.quote(name)}"
    if n_missing := int(missing(values).sum()):
        raise ValueError(
            f"{option}: the column has no value in {n_missing} of {values.size} rows; to leave those rows out, say "
            "--drop-rows-without-target"
        )
    holds = kind(values)
    if holds in ("date", "other"):
        what = "dates" if holds == "date" else "neither numbers nor text"
        raise ValueError(f"{option}: the column holds {what}; a target is numbers or labels")
    if _is_rounded(values) and infer_task(values) == "classification":
        raise _not_told_apart(option)
    if holds != "text":
        return values
    _check_labels(values, option, task)
    widest = max(map(len, set(values.tolist())))
    budget.check(_BYTES_PER_LETTER * widest * values.size, f"{option}: labels of up to {widest} characters")
    return values.astype(str)


def _check_labels(values: np.ndarray, option: str, task: str) -> None:
    """Refuse text in which a quantity was meant, and text that differs from row to row."""
    distinct = set(values.tolist())  # few, where text is a target
    longest = max(distinct, key=len)
    if len(longest) > _LONGEST_LABEL:
        raise ValueError(
            f"{option}: a row holds a text of {len(longest)} characters, {_shorten(longest)}; a label has at most "
            f"{_LONGEST_LABEL}"
        )
    number_of = {value: as_number(value) for value in distinct}
    numbers = np.fromiter(map(number_of.__getitem__, values.tolist()), dtype=float, count=values.size)
    is_text = np.isnan(numbers)
    is_few = 0 < is_text.sum() <= _FEW * values.size
    is_mixed = 0 < is_text.sum() < values.size and infer_task(numbers[~is_text]) == "regression"
    if (is_few or is_mixed) and task != "classification":
        first = int(np.flatnonzero(is_text)[0])
        more = f" and {is_text.sum() - 1} more" if is_text.sum() > 1 else ""
        raise ValueError(
            f"{option}: row {first + 1} holds {_shorten(values[first])}{more}, and {(~is_text).sum()} of {values.size} "
            "rows hold numbers: mend the text, or leave it empty and say --drop-rows-without-target; if all are "
            "labels, say --task classification"
        )
    n_classes = len(distinct)
    if n_classes > values.size / 2:
        raise ValueError(
            f"{option}: the column holds {n_classes} different texts in {values.size} rows, such as "
            f"{_shorten(values[0])} and {_shorten(values[-1])}: a class takes rows to learn from; name a column of "
            "fewer labels, or of numbers"
        )


def _shorten(text: str) -> str:
    return repr(str(text) if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "...")


def as_weights(values: np.ndarray, name: str) -> np.ndarray:
    option = f"--weights {shlex.quote(name)}"
    if kind(values) != "number" or missing(values).any():
        raise ValueError(f"{option}: the column must hold a number in every row")
    if (values < 0).any():
        raise ValueError(f"{option}: the column holds negative numbers; the weight of a row is at least 0")
    return values.astype(float)


def as_groups(values: np.ndarray, name: str) -> np.ndarray:
    """Groups of rows; refuses rows that belong to none."""
    option = f"--row-groups {shlex.quote(name)}"
    if n_missing := int(missing(values).sum()):
        raise ValueError(
            f"{option}: the column has no value in {n_missing} of {values.size} rows; say of each where it belongs"
        )
    if _is_rounded(values):
        raise _not_told_apart(option)
    return _codes(values) if values.dtype == object else values


def _codes(values: np.ndarray) -> np.ndarray:
    """Which rows hold the same, as numbers: an array of text would be as wide as the longest in every row."""
    texts = list(map(str, values.tolist()))
    code_of = {text: code for code, text in enumerate(sorted(set(texts)))}
    return np.array([code_of[text] for text in texts], dtype=np.intp)


def _is_rounded(values: np.ndarray) -> bool:
    """Whether a column holds whole numbers in double precision that may have lost digits: others may be the same."""
    if values.dtype.kind != "f" or not values.size:
        return False
    return bool(LARGEST_WHOLE <= np.abs(values).max() < np.inf and np.all(values == np.round(values)))


def _not_told_apart(option: str) -> ValueError:
    return ValueError(
        f"{option}: the column holds whole numbers of which only the first 15 digits are told apart; write such labels "
        "as text, with a letter before the digits"
    )


def _check_kinds(features: Frame) -> None:
    """Refuse columns that no encoding takes, by name, with the way out."""
    other = [
        name
        for name, values in features.columns.items()
        if kind(values) == "other" and not (values.dtype == object and missing(values).all())
    ]
    if other:
        what = "neither numbers nor text nor dates"
        raise ValueError(f"{columns_hold(other)} {what}; leave {them(other)} out with {drop_option(other)}")
