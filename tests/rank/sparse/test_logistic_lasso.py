"""Logistic regression with an l1 penalty: conditions, peers, constraint, weights of classes, and rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from tamis import L1SVM, ElasticNet, LogisticLasso
from tamis.assess import compare
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles.sparse_penalty import kkt_violation


def make_table(n=80, d=10, n_classes=2, seed=0, correlation=0.0):
    rng = np.random.RandomState(seed)
    X = (rng.standard_normal((n, d)) + correlation * rng.standard_normal((n, 1))) * np.exp(rng.standard_normal(d)) + 1
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    output = 1.5 * Z[:, 0] - Z[:, 3] + rng.standard_normal(n)
    return X, np.digitize(output, np.quantile(output, np.arange(1, n_classes) / n_classes + 0.05))


def signs_of(y, label=1):
    return np.where(y == label, 1.0, -1.0)


def norm(X, ranker):
    return np.abs(ranker.coef_ * X.std(axis=0)).sum()


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("table", [{}, {"n": 25, "d": 100}, {"correlation": 3.0}])
def test_conditions_hold_in_the_units_of_the_table(table, share):
    X, y = make_table(**table)
    alpha = share * LogisticLasso(stop=1).fit(X, y).alpha_max_
    ranker = LogisticLasso(alpha=alpha).fit(X, y)
    found = kkt_violation(X, signs_of(y), ranker.coef_[0], ranker.intercept_[0], "logistic", alpha)
    assert found <= 1e-7 * ranker.alpha_max_
    assert ranker.certificate_["relative_gap"] <= 1e-6
    outputs = X @ ranker.coef_[0] + ranker.intercept_
    expected = np.logaddexp(0, -signs_of(y) * outputs).mean() + alpha * norm(X, ranker)
    assert ranker.certificate_["objective"] == pytest.approx(expected, rel=1e-9)


def test_the_minimum_is_that_of_scikit_learns_saga():
    """Its intercept has no penalty."""
    X, y = make_table()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = LogisticRegression(C=1 / (0.03 * len(y)), l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=50_000).fit(Z, y)
    ranker = LogisticLasso(alpha=0.03).fit(X, y)
    np.testing.assert_allclose(ranker.coef_ * X.std(axis=0), peer.coef_, atol=1e-5)


def mirrored(X, y):
    """Every row with its reflection in the other class: the best intercept is zero, penalized or not."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.vstack([Z, -Z]), np.r_[signs_of(y), -signs_of(y)]


def test_the_minimum_is_that_of_liblinear_where_the_intercept_is_zero():
    Z, y = mirrored(*make_table())
    peer = LogisticRegression(
        C=1 / (0.03 * len(y)), l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-9, max_iter=10_000
    ).fit(Z, y)
    ranker = LogisticLasso(alpha=0.03).fit(Z, y)
    assert ranker.intercept_[0] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(ranker.coef_ * Z.std(axis=0), peer.coef_ * Z.std(axis=0), atol=1e-5)


def test_the_squared_hinge_is_liblinears_where_the_intercept_is_zero():
    Z, y = mirrored(*make_table())
    Z /= Z.std(axis=0)
    peer = LinearSVC(C=1 / (0.1 * len(y)), penalty="l1", dual=False, fit_intercept=False, tol=1e-9, max_iter=100_000)
    peer.fit(Z, y)
    for ranker in (
        ElasticNet(alpha=0.1, l1_ratio=1.0, loss="squared_hinge").fit(Z, y),
        L1SVM(C=1 / (0.1 * len(y)), loss="squared_hinge").fit(Z, y),
    ):
        np.testing.assert_allclose(ranker.coef_, peer.coef_, atol=1e-5)


def test_the_minimum_is_that_of_celer():
    celer = pytest.importorskip("celer")
    Z, y = mirrored(*make_table())
    peer = celer.LogisticRegression(C=1 / (0.03 * len(y)), tol=1e-9, fit_intercept=False)
    peer.fit(np.asfortranarray(Z / Z.std(axis=0)), y)
    np.testing.assert_allclose(LogisticLasso(alpha=0.03).fit(Z, y).coef_ * Z.std(axis=0), peer.coef_, atol=1e-5)


@pytest.mark.slow  # compiles
def test_the_minimum_is_that_of_skglm():
    skglm = pytest.importorskip("skglm")
    Z, y = mirrored(*make_table())
    peer = skglm.SparseLogisticRegression(0.03, tol=1e-10, fit_intercept=False)
    peer.fit(np.asfortranarray(Z / Z.std(axis=0)), y)
    np.testing.assert_allclose(LogisticLasso(alpha=0.03).fit(Z, y).coef_ * Z.std(axis=0), peer.coef_, atol=1e-5)


def test_sparse_tables_give_what_dense_ones_do():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 30)) * (rng.random_sample((50, 30)) < 0.3)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(50) > 0
    dense, compressed = (LogisticLasso(alpha=0.03).fit(table, y) for table in (X, sparse.csc_array(X)))
    np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_array_equal(compressed.order_, dense.order_)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_bound_on_the_norm_is_a_penalty(share):
    X, y = make_table()
    largest = norm(X, LogisticLasso(alpha=0.005).fit(X, y))
    bounded = LogisticLasso(max_norm=share * largest).fit(X, y)
    assert norm(X, bounded) == pytest.approx(share * largest, rel=1e-6)
    np.testing.assert_allclose(LogisticLasso(alpha=bounded.alpha_).fit(X, y).coef_, bounded.coef_, atol=1e-6)


def test_without_features_the_intercept_is_the_log_odds():
    X, y = make_table()
    ranker = LogisticLasso(alpha=100.0).fit(X, y)
    assert ranker.n_features_ == 0
    assert ranker.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), rel=1e-9)


@pytest.mark.parametrize("kind", ["row", "class", "balanced", "both"])
def test_weights_repeat_rows(kind):
    X, y = make_table(n=60)
    y = np.where(np.arange(60) < 20, 1, y)
    repeats = np.random.RandomState(0).randint(1, 4, 60)
    if kind == "row":
        weighted = LogisticLasso(alpha=0.02).fit(X, y, sample_weight=repeats)
    elif kind == "class":
        repeats = np.where(y == 1, 3, 1)
        weighted = LogisticLasso(alpha=0.02, class_weight={1: 3}).fit(X, y)
    elif kind == "both":
        weighted = LogisticLasso(alpha=0.02, class_weight={1: 2}).fit(X, y, sample_weight=repeats)
        repeats = repeats * np.where(y == 1, 2, 1)
    else:
        counts = np.bincount(y)
        by_hand = LogisticLasso(alpha=0.02).fit(X, y, sample_weight=(60 / (2 * counts))[y])
        weighted = LogisticLasso(alpha=0.02, class_weight="balanced").fit(X, y)
        np.testing.assert_allclose(weighted.coef_, by_hand.coef_, atol=1e-9)
        repeats = counts[1 - y]
    repeated = LogisticLasso(alpha=0.02).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-7)


def test_several_classes_are_each_against_the_others():
    X, y = make_table(n=120, n_classes=3)
    labels = np.array(["low", "medium", "top"])[y]
    ranker = LogisticLasso(alpha=0.02).fit(X, labels)
    for row, intercept, label in zip(ranker.coef_, ranker.intercept_, ranker.classes_, strict=True):
        alone = LogisticLasso(alpha=0.02).fit(X, labels == label)
        np.testing.assert_allclose(row, alone.coef_[0], atol=1e-7)
        assert intercept == pytest.approx(alone.intercept_[0], abs=1e-7)
    assert np.mean(ranker.estimator_.predict(ranker.transform(X)) == labels) > 0.6


def test_debiased_weights_are_those_without_a_penalty():
    X, y = make_table(n=150)
    ranker = LogisticLasso(stop=3, debias=True).fit(X, y)
    kept = ranker.get_support(indices=True)
    Z = (X[:, kept] - X[:, kept].mean(axis=0)) / X[:, kept].std(axis=0)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(Z, y)
    np.testing.assert_allclose(ranker.coef_[:, kept] * X[:, kept].std(axis=0), peer.coef_, atol=1e-4)


def test_auto_is_the_largest_alpha_within_one_standard_error():
    X, y = make_table(n=60, d=5)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    ranker = LogisticLasso(cv=folds, n_alphas=10).fit(X, y)
    alphas = ranker.cv_results_["alpha"]
    np.testing.assert_allclose(alphas, ranker.alpha_max_ * np.geomspace(1.0, 1e-3, 10), rtol=1e-12)
    errors = []
    for train, test in folds.split(X, y):
        models = [LogisticLasso(alpha=alpha).fit(X[train], y[train]) for alpha in alphas]
        outputs = [X[test] @ model.coef_[0] + model.intercept_ for model in models]
        errors.append([np.logaddexp(0, -signs_of(y[test]) * output).mean() for output in outputs])
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(ranker.cv_results_["mean_error"], mean, rtol=1e-5)
    best = np.argmin(mean)
    assert ranker.alpha_ == pytest.approx(alphas[np.flatnonzero(mean <= mean[best] + spread[best])[0]], rel=1e-9)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(seed=st.integers(0, 2**31 - 1))
def test_places_units_and_signs_of_columns_and_names_of_classes_do_not_matter(seed):
    rng = np.random.RandomState(seed)
    X, y = make_table(seed=seed % 50)
    shuffle = rng.permutation(X.shape[1])
    factor = np.exp(3 * rng.standard_normal(X.shape[1])) * rng.choice([-1.0, 1.0], X.shape[1])
    ranker = LogisticLasso(stop=3).fit(X, y)
    moved = LogisticLasso(stop=3).fit((X * factor)[:, shuffle], np.array(["yes", "no"])[y])
    np.testing.assert_array_equal(shuffle[moved.order_][:3], ranker.order_[:3])
    back = np.empty_like(moved.coef_)
    back[:, shuffle] = moved.coef_
    np.testing.assert_allclose(-back * factor, ranker.coef_, atol=1e-6)


def test_copies_and_constants_are_never_taken():
    X, y = make_table()
    extra = np.column_stack([X, X, np.ones(len(y))])
    ranker, padded = LogisticLasso(alpha=0.01).fit(X, y), LogisticLasso(alpha=0.01).fit(extra, y)
    np.testing.assert_array_equal(padded.order_, ranker.order_)
    np.testing.assert_allclose(padded.coef_[:, :10], ranker.coef_, atol=1e-7)


def test_separable_classes_have_a_path_and_a_model():
    X, _ = make_table()
    y = X[:, 2] > 1
    ranker = LogisticLasso(alpha="path", stop=None).fit(X, y)
    assert ranker.order_[0] == 2
    assert ranker.certificate_["converged"]
    debiased = LogisticLasso(stop=1, debias=True).fit(X, y)
    assert np.isfinite(debiased.coef_).all()


@pytest.mark.parametrize("alpha", [1e-12, 1e-6])
def test_a_tiny_alpha_converges(alpha):
    assert LogisticLasso(alpha=alpha).fit(*make_table()).certificate_["converged"]


def test_one_row_per_class():
    ranker = LogisticLasso().fit([[0.0, 1.0, 5.0], [1.0, 1.0, 5.0]], ["a", "b"])
    assert ranker.order_.tolist() == [0]
    assert "too few rows to cross-validate" in ranker.stop_.reason
    three = LogisticLasso().fit(np.eye(3), [0, 1, 2])
    assert three.coef_.shape == (3, 3)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_tables_of_other_kinds_of_numbers(kind):
    X, y = make_table()
    X = (10 * X).astype(kind)
    ranker, same = LogisticLasso(alpha=0.02).fit(X, y), LogisticLasso(alpha=0.02).fit(X.astype(float), y)
    np.testing.assert_allclose(ranker.coef_, same.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"class_weight": {7: 2.0}}, "class_weight names 7"),
        ({"class_weight": {1: -2.0}}, "class_weight"),
        ({"groups": [0, 1]}, "groups has 2 labels"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        LogisticLasso(**parameters).fit(*make_table())


def test_a_quantity_is_refused():
    X, _ = make_table()
    with pytest.raises(ValueError, match="y holds quantities"):
        LogisticLasso().fit(X, X[:, 0])


def test_rules_and_comparisons_work_with_it():
    X, y = make_table()
    probed = LogisticLasso(stop=MonteCarloProbe(n_draws=19, risk=0.1, random_state=0), n_alphas=10).fit(X, y)
    assert 1 <= probed.n_features_ <= 6
    validated = LogisticLasso(stop=CrossValidation(cv=3), n_alphas=10).fit(X, y)
    assert 1 <= validated.n_features_ <= X.shape[1]
    found = compare({"logistic": LogisticLasso(n_alphas=10)}, X, y, ks=[2], n_seeds=1)
    assert "logistic" in str(found)
