"""InfiniteSVM on dictionaries that can be swept: the minimum of Eq. (2), and what every estimator owes its users."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import InfiniteSVM
from tamis.dictionary import RBF, BandPass, Columns, Dictionary, Monomials, Parameter, Pool
from tamis.kernels.solvers.squared_hinge_group_lasso import SquaredHingeGroupLasso
from tamis.learn._active_set import ActiveSetSearch
from tests.oracles.hinge_fista import duality_gap, objective, solve_by_fista, violation

# a search among draws may end before its last draws agree; where the end matters, the certificate is asked
pytestmark = pytest.mark.filterwarnings("ignore:InfiniteSVM ended:sklearn.exceptions.ConvergenceWarning")
QUICK = settings(deadline=None, max_examples=20, derandomize=True)
TIGHT = 1e-9


@parametrize_with_checks(
    [
        InfiniteSVM(),
        InfiniteSVM(C=5, penalty="l1", n_add=3),
        InfiniteSVM(share_features=True),
        InfiniteSVM(RBF(), tol=0.1, random_state=0, n_candidates=20),
        InfiniteSVM(Pool(RBF(), 50, random_state=0)),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


class ThreeWaves(Dictionary):
    """Sine, cosine and slow cosine of the first column of a table."""

    n_columns = 3

    def space(self):
        return (Parameter("frequency", 0.5, 6.0),)

    def compute(self, signals, parameters, learned=None):
        phase = signals[:, :1] * parameters[:, 0]
        return np.stack([np.sin(phase), np.cos(phase), np.cos(phase / 3)], axis=2).reshape(len(signals), -1)


def make_table(n=60, n_features=8, n_classes=2, seed=0):
    """Classes that follow the sum of two columns, with noise."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, n_features)) * 3.0 + 1.0
    score = X[:, 0] + X[:, 1] + 2 * rng.standard_normal(n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def make_signals(n=40, seed=0):
    """Three channels; the second holds a rhythm of 12 Hz in one of the classes."""
    rng = np.random.RandomState(seed)
    X, y = rng.standard_normal((n, 3, 128)), np.arange(n) % 2
    X[y == 1, 1] += 0.6 * np.sin(2 * np.pi * 12 * np.arange(128) / 64)
    return X, y


def encode(y):
    """One target of 1 and -1 for two classes, one per class beyond."""
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1.0, -1.0)
    return Y[:, 1:] if classes.size == 2 else Y


def scale(F, standardize=True):
    """Columns of zero mean and unit variance, or of unit norm."""
    F = np.asarray(F, dtype=float)
    return (F - F.mean(axis=0)) / F.std(axis=0) if standardize else F / np.linalg.norm(F, axis=0)


def every_column(svm, X):
    """All that the fitted dictionary of a machine can offer, scaled."""
    dictionary = svm.dictionary_
    n_columns = dictionary.n_candidates(X.shape[1])
    return scale(dictionary.compute(X, np.arange(n_columns)), svm.standardize)


def spread_weights(svm, n_columns):
    """Weights of all columns, (n_columns, n_targets), most of them zero."""
    size = svm.dictionary_.n_columns
    W = np.zeros((n_columns // size, size, len(svm.coef_)))
    W[svm.params_["index"]] = svm.coef_.T.reshape(-1, size, len(svm.coef_))
    return W.reshape(n_columns, -1)


def problems(svm, Y):
    """Which targets are solved together."""
    return [slice(0, Y.shape[1])] if svm.share_features else [slice(k, k + 1) for k in range(Y.shape[1])]


def check_minimum(svm, X, y, *, with_fista=False):
    """Eq. (3) over every candidate, and the objective of direct solvers that have all columns from the start."""
    Z, Y = every_column(svm, X), encode(y)
    W, size = spread_weights(svm, Z.shape[1]), svm.dictionary_.n_columns
    width = size if svm.penalty == "l1/l2" else 1
    rows = (svm.params_["index"][:, None] * size + np.arange(size)).ravel()
    np.testing.assert_allclose(svm.transform(X), Z[:, rows], atol=1e-9)
    total = 0.0
    for targets in problems(svm, Y):
        mine = (Z, Y[:, targets], W[:, targets], svm.intercept_[targets], svm.C_, width)
        assert violation(*mine) <= 2 * svm.tol + 1e-10
        direct = SquaredHingeGroupLasso(Y[:, targets], width)
        direct.add_columns(Z.T)
        assert direct.solve(len(Y) / svm.C_, svm.tol)
        best = objective(Z, Y[:, targets], direct.weights, direct.intercept, svm.C_, width)
        np.testing.assert_allclose(objective(*mine), best, rtol=1e-8)
        assert duality_gap(*mine) <= 1e-6 * objective(*mine)
        if with_fista:
            weights, b = solve_by_fista(Z, Y[:, targets], svm.C_, width, max_iter=30_000, tol=1e-11)
            np.testing.assert_allclose(
                objective(*mine), objective(Z, Y[:, targets], weights, b, svm.C_, width), rtol=1e-8
            )
        total += objective(*mine)
    np.testing.assert_allclose(svm.certificate_["objective"], total, rtol=1e-9)
    np.testing.assert_allclose(svm.history_[-1].objective, total, rtol=1e-9)
    sizes = np.linalg.norm(W.reshape(-1, size * W.shape[1]), axis=1)
    np.testing.assert_allclose(svm.importances_, sizes[svm.params_["index"]])
    assert svm.certificate_["converged"]
    assert svm.certificate_["exhaustive"]
    assert svm.certificate_["violating_share"] == 0.0


# the minimum


@pytest.mark.parametrize("C", [2.0, 20.0, 500.0])
@pytest.mark.parametrize("n_add", [1, 5])
@pytest.mark.parametrize("standardize", [True, False])
def test_columns_of_a_table_are_solved_to_the_minimum(standardize, n_add, C):
    X, y = make_table()
    C = C if standardize else C * 8  # columns of unit norm are shorter by the root of n
    svm = InfiniteSVM(C=C, n_add=n_add, standardize=standardize, tol=TIGHT).fit(X, y)
    check_minimum(svm, X, y, with_fista=n_add == 1)


@pytest.mark.parametrize("share_features", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", ["l1", "l1/l2"])
def test_several_classes_are_solved_to_the_minimum(penalty, n_classes, share_features):
    X, y = make_table(n_classes=n_classes, seed=1)
    svm = InfiniteSVM(penalty=penalty, share_features=share_features, tol=TIGHT).fit(X, y)
    assert svm.coef_.shape == (1 if n_classes == 2 else 3, len(svm.importances_))
    check_minimum(svm, X, y, with_fista=True)


@pytest.mark.parametrize("C", [5.0, 60.0])
@pytest.mark.parametrize(("penalty", "share_features"), [("l1", False), ("l1/l2", False), ("l1/l2", True)])
@pytest.mark.parametrize("n_add", [1, 5])
def test_maps_of_several_columns_are_solved_to_the_minimum(n_add, penalty, share_features, C):
    X, y = make_table(n_classes=3 if share_features else 2, seed=2)
    pool = Pool(ThreeWaves(), 40, random_state=0)
    svm = InfiniteSVM(
        pool, C=C, penalty=penalty, n_add=n_add, share_features=share_features, tol=TIGHT, max_rounds=500
    ).fit(X, y)
    assert svm.coef_.shape[1] == 3 * len(svm.importances_)
    check_minimum(svm, X, y)


@pytest.mark.parametrize("penalty", ["l1", "l1/l2"])
def test_powers_in_bands_are_solved_to_the_minimum(penalty):
    X, y = make_signals()
    pool = Pool(BandPass(64.0), 30, random_state=0)
    svm = InfiniteSVM(pool, C=10, penalty=penalty, tol=TIGHT).fit(X, y)
    check_minimum(svm, X, y)
    assert svm.score(X, y) > 0.8


@pytest.mark.parametrize("dictionary", [Monomials(2), Monomials(3, interaction_only=True), Columns()], ids=repr)
def test_products_of_columns_are_solved_to_the_minimum(dictionary):
    X, y = make_table(n_features=5, seed=3)
    check_minimum(InfiniteSVM(dictionary, tol=TIGHT).fit(X, y), X, y)


def test_more_columns_than_samples_are_solved_to_the_minimum():
    X, y = make_table(n=20, n_features=100, seed=4)
    for C in (5.0, 1000.0):
        check_minimum(InfiniteSVM(C=C, tol=TIGHT, max_rounds=1000).fit(X, y), X, y)


def test_a_sparse_table_is_solved_like_a_dense_one():
    X, y = make_table(seed=5)
    X = np.where(np.abs(X) > 3, X, 0.0)
    for standardize, C in ((True, 20.0), (False, 160.0)):
        machine = InfiniteSVM(C=C, standardize=standardize, tol=TIGHT)
        dense = clone(machine).fit(X, y)
        check_minimum(dense, X, y)
        for kind in (sparse.csr_array, sparse.csc_matrix):
            other = clone(machine).fit(kind(X), y)
            assert np.array_equal(other.params_["index"], dense.params_["index"])
            np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-6)
            np.testing.assert_allclose(other.decision_function(kind(X)), dense.decision_function(X), atol=1e-6)


def test_a_loose_tolerance_leaves_a_gap_that_the_certificate_bounds():
    X, y = make_table(n=80, n_features=60, seed=6)
    best = InfiniteSVM(C=50, tol=TIGHT).fit(X, y).certificate_["objective"]
    for tol in (0.3, 0.1, 0.01):
        loose = InfiniteSVM(C=50, tol=tol).fit(X, y).certificate_
        assert -1e-9 * best <= loose["objective"] - best <= loose["gap"] + 1e-9 * best
        assert loose["gap"] <= 2 * tol * loose["objective"]
        assert loose["violation_outside"] <= 1 + tol
        assert loose["kkt_residual"] <= tol
        np.testing.assert_allclose(loose["relative_gap"], loose["gap"] / loose["objective"])


def test_the_first_feature_enters_at_the_smallest_C():
    X, y = make_table(n_features=30, seed=7)
    smallest = InfiniteSVM().fit(X, y).C_min_
    assert InfiniteSVM(C=0.999 * smallest, tol=1e-6).fit(X, y).importances_.size == 0
    assert InfiniteSVM(C=1.001 * smallest, tol=1e-6).fit(X, y).importances_.size == 1


def test_the_heaviest_map_comes_first():
    X, y = make_table(n_features=30, seed=8)
    importances = InfiniteSVM().fit(X, y).importances_
    assert importances.size > 3
    assert np.all(np.diff(importances) <= 0)
    assert np.all(importances > 0)


# properties


@QUICK
@given(st.integers(0, 10**6))
def test_the_order_of_columns_does_not_matter(seed):
    X, y = make_table(seed=seed)
    order = np.random.RandomState(seed).permutation(X.shape[1])
    plain, shuffled = (InfiniteSVM(tol=TIGHT).fit(T, y) for T in (X, X[:, order]))
    assert set(order[shuffled.params_["index"]]) == set(plain.params_["index"])
    np.testing.assert_allclose(shuffled.decision_function(X[:, order]), plain.decision_function(X), atol=1e-5)


@QUICK
@given(st.integers(0, 10**6))
def test_units_of_columns_do_not_matter(seed):
    X, y = make_table(seed=seed)
    units = 10.0 ** np.random.RandomState(seed).uniform(-8, 8, X.shape[1])
    plain, scaled = (InfiniteSVM(tol=TIGHT).fit(T, y) for T in (X, X * units))
    assert set(scaled.params_["index"]) == set(plain.params_["index"])
    np.testing.assert_allclose(scaled.decision_function(X * units), plain.decision_function(X), atol=1e-5)


@QUICK
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_copies_of_columns_do_not_change_the_objective(seed, n_add):
    X, y = make_table(seed=seed)
    plain, copied = (InfiniteSVM(n_add=n_add, tol=TIGHT).fit(T, y) for T in (X, np.hstack([X, X, X[:, :3]])))
    assert copied.certificate_["converged"]
    np.testing.assert_allclose(copied.certificate_["objective"], plain.certificate_["objective"], rtol=1e-8)


@QUICK
@given(st.integers(0, 10**6), st.floats(-6, 12), st.booleans())
def test_constant_columns_are_never_selected(seed, power, standardize):
    X, y = make_table(seed=seed)
    X[:, [0, 4]] = 0.0, 10.0**power
    svm = InfiniteSVM(C=200, standardize=standardize).fit(X, y)
    assert not {0, 4} & set(svm.params_["index"])
    assert np.isfinite(svm.decision_function(X + 1.0)).all()


@QUICK
@given(st.integers(0, 10**6))
def test_swapped_labels_flip_the_decision_function(seed):
    X, y = make_table(seed=seed)
    plain, flipped = (InfiniteSVM(tol=TIGHT).fit(X, labels) for labels in (y, 1 - y))
    np.testing.assert_allclose(flipped.decision_function(X), -plain.decision_function(X), atol=1e-5)


# what it offers


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 20.0])
def test_outputs_are_the_features_times_the_weights_plus_the_intercept(C, n_classes):
    X, y = make_table(n_classes=n_classes)
    svm = InfiniteSVM(C=C).fit(X, y)
    outputs = svm.transform(X) @ svm.coef_.T + svm.intercept_
    np.testing.assert_allclose(svm.decision_function(X), outputs[:, 0] if n_classes == 2 else outputs)
    said = svm.classes_[(outputs[:, 0] > 0).astype(int) if n_classes == 2 else outputs.argmax(axis=1)]
    assert np.array_equal(svm.predict(X), said)
    assert svm.transform(X).shape == (60, len(svm.get_feature_names_out()))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dictionary", [None, Pool(ThreeWaves(), 30, random_state=0)], ids=["columns", "pool"])
@pytest.mark.parametrize("C", [0.01, 20.0])
def test_the_last_stage_is_the_prediction(C, dictionary, n_classes):
    X, y = make_table(n_classes=n_classes)
    svm = InfiniteSVM(dictionary, C=C).fit(X, y)
    stages = list(svm.staged_predict(X))
    assert len(stages) == svm.n_iter_ == len(svm.history_)
    assert np.array_equal(stages[-1], svm.predict(X))


def test_without_features_the_most_frequent_class_is_said():
    X, y = make_table(n_classes=2)
    y[:10] = 1
    svm = InfiniteSVM(C=0.01).fit(X, y)
    assert svm.importances_.size == svm.params_["index"].size == 0
    assert svm.coef_.shape == (1, 0)
    assert svm.transform(X).shape == (60, 0)
    assert svm.get_feature_names_out().shape == (0,)
    assert svm.certificate_["converged"]
    assert np.all(svm.predict(X) == np.bincount(y).argmax())
    assert svm.set_output(transform="pandas").transform(X).shape == (60, 0)


def test_stages_after_which_everything_left_again_are_predicted_too():
    X, y = make_table(n_classes=3)
    smallest = InfiniteSVM().fit(X, y).C_min_
    svm = InfiniteSVM(C=1.01 * smallest).fit(X, y)  # features for one class, none for others
    assert np.array_equal(list(svm.staged_predict(X))[-1], svm.predict(X))


def test_labels_may_be_words():
    X, y = make_table(n_classes=3)
    words = np.array(["ash", "birch", "cedar"])[y]
    svm = InfiniteSVM().fit(X, words)
    assert list(svm.classes_) == ["ash", "birch", "cedar"]
    assert np.array_equal(svm.predict(X), svm.classes_[InfiniteSVM().fit(X, y).predict(X)])


@pytest.mark.parametrize("dictionary", [None, Monomials(2), RBF(), Pool(RBF(), 30, random_state=0)], ids=repr)
def test_names_are_those_of_a_data_frame(dictionary):
    X, y = make_table(n_features=3)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    svm = InfiniteSVM(dictionary, tol=0.1, random_state=0).fit(frame, y).set_output(transform="pandas")
    features, names = svm.transform(frame), svm.get_feature_names_out()
    assert names.size > 0
    assert list(features.columns) == list(names)
    assert len(set(names)) == len(names) == svm.coef_.shape[1]
    assert all(any(word in name for word in frame.columns) for name in names)
    assert not any("x0" in name for name in names)


def test_a_map_of_several_columns_has_as_many_names():
    X, y = make_table()
    svm = InfiniteSVM(Pool(ThreeWaves(), 30, random_state=0)).fit(X, y)
    assert len(set(svm.get_feature_names_out())) == 3 * svm.importances_.size == svm.transform(X).shape[1]


@pytest.mark.parametrize("dictionary", [None, RBF(), Pool(ThreeWaves(), 20, random_state=0)], ids=repr)
def test_copies_and_pickles_predict_the_same(dictionary):
    X, y = make_table()
    svm = InfiniteSVM(dictionary, tol=0.1, random_state=0).fit(X, y)
    outputs = svm.decision_function(X)
    assert np.array_equal(pickle.loads(pickle.dumps(svm)).decision_function(X), outputs)
    assert np.array_equal(clone(svm).fit(X, y).decision_function(X), outputs)
    assert np.array_equal(list(pickle.loads(pickle.dumps(svm)).staged_predict(X))[-1], svm.predict(X))


def test_fit_changes_neither_its_parameters_nor_its_data():
    X, y = make_table()
    dictionary, path = RBF(), (2.0, 4.0)
    svm = InfiniteSVM(dictionary, path=path, tol=0.1, random_state=0)
    copy = X.copy()
    svm.fit(X, y)
    assert svm.dictionary is dictionary
    assert not hasattr(dictionary, "spread_")
    assert svm.path is path
    assert np.array_equal(X, copy)


def test_parameters_of_the_dictionary_can_be_searched():
    X, y = make_table(n_features=2)
    search = GridSearchCV(
        InfiniteSVM(RBF(), C=5, tol=0.2, n_candidates=20, random_state=0),
        {"dictionary__width": [(0.1, 0.2), (0.5, 2.0)], "C": [2.0, 10.0]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_["dictionary__width"] in [(0.1, 0.2), (0.5, 2.0)]
    assert search.best_score_ > 0.5


def test_it_works_at_the_end_and_in_the_middle_of_a_pipeline():
    X, y = make_table(seed=9)
    last = make_pipeline(StandardScaler(), InfiniteSVM(tol=TIGHT)).fit(X, y)
    np.testing.assert_allclose(
        last.decision_function(X), InfiniteSVM(tol=TIGHT).fit(X, y).decision_function(X), atol=1e-5
    )
    middle = make_pipeline(InfiniteSVM(C=5), StandardScaler()).fit(X, y)
    assert middle.transform(X).shape == (60, middle[0].importances_.size)


def test_single_precision_is_enough():
    X, y = make_table()
    single = InfiniteSVM().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.decision_function(X), InfiniteSVM().fit(X, y).decision_function(X), atol=1e-3)


# C by cross-validation


def test_the_C_of_highest_accuracy_is_chosen():
    X, y = make_table(n=90, n_features=20, seed=10)
    svm = InfiniteSVM(C="cv", cv=3, path=(8.0, 1.01, 3.0), random_state=0).fit(X, y)
    seen = svm.cv_results_
    np.testing.assert_allclose(seen["C"], svm.C_min_ * np.array([1.01, 3.0, 8.0]))
    assert seen["mean_accuracy"][0] < seen["mean_accuracy"].max()  # next to no features are not the best here
    assert svm.C_ in seen["C"]
    assert np.any(np.isclose(svm.C_ / svm.C_min_, svm.path, rtol=1e-12))
    assert seen["mean_accuracy"][seen["C"] == svm.C_] >= seen["mean_accuracy"].max() - 1e-12
    assert np.all(np.diff(seen["mean_n_active"]) >= 0)
    assert np.all(seen["std_accuracy"] >= 0)
    plain = InfiniteSVM(C=svm.C_).fit(X, y)
    np.testing.assert_allclose(plain.decision_function(X), svm.decision_function(X), atol=1e-6)


def test_accuracies_are_those_of_machines_fitted_without_the_fold():
    X, y = make_table(n=60, n_features=10, seed=11)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    svm = InfiniteSVM(C="cv", cv=folds, path=(2.0, 6.0), tol=1e-6).fit(X, y)
    for C, mean, deviation in zip(*(svm.cv_results_[k] for k in ("C", "mean_accuracy", "std_accuracy")), strict=True):
        scores = [
            InfiniteSVM(C=C, tol=1e-6).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in folds.split(X, y)
        ]
        np.testing.assert_allclose(mean, np.mean(scores))
        np.testing.assert_allclose(deviation, np.std(scores), atol=1e-12)


@pytest.mark.parametrize("dictionary", [RBF(), Pool(RBF(), 30, random_state=0)], ids=repr)
def test_the_chosen_C_is_one_of_the_path_whatever_is_drawn_and_the_same_for_the_same_seed(dictionary):
    X, y = make_table(n_features=2, seed=12)
    svm = InfiniteSVM(dictionary, C="cv", cv=2, path=(2.0, 4.0), n_candidates=20, tol=0.1, random_state=3)
    one, two, threads = (clone(svm).set_params(n_jobs=jobs).fit(X, y) for jobs in (None, None, 2))
    assert np.any(np.isclose(one.C_ / one.C_min_, one.path, rtol=1e-12))
    for other in (two, threads):
        assert other.C_ == one.C_
        assert np.array_equal(other.cv_results_["mean_accuracy"], one.cv_results_["mean_accuracy"])
        assert np.array_equal(other.decision_function(X), one.decision_function(X))


class Spy(Dictionary):
    """Learns nothing, and remembers the rows that it was asked to learn from: the last column numbers them."""

    is_learned = True
    fitted = ()

    def space(self):
        return (Parameter("slope", 0.2, 5.0),)

    def fit(self, signals, y=None):
        self.rows_ = frozenset(signals[:, -1].astype(int))
        Spy.fitted = (*Spy.fitted, self.rows_)
        return super().fit(signals, y)

    def learn(self, signals, y, parameters):
        assert frozenset(signals[:, -1].astype(int)) == self.rows_
        assert len(y) == len(signals)
        return np.zeros(len(parameters))

    def compute(self, signals, parameters, learned=None):
        assert learned is not None
        assert len(learned) == len(parameters)
        return np.tanh(signals[:, :1] * parameters[:, 0])


def test_a_fold_that_is_held_out_is_never_seen_by_the_dictionary():
    X, y = make_table(n=30, seed=13)
    X = np.column_stack([X, np.arange(30)])
    folds = StratifiedKFold(3)
    Spy.fitted = ()
    InfiniteSVM(Spy(), C="cv", cv=folds, path=(2.0, 4.0), n_candidates=10, tol=0.1, random_state=0).fit(X, y)
    everyone = frozenset(range(30))
    partial = [rows for rows in Spy.fitted if rows != everyone]
    assert partial == [frozenset(train) for train, _ in folds.split(X, y)]
    assert everyone in Spy.fitted


# what it refuses


def refuses(svm, X, y, *words, error=ValueError):
    """Fitting raises, and the message holds every word."""
    with pytest.raises(error) as caught:
        svm.fit(X, y)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("dictionary", [None, RBF(), BandPass(64.0)], ids=repr)
def test_one_class_is_refused(dictionary):
    X, _ = make_signals() if isinstance(dictionary, BandPass) else make_table()
    refuses(InfiniteSVM(dictionary), X, np.ones(len(X)), "class")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_signal_that_is_not_finite_is_named(value):
    X, y = make_signals()
    X[17, 1, 5] = value
    refuses(InfiniteSVM(BandPass(64.0)), X, y, "17", "NaN")
    good, _ = make_signals()
    svm = InfiniteSVM(BandPass(64.0), tol=0.2, random_state=0).fit(good, y)
    with pytest.raises(ValueError, match="17"):
        svm.predict(X)


@pytest.mark.parametrize("dictionary", [None, RBF(), BandPass(64.0)], ids=repr)
def test_labels_of_another_length_are_refused(dictionary):
    X, y = make_signals() if isinstance(dictionary, BandPass) else make_table()
    refuses(InfiniteSVM(dictionary), X, y[:-1], str(len(y)), str(len(y) - 1))


@pytest.mark.parametrize("dictionary", [None, BandPass(64.0)], ids=repr)
def test_missing_labels_are_refused(dictionary):
    X, _ = make_signals() if isinstance(dictionary, BandPass) else make_table()
    refuses(InfiniteSVM(dictionary), X, None, "y")


@pytest.mark.parametrize(
    "path", [(), (0.0, 1.0), (-2.0, 4.0), (1.0, np.nan), (np.nan,), (2.0, np.inf), ((2.0, 4.0), (1.0, 2.0))], ids=repr
)
def test_a_path_of_other_than_positive_numbers_is_refused(path):
    X, y = make_table()
    refuses(InfiniteSVM(C="cv", path=path), X, y, "path")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("C", 0.0),
        ("C", -1.0),
        ("C", "best"),
        ("penalty", "l2"),
        ("n_candidates", 0),
        ("n_add", 0),
        ("max_rounds", 0),
        ("patience", 0),
        ("tol", 0.0),
        ("dictionary", "rbf"),
        ("dictionary", RBF),
        ("dictionary", object()),
    ],
)
def test_parameters_out_of_their_range_are_named(parameter, value):
    X, y = make_table()
    refuses(InfiniteSVM().set_params(**{parameter: value}), X, y, parameter)


@pytest.mark.parametrize("method", ["predict", "transform", "decision_function", "get_feature_names_out"])
def test_nothing_works_before_fit(method):
    X, _ = make_table()
    with pytest.raises(NotFittedError):
        getattr(InfiniteSVM(), method)(*() if method == "get_feature_names_out" else (X,))
    with pytest.raises(NotFittedError):
        next(InfiniteSVM().staged_predict(X))


def test_signals_of_another_shape_are_refused():
    X, y = make_signals()
    svm = InfiniteSVM(BandPass(64.0), tol=0.2, random_state=0).fit(X, y)
    for other in (X[:, :2], X[:, :, :100], X[0], X[:, :, :, None]):
        with pytest.raises(ValueError, match="shape"):
            svm.predict(other)
    table, labels = make_table()
    with pytest.raises(ValueError, match="features"):
        InfiniteSVM().fit(table, labels).predict(table[:, :3])


XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3), np.array([0, 1, 1, 0] * 3)


@pytest.mark.parametrize("X", [XOR[0], np.ones((12, 3))], ids=["xor", "constant"])
def test_where_nothing_pulls_nothing_is_selected(X):
    svm = InfiniteSVM().fit(X, XOR[1])
    assert svm.importances_.size == 0
    assert svm.C_min_ == np.inf
    assert svm.certificate_["converged"]
    assert len(svm.predict(X)) == 12
    assert list(map(len, svm.staged_predict(X))) == [12] * svm.n_iter_


def test_where_nothing_pulls_there_is_no_C_to_choose():
    try:
        svm = InfiniteSVM(C="cv", cv=2).fit(*XOR)
    except ValueError as error:
        assert "C" in str(error)  # noqa: PT017
    else:
        assert svm.importances_.size == 0
        assert np.isfinite(svm.C_)


def test_products_tell_apart_what_columns_cannot():
    svm = InfiniteSVM(Monomials(2)).fit(*XOR)
    assert list(svm.get_feature_names_out()) == ["x0*x1"]
    assert svm.score(*XOR) == 1.0


class Broken(Dictionary):
    """Gives what it must not give."""

    def __init__(self, fault="nan"):
        self.fault = fault

    def space(self):
        return (Parameter("slope", 0.2, 5.0),)

    def compute(self, signals, parameters, learned=None):
        features = np.tanh(signals[:, :1] * parameters[:, 0])
        if self.fault == "nan":
            features[3] = np.nan
        elif self.fault == "infinity":
            features[3] = np.inf
        elif self.fault == "few columns":
            features = features[:, :1]
        elif self.fault == "many columns":
            features = np.hstack([features, features])
        elif self.fault == "few rows":
            features = features[:-1]
        elif self.fault == "one axis":
            features = features.ravel()
        return features


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("fault", ["nan", "infinity", "few columns", "many columns", "few rows", "one axis"])
def test_a_broken_dictionary_is_named(fault):
    X, y = make_table(seed=14)
    refuses(InfiniteSVM(Broken(fault), random_state=0), X, y, "Broken", "compute")


def test_a_fold_that_lacks_a_class_is_refused():
    X, y = make_table(n=12, n_classes=3)
    folds = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2))]
    refuses(InfiniteSVM(C="cv", cv=folds), X, y, "fold", "class")


def test_ctrl_c_hands_back_the_rounds_so_far(monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 12))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = InfiniteSVM(n_add=1, C=100.0, random_state=0)
    rounds = ActiveSetSearch.rounds

    def interrupted(*arguments):
        for number, each in enumerate(rounds(*arguments)):
            if number == 2:
                raise KeyboardInterrupt
            yield each

    whole = clone(model).fit(X, y)
    monkeypatch.setattr(ActiveSetSearch, "rounds", interrupted)
    with pytest.warns(ConvergenceWarning, match="InfiniteSVM was interrupted after 2"):
        model.fit(X, y)
    assert model.certificate_["interrupted"]
    assert not model.certificate_["converged"]
    assert 0.5 <= model.score(X, y) <= 1.0
    monkeypatch.undo()
    assert model.fit(X, y).n_iter_ == whole.n_iter_
    assert "interrupted" not in model.certificate_
