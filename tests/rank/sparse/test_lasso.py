"""The lasso: minima of its peers, conditions in the units of X, penalty and constraint, order and rules."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Lasso as PeerLasso
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from tamis import Lasso
from tamis.assess import compare
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles.sparse_penalty import kkt_violation

TABLES = ["tall", "wide", "correlated", "copies", "constants", "integers"]


def make_table(name="tall", seed=0):
    rng = np.random.RandomState(seed)
    n, d = {"tall": (100, 10), "wide": (30, 120)}.get(name, (40, 25))
    X = rng.standard_normal((n, d)) * np.exp(rng.standard_normal(d)) + rng.standard_normal(d)
    if name == "correlated":
        X += 3 * rng.standard_normal((n, 1))
    elif name == "copies":
        X = X[:, rng.randint(0, 8, d)]
    elif name == "constants":
        X[:, ::3] = 7.0
    elif name == "integers":
        X = np.round(3 * X).astype(int)
    y = X[:, [1, 4, 7]] @ [2.0, -1.0, 1.0] + X.std() * rng.standard_normal(n) + 5.0
    return X, y


def objective(X, y, ranker):
    """With the penalty on weights of columns of unit variance."""
    weights = ranker.coef_ * X.std(axis=0)
    return 0.5 * np.mean((X @ ranker.coef_ + ranker.intercept_ - y) ** 2) + ranker.alpha_ * np.abs(weights).sum()


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("table", TABLES)
def test_conditions_hold_in_the_units_of_the_table(table, share):
    X, y = make_table(table)
    alpha = share * Lasso(stop=1).fit(X, y).alpha_max_
    ranker = Lasso(alpha=alpha, order="magnitude").fit(X, y)
    assert kkt_violation(X, y, ranker.coef_, ranker.intercept_, "squared", alpha) <= 1e-7 * ranker.alpha_max_
    assert ranker.certificate_["objective"] == pytest.approx(objective(X, y, ranker), rel=1e-9)
    assert ranker.certificate_["relative_gap"] <= 1e-6
    assert ranker.alpha_ == pytest.approx(alpha, rel=1e-12)


@pytest.mark.parametrize("table", ["tall", "wide", "correlated"])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_minimum_is_that_of_scikit_learn(table, standardize):
    X, y = make_table(table)
    scale = X.std(axis=0) if standardize else np.ones(X.shape[1])
    alpha = 0.1 * Lasso(stop=1, standardize=standardize).fit(X, y).alpha_max_
    ranker = Lasso(alpha=alpha, standardize=standardize).fit(X, y)
    peer = PeerLasso(alpha, tol=1e-12, max_iter=200_000).fit(X / scale, y)
    np.testing.assert_allclose(ranker.coef_ * scale, peer.coef_, atol=1e-6 * np.abs(peer.coef_).max())
    assert ranker.intercept_ == pytest.approx(peer.intercept_, abs=1e-5)
    np.testing.assert_array_equal(ranker.support_, peer.coef_ != 0)


def test_the_minimum_is_that_of_celer():
    celer = pytest.importorskip("celer")
    X, y = make_table("wide")
    alpha = 0.1 * Lasso(stop=1).fit(X, y).alpha_max_
    ranker = Lasso(alpha=alpha).fit(X, y)
    Z = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    peer = celer.Lasso(alpha, tol=1e-11).fit(Z, y)
    np.testing.assert_allclose(ranker.coef_ * X.std(axis=0), peer.coef_, atol=1e-6)


@pytest.mark.slow  # compiles
def test_the_minimum_is_that_of_skglm():
    skglm = pytest.importorskip("skglm")
    X, y = make_table("wide")
    alpha = 0.1 * Lasso(stop=1).fit(X, y).alpha_max_
    Z = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    peer = skglm.Lasso(alpha, tol=1e-10, fit_intercept=False).fit(Z, y - y.mean())
    np.testing.assert_allclose(Lasso(alpha=alpha).fit(X, y).coef_ * X.std(axis=0), peer.coef_, atol=1e-6)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_tables_give_what_dense_ones_do(kind, standardize):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 30)) * (rng.random_sample((50, 30)) < 0.3)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(50)
    dense, compressed = (Lasso(alpha=0.05, standardize=standardize).fit(table, y) for table in (X, kind(X)))
    np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_array_equal(compressed.order_, dense.order_)
    np.testing.assert_allclose(
        compressed.estimator_.predict(compressed.transform(kind(X))),
        dense.estimator_.predict(dense.transform(X)),
        atol=1e-8,
    )


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("table", ["tall", "wide"])
def test_a_bound_on_the_norm_is_a_penalty(table, share):
    X, y = make_table(table)
    largest = np.abs(Lasso(alpha="path", stop=None).fit(X, y).coef_ * X.std(axis=0)).sum()
    bounded = Lasso(max_norm=share * largest).fit(X, y)
    assert np.abs(bounded.coef_ * X.std(axis=0)).sum() == pytest.approx(share * largest, rel=1e-8)
    penalized = Lasso(alpha=bounded.alpha_).fit(X, y)
    np.testing.assert_allclose(penalized.coef_, bounded.coef_, atol=1e-8)
    np.testing.assert_array_equal(penalized.order_, bounded.order_)
    # alpha is the constraint's multiplier: the slope of the least mean of squares by s
    h = 1e-4 * largest
    more, less = (Lasso(max_norm=share * largest + step).fit(X, y) for step in (h, -h))

    def half_mean_of_squares(ranker):
        return 0.5 * np.mean((X @ ranker.coef_ + ranker.intercept_ - y) ** 2)

    slope = (half_mean_of_squares(more) - half_mean_of_squares(less)) / (2 * h)
    assert -slope == pytest.approx(bounded.alpha_, rel=0.01)


def test_a_bound_on_the_norm_holds_where_hardly_any_error_is_left():
    X, _ = make_table("tall")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = Z[:, 0] - 2 * Z[:, 1]
    ranker = Lasso(max_norm=2.999).fit(Z, y)
    assert np.abs(ranker.coef_).sum() == pytest.approx(2.999, rel=1e-6)


def test_a_bound_that_does_not_bind_leaves_least_squares():
    X, y = make_table("tall")
    ranker = Lasso(max_norm=1e6).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, LinearRegression().fit(X, y).coef_, atol=1e-4)


def test_the_norm_falls_as_the_penalty_grows():
    X, y = make_table("correlated")
    alpha_max = Lasso(stop=1).fit(X, y).alpha_max_
    rankers = [Lasso(alpha=share * alpha_max).fit(X, y) for share in np.geomspace(0.9, 0.001, 15)]
    norms = [np.abs(ranker.coef_ * X.std(axis=0)).sum() for ranker in rankers]
    assert np.all(np.diff(norms) >= -1e-9)


def test_alpha_max_is_the_smallest_penalty_that_leaves_none():
    X, y = make_table()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    alpha_max = Lasso(stop=1).fit(X, y).alpha_max_
    assert alpha_max == pytest.approx(np.abs(Z.T @ (y - y.mean())).max() / len(y), rel=1e-12)
    assert Lasso(alpha=1.0001 * alpha_max).fit(X, y).n_features_ == 0
    assert Lasso(alpha=0.9999 * alpha_max).fit(X, y).n_features_ == 1


def one_standard_error_alpha(X, y, alphas, folds):
    """By scikit-learn's lasso, fold by fold."""
    errors = np.zeros((len(folds), len(alphas)))
    for row, (train, test) in zip(errors, folds, strict=True):
        center, scale = X[train].mean(axis=0), X[train].std(axis=0)
        for k, alpha in enumerate(alphas):
            peer = PeerLasso(alpha, tol=1e-10, max_iter=100_000).fit((X[train] - center) / scale, y[train])
            row[k] = 0.5 * np.mean((peer.predict((X[test] - center) / scale) - y[test]) ** 2)
    mean, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(folds))
    best = np.argmin(mean)
    return next(alpha for alpha, error in zip(alphas, mean, strict=True) if error <= mean[best] + spread[best]), mean


@pytest.mark.parametrize("seed", [0, 1])
def test_auto_is_the_largest_alpha_within_one_standard_error(seed):
    X, y = make_table("tall", seed)
    folds = KFold(4, shuffle=True, random_state=seed)
    ranker = Lasso(cv=folds, n_alphas=20).fit(X, y)
    alphas = ranker.alpha_max_ * np.geomspace(1.0, 1e-3, 20)
    np.testing.assert_allclose(ranker.cv_results_["alpha"], alphas, rtol=1e-12)
    chosen, mean = one_standard_error_alpha(X, y, alphas, list(folds.split(X)))
    np.testing.assert_allclose(ranker.cv_results_["mean_error"], mean, rtol=1e-5)
    assert ranker.alpha_ == pytest.approx(chosen, rel=1e-12)
    np.testing.assert_allclose(ranker.coef_, Lasso(alpha=chosen).fit(X, y).coef_, atol=1e-8)
    assert "one standard error" in ranker.stop_.reason


def test_a_number_of_folds_is_shuffled_and_the_same_each_time():
    X, y = make_table()
    order = np.argsort(y)  # sorted rows would make every fold extrapolate
    one, other = (Lasso(cv=5, n_alphas=20).fit(X[order], y[order]) for _ in range(2))
    assert one.alpha_ == other.alpha_
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    assert Lasso(cv=folds, n_alphas=20).fit(X[order], y[order]).alpha_ == one.alpha_


@pytest.mark.parametrize("settings", [{"alpha": 0.3}, {"stop": 4}, {"alpha": "path", "stop": 3}])
def test_debiased_weights_are_those_of_least_squares_on_the_support(settings):
    X, y = make_table()
    ranker = Lasso(debias=True, **settings).fit(X, y)
    kept = ranker.get_support(indices=True)
    np.testing.assert_array_equal(ranker.support_, Lasso(**settings).fit(X, y).support_)
    peer = LinearRegression().fit(X[:, kept], y)
    np.testing.assert_allclose(ranker.coef_[kept], peer.coef_, atol=1e-6)
    assert ranker.intercept_ == pytest.approx(peer.intercept_, abs=1e-5)


def test_features_rank_by_when_they_enter():
    X, y = make_table("correlated")
    ranker = Lasso(alpha="path", stop=None).fit(X, y)
    entered = {}
    for alpha in ranker.alpha_max_ * np.geomspace(1.0, 1e-3, 100):
        for j in np.flatnonzero(Lasso(alpha=alpha, order="magnitude").fit(X, y).coef_):
            entered.setdefault(int(j), alpha)
    assert set(entered) == set(ranker.order_.tolist())
    np.testing.assert_allclose(ranker.scores_[ranker.order_], [entered[j] for j in ranker.order_.tolist()], rtol=1e-9)
    assert np.all(np.diff(ranker.scores_[ranker.order_]) <= 0)
    assert np.isnan(np.delete(ranker.scores_, ranker.order_)).all()


def test_features_rank_by_the_size_of_their_weights():
    X, y = make_table("correlated")
    ranker = Lasso(alpha=0.5, order="magnitude").fit(X, y)
    weights = np.abs(ranker.coef_ * X.std(axis=0))
    np.testing.assert_array_equal(ranker.order_, np.argsort(-weights)[: np.count_nonzero(weights)])
    np.testing.assert_allclose(ranker.scores_[ranker.order_], weights[ranker.order_], rtol=1e-9)


def test_at_one_alpha_those_that_lost_their_weight_come_last():
    for seed in range(20):
        X, y = make_table("correlated", seed)
        ranker = Lasso(alpha=0.02, stop=None).fit(X, y)
        has_weight = ranker.coef_[ranker.order_] != 0
        assert np.all(np.diff(has_weight.astype(int)) <= 0)
        if not has_weight.all():
            break
    else:
        pytest.fail("no feature ever lost its weight")
    assert ranker.alpha_ == pytest.approx(0.02)
    assert Lasso(alpha=0.02).fit(X, y).n_features_ == has_weight.sum()


@pytest.mark.parametrize("k", [1, 3, 6])
def test_k_features_end_the_path_where_they_have_entered(k):
    X, y = make_table("wide")
    whole = Lasso(alpha="path", stop=None).fit(X, y)
    ranker = Lasso(stop=k).fit(X, y)
    np.testing.assert_array_equal(ranker.order_[:k], whole.order_[:k])
    assert ranker.n_features_ == k
    assert ranker.order_.size < whole.order_.size
    assert ranker.alpha_ == pytest.approx(whole.scores_[whole.order_[k - 1]], rel=1e-9)
    assert not hasattr(ranker, "cv_results_")


def test_the_path_ends_at_a_thousandth_or_where_all_is_explained():
    X, y = make_table("constants")
    whole = Lasso(alpha="path", stop=None).fit(X, y)
    assert whole.alpha_ == pytest.approx(1e-3 * whole.alpha_max_, rel=1e-9)
    explained = Lasso(alpha="path", stop=None).fit(X, X[:, 1])
    assert explained.alpha_ > 2e-3 * explained.alpha_max_
    np.testing.assert_array_equal(explained.order_, [1])


def test_sample_weights_repeat_rows():
    X, y = make_table()
    counts = np.random.RandomState(0).randint(0, 4, len(y))
    weighted = Lasso(alpha=0.2).fit(X, y, sample_weight=counts)
    repeated = Lasso(alpha=0.2).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    assert weighted.intercept_ == pytest.approx(repeated.intercept_, abs=1e-8)
    np.testing.assert_array_equal(weighted.order_, repeated.order_)


def test_several_classes_are_each_against_the_others():
    X, y = make_table()
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    ranker = Lasso(alpha=0.05).fit(X, labels)
    assert ranker.coef_.shape == (3, X.shape[1])
    for row, label in zip(ranker.coef_, ranker.classes_, strict=True):
        alone = PeerLasso(0.05, tol=1e-12, max_iter=100_000).fit(
            X / X.std(axis=0), np.where(labels == label, 1.0, -1.0)
        )
        np.testing.assert_allclose(row * X.std(axis=0), alone.coef_, atol=1e-6)
    np.testing.assert_array_equal(ranker.support_, ranker.coef_.any(axis=0))
    predicted = ranker.estimator_.predict(ranker.transform(X))
    np.testing.assert_array_equal(predicted, ranker.classes_[np.argmax(X @ ranker.coef_.T + ranker.intercept_, axis=1)])


@settings(deadline=None, max_examples=8, derandomize=True)
@given(seed=st.integers(0, 2**31 - 1), table=st.sampled_from(["tall", "wide", "correlated"]))
def test_places_units_and_signs_of_columns_do_not_matter(seed, table):
    rng = np.random.RandomState(seed)
    X, y = make_table(table, seed % 50)
    shuffle = rng.permutation(X.shape[1])
    factor = np.exp(3 * rng.standard_normal(X.shape[1])) * rng.choice([-1.0, 1.0], X.shape[1])
    ranker = Lasso(stop=4).fit(X, y)
    moved = Lasso(stop=4).fit((X * factor)[:, shuffle], y)
    np.testing.assert_array_equal(shuffle[moved.order_][:4], ranker.order_[:4])
    back = np.empty_like(moved.coef_)
    back[shuffle] = moved.coef_
    np.testing.assert_allclose(back * factor, ranker.coef_, atol=1e-7)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(seed=st.integers(0, 49), factor=st.sampled_from([1e-150, 1e-8, -3.0, 1e8, 1e150, 1e200]))
def test_weights_and_alphas_follow_the_unit_of_the_target(seed, factor):
    X, y = make_table("tall", seed)
    ranker, scaled = Lasso(n_alphas=15).fit(X, y), Lasso(n_alphas=15).fit(X, factor * y)
    np.testing.assert_array_equal(scaled.order_, ranker.order_)
    np.testing.assert_allclose(scaled.coef_ / factor, ranker.coef_, atol=1e-8)
    assert scaled.alpha_ / abs(factor) == pytest.approx(ranker.alpha_, rel=1e-9)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(seed=st.integers(0, 49))
def test_copies_and_constants_change_nothing_and_are_never_taken(seed):
    X, y = make_table("tall", seed)
    extra = np.column_stack([X, X[:, ::-1], np.full(len(y), 3.0), np.zeros(len(y))])
    ranker, padded = Lasso(stop=7).fit(X, y), Lasso(stop=7).fit(extra, y)
    np.testing.assert_array_equal(padded.order_, ranker.order_)
    np.testing.assert_allclose(padded.coef_[: X.shape[1]], ranker.coef_, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units_of_columns_may_be_extreme(unit):
    X, y = make_table()
    ranker, scaled = Lasso(alpha=0.3).fit(X, y), Lasso(alpha=0.3).fit(X * unit, y)
    np.testing.assert_allclose(scaled.coef_ * unit, ranker.coef_, atol=1e-9)


@pytest.mark.parametrize("alpha", [1e-12, 1e-9])
@pytest.mark.parametrize("order", ["entry", "magnitude"])
def test_a_tiny_alpha_leaves_least_squares(alpha, order):
    X, y = make_table()
    ranker = Lasso(alpha=alpha, order=order).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, LinearRegression().fit(X, y).coef_, atol=1e-6)
    assert ranker.certificate_["converged"]


def test_a_huge_alpha_leaves_the_mean():
    X, y = make_table()
    ranker = Lasso(alpha=1e300).fit(X, y)
    assert ranker.n_features_ == 0
    assert ranker.intercept_ == pytest.approx(y.mean())
    assert "no feature has a weight" in ranker.stop_.reason


def test_two_rows_one_column_and_a_target_that_nothing_explains():
    assert Lasso(task="regression").fit([[0.0, 1.0], [1.0, 1.0]], [0.5, 2.5]).order_.tolist() == [0]
    X, _ = make_table()
    assert Lasso().fit(X[:, :1], X[:, 0] ** 3).order_.tolist() == [0]
    unrelated = Lasso(task="regression").fit([[1.0], [-1.0], [1.0], [-1.0]], [0.1, 0.1, -0.1, -0.1])
    assert unrelated.n_features_ == 0
    assert "correlated" in unrelated.stop_.reason


def test_groups_stay_together_and_rank_by_their_first_column():
    X, y = make_table()
    groups = {"left": [0, 1, 2], "middle": [3, 4, 5, 6], "right": [7, 8, 9]}
    whole = Lasso(alpha="path", stop=None).fit(X, y)
    ranker = Lasso(groups=groups, stop=2).fit(X, y)
    first = list(dict.fromkeys(["left", "middle", "right"][np.digitize(j, [3, 7])] for j in whole.order_))
    assert ranker.group_order_[:2].tolist() == first[:2]
    at_alpha = Lasso(groups=groups, alpha=0.5).fit(X, y)
    np.testing.assert_allclose(at_alpha.coef_, Lasso(alpha=0.5).fit(X, y).coef_, atol=1e-9)
    assert at_alpha.alpha_ == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": "best"}, "alpha"),
        ({"max_norm": 0.0}, "max_norm"),
        ({"n_alphas": 1}, "n_alphas"),
        ({"order": "alphabet"}, "order"),
        ({"tol": 0.0}, "tol"),
        ({"groups": [0, 1]}, "groups has 2 labels"),
        ({"class_weight": "balanced"}, "class_weight is for classes"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Lasso(**parameters).fit(*make_table())


def test_rules_and_comparisons_work_with_it():
    X, y = make_table()
    probed = Lasso(stop=MonteCarloProbe(n_draws=19, risk=0.1, random_state=0), n_alphas=20).fit(X, y)
    assert 1 <= probed.n_features_ <= 6
    validated = Lasso(stop=CrossValidation(cv=3), n_alphas=20).fit(X, y)
    assert 1 <= validated.n_features_ <= X.shape[1]
    found = compare({"lasso": Lasso(n_alphas=20)}, X, y, ks=[2], n_seeds=1, n_random=10)
    assert "lasso" in str(found)


def test_a_penalty_and_a_constraint_are_one_too_many():
    X, y = np.eye(4), np.arange(4.0)
    with pytest.raises(ValueError, match="alpha and max_norm are two ways to say the penalty"):
        Lasso(alpha=0.1, max_norm=1.0, task="regression").fit(X, y)
