"""As many features as share the probability."""

import numpy as np
import pytest
from sklearn.base import clone

from tamis import OFW, FisherScore, GramSchmidt, MaxVariance
from tamis.base import ColumnCandidates, Ranking
from tamis.rank.stochastic import GradientDescent
from tamis.stop import EffectiveNumber
from tamis.testing.checks import make_data

RNG = np.random.RandomState(0)


def decide(probability, **parameters):
    """What the rule says of a ranking by these weights; features without any were not ranked."""
    probability = np.asarray(probability, dtype=float)
    scores = np.where(probability > 0, probability, np.nan)
    order = np.argsort(-probability, kind="stable")[: np.count_nonzero(probability)]
    candidates = ColumnCandidates(np.zeros((1, probability.size)))
    return EffectiveNumber(**parameters).decide(OFW(), Ranking(order, scores), candidates, None, RNG)


@pytest.mark.parametrize("shared_by", [1, 2, 5, 40])
def test_features_that_share_the_probability_evenly_are_kept(shared_by):
    decision = decide(np.append(np.full(shared_by, 1 / shared_by), np.zeros(3)))
    assert decision.n_features == shared_by
    assert f"{shared_by:.1f} features share the probability: kept {shared_by}" in decision.reason


@pytest.mark.parametrize("multiple", [0.01, 0.5, 1.0, 1.3, 2, 100.0])
def test_the_number_kept_is_the_exponential_of_the_entropy_times_the_multiple_rounded_up(multiple):
    probability = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    effective = np.exp(-np.sum(probability * np.log(probability)))
    decision = decide(probability, multiple=multiple)
    assert decision.n_features == min(6, int(np.ceil(multiple * effective)))
    assert (f"times {multiple:g}" in decision.reason) == (multiple != 1)


def test_the_curve_is_the_probability_of_the_kept_features():
    decision = decide([0.1, 0.6, 0.0, 0.3])
    np.testing.assert_allclose(decision.curve, [0.6, 0.9, 1.0])
    np.testing.assert_array_equal(decision.curve_at, [1, 2, 3])
    assert decision.label
    assert f"which hold {decision.curve[decision.n_features - 1]:.0%} of it" in decision.reason


def test_weights_are_taken_relative_to_their_sum():
    assert decide([5.0, 2.0, 1.0, 1.0]).n_features == decide([0.5, 0.2, 0.1, 0.1]).n_features


def test_it_is_the_natural_rule_of_a_ranker_that_gives_a_probability():
    X, y = make_data()
    ofw = OFW("ridge", subset_size=2, n_subsets=20, method=GradientDescent(mu=2), tol=0.8, random_state=0)
    found = clone(ofw).fit(X, y)
    assert found.stop_.n_features == np.ceil(found.effective_number_ - 1e-9)
    twice = clone(ofw).set_params(stop=EffectiveNumber(multiple=2.0)).fit(X, y)
    assert twice.support_.sum() == min(twice.order_.size, np.ceil(2 * found.effective_number_ - 1e-9))


@pytest.mark.parametrize("ranker", [FisherScore, GramSchmidt, MaxVariance])
@pytest.mark.parametrize("stop", [EffectiveNumber(), "effective-number"], ids=str)
def test_a_ranker_that_gives_no_probability_is_refused_and_both_are_named(ranker, stop):
    X, y = make_data()
    with pytest.raises(
        ValueError, match=f"EffectiveNumber is for methods that .*, and {ranker.__name__} is none of them"
    ):
        ranker(stop=stop).fit(X, y)


@pytest.mark.parametrize("multiple", [0, -1.0, "two"])
def test_a_bad_multiple_is_named(multiple):
    X, y = make_data()
    with pytest.raises(ValueError, match="'multiple' parameter of EffectiveNumber"):
        OFW(stop=EffectiveNumber(multiple=multiple)).fit(X, y)
