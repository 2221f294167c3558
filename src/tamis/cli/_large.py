"""Tables larger than the memory that a command may take: rows are read in blocks, here or by a cluster of dask."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tamis.base import PERMUTED_COPIES, ROWS, Ranker, written_whole
from tamis.base._row_blocks import TAKE_ROW_BLOCKS
from tamis.cli._dask_frames import read_in_dask
from tamis.cli._environment import Environment
from tamis.cli._formulas import marked_columns, marked_names
from tamis.cli._frame import missing
from tamis.cli._memory import default_size, in_words
from tamis.cli._methods import kebab
from tamis.cli._naming import columns_hold, drop_option, them
from tamis.cli._polars import require_polars
from tamis.cli._progress import show_reading
from tamis.cli._read import check_source, format_suffix
from tamis.cli._read_text import TextFormat, find_layout
from tamis.cli._sources import NO_ROWS, STANDARD_INPUT, find_files
from tamis.cli._table import LARGEST_WHOLE, Columns, Parts, as_groups, as_target, as_weights, find_parts
from tamis.cli._write import SEPARATORS, write_delimited

if TYPE_CHECKING:
    from tamis import TableSelector
    from tamis.engine import FileTable, TextLayout

_FORMATS = (".parquet", ".arrow", ".feather", ".ipc", ".csv", ".tsv")
_TEXT = (".csv", ".tsv")
_COPIES = 3  # of a table that exist at once where it is read and ranked in memory
_BYTES_PER_CHARACTER = 2.0  # of a table of text, read into memory
_COMPRESSION = 8.0  # of text by gzip
_WRITABLE = (".parquet", ".arrow", ".feather", ".ipc", *SEPARATORS)


@dataclass(frozen=True)
class LargeTable:
    """Features and target of files whose rows are not in memory.

    Attributes
    ----------
    files : FileTable
        All columns.
    names : list of str
        Of the features.
    y, weights, row_groups : ndarray or None
    target : str or None
    keep : tuple of str
    notes : tuple of str
    scheduler : str or None
        Address of the cluster that reads the rows.
    in_dask : bool
        Whether partitions of dask are read, and no blocks.
    """

    files: FileTable
    names: list[str]
    y: np.ndarray | None
    weights: np.ndarray | None
    row_groups: np.ndarray | None
    target: str | None
    keep: tuple[str, ...]
    notes: tuple[str, ...]
    scheduler: str | None = None
    in_dask: bool = False
    n_rows_dropped: int = 0
    n_empty_lines: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.files.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)


def is_large(args: argparse.Namespace, ranker: Ranker) -> bool:
    """Whether the files are to be read in blocks: as asked, or as their size and the memory say."""
    if args.scheduler is not None and args.engine != "dask":
        raise ValueError("--scheduler is for --engine dask")
    if args.engine in ("blocks", "dask"):
        if "row_blocks" not in ranker.provides:
            raise ValueError(
                f"{kebab(type(ranker).__name__)} needs all rows in memory: leave --engine out, or use one that reads "
                f"them in blocks: {', '.join(map(kebab, TAKE_ROW_BLOCKS))}"
            )
        return True
    paths = [] if STANDARD_INPUT in args.file else find_files(args.file, several=args.glob)
    suffix = _suffix(args, paths)
    if args.engine == "memory" or suffix not in _FORMATS:
        return False
    size = sum(_size_in_memory(path, suffix) for path in paths if path.is_file())
    budget = default_size() if args.memory is None else args.memory
    if _COPIES * size <= budget:
        return False
    if args.memory is None and _needs_memory(args, ranker):  # nobody asked to keep to a size: it may go well
        return False
    if "row_blocks" in ranker.provides:
        return True
    raise ValueError(
        f"{kebab(type(ranker).__name__)} needs all rows in memory, where they and what is computed of them take about "
        f"{in_words(_COPIES * size)}: give so much --memory, or use a method that reads them in blocks: "
        f"{', '.join(map(kebab, TAKE_ROW_BLOCKS))}"
    )


def is_read_in_blocks(args: argparse.Namespace) -> bool:
    """Whether files of this format are read in blocks where they are too large."""
    return _suffix(args, find_files(args.file, several=args.glob)) in _FORMATS


def _needs_memory(args: argparse.Namespace, ranker: Ranker) -> bool:
    """Whether the method, its rule or an option needs all rows, or nothing is installed that reads them in blocks."""
    has_reader = importlib.util.find_spec("pyarrow") is not None
    requires = ranker._stopping_rule().requires
    ranks_copies = PERMUTED_COPIES in requires and not _scores_copies_in_blocks(ranker)
    needs_rows = not ranker._reads_blocks() or ROWS in requires or ranks_copies
    return needs_rows or not has_reader


def _scores_copies_in_blocks(ranker: Ranker) -> bool:
    """Whether a probe of permuted copies needs sums over rows alone."""
    return type(ranker).scores_of_copies_in_blocks is not Ranker.scores_of_copies_in_blocks


def load_large(args: argparse.Namespace, env: Environment, method: type[Ranker], text_format: TextFormat) -> LargeTable:
    """Open the files and read the target; the features stay where they are."""
    from tamis.engine import FileTable

    paths = find_files(args.file, several=args.glob)
    suffix = _suffix(args, paths)
    for path in paths:
        check_source(path, suffix)
    if suffix not in _FORMATS:
        raise ValueError(f"{paths[0]}: only {', '.join(_FORMATS)} are read in blocks, not '{suffix}'")
    layout = _common_layout(paths, suffix, text_format) if suffix in _TEXT else None
    memory = default_size() if args.memory is None else args.memory
    files = FileTable(paths, layout=layout, memory=memory, suffix=suffix)
    files.watch = None if args.quiet or args.json else partial(show_reading, env)
    parts = find_parts(
        list(files.column_names),
        None,
        Columns(args.target, args.weights, args.row_groups, args.drop, args.keep, args.task),
        needed_by=kebab(method.__name__) if method.supervised else None,
    )
    others = [name for name in parts.features if files.kind(name) == "other"]
    if others:
        what = "neither numbers nor text nor dates"
        raise ValueError(f"{columns_hold(others)} {what}; leave {them(others)} out with {drop_option(others)}")
    files, n_empty = _without_empty_lines(files, parts.target)
    if not files.n_rows:
        raise ValueError(f"cannot read {paths[0]} as {suffix}: it holds no rows" if len(paths) == 1 else NO_ROWS)
    notes = [f"{in_words(files.n_bytes)} in {files.n_rows} rows and {len(files.column_names)} columns, read in blocks"]
    if layout is not None and args.encoding is None and layout.encoding != "utf-8":
        notes.append(f"read as {layout.encoding.upper()}, as the first line says; else say --encoding NAME")
    if n_empty:
        notes.append(f"left out {n_empty} empty line{'s' * (n_empty > 1)}")
    n_rows = files.n_rows
    if args.drop_rows_without_target and parts.target is not None:
        files = files.take_rows(~missing(files.read_column(parts.target)))
    if n_dropped := n_rows - files.n_rows:
        notes.append(f"left out {n_dropped} of {n_rows} rows, which have no target")
    table = LargeTable(
        files,
        parts.features,
        *_read_apart(files, parts, args.task),
        target=parts.target,
        keep=tuple(parts.keep),
        notes=tuple(notes),
        scheduler=args.scheduler,
        in_dask=args.engine == "dask",
        n_rows_dropped=n_dropped,
        n_empty_lines=n_empty,
    )
    if not args.json:
        for note in notes:
            env.say(note)
    return table


def _without_empty_lines(files: FileTable, target: str | None) -> tuple[FileTable, int]:
    """Lines of text without any value are no rows; all columns are looked at only where a target is missing."""
    if files.suffix not in _TEXT or (target is not None and not missing(files.read_column(target)).any()):
        return files, 0
    is_empty = files.empty_rows()
    n_empty = int(is_empty.sum())
    return (files.take_rows(~is_empty), n_empty) if n_empty else (files, 0)


def fit_large(ranker: Ranker, table: LargeTable, treat_missing: str) -> Ranker | TableSelector:
    """Rank the features, whose rows are read in blocks."""
    from tamis import TableSelector

    if table.in_dask:
        return _fit_dask(ranker, table)
    selector = TableSelector(ranker, missing=treat_missing)
    files = table.files.select(table.names)
    return selector.fit(files, table.y, sample_weight=table.weights, row_groups=table.row_groups)


def _fit_dask(ranker: Ranker, table: LargeTable) -> Ranker:
    """The same on partitions of dask, which a cluster may hold; columns must be numbers."""
    others = [name for name in table.names if table.files.kind(name) not in ("number", "boolean")]
    if others:
        raise ValueError(
            f"--engine dask ranks numbers, and {columns_hold(others)} others: leave them out with {drop_option(others)}"
        )
    leaves_rows_out = bool(table.n_rows_dropped or table.n_empty_lines)
    names = [*table.names, str(table.target)] if leaves_rows_out and table.target is not None else table.names
    if leaves_rows_out and table.target is None:  # a line is empty if all its cells are
        frame = read_in_dask(table.files, table.files.column_names).dropna(how="all")[names]
    else:
        frame = read_in_dask(table.files, names)
    if names is not table.names:
        frame = frame[~frame[table.target].isna()][table.names]
    beside = {"sample_weight": table.weights, "row_groups": table.row_groups}
    given = {name: values for name, values in beside.items() if values is not None}
    with _cluster(table.scheduler):
        return ranker.fit(frame, table.y, **given)


@contextlib.contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Computations go to the cluster at that address; without one, to the threads of this process."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--scheduler needs distributed; install it with: pip install 'tamis[scale]'") from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise ValueError(f"--scheduler {address}: no cluster answers there ({type(error).__name__})") from None
    with client:
        yield


def write_large(path: Path, table: LargeTable, features: Iterable[str], *, mark_formulas: bool = False) -> None:
    """Write the given features and the target, in batches, as a table in memory is written.

    The file is moved to its place when it is complete.
    """
    wanted, suffix = set(features), path.suffix.lower()
    names = [name for name in table.files.column_names if name in wanted]
    names += [] if table.target is None else [table.target]
    files = table.files.as_written(names, dates_as_text=suffix in SEPARATORS)
    with written_whole(path) as part, _writer(part, suffix, files, names, mark_formulas) as write_batch:
        for batch in files.batches(names, files.rows_per_block(len(names))):
            write_batch(batch)


def check_writable_large(path: Path, table: LargeTable, *, mark_formulas: bool = False) -> None:
    """Refuse formats that are not written in batches, before any work is done."""
    if mark_formulas:
        marked_names([*table.names, *([] if table.target is None else [table.target])])
    if path.suffix.lower() not in _WRITABLE:
        raise ValueError(f"--out {path}: a table larger than memory is written as {', '.join(_WRITABLE)}")


@contextlib.contextmanager
def _writer(
    part: Path, suffix: str, files: FileTable, names: Sequence[str], mark_formulas: bool
) -> Iterator[Callable[[Any], None]]:
    """Writes record batches of the given columns."""
    if suffix in SEPARATORS:
        with open(part, "xb") as file:
            yield _text_writer(file, SEPARATORS[suffix], mark_formulas)
        return
    import pyarrow as pa
    from pyarrow import ipc, parquet

    schema = pa.schema([files.schema.field(name) for name in names])
    opened: Any = parquet.ParquetWriter(part, schema) if suffix == ".parquet" else ipc.new_file(str(part), schema)
    with opened as writer:
        yield lambda batch: writer.write_batch(batch.select(list(names)))


def _text_writer(file: BinaryIO, separator: str, mark_formulas: bool) -> Callable[[Any], None]:
    """Writes record batches as text, the names above the first."""
    is_first = True

    def write_batch(batch: Any) -> None:
        nonlocal is_first
        columns = _as_columns(batch)
        write_delimited(file, marked_columns(columns) if mark_formulas else columns, separator, has_header=is_first)
        is_first = False

    return write_batch


def _as_columns(batch: Any) -> dict[str, Any]:
    """A record batch as polars series, or as arrays of objects where polars is not installed."""
    try:
        polars = require_polars("fast writing")
    except ImportError:
        return {
            name: np.array(column.to_pylist(), dtype=object)
            for name, column in zip(batch.schema.names, batch, strict=True)
        }
    return polars.from_arrow(batch).to_dict()


def _read_apart(
    files: FileTable, parts: Parts, task: str
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Target, weights and groups of rows, in memory."""
    y = weights = row_groups = None
    if parts.target is not None:
        y = as_target(_as_read(files, "--target", parts.target), parts.target, task)
    if parts.weights is not None:
        weights = as_weights(_as_read(files, "--weights", parts.weights), parts.weights)
    if parts.row_groups is not None:
        row_groups = as_groups(_as_read(files, "--row-groups", parts.row_groups), parts.row_groups)
    return y, weights, row_groups


def _common_layout(paths: Sequence[Path], suffix: str, text_format: TextFormat) -> TextLayout:
    """How text is written, alike in all files: their columns are known by their places."""
    first = find_layout(paths[0], suffix, text_format)
    for path in paths[1:]:
        layout = find_layout(path, suffix, text_format)
        if layout.encoding != first.encoding:
            raise ValueError(
                f"{path} is written in {layout.encoding} and {paths[0]} in {first.encoding}: text files read in blocks "
                "need the same encoding; if it is found out wrongly, name it with --encoding"
            )
        if (layout.names, layout.separator) != (first.names, first.separator):
            raise ValueError(
                f"{path} has another header than {paths[0]}: text files read in blocks need the same columns, in the "
                "same order and between the same marks"
            )
    return first


def _as_read(files: FileTable, option: str, name: str) -> np.ndarray:
    """A column as a table in memory has it: whole numbers as such."""
    if files.kind(name) in ("date", "other"):
        raise ValueError(f"{option} {shlex.quote(name)}: the column holds neither numbers nor labels")
    values = files.read_column(name)
    is_whole = (
        values.dtype.kind == "f" and np.all(np.abs(values) < LARGEST_WHOLE) and np.all(values == np.round(values))
    )
    if is_whole:
        return values.astype(np.int64)
    return values


def _suffix(args: argparse.Namespace, paths: Sequence[Path]) -> str:
    if args.format is not None:
        return f".{args.format.lower().removeprefix('.')}"
    return format_suffix(paths[0]) if paths else ".csv"


def _size_in_memory(path: Path, suffix: str) -> float:
    """Bytes that a file takes in memory, about."""
    size = path.stat().st_size
    if suffix in _TEXT:
        return size * _BYTES_PER_CHARACTER * (_COMPRESSION if path.suffix.lower() == ".gz" else 1.0)
    if suffix == ".parquet":
        with contextlib.suppress(ImportError, OSError, ValueError):
            from pyarrow import parquet

            metadata = parquet.read_metadata(path)
            return max(8.0 * metadata.num_rows * metadata.num_columns, size)
    return size
