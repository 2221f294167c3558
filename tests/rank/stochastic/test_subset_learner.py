"""Learners on many subsets at once do what scikit-learn's classifiers do on each."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from tamis import OFW
from tamis.rank.stochastic import SubsetNeighbors, SubsetRidge, SubsetSVM, SubsetTree, _subset_learner
from tamis.rank.stochastic._energy import Splitter
from tamis.rank.stochastic._ofw import LEARNERS, make_learner
from tamis.rank.stochastic._subset_estimator import SubsetEstimator, seeded_copy
from tamis.rank.stochastic._subset_learner import SubsetTable, mask_repeats, scale_table

PAIRS = {
    "svm": (SubsetSVM(tol=1e-8), LinearSVC(tol=1e-8, max_iter=100_000)),
    "costly svm": (SubsetSVM(C=0.05, tol=1e-8), LinearSVC(C=0.05, tol=1e-8, max_iter=100_000)),
    "balanced svm": (
        SubsetSVM(class_weight="balanced", tol=1e-8),
        LinearSVC(class_weight="balanced", tol=1e-8, max_iter=100_000),
    ),
    "ridge": (SubsetRidge(), RidgeClassifier()),
    "balanced ridge": (
        SubsetRidge(alpha=3.0, class_weight="balanced"),
        RidgeClassifier(alpha=3.0, class_weight="balanced"),
    ),
    "neighbors": (SubsetNeighbors(), KNeighborsClassifier(algorithm="brute")),
    "many neighbors": (SubsetNeighbors(n_neighbors=12), KNeighborsClassifier(12, algorithm="brute")),
    "tree": (SubsetTree(max_depth=2), DecisionTreeClassifier(max_depth=2, random_state=0)),
    "tree of many leaves": (
        SubsetTree(max_depth=None, min_samples_leaf=4),
        DecisionTreeClassifier(min_samples_leaf=4, random_state=0),
    ),
}
CASES = [
    (name, n_classes, one_vs_all)
    for name in PAIRS
    for n_classes, one_vs_all in [(2, False), (3, False), (3, True)]
    if (name, n_classes, one_vs_all) != ("balanced svm", 3, False)  # liblinear balances the one class, not the others
]


def make_rows(n_classes=3, n_samples=90, n_features=30, seed=0):
    """Classes of uneven size; numbers that single precision holds, as scikit-learn's trees round to it."""
    rng = np.random.RandomState(seed)
    codes = np.minimum(rng.geometric(0.5, n_samples) - 1, n_classes - 1)
    X = rng.standard_normal((n_samples, n_features)) + 0.7 * codes[:, None]
    return X.astype(np.float32).astype(float), codes


def draw_split(codes, n_rows=50, one_vs_all=False, seed=0):
    n_classes = int(codes.max()) + 1
    splitter = Splitter(codes, n_classes, n_rows, one_vs_all, out_of_bag=False, balanced=False)
    return splitter.draw(np.random.RandomState(seed))


def predict_one_by_one(peer, X, subsets, split):
    """A fit per subset and labeling on the rows, as often as they were drawn."""
    rows = np.repeat(np.arange(split.train.size), split.train_count)
    predicted = []
    for subset in map(np.unique, subsets):
        table, asked = X[np.ix_(split.train[rows], subset)], X[np.ix_(split.test, subset)]
        predicted.append([peer.fit(table, labels[rows]).predict(asked) for labels in split.train_labels])
    return np.array(predicted)


def share_alike(one, other):
    """Rows as far as each other, or on a plane to the last digit, may go either way."""
    return np.mean(one == other)


@pytest.mark.parametrize("size", [2, 25], ids=["few columns", "many columns"])
@pytest.mark.parametrize(("name", "n_classes", "one_vs_all"), CASES)
def test_every_subset_is_judged_as_by_scikit_learn(name, n_classes, one_vs_all, size):
    learner, peer = PAIRS[name]
    X, codes = make_rows(n_classes)
    subsets = np.random.RandomState(1).randint(X.shape[1], size=(6, size))
    split = draw_split(codes, one_vs_all=one_vs_all)
    found = learner.predict_split(SubsetTable(X), subsets, split, 0)
    expected = predict_one_by_one(peer, X, subsets, split)
    assert found.shape == (6, 3 if one_vs_all else 1, split.test.size)
    if "tree" in name:  # small nodes have columns that part them alike
        assert share_alike(found, expected) > 0.85
    elif "neighbors" in name:
        assert share_alike(found, expected) > 0.98  # the same row drawn twice is as far twice
    else:
        np.testing.assert_array_equal(found, expected)


def test_balanced_machines_weigh_each_row_by_its_class_in_every_one_against_all():
    X, codes = make_rows()
    models = SubsetSVM(class_weight="balanced", tol=1e-8).fit_subsets(X[None, :, :5], codes[None], np.ones(90), 3)
    weight = compute_sample_weight("balanced", codes)
    for code in range(3):
        peer = LinearSVC(tol=1e-8, max_iter=100_000).fit(X[:, :5], codes == code, sample_weight=weight)
        np.testing.assert_allclose(models.weights[0, code], peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_columns", [3, 30, 95], ids=["tall", "less tall", "wide"])
def test_planes_are_those_of_scikit_learn(n_classes, n_columns):
    X, codes = make_rows(n_classes, n_features=n_columns)
    weight = np.random.RandomState(0).randint(1, 4, len(codes))
    for learner, peer in (PAIRS["svm"], PAIRS["ridge"]):
        models = learner.fit_subsets(X[None], codes[None], weight, n_classes)
        peer.fit(X, codes, sample_weight=weight)
        np.testing.assert_allclose(models.weights[0], np.atleast_2d(peer.coef_), atol=1e-5)
        np.testing.assert_allclose(models.intercept[0], peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("learner", [SubsetSVM, SubsetRidge, SubsetTree])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_row_that_counts_twice_is_a_row_that_comes_twice(learner, class_weight):
    X, codes = make_rows()
    often = np.random.RandomState(0).randint(1, 4, len(codes))
    again = np.repeat(np.arange(len(codes)), often)
    parameters = {"tol": 1e-8} if learner is SubsetSVM else {}
    learner = learner(class_weight=class_weight, **parameters)
    asked = make_rows(seed=1)[0][None, :, :4]
    weighted = learner.fit_subsets(X[None, :, :4], codes[None], often, 3).predict(asked)
    repeated = learner.fit_subsets(X[None, again, :4], codes[None, again], np.ones(again.size), 3).predict(asked)
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("name", ["euclidean", "hamming"])
def test_neighbors_of_discrete_rows_are_those_of_scikit_learn_up_to_ties(name):
    rng = np.random.RandomState(0)
    codes = rng.randint(2, size=60)
    X = rng.randint(-1, 2, (60, 40)).astype(float)
    X[:, :10] = np.where(codes[:, None] == 1, 1.0, X[:, :10])
    subsets = rng.randint(40, size=(5, 20))
    split = draw_split(codes, 40)
    found = SubsetNeighbors(n_neighbors=7, metric=name).predict_split(SubsetTable(X), subsets, split, 0)
    peer = KNeighborsClassifier(7, algorithm="brute", metric=name)
    assert share_alike(found, predict_one_by_one(peer, X, subsets, split)) > 0.85


def test_more_neighbors_than_rows_are_all_rows():
    X, codes = make_rows(n_samples=8)
    found = SubsetNeighbors(n_neighbors=100).fit_subsets(X[None, :, :2], codes[None], np.ones(8), 3)
    assert np.all(found.predict(X[None, :, :2]) == np.bincount(codes).argmax())


EVERY_LEARNER = [*LEARNERS.values(), SubsetEstimator(DecisionTreeClassifier(max_depth=2))]


@pytest.mark.parametrize("learner", EVERY_LEARNER, ids=repr)
def test_a_feature_drawn_twice_counts_once(learner):
    X, codes = make_rows()
    split = draw_split(codes)
    subsets = np.array([[4, 4, 9], [4, 9, 9], [9, 4, 4]])
    with learner:
        found = learner.predict_split(SubsetTable(X), subsets, split, 0)
        once = learner.predict_split(SubsetTable(X), np.array([[4, 9]]), split, 0)
    for each in found:
        np.testing.assert_array_equal(each, once[0])


@pytest.mark.parametrize(
    "learner", [SubsetSVM(tol=1e-8), *(each for name, each in LEARNERS.items() if name != "svm")], ids=repr
)  # machines that stop early stop when all of a block are good enough
@pytest.mark.parametrize("one_vs_all", [True, False])
def test_blocks_of_subsets_change_nothing(learner, one_vs_all, monkeypatch):
    X, codes = make_rows()
    subsets = np.random.RandomState(1).randint(30, size=(7, 4))
    split = draw_split(codes, one_vs_all=one_vs_all)
    whole = learner.predict_split(SubsetTable(X), subsets, split, 0)
    seen = []
    take = SubsetTable.take
    monkeypatch.setattr(SubsetTable, "take", lambda self, rows, part: seen.append(len(part)) or take(self, rows, part))
    monkeypatch.setattr(_subset_learner, "_BLOCK_NUMBERS", 1)
    np.testing.assert_array_equal(learner.predict_split(SubsetTable(X), subsets, split, 0), whole)
    assert seen == [1] * 7


@pytest.mark.parametrize("learner", EVERY_LEARNER, ids=repr)
def test_sparse_tables_give_the_same_and_only_the_columns_in_use_are_made_dense(learner, monkeypatch):
    X, codes = make_rows()
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    split = draw_split(codes)
    subsets = np.array([[1, 2, 3], [3, 5, 8]])
    dense = []
    toarray = sparse.csc_array.toarray
    monkeypatch.setattr(sparse.csc_array, "toarray", lambda self: dense.append(self.shape[1]) or toarray(self))
    with learner:
        expected = learner.predict_split(SubsetTable(X), subsets, split, 0)
        found = learner.predict_split(SubsetTable(sparse.csc_array(X)), subsets, split, 0)
    np.testing.assert_array_equal(found, expected)
    assert max(dense) <= 5


def test_repeats_are_masked_and_the_rest_is_sorted():
    subsets = np.array([[3, 1, 3, 3], [2, 0, 1, 4]])
    assert mask_repeats(subsets, 9).tolist() == [[1, 3, 9, 9], [0, 1, 2, 4]]
    assert subsets[0].tolist() == [3, 1, 3, 3]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_subsets_are_taken_side_by_side_with_zeros_for_repeats(kind):
    X = np.arange(1.0, 13.0).reshape(3, 4)
    taken = SubsetTable(kind(X)).take(np.array([2, 0]), np.array([[1, 0], [3, 3]]))
    np.testing.assert_array_equal(taken, [[[9, 10], [1, 2]], [[12, 0], [4, 0]]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_get_unit_variance_and_dense_ones_zero_mean(kind):
    X = make_rows()[0] * 50.0 + 3.0
    X[:, 2] = 7.0
    scaled = scale_table(kind(X), np.array([5, 2, 1]), standardize=True, single_precision=False)
    values = scaled.toarray() if sparse.issparse(scaled) else scaled
    np.testing.assert_allclose(values[:, [0, 2]].std(axis=0), 1.0)
    assert sparse.issparse(scaled) or np.allclose(values.mean(axis=0), 0.0)
    np.testing.assert_array_equal(values[:, 1], 0.0)
    plain = scale_table(kind(X), np.array([5]), standardize=False, single_precision=True)
    assert plain.dtype == np.float64  # unscaled numbers may be too large for less


def test_a_classifier_that_draws_is_given_a_seed_for_every_subset():
    pipeline = OFW(DecisionTreeClassifier(max_features=1)).set_params(estimator__random_state=None)
    copy = seeded_copy(pipeline, 7)
    assert copy.random_state == copy.estimator.random_state == 7
    assert pipeline.random_state is None
    X, codes = make_rows()
    split = draw_split(codes)
    subsets = np.tile([[0, 1, 2, 3, 4, 5]], (6, 1))
    with SubsetEstimator(DecisionTreeClassifier(max_features=1, max_depth=1)) as learner:
        one = learner.predict_split(SubsetTable(X), subsets, split, 3)
        again = learner.predict_split(SubsetTable(X), subsets[2:], split, 5)
    np.testing.assert_array_equal(one[2:], again)
    assert len({each.tobytes() for each in one}) > 1


def test_names_learners_and_classifiers_become_learners():
    assert make_learner("hamming", None).metric == "hamming"
    assert make_learner("svm", None) is not LEARNERS["svm"]
    given = SubsetRidge(alpha=3.0)
    assert make_learner(given, None).alpha == 3.0
    assert isinstance(make_learner(KNeighborsClassifier(), 2), SubsetEstimator)


@pytest.mark.parametrize(
    ("learner", "parameter"),
    [
        (SubsetSVM(C=0.0), "C"),
        (SubsetSVM(tol=-1.0), "tol"),
        (SubsetSVM(class_weight="unbalanced"), "class_weight"),
        (SubsetSVM(max_iter=0), "max_iter"),
        (SubsetRidge(alpha=0.0), "alpha"),
        (SubsetNeighbors(n_neighbors=0), "n_neighbors"),
        (SubsetNeighbors(metric="cosine"), "metric"),
        (SubsetTree(max_depth=0), "max_depth"),
        (SubsetTree(min_samples_leaf=0), "min_samples_leaf"),
    ],
    ids=repr,
)
def test_a_bad_parameter_is_named(learner, parameter):
    X, codes = make_rows()
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of {type(learner).__name__}"):
        OFW(learner).fit(X, codes)


@pytest.mark.parametrize(("n_classes", "subset_size", "expected"), [(2, 50, "svm"), (2, 51, "ridge"), (3, 5, "ridge")])
def test_auto_is_ridge_for_many_classes_and_for_large_subsets(n_classes, subset_size, expected):
    assert type(make_learner("auto", None, n_classes, subset_size)) is type(LEARNERS[expected])
