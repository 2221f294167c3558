"""Read a file into named columns, by its suffix."""

from __future__ import annotations

import glob
import shlex
import textwrap
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from tamis.cli._arrow_sizes import decompressed_size
from tamis.cli._declared_sizes import check_arff, check_mat, check_npz, check_svmlight, parquet_size, plain_columns
from tamis.cli._frame import TOO_MANY_COLUMNS, Frame, check_distinct, check_number_of_columns
from tamis.cli._memory import UNLIMITED, Budget, TooLargeError
from tamis.cli._polars import from_polars, panics_as_errors, require_polars
from tamis.cli._read_text import TextFormat, read_csv, read_tsv

_TARGET = "y"  # name of the target in formats that set it apart without one
_LONGEST_REASON = 160
_BYTES_PER_COLUMN = 500  # of a matrix in memory, with its name, however few rows there are
_OF_MATRICES = ("X", "Y", "y", "feature_names")
_COMPRESSIBLE = (".csv", ".tsv", ".svm", ".svmlight", ".libsvm")


def check_source(path: Path, suffix: str) -> None:
    """Refuse a file that is not there, or of no known format."""
    if path.is_dir():
        held = next((each.suffix for each in sorted(path.iterdir()) if each.suffix in _READERS), None)
        advice = "" if held is None else f"; for the files in it say --glob {shlex.quote(f'{path}/*{held}')}"
        raise ValueError(f"cannot read {path}: it is a folder{advice}")
    if not path.exists():
        raise ValueError(f"cannot read {path}: no such file")
    if suffix not in _READERS:
        known = ", ".join(_READERS)
        raise ValueError(
            f"cannot read {path}: '{suffix}' is none of {known}; say what it is with --format, such as csv"
        )


def read(
    path: Path,
    *,
    suffix: str | None = None,
    text_format: TextFormat | None = None,
    name: str = "",
    may_be_empty: bool = False,
    budget: Budget = UNLIMITED,
) -> Frame:
    """Read a file; whatever goes wrong in it becomes a ``ValueError`` that names it.

    Parameters
    ----------
    path : Path
    suffix : str or None
        Its format; None takes the file's own suffix.
    text_format : TextFormat or None
        How a table of text is written; None finds out.
    name : str
        What to call it, if not by its path.
    may_be_empty : bool
        Whether it may hold no rows, as one part of several.
    budget : Budget
        Memory that it may take.
    """
    suffix = format_suffix(path) if suffix is None else suffix
    name = name or str(path)
    check_source(path, suffix)
    given = TextFormat() if text_format is None else text_format
    if given != TextFormat() and suffix not in _TEXT_READERS:
        raise ValueError(
            f"--encoding, --separator and --decimal are for {', '.join(_TEXT_READERS)}; {name} is {suffix}"
        )
    try:
        is_text = suffix in _TEXT_READERS
        frame = _TEXT_READERS[suffix](path, given, budget) if is_text else _BINARY_READERS[suffix](path, budget)
        if frame.n_rows == 0 and not may_be_empty:
            raise ValueError("it holds no rows")
    except ImportError:
        raise
    except TooLargeError as error:
        raise TooLargeError(f"cannot read {name} as {suffix}: {error}") from error
    except MemoryError as error:
        raise TooLargeError(
            f"cannot read {name} as {suffix}: it takes more memory than there is{budget.cure}"
        ) from error
    except Exception as error:  # parsers of foreign bytes fail in many ways, all of them the file's fault
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        reason = textwrap.shorten(reason.partition("\n")[0], _LONGEST_REASON) or type(error).__name__
        raise ValueError(f"cannot read {name} as {suffix}: {reason}") from error
    return frame


def format_suffix(path: Path) -> str:
    """Suffix in lower case, without the ``.gz`` of a compressed text."""
    name = path.name.lower()
    if name.endswith(".gz") and Path(name[:-3]).suffix in _COMPRESSIBLE:
        name = name[:-3]
    return Path(name).suffix


def _read_parquet(path: Path, budget: Budget) -> Frame:
    polars = require_polars("reading .parquet")
    with panics_as_errors(polars):
        names, plain = plain_columns(polars.scan_parquet(path, glob=False), parquet_size(path), budget)
        return _with_nested(from_polars(polars.read_parquet(path, glob=False, columns=plain), budget), names)


def _read_arrow(path: Path, budget: Budget) -> Frame:
    polars = require_polars(f"reading {path.suffix.lower()}")
    with panics_as_errors(polars):
        names, plain = plain_columns(polars.scan_ipc(path, glob=False), decompressed_size(path), budget)
        escaped = glob.escape(str(path))  # which would be expanded as a pattern
        return _with_nested(from_polars(polars.read_ipc(escaped, columns=plain), budget), names)


def _with_nested(frame: Frame, names: Sequence[str]) -> Frame:
    """All columns in order; lists, which were not read, hold what no method takes."""
    if len(names) == len(frame.columns):
        return frame
    unread = np.empty(frame.n_rows, dtype="V1")
    return replace(frame, columns={name: frame.columns.get(name, unread) for name in names})


def _read_npz(path: Path, budget: Budget) -> Frame:
    """Arrays ``X`` or the parts of a CSR matrix, ``y`` and ``feature_names``."""
    from tamis.datasets._load import assemble  # loads scikit-learn, which the other formats need not wait for

    if not zipfile.is_zipfile(path):
        raise ValueError("it is no zip archive, or was cut short")
    wanted = {"X", "y", "feature_names", "data", "indices", "indptr", "shape"}
    check_npz(path, wanted, budget)
    with np.load(path) as archive:
        held = archive.files
        tables = assemble({key: archive[key] for key in held if key in wanted})
    if "X" not in tables:
        raise ValueError(f"it holds no table X, only {', '.join(held) or 'nothing'}")
    return _from_matrix(tables["X"], tables.get("y"), tables.get("feature_names"), budget)


def _read_mat(path: Path, budget: Budget) -> Frame:
    """MATLAB variables ``X``, ``Y`` or ``y``, and ``feature_names``."""
    held = check_mat(path, _OF_MATRICES, budget)
    tables = io.loadmat(path, appendmat=False, variable_names=_OF_MATRICES)
    if "X" not in tables:
        raise ValueError(f"it holds no variable X, only {', '.join(held) or 'nothing'}")
    target = tables.get("Y", tables.get("y"))
    if target is not None and target.dtype == object:  # a cell array of labels
        target = np.array([_plain(label) for label in np.ravel(target)])
    return _from_matrix(tables["X"], target, tables.get("feature_names"), budget)


def _read_svmlight(path: Path, budget: Budget) -> Frame:
    from sklearn.datasets import load_svmlight_file

    check_svmlight(path, budget)
    try:
        X, y = load_svmlight_file(str(path))
    except OverflowError:
        raise ValueError(f"its largest index has more than 18 digits, {TOO_MANY_COLUMNS}") from None
    return _from_matrix(X, y, None, budget)


def _read_arff(path: Path, budget: Budget) -> Frame:
    check_arff(path, budget)
    try:
        data, meta = io.arff.loadarff(path)
    except StopIteration:
        raise ValueError("it has no @data section") from None
    names = meta.names()
    check_distinct(names)
    return Frame({name: _nominal(data[name]) if data[name].dtype.kind == "S" else data[name] for name in names})


def _nominal(values: np.ndarray) -> np.ndarray:
    text = [value.decode() for value in values]
    return np.array([None if value == "?" else value for value in text], dtype=object)


def _from_matrix(X: Any, y: np.ndarray | None, names: Sequence[Any] | None, budget: Budget) -> Frame:
    """A frame from a matrix with a target beside it; unnamed columns are x0, x1, ..."""
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}, not rows x columns")
    if y is not None and y.size != X.shape[0]:
        raise ValueError(f"y has shape {y.shape}, not one value for each of the {X.shape[0]} rows of X")
    check_number_of_columns(X.shape[1])
    budget.check(_BYTES_PER_COLUMN * X.shape[1], f"{X.shape[1]} columns")
    named = [f"x{j}" for j in range(X.shape[1])] if names is None else [_plain(name) for name in np.ravel(names)]
    if len(named) != X.shape[1]:
        raise ValueError(f"feature_names holds {len(named)} names for {X.shape[1]} columns")
    beside = {} if y is None else {_TARGET: np.ravel(y)}
    check_distinct([*named, *beside])
    target = None if y is None else _TARGET
    if sparse.issparse(X):
        X.check_format(full_check=True)  # an index out of range would reach past the arrays
        return Frame(beside, sparse.csc_array(X), tuple(named), target)
    return Frame(dict(zip(named, X.T, strict=True)) | beside, target=target)


def _plain(name: Any) -> str:
    """A name as text; MATLAB wraps the cells of a list in arrays and pads them."""
    return str(np.ravel(name)[0]).strip()


_TEXT_READERS: dict[str, Callable[[Path, TextFormat, Budget], Frame]] = {".csv": read_csv, ".tsv": read_tsv}
_BINARY_READERS: dict[str, Callable[[Path, Budget], Frame]] = {
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".ipc": _read_arrow,
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".svm": _read_svmlight,
    ".svmlight": _read_svmlight,
    ".libsvm": _read_svmlight,
    ".arff": _read_arff,
}
_READERS = (*_TEXT_READERS, *_BINARY_READERS)
