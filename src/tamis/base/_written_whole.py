"""Files that are there whole or not at all, whatever ends the run that writes them."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

_HOST = re.sub(r"\W", "", platform.node()) or "here"
_LONGEST_NAME = 100  # bytes of the file's name in that of its part: file systems take 255 in all
_CURES = {
    errno.ENOSPC: "make room there, or name a file elsewhere",
    errno.EDQUOT: "make room there, or name a file elsewhere",
    errno.EFBIG: "raise the limit on the size of files, or name one elsewhere",
}
_RUST_ERROR = re.compile(r"\(os error (\d+)\)")  # as polars has it, in errors of several types
_in_writing: set[Path] = set()  # parts of this process


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside ``path`` to write to, moved there when the file is complete.

    A link stays one, a file keeps its mode, and what a run that was killed has left beside it is taken away.

    Parameters
    ----------
    path : path-like

    Yields
    ------
    Path
        Where to write; nothing is there yet.

    Raises
    ------
    OSError
        Where the file system takes no more: with the name of the file, the cause and the cure.
    """
    remove_abandoned_parts(path)
    place = Path(os.path.realpath(path))
    part = _part_of(place)
    _in_writing.add(part)
    try:
        yield part
        if place.exists():
            part.chmod(stat.S_IMODE(place.stat().st_mode))
        with open(part, "rb") as file:
            os.fsync(file.fileno())  # a name that is moved before its bytes are on disk may be found empty
        os.replace(part, place)
    except BaseException as error:  # Ctrl-C too
        _remove(part)
        if (number := _error_number(error)) is not None:
            raise OSError(f"{path} was not written: {_told(number)}{_what_is_there(place)}") from error
        raise
    finally:
        _in_writing.discard(part)


def _part_of(place: Path) -> Path:
    return place.with_name(f".{_stem(place)}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.part")


def _stem(place: Path) -> str:
    return place.name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def _error_number(error: BaseException) -> int | None:
    """What the operating system said, where it was it that refused."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = _RUST_ERROR.search(str(error)) if isinstance(error, Exception) else None
    return int(found[1]) if found else None


def _told(number: int) -> str:
    return f"{os.strerror(number)}; {_CURES.get(number, 'name a file elsewhere')}"


def _what_is_there(place: Path) -> str:
    return ". The file that was there is as it was" if place.exists() else ""


def what_prevents_writing(path: str | os.PathLike[str]) -> str:
    """Why a file cannot be written there, found out by making one without a name beside it; "" where it can.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    str
        The cause, and the cure.
    """
    place = Path(os.path.realpath(path))
    try:
        if place.is_symlink():  # what it leads to would be the place otherwise
            return "it is a link that leads back to itself; remove it, or name another file"
        found = place.stat().st_mode if place.exists() else stat.S_IFREG | stat.S_IWUSR
        if stat.S_ISDIR(found):
            return "it is a folder; name a file in it"
        if not stat.S_ISREG(found):
            return "it is a device or a pipe, in whose place no file can be put; name a file elsewhere"
        if not found & 0o222:
            return "the file is read-only; make it writable, or name another"
        if not place.parent.is_dir():
            return f"there is no folder {Path(path).parent}; create it first, or name a file elsewhere"
        if not os.access(place.parent, os.W_OK):
            return f"no permission to write to the folder {Path(path).parent}; name a file elsewhere"
        with contextlib.suppress(FileNotFoundError):
            os.lstat(_part_of(place))  # whose name may be too long
        with tempfile.TemporaryFile(dir=place.parent):  # of which nothing is left, whatever ends the process
            pass
    except OSError as error:
        return f"no file can be made there ({error.strerror or error}); name a file elsewhere"
    return ""


def _remove(part: Path) -> None:
    with contextlib.suppress(OSError):
        part.unlink(missing_ok=True)


def remove_abandoned_parts(path: str | os.PathLike[str]) -> None:
    """Take away what processes that have ended on this machine left of ``path``; others may write to the same folder.

    Parameters
    ----------
    path : path-like
        The file that they were writing.
    """
    place = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(_stem(place))}\.{_HOST}-(\d+)-[0-9a-f]+\.part")
    with contextlib.suppress(OSError):  # a folder that may be written to, but not listed
        for each in place.parent.iterdir():
            if (found := pattern.fullmatch(each.name)) and not _is_in_writing(each, int(found[1])):
                _remove(each)


def _is_in_writing(part: Path, process: int) -> bool:
    if process == os.getpid():  # else a process of this number has ended before this one began
        return part in _in_writing
    if os.name != "posix":  # where there is no way to ask without harm
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
