"""What the tables of files take in memory, from what their headers declare and what they hold, before it is taken."""

from __future__ import annotations

import contextlib
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import io

from tamis.cli._memory import NUMBER, Budget, in_words
from tamis.cli._text_encoding import measure_text, open_bytes, read_blocks

_COPIES = 2  # of a matrix: as it was read, and as a method is given it
_BYTES_PER_SPARSE_ENTRY = 48.0  # with indices, by rows and by columns
_BYTES_PER_SVMLIGHT_LINE = 64.0
_BYTES_PER_SPLIT_BYTE = 16.0  # of a line that is split at its blanks
_BYTES_PER_ARFF_CELL = 72.0  # an object in a tuple
_BYTES_PER_OBJECT = 128.0  # a cell of MATLAB, an array by itself
_BLOCK = 2**20
_SPARSE_PARTS = ("data", "indices", "indptr")
_HEADERS: dict[tuple[int, int], Callable[[Any], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_COMPRESSED_ELEMENT = 15  # of a MAT file
_TEXT_VIEW = 16  # bytes of a text in a polars column, beside its letters


def check_npz(path: Path, wanted: Collection[str], budget: Budget) -> None:
    """Refuse arrays that would take too much, and headers that claim more than their file holds."""
    needed = 0.0
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name in wanted:
                with archive.open(info) as member:
                    needed += _npz_member(name, member, info.file_size)
                budget.check(needed, f"'{name}'")


def _npz_member(name: str, member: Any, declared: int) -> float:
    """Bytes that an array takes in memory."""
    try:
        shape, _, dtype = _HEADERS[np.lib.format.read_magic(member)](member)
    except (ValueError, KeyError):  # no array, which its reader says
        return float(declared)
    n_numbers = math.prod(shape)
    n_bytes = n_numbers * max(dtype.itemsize, 1)
    if n_bytes > declared and not dtype.hasobject:
        raise ValueError(f"the header of '{name}' claims {in_words(n_bytes)}, and the file holds {in_words(declared)}")
    if name == "X":
        return float(n_bytes + _COPIES * NUMBER * n_numbers)
    if name in _SPARSE_PARTS:  # values and indices are two parts of an entry
        return _BYTES_PER_SPARSE_ENTRY / 2 * n_numbers
    return float(n_bytes)


def check_mat(path: Path, wanted: Collection[str], budget: Budget) -> list[str]:
    """Refuse MATLAB variables that would take too much; returns the names of all."""
    held = io.whosmat(path, appendmat=False)
    n_numbers = sum(math.prod(shape) for name, shape, _ in held if name in wanted)
    budget.check(_COPIES * NUMBER * n_numbers, "its variables")
    n_cells = sum(math.prod(shape) for name, shape, kind in held if name in wanted and kind in ("cell", "struct"))
    budget.check(_BYTES_PER_OBJECT * n_cells, "its cells")
    with open(path, "rb") as file:
        for name, blocks in _compressed_variables(file):
            if name in wanted:
                for _ in budget.counted(blocks, f"the variable '{name}'", _COPIES):
                    pass
    return [name for name, _, _ in held]


def _compressed_variables(file: BinaryIO) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Names and decompressed bytes of the variables of a MAT file of version 5; in others none are compressed."""
    head = file.read(128)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    while order is not None and len(tag := file.read(8)) == 8:
        kind, size = struct.unpack(f"{order}II", tag)
        end = file.tell() + size
        if kind == _COMPRESSED_ELEMENT:
            with contextlib.suppress(zlib.error, struct.error):  # damage, which its reader names
                name = _variable_name(next(_inflated(file, size), b""), order)
                file.seek(end - size)
                yield name, _inflated(file, size)
        file.seek(end)


def _inflated(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The bytes that the next ``size`` bytes of a file stand for."""
    inflate = zlib.decompressobj()
    while size > 0 and (data := file.read(min(size, _BLOCK))):
        size -= len(data)
        while data:
            yield inflate.decompress(data, _BLOCK)
            data = inflate.unconsumed_tail


def _variable_name(head: bytes, order: str) -> str:
    """The name of a variable: after a tag and 16 bytes of flags come its extents, padded to 8 bytes, and the name."""
    (n_extents,) = struct.unpack_from(f"{order}I", head, 28)
    place = 32 + -(-n_extents // 8) * 8
    (word,) = struct.unpack_from(f"{order}I", head, place)
    n_letters, start = (
        (word >> 16, place + 4) if word >> 16 else (*struct.unpack_from(f"{order}I", head, place + 4), place + 8)
    )
    return head[start : start + n_letters].decode("latin-1")


def check_svmlight(path: Path, budget: Budget) -> None:
    """Refuse more entries than memory may hold, and lines that are too long to be split."""
    blocks = budget.counted(read_blocks(path), "its text")
    size = measure_text(blocks, ":")
    needed = _BYTES_PER_SPARSE_ENTRY * size.n_marks + _BYTES_PER_SVMLIGHT_LINE * size.n_lines
    budget.check(needed + _BYTES_PER_SPLIT_BYTE * size.longest_line, f"its {size.n_marks} entries")


def check_arff(path: Path, budget: Budget) -> None:
    """Refuse more cells than memory may hold, each as wide as the longest level of its column."""
    size = measure_text(budget.counted(read_blocks(path), "its text"), ",")
    budget.check(2 * size.longest_line, "a line")
    widths = 0
    with open_bytes(path) as file:
        for line in file:
            if line.lstrip()[:5].lower() == b"@data":
                break
            if line.lstrip()[:10].lower() == b"@attribute" and b"{" in line:
                widths += max(map(len, line.partition(b"{")[2].split(b",")))
    needed = _BYTES_PER_ARFF_CELL * (size.n_marks + size.n_lines) + 2.0 * widths * size.n_lines
    budget.check(needed, f"its {size.n_marks + size.n_lines} cells")


def plain_columns(lazy: Any, decompressed: int, budget: Budget) -> tuple[list[str], list[str]]:
    """All columns of a lazy polars frame, and those that hold no lists, once it is known what these take.

    Lists, whose entries no header counts, are never read.

    Parameters
    ----------
    lazy : LazyFrame
    decompressed : int
        Bytes of what the file holds, as it says itself.
    budget : Budget
    """
    import polars

    schema = lazy.collect_schema()
    plain = [name for name, dtype in schema.items() if not dtype.is_nested()]
    n_rows = lazy.select(polars.len()).collect().item()
    n_numbers = sum(schema[name].is_numeric() for name in plain)
    n_others = len(plain) - n_numbers
    needed = n_rows * (_COPIES * NUMBER * n_numbers + (NUMBER + _TEXT_VIEW) * n_others)
    budget.check(max(needed, decompressed), f"its {n_rows} rows and {len(schema)} columns")
    return list(schema), plain


def parquet_size(path: Path) -> int:
    """Bytes of a Parquet file without compression, as it says itself; 0 where nothing can be told."""
    try:
        from pyarrow import lib, parquet
    except ImportError:
        return 0
    try:
        metadata = parquet.read_metadata(path)
    except (OSError, lib.ArrowException):  # which its reader names
        return 0
    return sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
