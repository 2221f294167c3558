"""Monomials on demand give what a table of all of them would give, without ever holding it."""

import tracemalloc
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from tamis import ForwardLeastSquares, GramSchmidt
from tamis.datasets import make_xor
from tamis.dictionary import Monomials
from tamis.stop import LeaveOneOut, Probe
from tests.oracles.gram_schmidt import centered, deflation

N, D = 80, 5
SHAPES = {
    "degree 2": {"degree": 2},
    "degree 3": {"degree": 3},
    "interactions": {"degree": 3, "interaction_only": True},
    "products only": {"degree": 2, "min_degree": 2},
    "degree 1": {"degree": 1},
    "interactions of two": {"degree": 2, "min_degree": 2, "interaction_only": True},
}


def data(seed=0, n=N, d=D):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) * np.linspace(1, 4, d) + np.linspace(-2, 2, d)
    V = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, V[:, 0] * V[:, d - 2] + V[:, 1] + 0.5 * V[:, 2] ** 2 + 0.5 * rng.standard_normal(n)


def materialized(X, degree, min_degree=1, interaction_only=False, fitted_on=None):
    """All monomials of the standardized variables, by scikit-learn."""
    V = StandardScaler().fit(X if fitted_on is None else fitted_on).transform(X)
    expand = PolynomialFeatures((min_degree, degree), include_bias=False, interaction_only=interaction_only)
    return expand.fit_transform(V)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_products_norms_and_columns_are_those_of_the_full_table(shape, weighted, fit_intercept):
    X, _ = data()
    weight = 0.2 + np.random.RandomState(1).uniform(size=N) if weighted else None
    dictionary = Monomials(**shape).fit(X)
    columns = dictionary.candidates(X, weight, fit_intercept=fit_intercept)
    Z = centered(materialized(X, **shape), weight, fit_intercept)
    assert columns.n_candidates == Z.shape[1] == dictionary.n_candidates(D)
    np.testing.assert_allclose(columns.norm2, np.sum(Z**2, axis=0), rtol=1e-9)
    V = np.random.RandomState(2).standard_normal((N, 3))
    if fit_intercept:
        unit = np.ones(N) if weight is None else np.sqrt(weight)
        V -= np.outer(unit, unit @ V) / (unit @ unit)
    np.testing.assert_allclose(columns.dot(V), Z.T @ V, atol=1e-9)
    every = np.arange(Z.shape[1])
    np.testing.assert_allclose(columns.columns(every), Z, atol=1e-10)
    np.testing.assert_allclose(columns.columns(every[::-2]), Z[:, ::-2], atol=1e-10)
    if weight is None:
        expected = materialized(X, **shape).mean(axis=0) if fit_intercept else 0 * every
        np.testing.assert_allclose(columns.means(every), expected, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("ranker", [GramSchmidt, ForwardLeastSquares])
def test_the_order_and_the_columns_are_those_of_all_monomials_in_a_table(shape, ranker):
    X, y = data()
    table = materialized(X, **shape)
    found = ranker(stop=4, dictionary=Monomials(**shape)).fit(X, y)
    order, _, _ = deflation(table, y[:, None], n_steps=4, project_candidates=ranker is GramSchmidt)
    assert found.order_.tolist() == order
    assert found.support_.size == table.shape[1]
    new, _ = data(seed=9)
    expected = materialized(new, **shape, fitted_on=X)[:, found.support_]
    np.testing.assert_allclose(found.transform(new), expected, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_names_say_which_variables_are_multiplied(shape):
    X, y = data()
    names = [f"v{j}" for j in range(D)]
    found = GramSchmidt(stop=None, max_features=4, dictionary=Monomials(**shape)).fit(pd.DataFrame(X, columns=names), y)
    degrees = (shape.get("min_degree", 1), shape["degree"])
    expand = PolynomialFeatures(degrees, include_bias=False, interaction_only=shape.get("interaction_only", False))
    expected = [name.replace(" ", "*") for name in expand.fit(X).get_feature_names_out(names)]
    every = np.arange(len(expected))
    assert found.dictionary_.names(every, names).tolist() == expected
    assert found.get_feature_names_out().tolist() == [expected[j] for j in found.get_support(indices=True)]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_with_names_comes_out_when_asked_for(library):
    X, y = data()
    frame = {"pandas": pd, "polars": pl}[library].DataFrame({f"v{j}": X[:, j] for j in range(D)})
    found = GramSchmidt(stop=3, dictionary=Monomials(2)).set_output(transform=library).fit(frame, y)
    assert list(found.transform(frame).columns) == found.get_feature_names_out().tolist()


def test_the_reason_names_the_monomial_that_was_refused():
    X, y = make_xor(random_state=0)
    found = GramSchmidt(stop=Probe(0.01), dictionary=Monomials(2)).fit(X, y)
    assert found.get_feature_names_out().tolist() == ["x0*x1"]
    refused = found.path_[1].feature
    assert f"'{found.dictionary_.names(np.array([refused]), [f'x{j}' for j in range(52)])[0]}'" in found.stop_.reason


@pytest.mark.parametrize("stop", [Probe(0.05, null="permutation"), LeaveOneOut(), Probe(0.05)])
def test_rules_decide_on_monomials_as_on_a_table_of_them(stop):
    X, y = data()
    lazy = GramSchmidt(stop=stop, dictionary=Monomials(2)).fit(X, y)
    eager = GramSchmidt(stop=stop).fit(materialized(X, 2), y)
    assert lazy.stop_.n_features == eager.stop_.n_features
    np.testing.assert_array_equal(lazy.support_, eager.support_)
    np.testing.assert_allclose(lazy.stop_.curve, eager.stop_.curve, rtol=1e-6)


def test_weights_are_repeated_rows_with_a_dictionary_too():
    X, y = data()
    count = np.random.RandomState(3).randint(0, 4, size=N)
    ranker = {"stop": 4, "dictionary": Monomials(2)}
    weighted = GramSchmidt(**ranker).fit(X, y, sample_weight=count)
    repeated = GramSchmidt(**ranker).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-8)
    np.testing.assert_allclose(weighted.estimator_.coef, repeated.estimator_.coef, rtol=1e-7)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-8)


def test_forty_five_thousand_monomials_are_ranked_in_a_fraction_of_the_memory_of_their_table():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((400, 300))
    y = X[:, 3] * X[:, 250] + 0.5 * X[:, 17] ** 2 + 0.3 * rng.standard_normal(400)
    n_candidates = 300 + comb(301, 2)
    tracemalloc.start()
    found = GramSchmidt(stop=2, dictionary=Monomials(2)).fit(X, y)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.support_.size == n_candidates == 45_450
    assert set(found.get_feature_names_out()) == {"x3*x250", "x17^2"}
    assert memory < 0.5 * (400 * n_candidates * 8)


def test_a_constant_variable_takes_part_in_no_monomial():
    rng = np.random.RandomState(0)
    for value in (0.0, 0.1, 3.7, 1e9):
        X = rng.standard_normal((61, 4))
        X[:, 2] = value
        y = X[:, 0] + X[:, 1] * X[:, 3] + 0.1 * rng.standard_normal(61)
        found = GramSchmidt(stop=None, dictionary=Monomials(2, min_degree=2)).fit(X, y)
        assert not any("x2" in name for name in found.get_feature_names_out()), value


def test_raw_variables_are_multiplied_when_asked():
    X, y = data()
    dictionary = Monomials(2, standardize=False)
    found = GramSchmidt(stop=5, dictionary=dictionary).fit(X, y)
    table = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    assert found.order_.tolist() == deflation(table, y[:, None], n_steps=5)[0]
    np.testing.assert_allclose(found.transform(X), table[:, found.support_], rtol=1e-10)


def test_raw_products_of_large_variables_are_not_lost_to_rounding():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200, 3)) + 1e4
    y = X[:, 1] - 1e4 + 0.1 * rng.standard_normal(200)
    found = GramSchmidt(stop=1, dictionary=Monomials(2, standardize=False)).fit(X, y)
    table = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    expected, shares, _ = deflation(table, y[:, None], n_steps=1)
    assert found.order_.tolist() == expected
    np.testing.assert_allclose(found.scores_[expected], shares, rtol=1e-6)


def test_a_pipeline_of_monomials_and_a_linear_model_learns_an_interaction():
    X, y = data(n=200)
    model = make_pipeline(GramSchmidt(dictionary=Monomials(2)), LinearRegression()).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.7
    assert LinearRegression().fit(X[:150], y[:150]).score(X[150:], y[150:]) < 0.5


def test_the_dictionary_given_is_not_fitted_itself():
    given = Monomials(2)
    found = GramSchmidt(stop=2, dictionary=given).fit(*data())
    assert not hasattr(given, "mean_")
    assert hasattr(found.dictionary_, "mean_")


@pytest.mark.parametrize(
    ("shape", "n_features", "message"),
    [
        ({"degree": 2, "min_degree": 3}, 5, "min_degree=3 is above degree=2"),
        ({"degree": 3, "min_degree": 3, "interaction_only": True}, 2, "2 variables have no monomial"),
        ({"degree": 6}, 200, "candidates; lower it"),
        ({"degree": 0}, 5, "'degree' parameter of Monomials"),
    ],
)
def test_a_dictionary_that_cannot_be_is_refused(shape, n_features, message):
    X = np.random.RandomState(0).standard_normal((20, n_features))
    with pytest.raises(ValueError, match=message):
        GramSchmidt(stop=1, dictionary=Monomials(**shape)).fit(X, X[:, 0])


def test_a_sparse_table_is_refused_with_the_name_of_the_dictionary():
    X, y = data()
    with pytest.raises((TypeError, ValueError), match="dense"):
        GramSchmidt(dictionary=Monomials(2)).fit(sparse.csr_array(X), y)
