"""Criteria are found by name, say what they need, and judge the rows that they should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier

from tamis.assess._clusters import cluster_samples
from tamis.assess._criteria import (
    Criterion,
    assign_evaluation,
    check_target,
    criterion_names,
    judge,
    resolve_criteria,
    split_rows,
)
from tamis.assess._fit import fit_score
from tamis.assess._knn import knn_accuracy
from tamis.assess._labels import clustering_accuracy, normalized_mutual_info, purity

X, Y = load_iris(return_X_y=True)
KEPT = np.array([1, 3])
TRAIN, TEST = np.arange(0, 150, 2), np.arange(1, 150, 2)
LABELINGS = {
    "clustering_accuracy": clustering_accuracy,
    "purity": purity,
    "normalized_mutual_info": normalized_mutual_info,
}


def named(name: str) -> Criterion:
    return resolve_criteria(name, task="classification")[0]


def value_of(criterion: Criterion, *, held_out: bool = False) -> float:
    rows = (X[TRAIN], Y[TRAIN], X[TEST], Y[TEST]) if held_out else (X, Y, None, None)
    value, error = judge(criterion, KEPT, *rows)
    assert error == ""
    return value


def test_every_name_judges_and_says_on_which_rows():
    for name in criterion_names():
        criterion = named(name)
        assert criterion.name == name
        assert 0 <= value_of(criterion, held_out=criterion.held_out) <= 1


def test_in_sample_names_are_leave_one_out_over_all_rows():
    assert value_of(named("fit")) == fit_score(X, KEPT)
    assert value_of(named("fit-thesis")) == fit_score(X, KEPT, mode="thesis") > fit_score(X, KEPT)
    assert value_of(named("knn_accuracy")) == knn_accuracy(X, Y, KEPT)


def test_held_out_names_judge_test_rows_by_their_neighbors_among_the_training_rows():
    scale = X[TRAIN][:, KEPT].std(axis=0)
    near = KNeighborsClassifier(1).fit(X[TRAIN][:, KEPT] / scale, Y[TRAIN])
    accuracy = near.score(X[TEST][:, KEPT] / scale, Y[TEST])
    assert value_of(named("knn_accuracy-held-out"), held_out=True) == pytest.approx(accuracy, abs=1 / TEST.size)
    assert value_of(named("fit-held-out"), held_out=True) == fit_score(X[TRAIN], KEPT, X_test=X[TEST])


@pytest.mark.parametrize("name", LABELINGS)
def test_a_clustering_figure_is_the_mean_over_starts(name):
    values = [
        LABELINGS[name](Y, cluster_samples(X, KEPT, n_clusters=3, n_init=1, random_state=start)) for start in range(10)
    ]
    assert value_of(named(name)) == pytest.approx(np.mean(values))


def test_clusters_of_rows_that_coincide_are_judged_without_a_warning():
    flat = np.repeat([[0.0], [1.0]], 6, axis=0)
    value, error = judge(named("purity"), np.array([0]), flat, np.arange(12) % 3, None, None)
    assert error == ""
    assert value == pytest.approx(1 / 3)


def test_the_balanced_error_rate_is_an_error_of_a_model_of_the_training_rows():
    criterion = named("balanced_error_rate")
    assert not criterion.higher_is_better
    assert value_of(criterion, held_out=True) < 0.2
    shuffled = np.random.RandomState(0).permutation(Y[TRAIN])
    rate, _ = judge(criterion, KEPT, X[TRAIN], shuffled, X[TEST], Y[TEST])
    assert rate > 0.4
    constant = 1 - balanced_accuracy_score(Y[TEST], np.zeros(TEST.size))
    assert constant == pytest.approx(2 / 3)


def test_without_metrics_labels_decide():
    assert [each.name for each in resolve_criteria(None, task="classification")] == ["fit", "knn_accuracy"]
    assert [each.name for each in resolve_criteria(None, task=None)] == ["fit"]


def test_functions_and_criteria_may_be_mixed_with_names():
    def breadth(X, y, support):
        return support.size

    own = Criterion("own", breadth, higher_is_better=False)
    assert [each.name for each in resolve_criteria(["fit", own, breadth], task=None)] == ["fit", "own", "breadth"]
    assert resolve_criteria(breadth, task=None)[0].function is breadth


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("accuracy", "metric 'accuracy' is unknown; choose among balanced_error_rate, clustering_accuracy"),
        ([], "metrics is empty"),
        (["fit", "fit"], "metrics holds 'fit' more than once"),
        ([3], "metric 3 is unknown"),
    ],
)
def test_bad_metrics_are_refused(metrics, message):
    with pytest.raises(ValueError, match=message):
        resolve_criteria(metrics, task="classification")


def test_all_lines_are_judged_held_out_once_a_ranker_is_supervised():
    criteria = resolve_criteria(["fit", "purity", "balanced_error_rate"], task="classification")
    both = assign_evaluation(criteria, "auto", [])
    assert {kind: [each.name for each in group] for kind, group in both.items()} == {
        "in-sample": ["fit", "purity"],
        "held-out": ["balanced_error_rate"],
    }
    for evaluation, supervised in (("auto", ["FisherScore"]), ("held-out", [])):
        [(kind, group)] = assign_evaluation(criteria, evaluation, supervised).items()
        assert kind == "held-out"
        assert [each.name for each in group] == ["fit", "purity", "balanced_error_rate"]
        assert group[0].function is named("fit-held-out").function
        assert value_of(group[0], held_out=True) == fit_score(X[TRAIN], KEPT, X_test=X[TEST])


def test_a_criterion_without_a_held_out_form_is_given_the_test_rows_alone():
    seen = []

    def keep(X, y, support):
        seen.append((X, y))
        return 0

    value_of(Criterion("fit", keep), held_out=True)  # an own criterion stays one's own, whatever its name
    [(rows, labels)] = seen
    np.testing.assert_array_equal(rows, X[TEST])
    np.testing.assert_array_equal(labels, Y[TEST])
    assert assign_evaluation([Criterion("fit", keep)], "held-out", [])["held-out"][0].function is keep


@pytest.mark.parametrize(
    ("evaluation", "supervised", "metric", "message"),
    [
        ("in-sample", ["FisherScore"], "fit", "would judge FisherScore on the rows whose y they have seen"),
        ("in-sample", [], "fit-held-out", "fit-held-out cannot be judged in-sample"),
        ("somewhere", [], "fit", "evaluation='somewhere' is unknown"),
    ],
)
def test_evaluations_that_make_no_sense_are_refused(evaluation, supervised, metric, message):
    with pytest.raises(ValueError, match=message):
        assign_evaluation([named(metric)], evaluation, supervised)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "metric 'purity' needs y, and data set 'a' has none"),
        (np.linspace(0, 1, 9), "metric 'purity' needs classes, but y of data set 'a' holds quantities"),
        (np.array([0.5, 0.5, 1.0]), "holds quantities"),
        (np.ones(9), "y of data set 'a' holds one class only"),
    ],
)
def test_targets_that_a_metric_cannot_use_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_target([named("fit"), named("purity")], y, "a")
    check_target([named("fit")], y, "a")


def test_an_own_criterion_may_use_quantities():
    check_target([Criterion("own", lambda X, y, support: 0, needs_y=True)], np.linspace(0, 1, 9), "a")


@settings(max_examples=30, deadline=None)
@given(
    counts=st.lists(st.integers(7, 30), min_size=2, max_size=5),
    test_size=st.sampled_from([0.2, 0.3, 0.5]),
    seed=st.integers(0, 100),
)
def test_a_split_keeps_the_shares_of_the_classes(counts, test_size, seed):
    y = np.random.RandomState(seed).permutation(np.repeat([f"class {c}" for c in range(len(counts))], counts))
    train, test = split_rows(y, y.size, test_size, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(y.size))
    for c, count in enumerate(counts):
        assert abs((y[test] == f"class {c}").sum() - test_size * count) <= 1.01


def test_more_classes_than_infer_task_believes_in_are_stratified_all_the_same():
    y = np.repeat(np.arange(40), 10)
    _, test = split_rows(y, y.size, 0.3, 0)
    np.testing.assert_array_equal(np.bincount(y[test]), 3)


@pytest.mark.parametrize("y", [None, np.linspace(0, 1, 30), np.arange(30)], ids=["none", "fractions", "counts"])
def test_quantities_are_split_without_strata(y):
    train, test = split_rows(y, 30, 0.3, 0)
    assert (train.size, test.size) == (21, 9)
    assert not np.array_equal(test, split_rows(y, 30, 0.3, 1)[1])


@pytest.mark.parametrize(
    ("y", "test_size", "message"),
    [
        (["a"] * 9 + ["b"], 0.3, "only 1 member"),
        (["a"] * 40 + ["b"] * 2, 0.1, "test rows of one class only with seed 0; raise test_size=0.1"),
        (["a"] * 40 + ["b"] * 2, 0.9, "no training row of class 'b' with seed 0; lower test_size=0.9"),
        (["a"] * 10, 0.3, r"y holds one class only \('a'\)"),
    ],
)
def test_a_split_that_would_lose_a_class_is_refused(y, test_size, message):
    with pytest.raises(ValueError, match=message):
        split_rows(np.array(y), len(y), test_size, 0)


@pytest.mark.parametrize(
    ("result", "message"),
    [(np.nan, "ValueError: own gave nan"), (np.inf, "own gave inf"), ("x", "could not convert"), (None, "TypeError")],
)
def test_what_is_no_finite_number_becomes_an_error_and_not_a_value(result, message):
    value, error = judge(Criterion("own", lambda X, y, support: result), KEPT, X, Y, None, None)
    assert np.isnan(value)
    assert message in error


def test_a_selection_of_nothing_is_not_judged():
    value, error = judge(named("fit"), np.empty(0, dtype=int), X, Y, None, None)
    assert np.isnan(value)
    assert "no feature was ranked" in error
