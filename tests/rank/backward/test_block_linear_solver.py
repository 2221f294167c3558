"""RFE by the squared hinge and by logistic regression on rows that are read in blocks: what they give in memory."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tamis import RFE
from tamis.rank.backward import _block_problem
from tests.oracles.row_blocks import ListBlocks

LOSSES = ["squared_hinge", "logistic"]


@pytest.fixture(autouse=True)
def few_rows_in_memory(monkeypatch):
    """A sample of so few rows that the tables of these tests count as large."""
    monkeypatch.setattr(_block_problem, "_SAMPLE_ENTRIES", 2**10)


def a_table(n=800, n_columns=10, *, n_classes=2, common=0.5, noise=1.0, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, n_columns)) + common * rng.standard_normal((n, 1))
    output = X[:, :4] @ [1.0, -0.7, 0.4, 0.2] + noise * rng.standard_normal(n)
    X = X * np.logspace(-1, 1, n_columns)[rng.permutation(n_columns)] + 3.0
    return X, np.digitize(output, np.quantile(output, np.arange(1, n_classes) / n_classes))


def assert_as_in_memory(ranker, X, y, cuts=(100, 101, 500), sample_weight=None):
    """Fit on blocks what is fitted on an array, and return the blocks and the ranker fitted on them."""
    expected = clone(ranker).fit(X, y, sample_weight=sample_weight)
    blocks = ListBlocks(X, cuts)
    found = clone(ranker).fit(blocks, y, sample_weight=sample_weight)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-6, atol=1e-12)
    assert found.certificate_["converged"]
    assert found.certificate_["residual"] <= ranker.tol
    if isinstance(ranker.estimator, str):
        np.testing.assert_allclose(found.estimator_.coef_, expected.estimator_.coef_, rtol=1e-6, atol=1e-10)
        np.testing.assert_allclose(found.estimator_.intercept_, expected.estimator_.intercept_, rtol=1e-6, atol=1e-8)
    return blocks, found


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": 1e-4},
        {"C": 100.0},
        {"standardize": False},
        {"step": 3},
        {"step": 0.3},
        {"step": "halving"},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0}},
        {"keep": [8], "exclude": [1]},
        {"min_features": 5},
        {"groups": [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]},
        {"groups": [0, 0, 0, 1, 1, 1, 2, 2, 3, 3], "group_norm": "l1"},
    ],
    ids=str,
)
def test_two_classes_are_separated_as_in_memory(loss, parameters):
    assert_as_in_memory(RFE(loss, stop=3, **parameters), *a_table())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kind",
    [
        {"n_columns": 25},
        {"common": 5.0},
        {"noise": 0.0},
        {"n_classes": 4},
        {"n": 3000, "n_columns": 5},
    ],
    ids=str,
)
def test_tables_of_many_kinds_are_ranked_as_in_memory(loss, seed, kind):
    X, y = a_table(seed=seed, **kind)
    assert_as_in_memory(RFE(loss, stop=3, task="classification"), X, y)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_a_rare_class_that_can_be_separated_is(loss, C):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((1500, 12))
    y = (X[:, 0] + 0.5 * X[:, 1] > 2.3).astype(int)
    assert 0 < y.sum() < 40
    blocks, _ = assert_as_in_memory(RFE(loss, stop=3, C=C), X, y)
    assert blocks.n_passes < 40


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), LinearSVC(C=0.1, intercept_scaling=5.0), LogisticRegression(), LogisticRegression(C=10.0)],
    ids=str,
)
@pytest.mark.parametrize("standardize", [True, False])
def test_given_estimators_are_solved_as_in_memory(estimator, standardize):
    if isinstance(estimator, LogisticRegression):
        estimator = clone(estimator).set_params(max_iter=10_000)
    _, found = assert_as_in_memory(RFE(estimator, stop=3, standardize=standardize), *a_table())
    assert found.estimator_.coef_.shape == (1, 3)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(fit_intercept=False), LinearSVC(fit_intercept=False)], ids=str
)
def test_models_without_an_intercept_are_optimal(estimator):
    X, y = a_table()
    found = RFE(estimator, stop=4).fit(ListBlocks(X, (100,)), y)
    assert found.certificate_["converged"]
    kept = found.get_support(indices=True)
    scale = X[:, kept].std(axis=0)
    Z, signs = (X[:, kept] - X[:, kept].mean(axis=0)) / scale, 2.0 * y - 1
    w = found.estimator_.coef_[0] * scale
    margin = signs * (Z @ w)
    is_logistic = isinstance(estimator, LogisticRegression)
    slope = -1 / (1 + np.exp(margin)) if is_logistic else -2 * np.maximum(1 - margin, 0)
    np.testing.assert_allclose(w + Z.T @ (slope * signs), 0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_rows_count_as_copies(loss):
    X, y = a_table()
    weight = np.random.RandomState(1).randint(0, 3, len(y)).astype(float)
    _, found = assert_as_in_memory(RFE(loss, stop=3), X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    again = RFE(loss, stop=3).fit(ListBlocks(X[rows], (300,)), y[rows])
    np.testing.assert_array_equal(found.order_, again.order_)
    np.testing.assert_allclose(found.estimator_.coef_, again.estimator_.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_classes_without_weight_are_none(loss):
    X, y = a_table(n_classes=3)
    weight = (y < 2).astype(float)
    _, found = assert_as_in_memory(RFE(loss, stop=3, task="classification"), X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.estimator_.classes_, [0, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_of_one_row_are_as_good(loss):
    X, y = a_table(300, 5)
    assert_as_in_memory(RFE(loss, stop=2), X, y, cuts=range(1, 300))


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_sorted_by_class_are_as_good(loss):
    X, y = a_table()
    rows = np.argsort(y, kind="stable")
    assert_as_in_memory(RFE(loss, stop=3), X[rows], y[rows])


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_is_read_as_it_is(loss):
    X, y = a_table()
    assert_as_in_memory(RFE(loss, stop=3), X.astype(np.float32), y)


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_columns_are_the_first_to_go(loss):
    X, y = a_table()
    X[:, [2, 6]] = 7.0
    _, found = assert_as_in_memory(RFE(loss, stop=3), X, y)
    np.testing.assert_array_equal(found.order_[-2:], [2, 6])
    assert found.scores_[2] == 0
    _, found = assert_as_in_memory(RFE(loss, stop=1, keep=[2]), X, y)
    assert found.order_[0] == 2
    np.testing.assert_array_equal(found.get_support(indices=True), [2])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_of_two_copies_of_a_column_the_last_leaves_first(loss, seed):
    X, y = a_table(seed=seed)
    X[:, 9] = X[:, 4] = X[:, 0]
    _, found = assert_as_in_memory(RFE(loss, stop=3), X, y)
    np.testing.assert_array_equal(np.argsort(found.ranking_[[0, 4, 9]]), [0, 1, 2])


@pytest.mark.parametrize("loss", LOSSES)
def test_far_fewer_passes_are_made_than_features_leave(loss):
    X, y = a_table(6000, 48)
    blocks, _ = assert_as_in_memory(RFE(loss, stop=5), X, y, cuts=(2000, 4000))
    assert blocks.n_passes <= 24


@pytest.mark.parametrize("loss", LOSSES)
def test_the_kept_model_takes_no_pass_where_it_was_on_the_path(loss):
    X, y = a_table()
    passes = {}
    for stop in (1, 5, 10):
        blocks = ListBlocks(X, (300,))
        RFE(loss, stop=stop).fit(blocks, y)
        passes[stop] = blocks.n_passes
    assert len(set(passes.values())) == 1
    assert_as_in_memory(RFE(loss, stop=3, step=4), X, y)  # 10, 6 and 2 columns are on the path, and not 3


@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_take_the_columns_that_are_kept(loss):
    X, y = a_table(n_classes=3)
    labels = np.array(["a", "b", "c"])[y]
    expected = RFE(loss, stop=3).fit(X, labels)
    found = RFE(loss, stop=3).fit(ListBlocks(X, (300,)), labels)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-6, atol=1e-8)
    assert hasattr(found, "predict_proba") == (loss == "logistic")
    if loss == "logistic":
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_dask_is_read(loss):
    import dask.array as da

    X, y = a_table()
    expected = RFE(loss, stop=3).fit(X, y)
    found = RFE(loss, stop=3).fit(da.from_array(X, chunks=(250, 4)), da.from_array(y, chunks=250))
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_files_are_read(loss, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    from tamis import TableSelector
    from tamis.engine import FileTable

    X, y = a_table()
    names = [f"c{j}" for j in range(10)]
    for part in range(2):
        rows = slice(part * 400, part * 400 + 400)
        parquet.write_table(pa.table([*X[rows].T], names=names), tmp_path / f"part-{part}.parquet")
    expected = RFE(loss, stop=3).fit(X, y)
    files = FileTable(str(tmp_path / "part-*.parquet"), memory=10**5)
    found = RFE(loss, stop=3).fit(files, y)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.get_feature_names_out(), [names[j] for j in np.flatnonzero(found.support_)])
    selector = TableSelector(RFE(loss, stop=3)).fit(files, y)
    assert sorted(selector.get_feature_names_out()) == [names[j] for j in np.flatnonzero(expected.support_)]


@pytest.mark.parametrize("loss", LOSSES)
def test_too_small_a_tolerance_is_told(loss):
    X, y = a_table(300, 4)
    with pytest.warns(UserWarning, match="raise tol"):
        found = RFE(loss, stop=2, tol=1e-30).fit(ListBlocks(X, (100,)), y)
    assert not found.certificate_["converged"]
    assert found.certificate_["residual"] < 1e-13
    np.testing.assert_array_equal(found.order_, RFE(loss, stop=2).fit(X, y).order_)


class InterruptedBlocks(ListBlocks):
    """Blocks at which Ctrl-C is pressed in one of the passes."""

    def __init__(self, X, cuts, n_before):
        super().__init__(X, cuts)
        self.n_before = n_before

    def _read(self, columns):
        for number, part in enumerate(super()._read(columns)):
            if number == 1 and self.n_passes == self.n_before + 1:
                raise KeyboardInterrupt
            yield part


def test_control_c_in_a_pass_hands_back_what_remains_by_its_weights():
    X, y = a_table(6000, 48)
    whole = ListBlocks(X, (2000, 4000))
    expected = RFE(stop=5).fit(whole, y)
    with pytest.warns(UserWarning, match="was interrupted"):
        found = RFE(stop=5).fit(InterruptedBlocks(X, (2000, 4000), whole.n_passes - 2), y)
    assert found.certificate_["interrupted"]
    assert sorted(found.order_) == list(range(48))
    np.testing.assert_array_equal(found.order_[-10:], expected.order_[-10:])
    assert found.predict(X).shape == y.shape
    with pytest.raises(KeyboardInterrupt):  # no round was complete
        RFE(stop=5).fit(InterruptedBlocks(X, (2000, 4000), 2), y)


def test_nothing_of_the_table_is_kept():
    X, y = a_table()
    found = RFE(stop=3).fit(ListBlocks(X, (300,)), y)
    assert not [name for name, value in vars(found).items() if isinstance(value, ListBlocks) or "block" in name]
