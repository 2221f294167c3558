"""TableSelector: source columns of mixed tables in, the same columns out."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import CorrelationScore, TableSelector


@pytest.mark.filterwarnings("ignore:No features were selected", "ignore:.*keeps none of")
@parametrize_with_checks([TableSelector(), TableSelector(CorrelationScore(stop=1))])
def test_scikit_learn(estimator, check):
    check(estimator)
