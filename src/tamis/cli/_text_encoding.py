"""Which characters the bytes of a text file stand for."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tamis.cli._memory import UNLIMITED, Budget

BYTES_PER_CHARACTER = 2.0  # of a table of text in memory: its text, and what is made of it
_TEXT = "its text"
_HEAD, _BLOCK = 1 << 12, 1 << 20
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class TextFile:
    """A text file whose encoding is known.

    Attributes
    ----------
    path : Path
    data : bytes or None
        The text in UTF-8, where the file itself is compressed or of another encoding.
    note : str
        What a person should know about how it was decoded; empty where it is UTF-8.
    """

    path: Path
    data: bytes | None = None
    note: str = ""

    def open(self) -> TextIO:
        """The decoded text."""
        if self.data is None:
            return open(self.path, encoding="utf-8-sig", newline="")
        return io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8-sig", newline="")

    def source(self, *, begins_blank: bool = False) -> Path | io.BytesIO:
        """What a reader of UTF-8 takes: the file itself where it can be, and not where lines of blanks begin it."""
        if begins_blank:
            data = self.path.read_bytes() if self.data is None else self.data
            return io.BytesIO(data.removeprefix(codecs.BOM_UTF8).lstrip(b" \r\n"))
        return self.path if self.data is None else io.BytesIO(self.data)

    def size(self, mark: str) -> TextSize:
        """How large the text is, and how often a mark occurs in it."""
        return measure_text(read_blocks(self.path) if self.data is None else _cut(self.data), mark)


@dataclass(frozen=True)
class TextSize:
    """How large a text is.

    Attributes
    ----------
    n_bytes, n_lines, longest_line : int
        Bytes of the text, its lines, and bytes of the longest of them.
    n_marks : int
        How often a mark occurs, such as that between cells.
    """

    n_bytes: int
    n_lines: int
    longest_line: int
    n_marks: int


def measure_text(blocks: Iterable[bytes], mark: str) -> TextSize:
    """Count bytes, lines and a mark of a text, which need not be in memory at once."""
    n_bytes = n_lines = longest = begun = n_marks = 0
    for block in blocks:
        n_bytes += len(block)
        n_marks += block.count(mark.encode())
        first, *others = map(len, block.split(b"\n"))
        n_lines += len(others)
        longest = max(longest, begun + first, *others)
        begun = others[-1] if others else begun + first
    return TextSize(n_bytes, n_lines + 1, longest, n_marks)


def decode(path: Path, encoding: str | None = None, budget: Budget = UNLIMITED) -> TextFile:
    """Decode a text file, compressed or not.

    Parameters
    ----------
    path : Path
    encoding : str or None
        None takes what the byte order mark says, else UTF-8, else Windows-1252, which Latin-1 is a part of.
    budget : Budget
        What is decoded is counted as it comes: neither the size of a compressed file nor what it says of itself tells.
    """
    found, note = (encoding, "") if encoding is not None else _find_encoding(path, budget)
    if found in ("utf-8", "utf-8-sig") and encoding is None:
        return TextFile(path, _join(_text_blocks(path, budget)) if is_compressed(path) else None)
    letters = _decode_blocks(_text_blocks(path, budget), _with_byte_order(found, path))
    encoded = budget.counted((part.encode() for part in letters), _TEXT, BYTES_PER_CHARACTER)
    return TextFile(path, _join(encoded), note)


def _join(blocks: Iterable[bytes]) -> bytes:
    """One text, without a byte order mark."""
    text = io.BytesIO()
    text.writelines(blocks)
    return text.getvalue().removeprefix(codecs.BOM_UTF8)


def _with_byte_order(encoding: str, path: Path) -> str:
    """An encoding of two or four bytes a letter with the common order of these, where the file does not tell it."""
    try:
        "a".encode(encoding)  # lookup alone would take what is no encoding of text, too
    except LookupError:
        raise ValueError(
            f"--encoding {encoding}: no such encoding; common ones are utf-8, latin-1, cp1252, utf-16"
        ) from None
    name = codecs.lookup(encoding).name
    with open_bytes(path) as file:
        is_marked = file.read(4).startswith(tuple(_BYTE_ORDER_MARKS))
    return f"{name}-le" if name in ("utf-16", "utf-32") and not is_marked else encoding


def _decode_blocks(blocks: Iterable[bytes], encoding: str) -> Iterator[str]:
    """The letters of a text; refuses bytes that stand for none."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_read = 0
    for block in itertools.chain(blocks, [b""]):
        n_held = len(decoder.getstate()[0])  # of a letter that began in the block before
        try:
            yield decoder.decode(block, final=not block)
        except UnicodeError as error:
            reason = str(error)
            if isinstance(error, UnicodeDecodeError):
                reason = f"byte {n_read - n_held + error.start} is 0x{error.object[error.start]:02x}"
            raise _UndecodableError(f"it is not {encoding} ({reason}); name its encoding with --encoding") from None
        n_read += len(block)


class _UndecodableError(ValueError):
    """Bytes that stand for no letter."""


def encoding_of_head(head: bytes) -> str:
    """The encoding of a file that is too large to be read for it: by its byte order mark, else by its header alone."""
    if (marked := _marked_encoding(head[:_HEAD])) is not None:
        return marked
    header = head.lstrip().partition(b"\n")[0]
    for encoding in ("utf-8", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError):
            codecs.getincrementaldecoder(encoding)().decode(header)  # the last letter may be cut
            return encoding
    return "latin-1"


def _marked_encoding(head: bytes) -> str | None:
    """What the byte order mark of a file says, if it has one; refuses what is no text of one byte a letter then."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise ValueError("it is no text, or UTF-16 that does not say so; if it is, say --encoding utf-16-le")
    return None


def _find_encoding(path: Path, budget: Budget) -> tuple[str, str]:
    """The encoding of a file, and what to tell about it."""
    with open_bytes(path) as file:
        head = file.read(_HEAD)
    if (marked := _marked_encoding(head)) is not None:
        return marked, "" if marked == "utf-8-sig" else f"read as {marked.upper()}, as its first bytes say"
    if _is_written_in("utf-8", path, budget):
        return "utf-8", ""
    note = "not UTF-8, so read as Windows-1252 (Latin-1): if letters look wrong, say --encoding NAME"
    if _is_written_in("cp1252", path, budget):
        return "cp1252", note
    return "latin-1", note.replace("Windows-1252 (Latin-1)", "Latin-1")


def _is_written_in(encoding: str, path: Path, budget: Budget) -> bool:
    """Whether all bytes of a file stand for letters."""
    try:
        for _ in _decode_blocks(_text_blocks(path, budget), encoding):
            pass
    except _UndecodableError:
        return False
    return True


def _text_blocks(path: Path, budget: Budget) -> Iterator[bytes]:
    """The bytes of a text file, until it is too large."""
    if not is_compressed(path):
        budget.check(BYTES_PER_CHARACTER * path.stat().st_size, _TEXT)
    return budget.counted(read_blocks(path), _TEXT, BYTES_PER_CHARACTER)


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed, a block at a time."""
    with open_bytes(path) as file:
        while block := file.read(_BLOCK):
            yield block


def open_bytes(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """A file, decompressed."""
    return gzip.open(path, "rb") if is_compressed(path) else open(path, "rb")


def _cut(data: bytes) -> Iterator[bytes]:
    """Bytes in memory, a block at a time."""
    return (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed, as its suffix says."""
    return path.suffix.lower() == ".gz"
