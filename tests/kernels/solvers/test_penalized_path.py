"""Paths over a penalty: conditions, duality gaps and objectives against plain proximal gradient steps."""

import numpy as np
import pytest
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.solvers import penalized_path
from tamis.kernels.solvers.losses import LOSSES
from tamis.kernels.solvers.penalized_path import PenalizedPath, best_shift
from tests.oracles import sparse_penalty as oracle

TABLES = ["tall", "wide", "correlated", "binary"]


def make_table(name, seed=0):
    rng = np.random.RandomState(seed)
    n, d = {"tall": (150, 12), "wide": (25, 200)}.get(name, (40, 30))
    X = rng.standard_normal((n, d))
    if name == "correlated":
        X += 3 * rng.standard_normal((n, 1))
    elif name == "binary":  # with copies and constants
        X = (X[:, rng.randint(0, 15, d)] > 0.5).astype(float)
        X[:, ::5] = 1.0
    signal = X[:, [1, 4, 7]] @ [2.0, -1.0, 1.0]
    return X, signal - signal.mean() + rng.standard_normal(n)


def make_target(y, loss):
    return y if loss == "squared" else np.where(y > np.median(y), 1.0, -1.0)


def standard_scale(columns):
    varies = columns.norm2 > 0
    return np.sqrt(np.divide(columns.total, columns.norm2, out=np.zeros_like(columns.norm2), where=varies))


def make_path(X, y, loss, sample_weight=None, **settings):
    columns = as_columns(X, sample_weight)
    return PenalizedPath(columns, y, LOSSES[loss], standard_scale(columns), **settings)


def standardized(X):
    X = X - X.mean(axis=0)
    deviation = X.std(axis=0)
    return np.divide(X, deviation, out=np.zeros_like(X), where=deviation > 1e-12)


def dense_weights(point, n_columns):
    w = np.zeros(n_columns)
    w[point.active] = point.weights
    return w


def blocks_of(n_columns, size=3):
    return [np.arange(start, min(start + size, n_columns)) for start in range(0, n_columns, size)]


PENALTIES = {
    "lasso": {},
    "elastic net": {"sparse_share": 0.6, "ridge_share": 0.4},
    "group lasso": {"members": True, "l1_ratio": 0.0},
    "sparse group lasso": {"members": True, "l1_ratio": 0.4},
    "box": {"bound": 0.15},
}


def make_settings(name, n_columns):
    settings = dict(PENALTIES[name])
    if settings.pop("members", False):
        members = blocks_of(n_columns)
        settings |= {"members": members, "group_weights": np.sqrt([len(m) for m in members])}
    return settings


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_along_the_path_gaps_are_closed_and_conditions_met(table, loss, penalty):
    X, y = make_table(table)
    y = make_target(y, loss)
    path = make_path(X, y, loss, **make_settings(penalty, X.shape[1]))
    alphas = path.alpha_max * np.geomspace(1.0, 0.01, 4)
    points = list(path.path(alphas))
    np.testing.assert_array_equal([point.alpha for point in points], alphas)
    for point in points:
        assert -1e-12 * path.null_loss <= point.gap <= 1e-6 * path.null_loss
        assert point.kkt <= 1e-7 * path.alpha_max
        outputs = standardized(X) @ dense_weights(point, X.shape[1]) + point.intercept
        assert point.loss == pytest.approx(oracle.loss_values(loss, outputs, y).mean(), rel=1e-9, abs=1e-14)
    objectives = [point.objective for point in points]
    assert np.all(np.diff(objectives) <= 1e-12)  # less penalty, lower objective
    assert points[0].active.size == 0


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_minimum_is_that_of_many_proximal_steps_and_within_the_gap(loss, penalty):
    rng = np.random.RandomState(3)
    X = rng.standard_normal((30, 9)) + rng.standard_normal((30, 1))
    y = make_target(X[:, 0] - X[:, 4] + rng.standard_normal(30), loss)
    settings = make_settings(penalty, 9)
    path = make_path(X, y, loss, **settings)
    groups = [m.tolist() for m in settings.get("members", blocks_of(9, 1))]
    sparse_share, ridge_share = settings.get("sparse_share", 1.0), settings.get("ridge_share", 0.0)
    for share in (0.3, 0.03):
        alpha = share * path.alpha_max
        terms = {
            "tau": settings.get("l1_ratio", 1.0),
            "weights": settings.get("group_weights"),
            "l2": alpha * ridge_share,
            "bound": settings.get("bound", np.inf),
        }
        point = path.solve(alpha)
        w, b = oracle.minimize(standardized(X), y, loss, groups, alpha * sparse_share, n_iter=1500, **terms)
        lowest = oracle.objective(standardized(X), y, w, b, loss, groups, alpha * sparse_share, **terms)
        assert point.objective == pytest.approx(lowest, abs=1e-8)
        np.testing.assert_allclose(dense_weights(point, 9), w, atol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_gap_of_a_rough_minimum_is_at_least_its_distance_from_the_minimum(loss, penalty):
    X, y = make_table("correlated")
    y = make_target(y, loss)
    settings = make_settings(penalty, X.shape[1])
    exact = make_path(X, y, loss, **settings)
    for tol in (0.3, 0.03):
        rough = make_path(X, y, loss, tol=tol, **settings)
        for share in (0.5, 0.1):
            found = rough.solve(share * rough.alpha_max)
            lowest = exact.solve(share * exact.alpha_max).objective
            assert found.objective - lowest <= found.gap + 1e-10


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_alpha_max_is_the_smallest_penalty_without_weights(loss, penalty):
    X, y = make_table("tall")
    y = make_target(y, loss)
    path = make_path(X, y, loss, **make_settings(penalty, X.shape[1]))
    none, some = path.path([path.alpha_max * (1 + 1e-7), path.alpha_max * 0.999])
    assert none.active.size == 0
    assert none.objective == pytest.approx(path.null_loss, rel=1e-12)
    assert some.active.size > 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_sparse_tables_give_what_dense_ones_do(loss, penalty):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 20)) * (rng.random_sample((60, 20)) < 0.2)
    y = make_target(X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(60), loss)
    settings = make_settings(penalty, 20)
    dense, compressed = (make_path(table, y, loss, **settings) for table in (X, sparse.csr_array(X)))
    assert compressed.alpha_max == pytest.approx(dense.alpha_max, rel=1e-12)
    alphas = dense.alpha_max * np.geomspace(0.9, 0.01, 4)
    for one, other in zip(dense.path(alphas), compressed.path(alphas), strict=True):
        np.testing.assert_allclose(dense_weights(one, 20), dense_weights(other, 20), atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_a_weight_of_a_row_is_how_often_it_counts(loss):
    X, y = make_table("tall")
    y = make_target(y, loss)
    counts = 1 + np.random.RandomState(0).randint(0, 4, len(y))
    weighted = make_path(X, y, loss, counts.astype(float))
    repeated = make_path(np.repeat(X, counts, axis=0), np.repeat(y, counts), loss)
    alphas = weighted.alpha_max * np.geomspace(1.0, 0.01, 5)
    for one, other in zip(weighted.path(alphas), repeated.path(alphas), strict=True):
        np.testing.assert_allclose(dense_weights(one, 12), dense_weights(other, 12), atol=1e-8)
        assert one.intercept == pytest.approx(other.intercept, abs=1e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_one_penalty_alone_is_that_of_the_path(loss):
    X, y = make_table("wide")
    y = make_target(y, loss)
    alphas = make_path(X, y, loss).alpha_max * np.geomspace(1.0, 0.01, 20)
    *_, last = make_path(X, y, loss).path(alphas)
    alone = make_path(X, y, loss).solve(float(alphas[-1]))
    assert alone.objective == pytest.approx(last.objective, rel=1e-9)
    np.testing.assert_allclose(dense_weights(alone, 200), dense_weights(last, 200), atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_working_set_that_starts_with_one_column_ends_at_the_same_minima(loss, monkeypatch):
    X, y = make_table("wide")
    y = make_target(y, loss)
    large = make_path(X, y, loss)
    alphas = large.alpha_max * np.geomspace(1.0, 0.01, 20)
    expected = list(large.path(alphas))
    monkeypatch.setattr(penalized_path, "_FIRST_GROUPS", 1)
    for point, same in zip(make_path(X, y, loss).path(alphas), expected, strict=True):
        assert point.objective == pytest.approx(same.objective, rel=1e-9)
        assert point.kkt <= 1e-7 * large.alpha_max


@pytest.mark.parametrize("share", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("penalty", ["lasso", "elastic net", "group lasso"])
def test_the_gap_is_closed_at_very_small_penalties_too(share, penalty):
    X, y = make_table("tall")
    path = make_path(X, y, "squared", **make_settings(penalty, 12))
    point = path.solve(share * path.alpha_max)
    assert point.gap <= 1e-6 * path.null_loss
    by_least_squares = np.linalg.lstsq(standardized(X), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(dense_weights(point, 12), by_least_squares, atol=1e-4)


@pytest.mark.parametrize("first", [0.0, 0.3, 1.3, -2.7, 1e-17])
def test_whatever_the_first_target_is_a_squared_loss_is_a_quadratic(first):
    X, y = make_table("tall")
    y[0] = first
    path = make_path(X, y, "squared")
    path.solve(0.1 * path.alpha_max)
    assert path._gram.shape == (12, 12)


def test_columns_of_factor_zero_stay_out():
    X, y = make_table("tall")
    columns = as_columns(X)
    scale = standard_scale(columns)
    scale[[1, 4]] = 0.0
    path = PenalizedPath(columns, y, LOSSES["squared"], scale)
    assert not np.isin(path.solve(1e-3 * path.alpha_max).active, [1, 4]).any()


def test_a_target_that_no_column_explains_has_no_penalty():
    X = np.repeat([[1.0, -1.0], [-1.0, 1.0]], 4, axis=0)
    y = np.tile([1.0, -1.0], 4)
    for loss in ("squared", "logistic"):
        path = make_path(X, y, loss)
        assert path.alpha_max == 0.0
        assert path.solve(0.1).active.size == 0


@pytest.mark.parametrize("n_first", [1, 7, 30])
def test_the_best_constant_of_the_logistic_loss_is_the_log_odds(n_first):
    y = np.r_[np.ones(n_first), -np.ones(8)]
    shares = np.full(y.size, 1 / y.size)
    assert best_shift(LOSSES["logistic"], shares, y, np.zeros(y.size)) == pytest.approx(np.log(n_first / 8), abs=1e-12)
    for loss in ("squared", "squared_hinge"):
        assert best_shift(LOSSES[loss], shares, y, np.zeros(y.size)) == pytest.approx(y.mean(), abs=1e-12)


def test_a_separable_problem_has_a_minimum_at_every_penalty():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 5))
    y = np.sign(X[:, 0])
    path = make_path(X, y, "logistic")
    for point in path.path(path.alpha_max * np.geomspace(1.0, 1e-6, 30)):
        assert point.gap <= 1e-6 * path.null_loss


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("tol", [1e-3, 0.1])
def test_the_gap_bounds_how_far_a_rough_solution_is_from_the_minimum(loss, tol):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weight = rng.standard_normal((30, 8)), rng.uniform(0.2, 3.0, 30)
        y = np.where(X[:, 0] + rng.standard_normal(30) > 0.4, 1.0, -1.0)
        rough, exact = (
            PenalizedPath(as_columns(X, weight), y, LOSSES[loss], np.ones(8), sparse_share=0.7, ridge_share=0.3, tol=t)
            for t in (tol, 1e-10)
        )
        for share in (0.5, 0.1, 0.02):
            alpha = share * exact.alpha_max
            found = rough.solve(alpha)
            assert found.gap >= found.objective - exact.solve(alpha).objective - 1e-12
