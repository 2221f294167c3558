r"""A probability over features, the gradient of its energy, and steps along it: the mathematics of OFW.

The energy of a probability :math:`P` is the mean error of classifiers on subsets drawn from it,
:math:`E(P) = \sum_\omega g(\omega) \prod_{i \le k} P(\omega_i)` (Gadat & Younes 2007, Eq. 2). Its gradient rests on the
counts :math:`C(\omega, \delta)`, how often feature :math:`\delta` was drawn:
:math:`\nabla E(\delta) = \mathbb{E}[g(\omega) C(\omega, \delta)] / P(\delta)` (Eq. 7). All methods
descend along that mean, each in a geometry of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from tamis._sklearn import Interval, StrOptions

METHODS = ("natural", "riemannian", "euclidean", "diffusion", "exact")
_MAX_LOG_CHANGE = 1.0  # of log P in one multiplicative step
_MAX_EUCLIDEAN_CHANGE = 0.3  # of P in one Euclidean step, relative to the uniform probability


class GradientDescent(BaseEstimator):
    r"""How :class:`~tamis.OFW` descends the energy: the geometry, the step sizes, and the lag of the convergence test.

    .. math:: \varepsilon_n = \varepsilon \frac{C}{n + C}, \qquad P_{n+1} = P_n \exp(-\varepsilon_n d_n) / K
        \quad\text{or}\quad P_{n+1} = \pi_S(P_n - \varepsilon_n d_n)

    with :math:`d_n` the gradient in the chosen geometry and :math:`\pi_S` the projection onto the simplex.

    Parameters
    ----------
    method : {"natural", "riemannian", "euclidean", "diffusion", "exact"}, default="natural"
        Geometry of the steps. "riemannian" is the paper's gradient in log P (Eq. 12), "euclidean" in P (Eq. 8),
        "diffusion" the latter with noise, kept in the simplex by projection (Fig. 5); "natural" follows the gradient
        under Fisher's metric. "exact" is "natural" with the gradient summed over every possible draw.
    learning_rate : float or "auto", default="auto"
        First step; "auto" goes by the spread of errors in a first batch.
    decay : float, default=200.0
        Step n is ``learning_rate * decay / (n + decay)``, that is eps / (n + C) with C the decay (Sec. 4.1.4).
    noise : float, default=0.003
        Of "diffusion": the root of sigma.
    mu : int, default=10
        The convergence test compares the probability with that of n / mu steps before (Fig. 3), and needs 20 mu steps.

    Notes
    -----
    From the uniform probability all methods take the same first step, up to noise. No weight changes by more than a
    factor e, or 0.3 / |F| in the Euclidean methods, in one step. Cost of a step: O(D), and a sort in the latter.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import GradientDescent
    >>> OFW(method=GradientDescent("riemannian", learning_rate=100.0))
    OFW(method=GradientDescent(learning_rate=100.0, method='riemannian'))
    """

    _parameter_constraints: ClassVar[dict] = {
        "method": [StrOptions(set(METHODS))],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "decay": [Interval(Real, 0, None, closed="neither")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "mu": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        method: str = "natural",
        *,
        learning_rate: float | str = "auto",
        decay: float = 200.0,
        noise: float = 0.003,
        mu: int = 10,
    ) -> None:
        self.method = method
        self.learning_rate = learning_rate
        self.decay = decay
        self.noise = noise
        self.mu = mu

    def step_size(self, n: int) -> float:
        """Length of the step after ``n`` others."""
        return float(self.learning_rate) * self.decay / (n + self.decay)

    def step(
        self, probability: np.ndarray, counted: np.ndarray, n: int, rng: np.random.RandomState
    ) -> tuple[np.ndarray, bool]:
        """The probability after step ``n``, given ``E[g C]``, and whether it had to be projected onto the simplex."""
        step_size, n_features = self.step_size(n), probability.size
        if self.method == "riemannian":
            return multiply_probability(probability, -step_size * riemannian_direction(counted, probability)), False
        if self.method in ("natural", "exact"):
            change = -step_size / n_features * natural_direction(counted, probability)
            return multiply_probability(probability, change), False
        change = step_size / n_features**2 * euclidean_direction(counted, probability)
        largest = _MAX_EUCLIDEAN_CHANGE / n_features  # the gradient of a rare feature, E[g C] / P, has a huge variance
        moved = probability - np.clip(change, -largest, largest)
        if self.method == "diffusion":
            moved += self.noise * np.sqrt(step_size) / n_features * rng.standard_normal(n_features)
        return project_onto_simplex(moved), bool((moved < 0).any())


def draw_subsets(probability: np.ndarray, n_subsets: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Draws of ``size`` features with replacement, one row each: the law :math:`P^{\\otimes k}`."""
    cumulative = np.cumsum(probability)
    drawn = np.sort(rng.random_sample(n_subsets * size))  # sorted numbers are looked up several times faster
    found = np.searchsorted(cumulative, drawn * cumulative[-1], side="right")
    np.minimum(found, np.flatnonzero(probability)[-1], out=found)
    return found[rng.permutation(found.size)].reshape(n_subsets, size)


def count_errors(subsets: np.ndarray, errors: np.ndarray, n_features: int) -> np.ndarray:
    """``mean over subsets of errors(w) C(w, .)``: an unbiased estimate of ``E[g C]``."""
    weight = np.repeat(errors, subsets.shape[1])
    return np.bincount(subsets.ravel(), weights=weight, minlength=n_features) / len(subsets)


def subtract_baseline(errors: np.ndarray) -> np.ndarray:
    """Errors less a baseline, the mean of the other errors: a control variate.

    The draws are independent, so that the mean of the others is a constant for each. Constants do not matter in any of
    the geometries: the estimated gradient stays unbiased, and its variance falls.
    """
    if errors.size == 1:
        return errors
    return (errors - errors.mean()) * (errors.size / (errors.size - 1))


def euclidean_direction(counted: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Gradient on the hyperplane of unit sums, Eqs. (6), (8) and (15); that of a feature never drawn is zero."""
    gradient = np.divide(counted, probability, out=np.zeros_like(counted), where=probability > 0)
    return gradient - gradient.mean()


def riemannian_direction(counted: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Gradient in ``y = log P`` on the tangent space of ``sum exp(y) = 1``, Eqs. (9) and (10)."""
    kappa = (counted @ probability) / (probability @ probability)
    return counted - kappa * probability


def natural_direction(counted: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Change of ``log P`` along the natural gradient, of the metric ``sum u v / P``: Eq. (7) less its mean under P."""
    gradient = np.divide(counted, probability, out=np.zeros_like(counted), where=probability > 0)
    return gradient - probability @ gradient


def project_onto_simplex(point: np.ndarray) -> np.ndarray:
    """The nearest probability: what Sec. 4.3 finds by repeated clipping, by one sort."""
    descending = np.sort(point)[::-1]
    surplus = (np.cumsum(descending) - 1.0) / np.arange(1, point.size + 1)
    shift = surplus[np.count_nonzero(descending > surplus) - 1]
    projected = np.maximum(point - shift, 0.0)
    return projected / projected.sum()


def multiply_probability(probability: np.ndarray, change: np.ndarray) -> np.ndarray:
    """``P exp(change) / K`` (Eq. 12), no entry by more than a factor e at a time."""
    moved = probability * np.exp(np.clip(change, -_MAX_LOG_CHANGE, _MAX_LOG_CHANGE))
    return moved / moved.sum()


@dataclass(frozen=True)
class Draws:
    """Every possible draw of ``size`` features, as one row of counts each, whatever the order of drawing.

    Attributes
    ----------
    members : ndarray of shape (n_draws, size)
        Features, ascending, repeated as often as drawn.
    orders : ndarray of shape (n_draws,)
        In how many orders each may be drawn.
    sets : list of tuple of int
        The different features of the draws, each set once.
    set_of : ndarray of shape (n_draws,)
        Which set a draw amounts to.
    """

    members: np.ndarray
    orders: np.ndarray
    sets: list[tuple[int, ...]]
    set_of: np.ndarray


def count_draws(n_features: int, size: int) -> int:
    """How many rows :func:`enumerate_draws` gives."""
    return comb(n_features + size - 1, size)


def enumerate_draws(n_features: int, size: int) -> Draws:
    """All draws of ``size`` out of ``n_features``, with replacement."""
    members = np.array(list(combinations_with_replacement(range(n_features), size)))
    orders = np.ones(len(members))  # multinomial coefficients, one position after another
    run = np.ones(len(members))
    for i in range(1, size):
        run = np.where(members[:, i] == members[:, i - 1], run + 1, 1)
        orders *= (i + 1) / run
    place: dict[tuple[int, ...], int] = {}
    set_of = np.array([place.setdefault(tuple(sorted(set(row))), len(place)) for row in members.tolist()])
    return Draws(members, orders, list(place), set_of)


def exact_energy(draws: Draws, errors: np.ndarray, probability: np.ndarray) -> tuple[float, np.ndarray]:
    """Energy (Eq. 2), and ``E[g C]``, summed over every draw; ``errors`` has one entry per set."""
    terms = draws.orders * np.prod(probability[draws.members], axis=1) * errors[draws.set_of]
    counted = np.bincount(draws.members.ravel(), np.repeat(terms, draws.members.shape[1]), probability.size)
    return float(terms.sum()), counted
