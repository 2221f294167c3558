"""Selections of several two-class problems, united."""

import numpy as np
import pytest

from tamis import CorrelationScore, GramSchmidt
from tamis.stop import CrossValidation, FisherTest, MonteCarloProbe, Probe

RULES = {
    "probe": (GramSchmidt, Probe(0.1, null="gaussian"), 80),
    "fisher": (GramSchmidt, FisherTest(0.1), 80),
    "monte-carlo": (CorrelationScore, MonteCarloProbe(0.1, n_draws=19), 25),
    "false discoveries": (CorrelationScore, MonteCarloProbe(fdr=0.1, n_draws=19), 25),
}


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("name", RULES)
def test_a_union_of_problems_keeps_noise_no_more_often_than_its_risk(name, scheme):
    method, rule, n_tables = RULES[name]
    rng = np.random.RandomState(0)
    n_features = 1 if name == "fisher" else 4  # which does not correct for the best of many
    kept = 0
    for _ in range(n_tables):
        X, y = rng.standard_normal((50, n_features)), np.arange(50) % 5
        kept += method(stop=rule, multiclass=scheme).fit(X, y).support_.any()
    assert kept / n_tables <= 0.1 + 3 * np.sqrt(0.09 / n_tables)


def test_each_problem_has_its_share_of_the_risk():
    assert Probe(0.05).divided(5).risk == FisherTest(0.05).divided(5).risk == pytest.approx(0.01)
    divided = MonteCarloProbe(0.05, n_draws=99).divided(10)
    assert divided.risk == pytest.approx(0.005)
    assert (divided.n_draws + 1) * divided.risk > 1
    assert MonteCarloProbe(fdr=0.2).divided(4).fdr == pytest.approx(0.05)
    assert Probe(0.05, null="permutation").divided(10).n_draws == 200
    rule = CrossValidation()
    assert rule.divided(3) is rule


def test_the_rule_itself_is_left_as_it_was():
    rule = Probe(0.05)
    X, y = np.random.RandomState(0).standard_normal((60, 5)), np.arange(60) % 3
    found = GramSchmidt(stop=rule, multiclass="ovr").fit(X, y)
    assert rule.risk == 0.05
    assert {ranker.stop.risk for ranker in found.subproblems_.values()} == {0.05 / 3}
