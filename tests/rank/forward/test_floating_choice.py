"""How many features floating selection keeps by itself."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score

from tamis import FloatingSelection
from tamis.base import NothingKeptWarning
from tamis.rank.forward._floating_search import effective_number, information_criterion
from tamis.stop import CrossValidation
from tests.oracles import floating as oracle


def planted(seed=0, n=200, d=12, n_relevant=3, kind="quantity"):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d))
    y = X[:, :n_relevant].sum(axis=1) + rng.standard_normal(n)
    return X, {"quantity": y, "two": y > 0, "three": np.digitize(y, [-1, 1])}[kind]


def test_the_criterion_is_that_of_the_formula():
    X, y = planted(n=40)
    explained = np.array([oracle.explained(X, y, columns) for columns in ([], [0], [0, 1, 2])])
    found = information_criterion(explained, np.array([0, 1, 3]), n_samples=40, n_columns=12, n_targets=1.0)
    left = [np.sum((y - y.mean()) ** 2) * (1 - share) for share in explained]
    for k, value, error in zip((0, 1, 3), found - found[0], left, strict=True):
        price = k * (np.log(40) + 2 * np.log(12)) * 40 / (40 - k - 2)
        assert value == pytest.approx(40 * np.log(error / left[0]) + price)


def test_targets_count_as_often_as_they_differ():
    rng = np.random.RandomState(0)
    Y = np.linalg.qr(rng.standard_normal((50, 3)))[0]
    assert effective_number(Y) == pytest.approx(3)
    assert effective_number(Y[:, [0, 0, 0]]) == pytest.approx(1)
    indicators = np.eye(3)[np.repeat([0, 1, 2], 20)]
    assert effective_number(indicators - indicators.mean(axis=0)) == pytest.approx(2)


def test_copies_of_a_target_choose_as_the_target_itself():
    sizes, explained = np.arange(5), np.array([0.0, 0.5, 0.6, 0.605, 0.607])
    y = np.random.RandomState(0).standard_normal((60, 1))
    alone, twice = (
        information_criterion(explained, sizes, n_samples=60, n_columns=9, n_targets=effective_number(Y))
        for Y in (y, y[:, [0, 0]])
    )
    np.testing.assert_allclose(alone, twice)


@pytest.mark.parametrize("kind", ["quantity", "two", "three"])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_planted_is_kept_and_nothing_else(seed, kind):
    X, y = planted(seed, n=400, kind=kind)
    found = FloatingSelection().fit(X, y)
    assert found.get_support(indices=True).tolist() == [0, 1, 2]
    assert found.n_chosen_ == found.n_features_ == 3
    assert "the Bayesian information criterion is least with 3 features" in found.stop_.reason


@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
def test_noise_is_kept_no_more_often_than_in_one_table_of_ten():
    rng = np.random.RandomState(0)
    kept = [
        FloatingSelection().fit(rng.standard_normal((40, d)), rng.standard_normal(40)).n_features_ > 0
        for d in (5, 30, 300)
        for _ in range(20)
    ]
    assert np.mean(kept) < 0.1


def test_the_search_ends_long_before_the_last_feature():
    X, y = planted(n=150, d=120)
    found = FloatingSelection().fit(X, y)
    assert max(found.certificate_["best_scores"]) <= 3 + 5
    patient = FloatingSelection(n_beyond=9).fit(X, y)
    assert max(patient.certificate_["best_scores"]) == 3 + 9


def test_a_noiseless_target_ends_the_search_too():
    X, _ = planted(n=30, d=40)
    y = X[:, 4] - 2 * X[:, 7]
    assert FloatingSelection().fit(X, y).get_support(indices=True).tolist() == [4, 7]


@pytest.mark.parametrize("n", [4, 5, 8])
@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
def test_few_rows_keep_little(n):
    X, y = planted(n=n, d=6)
    assert FloatingSelection().fit(X, y).n_features_ <= max(n - 3, 1)


@pytest.mark.parametrize(("estimator", "kind"), [(LinearRegression(), "quantity"), (LogisticRegression(), "two")])
def test_an_estimator_keeps_the_fewest_within_one_standard_error_of_its_best_score(estimator, kind):
    X, y = planted(1, n=120, d=8, kind=kind)
    found = FloatingSelection(estimator, cv=4).fit(X, y)
    scores = {}
    for size in found.certificate_["best_scores"]:
        columns = FloatingSelection(estimator, cv=4, stop=size, n_beyond=8).fit(X, y).get_support(indices=True)
        scores[size] = cross_val_score(estimator, X[:, columns], y, cv=4)
    best = max(scores, key=lambda size: scores[size].mean())
    least = scores[best].mean() - scores[best].std(ddof=1) / 2
    assert found.n_features_ == min(size for size, each in scores.items() if each.mean() >= least)
    assert "within one standard error of the best cross-validated score" in found.stop_.reason


def test_an_estimator_may_keep_nothing():
    rng = np.random.RandomState(3)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    with pytest.warns(NothingKeptWarning):
        found = FloatingSelection(LinearRegression()).fit(X, y)
    assert "0 features" in found.stop_.reason


def test_rows_of_a_group_are_on_one_side_of_every_split():
    X, y = planted(0, n=60, d=4)
    groups = np.repeat(np.arange(6), 10)
    given = FloatingSelection(LinearRegression(), stop=2, cv=GroupKFold(3)).fit(X, y, row_groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    listed = FloatingSelection(LinearRegression(), stop=2, cv=folds).fit(X, y)
    assert given.certificate_["score"] == pytest.approx(listed.certificate_["score"])
    counted = FloatingSelection(LinearRegression(), stop=2, cv=3).fit(X, y, row_groups=groups)
    assert counted.certificate_["score"] == pytest.approx(listed.certificate_["score"])


def test_the_search_starts_from_columns_that_stay():
    a, b, noise = np.random.RandomState(0).standard_normal((3, 100))
    X = np.column_stack([a + b + 0.5 * noise, a, b, noise])
    found = FloatingSelection(keep=[0], stop=2).fit(X, a + b)
    assert found.order_[0] == 0
    assert set(found.order_.tolist()) == {0, 3}  # what is left of column 0 without the noise is the target
    free = FloatingSelection(keep=[0]).fit(X, a + b)
    assert free.support_[0]
    assert free.stop_.n_features == 2
    constant = FloatingSelection(keep=[4, 0]).fit(np.column_stack([X, np.ones(100)]), a + b)
    assert constant.get_support(indices=True).tolist() == [0, 3, 4]
    assert FloatingSelection(keep=[0, 1], stop=2).fit(X, a + b).get_support(indices=True).tolist() == [0, 1]


def test_more_may_be_asked_for_than_the_method_would_keep():
    X, y = planted()
    found = FloatingSelection(min_features=5).fit(X, y)
    assert found.n_features_ == 5
    np.testing.assert_array_equal(found.support_, FloatingSelection(stop=5).fit(X, y).support_)


def test_other_rules_look_at_all_features():
    X, y = planted(d=6)
    found = FloatingSelection(stop=CrossValidation(LinearRegression(), n_features=[1, 6])).fit(X, y)
    assert found.n_features_ == 6
    assert found.n_chosen_ is None
