"""Cross-validation ranks inside each fold."""

from typing import ClassVar

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from tamis import RFE, CorrelationScore, FisherScore, GramSchmidt, MaxVariance
from tamis.datasets import make_linear
from tamis.dictionary import Monomials
from tamis.stop import CrossValidation
from tests.oracles.chance import most


@pytest.fixture
def problem():
    return make_linear(70, n_features=8, coef=[2, 1, 0.5], noise=1.0, random_state=0)


def by_hand(ranker, model, X, y, splits, sizes, score):
    """One row per fold: rank on the training rows, fit the model on the first k, score on the others."""
    rows = []
    for train, test in splits:
        order = ranker().fit(X[train], y[train]).order_
        fitted = [model().fit(X[train][:, order[:k]], y[train]) for k in sizes]
        rows.append([score(m, X[test][:, order[:k]], y[test]) for m, k in zip(fitted, sizes, strict=True)])
    return np.array(rows)


@pytest.mark.parametrize("ranker", [CorrelationScore, GramSchmidt])
def test_the_curve_is_that_of_an_explicit_loop(problem, ranker):
    X, y = problem
    cv = KFold(4, shuffle=True, random_state=1)
    found = ranker(stop=CrossValidation(LinearRegression(), cv=cv)).fit(X, y)
    scores = by_hand(
        lambda: ranker(stop=None), LinearRegression, X, y, cv.split(X), range(1, 9), lambda m, A, b: m.score(A, b)
    )
    np.testing.assert_allclose(found.stop_.curve, scores.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.stop_.spread, scores.std(axis=0, ddof=1) / 2, rtol=1e-9)
    np.testing.assert_array_equal(found.stop_.curve_at, np.arange(1, 9))
    assert found.stop_.n_features == 1 + np.argmax(scores.mean(axis=0))


def test_classes_are_stratified_and_the_scoring_is_the_one_asked_for(problem):
    X, y = problem
    labels = np.where(y > np.quantile(y, 0.8), "high", "low")
    rule = CrossValidation(KNeighborsClassifier(), cv=3, scoring="balanced_accuracy", n_features=[1, 3, 8])
    found = FisherScore(stop=rule).fit(X, labels)
    scores = by_hand(
        lambda: FisherScore(stop=None),
        KNeighborsClassifier,
        X,
        labels,
        StratifiedKFold(3).split(X, labels),
        [1, 3, 8],
        lambda m, A, b: balanced_accuracy_score(b, m.predict(A)),
    )
    np.testing.assert_allclose(found.stop_.curve, scores.mean(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(found.stop_.curve_at, [1, 3, 8])


def test_a_scoring_function_may_be_given_and_higher_is_better(problem):
    X, y = problem
    rule = CrossValidation(Ridge(), scoring=lambda m, A, b: -mean_absolute_error(b, m.predict(A)))
    found = CorrelationScore(stop=rule).fit(X, y)
    assert np.all(found.stop_.curve < 0)
    assert found.stop_.n_features == found.stop_.curve_at[np.argmax(found.stop_.curve)]


def test_held_out_accuracy_on_noise_stays_near_chance_where_ranking_on_all_rows_does_not():
    right = flattered = 0
    for seed in range(5):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((40, 1500)), np.arange(40) % 2
        rule = CrossValidation(LogisticRegression(), cv=4, n_features=[10])
        right += 40 * FisherScore(stop=rule).fit(X, y).stop_.curve[0]
        best = FisherScore(stop=10).fit_transform(X, y)
        flattered += 40 * cross_val_score(LogisticRegression(), best, y, cv=4).mean()
    assert right <= most(200, 0.5)
    assert flattered > 0.85 * 200


@pytest.mark.parametrize("seed", range(6))
def test_one_standard_error_never_keeps_more_than_the_best(seed):
    X, y = make_linear(50, n_features=12, noise=2.0, random_state=seed)
    best, fewest = (
        CorrelationScore(stop=CrossValidation(LinearRegression(), rule=rule)).fit(X, y).stop_
        for rule in ("best", "one-se")
    )
    np.testing.assert_array_equal(best.curve, fewest.curve)
    assert fewest.n_features <= best.n_features
    at = int(np.argmax(best.curve))
    bar = best.curve[at] - best.spread[at]
    assert fewest.n_features == fewest.curve_at[np.flatnonzero(fewest.curve >= bar)[0]]
    assert fewest.threshold == pytest.approx(bar)


@pytest.mark.parametrize("rule", ["best", "one-se"])
@pytest.mark.parametrize(
    "cv", [ShuffleSplit(1, random_state=0), PredefinedSplit(np.repeat([-1, 0], 35))], ids=["shuffled", "given"]
)
def test_a_single_split_into_training_and_validation_rows_is_enough(problem, cv, rule):
    found = CorrelationScore(stop=CrossValidation(LinearRegression(), cv=cv, rule=rule)).fit(*problem)
    assert np.isfinite(found.stop_.curve).all()
    assert found.stop_.n_features == found.stop_.curve_at[np.argmax(found.stop_.curve)]


def test_all_sizes_up_to_ten_are_tried_then_steps_of_a_quarter_up_to_all():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((20, 57)), rng.standard_normal(20)
    sizes = CorrelationScore(stop=CrossValidation(Ridge(), cv=2)).fit(X, y).stop_.curve_at
    assert sizes[:10].tolist() == list(range(1, 11))
    assert sizes[-1] == 57
    assert np.all(np.diff(sizes) >= 1)
    assert np.all(sizes[1:] <= np.ceil(1.25 * sizes[:-1]).clip(min=sizes[:-1] + 1))


@pytest.mark.parametrize("sizes", [[], [0, 2], [3, 9], [-1]])
def test_sizes_outside_of_what_is_ranked_are_refused(problem, sizes):
    with pytest.raises(ValueError, match=r"n_features must lie between 1 and 8"):
        CorrelationScore(stop=CrossValidation(Ridge(), n_features=sizes)).fit(*problem)


def test_the_default_model_suits_the_target(problem):
    X, y = problem
    assert CorrelationScore(stop="cross-validation").fit(X, y).stop_.curve.max() > 0.5
    labels = (y > np.median(y)).astype(int)
    assert CorrelationScore(stop="cross-validation").fit(X, labels).stop_.curve.max() > 0.7
    assert "held-out" in CorrelationScore(stop="cross-validation").fit(X, labels).stop_.reason


def test_an_unsupervised_ranker_may_be_cross_validated_if_there_is_a_target(problem):
    X, y = problem
    found = MaxVariance(stop=CrossValidation(LinearRegression(), cv=3)).fit(X, y)
    assert 1 <= found.stop_.n_features <= 8
    with pytest.raises(ValueError, match=r"CrossValidation needs a target y"):
        MaxVariance(stop=CrossValidation()).fit(X)


def weighted_by_hand(X, y, weight, cv, fit, score):
    """One row per fold: rank, fit and score with the weights of the rows."""
    rows = []
    for train, test in cv.split(X):
        order = CorrelationScore(stop=None).fit(X[train], y[train], sample_weight=weight[train]).order_
        models = [fit(X[train][:, order[:k]], y[train], weight[train]) for k in range(1, 9)]
        rows.append([score(m, X[test][:, order[: k + 1]], y[test], weight[test]) for k, m in enumerate(models)])
    return np.array(rows)


def test_weights_go_to_ranker_model_and_scorer_of_each_fold(problem):
    X, y = problem
    weight = np.random.RandomState(0).uniform(0.1, 3, size=70)
    cv = KFold(3)
    found = CorrelationScore(stop=CrossValidation(Ridge(), cv=cv)).fit(X, y, sample_weight=weight)
    expected = weighted_by_hand(
        X, y, weight, cv, lambda A, b, w: Ridge().fit(A, b, sample_weight=w), lambda m, A, b, w: m.score(A, b, w)
    )
    np.testing.assert_allclose(found.stop_.fold_scores, expected, rtol=1e-9)


def test_weights_go_to_every_step_of_a_pipeline_and_no_scorer_that_takes_none(problem):
    X, y = problem
    weight = np.random.RandomState(0).uniform(0.1, 3, size=70)
    cv = KFold(3)
    model = make_pipeline(StandardScaler(), Ridge())
    rule = CrossValidation(model, cv=cv, scoring="neg_max_error")
    found = CorrelationScore(stop=rule).fit(X, y, sample_weight=weight)

    def fit(A, b, w):
        return clone(model).fit(A, b, standardscaler__sample_weight=w, ridge__sample_weight=w)

    expected = weighted_by_hand(X, y, weight, cv, fit, lambda m, A, b, w: -np.abs(m.predict(A) - b).max())
    np.testing.assert_allclose(found.stop_.fold_scores, expected, rtol=1e-9)
    with config_context(enable_metadata_routing=True):  # the default model asks for weights
        ranker = CorrelationScore(stop=CrossValidation(cv=cv)).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        ranker.stop_.fold_scores,
        CorrelationScore(stop=CrossValidation(cv=cv)).fit(X, y, sample_weight=weight).stop_.fold_scores,
    )


def test_a_model_that_takes_no_weights_is_fitted_without_and_the_reason_says_so(problem):
    X, y = problem
    weight = np.random.RandomState(0).uniform(0.1, 3, size=70)
    found = CorrelationScore(stop=CrossValidation(KNeighborsRegressor())).fit(X, y, sample_weight=weight)
    assert "KNeighborsRegressor takes no weights of rows and was fitted without" in found.stop_.reason
    assert "without" not in CorrelationScore(stop=CrossValidation(Ridge())).fit(X, y, sample_weight=weight).stop_.reason


def test_scores_of_every_fold_are_kept(problem):
    X, y = problem
    found = CorrelationScore(stop=CrossValidation(Ridge(), cv=4, n_features=[1, 3, 5])).fit(X, y).stop_
    assert found.fold_scores.shape == (4, 3)
    np.testing.assert_allclose(found.fold_scores.mean(axis=0), found.curve)
    assert CorrelationScore(stop=3).fit(X, y).stop_.fold_scores is None


class Folds(GroupKFold):
    """Remembers what it was asked."""

    seen: ClassVar[list] = []

    def split(self, X, y=None, groups=None):
        Folds.seen.append(groups)
        return super().split(X, y, groups)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_rows_of_a_group_are_held_out_together(problem, is_weighted):
    X, y = problem
    groups = np.repeat(np.arange(14), 5)
    weight = np.where(np.arange(70) % 7 == 0, 0.0, 1.0) if is_weighted else np.ones(70)
    Folds.seen.clear()
    found = CorrelationScore(stop=CrossValidation(Ridge(), cv=Folds(3))).fit(X, y, weight, row_groups=groups)
    np.testing.assert_array_equal(Folds.seen[0], groups[weight > 0])
    rows = np.flatnonzero(weight)
    splits = list(GroupKFold(3).split(X[rows], y[rows], groups[rows]))
    expected = by_hand(
        lambda: CorrelationScore(stop=None),
        Ridge,
        X[rows],
        y[rows],
        splits,
        range(1, 9),
        lambda m, A, b: m.score(A, b),
    )
    np.testing.assert_allclose(found.stop_.fold_scores, expected, rtol=1e-9)


def test_a_number_of_folds_keeps_groups_of_rows_together(problem):
    X, y = problem
    groups = np.repeat(np.arange(14), 5)
    by_number = CorrelationScore(stop=CrossValidation(Ridge(), cv=3)).fit(X, y, row_groups=groups)
    by_splitter = CorrelationScore(stop=CrossValidation(Ridge(), cv=GroupKFold(3))).fit(X, y, row_groups=groups)
    np.testing.assert_array_equal(by_number.stop_.fold_scores, by_splitter.stop_.fold_scores)


def test_a_splitter_that_needs_groups_says_how_to_give_them(problem):
    with pytest.raises(ValueError, match=r"GroupKFold needs to know which rows belong together: fit\(X, y, row_groups"):
        CorrelationScore(stop=CrossValidation(Ridge(), cv=GroupKFold(3))).fit(*problem)


def test_several_targets_are_predicted_together(problem):
    X, y = problem
    Y = np.column_stack([y, X[:, 5]])
    found = RFE(LinearRegression(), stop=CrossValidation(LinearRegression(), cv=3)).fit(X, Y)
    assert {0, 5} <= set(np.flatnonzero(found.support_))
    assert RFE(LinearRegression(), stop=CrossValidation(cv=3)).fit(X, Y).stop_.curve.max() > 0.5


def test_missing_values_are_imputed_for_the_default_model_alone(problem):
    X, y = problem
    X[::9, 4] = np.nan
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    assert RFE(tree, stop=CrossValidation(cv=3)).fit(X, y).stop_.curve.max() > 0.5
    with pytest.raises(ValueError, match="Input X contains NaN"):
        RFE(tree, stop=CrossValidation(Ridge(), cv=3)).fit(X, y)


@pytest.mark.parametrize(
    "make_cv", [list, lambda folds: PredefinedSplit(np.arange(70) % 3)], ids=["rows", "predefined"]
)
def test_folds_given_as_rows_are_those_of_the_table_that_was_given(problem, make_cv):
    X, y = problem
    weight = np.ones(70)
    weight[[0, 5, 6, 40]] = 0.0
    rows = np.arange(70)
    folds = [(rows[rows % 3 != fold], rows[rows % 3 == fold]) for fold in range(3)]
    found = CorrelationScore(stop=CrossValidation(LinearRegression(), cv=make_cv(folds)))
    found.fit(X, y, sample_weight=weight)
    kept = np.flatnonzero(weight)
    places = [tuple(np.flatnonzero(np.isin(kept, part)) for part in fold) for fold in folds]
    expected = CorrelationScore(stop=CrossValidation(LinearRegression(), cv=places)).fit(X[kept], y[kept])
    np.testing.assert_array_equal(found.stop_.curve, expected.stop_.curve)


def test_folds_in_parallel_give_the_same_answer(problem):
    serial = CorrelationScore(stop=CrossValidation(LinearRegression())).fit(*problem).stop_
    with parallel_config(backend="threading"):
        parallel = CorrelationScore(stop=CrossValidation(LinearRegression(), n_jobs=2)).fit(*problem).stop_
    np.testing.assert_array_equal(serial.curve, parallel.curve)


def test_sparse_tables_and_dictionaries_are_cross_validated_too(problem):
    X, y = problem
    dense, thin = (
        GramSchmidt(stop=CrossValidation(Ridge(tol=1e-12))).fit(table, y) for table in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(dense.stop_.curve, thin.stop_.curve, rtol=1e-6)
    product = X[:, 0] * X[:, 3] + 0.1 * y
    rule = CrossValidation(LinearRegression(), cv=3, n_features=[1, 2, 3])
    found = GramSchmidt(stop=rule, dictionary=Monomials(2)).fit(X, product)
    assert "x0*x3" in found.get_feature_names_out()


def test_a_ranking_without_any_feature_keeps_nothing(problem):
    X, y = problem
    found = FisherScore(threshold=1e6, stop=CrossValidation()).fit(X, (y > 0).astype(int))
    assert found.stop_.n_features == 0
    assert found.stop_.reason
