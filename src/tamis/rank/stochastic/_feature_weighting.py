r"""A probability over features and the gradient of its energy: the mathematics of Optimal Feature Weighting.

The energy of a probability :math:`P` is the mean error of classifiers on subsets drawn from it,
:math:`E(P) = \sum_\omega g(\omega) \prod_{i \le k} P(\omega_i)` (Gadat & Younes 2007, Eq. 2). Its gradient rests on the
counts :math:`C(\omega, \delta)`, how often feature :math:`\delta` was drawn:
:math:`\nabla E(\delta) = \mathbb{E}[g(\omega) C(\omega, \delta)] / P(\delta)` (Eq. 7). All methods move along that
mean, each in a geometry of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

_MOST_CHANGE = 1.0  # of log P in one step


def draw_subsets(probability: np.ndarray, n_subsets: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Draws of ``size`` features with replacement, one row each: the law :math:`P^{\\otimes k}`."""
    cumulative = np.cumsum(probability)
    drawn = np.sort(rng.random_sample(n_subsets * size))  # sorted, they are looked up in one sweep over memory
    found = np.searchsorted(cumulative, drawn * cumulative[-1], side="right")
    np.minimum(found, np.flatnonzero(probability)[-1], out=found)
    return found[rng.permutation(found.size)].reshape(n_subsets, size)


def count_errors(subsets: np.ndarray, errors: np.ndarray, n_features: int) -> np.ndarray:
    """``mean over subsets of errors(w) C(w, .)``: what the mean of a gradient is made of."""
    weight = np.repeat(errors, subsets.shape[1])
    return np.bincount(subsets.ravel(), weights=weight, minlength=n_features) / len(subsets)


def subtract_baseline(errors: np.ndarray) -> np.ndarray:
    """Errors less the mean of the others.

    The draws are independent, so that the mean of the others is a constant for each. Constants do not matter in any of
    the geometries: the mean of a gradient stays what it is, and its variance falls.
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
    moved = probability * np.exp(np.clip(change, -_MOST_CHANGE, _MOST_CHANGE))
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
    chance = draws.orders * np.prod(probability[draws.members], axis=1)
    paid = chance * errors[draws.set_of]
    counted = np.bincount(draws.members.ravel(), np.repeat(paid, draws.members.shape[1]), probability.size)
    return float(paid.sum()), counted
