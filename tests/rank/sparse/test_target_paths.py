"""Paths of several targets side by side, and when candidates enter them."""

import numpy as np
import pytest

from tamis.base import ColumnCandidates, GroupCandidates
from tamis.kernels.solvers.penalized_path import PathPoint
from tamis.rank.sparse._target_paths import Entries, SparseFit, TargetPaths, candidate_magnitudes


def make_point(alpha, weights, loss=0.5):
    return PathPoint(
        alpha,
        np.array(sorted(weights), dtype=int),
        np.array([weights[j] for j in sorted(weights)]),
        0.1,
        loss,
        loss + alpha,
        1e-9,
        1e-8,
    )


class Recorded:
    """A path that was written down."""

    alpha_max = 1.0
    null_loss = 1.0

    def __init__(self, points):
        self.points = points

    def path(self, alphas):
        return iter(self.points[: len(alphas)])

    def solve(self, alpha):
        return next(point for point in self.points if point.alpha == alpha)


def test_targets_are_united_over_all_their_features():
    fit = SparseFit.unite([make_point(0.5, {1: 3.0, 4: 1.0}), make_point(0.5, {0: 2.0, 1: 4.0})])
    np.testing.assert_array_equal(fit.features, [0, 1, 4])
    np.testing.assert_array_equal(fit.weights, [[0.0, 2.0], [3.0, 4.0], [1.0, 0.0]])
    np.testing.assert_allclose(fit.magnitudes, [2.0, 5.0, 1.0])
    assert (fit.loss, fit.gap, fit.kkt) == (1.0, 2e-8, 1e-9)


def test_a_path_ends_where_nothing_is_left_unless_it_must_go_on():
    points = [make_point(alpha, {0: 1.0}, loss) for alpha, loss in [(1.0, 1.0), (0.5, 1e-4), (0.1, 1e-5)]]
    paths = TargetPaths([Recorded(points)])
    assert [fit.alpha for fit in paths.follow([1.0, 0.5, 0.1])] == [1.0, 0.5]
    assert [fit.alpha for fit in paths.follow([1.0, 0.5, 0.1], to_the_end=True)] == [1.0, 0.5, 0.1]
    assert paths.solve(0.1).alpha == 0.1


def test_the_largest_penalty_and_the_loss_are_those_of_all_targets():
    one, other = Recorded([]), Recorded([])
    other.alpha_max = 3.0
    paths = TargetPaths([one, other])
    assert (paths.alpha_max, paths.null_loss) == (3.0, 2.0)


def test_of_several_that_enter_at_once_the_largest_is_first():
    candidates = ColumnCandidates(np.zeros((2, 5)))
    entries = Entries({}, {})
    for number, (alpha, weights) in enumerate([(1.0, {}), (0.5, {3: -1.0}), (0.2, {0: 0.5, 2: -2.0, 4: 0.5})]):
        entries.add(number, SparseFit.unite([make_point(alpha, weights)]), candidates)
    assert list(entries.step.items()) == [(3, 1), (2, 2), (0, 2), (4, 2)]
    assert entries.alpha == {3: 0.5, 2: 0.2, 0: 0.2, 4: 0.2}


def test_the_size_of_a_group_is_the_norm_of_its_weights():
    candidates = GroupCandidates(np.zeros((2, 5)), ["a", "a", "b", "b", "b"])
    fit = SparseFit.unite([make_point(0.5, {0: 3.0, 1: -4.0, 3: 2.0})])
    assert candidate_magnitudes(fit, candidates) == pytest.approx({0: 5.0, 1: 2.0})
