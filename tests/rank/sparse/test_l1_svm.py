"""The l1 support vector machine against plain linear programs, liblinear, and its own certificates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from tamis import L1SVM
from tamis.assess import compare
from tamis.stop import MonteCarloProbe
from tests.oracles import l1_program as oracle

SEEDS = st.integers(0, 2**20)


def make_classes(n=40, d=12, seed=0, noise=0.8):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * 10.0 ** rng.uniform(-1, 1, d) + rng.randn(d)
    y = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std() - (X[:, d // 2] - X[:, d // 2].mean()) / X[:, d // 2].std()
    return X, (y + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=40, d=12, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + 0.5 * rng.randn(n)


def standardized(X, weight=None):
    mean, spread = np.average(X, axis=0, weights=weight), None
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    return (X - mean) / np.where(spread > 0, spread, 1.0)


def signs(y):
    return np.where(y == np.unique(y)[1], 1.0, -1.0)


def value(X, s, model, C, *, squared=False):
    """``sum |w| + C sum xi`` of a fitted ranker, for weights of columns of unit variance."""
    xi = np.maximum(0.0, 1.0 - s * (X @ model.coef_[0] + model.intercept_[0]))
    return float(np.sum(np.abs(model.coef_[0]) * X.std(axis=0)) + C * np.sum(xi**2 if squared else xi))


# the minimum


@pytest.mark.parametrize("C", [0.03, 0.3, 3.0, 1e3])
@pytest.mark.parametrize("shape", [(40, 12), (15, 40)])
def test_the_objective_is_that_of_the_plain_linear_program(shape, C):
    X, y = make_classes(*shape)
    found = L1SVM(C=C, order="magnitude").fit(X, y)
    _, _, minimum = oracle.solve(standardized(X), signs(y), 1.0, C)
    assert found.certificate_["objective"] * len(y) * C == pytest.approx(minimum, rel=1e-7)
    assert value(X, signs(y), found, C) == pytest.approx(minimum, rel=1e-7)
    assert found.certificate_["converged"]
    assert found.certificate_["gap"] <= 1e-8
    assert pytest.approx(C) == found.C_
    assert found.n_chosen_ == np.count_nonzero(found.coef_)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("C", [0.02, 1.0, 100.0])
def test_the_objective_of_a_quantity_is_that_of_the_plain_linear_program(C, epsilon):
    X, y = make_quantity()
    found = L1SVM(C=C, epsilon=epsilon, order="magnitude").fit(X, y)
    unit = y.std()
    _, _, minimum = oracle.solve(standardized(X), y / unit, 1.0, C, "epsilon_insensitive", epsilon)
    assert found.certificate_["objective"] * len(y) * C == pytest.approx(unit * minimum, rel=1e-7)
    xi = oracle.losses(y, X @ found.coef_ + found.intercept_, "epsilon_insensitive", epsilon * unit)
    assert np.abs(found.coef_) @ X.std(axis=0) + C * xi.sum() == pytest.approx(unit * minimum, rel=1e-7)


@pytest.mark.parametrize("C", [0.02, 0.3, 5.0])
def test_the_squared_hinge_is_that_of_liblinear_whose_intercept_hardly_counts(C):
    X, y = make_classes(noise=1.5)
    found = L1SVM(C=C, loss="squared_hinge").fit(X, y)
    Z, s = standardized(X), signs(y)
    peer = LinearSVC(
        penalty="l1", dual=False, C=C, intercept_scaling=1e3, tol=1e-6, max_iter=1_000_000, random_state=0
    ).fit(Z, s)
    xi = np.maximum(0.0, 1.0 - s * peer.decision_function(Z))
    theirs = np.abs(peer.coef_).sum() + C * np.sum(xi**2)
    ours = value(X, s, found, C, squared=True)
    assert ours <= theirs * (1 + 1e-8)
    assert ours == pytest.approx(theirs, rel=1e-3)  # what is left of the intercept's penalty
    assert found.certificate_["gap"] <= 1e-8
    assert found.certificate_["objective"] * len(y) * C == pytest.approx(ours, rel=1e-7)


def margin_program(Z, s):
    """``max sum(a)`` with ``a >= 0``, ``a's = 0`` and ``|Z'(a s)| <= 1`` (Lal et al. 2006, dual of eq. 19)."""
    A = (Z * s[:, None]).T
    ones = np.ones(Z.shape[1])
    return -linprog(-np.ones(len(s)), np.vstack([A, -A]), np.append(ones, ones), s[None, :], [0.0], method="highs").fun


@pytest.mark.parametrize("order", ["entry", "magnitude"])
@pytest.mark.parametrize("seed", range(3))
def test_a_hard_margin_is_the_largest_l1_margin_and_its_dual(seed, order):
    X, y = make_classes(20, 15, seed=seed, noise=0.3)
    found = L1SVM(C=np.inf, order=order).fit(X, y)
    Z, s = standardized(X), signs(y)
    size = float(np.abs(found.coef_[0]) @ X.std(axis=0))
    outputs = s * (X @ found.coef_[0] + found.intercept_[0])
    assert outputs.min() >= 1 - 1e-8
    assert size == pytest.approx(margin_program(Z, s), rel=1e-8)
    assert size == pytest.approx(oracle.solve(Z, s, 1.0, np.inf)[2], rel=1e-8)
    assert found.certificate_["objective"] == pytest.approx(size, rel=1e-8)
    assert found.certificate_["gap"] <= 1e-8 * size
    assert np.isinf(found.C_)


def test_a_hard_margin_is_refused_where_classes_overlap():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for order in ("entry", "magnitude"):
        with pytest.raises(ValueError, match=r"C=inf.*finite C"):
            L1SVM(C=np.inf, order=order).fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"C=inf.*squared_hinge.*use loss='hinge'"):
        L1SVM(C=np.inf, loss="squared_hinge").fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize("order", ["entry", "magnitude"])
def test_a_hard_margin_cut_to_too_few_features_has_a_model(order):
    X, y = make_classes(20, 40, noise=2.0)
    found = L1SVM(C=np.inf, order=order, stop=2).fit(X, y)
    assert found.get_support().sum() == 2
    assert np.isfinite(found.coef_).all()


# the path


@pytest.mark.parametrize("make", [make_classes, make_quantity])
def test_entries_along_the_path_are_those_of_separate_programs(make):
    X, y = make(30, 25)
    found = L1SVM(C="path", stop=None, n_alphas=12).fit(X, y)
    Z = standardized(X)
    is_classes = make is make_classes
    target, loss = (signs(y), "hinge") if is_classes else (y / y.std(), "epsilon_insensitive")
    entered = {}
    for alpha in found.alpha_max_ * np.geomspace(1, 1e-3, 12)[1:]:  # at the first all weights are zero
        w, _, _ = oracle.solve(Z, target, alpha * (1 - 1e-9), 1.0 / len(y), loss, 0.1)
        for j in np.flatnonzero(np.abs(w) > 1e-8):
            entered.setdefault(int(j), alpha)
    for j in found.order_:
        assert found.scores_[j] == pytest.approx(entered[int(j)])
    assert np.all(np.diff(found.scores_[found.order_]) <= 0)
    assert found.certificate_["relative_gap"] <= 1e-8


@pytest.mark.parametrize("make", [make_classes, make_quantity])
def test_at_the_smallest_cost_and_below_all_weights_are_zero(make):
    X, y = make()
    at = L1SVM(C=1.0).fit(X, y)
    assert at.C_min_ == pytest.approx(1.0 / (len(y) * at.alpha_max_))
    below, above = L1SVM(C=0.999 * at.C_min_).fit(X, y), L1SVM(C=1.01 * at.C_min_).fit(X, y)
    assert below.n_chosen_ == 0
    assert not below.coef_.any()
    assert above.n_chosen_ > 0
    target, loss = (signs(y), "hinge") if make is make_classes else (y / y.std(), "epsilon_insensitive")
    largest = oracle.max_penalty(standardized(X), target, np.full(len(y), 1 / len(y)), loss, 0.1)
    assert at.alpha_max_ == pytest.approx(largest, rel=1e-6)


def test_cost_by_one_standard_error_as_by_hand():
    X, y = make_classes(60, 10, noise=1.5)
    found = L1SVM(n_alphas=8, cv=4).fit(X, y)
    alphas = found.alpha_max_ * np.geomspace(1, 1e-3, 8)
    np.testing.assert_allclose(found.cv_results_["alpha"], alphas)
    errors = np.empty((4, 8))
    for fold, (train, test) in enumerate(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)):
        mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
        Z, s = (X - mean) / spread, signs(y)
        for k, alpha in enumerate(alphas):
            w, b, _ = oracle.solve(Z[train], s[train], alpha, 1 / len(train))
            if np.any(np.abs(w) > 1e-9):
                errors[fold, k] = np.mean(s[test] * (Z[test] @ w + b) <= 0)
            else:  # the intercept is not unique there
                errors[fold, k] = found.cv_results_["mean_error"][k] * 4 - errors[:fold, k].sum()
    np.testing.assert_allclose(found.cv_results_["mean_error"][1:], errors.mean(axis=0)[1:], atol=0.03)
    mean, spread = found.cv_results_["mean_error"], found.cv_results_["standard_error"]
    best = np.argmin(mean)
    chosen = np.flatnonzero(mean <= mean[best] + spread[best])[0]
    assert found.alpha_ == pytest.approx(alphas[chosen])
    assert "one standard error" in found.stop_.reason


# targets and weights


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_several_classes_are_each_against_the_others(loss):
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] / X[:, 0].std() + X[:, 3] / X[:, 3].std(), [-0.7, 0.7])
    found = L1SVM(C=0.5, loss=loss).fit(X, y)
    total = 0.0
    for k, label in enumerate(found.classes_):
        one = L1SVM(C=0.5, loss=loss).fit(X, y == label)
        np.testing.assert_allclose(found.coef_[k], one.coef_[0], rtol=1e-5, atol=1e-7)
        total += one.certificate_["objective"]
    assert found.certificate_["objective"] == pytest.approx(total, rel=1e-7)
    assert np.array_equal(np.sort(found.order_[: found.n_chosen_]), np.flatnonzero(np.any(found.coef_ != 0, axis=0)))


@pytest.mark.parametrize("task", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_weights_of_rows_are_repetitions(task):
    X, y = make_quantity() if task == "epsilon_insensitive" else make_classes(noise=1.5)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = L1SVM(C=0.3, loss=task).fit(X, y, sample_weight=weight)
    repeated = L1SVM(C=0.3, loss=task).fit(X[rows], y[rows])
    assert weighted.certificate_["objective"] == pytest.approx(repeated.certificate_["objective"], rel=1e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-5, atol=1e-7)
    assert weighted.C_min_ == pytest.approx(repeated.C_min_)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes(noise=1.5)
    y[:10] = 0
    by_class = L1SVM(C=0.3, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_row = L1SVM(C=0.3).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_)
    counts = np.bincount(y)
    balanced = L1SVM(C=0.3, class_weight="balanced").fit(X, y)
    by_row = L1SVM(C=0.3).fit(X, y, sample_weight=(len(y) / (2 * counts))[y])
    np.testing.assert_allclose(balanced.coef_, by_row.coef_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_sparse_tables_give_the_same(loss, layout):
    X, y = make_classes(noise=1.5)
    X = np.where(np.abs(X) > np.quantile(np.abs(X), 0.5, axis=0), X, 0.0)
    dense, thin = L1SVM(C=0.3, loss=loss).fit(X, y), L1SVM(C=0.3, loss=loss).fit(layout(X), y)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("unit", "shift"), [(1e-150, 0.0), (1e150, 0.0), (1e3, 5e3), (-1.0, 2.0)])
def test_a_quantity_in_any_units(unit, shift):
    X, y = make_quantity()
    plain, other = L1SVM(C=0.5).fit(X, y), L1SVM(C=0.5).fit(X, unit * y + shift)
    assert other.order_.tolist() == plain.order_.tolist()
    np.testing.assert_allclose(other.coef_ / unit, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose((other.intercept_ - shift) / unit, plain.intercept_, rtol=1e-6)
    assert other.certificate_["objective"] / abs(unit) == pytest.approx(plain.certificate_["objective"], rel=1e-7)
    np.testing.assert_allclose(other.alpha_max_, plain.alpha_max_, rtol=1e-7)


def test_without_standardizing_weights_of_the_table_itself_are_penalized():
    X, y = make_classes()
    found = L1SVM(C=0.5, standardize=False).fit(X, y)
    _, _, minimum = oracle.solve(X - X.mean(axis=0), signs(y), 1.0, 0.5)
    assert found.certificate_["objective"] * len(y) * 0.5 == pytest.approx(minimum, rel=1e-7)


def test_debiased_weights_are_those_without_a_penalty():
    X, y = make_quantity()
    found = L1SVM(C=0.05, debias=True).fit(X, y)
    kept = np.flatnonzero(found.get_support())
    xi = oracle.losses(y, X @ found.coef_ + found.intercept_, "epsilon_insensitive", 0.1 * y.std())
    _, _, least = oracle.solve(X[:, kept], y, 1e-9, 1.0, "epsilon_insensitive", 0.1 * y.std())
    assert xi.sum() == pytest.approx(least, rel=1e-5)


def test_groups_rank_by_the_first_column_that_enters():
    X, y = make_classes(d=12)
    groups = np.repeat(np.arange(4), 3)
    found = L1SVM(C="path", stop=None, groups=groups).fit(X, y)
    single = L1SVM(C="path", stop=None).fit(X, y)
    np.testing.assert_allclose(
        [np.nanmax(found.scores_[groups == g]) for g in range(4)],
        [np.nanmax(single.scores_[groups == g]) for g in range(4)],
    )
    one = L1SVM(C="path", stop=1, groups=groups).fit(X, y)
    assert np.array_equal(one.get_support(), groups == groups[single.order_[0]])


# invariances


@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_columns_in_another_order_and_units(seed):
    X, y = make_classes(25, 10, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(10), 10.0 ** rng.uniform(-50, 50, 10) * rng.choice([-1.0, 1.0], 10)
    plain, other = L1SVM(C=1.0).fit(X, y), L1SVM(C=1.0).fit(X[:, order] * unit, y)
    assert other.certificate_["objective"] == pytest.approx(plain.certificate_["objective"], rel=1e-7)
    np.testing.assert_allclose(other.coef_[0] * unit, plain.coef_[0][order], rtol=1e-4, atol=1e-7)


@given(seed=SEEDS)
@settings(max_examples=12, deadline=None)
def test_copies_and_constants_get_no_weight(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    plain = L1SVM(C=1.0).fit(X, y)
    more = L1SVM(C=1.0).fit(np.column_stack([X, X[:, ::-1], np.full(25, 7.0), np.zeros(25)]), y)
    assert more.certificate_["objective"] == pytest.approx(plain.certificate_["objective"], rel=1e-8)
    assert not more.coef_[0, 6:].any()
    assert set(more.order_.tolist()) <= set(range(6))


@pytest.mark.parametrize("unit", [1e-150, 1e150])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_columns_in_very_large_and_small_units(loss, unit):
    X, y = make_classes()
    plain, other = L1SVM(C=0.5, loss=loss).fit(X, y), L1SVM(C=0.5, loss=loss).fit(X * unit, y)
    assert other.order_.tolist() == plain.order_.tolist()
    np.testing.assert_allclose(other.coef_ * unit, plain.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.bool_])
def test_tables_of_other_types(kind):
    X, y = make_classes()
    X = (np.round(3 * standardized(X)) if kind is not np.bool_ else X.mean(axis=0) < X).astype(kind)
    found, plain = L1SVM(C=0.5).fit(X, y), L1SVM(C=0.5).fit(X.astype(float), y)
    np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("C", [1e-12, 1e12])
def test_very_large_and_very_small_costs(C):
    X, y = make_classes(30, 60)
    found = L1SVM(C=C).fit(X, y)
    assert found.certificate_["converged"]
    hard = L1SVM(C=np.inf).fit(X, y)
    if C < 1:
        assert found.n_chosen_ == 0
    else:
        np.testing.assert_allclose(found.coef_, hard.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
    ],
)
def test_tables_of_a_few_rows(X, y):
    for C in ("auto", "path", 1e3):
        found = L1SVM(C=C).fit(X, y)
        assert found.certificate_["converged"]
    predicted = found.estimator_.predict(found.transform(X))
    if isinstance(y[0], float):
        assert np.abs(predicted - y).max() <= 0.1 * np.std(y) * (1 + 1e-6)
    else:
        assert predicted.tolist() == y


def test_no_column_says_anything():
    X, y = np.tile([[1.0], [-1.0]], (10, 1)), np.repeat([0, 1], 10)
    for C in ("auto", "path", 1.0):
        found = L1SVM(C=C).fit(X, y)
        assert found.n_chosen_ == 0
        assert not found.coef_.any()


# rules and comparisons


def test_with_rules_and_in_a_comparison():
    X, y = make_classes(50, 10)
    probed = L1SVM(stop=MonteCarloProbe(n_draws=19, random_state=0), n_alphas=10).fit(X, y)
    assert 0 < probed.get_support().sum() <= 10
    validated = L1SVM(stop="cross-validation", n_alphas=10).fit(X, y)
    assert 0 < validated.get_support().sum() <= 10
    table = compare([L1SVM(n_alphas=10)], X, y, ks=(2, 4), n_seeds=1, n_random=10)
    assert "L1SVM" in str(table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": "best"}, "'C' parameter"),
        ({"epsilon": -1.0}, "'epsilon' parameter"),
        ({"loss": "logistic"}, "'loss' parameter"),
        ({"loss": "epsilon_insensitive"}, "loss='epsilon_insensitive' is for quantities.*use loss='hinge'"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
        ({"order": "size"}, "'order' parameter"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        L1SVM(**arguments).fit(X, y)


def test_losses_of_classes_are_refused_for_a_quantity():
    X, y = make_quantity()
    with pytest.raises(ValueError, match=r"loss='hinge' is for classes.*use loss='epsilon_insensitive'"):
        L1SVM(loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="class_weight is for classes"):
        L1SVM(class_weight="balanced").fit(X, y)
