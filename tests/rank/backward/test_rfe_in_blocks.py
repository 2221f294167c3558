"""RFE by ridge regression on rows that are read in blocks: what the same rows give in memory."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from tamis import RFE, TableSelector
from tamis.engine import FileTable
from tests.oracles.row_blocks import ListBlocks

CUTS = (300, 301, 900)


def a_table(n=1200, n_columns=9):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, n_columns)) * np.logspace(-1, 1, n_columns) + 3.0
    y = X[:, 0] * 10 - X[:, 4] + 0.1 * X[:, 7] + rng.standard_normal(n)
    return X, y


def assert_same_ranking(found, expected):
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-8)


@pytest.mark.parametrize(
    "ranker",
    [
        RFE("ridge", stop=3),
        RFE(stop=3, step=3),
        RFE("ridge", stop=3, C=1e-4),
        RFE(Ridge(alpha=30.0), stop=3),
        RFE(Ridge(alpha=30.0, fit_intercept=False), stop=3),
        RFE(Ridge(fit_intercept=False), stop=3, standardize=False),
        RFE("ridge", stop=1, groups=[0, 0, 0, 1, 1, 1, 2, 2, 2]),
        RFE("ridge", stop=3, keep=[5], exclude=[0]),
    ],
    ids=str,
)
def test_quantities_are_explained_as_in_memory(ranker):
    X, y = a_table()
    expected = ranker.fit(X, y)
    order, scores, support, predicted = expected.order_, expected.scores_, expected.support_, expected.predict(X)
    blocks = ListBlocks(X, CUTS)
    found = ranker.fit(blocks, y)
    np.testing.assert_array_equal(found.order_, order)
    np.testing.assert_allclose(found.scores_, scores, rtol=1e-7)
    np.testing.assert_array_equal(found.support_, support)
    np.testing.assert_allclose(found.predict(X), predicted, rtol=1e-7)
    assert blocks.n_passes <= 2


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("estimator", ["ridge", RidgeClassifier()])
def test_classes_are_separated_as_in_memory(n_classes, estimator):
    X, y = a_table()
    codes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    expected = RFE(estimator, stop=3, task="classification").fit(X, codes)
    found = RFE(estimator, stop=3, task="classification").fit(ListBlocks(X, CUTS), codes)
    assert_same_ranking(found, expected)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-7, atol=1e-9)


def test_weights_of_rows_count():
    X, y = a_table()
    weight = np.random.RandomState(1).randint(0, 3, len(y)).astype(float)
    expected = RFE("ridge", stop=3).fit(X, y, sample_weight=weight)
    found = RFE("ridge", stop=3).fit(ListBlocks(X, CUTS), y, sample_weight=weight)
    assert_same_ranking(found, expected)
    np.testing.assert_allclose(found.estimator_.coef_, expected.estimator_.coef_, rtol=1e-7)


def test_columns_that_are_constant_or_copies_are_the_first_to_go():
    X, y = a_table()
    X[:, 2], X[:, 8] = 7.0, X[:, 0]
    expected, found = (RFE("ridge", stop=3).fit(table, y) for table in (X, ListBlocks(X, CUTS)))
    np.testing.assert_array_equal(np.sort(found.order_[:3]), np.sort(expected.order_[:3]))
    assert found.order_[-1] == 2


def test_dask_and_files_are_read(tmp_path):
    import dask.array as da
    import pyarrow as pa
    from pyarrow import parquet

    X, y = a_table()
    expected = RFE("ridge", stop=3).fit(X, y)
    assert_same_ranking(RFE("ridge", stop=3).fit(da.from_array(X, chunks=(500, 4)), y), expected)
    names = [f"c{j}" for j in range(9)]
    parquet.write_table(pa.table([*X.T], names=names), tmp_path / "t.parquet")
    found = TableSelector(RFE("ridge", stop=3)).fit(FileTable(str(tmp_path / "t.parquet"), memory=10**5), y)
    assert sorted(found.get_feature_names_out()) == [names[j] for j in sorted(expected.order_[:3])]


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (RFE("hinge", stop=2), "needs all rows in memory: use estimator='ridge'"),
        (RFE(LinearSVC(loss="hinge"), stop=2), "needs all rows in memory: use estimator='ridge'"),
        (RFE("ridge", kernel="rbf", stop=2), "needs all rows in memory"),
        (RFE("ridge", class_weight="balanced", stop=2), "takes no class_weight"),
        (RFE("ridge"), "MonteCarloProbe"),
    ],
    ids=str,
)
def test_what_sums_do_not_tell_is_refused(ranker, message):
    X, y = a_table(100)
    with pytest.raises(ValueError, match=message):
        ranker.fit(ListBlocks(X, (50,)), (y > np.median(y)).astype(int))
