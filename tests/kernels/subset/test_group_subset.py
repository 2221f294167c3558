"""The searches for groups of columns that stand for all columns."""

from itertools import islice

import numpy as np
import pytest

from tamis.kernels.arrays.scaling import center_columns
from tamis.kernels.subset import group_subset
from tamis.kernels.subset.group_subset import GroupPivotedSearch, GroupReconstructionSearch, group_of_each

MEMBERS = [np.array([0, 3, 7]), np.array([1]), np.array([2, 4]), np.array([5, 6, 8, 9]), np.array([10]), np.array([11])]


def centered(n_rows=30, seed=0):
    """Columns 3 and 7 are copies, column 8 is constant and group 5 lies in the span of group 2."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_rows, 3)) @ rng.standard_normal((3, 12)) + rng.standard_normal((n_rows, 12))
    X[:, 7], X[:, 8], X[:, 11] = 1 - 2 * X[:, 3], 4.0, X[:, 2] + X[:, 4]
    return center_columns(X, scale=True, share=True)


@pytest.mark.parametrize("search", [GroupReconstructionSearch, GroupPivotedSearch])
@pytest.mark.parametrize("n_rows", [30, 9], ids=["tall", "wide"])
def test_steps_add_as_many_directions_as_the_span_of_all_columns_has(search, n_rows):
    Z, norm2 = centered(n_rows)
    steps = list(search(Z, norm2, MEMBERS))
    assert sum(step.n_directions for step in steps) == np.linalg.matrix_rank(Z) == min(n_rows - 1, 9)
    assert len({step.group for step in steps}) == len(steps)


@pytest.mark.parametrize("search", [GroupReconstructionSearch, GroupPivotedSearch])
def test_residuals_are_those_of_least_squares_on_the_chosen_groups(search):
    Z, norm2 = centered(12)
    found = search(Z, norm2, MEMBERS)
    chosen = np.concatenate([MEMBERS[step.group] for step in islice(found, 2)])
    expected = Z - Z[:, chosen] @ np.linalg.lstsq(Z[:, chosen], Z, rcond=None)[0]
    np.testing.assert_allclose(found.residuals @ found.residuals.T, expected.T @ expected, atol=1e-14)


def test_estimated_gains_are_within_their_bounds_and_do_not_depend_on_blocks(monkeypatch):
    Z, norm2 = centered()
    found = GroupReconstructionSearch(Z, norm2, MEMBERS)
    for _ in islice(found, 2):
        pass
    gains, errors = found._estimate_gains()
    remaining = np.flatnonzero(found.remaining)
    exact = np.array([found._gain(group) for group in remaining])
    assert np.all(np.abs(gains[remaining] - exact) <= errors[remaining])
    monkeypatch.setattr(group_subset, "CACHE_ENTRIES", 1)
    np.testing.assert_allclose(found._estimate_gains()[0], gains, rtol=1e-12)


def test_the_gains_of_all_steps_sum_to_the_whole_variance():
    Z, norm2 = centered()
    steps = list(GroupReconstructionSearch(Z, norm2, MEMBERS))
    assert sum(step.criterion * step.n_directions for step in steps) == pytest.approx(1)


def test_the_best_group_is_the_first_step():
    Z, norm2 = centered()
    search = GroupReconstructionSearch(Z, norm2, MEMBERS)
    assert search.best_group() == next(iter(search)).group
    assert GroupReconstructionSearch(np.zeros((5, 12)), np.zeros(12), MEMBERS).best_group() is None


def test_every_column_knows_its_group():
    assert group_of_each(MEMBERS).tolist() == [0, 1, 2, 0, 2, 3, 3, 0, 3, 3, 4, 5]
