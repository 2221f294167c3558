"""How large the buffers of an Arrow file are once they are decompressed, as they say themselves.

The end of a file lists its batches, each a message: a flatbuffer that describes the bytes that follow it. A buffer that
is compressed begins with its size before that, as 8 bytes; -1 where it was left as it is. Nothing is decompressed here.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MAGIC = b"ARROW1"
_CONTINUED = b"\xff" * 4  # before the size of a message, which older files begin with
_DICTIONARY = 2  # kind of message
_BLOCK, _BUFFER = "<qi4xq", "<qq"  # where a message, and a buffer, is
_MOST_METADATA = 2**28


def decompressed_size(path: Path) -> int:
    """Bytes of all buffers of an Arrow file; 0 where it is none, or is damaged."""
    with open(path, "rb") as file:
        try:
            return sum(size for place, length in _messages(file) for size in _buffer_sizes(file, place, length))
        except (struct.error, IndexError, OverflowError, OSError, ValueError):  # which its reader names
            return 0


def _messages(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Places and lengths of the messages that describe batches."""
    end = file.seek(0, os.SEEK_END) - len(_MAGIC) - 4
    file.seek(max(end, 0))
    (length,) = struct.unpack_from("<i", tail := file.read())
    if not tail.endswith(_MAGIC) or not 0 < length < min(end, _MOST_METADATA):
        return
    file.seek(end - length)
    footer = _Table.root(file.read(length))
    for field in (2, 3):  # dictionaries, batches of rows
        for place, n_metadata, _ in footer.structures(field, _BLOCK):
            yield place, n_metadata


def _buffer_sizes(file: BinaryIO, place: int, n_metadata: int) -> Iterator[int]:
    """Bytes of the buffers of one batch."""
    if not 0 < n_metadata < _MOST_METADATA:
        return
    file.seek(place)
    metadata = file.read(n_metadata)
    message = _Table.root(metadata[8:] if metadata.startswith(_CONTINUED) else metadata[4:])
    batch = message.table(2)
    if batch is not None and message.number(1, "<B") == _DICTIONARY:
        batch = batch.table(1)
    if batch is None:
        return
    is_compressed = batch.table(3) is not None
    for offset, length in batch.structures(2, _BUFFER):
        yield _size_before_compression(file, place + n_metadata + offset, length) if is_compressed else length


def _size_before_compression(file: BinaryIO, place: int, length: int) -> int:
    if length < 8:
        return length
    file.seek(place)
    (size,) = struct.unpack("<q", file.read(8))
    return size if size >= 0 else length


class _Table:
    """A table of a flatbuffer: fields by their number, any of which may be absent."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    @classmethod
    def root(cls, data: bytes) -> _Table:
        """The table that a flatbuffer begins with."""
        return cls(data, *struct.unpack_from("<I", data))

    def _find(self, field: int) -> int | None:
        (back,) = struct.unpack_from("<i", self.data, self.place)
        fields = self.place - back
        (size,) = struct.unpack_from("<H", self.data, fields)
        if 4 + 2 * field >= size:
            return None
        (offset,) = struct.unpack_from("<H", self.data, fields + 4 + 2 * field)
        return self.place + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """A number; 0 where it is absent."""
        place = self._find(field)
        return 0 if place is None else struct.unpack_from(form, self.data, place)[0]

    def _follow(self, field: int) -> int | None:
        place = self._find(field)
        return None if place is None else place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, field: int) -> _Table | None:
        """A table that this one refers to."""
        place = self._follow(field)
        return None if place is None else _Table(self.data, place)

    def structures(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        """A vector of structures of numbers."""
        place = self._follow(field)
        if place is not None:
            (n_structures,) = struct.unpack_from("<I", self.data, place)
            start = place + 4
            yield from struct.iter_unpack(form, self.data[start : start + n_structures * struct.calcsize(form)])
