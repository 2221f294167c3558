"""Long axes in pieces, so that memory stays bounded, and pieces shared out among threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import numpy as np

from tamis._sklearn import get_threadpool_controller, openmp_effective_n_threads

CACHE_ENTRIES = 2**20  # of a block in double precision: 8 MB, which a cache may hold
CORE_CACHE_ENTRIES = 2**17  # of a tile that several operations go over: 1 MB, which the cache of one core may hold
_FEW_PRODUCTS = 2**22  # multiplications up to which threads cost more than they save
_FEW_ENTRIES = 2**23  # of a matrix, up to which threads of BLAS wait for each other more than they compute

S = TypeVar("S")
T = TypeVar("T")


def blocks(total: int, size: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices of at most ``size`` (at least one), none of which ends beyond ``total``."""
    step = max(1, size)
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut a table into blocks of columns that a cache may hold."""
    return blocks(n_columns, max(16, CACHE_ENTRIES // max(n_rows, 1)))


def limit_blas_threads(n_entries: int) -> AbstractContextManager:
    """One thread of BLAS for matrices of so few entries that more would cost time, else no limit."""
    if n_entries > _FEW_ENTRIES:
        return nullcontext()
    return get_threadpool_controller().limit(limits=1, user_api="blas")


def map_in_threads(task: Callable[[S], T], parts: Sequence[S]) -> Generator[T, None, None]:
    """Results of a task on each part, in their order, with as many threads as OpenMP may use.

    numpy releases the interpreter's lock in all that takes time, and a thread per part beats threads inside of BLAS.
    The result does not depend on the number of threads, as long as the parts do not.
    """
    n_threads = min(openmp_effective_n_threads(), len(parts))
    if n_threads <= 1:
        yield from map(task, parts)
        return
    with get_threadpool_controller().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(task, parts)


def sum_entries(X: np.ndarray) -> float:
    """Sum of all entries of a table: NaN or infinite where any entry is, or where the sum overflows."""
    if X.size <= _FEW_ENTRIES or not (X.flags.c_contiguous or X.flags.f_contiguous):
        return _quiet_sum(X)
    flat = X.ravel(order="K")
    return sum(map_in_threads(lambda part: _quiet_sum(flat[part]), list(blocks(flat.size, CACHE_ENTRIES))))


@np.errstate(over="ignore", invalid="ignore")  # of this thread: those of others do not inherit it
def _quiet_sum(X: np.ndarray) -> float:
    return float(np.sum(X))


def sum_in_threads(task: Callable[[slice], np.ndarray], parts: Sequence[slice], n_products: int) -> np.ndarray:
    """Sum of the arrays of all parts, which threads share out where there are many multiplications."""
    each = iter(map_in_threads(task, parts) if n_products > _FEW_PRODUCTS else map(task, parts))
    total = next(each)
    for one in each:
        total += one
    return total
