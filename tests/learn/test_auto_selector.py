"""AutoSelector: what every estimator owes its users, and its own promises."""

import os
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.linear_model import Ridge, RidgeClassifierCV
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import AutoSelector, CorrelationScore
from tamis.base import NothingKeptWarning
from tamis.learn import _race_file
from tamis.learn._portfolio import MODELS
from tamis.learn._race import Race
from tamis.learn._rows_and_target import further_partitions

SMALL = {"rankers": ["fisher"], "models": ["ridge"], "n_bootstraps": 20}
WITHOUT_MODELS = dict.fromkeys([entry.name for entry in MODELS])
LONG = 600.0  # seconds that no test needs, so that time decides nothing


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
@parametrize_with_checks(
    [
        AutoSelector(LONG, task="classification", **SMALL),
        AutoSelector(LONG, task="regression", **SMALL),
        AutoSelector(LONG, **SMALL),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def small(**parameters):
    return AutoSelector(LONG, **{"rankers": ["fisher"], "models": ["ridge", "knn"], "n_bootstraps": 50, **parameters})


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(wine):
    return small(prefer="small").fit(*wine)


def mixed_table(n_samples=160, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n_samples)
    size[3:15] = np.nan
    table = {
        "noise": rng.normal(size=n_samples),
        "size": size,
        "city": rng.choice(["Lyon", "Nice", "Paris"], size=n_samples),
        "street": np.array([f"street {k}" for k in rng.integers(60, size=n_samples)]),
        "day": np.datetime64("2024-01-01") + np.arange(n_samples).astype("timedelta64[D]"),
        "name": np.array([f"person {i}" for i in range(n_samples)]),
    }
    y = np.where(np.nan_to_num(size) + 2.0 * (table["city"] == "Nice") > 0.8, "yes", "no")
    return pd.DataFrame(table), y


def same(one, other):
    assert one.support_.tolist() == other.support_.tolist()
    assert one.estimate_ == other.estimate_
    ours, theirs = dict(one.results_), dict(other.results_)
    for name in set(ours) - {"seconds"}:
        np.testing.assert_equal(ours[name], theirs[name])


def test_what_is_kept_is_what_the_chosen_configuration_keeps(fitted):
    chosen = fitted.results_["chosen"].index(True)
    assert sum(fitted.results_["chosen"]) == 1
    assert fitted.n_features_ == fitted.results_["n_features"][chosen] == fitted.support_.sum()
    assert fitted.get_feature_names_out().tolist() == fitted.feature_names_in_[fitted.support_].tolist()
    assert set(fitted.order_[: fitted.n_features_]) == set(np.flatnonzero(fitted.support_))


def test_estimator_predicts_from_the_columns_that_transform_gives(fitted, wine):
    X, y = wine
    assert np.array_equal(fitted.predict(X), fitted.estimator_.predict(fitted.transform(X)))
    assert fitted.score(X, y) > 0.9


def test_estimate_lies_between_chance_and_the_naive_score(fitted):
    estimate = fitted.estimate_
    assert estimate.metric == "balanced_accuracy"
    assert estimate.chance == pytest.approx(1 / 3)
    assert estimate.chance < estimate.low <= estimate.value <= estimate.high
    assert estimate.n_rows == 178


def test_reason_names_choice_estimate_and_time(fitted):
    for words in (
        "features by fisher",
        "balanced accuracy",
        "by guessing",
        "ran on all folds",
        "s were used",
        "3 classes",
    ):
        assert words in fitted.reason_


def test_results_have_one_row_per_configuration(fitted):
    results = fitted.results_
    assert len(
        set(zip(results["ranker"], results["n_features"], results["scaling"], results["model"], strict=True))
    ) == len(results["ranker"])
    assert "all" in results["ranker"]
    assert set(results["status"]) <= {"complete", "dropped", "failed", "not run"}
    assert isinstance(results.frame(), pd.DataFrame)
    complete = np.array(results["status"]) == "complete"
    assert np.isfinite(np.array(results["score"])[complete]).all()
    assert np.isnan(np.array(results["score"])[~complete]).all()


def test_settings_next_to_the_best_are_tried_too(fitted):
    tried = set(fitted.results_["model"])
    assert "knn (k=5)" in tried
    assert tried & {"knn (k=3)", "knn (k=9)"}


def test_what_is_near_the_best_is_repeated_and_the_rest_keeps_its_score(fitted):
    n_folds, status, score = (np.array(fitted.results_[name]) for name in ("n_folds", "status", "score"))
    assert set(n_folds[status == "complete"]) == {25}
    assert set(n_folds[status == "dropped"]) <= {1, 2, 5, 10, 15, 20}
    assert np.array_equal(np.isfinite(score), n_folds >= 5)


def test_what_was_dropped_is_compared_with_the_best_on_the_same_rows(fitted):
    score, status, near = (np.array(fitted.results_[name]) for name in ("score", "status", "within_one_se"))
    best = score[status == "complete"].max()
    assert (score[np.isfinite(score) & (status == "dropped")] < best).all()
    assert not near[status == "dropped"].any()


def test_score_is_the_mean_over_repeated_partitions_of_the_rows(wine):
    X, y = wine
    selector = small(models=["ridge", "knn"]).fit(X, y)
    results = selector.results_.frame()
    ridge = results[(results.ranker == "all") & (results.model == "ridge") & (results.scaling == "standardized")]
    assert ridge.status.item() == "complete"
    wrong = np.zeros(len(y))
    for seed in range(5):
        pipeline = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-3, 4, 15), class_weight="balanced"))
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        wrong += (cross_val_predict(pipeline, X, y, cv=folds) != y) / 5
    expected = 1 - np.mean([wrong[y == label].mean() for label in np.unique(y)])
    assert ridge.score.item() == pytest.approx(expected, abs=1e-12)
    assert selector.estimate_.n_rows == len(y)


def test_folds_that_are_given_are_not_drawn_anew(wine):
    X, y = wine
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    n_folds = small(cv=folds).fit(X, y).results_["n_folds"]
    assert max(n_folds) == 3


def test_groups_stay_together_in_every_partition():
    y, groups = np.tile([0, 1], 30), np.repeat(np.arange(15), 4)
    for task in ("classification", "regression"):
        partitions = further_partitions(5, 5, y, task, groups, 0)
        assert len({tuple(test.tolist()) for folds in partitions for _, test in folds}) > 5
        for folds in partitions:
            assert sorted(np.concatenate([test for _, test in folds])) == list(range(60))
            assert not any(set(groups[train]) & set(groups[test]) for train, test in folds)


def test_alternatives_keep_other_sets_and_are_within_one_standard_error(fitted):
    kept = set(fitted.get_feature_names_out())
    assert fitted.alternatives_
    for each in fitted.alternatives_:
        assert set(each.features) != kept
        assert len(each.features) == each.n_features


def test_small_keeps_no_more_than_balanced_and_balanced_no_more_than_accurate():
    X, y = load_breast_cancer(return_X_y=True)
    sizes = [small(prefer=prefer).fit(X, y).n_features_ for prefer in ("small", "balanced", "accurate")]
    assert sizes == sorted(sizes)


def test_interchangeable_features_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X = np.column_stack([X, 2.54 * X[:, 0]])
    selector = small(prefer="small").fit(X, X[:, 0] > 0)
    kept = selector.get_feature_names_out()
    assert kept[0] in ("x0", "x5")
    assert selector.groups_[kept[0]] == [{"x0": "x5", "x5": "x0"}[kept[0]]]


def test_summary_has_a_row_per_feature_with_the_kept_ones_first(fitted, wine):
    summary = fitted.summary()
    assert len(summary) == wine[0].shape[1]
    assert summary["kept"].tolist()[: fitted.n_features_] == [True] * fitted.n_features_
    assert summary["stability"][: fitted.n_features_].between(0, 1).all()


def test_mixed_tables_keep_source_columns():
    X, y = mixed_table()
    selector = small(prefer="small").fit(X, y)
    assert {"city", "size"} <= set(selector.get_feature_names_out())
    assert "name" not in selector.get_feature_names_out()
    pd.testing.assert_frame_equal(selector.transform(X), X[selector.get_feature_names_out().tolist()])
    assert selector.score(X, y) > 0.8


def test_levels_that_were_never_seen_are_predicted_too():
    X, y = mixed_table()
    selector = small(prefer="accurate").fit(X, y)
    new = X.head(3).assign(city="Berlin", size=np.nan)
    assert set(selector.predict(new)) <= {"yes", "no"}


def test_tables_of_any_library_give_the_same():
    X, y = mixed_table()
    from_pandas = small().fit(X, y)
    from_polars = small().fit(pl.from_pandas(X), y)
    from_mapping = small().fit({name: X[name].to_numpy() for name in X}, y)
    same(from_pandas, from_polars)
    same(from_pandas, from_mapping)
    assert isinstance(from_polars.transform(pl.from_pandas(X)), pl.DataFrame)


def test_sparse_tables_of_counts_are_selected_from():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = sparse.csr_array(rng.poisson(0.2 + 0.8 * (np.arange(30) < 3) * y[:, None]).astype(float))
    selector = AutoSelector(LONG, rankers=["fisher"], models=["naive-bayes", "ridge"], n_bootstraps=20).fit(X, y)
    assert selector.support_[:3].any()
    assert selector.score(X, y) > 0.7
    assert sparse.issparse(selector.transform(X))


def test_quantities_are_scored_by_r2():
    X, y = load_diabetes(return_X_y=True)
    selector = small().fit(X, y)
    assert (selector.task_, selector.estimate_.metric) == ("regression", "r2")
    assert selector.estimate_.chance == pytest.approx(0.0, abs=1e-9)
    assert 0.3 < selector.estimate_.value < 0.6


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy"])
def test_scoring_may_be_chosen(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    selector = small(models=["ridge"], scoring=scoring).fit(X, y)
    assert selector.estimate_.metric == scoring
    assert selector.score(X, y) > 0.95


@pytest.mark.parametrize("ensemble", [False, True])
def test_other_rows_are_ranked_by_probabilities_where_there_are_no_decision_values(ensemble):
    X, y = load_breast_cancer(return_X_y=True)
    selector = small(models=["knn"], scoring="roc_auc", ensemble=ensemble).fit(X[::2], y[::2])
    assert selector.score(X[1::2], y[1::2]) > 0.9


def test_a_column_of_labels_is_scored_as_labels_and_other_labels_are_refused(fitted, wine):
    X, y = wine
    with pytest.warns(DataConversionWarning):
        assert fitted.score(X, y.to_frame()) == fitted.score(X, y)
    with pytest.raises(ValueError, match="none of the classes of fit"):
        fitted.score(X, y.astype(str))


def test_scores_that_are_no_mean_over_rows_are_refused(wine):
    with pytest.raises(ValueError, match="mean over rows"):
        small(scoring="f1_macro").fit(*wine)
    with pytest.raises(ValueError, match="two classes"):
        small(scoring="roc_auc").fit(*wine)


def test_ensemble_votes_and_keeps_what_any_voter_keeps(wine):
    selector = small(ensemble=True).fit(*wine)
    chosen = np.flatnonzero(selector.results_["chosen"])
    assert chosen.size == 7
    assert selector.n_features_ >= max(selector.results_["n_features"][j] for j in chosen)
    assert "vote" in selector.reason_
    assert selector.score(*wine) > 0.9


def test_of_noise_nothing_is_kept():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 8)), rng.integers(2, size=120)
    with pytest.warns(NothingKeptWarning, match="nothing is kept: no configuration is better than guessing"):
        selector = small().fit(X, y)
    assert selector.n_features_ == 0
    assert selector.estimate_.low <= 0.5 <= selector.estimate_.high
    assert selector.predict(X).shape == (120,)
    with pytest.warns(UserWarning, match="No features"):
        assert selector.transform(X).shape == (120, 0)


def test_without_target_all_features_can_be_recovered_from_those_kept(wine):
    selector = AutoSelector().fit(wine[0])
    assert selector.task_ == "unsupervised"
    assert selector.estimate_.metric == "fit"
    assert selector.estimate_.value > selector.estimate_.chance
    assert "intrinsic dimension" in selector.reason_
    with pytest.raises(AttributeError, match="predict"):
        selector.predict(wine[0])


# the same answer


def test_jobs_do_not_change_the_answer(fitted, wine):
    same(fitted, small(prefer="small", n_jobs=2).fit(*wine))


def test_a_dask_cluster_gives_the_same_answer(fitted, wine):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        parallel_config("dask"),
    ):
        same(fitted, small(prefer="small").fit(*wine))


class Killed(Exception):
    pass


@pytest.mark.parametrize("last", [4, -3])
def test_a_killed_run_goes_on_and_gives_the_same(fitted, wine, tmp_path, monkeypatch, last):
    path = tmp_path / "race.npz"
    monkeypatch.setattr(_race_file.RaceFile, "save_if_due", _race_file.RaceFile.save)
    whole, steps = Race.run, []

    def counted(race):
        for what in whole(race):
            steps.append(what)
            yield what

    monkeypatch.setattr(Race, "run", counted)
    small(prefer="small").fit(*wine)

    def some(race):
        for step, what in enumerate(whole(race)):
            yield what
            if step == range(len(steps))[last]:
                raise Killed

    monkeypatch.setattr(Race, "run", some)
    with pytest.raises(Killed):
        small(prefer="small", checkpoint=path).fit(*wine)
    assert path.exists()
    monkeypatch.setattr(Race, "run", whole)
    with pytest.raises(ValueError, match="belongs to another run"):
        small(prefer="small", models=["ridge"], checkpoint=path).fit(*wine)
    resumed = small(prefer="small", checkpoint=path).fit(*wine)
    same(fitted, resumed)
    assert not path.exists()


def test_a_damaged_checkpoint_is_refused(wine, tmp_path):
    path = tmp_path / "race.npz"
    path.write_bytes(os.urandom(500))
    with pytest.raises(ValueError, match="remove it first"):
        small(checkpoint=path).fit(*wine)
    assert path.exists()


def test_a_fitted_selector_can_be_pickled(fitted, wine):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(wine[0]), fitted.predict(wine[0]))


def test_ctrl_c_decides_by_what_is_finished(wine, monkeypatch):
    whole = Race.run

    def interrupted(race):
        for what in whole(race):
            yield what
            if race.complete():
                raise KeyboardInterrupt

    monkeypatch.setattr(Race, "run", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        selector = small().fit(*wine)
    assert selector.n_features_ > 0
    assert set(selector.results_["ranker"]) == {"all"}


def test_with_hardly_any_time_the_cheapest_configuration_is_run(wine):
    selector = small(n_bootstraps=10).set_params(time_budget=1e-6).fit(*wine)
    assert selector.results_["status"].count("complete") == 1
    assert "raise time_budget" in selector.reason_


# where two classes part


def rare_class(n_samples=400, seed=0):
    """One row of ten is of the second class; models of many columns with few rows place its border badly."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 10 == 0, "rare", "usual")
    X = rng.normal(size=(n_samples, 1500))
    X[y == "rare", :100] += 0.3
    return X, y


def test_a_rare_class_is_parted_where_both_count_alike_and_not_where_the_model_does():
    (X, y), (others, labels) = rare_class(), rare_class(seed=1)
    given = {"rankers": ["all"], "models": ["linear-svm"], "prefer": "accurate"}
    selector = AutoSelector(LONG, **given, n_bootstraps=200).fit(X, y)
    reached = selector.score(others, labels)
    assert reached == pytest.approx(balanced_accuracy_score(labels, selector.predict(others)))
    inner = selector.estimator_[-1]
    assert inner.pos_label == "usual" == selector.classes_[1]
    own = np.where(selector.decision_function(others) > 0, "usual", "rare")
    assert reached > balanced_accuracy_score(labels, own) + 0.05
    assert selector.estimate_.low < reached < selector.estimate_.high


def test_probabilities_are_parted_too_and_models_without_either_by_themselves():
    X, y = rare_class()
    silent = VotingClassifier([("near", KNeighborsClassifier(1)), ("mean", NearestCentroid())])
    for model, has_threshold in ((KNeighborsClassifier(15), True), (silent, False)):
        selector = AutoSelector(LONG, rankers=["fisher"], models=WITHOUT_MODELS | {"mine": model}, n_bootstraps=50)
        selector.fit(X, y)
        assert isinstance(selector.estimator_[-1], FixedThresholdClassifier) is has_threshold
        assert set(selector.predict(X)) <= {"rare", "usual"}
        assert selector.estimate_.value > 0.6


# what is open


def test_rankers_and_models_can_be_added_and_removed(wine):
    rankers = {"rfe": None, "forest": None, "relief": None, "l1": None, "fisher": None, "mine": CorrelationScore()}
    models = dict.fromkeys(("naive-bayes", "logistic", "linear-svm", "rbf-svm", "boosting", "knn"))
    selector = small(rankers=rankers, models={**models, "one": KNeighborsClassifier(1)}).fit(*wine)
    assert set(selector.results_["ranker"]) == {"all", "mine"}
    assert set(selector.results_["model"]) == {"ridge", "one"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rankers": ["fischer"]}, "did you mean 'fisher'"),
        ({"models": ["rigde"]}, "did you mean 'ridge'"),
        ({"models": {"mine": KNeighborsClassifier}}, "must be an instance"),
        ({"models": []}, "leaves no model"),
        ({"rankers": 3}, "must be"),
    ],
)
def test_unknown_names_are_refused_with_a_hint(wine, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        small(**parameters).fit(*wine)


def test_a_configuration_that_fails_does_not_harm_the_others(wine):
    class Broken(KNeighborsClassifier):
        def fit(self, X, y):
            raise RuntimeError("broken on purpose")

    selector = small(models={"ridge": None, "broken": Broken(), "rbf-svm": None}).fit(*wine)
    status = dict(zip(selector.results_["model"], selector.results_["status"], strict=True))
    assert status["broken"] == "failed"
    assert "broken on purpose" in "".join(selector.results_["error"])


def test_one_class_and_too_few_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="one class only"):
        small(task="classification").fit(X, np.zeros(20, dtype=int))
    with pytest.raises(ValueError, match="fewer than cv=5"):
        small().fit(X[:4], [0, 1, 0, 1])


def test_targets_whose_squares_are_lost_and_folds_without_rows_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 3))
    for unit in (1e200, 1e-200):
        with pytest.raises(ValueError, match="other units"):
            small().fit(X, X[:, 0] * unit)
    with pytest.raises(ValueError, match="give other folds"):
        small(cv=[]).fit(X, X[:, 0])


def test_folds_given_as_rows_must_be_rows_of_the_table_that_are_not_in_both_parts():
    X, rows = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40)
    with pytest.raises(ValueError, match="cv tests on row 5"):
        small(cv=[(rows, rows[5:])]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="they are 0 to 39"):
        small(cv=[(rows[:20], rows + 20)]).fit(X, X[:, 0])
    halves = [(rows < 20, rows >= 20), (rows >= 20, rows < 20)]
    same(small(cv=halves).fit(X, X[:, 0]), small(cv=[(rows[:20], rows[20:]), (rows[20:], rows[:20])]).fit(X, X[:, 0]))


def test_groups_of_one_class_each_leave_nothing_to_estimate():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.repeat([0, 1], 30)
    with pytest.warns(NothingKeptWarning, match="too few rows, or groups of rows"):
        assert small().fit(X, y, row_groups=y).n_features_ == 0


def test_rare_classes_lower_the_number_of_folds(wine):
    X, y = wine
    rows = np.r_[0:59, 59:100, 130:133]
    selector = small().fit(X.iloc[rows], y.iloc[rows])
    assert "3 folds instead of 5" in selector.reason_


def test_groups_of_rows_go_with_tables_given_as_mappings():
    rng = np.random.default_rng(0)
    table = {f"x{j}": rng.normal(size=60) for j in range(4)}
    groups, y = np.arange(60) // 4, rng.integers(2, size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingKeptWarning)
        assert small().fit(table, y, row_groups=groups).estimate_.n_rows == 60
    with pytest.raises(ValueError, match="X has 60 rows, but row_groups has 3"):
        small().fit(table, y, row_groups=[1, 2, 3])


def test_models_that_explain_something_else_are_refused(wine):
    with pytest.raises(ValueError, match=r"models\['mine'\]=Ridge\(\) is no classifier, and y was taken as classes"):
        small(models={"mine": Ridge()}).fit(*wine)
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\(\) is no regressor, and y was taken as a quantity"):
        small(models={"mine": KNeighborsClassifier()}).fit(X, y)


def test_a_target_that_looks_like_counts_is_told_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    counts = rng.poisson(np.exp(1.0 + 0.5 * X[:, 0]))
    with pytest.warns(UserWarning, match="look like counts or ratings: give task='regression'"):
        small().fit(X[counts < 9], counts[counts < 9])


def test_arrays_are_predicted_by_what_was_fitted_to_a_frame(wine):
    X, y = wine
    selector = small(prefer="small").fit(X, y)
    with pytest.warns(UserWarning, match="feature names"):
        predicted = selector.predict(X.to_numpy())
    assert np.array_equal(predicted, selector.predict(X))


def test_votes_of_classes_have_shares_and_those_of_two_order_rows(wine):
    X, y = wine
    shares = small(ensemble=True).fit(X, y).predict_proba(X)
    assert shares.shape == (178, 3)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    two = (y == 1).to_numpy().astype(int)
    selector = small(ensemble=True, scoring="roc_auc").fit(X, two)
    assert roc_auc_score(two, selector.decision_function(X)) == pytest.approx(selector.score(X, two))


def test_votes_on_sorted_noise_are_not_better_than_guessing():
    X = np.random.default_rng(0).normal(size=(120, 20))
    selector = AutoSelector(
        LONG, ensemble=True, scoring="roc_auc", rankers=["fisher"], models=WITHOUT_MODELS | {"same": DummyClassifier()}
    )
    with pytest.warns(NothingKeptWarning):
        selector.fit(X, np.repeat([0, 1], 60))
    assert selector.estimate_.value == pytest.approx(0.5, abs=0.05)


def test_groups_of_rows_stay_together():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 6)
    of_person = rng.normal(size=(30, 40))[person]
    X = of_person + 0.01 * rng.normal(size=(180, 40))
    y = rng.integers(2, size=30)[person]  # nothing but who it is tells y
    selector = small(models=["knn"])
    assert selector.fit(X, y).estimate_.naive > 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingKeptWarning)
        assert selector.fit(X, y, row_groups=person).estimate_.naive < 0.9
        assert small(models=["knn"], cv=GroupKFold(3)).fit(X, y, row_groups=person).estimate_.naive < 0.9


def test_cross_val_score_judges_it_from_outside(wine):
    assert cross_val_score(small(task="classification"), *wine, cv=2).mean() > 0.85
