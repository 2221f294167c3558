"""Trees grown together on many subsets of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tamis.rank.stochastic._subset_tree import fit_trees, predict_trees
from tests.oracles.subset_tree import grow

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
DEPTH = st.sampled_from([0, 1, 2, 3, None])


def continuous(seed, shape=(5, 3, 120), n_classes=3):
    """Columns that single precision holds exactly, as scikit-learn rounds to it, and weights that leave no ties."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, shape[2])
    columns = (rng.normal(size=shape) + 0.5 * labels).astype(np.float32).astype(float)
    return columns, labels, rng.uniform(0.5, 2, shape[2])


def discrete(seed, shape=(3, 2, 14), n_classes=3):
    """Few values and small counts as weights, some of them zero: ties everywhere."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, shape[2])
    weight[rng.integers(shape[2])] = 1
    return rng.integers(-3, 4, shape).astype(float), rng.integers(0, n_classes, shape[2]), weight


def nested(trees, root):
    """A tree as the oracle writes it."""
    if trees.feature[root] < 0:
        return int(trees.label[root])
    below = (nested(trees, trees.left[root]), nested(trees, trees.right[root]))
    return (int(trees.feature[root]), float(trees.threshold[root]), *below)


def all_nested(trees):
    return [nested(trees, b) for b in range(trees.n_trees)]


def impurity(labels, weight, n_classes):
    share = np.bincount(labels, weight, minlength=n_classes) / weight.sum()
    return 1 - share @ share


@QUICK
@given(seed=SEED, k=st.integers(1, 3), n_classes=st.integers(1, 4), max_depth=DEPTH, smallest=st.integers(1, 3))
def test_trees_are_those_of_exact_arithmetic_ties_included(seed, k, n_classes, max_depth, smallest):
    columns, labels, weight = discrete(seed, (3, k, 14), n_classes)
    trees = fit_trees(columns, labels, weight, n_classes, max_depth=max_depth, min_samples_leaf=smallest)
    expected = [
        grow(subset.T.tolist(), labels.tolist(), weight.tolist(), n_classes, max_depth, smallest) for subset in columns
    ]
    assert all_nested(trees) == expected


@pytest.mark.parametrize(
    ("k", "max_depth"), [(1, 1), (1, 2), (1, None), (3, 1), (3, 2), (3, 3)]
)  # deeper nodes on several columns are so small that two columns part them alike, and scikit-learn draws one
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_new_rows_are_classified_as_by_scikit_learn(k, max_depth, n_classes):
    columns, labels, weight = continuous(0, (8, k, 150), n_classes)
    new = continuous(1, (8, k, 200), n_classes)[0]
    predicted = predict_trees(fit_trees(columns, labels, weight, n_classes, max_depth=max_depth), new)
    for b in range(8):
        peer = DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(columns[b].T, labels, weight)
        np.testing.assert_array_equal(predicted[b], peer.predict(new[b].T))


@pytest.mark.parametrize("make", [continuous, discrete])
def test_every_node_is_split_as_well_as_scikit_learn_would_and_only_if_it_would(make):
    columns, labels, weight = make(3, (4, 3, 60))
    trees = fit_trees(columns, labels, weight, 3, max_depth=None)
    visited = 0
    for b in range(4):
        waiting = [(b, np.flatnonzero(weight > 0))]
        while waiting:
            node, at = waiting.pop()
            visited += 1
            y, w, X = labels[at], weight[at].astype(float), columns[b][:, at].T
            peer = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, w).tree_
            j = trees.feature[node]
            assert (j < 0) == (peer.node_count == 1)
            if j < 0:
                continue
            left = X[:, j] <= trees.threshold[node]
            sides = sum(w[side].sum() * impurity(y[side], w[side], 3) for side in (left, ~left))
            ours = sides / w.sum()
            theirs = peer.weighted_n_node_samples[1:] @ peer.impurity[1:] / peer.weighted_n_node_samples[0]
            assert ours == pytest.approx(theirs, abs=1e-12)
            waiting += [(trees.left[node], at[left]), (trees.right[node], at[~left])]
    assert visited == trees.feature.size


@QUICK
@given(seed=SEED, max_depth=DEPTH, make=st.sampled_from([continuous, discrete]))
def test_a_batch_is_its_subsets_one_by_one(seed, max_depth, make):
    columns, labels, weight = make(seed, (4, 2, 20))
    together = all_nested(fit_trees(columns, labels, weight, 3, max_depth=max_depth))
    alone = [all_nested(fit_trees(one[None], labels, weight, 3, max_depth=max_depth))[0] for one in columns]
    assert together == alone


def test_a_batch_so_large_that_running_sums_wrap_around_changes_nothing():
    columns, labels, weight = continuous(0, (4, 2, 12))
    few = all_nested(fit_trees(columns, labels, weight, 3, max_depth=None))
    many = all_nested(fit_trees(np.tile(columns, (1500, 1, 1)), labels, weight, 3, max_depth=None))
    assert many == few * 1500


@QUICK
@given(seed=SEED, max_depth=DEPTH, unit=st.sampled_from([1.0, 0.1, 1 / 3, 1e-200]))
def test_weights_are_repeated_rows_in_any_unit(seed, max_depth, unit):
    columns, labels, weight = discrete(seed, (3, 2, 14))
    weighted = fit_trees(columns, labels, unit * weight, 3, max_depth=max_depth)
    repeated = np.repeat(columns, weight, axis=2), np.repeat(labels, weight)
    assert all_nested(weighted) == all_nested(fit_trees(*repeated, np.ones(weight.sum()), 3, max_depth=max_depth))


@QUICK
@given(seed=SEED, max_depth=DEPTH)
def test_the_order_of_the_rows_does_not_matter(seed, max_depth):
    columns, labels, weight = discrete(seed)
    shuffled = np.random.default_rng(seed).permutation(labels.size)
    trees = fit_trees(columns, labels, weight, 3, max_depth=max_depth)
    again = fit_trees(columns[:, :, shuffled], labels[shuffled], weight[shuffled], 3, max_depth=max_depth)
    assert all_nested(trees) == all_nested(again)


def test_one_class_needs_no_split():
    columns, labels, weight = continuous(0)
    trees = fit_trees(columns, np.full_like(labels, 2), weight, 3, max_depth=None)
    assert all_nested(trees) == [2] * 5
    np.testing.assert_array_equal(predict_trees(trees, columns[:, :, :7]), np.full((5, 7), 2))


def test_an_unbounded_tree_learns_distinct_rows_by_heart():
    columns, labels, weight = continuous(0)
    predicted = predict_trees(fit_trees(columns, labels, weight, 3, max_depth=None), columns)
    np.testing.assert_array_equal(predicted, np.tile(labels, (5, 1)))


def test_constant_columns_and_copies_of_earlier_ones_are_never_split_on():
    columns, labels, weight = continuous(0, (5, 2, 60))
    zeros, copy = np.zeros((5, 1, 60)), columns[:, :1]
    padded = np.concatenate([zeros, columns, copy, zeros], axis=1)
    trees, expected = (
        fit_trees(padded, labels, weight, 3, max_depth=None),
        fit_trees(columns, labels, weight, 3, max_depth=None),
    )
    assert set(trees.feature) == {-1, 1, 2}
    np.testing.assert_array_equal(trees.feature, np.where(expected.feature < 0, -1, expected.feature + 1))
    np.testing.assert_array_equal(trees.threshold, expected.threshold)
    alone = fit_trees(zeros, labels, weight, 3, max_depth=None)
    assert all_nested(alone) == [int(np.bincount(labels, weight).argmax())] * 5


def test_of_equally_heavy_classes_the_lowest_is_predicted():
    trees = fit_trees(np.zeros((1, 1, 4)), np.array([2, 1, 1, 2]), np.ones(4), 3, max_depth=None)
    assert all_nested(trees) == [1]


def test_an_exclusive_or_is_learned_although_its_first_split_gains_nothing():
    columns = np.array([[[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]]])
    trees = fit_trees(columns, np.array([0, 1, 1, 0]), np.ones(4), 2, max_depth=None)
    assert all_nested(trees) == [(0, 0.5, (1, 0.5, 0, 1), (1, 0.5, 1, 0))]


def test_neighboring_and_huge_numbers_are_told_apart():
    a, b, c = 1.0, 1.0 + 2**-52, 1.0 + 2**-51  # the midpoint of a and b rounds down to a, that of b and c up to c
    columns = np.array([[[a, b]], [[b, c]], [[-1.7e308, 1.7e308]], [[1.6e308, 1.7e308]], [[0.0, 5e-324]]])
    trees = fit_trees(columns, np.array([0, 1]), np.ones(2), 2, max_depth=None)
    np.testing.assert_array_equal(predict_trees(trees, columns), [[0, 1]] * 5)


def test_rows_without_any_weight_are_refused():
    with pytest.raises(ValueError, match="weight zero"):
        fit_trees(np.zeros((1, 1, 2)), np.array([0, 1]), np.zeros(2), 2, max_depth=1)
