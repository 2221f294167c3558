"""NNFS: inputs that a penalized network misses least leave first."""

import numpy as np
import pytest
import torch

from tamis import NNFS
from tamis.rank._validation import held_out_rows, one_standard_error
from tamis.rank.neural._penalties import saturating_decay
from tamis.stop import MonteCarloProbe
from tests.oracles import networks as oracle


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_come_first(task, seed):
    X, y = oracle.planted(seed, task)
    found = NNFS(stop=3, random_state=seed).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]


def trained(ranker, X, y):
    ranker._callback_fit_ctx = None
    work = ranker._task(X, y, ranker._rng())
    network = ranker._start(work)
    return work, network, ranker._fit_network(network, work)


def test_the_objective_is_the_printed_one():
    X, y = oracle.planted(0, "three classes", n_samples=40, n_features=4)
    ranker = NNFS(eps1=0.01, eps2=0.002, beta=5.0, hidden_units=(3,), random_state=0)
    work, network, training = trained(ranker, X, y)
    layers = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers]
    loss = oracle.loss(layers, work.inputs.table, np.eye(3)[y], True)
    weights = torch.cat([weights.reshape(-1) for weights, _ in network.layers])
    assert training.objective == pytest.approx(loss + saturating_decay(weights, 0.01, 0.002, 5.0).item(), rel=1e-10)


def test_the_first_to_leave_costs_least_and_its_cost_is_the_printed_one():
    X, y = oracle.planted(0, n_samples=60, n_features=5)
    ranker = NNFS(stop=None, random_state=0)
    found = ranker.fit(X, y)
    work, network, _ = trained(ranker, X, y)
    layers, Z = [(weights.numpy(), bias.numpy()) for weights, bias in network.layers], work.inputs.table
    wanted = work.target.values.numpy()
    cost = [oracle.loss(layers, oracle.without(Z, j), wanted, False) for j in range(5)]
    cost -= oracle.loss(layers, Z, wanted, False)
    last = found.path_[-1]
    assert last.feature == work.inputs.first[np.argmin(cost)]
    assert last.criterion == pytest.approx(min(cost), rel=1e-8)
    assert [step.info["n_inputs"] for step in found.path_] == [1, 2, 3, 4, 5]


class Total:
    """Remembers how many tasks a fit is said to have, and how many it had."""

    def setup(self, estimator, context):
        self.total, self.n_tasks = context.max_subtasks, 0

    def on_fit_task_begin(self, estimator, context):
        self.n_tasks += context.parent is not None and context.parent.parent is None

    def on_fit_task_end(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize(
    ("ranker", "n_tasks", "is_known"),
    [
        (NNFS(), 4, True),
        (NNFS(stop=2), 2, True),
        (NNFS(min_features=2), 4, False),
        (NNFS(stop=MonteCarloProbe(0.5, n_draws=1)), 3, False),
    ],
    ids=str,
)
def test_how_far_the_whole_fit_is_can_be_told_where_the_ranking_alone_decides(ranker, n_tasks, is_known):
    X, y = oracle.planted(0, n_samples=40, n_features=4)
    told = Total()
    ranker.set_params(random_state=0).set_callbacks(told).fit(X, y)
    assert told.n_tasks == n_tasks
    assert told.total == (n_tasks if is_known else None)


def test_the_loss_hardly_rises_until_features_that_matter_leave():
    X, y = oracle.planted(0)
    path = NNFS(stop=None, random_state=0).fit(X, y).path_
    loss = [step.info["loss"] for step in path]
    assert loss[2] < 2 * loss[-1] + 0.1
    assert loss[1] > 4 * loss[2]


@pytest.mark.parametrize("step", [0.3, 2, 20])
def test_several_inputs_may_leave_at_a_time(step):
    X, y = oracle.planted(0)
    found = NNFS(step=step, stop=None, random_state=0).fit(X, y)
    assert sorted(found.order_) == list(range(15))
    assert set(found.order_[:3]) == {0, 1, 2}
    assert found.n_iter_ < NNFS(stop=None, random_state=0).fit(X, y).n_iter_


def test_copies_leave_first_at_no_cost():
    X, y = oracle.planted(0, n_samples=100, n_features=6)
    found = NNFS(stop=None, random_state=0).fit(np.column_stack([X, X[:, 0], -X[:, 1]]), y)
    assert found.order_[-2:].tolist() == [6, 7]
    assert found.scores_[6:].tolist() == [0.0, 0.0]
    assert found.path_[-1].info == {"copy_of": 1}


def test_the_saturating_term_empties_small_weights():
    X, y = oracle.planted(0)
    small = {}
    for eps1 in (0.0, 3e-3):
        _, network, _ = trained(NNFS(eps1=eps1, random_state=0), X, y)
        small[eps1] = (network.layers[0][0].abs() < 0.01).double().mean().item()
    assert small[3e-3] > small[0.0] + 0.2


@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_the_method_keeps_what_was_planted_by_itself(task):
    X, y = oracle.planted(0, task)
    found = NNFS(random_state=0).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]
    assert found.n_chosen_ == 3
    assert "within one standard error of the lowest: 3" in found.stop_.reason


@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
def test_no_input_is_a_choice_too():
    rng = np.random.RandomState(0)
    kept = [
        NNFS(random_state=seed, step=0.3).fit(rng.standard_normal((100, 5)), rng.permutation(np.arange(100) % 2))
        for seed in range(6)
    ]
    assert np.median([found.n_features_ for found in kept]) == 0


def test_the_choice_is_the_fewest_within_one_standard_error_of_the_loss_of_held_out_rows():
    X, y = oracle.planted(1, "two classes", n_samples=80, n_features=6)
    ranker = NNFS(random_state=3, hidden_units=(4,)).fit(X, y)
    again = NNFS(random_state=3, hidden_units=(4,))
    again._callback_fit_ctx = None
    from tamis.base import ColumnCandidates

    rng = again._rng()
    candidates = ColumnCandidates(X)
    super(NNFS, again)._rank(candidates, y, rng)  # the ranking on all rows draws first
    losses = again._eliminate_on_fewer_rows(candidates, y, rng).losses
    assert sorted(losses) == list(range(7))
    assert {each.size for each in losses.values()} == {16}
    _, _, _, chosen = one_standard_error(np.column_stack([losses[size] for size in range(7)]))
    assert ranker.n_features_ == chosen
    recorded = {step.info["n_inputs"]: step.info["held_out_loss"] for step in ranker.path_}
    assert recorded == pytest.approx({size: losses[size].mean() for size in range(1, 7)})


def test_the_order_is_that_of_all_rows():
    X, y = oracle.planted(0, n_samples=100, n_features=6)
    own, whole = (NNFS(stop=stop, random_state=0).fit(X, y) for stop in ("auto", None))
    np.testing.assert_array_equal(own.order_, whole.order_)
    assert whole.n_chosen_ is None
    assert "held_out_loss" not in whole.path_[0].info


def test_a_network_without_inputs_predicts_frequencies_or_the_mean():
    X, y = oracle.planted(0, "three classes", n_samples=60, n_features=3)
    for target, expected in ((y, np.log(np.bincount(y) / 60)), (X[:, 0] + 5, [0.0])):
        task = NNFS()._task(X, target, np.random.RandomState(0))
        np.testing.assert_allclose(task.target.constant_outputs().numpy(), expected, atol=1e-12)


def test_too_few_rows_keep_all_that_is_ranked():
    X = np.random.RandomState(0).standard_normal((3, 2))
    found = NNFS(random_state=0).fit(X, X[:, 0])
    assert found.n_features_ == 2
    assert "too few rows to hold some out" in found.stop_.reason


def test_held_out_rows_are_a_share_of_every_class_whatever_its_name():
    classes = np.repeat([0, 1, 2, 3], [50, 20, 2, 1])
    rows = held_out_rows(0.2, classes, None, 73, np.random.RandomState(0))
    assert np.bincount(classes[rows], minlength=4).tolist() == [10, 4, 1, 0]
    renamed = held_out_rows(0.2, np.array([3, 0, 1, 2])[classes], None, 73, np.random.RandomState(0))
    np.testing.assert_array_equal(rows, renamed)
    assert held_out_rows(0.2, None, None, 73, np.random.RandomState(0)).size == 15


def test_held_out_rows_are_whole_groups():
    groups = np.repeat(["a", "b", "c", "d", "e"], 4)
    rows = held_out_rows(0.2, None, groups, 20, np.random.RandomState(0))
    assert np.unique(groups[rows]).size == 1
    assert rows.size == 4
    assert held_out_rows(0.2, None, np.zeros(9), 9, np.random.RandomState(0)).size == 0


def test_a_tenth_of_many_inputs_leaves_at_a_time_and_then_one(monkeypatch):
    monkeypatch.setattr("tamis.rank.neural._nnfs._MANY", 12)
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 30))
    found = NNFS(stop=None, random_state=0, tol=1e-2).fit(X, X[:, 4] + X[:, 9])
    sizes = [step.info["n_inputs"] for step in found.path_[::-1]]
    assert list(dict.fromkeys(sizes)) == [30, 27, 25, 23, 21, 19, 18, 17, 16, 15, 14, 13, *range(12, 0, -1)]
    assert set(found.order_[:2]) == {4, 9}
