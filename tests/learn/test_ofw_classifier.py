"""The vote of classifiers on subsets drawn from a learned probability."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tamis import OFW, OFWClassifier
from tamis.rank.stochastic import GradientDescent, SubsetEvaluation, SubsetSVM, SubsetTree, _subset_ensemble
from tamis.testing.checks import make_data

NAMES = np.array(["ant", "bee", "cow"])


def quick(estimator="ridge", **parameters):
    """A run that is over soon."""
    return OFW(
        estimator, **{"subset_size": 3, "n_subsets": 20, "method": GradientDescent(mu=2), "tol": 0.8, **parameters}
    )


def vote_by_hand(peer, X, y, subsets, asked):
    """Share of the votes of single models, each on the different features of its subset."""
    classes = np.unique(y)
    votes = [peer.fit(X[:, used], y).predict(asked[:, used]) for used in map(np.unique, subsets)]
    return np.stack([np.mean([vote == label for vote in votes], axis=0) for label in classes], axis=1)


@pytest.mark.parametrize(
    ("estimator", "peer"),
    [
        ("ridge", RidgeClassifier()),
        (SubsetSVM(tol=1e-8), LinearSVC(tol=1e-8, max_iter=100_000)),
        (GaussianNB(), GaussianNB()),
        (LogisticRegression(), LogisticRegression()),
    ],
    ids=["ridge", "svm", "naive Bayes", "logistic"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_vote_is_that_of_single_models(estimator, peer, n_classes):
    X, y = make_data()
    y = NAMES[np.minimum(y, n_classes - 1)]
    asked = make_data(seed=1)[0]
    voters = OFWClassifier(quick(), n_classifiers=9, estimator=estimator, random_state=0).fit(X, y)
    assert any(np.unique(subset).size < 3 for subset in voters.subsets_), "a feature drawn twice is part of the test"
    scaler = StandardScaler().fit(X)
    expected = vote_by_hand(peer, scaler.transform(X), y, voters.subsets_, scaler.transform(asked))
    np.testing.assert_allclose(voters.predict_proba(asked), expected)
    np.testing.assert_array_equal(voters.predict(asked), NAMES[expected.argmax(axis=1)])


def test_shares_of_votes_sum_to_one_and_come_in_whole_votes():
    X, y = make_data()
    voters = OFWClassifier(quick("tree"), n_classifiers=7, random_state=0).fit(X, y)
    shares = voters.predict_proba(X)
    assert shares.shape == (60, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(7 * shares, np.round(7 * shares), atol=1e-12)
    assert voters.score(X, y) > 0.8


def test_subsets_are_drawn_from_the_learned_probability():
    X, y = make_data()
    voters = OFWClassifier(quick(subset_size=2), n_classifiers=400, random_state=0).fit(X, y)
    assert voters.subsets_.shape == (400, 2)
    share = np.bincount(voters.subsets_.ravel(), minlength=8) / 800
    np.testing.assert_allclose(share, voters.ofw_.probability_, atol=0.08)


def test_classes_may_be_strings():
    X, y = make_data()
    numbers = OFWClassifier(quick(), n_classifiers=9, random_state=0).fit(X, y)
    words = clone(numbers).fit(X, NAMES[y])
    assert words.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(words.predict(X), NAMES[numbers.predict(X)])


def test_a_probability_that_was_learned_before_stays_as_it_is():
    X, y = make_data()
    ofw = quick(random_state=0).fit(X, y)
    before = ofw.probability_.copy()
    other = make_data(seed=1)
    voters = OFWClassifier(FrozenEstimator(ofw), n_classifiers=9, random_state=0).fit(*other)
    assert voters.ofw_ is ofw
    np.testing.assert_array_equal(ofw.probability_, before)
    again = OFWClassifier(FrozenEstimator(ofw), n_classifiers=9, estimator="ridge", random_state=0).fit(*other)
    np.testing.assert_array_equal(voters.predict_proba(X), again.predict_proba(X))
    assert clone(voters).fit(*other).ofw_ is ofw


def test_a_probability_that_does_not_fit_is_refused():
    X, y = make_data()
    frozen = FrozenEstimator(quick(random_state=0).fit(X, y))
    for width in (4, 9):
        table = np.random.RandomState(0).standard_normal((60, width))
        with pytest.raises(ValueError, match=f"X has {width} features, but OFW is expecting 8"):
            OFWClassifier(frozen).fit(table, y)
    with pytest.raises(NotFittedError):
        OFWClassifier(FrozenEstimator(quick())).fit(X, y)
    with pytest.raises(ValueError, match="'ofw' parameter of OFWClassifier"):
        OFWClassifier(LogisticRegression()).fit(X, y)


def test_the_seed_serves_both_the_probability_and_the_draws():
    X, y = make_data()
    one, other = (OFWClassifier(quick(), n_classifiers=9, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.ofw_.probability_, other.ofw_.probability_)
    np.testing.assert_array_equal(one.subsets_, other.subsets_)
    own = OFWClassifier(quick(random_state=0), n_classifiers=9, random_state=3).fit(X, y)
    np.testing.assert_array_equal(own.ofw_.probability_, quick(random_state=0).fit(X, y).probability_)
    assert one.ofw is not one.ofw_


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("estimator", ["ridge", "svm", "neighbors", "tree", GaussianNB()], ids=str)
def test_sparse_tables_vote_as_dense_ones(kind, estimator):
    X, y = make_data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    voters = OFWClassifier(
        quick(standardize=False, random_state=0), n_classifiers=9, estimator=estimator, random_state=0
    )
    dense, light = clone(voters).fit(X, y), clone(voters).fit(kind(X), y)
    np.testing.assert_array_equal(light.predict_proba(kind(X)), dense.predict_proba(X))
    np.testing.assert_array_equal(dense.predict_proba(kind(X)), dense.predict_proba(X))


@pytest.mark.parametrize("estimator", ["ridge", "neighbors", "tree", GaussianNB()], ids=str)
def test_blocks_of_voters_change_nothing(estimator, monkeypatch):
    X, y = make_data()
    voters = OFWClassifier(quick(random_state=0), n_classifiers=9, estimator=estimator, random_state=0)
    whole = clone(voters).fit(X, y).predict_proba(X)
    monkeypatch.setattr(_subset_ensemble, "_BLOCK_NUMBERS", 1)
    parts = clone(voters).fit(X, y)
    assert len(parts._ensemble.parts) == 9
    np.testing.assert_array_equal(parts.predict_proba(X), whole)


def test_many_rows_are_judged_in_blocks():
    X, y = make_data()
    voters = OFWClassifier(quick(random_state=0), n_classifiers=5, random_state=0).fit(X, y)
    many = make_data(n_samples=5000, seed=1)[0]
    whole = voters.predict_proba(many)
    np.testing.assert_array_equal(whole[3000:3010], voters.predict_proba(many[3000:3010]))


def test_no_classifier_is_shown_a_column_in_the_place_of_a_feature_drawn_twice():
    """Quadratic discriminants cannot bear a column of zeros."""
    X, y = make_data()
    evaluation = SubsetEvaluation(40)
    ofw = quick(
        QuadraticDiscriminantAnalysis(), subset_size=2, n_subsets=5, evaluation=evaluation, tol=1.0, random_state=0
    )
    voters = OFWClassifier(ofw, n_classifiers=9, random_state=0).fit(X, y)
    assert any(len(set(subset)) == 1 for subset in voters.subsets_.tolist())
    assert voters.score(X, y) > 0.7


def test_the_voters_survive_pickling():
    X, y = make_data()
    for estimator in (None, "tree", DecisionTreeClassifier(max_depth=2)):
        voters = OFWClassifier(quick(), n_classifiers=5, estimator=estimator, random_state=0).fit(X, y)
        back = pickle.loads(pickle.dumps(voters))
        np.testing.assert_array_equal(back.predict_proba(X), voters.predict_proba(X))


def test_a_single_voter_has_the_whole_vote():
    X, y = make_data()
    shares = OFWClassifier(quick(), n_classifiers=1, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(np.sort(shares, axis=1), np.tile([0.0, 0.0, 1.0], (60, 1)))


def test_parameters_of_the_search_can_be_searched_for():
    X, y = make_data()
    searched = GridSearchCV(
        OFWClassifier(quick(tol=1.0), n_classifiers=5, random_state=0), {"ofw__subset_size": [1, 3]}, cv=2
    ).fit(X, y)
    assert searched.best_estimator_.subsets_.shape == (5, searched.best_params_["ofw__subset_size"])


def test_tables_with_names_are_checked_for_them():
    pandas = pytest.importorskip("pandas")
    X, y = make_data()
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    voters = OFWClassifier(quick(), n_classifiers=5, random_state=0).fit(frame, y)
    assert voters.feature_names_in_.tolist() == list("abcdefgh")
    np.testing.assert_array_equal(
        voters.predict(frame), OFWClassifier(quick(), n_classifiers=5, random_state=0).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="feature names"):
        voters.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_classifiers": 0}, "'n_classifiers' parameter of OFWClassifier"),
        ({"estimator": "forest"}, "'estimator' parameter of OFWClassifier"),
        ({"estimator": SubsetTree(max_depth=0)}, "'max_depth' parameter of SubsetTree"),
        ({"ofw": quick(method="newton")}, "'method' parameter of OFW"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named(parameters, words):
    X, y = make_data()
    with pytest.raises(ValueError, match=words):
        OFWClassifier(**{"ofw": quick(), **parameters}).fit(X, y)


def test_an_unfitted_vote_is_refused():
    with pytest.raises(NotFittedError):
        OFWClassifier().predict(make_data()[0])


@pytest.mark.parametrize(
    ("estimator", "peer"),
    [
        ("ridge", RidgeClassifier()),
        (SubsetSVM(tol=1e-8), LinearSVC(tol=1e-8, max_iter=100_000)),
        (GaussianNB(), GaussianNB()),
    ],
    ids=["ridge", "svm", "naive Bayes"],
)
@pytest.mark.parametrize("frozen", [False, True])
def test_with_groups_the_vote_is_that_of_single_models_on_all_columns_of_the_groups_drawn(estimator, peer, frozen):
    X, y = make_data()
    asked = make_data(seed=1)[0]
    labels = np.array(list("uvuwutwx"))
    ofw = quick(groups=labels, subset_size=2, random_state=0)
    voters = OFWClassifier(
        FrozenEstimator(ofw.fit(X, y)) if frozen else ofw, n_classifiers=9, estimator=estimator, random_state=0
    ).fit(X, y)
    assert len(voters.subsets_) == 9
    assert len({subset.size for subset in voters.subsets_}) > 1
    for subset in voters.subsets_:
        np.testing.assert_array_equal(subset, np.flatnonzero(np.isin(labels, labels[subset])))
        assert np.unique(labels[subset]).size <= 2
    scaler = StandardScaler().fit(X)
    expected = vote_by_hand(peer, scaler.transform(X), y, voters.subsets_, scaler.transform(asked))
    np.testing.assert_allclose(voters.predict_proba(asked), expected)
