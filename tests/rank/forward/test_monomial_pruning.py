"""Deletions from a least-squares model are those of fitting it again."""

import numpy as np
import pytest
from scipy import stats

from tamis.rank.forward._monomial_pruning import DowndatedModel, prune_by_fisher, prune_by_press, wilks_survival
from tests.oracles import least_squares
from tests.oracles import polynomial_selection as oracle

N, K = 40, 8
TARGETS = {"one": 1, "two classes of three": 3}


def data(n_targets, seed=0, n=N, k=K):
    """Correlated columns of different scales; the target depends on two of them."""
    rng = np.random.RandomState(seed)
    M = rng.standard_normal((n, k)) @ (np.eye(k) + 0.4 * rng.standard_normal((k, k))) * np.logspace(-3, 3, k)
    signal = M[:, 1] / M[:, 1].std() - 0.7 * M[:, 5] / M[:, 5].std() + 0.8 * rng.standard_normal(n)
    if n_targets == 1:
        return M, signal[:, None]
    ranks = np.argsort(np.argsort(signal)) * n_targets // n
    return M, (ranks[:, None] == np.arange(n_targets)).astype(float)


def model_of(M, Y):
    Q, R = np.linalg.qr(M - M.mean(axis=0))
    return DowndatedModel(Q, R, Y - Y.mean(axis=0))


@pytest.mark.parametrize("n_targets", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("n_removed", [0, 1, 5])
def test_every_deletion_costs_what_fitting_again_says(n_targets, n_removed):
    M, Y = data(n_targets)
    model = model_of(M, Y)
    for _ in range(n_removed):
        model.remove(1)
    kept = M[:, model.remaining]
    assert model.press() == pytest.approx(least_squares.leave_one_out(kept, Y))
    assert model.squared_error() == pytest.approx(least_squares.squared_error(kept, Y))
    for j in range(model.remaining.size):
        rest = np.delete(kept, j, axis=1)
        assert 1 + model.growth_without()[j] == pytest.approx(oracle.scatter(rest, Y) / oracle.scatter(kept, Y))
        assert model.press_without()[j] == pytest.approx(least_squares.leave_one_out(rest, Y))


@pytest.mark.parametrize("n_targets", TARGETS.values(), ids=TARGETS)
def test_columns_that_go_together_cost_what_fitting_again_says(n_targets):
    M, Y = data(n_targets)
    increase = least_squares.squared_error(np.delete(M, [1, 4, 6], axis=1), Y) - least_squares.squared_error(M, Y)
    assert model_of(M, Y).rss_increase_without(np.array([1, 4, 6])) == pytest.approx(increase)


@pytest.mark.parametrize("n_targets", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("seed", range(5))
def test_pruning_takes_out_what_fitting_every_deletion_takes_out(n_targets, seed):
    M, Y = data(n_targets, seed)
    by_fisher = list(prune_by_fisher(model_of(M, Y), 0.05))
    by_press = list(prune_by_press(model_of(M, Y)))
    assert [each.column for each in by_fisher if each.accepted] == oracle.prune_by_fisher(M, Y, 0.05)
    assert [each.column for each in by_press if each.accepted] == oracle.prune_by_leave_one_out(M, Y)
    assert not by_fisher[-1].accepted
    assert not by_press[-1].accepted


def test_the_last_of_two_columns_that_cost_the_same_leaves_first():
    signs = np.kron([[1, 1], [1, -1]], np.kron([[1, 1], [1, -1]], [[1, 1], [1, -1]]))[:, 1:]  # orthogonal
    Y = signs[:, :4] @ [[1.0], [0.5], [0.5], [2.0]] + signs[:, [5]]
    assert next(prune_by_fisher(model_of(signs[:, :4], Y), 0.05)).column == 2
    assert next(prune_by_press(model_of(signs[:, :4], Y))).column == 2


def test_pure_noise_is_pruned_to_nothing_most_of_the_time():
    rng = np.random.RandomState(0)
    kept = 0
    for _ in range(200):
        model = model_of(rng.standard_normal((60, 3)), rng.standard_normal((60, 1)))
        list(prune_by_fisher(model, 0.05))
        kept += model.remaining.size > 0
    assert kept < 0.15 * 200


def test_a_target_that_is_explained_leaves_the_columns_that_explain_it():
    M, _ = data(1)
    Y = M[:, [1]] * 2.0 + M[:, [5]] / 3.0
    for prune in (lambda model: prune_by_fisher(model, 0.05), prune_by_press):
        model = model_of(M, Y)
        list(prune(model))
        assert model.remaining.tolist() == [1, 5]


def test_a_model_without_freedom_shows_nothing():
    rng = np.random.RandomState(0)
    model = model_of(rng.standard_normal((5, 4)), rng.standard_normal((5, 1)))
    assert model.press() == np.inf
    assert wilks_survival(100.0, 1, 1, 0) == 1.0
    list(prune_by_fisher(model, 0.05))
    assert model.remaining.size == 0


@pytest.mark.parametrize("dof", [7, 30])
@pytest.mark.parametrize("n_removed", [1, 2, 5])
def test_the_law_of_one_target_is_fishers(n_removed, dof):
    ratio = 1.7
    expected = stats.f.sf((ratio - 1) * dof / n_removed, n_removed, dof)
    assert wilks_survival(np.log(ratio), 1, n_removed, dof) == pytest.approx(expected)


@pytest.mark.parametrize("n_targets", [1, 2, 3, 6])
def test_the_law_of_one_column_is_exact(n_targets):
    ratio, dof = 1.7, 30
    within = dof - n_targets + 1
    expected = stats.f.sf((ratio - 1) * within / n_targets, n_targets, within)
    assert wilks_survival(np.log(ratio), n_targets, 1, dof) == pytest.approx(expected)


def test_the_law_of_many_targets_and_columns_is_close():
    n_targets, n_removed, dof = 3, 4, 30
    rng = np.random.RandomState(0)
    # Wilks' lambda is a product of independent beta variables
    factors = [rng.beta((dof - i) / 2, n_removed / 2, size=20000) for i in range(n_targets)]
    p_values = [wilks_survival(-log_lambda, n_targets, n_removed, dof) for log_lambda in np.log(factors).sum(axis=0)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_a_scatter_that_rounding_makes_indefinite_has_a_root():
    M, Y = data(3)
    model, rng = model_of(M, Y), np.random.RandomState(0)
    model._whitener = np.eye(3)
    for _ in range(20):
        model.residual = np.outer(1e4 * rng.normal(size=N), rng.normal(size=3))  # of rank one
        root, scatter = model._scatter_root(), model.residual.T @ model.residual
        np.testing.assert_allclose(root.T @ root, scatter, atol=1e-10 * np.abs(scatter).max())
        assert np.all(np.diag(root) > 0)
