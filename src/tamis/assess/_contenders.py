"""What a comparison is given: rankers and data sets, each with a name, checked before any work is done."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_consistent_length

from tamis.assess._comparison import ALL_FEATURES, RANDOM
from tamis.assess._encode_frame import is_mixed
from tamis.assess._labels import read_labels
from tamis.assess._tables import TableReader
from tamis.base import Ranker, SentOnce, array_bytes
from tamis.base._raw_input import check_container
from tamis.base._validation import check_not_all_constant, check_row_groups, check_table, known_names
from tamis.rank.forward._gram_schmidt import GramSchmidt
from tamis.table import TableSelector


@dataclass(eq=False)
class Data(SentOnce):
    """A validated data set, and the numbers of features to try on it."""

    name: str
    X: Any
    y: np.ndarray | None
    feature_names: list[str] | None
    ks: tuple[int, ...]
    notes: tuple[str, ...]
    is_mixed: bool = False
    row_groups: np.ndarray | None = None

    def n_bytes(self) -> int:
        """Size of the table."""
        return 8 * self.X.shape[0] * self.X.shape[1] if self.is_mixed else array_bytes(self.X)


Contender = Ranker | TableSelector


def inner(contender: Contender) -> Ranker:
    """The ranker itself, of one that selects columns of mixed tables."""
    if isinstance(contender, TableSelector):
        return GramSchmidt() if contender.ranker is None else contender.ranker
    return contender


def name_rankers(rankers: Any) -> dict[str, Contender]:
    """Rankers by name: the mapping's own, else the class, with the parameters where a class comes twice."""
    if isinstance(rankers, Mapping):
        named = [(str(name), ranker) for name, ranker in rankers.items()]
    else:
        each = [rankers] if isinstance(rankers, Contender) else list(rankers)
        named = [(type(inner(ranker)).__name__, ranker) for ranker in each]
    for name, ranker in named:
        _check_ranker(name, ranker)
    if not named:
        raise ValueError("rankers is empty: there is nothing to compare")
    if not isinstance(rankers, Mapping):
        classes = [name for name, _ in named]
        named = [
            (name if classes.count(name) == 1 else name + _changed_parameters(ranker), ranker) for name, ranker in named
        ]
    names = [name for name, _ in named]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"rankers holds {twice[0]} twice, alike but for stop or seed; name them in a mapping")
    return dict(named)


def _check_ranker(name: str, ranker: Any) -> None:
    if not isinstance(ranker, Contender):
        hint = f": give an instance, {ranker.__name__}()" if inspect.isclass(ranker) else ""
        raise ValueError(f"{ranker!r} is no ranker of this library{hint}")
    if not inner(ranker).ranks_columns():
        raise ValueError(f"{name} ranks the features of a dictionary, and the metrics know the columns of X only")
    if name in (RANDOM, ALL_FEATURES):
        raise ValueError(f"'{name}' is the name of a line of reference; call the ranker something else")


def _changed_parameters(ranker: Contender) -> str:
    """``(form='unbiased')``; empty where all parameters that matter here have their defaults."""
    defaults = {name: given.default for name, given in inspect.signature(type(ranker)).parameters.items()}
    changed = [
        f"{name}={value!r}"
        for name, value in ranker.get_params(deep=False).items()
        if name not in ("stop", "random_state") and repr(value) != repr(defaults[name])
    ]
    return f"({', '.join(changed)})" if changed else ""


def name_data(data: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """Tables and targets by name."""
    if not isinstance(data, Mapping) or isinstance(data, Bunch):
        table = _table_and_target(data)
        return {"data": (table[0], y if y is not None else table[1])}
    if y is not None:
        raise ValueError("y goes with one table; with a mapping of data sets give each as (X, y)")
    named = {str(name): _table_and_target(each) for name, each in data.items()}
    if len(named) < max(len(data), 1):
        raise ValueError("data must hold one data set at least, and each under a name of its own")
    return named


def _table_and_target(each: Any) -> tuple[Any, Any]:
    if isinstance(each, Bunch):  # as this library or scikit-learn loads it
        return each.get("X", each.get("data")), each.get("y", each.get("target"))
    return each if isinstance(each, tuple) and len(each) == 2 else (each, None)


def read_data(name: str, X: Any, y: Any, ks: int | Sequence[int], row_groups: Any = None) -> Data:
    """Validate once what every task will read."""
    reader = TableReader()
    try:
        X = check_container(X)
        mixed = is_mixed(X)
        if mixed:
            y = None if y is None else read_labels(y, "y")
            check_consistent_length(X, y)
        elif y is None:
            X, _ = check_table(reader, X, accept_sparse=True)
        else:
            X, y = check_table(reader, X, y, accept_sparse=True)
        if not mixed:
            check_not_all_constant(X)
        row_groups = check_row_groups(row_groups, X)
    except ValueError as error:
        raise ValueError(f"data set '{name}': {error}") from error
    names = list(X.columns) if mixed else known_names(reader)
    wanted = sorted(set(np.atleast_1d(np.asarray(ks)).tolist()))
    if not wanted or not all(isinstance(k, int) and k >= 1 for k in wanted):
        raise ValueError(f"ks={ks!r} must be whole numbers, each at least 1")
    within = tuple(int(k) for k in wanted if k <= X.shape[1])
    if not within:
        raise ValueError(f"data set '{name}' has {X.shape[1]} features, fewer than any of ks={list(wanted)}")
    notes = tuple(f"k = {k} skipped on '{name}', which has {X.shape[1]} features" for k in wanted if k > X.shape[1])
    names = None if names is None else [str(each) for each in names]
    return Data(name, X, y, names, within, notes, mixed, row_groups)


def name_row_groups(row_groups: Any, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Groups of rows by the name of their data set."""
    if row_groups is None:
        return {}
    if isinstance(row_groups, Mapping):
        named = {str(name): each for name, each in row_groups.items()}
        if unknown := sorted(named.keys() - tables.keys()):
            raise ValueError(f"row_groups names '{unknown[0]}', but the data sets are {', '.join(tables)}")
        return named
    if len(tables) > 1:
        raise ValueError("row_groups goes with one table; with several data sets give a mapping of their names")
    return dict.fromkeys(tables, row_groups)
