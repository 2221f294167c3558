"""What must not change an unsupervised ranking, for every such method: a new one is tried as soon as it is exported."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.base import Ranker

METHODS = sorted(
    name
    for name in tamis.__all__
    if inspect.isclass(getattr(tamis, name))
    and issubclass(getattr(tamis, name), Ranker)
    and not getattr(tamis, name).supervised
    and name != "RandomSelection"
)
STANDARDIZING = [name for name in METHODS if "standardize" in inspect.signature(getattr(tamis, name)).parameters]
# a random start depends on the order of the rows
DETERMINISTIC = [name for name in METHODS if "random_state" not in inspect.signature(getattr(tamis, name)).parameters]

QUICK = settings(deadline=None, max_examples=8, derandomize=True)
SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(15, 40), st.integers(3, 9)) | st.tuples(st.integers(12, 16), st.integers(20, 30))


def draw(seed, shape):
    """Clusters and shared variance, no ties."""
    rng = np.random.RandomState(seed)
    n, d = shape
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))
    return X + 2.0 * rng.standard_normal((3, d))[np.arange(n) % 3] * (rng.uniform(size=d) < 0.4)


def rank(name, X, **parameters):
    method = getattr(tamis, name)
    if "random_state" in inspect.signature(method).parameters:
        parameters["random_state"] = 0
    if name.startswith("Agnos"):
        parameters["max_iter"] = 60  # what holds of a short training holds of a long one
    return method(stop=None, **parameters).fit(X)


def assert_same(found, expected, places=None):
    """The same scores along the order, up to rounding, and the same features, but for the order of ties.

    The last column that adds to all others before it is such a tie: any of those that are left spans what is left.
    """
    places = np.arange(found.scores_.size) if places is None else places
    other = places[expected.order_]
    one = found.order_[: other.size]
    np.testing.assert_allclose(found.scores_[one], expected.scores_[expected.order_], rtol=1e-5, atol=1e-8)
    tied = np.isclose(found.scores_[one[:-1]], found.scores_[one[1:]], rtol=1e-5)
    free = np.append(tied, found.scores_.size > one.size) | np.append(False, tied)
    np.testing.assert_array_equal(one[~free], other[~free])


@pytest.mark.parametrize("name", METHODS)
@QUICK
@given(seed=SEED, shape=SHAPE)
def test_permuting_the_columns_permutes_the_result(name, seed, shape):
    X = draw(seed, shape)
    shuffle = np.random.RandomState(seed).permutation(shape[1])
    assert_same(rank(name, X[:, shuffle]), rank(name, X), np.argsort(shuffle))


@pytest.mark.parametrize("name", DETERMINISTIC)
@QUICK
@given(seed=SEED, shape=SHAPE)
def test_the_order_of_the_rows_does_not_matter(name, seed, shape):
    X = draw(seed, shape)
    rows = np.random.RandomState(seed).permutation(shape[0])
    assert_same(rank(name, X[rows]), rank(name, X))


@pytest.mark.parametrize("name", STANDARDIZING)
@QUICK
@given(seed=SEED, shape=SHAPE, size=st.floats(0, 3), offset=st.floats(0, 100))
def test_units_and_offsets_do_not_matter_where_columns_are_standardized(name, seed, shape, size, offset):
    X = draw(seed, shape)
    rng = np.random.RandomState(seed)
    scale = 10 ** rng.uniform(-size, size, shape[1])
    assert_same(rank(name, scale * (X + offset), standardize=True), rank(name, X, standardize=True))


@pytest.mark.parametrize("name", METHODS)
@QUICK
@given(seed=SEED, shape=SHAPE, value=st.sampled_from([0.0, 0.1, -3.7, 1e9, 1 / 3]), data=st.data())
def test_a_constant_column_comes_last_and_disturbs_no_one(name, seed, shape, value, data):
    X = draw(seed, shape)
    place = data.draw(st.integers(0, shape[1]))
    found, plain = rank(name, np.insert(X, place, value, axis=1)), rank(name, X)
    assert_same(found, plain, np.delete(np.arange(shape[1] + 1), place))
    assert found.ranking_[place] == found.ranking_.max()
