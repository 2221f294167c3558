"""Files as data frames of dask, of the same columns and types as when they are read in blocks."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.engine import parse_text, to_numpy

if TYPE_CHECKING:
    from tamis.engine import FileTable, TextLayout

_PARTITION_BYTES = 2**26  # as many as the largest block; a row group of Parquet is not split


def read_in_dask(files: FileTable, names: Sequence[str]) -> Any:
    """Columns of Parquet or text files as a data frame of dask: numbers as floats, others as objects.

    Neither ``read_parquet`` nor ``read_csv`` of dask: they make an index of columns that pandas saved as one, find
    names and types of text anew, and sort paths in another way than the target was read.
    """
    try:
        import dask.dataframe as dd
    except ImportError:
        raise ImportError("--engine dask needs dask; install it with: pip install 'tamis[scale]'") from None
    parts: list[Any]
    if files.suffix == ".parquet":
        read = partial(_read_row_groups, names=names)
        parts = [(path, groups) for path in files.paths for groups in _row_groups(path)]
    elif files.suffix in (".csv", ".tsv"):
        read = partial(_read_lines, layout=files.layout, schema=files.schema, names=names)
        parts = [(path, span) for path in files.paths for span in _byte_ranges(path, files.layout)]
    else:
        raise ValueError(f"--engine dask reads .parquet, .csv and .tsv, not {files.suffix}")
    return dd.from_map(read, parts, meta=_as_frame(files.schema.empty_table(), names))


def _row_groups(path: Path) -> Iterator[list[int]]:
    """Places of row groups that a partition holds: as many as are small together."""
    from pyarrow import parquet

    metadata = parquet.read_metadata(path)
    together: list[int] = []
    size = 0
    for place in range(metadata.num_row_groups):
        n_bytes = metadata.row_group(place).total_byte_size
        if together and size + n_bytes > _PARTITION_BYTES:
            yield together
            together, size = [], 0
        together.append(place)
        size += n_bytes
    yield together


def _read_row_groups(part: tuple[Path, list[int]], names: Sequence[str]) -> Any:
    from pyarrow import parquet

    path, groups = part
    with parquet.ParquetFile(path) as file:
        return _as_frame(file.read_row_groups(groups, columns=list(names)), names)


def _byte_ranges(path: Path, layout: TextLayout) -> Iterator[tuple[int, int]]:
    """Parts of a text file; one that is compressed, or of another mark between lines than a byte, is not split."""
    size = path.stat().st_size
    has_lines = "\n\n".encode(layout.encoding).endswith(b"\n\n")  # not in UTF-16
    step = _PARTITION_BYTES if has_lines and not _is_compressed(path) else max(size, 1)
    for start in range(0, max(size, 1), step):
        yield start, start + step


def _read_lines(part: tuple[Path, tuple[int, int]], layout: TextLayout, schema: Any, names: Sequence[str]) -> Any:
    """The rows whose lines begin in a part of a text file."""
    path, (start, stop) = part
    if _is_compressed(path):
        with gzip.open(path, "rb") as compressed:
            data = compressed.read()
    else:
        with open(path, "rb") as file:
            if start:
                file.seek(start - 1)
                file.readline()  # began before
            data = file.read(max(stop - file.tell(), 0))
            data += b"" if data.endswith(b"\n") or not data else file.readline()
    if start:
        layout = replace(layout, n_header_lines=0)
    try:
        return _as_frame(parse_text(data, layout, schema, names), names)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"cannot read {path}: {reason}; --engine blocks takes line breaks within cells, too"
        ) from error


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _as_frame(table: Any, names: Sequence[str]) -> Any:
    """Columns of an Arrow table as a data frame of pandas, none of which is its index."""
    import pandas as pd

    return pd.DataFrame({name: _as_column(table.column(name)) for name in names})


def _as_column(column: Any) -> np.ndarray:
    return to_numpy(column.combine_chunks())
