"""What every estimator of dimension owes its users."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

from tamis.dimension import (
    GMST,
    MLE,
    BoxCounting,
    CorrelationDimension,
    PackingDimension,
    PairwiseSparsity,
    TwoNN,
)
from tamis.dimension._base import standard_error

ALL = [TwoNN(), MLE(), CorrelationDimension(), PackingDimension(), BoxCounting(), GMST(), PairwiseSparsity()]
DETERMINISTIC = [TwoNN(), MLE(), CorrelationDimension(), BoxCounting(), PairwiseSparsity()]
every = pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)


def dimension(estimator, X, **parameters):
    """Dimension without a standard error, seeded."""
    return clone(estimator).set_params(n_subsamples=0, random_state=0, **parameters).fit(X).dimension_


def sphere(n, d, rng):
    X = rng.standard_normal((n, d + 1))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


SHAPES = {
    "line": (1, lambda rng: rng.uniform(size=(800, 1)) @ rng.uniform(size=(1, 4))),
    "square": (2, lambda rng: rng.uniform(size=(800, 2))),
    "cube": (4, lambda rng: rng.uniform(size=(800, 4))),
    "gaussian": (3, lambda rng: rng.standard_normal((800, 3))),
    "circle": (1, lambda rng: sphere(800, 1, rng)),
    "sphere": (2, lambda rng: sphere(800, 2, rng)),
    "sphere in 30 dimensions": (3, lambda rng: sphere(800, 3, rng) @ ortho_group.rvs(30, random_state=rng)[:4]),
    "swiss roll": (2, lambda rng: make_swiss_roll(800, random_state=0)[0]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("estimator", "tolerance"),
    [(TwoNN(), 0.15), (MLE(), 0.12), (MLE(aggregate="mean"), 0.12), (CorrelationDimension(), 0.12), (GMST(), 0.12)],
    ids=["2-NN", "MLE", "MLE, mean", "correlation", "GMST"],
)
def test_shapes_of_known_dimension(shape, estimator, tolerance):
    truth, make = SHAPES[shape]
    found = dimension(estimator, make(np.random.RandomState(0)), standardize=False)
    assert found == pytest.approx(truth, rel=tolerance)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_box_counting_fills_cubes(d):
    X = np.random.RandomState(0).uniform(size=(2000, d))
    assert dimension(BoxCounting(), X, standardize=False) == pytest.approx(d, rel=0.05)


@pytest.mark.parametrize("estimator", [TwoNN(), MLE(), GMST()], ids=lambda e: type(e).__name__)
def test_neighbor_methods_come_close_in_ten_dimensions(estimator):
    X = np.random.RandomState(1).standard_normal((1000, 10))
    assert dimension(estimator, X) == pytest.approx(10, rel=0.2)


# invariances


@pytest.mark.parametrize(
    "estimator", [e for e in ALL if not isinstance(e, BoxCounting)], ids=lambda e: type(e).__name__
)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), shift=st.floats(-1e3, 1e3), scale=st.floats(1e-3, 1e3))
def test_turning_moving_and_scaling_all_change_nothing(estimator, seed, shift, scale):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((60, 4)) * [1, 2, 3, 4]
    turned = scale * (X @ ortho_group.rvs(4, random_state=rng)) + shift
    expected = dimension(estimator, X, standardize=False)
    assert dimension(estimator, turned, standardize=False) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), shift=st.integers(-1000, 1000), power=st.integers(-20, 20))
def test_moving_and_scaling_change_no_count_of_boxes(seed, shift, power):
    X = np.random.RandomState(seed).randint(0, 1024, size=(200, 2)).astype(float)
    expected = dimension(BoxCounting(), X, standardize=False)
    assert dimension(BoxCounting(), 2.0**power * (X + shift), standardize=False) == expected


@every
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_units_do_not_matter_once_standardized(estimator, seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((50, 4))
    units = 2.0 ** rng.randint(-10, 11, size=4)
    assert dimension(estimator, X * units) == pytest.approx(dimension(estimator, X), rel=1e-6)


@pytest.mark.parametrize("estimator", DETERMINISTIC, ids=lambda e: type(e).__name__)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_rows_and_columns_does_not_matter(estimator, seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((60, 4))
    shuffled = X[rng.permutation(60)][:, rng.permutation(4)]
    assert dimension(estimator, shuffled) == pytest.approx(dimension(estimator, X), rel=1e-8)


@every
@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_very_large_and_very_small_numbers_lose_nothing(estimator, scale):
    X = np.random.RandomState(0).standard_normal((60, 3))
    for standardize in (True, False):
        expected = dimension(estimator, X, standardize=standardize)
        assert dimension(estimator, X * scale, standardize=standardize) == pytest.approx(expected, rel=1e-6)


@every
def test_constant_columns_change_nothing(estimator):
    X = np.random.RandomState(0).standard_normal((60, 3))
    wider = np.column_stack([np.full(60, 0.1), X, np.full(60, 1e9)])
    assert dimension(estimator, wider) == pytest.approx(dimension(estimator, X), rel=1e-6)


# the edges


@every
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
@pytest.mark.parametrize("n", [3, 4, 30])
@pytest.mark.parametrize("standardize", [True, False])
def test_identical_points_have_dimension_zero(estimator, value, n, standardize):
    found = clone(estimator).set_params(standardize=standardize).fit(np.full((n, 3), value))
    assert found.dimension_ == 0
    assert found.standard_error_ in (0, None)


@every
@pytest.mark.filterwarnings("ignore:.* samples are copies of others")
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_small_tables_with_copies_and_ties_have_a_dimension_or_an_infinite_one(estimator, data):
    n, d = data.draw(st.integers(3, 12)), data.draw(st.integers(1, 4))
    values = data.draw(st.lists(st.integers(0, 3), min_size=n * d, max_size=n * d))
    for standardize in (True, False):
        found = clone(estimator).set_params(n_subsamples=3, random_state=0, standardize=standardize)
        found.fit(np.array(values, dtype=float).reshape(n, d))
        assert found.dimension_ >= 0
        assert not np.isnan(found.subsample_dimensions_).any()
        assert found.standard_error_ is None or found.standard_error_ >= 0


@every
def test_fewer_than_three_samples_are_refused_with_both_numbers(estimator):
    with pytest.raises(ValueError, match=r"at least 3 samples, and X has 2"):
        clone(estimator).fit([[0.0, 1.0], [2.0, 3.0]])


@every
def test_bad_tables_are_refused_by_column(estimator):
    X = pd.DataFrame(np.random.RandomState(0).standard_normal((20, 2)), columns=["age", "height"])
    with pytest.raises(ValueError, match="'city' is not numeric"):
        clone(estimator).fit(X.assign(city="Lyon"))
    with pytest.raises(ValueError, match="column 'age' holds 2 missing values"):
        clone(estimator).fit(X.assign(age=[None, None, *range(18)]))
    with pytest.raises(ValueError, match="0 sample"):
        clone(estimator).fit(np.empty((0, 3)))
    with pytest.raises(ValueError, match="0 feature"):
        clone(estimator).fit(np.empty((10, 0)))


@pytest.mark.parametrize("estimator", [e for e in ALL if not e.provides], ids=lambda e: type(e).__name__)
def test_sparse_tables_are_refused_where_they_would_be_filled(estimator):
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        clone(estimator).fit(sparse.eye_array(10, format="csr"))


@every
@pytest.mark.parametrize(
    ("parameter", "value"),
    [("subsample", 0), ("subsample", 1.0), ("n_subsamples", -1), ("standardize", "yes"), ("n_jobs", 1.5)],
)
def test_bad_parameters_are_refused_by_name(estimator, parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of {type(estimator).__name__}"):
        clone(estimator).set_params(**{parameter: value}).fit(np.eye(5))


# subsamples and the standard error


@every
def test_the_number_of_jobs_and_of_subsamples_change_no_estimate(estimator):
    X = np.random.RandomState(0).standard_normal((60, 3))
    one = clone(estimator).set_params(n_subsamples=4, random_state=5).fit(X)
    two = clone(estimator).set_params(n_subsamples=4, random_state=5, n_jobs=2).fit(X)
    none = clone(estimator).set_params(n_subsamples=0, random_state=5).fit(X)
    assert one.dimension_ == two.dimension_ == none.dimension_
    np.testing.assert_array_equal(one.subsample_dimensions_, two.subsample_dimensions_)
    assert one.subsample_dimensions_.shape == (4,)
    assert none.standard_error_ is None
    assert none.subsample_dimensions_.size == 0


def test_the_standard_error_is_that_of_the_delete_d_jackknife():
    draws = np.array([1.0, 2.0, 4.0])
    assert standard_error(draws, 100, 80) == pytest.approx(2 * np.std(draws, ddof=1))
    assert standard_error(draws[:1], 100, 80) is None
    assert standard_error(np.array([1.0, np.inf]), 100, 80) is None


@pytest.mark.parametrize(
    ("estimator", "low", "high"),
    [(PairwiseSparsity(standardize=False), 0.8, 1.6), (TwoNN(), 1.0, 2.0), (MLE(), 1.0, 2.0)],
    ids=["sparsity", "2-NN", "MLE"],
)
def test_the_standard_error_is_not_below_the_spread_over_tables_and_not_twice_it(estimator, low, high):
    tables = [np.random.RandomState(seed).standard_normal((200, 4)) for seed in range(60)]
    found = [clone(estimator).set_params(random_state=seed).fit(X) for seed, X in enumerate(tables)]
    spread = np.std([each.dimension_ for each in found], ddof=1)
    assert low * spread < np.mean([each.standard_error_ for each in found]) < high * spread


def test_names_of_columns_are_kept():
    X = pd.DataFrame(np.random.RandomState(0).standard_normal((20, 2)), columns=["age", "height"])
    found = TwoNN().fit(X)
    assert found.feature_names_in_.tolist() == ["age", "height"]
    assert found.n_features_in_ == 2


@every
def test_of_many_rows_some_are_looked_at_and_named(estimator):
    X = np.random.RandomState(0).uniform(size=(300, 3))
    found = clone(estimator).set_params(n_subsamples=2, max_samples=150, random_state=0).fit(X)
    rows = found.sample_indices_
    assert rows.shape == (150,)
    assert np.all(np.diff(rows) > 0)
    alone = clone(estimator).set_params(n_subsamples=2, max_samples=None, random_state=0).fit(X[rows])
    assert found.dimension_ == alone.dimension_
    assert found.standard_error_ == alone.standard_error_
    assert found.dimension_ == pytest.approx(dimension(estimator, X), rel=0.35)


@every
def test_up_to_so_many_rows_all_of_them_are_looked_at(estimator):
    X = np.random.RandomState(0).uniform(size=(120, 3))
    found = clone(estimator).set_params(n_subsamples=0, max_samples=120, random_state=0).fit(X)
    np.testing.assert_array_equal(found.sample_indices_, np.arange(120))
    assert found.dimension_ == dimension(estimator, X, max_samples=None)
