"""Sensitivity: derivatives of a model's outputs in its inputs."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.svm import SVC

from tamis import SensitivityRanking
from tests.oracles import networks as oracle

WEIGHTS = np.array([2.0, 0.0, -3.0, 0.5])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_come_first(task, seed):
    X, y = oracle.planted(seed, task)
    found = SensitivityRanking(stop=3, random_state=seed).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]


@pytest.fixture
def table():
    X = np.random.RandomState(0).standard_normal((30, 4)) * [1.0, 2.0, 0.5, 10.0] + 3.0
    return X, X[:, 0]


def linear(x):
    return x @ torch.as_tensor(WEIGHTS, dtype=x.dtype) + 1.0


def test_a_linear_model_gives_its_squared_or_absolute_weights(table):
    X, y = table
    for norm, expected in (("l2", WEIGHTS**2), ("l1", np.abs(WEIGHTS))):
        found = SensitivityRanking(linear, norm=norm, standardize=False, stop=None).fit(X, y)
        np.testing.assert_allclose(found.scores_, expected)
    scaled = SensitivityRanking(linear, stop=None).fit(X, y)
    np.testing.assert_allclose(scaled.scores_, (WEIGHTS * X.std(axis=0)) ** 2)
    assert scaled.order_.tolist() == [3, 0, 2, 1]


def test_a_linear_network_that_was_trained_here_gives_squared_weights_too():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((500, 4)) * [1.0, 2.0, 0.5, 10.0]
    y = X @ WEIGHTS
    found = SensitivityRanking(hidden_units=(), alpha=0.0, tol=1e-13, stop=None).fit(X, y)
    np.testing.assert_allclose(found.scores_, (WEIGHTS * X.std(axis=0) / y.std()) ** 2, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("block", [5, 2**21])
def test_derivatives_agree_with_finite_differences_over_all_outputs(table, norm, block, monkeypatch):
    monkeypatch.setattr("tamis.rank.neural._sensitivity_ranking._BLOCK", block)
    X, y = table
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()
    found = SensitivityRanking(model, norm=norm, standardize=False, stop=None).fit(X, y)
    total = np.zeros(4)
    for x in X:
        for c in range(3):
            slope = oracle.slope(lambda x, c=c: model(torch.from_numpy(x)[None])[0, c].item(), x)
            total += slope**2 if norm == "l2" else np.abs(slope)
    np.testing.assert_allclose(found.scores_, total / len(X), rtol=1e-6)


def test_a_module_is_left_as_it_was(table):
    X, y = table
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1), torch.nn.Dropout(0.9))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found, again = (SensitivityRanking(model, stop=None).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(found.scores_, again.scores_)  # no dropout while it is judged
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_module_gets_its_own_precision_and_a_callable_that_of_the_table(table):
    X, y = table
    seen = []

    def model(x):
        seen.append(x.dtype)
        return linear(x)

    SensitivityRanking(model, stop=None).fit(X.astype(np.float32), y)
    SensitivityRanking(model, stop=None).fit(X, y)
    assert seen == [torch.float32, torch.float64]
    assert SensitivityRanking(torch.nn.Linear(4, 1), stop=None).fit(X, y).order_.size == 4


def test_constant_columns_are_not_ranked_whatever_the_model_says(table):
    X, y = table
    X[:, 2] = 7.0
    found = SensitivityRanking(linear, standardize=False, stop=None).fit(X, y)
    assert np.isnan(found.scores_[2])
    assert found.order_.tolist() == [0, 3, 1]


def test_models_that_cannot_be_differentiated_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match=r"model=SVC\(\) is neither a torch module nor a callable on tensors"):
        SensitivityRanking(SVC()).fit(X, y)
    with pytest.raises(ValueError, match="in a way that torch can differentiate"):
        SensitivityRanking(lambda x: (x > 0).double()).fit(X, y)
    with pytest.raises(ValueError, match="one row of outputs per row of inputs, as a tensor"):
        SensitivityRanking(lambda x: x.detach().numpy()).fit(X, y)
    with pytest.raises(ValueError, match="one row of outputs per row"):
        SensitivityRanking(lambda x: x.sum(dim=0)).fit(X, y)
    with pytest.raises(ValueError, match="one row of outputs per row"):
        SensitivityRanking(torch.sum).fit(X, y)


def test_a_model_may_be_cloned_and_set(table):
    X, y = table
    ranker = clone(SensitivityRanking(torch.nn.Linear(4, 1)))
    assert ranker.fit(X, y).order_.size == 4
    np.testing.assert_allclose(
        ranker.set_params(model=linear, standardize=False, stop=None).fit(X, y).scores_, WEIGHTS**2
    )


def test_derivatives_are_recorded_even_where_the_caller_has_turned_that_off(table):
    X, y = table
    for ranker in (SensitivityRanking(linear, stop=None), SensitivityRanking(stop=None, random_state=0)):
        expected = ranker.fit(X, y).scores_
        for context in (torch.no_grad(), torch.inference_mode()):
            with context:
                np.testing.assert_allclose(ranker.fit(X, y).scores_, expected)


def test_an_output_that_ignores_the_inputs_adds_nothing(table):
    X, y = table
    bias = torch.ones(1, requires_grad=True)
    found = SensitivityRanking(lambda x: bias.expand(len(x)), stop=None).fit(X, y)
    np.testing.assert_array_equal(found.scores_, np.zeros(4))


def test_derivatives_that_are_not_finite_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="derivatives that are not finite"):
        SensitivityRanking(lambda x: (x - x).sqrt()).fit(X, y)
