"""Tasks in parallel on whatever joblib is told to use, and tables that are sent to its workers once."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from joblib import Parallel
from joblib.parallel import get_active_backend
from scipy import sparse

T = TypeVar("T")


@contextmanager
def open_parallel(
    n_jobs: int | None, return_as: str = "generator", *, shared: Sequence[SentOnce] = ()
) -> Iterator[Parallel]:
    """joblib's tasks, whose results come one by one where the backend can give them so (Ray's cannot), else together.

    Parameters
    ----------
    n_jobs : int or None
    return_as : {"generator", "generator_unordered", "list"}
    shared : sequence of SentOnce
        Arguments of many tasks: workers are sent them once, however often tasks are handed in.
    """
    backend, _ = get_active_backend()
    with (
        scattered(shared),
        Parallel(n_jobs=n_jobs, return_as=return_as if backend.supports_return_generator else "list") as parallel,
    ):
        yield parallel


@contextmanager
def scattered(shared: Sequence[SentOnce]) -> Iterator[None]:
    """Data on the workers of dask, if joblib uses it: it would scatter them anew whenever tasks are handed in."""
    backend, _ = get_active_backend()
    futures = vars(backend).get("data_futures")  # where joblib's backend of dask keeps what it was told to scatter
    if futures is None:
        yield
        return
    sent = {id(each): backend.client.scatter(each, hash=False) for each in shared}
    futures.update(sent)
    try:
        yield
    finally:
        for key in sent:
            futures.pop(key, None)


class SentOnce(ABC):
    """Base of what tasks share: workers of dask and Ray are sent it once, and not with every task.

    joblib's backend of dask scatters arguments that say they are large. Ray's pickles the arguments of every task: here
    only a reference, to the state that is put into its store once.
    """

    _sent: tuple[tuple[int, ...], Any] | None = None  # which state is in the store of Ray, and the reference to it

    @abstractmethod
    def n_bytes(self) -> int:
        """Size of what is shared."""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.n_bytes()

    def __reduce_ex__(self, protocol: Any) -> Any:
        ray = sys.modules.get("ray")
        if ray is None or not ray.is_initialized():
            return super().__reduce_ex__(protocol)
        state = {name: value for name, value in self.__getstate__().items() if name != "_sent"}
        identity = tuple(map(id, state.values()))
        if self._sent is None or self._sent[0] != identity:
            self._sent = (identity, ray.put(state))
        return _receive, (type(self), self._sent[1])


class Shared(SentOnce, Generic[T]):
    """A value that tasks share, which is not by itself sent once.

    Parameters
    ----------
    value : object
    """

    def __init__(self, value: T) -> None:
        self.value = value

    def n_bytes(self) -> int:
        """Size of the arrays in it."""
        return array_bytes(self.value)


def array_bytes(value: Any) -> int:
    """Size of arrays, of those in containers, and of those that attributes hold."""
    if sparse.issparse(value):
        return array_bytes(value.data)
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, Mapping):
        return sum(map(array_bytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(array_bytes, value))
    return sum(map(array_bytes, vars(value).values())) if hasattr(value, "__dict__") else 0


def _receive(kind: type, reference: Any) -> Any:
    """The shared object, on a worker of Ray."""
    received: Any = object.__new__(kind)
    vars(received).update(sys.modules["ray"].get(reference))
    return received
