"""A table as a file holds it: columns by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from tamis.cli._memory import NUMBER, Budget

MOST_COLUMNS = 5_000_000
TOO_MANY_COLUMNS = (
    f"more than the {MOST_COLUMNS} that can be named one by one; number those that hold anything from 1 on"
)
_ENTRIES_AT_ONCE = 2**16
_COPIES = 2  # of a table that is filled with its zeros, while it is


@dataclass(frozen=True)
class Frame:
    """Columns by name.

    Attributes
    ----------
    columns : dict
        Numbers, booleans and dates as such, text and booleans of which some are missing as objects with None.
    block : sparse array or None
        Columns of numbers that come before the others, in sparse formats.
    block_names : tuple of str
        Their names.
    target : str or None
        Column that the format itself sets apart as the target.
    originals : dict
        Columns as the file has them, where ``columns`` would be written in another way: polars series, or cells.
    notes : tuple of str
        What a person should know about how the file was read.
    """

    columns: dict[str, np.ndarray]
    block: sparse.csc_array | None = None
    block_names: tuple[str, ...] = ()
    target: str | None = None
    originals: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of all columns, in order."""
        return [*self.block_names, *self.columns]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), ())) if self.block is None else self.block.shape[0]

    def column(self, name: str) -> np.ndarray:
        """One column, dense."""
        if name in self.columns or self.block is None:
            return self.columns[name]
        return self.block[:, [self.block_names.index(name)]].toarray().ravel()

    def check_dense(self, budget: Budget, why: str) -> None:
        """Refuse a sparse table that would be too large with all its zeros, which ``why`` says who needs."""
        if self.block is not None:
            n_rows, n_columns = self.block.shape
            what = f"its {n_rows} rows and {n_columns} columns with all zeros, {why},"
            budget.check(_COPIES * NUMBER * n_rows * n_columns, what)

    def dense(self) -> dict[str, np.ndarray]:
        """All columns by name, sparse ones filled with their zeros."""
        block = {} if self.block is None else dict(zip(self.block_names, self.block.toarray().T, strict=True))
        return block | self.columns

    def written(self) -> dict[str, Any]:
        """All columns by name, as the file has them."""
        return {name: self.originals.get(name, values) for name, values in self.dense().items()}

    def with_columns(self, parsed: Mapping[str, tuple[np.ndarray, Any]]) -> Frame:
        """With other columns in the place of those of the same name, or after all others.

        Parameters
        ----------
        parsed : mapping
            Values and original, or None, of each.
        """
        originals = {name: original for name, original in self.originals.items() if name not in parsed}
        originals |= {name: original for name, (_, original) in parsed.items() if original is not None}
        columns = self.columns | {name: values for name, (values, _) in parsed.items()}
        return replace(self, columns=columns, originals=originals)

    def with_notes(self, notes: Sequence[str]) -> Frame:
        """With more notes before those that there are."""
        return replace(self, notes=(*notes, *self.notes))

    def take_rows(self, wanted: np.ndarray) -> Frame:
        """The rows where ``wanted`` is true."""
        columns = {name: values[wanted] for name, values in self.columns.items()}
        originals = {
            name: values[wanted] if isinstance(values, np.ndarray) else values.filter(wanted)
            for name, values in self.originals.items()
        }
        block = None if self.block is None else sparse.csc_array(sparse.csr_array(self.block)[wanted])
        return replace(self, columns=columns, originals=originals, block=block)

    def keep(self, wanted: Container[str]) -> Frame:
        """The columns whose name is wanted, in their order."""
        columns = {name: values for name, values in self.columns.items() if name in wanted}
        originals = {name: values for name, values in self.originals.items() if name in wanted}
        if self.block is None:
            return replace(self, columns=columns, originals=originals)
        places = [j for j, name in enumerate(self.block_names) if name in wanted]
        names = tuple(self.block_names[j] for j in places)
        return replace(self, columns=columns, originals=originals, block=self.block[:, places], block_names=names)

    def matrix(self) -> Any:
        """All columns side by side, which must be numbers: sparse if any are."""
        if self.block is not None and not self.columns:
            return self.block
        dense = np.column_stack(list(self.columns.values()))
        return dense if self.block is None else sparse.hstack([self.block, sparse.csc_array(dense)], format="csc")


def check_number_of_columns(n_columns: int) -> None:
    """Refuse more columns than can be named, before any is."""
    if n_columns > MOST_COLUMNS:
        raise ValueError(f"it has {n_columns} columns, {TOO_MANY_COLUMNS}")


def check_distinct(names: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"two columns are named '{twice}'")


def kind(values: np.ndarray) -> str:
    """What a column holds: "number", "boolean", "text", "date" or "other"."""
    if values.dtype.kind == "O":
        first = next((value for value in values if value is not None), None)
        return "text" if isinstance(first, str) else "boolean" if isinstance(first, bool) else "other"
    return {"f": "number", "i": "number", "u": "number", "b": "boolean", "U": "text", "M": "date"}.get(
        values.dtype.kind, "other"
    )


def missing(values: np.ndarray) -> np.ndarray:
    """Where a column has no value."""
    if values.dtype.kind == "O":
        return np.array([value is None for value in values], dtype=bool)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def any_missing(columns: Sequence[np.ndarray]) -> bool:
    """Whether a column of numbers or booleans has no value somewhere; many short columns are looked at together."""
    floats = [values for values in columns if values.dtype.kind == "f"]
    step = max(1, _ENTRIES_AT_ONCE // max(len(floats[0]), 1)) if floats else 1
    return any(np.isnan(np.concatenate(floats[k : k + step])).any() for k in range(0, len(floats), step))
