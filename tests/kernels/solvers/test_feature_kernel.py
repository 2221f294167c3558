"""A kernel matrix that features leave equals one computed on those left."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels
from sklearn.svm import SVC

from tamis.kernels.solvers.feature_kernel import FeatureKernel, criterion_changes, resolve_gamma

QUICK = settings(deadline=None, max_examples=20, derandomize=True)
ADDITIVE = ["linear", "poly", "sigmoid", "rbf"]
OTHERS = ["cosine", "laplacian", lambda A, B: laplacian_kernel(A, B, gamma=0.3)]
PARAMETERS = {"gamma": 0.3, "degree": 2, "coef0": 0.5}


def make_table(n_rows=7, n_features=6, seed=0):
    return np.random.RandomState(seed).standard_normal((n_rows, n_features))


def evaluate(Z, kernel, gamma=0.3):
    """The kernel by scikit-learn, or by itself."""
    if callable(kernel):
        return kernel(Z, Z)
    return pairwise_kernels(Z, metric=kernel, filter_params=True, **{**PARAMETERS, "gamma": gamma})


def others(Z, features):
    return np.delete(Z, features, axis=1)


@pytest.mark.parametrize("kernel", ADDITIVE + OTHERS)
def test_matrix_is_that_of_scikit_learn(kernel):
    Z = make_table()
    np.testing.assert_allclose(FeatureKernel(Z, kernel, **PARAMETERS).matrix, evaluate(Z, kernel), atol=1e-12)


@pytest.mark.parametrize("rows", [None, np.array([4, 0, 5])])
@pytest.mark.parametrize("kernel", ADDITIVE + OTHERS)
def test_each_feature_leaves_alone(kernel, rows):
    Z = make_table()
    table = FeatureKernel(Z, kernel, **PARAMETERS)
    table.remove(np.array([2]))
    part = Z if rows is None else Z[rows]
    got = table.without(np.array([5, 0]), rows)
    assert got.shape == (2, len(part), len(part))
    for place, feature in enumerate((5, 0)):
        np.testing.assert_allclose(got[place], evaluate(others(part, [2, feature]), kernel), atol=1e-12)


@pytest.mark.parametrize("rows", [None, np.array([4, 0, 5])])
@pytest.mark.parametrize("kernel", ADDITIVE + OTHERS)
def test_a_group_leaves_together(kernel, rows):
    Z = make_table()
    part = Z if rows is None else Z[rows]
    got = FeatureKernel(Z, kernel, **PARAMETERS).without_group(np.array([5, 0]), rows)
    np.testing.assert_allclose(got, evaluate(others(part, [0, 5]), kernel), atol=1e-12)


@pytest.mark.parametrize("kernel", ADDITIVE)
def test_derivative_is_the_limit_of_differences(kernel):
    Z, h = make_table(), 1e-5
    rows = np.array([1, 2, 6])
    features = np.array([3, 1])
    table = FeatureKernel(Z, kernel, **PARAMETERS)
    table.remove(np.array([0]))
    got = table.derivative(features, rows)
    for place, feature in enumerate(features):
        scale = np.zeros(Z.shape[1])
        scale[feature] = h
        up, down = (evaluate(others(Z[rows] * (1 + sign * scale), [0]), kernel) for sign in (1, -1))
        np.testing.assert_allclose(got[place], (up - down) / (2 * h), atol=1e-8)


def test_a_kernel_without_derivative_is_named():
    with pytest.raises(ValueError, match="laplacian"):
        FeatureKernel(make_table(), "laplacian").derivative(np.array([0]))


def test_an_unknown_kernel_is_named():
    with pytest.raises(ValueError, match="'gaussian' is unknown"):
        FeatureKernel(make_table(), "gaussian")


@pytest.mark.parametrize("kernel", ADDITIVE + OTHERS)
def test_no_digit_is_lost_on_the_way_to_the_last_feature(kernel):
    Z = make_table(10, 60) * np.logspace(3, -3, 60)  # what goes first is a million times larger than what stays
    table = FeatureKernel(Z, kernel, **PARAMETERS)
    for feature in range(59):
        table.remove(np.array([feature]))
        expected = evaluate(Z[:, feature + 1 :], kernel)
        np.testing.assert_allclose(table.matrix, expected, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_array_equal(table.remaining, np.arange(feature + 1, 60))


@pytest.mark.parametrize(("kernel", "expected"), [("linear", 0.0), ("poly", 0.25), ("rbf", 1.0), ("cosine", 0.0)])
def test_no_feature_left_is_the_kernel_of_zeros(kernel, expected):
    table = FeatureKernel(make_table(5, 1), kernel, **PARAMETERS)
    np.testing.assert_allclose(table.without(np.array([0])), np.full((1, 5, 5), expected), atol=1e-15)
    table.remove(np.array([0]))
    np.testing.assert_allclose(table.matrix, np.full((5, 5), expected), atol=1e-15)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gamma_is_that_of_scikit_learn_and_stays_as_features_are_eliminated(make):
    Z = 3.0 * make_table() + 1.0
    for gamma in ("scale", "auto", 0.7):
        expected = SVC(gamma=gamma).fit(Z, np.arange(len(Z)) % 2)._gamma
        table = FeatureKernel(make(Z), "rbf", gamma=gamma)
        np.testing.assert_allclose(table.gamma, expected)
        np.testing.assert_allclose(table.matrix, evaluate(Z, "rbf", expected))
        table.remove(np.array([0, 1]))
        np.testing.assert_allclose(table.matrix, evaluate(Z[:, 2:], "rbf", expected))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_table_that_does_not_vary_has_a_finite_gamma(make):
    np.testing.assert_allclose(FeatureKernel(make(np.ones((4, 5))), "rbf").gamma, 0.2)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_row_of_weight_m_counts_m_times_in_gamma(make):
    Z = 3.0 * make_table() + 1.0
    Z[Z < 0] = 0.0
    weight = np.array([0, 3, 1, 2, 1, 5, 1])
    expected = resolve_gamma("scale", np.repeat(Z, weight, axis=0))
    np.testing.assert_allclose(resolve_gamma("scale", make(Z), weight.astype(float)), expected)
    assert resolve_gamma("scale", make(Z)) != pytest.approx(expected, rel=1e-3)


def test_a_feature_cannot_leave_twice():
    table = FeatureKernel(make_table())
    table.remove(np.array([1]))
    for ask in (table.remove, table.without, table.without_group, table.derivative):
        with pytest.raises(ValueError, match=r"\[1\] have been taken out"):
            ask(np.array([0, 1]))


@pytest.mark.parametrize("kernel", ADDITIVE + OTHERS)
@given(seed=st.integers(0, 100))
@QUICK
def test_changes_are_differences_of_quadratic_forms(kernel, seed):
    Z, rng = make_table(seed=seed), np.random.RandomState(seed)
    V = rng.standard_normal((3, 7)) * (rng.uniform(size=7) < 0.7)
    table = FeatureKernel(Z, kernel, **PARAMETERS)
    table.remove(np.array([4]))
    got = criterion_changes(table, V, table.remaining)
    whole = np.einsum("mi,ij,mj->m", V, table.matrix, V)
    for place, feature in enumerate(table.remaining):
        left = evaluate(others(Z, [4, feature]), kernel)
        expected = np.abs(whole - np.einsum("mi,ij,mj->m", V, left, V)).sum()
        assert got[place] == pytest.approx(expected, abs=1e-11)


def test_changes_of_a_far_away_row_do_not_overflow():
    Z = np.array([[0.0, 0.0], [1e4, 1.0], [0.0, 2.0]])
    changes = criterion_changes(FeatureKernel(Z, "rbf", gamma=1.0), np.array([[1.0, -1.0, 0.5]]), np.arange(2))
    assert np.all(np.isfinite(changes))


def test_blocks_do_not_change_a_result(monkeypatch):
    Z = make_table()
    table, V = FeatureKernel(Z, "rbf"), np.random.RandomState(1).standard_normal((2, 7))
    whole = criterion_changes(table, V, np.arange(6))
    monkeypatch.setattr("tamis.kernels.solvers.feature_kernel._NUMBERS", 1)
    np.testing.assert_allclose(criterion_changes(table, V, np.arange(6)), whole, rtol=1e-13)


def test_dual_variables_of_zero_change_nothing():
    table = FeatureKernel(make_table(), "rbf")
    np.testing.assert_array_equal(criterion_changes(table, np.zeros((2, 7)), np.arange(6)), np.zeros(6))


@pytest.mark.parametrize("kernel", [*ADDITIVE, "cosine"])
def test_a_sparse_table_has_the_kernel_of_a_dense_one(kernel):
    Z = np.where(make_table(seed=1) > 0.3, make_table(), 0.0)
    plain, thin = (FeatureKernel(table, kernel, **PARAMETERS) for table in (Z, sparse.csr_array(Z)))
    rows, features, V = np.array([4, 0, 5]), np.array([0, 4]), np.random.RandomState(1).standard_normal((2, 7))
    for table in (plain, thin):
        table.remove(np.array([2]))
    np.testing.assert_allclose(thin.matrix, plain.matrix, atol=1e-12)
    np.testing.assert_allclose(thin.without(features, rows), plain.without(features, rows), atol=1e-12)
    np.testing.assert_allclose(thin.without_group(features), plain.without_group(features), atol=1e-12)
    np.testing.assert_allclose(
        criterion_changes(thin, V, thin.remaining), criterion_changes(plain, V, plain.remaining), atol=1e-11
    )
    if kernel in ADDITIVE:
        np.testing.assert_allclose(thin.derivative(features, rows), plain.derivative(features, rows), atol=1e-12)
