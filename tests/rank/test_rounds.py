"""Orders by rounds, rows that are held out, and the round to stop after."""

import numpy as np
import pytest

from tamis.rank._rounds import best_round, hold_out, order_by_rounds, round_criteria


def test_the_last_round_decides_then_the_size():
    rounds = [{0: 1.0, 1: 5.0, 2: 3.0, 3: 4.0}, {1: 1.0, 2: 2.0}, {2: 0.1}]
    assert order_by_rounds(rounds) == [2, 1, 3, 0]
    criteria = round_criteria(rounds, [2, 1, 3, 0])
    assert [int(value) for value in criteria] == [2, 1, 0, 0]
    assert np.all(np.diff(criteria) < 0)


def test_one_that_comes_back_counts_by_its_last_round():
    assert order_by_rounds([{0: 1.0, 1: 2.0}, {0: 3.0}, {1: 0.5, 0: 0.4}]) == [1, 0]


def test_equal_sizes_are_in_their_own_order():
    assert order_by_rounds([{2: 1.0, 0: 1.0, 1: 1.0}]) == [0, 1, 2]


def test_rounds_without_any():
    assert order_by_rounds([]) == []
    assert order_by_rounds([{}]) == []
    assert round_criteria([{}, {0: 2.0}], [0]) == pytest.approx([2.0])


def test_held_out_rows_have_the_classes_in_proportion():
    y = np.repeat([0, 1, 2], [40, 20, 20])
    train, test = hold_out(y, 0.25, is_classes=True, rng=np.random.RandomState(0))
    assert np.bincount(y[test]).tolist() == [10, 5, 5]
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(80))
    assert np.all(np.diff(train) > 0)
    again = hold_out(y, 0.25, is_classes=True, rng=np.random.RandomState(0))
    assert np.array_equal(again[1], test)


@pytest.mark.parametrize(("y", "share"), [([0, 1, 1, 1], 0.3), ([0, 0, 1, 1, 2, 2], 0.2), ([0, 0, 1, 1, 2, 2], 0.8)])
def test_nothing_is_held_out_where_a_class_has_too_few_rows(y, share):
    assert hold_out(np.array(y), share, is_classes=True, rng=np.random.RandomState(0)) is None


@pytest.mark.parametrize("n", range(2, 12))
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.99])
@pytest.mark.parametrize("is_classes", [False, True])
def test_a_few_rows_are_split_or_not_at_all(n, share, is_classes):
    y = np.arange(n) % 2 if is_classes else np.linspace(0, 1, n)
    parts = hold_out(y, share, is_classes=is_classes, rng=np.random.RandomState(0))
    if parts is not None:
        assert all(part.size > 0 for part in parts)


def test_of_equal_errors_the_last_round_is_best():
    assert best_round([0.5, 0.2, 0.3, 0.2, 0.4]) == 3
    assert best_round([1.0]) == 0
