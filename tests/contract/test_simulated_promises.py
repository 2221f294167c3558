"""The simulation of what rules promise leaves out no rule and no supervised method, and judges rates in stages."""

import numpy as np
import pytest

import tamis
from bench.errors import null_designs, promises
from bench.errors.null_designs import NULL_DESIGNS
from bench.errors.null_pairs import KINDS, RULES, SMALL, Pair, goes_with, pairs
from tamis.base import ColumnCandidates, rule_class, rule_names
from tamis.stop._promises import PROMISES
from tamis.testing.instances import ARGUMENTS

PAIR = Pair("MonteCarloProbe", "CorrelationScore", (30, 5), ("Gaussian", "counts, classes"), 50)


def simulated_rules() -> set[type]:
    return {type(rule.build(0, None)) for rule in RULES.values()}


def test_every_stopping_rule_is_simulated():
    assert {rule_class(name) for name in rule_names()} == simulated_rules(), "add it to bench/errors/null_pairs.py"


def test_every_supervised_method_is_simulated():
    supervised = {name for name in ARGUMENTS if getattr(tamis, name).supervised}
    assert supervised == {type(kind.ranker()).__name__ for kind in KINDS.values()}, (
        "add it to bench/errors/null_pairs.py"
    )


def test_a_rule_that_is_called_calibrated_is_held_to_a_level():
    calibrated = {rule_class(name) for name, promise in PROMISES.items() if "calibrated: noise" in promise.sentence}
    assert {type(rule.build(0, None)) for rule in RULES.values() if rule.level is not None} == calibrated


def test_levels_are_those_that_the_rules_are_given():
    for rule in RULES.values():
        built = rule.build(0, None).get_params()
        if rule.level is not None:
            assert rule.level == (built.get("fdr") or built["risk"])


@pytest.mark.parametrize("label", KINDS)
def test_a_pair_is_simulated_exactly_where_the_rule_takes_the_ranker(label):
    ranker = KINDS[label].ranker()
    run = {pair.rule for pair in pairs() if pair.kind == label}
    for name, rule in RULES.items():
        if goes_with(rule, ranker):
            rule.build(0, None).check(ranker, ColumnCandidates(np.zeros((10, 6))))
            assert name in run or not rule.is_meant_for(ranker) or not (KINDS[label].is_full or rule.is_default)
        else:
            assert name not in run
            with pytest.raises(ValueError, match="is none of them"):
                rule.build(0, None).check(ranker, ColumnCandidates(np.zeros((10, 6))))


def test_every_supervised_method_is_held_to_the_default_promise():
    held = {type(KINDS[pair.kind].ranker()).__name__ for pair in pairs() if pair.rule == "MonteCarloProbe"}
    assert held == {name for name in ARGUMENTS if getattr(tamis, name).supervised}


def test_nothing_is_promised_of_single_scores_beside_copies_by_an_estimated_covariance():
    for rule in ("MonteCarloProbe, knockoffs", "MonteCarloProbe, residuals"):
        assert Pair(rule, "CorrelationScore", SMALL, ("Gaussian",), 1).level("Gaussian") is None
        assert Pair(rule, "RFE, ridge", SMALL, ("Gaussian",), 1).level("Gaussian") == 0.05


def test_nothing_is_promised_of_the_analytic_law_of_the_probe_far_from_gaussian_columns():
    pair = Pair("Probe, Gaussian law", "GramSchmidt", SMALL, tuple(NULL_DESIGNS), 1)
    assert {label for label in NULL_DESIGNS if pair.level(label)} == {
        label for label in NULL_DESIGNS if label.startswith(("Gaussian", "AR"))
    }


@pytest.mark.parametrize("label", NULL_DESIGNS)
def test_a_design_draws_the_same_table_again_and_others_at_other_stages(label):
    design = NULL_DESIGNS[label]
    (X, y), (again, target), (fresh, _) = (design((60, 20), seed) for seed in ((0, 3), (0, 3), (1, 3)))
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, target)
    assert not np.array_equal(X, fresh)
    assert np.unique(y).size == (2 if design.task == "classification" else 60)


def test_designs_have_the_laws_that_they_are_called_by():
    rng = np.random.default_rng(0)
    shape = (4000, 10)
    assert np.all(null_designs.rare_binary(shape, rng).mean(axis=0) < 0.06)
    assert null_designs.unbalanced_classes(60, rng).sum() == 6
    counted = null_designs.counts(shape, rng)
    assert np.all((counted == 0).mean(axis=0) > null_designs.NEVER)
    assert np.all(counted == np.round(counted))
    X = null_designs.autoregressive(shape, rng)
    np.testing.assert_allclose(np.cov(X.T), null_designs.autoregressive_covariance(10), atol=0.1)


def noise_kept_in(shares, monkeypatch):
    """Tables of which a column is kept, as a share of those of each stage."""
    monkeypatch.setattr(
        Pair, "n_kept", lambda self, label, seed: int(seed[1] < shares[seed[0]] * self.repetitions * STAGES[seed[0]])
    )


STAGES = promises.STAGES


@pytest.mark.parametrize(
    ("shares", "n_stages", "breaks"),
    [((0.05, 1, 1), 0, False), ((0.5, 0.05, 1), 2, False), ((0.5, 0.5, 0.05), 3, False), ((0.5, 0.5, 0.5), 3, True)],
)
def test_what_exceeds_its_promise_is_repeated_on_fresh_tables_and_the_last_of_them_decide(
    monkeypatch, shares, n_stages, breaks
):
    noise_kept_in(shares, monkeypatch)
    suspects = promises.suspects_of(PAIR, promises.measure(PAIR, 0, PAIR.designs))
    assert {each.where for each in suspects} == ({*PAIR.designs, promises.TOGETHER} if n_stages else set())
    for each in suspects:
        n = PAIR.repetitions * (2 if each.where == promises.TOGETHER else 1)
        assert [rate.n for rate in each.stages] == [n * times for times in STAGES[:n_stages]]
        assert each.breaks_promise is breaks


def test_the_standard_error_is_that_of_a_rate_at_the_promise():
    rate = promises.Rate.of(np.array([0] * 90 + [3] * 10), 0.05)
    assert rate.value == 0.1
    assert rate.most == pytest.approx(0.05 + 2 * np.sqrt(0.05 * 0.95 / 100))
    assert rate.exceeds


def test_the_bench_prints_every_rule_and_counts_errors(monkeypatch, capsys):
    quick = {"kinds": ("CorrelationScore", "GramSchmidt"), "designs": ("Gaussian",), "repetitions": 1}
    monkeypatch.setattr(promises, "QUICK", quick)
    monkeypatch.setattr(promises, "FAILURES", {})
    monkeypatch.setattr(promises, "STAGES", (1,))
    original = Pair.n_kept

    def fails_with_top_k(self, label, seed):
        if self.rule == "TopK, half":
            raise ValueError("no such table")
        return original(self, label, seed)

    monkeypatch.setattr(Pair, "n_kept", fails_with_top_k)
    found = promises.run(quick=True)
    printed = capsys.readouterr().out
    run = {rule for rule in RULES if "\n" + rule in printed or f"  {rule} " in printed}
    assert (
        run
        == {each["rule"] for each in found["pairs"]}
        == {pair.rule for pair in pairs() if pair.kind in quick["kinds"] and "Gaussian" in pair.designs}
    )
    assert "1 times: TopK, half with GramSchmidt on Gaussian: ValueError: no such table" in printed
    assert "fits that ended with an error" in printed
    assert "reached" not in found
