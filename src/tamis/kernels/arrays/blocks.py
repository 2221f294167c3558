"""Long axes in pieces, so that memory stays bounded, and pieces shared out among threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from tamis._sklearn import get_threadpool_controller, openmp_effective_n_threads

_FEW_NUMBERS = 2**23

S = TypeVar("S")
T = TypeVar("T")


def blocks(total: int, size: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices of at most ``size`` (at least one), none of which ends beyond ``total``."""
    step = max(1, size)
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def threads_that_pay(n_numbers: int) -> AbstractContextManager:
    """One thread of BLAS for matrices of so few numbers that more would wait for each other most of the time."""
    if n_numbers > _FEW_NUMBERS:
        return nullcontext()
    return get_threadpool_controller().limit(limits=1, user_api="blas")


def map_in_threads(task: Callable[[S], T], parts: Sequence[S]) -> Iterator[T]:
    """Results of a task on each part, in their order, with as many threads as OpenMP may use.

    numpy lets go of the interpreter in all that takes time, and a thread per part beats threads inside of BLAS. The
    result does not depend on the number of threads, as long as the parts do not.
    """
    n_threads = min(openmp_effective_n_threads(), len(parts))
    if n_threads <= 1:
        yield from map(task, parts)
        return
    with get_threadpool_controller().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(task, parts)
