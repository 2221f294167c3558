"""torch is loaded when a network is trained, not before; what every network needs of it."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import numpy as np


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


def seeded_generator(torch: Any, rng: np.random.RandomState) -> Any:
    """torch's random numbers drawn from numpy's, always on the CPU: a seed means the same on every device."""
    return torch.Generator("cpu").manual_seed(int(rng.randint(np.iinfo(np.int32).max)))


def recorded(torch: Any) -> contextlib.AbstractContextManager:
    """Where derivatives are recorded, whatever the caller has turned off."""
    stack = contextlib.ExitStack()
    stack.enter_context(torch.inference_mode(False))
    stack.enter_context(torch.enable_grad())
    return stack
