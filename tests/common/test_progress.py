"""Methods that can take long tell how far they are, in steps between the beginning and the end."""

import numpy as np
import pytest
from sklearn.base import clone

from tamis import MaxVariance, ReliefF, TreeSelector
from tamis.datasets import make_linear
from tamis.stop import FITPlateau
from tamis.testing.instances import ARGUMENTS, instances

# One pass over the table: less than a second for ten million entries.
ONE_PASS = {"CorrelationScore", "FisherScore", "MaxVariance", "RandomSelection"}

# Steps are blocks of the table, of which small ones have one.
IN_BLOCKS = {"ReliefF"}

# Most of the time goes into one call of which nobody knows how far it is: they tell that it goes on, once it lasts.
ONE_CALL = {
    "LaplacianScore": "graph",
    "MarginLP": "program",
    "PCALeverage": "decompose",
    "SPEC": "graph",
    "TreeSelector": "tree",
}


class Shares:
    """Remembers how large a share of its task each step ended at; NaN where the task does not know its length."""

    def __init__(self):
        self.n_ended, self.shares, self.names = {}, [], set()

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        task = context.parent
        if task is not None and context.task_name == f"{task.task_name} step":
            done = self.n_ended[id(task)] = self.n_ended.get(id(task), 0) + 1
            self.shares.append(done / task.max_subtasks if task.max_subtasks else np.nan)
            self.names.add(task.task_name)


def long_methods():
    others = {*ONE_PASS, *IN_BLOCKS, *ONE_CALL}
    return [instances(name)[0].set_params(stop=None) for name in ARGUMENTS if name not in others]


@pytest.mark.parametrize("ranker", long_methods(), ids=lambda ranker: type(ranker).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_can_take_long_reports_steps_on_the_way(ranker):
    X, y = make_linear(n_samples=60, n_features=12, coef=[3, 2, 1], noise=1.0, random_state=0)
    shares = Shares()
    clone(ranker).set_callbacks(shares).fit(X, (y > np.median(y)).astype(int))
    assert len(shares.shares) >= 2
    known = np.array([share for share in shares.shares if share == share])
    assert np.all(known <= 1.0)


@pytest.mark.parametrize(("name", "task"), ONE_CALL.items(), ids=ONE_CALL.keys())
def test_one_long_call_tells_that_it_goes_on(name, task, calls_that_last):
    X, y = make_linear(n_samples=60, n_features=12, coef=[3, 2, 1], noise=1.0, random_state=0)
    shares = Shares()
    instances(name)[0].set_params(stop=None).set_callbacks(shares).fit(X, (y > np.median(y)).astype(int))
    assert task in shares.names


def test_neighbors_are_compared_in_blocks_of_rows(monkeypatch):
    monkeypatch.setattr("tamis.rank.relief._relief_weights._MOST_DISTANCES", 1)
    X, y = make_linear(n_samples=60, n_features=6, coef=[3, 2, 1], noise=1.0, random_state=0)
    shares = Shares()
    ReliefF(stop=None).set_callbacks(shares).fit(X, (y > np.median(y)).astype(int))
    assert len(shares.shares) >= 2


def test_a_plateau_is_looked_for_in_steps():
    X, _ = make_linear(n_samples=60, n_features=12, random_state=0)
    shares = Shares()
    MaxVariance(stop=FITPlateau()).set_callbacks(shares).fit(X)
    np.testing.assert_allclose(shares.shares, np.arange(1, 13) / 12)


def test_a_forest_that_grows_in_batches_is_that_of_one_batch(monkeypatch):
    X, y = make_linear(n_samples=60, n_features=6, coef=[3, 2, 1], noise=1.0, random_state=0)
    shares = Shares()
    found = TreeSelector(n_trees=45, stop=None, random_state=0).set_callbacks(shares).fit(X, y)
    np.testing.assert_allclose(shares.shares, np.arange(1, 21) / 20)
    monkeypatch.setattr("tamis.rank.model._forest._BATCHES", 1)
    np.testing.assert_array_equal(found.scores_, TreeSelector(n_trees=45, stop=None, random_state=0).fit(X, y).scores_)
