"""Candidates: what is ranked. Columns of a table, groups of its columns, or features that a dictionary computes."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tamis._sklearn import get_namespace, safe_indexing
from tamis.base._groups import read_groups
from tamis.base._parallel import SentOnce
from tamis.base._ranking import Ranking, StopDecision
from tamis.engine import BlockColumns, CompressedColumns, RowBlocks, compress_parts, compress_rows, is_tall
from tamis.kernels.arrays.columns import Columns, as_columns

# What candidates may provide, besides what the ranker does; rules name in ``requires`` what they need.
COLUMNS = "columns"  # a set of candidates is a set of columns of X
UNGROUPED = "ungrouped"  # a candidate is one feature
ROWS = "rows"  # some of the rows can be set apart: they are in memory
PERMUTED_COPIES = "permuted_copies"  # candidates can be ranked among copies of them whose rows are permuted


class Candidates(SentOnce):
    """What a ranker orders, and all that rankers and rules may ask of it.

    Attributes
    ----------
    table : table of shape (n_samples, n_columns)
        The validated input.
    sample_weight : ndarray of shape (n_samples,) or None
    column_names : sequence of str or None
        Names of the table's columns.
    members : list of ndarray or None
        Columns of the table that belong to each candidate; None where every column is a candidate by itself, which
        methods may exploit.
    row_groups : ndarray of shape (n_samples,) or None
        Which rows belong together, for rules that split rows.
    keep : ndarray of int
        Candidates that stay whatever a rule says, in the order in which they were named.
    excluded : ndarray of int
        Candidates that are neither ranked nor kept; their columns are constant.
    is_discrete : ndarray of bool, of shape (n_columns,)
        Columns whose values are labels, for methods that tell them from quantities.
    provides : frozenset of str
        What rules may require of them.
    """

    provides: ClassVar[frozenset[str]]
    noun: str = "feature"  # what people call one of them

    def __init__(
        self, table: Any, *, sample_weight: np.ndarray | None = None, column_names: Sequence[str] | None = None
    ) -> None:
        self.table = table
        self.sample_weight = sample_weight
        self.column_names = column_names
        self.row_groups: np.ndarray | None = None
        self.keep = np.empty(0, dtype=np.int64)
        self.excluded = np.empty(0, dtype=np.int64)
        self.is_discrete = np.zeros(table.shape[1], dtype=bool)
        self._compressed: tuple[dict[str, Any], CompressedColumns] | None = None
        self._measured: tuple[Any, ...] | None = None  # an operator, and what it was made of
        if isinstance(table, RowBlocks):
            self.provides = self.provides - {ROWS}  # type: ignore[misc]

    def n_bytes(self) -> int:
        """Size of the table, where it is in memory."""
        table = self.table.data if sparse.issparse(self.table) else self.table
        return int(getattr(table, "nbytes", 0))

    @property
    def in_blocks(self) -> bool:
        """Whether the rows of the table are read in blocks, and not in memory."""
        return isinstance(self.table, RowBlocks)

    def __getstate__(self) -> dict[str, Any]:
        """Without the operator, which other processes make anew sooner than they would receive it."""
        return {**vars(self), "_measured": None}

    @property
    @abstractmethod
    def n_candidates(self) -> int:
        """How many there are."""

    @property
    def n_rankable(self) -> int:
        """How many are not excluded."""
        return self.n_candidates - self.excluded.size

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return self.table.shape[1]

    @property
    def members(self) -> list[np.ndarray] | None:
        """Columns of the table that belong to each candidate; None where every column is one."""
        return None

    def column_name(self, j: int) -> str:
        """What people call column ``j`` of the table: its name, or its place."""
        return f"x{j}" if self.column_names is None else str(self.column_names[j])

    def name(self, j: int) -> str:
        """What people call candidate ``j``."""
        return self.column_name(j)

    def label(self, j: int) -> Any:
        """What fitted attributes call candidate ``j``."""
        return j

    def kept_in_words(self) -> str:
        """That the candidates of ``keep`` stay."""
        names = ", ".join(f"'{self.name(j)}'" for j in self.keep.tolist())
        return f"{names} stay{'s' * (self.keep.size == 1)}, as asked"

    def columns_of(self, indices: np.ndarray) -> np.ndarray:
        """Columns of the table that the given candidates stand for, in their order."""
        return np.asarray(indices)

    def candidate_of(self, column: int) -> int:
        """The candidate that a column of the table belongs to."""
        return column

    def find(self, parameter: str, wanted: Any) -> np.ndarray:
        """Candidates that hold the given columns, by name, place or label of a group, each once.

        Parameters
        ----------
        parameter : str
            Where they were given, for the error.
        wanted : str, int, or sequence of these
        """
        places = {self.column_name(j): j for j in range(self.n_columns)}
        found = [self._find_one(parameter, each, places) for each in _listed(parameter, wanted)]
        return np.array(list(dict.fromkeys(found)), dtype=np.int64)

    def find_columns(self, parameter: str, wanted: Any) -> np.ndarray:
        """Mask of the given columns of the table: a mask itself, names or places; none of them if None."""
        mask = np.zeros(self.n_columns, dtype=bool)
        if wanted is None:
            return mask
        if np.asarray(wanted).dtype == bool:
            if np.shape(wanted) != mask.shape:
                raise ValueError(f"{parameter} is a mask of {np.size(wanted)}, but X has {self.n_columns} columns")
            return np.array(wanted)
        places = {self.column_name(j): j for j in range(self.n_columns)}
        mask[[self._find_place(parameter, each, places) for each in _listed(parameter, wanted)]] = True
        return mask

    def _find_one(self, parameter: str, wanted: Any, places: dict[str, int]) -> int:
        return self.candidate_of(self._find_place(parameter, wanted, places))

    def _find_place(self, parameter: str, wanted: Any, places: dict[str, int]) -> int:
        """Place of a column, given that or its name."""
        if isinstance(wanted, Integral) and not isinstance(wanted, bool):
            place = int(wanted)
            if not 0 <= place < self.n_columns:
                raise ValueError(f"{parameter} names column {place}, but X has columns 0 to {self.n_columns - 1}")
            return place
        if not isinstance(wanted, str) or wanted not in places:
            raise ValueError(f"{parameter} names column {wanted!r}, which X does not have{_alike(wanted, places)}")
        return places[wanted]

    def compute(self, table: Any, indices: np.ndarray) -> Any:
        """The given candidates as columns, of this table or of other rows."""
        return safe_indexing(table, self.columns_of(indices), axis=1)

    def sum_members(self, values: np.ndarray) -> np.ndarray:
        """Sum of a figure of every column over the columns of each candidate."""
        return values

    def as_columns(self, *, fit_intercept: bool) -> Columns:
        """All features behind the candidates as an operator: their norms and products, weighted and centered."""
        made_of = (self.table, self.sample_weight, fit_intercept)
        if self._measured is None or any(a is not b for a, b in zip(self._measured[0], made_of, strict=True)):
            operator = BlockColumns if self.in_blocks else as_columns
            self._measured = made_of, operator(self.table, self.sample_weight, fit_intercept=fit_intercept)
        return self._measured[1]

    def compressed_rows(
        self,
        values: np.ndarray | None = None,
        *,
        fit_intercept: bool = True,
        sample_weight: np.ndarray | None = None,
        needs_products: bool = False,
        dtype: Any = None,
    ) -> CompressedColumns | None:
        """The square table that stands for a tall one in all that depends on products of columns; else None.

        It is kept for rules that look at the same table and target again.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_targets), default=None
            Targets, which are compressed beside the columns.
        fit_intercept : bool, default=True
            Center columns and targets.
        sample_weight : ndarray of shape (n_samples,), default=None
            In the place of the candidates' own.
        needs_products : bool, default=False
            Whether the method takes all products of columns in any case, see :func:`tamis.engine.is_tall`.
        dtype : data-type, default=None
            Of the compressed columns; None is that of the table.
        """
        if not is_tall(self.table, 0 if values is None else values.shape[1], needs_products=needs_products):
            return None
        weight = self.sample_weight if sample_weight is None else sample_weight
        given = {"values": values, "sample_weight": weight, "fit_intercept": fit_intercept, "dtype": dtype}
        known = self._compressed
        if known is None or not all(np.array_equal(given[name], known[0][name]) for name in given):
            try:
                found = compress_rows(self.table, values, weight, fit_intercept=fit_intercept, dtype=dtype)
            except FloatingPointError as error:  # methods that work on rows find units for them
                if self.in_blocks:
                    raise ValueError(f"X: {error}") from error
                return None
            self._compressed = known = given, found
        return known[1]

    def compressed_parts(
        self, values: np.ndarray, sample_weight: np.ndarray | None, part_of_rows: np.ndarray, n_parts: int
    ) -> list[CompressedColumns] | None:
        """The same for each of several parts of the rows of a tall table, whose parts can be joined.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_targets)
        sample_weight : ndarray of shape (n_samples,) or None
        part_of_rows : ndarray of int of shape (n_samples,)
        n_parts : int
        """
        try:
            return compress_parts(self.table, values, sample_weight, part_of_rows, n_parts)
        except FloatingPointError as error:
            if self.in_blocks:
                raise ValueError(f"X: {error}") from error
            return None

    def take_rows(self, rows: np.ndarray) -> Candidates:
        """The same candidates on some of the rows, which must be in memory."""
        if self.in_blocks:
            raise ValueError("rows cannot be set apart where they are read in blocks: give X as an array")
        return self._with_rows(rows)

    def sample_rows(self, rows: np.ndarray) -> Candidates:
        """The same candidates on a few rows, in ascending order, of a table that may be read in blocks."""
        return self._with_rows(rows)

    def _with_rows(self, rows: np.ndarray) -> Candidates:
        part = self._on_rows(rows)
        part.noun = self.noun
        part.row_groups = None if self.row_groups is None else self.row_groups[rows]
        part.keep, part.excluded, part.is_discrete = self.keep, self.excluded, self.is_discrete
        return part

    @abstractmethod
    def _on_rows(self, rows: np.ndarray) -> Candidates:
        """The same candidates, table and weights on some of the rows."""

    def among_copies(
        self, copies: Any, column_order: np.ndarray, copied: np.ndarray | None = None
    ) -> tuple[Candidates, np.ndarray]:
        """The candidates among copies of themselves.

        Parameters
        ----------
        copies : table
            Of the columns of the table, such as these with their rows permuted; or of those of ``copied`` only.
        column_order : ndarray
            Order in which the columns of the table and of the copies, in this sequence, are put.
        copied : ndarray of int, default=None
            Candidates that have a copy; None is all of them.

        Returns
        -------
        candidates : Candidates
        source : ndarray
            For each of them the candidate that it is, or ``n_candidates`` plus that of which it is the copy.
        """
        copied_columns = np.arange(self.n_columns) if copied is None else self.columns_of(copied)
        among, source = self._beside_copies(copies, column_order, copied_columns)
        place = np.full(2 * self.n_candidates, -1)
        place[source] = np.arange(source.size)
        of_copies = place[self.excluded + self.n_candidates]
        among.row_groups = self.row_groups
        among.is_discrete = np.concatenate([self.is_discrete, self.is_discrete[copied_columns]])[column_order]
        among.keep = place[self.keep]
        among.excluded = np.concatenate([place[self.excluded], of_copies[of_copies >= 0]])
        return among, source

    def _beside_copies(
        self, copies: Any, column_order: np.ndarray, copied_columns: np.ndarray
    ) -> tuple[Candidates, np.ndarray]:
        raise ValueError(f"{type(self).__name__} cannot be ranked among permuted copies")

    def to_features(self, ranking: Ranking, decision: StopDecision) -> tuple[Ranking, StopDecision]:
        """Both in terms of what ``support_`` counts: columns of the table, or features of a dictionary."""
        return ranking, decision

    def fitted_attributes(self, ranking: Ranking) -> dict[str, Any]:
        """What a fitted ranker holds besides the attributes that all have."""
        return {}

    def _rows_of(self, rows: np.ndarray) -> dict[str, Any]:
        """Keyword arguments that describe some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return {"sample_weight": weight, "column_names": self.column_names}


class ColumnCandidates(Candidates):
    """The columns of a table, each by itself."""

    provides: ClassVar[frozenset[str]] = frozenset({COLUMNS, ROWS, UNGROUPED, PERMUTED_COPIES})

    @property
    def n_candidates(self) -> int:
        """One per column."""
        return self.n_columns

    def _on_rows(self, rows: np.ndarray) -> ColumnCandidates:
        return ColumnCandidates(_take_rows(self.table, rows), **self._rows_of(rows))

    def _beside_copies(
        self, copies: Any, column_order: np.ndarray, copied_columns: np.ndarray
    ) -> tuple[Candidates, np.ndarray]:
        """Columns and their copies, in the order ``column_order``."""
        source = np.concatenate([np.arange(self.n_columns), self.n_columns + copied_columns])[column_order]
        among = ColumnCandidates(_joined(self.table, copies, column_order), sample_weight=self.sample_weight)
        return among, source


class GroupCandidates(Candidates):
    """Groups of columns that stay or go together: one-hot variables, channels, pathways.

    Parameters
    ----------
    table : table
    groups : array-like or mapping
        A label per column, or label -> columns; see :func:`tamis.base.read_groups`.
    """

    provides: ClassVar[frozenset[str]] = frozenset({COLUMNS, ROWS, PERMUTED_COPIES})
    noun: str = "group"

    def __init__(
        self,
        table: Any,
        groups: Any,
        *,
        sample_weight: np.ndarray | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(table, sample_weight=sample_weight, column_names=column_names)
        names = [self.column_name(j) for j in range(self.n_columns)]
        self.codes, self.labels = read_groups(groups, self.n_columns, names)

    @property
    def n_candidates(self) -> int:
        """One per group."""
        return len(self.labels)

    @cached_property
    def members(self) -> list[np.ndarray]:  # type: ignore[override]
        """Columns of every group."""
        return np.split(np.argsort(self.codes, kind="stable"), np.cumsum(np.bincount(self.codes))[:-1])

    def name(self, j: int) -> str:
        """Label of group ``j``."""
        return str(self.labels[j])

    def label(self, j: int) -> Any:
        """Label of group ``j``, as it was given."""
        return self.labels[j]

    def columns_of(self, indices: np.ndarray) -> np.ndarray:
        """Columns of the given groups."""
        return np.concatenate([np.empty(0, dtype=np.int64), *(self.members[g] for g in np.asarray(indices))])

    def candidate_of(self, column: int) -> int:
        """The group of a column."""
        return int(self.codes[column])

    def _find_one(self, parameter: str, wanted: Any, places: dict[str, int]) -> int:
        """A label of a group is meant before the name of a column."""
        labels = {label: g for g, label in enumerate(self.labels) if isinstance(label, str)}
        return labels[wanted] if wanted in labels else super()._find_one(parameter, wanted, places)

    def sum_members(self, values: np.ndarray) -> np.ndarray:
        """Sum of a figure of every column over the columns of each group."""
        return np.bincount(self.codes, weights=values, minlength=self.n_candidates)

    def _on_rows(self, rows: np.ndarray) -> GroupCandidates:
        part = GroupCandidates(_take_rows(self.table, rows), self.codes, **self._rows_of(rows))
        part.labels = self.labels
        return part

    def _beside_copies(
        self, copies: Any, column_order: np.ndarray, copied_columns: np.ndarray
    ) -> tuple[Candidates, np.ndarray]:
        """Groups and their copies, the columns in the order ``column_order``."""
        both = np.concatenate([self.codes, self.codes[copied_columns] + self.n_candidates])[column_order]
        among = GroupCandidates(_joined(self.table, copies, column_order), both, sample_weight=self.sample_weight)
        return among, np.array(among.labels)  # a label is the number of a group, or of its copy

    def to_features(self, ranking: Ranking, decision: StopDecision) -> tuple[Ranking, StopDecision]:
        """A ranking of groups as one of their columns, those of a group side by side."""
        n_groups = decision.n_features
        n_columns = self.columns_of(ranking.order[:n_groups]).size
        counted = f" ({n_columns} column{'s' * (n_columns != 1)} of {n_groups} group{'s' * (n_groups != 1)})"
        reason = decision.reason + (counted if self.noun == "group" else "")
        n_chosen = None if ranking.n_chosen is None else self.columns_of(ranking.order[: ranking.n_chosen]).size
        path = tuple(
            replace(step, feature=int(j), info={**step.info, "group": self.labels[step.feature]})
            for step in ranking.path
            for j in self.members[step.feature]
        )
        by_column = replace(
            ranking,
            order=self.columns_of(ranking.order),
            scores=ranking.scores[self.codes],
            path=path,
            n_chosen=n_chosen,
        )
        return by_column, replace(decision, n_features=n_columns, reason=reason, n_groups=n_groups)

    def fitted_attributes(self, ranking: Ranking) -> dict[str, Any]:
        """Labels of the groups, best first."""
        labels = np.empty(ranking.order.size, dtype=object)
        labels[:] = [self.labels[g] for g in ranking.order]
        return {"group_order_": labels}


class DictionaryCandidates(Candidates):
    """Features that a finite dictionary computes from the columns of a table.

    Parameters
    ----------
    table : table
    dictionary : dictionary
        Not fitted: it is, here, on the rows of the table.
    target : ndarray or None
        What supervised dictionaries learn from.
    """

    provides: ClassVar[frozenset[str]] = frozenset({ROWS, UNGROUPED})

    def __init__(
        self,
        table: Any,
        dictionary: Any,
        target: np.ndarray | None,
        *,
        sample_weight: np.ndarray | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(table, sample_weight=sample_weight, column_names=column_names)
        self.target = target
        self.dictionary = clone(dictionary).fit(table, target, sample_weight=sample_weight)

    @property
    def n_candidates(self) -> int:
        """As many as the dictionary has for such a table."""
        return self.dictionary.n_candidates(self.n_columns)

    def name(self, j: int) -> str:
        """What the dictionary calls it, made of the names of the columns."""
        names = [self.column_name(i) for i in range(self.n_columns)]
        return str(self.dictionary.names(np.array([j]), names)[0])

    def columns_of(self, indices: np.ndarray) -> np.ndarray:
        """Features of a dictionary are no columns of the table."""
        raise ValueError(f"{type(self.dictionary).__name__} computes features, which are no columns of X")

    def compute(self, table: Any, indices: np.ndarray) -> Any:
        """The given features of a table."""
        return self.dictionary.compute(table, indices)

    def as_columns(self, *, fit_intercept: bool) -> Columns:
        """Features as the dictionary gives them, without a table of them."""
        return self.dictionary.candidates(self.table, self.sample_weight, fit_intercept=fit_intercept)

    def compressed_rows(
        self,
        values: np.ndarray | None = None,
        *,
        fit_intercept: bool = True,
        sample_weight: np.ndarray | None = None,
        needs_products: bool = False,
        dtype: Any = None,
    ) -> None:
        """Features are no columns of the table, and never all there at once."""
        return None

    def _on_rows(self, rows: np.ndarray) -> DictionaryCandidates:
        """The dictionary fitted on some of the rows."""
        target = None if self.target is None else self.target[rows]
        return DictionaryCandidates(safe_indexing(self.table, rows), self.dictionary, target, **self._rows_of(rows))

    def fitted_attributes(self, ranking: Ranking) -> dict[str, Any]:
        """The dictionary, fitted."""
        return {"dictionary_": self.dictionary}


def _listed(parameter: str, wanted: Any) -> list[Any]:
    """What was given, one by one."""
    if isinstance(wanted, (str, Integral)):
        return [wanted]
    try:
        each = wanted.tolist() if hasattr(wanted, "tolist") else list(wanted)
    except TypeError:
        raise ValueError(f"{parameter}={wanted!r} must be a list of columns, by name or place") from None
    if any(isinstance(one, bool) for one in each):
        raise ValueError(f"{parameter} must name columns or give their places; a mask is given by np.flatnonzero(mask)")
    return each


def _take_rows(table: Any, rows: np.ndarray) -> Any:
    return table.take_rows(rows) if isinstance(table, RowBlocks) else safe_indexing(table, rows)


def _alike(wanted: Any, places: dict[str, int]) -> str:
    close = difflib.get_close_matches(str(wanted), places, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _joined(table: Any, copies: Any, column_order: np.ndarray) -> Any:
    """Columns of both tables in the order ``column_order``."""
    if sparse.issparse(table):
        both = sparse.hstack([table, copies], format=table.format)
    elif isinstance(table, np.ndarray):  # without a table of both in the order given
        place = np.argsort(column_order)
        joined = np.empty((table.shape[0], column_order.size), dtype=np.result_type(table, copies), order="F")
        joined[:, place[: table.shape[1]]] = table
        joined[:, place[table.shape[1] :]] = copies
        return joined
    else:
        xp, _ = get_namespace(table)
        both = xp.concat([table, copies], axis=1)
    return safe_indexing(both, column_order, axis=1)
