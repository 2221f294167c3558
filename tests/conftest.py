"""Settings that must stand before scipy is imported; calls in the background that last; what leaves a device."""

import os
from types import SimpleNamespace

import pytest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # without it scikit-learn refuses Array-API input


@pytest.fixture
def calls_that_last(monkeypatch):
    """Every call in the background gives three signs of life, however short it is."""
    from tamis.kernels import background
    from tamis.kernels.solvers import l1_program

    wait, seen = background.wait, []

    def wait_longer(calls, timeout):
        seen.append(calls[0])
        return SimpleNamespace(done=set()) if seen.count(calls[0]) <= 3 else wait(calls, timeout)

    monkeypatch.setattr(background, "wait", wait_longer)
    monkeypatch.setattr(l1_program, "_QUICK_SIZE", 0)


@pytest.fixture
def transfers(monkeypatch):
    """Numbers of entries of the torch arrays that are turned into numpy, in their order, as a list that grows."""
    import torch

    sizes = []

    def counted(name):
        method = getattr(torch.Tensor, name)

        def count(self, *args, **kwargs):
            sizes.append(self.numel())
            return method(self, *args, **kwargs)

        return count

    for name in ("cpu", "__dlpack__", "__array__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, counted(name))
    return sizes
