"""Checks on what comes in, with errors that name the column and say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedGroupKFold, check_cv
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from tamis._sklearn import check_sample_weight, get_namespace, is_numpy_namespace, move_to, num_samples, safe_indexing
from tamis.base._raw_input import check_container, check_two_dimensional, pandas_dtypes, shown
from tamis.base._rounded_away import check_not_rounded_away
from tamis.base._target_values import check_target_values
from tamis.engine import FileTable, RowBlocks
from tamis.kernels.arrays.blocks import blocks, sum_entries
from tamis.kernels.arrays.scaling import may_lose_squares, overflow_exponents
from tamis.kernels.arrays.sparse_indices import with_short_indices
from tamis.kernels.arrays.tolerances import CONSTANT

# Methods that provide "several_targets", for the error of the others.
TAKE_SEVERAL_TARGETS = ("CorrelationScore", "ForwardLeastSquares", "GramSchmidt", "ModelImportance", "TreeSelector")

_MOST_NAMED = 5
_ENCODE = "encode or drop them first, or wrap the ranker: TableSelector(...) takes such tables as they are"
_LONGEST_SUGGESTION = 60  # characters of an estimator's repr in an error
_LARGEST_WEIGHT = 2.0**53  # of all rows together: one row more would change no sum
_AT_ONCE = 2**28  # entries of a table on an accelerator that are compared at a time


def check_table(
    estimator: BaseEstimator,
    X: Any,
    y: Any = "no_validation",
    *,
    accept_sparse: bool,
    allow_nan: bool = False,
    several_targets: bool = False,
    min_rows: int = 2,
) -> tuple[Any, np.ndarray | None]:
    """Validate a table, and a target unless it is "no_validation", for fitting."""
    supervised = not (isinstance(y, str) and y == "no_validation")
    X = check_container(X)
    if isinstance(X, RowBlocks | FileTable):
        raise ValueError(
            f"{type(estimator).__name__} needs rows in memory here, and X is read in blocks of them: give an array, "
            "for instance of some of the rows"
        )
    check_frame(X)
    check_two_dimensional(X)
    if supervised and not several_targets:
        check_one_target(estimator, y)
    xp, _ = get_namespace(X)
    is_several = several_targets and supervised and _to_numpy(y).ndim == 2
    with errors_that_name_columns(X):
        checked = validate_data(
            estimator,
            X,
            y=_check_target(y, X) if supervised else "no_validation",
            accept_sparse=("csc", "csr") if accept_sparse else False,
            dtype=[xp.float64, xp.float32],
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
            **({"multi_output": True} if is_several else {}),
        )
    table, target = checked if supervised else (checked, None)
    table = in_canonical_format(table)
    check_finite(table, estimator, allow_nan=allow_nan and isinstance(table, np.ndarray))
    check_not_rounded_away(X, lambda j: column_name(estimator, j))
    return table, None if target is None else _single_column(_to_numpy(target))


def in_canonical_format(table: Any) -> Any:
    """The same table; in a sparse one every entry stands once, with indices as compiled code takes them."""
    if sparse.issparse(table) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return with_short_indices(table)


@contextmanager
def errors_that_name_columns(X: Any, cure: str = _ENCODE) -> Iterator[None]:
    """Errors of scikit-learn about the values of a table in one line, which names the columns that are at fault."""
    try:
        with errors_in_one_line():
            yield
    except OverflowError as error:  # of Python's whole numbers, which have no largest one
        raise ValueError(
            f"X holds whole numbers beyond {np.finfo(float).max:.2g}, the largest of double precision: give them in "
            "other units, or their logarithms"
        ) from error
    except (ValueError, TypeError) as error:
        if guilty := non_numeric_columns(X):
            raise not_numeric(guilty, cure) from error
        raise


def not_numeric(columns: list[str], cure: str = _ENCODE) -> ValueError:
    """What is said of columns that cannot be read as numbers."""
    return ValueError(f"{_enumerate_columns(columns)} not numeric; {cure}")


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Errors of scikit-learn without their further lines, in which it shows all entries of a table."""
    try:
        yield
    except (ValueError, TypeError) as error:
        first_line, _, more = str(error).partition("\n")
        if more:
            cure = ". Reshape your data: X needs rows x columns" if "2D" in first_line else ""
            raise type(error)(f"{first_line.rstrip(':.')}{cure}") from error
        raise


def check_units(X: Any, name_of: Callable[[int], str]) -> None:
    """Refuse columns of values so large or so small that models lose their squares."""
    exponents = overflow_exponents(X) if may_lose_squares(X) else None
    if exponents is None:
        return
    guilty = np.flatnonzero(exponents).tolist()
    names = ", ".join(repr(name_of(j)) for j in guilty[:_MOST_NAMED])
    more = f" and {len(guilty) - _MOST_NAMED} more" if len(guilty) > _MOST_NAMED else ""
    raise ValueError(
        f"X holds values whose squares are lost to models, about 2^{exponents[guilty[0]]}, in {names}{more}: give them "
        "in other units"
    )


def check_one_per_row(y: np.ndarray, n_rows: int) -> None:
    """Refuse a target of another length."""
    if y.ndim == 0:
        raise ValueError(f"X has {n_rows} rows, but y is a single value: give one target per row")
    if y.shape[0] != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {y.shape[0]}: give one target per row")


def check_one_target(estimator: BaseEstimator, y: Any) -> None:
    """Refuse a target of several columns, and name the methods that take one."""
    shape = () if y is None else _to_numpy(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} columns, and {type(estimator).__name__} explains one target: give one column, or use a "
            f"method that takes several: {', '.join(TAKE_SEVERAL_TARGETS)}"
        )


def _single_column(y: np.ndarray) -> np.ndarray:
    """A target of one column as a vector."""
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def check_row_groups(row_groups: Any, X: Any) -> np.ndarray | None:
    """Validate labels of the rows that belong together: one per row, none missing."""
    if row_groups is None:
        return None
    labels = column_or_1d(_to_numpy(row_groups, "row_groups"))
    is_mapping = isinstance(X, Mapping) and not sparse.issparse(X)  # from names to columns
    n_rows = num_samples(next(iter(X.values()))) if is_mapping and X else num_samples(X)
    if labels.size != n_rows:
        raise ValueError(f"X has {n_rows} rows, but row_groups has {labels.size}: give one label per row")
    if labels.dtype.kind in "fO" and (count := _count_missing(labels)):
        raise ValueError(f"row_groups has no label in {count} of {labels.size} rows; give each row one")
    return labels


def check_array_library(estimator: BaseEstimator, X: Any, accepts: frozenset[str]) -> None:
    """Refuse arrays of other libraries than numpy where a method works with numpy alone."""
    xp, is_array_api = get_namespace(X)
    if is_array_api and not is_numpy_namespace(xp) and "array_api" not in accepts:
        library = type(X).__module__.split(".")[0]
        raise ValueError(f"{type(estimator).__name__} does not work on arrays of {library}; give X as a numpy array")


def check_classes(y: Any, X: Any) -> np.ndarray:
    """Validated labels for a method that can do without them; one per row, none missing."""
    return column_or_1d(_to_numpy(_check_target(y, X)))


def check_targets(y: Any, X: Any) -> np.ndarray:
    """Validated targets beside a table that is not validated as a whole: a vector, or a column for each target."""
    values = _single_column(_to_numpy(_check_target(y, X)))
    return values if values.ndim == 2 else column_or_1d(values)


def check_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Validate row weights; their sum is what the stopping rules count as the number of samples."""
    if sample_weight is None:
        return None
    rows = np.empty((X.shape[0], 0))
    weight = _to_numpy(sample_weight, "sample_weight")
    if weight.ndim == 0:
        raise ValueError("sample_weight is a single value: leave it out, or give one weight per row")
    if weight.shape != (X.shape[0],):
        raise ValueError(
            f"X has {X.shape[0]} rows, but sample_weight the shape {weight.shape}: give one weight per row"
        )
    if weight.dtype.kind in "mM" or not _is_numeric(weight):
        raise ValueError("sample_weight holds values that are no numbers: give how often each row counts")
    weight = check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
    with np.errstate(over="ignore"):
        total = weight.sum()
    if np.count_nonzero(weight) < 2 or total < 2:
        raise ValueError(
            f"sample_weight sums to {total:g} over {np.count_nonzero(weight)} rows: at least two must count. "
            "Weights stand for repeated rows; scale relative ones to a mean of 1"
        )
    if total > _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight sums to {total:g}, more rows than can be counted. Weights stand for repeated rows; scale "
            "relative ones to a mean of 1"
        )
    return weight


def drop_weightless(
    X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None
) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Leave out rows of weight zero, which must not count in any way."""
    if sample_weight is None or np.all(sample_weight > 0):
        return X, y, sample_weight
    rows = np.flatnonzero(sample_weight)
    return safe_indexing(X, rows), None if y is None else np.asarray(y)[rows], sample_weight[rows]


def split_rows(
    cv: Any,
    table: Any,
    y: np.ndarray,
    *,
    classifier: bool,
    kept_rows: np.ndarray | None,
    row_groups: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of every fold.

    Folds that are given as rows speak of the table given to ``fit``, of which ``kept_rows`` are left (None: all). A
    number of folds keeps the rows of a group together, where there are groups.
    """
    if row_groups is not None and (cv is None or isinstance(cv, Integral)):
        n_groups = np.unique(row_groups).size
        if n_groups < 2:
            raise ValueError("row_groups holds one label only: rows of at least two groups are needed to split them")
        n_folds = min(5 if cv is None else int(cv), n_groups)
        cv = StratifiedGroupKFold(n_folds) if classifier else GroupKFold(n_folds)
    splitter = check_cv(cv, y, classifier=classifier)
    try:
        rows = np.empty((len(table), 0)) if isinstance(table, RowBlocks) else table  # of which only the number counts
        folds = list(splitter.split(rows, y, row_groups))
    except ValueError as error:
        if "n_splits" in str(error) and "greater than" in str(error):
            fewest = np.unique(y, return_counts=True)[1].min() if classifier else len(y)
            of_what = "rows of a class" if classifier else "rows"
            raise ValueError(
                f"{splitter.get_n_splits()} folds cannot be made of {fewest} {of_what}: give fewer, such as cv=2, or "
                "leave rare classes out"
            ) from error
        if row_groups is None and "'groups' parameter" in str(error):
            name = type(splitter).__name__
            raise ValueError(f"{name} needs to know which rows belong together: fit(X, y, row_groups=...)") from error
        raise
    names_rows = isinstance(cv, PredefinedSplit) or not (cv is None or isinstance(cv, Integral) or hasattr(cv, "split"))
    if kept_rows is None or not names_rows:
        return folds
    return [(_places(train, kept_rows), _places(test, kept_rows)) for train, test in folds]


def _places(rows: np.ndarray, kept_rows: np.ndarray) -> np.ndarray:
    """Places of the given rows among those that are kept; the others are left out."""
    return np.flatnonzero(np.isin(kept_rows, rows))


def frame_library(X: Any) -> str | None:
    """Name of the library of a data frame; None for anything else."""
    if not nw.dependencies.is_into_dataframe(X):
        return None
    check_container(X)
    if nw.dependencies.is_pandas_dataframe(X):
        return "pandas"
    return nw.from_native(X, eager_only=True).implementation.to_native_namespace().__name__.split(".")[0]


def known_names(estimator: BaseEstimator) -> Any:
    """Names of the columns: the table's own, or those given by ``name_features``; None if there are none."""
    return getattr(estimator, "feature_names_in_", getattr(estimator, "_feature_names", None))


def column_name(estimator: BaseEstimator, j: int) -> str:
    """What people call column ``j`` of the table: its name, or its place."""
    names = known_names(estimator)
    return f"x{j}" if names is None else str(names[j])


def _check_target(y: Any, X: Any) -> Any:
    """Refuse targets of another length, missing or infinite ones and say how many, and those that are no target."""
    if y is None:
        return y
    y = check_container(y, "y")
    values = _to_numpy(y)
    check_one_per_row(values, num_samples(X))
    if values.ndim <= 2 and values.dtype.kind in "fO":
        n_rows, flat = values.shape[0], values.ravel()
        for word, count in (("NaN or no label", _count_missing(flat)), ("infinity", _count_infinite(flat))):
            if count:
                raise ValueError(f"Input y contains {word} in {count} of {n_rows} rows; drop those rows first")
    checked = check_target_values(values)
    return y if checked is values else checked


def _to_numpy(values: Any, role: str = "y") -> np.ndarray:
    """An array of any library, or anything like one, as numpy."""
    values = check_container(values, role)
    _, is_array_api = get_namespace(values)
    return np.asarray(move_to(values, xp=np, device="cpu") if is_array_api else values)


def _count_missing(values: np.ndarray) -> int:
    if values.dtype.kind == "f":
        return int(np.isnan(values).sum())
    return sum(value is None or bool(value != value) for value in values.tolist())


def _count_infinite(values: np.ndarray) -> int:
    return int(np.isinf(values).sum()) if values.dtype.kind == "f" else 0


def check_frame(X: Any, *, allow_dates: bool = False) -> None:
    """Refuse data frames without columns, or with dates, which some libraries would turn into numbers silently."""
    if not nw.dependencies.is_into_dataframe(X):
        return
    if nw.dependencies.is_pandas_dataframe(X):
        _check_fill_values(X)
    if nw.dependencies.is_pandas_dataframe(X) and X.shape[1] and all(map(_is_plain_number, pandas_dtypes(X))):
        return  # to look at a million columns one by one takes seconds
    schema = nw.from_native(X, eager_only=True).schema
    if not schema:
        raise ValueError("Found a table with 0 feature(s) (no columns): there is nothing to rank")
    if allow_dates:
        return
    if not any(dtype.is_temporal() for dtype in set(schema.values())):
        return
    if dates := [shown(name) for name, dtype in schema.items() if dtype.is_temporal()]:
        raise ValueError(f"{_enumerate_columns(dates)} not numeric but dates; {_ENCODE}")


def _check_fill_values(frame: Any) -> None:
    """Refuse sparse columns of pandas that leave out anything but zeros, as sparse tables do."""
    if all(getattr(dtype, "fill_value", 0) == 0 for dtype in pandas_dtypes(frame)):
        return
    guilty = [
        shown(name)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if getattr(dtype, "fill_value", 0) != 0
    ]
    raise ValueError(
        f"{_enumerate_columns(guilty)} sparse in X, and what is left out is not zero: give X.sparse.to_dense()"
    )


def _is_plain_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def non_numeric_columns(X: Any) -> list[str]:
    """Columns of a table that cannot be read as numbers."""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        return [shown(each.name) for each in frame.iter_columns() if not _holds_numbers(each)]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        if any(isinstance(value, dict) for value in X.flat):
            return []  # scikit-learn's TypeError says it already
        return [f"{j}" for j in range(X.shape[1]) if not _is_numeric(X[:, j])]
    return []


def _holds_numbers(column: nw.Series[Any]) -> bool:
    """Whether the column of a frame can be read as numbers: not where its cells are lists, records or objects."""
    return not (column.dtype.is_nested() or column.dtype == nw.Binary) and _is_numeric(column.to_numpy())


def _is_numeric(values: np.ndarray) -> bool:
    if values.dtype.kind in "mM":
        return False
    try:
        values.astype(float)
    except (ValueError, TypeError):
        return False
    except OverflowError:  # numbers they are
        return True
    return True


def _enumerate_columns(columns: list[str]) -> str:
    named = ", ".join(columns[:_MOST_NAMED])
    if len(columns) > _MOST_NAMED:
        named += f" and {len(columns) - _MOST_NAMED} more"
    return f"column {named} is" if len(columns) == 1 else f"columns {named} are"


def check_finite(X: Any, estimator: BaseEstimator, *, allow_nan: bool, suggestion: str | None = None) -> None:
    """One cheap pass; only a table that fails it is searched column by column."""
    values = X.data if sparse.issparse(X) else X
    xp, _ = get_namespace(values)
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum_entries(values) if isinstance(values, np.ndarray) else xp.sum(values)
        if bool(xp.isfinite(total)) or bool(xp.all(xp.isfinite(values))):
            return
    counts = []
    for test in (np.isnan, np.isinf):
        if sparse.issparse(X):
            entries = X.tocoo()
            counts.append(np.bincount(entries.col[test(entries.data)], minlength=X.shape[1]))
        else:
            test_here = xp.isnan if test is np.isnan else xp.isinf
            counts.append(_to_numpy(xp.sum(xp.astype(test_here(X), xp.int64), axis=0)))
    if allow_nan:
        counts[0] = np.zeros_like(counts[0])
    n_missing, n_infinite = counts
    if message := describe_non_finite(estimator, n_missing, n_infinite, suggestion):
        raise ValueError(message)


def describe_non_finite(
    estimator: BaseEstimator, n_missing: np.ndarray, n_infinite: np.ndarray, suggestion: str | None = None
) -> str:
    """Which columns hold how many entries that are no numbers, and what to do; empty where there are none.

    ``suggestion`` is for missing values, by default code for tables in memory.
    """
    for counts, word, kind, cure in (
        (n_missing, "NaN", "missing", "impute"),
        (n_infinite, "infinity", "infinite", "replace"),
    ):
        if guilty := np.flatnonzero(counts).tolist():
            held = _holding({column_name(estimator, j): int(counts[j]) for j in guilty}, kind)
            if suggestion is None:
                suggestion = _suggestion(estimator)
            return f"Input X contains {word}: {held}; {cure} or drop them first{suggestion * (kind == 'missing')}"
    return ""


def _suggestion(estimator: BaseEstimator) -> str:
    """Code that mends missing values, ready to be pasted."""
    code = repr(estimator)
    if "\n" in code or len(code) > _LONGEST_SUGGESTION:
        code = f"{type(estimator).__name__}()"
    pipeline = f"make_pipeline(SimpleImputer(), {code})"
    if not hasattr(estimator, "fit"):  # it stands for a function
        return ": SimpleImputer().fit_transform(X)"
    if not isinstance(estimator, SelectorMixin):
        return f": {pipeline}"
    return f": TableSelector({code}), which also marks where they were, or {pipeline}"


def _holding(counts: dict[str, int], kind: str) -> str:
    """``column 'age' holds 3 missing values``, or the same of several columns."""
    if len(counts) == 1:
        [(name, count)] = counts.items()
        return f"column '{name}' holds {count} {kind} value{'s' if count > 1 else ''}"
    named = ", ".join(f"'{name}' ({count})" for name, count in list(counts.items())[:_MOST_NAMED])
    more = f" and {len(counts) - _MOST_NAMED} more" if len(counts) > _MOST_NAMED else ""
    return f"columns {named}{more} hold {kind} values"


def check_not_all_constant(X: Any, cause: str = "every column of X is constant") -> None:
    """Refuse a table in which no column varies; usually settled by the first one."""
    if sparse.issparse(X):
        lowest, highest = X.min(axis=0).toarray(), X.max(axis=0).toarray()
        varies = bool((lowest != highest).any())
    else:
        xp, _ = get_namespace(X)
        varies = _varies(xp, X[:, 0])
        if not varies and isinstance(X, np.ndarray):
            varies = any(_varies(xp, X[:, j]) for j in range(1, X.shape[1]))
        elif not varies:  # an accelerator would wait for the answer to each column; no other value is missing there
            varies = any(bool(xp.any(X[rows, :] != X[:1, :])) for rows in blocks(X.shape[0], _AT_ONCE // X.shape[1]))
    if not varies:
        raise ValueError(f"{cause}: there is nothing to rank")
    check_not_lost_to_rounding(X)


def check_not_lost_to_rounding(X: Any) -> None:
    """Refuse an array whose columns vary by no more than rounding, if any does."""
    if not isinstance(X, np.ndarray) or not X.size:
        return
    if all(_is_lost_to_rounding(X[:, j]) for j in range(X.shape[1])) and (X[:1] != X).any():
        raise ValueError(
            f"every column of X is constant, up to rounding: values vary by less than that about {X[0, 0]:.6g} in the "
            "first; subtract the means in the precision that they were measured in"
        )


def _is_lost_to_rounding(column: np.ndarray) -> bool:
    """Whether the standard deviation of a column is no more than rounding, by the tolerance that all methods have."""
    highest, lowest = float(np.fmax.reduce(column)), float(np.fmin.reduce(column))
    size = max(abs(highest), abs(lowest))
    if not highest / 2 - lowest / 2 <= column.size * CONSTANT * size:  # the cheap test of most columns
        return False
    values = column[column == column].astype(float) / (size or 1.0)
    return bool(np.std(values - values[:1]) <= CONSTANT * np.sqrt(np.mean(values**2)))


def _varies(xp: Any, column: Any) -> bool:
    """Whether a column has two different values, besides missing ones."""
    if not bool(xp.any(column != column[0])):
        return False
    available = column[column == column]  # NaN is not equal to itself
    return available.shape[0] > 0 and bool(xp.any(available != available[0]))
