"""What is trained on rows that are read in blocks, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tamis import RFE
from tests.oracles.row_blocks import ListBlocks


def a_table(n=200, n_columns=6, n_classes=2):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, n_columns)) + 2.0
    output = X[:, 0] - X[:, 1] + rng.standard_normal(n)
    return X, np.digitize(output, np.quantile(output, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("estimator", ["squared_hinge", "logistic", LinearSVC(), LogisticRegression(), "auto"], ids=str)
@pytest.mark.parametrize("shape", [(200, 6), (20, 40)])
def test_rows_that_are_few_are_gathered_by_one_pass(estimator, shape):
    X, y = a_table(*shape)
    expected = RFE(estimator, stop=2).fit(X, y)
    blocks = ListBlocks(X, (7,))
    found = RFE(estimator, stop=2).fit(blocks, y)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-6)
    assert blocks.n_passes == 2  # with that for means and deviations
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_means_far_from_zero_cost_no_digits():
    X, y = a_table()
    found, expected = (RFE(stop=2).fit(ListBlocks(table, (50,)), y) for table in (X + 1e6, X))
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-6)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (RFE("hinge", stop=2), "this model needs all rows in memory: use estimator='ridge', 'squared_hinge'"),
        (RFE(kernel="rbf", stop=2), "this model needs all rows in memory"),
        (RFE(SVC(kernel="linear"), stop=2), "this model needs all rows in memory"),
        (RFE(LinearSVC(loss="hinge"), stop=2), "this model needs all rows in memory"),
        (RFE(DecisionTreeClassifier(), stop=2), "this model needs all rows in memory"),
        (RFE("squared_hinge", multiclass="ovo", stop=2), "use estimator='squared_hinge' with multiclass='ovr'"),
        (RFE("logistic", multiclass="multinomial", stop=2), "use estimator='logistic' with multiclass='ovr'"),
        (RFE(LogisticRegression(), stop=2), "use estimator='logistic' with multiclass='ovr'"),
        (RFE(), r"X is read in blocks; use a number of features, such as stop=20"),
        (RFE(stop="cross-validation"), "CrossValidation"),
    ],
    ids=str,
)
def test_what_needs_rows_in_memory_is_refused(ranker, message):
    X, y = a_table(n_classes=3)
    with pytest.raises(ValueError, match=message):
        ranker.fit(ListBlocks(X, (50,)), y)


def test_a_table_of_constants_is_refused():
    X, y = a_table()
    with pytest.raises(ValueError, match="every column of X is constant"):
        RFE(stop=2).fit(ListBlocks(np.ones_like(X), (50,)), y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused_by_column(value):
    X, y = a_table()
    X[3, 2] = value
    with pytest.raises(ValueError, match="x2"):
        RFE(stop=2).fit(ListBlocks(X, (50,)), y)


def test_one_class_is_refused():
    X, _ = a_table()
    with pytest.raises(ValueError, match="one class only"):
        RFE(stop=2, task="classification").fit(ListBlocks(X, (50,)), np.zeros(200, dtype=int))
