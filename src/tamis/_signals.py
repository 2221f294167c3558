"""What signals do to a process of the command line: it ends without a traceback, and loses nothing that it holds.

This module is imported before all others, so it imports next to nothing.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the module signal loads others, and Ctrl-C may come sooner
import os

INTERRUPTED, TERMINATED = 130, 143  # exit codes, as shells have them
_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
_STANDARD_ERROR = 2


class _State:
    works = False
    received = 0


def take_signals() -> None:
    """Take Ctrl-C and SIGTERM, unless whoever started the process had them ignored."""
    for number in _CODES:
        try:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _end)
        except (ValueError, OSError):  # in a thread, or where there is no such signal
            continue


def begin_work() -> None:
    """From here on there is something to lose, and a signal raises where the process is.

    Before, as modules are loaded, it ends at once: libraries take exceptions for a part of themselves that is missing.
    """
    _State.works = True


def end_work() -> None:
    """There is nothing left to lose."""
    _State.works = False


def received() -> int:
    """Exit code for the last signal that was taken, 0 if there was none."""
    return _State.received


def quit_at_once(code: int) -> None:
    """End the process as it stands."""
    try:
        if code == INTERRUPTED:
            os.write(_STANDARD_ERROR, b"tamis: interrupted\n")
    finally:  # even where nobody listens
        os._exit(code)


def _end(number: int, frame: object) -> None:
    code = _CODES[number]
    _State.received = code
    if not _State.works:
        quit_at_once(code)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    raise SystemExit(code)
