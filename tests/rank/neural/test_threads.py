"""Small tables are trained on in one thread, and the caller's number of threads is as it was."""

import numpy as np
import pytest
import torch

from tamis import FQI, AgnosS, OptimalBrainDamage
from tamis.rank.neural import _network
from tamis.rank.neural._torch import FEW_ENTRIES, FEW_PRODUCTS, limit_threads, limit_training_threads


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("n_entries", "expected"), [(FEW_ENTRIES, 1), (FEW_ENTRIES + 1, 2)])
def test_small_tables_take_one_thread(n_entries, expected, two_threads):
    with limit_threads(torch, n_entries):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("n_products", "expected"), [(FEW_PRODUCTS, 1), (FEW_PRODUCTS + 1, 2)])
def test_short_passes_over_the_rows_take_one_thread(n_products, expected, two_threads):
    with limit_training_threads(torch, 1, n_products):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 2


def test_an_elimination_goes_on_in_one_thread_once_few_inputs_are_left(two_threads, monkeypatch):
    monkeypatch.setattr("tamis.rank.neural._torch.FEW_PRODUCTS", 60 * 50)
    seen, minimize = [], _network.minimize
    monkeypatch.setattr(
        _network, "minimize", lambda *a, **k: seen.append((a[1].size, torch.get_num_threads())) or minimize(*a, **k)
    )
    X = np.random.RandomState(0).standard_normal((60, 20))
    OptimalBrainDamage(stop=1, hidden_units=(5,), step=0.5, random_state=0).fit(X, X[:, 0] > 0)
    assert seen[0][1] == 2
    assert seen[-1][1] == 1
    assert torch.get_num_threads() == 2


def test_the_number_of_threads_is_given_back_after_an_error(two_threads):
    with pytest.raises(ValueError, match="in between"), limit_threads(torch, 1):
        raise ValueError("in between")
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("ranker", [FQI(stop=1), AgnosS(stop=1, max_iter=5)], ids=repr)
def test_methods_train_in_one_thread_and_give_the_others_back(ranker, two_threads, monkeypatch):
    seen = []
    matmul = torch.Tensor.matmul
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: seen.append(torch.get_num_threads()) or matmul(a, b))
    X = np.random.RandomState(0).standard_normal((30, 4))
    ranker.fit(X, X[:, 0] > 0)
    assert set(seen) <= {1}
    assert torch.get_num_threads() == 2
