"""What an encoding of a table is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Wishes:
    """What the ranker can use.

    Attributes
    ----------
    layout : {"groups", "few", "codes"}
        "groups": several columns for a source column, which are ranked together; "few": as few as possible, as the
        ranker knows no groups; "codes": levels as whole numbers in one column, which the ranker knows to be discrete.
    takes_missing : bool
        NaN stays.
    targets : ndarray of shape (n_samples, n_targets) or None
        What levels may be encoded by.
    """

    layout: str = "groups"
    takes_missing: bool = False
    targets: np.ndarray | None = None


@dataclass(frozen=True)
class Block:
    """Encoded columns side by side.

    Attributes
    ----------
    places : ndarray of int of shape (n_columns,)
        Source column of each.
    values : ndarray of shape (n_samples, n_columns)
        Numbers, or booleans for indicators.
    names : list of str
    is_discrete : bool
    """

    places: np.ndarray
    values: np.ndarray
    names: list[str]
    is_discrete: bool = False


@dataclass(frozen=True)
class Part:
    """Blocks from some of the source columns, a sentence for each of these, and the causes why others have none."""

    blocks: list[Block] = field(default_factory=list)
    sentences: dict[int, str] = field(default_factory=dict)
    not_ranked: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Encoded:
    """A table of numbers, and where its columns come from.

    Attributes
    ----------
    table : ndarray or RowBlocks of shape (n_samples, n_encoded)
    names : list of str
        Of its columns.
    places : ndarray of int of shape (n_encoded,)
        Source column of each, ascending.
    sentences : dict
        For each source column what was done to it.
    not_ranked : dict
        Source columns that are not in the table, with the cause.
    is_discrete : ndarray of bool of shape (n_encoded,)
        Columns whose values are codes of levels.
    """

    table: Any
    names: list[str]
    places: np.ndarray
    sentences: dict[int, str]
    not_ranked: dict[int, str]
    is_discrete: np.ndarray


def join(parts: Sequence[Part], n_rows: int) -> Encoded:
    """All blocks as one table, in the order of the source columns."""
    blocks = [block for part in parts for block in part.blocks]
    places = np.concatenate([np.empty(0, dtype=int), *(block.places for block in blocks)])
    order = np.argsort(places, kind="stable")
    if len(blocks) == 1 and blocks[0].values.dtype.kind == "f" and np.array_equal(order, np.arange(order.size)):
        table = blocks[0].values
    else:
        table = np.empty((n_rows, places.size), order="F")  # filled column by column
        position = np.empty(places.size, dtype=int)
        position[order] = np.arange(places.size)
        start = 0
        for block in blocks:
            into = position[start : start + block.places.size]
            for run in np.split(np.arange(into.size), 1 + np.flatnonzero(np.diff(into) != 1)):
                table[:, into[run[0]] : into[run[-1]] + 1] = block.values[:, run[0] : run[-1] + 1]
            start += block.places.size
    names = [name for block in blocks for name in block.names]
    discrete = np.repeat([block.is_discrete for block in blocks], [block.places.size for block in blocks])
    return Encoded(
        table,
        [names[i] for i in order.tolist()],
        places[order],
        {j: sentence for part in parts for j, sentence in part.sentences.items()},
        {j: cause for part in parts for j, cause in part.not_ranked.items()},
        discrete.astype(bool)[order],
    )
