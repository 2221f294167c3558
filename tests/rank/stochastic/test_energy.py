"""Rows that are drawn to learn from and to be tested on, and the errors on them."""

import numpy as np
import pytest

from tamis.rank.stochastic import SubsetEvaluation
from tamis.rank.stochastic._energy import Splitter


def make_codes():
    return np.repeat([0, 1, 2], [60, 25, 3])


@pytest.mark.parametrize("seed", range(5))
def test_rows_judged_out_of_bag_were_not_learned_from(seed):
    splitter = Splitter(make_codes(), 3, 44, one_vs_all=False, out_of_bag=True, balanced=False)
    split = splitter.draw(np.random.RandomState(seed))
    assert np.intersect1d(split.train, split.test).size == 0
    assert np.unique(split.test).size == split.test.size <= 44
    assert split.train_count.sum() == 44


@pytest.mark.parametrize("n_rows", [3, 5, 44, 200])
def test_every_draw_holds_every_class_and_as_many_rows_as_asked(n_rows):
    codes = make_codes()
    splitter = Splitter(codes, 3, n_rows, one_vs_all=False, out_of_bag=False, balanced=False)
    rng = np.random.RandomState(0)
    for _ in range(30):
        split = splitter.draw(rng)
        assert np.unique(codes[split.train]).tolist() == [0, 1, 2]
        assert split.train_count.sum() == n_rows
        assert split.test_weight.sum() == pytest.approx(1)
        np.testing.assert_array_equal(split.train_labels[0], codes[split.train])


def test_the_error_counts_rows_as_often_as_they_were_drawn():
    split = Splitter(make_codes(), 3, 44, False, False, False).split(
        np.arange(3), np.array([0, 61, 86]), np.ones(3), np.array([2, 1, 1])
    )
    predicted = np.array([[[0, 0, 0]], [[1, 1, 2]], [[0, 1, 2]]])
    np.testing.assert_allclose(split.errors(predicted), [0.5, 0.5, 0.0])


def judge(predicted, balanced, one_vs_all=False):
    """Errors on four rows of a large class and two of a small one, one of which was drawn three times."""
    codes = np.array([0, 0, 0, 0, 1, 2])
    splitter = Splitter(codes, 3, 6, one_vs_all=one_vs_all, out_of_bag=False, balanced=balanced)
    return splitter.split(np.arange(6), np.arange(6), np.ones(6), np.array([1, 1, 1, 1, 1, 3])).errors(predicted)


def test_the_balanced_error_is_the_mean_over_classes():
    predicted = np.array([[[0, 0, 0, 0, 0, 0]], [[0, 1, 1, 0, 1, 2]], [[1, 0, 0, 0, 1, 1]]])
    np.testing.assert_allclose(judge(predicted, balanced=True), [2 / 3, 1 / 6, (1 / 4 + 0 + 1) / 3])
    np.testing.assert_allclose(judge(predicted, balanced=False), [4 / 8, 2 / 8, 4 / 8])


def test_a_class_that_was_not_drawn_does_not_count():
    splitter = Splitter(make_codes(), 3, 44, one_vs_all=False, out_of_bag=False, balanced=True)
    split = splitter.split(np.arange(3), np.array([0, 1, 61]), np.ones(3), np.ones(3))
    np.testing.assert_allclose(split.errors(np.array([[[0, 1, 1]], [[0, 0, 0]]])), [1 / 4, 1 / 2])


@pytest.mark.parametrize("balanced", [True, False])
def test_the_error_of_many_classes_is_the_mean_of_one_against_all(balanced):
    predicted = np.random.RandomState(1).randint(2, size=(4, 3, 6))
    codes, often = np.array([0, 0, 0, 0, 1, 2]), np.array([1, 1, 1, 1, 1, 3])
    expected = []
    for answers in predicted:
        errors = []
        for code, answer in enumerate(answers):
            wrong, is_it = answer != (codes == code), codes == code
            sides = [np.average(wrong[side], weights=often[side]) for side in (is_it, ~is_it)]
            errors.append(np.mean(sides) if balanced else np.average(wrong, weights=often))
        expected.append(np.mean(errors))
    np.testing.assert_allclose(judge(predicted, balanced, one_vs_all=True), expected)


@pytest.mark.parametrize(("train_size", "rows"), [(0.5, 50), (1.0, 100), (0.001, 3), (7, 7), (1000, 1000)])
def test_rows_are_given_as_a_share_or_a_number(train_size, rows):
    assert SubsetEvaluation(train_size).n_rows(100, 3) == rows


@pytest.mark.parametrize(("n_samples", "rows"), [(90, 45), (2000, 1000), (2001, 1000), (100_000, 1000), (4, 3)])
def test_half_of_the_rows_are_drawn_by_default_and_no_more_than_a_thousand(n_samples, rows):
    assert SubsetEvaluation().n_rows(n_samples, 3) == rows
    assert SubsetEvaluation(0.5).n_rows(n_samples, 3) == max(3, round(n_samples / 2))


def test_draws_of_less_than_half_of_the_rows_are_told_of_unless_they_were_asked_for():
    assert SubsetEvaluation().note(2000) == ()
    [note] = SubsetEvaluation().note(100_000)
    assert "1000 of 100000 rows" in note
    assert SubsetEvaluation(300).note(100_000) == SubsetEvaluation(0.5).note(100_000) == ()
