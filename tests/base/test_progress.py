"""Callbacks: every step, draw and fold is reported, and a callback may end a loop."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.callback import FitCallback

from tamis import CorrelationScore, GramSchmidt
from tamis.datasets import make_linear
from tamis.stop import CrossValidation, MonteCarloProbe, Probe
from tests.oracles.row_blocks import ListBlocks


class Recorder:
    """Follows the protocol, remembers what it is told, and may ask to stop after some tasks of a name."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at or {}
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.calls.append(("end", context.task_name))
        most = self.stop_at.get(context.task_name)
        return most is not None and self.count("end", context.task_name) >= most

    def teardown(self, estimator, context):
        self.calls.append(("teardown", context.task_name))

    def count(self, event, name):
        return self.calls.count((event, name))


@pytest.fixture
def problem():
    return make_linear(60, n_features=9, coef=[3, 2], noise=1.0, random_state=0)


def observed(ranker, problem, **stop_at):
    recorder = Recorder({name.replace("_", " "): most for name, most in stop_at.items()})
    assert isinstance(recorder, FitCallback)
    ranker.set_callbacks(recorder)
    return ranker.fit(*problem), recorder


RANKERS = {
    "all features": GramSchmidt(stop=None),
    "four features": GramSchmidt(stop=4),
    "probe": GramSchmidt(stop=Probe(0.05)),
    "permuted probe": GramSchmidt(stop=Probe(0.2, null="permutation", n_draws=19)),
    "monte-carlo": CorrelationScore(stop=MonteCarloProbe(0.1, n_draws=29)),
    "cross-validation": CorrelationScore(stop=CrossValidation(cv=3)),
}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS.keys())
def test_every_task_that_begins_ends_between_one_setup_and_one_teardown(ranker, problem):
    _, recorder = observed(clone(ranker), problem)
    assert recorder.calls[0] == ("setup", "fit")
    assert recorder.calls[-1] == ("teardown", "fit")
    assert recorder.count("begin", "fit") == recorder.count("end", "fit") == 1
    for _, name in recorder.calls:
        assert recorder.count("begin", name) == recorder.count("end", name), name


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS.keys())
def test_watching_changes_nothing(ranker, problem):
    watched, _ = observed(clone(ranker), problem)
    alone = clone(ranker).fit(*problem)
    np.testing.assert_array_equal(watched.order_, alone.order_)
    np.testing.assert_array_equal(watched.support_, alone.support_)
    np.testing.assert_array_equal(watched.scores_, alone.scores_)


def test_each_ranked_feature_is_a_task(problem):
    found, recorder = observed(GramSchmidt(stop=4), problem)
    assert recorder.count("begin", "rank") == 1
    assert recorder.count("begin", "rank step") == len(found.path_) == 4


def test_each_draw_is_a_task(problem):
    _, recorder = observed(CorrelationScore(stop=MonteCarloProbe(0.5, n_draws=7)), problem)
    assert recorder.count("begin", "probe step") == 7


def test_each_fold_is_a_task(problem):
    _, recorder = observed(CorrelationScore(stop=CrossValidation(cv=4)), problem)
    assert recorder.count("begin", "fold step") == 4


def test_each_class_is_a_task_and_its_own_steps_are_not_reported(problem):
    X, y = problem
    _, recorder = observed(GramSchmidt(stop=2, multiclass="ovr"), (X, np.argsort(np.argsort(y)) * 3 // len(y)))
    assert recorder.count("begin", "ovr step") == 3
    assert recorder.count("begin", "rank step") == 0


def test_a_callback_may_end_the_ranking(problem):
    whole = GramSchmidt(stop=None).fit(*problem)
    found, recorder = observed(GramSchmidt(stop=None), problem, rank_step=3)
    np.testing.assert_array_equal(found.order_, whole.order_[:3])
    assert recorder.count("begin", "rank step") == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_may_end_the_draws(problem, n_jobs):
    ranker = CorrelationScore(stop=MonteCarloProbe(0.2, n_draws=49, n_jobs=n_jobs))
    with parallel_config(backend="threading"):
        found, recorder = observed(ranker, problem, probe_step=14)
    assert recorder.count("begin", "probe step") == 14
    assert "14 draws" in found.stop_.reason


@pytest.mark.parametrize("rule", ["best", "one-se"])
def test_a_callback_may_end_the_folds_even_after_the_first(problem, rule):
    ranker = CorrelationScore(stop=CrossValidation(cv=5, rule=rule))
    found, recorder = observed(ranker, problem, fold_step=1)
    assert recorder.count("begin", "fold step") == 1
    assert 1 <= found.stop_.n_features <= 9


def test_callbacks_are_torn_down_when_fit_fails(problem):
    X, y = problem
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        GramSchmidt().set_callbacks(recorder).fit(np.where(X > 2, np.nan, X), y)
    assert recorder.calls[-1] == ("teardown", "fit")


class UnevenBlocks(ListBlocks):
    """Blocks of which there are more than was expected."""

    def _n_blocks(self):
        return 2


@pytest.mark.parametrize("stop_at", [{}, {"sums_of_products_step": 1}])
def test_a_pass_over_blocks_is_told_of_and_reads_all_of_them(problem, stop_at):
    X, y = problem
    ranker, recorder = observed(GramSchmidt(stop=2), (UnevenBlocks(X, (10, 20, 30)), y), **stop_at)
    np.testing.assert_array_equal(ranker.support_, GramSchmidt(stop=2).fit(X, y).support_)
    assert recorder.count("begin", "sums of products") >= 1
    assert recorder.count("end", "sums of products step") <= 2 * recorder.count("end", "sums of products")
