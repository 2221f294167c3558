"""Entry point: parse, run, and turn every end of a run into an exit code."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn, TextIO

from tamis._signals import INTERRUPTED, TERMINATED, end_work, quit_at_once, received, take_signals
from tamis.cli._environment import Environment
from tamis.cli._messages import in_options, shorten, warning_text
from tamis.cli._parser import parse

SUCCESS, FAILURE, BAD_INPUT = 0, 1, 2
LONGEST_MESSAGE = 1200  # characters, long enough for the longest of ours


def run() -> NoReturn:
    """Run the command line of this process."""
    take_signals()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a column name must not break a narrow terminal encoding
    try:
        code = main()
    except (KeyboardInterrupt, SystemExit):  # while the last signal was being answered
        quit_at_once(received())
    sys.exit(code)


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
    try:
        with _warnings_as_messages(env):
            return _run_command(args, env)
    finally:
        end_work()


def _run_command(args: Sequence[str] | None, env: Environment) -> int:
    """Run one command; its exit code."""
    debug = False
    try:
        options = parse(args, env)
        debug = options.debug
        code = options.run(options, env)
        env.flush()
    except SystemExit as end:  # after --help and --version, or SIGTERM
        return int(end.code or SUCCESS)
    except KeyboardInterrupt:
        return _interrupted(env)
    except BrokenPipeError:
        return SUCCESS
    except Exception as error:
        if debug:
            raise
        if received() and not isinstance(error, OSError):  # what a library made of a signal
            return received() if received() == TERMINATED else _interrupted(env)
        with contextlib.suppress(OSError):  # an answer that is lost, too, is no reason to be silent
            env.flush()
        env.say(f"tamis: error: {_describe(error)}")
        return BAD_INPUT if isinstance(error, ValueError) else FAILURE
    return code or SUCCESS


def _interrupted(env: Environment) -> int:
    with contextlib.suppress(OSError):
        env.say("tamis: interrupted")
    return INTERRUPTED


def _describe(error: Exception) -> str:
    """The message alone where it was written for people, with its type where it was not; the ends of an endless one."""
    is_for_people = isinstance(error, ValueError | ImportError) or (isinstance(error, OSError) and error.errno is None)
    if is_for_people and str(error):
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
