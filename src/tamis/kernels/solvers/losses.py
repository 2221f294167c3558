"""Convex losses L(f, y) of a linear output f, with what Newton's method and a duality gap need of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlogy

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


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


def _negative_entropy(u: np.ndarray, y: np.ndarray) -> np.ndarray:
    share = np.clip(-u * y, 0.0, 1.0)
    return xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)


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
