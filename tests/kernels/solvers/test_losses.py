"""Losses, their derivatives and their conjugates."""

import numpy as np
import pytest
from scipy.stats import norm

from tamis.kernels.solvers.losses import LOSSES as PENALIZED
from tamis.kernels.solvers.losses import PROBIT
from tests.oracles import grafting as oracle

LOSSES = {**PENALIZED, "probit": PROBIT}
NAMES = sorted(LOSSES)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_loss(name):
    loss, f = LOSSES[name], np.linspace(-3.05, 3.05, 40)
    for y in (-1.0, 1.0):
        y = np.full(f.size, y)
        derivative = (loss.value(f + 1e-6, y) - loss.value(f - 1e-6, y)) / 2e-6
        np.testing.assert_allclose(loss.derivative(f, y), derivative, atol=1e-8)
        second = (loss.derivative(f + 1e-6, y) - loss.derivative(f - 1e-6, y)) / 2e-6
        np.testing.assert_allclose(loss.second_derivative(f, y), second, atol=1e-8)
        value = (lambda _, a, b: -norm.logcdf(a * b)) if name == "probit" else oracle.loss_value
        expected = [value(name, a, b) for a, b in zip(f, y, strict=True)]
        np.testing.assert_allclose(loss.value(f, y), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_conjugate_is_the_largest_distance_below_a_line(name):
    loss, f = LOSSES[name], np.linspace(-3, 3, 41)
    for label in (-1.0, 1.0):
        y = np.full(f.size, label)
        derivative = loss.derivative(f, y)
        np.testing.assert_allclose(loss.value(f, y) + loss.conjugate(derivative, y), derivative * f, atol=1e-12)
        for share in (0.0, 0.3, 1.0):
            u = share * derivative[:, None]
            below = u * f[None, :] - loss.value(f, y)[None, :]
            assert np.all(below <= loss.conjugate(u, np.full_like(u, label)) + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_losses_of_very_large_outputs_do_not_overflow(name):
    f, y = np.array([-1e4, 1e4]), np.array([1.0, 1.0])
    for function in (LOSSES[name].value, LOSSES[name].derivative, LOSSES[name].second_derivative):
        assert np.all(np.isfinite(function(f, y)))


def test_the_probit_loss_is_a_parabola_far_below_zero():
    f = -np.logspace(2, 150, 30)
    np.testing.assert_allclose(PROBIT.derivative(f, np.ones(f.size)), f - 1.0 / -f, rtol=1e-3)
    np.testing.assert_allclose(PROBIT.derivative(f[2:], np.ones(f.size - 2)), f[2:], rtol=1e-12)
    curvature = PROBIT.second_derivative(f, np.ones(f.size))
    assert np.all((curvature >= 0) & (curvature <= 1))
