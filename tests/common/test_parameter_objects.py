"""Rules, dictionaries and learners are no estimators, but scikit-learn must be able to clone, print and set them."""

import pickle

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_do_not_raise_errors_in_init_or_set_params,
    check_estimator_cloneable,
    check_estimator_repr,
    check_no_attributes_set_in_init,
)

from tamis.base import rule_class, rule_names
from tamis.dictionary import RBF, BandPass, BandPassCSP, Columns, Edges, Gabor, Monomials, WaveletCoefficients, Wavelets
from tamis.rank.stochastic import (
    GradientDescent,
    SubsetEvaluation,
    SubsetNeighbors,
    SubsetRidge,
    SubsetSVM,
    SubsetTree,
)

CHECKS = [
    check_do_not_raise_errors_in_init_or_set_params,
    check_estimator_cloneable,
    check_estimator_repr,
    check_no_attributes_set_in_init,
]
LEARNERS = [GradientDescent(), SubsetEvaluation(), SubsetNeighbors(), SubsetRidge(), SubsetSVM(), SubsetTree()]
DICTIONARIES = [
    BandPass(100.0),
    BandPassCSP(100.0),
    Columns(),
    Edges(),
    Gabor(),
    Monomials(),
    RBF(),
    WaveletCoefficients(),
    Wavelets(),
]
OBJECTS = [*(rule_class(name)() for name in rule_names()), *DICTIONARIES, *LEARNERS]


@pytest.mark.parametrize("thing", OBJECTS, ids=repr)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learn_can_handle_it(thing, check):
    check(type(thing).__name__, thing)


@pytest.mark.parametrize("thing", OBJECTS, ids=repr)
def test_it_survives_cloning_and_pickling(thing):
    assert pickle.loads(pickle.dumps(thing)).get_params() == clone(thing).get_params() == thing.get_params()
