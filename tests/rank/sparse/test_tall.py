"""Squared losses of tall tables are minimized from sums over rows: the result is that of the rows."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tamis.base._candidates as candidates_module
from tamis import ElasticNet, GroupLasso, Lasso, PotentialSVM, SparseGroupLasso
from tamis.engine import _compressed as compressed_module
from tamis.engine import is_tall

N, D = 1600, 14
# a column and its copy are in one group: of two groups that a copy links, either may enter first
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 3, 3, 4, 4]


def a_table(seed=0):
    """Columns that are correlated, in several units, one of them constant and one a copy in other units."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N, D)) @ (np.eye(D) + 0.3 * rng.standard_normal((D, D)))
    X[:, 4] = 7.0
    X[:, 9] = 3 - 2 * X[:, 2]
    X = X * np.logspace(-2, 2, D) + np.where(np.arange(D) == 6, 1e6, 1.0)
    return X, X[:, :6] @ (rng.standard_normal(6) / np.logspace(-2, 2, D)[:6]) + rng.standard_normal(N) + 10


X, Y = a_table()
WEIGHT = np.random.RandomState(1).randint(0, 3, N).astype(float)
TARGETS = {
    "quantity": Y,
    "two": np.digitize(Y, [Y.mean()]),
    "three": np.digitize(Y, np.quantile(Y, [0.3, 0.7])),
}


@pytest.fixture(autouse=True)
def _tables_are_tall_from_few_entries_on(monkeypatch):
    monkeypatch.setattr(compressed_module, "_FEWEST_ENTRIES", N * D)


def in_rows(ranker, *given, **named):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates_module, "is_tall", lambda *table, **needs: False)
        return ranker.fit(*given, **named)


def assert_same(found, expected, tol=1e-8):
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=tol)
    for name in ("alpha_", "alpha_max_", "intercept_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=tol, err_msg=name)
    size = np.abs(expected.coef_).max()
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=tol, atol=tol * size)
    if "objective" in expected.certificate_:
        np.testing.assert_allclose(found.certificate_["objective"], expected.certificate_["objective"], rtol=tol)
        assert found.certificate_["relative_gap"] <= 1e-6
    assert found.certificate_["converged"] == expected.certificate_["converged"]
    if hasattr(expected, "cv_results_"):
        for name, values in expected.cv_results_.items():
            np.testing.assert_allclose(found.cv_results_[name], values, rtol=tol, err_msg=name)


RANKERS = {
    "lasso": lambda **named: Lasso(**named),
    "elastic net": lambda **named: ElasticNet(loss="squared", **named),
    "group lasso": lambda **named: GroupLasso(loss="squared", groups=GROUPS, **named),
    "sparse group lasso": lambda **named: SparseGroupLasso(loss="squared", groups=GROUPS, **named),
    "potential SVM": lambda **named: PotentialSVM(**named),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ranker", RANKERS)
def test_sums_give_what_rows_give(ranker, weighted, target):
    y, weight = TARGETS[target], WEIGHT if weighted else None
    make = RANKERS[ranker]
    assert is_tall(X, 3)
    found = make(alpha="path", stop=4, n_alphas=30).fit(X, y, sample_weight=weight)
    expected = in_rows(make(alpha="path", stop=4, n_alphas=30), X, y, sample_weight=weight)
    assert_same(found, expected)
    kept = X[:50, found.support_]
    told, wanted = found.estimator_.predict(kept), expected.estimator_.predict(kept)
    np.testing.assert_allclose(told, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_alphas": 20},
        {"stop": None, "alpha": "path"},
        {"alpha": 0.3},
        {"alpha": 1e9},
        {"max_norm": 1.0, "n_alphas": 30},
        {"stop": 3, "order": "magnitude"},
        {"stop": 3, "debias": True},
        {"stop": 3, "standardize": False},
        {"stop": 4, "keep": [7, 8], "exclude": [0]},
        {"n_alphas": 20, "cv": 3, "groups": GROUPS},
    ],
    ids=str,
)
def test_so_they_do_whatever_is_asked(arguments):
    assert_same(Lasso(**arguments).fit(X, Y), in_rows(Lasso(**arguments), X, Y))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("target", ["two", "three"])
def test_weights_of_classes_count(target, weighted):
    y, weight = TARGETS[target], WEIGHT if weighted else None
    make = {"class_weight": "balanced", "n_alphas": 10, "cv": 3}
    assert_same(Lasso(**make).fit(X, y, sample_weight=weight), in_rows(Lasso(**make), X, y, sample_weight=weight))


@pytest.mark.parametrize("n_rows", [8 * (D + 1) - 1, 8 * (D + 1)])
def test_there_is_no_step_where_tables_become_tall(n_rows, monkeypatch):
    monkeypatch.setattr(compressed_module, "_FEWEST_ENTRIES", 0)
    assert is_tall(X[:n_rows], 1) == (n_rows == 8 * (D + 1))
    make = {"alpha": "path", "stop": None, "n_alphas": 20}
    assert_same(Lasso(**make).fit(X[:n_rows], Y[:n_rows]), in_rows(Lasso(**make), X[:n_rows], Y[:n_rows]))


@pytest.mark.parametrize("kind", ["single precision", "sparse"])
def test_tables_of_other_kinds_are_compressed_too(kind):
    table = X.copy()
    table[:, 6] -= 1e6  # which single precision cannot hold beside a unit variance
    table = table.astype(np.float32) if kind == "single precision" else sparse.csr_array(np.where(table > 0, table, 0))
    make = {"alpha": "path", "stop": None, "n_alphas": 20}
    assert_same(Lasso(**make).fit(table, Y), in_rows(Lasso(**make), table, Y))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_whose_squares_cannot_be_summed_are_left_to_the_rows(unit):
    table = X.copy()
    table[:, 1] *= unit
    found, expected = Lasso(stop=4, n_alphas=20).fit(table, Y), Lasso(stop=4, n_alphas=20).fit(X, Y)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-8)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 1e3, 1e6]), share=st.sampled_from([0.3, 0.05, 0.01]))
def test_minima_are_those_of_the_rows_on_random_tables(seed, offset, share):
    rng = np.random.RandomState(seed)
    table = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6)) + offset * rng.standard_normal(6)
    y = table @ rng.standard_normal(6) + rng.standard_normal(300)
    weight = rng.uniform(0, 2, 300)
    alpha = float(share * in_rows(Lasso(alpha=1.0), table, y, sample_weight=weight).alpha_max_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressed_module, "_FEWEST_ENTRIES", 0)
        assert is_tall(table, 1)
        found = Lasso(alpha=alpha).fit(table, y, sample_weight=weight)
    expected = in_rows(Lasso(alpha=alpha), table, y, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-8 * np.abs(expected.coef_).max())
    np.testing.assert_allclose(found.alpha_max_, expected.alpha_max_, rtol=1e-8)


def test_a_fitted_ranker_holds_no_rows():
    assert len(pickle.dumps(Lasso(n_alphas=10).fit(X, Y))) < X.nbytes / 20
