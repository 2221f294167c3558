"""Accuracy under the best match, purity, normalized mutual information and balanced error."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from tamis.assess._labels import balanced_error_rate, clustering_accuracy, normalized_mutual_info, purity
from tests.oracles.labels import best_map, best_matching

EVERY = [clustering_accuracy, purity, normalized_mutual_info, balanced_error_rate]
labelings = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, most), min_size=n, max_size=n) for most in (3, 4)])
)


@given(labelings)
def test_accuracy_is_the_best_over_all_one_to_one_matches(labels):
    assert clustering_accuracy(*labels) == pytest.approx(best_matching(*labels))


@given(labelings)
def test_purity_is_the_best_over_all_maps(labels):
    assert purity(*labels) == pytest.approx(best_map(*labels))


@given(labelings)
def test_purity_is_never_below_accuracy(labels):
    assert purity(*labels) >= clustering_accuracy(*labels)


@given(labelings)
def test_mutual_information_follows_its_formula(labels):
    n = len(labels[0])
    of_true, of_pred, joint = (
        -sum(c / n * math.log(c / n) for c in Counter(each).values())
        for each in (labels[0], labels[1], list(zip(*labels, strict=True)))
    )
    entropies = of_true + of_pred
    expected = 2 * (entropies - joint) / entropies if entropies else 1.0
    assert normalized_mutual_info(*labels) == pytest.approx(expected, abs=1e-9)


@given(labelings)
def test_balanced_error_averages_over_the_true_classes(labels):
    true, pred = labels
    errors = []
    for c in set(true):
        of_class = [p for t, p in zip(true, pred, strict=True) if t == c]
        errors.append(sum(p != c for p in of_class) / len(of_class))
    assert balanced_error_rate(true, pred) == pytest.approx(sum(errors) / len(errors))


@given(labelings, st.permutations(range(5)))
def test_the_names_of_the_clusters_do_not_matter(labels, other):
    true, pred = labels
    renamed = [f"cluster {other[p]}" for p in pred]
    for measure in (clustering_accuracy, purity, normalized_mutual_info):
        assert measure(true, renamed) == pytest.approx(measure(true, pred), abs=1e-12)


def test_balanced_error_is_one_minus_balanced_accuracy():
    rng = np.random.RandomState(0)
    true, pred = rng.randint(4, size=(2, 200))
    assert balanced_error_rate(true, pred) == pytest.approx(1 - balanced_accuracy_score(true, pred))


def test_more_clusters_than_classes_leave_some_unmatched_and_fewer_do_too():
    assert clustering_accuracy([0, 0, 0, 0], [0, 1, 2, 2]) == 0.5
    assert clustering_accuracy([0, 1, 2, 2], [0, 0, 0, 0]) == 0.5
    assert purity([0, 0, 0, 0], [0, 1, 2, 2]) == 1.0
    assert purity([0, 1, 2, 2], [0, 0, 0, 0]) == 0.5


def test_one_label_against_several_tells_nothing_and_one_against_one_agrees():
    assert normalized_mutual_info(["a", "b"], [1, 1]) == 0
    assert normalized_mutual_info(["a", "a"], [1, 1]) == 1
    assert normalized_mutual_info([0.25], [3]) == 1


def test_a_predicted_class_that_never_occurs_is_an_error_like_any_other():
    assert balanced_error_rate(["a", "a", "b"], ["a", "c", "b"]) == 0.25


def test_many_labels_do_not_need_a_table_of_all_pairs():
    labels = np.arange(100_000)
    assert purity(labels, labels[::-1]) == 1.0
    assert balanced_error_rate(labels, labels) == 0.0


@pytest.mark.parametrize("measure", EVERY)
@pytest.mark.parametrize(
    "container",
    [list, tuple, np.asarray, pd.Series, pl.Series, lambda y: np.array(y, dtype=object), pd.Categorical],
    ids=["list", "tuple", "numpy", "pandas", "polars", "object", "categorical"],
)
def test_labels_may_be_text_or_numbers_from_any_library(measure, container):
    text = ["no", "yes", "yes", "no", "yes"]
    guess = ["no", "yes", "no", "no", "yes"]
    codes, guess_codes = ([int(label == "yes") for label in each] for each in (text, guess))
    expected = measure(codes, guess_codes)
    assert measure(container(text), container(guess)) == pytest.approx(expected)
    assert measure(container(codes), container(guess_codes)) == pytest.approx(expected)
    assert measure(torch.asarray(codes), guess_codes) == pytest.approx(expected)


@pytest.mark.parametrize("measure", EVERY)
@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0], "y_true has 2 labels, but y_pred has 1"),
        ([], [], "y_true is empty"),
        ([0.0, np.nan], [0, 1], "y_true holds 1 missing label; drop"),
        ([0, 1, 1], [None, "a", None], "y_pred holds 2 missing labels"),
        (["a", "b"], pd.Series(["a", pd.NA], dtype="string"), "y_pred holds 1 missing label"),
        (["a", "b"], np.array(["a", pd.NA], dtype=object), "y_pred holds 1 missing label"),
        ([[0, 1]], [[0, 1]], r"y_true must hold one label per sample.*\(1, 2\)"),
        ([1, 2], 3, r"y_pred must hold one label per sample"),
        (np.array([1, "a"], dtype=object), [1, 2], "y_true mixes labels"),
    ],
)
def test_bad_labels_are_refused_with_their_reason(measure, true, pred, message):
    with pytest.raises(ValueError, match=message):
        measure(true, pred)


def test_predictions_of_another_kind_than_the_classes_are_refused():
    with pytest.raises(ValueError, match="y_true holds text and y_pred numbers: name the classes alike"):
        balanced_error_rate(["a", "b"], [0, 1])
