"""Dimensions and FIT by approximate neighbors are nearly those by exact ones."""

import numpy as np
import pytest

from tamis.assess import feature_r2, fit_score
from tamis.dimension import MLE, TwoNN


def a_plane(n=1500):
    rng = np.random.RandomState(0)
    return rng.uniform(size=(n, 2)) @ rng.standard_normal((2, 10)) + 1e-6 * rng.standard_normal((n, 10))


@pytest.mark.parametrize("method", [TwoNN, MLE])
def test_the_dimension_is_nearly_the_exact_one(method):
    X = a_plane()
    exact, approximate = (
        method(n_subsamples=3, random_state=0, neighbors=each).fit(X) for each in ("exact", "approximate")
    )
    assert approximate.dimension_ == pytest.approx(exact.dimension_, rel=0.02)
    np.testing.assert_allclose(approximate.subsample_dimensions_, exact.subsample_dimensions_, rtol=0.05)


@pytest.mark.parametrize("mode", ["loo", "thesis"])
def test_features_are_recovered_as_by_exact_neighbors(mode):
    X = a_plane(600)
    exact, approximate = (fit_score(X, [0, 1, 2], mode=mode, neighbors=each) for each in ("exact", "approximate"))
    assert approximate == pytest.approx(exact, abs=0.01)
    held_out = feature_r2(X[:400], [0, 1, 2], X_test=X[400:], neighbors="approximate")
    np.testing.assert_allclose(held_out, feature_r2(X[:400], [0, 1, 2], X_test=X[400:]), atol=0.02)


def test_other_searches_are_refused():
    with pytest.raises(ValueError, match="neighbors='fast' is unknown; choose one of 'exact', 'approximate'"):
        fit_score(a_plane(20), [0], neighbors="fast")
