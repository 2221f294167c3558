"""Tasks in parallel on whatever joblib is told to use, and tables that are sent to its workers once."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any

from joblib import Parallel
from joblib.parallel import get_active_backend


def open_parallel(n_jobs: int | None, return_as: str = "generator") -> Parallel:
    """joblib's tasks, whose results come one by one where the backend can give them so (Ray's cannot), else together.

    Parameters
    ----------
    n_jobs : int or None
    return_as : {"generator", "generator_unordered"}
    """
    backend, _ = get_active_backend()
    return Parallel(n_jobs=n_jobs, return_as=return_as if backend.supports_return_generator else "list")


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


def _receive(kind: type, reference: Any) -> Any:
    """The shared object, on a worker of Ray."""
    received: Any = object.__new__(kind)
    vars(received).update(sys.modules["ray"].get(reference))
    return received
