"""Over-relaxed sweeps of the alternating minimizations: same minima, fewer sweeps, convergence judged by plain ones."""

from copy import copy
from itertools import pairwise

import numpy as np
import pytest

from tamis.kernels.graph.affinity import neighbor_graph
from tamis.kernels.graph.cluster_indicator import indicator_of
from tamis.rank.spectral import _clusters
from tamis.rank.spectral._cgssl import StructuredModel
from tamis.rank.spectral._clusters import ClusterModel, Weights, sweep_further
from tamis.rank.spectral._sogfs import GraphModel
from tests.oracles import spectral_selection as oracle

TOL = 1e-10
SHAPES = pytest.mark.parametrize("wide", [False, True], ids=["tall", "wide"])


def start(kind, wide):
    """A model of three clusters that some of the columns tell apart."""
    rng = np.random.RandomState(0)
    labels = np.arange(30) % 3
    X = rng.standard_normal((30, 80 if wide else 8))
    X[:, :4] += 3.0 * rng.standard_normal((3, 4))[labels]
    Z = oracle.standardized(X)
    arguments = (Z, neighbor_graph(Z, 5), indicator_of(labels, 3, offset=0.02), Weights(1.0, 1.0, 10.0, TOL))
    return ClusterModel(*arguments) if kind == "NDFS" else StructuredModel(*arguments, 10.0, 2)


def sweep_until_converged(model, *, is_relaxed, most=2000):
    objectives = []
    for _ in range(most):
        if is_relaxed:
            model = sweep_further(model, objectives, TOL)
        else:
            objectives.append(model.sweep(is_relaxed=False))
        if len(objectives) > 1 and objectives[-2] - objectives[-1] <= TOL * objectives[-1]:
            return model, objectives
    raise AssertionError("not converged")


@SHAPES
@pytest.mark.parametrize("kind", ["NDFS", "CGSSL"])
def test_over_relaxed_sweeps_reach_the_minimum_of_plain_ones_in_fewer(kind, wide, monkeypatch):
    monkeypatch.setattr(_clusters, "_STEPS", 0)  # for memberships as they are there is one minimum
    plain, plain_objectives = sweep_until_converged(start(kind, wide), is_relaxed=False)
    relaxed, objectives = sweep_until_converged(start(kind, wide), is_relaxed=True)
    assert objectives[-1] == pytest.approx(plain_objectives[-1], rel=1e-7)
    # the errors of weights go with the root of those of the objective
    np.testing.assert_allclose(relaxed.A, plain.A, atol=1e-3 * np.abs(plain.A).max())
    assert len(objectives) < 0.8 * len(plain_objectives)
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(objectives))


class Scripted:
    """Objectives as given: of over-relaxed sweeps and of plain ones."""

    def __init__(self, relaxed, plain):
        self.objectives, self.at = {True: relaxed, False: plain}, "start"

    def sweep(self, *, is_relaxed):
        self.at = "relaxed" if is_relaxed else "plain"
        return self.objectives[is_relaxed]


@pytest.mark.parametrize(
    ("relaxed", "taken"), [(5.0, "relaxed"), (10.0 - 1e-4, "plain"), (11.0, "plain")], ids=["lower", "same", "higher"]
)
def test_an_over_relaxed_sweep_is_taken_back_unless_it_lowers_the_objective_by_more_than_ends_the_sweeps(
    relaxed, taken
):
    objectives = [10.0]
    assert sweep_further(Scripted(relaxed, 9.0), objectives, 1e-3).at == taken
    assert objectives == [10.0, relaxed if taken == "relaxed" else 9.0]


def test_the_first_sweep_is_a_plain_one():
    objectives = []
    assert sweep_further(Scripted(1.0, 9.0), objectives, 1e-3).at == "plain"
    assert objectives == [9.0]


@SHAPES
@pytest.mark.parametrize("kind", ["CGSSL", "SOGFS"])
def test_a_sweep_of_a_copy_leaves_the_model_as_it_is(kind, wide):
    if kind == "SOGFS":
        X = np.random.RandomState(0).standard_normal((20, 70 if wide else 6))
        model = GraphModel(oracle.standardized(X), 3, 3, 5, 10.0)
        model.alpha = model.laplacian = model.settle_scale(5)
    else:
        model = start(kind, wide)
    model.sweep(is_relaxed=False)
    before = {name: value.copy() for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    copy(model).sweep(is_relaxed=True)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)
