"""Radial basis functions: the formula, where they are drawn, and whether Gram-Schmidt finds the ones that matter."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tamis import GramSchmidt
from tamis.dictionary import RBF, Pool


def table(n=60, d=3, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d)) * np.linspace(1, 50, d) + np.linspace(-5, 1000, d)


def bump(x, center, width):
    return float(np.exp(-sum((a - c) ** 2 for a, c in zip(x, center, strict=True)) / (2 * width**2)))


@pytest.mark.parametrize("standardize", [True, False])
def test_every_feature_is_the_formula(standardize):
    X, new = table(), table(seed=1)
    rbf = RBF(standardize=standardize).fit(X)
    theta = rbf.sample(20, np.random.RandomState(0))
    unit = X.std(axis=0) if standardize else np.ones(3)
    expected = [[bump(x / unit, t[:-1] / unit, t[-1]) for t in theta] for x in new]
    np.testing.assert_allclose(rbf.compute(rbf.prepare(new), theta), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_feature_is_the_same_alone_and_among_others_and_keeps_the_precision_of_the_table(dtype):
    X = table().astype(dtype)
    rbf = RBF().fit(X)
    theta = rbf.sample(30, np.random.RandomState(0))
    together = rbf.compute(rbf.prepare(X), theta)
    alone = np.hstack([rbf.compute(rbf.prepare(X), theta[j : j + 1]) for j in range(30)])
    assert together.dtype == dtype
    np.testing.assert_allclose(together, alone, atol=1e-12 if dtype == np.float64 else 1e-4)


def test_single_precision_is_close_to_double():
    X = table()
    rbf = RBF().fit(X)
    theta = rbf.sample(100, np.random.RandomState(0))
    exact = rbf.compute(rbf.prepare(X), theta)
    np.testing.assert_allclose(rbf.compute(rbf.prepare(X.astype(np.float32)), theta), exact, atol=1e-3)


def test_torch_gives_what_numpy_gives():
    torch = pytest.importorskip("torch")
    X = table()
    rbf = RBF().fit(X)
    moved = RBF().fit(torch.asarray(X))
    theta = rbf.sample(20, np.random.RandomState(0))
    np.testing.assert_allclose(moved.sample(20, np.random.RandomState(0)), theta, rtol=1e-12)
    features = moved.compute(moved.prepare(torch.asarray(X)), theta)
    assert isinstance(features, torch.Tensor)
    np.testing.assert_allclose(features.numpy(), rbf.compute(rbf.prepare(X), theta), rtol=1e-9, atol=1e-12)


def test_draws_are_in_the_space_and_near_rows():
    X = table(d=4)
    rbf = RBF(width=(0.2, 0.7)).fit(X)
    theta = rbf.sample(500, np.random.RandomState(0))
    low, high = np.array([(p.low, p.high) for p in rbf.space()]).T
    assert np.all((theta >= low) & (theta <= high))
    np.testing.assert_array_equal(low[:-1], X.min(axis=0))
    np.testing.assert_allclose([low[-1], high[-1]], [0.2 * 2, 0.7 * 2])  # four columns of unit variance
    np.testing.assert_allclose(rbf.clip(theta), theta, rtol=1e-9)
    away = np.linalg.norm((theta[:, None, :-1] - X[None]) / X.std(axis=0), axis=2).min(axis=1)
    assert away.max() < 1.0


def test_width_is_in_units_of_the_spread_of_the_rows():
    X = table()
    raw = RBF(standardize=False).fit(X)
    assert raw.spread_ == pytest.approx(np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))))
    assert RBF().fit(X).spread_ == pytest.approx(np.sqrt(3))


@pytest.mark.parametrize("standardize", [True, False])
def test_constant_columns_do_not_count(standardize):
    X = table(d=2)
    padded = np.column_stack([X[:, 0], np.full(len(X), 0.1), X[:, 1]])
    rbf, full = RBF(standardize=standardize).fit(X), RBF(standardize=standardize).fit(padded)
    theta = rbf.sample(10, np.random.RandomState(0))
    elsewhere = np.column_stack([X[:, 0], np.full(len(X), 7.0), X[:, 1]])
    for rows in (padded, elsewhere):
        found = full.compute(full.prepare(rows), np.insert(theta, 1, 0.1, axis=1))
        np.testing.assert_allclose(found, rbf.compute(rbf.prepare(X), theta), rtol=1e-9)
    assert full.spread_ == pytest.approx(rbf.spread_)


@pytest.mark.parametrize("d", [1, 2, 1000])
def test_most_features_vary_whatever_the_number_of_columns(d):
    X = np.random.RandomState(0).standard_normal((200, d))
    rbf = RBF(width=(0.3, 2.0)).fit(X)
    features = rbf.compute(rbf.prepare(X), rbf.sample(100, np.random.RandomState(0)))
    assert np.all((features >= 0) & (features <= 1))
    assert np.mean(features.std(axis=0) > 1e-3) > 0.8


def test_a_far_away_table_is_not_lost_to_rounding():
    X = table(d=2)
    rbf, far = RBF().fit(X), RBF().fit(X + 1e8)
    theta = rbf.sample(10, np.random.RandomState(0))
    moved = theta + np.array([1e8, 1e8, 0.0])
    np.testing.assert_allclose(far.compute(far.prepare(X + 1e8), moved), rbf.compute(rbf.prepare(X), theta), atol=1e-5)


def test_names_tell_the_center_and_the_width():
    rbf = RBF().fit(table(d=2))
    theta = np.array([[1.25, 900.0, 0.5]])
    assert rbf.names(theta).tolist() == ["rbf x0=1.25 x1=900 width=0.5"]
    assert rbf.names(theta, ["age", "weight"]).tolist() == ["rbf age=1.25 weight=900 width=0.5"]
    wide = RBF().fit(table(d=500))
    assert len(wide.names(wide.sample(1, np.random.RandomState(0)))[0]) < 150


def test_many_rows_are_thinned_evenly():
    X = np.arange(10_000.0)[:, None]
    rbf = RBF().fit(X)
    assert len(rbf.rows_) == 4096
    assert rbf.rows_[0, 0] == 0
    assert rbf.rows_[-1, 0] == 9999


def test_whole_numbers_are_rows_too():
    X = np.random.RandomState(0).randint(5, size=(30, 2))
    rbf = RBF().fit(X)
    theta = rbf.sample(5, np.random.RandomState(0))
    np.testing.assert_allclose(rbf.compute(rbf.prepare(X), theta), rbf.compute(rbf.prepare(X.astype(float)), theta))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5, 2, 2)), "array of 3 axes"),
        (np.array([[1.0, 2.0], [3.0, np.nan], [np.inf, 1.0]]), "column 0 holds 1 missing or infinite value;"),
        (np.ones((5, 3)), "every column of the table is constant"),
        (np.ones((1, 3)), "every column of the table is constant"),
        (np.ones((0, 3)), "at least one row"),
        (sparse.csr_array(np.eye(4)), "dense array"),
        ([[1.0, 2.0]], "dense array"),
    ],
)
def test_a_table_that_cannot_be_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        RBF().fit(X)


@pytest.mark.parametrize("width", [(2.0, 0.1), (0.0, 1.0), (1.0,), (-1.0, 1.0), (0.1, np.inf)])
def test_a_range_of_widths_that_is_none_is_refused(width):
    with pytest.raises(ValueError, match=r"width=.* must be a pair"):
        RBF(width=width).fit(table())


def test_other_columns_than_those_of_fit_are_refused():
    rbf = RBF().fit(table(d=3))
    with pytest.raises(ValueError, match="has 2 columns, but RBF was fitted on 3"):
        rbf.prepare(table(d=2))
    with pytest.raises(NotFittedError):
        clone(rbf).space()


@pytest.mark.parametrize("seed", range(5))
def test_gram_schmidt_finds_the_centers_of_two_bumps(seed):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-3, 3, size=(400, 2))
    centers = np.array([[1.5, -1.0], [-1.2, 1.5]])
    bumps = np.exp(-np.sum((X[:, None] - centers) ** 2, axis=2) / (2 * 0.6**2))
    y = bumps @ [2.0, -1.5] + 0.1 * rng.standard_normal(400)
    found = GramSchmidt(max_features=20, dictionary=Pool(RBF(), 800, random_state=seed)).fit(X, y)
    assert found.stop_.n_features >= 2
    first = found.dictionary_.parameters_[found.order_[:2], :2]
    assert np.all(np.linalg.norm(first - centers, axis=1) < 0.6)
    assert found.estimator_.r2 > 0.9
