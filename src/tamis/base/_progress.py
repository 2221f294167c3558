"""Progress reports to scikit-learn's callbacks, and loops that these may end."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tamis.base._ranker import Ranker

T = TypeVar("T")


def track(ranker: Ranker, items: Iterable[T], *, task_name: str, total: int | None = None) -> Generator[T, None, None]:
    """Report progress over ``items`` to the callbacks of a ranker that is being fitted; a callback may end the loop."""
    root = getattr(ranker, "_callback_fit_ctx", None)
    if root is None or not getattr(ranker, "_skl_callbacks", None):
        yield from items
        return
    task = root.subcontext(task_name=task_name, max_subtasks=total)
    task.call_on_fit_task_begin(estimator=ranker)
    try:
        for item in items:
            leaf = task.subcontext(task_name=f"{task_name} step")
            leaf.call_on_fit_task_begin(estimator=ranker)
            try:
                yield item
            finally:
                asked_to_stop = leaf.call_on_fit_task_end(estimator=ranker)
            if asked_to_stop:
                break
    finally:
        task.call_on_fit_task_end(estimator=ranker)


def finish(results: Iterable[Any]) -> None:
    """Let parallel work that nobody waits for come to its end, so that none is torn down half-way."""
    for _ in results:
        pass
