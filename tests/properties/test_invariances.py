"""What must not change a ranking: order of rows and columns, units, offsets, copies, constants, names of classes."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

from tamis import CorrelationScore, FisherScore, ForwardLeastSquares, GramSchmidt, MaxVariance

RANKERS = {
    "gram-schmidt": GramSchmidt(stop=None),
    "forward": ForwardLeastSquares(stop=None),
    "correlation": CorrelationScore(stop=None),
    "fisher": FisherScore(stop=None),
}
EVERY = pytest.mark.parametrize("name", RANKERS)
QUICK = settings(deadline=None, max_examples=25, derandomize=True)

SEED = st.integers(0, 2**31 - 1)
SHAPE = st.tuples(st.integers(12, 40), st.integers(2, 9))
TASK = st.sampled_from(["regression", "two", "three"])


def draw(seed, shape, task):
    """A table without ties, and a target that depends on some of it."""
    rng = np.random.RandomState(seed)
    n, d = shape
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    signal = X @ rng.standard_normal(d) + rng.standard_normal(n)
    if task == "regression":
        return X, signal
    n_classes = 2 if task == "two" else 3
    return X, np.argsort(np.argsort(signal)) * n_classes // n


def rank(name, X, y):
    if name == "fisher" and y.dtype.kind == "f":
        y = (y > np.median(y)).astype(int)
    return clone(RANKERS[name]).fit(X, y)


def assert_same(found, expected, rtol=1e-6):
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=rtol, atol=1e-9)


def path_worth(found):
    """How many steps are told apart from rounding; what is left of an explained target is not."""
    n = len(found.path_)
    return next((k for k, step in enumerate(found.path_) if step.info["r2"] > 1 - 1e-8), n) if n else found.order_.size


@EVERY
@QUICK
@given(seed=SEED, shape=SHAPE, task=TASK)
def test_permuting_the_columns_permutes_the_result(name, seed, shape, task):
    X, y = draw(seed, shape, task)
    shuffle = np.random.RandomState(seed).permutation(shape[1])
    plain, shuffled = rank(name, X, y), rank(name, X[:, shuffle], y)
    np.testing.assert_array_equal(shuffle[shuffled.order_], plain.order_)
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(shuffled.ranking_, plain.ranking_[shuffle])


@EVERY
@QUICK
@given(seed=SEED, shape=SHAPE, task=TASK)
def test_the_order_of_the_rows_does_not_matter(name, seed, shape, task):
    X, y = draw(seed, shape, task)
    rows = np.random.RandomState(seed).permutation(shape[0])
    assert_same(rank(name, X[rows], y[rows]), rank(name, X, y))


@EVERY
@QUICK
@given(seed=SEED, shape=SHAPE, task=TASK, size=st.floats(0.1, 6), offset=st.floats(0, 1e3))
def test_units_signs_and_offsets_of_the_columns_do_not_matter(name, seed, shape, task, size, offset):
    X, y = draw(seed, shape, task)
    rng = np.random.RandomState(seed)
    scale = 10 ** rng.uniform(-size, size, shape[1]) * rng.choice([-1, 1], shape[1])
    shift = scale * offset * rng.standard_normal(shape[1])
    assert_same(rank(name, X * scale + shift, y), rank(name, X, y))


@EVERY
@QUICK
@given(seed=SEED, shape=SHAPE, scale=st.floats(1e-6, 1e6), offset=st.floats(-100, 100))
def test_unit_and_offset_of_the_target_do_not_matter(name, seed, shape, scale, offset):
    X, y = draw(seed, shape, "regression")
    assert_same(rank(name, X, scale * (y + offset)), rank(name, X, y))


@EVERY
@QUICK
@given(seed=SEED, shape=SHAPE, task=st.sampled_from(["two", "three"]))
def test_names_of_the_classes_do_not_matter(name, seed, shape, task):
    X, y = draw(seed, shape, task)
    assert_same(rank(name, X, np.array(["zebra", "ant", "mole"])[y]), rank(name, X, y))


@EVERY
@QUICK
@given(seed=SEED, shape=SHAPE, task=TASK, data=st.data())
def test_copies_at_the_end_never_come_before_their_originals_and_disturb_no_one(name, seed, shape, task, data):
    X, y = draw(seed, shape, task)
    copied = data.draw(st.lists(st.integers(0, shape[1] - 1), min_size=1, max_size=4))
    plain, crowded = rank(name, X, y), rank(name, np.column_stack([X, X[:, copied]]), y)
    original = crowded.order_[crowded.order_ < shape[1]]
    np.testing.assert_array_equal(original, plain.order_)
    np.testing.assert_allclose(crowded.scores_[: shape[1]], plain.scores_, rtol=1e-6, atol=1e-9)
    for place, j in enumerate(copied, start=shape[1]):
        assert crowded.ranking_[j] <= crowded.ranking_[place]


@EVERY
@QUICK
@given(
    seed=SEED, shape=SHAPE, task=TASK, value=st.sampled_from([0.0, 1.0, 0.1, -3.7, 1e9, 1e-9, 1 / 3]), data=st.data()
)
def test_constant_columns_never_come_before_varying_ones(name, seed, shape, task, value, data):
    X, y = draw(seed, shape, task)
    place = data.draw(st.integers(0, shape[1]))
    table = np.insert(X, place, value, axis=1)
    found, plain = rank(name, table, y), rank(name, X, y)
    varying = np.delete(np.arange(shape[1] + 1), place)
    np.testing.assert_array_equal(found.order_[: plain.order_.size], varying[plain.order_])
    assert found.ranking_[place] == found.ranking_.max()


@EVERY
@QUICK
@given(
    table=hnp.arrays(np.int8, st.tuples(st.integers(8, 20), st.integers(2, 8)), elements=st.integers(-2, 2)),
    exponent=st.integers(-20, 20),
    seed=SEED,
)
def test_ties_between_small_integers_are_settled_the_same_way_after_exact_changes_of_unit(name, table, exponent, seed):
    X = table.astype(float)
    assume((X[0] != X).any())
    y = np.random.RandomState(seed).permutation(np.arange(len(X)) % 2)
    plain, scaled = rank(name, X, y), rank(name, X * 2.0**exponent, y)
    k = min(path_worth(plain), path_worth(scaled))
    np.testing.assert_array_equal(scaled.order_[:k], plain.order_[:k])


@EVERY
@QUICK
@given(
    table=hnp.arrays(np.int8, st.tuples(st.integers(8, 20), st.integers(2, 8)), elements=st.integers(-2, 2)), seed=SEED
)
def test_ties_between_small_integers_are_settled_the_same_way_for_any_order_of_rows(name, table, seed):
    X = table.astype(float)
    assume((X[0] != X).any())
    rng = np.random.RandomState(seed)
    y = rng.permutation(np.arange(len(X)) % 2)
    rows = rng.permutation(len(X))
    plain, shuffled = rank(name, X, y), rank(name, X[rows], y[rows])
    k = min(path_worth(plain), path_worth(shuffled))
    np.testing.assert_array_equal(shuffled.order_[:k], plain.order_[:k])


@QUICK
@given(seed=SEED, shape=SHAPE, scale=st.floats(1e-3, 1e3), offset=st.floats(-1e3, 1e3))
def test_one_scale_for_all_columns_does_not_change_the_order_of_variances(seed, shape, scale, offset):
    X, _ = draw(seed, shape, "regression")
    X *= np.linspace(1, 3, shape[1])
    plain, scaled = MaxVariance(stop=None).fit(X), MaxVariance(stop=None).fit(scale * X + offset)
    np.testing.assert_array_equal(plain.order_, scaled.order_)
    np.testing.assert_allclose(scaled.scores_, scale**2 * plain.scores_, rtol=1e-6)


@QUICK
@given(seed=SEED, shape=SHAPE, task=TASK, k=st.integers(1, 9))
def test_a_shorter_path_is_the_beginning_of_a_longer_one(seed, shape, task, k):
    X, y = draw(seed, shape, task)
    k = min(k, shape[1])
    whole, part = GramSchmidt(stop=None).fit(X, y), GramSchmidt(stop=k).fit(X, y)
    np.testing.assert_array_equal(part.order_, whole.order_[:k])


@QUICK
@given(seed=SEED, shape=SHAPE, task=TASK)
def test_what_is_explained_grows_along_the_path(seed, shape, task):
    X, y = draw(seed, shape, task)
    path = GramSchmidt(stop=None).fit(X, y).path_
    explained = [step.info["r2"] for step in path]
    assert np.all(np.diff(explained) >= -1e-12)
    assert -1e-12 <= explained[0] <= explained[-1] <= 1 + 1e-12
    assert all(0 <= step.criterion <= 1 for step in path)
