"""Where a command reads and writes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO


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

    def input_status(self) -> os.stat_result | None:
        """What is known of the file that is piped in; None where it is none of the system's."""
        try:
            return os.fstat(self.input().fileno())
        except OSError:  # a stream in memory, or one that is closed
            return None

    def emit(self, data: str) -> None:
        """Write a piece of the result."""
        with self._answering():
            self.stdout.write(f"{data}\n")

    def flush(self) -> None:
        """Hand over what the command has emitted so far."""
        with self._answering():
            self.stdout.flush()

    def say(self, message: str) -> None:
        """Write one line for the person who watches, after what the command has emitted so far."""
        self.flush()
        try:
            self.stderr.write(f"{one_line(message)}\n")
            self.stderr.flush()
        except OSError:  # nobody reads it, which takes nothing from the answer
            _abandon(self.stderr)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # the reader, such as head, has seen enough
            _abandon(self.stdout)
            raise
        except OSError as error:
            _abandon(self.stdout)
            raise OSError(
                f"standard output: {error.strerror or error}: the answer is lost; make room where it goes, or send it "
                "elsewhere"
            ) from error


def _abandon(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not fail on it at exit."""
    with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _open_stream(stream: TextIO | None) -> TextIO:
    """The stream, or where it was closed, as by ``>&-``, one that holds nothing."""
    return open(os.devnull, "w") if stream is None else stream


def one_line(text: str) -> str:
    """Text fit for one line of a terminal, whatever a file put into its column names."""
    text = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
