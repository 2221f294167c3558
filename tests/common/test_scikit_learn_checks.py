"""scikit-learn's own checks on one instance for each path through a method, and on classifiers made of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import OFW, OFWClassifier
from tamis.rank.stochastic import GradientDescent
from tamis.testing import instances

CLASSIFIERS = [
    OFWClassifier(OFW(n_subsets=20, method=GradientDescent(mu=2)), n_classifiers=10),
    OFWClassifier(
        OFW("ridge", subset_size=2, n_subsets=20, method=GradientDescent(mu=2)),
        n_classifiers=5,
        estimator="tree",
        random_state=0,
    ),
]


# some checks fit on noise, where keeping nothing is the right answer and `transform` says so
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(instances(one_per_path=True))
def test_scikit_learn(estimator, check):
    check(estimator)


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_on_classifiers(estimator, check):
    check(estimator)
