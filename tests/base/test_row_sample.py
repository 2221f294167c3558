"""Rows that are drawn where not all are looked at."""

import numpy as np

from tamis.base._row_sample import draw_rows_of_blocks


def test_rows_of_blocks_are_drawn_without_a_list_of_all():
    rows = draw_rows_of_blocks(10**12, 1000, np.random.RandomState(0))
    assert np.unique(rows).size == 1000
    assert np.all(np.diff(rows) > 0)
    assert rows[0] < 10**11
    assert rows[-1] > 9 * 10**11


def test_each_row_of_blocks_is_drawn_as_often_as_any_other():
    rng = np.random.RandomState(0)
    counts = np.bincount(np.concatenate([draw_rows_of_blocks(10, 3, rng) for _ in range(2000)]))
    assert np.all(np.abs(counts - 600) < 5 * np.sqrt(600 * 0.7))


def test_as_many_rows_as_there_are_leave_the_seed_alone():
    rng = np.random.RandomState(0)
    np.testing.assert_array_equal(draw_rows_of_blocks(5, 5, rng), np.arange(5))
    assert rng.randint(1000) == np.random.RandomState(0).randint(1000)
