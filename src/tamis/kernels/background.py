"""Compiled code of other libraries in a thread of its own: Python cannot act on Ctrl-C before such a call returns."""

from __future__ import annotations

import atexit
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from sklearn import config_context, get_config

T = TypeVar("T")

INTERVAL = 0.25  # seconds between two signs of life, and within which Ctrl-C is seen where it cannot end a wait
_PATIENCE = 1.0  # seconds to wait for a call that was cancelled
_PATIENCE_AT_EXIT = 10.0
_cancelled: set[Future[Any]] = set()  # calls that were cancelled and have not ended


def call_in_background(
    work: Callable[[], T],
    *,
    on_wait: Callable[[], object] | None = None,
    cancel: Callable[[], object] | None = None,
) -> T:
    """``work()``, computed in another thread while this one waits for it and for Ctrl-C.

    Meant for one call that releases the interpreter's lock. After Ctrl-C, ``KeyboardInterrupt`` is raised at once, or
    within a second where the call can be cancelled; the call goes on until its end, or until it sees that it was
    cancelled, and what it returns or raises then is dropped. So it must change nothing that others see. It keeps no
    program from exiting. Only the main thread hears of Ctrl-C: in any other, ``work`` is simply called.

    Parameters
    ----------
    work : callable
        Without arguments.
    on_wait : callable, default=None
        Called four times a second while ``work`` is going on.
    cancel : callable, default=None
        Called where the result is no longer wanted, to end ``work`` early.

    Returns
    -------
    object
        What ``work`` returned; what it raised is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    found: Future[T] = Future()
    context, config = contextvars.copy_context(), get_config()  # numpy's errstate; scikit-learn's settings

    def run() -> None:
        try:
            with config_context(**config):
                found.set_result(context.run(work))
        except BaseException as error:
            found.set_exception(error)

    try:
        threading.Thread(target=run, name="tamis-background", daemon=True).start()
        while not wait([found], INTERVAL).done:
            if on_wait is not None:
                on_wait()
    except BaseException:
        if cancel is not None:
            _cancelled.add(found)
            found.add_done_callback(_cancelled.discard)
            cancel()
            wait([found], _PATIENCE)
        raise
    return found.result()


@atexit.register
def _wait_for_cancelled() -> None:
    """Callbacks that compiled code calls while the interpreter is taken down would abort the process."""
    wait(list(_cancelled), _PATIENCE_AT_EXIT)
