"""Write the kept columns and the target to a file: whole, or not at all."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from tamis.base import what_prevents_writing, written_whole
from tamis.cli._formulas import marked_columns, marked_names
from tamis.cli._frame import Frame, kind
from tamis.cli._memory import UNLIMITED, Budget
from tamis.cli._messages import shorten
from tamis.cli._naming import columns_hold
from tamis.cli._polars import require_polars, to_polars
from tamis.cli._table import Table


def check_destination(path: Path) -> None:
    """Refuse what could not be written, before any work is done."""
    suffix = path.suffix.lower()
    known = (*SEPARATORS, *_WRITERS)
    if suffix not in known:
        raise ValueError(f"--out {path}: '{suffix}' is none of {', '.join(known)}")
    check_place(path, "--out")
    if suffix in (".parquet", *_ARROW):
        require_polars(f"writing {suffix}")


def check_place(path: Path, option: str) -> None:
    """Refuse a path where no file can be made."""
    if reason := what_prevents_writing(path):
        raise ValueError(f"{option} {shorten(str(path))}: {shorten(reason, _LONGEST_REASON)}")


def check_writable(path: Path, table: Table, *, mark_formulas: bool = False) -> None:
    """Refuse a format that cannot hold the columns, before any work is done."""
    if mark_formulas:
        marked_names([*table.names, *([] if table.target is None else [table.target])])
    if path.suffix.lower() != ".npz":
        return
    others = [name for name, values in table.features.columns.items() if values.dtype.kind not in "fiub"]
    if others:
        raise ValueError(
            f"--out {path}: .npz holds numbers only, and {columns_hold(others)} others; write .parquet or .csv"
        )


def write(
    path: Path,
    table: Table,
    features: Collection[str],
    budget: Budget = UNLIMITED,
    *,
    mark_formulas: bool = False,
) -> None:
    """Write the given features of a table and its target, as its file had them.

    The file is written beside its destination and moved there when it is complete. In text, cells and names that
    spreadsheets take for formulas are marked where that is asked for.
    """
    kept, suffix = table.features.keep(features), path.suffix.lower()
    if suffix != _SPARSE:
        kept.check_dense(budget, f"which {suffix} needs, and {_SPARSE} does not")
    with written_whole(path) as part, open(part, "xb") as file:
        if suffix in SEPARATORS:
            columns = _columns(kept, table)
            write_delimited(file, marked_columns(columns) if mark_formulas else columns, SEPARATORS[suffix])
        else:
            _WRITERS[suffix](file, kept, table)


def _columns(features: Frame, table: Table) -> dict[str, Any]:
    """Columns by name as the file had them, the target last."""
    columns = features.written()
    if table.y is not None and table.target is not None:
        columns[table.target] = table.y if table.target_written is None else table.target_written
    return columns


def _typed_columns(features: Frame, table: Table) -> dict[str, Any]:
    """The same with dates as such, which a CSV spells out as text; those with a time zone stay as they are."""
    return {
        name: features.columns[name] if _is_spelled_date(features, name) else values
        for name, values in _columns(features, table).items()
    }


def _is_spelled_date(features: Frame, name: str) -> bool:
    cells = features.originals.get(name)
    if name not in features.columns or features.columns[name].dtype.kind != "M" or not isinstance(cells, np.ndarray):
        return False
    return not any(isinstance(cell, str) and cell.endswith("Z") for cell in cells)


def write_delimited(file: BinaryIO, columns: dict[str, Any], separator: str, *, has_header: bool = True) -> None:
    """Write columns, which are arrays or polars series, as text, with their names above them or as further rows."""
    try:
        table = to_polars(columns)
    except ImportError:
        writer = csv.writer(_Lines(file), delimiter=separator, lineterminator=_Lines.END)
        if has_header:
            writer.writerow(columns)
        writer.writerows(zip(*map(_cells, columns.values()), strict=True))
        return
    table.write_csv(file, separator=separator, include_header=has_header)


class _Lines:
    """Takes lines from the csv module, which quotes those marks of a line's end that it is told to write itself."""

    END = "\r\n"

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(f"{line.removesuffix(self.END)}\n".encode())


def _cells(values: np.ndarray) -> list[Any]:
    """A column as the csv module writes it, in the spelling of polars: empty where a value is missing, true, false."""
    spelled = {True: "true", False: "false"}
    if kind(values) == "boolean":
        return [spelled.get(value) for value in values.tolist()]
    if values.dtype.kind == "M":
        values = values.astype(str).astype(object)
        return [None if value == "NaT" else value for value in values]
    return [None if value != value else value for value in values.tolist()]


def _write_parquet(file: BinaryIO, features: Frame, table: Table) -> None:
    to_polars(_typed_columns(features, table)).write_parquet(file)


def _write_arrow(file: BinaryIO, features: Frame, table: Table) -> None:
    to_polars(_typed_columns(features, table)).write_ipc(file)


def _write_npz(file: BinaryIO, features: Frame, table: Table) -> None:
    """Arrays that :func:`tamis.cli._read.read` takes back; a sparse table stays sparse."""
    X = features.matrix() if features.names else np.empty((table.n_rows, 0))
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    else:
        arrays = {"X": X}
    if table.y is not None:
        arrays["y"] = table.y
    np.savez_compressed(file, feature_names=np.array(features.names, dtype=str), **arrays)


_SPARSE = ".npz"
_LONGEST_REASON = 300  # characters
SEPARATORS = {".csv": ",", ".tsv": "\t"}
_ARROW = (".arrow", ".feather", ".ipc")
_WRITERS: dict[str, Callable[[BinaryIO, Frame, Table], None]] = {
    ".parquet": _write_parquet,
    **dict.fromkeys(_ARROW, _write_arrow),
    ".npz": _write_npz,
}
