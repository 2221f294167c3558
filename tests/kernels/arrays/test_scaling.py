"""Changes of units that lose nothing."""

import numpy as np
import pytest
from scipy import sparse

from tamis import MCFS, SPEC, LaplacianScore
from tamis.assess import feature_gram, feature_r2
from tamis.dimension import MLE, TwoNN
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents
from tamis.stop import FITPlateau

UNITS = 10.0 ** np.array([-200, -170, 0, 3, 160, 200])


def table(n=60):
    rng = np.random.RandomState(0)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((n, 6))


def test_ordinary_tables_are_left_alone():
    assert overflow_exponents(table()) is None
    X = table()
    assert ldexp_columns(X, None) is X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_wild_columns_are_divided_by_a_power_of_two(kind):
    X = table() * UNITS
    given = sparse.csr_array(X) if kind == "sparse" else X
    found = ldexp_columns(given, overflow_exponents(given))
    found = found.toarray() if kind == "sparse" else found
    ratio = X / found
    assert (ratio == ratio[0]).all()
    assert (np.frexp(ratio[0])[0] == 0.5).all()
    assert 0.1 < np.abs(found).max() < 1e4


@pytest.mark.parametrize("ranker", [LaplacianScore(stop=None), SPEC(phi=3, stop=None), MCFS(stop=None)], ids=repr)
def test_units_beyond_all_squares_do_not_change_a_ranking(ranker):
    X = table()
    expected = ranker.fit(X).scores_
    np.testing.assert_allclose(ranker.fit(X * UNITS).scores_, expected, rtol=1e-8)


def test_units_beyond_all_squares_do_not_change_what_is_recovered():
    X = table()
    np.testing.assert_allclose(feature_r2(X * UNITS, [0, 4]), feature_r2(X, [0, 4]), rtol=1e-8)
    np.testing.assert_allclose(feature_gram(X * UNITS), feature_gram(X), rtol=1e-8, atol=1e-10)
    plain = LaplacianScore(stop=FITPlateau()).fit(X).stop_
    assert LaplacianScore(stop=FITPlateau()).fit(1e-200 * X).stop_.curve == pytest.approx(plain.curve, rel=1e-8)


@pytest.mark.parametrize("estimator", [TwoNN(n_subsamples=0), MLE(n_subsamples=0)], ids=repr)
def test_units_beyond_all_squares_do_not_change_a_dimension(estimator):
    X = table()
    expected = estimator.fit(X).dimension_
    assert estimator.fit(X * UNITS).dimension_ == pytest.approx(expected, rel=1e-8)
