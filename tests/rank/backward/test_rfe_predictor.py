"""What RFE learns on the columns that it keeps, weights of rows, and what it hands to a given estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import accuracy_score, get_scorer, r2_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tamis import RFE
from tamis.base import NothingKeptWarning
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles import rfe as oracle

SIZES = [(16, 24), (60, 8)]
UNITS = np.array([1.0, 1e3, 1e-4, 7.0, 1e6, 0.2, 1.0, 30.0])


def make_data(n_samples=60, n_features=8, n_classes=2, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.standard_normal((n_samples, n_features)) + 0.5
    X[:, 0] += y
    X[:, n_features // 2] -= y == 1
    return X, y


def weights(n_samples, seed=1):
    return np.random.RandomState(seed).randint(1, 4, n_samples)


def standardized(X, weight):
    return StandardScaler().fit(X, sample_weight=weight).transform(X)


# models of the named losses


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic", "ridge"])
def test_a_named_loss_predicts_as_a_model_trained_from_nothing_on_what_is_kept(loss, size, is_weighted):
    X, y = make_data(*size)
    X = X * np.resize(UNITS, X.shape[1])
    weight = weights(len(X)) if is_weighted else None
    found = RFE(loss, stop=5, task="classification").fit(X, y, sample_weight=weight)
    Z = standardized(found.transform(X), weight)
    cost = np.ones(len(X)) if weight is None else weight.astype(float)
    v, b = oracle.train(Z @ Z.T, np.where(y == 1, 1.0, -1.0), cost, loss)
    np.testing.assert_allclose(found.decision_function(X), Z @ (Z.T @ v) + b, atol=1e-6)
    np.testing.assert_array_equal(found.predict(X), (Z @ (Z.T @ v) + b > 0).astype(int))
    kept = found.transform(X)
    np.testing.assert_allclose(
        found.decision_function(X), kept @ found.estimator_.coef_[0] + found.estimator_.intercept_[0], atol=1e-9
    )


PEERS = [
    ({"estimator": "logistic", "multiclass": "multinomial"}, LogisticRegression(tol=1e-12, solver="newton-cholesky")),
    ({"estimator": "hinge", "multiclass": "ovo"}, SVC(kernel="linear", tol=1e-9, break_ties=True)),
    (
        {"estimator": "hinge", "multiclass": "ovo", "kernel": "rbf", "gamma": 0.2},
        SVC(gamma=0.2, tol=1e-9, break_ties=True),
    ),
    (
        {"estimator": "hinge", "multiclass": "ovo", "kernel": "poly", "gamma": 0.2},
        SVC(gamma=0.2, tol=1e-9, break_ties=True, kernel="poly"),
    ),
    ({"estimator": "ridge", "task": "classification"}, RidgeClassifier(alpha=0.5)),
]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("parameters", "peer"), PEERS, ids=lambda value: str(value)[:40])
def test_several_classes_are_told_apart_as_by_scikit_learn(parameters, peer, size, is_weighted):
    X, y = make_data(*size, n_classes=3)
    labels = np.array(["ash", "elm", "oak"])[y]
    weight = weights(len(X)) if is_weighted else None
    found = RFE(stop=5, **parameters).fit(X, labels, sample_weight=weight)
    Z = standardized(found.transform(X), weight)
    peer = clone(peer).fit(Z, labels, sample_weight=weight)
    np.testing.assert_array_equal(found.predict(X), peer.predict(Z))
    np.testing.assert_array_equal(found.classes_, peer.classes_)
    assert found.score(X, labels) == accuracy_score(labels, peer.predict(Z))
    ours, theirs = found.decision_function(X), peer.decision_function(Z)
    np.testing.assert_allclose(
        ours - ours.mean(axis=1, keepdims=True), theirs - theirs.mean(axis=1, keepdims=True), atol=1e-5
    )
    if parameters["estimator"] == "logistic":
        np.testing.assert_allclose(found.predict_proba(X), peer.predict_proba(Z), atol=1e-7)
        np.testing.assert_allclose(np.exp(found.predict_log_proba(X)), found.predict_proba(X))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("parameters", "peer"),
    [
        ({"estimator": "ridge"}, Ridge(alpha=0.5)),
        ({"estimator": "epsilon_insensitive"}, SVR(kernel="linear", tol=1e-9)),
        ({"estimator": "epsilon_insensitive", "kernel": "rbf", "gamma": 0.1}, SVR(gamma=0.1, tol=1e-9)),
    ],
    ids=["ridge", "svr", "rbf"],
)
def test_quantities_are_predicted_as_by_scikit_learn(parameters, peer, size, is_weighted):
    X, y = make_data(*size)
    target = 3.0 + X[:, 0] - 0.5 * X[:, 1] ** 2 + y
    weight = weights(len(X)) if is_weighted else None
    found = RFE(stop=5, **parameters).fit(X * np.resize(UNITS, X.shape[1]), target, sample_weight=weight)
    Z = standardized(X[:, found.support_], weight)
    expected = clone(peer).fit(Z, target, sample_weight=weight).predict(Z)
    np.testing.assert_allclose(found.predict(X * np.resize(UNITS, X.shape[1])), expected, atol=1e-5)
    assert found.score(X * np.resize(UNITS, X.shape[1]), target) == pytest.approx(r2_score(target, expected), abs=1e-5)
    assert not hasattr(found, "decision_function")
    assert not hasattr(found, "classes_")


def test_the_unit_of_a_target_is_that_of_the_predictions():
    X, y = make_data()
    target = X[:, 0] + y
    small = RFE("ridge", stop=4).fit(X, target).predict(X)
    huge = RFE("ridge", stop=4).fit(X, 1e200 * target).predict(X)
    np.testing.assert_allclose(huge, 1e200 * small)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_a_sparse_table_gives_the_model_of_a_dense_one_with_its_units(loss):
    X, y = make_data()
    found = RFE(loss, stop=4, standardize=False).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        found.decision_function(sparse.csr_array(X)),
        RFE(loss, stop=4, standardize=False).fit(X, y).decision_function(X),
        atol=1e-6,
    )
    assert RFE(loss, stop=4).fit(sparse.csr_array(X), y).score(sparse.csr_array(X), y) > 0.6


def test_one_model_per_class_has_probabilities_that_sum_to_one():
    X, y = make_data(n_classes=3)
    found = RFE("logistic", stop=4).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.predict_proba(X).argmax(axis=1), found.predict(X))
    assert not hasattr(RFE("logistic", multiclass="ovo", stop=4).fit(X, y), "predict_proba")
    assert hasattr(RFE("logistic", multiclass="ovo", stop=4).fit(X, y > 0), "predict_proba")


def test_a_model_with_a_kernel_has_no_coefficients():
    X, y = make_data()
    assert not hasattr(RFE(kernel="rbf", stop=4).fit(X, y).estimator_, "coef_")
    laplacian = RFE(kernel="laplacian", stop=4).fit(X, y)
    assert laplacian.score(X, y) > 0.7


def test_a_table_of_other_columns_is_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="the model takes the 3 columns that transform keeps, but the table has 8"):
        RFE(stop=3).fit(X, y).estimator_.predict(X)


def test_a_fitted_selector_survives_a_pickle_and_frames():
    X, y = make_data()
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    for estimator in ("auto", LogisticRegression(), RandomForestClassifier(5, random_state=0)):
        found = RFE(estimator, stop=3).fit(table, y)
        expected = found.predict(table)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(table), expected)
        np.testing.assert_array_equal(found.set_output(transform="pandas").predict(table), expected)
        with config_context(transform_output="polars"):
            np.testing.assert_array_equal(clone(found).fit(table, y).predict(table), expected)


# weights of rows


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"estimator": "hinge", "multiclass": "ovo"},
        {"estimator": "logistic", "class_weight": "balanced"},
        {"estimator": "logistic", "multiclass": "multinomial", "step": 0.3},
        {"estimator": "ridge", "task": "regression"},
        {"estimator": "epsilon_insensitive", "standardize": False},
        {"kernel": "rbf"},
        {"estimator": LogisticRegression(class_weight="balanced", tol=1e-12, solver="newton-cholesky")},
        {"estimator": RidgeClassifier(), "standardize": False},
    ],
    ids=str,
)
def test_a_weight_counts_as_so_many_copies_of_the_row(parameters, size, make):
    if parameters.get("kernel") == "rbf" and make is sparse.csr_array:
        pytest.skip("sparse tables have linear models only")
    X, y = make_data(*size, n_classes=3, seed=3)
    if parameters.get("task") == "regression" or parameters.get("estimator") == "epsilon_insensitive":
        y = y + X[:, 1]
    weight = weights(len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    found = RFE(stop=4, **parameters).fit(make(X), y, sample_weight=weight)
    repeated = RFE(stop=4, **parameters).fit(make(X[rows]), y[rows])
    np.testing.assert_array_equal(found.order_, repeated.order_)
    np.testing.assert_allclose(found.scores_, repeated.scores_, rtol=1e-4, atol=1e-8 * repeated.scores_.max())
    if is_classifier(found):
        np.testing.assert_array_equal(found.predict(make(X)), repeated.predict(make(X)))
    else:
        np.testing.assert_allclose(found.predict(make(X)), repeated.predict(make(X)), atol=1e-5)


def test_weights_change_the_order_and_ones_do_not():
    X, y = make_data(40, 8, seed=2)
    plain = RFE(stop=None).fit(X, y)
    np.testing.assert_array_equal(RFE(stop=None).fit(X, y, sample_weight=np.ones(40)).order_, plain.order_)
    uneven = np.where(np.arange(40) < 20, 1.0, 30.0)
    assert not np.array_equal(RFE(stop=None).fit(X, y, sample_weight=uneven).order_, plain.order_)


def test_weights_go_to_a_given_estimator():
    X, y = make_data()
    weight = weights(60)
    tree = DecisionTreeClassifier(random_state=0, max_depth=3)
    found = RFE(tree, stop=3, standardize=False).fit(X, y, sample_weight=weight)
    expected = clone(tree).fit(X, y, sample_weight=weight).feature_importances_
    assert found.path_[-1].criterion == expected.min()
    np.testing.assert_array_equal(
        found.predict(X), clone(tree).fit(found.transform(X), y, sample_weight=weight).predict(found.transform(X))
    )
    assert found.score(X, y, sample_weight=weight) == accuracy_score(y, found.predict(X), sample_weight=weight)


def test_weights_go_to_every_step_of_a_pipeline_that_takes_them():
    X, y = make_data()
    weight = weights(60)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))
    found = RFE(pipeline, stop=3, standardize=False).fit(X, y, sample_weight=weight)
    one = RFE(LogisticRegression(tol=1e-10), stop=3).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.order_, one.order_)
    np.testing.assert_allclose(found.decision_function(X), one.decision_function(X), atol=1e-6)
    with config_context(enable_metadata_routing=True):
        asking = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            LogisticRegression(tol=1e-10).set_fit_request(sample_weight=True),
        )
        routed = RFE(asking, stop=3, standardize=False).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(routed.order_, one.order_)


class WithoutWeights(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.coef_ = np.ones(X.shape[1])
        return self


def test_weights_are_refused_where_the_estimator_takes_none():
    X, y = make_data()
    with pytest.raises(ValueError, match=r"sample_weight is given, but estimator=WithoutWeights\(\) takes none"):
        RFE(WithoutWeights(), stop=3).fit(X, y, sample_weight=weights(60))


# the given estimator


@pytest.mark.parametrize(
    "estimator", [SVC(kernel="linear"), LogisticRegression(), LinearSVC(), RandomForestClassifier(5, random_state=0)]
)
def test_the_given_estimator_is_fitted_on_what_is_kept(estimator):
    X, y = make_data()
    found = RFE(estimator, stop=3, standardize=False).fit(X, y)
    assert type(found.estimator_) is type(estimator)
    assert not hasattr(estimator, "classes_")
    expected = clone(estimator).fit(found.transform(X), y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(found.transform(X)))
    assert found.score(X, y) == expected.score(found.transform(X), y)
    assert found.n_features_ == 3
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(found, method) == hasattr(RFE(estimator), method) == hasattr(estimator, method)
        if hasattr(found, method):
            with np.errstate(divide="ignore"):  # leaves of a forest that hold no row of a class
                ours, theirs = getattr(found, method)(X), getattr(expected, method)(found.transform(X))
            np.testing.assert_array_equal(ours, theirs)


def test_units_do_not_matter_to_the_predictions_where_columns_are_standardized():
    X, y = make_data()
    for estimator in (SVC(), KNeighborsClassifier()):
        ranked = {"importance_getter": _variances} if isinstance(estimator, KNeighborsClassifier) else {}
        plain = RFE(estimator, stop=4, **ranked).fit(X, y)
        scaled = RFE(estimator, stop=4, **ranked).fit(X * UNITS, y)
        np.testing.assert_array_equal(scaled.predict(X * UNITS), plain.predict(X))
        assert list(plain.estimator_.named_steps) == ["standardize", "estimator"]


def _variances(neighbors):
    return neighbors._fit_X.mean(axis=0) + np.arange(neighbors.n_features_in_)


def test_a_selector_is_a_classifier_or_regressor_where_it_is_known():
    assert is_classifier(RFE(SVC()))
    assert is_regressor(RFE(LinearRegression()))
    assert is_classifier(RFE("hinge"))
    assert is_regressor(RFE("epsilon_insensitive"))
    assert is_classifier(RFE("ridge", task="classification"))
    assert not is_classifier(RFE())
    assert not is_regressor(RFE())
    X, y = make_data()
    assert is_classifier(RFE(stop=3).fit(X, y))
    assert is_regressor(RFE(stop=3).fit(X, X[:, 0] + y))
    assert get_scorer("roc_auc")(RFE(stop=3).fit(X, y), X, y) > 0.7
    assert cross_val_score(RFE("hinge", stop=3), X, y, cv=3).mean() > 0.6


def test_what_the_estimator_does_not_have_is_not_there_and_the_cause_is_told():
    X, y = make_data()
    found = RFE(LinearRegression(), stop=3).fit(X, X[:, 0] + y)
    with pytest.raises(AttributeError, match="This 'RFE' has no attribute 'decision_function'") as raised:
        found.decision_function(X)
    assert "'LinearRegression' object has no attribute 'decision_function'" in str(raised.value.__cause__)
    assert not hasattr(RFE("ridge", task="regression"), "decision_function")
    assert not hasattr(RFE("hinge"), "predict_proba")
    assert hasattr(RFE("logistic"), "predict_proba")


@pytest.mark.parametrize("estimator", ["squared_hinge", "logistic", SVC()])
def test_nothing_kept_predicts_the_most_frequent_class_or_the_mean(estimator):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((40, 3)), np.where(rng.uniform(size=40) < 0.3, "rare", "usual")
    with pytest.warns(NothingKeptWarning):
        found = RFE(estimator, stop=MonteCarloProbe(n_draws=19, random_state=0)).fit(X, y)
    assert found.n_features_ == 0
    with pytest.warns(UserWarning, match="No features were selected"):
        assert set(found.predict(X)) == {"usual"}
    if estimator == "logistic":
        with pytest.warns(UserWarning, match="No features were selected"):
            np.testing.assert_allclose(found.predict_proba(X)[0, 0], np.mean(y == "rare"))
    target = rng.standard_normal(40)
    with pytest.warns(NothingKeptWarning):
        mean = RFE("ridge", stop=MonteCarloProbe(n_draws=19, random_state=0)).fit(X, target)
    with pytest.warns(UserWarning, match="No features were selected"):
        np.testing.assert_allclose(mean.predict(X), target.mean())


# importance_getter


def test_importances_are_found_by_a_path_or_a_function():
    X, y = make_data()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))
    by_path = RFE(pipeline, stop=3, standardize=False, importance_getter="named_steps.logisticregression.coef_")
    by_function = RFE(pipeline, stop=3, standardize=False, importance_getter=lambda fitted: fitted[-1].coef_)
    expected = RFE(LogisticRegression(tol=1e-10), stop=3).fit(X, y)
    for selector in (by_path, by_function):
        np.testing.assert_array_equal(selector.fit(X, y).order_, expected.order_)
    reversed_order = RFE(SVC(), stop=1, importance_getter=lambda fitted: np.arange(fitted.n_features_in_, 0.0, -1.0))
    np.testing.assert_array_equal(reversed_order.fit(X, y).order_, np.arange(8))


def test_an_importance_getter_needs_a_given_estimator_that_has_what_it_says():
    X, y = make_data()
    with pytest.raises(ValueError, match="importance_getter is for a given estimator, but estimator='auto'"):
        RFE(importance_getter="coef_", stop=3).fit(X, y)
    with pytest.raises(AttributeError, match="weights_"):
        RFE(LogisticRegression(), importance_getter="weights_", stop=3).fit(X, y)


# missing values and several targets


@pytest.mark.parametrize("standardize", [True, False])
def test_missing_values_go_to_estimators_that_take_them(standardize):
    X, y = make_data()
    X[::7, 2] = np.nan
    for estimator in (
        RandomForestClassifier(5, random_state=0),
        make_pipeline(SimpleImputer(), LogisticRegression()),
    ):
        selector = RFE(estimator, stop=3, standardize=standardize)
        assert selector.__sklearn_tags__().input_tags.allow_nan
        found = selector.fit(X, y)
        assert np.sort(found.order_).tolist() == list(range(8))
        assert found.score(X, y) > 0.6
    for estimator in ("auto", SVC(), LogisticRegression()):
        assert not RFE(estimator).__sklearn_tags__().input_tags.allow_nan
        with pytest.raises(ValueError, match="NaN: column 'x2' holds 9 missing values"):
            RFE(estimator, stop=3).fit(X, y)


class Boosted(HistGradientBoostingClassifier):
    """With importances, as boosted trees of other libraries have them: the gain of the splits by a column."""

    @property
    def feature_importances_(self):
        gain = np.zeros(self.n_features_in_)
        for (tree,) in self._predictors:
            splits = tree.nodes[tree.nodes["is_leaf"] == 0]
            np.add.at(gain, splits["feature_idx"], splits["gain"])
        return gain


def test_missing_values_go_to_boosted_trees_which_may_split_by_them():
    X, y = make_data()
    X[y == 1, 3] = np.nan
    found = RFE(Boosted(max_iter=5, min_samples_leaf=5), stop=1).fit(X, y)
    assert np.flatnonzero(found.support_).tolist() == [3]
    assert found.score(X, y) == 1.0


def test_several_targets_go_to_estimators_that_take_them():
    X, y = make_data()
    Y = np.column_stack([X[:, 1] + y, 2.0 * X[:, 3]])
    for estimator in (LinearRegression(), Ridge(), RandomForestRegressor(10, random_state=0)):
        found = RFE(estimator, stop=3, standardize=False).fit(X, Y)
        assert {1, 3} <= set(np.flatnonzero(found.support_))
        assert found.predict(X).shape == (60, 2)
        assert found.task_ == "regression"
    labels = np.column_stack([y, X[:, 3] > 0.5])
    assert RFE(RandomForestClassifier(5, random_state=0), stop=3).fit(X, labels).predict(X).shape == (60, 2)
    for estimator in ("auto", SVC()):
        with pytest.raises(ValueError, match="y has 2 columns, and RFE explains one target"):
            RFE(estimator, stop=3).fit(X, Y)


def in_other_units(seed=0):
    """A table, the same in very different units, and classes that two columns tell."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((80, 6))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(80) > 0).astype(int)
    return X, X * [1e-3, 1, 1, 1e3, 1, 1], y


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_are_judged_by_the_model_that_predicts_in_the_end(standardize, weighted):
    X, rescaled, y = in_other_units()
    X = rescaled if standardize else X
    weight = np.random.RandomState(0).randint(1, 4, 80).astype(float) if weighted else None
    model, folds = LogisticRegression(), list(KFold(3).split(X))
    found = RFE(model, stop=CrossValidation(model, cv=folds), standardize=standardize).fit(X, y, sample_weight=weight)
    for (train, test), scores in zip(folds, found.stop_.fold_scores, strict=True):
        for k, score in zip(found.stop_.curve_at, scores, strict=True):
            part = RFE(model, stop=int(k), standardize=standardize)
            part.fit(X[train], y[train], sample_weight=None if weight is None else weight[train])
            held_out = None if weight is None else weight[test]
            assert part.score(X[test], y[test], sample_weight=held_out) == pytest.approx(score)


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), make_pipeline(StandardScaler(), LinearSVC())])
def test_units_do_not_matter_to_cross_validation(estimator):
    X, rescaled, y = in_other_units()
    rule = CrossValidation(estimator, cv=3)
    one, other = RFE(stop=rule).fit(X, y), RFE(stop=rule).fit(rescaled, y)
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.stop_.fold_scores, other.stop_.fold_scores)


def test_sparse_columns_are_only_scaled_for_cross_validation():
    X, _, y = in_other_units()
    X[np.abs(X) < 0.5] = 0
    found = RFE(stop=CrossValidation(LogisticRegression(), cv=3)).fit(sparse.csr_array(X * [1e-3, 1, 1, 1e3, 1, 1]), y)
    assert found.stop_.fold_scores.max() > 0.8
