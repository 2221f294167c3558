"""What ``stop="auto"`` keeps: features that tell something of the target, never a number that nobody asked for."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import tamis
from tamis import (
    FQI,
    NNFS,
    RFE,
    CorrelationScore,
    FisherScore,
    FloatingSelection,
    OptimalBrainDamage,
    ReliefF,
    SensitivityRanking,
    SVMBoundElimination,
    TreeSelector,
)
from tamis.stop import TopK
from tamis.testing.instances import ARGUMENTS

SUPERVISED = [name for name in ARGUMENTS if getattr(tamis, name).supervised]
ONCE_HALF = [
    CorrelationScore(),
    FisherScore(),
    ReliefF(),
    RFE(step=0.5),
    SVMBoundElimination(step=0.5),
    TreeSelector(importance="mutual_information"),
    FloatingSelection(),
    NNFS(hidden_units=(2,), step=0.5, random_state=0),
    FQI(hidden_units=(2,), random_state=0),
    OptimalBrainDamage(LogisticRegression(), step=0.5),
    SensitivityRanking(LogisticRegression()),
]


@pytest.mark.parametrize("name", SUPERVISED)
def test_no_supervised_method_has_a_number_as_its_default(name):
    assert not isinstance(getattr(tamis, name)()._stopping_rule(), TopK)


@pytest.mark.parametrize("ranker", ONCE_HALF, ids=lambda ranker: type(ranker).__name__)
def test_the_one_feature_that_tells_the_classes_is_kept_and_fewer_than_half(ranker):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((40, 8)), np.arange(40) % 2
    X[:, 0] += 3 * y
    found = clone(ranker).fit(X, y)
    assert found.support_[0]
    assert found.n_features_ < 4
    assert "as asked" not in found.stop_.reason
    assert "half" not in found.stop_.reason


def test_a_number_that_was_asked_for_is_told_as_asked():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((30, 4)), np.arange(30) % 2
    assert "as asked" in FisherScore(stop=2).fit(X, y).stop_.reason
    assert "as asked" in FisherScore(stop=0.5).fit(X, y).stop_.reason
