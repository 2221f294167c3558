"""Progress reports to scikit-learn's callbacks, and loops that these, or Ctrl-C, may end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from tamis.kernels.background import call_in_background

if TYPE_CHECKING:
    from tamis.base._ranker import Ranker

T = TypeVar("T")


def track(
    ranker: Ranker,
    items: Iterable[T],
    *,
    task_name: str,
    total: int | None = None,
    interruptible: bool = True,
    has_nested: bool = False,
    nested: bool = False,
) -> Generator[T, None, None]:
    """Report progress over ``items`` to the callbacks of a ranker that is being fitted; a callback may end the loop.

    So may Ctrl-C while an item is computed, once there has been one: the loop then ends as if a callback had asked
    for it, and :func:`interruption` tells of it; loops that work in their body call :func:`interrupt`. A second Ctrl-C
    raises, and so does the first where the loop is not ``interruptible``: what was done is of no use without the rest.

    A loop that is ``nested`` in the steps of one that ``has_nested`` runs again and again: all its runs together are
    one task within that of the other loop, so that a progress bar shows one line for them, and no total.
    """
    root = getattr(ranker, "_callback_fit_ctx", None)
    if root is None:  # a copy in a fold or a draw, whose interruption is the business of the ranker that made it
        yield from items
        return
    done = 0

    def takes_down() -> bool:
        of = "" if total is None else f" of {total}"
        return interruptible and note_interruption(ranker, f"interrupted after {done}{of} steps ({task_name})")

    report: _Reporter | None = None
    if getattr(ranker, "_skl_callbacks", None):
        outer = next((loop for loop in reversed(ranker._loops) if loop.has_nested), None) if nested else None
        report = _Reporter(ranker, root, task_name, total, has_nested) if outer is None else outer.nested(task_name)
    try:
        waiting = iter(items)
        while True:
            try:
                item = next(waiting)
                if report is not None:
                    report.begin_step()
            except StopIteration:
                return
            except KeyboardInterrupt:
                if done == 0 or not takes_down():
                    raise
                return
            asked_to_stop = False
            try:
                yield item
                done += 1
            except KeyboardInterrupt:  # from interrupt
                if done == 0 or not takes_down():
                    raise
                return
            finally:
                if report is not None:
                    try:
                        asked_to_stop = report.end_step()
                    except KeyboardInterrupt:
                        if not takes_down():
                            raise
            if asked_to_stop or interruption(ranker):
                return
    finally:
        if report is not None and outer is None:
            report.close()


class _Reporter:
    """One task of a fit, and its steps, as callbacks are told of them."""

    def __init__(
        self, ranker: Ranker, parent: Any, task_name: str, total: int | None, has_nested: bool = False
    ) -> None:
        self.has_nested = has_nested
        self._ranker, self._name, self._loops = ranker, task_name, ranker._loops
        self._step: Any = None
        self._nested: dict[str, _Reporter] = {}
        # a nested task is one more than the steps
        self._task = parent.subcontext(
            task_name=task_name, max_subtasks=None if total is None else total + int(has_nested)
        )
        self._task.call_on_fit_task_begin(estimator=ranker)
        self._loops.append(self)

    def nested(self, task_name: str) -> _Reporter:
        """The task of a loop within the steps of this one, however often it runs."""
        if task_name not in self._nested:
            self._nested[task_name] = _Reporter(self._ranker, self._task, task_name, None)
        return self._nested[task_name]

    def begin_step(self) -> None:
        self._step = self._task.subcontext(task_name=f"{self._name} step")
        self._step.call_on_fit_task_begin(estimator=self._ranker)

    def end_step(self) -> bool:
        """Whether a callback asks to end the loop."""
        step, self._step = self._step, None
        return step is not None and bool(step.call_on_fit_task_end(estimator=self._ranker))

    def close(self) -> None:
        for task in self._nested.values():
            task.close()
        self.end_step()
        self._loops.remove(self)
        self._task.call_on_fit_task_end(estimator=self._ranker)


@contextmanager
def heartbeat(ranker: Ranker, *, task_name: str) -> Iterator[Callable[[], object]]:
    """A function to call again and again while a task goes on of which nobody knows how long it takes.

    Callbacks are told that it goes on, not how far it is, and cannot end it; Ctrl-C raises.
    """
    watched = track(ranker, count(1), task_name=task_name, interruptible=False)
    try:
        yield partial(next, watched, None)
    finally:
        watched.close()


def run_in_background(ranker: Ranker, work: Callable[[], T], *, task_name: str) -> T:
    """``work()``, one long call of compiled code, with a progress bar that moves and Ctrl-C that is seen at once.

    See :func:`tamis.kernels.background.call_in_background` for what ``work`` may be.
    """
    with heartbeat(ranker, task_name=task_name) as beat:
        return call_in_background(work, on_wait=beat)


def interrupt(watched: Generator[Any, None, None]) -> None:
    """Tell a loop that :func:`track` watches of Ctrl-C in its body; raises it where nothing can be handed back."""
    try:
        watched.throw(KeyboardInterrupt)
    except StopIteration:
        return


def interruption(ranker: Ranker) -> str:
    """What Ctrl-C ended in the fit that is going on, in words; empty where it ended nothing."""
    return str(getattr(ranker, "_interruption", ""))


def note_interruption(ranker: Ranker, words: str) -> bool:
    """Take down what Ctrl-C has ended; False if it must be raised: not in a fit of this ranker, or not the first."""
    if getattr(ranker, "_callback_fit_ctx", None) is None or interruption(ranker):
        return False
    ranker._interruption = words
    return True


def finish(results: Iterable[Any]) -> None:
    """Let parallel work that nobody waits for come to its end, so that none is torn down half-way."""
    for _ in results:
        pass
