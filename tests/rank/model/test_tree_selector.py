"""Tree importance as its users see it: scikit-learn's figures, single splits, copies, sparse tables."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamis import TreeSelector
from tamis.datasets import make_xor
from tamis.kernels.arrays.copies import order_columns
from tamis.rank.model._split_scores import rank_values
from tests.oracles.splits import best_split, by_error, by_gain_ratio, entropy, error, thresholds, tree_gains


def data(kind="classes", n=150, d=8, seed=0):
    """A step in x2 whose sides depend on x4 and x6."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d))
    signal = np.where(X[:, 2] > 0, 1 + X[:, 4], -1 + X[:, 6]) + 0.3 * rng.standard_normal(n)
    if kind == "quantity":  # in steps of which sums are exact: rounding must not decide between equal splits
        return X, np.round(signal * 2**20) / 2**20
    return X, np.digitize(signal, [-1, 1])


def importances(tree, X, y):
    """Of a tree on the columns in the order of their values, NaN for those that it does not use."""
    order = order_columns(rank_values(X))
    found = np.full(X.shape[1], np.nan)
    found[order] = tree.fit(X[:, order], y).feature_importances_
    return np.where(found > 1e-12, found, np.nan)


@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"min_samples_leaf": 9}, {"ccp_alpha": 0.02}], ids=repr)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_scores_are_scikit_learns_importances(settings, criterion):
    X, y = data()
    found = TreeSelector(criterion=criterion, **settings).fit(X, y)
    tree = DecisionTreeClassifier(criterion=criterion, random_state=0, **settings)
    np.testing.assert_allclose(found.scores_, importances(tree, X, y))
    assert found.certificate_["n_splits"] == tree.get_n_leaves() - 1


@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"min_samples_leaf": 9}, {"ccp_alpha": 0.02}], ids=repr)
def test_the_scores_of_a_quantity_are_scikit_learns_importances(settings):
    X, y = data("quantity")
    found = TreeSelector(**settings).fit(X, y)
    tree = DecisionTreeRegressor(random_state=0, **settings)
    tree.set_params(ccp_alpha=tree.ccp_alpha * np.var(y))
    np.testing.assert_allclose(found.scores_, importances(tree, X, y))


@pytest.mark.parametrize(("kind", "forest"), [("classes", RandomForestClassifier), ("quantity", RandomForestRegressor)])
def test_more_trees_are_scikit_learns_forest(kind, forest):
    X, y = data(kind)
    found = TreeSelector(n_trees=12, random_state=3).fit(X, y)
    seed = np.random.RandomState(3).randint(2**31 - 1)
    expected = importances(forest(12, random_state=seed), X, y)
    np.testing.assert_allclose(found.scores_, expected)
    assert set(found.get_support(indices=True)) == set(np.flatnonzero(expected >= 1 / 8))
    assert "reach the mean importance" in found.stop_.reason


@pytest.mark.parametrize("kind", ["classes", "quantity"])
@pytest.mark.parametrize("min_samples_leaf", [1, 20])
def test_mutual_information_is_that_of_the_best_threshold(kind, min_samples_leaf):
    X, y = data(kind)
    X[:, 3] = np.round(X[:, 3])
    found = TreeSelector(importance="mutual_information", min_samples_leaf=min_samples_leaf, stop=None).fit(X, y)
    impurity = entropy if kind == "classes" else (lambda values: np.var(values) / np.var(y))
    expected = [best_split(column, y, impurity, min_samples_leaf) for column in X.T]
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.order_, np.argsort(-np.array(expected), kind="stable"))


def test_of_single_splits_those_are_kept_that_stand_out_from_permuted_copies():
    X, y = data(n=300)
    found = TreeSelector(importance="mutual_information").fit(X, y)
    assert found.get_support(indices=True).tolist() == [2, 4, 6]
    assert "permuted copies" in found.stop_.reason


@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"min_samples_leaf": 9}], ids=repr)
@pytest.mark.parametrize(("criterion", "find_split"), [("gain_ratio", by_gain_ratio), ("error", by_error)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_trees_by_gain_ratio_and_by_error_are_those_of_brute_force(criterion, find_split, settings, container):
    X, y = data(n=60)
    X[:, 3] = np.maximum(np.round(X[:, 3]), 0)
    found = TreeSelector(criterion=criterion, **settings).fit(container(X), y)
    order = order_columns(rank_values(X))
    gains = np.zeros(X.shape[1])
    gains[order] = tree_gains(X[:, order], y, find_split, **settings)
    np.testing.assert_allclose(np.nan_to_num(found.scores_), gains / gains.sum(), atol=1e-12)


@pytest.mark.parametrize("min_samples_leaf", [1, 20])
def test_gain_ratio_and_error_of_single_splits_are_those_of_brute_force(min_samples_leaf):
    X, y = data()
    X[:, 3] = np.round(X[:, 3])
    by_ratio, by_drop = (
        TreeSelector(importance=name, min_samples_leaf=min_samples_leaf, stop=None).fit(X, y)
        for name in ("gain_ratio", "error")
    )
    best = [max(thresholds(column, y, min_samples_leaf), key=lambda split: split[0]) for column in X.T]
    np.testing.assert_allclose(by_ratio.scores_, [ratio for _, ratio, _, _ in best], rtol=1e-9)
    expected = [best_split(column, y, error, min_samples_leaf) for column in X.T]
    np.testing.assert_allclose(by_drop.scores_, expected, atol=1e-12)


def test_gain_ratio_is_not_misled_by_a_column_that_sets_one_row_apart():
    X, y = data()
    X[:, 0] = np.arange(len(X)) == np.flatnonzero(y == 2)[0]  # a pure side: the ratio is large, the gain small
    assert TreeSelector(criterion="gain_ratio", max_depth=1).fit(X, y).get_support(indices=True).tolist() == [2]


def test_only_features_that_the_tree_uses_are_ranked_and_kept():
    X, y = data()
    found = TreeSelector(max_depth=2).fit(X, y)
    assert found.get_support(indices=True).tolist() == [2, 4, 6]
    assert np.isnan(found.scores_[[0, 1, 3, 5, 7]]).all()
    assert found.scores_[[2, 4, 6]].sum() == pytest.approx(1)
    assert found.stop_.reason.startswith("the tree splits on 3 of 8 features, at 3 nodes")


def test_a_tree_that_may_not_split_keeps_nothing_and_says_so():
    X, y = data()
    found = TreeSelector(min_samples_leaf=100).fit(X, y)
    assert not found.support_.any()
    assert found.stop_.reason.startswith("no split that is allowed gains anything")


@pytest.mark.parametrize("kind", ["classes", "quantity"])
@pytest.mark.parametrize("importance", ["impurity", "mutual_information"])
@pytest.mark.parametrize("n_trees", [1, 5])
def test_places_of_columns_do_not_matter_though_splits_tie(kind, importance, n_trees):
    X, y = data(kind, n=40, d=30)
    X = np.round(X)  # many equally good splits
    shuffle = np.random.RandomState(1).permutation(X.shape[1])
    selector = TreeSelector(importance=importance, n_trees=n_trees, stop=None, random_state=0)
    plain, shuffled = clone(selector).fit(X, y), clone(selector).fit(X[:, shuffle], y)
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-9)


@pytest.mark.parametrize("n_trees", [1, 5])
def test_copies_and_increasing_functions_of_a_column_take_no_part(n_trees):
    X, y = data()
    plain = TreeSelector(max_depth=3, n_trees=n_trees, random_state=0).fit(X, y)
    more = np.column_stack([X, X[:, 2], np.exp(X[:, 4]), np.full(len(X), 7.0)])
    found = TreeSelector(max_depth=3, n_trees=n_trees, random_state=0).fit(more, y)
    np.testing.assert_allclose(found.scores_, np.append(plain.scores_, [np.nan] * 3))


def test_copies_share_their_mutual_information_and_constants_have_none():
    X, y = data()
    more = np.column_stack([X, X[:, 2], np.exp(X[:, 4]), np.full(len(X), 7.0)])
    found = TreeSelector(importance="mutual_information", stop=None).fit(more, y)
    np.testing.assert_array_equal(found.scores_[[8, 9]], found.scores_[[2, 4]])
    assert np.isnan(found.scores_[10])
    assert found.ranking_[2] < found.ranking_[8]


@pytest.mark.parametrize("settings", [{}, {"importance": "mutual_information"}, {"n_trees": 5}], ids=repr)
@pytest.mark.parametrize("container", [sparse.csc_array, sparse.csr_array, sparse.csr_matrix])
def test_sparse_tables_give_what_dense_ones_give(settings, container):
    X, y = data()
    X = np.maximum(X, 0)
    selector = TreeSelector(random_state=0, **settings)
    dense, stored = clone(selector).fit(X, y), clone(selector).fit(container(X), y)
    np.testing.assert_allclose(stored.scores_, dense.scores_)
    np.testing.assert_array_equal(stored.order_, dense.order_)


def test_sparse_tables_may_have_long_indices():
    X, y = data()
    X = sparse.csc_array(np.maximum(X, 0))
    plain = TreeSelector().fit(X, y)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(TreeSelector().fit(X, y).scores_, plain.scores_)


def test_sparse_tables_stay_sparse():
    rng = np.random.RandomState(0)
    X = sparse.random_array((200, 200_000), density=1e-3, format="csr", rng=0)  # 320 MB if it were dense
    y = rng.randint(2, size=200)
    tracemalloc.start()
    TreeSelector(importance="mutual_information", stop=3).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20


@pytest.mark.parametrize("kind", ["classes", "quantity"])
@pytest.mark.parametrize(("factor", "offset"), [(1e-200, 0), (1e200, 0), (1, 1e9)])
def test_units_and_offsets_do_not_matter(kind, factor, offset):
    X, y = data(kind)
    plain = TreeSelector(ccp_alpha=1e-3).fit(X, y)
    moved = TreeSelector(ccp_alpha=1e-3).fit(X * factor + offset, 1e-3 * y if kind == "quantity" else y)
    np.testing.assert_allclose(moved.scores_, plain.scores_, rtol=1e-6)


def test_the_same_tree_grows_every_time_without_a_seed():
    X, y = data(n=40)
    X = np.round(X)
    first, second = TreeSelector().fit(X, y), TreeSelector().fit(X, y)
    np.testing.assert_array_equal(first.scores_, second.scores_)


def test_an_xor_tells_nothing_to_single_splits():
    X, y = make_xor(n_samples=1000, random_state=0)
    found = TreeSelector(importance="mutual_information", stop=None).fit(X, y)
    assert found.scores_[:2].max() < 0.02  # of log(2) = 0.69
    stump = TreeSelector(max_depth=1).fit(X, y)
    assert stump.stop_.n_features == 1


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"criterion": "squared_error"}, "classes", "'gini' or 'entropy'"),
        ({"criterion": "gini"}, "quantity", "'squared_error'"),
        ({"criterion": "gini", "importance": "mutual_information"}, "classes", "'entropy'"),
        ({"criterion": "gain_ratio"}, "quantity", "'squared_error'"),
        ({"importance": "error"}, "quantity", "is for classes"),
        ({"criterion": "error", "n_trees": 5}, "classes", "n_trees=5"),
        ({"criterion": "gain_ratio", "ccp_alpha": 0.1}, "classes", "ccp_alpha=0.1"),
    ],
    ids=repr,
)
def test_a_criterion_that_does_not_fit_is_answered_with_those_that_do(settings, kind, words):
    X, y = data(kind)
    with pytest.raises(ValueError, match=words):
        TreeSelector(**settings).fit(X, y)


@pytest.mark.parametrize("name", ["importance", "criterion", "max_depth", "min_samples_leaf", "ccp_alpha", "n_trees"])
def test_a_bad_parameter_is_named(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of TreeSelector"):
        TreeSelector(**{name: -1}).fit(*data())


@pytest.mark.parametrize("criterion", ["gain_ratio", "error"])
def test_trees_of_our_own_do_not_depend_on_places_or_blocks(criterion, monkeypatch):
    X, y = data(n=40, d=30)
    X = np.round(X)  # many equally good splits
    plain = TreeSelector(criterion=criterion).fit(X, y)
    shuffle = np.random.RandomState(1).permutation(X.shape[1])
    monkeypatch.setattr("tamis.rank.model._classification_tree._ENTRIES", 1)
    shuffled = TreeSelector(criterion=criterion).fit(X[:, shuffle], y)
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-9)
    assert TreeSelector(criterion=criterion, random_state=0).fit(X, y).support_.any()


# missing values


def with_gaps(X, seed=1):
    X = X.copy()
    X[np.random.RandomState(seed).uniform(size=X.shape) < 0.2] = np.nan
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 3.0)  # one value, or none
    return X


def filled(X, value):
    return np.where(np.isnan(X), value, X)


@pytest.mark.parametrize("min_samples_leaf", [1, 20])
@pytest.mark.parametrize("kind", ["classes", "quantity"])
def test_missing_values_are_on_the_better_side_of_a_single_split(kind, min_samples_leaf):
    X, y = data(kind)
    X = with_gaps(X)
    found = TreeSelector(importance="mutual_information", min_samples_leaf=min_samples_leaf, stop=None).fit(X, y)
    impurity = entropy if kind == "classes" else (lambda values: np.var(values) / np.var(y))
    expected = [
        np.fmax.reduce([best_split(filled(column, side), y, impurity, min_samples_leaf) for side in (-99, 99)])
        for column in X.T
    ]
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-9)


@pytest.mark.parametrize("importance", ["error", "gain_ratio"])
def test_other_single_splits_have_missing_values_on_the_better_side_too(importance):
    X, y = data()
    X = with_gaps(X)
    low, high = (TreeSelector(importance=importance, stop=None).fit(filled(X, v), y).scores_ for v in (-99, 99))
    found = TreeSelector(importance=importance, stop=None).fit(X, y)
    both = np.stack([low, high])
    if importance == "error":
        np.testing.assert_allclose(found.scores_, both.max(axis=0), rtol=1e-9)
    else:  # the ratio is that of the split with the larger gain
        assert np.all(np.isclose(found.scores_, both).any(axis=0))


@pytest.mark.parametrize(("kind", "tree"), [("classes", DecisionTreeClassifier), ("quantity", DecisionTreeRegressor)])
def test_trees_on_missing_values_are_scikit_learns(kind, tree):
    X, y = data(kind)
    X = with_gaps(X)
    found = TreeSelector(max_depth=3, random_state=None).fit(X, y)
    order = order_columns(filled(rank_values(X), -1))
    expected = np.full(8, np.nan)
    expected[order] = tree(max_depth=3, random_state=0).fit(rank_values(X)[:, order], y).feature_importances_
    np.testing.assert_allclose(found.scores_, np.where(expected > 1e-12, expected, np.nan), rtol=1e-6)


@pytest.mark.parametrize("criterion", ["gini", "gain_ratio", "error"])
def test_a_tree_may_split_by_whether_a_value_is_missing(criterion):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((80, 4))
    missing = rng.uniform(size=80) < 0.4
    X[missing, 2] = np.nan
    y = np.where(missing, "gone", "there")
    found = TreeSelector(criterion=criterion).fit(X, y)
    assert found.get_support(indices=True).tolist() == [2]
    assert found.certificate_["n_splits"] == 1


@pytest.mark.parametrize("criterion", ["gain_ratio", "error"])
def test_trees_of_our_own_send_missing_values_to_the_better_side(criterion):
    """Missing values that stand for large ones: the tree is that of the table before they were taken away."""
    X, y = data()
    high = X[:, 2] > 1.0
    X[high, 2] = 5.0
    y = np.where(high, 2, y)
    gone = X.copy()
    gone[high, 2] = np.nan
    before, after = (TreeSelector(criterion=criterion, max_depth=2).fit(t, y) for t in (X, gone))
    assert np.nansum(after.scores_) == pytest.approx(1)
    assert after.order_[0] == before.order_[0]


def test_forests_take_missing_values():
    X, y = data(n=300)
    found = TreeSelector(n_trees=20, random_state=0).fit(with_gaps(X), y)
    assert found.order_[0] == 2


# weights


@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 2},  # deeper, splits of a few rows tie, and the order of equal columns depends on the rows
        {"criterion": "entropy", "min_samples_leaf": 5, "max_depth": 2},
        {"criterion": "gain_ratio", "min_samples_leaf": 3, "max_depth": 2},
        {"criterion": "error", "max_depth": 2},
        {"importance": "mutual_information"},
        {"importance": "gain_ratio", "min_samples_leaf": 9},
        {"importance": "error"},
        {"kind": "quantity", "ccp_alpha": 0.05, "max_depth": 3},
        {"kind": "quantity", "importance": "mutual_information"},
        {"kind": "several", "max_depth": 2},
    ],
    ids=repr,
)
@pytest.mark.parametrize("gaps", [False, True])
def test_whole_weights_are_repeated_rows(settings, gaps):
    settings = dict(settings)
    kind = settings.pop("kind", "classes")
    X, y = data("quantity" if kind == "several" else kind, n=60)
    y = np.column_stack([y, np.round(X[:, 5] * 2**20) / 2**20]) if kind == "several" else y
    X = with_gaps(X) if gaps else X
    weight = np.random.RandomState(4).randint(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    weighted = TreeSelector(stop=None, **settings).fit(X, y, sample_weight=weight)
    repeated = TreeSelector(stop=None, **settings).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6)


def test_a_leaf_larger_than_half_of_the_weight_allows_no_split():
    X, y = data(n=60)
    found = TreeSelector(stop=None, min_samples_leaf=80).fit(X, y, sample_weight=np.full(60, 2.0))
    assert found.order_.size == 0


# several targets


@pytest.mark.parametrize(
    ("task", "tree"), [("auto", DecisionTreeRegressor), ("classification", DecisionTreeClassifier)]
)
def test_several_targets_are_those_of_scikit_learns_trees(task, tree):
    X, y = data("quantity")
    Y = np.column_stack([y, 1000 * X[:, 5]])
    Y = Y if task == "auto" else np.digitize(Y, [-1, 1])
    found = TreeSelector(max_depth=3, task=task).fit(X, Y)
    standard = (Y - Y.mean(axis=0)) / Y.std(axis=0) if task == "auto" else Y
    np.testing.assert_allclose(found.scores_, importances(tree(max_depth=3, random_state=0), X, standard), rtol=1e-5)
    assert found.task_ == ("regression" if task == "auto" else "classification")
    assert ("2 quantities" if task == "auto" else "2 columns of classes") in found.stop_.reason


def test_single_splits_of_several_targets_are_the_mean_over_them():
    X, y = data("quantity")
    Y = np.column_stack([y, 1000 * X[:, 5]])
    both = TreeSelector(importance="mutual_information", stop=None).fit(X, Y).scores_
    each = [TreeSelector(importance="mutual_information", stop=None).fit(X, column).scores_ for column in Y.T]
    np.testing.assert_allclose(both, np.mean(each, axis=0), rtol=1e-8)


@pytest.mark.parametrize("criterion", ["gain_ratio", "error"])
def test_trees_of_our_own_take_one_target(criterion):
    X, y = data()
    with pytest.raises(ValueError, match=rf"criterion='{criterion}'.*2 columns.*'gini'"):
        TreeSelector(criterion=criterion, task="classification").fit(X, np.column_stack([y, y]))
