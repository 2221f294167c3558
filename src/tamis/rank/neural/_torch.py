"""torch is loaded when a network is trained, not before; what every network needs of it."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tamis.kernels.arrays.blocks import limit_blas_threads

FEW_ENTRIES = 2**18  # of a table
FEW_PRODUCTS = 2**28  # of rows and weights


def load_torch(who: str) -> Any:
    """The torch module, or an error that says which extra brings it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"{who} trains a network with torch: install it with pip install 'tamis[neural]'") from error


def choose_device(torch: Any, device: str) -> Any:
    """ "auto" is the GPU where there is one; any other name is torch's own."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.zeros((), device=chosen).item()
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device='{device}' cannot be used here: choose 'auto' or 'cpu'") from error
    return chosen


def limit_threads(torch: Any, n_entries: int) -> contextlib.AbstractContextManager:
    """One thread for tables so small that threads of torch and of BLAS wait for each other more than they compute."""
    return one_thread(torch) if n_entries <= FEW_ENTRIES else contextlib.nullcontext()


def limit_training_threads(torch: Any, n_rows: int, n_weights: int) -> contextlib.AbstractContextManager:
    """The same for networks of which a pass over all rows is short.

    An iteration is many small operations, after each of which threads wait for each other: with two threads it took as
    long as with one, or many times as long, up to that size.
    """
    return one_thread(torch) if n_rows * n_weights <= FEW_PRODUCTS else contextlib.nullcontext()


@contextlib.contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """One thread of torch and of BLAS; then as many as before."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with limit_blas_threads(0):
            yield
    finally:
        torch.set_num_threads(n_threads)


def seeded_generator(torch: Any, rng: np.random.RandomState) -> Any:
    """torch's random numbers drawn from numpy's, always on the CPU: a seed means the same on every device."""
    return torch.Generator("cpu").manual_seed(int(rng.randint(np.iinfo(np.int32).max)))


def recorded(torch: Any) -> contextlib.AbstractContextManager:
    """Where derivatives are recorded, whatever the caller has turned off."""
    stack = contextlib.ExitStack()
    stack.enter_context(torch.inference_mode(False))
    stack.enter_context(torch.enable_grad())
    return stack
