"""Files that are there whole or not at all, whatever ends the run that writes them."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

_HOST = re.sub(r"\W", "", platform.node()) or "here"
_LONGEST_NAME = 100  # bytes of the file's name in that of its part: file systems take 255 in all
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
    """
    remove_abandoned_parts(path)
    place = Path(os.path.realpath(path))
    part = place.with_name(f".{_stem(place)}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.part")
    _in_writing.add(part)
    try:
        yield part
        if place.exists():
            part.chmod(stat.S_IMODE(place.stat().st_mode))
        with open(part, "rb") as file:
            os.fsync(file.fileno())  # a name that is moved before its bytes are on disk may be found empty
        os.replace(part, place)
    except BaseException:  # Ctrl-C too
        part.unlink(missing_ok=True)
        raise
    finally:
        _in_writing.discard(part)


def _stem(place: Path) -> str:
    return place.name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def remove_abandoned_parts(path: str | os.PathLike[str]) -> None:
    """Take away what processes that have ended on this machine left of ``path``; others may write to the same folder.

    Parameters
    ----------
    path : path-like
        The file that they were writing.
    """
    place = Path(os.path.realpath(path))
    pattern = re.compile(rf"\.{re.escape(_stem(place))}\.{_HOST}-(\d+)-[0-9a-f]+\.part")
    for each in place.parent.iterdir():
        if (found := pattern.fullmatch(each.name)) and not _is_in_writing(each, int(found[1])):
            with contextlib.suppress(OSError):
                each.unlink()


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
