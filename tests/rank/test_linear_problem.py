"""Linear problems in units of size one, and the way back to the units of the table."""

import numpy as np
import pytest
from scipy import sparse

from tamis.base import ColumnCandidates
from tamis.rank._linear_problem import LinearProblem


def pose(X, y, *, sample_weight=None, task="auto", class_weight=None, standardize=True):
    candidates = ColumnCandidates(X, sample_weight=sample_weight)
    return LinearProblem.pose(candidates, np.asarray(y), task=task, class_weight=class_weight, standardize=standardize)


def make_table(n=30, d=4):
    rng = np.random.RandomState(0)
    return rng.standard_normal((n, d)) * [1.0, 1e3, 1e-3, 5.0] + [0.0, 1e4, 1.0, -3.0], 7 + 3 * rng.standard_normal(n)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150, 1e300])
def test_a_quantity_has_zero_mean_and_unit_variance(unit):
    X, y = make_table()
    problem = pose(X, unit * y)
    assert problem.Y.mean() == pytest.approx(0.0, abs=1e-12)
    assert problem.Y.std() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(problem.Y[:, 0] * (problem.unit / unit) + problem.center / unit, y, rtol=1e-12)


def test_rows_count_as_they_are_weighted():
    X, y = make_table()
    counts = np.random.RandomState(1).randint(1, 4, len(y))
    weighted = pose(X, y, sample_weight=counts.astype(float))
    repeated = pose(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.unit == pytest.approx(repeated.unit, rel=1e-12)
    assert weighted.center == pytest.approx(repeated.center, rel=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-9)
    assert weighted.row_shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_model_goes_back_to_the_units_of_the_table(kind, unit, standardize):
    X, y = make_table()
    X = X * (unit if standardize else 1.0)
    problem = pose(kind(X), y, standardize=standardize)
    weights, intercept = np.array([[2.0], [-1.0]]), np.array([0.3])
    model = problem.model(np.array([0, 3]), weights, intercept)
    scaled = X - X.mean(axis=0)
    scaled = scaled / scaled.std(axis=0) if standardize else scaled
    expected = (scaled[:, [0, 3]] @ weights[:, 0] + 0.3) * problem.unit + problem.center
    outputs = X[:, [0, 3]] @ model.coef[:, 0] + model.intercept[0]
    np.testing.assert_allclose(outputs, expected, rtol=1e-9)


def test_constant_columns_and_later_copies_are_left_out():
    X, y = make_table()
    problem = pose(np.column_stack([X, np.ones(30), X[:, 1]]), y)
    assert problem.scale[4] == 0.0
    assert problem.scale[5] > 0.0
    np.testing.assert_array_equal(problem.without_copies().scale > 0, [True] * 4 + [False, False])


def test_two_classes_are_one_target_and_more_are_one_each():
    X, y = make_table()
    two = pose(X, np.where(y > 7, "b", "a"))
    np.testing.assert_array_equal(two.Y[:, 0], np.where(y > 7, 1.0, -1.0))
    codes = np.digitize(y, [5, 8])
    three = pose(X, codes)
    np.testing.assert_array_equal(three.Y, 2.0 * (codes[:, None] == np.arange(3)) - 1.0)
    assert (two.unit, two.center) == (1.0, 0.0)


def test_weights_of_classes_multiply_those_of_rows():
    X, y = make_table()
    labels, rows = (y > 8).astype(int), np.arange(1.0, 31.0)
    balanced = pose(X, labels, sample_weight=rows, class_weight="balanced").row_shares
    assert balanced[labels == 0].sum() == pytest.approx(0.5)
    given = pose(X, labels, sample_weight=rows, class_weight={1: 3.0}).row_shares
    expected = rows * np.where(labels == 1, 3.0, 1.0)
    np.testing.assert_allclose(given, expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("class_weight", [{5: 1.0}, {0: 0.0}, {0: np.inf}])
def test_bad_weights_of_classes_are_named(class_weight):
    X, y = make_table()
    with pytest.raises(ValueError, match="class_weight"):
        pose(X, (y > 7).astype(int), class_weight=class_weight)


def test_a_quantity_has_no_weights_of_classes():
    with pytest.raises(ValueError, match="class_weight is for classes"):
        pose(*make_table(), class_weight="balanced")
