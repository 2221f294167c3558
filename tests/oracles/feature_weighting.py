"""Optimal Feature Weighting by enumeration: every draw of k features with replacement, as Gadat & Younes write it.

An error is a function of a draw, that is of a tuple of features; probabilities are lists of numbers.
"""

import itertools
import math


def all_draws(n_features, size):
    """F^k: every tuple of features, in every order."""
    return list(itertools.product(range(n_features), repeat=size))


def chance(probability, draw):
    return math.prod(probability[feature] for feature in draw)


def count(draw, feature):
    """C(w, d): how often a feature was drawn."""
    return sum(1 for each in draw if each == feature)


def energy(probability, error, size):
    """Eq. (2)."""
    return math.fsum(error(draw) * chance(probability, draw) for draw in all_draws(len(probability), size))


def counted_errors(probability, error, size):
    """E[g C], feature by feature."""
    draws = all_draws(len(probability), size)
    return [
        math.fsum(error(draw) * count(draw, feature) * chance(probability, draw) for draw in draws)
        for feature in range(len(probability))
    ]


def partial_derivative(probability, error, size, feature):
    """dE/dP(d) with no division: each position that shows the feature in turn is left out of the product."""
    total = 0.0
    for draw in all_draws(len(probability), size):
        for place, drawn in enumerate(draw):
            if drawn == feature:
                total += error(draw) * chance(probability, draw[:place] + draw[place + 1 :])
    return total


def euclidean_gradient(probability, error, size):
    """Eqs. (6) and (7): the gradient, less its mean, which is what the hyperplane of unit sums takes out."""
    gradient = [partial_derivative(probability, error, size, feature) for feature in range(len(probability))]
    mean = math.fsum(gradient) / len(gradient)
    return [each - mean for each in gradient]


def riemannian_gradient(probability, error, size):
    """Eq. (9) in y = log P, projected on the tangent space of sum exp(y) = 1; the projection as the errata has it."""
    in_log = [
        p * partial_derivative(probability, error, size, feature) for feature, p in enumerate(probability)
    ]  # chain rule
    along = math.fsum(w * p for w, p in zip(in_log, probability, strict=True))
    norm2 = math.fsum(p * p for p in probability)
    return [w - along / norm2 * p for w, p in zip(in_log, probability, strict=True)]


def natural_gradient(probability, error, size):
    """d log P along the gradient under the metric sum u v / P: P (grad - mean of grad under P), divided by P."""
    gradient = [partial_derivative(probability, error, size, feature) for feature in range(len(probability))]
    mean = math.fsum(p * each for p, each in zip(probability, gradient, strict=True))
    return [each - mean for each in gradient]


def project_by_clipping(point):
    """Sec. 4.3: onto the hyperplane of unit sums (with the 1 / |F| that the paper forgets), then clip and spread."""
    size = len(point)
    shift = (1.0 - math.fsum(point)) / size
    point = [each + shift for each in point]
    while min(point) < 0:
        positive = [place for place in range(size) if point[place] > 0]
        rest = (1.0 - math.fsum(point[place] for place in positive)) / len(positive)
        point = [point[place] + rest if place in positive else 0.0 for place in range(size)]
    return point
