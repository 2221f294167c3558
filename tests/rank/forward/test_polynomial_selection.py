"""Polynomial selection as its users see it: variables, monomials, pruning, predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from tamis import PolynomialSelection
from tamis.datasets import make_xor
from tests.oracles import gram_schmidt, least_squares
from tests.oracles import polynomial_selection as oracle

PRUNE = ["fisher", "leave-one-out"]


def data(kind="regression", n=80, d=5, seed=0):
    """A target that depends on x1, on x3 squared and on the product of x0 and x4."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) * np.logspace(-2, 2, d) + rng.uniform(-3, 3, size=d)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    signal = 1.5 * Z[:, 1] + Z[:, 3] ** 2 + 1.2 * Z[:, 0] * Z[:, 4] + 0.5 * rng.standard_normal(n)
    if kind == "regression":
        return X, signal
    ranks = np.argsort(np.argsort(signal))
    return X, ranks * (2 if kind == "two classes" else 3) // n


def targets(y, kind):
    if kind == "regression":
        return y[:, None]
    return 2.0 * y[:, None] - 1 if kind == "two classes" else (y[:, None] == np.arange(3)).astype(float)


@pytest.mark.parametrize("prune", [*PRUNE, "auto"])
@pytest.mark.parametrize("seed", range(5))
def test_the_two_variables_of_an_xor_are_found_and_nothing_else(prune, seed):
    X, y = make_xor(random_state=seed)
    found = PolynomialSelection(prune=prune, risk=0.01).fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1]
    assert found.monomials_.tolist() == ["x0*x1"]


def test_noise_keeps_nothing_and_says_so():
    rng = np.random.RandomState(0)
    found = PolynomialSelection(risk=0.01).fit(rng.standard_normal((60, 10)), rng.standard_normal(60))
    assert not found.support_.any()
    assert found.monomials_.size == 0
    assert "no monomial beats the best of 65 random ones" in found.stop_.reason
    assert found.order_.size > 0


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes"])
@pytest.mark.parametrize("prune", PRUNE)
def test_pruning_takes_out_what_fitting_every_deletion_takes_out(kind, prune):
    X, y = data(kind)
    found = PolynomialSelection(max_monomials=10, prune=prune, task="auto" if kind != "regression" else kind).fit(X, y)
    factors, M = oracle.monomials(X, 2)
    Y = targets(y, kind)
    ranked, _ = gram_schmidt.brute_force(M, Y, n_steps=10)
    complete = M[:, ranked]
    by_fisher = prune == "fisher"
    gone = oracle.prune_by_fisher(complete, Y, 0.05) if by_fisher else oracle.prune_by_leave_one_out(complete, Y)
    kept = [j for place, j in enumerate(ranked) if place not in gone]
    assert found.estimator_.factors == tuple(factors[j] for j in kept)
    assert [removal.column for _, removal in found.pruning_ if removal.accepted] == gone
    variables = {v for j in kept for v in factors[j]}
    assert set(found.get_support(indices=True)) == variables
    assert found.estimator_.linear.press == pytest.approx(least_squares.leave_one_out(M[:, kept], Y))
    whole = least_squares.squared_error(M[:, kept], Y)
    for v in variables:
        without = least_squares.squared_error(M[:, [j for j in kept if v not in factors[j]]], Y)
        assert found.scores_[v] == pytest.approx((without - whole) / np.square(Y - Y.mean(axis=0)).sum())


def test_the_default_finds_the_monomials_behind_the_target():
    X, y = data(n=120)
    found = PolynomialSelection().fit(X, y)
    assert set(found.monomials_) == {"x1", "x3^2", "x0*x4"}
    assert found.get_support(indices=True).tolist() == [0, 1, 3, 4]
    assert found.order_[0] == 1
    assert "Fisher's test" in found.stop_.reason
    assert "leave-one-out" in PolynomialSelection().fit(*data(n=99)).stop_.reason


def test_monomials_that_others_make_needless_are_pruned():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((300, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(300)  # the best alone, nothing beside the other two
    y = X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(300)
    found = PolynomialSelection(degree=1).fit(X, y)
    assert found.certificate_["n_complete"] == 3
    assert [name for name, removal in found.pruning_ if removal.accepted] == ["x2"]
    assert found.get_support(indices=True).tolist() == [0, 1]
    assert found.order_.tolist()[2] == 2
    assert found.scores_[2] == 0


def test_the_polynomial_predicts_from_tables_like_the_one_it_was_fitted_on():
    X, y = data(n=120)
    found = PolynomialSelection().fit(X, y)
    M = found.estimator_.monomials(X)
    np.testing.assert_allclose(found.estimator_.predict(X), LinearRegression().fit(M, y).predict(M))
    X, y = data("three classes", n=120)
    labels = np.array(["low", "middle", "high"])[y]
    found = PolynomialSelection().fit(X, labels)
    assert np.mean(found.estimator_.predict(X) == labels) > 0.7


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_units_do_not_matter(factor):
    X, y = data(n=120)
    plain = PolynomialSelection().fit(X, y)
    scaled = PolynomialSelection().fit(X * factor, y)
    np.testing.assert_array_equal(scaled.order_, plain.order_)
    np.testing.assert_allclose(scaled.scores_, plain.scores_, rtol=1e-8)
    np.testing.assert_allclose(scaled.estimator_.predict(X * factor), plain.estimator_.predict(X), rtol=1e-8)
    scaled = PolynomialSelection().fit(X, y * factor)
    np.testing.assert_array_equal(scaled.order_, plain.order_)
    np.testing.assert_allclose(scaled.estimator_.predict(X) / factor, plain.estimator_.predict(X), rtol=1e-8)


def test_copies_in_any_unit_and_constants_have_no_rank():
    X, y = data(n=120)
    plain = PolynomialSelection().fit(X, y)
    more = np.column_stack([X, 5 - 3 * X[:, 1], X[:, 4], np.full(len(X), 2.5)])
    found = PolynomialSelection().fit(more, y)
    np.testing.assert_array_equal(found.order_, plain.order_)
    assert np.isnan(found.scores_[5:]).all()


@pytest.mark.parametrize("degree", [2, 3])
def test_places_of_columns_do_not_matter(degree):
    X, y = data(n=120)
    shuffle = np.random.RandomState(0).permutation(X.shape[1])
    selector = PolynomialSelection(degree=degree, stop=None)
    plain, shuffled = clone(selector).fit(X, y), clone(selector).fit(X[:, shuffle], y)
    np.testing.assert_array_equal(shuffle[shuffled.order_], plain.order_)
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-8)


def test_of_the_variables_of_one_monomial_the_better_alone_comes_first():
    X = np.random.RandomState(0).standard_normal((200, 4))
    found = PolynomialSelection(max_monomials=1).fit(X, X[:, 1] * X[:, 3] + 0.3 * X[:, 3])
    assert found.monomials_.tolist() == ["x1*x3"]
    assert found.order_.tolist() == [3, 1]
    assert found.scores_[1] == found.scores_[3]


def test_names_of_columns_make_names_of_monomials():
    X, y = data(n=120)
    frame = pd.DataFrame(X, columns=["age", "height", "weight", "dose", "time"])
    assert set(PolynomialSelection().fit(frame, y).monomials_) == {"height", "dose^2", "age*time"}


def test_down_dating_does_not_drift():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200, 1)) + 1e-2 * rng.standard_normal((200, 12))
    found = PolynomialSelection(max_monomials=60).fit(X, X[:, 0] ** 2 + 0.1 * rng.standard_normal(200))
    assert found.certificate_["n_kept"] < found.certificate_["n_complete"] == 60
    assert found.certificate_["drift"] < 1e-12


def test_degree_one_prunes_a_linear_model():
    X, y = data(n=120)
    found = PolynomialSelection(degree=1, stop=None).fit(X, y)
    assert set(found.monomials_) <= {"x0", "x1", "x2", "x3", "x4"}


def test_too_many_candidates_are_refused():
    X = np.random.RandomState(0).standard_normal((20, 400))
    with pytest.raises(ValueError, match="degree=4"):
        PolynomialSelection(degree=4).fit(X, X[:, 0])


@pytest.mark.parametrize("name", ["degree", "max_monomials", "prune", "risk", "task", "interaction_only"])
def test_a_bad_parameter_is_named(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of PolynomialSelection"):
        PolynomialSelection(**{name: -1}).fit(*data())


@pytest.mark.parametrize("prune", ["fisher", "leave-one-out"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_weights_stand_for_repeated_rows(prune, task):
    rng = np.random.RandomState(0)
    X = 2.0 * rng.standard_normal((60, 4)) + np.array([0.0, 3.0, 0.0, 1.0])
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(60)
    y = np.digitize(y, [-2.0, 3.0]) if task == "classification" else y
    weight = np.tile([1.0, 3.0, 0.0, 2.0], 15)
    rows = rng.permutation(np.repeat(np.arange(60), weight.astype(int)))
    ranker = PolynomialSelection(prune=prune, max_monomials=6)
    weighted, repeated = clone(ranker).fit(X, y, sample_weight=weight), clone(ranker).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-8)
    assert list(weighted.monomials_) == list(repeated.monomials_)
    assert weighted.stop_.n_features == repeated.stop_.n_features
    ours, theirs = weighted.estimator_.linear, repeated.estimator_.linear
    for name in ("coef", "intercept", "r2", "press"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-10)


def test_leave_one_out_error_of_fractional_weights_leaves_out_at_most_the_row():
    # brute force: a row of weight above one loses one, a row of less than one goes as a whole
    rng = np.random.RandomState(0)
    X, weight = rng.standard_normal((25, 1)), rng.uniform(0.1, 3.0, 25)
    y = X[:, 0] + rng.standard_normal(25)
    found = PolynomialSelection(degree=1, max_monomials=1).fit(X, y, sample_weight=weight)
    assert list(found.monomials_) == ["x0"]
    errors = np.empty(25)
    for i in range(25):
        left = weight.copy()
        left[i] = max(weight[i] - 1.0, 0.0)
        errors[i] = y[i] - LinearRegression().fit(X, y, sample_weight=left).predict(X[[i]])[0]
    assert found.estimator_.linear.press == pytest.approx(np.average(errors**2, weights=weight))
