"""Kernel parameters have scikit-learn's names, defaults and meaning in every class that takes them."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from tamis import RFE, SVMBoundElimination

CLASSES = [RFE, SVMBoundElimination]


def make_data():
    rng = np.random.RandomState(0)
    X = 3.0 * rng.standard_normal((40, 5)) + 1.0
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("method", CLASSES)
def test_defaults_are_those_of_scikit_learn(method):
    ours, theirs = (inspect.signature(each).parameters for each in (method, SVC))
    for name in ("gamma", "degree", "coef0"):
        assert ours[name].default == theirs[name].default


@pytest.mark.parametrize("method", CLASSES)
@pytest.mark.parametrize("name", ["scale", "auto"])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_named_gamma_is_the_number_it_stands_for(method, name, standardize):
    X, y = make_data()
    variance = X.var() if name == "scale" and not standardize else 1.0
    named, given = (
        method(kernel="rbf", gamma=gamma, standardize=standardize, stop=None).fit(X, y)
        for gamma in (name, 1 / (5 * variance))
    )
    np.testing.assert_array_equal(named.order_, given.order_)
    np.testing.assert_allclose(named.scores_, given.scores_, rtol=1e-7)


def test_the_scale_of_sparse_standardized_columns_is_that_of_dense_ones():
    X, y = make_data()
    X[np.abs(X) < 1.0] = 0.0
    dense, thin = (
        SVMBoundElimination(kernel="rbf", stop=None).fit(make(X), y) for make in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_allclose(thin.scores_, dense.scores_, rtol=1e-7)


@pytest.mark.parametrize("method", CLASSES)
@pytest.mark.parametrize("parameters", [{"gamma": None}, {"gamma": 0.0}, {"degree": 0.5}, {"coef0": "one"}])
def test_other_values_are_refused_by_name(method, parameters):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}'"):
        method(kernel="poly", **parameters).fit(X, y)


@pytest.mark.parametrize("method", CLASSES)
def test_an_unknown_kernel_is_refused_by_name(method):
    with pytest.raises(ValueError, match="kernel='cubic' is unknown"):
        method(kernel="cubic").fit(*make_data())
