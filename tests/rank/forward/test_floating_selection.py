"""Floating selection: the sets of a slow loop, and what forward selection alone misses."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tamis import FloatingSelection, GramSchmidt
from tamis.datasets import make_linear
from tamis.rank.forward._floating_search import ExplainedVariance
from tamis.stop import CrossValidation
from tests.oracles import floating as oracle


def data(seed=0, n=50, d=9, kind="quantity"):
    """Columns that share factors, so that the best pair is not the best column and another one."""
    rng = np.random.RandomState(seed)
    factors = rng.standard_normal((n, 4))
    X = factors @ rng.standard_normal((4, d)) + 0.3 * rng.standard_normal((n, d))
    X = X * 10.0 ** rng.randint(-2, 3, d) + rng.uniform(-2, 2, d)
    y = factors @ rng.standard_normal(4) + 0.2 * rng.standard_normal(n)
    return X, y if kind == "quantity" else np.digitize(y, [-1, 1])


@pytest.mark.parametrize("kind", ["quantity", "classes"])
@pytest.mark.parametrize("n_beyond", [0, 3])
@pytest.mark.parametrize("seed", range(6))
def test_sets_are_those_of_a_slow_loop(seed, n_beyond, kind):
    X, y = data(seed, kind=kind)
    Y = y if kind == "quantity" else (y[:, None] == np.unique(y)).astype(float)
    for k in (1, 3, 5):
        best, values = oracle.floating(lambda columns: oracle.explained(X, Y, columns), 9, min(k + n_beyond, 9))
        found = FloatingSelection(stop=k, n_beyond=n_beyond).fit(X, y)
        assert set(found.get_support(indices=True)) == best[k]
        assert found.certificate_["score"] == pytest.approx(values[k], abs=1e-9)
        assert found.certificate_["best_scores"] == pytest.approx(values, abs=1e-9)


def test_a_floating_search_leaves_a_feature_out_again():
    excluded = [FloatingSelection(stop=5).fit(*data(seed)).certificate_["n_exclusions"] for seed in range(10)]
    assert max(excluded) > 0


@pytest.mark.parametrize("seed", range(10))
def test_sets_explain_no_less_than_those_of_forward_selection_and_no_more_than_the_best(seed):
    X, y = data(seed)
    forward = GramSchmidt(stop=None, tol=1e-10).fit(X, y).order_
    for k in (2, 3, 4):
        found = FloatingSelection(stop=k).fit(X, y)
        score = found.certificate_["score"]
        assert score >= oracle.explained(X, y, forward[:k]) - 1e-9
        assert score <= max(oracle.explained(X, y, columns) for columns in combinations(range(9), k)) + 1e-9


def test_a_feature_that_two_others_make_superfluous_leaves():
    a, b, noise = np.random.RandomState(0).standard_normal((3, 100))
    X = np.column_stack([a + b + 0.5 * noise, a, b])
    assert GramSchmidt(stop=1).fit(X, a + b).support_[0]
    found = FloatingSelection(stop=2, n_beyond=1).fit(X, a + b)
    assert found.get_support(indices=True).tolist() == [1, 2]
    assert found.certificate_["n_exclusions"] == 1
    assert FloatingSelection(stop=2, n_beyond=0).fit(X, a + b).support_[0]  # there is no third to make it so


def test_the_kept_features_rank_by_forward_selection_among_them():
    X, y = data(3)
    found = FloatingSelection(stop=4).fit(X, y)
    kept = found.get_support(indices=True)
    np.testing.assert_array_equal(found.order_, kept[GramSchmidt(stop=None).fit(X[:, kept], y).order_])
    scores = [oracle.explained(X, y, found.order_[: k + 1]) for k in range(4)]
    np.testing.assert_allclose([step.info["score"] for step in found.path_], scores, atol=1e-9)
    np.testing.assert_allclose(found.scores_[found.order_], np.diff(scores, prepend=0.0), atol=1e-9)
    assert np.isnan(found.scores_).sum() == 5


def test_without_a_number_all_are_in_the_order_of_forward_selection():
    X, y = make_linear(n_samples=80, random_state=0)
    np.testing.assert_array_equal(
        FloatingSelection(stop=None).fit(X, y).order_[:5], GramSchmidt(stop=5).fit(X, y).order_[:5]
    )


@pytest.mark.parametrize(("estimator", "kind"), [(LinearRegression(), "quantity"), (LogisticRegression(), "classes")])
def test_an_estimator_is_judged_by_its_cross_validated_score(estimator, kind):
    X, y = data(1, d=6, kind=kind)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = FloatingSelection(estimator, stop=2, n_beyond=1, cv=3).fit(X, y)

    def value(columns):
        return cross_val_score(estimator, X[:, sorted(columns)], y, cv=3).mean()

    best, values = oracle.floating(value, 6, 3)
    assert found.certificate_["score"] == pytest.approx(values[2])
    assert value(found.get_support(indices=True)) == pytest.approx(value(best[2]))


def test_no_set_is_cross_validated_twice():
    seen = []

    def scoring(estimator, X, y):
        seen.append(X.shape[1])
        return estimator.score(X, y)

    X, y = data(1, d=6)
    FloatingSelection(LinearRegression(), stop=4, cv=2, scoring=scoring).fit(X, y)
    assert len(seen) <= 2 * 2**6


def test_copies_and_constants_are_not_ranked_and_rows_limit_the_set():
    X, y = data(0)
    X = np.column_stack([np.full(50, 3.0), X, X[:, 2], 2 * X[:, 4] - 1])
    found = FloatingSelection(stop=None).fit(X, y)
    assert set(range(12)) - set(found.order_.tolist()) == {0, 10, 11}
    assert FloatingSelection(stop=9).fit(X[:5], y[:5]).support_.sum() == 4


def test_units_do_not_matter():
    X, y = data(2)
    plain, other = FloatingSelection(stop=4).fit(X, y), FloatingSelection(stop=4).fit(X * 1e150, y * 1e200)
    np.testing.assert_array_equal(plain.order_, other.order_)


def test_a_rule_has_a_set_searched_for_at_each_number_of_features():
    X, y = data(4)
    found = FloatingSelection(stop=CrossValidation(LinearRegression())).fit(X, y)
    k = found.stop_.n_features
    np.testing.assert_array_equal(found.support_, FloatingSelection(stop=k).fit(X, y).support_)


def test_columns_that_enter_and_leave_change_the_decomposition_as_computing_it_anew_does():
    X, y = data(5, n=30, d=12)
    Z, Y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean())[:, None]
    moving, rng, chosen = ExplainedVariance(Z, Y), np.random.RandomState(0), ()
    for _ in range(300):
        if len(chosen) > 1 and rng.uniform() < 0.5:
            place = rng.randint(len(chosen))
            chosen = chosen[:place] + chosen[place + 1 :]
        elif len(chosen) < 11:
            chosen = (*chosen, int(rng.choice(np.setdiff1d(np.arange(12), chosen))))
        anew = ExplainedVariance(Z, Y)
        np.testing.assert_allclose(moving.additions(chosen), anew.additions(chosen), atol=1e-10)
        np.testing.assert_allclose(moving.removals(chosen), anew.removals(chosen), atol=1e-10)


@pytest.mark.parametrize("stop", ["auto", 2, None])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_weights_stand_for_repeated_rows(task, stop):
    rng = np.random.RandomState(0)
    X = 3.0 * rng.standard_normal((40, 6)) + np.array([0.0, 2.0, 0.0, 0.0, 5.0, 0.0])
    y = X[:, 0] - X[:, 1] + X[:, 2] + 2.0 * rng.standard_normal(40)
    y = np.digitize(y, [-3.0, 1.0]) if task == "classification" else y
    weight = np.tile([1.0, 3.0, 0.0, 2.0], 10)
    rows = rng.permutation(np.repeat(np.arange(40), weight.astype(int)))
    weighted = FloatingSelection(stop=stop).fit(X, y, sample_weight=weight)
    repeated = FloatingSelection(stop=stop).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-8)
    assert weighted.n_features_ == repeated.n_features_


@pytest.mark.parametrize("stop", ["auto", 2, None])
@pytest.mark.parametrize(
    "estimator",
    [DecisionTreeClassifier(max_depth=3, random_state=0), make_pipeline(SimpleImputer(), LogisticRegression())],
    ids=lambda estimator: type(estimator).__name__,
)
def test_missing_values_go_to_an_estimator_that_takes_them(estimator, stop):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((90, 4))
    y = (X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)
    X[::7, 1] = np.nan
    selector = FloatingSelection(estimator, stop=stop)
    assert selector.__sklearn_tags__().input_tags.allow_nan
    found = selector.fit(X, y)
    assert found.order_[0] == 1
    folds = cross_val_score(estimator, X[:, [1]], y, cv=5)
    assert found.path_[0].info["score"] == pytest.approx(folds.mean())


def test_a_column_that_tells_by_being_missing_can_enter():
    X = np.random.RandomState(0).standard_normal((60, 3))
    y = np.arange(60) % 2
    X[:, 2] = np.where(y == 1, np.nan, 5.0)
    assert FloatingSelection(DecisionTreeClassifier(random_state=0), stop=1).fit(X, y).order_.tolist() == [2]


@pytest.mark.parametrize("estimator", [None, Ridge(), make_pipeline(StandardScaler(), Ridge())], ids=str)
def test_missing_values_are_refused_where_nothing_takes_them_and_the_error_says_what_does(estimator):
    X, y = make_linear(30, n_features=3, random_state=0)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"holds 1 missing value.*TableSelector\(.*make_pipeline\(SimpleImputer"):
        FloatingSelection(estimator, stop=1).fit(X, y)


def test_weights_go_to_the_estimator_and_to_its_score():
    # whole weights in folds of whole rows: the repeated rows of a fold are those of its weights
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 3))
    y = X[:, 1] + rng.standard_normal(40)
    weight = np.tile([1.0, 3.0, 0.0, 2.0], 10)
    rows, fold = np.repeat(np.arange(40), weight.astype(int)), np.arange(40) % 3
    weighted = FloatingSelection(Ridge(), stop=1, cv=PredefinedSplit(fold)).fit(X, y, sample_weight=weight)
    repeated = FloatingSelection(Ridge(), stop=1, cv=PredefinedSplit(fold[rows])).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_)
    with pytest.raises(ValueError, match="takes none in fit"):
        FloatingSelection(KNeighborsRegressor(), stop=1).fit(X, y, sample_weight=weight)
