"""Blocks of rows of files that memory need not hold: Parquet, Arrow and delimited text, read in batches by pyarrow."""

from __future__ import annotations

import glob
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tamis.engine._arrow_types import (
    arrow,
    as_decimal,
    as_schema,
    common_schema,
    decoded_parts,
    has_fixed_width,
    is_whole,
    join_batches,
    kind_of,
    longest_listed,
    to_numpy,
    with_types,
)
from tamis.engine._row_blocks import MEMORY, LocalBlocks, Watch

_SHARE_OF_BLOCK = 1 / 16  # of the memory: blocks are read ahead, converted and moved, so that some copies exist at once
_MOST_BLOCK_BYTES = 2**26  # larger blocks are not faster
_FEWEST_ROWS = 256
_STREAM_BYTES = 2**20  # read of a file at a time
_ROWS_OF_TEXT = 1024  # decoded at a time where columns are of no fixed width: only then it is known what they take
_LONG = 2**12  # bytes of a text, of which so many rows take no more than a few MB
_TEXT = (".csv", ".tsv")
_CSV_COLUMN = re.compile(r"In CSV column #(\d+): ")
_TOO_LONG = ("straddling object", "header is larger than block size")  # as pyarrow says it

T = TypeVar("T")


@dataclass(frozen=True)
class TextLayout:
    """How delimited text is written.

    Attributes
    ----------
    separator : str
        Between two cells.
    decimal : str
        Mark before the decimals.
    encoding : str
    missing : tuple of str
        Cells that stand for no value.
    names : tuple of str or None
        Of the columns; None takes the first line as it is.
    n_header_lines : int
        Lines up to the names and with them, where ``names`` are given.
    text_columns : tuple of str
        Columns that are text though their cells look like numbers, such as codes with leading zeros.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?")
    names: tuple[str, ...] | None = None
    n_header_lines: int = 1
    text_columns: tuple[str, ...] = ()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Whatever goes wrong in a file is said of it."""
    try:
        yield
    except (arrow().ArrowException, OSError) as error:
        raise ValueError(f"cannot read {path}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """What went wrong; a line of text that is too long is told as such."""
    said = str(error).partition("\n")[0]
    if any(words in said for words in _TOO_LONG):
        return (
            f"a line is longer than {_STREAM_BYTES // 2**20} MB, and blocks hold whole lines: see that the file has "
            "line ends and no quote is left open, or read it at once, with as much memory as it takes"
        )
    return said


class FileTable:
    """Columns of files of one format whose rows stand below each other.

    Parameters
    ----------
    paths : str, Path or sequence of these
        Patterns such as ``part-*.parquet`` stand for all files that match, sorted. The suffix tells the format:
        .parquet, .arrow, .feather, .ipc, or .csv and .tsv, which may be compressed (.gz).
    layout : TextLayout, default=None
        How text is written; None: cells between commas, or tabs where the suffix is .tsv.
    memory : int, default=2 GB
        Bytes that reading and summing may take; blocks are sized after it.

    Attributes
    ----------
    paths : tuple of Path
    column_names : tuple of str
    n_rows : int
        Text is read once to know it.
    watch : callable or None
        Wraps the batches of a pass to report progress.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        layout: TextLayout | None = None,
        memory: int = MEMORY,
        suffix: str | None = None,
    ) -> None:
        require_pyarrow()
        self.paths = _find_files([paths] if isinstance(paths, str | Path) else paths)
        self.suffix = _format_of(self.paths[0]) if suffix is None else suffix
        if self.suffix not in _READERS:
            raise ValueError(f"cannot read {self.paths[0]} in blocks: '{self.suffix}' is none of {', '.join(_READERS)}")
        self.layout = TextLayout("\t" if self.suffix == ".tsv" else ",") if layout is None else layout
        self.memory = _checked_memory(memory)
        self._states = {path: _state_of(path) for path in self.paths}
        self.watch: Watch | None = None
        self._n_rows: int | None = None
        self._is_kept: np.ndarray | None = None  # of all rows of the files; None: every one
        self._reader = _READERS[self.suffix]
        self.schema = self._schema_of(self.paths[0])
        self.column_names = tuple(self.schema.names)
        if len(set(self.schema.names)) < len(self.schema.names):
            twice = next(name for name in self.schema.names if self.schema.names.count(name) > 1)
            raise ValueError(f"cannot read {self.paths[0]}: two columns are named '{twice}'")
        for path in self.paths[1:]:
            self.schema = common_schema(self.schema, self.paths[0], self._schema_of(path), path)
        self.schema = with_types(self.schema)
        counts = [self._count_rows(path) for path in self.paths]
        if None not in counts:
            self.count(count or 0 for count in counts)

    def _schema_of(self, path: Path) -> Any:
        with _named(path):
            return self._reader.schema(path, self.layout)

    def _count_rows(self, path: Path) -> int | None:
        with _named(path):
            return self._reader.count_rows(path, self.layout)

    @property
    def n_rows(self) -> int:
        """Rows of all files together."""
        if self._n_rows is None:
            self.count(batch.num_rows for batch in self.batches(self.schema.names[:1], self.rows_per_block(1)))
        return int(self._n_rows or 0)

    def count(self, sizes: Iterable[int]) -> None:
        """Take down how many rows there are, given those of all batches of a pass."""
        self._n_rows = sum(sizes)

    @property
    def n_bytes(self) -> int:
        """What the table would take in memory in double precision."""
        return 8 * self.n_rows * len(self.column_names)

    def rows_per_block(self, n_columns: int) -> int:
        """Rows of a block of so many columns in double precision."""
        return max(_FEWEST_ROWS, int(self._bytes_per_block // (8 * max(n_columns, 1))))

    @property
    def _bytes_per_block(self) -> float:
        return min(self.memory * _SHARE_OF_BLOCK, _MOST_BLOCK_BYTES)

    def select(self, columns: Sequence[str]) -> FileTable:
        """The same rows of some of the columns."""
        if not len(columns):
            raise ValueError("no column is given: name at least one")
        for name in columns:
            self._check_known(name)
        if twice := [name for name, count in Counter(columns).items() if count > 1]:
            raise ValueError(f"column '{twice[0]}' is given twice: name each column once")
        part = copy(self)
        part.column_names = tuple(columns)
        return part

    def take_rows(self, is_kept: np.ndarray) -> FileTable:
        """The rows where a mask, of one entry per row, is true; the others are read and passed over.

        Parameters
        ----------
        is_kept : ndarray of bool, of shape (n_rows,)
        """
        is_kept = np.asarray(is_kept)
        if is_kept.dtype != bool:  # places of rows would be taken for true wherever they are not 0
            raise ValueError(f"the mask holds {is_kept.dtype}, not booleans: say of every row whether it is taken")
        if is_kept.shape != (self.n_rows,):
            raise ValueError(f"the mask has shape {is_kept.shape}, but the files have {self.n_rows} rows")
        part = copy(self)
        part._is_kept = is_kept
        if self._is_kept is not None:
            part._is_kept = self._is_kept.copy()
            part._is_kept[self._is_kept] = is_kept
        part._n_rows = int(is_kept.sum())
        return part

    def _check_known(self, name: str) -> None:
        if name not in self.schema.names:
            raise ValueError(f"{self.paths[0]} has no column '{name}'")

    def kind(self, name: str) -> str:
        """What a column holds: "number", "boolean", "date", "text" or "other"."""
        return kind_of(self.schema.field(name).type)

    def watched(self, batches: Iterator[T], purpose: str) -> Iterator[T]:
        """Batches of a pass over the files, whose progress is reported where anybody watches."""
        if self.watch is None:
            return batches
        n_blocks = None if self._n_rows is None else -(-self._n_rows // self.rows_per_block(len(self.column_names)))
        return iter(self.watch(batches, n_blocks, purpose))

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Record batches of at most so many rows, of the given columns, of one file after the other.

        Those of text have fewer, where so many would take more than a block of numbers may.
        """
        start = 0
        for path in self.paths:
            self._check_unchanged(path)
            try:
                for batch in self._sized_batches(path, list(columns), n_rows):
                    found = as_schema(batch, self.schema, columns)
                    if self._is_kept is not None:
                        found = found.filter(arrow().array(self._is_kept[start : start + batch.num_rows]))
                    start += batch.num_rows
                    yield found
            except (arrow().ArrowException, OSError) as error:
                self._check_unchanged(path)
                raise ValueError(f"cannot read {path}: {self._in_words(error)}") from error
            self._check_unchanged(path)

    def _sized_batches(self, path: Path, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Batches of one file; what text takes is known when it is decoded, a few rows at a time."""
        if all(has_fixed_width(self.schema.field(name).type) for name in columns):
            return self._reader.batches(path, self.layout, self.schema, columns, n_rows)
        read = self._reader.batches(path, self.layout, self.schema, columns, min(n_rows, _ROWS_OF_TEXT))
        parts = (part for batch in read for part in decoded_parts(batch, self.schema, self._bytes_per_block))
        return join_batches(parts, n_rows, self._bytes_per_block)

    def _check_unchanged(self, path: Path) -> None:
        """Refuse a file that is not what it was when the table was opened: passes would see different rows."""
        if (state := _state_of(path)) != self._states[path]:
            what = "is gone" if state is None else "changed"
            raise ValueError(f"{path} {what} while the table was read: open it anew, once nothing writes to its files")

    def _in_words(self, error: Exception) -> str:
        """What went wrong, with the name of the column of text that pyarrow knows by its number."""
        said = _first_line(error)
        found = _CSV_COLUMN.search(said)
        if found is None or int(found[1]) >= len(self.schema.names):
            return said
        name = self.schema.names[int(found[1])]
        advice = (
            "; its first lines hold another kind of values: mend the cell, or read the file at once, with more memory"
        )
        return f"column '{name}': {said.replace(found[0], '')}{advice}"

    def empty_rows(self) -> np.ndarray:
        """Which rows have no value in any column, in one pass."""
        from pyarrow import compute

        parts = []
        for batch in self.batches(self.schema.names, self.rows_per_block(len(self.schema.names))):
            is_empty = np.ones(batch.num_rows, dtype=bool)
            for column in batch.columns:
                is_empty &= compute.is_null(column).to_numpy(zero_copy_only=False)
            parts.append(is_empty)
        self.count(map(len, parts))
        return np.concatenate(parts) if parts else np.empty(0, dtype=bool)

    def read_column(self, name: str) -> np.ndarray:
        """All rows of one column: numbers as such, with NaN where one is missing; else objects, None where missing.

        Whole numbers of which none is missing stay what they are, for double precision does not tell large ones apart.
        """
        self._check_known(name)
        columns = self._arrow_column(name)
        all_whole = all(map(is_whole, columns))
        parts = [column.to_numpy(zero_copy_only=False) if all_whole else to_numpy(column) for column in columns]
        self.count(map(len, parts))
        return np.concatenate(parts) if parts else np.empty(0)

    def as_written(self, columns: Sequence[str], *, dates_as_text: bool) -> FileTable:
        """The same rows with columns of text typed as they are written: whole numbers as such, dates perhaps as text.

        Whether all numbers of a column are whole takes passes over the file, most of which end early.
        """
        if self.suffix not in _TEXT:
            return self
        pa = arrow()
        dates = [name for name in columns if dates_as_text and self.kind(name) == "date"]
        whole = self._whole_at_first([name for name in columns if self.schema.field(name).type == pa.float64()])
        while True:
            part = self._retyped(dict.fromkeys(dates, pa.string()) | dict.fromkeys(whole, pa.int64()))
            try:
                for _ in part.batches(whole, self.rows_per_block(len(whole))) if whole else ():
                    pass
                return part
            except ValueError as error:
                found = _CSV_COLUMN.search(str(error.__cause__))
                name = None if found is None else self.schema.names[int(found[1])]
                if name not in whole:
                    raise
                whole.remove(name)  # a cell of it is no whole number

    def _whole_at_first(self, columns: list[str]) -> list[str]:
        """Those columns in whose first rows all numbers are whole."""
        for batch in self.batches(columns, _ROWS_OF_TEXT) if columns else ():
            first = [to_numpy(column) for column in batch.columns]
            return [
                name
                for name, values in zip(columns, first, strict=True)
                if np.all(np.isnan(values) | (values == np.round(values)))
            ]
        return []

    def _retyped(self, types: Mapping[str, Any]) -> FileTable:
        """The same with other types for some columns, as cells are read."""
        part = copy(self)
        part.schema = arrow().schema([(field.name, types.get(field.name, field.type)) for field in self.schema])
        return part

    def _arrow_column(self, name: str) -> list[Any]:
        """All rows of one column, in batches; text in which all numbers are whole as such."""
        pa = arrow()
        if self.suffix in _TEXT and self.schema.field(name).type == pa.float64():
            try:
                return self._retyped({name: pa.int64()})._arrow_column(name)
            except ValueError as error:
                if not isinstance(error.__cause__, pa.ArrowInvalid):  # a cell that is no whole number
                    raise
        return [batch.column(0) for batch in self.batches([name], self.rows_per_block(1))]

    def blocks(self, columns: Sequence[str] | None = None) -> FileBlocks:
        """The given columns, or all, as a table of numbers that is read in blocks."""
        return FileBlocks(self, self.column_names if columns is None else columns)


class FileBlocks(LocalBlocks):
    """Columns of numbers in files, read in blocks of rows; the next block is read while one is looked at.

    Parameters
    ----------
    files : FileTable
    columns : sequence of str
    """

    def __init__(self, files: FileTable, columns: Sequence[str]) -> None:
        files.select(columns)  # names that are not there are refused
        if guilty := [f"'{name}'" for name in columns if files.kind(name) not in ("number", "boolean")]:
            raise ValueError(
                f"column{'s' * (len(guilty) > 1)} {', '.join(guilty[:5])} of {files.paths[0]} "
                f"{'are' if len(guilty) > 1 else 'is'} not numeric: leave out what is no number, or encode it first"
            )
        self.files = files
        self.column_names = tuple(columns)
        self.shape = (files.n_rows, len(columns))
        self.memory = files.memory
        is_single = all(files.schema.field(name).type == arrow().float32() for name in columns)
        self.dtype = np.dtype(np.float32 if is_single else np.float64)

    def _n_blocks(self) -> int | None:
        return None if not len(self) else -(-len(self) // self.files.rows_per_block(self.shape[1]))

    def _read(self, columns: np.ndarray | None) -> Iterator[np.ndarray]:
        names = list(self.column_names or ())
        if columns is not None:
            names = [names[j] for j in np.asarray(columns).tolist()]
        batches = self.files.batches(list(dict.fromkeys(names)), self.files.rows_per_block(self.shape[1]))
        return read_ahead(self._block(batch, names) for batch in batches if batch.num_rows)

    def _block(self, batch: Any, names: Sequence[str]) -> np.ndarray:
        block = np.empty((batch.num_rows, len(names)), dtype=self.dtype, order="F")
        for place, name in enumerate(names):
            block[:, place] = to_numpy(batch.column(name))
        return block


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next of which is made by another thread while one is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


def require_pyarrow() -> Any:
    """The library that reads files in batches, or an error that says what to install."""
    try:
        return arrow()
    except ImportError:
        raise ImportError("reading files in blocks needs pyarrow: pip install 'tamis[scale]'") from None


def _find_files(given: Sequence[str | Path]) -> tuple[Path, ...]:
    """Files, and those that patterns stand for, sorted."""
    found: list[Path] = []
    for each in given:
        path = Path(each)
        matches = [path] if path.exists() else sorted(map(Path, glob.glob(str(each), recursive=True)))
        if not matches:
            raise ValueError(f"cannot read {each}: no such file, and none that matches")
        if folder := next((match for match in matches if match.is_dir()), None):
            raise ValueError(f"cannot read {folder}: it is a folder; give the files in it, such as {folder}/*.parquet")
        found += matches
    if not found:
        raise ValueError("no file is given")
    return tuple(found)


def _state_of(path: Path) -> tuple[int, int] | None:
    """Size and time of the last change of a file; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def _checked_memory(memory: float) -> int:
    if isinstance(memory, bool) or not isinstance(memory, Real) or not 0 < memory < np.inf:
        raise ValueError(f"memory must be a number of bytes above 0, such as 2 * 2**30, not {memory!r}")
    return max(1, int(memory))


def _format_of(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


class _Reader(ABC):
    """How files of one format are read; a format overrides what it can tell without reading all."""

    @abstractmethod
    def schema(self, path: Path, layout: TextLayout) -> Any: ...

    def count_rows(self, path: Path, layout: TextLayout) -> int | None:
        return None

    @abstractmethod
    def batches(
        self, path: Path, layout: TextLayout, schema: Any, columns: list[str], n_rows: int
    ) -> Iterator[Any]: ...


class _Parquet(_Reader):
    def schema(self, path: Path, layout: TextLayout) -> Any:
        with self._open(path) as file:
            return file.schema_arrow

    def count_rows(self, path: Path, layout: TextLayout) -> int | None:
        with self._open(path) as file:
            return file.metadata.num_rows

    def batches(self, path: Path, layout: TextLayout, schema: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        coded = self._long_listed(path, [name for name in columns if kind_of(schema.field(name).type) == "text"])
        with self._open(path, coded) as file:
            yield from file.iter_batches(batch_size=n_rows, columns=columns)

    def _long_listed(self, path: Path, names: Sequence[str]) -> list[str]:
        """Columns of long texts that are listed once, so that rows of them decoded may be thousands of times the file.

        They are read as codes, which takes longer where most texts differ.
        """
        if not names:
            return []
        found: set[str] = set()
        with self._open(path, names) as file:
            for place in range(file.num_row_groups):
                for batch in islice(file.iter_batches(batch_size=1, row_groups=[place], columns=list(names)), 1):
                    found |= {
                        name
                        for name in names
                        if longest_listed(batch.column(batch.schema.get_field_index(name))) > _LONG
                    }
        return sorted(found)

    @staticmethod
    def _open(path: Path, coded: Sequence[str] = ()) -> Any:
        from pyarrow import parquet

        # a stream and no buffers of whole row groups: a file may be one row group
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=_STREAM_BYTES, read_dictionary=list(coded))


class _Arrow(_Reader):
    def schema(self, path: Path, layout: TextLayout) -> Any:
        with self._open(path) as file:
            return file.schema

    def count_rows(self, path: Path, layout: TextLayout) -> int | None:
        from pyarrow import dataset, fs

        fragment = dataset.IpcFileFormat().make_fragment(str(path), fs.LocalFileSystem())
        return fragment.count_rows()  # by the headers of batches alone

    def batches(self, path: Path, layout: TextLayout, schema: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        with self._open(path) as file:
            places = sorted(file.schema.get_field_index(name) for name in columns)
        with self._open(path, places) as file:  # other columns are not decoded
            for place in range(file.num_record_batches):
                batch = file.get_batch(place).select(columns)
                batch.validate(full=True)  # offsets of damaged text may point anywhere in memory
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.slice(start, n_rows)

    @staticmethod
    def _open(path: Path, places: Sequence[int] | None = None) -> Any:
        from pyarrow import ipc, memory_map

        options = ipc.IpcReadOptions(included_fields=None if places is None else list(places))
        return ipc.open_file(memory_map(str(path)), options=options)


class _Text(_Reader):
    """Types are those of the first block; whole numbers count as decimals, for later ones may be.

    A column that is read by itself is tried as whole numbers first.
    """

    def schema(self, path: Path, layout: TextLayout) -> Any:
        pa = arrow()
        with self._open(path, layout, None) as reader:
            schema = pa.schema([(field.name, as_decimal(field.type)) for field in reader.schema])
        if undecoded := [field.name for field in schema if pa.types.is_binary(field.type)]:
            raise ValueError(f"cannot read {path}: column '{undecoded[0]}' is not {layout.encoding}; name its encoding")
        return schema

    def batches(self, path: Path, layout: TextLayout, schema: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        with self._open(path, layout, schema, columns) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.slice(start, n_rows)

    @staticmethod
    def _open(path: Any, layout: TextLayout, schema: Any, columns: list[str] | None = None) -> Any:
        from pyarrow import csv

        missing = list(layout.missing)
        types = {name: arrow().string() for name in layout.text_columns}
        types |= {} if schema is None else {field.name: field.type for field in schema}
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(
                block_size=_STREAM_BYTES,
                encoding=layout.encoding,
                column_names=layout.names,
                skip_rows=0 if layout.names is None else layout.n_header_lines,
            ),
            parse_options=csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=missing,
                decimal_point=layout.decimal,
                strings_can_be_null=True,
            ),
        )


def parse_text(data: bytes, layout: TextLayout, schema: Any, columns: Sequence[str]) -> Any:
    """Columns of some lines of a text file as an Arrow table of the types of a schema, whatever reads the lines."""
    pa = arrow()
    wanted = pa.schema([schema.field(name) for name in columns])
    if not data:
        return wanted.empty_table()
    with _Text._open(pa.BufferReader(data), layout, schema, list(columns)) as reader:
        return pa.Table.from_batches(reader, wanted)


_READERS: dict[str, _Reader] = {
    ".parquet": _Parquet(),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _Arrow()),
    **dict.fromkeys(_TEXT, _Text()),
}
