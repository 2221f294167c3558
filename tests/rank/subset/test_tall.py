"""Tables with more rows than columns are ranked from sums over their rows: the result is that of the rows."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis.base._candidates as candidates_module
from tamis import FeatureMedoids, GreedyReconstruction, PCALeverage, PivotedQR
from tamis.engine import _compressed as compressed_module
from tamis.rank.subset import _centered_columns

N, D = 400, 12
RANKERS = [GreedyReconstruction, FeatureMedoids, PivotedQR, PCALeverage]
GROUPS = [j // 3 for j in range(D)]


def a_table(kind="plain", seed=0, shape=(N, D)):
    rng = np.random.RandomState(seed)
    n_columns = shape[1]
    X = rng.standard_normal(shape) @ (np.eye(n_columns) + 0.4 * rng.standard_normal((n_columns, n_columns)))
    X *= np.logspace(-1, 1, n_columns)
    if kind == "copy":
        X[:, 7] = 2 * X[:, 3] - 1
    elif kind == "constant":
        X[:, 4] = 0.1
    elif kind == "offset":
        X[:, 5] += 1e6
    elif kind == "dependent":
        X[:, 8] = X[:, 0] - X[:, 1] + 1e-4 * X[:, 8]
    elif kind == "drifting":
        X[0] += 1e5
    return X


def in_rows(ranker, X):
    """Neither sums over rows nor another table in the place of the centered one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates_module, "is_tall", lambda *table, **needs: False)
        patch.setattr(_centered_columns, "fewest_rows", lambda Z: Z)
        return ranker.fit(X)


def assert_same(found, expected, tol=1e-8):
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=tol, atol=1e-12)
    for told, wanted in zip(found.path_, expected.path_, strict=True):
        for name, value in wanted.info.items():
            np.testing.assert_allclose(told.info[name], value, rtol=tol, atol=tol, err_msg=name)
    if isinstance(expected, FeatureMedoids):
        np.testing.assert_array_equal(found.assignment_, expected.assignment_)
        np.testing.assert_allclose(found.assignment_r2_, expected.assignment_r2_, rtol=tol, atol=1e-12)
    if isinstance(expected, PCALeverage):
        assert found.n_components_ == expected.n_components_
        np.testing.assert_allclose(found.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=tol)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", ["plain", "copy", "constant", "offset", "dependent", "drifting"])
@pytest.mark.parametrize("method", RANKERS)
def test_sums_give_what_rows_give(method, kind, standardize, monkeypatch):
    monkeypatch.setattr(compressed_module, "_FEWEST_ENTRIES", N * D)  # tall also for those that need few products
    X = a_table(kind)
    for groups in (None, GROUPS):
        make = {"stop": None, "standardize": standardize, "groups": groups}
        assert_same(method(**make).fit(X), in_rows(method(**make), X))


@pytest.mark.parametrize("n_rows", [D - 1, D, D + 1])
@pytest.mark.parametrize("method", RANKERS)
def test_there_is_no_step_where_rows_outnumber_columns(method, n_rows):
    X = a_table(shape=(n_rows, D))
    assert_same(method(stop=None).fit(X), in_rows(method(stop=None), X))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("method", RANKERS)
def test_single_precision_tables_rank_as_they_do_in_rows(method, standardize, monkeypatch):
    monkeypatch.setattr(compressed_module, "_FEWEST_ENTRIES", N * D)
    X = a_table("copy").astype(np.float32)
    make = {"stop": None, "standardize": standardize}
    found, expected = method(**make).fit(X), in_rows(method(**make), X)
    assert found.order_.size == (D if method is PCALeverage else D - 1)  # the copy is redundant to single precision
    assert_same(found, expected, tol=1e-4)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("method", RANKERS)
def test_units_whose_squares_cannot_be_summed_do_not_matter(method, unit):
    X = a_table()
    table = X.copy()
    table[:, 1] *= unit
    assert_same(method(stop=None).fit(table), method(stop=None).fit(X))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(2, 40),
    n_columns=st.integers(2, 12),
    method=st.sampled_from(RANKERS),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_random_tables_rank_as_they_do_in_rows(seed, n_rows, n_columns, method, offset):
    X = a_table(seed=seed, shape=(n_rows, n_columns)) + offset
    assert_same(method(stop=None).fit(X), in_rows(method(stop=None), X), tol=1e-6 if offset else 1e-8)


@pytest.mark.parametrize("method", RANKERS)
def test_no_copy_of_a_tall_table_is_made(method):
    X = np.random.RandomState(0).standard_normal((200_000, 10))
    tracemalloc.start()
    try:
        method(stop=3).fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * X.nbytes  # a block of rows, of 8 MB
