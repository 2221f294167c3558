"""Importance in any model: weights, impurities, held-out permutation, contributions."""

import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tamis import ModelImportance
from tamis.rank.model import _permutation_drops as drops
from tamis.rank.model._model_steps import names_columns
from tamis.rank.model._model_weights import contributions_of
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles import model_importance as oracle


def table(n=90, d=6, task="two", seed=0):
    """The first two columns tell the target."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 5, d) + rng.uniform(-3, 3, d)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = 2 * Z[:, 0] - 1.5 * Z[:, 1] + 0.3 * rng.standard_normal(n)
    if task == "regression":
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, [0.5] if task == "two" else [0.33, 0.66]))


BOOSTED = {
    "lightgbm": lambda kind: getattr(lightgbm, f"LGBM{kind}")(
        n_estimators=8, min_child_samples=5, verbose=-1, n_jobs=1
    ),
    "xgboost": lambda kind: getattr(xgboost, f"XGB{kind}")(n_estimators=8, n_jobs=1),
    "catboost": lambda kind: getattr(catboost, f"CatBoost{kind}")(
        iterations=8, verbose=0, allow_writing_files=False, thread_count=1
    ),
}


def raw_outputs(library, model, X):
    if library == "lightgbm":
        return model.predict(X, raw_score=True)
    if library == "xgboost":
        return model.predict(X, output_margin=True)
    return model.predict(X, prediction_type="RawFormulaVal")


@pytest.mark.parametrize("library", BOOSTED)
@pytest.mark.parametrize("task", ["regression", "two", "three"])
def test_contributions_of_boosted_trees_sum_to_the_raw_prediction_but_for_a_constant(library, task):
    X, y = table(task=task)
    model = BOOSTED[library]("Regressor" if task == "regression" else "Classifier").fit(X[:60], y[:60])
    added = contributions_of(model, X[:60], None)(X[60:])
    outputs = np.asarray(raw_outputs(library, model, X[60:])).reshape(30, -1)
    assert added.shape == (30, outputs.shape[1], 6)
    rest = outputs - added.sum(axis=2)
    np.testing.assert_allclose(rest - rest[0], 0, atol=1e-5)


@pytest.mark.parametrize("library", BOOSTED)
def test_boosted_trees_are_asked_for_contributions_and_find_what_matters(library):
    X, y = table(task="three")
    labels = np.array(["ant", "mole", "zebra"])[y]  # XGBoost itself takes no labels
    found = ModelImportance(BOOSTED[library]("Classifier"), stop=2, cv=3, random_state=0).fit(X, labels)
    assert found.importance_ == "contributions"
    assert set(found.order_[:2]) == {0, 1}


def test_contributions_behind_a_scaler_are_those_of_the_scaled_columns():
    X, y = table()
    scaled = StandardScaler().fit_transform(X)
    model = make_pipeline(StandardScaler(), BOOSTED["lightgbm"]("Classifier")).fit(X, y)
    np.testing.assert_array_equal(
        contributions_of(model, X, None)(X), contributions_of(model[-1], scaled, None)(scaled)
    )


def test_boosted_trees_that_stopped_early_are_asked_for_the_trees_they_predict_with():
    X, y = table(200)
    model = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], verbose=False)
    assert model.best_iteration < 59
    rest = model.predict(X, output_margin=True) - contributions_of(model, X, None)(X).sum(axis=(1, 2))
    np.testing.assert_allclose(rest - rest[0], 0, atol=1e-5)


def test_coef_is_the_weight_per_standard_deviation_whatever_the_units():
    X, y = table(task="regression")
    found = ModelImportance(LinearRegression(), stop=None).fit(X, y)
    assert found.importance_ == "coef"
    np.testing.assert_allclose(found.scores_, np.abs(LinearRegression().fit(X, y).coef_) * X.std(axis=0))
    scaled = ModelImportance(make_pipeline(StandardScaler(), LinearRegression()), stop=None).fit(X, y)
    np.testing.assert_allclose(scaled.scores_, found.scores_)
    again = ModelImportance(LinearRegression(), stop=None).fit(X * [1, 10, 0.1, 1, 1, 1e3], y)
    np.testing.assert_allclose(again.scores_, found.scores_)


def test_weights_of_several_outputs_count_by_their_norm():
    X, y = table(task="three")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    expected = np.linalg.norm(clone(model).fit(X, y)[-1].coef_, axis=0)
    np.testing.assert_allclose(ModelImportance(model, stop=None).fit(X, y).scores_, expected, rtol=1e-4)
    Y = np.column_stack([X[:, 0] - X[:, 1], X[:, 2]])
    expected = np.linalg.norm(Ridge().fit(X, Y).coef_, axis=0) * X.std(axis=0)
    np.testing.assert_allclose(ModelImportance(Ridge(), stop=None).fit(X, Y).scores_, expected)


@pytest.mark.parametrize("groups", [None, [0, 0, 1, 1, 2, 2]])
def test_contributions_of_linear_models_are_those_of_the_oracle(groups):
    X, y = table(task="regression")
    members = [[j] for j in range(6)] if groups is None else [[0, 1], [2, 3], [4, 5]]
    folds = list(KFold(3).split(X))
    found = ModelImportance(
        make_pipeline(StandardScaler(), Ridge()), importance="contributions", stop=None, cv=folds, groups=groups
    ).fit(X, y)
    expected = []
    for train, test in folds:
        scaler = StandardScaler().fit(X[train])
        weights = Ridge().fit(scaler.transform(X[train]), y[train]).coef_
        seen, unseen = scaler.transform(X[train]), scaler.transform(X[test])
        expected.append(oracle.linear_contributions(weights, seen, unseen, members))
    expected = np.mean(expected, axis=0)
    np.testing.assert_allclose(found.scores_, expected if groups is None else expected[groups])


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc"])
def test_permutation_drops_are_those_of_one_prediction_at_a_time(scoring, monkeypatch):
    X, y = table()
    model = GaussianNB().fit(X[:60], y[:60])
    permutations = np.array([np.random.RandomState(seed).permutation(30) for seed in range(3)])
    members = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])]
    expected = oracle.permutation_drops(model, X[60:], y[60:], members, permutations, scoring)
    for entries in (1, 1000, 2**22):
        monkeypatch.setattr(drops, "_ENTRIES", entries)
        found = drops.permutation_drops(model, X[60:], y[60:], members, permutations, scoring)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_permutation_drops_are_those_of_scikit_learn_where_the_permutation_is_the_same():
    X, y = table(task="regression")
    model = KNeighborsRegressor().fit(X[:60], y[:60])
    theirs = permutation_importance(model, X[60:], y[60:], n_repeats=1, random_state=0, scoring="r2")
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max + 1)
    rows = np.arange(30)
    np.random.RandomState(seed).shuffle(rows)
    found = drops.permutation_drops(model, X[60:], y[60:], [np.array([j]) for j in range(6)], rows[None], "r2")
    np.testing.assert_allclose(found, theirs.importances_mean, atol=1e-12)


def test_drops_of_sparse_tables_are_those_of_dense_ones():
    X, y = table()
    X = np.where(np.random.RandomState(1).rand(*X.shape) < 0.6, 0.0, X)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    permutations = np.array([np.random.RandomState(seed).permutation(len(y)) for seed in range(2)])
    members = [np.array([0, 3]), np.array([1])]
    dense = drops.permutation_drops(model, X, y, members, permutations)
    np.testing.assert_allclose(
        drops.permutation_drops(model, sparse.csr_array(X), y, members, permutations), dense, atol=1e-12
    )


@pytest.mark.parametrize("importance", ["coef", "permutation", "contributions"])
def test_a_sparse_table_gives_what_the_dense_one_gives(importance):
    X, y = table(task="regression")
    X = np.where(np.random.RandomState(1).rand(*X.shape) < 0.5, 0.0, X)
    ranker = ModelImportance(Ridge(solver="lsqr", tol=1e-12), importance=importance, stop=None, random_state=0)
    dense, found = clone(ranker).fit(X, y), clone(ranker).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(found.scores_, dense.scores_, rtol=1e-6)


def test_a_custom_scorer_that_looks_at_the_table_sees_the_permuted_one():
    X, y = table(task="regression")
    model = LinearRegression().fit(X, y)

    def scorer(model, X, y):
        return -float(np.mean((model.predict(X[:, :]) - y) ** 2))

    permutations = np.random.RandomState(0).permutation(len(y))[None]
    members = [np.array([j]) for j in range(6)]
    expected = oracle.permutation_drops(model, X, y, members, permutations, "neg_mean_squared_error")
    np.testing.assert_allclose(drops.permutation_drops(model, X, y, members, permutations, scorer), expected)


def test_the_default_score_is_the_brier_score_where_there_are_probabilities():
    X, y = table(task="three")
    model = KNeighborsClassifier().fit(X, y)
    errors = [np.sum((p - (np.arange(3) == label)) ** 2) for p, label in zip(model.predict_proba(X), y, strict=True)]
    assert drops.default_scorer(model, y)(model, X, y) == pytest.approx(-np.mean(errors))
    machine = SVC().fit(X, y)
    assert drops.default_scorer(machine, y)(machine, X, y) == pytest.approx(machine.score(X, y))


def test_columns_of_a_group_that_only_matter_together_are_permuted_together():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((150, 5))
    y = X[:, 0] + X[:, 1]
    X = np.column_stack([X, X[:, 0] + 1e-3 * rng.standard_normal(150)])  # nearly a copy stands in for the first
    model = KNeighborsRegressor()
    found = ModelImportance(model, groups=["a", "b", "c", "d", "e", "a"], stop=None, random_state=0).fit(X, y)
    assert found.importance_ == "permutation"
    assert set(found.group_order_[:2]) == {"a", "b"}


def test_a_pipeline_that_moves_columns_is_permuted_at_its_input():
    X, y = table(150)
    model = make_pipeline(StandardScaler(), PCA(5), LogisticRegression())
    found = ModelImportance(model, stop=2, random_state=0).fit(X, y)
    assert found.importance_ == "permutation"
    assert set(found.order_[:2]) == {0, 1}
    for importance in ("coef", "impurity", "contributions"):
        with pytest.raises(ValueError, match=f"importance='{importance}'.*PCA.*use importance='permutation'"):
            ModelImportance(model, importance=importance).fit(X, y)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (None, "impurity"),
        (RandomForestClassifier(5), "impurity"),
        (DecisionTreeClassifier(), "impurity"),
        (make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), "coef"),
        (make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()), "permutation"),
        (make_pipeline("passthrough", DecisionTreeClassifier()), "impurity"),
        (GridSearchCV(make_pipeline(StandardScaler(), SVC(kernel="linear")), {"svc__C": [0.1, 1.0]}, cv=2), "coef"),
        (SVC(), "permutation"),
        (GaussianNB(), "permutation"),
        (BOOSTED["lightgbm"]("Classifier"), "contributions"),
        (make_pipeline(PCA(3), BOOSTED["lightgbm"]("Classifier")), "permutation"),
    ],
)
def test_auto_takes_what_the_model_tells_itself(model, kind):
    X, y = table()
    found = ModelImportance(model, stop=2, cv=2, n_repeats=2, random_state=0).fit(X, y)
    assert found.importance_ == kind


def test_only_held_out_permutation_needs_no_correction_for_the_kind_of_columns():
    X, y = table()
    assert ModelImportance(stop=1, random_state=0).fit(X, y).has_biased_scores()
    assert not ModelImportance(GaussianNB(), stop=1, random_state=0).fit(X, y).has_biased_scores()
    assert not ModelImportance(importance="permutation").has_biased_scores()


@pytest.mark.parametrize("importance", ["impurity", "permutation"])
def test_missing_values_go_to_a_model_that_takes_them(importance):
    X, y = table(150)
    X[::7, 0] = np.nan
    model = RandomForestClassifier(20) if importance == "impurity" else HistGradientBoostingClassifier(max_iter=10)
    found = ModelImportance(model, importance=importance, stop=2, random_state=0).fit(X, y)
    assert set(found.order_[:2]) == {0, 1}
    with pytest.raises(ValueError, match=r"x0.*missing|missing.*x0|column 0"):
        ModelImportance(KNeighborsClassifier()).fit(X, y)


def test_a_value_may_be_missing_in_every_column():
    X, y = table(150)
    X[np.arange(6), np.arange(6)] = np.nan
    found = ModelImportance(HistGradientBoostingClassifier(max_iter=10), stop=2, random_state=0).fit(X, y)
    assert set(found.order_[:2]) == {0, 1}


def test_columns_that_are_missing_alike_and_equal_where_known_are_copies():
    X, y = table(150)
    X[::7, 0] = np.nan
    found = ModelImportance(HistGradientBoostingClassifier(max_iter=10), stop=None, random_state=0)
    found.fit(np.column_stack([X, X[:, 0]]), y)
    assert found.scores_[0] == found.scores_[6] > 0


def test_weights_are_repeated_rows_for_models_of_all_rows():
    X, y = table(task="regression")
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    ranker = ModelImportance(make_pipeline(StandardScaler(), Ridge()), stop=None)
    by_weight, by_rows = clone(ranker).fit(X, y, weight), clone(ranker).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.scores_, by_rows.scores_)


@pytest.mark.parametrize("importance", ["contributions", "permutation"])
def test_rows_of_weight_zero_do_not_count(importance):
    X, y = table(task="regression")
    weight = np.ones(len(y))
    weight[::9] = 0
    ranker = ModelImportance(Ridge(), importance=importance, stop=None, random_state=0)
    full = clone(ranker).fit(X, np.where(weight > 0, y, 1e6), weight)
    rest = clone(ranker).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(full.scores_, rest.scores_, rtol=1e-6)


def test_a_callable_is_asked_on_held_out_rows():
    X, y = table(task="regression")
    seen = []

    def importance(model, table, target):
        seen.append(len(target))
        return np.abs(model.coef_)

    found = ModelImportance(Ridge(), importance=importance, cv=KFold(3), stop=None).fit(X, y)
    assert seen == [30, 30, 30]
    assert found.importance_ == "callable"
    expected = np.mean([np.abs(Ridge().fit(X[train], y[train]).coef_) for train, _ in KFold(3).split(X)], axis=0)
    np.testing.assert_allclose(found.scores_, expected)
    with pytest.raises(ValueError, match=r"shape \(\), but one finite score for each of 6"):
        ModelImportance(Ridge(), importance=lambda model, table, target: 1.0).fit(X, y)


def test_rows_of_a_group_are_never_on_both_sides():
    X, y = table(task="regression")
    labels = np.arange(len(y)) // 15
    sides = []

    def importance(model, table, target):
        sides.append(set(labels[np.isin(y, target)]))
        return np.ones(table.shape[1])

    ModelImportance(Ridge(), importance=importance, cv=3, stop=None).fit(X, y, row_groups=labels)
    assert sum(map(len, sides)) == 6
    with pytest.raises(ValueError, match="row_groups"):
        ModelImportance(Ridge(), importance="permutation", cv=GroupKFold(2), stop=None).fit(X, y)


def test_a_model_that_was_fitted_before_stays_as_it_is_and_is_refused_by_probes():
    X, y = table(task="regression")
    frozen = FrozenEstimator(LinearRegression().fit(X[:40], y[:40]))
    found = ModelImportance(frozen, stop=2).fit(X, y)
    np.testing.assert_allclose(found.scores_, np.abs(frozen.coef_) * X.std(axis=0))
    with pytest.raises(ValueError, match="FrozenEstimator names columns by their places, or was fitted before"):
        ModelImportance(frozen).fit(X, y)


def test_a_model_that_was_fitted_on_the_columns_in_another_order_is_refused():
    X, y = table()
    X = pd.DataFrame(X, columns=list("abcdef"))
    frozen = FrozenEstimator(LogisticRegression(max_iter=1000).fit(X, y))
    assert ModelImportance(frozen, stop=2).fit(X, y).support_[:2].all()
    with pytest.raises(ValueError, match="in this order"):
        ModelImportance(frozen, stop=2).fit(X[list("fedcba")], y)


def test_constraints_on_places_given_as_text_keep_columns_there():
    for value, named in (("(1,0,0)", True), ("[[0, 1]]", True), ("", False)):
        assert names_columns(xgboost.XGBRegressor(monotone_constraints=value)) is named
    assert not names_columns(HistGradientBoostingClassifier(interaction_cst="pairwise"))


@pytest.mark.parametrize("importance", ["contributions", "permutation", "impurity"])
@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
def test_libraries_that_know_no_sparse_arrays_are_given_matrices(library, importance):
    X = np.random.RandomState(0).standard_normal((200, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X = sparse.csr_array(X * (np.abs(X) > 0.5))
    found = ModelImportance(BOOSTED[library]("Classifier"), stop=2, importance=importance, random_state=0).fit(X, y)
    assert found.scores_[:2].min() > found.scores_[2:].max()


def test_a_stack_of_models_predicts_once_it_is_fitted():
    X, y = table()
    stack = StackingClassifier([("bayes", GaussianNB())], final_estimator=None)
    assert ModelImportance(stack, stop=2, random_state=0).fit(X, y).importance_ == "permutation"


def test_what_a_model_cannot_do_is_said_in_its_own_name():
    X, y = table()
    with pytest.raises(ValueError, match=r"StandardScaler\(\) has no predict"):
        ModelImportance(StandardScaler(), stop=2).fit(X, y)
    with pytest.raises(ValueError, match=r"neg_log_loss.*estimator=SVC"):
        ModelImportance(SVC(), scoring="neg_log_loss", stop=2).fit(X, y)
    with pytest.raises(ValueError, match="y holds labels"):
        ModelImportance(Ridge(), stop=2).fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(ValueError, match="one finite score for each"):
        ModelImportance(Ridge(), importance=lambda model, X, y: ["a"] * 6, stop=2).fit(X, X[:, 0])


def test_columns_named_by_their_places_stay_there():
    X, y = table(150)
    model = make_pipeline(ColumnTransformer([("few", StandardScaler(), [1, 4])]), LogisticRegression())
    found = ModelImportance(model, stop=1, random_state=0).fit(X, y)
    assert found.order_[0] == 1
    np.testing.assert_array_equal(found.scores_[[0, 2, 3, 5]], 0)
    rule = CrossValidation(LogisticRegression(max_iter=1000), cv=3)
    assert ModelImportance(model, stop=rule, random_state=0).fit(X, y).support_[1]
    with pytest.raises(ValueError, match="names columns by their places"):
        ModelImportance(model).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": RandomForestClassifier(5), "task": "regression"}, "task='regression', but estimator="),
        ({"estimator": GaussianNB(), "importance": "coef"}, "has no coef_ after fit; use importance='permutation'"),
        ({"estimator": GaussianNB(), "importance": "impurity"}, "has no feature_importances_ after fit"),
        ({"estimator": GaussianNB(), "importance": "contributions"}, "LightGBM, XGBoost and CatBoost"),
        ({"estimator": 3}, "estimator"),
        ({"importance": "shap"}, "importance"),
        ({"n_repeats": 0}, "n_repeats"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(parameters, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        ModelImportance(**parameters).fit(X, y)


def test_a_class_of_a_single_row_cannot_be_held_out():
    X, y = table()
    y = np.where(np.arange(len(y)) == 0, 7, y)
    with pytest.raises(ValueError, match="a class of y has a single row"):
        ModelImportance(GaussianNB(), stop=1).fit(X, y)


def test_a_model_that_does_not_converge_says_so():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="LogisticRegression did not converge when ModelImportance fitted it"):
        found = ModelImportance(LogisticRegression(max_iter=1), stop=1).fit(X, y)
    assert not found.certificate_["converged"]


def test_a_target_of_several_columns_goes_to_a_forest():
    X, y = table(task="regression")
    Y = np.column_stack([y, X[:, 3]])
    for importance in ("impurity", "permutation"):
        found = ModelImportance(RandomForestRegressor(20), importance=importance, stop=3, random_state=0).fit(X, Y)
        assert set(found.order_[:3]) == {0, 1, 3}


def test_draws_are_cheaper_and_seeded_anew():
    X, y = table()
    ranker = ModelImportance(RandomForestClassifier(100, random_state=3), n_repeats=5).fit(X, y)
    drawn = ranker.for_draws()
    assert drawn.estimator.n_estimators == 40
    assert drawn.estimator.random_state is None
    assert (drawn.n_repeats, drawn.cv, drawn.importance) == (1, 3, "impurity")
    assert ModelImportance(RandomForestClassifier(9), cv=4).for_draws().get_params()["estimator__n_estimators"] == 9
    assert ModelImportance(task="regression").for_draws().estimator.n_estimators == 40


@pytest.mark.parametrize(
    "ranker",
    [
        ModelImportance(RandomForestClassifier(10)),
        ModelImportance(make_pipeline(StandardScaler(), LogisticRegression(C=0.1))),
        ModelImportance(GaussianNB(), importance="permutation"),
        ModelImportance(make_pipeline(StandardScaler(), LogisticRegression()), importance="contributions"),
    ],
    ids=["impurity", "coef", "permutation", "contributions"],
)
def test_noise_is_kept_no_more_often_than_the_risk_whatever_the_importance(ranker):
    n_tables, n_wrong = 40, 0
    for seed in range(n_tables):
        rng = np.random.RandomState(seed)
        X = np.column_stack([rng.standard_normal((40, 5)), rng.randint(0, 2, (40, 3)), rng.standard_cauchy((40, 2))])
        y = rng.permutation(np.arange(40) % 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = clone(ranker).set_params(stop=MonteCarloProbe(0.2, n_draws=4), random_state=seed).fit(X, y)
        n_wrong += found.n_features_ > 0
    assert n_wrong <= 0.2 * n_tables + 2 * np.sqrt(n_tables * 0.2 * 0.8)


@pytest.mark.parametrize("model", [Ridge(), KNeighborsRegressor(3), RandomForestRegressor(4)], ids=repr)
@settings(deadline=None, max_examples=8, derandomize=True)
@given(seed=st.integers(0, 2**31 - 1), d=st.integers(2, 6), data=st.data())
def test_permuting_columns_and_adding_copies_changes_no_score(model, seed, d, data):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((24, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(24)
    place = np.array(data.draw(st.permutations(range(d))))
    copied = data.draw(st.integers(0, d - 1))
    ranker = ModelImportance(model, stop=None, cv=2, n_repeats=2, random_state=0)
    plain = clone(ranker).fit(X, y)
    moved = clone(ranker).fit(np.column_stack([X[:, place], X[:, copied], np.ones(24)]), y)
    np.testing.assert_allclose(moved.scores_[:d], plain.scores_[place], rtol=1e-9, atol=1e-12)
    assert moved.scores_[d] == moved.scores_[list(place).index(copied)]
    assert np.isnan(moved.scores_[d + 1])
