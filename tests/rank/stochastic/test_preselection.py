"""Groups of near copies, against a loop over all correlations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.rank.stochastic import _preselection
from tamis.rank.stochastic._preselection import group_columns


def group_slowly(X, priority, threshold):
    """One column after another; of the leaders before it that are alike enough, the one most alike."""
    correlation = np.abs(np.corrcoef(X, rowvar=False))
    leaders, leader = [], {}
    for j in priority.tolist():
        best = max(leaders, key=lambda i: correlation[i, j], default=None)
        if best is not None and correlation[best, j] >= threshold:
            leader[j] = best
        else:
            leaders.append(j)
            leader[j] = j
    return [leader[j] for j in range(X.shape[1])]


def make_copies(n_hidden=4, copies=6, noise=0.4, seed=0):
    rng = np.random.RandomState(seed)
    hidden = np.repeat(rng.standard_normal((30, n_hidden)), copies, axis=1)
    sign = rng.choice([-1.0, 1.0], hidden.shape[1])
    return sign * (hidden + noise * rng.standard_normal(hidden.shape)), rng.permutation(hidden.shape[1])


@settings(deadline=None, max_examples=40, derandomize=True)
@given(seed=st.integers(0, 2**31 - 1), noise=st.floats(0.05, 2), threshold=st.floats(0.1, 1), width=st.integers(1, 30))
def test_groups_are_those_of_the_loop_whatever_the_width_of_the_blocks(seed, noise, threshold, width):
    X, priority = make_copies(noise=noise, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_preselection, "_BLOCK_COLUMNS", width)
        found = group_columns(X, priority, threshold)
    np.testing.assert_array_equal(found, group_slowly(X, priority, threshold))


def test_each_column_is_close_enough_to_its_leader_and_leaders_to_none_before_them():
    X, priority = make_copies()
    leader = group_columns(X, priority, 0.8)
    correlation = np.abs(np.corrcoef(X, rowvar=False))
    place = np.argsort(priority)
    np.testing.assert_array_equal(leader[leader], leader)
    assert np.all(correlation[np.arange(24), leader] >= 0.8)
    assert np.all(place[leader] <= place)
    heads = np.unique(leader)
    assert np.all(correlation[np.ix_(heads, heads)][~np.eye(heads.size, dtype=bool)] < 0.8)


def test_units_offsets_and_signs_do_not_matter():
    X, priority = make_copies()
    turned = X * np.where(np.arange(24) % 2, -7.0, 0.01) + 100.0
    np.testing.assert_array_equal(group_columns(turned, priority, 0.8), group_columns(X, priority, 0.8))


def test_sparse_tables_give_the_same_groups():
    X, priority = make_copies()
    X = np.where(np.random.RandomState(0).uniform(size=X.shape) < 0.3, X, 0.0)
    X[:, 5] = 2.0 * X[:, 3]
    expected = group_columns(X, priority, 0.7)
    for kind in (sparse.csc_array, sparse.csr_matrix):
        np.testing.assert_array_equal(group_columns(kind(X), priority, 0.7), expected)


def test_a_constant_column_stands_for_itself():
    X, priority = make_copies()
    X[:, 4] = 3.0
    leader = group_columns(X, priority, 0.5)
    assert leader[4] == 4
    assert np.count_nonzero(leader == 4) == 1


@pytest.mark.parametrize("factor", [1.0, -3.0, 0.1])
def test_a_multiple_is_a_copy_at_the_highest_threshold(factor):
    X = np.random.RandomState(0).standard_normal((37, 2))
    table = np.column_stack([X, factor * X[:, 0] + 5.0])
    assert group_columns(table, np.arange(3), 1.0).tolist() == [0, 1, 0]
