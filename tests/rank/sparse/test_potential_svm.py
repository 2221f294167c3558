"""The potential support vector machine: a quadratic program in a box, the lasso without it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from tamis import Lasso, PotentialSVM


def make_table(n=40, d=8, seed=0, correlation=1.0):
    rng = np.random.RandomState(seed)
    X = (rng.standard_normal((n, d)) + correlation * rng.standard_normal((n, 1))) * np.exp(rng.standard_normal(d)) + 1
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 2 * Z[:, 0] - Z[:, 1] + 0.3 * rng.standard_normal(n)


def solve_program(Z, y, alpha, C):
    """Weights u - v with 0 <= u, v <= C, where the l1 norm is the sum of u + v."""
    n, d = Z.shape
    y = y - y.mean()

    def program(uv):
        w = uv[:d] - uv[d:]
        slope = Z.T @ (Z @ w - y) / n
        value = 0.5 * np.mean((Z @ w) ** 2) - np.mean(y * (Z @ w)) + alpha * uv.sum()
        return value, np.concatenate([slope + alpha, alpha - slope])

    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-11}
    found = minimize(program, np.zeros(2 * d), jac=True, bounds=[(0, C)] * (2 * d), method="L-BFGS-B", options=options)
    return found.x[:d] - found.x[d:]


def box_violation(X, y, coef, intercept, alpha, C):
    scale = X.std(axis=0)
    w, r = coef * scale, ((X - X.mean(axis=0)) / scale).T @ (y - X @ coef - intercept) / len(y)
    assert np.all(np.abs(w) <= C * (1 + 1e-12))
    worst = 0.0
    for weight, slope in zip(w, r, strict=True):
        if weight == 0:
            worst = max(worst, abs(slope) - alpha)
        elif abs(weight) >= C * (1 - 1e-12):
            worst = max(worst, alpha - np.sign(weight) * slope)
        else:
            worst = max(worst, abs(slope - alpha * np.sign(weight)))
    return worst


@pytest.mark.parametrize("C", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
@pytest.mark.parametrize("table", [{}, {"n": 15, "d": 40}, {"correlation": 4.0}])
def test_conditions_of_the_box_hold(table, alpha, C):
    X, y = make_table(**table)
    ranker = PotentialSVM(alpha=alpha, C=C, n_alphas=20).fit(X, y)
    assert box_violation(X, y, ranker.coef_, ranker.intercept_, alpha, C) <= 1e-7 * ranker.alpha_max_
    assert ranker.certificate_["relative_gap"] <= 1e-6


@pytest.mark.parametrize("C", [0.2, 0.8])
@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_the_minimum_is_that_of_a_quadratic_program(C, unit):
    X, y = make_table()
    ranker = PotentialSVM(alpha=0.05 * unit, C=C * unit, order="magnitude").fit(X, unit * y)
    expected = solve_program((X - X.mean(axis=0)) / X.std(axis=0), y, 0.05, C)
    np.testing.assert_allclose(ranker.coef_ * X.std(axis=0) / unit, expected, atol=1e-5)


@pytest.mark.parametrize("C", [None, 1e6])
@pytest.mark.parametrize("settings", [{"alpha": 0.1}, {"stop": 3}])
def test_without_a_bound_it_is_the_lasso(C, settings):
    X, y = make_table()
    ranker, lasso = PotentialSVM(C=C, **settings).fit(X, y), Lasso(**settings).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, lasso.coef_, atol=1e-7)
    np.testing.assert_array_equal(ranker.order_, lasso.order_)


def test_what_one_feature_may_not_take_goes_to_others():
    rng = np.random.RandomState(0)
    signal = rng.standard_normal(60)
    X = signal[:, None] + 0.3 * rng.standard_normal((60, 4))
    few = PotentialSVM(alpha=0.1, C=None).fit(X, signal)
    many = PotentialSVM(alpha=0.1, C=0.15).fit(X, signal)
    assert many.n_features_ > few.n_features_ or many.n_features_ == 4
    assert np.abs(many.coef_ * X.std(axis=0)).max() == pytest.approx(0.15, rel=1e-9)


def test_several_classes_are_each_against_the_others():
    X, y = make_table(n=60)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    ranker = PotentialSVM(alpha=0.05, C=0.3).fit(X, labels)
    for k, (row, intercept) in enumerate(zip(ranker.coef_, ranker.intercept_, strict=True)):
        assert box_violation(X, np.where(labels == k, 1.0, -1.0), row, intercept, 0.05, 0.3) <= 1e-7


def test_sparse_tables_give_what_dense_ones_do():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 20)) * (rng.random_sample((50, 20)) < 0.4)
    y = X[:, 3] + X[:, 4] + 0.5 * rng.standard_normal(50)
    dense, compressed = (PotentialSVM(alpha=0.03, C=0.2).fit(table, y) for table in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)


def test_sample_weights_repeat_rows():
    X, y = make_table()
    counts = np.random.RandomState(0).randint(0, 4, len(y))
    weighted = PotentialSVM(alpha=0.05, C=0.5).fit(X, y, sample_weight=counts)
    repeated = PotentialSVM(alpha=0.05, C=0.5).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_a_number_of_features_and_cross_validation():
    X, y = make_table()
    assert PotentialSVM(C=0.3, stop=2).fit(X, y).n_features_ == 2
    ranker = PotentialSVM(C=0.3, n_alphas=10, cv=3).fit(X, y)
    assert ranker.alpha_ in ranker.cv_results_["alpha"]


@pytest.mark.parametrize("parameters", [{"C": 0.0}, {"C": -1.0}, {"alpha": 0.0}])
def test_bad_parameters_are_named(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        PotentialSVM(**parameters).fit(*make_table())
