"""Ctrl-C: what was found so far is handed back, marked as unfinished; where there is nothing, nothing is fitted."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.tree import DecisionTreeClassifier

from tamis import (
    NDFS,
    OFW,
    RFE,
    AdaptiveScaling,
    CorrelationScore,
    FisherScore,
    GramSchmidt,
    LaplacianScore,
    Lasso,
    MarginLP,
    MaxVariance,
    PCALeverage,
    PerceptronElimination,
    SVMBoundElimination,
    TreeSelector,
)
from tamis.datasets import make_linear
from tamis.rank.model import _tree_selector
from tamis.stop import CrossValidation, FITPlateau, MonteCarloProbe, Probe


class CtrlC:
    """A callback during whose n-th end of a step the process gets SIGINT, as from a keyboard."""

    def __init__(self, step, at=2, times=1):
        self.step, self.at, self.times, self.seen = step, at, times, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += context.task_name == self.step
        if context.task_name == self.step and self.at <= self.seen < self.at + self.times:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def python_handles_sigint():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def quantities():
    return make_linear(60, n_features=9, coef=[3, 2, 2, 1], noise=1.0, random_state=0)


@pytest.fixture
def classes(quantities):
    return quantities[0], (quantities[1] > 0).astype(int)


def interrupted(ranker, problem, step, at=2):
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker.set_callbacks(CtrlC(step, at)).fit(*problem)
    assert ranker.certificate_["interrupted"] is True
    assert ranker.certificate_["converged"] is False
    assert "interrupted" in ranker.stop_.reason
    assert not [name for name in vars(ranker) if name == "_interruption"]
    return ranker


LOOPS = {
    "sequential": (GramSchmidt(stop=None), "rank step"),
    "backward": (RFE(stop=None), "eliminate step"),
    "backward by bounds": (SVMBoundElimination(stop=None), "eliminate step"),
    "backward by perceptrons": (PerceptronElimination(random_state=0), "pass step"),
    "path of penalties": (Lasso(alpha="path", stop=None), "penalty step"),
    "stochastic": (OFW(n_subsets=10, random_state=0), "learn step"),
    "rounds": (AdaptiveScaling(stop=None), "round step"),
    "sweeps": (NDFS(stop=None, n_clusters=2, random_state=0), "sweep step"),
    "sub-problems": (GramSchmidt(stop=2, multiclass="ovr"), "ovr step"),
}


@pytest.mark.parametrize(("ranker", "step"), LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_hands_back_what_it_has(ranker, step, classes):
    X, y = classes
    if step == "ovr step":
        y = np.digitize(X[:, 0], np.quantile(X[:, 0], [1 / 3, 2 / 3]))
    found = interrupted(ranker, (X, y), step)
    assert "interrupted after 2" in found.stop_.reason
    assert found.support_.sum() == found.n_features_ <= found.order_.size
    assert found.transform(X).shape == (60, found.n_features_)


def test_networks_hand_back_what_they_have(classes):
    pytest.importorskip("torch")
    from tamis import DeepFeatureSelection, SignalToNoise

    for ranker in (DeepFeatureSelection(stop=None, random_state=0), SignalToNoise(n_draws=2, random_state=0)):
        interrupted(ranker, classes, "epoch step", at=4)


def test_steps_before_the_interruption_are_those_of_the_whole_path(quantities):
    whole = GramSchmidt(stop=None).fit(*quantities)
    found = interrupted(GramSchmidt(stop=None), quantities, "rank step", at=3)
    np.testing.assert_array_equal(found.order_, whole.order_[:3])
    assert "interrupted after 3 of 9 steps" in found.stop_.reason


def test_features_that_had_left_stay_behind_those_that_had_not(classes):
    whole = RFE(stop=None).fit(*classes)
    found = interrupted(RFE(stop=None), classes, "eliminate step", at=3)
    np.testing.assert_array_equal(found.order_[-3:], whole.order_[-3:])
    np.testing.assert_array_equal(np.sort(found.order_), np.arange(9))


def test_rules_that_read_the_path_cut_what_there_is(quantities):
    found = interrupted(GramSchmidt(stop=2), quantities, "rank step", at=1)
    assert found.n_features_ == 1
    assert "add nothing" not in found.stop_.reason


def test_rules_that_need_more_than_the_ranking_are_not_asked_after_an_interruption(quantities):
    found = interrupted(GramSchmidt(stop=CrossValidation(cv=3)), quantities, "rank step", at=3)
    assert found.n_features_ == 3
    assert "CrossValidation has not decided" in found.stop_.reason


def test_draws_so_far_decide_where_they_suffice_for_the_risk(quantities):
    ranker = CorrelationScore(stop=MonteCarloProbe(0.1, n_draws=29, random_state=0))
    found = interrupted(ranker, quantities, "probe step", at=9)
    assert "9 of 29 draws" in found.stop_.reason
    assert 1 <= found.n_features_ < 9


def test_with_too_few_draws_for_the_risk_a_sequential_method_hands_back_what_it_ranked(quantities):
    ranker = GramSchmidt(stop=MonteCarloProbe(0.1, n_draws=29, random_state=0))
    found = interrupted(ranker, quantities, "probe step", at=8)
    assert found.n_features_ == 9
    assert "MonteCarloProbe has not decided" in found.stop_.reason
    np.testing.assert_array_equal(found.order_, GramSchmidt(stop=None).fit(*quantities).order_)


def test_with_too_few_draws_for_the_risk_a_method_that_is_not_sequential_ends_unfitted(quantities):
    ranker = CorrelationScore(stop=MonteCarloProbe(0.1, n_draws=29, random_state=0))
    with pytest.raises(KeyboardInterrupt):
        interrupted(ranker, quantities, "probe step", at=8)
    assert not hasattr(ranker, "order_")


def test_folds_so_far_decide(quantities):
    found = interrupted(CorrelationScore(stop=CrossValidation(cv=5)), quantities, "fold step")
    assert "interrupted after 2 of 5 steps (fold)" in found.stop_.reason


def test_a_method_that_is_not_sequential_ends_unfitted_where_its_rule_is_interrupted(quantities, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FITPlateau, "decide", stopped)
    ranker = MaxVariance(stop=FITPlateau())
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(quantities[0])
    assert not hasattr(ranker, "order_")


@pytest.mark.parametrize("ranker", [FisherScore(stop=1), LaplacianScore(stop=1), RFE(stop=1)], ids=str)
def test_where_nothing_can_be_handed_back_the_ranker_is_left_unfitted(ranker, classes, monkeypatch):
    ranker.fit(*classes)
    method = "_start_elimination" if isinstance(ranker, RFE) else "_rank"

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(ranker), method, stopped)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(*classes)
    with pytest.raises(NotFittedError):
        ranker.transform(classes[0])
    assert not [name for name in vars(ranker) if name.endswith("_") and not name.startswith("_")]


COMPILED = {
    "a tree": (TreeSelector(), "tree step"),
    "a tree by gain ratio": (TreeSelector(criterion="gain_ratio"), "node step"),
    "a linear program": (MarginLP(), "program step"),
    "a decomposition": (PCALeverage(stop=2), "decompose step"),
    "a graph": (LaplacianScore(stop=2), "graph step"),
}


@pytest.mark.parametrize(("ranker", "step"), COMPILED.values(), ids=COMPILED.keys())
def test_one_long_call_ends_unfitted(ranker, step, classes, calls_that_last):
    with pytest.raises(KeyboardInterrupt):
        ranker.set_callbacks(CtrlC(step, 1)).fit(*classes)
    assert not hasattr(ranker, "order_")


def test_a_tree_is_not_waited_for(classes, monkeypatch):
    nobody_waits = threading.Event()

    class SlowTree(DecisionTreeClassifier):
        def fit(self, *arguments, **weights):
            os.kill(os.getpid(), signal.SIGINT)
            nobody_waits.wait()
            return super().fit(*arguments, **weights)

    monkeypatch.setitem(_tree_selector._TREES, ("classification", False), SlowTree)
    with pytest.raises(KeyboardInterrupt):
        TreeSelector().fit(*classes)
    nobody_waits.set()


def test_trees_that_are_grown_in_vain_join_no_forest(classes, monkeypatch):
    goes_on, has_ended = threading.Event(), threading.Event()

    class SlowForest(RandomForestClassifier):
        def fit(self, *arguments, **weights):
            is_third = self.n_estimators == 3
            if is_third:
                os.kill(os.getpid(), signal.SIGINT)
                goes_on.wait()
            super().fit(*arguments, **weights)
            if is_third:
                has_ended.set()
            return self

    monkeypatch.setitem(_tree_selector._TREES, ("classification", True), SlowForest)
    forest = TreeSelector(n_trees=4, stop=None, random_state=0)
    conclude = TreeSelector._conclude

    def conclude_later(self, *arguments):
        goes_on.set()
        assert has_ended.wait(10)
        return conclude(self, *arguments)

    monkeypatch.setattr(TreeSelector, "_conclude", conclude_later)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 of 4 steps"):
        forest.fit(*classes)
    has_ended.set()
    monkeypatch.undo()
    two = TreeSelector(n_trees=2, stop=None, random_state=0).fit(*classes)
    np.testing.assert_array_equal(forest.scores_, two.scores_)


def test_a_second_interruption_ends_the_fit(quantities, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Probe, "reads_ranking_only", True)
    monkeypatch.setattr(Probe, "decide", stopped)
    ranker = GramSchmidt(stop=Probe(0.05)).set_callbacks(CtrlC("rank step"))
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(*quantities)
    with pytest.raises(NotFittedError):
        ranker.transform(quantities[0])


def test_a_fit_after_an_interrupted_one_is_whole(quantities):
    ranker = interrupted(GramSchmidt(stop=None), quantities, "rank step").set_callbacks()
    assert "interrupted" not in ranker.fit(*quantities).certificate_


def test_folds_of_a_rule_do_not_swallow_an_interruption(quantities, monkeypatch):
    """A copy that is fitted in a fold raises it, so that the fold does not count as done."""
    copies = []

    def stopped(self, *arguments):
        copies.append(self)
        raise KeyboardInterrupt

    ranker = GramSchmidt(stop=MonteCarloProbe(0.5, n_draws=3))
    whole = GramSchmidt(stop=None).fit(*quantities)
    monkeypatch.setattr(GramSchmidt, "rank_top", stopped)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = ranker.fit(*quantities)
    assert len(copies) == 1
    np.testing.assert_array_equal(found.order_[:2], whole.order_[:2])
