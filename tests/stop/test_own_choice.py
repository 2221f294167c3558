"""What the method itself chose."""

import numpy as np
import pytest

from tamis import FisherScore, GramSchmidt, PerceptronElimination
from tamis.base import Ranking
from tamis.stop import OwnChoice
from tamis.testing.checks import make_data


def test_as_many_are_kept_as_the_ranking_says_and_for_its_reason():
    ranking = Ranking(np.array([2, 0, 1]), np.ones(3), n_chosen=2, reason="no more was needed")
    decision = OwnChoice().decide(PerceptronElimination(), ranking, None, None, np.random.RandomState(0))
    assert (decision.n_features, decision.reason) == (2, "no more was needed")


def test_no_more_are_kept_than_were_ranked():
    ranking = Ranking(np.array([1]), np.array([np.nan, 1.0]), n_chosen=2, reason="all")
    assert OwnChoice().decide(PerceptronElimination(), ranking, None, None, np.random.RandomState(0)).n_features == 1


@pytest.mark.parametrize("stop", ["auto", "own-choice", OwnChoice()], ids=str)
def test_it_is_the_natural_rule_of_a_ranker_that_chooses(stop):
    X, y = make_data()
    found = PerceptronElimination(stop=stop).fit(X, y)
    assert found.support_.sum() == found.n_chosen_ == found.stop_.n_features
    assert "could cost more than" in found.stop_.reason


@pytest.mark.parametrize("ranker", [FisherScore, GramSchmidt])
def test_a_ranker_that_does_not_choose_is_refused_and_both_are_named(ranker):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"OwnChoice is for methods that .*, and {ranker.__name__} is none of them"):
        ranker(stop=OwnChoice()).fit(X, y)
