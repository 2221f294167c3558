"""Tolerances follow the precision of a table, and counts are whole but for rounding."""

import numpy as np
import pytest
from scipy import sparse

from tamis.kernels.arrays.tolerances import ROUNDING, TIE, Tolerance, ceil_count, floor_count


@pytest.mark.parametrize("tolerance", [ROUNDING, TIE, Tolerance(1e-9, 1e-3)])
def test_a_tolerance_follows_the_precision_of_the_table(tolerance):
    X = np.ones((2, 2))
    assert tolerance.of(X) == tolerance.float64 == tolerance.of(sparse.csr_array(X))
    assert tolerance.of(X.astype(np.float32)) == tolerance.float32 > 1e3 * tolerance.float64


def test_a_tolerance_follows_the_precision_of_a_torch_tensor():
    torch = pytest.importorskip("torch")
    assert ROUNDING.of(torch.ones(2, dtype=torch.float32)) == ROUNDING.float32
    assert ROUNDING.of(torch.ones(2, dtype=torch.float64)) == ROUNDING.float64


@pytest.mark.parametrize(
    ("share", "below", "above"), [(0.29 * 100, 29, 29), (0.1 * 3 * 10, 3, 3), (2.5, 2, 3), (0.0, 0, 0)]
)
def test_counts_are_whole_but_for_rounding(share, below, above):
    assert (floor_count(share), ceil_count(share)) == (below, above)
