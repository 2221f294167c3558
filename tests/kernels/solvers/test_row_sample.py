"""What a sample of the rows tells of a gradient beyond its first order."""

import numpy as np
import pytest

from tamis.kernels.solvers.loss_sums import curvatures, slopes
from tamis.kernels.solvers.row_sample import RowSample

LOSSES = ["squared_hinge", "logistic"]


def a_sample(loss, n=640, n_entries=4, n_rows=None):
    rng = np.random.RandomState(0)
    table = np.vstack([np.ones(n), rng.standard_normal((n_entries - 1, n))])
    signs = np.where(table[1] + rng.standard_normal(n) > 0, 1.0, -1.0)
    return RowSample(loss, table, signs, rng.uniform(0.5, 1.5, n), n * 16 if n_rows is None else n_rows)


def gradient(sample, w):
    return sample.table @ (sample.cost * sample.signs * slopes(sample.loss, sample.signs * (w @ sample.table)))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_remainder_is_what_the_hessian_leaves_out(loss):
    sample, rng = a_sample(loss), np.random.RandomState(1)
    u, v, w = rng.standard_normal((3, 4))
    curvature = sample.cost * curvatures(loss, sample.signs * (v @ sample.table))
    hessian = (sample.table * curvature) @ sample.table.T
    expected = gradient(sample, w) - gradient(sample, u) - hessian @ (w - u)
    found = sample.remainder(np.arange(4), u, sample.outputs(v))
    np.testing.assert_allclose(found(w), expected, rtol=1e-10, atol=1e-10)


def test_too_few_rows_tell_nothing():
    few = a_sample("logistic", n=12)
    assert few.remainder(np.arange(4), np.zeros(4), np.zeros(12)) is None


def test_too_few_rows_that_cross_the_margin_tell_nothing():
    sample, u = a_sample("squared_hinge"), np.array([0.0, 0.5, 0.0, 0.0])
    margins = sample.signs * np.array([sample.outputs(w) for w in (u, u + 1e-2)])
    assert 0 < np.count_nonzero((margins[0] < 1) != (margins[1] < 1)) < 16
    remainder = sample.remainder(np.arange(4), u, sample.outputs(u))
    assert not remainder(u + 1e-2).any()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_has_no_gradient_on_the_entries_that_remain(loss):
    sample, remains = a_sample(loss), np.array([True, True, False, True])
    penalty = np.array([0.0, 1.0, 1.0, 1.0])
    w = sample.minimum(remains, penalty, np.full(4, 0.5), 1e-10)
    assert w[2] == 0
    assert np.abs((gradient(sample, w) + penalty * w)[remains]).max() <= 1e-9 * sample.cost.sum()
