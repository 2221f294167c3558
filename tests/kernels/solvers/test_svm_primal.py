"""Linear models in the primal are those of scikit-learn, and stay so while features leave."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from tamis.kernels.solvers.svm_primal import PrimalLinearModel

QUICK = settings(deadline=None, max_examples=40, derandomize=True)
LOSSES = ["squared_hinge", "ridge", "logistic"]
MAKERS = {"dense": np.asarray, "sparse": sparse.csr_array}


def make_table(n_rows=40, n_features=6, seed=0):
    rng = np.random.RandomState(seed)
    y = np.where(np.arange(n_rows) % 3 == 0, 1.0, -1.0)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 0] += y
    X[rng.random_sample(X.shape) < 0.3] = 0.0
    return X, y


def with_intercept(X):
    return np.vstack([np.ones(len(X)), X.T])


def penalties(n_entries, free):
    return np.append(0.0 if free else 1.0, np.ones(n_entries - 1))


def trained(table, y, cost, loss, free=True, make=np.asarray, **options):
    model = PrimalLinearModel(make(table), penalties(len(table), free), y, cost, loss=loss, **options)
    model.solve()
    return model


def gradient(table, penalty, y, cost, loss, w):
    """Of the objective, and the largest that the data alone could pull."""
    f = w @ table
    slope = 2.0 * (f - y) * ((loss == "ridge") | (y * f < 1.0))
    if loss == "logistic":
        slope = -y / (1.0 + np.exp(y * f))
    return penalty * w + table @ (cost * slope), np.abs(table @ (cost * np.abs(y))).max()


@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
def test_logistic_regression_is_that_of_scikit_learn(kind, C):
    X, y = make_table()
    model = trained(with_intercept(X), y, np.full(40, C), "logistic", make=MAKERS[kind])
    expected = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    assert model.converged
    np.testing.assert_allclose(model.w, np.append(expected.intercept_, expected.coef_), atol=1e-6)


@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("alpha", [0.02, 1.0, 50.0])
def test_ridge_regression_is_that_of_scikit_learn(kind, alpha):
    X, y = make_table()
    y = y + 0.3 * X[:, 1] + 5.0
    model = trained(with_intercept(X), y, np.full(40, 0.5 / alpha), "ridge", make=MAKERS[kind])
    expected = Ridge(alpha).fit(X, y)
    assert model.converged
    np.testing.assert_allclose(model.w, np.append(expected.intercept_, expected.coef_), atol=1e-9)


@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("C", [0.02, 1.0])
def test_the_squared_hinge_is_that_of_scikit_learn(kind, C):
    X, y = make_table()
    model = trained(with_intercept(X), y, np.full(40, C), "squared_hinge", free=False, make=MAKERS[kind])
    expected = LinearSVC(C=C, tol=1e-10, max_iter=100_000, dual=False).fit(X, y)
    assert model.converged
    np.testing.assert_allclose(model.w, np.append(expected.intercept_, expected.coef_), atol=1e-6)


@QUICK
@given(
    st.sampled_from(LOSSES),
    st.integers(3, 30),
    st.integers(1, 30),
    st.floats(-3, 4),
    st.booleans(),
    st.sampled_from(sorted(MAKERS)),
    st.integers(0, 10**6),
)
def test_the_end_is_an_optimum(loss, n_rows, n_features, power, free, kind, seed):
    X, y = make_table(n_rows, n_features, seed)
    table, cost = with_intercept(X), 10.0**power * np.random.RandomState(seed).uniform(0.5, 2.0, n_rows)
    model = trained(table, y, cost, loss, free, MAKERS[kind])
    slope, unit = gradient(table, penalties(len(table), free), y, cost, loss, model.w)
    assert model.converged
    assert np.abs(slope).max() <= 1e-9 * unit
    np.testing.assert_allclose(model.f, model.w @ table, atol=1e-9 * (1 + np.abs(model.f).max()))


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_leaving", [1, 3])
def test_features_are_eliminated_and_the_model_is_that_of_the_remaining_ones(loss, kind, free, n_leaving):
    X, y = make_table(90, 80 if n_leaving == 1 else 30)
    table, cost = with_intercept(X), np.ones(90)
    model = trained(table, y, cost, loss, free, MAKERS[kind])
    rng = np.random.RandomState(1)
    while len(table) > n_leaving + 1:
        eliminated = np.sort(1 + rng.permutation(len(table) - 1)[:n_leaving])
        kept = np.delete(np.arange(len(table)), eliminated)
        columns, table = table[eliminated], table[kept]
        model.eliminate(eliminated, columns, kept, MAKERS[kind](table))
        model.solve()
        slope, unit = gradient(table, penalties(len(table), free), y, cost, loss, model.w)
        assert model.converged
        assert np.abs(slope).max() <= 1e-9 * unit
    cold = trained(table, y, cost, loss, free)
    np.testing.assert_allclose(model.w, cold.w, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_copies_share_their_weight(loss):
    X, y = make_table()
    model = trained(with_intercept(np.column_stack([X, X[:, 0]])), y, np.ones(40), loss)
    np.testing.assert_allclose(model.w[1], model.w[7], rtol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_empty_column_gets_no_weight(loss):
    X, y = make_table()
    X[:, 2] = 0.0
    assert trained(with_intercept(X), y, np.ones(40), loss).w[3] == 0.0


@pytest.mark.parametrize("loss", LOSSES)
def test_a_feature_less_takes_few_steps(loss):
    X, y = make_table(200, 50)
    table = with_intercept(X)
    model = trained(table, y, np.ones(200), loss)
    before = model.n_iter
    for j in range(50, 20, -1):
        column, table = table[-1:], table[:-1]
        model.eliminate(np.array([j]), column, np.arange(j), table)
        model.solve()
    assert model.n_iter - before <= 5 * 30


def test_the_table_is_not_written_to():
    X, y = make_table()
    table = with_intercept(X)
    table.setflags(write=False)
    for loss in LOSSES:
        trained(table, y, np.ones(40), loss)


def test_too_few_steps_are_told():
    X, y = make_table()
    model = trained(with_intercept(X), y, np.ones(40), "logistic", max_iter=1)
    assert not model.converged
    assert model.n_iter == 1
