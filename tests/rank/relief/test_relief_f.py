"""ReliefF: differences to the nearest misses, less those to the nearest hits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import FisherScore, ReliefF
from tamis.rank.relief import _relief_f
from tests.oracles.relief import relief_f, relief_of_the_thesis, rrelief_f

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
METRICS = ("euclidean", "manhattan")


def data(sizes=(15, 15), n_features=5, seed=0):
    """Classes of the given sizes, in random order; columns of very different units; the last one tells them apart."""
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.standard_normal((y.size, n_features))
    X[:, -1] += y
    return X * np.logspace(-2, 2, n_features) + 4.0, y


def quantity(n_rows=30, n_features=5, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, X[:, 0] * X[:, 2] + 0.1 * rng.standard_normal(n_rows)


SIZES = {
    "two classes": (15, 15),
    "unbalanced": (24, 5),
    "three classes": (12, 9, 14),
    "five unbalanced classes": (2, 3, 12, 5, 8),
    "a class of one": (12, 1, 10),
    "only classes of one but one": (1, 1, 1, 6),
}


@pytest.mark.parametrize("difference", ["absolute", "squared"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_neighbors", [1, 4, 100])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_score_is_that_of_the_plain_loops(sizes, n_neighbors, metric, difference):
    X, y = data(sizes)
    found = ReliefF(n_neighbors=n_neighbors, metric=metric, difference=difference, stop=None).fit(X, y)
    expected = relief_f(X, y, n_neighbors, metric, power=2 if difference == "squared" else 1)
    np.testing.assert_allclose(found.scores_, expected, **CLOSE)
    np.testing.assert_array_equal(found.order_, np.argsort(-expected, kind="stable"))


def test_one_neighbor_and_squared_differences_are_equation_3_9():
    X, y = data((20, 14))
    found = ReliefF(stop=None, n_neighbors=1, difference="squared").fit(X, y)
    np.testing.assert_allclose(found.scores_, relief_of_the_thesis(X, y), **CLOSE)


@pytest.mark.parametrize("difference", ["absolute", "squared"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sigma", [None, 0.5, 3, 20.0])
@pytest.mark.parametrize("n_neighbors", [1, 6, 100])
def test_the_regression_score_is_that_of_the_plain_loops(n_neighbors, sigma, metric, difference):
    X, y = quantity()
    found = ReliefF(stop=None, n_neighbors=n_neighbors, sigma=sigma, metric=metric, difference=difference).fit(X, y)
    expected = rrelief_f(X, y, n_neighbors, sigma, metric, power=2 if difference == "squared" else 1)
    np.testing.assert_allclose(found.scores_, expected, **CLOSE)


@pytest.mark.parametrize("metric", METRICS)
def test_equally_distant_neighbors_count_in_the_order_of_the_table(metric):
    rng = np.random.RandomState(0)
    X, y = rng.randint(3, size=(60, 4)).astype(float), rng.randint(3, size=60)
    np.testing.assert_allclose(
        ReliefF(stop=None, n_neighbors=3, metric=metric).fit(X, y).scores_, relief_f(X, y, 3, metric), **CLOSE
    )
    target = y + 0.01 * np.arange(60)
    found = ReliefF(stop=None, n_neighbors=5, sigma=2, metric=metric).fit(X, target)
    np.testing.assert_allclose(found.scores_, rrelief_f(X, target, 5, 2, metric), **CLOSE)


def test_a_sample_of_the_rows_is_compared_with_neighbors_among_all_rows():
    X, y = data((20, 12, 9))
    found = ReliefF(stop=None, n_neighbors=3, n_samples=10, random_state=3).fit(X, y)
    references = np.sort(np.random.RandomState(3).choice(41, 10, replace=False)).tolist()
    np.testing.assert_allclose(found.scores_, relief_f(X, y, 3, references=references), **CLOSE)
    X, y = quantity()
    found = ReliefF(stop=None, n_neighbors=3, n_samples=8, random_state=3).fit(X, y)
    references = np.sort(np.random.RandomState(3).choice(30, 8, replace=False)).tolist()
    np.testing.assert_allclose(found.scores_, rrelief_f(X, y, 3, 20.0, references=references), **CLOSE)


@pytest.mark.parametrize("n_samples", [30, 31, 1000])
def test_more_reference_rows_than_rows_means_all_rows(n_samples):
    X, y = data()
    np.testing.assert_array_equal(
        ReliefF(stop=None, n_samples=n_samples).fit(X, y).scores_, ReliefF(stop=None).fit(X, y).scores_
    )


PROPERTIES = {
    "seed": st.integers(0, 10**6),
    "regression": st.booleans(),
    "metric": st.sampled_from(METRICS),
    "difference": st.sampled_from(["absolute", "squared"]),
    "n_neighbors": st.integers(1, 12),
}
check_property = settings(deadline=None, max_examples=40, derandomize=True)


def case(seed, regression, metric, difference, n_neighbors):
    X, y = quantity(seed=seed) if regression else data((12, 7, 11), seed=seed)
    return X, y, ReliefF(n_neighbors=n_neighbors, metric=metric, difference=difference, stop=None)


@check_property
@given(**PROPERTIES)
def test_permuting_columns_permutes_the_scores(**drawn):
    X, y, ranker = case(**drawn)
    scores = ranker.fit(X, y).scores_.copy()
    shuffle = np.random.RandomState(1).permutation(X.shape[1])
    np.testing.assert_allclose(ranker.fit(X[:, shuffle], y).scores_, scores[shuffle], **CLOSE)


@check_property
@given(**PROPERTIES)
def test_permuting_rows_changes_nothing(**drawn):
    X, y, ranker = case(**drawn)
    scores = ranker.fit(X, y).scores_.copy()
    shuffle = np.random.RandomState(1).permutation(len(X))
    np.testing.assert_allclose(ranker.fit(X[shuffle], y[shuffle]).scores_, scores, **CLOSE)


@check_property
@given(**PROPERTIES, levels=st.sampled_from([None, 3]))
def test_units_and_offsets_do_not_matter(levels, **drawn):
    X, y, ranker = case(**drawn)
    if levels is not None:  # ties in abundance, which the last bit must not break
        X = np.random.RandomState(drawn["seed"]).randint(levels, size=X.shape).astype(float)
    scores = ranker.fit(X, y).scores_.copy()
    moved = X * [0.1, 3.0, -7e5, 1e-9, 1.7] + [12.3, 0, 1e6, -3e-9, 0.7]
    target = -0.3 * y + 4.7 if drawn["regression"] else np.array(["b", "c", "a"])[y]
    np.testing.assert_allclose(ranker.fit(moved, target).scores_, scores, rtol=1e-6, atol=1e-9)


@check_property
@given(**PROPERTIES)
def test_copies_of_a_column_score_exactly_the_same(**drawn):
    X, y, ranker = case(**drawn)
    scores = ranker.fit(np.column_stack([X, X[:, ::-1], -X]), y).scores_
    np.testing.assert_array_equal(scores[5:10], scores[4::-1])
    np.testing.assert_allclose(scores[10:], scores[:5], **CLOSE)


@check_property
@given(**PROPERTIES)
def test_constant_columns_come_last_and_change_no_other_score(**drawn):
    X, y, ranker = case(**drawn)
    scores = ranker.fit(X, y).scores_.copy()
    constant = np.full((len(X), 1), 0.1)
    found = ranker.fit(np.hstack([constant, X, 1e9 * constant]), y)
    assert found.scores_[[0, -1]].tolist() == [-1, -1]
    assert found.order_[-2:].tolist() == [0, X.shape[1] + 1]
    np.testing.assert_allclose(found.scores_[1:-1], scores, **CLOSE)


@check_property
@given(**PROPERTIES)
def test_scores_lie_between_minus_one_and_one(**drawn):
    X, y, ranker = case(**drawn)
    assert np.all(np.abs(ranker.fit(X, y).scores_) <= 1)


@pytest.mark.parametrize("metric", METRICS)
def test_relief_finds_the_columns_of_an_xor_where_a_univariate_score_sees_nothing(metric):
    X = np.random.RandomState(0).uniform(-1, 1, size=(400, 10))
    y = X[:, 2] * X[:, 7] > 0
    assert set(ReliefF(stop=None, metric=metric).fit(X, y).order_[:2]) == {2, 7}
    assert set(FisherScore().fit(X, y).order_[:2]) != {2, 7}


def test_relief_finds_the_factors_of_a_product():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(500, 8))
    assert set(ReliefF(stop=None, n_neighbors=70).fit(X, X[:, 1] * X[:, 5]).order_[:2]) == {1, 5}


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y holds one class only"):
        ReliefF(stop=None).fit(data()[0], np.ones(30))


def test_a_constant_quantity_is_refused():
    with pytest.raises(ValueError, match="y is constant"):
        ReliefF(stop=None, task="regression").fit(data()[0], np.ones(30))


def test_labels_are_no_quantity():
    X, y = data()
    with pytest.raises(ValueError, match="task='classification'"):
        ReliefF(stop=None, task="regression").fit(X, np.array(["no", "yes"])[y])


def test_the_task_may_be_forced():
    X, y = data((12, 9, 14))
    np.testing.assert_allclose(
        ReliefF(stop=None, task="regression", n_neighbors=5).fit(X, y).scores_, rrelief_f(X, y, 5, 20.0), **CLOSE
    )


def test_samples_that_are_all_alone_in_their_class_have_misses_only():
    X, _ = data()
    X = X[:15]
    found = ReliefF(stop=None, task="classification").fit(X, np.arange(15))
    np.testing.assert_allclose(found.scores_, relief_f(X, np.arange(15), 10), **CLOSE)
    assert np.all(found.scores_ > 0)


def test_neighbors_with_equal_targets_give_finite_scores():
    X = np.repeat(np.random.RandomState(0).standard_normal((10, 3)), 2, axis=0)
    y = np.repeat(np.linspace(0, 1, 10), 2)
    assert ReliefF(stop=None, n_neighbors=1, task="regression").fit(X, y).scores_.tolist() == [0, 0, 0]
    apart = ReliefF(stop=None, n_neighbors=1, task="regression").fit([[0.0, 1], [1.0, 3]], [2.0, 5.0])
    assert apart.scores_.tolist() == [1, 1]


@pytest.mark.parametrize("metric", METRICS)
def test_single_precision_gives_nearly_the_same_scores(metric):
    X, y = data((30, 20, 25), n_features=40)
    expected = ReliefF(stop=None, metric=metric).fit(X, y).scores_
    found = ReliefF(stop=None, metric=metric).fit(X.astype(np.float32), y).scores_
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_past_a_number_of_rows_a_sample_of_them_is_compared_and_the_reason_says_so(monkeypatch):
    monkeypatch.setattr(_relief_f, "_MOST_PAIRS", 900)
    monkeypatch.setattr(_relief_f, "_FEWEST_REFERENCES", 5)
    X, y = data((15, 15))
    all_rows = ReliefF(stop=2).fit(X, y)
    assert "rows were compared" not in all_rows.stop_.reason
    X, y = data((30, 30))
    found = ReliefF(stop=2).fit(X, y)
    assert "15 of 60 rows were compared" in found.stop_.reason
    assert found.certificate_ == {"converged": True, "n_compared": 15}
    np.testing.assert_array_equal(found.scores_, ReliefF(stop=2).fit(X, y).scores_)
    np.testing.assert_array_equal(
        ReliefF(stop=None, n_samples=None).fit(X, y).scores_, ReliefF(stop=None, n_samples=60).fit(X, y).scores_
    )


class CountBlocks:
    """Counts the blocks of rows that were compared, and may ask to stop after some of them."""

    def __init__(self, most=None):
        self.most, self.n_blocks = most, 0

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.n_blocks += context.task_name == "compare rows step"
        return self.n_blocks == self.most

    def teardown(self, estimator, context): ...


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_progress_moves_with_every_block_of_rows_and_what_was_compared_counts_when_it_ends_early(task):
    X, y = data((200, 200))
    y = y if task == "classification" else y + X[:, 0]
    watched, ended = (ReliefF(stop=None).set_callbacks(each) for each in (CountBlocks(), CountBlocks(1)))
    np.testing.assert_array_equal(watched.fit(X, y).scores_, ReliefF(stop=None).fit(X, y).scores_)
    n_blocks = watched._skl_callbacks[0].n_blocks
    assert n_blocks == 4
    ended.fit(X, y)
    n_compared = ended.certificate_["n_compared"]
    assert n_compared == 100
    assert not ended.certificate_["converged"]
    assert "100 of 400 rows were compared" in ended.stop_.reason
