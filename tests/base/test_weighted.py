"""Weights of rows given to a method that takes none."""

import inspect

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from tamis import GramSchmidt, MaxVariance, PerceptronElimination, ReliefF

UNWEIGHTED = [MaxVariance(stop=1), PerceptronElimination(stop=1), ReliefF(stop=1)]
unweighted = pytest.mark.parametrize("ranker", UNWEIGHTED, ids=repr)


def data():
    X = np.random.RandomState(0).standard_normal((20, 3))
    return X, (X[:, 0] > 0).astype(int)


@unweighted
def test_the_error_names_the_method_and_says_what_to_do(ranker):
    X, y = data()
    with pytest.raises(TypeError, match="takes no weights of the rows") as caught:
        ranker.fit(X, y, sample_weight=np.ones(20))
    assert str(caught.value).startswith(f"{type(ranker).__name__} ")
    assert "sample_weight" in str(caught.value)
    assert ("GramSchmidt()" in str(caught.value)) == ranker.supervised


@unweighted
def test_the_error_comes_through_fit_transform_and_a_pipeline(ranker):
    X, y = data()
    with pytest.raises(TypeError, match="takes no weights of the rows"):
        ranker.fit_transform(X, y, sample_weight=np.ones(20))
    name = type(ranker).__name__.lower()
    with pytest.raises(TypeError, match="takes no weights of the rows"):
        make_pipeline(ranker).fit(X, y, **{f"{name}__sample_weight": np.ones(20)})


@unweighted
def test_no_weights_are_no_error(ranker):
    X, y = data()
    np.testing.assert_array_equal(ranker.fit(X, y, sample_weight=None).order_, ranker.fit(X, y).order_)


@unweighted
def test_scikit_learn_still_sees_that_the_method_takes_none(ranker):
    assert not has_fit_parameter(ranker, "sample_weight")
    assert list(inspect.signature(ranker.fit).parameters) == ["X", "y", "row_groups"]
    with config_context(enable_metadata_routing=True):
        assert not get_routing_for_object(ranker).consumes("fit", {"sample_weight"})
        assert ranker.set_fit_request(row_groups=False).fit(*data()) is ranker
        with pytest.raises(TypeError, match="sample_weight"):
            ranker.set_fit_request(sample_weight=True)
    assert has_fit_parameter(GramSchmidt(), "sample_weight")


@unweighted
def test_other_words_that_fit_does_not_know_are_refused_as_by_any_function(ranker):
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        ranker.fit(*data(), weights=np.ones(20))
