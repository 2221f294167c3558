"""The columns of a table as people have it, by what they hold: numbers, levels, points in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from tamis.base._rounded_away import rounded_away
from tamis.table._values import Column, Levels, Moments, Numbers, Unreadable, read_array, read_series

_MOST_NAMED = 5


@dataclass(frozen=True)
class Source:
    """The columns of a table, by place.

    Attributes
    ----------
    names : list of str
        What people call the columns.
    n_rows : int
    places : ndarray of int
        Which columns ``numbers`` holds, ascending.
    numbers : ndarray of shape (n_rows, len(places))
        Quantities, and booleans as 0 and 1; NaN where a value is missing.
    read_as : dict
        How a column of ``numbers`` that holds no plain numbers was read: "boolean", "duration", "time", "text".
    levels : dict
        Text and categories.
    moments : dict
        Dates and times as datetime64, NaT where missing.
    written : dict
        How the dates of a column of ``moments`` are written, where they stand as text: "written day/month/year".
    unreadable : dict
        What else columns hold.
    rounded : frozenset of int
        Columns of whole numbers that differ, and are all the same in ``numbers``.
    """

    names: list[str]
    n_rows: int
    places: np.ndarray
    numbers: np.ndarray
    read_as: dict[int, str] = field(default_factory=dict)
    levels: dict[int, Levels] = field(default_factory=dict)
    moments: dict[int, np.ndarray] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)
    unreadable: dict[int, str] = field(default_factory=dict)
    rounded: frozenset[int] = frozenset()

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return len(self.names)

    def take_rows(self, rows: np.ndarray) -> Source:
        """The same columns on some of the rows; levels that these do not hold stay listed."""
        return replace(
            self,
            n_rows=len(rows),
            numbers=self.numbers[rows],
            levels={j: replace(column, codes=column.codes[rows]) for j, column in self.levels.items()},
            moments={j: values[rows] for j, values in self.moments.items()},
        )

    def n_missing(self) -> np.ndarray:
        """Missing values of every column."""
        counts = np.zeros(self.n_columns, dtype=np.int64)
        counts[self.places] = count_missing(self.numbers)
        for j, column in self.levels.items():
            counts[j] = np.count_nonzero(column.codes < 0)
        for j, values in self.moments.items():
            counts[j] = np.count_nonzero(np.isnat(values))
        return counts


def read_source(X: Any) -> Source:
    """Read a data frame, a mapping from names to arrays, or a two-dimensional array."""
    if nw.dependencies.is_into_dataframe(X):
        return replace(_read_frame(nw.from_native(X, eager_only=True)), rounded=frozenset(rounded_away(X)))
    if isinstance(X, Mapping):
        return _read_mapping(X)
    names = [f"x{j}" for j in range(X.shape[1])]
    if X.dtype.kind in "fiu":
        source = _collect(names, X.shape[0], np.arange(X.shape[1]), X, {})
        return replace(source, rounded=frozenset(rounded_away(X)))
    return _collect(
        names, X.shape[0], np.empty(0, dtype=int), None, {j: read_array(X[:, j]) for j in range(X.shape[1])}
    )


def sample_rows(n_rows: int, most: int) -> np.ndarray:
    """Rows drawn at random, in order; all where there are no more than ``most``."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:most])


def count_missing(numbers: np.ndarray) -> np.ndarray:
    """NaN in every column; one pass over the table where there are none."""
    counts = np.zeros(numbers.shape[1], dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(np.isnan(numbers.sum(axis=0)))
    if suspects.size:
        counts[suspects] = np.isnan(numbers[:, suspects]).sum(axis=0)
    return counts


def enumerate_names(names: Iterable[str]) -> str:
    """``'age', 'city' and 3 more``."""
    names = list(names)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:_MOST_NAMED]) + more


def _read_frame(frame: Any) -> Source:
    names = [str(name) for name in frame.columns]
    dtypes = list(frame.schema.values())
    numeric = np.array([j for j, dtype in enumerate(dtypes) if dtype.is_integer() or dtype.is_float()], dtype=int)
    table = None
    if numeric.size:
        table = (frame if numeric.size == len(names) else frame[:, numeric.tolist()]).to_numpy()
        if table.dtype.kind not in "fiu":  # nullable columns, which some libraries hand over as objects
            table, numeric = None, np.empty(0, dtype=int)
    others = {j: read_series(frame[:, j]) for j in np.setdiff1d(np.arange(len(names)), numeric).tolist()}
    return _collect(names, len(frame), numeric, table, others)


def _read_mapping(columns: Mapping[Any, Any]) -> Source:
    arrays = {str(name): np.atleast_1d(np.asarray(values)) for name, values in columns.items()}
    if len(arrays) < len(columns):
        raise ValueError(f"two columns of X have one name: give the {len(columns)} columns different names")
    n_rows = max((len(values) for values in arrays.values()), default=0)
    if guilty := [name for name, values in arrays.items() if values.shape != (n_rows,)]:
        raise ValueError(f"X holds, as {enumerate_names(guilty)}, no array of {n_rows} values: give one value per row")
    numeric = [j for j, values in enumerate(arrays.values()) if values.dtype.kind in "fiu"]
    columns_of_numbers = [values for values in arrays.values() if values.dtype.kind in "fiu"]
    others = {j: read_array(values) for j, values in enumerate(arrays.values()) if values.dtype.kind not in "fiu"}
    table = np.column_stack(columns_of_numbers) if numeric else None
    source = _collect(list(arrays), n_rows, np.array(numeric, dtype=int), table, others)
    is_rounded = [j for j, values in enumerate(arrays.values()) if rounded_away(values[:, None])]
    return replace(source, rounded=frozenset(is_rounded))


def _collect(
    names: list[str], n_rows: int, numeric: np.ndarray, table: np.ndarray | None, others: dict[int, Column]
) -> Source:
    """Put what was read as numbers beside the numeric block, in the order of the table."""
    if not names:
        raise ValueError("Found a table with 0 feature(s) (no columns): there is nothing to rank")
    read = {j: column for j, column in others.items() if isinstance(column, Numbers)}
    table = np.empty((n_rows, 0)) if table is None else table
    table = table if table.dtype in (np.float64, np.float32) else table.astype(float)
    places = np.concatenate([numeric, np.array(list(read), dtype=int)])
    if read:
        order = np.argsort(places, kind="stable")
        table = np.column_stack([table, *(column.values for column in read.values())])[:, order]
        places = places[order]
    source = Source(
        names,
        n_rows,
        places,
        table,
        read_as={j: column.read_as for j, column in read.items() if column.read_as != "number"},
        levels={j: column for j, column in others.items() if isinstance(column, Levels)},
        moments={j: column.values for j, column in others.items() if isinstance(column, Moments)},
        written={j: column.written for j, column in others.items() if isinstance(column, Moments) and column.written},
        unreadable={j: column.holds for j, column in others.items() if isinstance(column, Unreadable)},
    )
    _check_no_infinity(source)
    return source


def _check_no_infinity(source: Source) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(~np.isfinite(source.numbers.sum(axis=0)))
    infinite = np.isinf(source.numbers[:, suspects]).sum(axis=0)
    if infinite.any():
        guilty = [source.names[j] for j in source.places[suspects[infinite > 0]].tolist()]
        raise ValueError(
            f"Input X contains infinity: {infinite.sum()} values in {enumerate_names(guilty)}; replace or drop them"
        )


def held_otherwise(name: str, kind: str) -> ValueError:
    """What is said of a column whose values do not go with those of ``fit``, which were numbers or dates."""
    return ValueError(
        f"column '{name}' held {kind} in fit, and holds something else now: mend it, or leave it out of fit"
    )


def constant_in_words(source: Source, place: int, value: float) -> str:
    """How a column of numbers that are all the same came to that."""
    if place in source.rounded:
        return (
            f"different whole numbers, so large that double precision rounds them to {value:g}: subtract an offset, "
            "such as the smallest"
        )
    return f"constant ({value:g} in every row)"


def named(source: Source, places: Sequence[int]) -> str:
    """Some columns by name, for sentences."""
    return enumerate_names(source.names[j] for j in places)
