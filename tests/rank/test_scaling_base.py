"""What all methods that learn scaling factors refuse, and weigh."""

import numpy as np
import pytest
from scipy import sparse

from tamis import ARD, JCFO, MED, AdaptiveScaling, MarginLP, ScalingFactors, ZeroNorm
from tamis.datasets import make_linear

METHODS = [ARD, AdaptiveScaling, JCFO, MED, MarginLP, ScalingFactors, ZeroNorm]
WITH_KERNEL = [AdaptiveScaling, JCFO, ScalingFactors, ZeroNorm]


def make_classes(n_rows=40, n_columns=6, seed=0):
    X = np.random.RandomState(seed).randn(n_rows, n_columns)
    return X, (X[:, 3] > 0).astype(int)


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_overflow_are_named(method):
    X, y = make_classes()
    X[:, 3] *= 1e160
    with pytest.raises(ValueError, match=r"^column x3 spans .*e\+160, too much.*standardize=True"):
        method(standardize=False).fit(X, y)
    assert method().fit(X, y).order_[0] == 3


@pytest.mark.parametrize("method", METHODS)
def test_tables_that_vanish_are_refused(method):
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"^no column spans more than .*standardize=True"):
        method(standardize=False).fit(X * 1e-160, y)
    if method is not ScalingFactors:
        with pytest.raises(ValueError, match="too little to be squared"):
            method(standardize=False).fit(sparse.csr_array(X * 1e-160), y)


@pytest.mark.parametrize("method", METHODS)
def test_more_rows_than_can_be_counted_are_refused(method):
    X, y = make_classes()
    for weight in (1e300, 1e308):
        with pytest.raises(ValueError, match=r"^sample_weight sums to .*mean of 1$"):
            method().fit(X, y, sample_weight=np.full(len(y), weight))


@pytest.mark.parametrize("method", WITH_KERNEL)
@pytest.mark.parametrize("arguments", [{"degree": 2.5}, {"degree": 2.5, "coef0": 1.0}, {"degree": 50, "coef0": 1e9}])
def test_kernels_that_are_not_finite_are_refused(method, arguments):
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"^kernel='poly' is not finite on these columns"):
        method(kernel="poly", **arguments).fit(X * 3, y)


@pytest.mark.parametrize("method", WITH_KERNEL)
def test_the_width_of_a_kernel_weighs_rows(method):
    X, y = make_classes()
    X = X**3  # so that it matters to the variance which rows count
    weight = np.where(np.abs(X[:, 0]) > 1, 1, 5)
    options = {"kernel": "rbf", "stop": 6}
    weighted = method(**options).fit(X, y, sample_weight=weight)
    repeated = method(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    outputs = [found.estimator_.decision_function(X) for found in (weighted, repeated)]
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-3, atol=1e-3 * np.abs(outputs[1]).max())


@pytest.mark.parametrize("method", [ARD, JCFO])
def test_all_in_order_is_the_order_of_the_rounds_to_the_end(method):
    X, y = make_linear(n_samples=60, random_state=0)
    ranked, chosen = method(stop=None).fit(X, y), method().fit(X, y)
    assert ranked.n_iter_ == chosen.n_iter_
    np.testing.assert_array_equal(ranked.order_, chosen.order_)


def test_a_model_says_which_table_it_takes():
    X, y = make_linear(n_samples=60, random_state=0)
    selector = ARD(stop=3).fit(X, y)
    assert selector.estimator_.predict(selector.transform(X)).shape == (60,)
    with pytest.raises(ValueError, match="takes the 3 columns that transform keeps, but the table has"):
        selector.estimator_.predict(X)


def test_quantities_are_refused_by_bounds_on_errors():
    rng = np.random.RandomState(0)
    X = rng.randn(60, 4)
    with pytest.raises(ValueError, match="ScalingFactors is for classes, but y holds 40 distinct numbers"):
        ScalingFactors().fit(X, np.arange(60.0) % 40)
    with pytest.raises(ValueError, match="y holds 60 different labels in 60 rows"):
        ScalingFactors().fit(X, np.arange(60.0))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_but_public_attributes_is_left_of_a_fit(method):
    X, y = make_classes()
    ranker = method(stop=2)
    before = set(vars(ranker))
    left = set(vars(ranker.fit(X, y))) - before
    assert not [name for name in left if name.startswith("_") and name != "_sklearn_output_config"]
