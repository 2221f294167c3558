"""Feature selection concave: successive linear programs, stationary points, and when to stop them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from tamis import FSV, L1SVM
from tamis.assess import compare
from tamis.stop import MonteCarloProbe
from tests.oracles import fsv as oracle
from tests.oracles import l1_program

SEEDS = st.integers(0, 2**20)


def make_classes(n=40, d=12, seed=0, noise=1.0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=40, d=12, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + 0.3 * rng.randn(n)


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def signs(y):
    return np.where(y == np.unique(y)[1], 1.0, -1.0)


def scaled_model(found, X):
    """Weights and intercept for standardized columns."""
    coef, intercept = np.atleast_2d(found.coef_)[0], np.atleast_1d(found.intercept_)[0]
    return coef * X.std(axis=0), intercept + coef @ X.mean(axis=0)


# the loop of programs


@pytest.mark.parametrize("C", [0.3, 3.0, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_are_those_of_plain_linear_programs(seed, C):
    X, y = make_classes(25, 20, seed=seed, noise=0.3)
    found = FSV(C=C).fit(X, y)
    rounds = oracle.successive_linear_programs(standardized(X), signs(y), C)
    unit = 1.0 if np.isinf(C) else len(y) * C
    objectives = unit * np.array(found.certificate_["objectives"])
    np.testing.assert_allclose(objectives[: len(rounds)], [value for _, _, value in rounds], rtol=1e-6)
    w, b = scaled_model(found, X)
    assert np.array_equal(w != 0, rounds[-1][0] != 0)
    assert oracle.objective(w, b, standardized(X), signs(y), C, 5.0) == pytest.approx(rounds[-1][2], rel=1e-6)
    if np.abs(w).max() < 3.0:  # beyond, weights are almost free and hardly determined
        np.testing.assert_allclose(w, rounds[-1][0], rtol=1e-4, atol=1e-7)
        assert b == pytest.approx(rounds[-1][1], rel=1e-4, abs=1e-7)


def test_rounds_of_a_quantity_are_those_of_plain_linear_programs():
    X, y = make_quantity()
    found = FSV(C=0.5, epsilon=0.2).fit(X, y)
    unit = y.std()
    rounds = oracle.successive_linear_programs(
        standardized(X), (y - y.mean()) / unit, 0.5, loss="epsilon_insensitive", epsilon=0.2
    )
    w, _ = scaled_model(found, X)
    np.testing.assert_allclose(w / unit, rounds[-1][0], rtol=1e-4, atol=1e-7)
    objectives = np.array(found.certificate_["objectives"]) * len(y) * 0.5 / unit
    np.testing.assert_allclose(objectives[: len(rounds)], [value for _, _, value in rounds], rtol=1e-6)


@pytest.mark.parametrize("steepness", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
def test_the_objective_never_rises(shape, loss, steepness):
    X, y = make_classes(*shape)
    found = FSV(C=1.0, loss=loss, steepness=steepness).fit(X, y)
    objectives = np.array(found.certificate_["objectives"])
    assert len(objectives) == found.certificate_["n_iter"]
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[:-1])
    assert found.certificate_["objective"] == objectives[-1]
    assert found.certificate_["converged"]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_objective_is_that_of_the_model(loss):
    X, y = make_classes(60, 8)
    found = FSV(C=0.5, loss=loss).fit(X, y)
    w, b = scaled_model(found, X)
    margin = signs(y) * (standardized(X) @ w + b)
    errors = np.maximum(0.0, 1.0 - margin) if loss == "hinge" else np.logaddexp(0.0, -margin)
    objective = np.sum(1.0 - np.exp(-5.0 * np.abs(w))) + 0.5 * errors.sum()
    assert found.certificate_["objective"] * len(y) * 0.5 == pytest.approx(objective, rel=1e-7)


@pytest.mark.parametrize("C", [0.5, np.inf])
def test_it_ends_where_no_tangent_is_better_at_a_vertex(C):
    X, y = make_classes(25, 30, noise=0.3)
    found = FSV(C=C).fit(X, y)
    Z, s = standardized(X), signs(y)
    w, b = scaled_model(found, X)
    moved, intercept, _ = oracle.linearize(w, Z, s, C, 5.0)
    here = oracle.objective(w, b, Z, s, C, 5.0)
    assert oracle.objective(moved, intercept, Z, s, C, 5.0) >= here * (1 - 1e-6)
    # a vertex: as many rows at the margin as there are weights, and the intercept
    at_margin = np.count_nonzero(np.abs(s * (Z @ w + b) - 1.0) < 1e-7)
    assert np.count_nonzero(w) + 1 <= at_margin


def test_the_logistic_loss_ends_at_a_stationary_point():
    """The gradient of a column is the slope of the penalty where it has a weight, and not above it elsewhere."""
    X, y = make_classes(60, 10)
    found = FSV(C=1.0, loss="logistic").fit(X, y)
    Z, s = standardized(X), signs(y)
    w, b = scaled_model(found, X)
    derivative = -s / (1.0 + np.exp(s * (Z @ w + b)))
    gradient, slope = Z.T @ derivative, 5.0 * np.exp(-5.0 * np.abs(w))
    active = w != 0
    assert np.all(np.abs(gradient[~active]) <= slope[~active] * (1 + 1e-6))
    np.testing.assert_allclose(-gradient[active], (np.sign(w) * slope)[active], atol=1e-3 * np.abs(gradient).max())
    assert abs(derivative.sum()) < 1e-6 * len(y)


@pytest.mark.filterwarnings("ignore:FSV's objective was still falling")
def test_the_first_program_is_the_l1_machine():
    X, y = make_classes(30, 40)
    first, plain = FSV(C=1.0, max_iter=1).fit(X, y), L1SVM(C=0.2).fit(X, y)  # the slope at zero is 5
    np.testing.assert_allclose(first.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    assert FSV(C=1.0).fit(X, y).n_chosen_ < first.n_chosen_


def test_a_hard_margin_is_refused_where_classes_overlap():
    with pytest.raises(ValueError, match=r"C=inf.*finite C"):
        FSV(C=np.inf).fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"C=inf.*logistic.*use loss='hinge'"):
        FSV(C=np.inf, loss="logistic").fit(np.arange(4.0)[:, None], [0, 0, 1, 1])


# when to stop


@pytest.mark.filterwarnings("ignore:FSV's objective was still falling")
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("k", [1, 3, 6, 9])
def test_programs_end_before_fewer_than_k_are_left(k, loss):
    X, y = make_classes(30, 40)
    C = 1.0 if loss == "hinge" else 5.0
    found = FSV(C=C, stop=k, loss=loss).fit(X, y)
    assert found.get_support().sum() == k
    n_iter = FSV(C=C, loss=loss).fit(X, y).certificate_["n_iter"]
    n_left = [FSV(C=C, loss=loss, max_iter=m).fit(X, y).n_chosen_ for m in range(1, n_iter + 1)]
    assert n_left[0] >= 9
    assert found.certificate_["n_iter"] == next((m for m, n in enumerate(n_left) if n < k), n_iter)


@pytest.mark.parametrize("stop", [1, 2, "auto"])
def test_a_hard_margin_cut_to_too_few_features_has_a_model(stop):
    X, y = make_classes(20, 40, noise=2.0)
    found = FSV(C=np.inf, stop=stop).fit(X, y)
    assert np.isfinite(found.coef_).all()
    if stop != "auto":
        assert found.get_support().sum() == stop


def test_early_stopping_takes_the_round_with_the_fewest_errors_on_held_out_rows():
    X, y = make_classes(60, 30, noise=1.0)
    found = FSV(C=1.0, early_stopping=True, validation_fraction=0.3, random_state=3).fit(X, y)
    rng = np.random.RandomState(3)
    train, test = train_test_split(np.arange(60), test_size=0.3, stratify=y, random_state=rng)
    mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
    Z, s = (X - mean) / spread, signs(y)
    # the same weight of the penalty against the mean loss
    rounds = oracle.successive_linear_programs(Z[train], s[train], 60 / len(train))
    errors = [np.mean(s[test] * (Z[test] @ w + b) <= 0) for w, b, _ in rounds]
    best = np.flatnonzero(np.array(errors) <= min(errors))[-1] + 1
    assert found.certificate_["n_iter"] == min(best, FSV(C=1.0).fit(X, y).certificate_["n_iter"])


def test_early_stopping_without_enough_rows_runs_to_the_end():
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    found = FSV(C=10.0, early_stopping=True).fit(X, [0, 1, 1])
    assert found.certificate_["converged"]


def test_features_that_last_longest_are_first():
    X, y = make_classes(30, 40)
    found = FSV(C=1.0, stop=None).fit(X, y)
    assert np.all(np.diff(found.scores_[found.order_]) <= 0)
    last = set(np.flatnonzero(FSV(C=1.0).fit(X, y).coef_[0]).tolist())
    assert set(found.order_[: len(last)].tolist()) == last


def test_the_path_ranks_by_entry_and_stops_at_k():
    X, y = make_classes(40, 20)
    found = FSV(C="path", stop=None, n_alphas=10).fit(X, y)
    assert np.all(np.diff(found.scores_[found.order_]) <= 0)
    few = FSV(C="path", stop=2, n_alphas=10).fit(X, y)
    assert few.get_support().sum() == 2
    assert few.order_[:2].tolist() == found.order_[:2].tolist()


def test_cost_by_cross_validation():
    X, y = make_classes(60, 10, noise=0.5)
    found = FSV(C="auto", n_alphas=8, cv=4).fit(X, y)
    mean, spread = found.cv_results_["mean_error"], found.cv_results_["standard_error"]
    best = np.argmin(mean)
    assert found.alpha_ == pytest.approx(found.cv_results_["alpha"][mean <= mean[best] + spread[best]][0])


# targets and weights


def test_several_classes_are_each_against_the_others():
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    found = FSV(C=1.0).fit(X, y)
    for k, label in enumerate(found.classes_):
        np.testing.assert_allclose(found.coef_[k], FSV(C=1.0).fit(X, y == label).coef_[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "epsilon_insensitive"])
def test_weights_of_rows_are_repetitions(loss):
    X, y = make_quantity() if loss == "epsilon_insensitive" else make_classes()
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = FSV(C=1.0, loss=loss).fit(X, y, sample_weight=weight)
    repeated = FSV(C=1.0, loss=loss).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.certificate_["objective"], repeated.certificate_["objective"], rtol=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes()
    by_class = FSV(C=1.0, class_weight={1: 3.0}).fit(X, y)
    by_row = FSV(C=1.0).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_sparse_tables_give_the_same(loss):
    X, y = make_classes()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = FSV(C=1.0, loss=loss).fit(X, y), FSV(C=1.0, loss=loss).fit(sparse.csr_array(X), y)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_units(unit):
    X, y = make_classes()
    np.testing.assert_allclose(
        FSV(C=1.0).fit(X * unit, y).coef_ * unit, FSV(C=1.0).fit(X, y).coef_, rtol=1e-6, atol=1e-9
    )
    X, y = make_quantity()
    np.testing.assert_allclose(
        FSV(C=1.0).fit(X, y * unit).coef_ / unit, FSV(C=1.0).fit(X, y).coef_, rtol=1e-6, atol=1e-9
    )


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_columns_in_another_order_and_units_with_copies_and_constants(seed):
    X, y = make_classes(25, 8, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-20, 20, 8)
    plain = FSV(C=1.0).fit(X, y)
    more = X[:, order] * unit
    other = FSV(C=1.0).fit(np.column_stack([more, more[:, ::-1], np.ones(25)]), y)
    assert other.certificate_["objective"] == pytest.approx(plain.certificate_["objective"], rel=1e-6)
    np.testing.assert_allclose(other.coef_[0, :8] * unit, plain.coef_[0][order], rtol=1e-4, atol=1e-7)
    assert not other.coef_[0, 8:].any()


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
    ],
)
def test_tables_of_a_few_rows(X, y):
    for arguments in ({"C": 1e3}, {"C": "auto"}, {"C": 1.0, "early_stopping": True}, {"stop": 1}):
        found = FSV(**arguments).fit(X, y)
        assert found.certificate_["converged"]
        assert np.isfinite(found.coef_).all()


def test_with_rules_and_in_a_comparison():
    X, y = make_classes(50, 8)
    probed = FSV(C=1.0, stop=MonteCarloProbe(n_draws=19, random_state=0)).fit(X, y)
    assert 0 < probed.get_support().sum() <= 8
    validated = FSV(C=1.0, stop="cross-validation").fit(X, y)
    assert 0 < validated.get_support().sum() <= 8
    assert "FSV" in str(compare([FSV(C=1.0)], X, y, ks=(2, 4), n_seeds=1, n_random=10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": -1.0}, "'C' parameter"),
        ({"steepness": 0.0}, "'steepness' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"loss": "squared_hinge"}, "'loss' parameter"),
        ({"loss": "epsilon_insensitive"}, "is for quantities.*use loss='hinge'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        FSV(**arguments).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_losses_of_classes_are_refused_for_a_quantity(loss):
    X, y = make_quantity()
    with pytest.raises(ValueError, match=f"loss='{loss}' is for classes.*use loss='epsilon_insensitive'"):
        FSV(loss=loss).fit(X, y)


def test_a_steep_penalty_finds_the_fewest_features_that_separate():
    rng = np.random.RandomState(0)
    X = rng.randn(60, 30)
    y = (X[:, 4] - X[:, 9] + 0.2 > 0).astype(int)
    found = FSV(C=np.inf).fit(X, y)
    assert set(np.flatnonzero(found.coef_[0])) == {4, 9}
    assert l1_program.solve(standardized(X)[:, [4]], signs(y), 1.0, np.inf) is None
    assert l1_program.solve(standardized(X)[:, [9]], signs(y), 1.0, np.inf) is None


def test_too_few_programs_are_said():
    X, y = make_classes()
    n_iter = FSV(C=1.0).fit(X, y).n_iter_
    assert n_iter > 1
    with pytest.warns(ConvergenceWarning, match="still falling after 1 programs; raise max_iter=1"):
        found = FSV(C=1.0, max_iter=1).fit(X, y)
    assert not found.certificate_["converged"]
