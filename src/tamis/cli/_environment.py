"""Where a command reads and writes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO

INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it


@dataclass(frozen=True)
class Environment:
    """The streams of one run: data come from ``stdin`` and go to ``stdout``, messages and progress to ``stderr``."""

    stdout: TextIO = field(default_factory=lambda: _open_stream(sys.stdout))
    stderr: TextIO = field(default_factory=lambda: _open_stream(sys.stderr))
    stdin: BinaryIO | None = None

    def input(self) -> BinaryIO:
        """What is piped into the command: ``stdin``, else that of the process."""
        if self.stdin is not None:
            return self.stdin
        if sys.stdin is None or sys.stdin.isatty():
            raise ValueError("FILE -: nothing is piped into standard input; write it as: some-command | tamis ... -")
        return sys.stdin.buffer

    def emit(self, data: str) -> None:
        """Write a piece of the result."""
        self.stdout.write(f"{data}\n")

    def say(self, message: str) -> None:
        """Write one line for the person who watches, after what the command has emitted so far."""
        self.stdout.flush()
        self.stderr.write(f"{one_line(message)}\n")
        self.stderr.flush()


def _open_stream(stream: TextIO | None) -> TextIO:
    """The stream, or where it was closed, as by ``>&-``, one that holds nothing."""
    return open(os.devnull, "w") if stream is None else stream


def one_line(text: str) -> str:
    """Text fit for one line of a terminal, whatever a file put into its column names."""
    text = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
