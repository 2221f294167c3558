"""scikit-learn's own checks on every estimator of dimension, and the examples in their docstrings."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamis.dimension
from tamis.dimension import (
    GMST,
    MLE,
    BoxCounting,
    CorrelationDimension,
    DimensionEstimator,
    PackingDimension,
    PairwiseSparsity,
    TwoNN,
)

ESTIMATORS = [
    TwoNN(),
    TwoNN(discard=0, standardize=False, n_subsamples=0),
    MLE(),
    MLE(n_neighbors=2, aggregate="mean"),
    CorrelationDimension(),
    CorrelationDimension(n_neighbors=1, n_subsamples=2),
    PackingDimension(n_orders=2),
    BoxCounting(),
    BoxCounting(n_scales=2, samples_per_box=1),
    GMST(n_subsamples=2),
    GMST(n_neighbors=1, n_subsamples=0),
    PairwiseSparsity(),
]
MODULES = [
    importlib.import_module(f"tamis.dimension.{found.name}") for found in pkgutil.iter_modules(tamis.dimension.__path__)
]
CLASSES = [getattr(tamis.dimension, name) for name in tamis.dimension.__all__ if name != "DimensionEstimator"]


# some checks fit on tables in which rows are repeated, and TwoNN says so
@pytest.mark.filterwarnings("ignore:.* samples are copies of others")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_docstring_holds_objective_parameters_attributes_and_example(cls):
    assert issubclass(cls, DimensionEstimator)
    text = inspect.getdoc(cls)
    assert text.index(".. math::") < text.index("Parameters\n---")
    for section in ("Attributes", "Notes", "References", "Examples"):
        assert f"{section}\n---" in text
    for parameter in inspect.signature(cls).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* :", text, re.MULTILINE), f"{parameter} is not documented"
