"""Entry point: parse, run, and turn every end of a run into an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn, TextIO

from tamis.cli._environment import INTERRUPTED, Environment
from tamis.cli._messages import in_options, shorten, warning_text
from tamis.cli._parser import parse

SUCCESS, FAILURE, BAD_INPUT = 0, 1, 2
TERMINATED = 143  # as shells have it
LONGEST_MESSAGE = 1200  # characters, long enough for the longest of ours


def run() -> NoReturn:
    """Run the command line of this process."""
    with contextlib.suppress(ValueError, OSError):  # so that files written in part are taken away
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a column name must not break a narrow terminal encoding
    sys.exit(main())


def main(args: Sequence[str] | None = None, env: Environment | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    args : sequence of str, default=None
        Arguments after the program's name; None takes those of the process.
    env : Environment, default=None
        Streams to write to; None takes those of the process.

    Returns
    -------
    int
        0 on success, 2 for bad input, 1 when the work failed for another reason, 130 after Ctrl-C.
    """
    env = Environment() if env is None else env
    debug = False
    try:
        with _warnings_as_messages(env):
            options = parse(args, env)
            debug = options.debug
            code = options.run(options, env)
            env.stdout.flush()
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or SUCCESS)
    except KeyboardInterrupt:
        env.say("tamis: interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _abandon(env.stdout)
    except Exception as error:
        if debug:
            raise
        env.say(f"tamis: error: {_describe(error)}")
        return BAD_INPUT if isinstance(error, ValueError) else FAILURE
    else:
        return code or SUCCESS
    return SUCCESS


def _describe(error: Exception) -> str:
    """The message alone where it was written for people, with its type where it was not; the ends of an endless one."""
    if isinstance(error, ValueError | ImportError) and str(error):
        return shorten(in_options(str(error)), LONGEST_MESSAGE)
    if isinstance(error, MemoryError):
        told = f" ({shorten(str(error))})" if str(error) else ""
        return f"there is not enough memory{told}: leave columns out with --drop, or rank fewer rows"
    return f"{type(error).__name__}: {shorten(str(error), LONGEST_MESSAGE)}" if str(error) else type(error).__name__


@contextlib.contextmanager
def _warnings_as_messages(env: Environment) -> Iterator[None]:
    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        env.say(f"tamis: warning: {warning_text(message)}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _abandon(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not fail on it at exit."""
    with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
