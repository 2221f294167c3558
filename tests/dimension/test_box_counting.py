"""Box counting."""

import numpy as np
import pytest

from tamis.dimension import BoxCounting
from tamis.dimension._box_counting import count_boxes
from tests.oracles import dimension as oracle


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_boxes_are_counted_as_on_a_grid(n_columns):
    X = np.random.RandomState(n_columns).standard_normal((200, n_columns)) - 3
    counts = count_boxes(X, most=100)
    assert len(counts) >= 2
    assert counts == [oracle.occupied_boxes(X, halvings) for halvings in range(len(counts))]
    assert counts[0] == 1
    assert len(counts) == 2 or max(counts) <= 100
    assert oracle.occupied_boxes(X, len(counts)) > 100


def test_the_dimension_is_the_slope_of_the_finest_counts():
    X = np.random.RandomState(0).uniform(size=(500, 2))
    counts = count_boxes(X, most=125)
    slope = np.polyfit(np.arange(3), np.log2(counts[-3:]), 1)[0]
    assert BoxCounting(standardize=False, n_subsamples=0).fit(X).dimension_ == pytest.approx(slope, rel=1e-9)


def test_a_grid_that_no_number_of_halvings_fills_ends_the_count():
    X = np.repeat([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0 + 1e-3]], 50, axis=0)
    counts = count_boxes(X, most=50)
    assert len(counts) == 31
    assert counts[-1] == 3
    assert BoxCounting().fit(X).dimension_ == 0


def test_a_sierpinski_triangle_has_its_fractal_dimension():
    rng = np.random.RandomState(0)
    corners, point, points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.zeros(2), []
    for corner in rng.randint(3, size=5000):
        point = (point + corners[corner]) / 2
        points.append(point)
    found = BoxCounting(standardize=False, n_subsamples=0).fit(np.array(points)).dimension_
    assert found == pytest.approx(np.log(3) / np.log(2), abs=0.05)
