r"""The dual problem of maximum entropy discrimination with switches of features.

With a multiplier :math:`\lambda_t` per margin constraint of row t in machine m, the partition function of weights with
a Gaussian prior of variance :math:`2 \kappa`, times switches that are on with probability :math:`p_0`, gives

.. math:: J(\lambda) = \sum_t \omega_t \, \phi(\lambda_t / \omega_t) + \sum_t s_t y_t \lambda_t
          - \sum_g \log\left(1 - p_0 + p_0\, e^{\kappa \sum_{i \in g} \sum_m w_{mi}^2}\right), \qquad
          w_{mi} = \sum_{t \in m} \lambda_t s_t x_{ti},

which is concave: minus the logarithm of a sum of exponentials of convex functions of :math:`\lambda`. The bias of each
machine has a flat prior, hence :math:`\sum_{t \in m} \lambda_t s_t = 0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import expit


class Potential(Protocol):
    r"""Minus the logarithm of the partition function of a margin, concave on :math:`0 \le \lambda < c`."""

    @property
    def c(self) -> float: ...

    def value(self, a: np.ndarray) -> np.ndarray:
        """``phi(a)``."""

    def derivatives(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``phi'(a)`` and ``phi''(a)``."""


@dataclass(frozen=True)
class ClassMargin:
    r"""Of classes: the margin :math:`\gamma \le 1` has the prior :math:`c\, e^{-c (1 - \gamma)}`.

    .. math:: \phi(\lambda) = -\log \int e^{-\lambda \gamma} c\, e^{-c (1 - \gamma)} d\gamma
              = \lambda + \log(1 - \lambda / c)
    """

    c: float

    def value(self, a: np.ndarray) -> np.ndarray:
        """``a + log(1 - a / c)``."""
        return a + np.log1p(-a / self.c)

    def derivatives(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second."""
        rest = 1.0 / (self.c - a)
        return 1.0 - rest, -(rest**2)


@dataclass(frozen=True)
class TubeMargin:
    r"""Of a quantity: the error :math:`\gamma \ge 0` has a prior that is flat up to epsilon, then :math:`e^{-c\gamma}`.

    .. math:: \phi(\lambda) = -\log \frac{\int_0^\epsilon e^{\lambda \gamma} d\gamma
              + \int_\epsilon^\infty e^{\lambda \gamma - c (\gamma - \epsilon)} d\gamma}{\epsilon + 1 / c}
              = -\epsilon \lambda - \log q(\lambda) + \text{const}, \quad
              q = \frac{1 - e^{-\epsilon \lambda}}{\lambda} + \frac{1}{c - \lambda}
    """

    c: float
    epsilon: float

    def _partition(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``q`` and its first two derivatives."""
        e, rest = self.epsilon, 1.0 / (self.c - a)
        r0, r1, r2 = _mean_decay(e * a)
        return e * r0 + rest, e**2 * r1 + rest**2, e**3 * r2 + 2.0 * rest**3

    def value(self, a: np.ndarray) -> np.ndarray:
        """Zero at ``a = 0``."""
        return np.log(self.epsilon + 1.0 / self.c) - self.epsilon * a - np.log(self._partition(a)[0])

    def derivatives(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second."""
        q0, q1, q2 = self._partition(a)
        return -self.epsilon - q1 / q0, (q1 / q0) ** 2 - q2 / q0


def _mean_decay(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``(1 - exp(-x)) / x`` and its first two derivatives, by their series where x is small."""
    small = x < 0.1
    t = np.where(small, x, 0.0)
    factorial = np.cumprod(np.arange(1.0, 13.0))  # 1!, 2!, ...
    series = np.polynomial.Polynomial((-1.0) ** np.arange(12) / factorial)
    s = np.where(small, 1.0, x)
    decay = np.exp(-s)
    exact = ((1.0 - decay) / s, (decay * (1.0 + s) - 1.0) / s**2, (2.0 - decay * (s**2 + 2.0 * s + 2.0)) / s**3)
    near = (series(t), series.deriv()(t), series.deriv(2)(t))
    return tuple(np.where(small, one, other) for one, other in zip(near, exact, strict=True))  # type: ignore[return-value]


@dataclass(frozen=True)
class MEDDual:
    """Machines that share the switches of their features.

    Attributes
    ----------
    tables : sequence of tables of shape (n_rows of the machine, n_columns)
        Dense or sparse in rows; a machine may share that of another.
    signs : sequence of ndarray
        Of every multiplier: the class, or the side of the tube.
    weight : ndarray of shape (n_multipliers,)
        How often each row counts; multipliers of all machines one after another.
    linear : ndarray of shape (n_multipliers,)
        ``s y`` of a quantity, zero of classes.
    potential : Potential
    owners : ndarray of shape (n_columns,)
        The switch of every column.
    p0, kappa : float
    """

    tables: Sequence[Any]
    signs: Sequence[np.ndarray]
    weight: np.ndarray
    linear: np.ndarray
    potential: Potential
    owners: np.ndarray
    p0: float
    kappa: float

    @cached_property
    def bounds(self) -> np.ndarray:
        """Where the multipliers of a machine begin, and the end."""
        return np.cumsum([0, *(sign.size for sign in self.signs)])

    @cached_property
    def n_switches(self) -> int:
        """Features or groups of them."""
        return int(self.owners.max()) + 1

    @cached_property
    def has_single_columns(self) -> bool:
        """Whether every switch belongs to one column of one machine."""
        return len(self.tables) == 1 and self.n_switches == self.owners.size

    @cached_property
    def all_signs(self) -> np.ndarray:
        """Of the multipliers of all machines."""
        return np.concatenate(self.signs)

    def of_machines(self, values: np.ndarray) -> list[np.ndarray]:
        """Parts of a vector or matrix with one row per multiplier."""
        return np.split(values, self.bounds[1:-1])

    def weights(self, multipliers: np.ndarray) -> np.ndarray:
        """``w``, linear in the multipliers: shape (n_machines, n_columns)."""
        parts = self.of_machines(self.all_signs * multipliers)
        return np.stack([np.asarray(table.T @ part) for table, part in zip(self.tables, parts, strict=True)])

    def outputs(self, U: np.ndarray) -> np.ndarray:
        """Of machines without their biases, one for each multiplier."""
        return np.concatenate([np.asarray(table @ u) for table, u in zip(self.tables, U, strict=True)])

    def squared_norms(self, W: np.ndarray) -> np.ndarray:
        """Of the weights of every switch."""
        return np.bincount(self.owners, weights=np.einsum("mi,mi->i", W, W), minlength=self.n_switches)

    def probabilities(self, W: np.ndarray) -> np.ndarray:
        """Posterior probability that a switch is on."""
        with np.errstate(divide="ignore"):  # of p0 = 1, where every switch is on
            prior = np.log(self.p0) - np.log1p(-self.p0)
        return expit(self.kappa * self.squared_norms(W) + prior)

    def expected_weights(self, W: np.ndarray) -> np.ndarray:
        """Posterior mean of weight times switch: ``2 kappa w p``, the gradient of the logarithm of the partition."""
        return 2.0 * self.kappa * W * self.probabilities(W)[self.owners]

    def penalty(self, W: np.ndarray) -> float:
        """``sum_g log(1 - p0 + p0 exp(kappa |w_g|^2))``."""
        with np.errstate(divide="ignore"):
            off, on = np.log1p(-self.p0), np.log(self.p0)
        return float(np.logaddexp(off, on + self.kappa * self.squared_norms(W)).sum())

    def value(self, multipliers: np.ndarray, W: np.ndarray) -> float:
        """``J``; minus infinity outside of its domain."""
        a = multipliers / self.weight
        if a.min() < 0.0 or a.max() >= self.potential.c:
            return -np.inf
        return float(self.weight @ self.potential.value(a) + self.linear @ multipliers - self.penalty(W))

    def gradient(self, multipliers: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Of ``J``, without the part of the biases."""
        slope, _ = self.potential.derivatives(multipliers / self.weight)
        return slope + self.linear - self.all_signs * self.outputs(self.expected_weights(W))

    def projected_gradient(self, multipliers: np.ndarray, gradient: np.ndarray) -> float:
        """Largest change by a gradient step that is cut off at zero: zero at the optimum."""
        return float(np.abs(multipliers - np.maximum(multipliers + gradient, 0.0)).max())

    def duality_gap(self, multipliers: np.ndarray, gradient: np.ndarray) -> float:
        r"""Primal minus dual objective.

        The primal is :math:`\sum_g G^*(u_g) + \sum_t \omega_t L(m_t)` with the conjugate :math:`G^*` of a term of the
        penalty and :math:`L(m) = \sup_a \phi(a) + (s y - m)\, a`. At the expected weights ``u`` the first sum is
        :math:`\sum_t \lambda_t m_t` minus the penalty, so that every row has a gap of its own, which is never negative.
        """
        a = multipliers / self.weight
        slope, _ = self.potential.derivatives(a)
        excess = slope - gradient  # margins less the linear term
        best = _largest_multiplier(self.potential, excess)
        gaps = self.potential.value(best) - excess * best - self.potential.value(a) + excess * a
        return float(self.weight @ gaps)


def _largest_multiplier(potential: Potential, excess: np.ndarray) -> np.ndarray:
    """``argmax phi(a) - excess * a`` on ``[0, c)``, by bisection of its derivative, which falls."""
    low, high = np.zeros_like(excess), np.full_like(excess, potential.c * (1.0 - 1e-15))
    for _ in range(60):
        middle = 0.5 * (low + high)
        rises = potential.derivatives(middle)[0] > excess
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return np.where(potential.derivatives(np.zeros_like(low))[0] > excess, low, 0.0)
