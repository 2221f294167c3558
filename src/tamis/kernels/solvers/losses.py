"""Convex losses L(f, y) of a linear output f, with what Newton's method and a duality gap need of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, expit, log_ndtr, xlogy

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]

_CONJUGATE_STEPS = 30


@dataclass(frozen=True)
class Loss:
    """A convex loss L(f, y), sample by sample.

    Attributes
    ----------
    value, derivative, second_derivative : callable
        L and its first two derivatives by f (the second one from one side, where the first has a kink).
    conjugate : callable
        ``L*(u, y) = sup_f u f - L(f, y)``, for u between zero and a derivative that the loss can have.
    """

    value: Function
    derivative: Function
    second_derivative: Function
    conjugate: Function


def weighted_loss(loss: Loss, weight: np.ndarray) -> Loss:
    """Each sample's loss times its weight: ``(w L)*(u) = w L*(u / w)``."""

    def times(function: Function) -> Function:
        return lambda f, y: _per_row(weight, f) * function(f, y)

    return Loss(
        times(loss.value),
        times(loss.derivative),
        times(loss.second_derivative),
        lambda u, y: _per_row(weight, u) * loss.conjugate(u / _per_row(weight, u), y),
    )


def _per_row(weight: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Weights of the rows in the shape of values with one or several columns."""
    return weight if values.ndim == 1 else weight[:, None]


def _negative_entropy(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    share = np.clip(-u * y, 0.0, 1.0)
    return xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)


def _inverse_mills_ratio(t: np.ndarray) -> np.ndarray:
    """The ratio of the normal density at t to its distribution function there."""
    return np.sqrt(2.0 / np.pi) / erfcx(-t / np.sqrt(2.0))  # no difference of two large logarithms, far below zero


def _probit_curvature(f: np.ndarray, y: np.ndarray) -> np.ndarray:
    ratio = _inverse_mills_ratio(y * f)
    return np.clip(ratio * (y * f + ratio), 0.0, 1.0)


def _probit_conjugate(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``sup_t -s t + log Phi(t)``, s = -u y, where the inverse Mills ratio at t is s; by Newton's method in log s."""
    s = np.maximum(-u * y, 0.0)
    positive = np.maximum(s, 1e-300)
    # the ratio is close to -t for large s, and to the density for small s
    t = np.where(s > 1.0, -positive, np.sqrt(np.maximum(-2.0 * np.log(np.minimum(positive, 1.0)), 0.0)))
    for _ in range(_CONJUGATE_STEPS):
        log_ratio = -0.5 * t * t - 0.5 * np.log(2.0 * np.pi) - log_ndtr(t)
        t = t + (log_ratio - np.log(positive)) / (t + np.exp(log_ratio))
    return np.where(s > 0, -s * t + log_ndtr(t), 0.0)


LOSSES = {
    "logistic": Loss(
        lambda f, y: np.logaddexp(0.0, -y * f),
        lambda f, y: -y * expit(-y * f),
        lambda f, y: expit(f) * expit(-f),
        _negative_entropy,
    ),
    "squared": Loss(
        lambda f, y: 0.5 * (f - y) ** 2,
        lambda f, y: f - y,
        lambda f, y: np.ones_like(f),
        lambda u, y: 0.5 * u**2 + u * y,
    ),
    "squared_hinge": Loss(
        lambda f, y: np.maximum(0.0, 1.0 - y * f) ** 2,
        lambda f, y: -2.0 * y * np.maximum(0.0, 1.0 - y * f),
        lambda f, y: 2.0 * (y * f < 1.0),
        lambda u, y: 0.25 * u**2 + u * y,
    ),
}

# -log of the normal distribution function: the negative log-likelihood of a probit model
PROBIT = Loss(
    lambda f, y: -log_ndtr(y * f),
    lambda f, y: -y * _inverse_mills_ratio(y * f),
    _probit_curvature,
    _probit_conjugate,
)
