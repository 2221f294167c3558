"""AGNOS-G; test_agnos_w.py holds what it has in common with AGNOS-W."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra neural brings torch")

from tamis.rank.neural._batch_loader import BatchLoader  # noqa: E402
from tamis.rank.neural._encoder import AutoEncoder  # noqa: E402
from tamis.rank.neural._standardized_rows import standardize_rows  # noqa: E402
from tamis.rank.neural._thesis import ThesisPlan, _scores  # noqa: E402


def test_gradients_are_summed_over_all_rows_however_they_are_read():
    """Score_G is a sum over samples (Eq. 4.10): batches must add up to it."""
    rows = standardize_rows(np.random.RandomState(0).standard_normal((50, 6)))
    network = AutoEncoder(6, 3, False, torch.Generator().manual_seed(0))
    plan = ThesisPlan("gradients", 3, 1.0, 1e-3, 1)
    device = torch.device("cpu")
    at_once, in_batches = (_scores(network, BatchLoader(rows, device, size, 0), plan) for size in (None, 7))
    torch.testing.assert_close(in_batches, at_once)
    Z = torch.from_numpy(rows.read(slice(None)).astype(np.float32)).requires_grad_()
    squared = torch.zeros(6, 3)
    for unit in range(3):
        [slope] = torch.autograd.grad(network.encode(Z)[:, unit].sum(), Z)
        squared[:, unit] = slope.square().sum(dim=0)
    torch.testing.assert_close(at_once, squared.amax(dim=1))
