"""Targets as the columns that least squares explains."""

import numpy as np
import pytest

from tamis.kernels.arrays.targets import encode_classes, encode_target, has_fractions, infer_task, subproblems


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(["a", "b", "a"]), "classification"),
        (np.array(["a", "b", "a"], dtype=object), "classification"),
        (np.array([True, False, True]), "classification"),
        (np.array([0.25, 0.75, 0.25]), "classification"),
        (np.arange(19), "classification"),
        (np.arange(19) / 1.0, "classification"),
        (np.repeat(np.arange(20), 2), "classification"),
        (np.arange(20), "regression"),  # a class for every row is none
        (np.arange(21), "regression"),
        (np.array([0.1, 0.2, 0.3]), "regression"),
        (np.array([0, 1, 1.5]), "regression"),
    ],
)
def test_labels_two_values_or_few_whole_numbers_are_classes(y, task):
    assert infer_task(y) == task


def test_two_classes_become_minus_and_plus_one_in_sorted_order():
    target = encode_target(np.array(["no", "yes", "no", "yes"]))
    assert target.values.tolist() == [[-1], [1], [-1], [1]]
    assert target.classes.tolist() == ["no", "yes"]


def test_more_classes_become_one_indicator_each():
    target = encode_target(np.array([7, 3, 5, 3]))
    assert target.values.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert target.classes.tolist() == [3, 5, 7]


def test_regression_keeps_the_numbers_and_has_no_classes():
    target = encode_target(np.array([1, 2, 2]), "regression")
    assert target.values.tolist() == [[1.0], [2.0], [2.0]]
    assert target.values.dtype == float
    assert target.classes is None


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.array(["a", "b"]), "regression", "labels, not numbers.*task='classification'"),
        (np.array([2.5, 2.5]), "regression", r"constant \(2\.5\)"),
        (np.array([2.5, 2.5]), "auto", "one class"),
        (np.array(["a", "a"]), "auto", "one class.*'a'"),
    ],
)
def test_a_target_with_nothing_to_tell_apart_is_refused(y, task, message):
    with pytest.raises(ValueError, match=message):
        encode_target(y, task)


def test_one_against_one_has_every_pair_with_its_own_rows():
    classes, codes = encode_classes(np.array(list("bacab")))
    pairs = {against: rows.tolist() for against, rows in subproblems(codes, classes.size, "ovo")}
    assert pairs == {(0, 1): [0, 1, 3, 4], (0, 2): [1, 2, 3], (1, 2): [0, 2, 4]}


def test_one_against_the_rest_has_every_class_with_all_rows():
    parts = list(subproblems(np.array([0, 1, 2, 0]), 3, "ovr"))
    assert [against for against, _ in parts] == [(0,), (1,), (2,)]
    assert all(rows.tolist() == [0, 1, 2, 3] for _, rows in parts)


def test_targets_of_half_precision_are_told_apart_without_a_warning():
    assert not has_fractions(np.array([1, 2, 60000], dtype=np.float16))
    assert has_fractions(np.array([0.5, 2], dtype=np.float16))
