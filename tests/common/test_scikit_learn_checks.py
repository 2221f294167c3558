"""scikit-learn's own checks on every instance of every method."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis.testing import instances


def expected_failures(estimator: Any) -> dict[str, str]:
    return {}


# some checks fit on noise, where keeping nothing is the right answer and `transform` says so
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(instances(), expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)
