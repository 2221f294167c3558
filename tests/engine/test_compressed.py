"""The square table in the place of a tall one has the same norms and angles, however dependent its columns are."""

import numpy as np
import pytest
from scipy import sparse

from tamis.engine import RowErrors, compress_parts, compress_rows, is_tall, join_parts, shape_of
from tamis.engine import _compressed as compressed_module
from tamis.kernels.arrays.columns import as_columns
from tests.oracles.products import leave_one_out_errors
from tests.oracles.row_blocks import ListBlocks


def a_table(kind, n=400, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 5)) + np.array([0, 1, 10, 100, 0])
    y = X[:, :2] @ [1.0, -1.0] + rng.standard_normal(n)
    if kind == "dependent":
        X[:, 4] = X[:, 0] + 1e-7 * rng.standard_normal(n)
    elif kind == "copy":
        X[:, 4] = 2 * X[:, 0] - 1
    elif kind == "constant":
        X[:, 4] = 7.0
    elif kind == "explained":
        y = X[:, 0] - X[:, 1] + 1e-6 * y
    return X, y[:, None]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["plain", "dependent", "copy", "constant", "explained"])
def test_norms_and_angles_stay(kind, weighted):
    X, Y = a_table(kind)
    weight = np.random.RandomState(1).randint(0, 3, len(X)).astype(float) if weighted else None
    found, rows = compress_rows(X, Y, weight), as_columns(X, weight)
    Z, target = rows.columns(np.arange(5)), rows.center_rows(Y)
    size = np.sqrt(np.append(rows.norm2, np.sum(target**2)))
    size[size == 0] = 1.0
    both, expected = np.hstack([found.columns(np.arange(5)), found.targets]), np.hstack([Z, target])
    np.testing.assert_allclose(
        both.T @ both / size / size[:, None], expected.T @ expected / size / size[:, None], atol=1e-13
    )
    np.testing.assert_allclose(found.norm2, rows.norm2, rtol=1e-10)
    np.testing.assert_allclose(found.means(np.arange(5)), rows.means(np.arange(5)), rtol=1e-13, atol=1e-15)
    assert found.total == rows.total
    assert found.n_projected == 1
    # what is left of a column beside another, and of the target: where sums of products alone would lose it
    gap = both[:, [4]] - both[:, [0]] * (both[:, 4] @ both[:, 0]) / (both[:, 0] @ both[:, 0])
    exact = expected[:, [4]] - expected[:, [0]] * (expected[:, 4] @ expected[:, 0]) / (expected[:, 0] @ expected[:, 0])
    np.testing.assert_allclose(np.linalg.norm(gap), np.linalg.norm(exact), rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize(
    ("kind", "is_orthogonal"), [("plain", False), ("constant", False), ("copy", True), ("explained", True)]
)
def test_rows_are_factored_only_where_products_lose_digits(kind, is_orthogonal, monkeypatch):
    called = []
    factor = compressed_module._orthogonal_factor
    monkeypatch.setattr(compressed_module, "_orthogonal_factor", lambda *given: called.append(1) or factor(*given))
    compress_rows(*a_table(kind))
    assert bool(called) is is_orthogonal


def test_indicators_of_classes_depend_on_each_other():
    X, _ = a_table("plain")
    Y = np.eye(3)[np.random.RandomState(0).randint(3, size=len(X))]
    found = compress_rows(X, Y)
    target = as_columns(X).center_rows(Y)
    np.testing.assert_allclose(found.targets.T @ found.targets, target.T @ target, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_rows_are_those_of_models_without_the_row(weighted):
    X, Y = a_table("plain", n=40)
    weight = np.random.RandomState(1).randint(0, 3, 40).astype(float) if weighted else None
    rows = as_columns(X, weight)
    Q, triangle = np.linalg.qr(rows.columns(np.array([3, 1, 0])))
    target = rows.center_rows(Y)
    errors = RowErrors(X, rows.means(np.arange(5)), Y, weight, fit_intercept=True)
    first = errors.add([3, 1], [triangle[:1, 0], triangle[:2, 1]], Q[:, :2].T @ target)
    second = errors.add([0], [triangle[:3, 2]], Q[:, 2:].T @ target)
    if not weighted:  # a weight counts as so many rows, of which all are left out at once here
        expected = [leave_one_out_errors(X[:, [3, 1, 0][:k]], Y) for k in (1, 2, 3)]
        np.testing.assert_allclose([*first.press, *second.press], expected, rtol=1e-10)
    residual = target - Q @ (Q.T @ target)
    plain = residual[:, 0] / (1.0 if weight is None else np.where(weight > 0, np.sqrt(weight), 1.0))
    share = np.ones(40) / 40 if weight is None else weight / weight.sum()
    spread = np.sqrt(share @ plain**2)
    skewness, kurtosis = shape_of(errors.moments)
    np.testing.assert_allclose(skewness, share @ (plain / spread) ** 3, rtol=1e-9)
    np.testing.assert_allclose(kurtosis, share @ (plain / spread) ** 4 - 3, rtol=1e-9)


def test_tall_is_much_longer_than_wide():
    assert is_tall(np.empty((100_000, 200)), 1)
    assert is_tall(np.empty((100_000, 200), dtype=np.float32), 1)
    assert is_tall(sparse.csr_array((100_000, 200)), 1)
    assert not is_tall(np.empty((100_000, 200), dtype=np.float16), 1)
    assert not is_tall(np.empty((1000, 200)), 1)
    assert not is_tall(np.empty((100_000, 2000)), 1)
    assert not is_tall(np.empty((1000, 3)), 1)  # small


def test_where_products_are_needed_in_any_case_tall_is_longer_than_wide():
    assert is_tall(np.empty((5, 4)), needs_products=True)
    assert not is_tall(np.empty((4, 4)), needs_products=True)


@pytest.mark.parametrize("kind", ["plain", "dependent", "copy", "constant", "explained", "drifting"])
def test_parts_of_the_rows_join_to_all_of_them(kind):
    X, Y = a_table("plain" if kind == "drifting" else kind)
    rng = np.random.RandomState(2)
    weight, part = rng.uniform(0.5, 2, len(X)), rng.randint(3, size=len(X))
    if kind == "drifting":
        X[0] += 1e6
        part[0] = 0
    parts = compress_parts(X, Y, weight, part, 3)
    for joined, rows in ((join_parts(parts), slice(None)), (join_parts(parts[1:]), part > 0), (parts[1], part == 1)):
        expected = compress_rows(X[rows], Y[rows], weight[rows])
        both, wanted = (np.hstack([each.columns(np.arange(5)), each.targets]) for each in (joined, expected))
        size = np.sqrt(np.append(expected.norm2, np.sum(expected.targets**2)))
        size[size == 0] = 1.0
        np.testing.assert_allclose(
            both.T @ both / size / size[:, None], wanted.T @ wanted / size / size[:, None], atol=1e-13
        )
        np.testing.assert_allclose(joined.norm2, expected.norm2, rtol=1e-12)
        np.testing.assert_allclose(joined.mean, expected.mean, rtol=1e-13)
        np.testing.assert_allclose(joined.target_mean, expected.target_mean, rtol=1e-12)
        np.testing.assert_allclose(joined.total, expected.total, rtol=1e-14)


def test_parts_are_read_once():
    X, Y = a_table("plain")
    table = ListBlocks(X, [100])
    compress_parts(table, Y, None, np.arange(len(X)) % 5, 5)
    assert table.n_passes == 1


def test_a_part_without_rows_is_refused():
    X, Y = a_table("plain")
    with pytest.raises(ValueError, match="part 1 has no rows"):
        compress_parts(X, Y, None, np.zeros(len(X), dtype=int), 2)


@pytest.mark.parametrize("kind", ["single precision", "csr", "csc"])
def test_other_kinds_of_tables_have_the_products_of_dense_ones(kind):
    X, Y = a_table("plain")
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.5] = 0.0
    table = {"single precision": X.astype(np.float32), "csr": sparse.csr_array(X), "csc": sparse.csc_array(X)}[kind]
    dense = np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=float)
    found, expected = compress_rows(table, Y, dtype=float), compress_rows(dense, Y)
    np.testing.assert_allclose(found.X, expected.X, rtol=1e-12, atol=1e-12 * np.abs(expected.X).max())
    assert compress_rows(table, Y).X.dtype == table.dtype


def test_without_targets_there_are_as_many_rows_as_columns():
    X, _ = a_table("copy")
    found, rows = compress_rows(X), as_columns(X)
    assert found.X.shape == (5, 5)
    assert found.targets.shape == (5, 0)
    Z = rows.columns(np.arange(5))
    np.testing.assert_allclose(found.X.T @ found.X, Z.T @ Z, atol=1e-13 * rows.norm2.max())


@pytest.mark.parametrize(("unit", "word"), [(1e200, "large"), (1e-200, "small")])
def test_squares_that_cannot_be_summed_are_refused(unit, word):
    X, Y = a_table("constant")
    X[:, 3] *= unit
    with pytest.raises(FloatingPointError, match=word):
        compress_rows(X, Y)


def test_columns_of_zeros_are_not_too_small():
    X, Y = a_table("plain")
    X[:, 2] = 0.0
    assert compress_rows(X, Y).norm2[2] == 0.0
