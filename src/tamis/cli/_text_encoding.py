"""Which characters the bytes of a text file stand for."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

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

    def source(self) -> Path | io.BytesIO:
        """What a reader of UTF-8 takes: the file itself where it can be."""
        return self.path if self.data is None else io.BytesIO(self.data)


def decode(path: Path, encoding: str | None = None) -> TextFile:
    """Decode a text file, compressed or not.

    Parameters
    ----------
    path : Path
    encoding : str or None
        None takes what the byte order mark says, else UTF-8, else Windows-1252, which Latin-1 is a part of.
    """
    compressed = path.suffix.lower() == ".gz"
    found, note = (encoding, "") if encoding is not None else _find_encoding(path, compressed)
    if found in ("utf-8", "utf-8-sig") and encoding is None:
        return TextFile(path, _read(path, compressed) if compressed else None)
    try:
        text = _read(path, compressed).decode(found)
    except LookupError:
        raise ValueError(
            f"--encoding {found}: no such encoding; common ones are utf-8, latin-1, cp1252, utf-16"
        ) from None
    except UnicodeError as error:
        raise ValueError(f"it is not {found} ({_plain(error)}); name its encoding with --encoding") from None
    return TextFile(path, text.removeprefix("\ufeff").encode(), note)


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


def _find_encoding(path: Path, compressed: bool) -> tuple[str, str]:
    """The encoding of a file, and what to tell about it."""
    with _open(path, compressed) as file:
        head = file.read(_HEAD)
    if (marked := _marked_encoding(head)) is not None:
        return marked, "" if marked == "utf-8-sig" else f"read as {marked.upper()}, as its first bytes say"
    if (bad := _not_utf8(path, compressed)) is None:
        return "utf-8", ""
    note = "not UTF-8, so read as Windows-1252 (Latin-1): if letters look wrong, say --encoding NAME"
    try:
        bad.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1", note.replace("Windows-1252 (Latin-1)", "Latin-1")
    return "cp1252", note


def _not_utf8(path: Path, compressed: bool) -> bytes | None:
    """The rest of a file from the first block on that is not UTF-8; None where all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _open(path, compressed) as file:
        while True:
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError:
                return block + file.read()
            if not block:
                return None


def _read(path: Path, compressed: bool) -> bytes:
    with _open(path, compressed) as file:
        return file.read()


def _open(path: Path, compressed: bool) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if compressed else open(path, "rb")


def _plain(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is 0x{error.object[error.start]:02x}"
    return str(error)
