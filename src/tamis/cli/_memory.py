"""How much memory a command may take, and the one refusal of what would take more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}  # bytes
NUMBER = 8  # bytes of one in double precision
_SHARE_OF_FREE = 0.5  # half is left to what is computed of a table, and to whatever else is running
_GROUP_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
_GROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


class TooLargeError(ValueError):
    """What a file holds takes more memory than it may."""


@dataclass(frozen=True)
class Budget:
    """Memory that a table may take while it is read and made ready for a method.

    Attributes
    ----------
    n_bytes : float
    cure : str
        What helps beside more memory, as the end of a sentence; empty where nothing does.
    taken : float
        Bytes of it that are taken already.
    """

    n_bytes: float = float("inf")
    cure: str = ""
    taken: float = 0.0

    def check(self, n_bytes: float, what: str, *, is_counted: bool = False) -> None:
        """Refuse what would take more, before it is taken.

        Parameters
        ----------
        n_bytes : float
            That it needs, about.
        what : str
            For the error.
        is_counted : bool, default=False
            Whether this is what was counted so far, and there may be more of it.
        """
        if self.taken + n_bytes > self.n_bytes:
            much = "more than that" if is_counted else f"about {in_words(self.taken + n_bytes)}"
            raise TooLargeError(
                f"the memory to keep to is {in_words(self.n_bytes)}, and {what} would take {much}; "
                f"--memory SIZE allows more{self.cure}"
            )

    def after(self, taken: float) -> Budget:
        """The same, of which something is taken."""
        return replace(self, taken=self.taken + taken)

    def counted(self, blocks: Iterable[bytes], what: str, factor: float = 1.0) -> Iterator[bytes]:
        """The same blocks, until what they take in memory, ``factor`` times their size, is too much."""
        n_bytes = 0
        for block in blocks:
            n_bytes += len(block)
            self.check(factor * n_bytes, what, is_counted=True)
            yield block


UNLIMITED = Budget()


def default_size() -> int:
    """Bytes that a command may take where nobody says: half of what is free."""
    return int(_SHARE_OF_FREE * free_memory())


def free_memory() -> float:
    """Bytes that this process could take: of the machine, of its control group, and of its own limit, the least."""
    return max(min(_free_of_machine(), _free_of_groups(), _free_of_limit()), 0.0)


def in_words(n_bytes: float) -> str:
    """A number of bytes, as people say it."""
    for unit in ("TB", "GB", "MB"):
        if n_bytes >= (size := UNITS[unit[0]]):
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 2**10:.0f} kB"


def _free_of_machine() -> float:
    """What is free or held by caches that give way; on other systems than Linux, what is free."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 2**10 * float(line.split()[1])
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        from tamis.engine import MEMORY

        return 2.0 * MEMORY


def _free_of_groups() -> float:
    """The least that is left of the limits of the control groups of Linux, versions 1 and 2, that hold this process."""
    least = float("inf")
    with contextlib.suppress(OSError, ValueError):
        for line in (_PROC / "self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            root = _GROUPS / controllers
            group = root / name.lstrip("/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(root):
                    least = min(least, _free_of_group(folder))
    return least


def _free_of_group(folder: Path) -> float:
    """What is left of the limit of one group; infinite without one, as where its files are out of sight."""
    for limit, usage in _GROUP_FILES:
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            cached = 0.0
            allowed, used = (float((folder / name).read_text()) for name in (limit, usage))
            with contextlib.suppress(OSError, ValueError, IndexError):
                lines = (folder / "memory.stat").read_text().splitlines()
                cached = next(float(line.split()[1]) for line in lines if line.startswith("inactive_file "))
            return allowed - used + cached
    return float("inf")


def _free_of_limit() -> float:
    """What is left of the limit of this process on its addresses, as by ``ulimit -v``."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = float((_PROC / "self/statm").read_text().split()[0])
            return limit - pages * resource.getpagesize()
    return float("inf")
