"""A table as a file holds it: columns by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Frame:
    """Columns by name.

    Attributes
    ----------
    columns : dict
        Numbers and booleans as such, text as objects with None where it is missing.
    block : sparse array or None
        Columns of numbers that come before the others, in sparse formats.
    block_names : tuple of str
        Their names.
    target : str or None
        Column that the format itself sets apart as the target.
    """

    columns: dict[str, np.ndarray]
    block: sparse.csc_array | None = None
    block_names: tuple[str, ...] = ()
    target: str | None = None

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

    def dense(self) -> dict[str, np.ndarray]:
        """All columns by name, sparse ones filled with their zeros."""
        block = {} if self.block is None else dict(zip(self.block_names, self.block.toarray().T, strict=True))
        return block | self.columns

    def keep(self, wanted: Container[str]) -> Frame:
        """The columns whose name is wanted, in their order."""
        columns = {name: values for name, values in self.columns.items() if name in wanted}
        if self.block is None:
            return replace(self, columns=columns)
        places = [j for j, name in enumerate(self.block_names) if name in wanted]
        names = tuple(self.block_names[j] for j in places)
        return replace(self, columns=columns, block=self.block[:, places], block_names=names)

    def matrix(self) -> Any:
        """All columns side by side, which must be numbers: sparse if any are."""
        if self.block is not None and not self.columns:
            return self.block
        dense = np.column_stack(list(self.columns.values()))
        return dense if self.block is None else sparse.hstack([self.block, sparse.csc_array(dense)], format="csc")


def check_distinct(names: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"two columns are named '{twice}'")
