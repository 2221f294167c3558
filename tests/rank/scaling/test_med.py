"""Maximum entropy discrimination: optimality from the public attributes, invariances, tasks, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from tamis import MED
from tamis.assess import compare
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles import med as oracle

SEEDS = st.integers(0, 2**20)
SHAPES = {"tall": (60, 8), "wide": (20, 60)}


def make_classes(n=60, d=8, seed=0, noise=0.5):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=60, d=8, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + 0.3 * rng.randn(n)


def make_tasks(n_rows, n_tasks=6, d=100, relevant=(3, 40, 77), seed=0):
    """Tasks with weights of their own on the same three features."""
    rng = np.random.RandomState(seed)
    X, tasks = rng.randn(n_tasks * n_rows, d), np.repeat(np.arange(n_tasks), n_rows)
    weights = rng.choice([-1.0, 1.0], (n_tasks, 3)) * rng.uniform(0.7, 1.3, (n_tasks, 3))
    signal = np.sum(X[:, relevant] * weights[tasks], axis=1) + 0.3 * rng.randn(len(X))
    return X, (signal > 0).astype(int), tasks


def standardized(X):
    return StandardScaler().fit_transform(X)


def signs_of(y):
    classes = np.unique(y)
    return np.stack([np.where(y == k, 1.0, -1.0) for k in (classes[1:] if classes.size == 2 else classes)], axis=1)


# the optimum


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("c", [1.5, 10.0])
def test_optimality_from_the_public_attributes(c, shape, n_classes):
    X, y = make_classes(*shape)
    if n_classes == 3:
        y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    found = MED(p0=1e-2, c=c).fit(X, y)
    lam, s = found.multipliers_, signs_of(y)
    Z = standardized(X) / np.sqrt(X.shape[1])
    np.testing.assert_allclose(np.sum(lam * s, axis=0), 0.0, atol=1e-8)
    # factors
    W = Z.T @ (lam * s)
    norm2 = np.sum(W**2, axis=1)
    p = 1.0 / (1.0 + (1.0 - 1e-2) / 1e-2 * np.exp(-0.5 * norm2))
    np.testing.assert_allclose(found.scores_, p, rtol=1e-7)
    np.testing.assert_allclose(found.sigma_, p, rtol=1e-7)
    # expected weights, and the margins that they have
    np.testing.assert_allclose(found.expected_coef_.T, W * p[:, None] / (X.std(axis=0) * np.sqrt(X.shape[1]))[:, None])
    margin = s * (X @ found.expected_coef_.T + found.expected_intercept_)
    expected = 1.0 - 1.0 / (c - lam)
    np.testing.assert_allclose(margin[lam > 1e-6], expected[lam > 1e-6], atol=1e-7)
    assert np.all(margin >= expected - 1e-7)
    assert found.certificate_["converged"]
    assert found.certificate_["projected_gradient"] < 1e-6
    assert 0 <= found.certificate_["duality_gap"] < 1e-6
    assert found.p0_ == 1e-2
    assert found.c_ == c


def test_optimality_for_a_quantity():
    X, y = make_quantity()
    found = MED(p0=0.1, c=5.0, epsilon=0.2).fit(X, y)
    lam = found.multipliers_[:, 0]
    assert lam.sum() == pytest.approx(0.0, abs=1e-8)
    residual = (y - X @ found.expected_coef_[0] - found.expected_intercept_[0]) / y.std()
    # at a multiplier of zero the expected error is that of the prior
    tolerance = (0.2**2 / 2 + 0.2 / 5 + 1 / 25) / (0.2 + 1 / 5)
    inside, outside = np.abs(lam) < 1e-6, np.abs(lam) > 1e-4
    assert inside.any()
    assert outside.any()
    assert np.all(np.abs(residual[inside]) <= tolerance + 1e-6)
    assert np.all(residual[outside] * np.sign(lam[outside]) >= tolerance - 1e-6)
    assert found.order_[:2].tolist() == [4, 0]
    assert np.corrcoef(found.estimator_.predict(found.transform(X)), y)[0, 1] > 0.9


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_all_switches_on_is_the_machine_of_a_direct_solver(shape):
    X, y = make_classes(*shape)
    found = MED(p0=1.0, c=3.0, stop=None).fit(X, y)
    root = np.sqrt(X.shape[1])
    u, b, value = oracle.machine_with_all_switches_on(standardized(X) / root, signs_of(y)[:, 0], 0.5, 3.0)
    assert found.certificate_["objective"] == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(found.expected_coef_[0] * X.std(axis=0) * root, u, atol=1e-4)
    np.testing.assert_allclose(found.coef_, found.expected_coef_, atol=1e-7)
    np.testing.assert_allclose(standardized(X) / root @ u + b, X @ found.coef_[0] + found.intercept_[0], atol=1e-4)
    assert np.all(found.scores_ == 1.0)
    size = np.abs(u)
    assert found.order_[:3].tolist() == np.argsort(-size)[:3].tolist()


def test_the_model_is_a_machine_on_the_selected_features_with_their_switches_on():
    X, y = make_classes()
    found = MED(stop=3, c=4.0).fit(X, y)
    kept = np.flatnonzero(found.get_support())
    alone = MED(stop=None, c=4.0, p0=1.0).fit(X[:, kept], y)
    np.testing.assert_allclose(found.coef_[:, kept], alone.coef_, atol=1e-7)
    np.testing.assert_allclose(found.intercept_, alone.intercept_, atol=1e-7)
    outputs = X @ found.coef_[0] + found.intercept_[0]
    np.testing.assert_allclose(found.estimator_.decision_function(found.transform(X))[:, 0], outputs, atol=1e-10)


def test_half_the_prior_variance_is_a_unit_of_the_weights():
    """A prior variance four times as large is one of columns of half the size."""
    X, y = make_classes()
    plain = MED(kappa=2.0, standardize=False, p0=1e-2, c=4.0).fit(X, y)
    other = MED(kappa=0.5, standardize=False, p0=1e-2, c=4.0).fit(2.0 * X, y)
    np.testing.assert_allclose(plain.scores_, other.scores_, rtol=1e-6)
    np.testing.assert_allclose(plain.expected_coef_, 2.0 * other.expected_coef_, rtol=1e-6, atol=1e-8)


def test_probabilities_that_are_all_one_are_ordered_by_weight():
    X, y = make_classes(n=400)
    found = MED(p0=1.0, stop=None).fit(X, y)
    assert np.all(found.scores_ == 1.0)
    norms = [step.info["norm"] for step in found.path_]
    assert np.all(np.diff(norms) < 0)
    assert set(found.order_[:2].tolist()) == {0, 4}


def test_the_cost_of_a_quantity_that_is_a_sign_is_that_of_classes():
    X, y = np.random.RandomState(0).randn(20, 200), np.arange(20) % 2
    assert MED().fit(X, y).c_ > 20.0
    assert MED(task="regression").fit(X, y).c_ == pytest.approx(MED().fit(X, y).c_)


@pytest.mark.parametrize(("c", "epsilon"), [(10.0, 0.1), (50.0, 1.0), (5.0, 1e-3)])
def test_errors_of_a_quantity_are_free_up_to_the_mean_of_the_margin(c, epsilon):
    X, y = make_quantity()
    found = MED(c=c, epsilon=epsilon, p0=0.1).fit(X, y)
    errors = np.abs(y - X @ found.expected_coef_[0] - found.expected_intercept_) / y.std()
    free = (epsilon**2 / 2 + epsilon / c + 1 / c**2) / (epsilon + 1 / c)
    is_active = np.abs(found.multipliers_[:, 0]) > 1e-4
    assert is_active.any()
    assert not is_active.all()
    assert errors[~is_active].max() <= free + 1e-6 <= errors[is_active].min() + 1e-6


def test_own_choice_are_features_that_are_rather_active():
    X, y = make_classes(n=200)
    found = MED().fit(X, y)
    assert set(np.flatnonzero(found.get_support())) == set(np.flatnonzero(found.scores_ > 0.5)) == {0, 4}
    assert found.n_chosen_ == 2
    assert found.stop_.reason.startswith("2 features are active with a probability above 1/2")


@pytest.mark.parametrize("k", [1, 3, 8])
def test_a_number_of_features_cuts_the_same_order(k):
    X, y = make_classes()
    whole, part = MED(stop=None).fit(X, y), MED(stop=k).fit(X, y)
    assert part.get_support().sum() == k
    assert whole.order_.tolist() == part.order_.tolist()
    assert np.count_nonzero(part.coef_) == k


def test_a_sparse_separator_is_recovered():
    rng = np.random.RandomState(0)
    X = rng.randn(100, 300)
    planted = [3, 50, 110, 270]
    y = (X[:, planted] @ [1.0, -1.0, 1.0, 1.0] > 0).astype(int)
    assert sorted(MED(stop=4).fit(X, y).order_[:4].tolist()) == planted


def test_too_few_newton_steps_are_told():
    X, y = make_classes()
    with pytest.warns(ConvergenceWarning, match=r"projected gradient is .* after 3 Newton steps; raise max_iter=3"):
        found = MED(max_iter=3).fit(X, y)
    assert not found.certificate_["converged"]
    assert found.n_iter_ == 3


def test_many_rows_need_no_matrix_of_them():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30_000, 3))
    found = MED().fit(X, X[:, 1] > 0.3 * rng.standard_normal(30_000))
    assert found.order_[0] == 1
    assert found.certificate_["projected_gradient"] < 1e-6


# tasks


def test_tasks_find_what_they_share_from_fewer_rows_than_alone():
    shared, alone, pooled = [], [], []
    relevant = [3, 40, 77]
    for seed in range(4):
        X, y, tasks = make_tasks(20, seed=seed)
        shared.append(np.isin(MED(stop=3).fit(X, y, tasks=tasks).order_[:3], relevant).mean())
        pooled.append(np.isin(MED(stop=3).fit(X, y).order_[:3], relevant).mean())
        for t in range(6):
            one = MED(stop=3).fit(X[tasks == t], y[tasks == t])
            alone.append(np.isin(one.order_[:3], relevant).mean())
    assert np.mean(shared) > 0.75
    assert np.mean(alone) < 0.6
    assert np.mean(pooled) < 0.6


def test_optimality_with_tasks():
    X, y, tasks = make_tasks(20, n_tasks=2, d=30, relevant=(0, 5, 9))
    labels = np.array(["one", "two"])[tasks]
    found = MED(p0=1e-2, c=4.0).fit(X, y, tasks=labels)
    assert found.tasks_.tolist() == ["one", "two"]
    Z = np.vstack([X[tasks == t] - X[tasks == t].mean(axis=0) for t in (0, 1)])
    scale = np.sqrt(np.mean(Z**2, axis=0) * 30)
    lam, s = found.multipliers_[:, 0], signs_of(y)[:, 0]
    W = np.stack([(X / scale)[tasks == t].T @ (lam * s)[tasks == t] for t in (0, 1)])
    p = 1.0 / (1.0 + 99.0 * np.exp(-0.5 * np.sum(W**2, axis=0)))
    np.testing.assert_allclose(found.scores_, p, rtol=1e-6)
    np.testing.assert_allclose(found.expected_coef_, W * p / scale, rtol=1e-6, atol=1e-9)
    margin = s * (np.sum(X * found.expected_coef_[tasks], axis=1) + found.expected_intercept_[tasks])
    np.testing.assert_allclose(margin[lam > 1e-6], (1.0 - 1.0 / (4.0 - lam))[lam > 1e-6], atol=1e-6)


def test_means_of_tasks_do_not_matter():
    X, y, tasks = make_tasks(20, n_tasks=3, d=30, relevant=(0, 5, 9))
    shift = 10.0 * np.random.RandomState(0).randn(3, 30)
    plain, moved = MED(stop=3).fit(X, y, tasks=tasks), MED(stop=3).fit(X + shift[tasks], y, tasks=tasks)
    np.testing.assert_allclose(moved.scores_, plain.scores_, rtol=1e-6)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    predicted = plain.estimator_.predict(plain.transform(X), tasks)
    assert np.array_equal(moved.estimator_.predict(moved.transform(X + shift[tasks]), tasks), predicted)
    assert np.mean(predicted == y) > 0.8
    thin = MED(stop=3).fit(sparse.csr_array(X + shift[tasks]), y, tasks=tasks)
    np.testing.assert_allclose(thin.scores_, plain.scores_, rtol=1e-5)
    np.testing.assert_allclose(thin.intercept_, moved.intercept_, rtol=1e-5, atol=1e-7)


def test_tasks_of_several_classes_and_of_quantities():
    X, _, tasks = make_tasks(40, n_tasks=2, d=10, relevant=(0, 5, 9))
    signal = X[:, 0] + np.where(tasks == 0, 1.0, -1.0) * X[:, 5]
    classes = np.array(["a", "b", "c"])[np.digitize(signal, [-0.7, 0.7])]
    found = MED(stop=2).fit(X, classes, tasks=tasks)
    assert set(found.order_[:2].tolist()) == {0, 5}
    assert found.coef_.shape == (6, 10)
    assert np.mean(found.estimator_.predict(found.transform(X), tasks) == classes) > 0.7
    assert found.estimator_.decision_function(found.transform(X), tasks).shape == (80, 3)
    of_quantity = MED(stop=2).fit(X, signal, tasks=tasks)
    assert set(of_quantity.order_[:2].tolist()) == {0, 5}
    assert np.corrcoef(of_quantity.estimator_.predict(of_quantity.transform(X), tasks), signal)[0, 1] > 0.9


def test_one_task_is_none():
    X, y = make_classes()
    plain, one = MED().fit(X, y), MED().fit(X, y, tasks=np.full(60, 7))
    np.testing.assert_allclose(one.scores_, plain.scores_, rtol=1e-9)
    np.testing.assert_allclose(one.coef_, plain.coef_, rtol=1e-9)


def test_tasks_follow_rows_of_weight_zero():
    X, y, tasks = make_tasks(20, n_tasks=2, d=10, relevant=(0, 5, 9))
    weight = np.random.RandomState(1).randint(0, 3, 40)
    rows = np.repeat(np.arange(40), weight)
    weighted = MED().fit(X, y, sample_weight=weight, tasks=tasks)
    repeated = MED().fit(X[rows], y[rows], tasks=tasks[rows])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-5)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (np.zeros(5), "X has 60 rows, but tasks has 5"),
        (np.append(np.zeros(59), np.nan), "tasks holds missing labels"),
        (np.append(np.zeros(59, dtype=int), 1), "task 1 has no rows of some class"),
    ],
)
def test_bad_tasks_are_named(tasks, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        MED().fit(X, y, tasks=tasks)


def test_tasks_are_asked_for_where_a_model_has_them():
    X, y = make_classes()
    tasks = np.arange(60) % 2
    found = MED(stop=2).fit(X, y, tasks=tasks)
    with pytest.raises(ValueError, match="tasks names 5, which was no task of fit"):
        found.estimator_.predict(found.transform(X), tasks + 5)
    with pytest.raises(ValueError, match="one per row"):
        found.estimator_.predict(found.transform(X), [0, 1])
    with pytest.raises(ValueError, match=r"task 0 has rows of one value of y only"):
        MED().fit(X, np.where(tasks == 0, 1.5, X[:, 0]), tasks=tasks)


def test_rules_that_rank_again_are_refused_with_tasks():
    X, y = make_classes()
    with pytest.raises(ValueError, match=r"CrossValidation ranks again without knowing the tasks"):
        MED(stop=CrossValidation()).fit(X, y, tasks=np.arange(60) % 2)
    MED(stop="cross-validation").fit(X, y)  # an earlier failure leaves nothing behind


# weights, groups, layouts


@pytest.mark.parametrize("make", [make_classes, make_quantity])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_weights_of_rows_are_repetitions(shape, make):
    X, y = make(*shape)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted, repeated = MED(stop=5).fit(X, y, sample_weight=weight), MED(stop=5).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-5, atol=1e-7)
    sums = [repeated.multipliers_[rows == i].sum() for i in np.flatnonzero(weight)]
    np.testing.assert_allclose(weighted.multipliers_[:, 0], sums, atol=1e-5)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes()
    by_class = MED(class_weight={1: 3.0}).fit(X, y)
    by_row = MED().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.scores_, by_row.scores_)


@pytest.mark.parametrize("make", [make_classes, make_quantity])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_sparse_tables_give_the_same(shape, make):
    X, y = make(*shape)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = MED(stop=5).fit(X, y), MED(stop=5).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.scores_, dense.scores_, rtol=1e-6)
    assert thin.order_.tolist() == dense.order_.tolist()
    for name in ("coef_", "intercept_", "expected_coef_", "expected_intercept_"):
        np.testing.assert_allclose(getattr(thin, name), getattr(dense, name), rtol=1e-6, atol=1e-7)


def test_three_classes_in_a_sparse_table_share_switches():
    X, _ = make_classes(40, 50)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.5, 0.5])
    dense, thin = MED(stop=5).fit(X, y), MED(stop=5).fit(sparse.csc_array(X), y)
    np.testing.assert_allclose(thin.scores_, dense.scores_, rtol=1e-6)
    assert dense.coef_.shape == (3, 50)
    assert {0, 3} <= set(dense.order_[:5].tolist())


@pytest.mark.parametrize("shape", [(60, 12), (10, 12)], ids=["tall", "wide"])
def test_columns_of_a_group_have_one_switch(shape):
    X, y = make_classes(*shape)
    groups = np.repeat(np.arange(4), 3)
    found = MED(groups=groups, p0=1e-2, c=4.0, stop=2).fit(X, y)
    W = (standardized(X) / np.sqrt(12)).T @ (found.multipliers_ * signs_of(y))[:, 0]
    norm2 = np.bincount(groups, W**2)
    p = 1.0 / (1.0 + 99.0 * np.exp(-0.5 * norm2))
    np.testing.assert_allclose(found.scores_, p[groups], rtol=1e-6)
    assert found.group_order_.tolist() == np.argsort(-norm2).tolist()
    assert found.get_support().sum() == 6
    if shape[0] == 60:
        assert set(found.group_order_[:2]) == {0, 2}


def test_a_group_may_hold_a_constant_column():
    X, y = make_classes()
    X[:, 3] = 7.0
    found = MED(groups=[0, 1, 2, 0, 3, 4, 5, 6], stop=2).fit(X, y)
    assert found.get_support()[[0, 3, 4]].all()
    assert found.coef_[0, 3] == 0.0
    assert len(found.estimator_.predict(found.transform(X))) == 60


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_columns_in_another_order_and_units(seed):
    X, y = make_classes(25, 8, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-50, 50, 8) * rng.choice([-1.0, 1.0], 8)
    plain, other = MED(stop=4).fit(X, y), MED(stop=4).fit(X[:, order] * unit + 3.0 * unit, y)
    np.testing.assert_allclose(other.scores_, plain.scores_[order], rtol=1e-5)
    np.testing.assert_allclose(other.coef_[0] * unit, plain.coef_[0][order], rtol=1e-4, atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_copies_and_constants_have_no_factor(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    plain = MED().fit(X, y)
    more = MED().fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:6], plain.sigma_, rtol=1e-9)
    assert not more.sigma_[6:].any()
    assert np.array_equal(more.order_, plain.order_)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_units(unit):
    X, y = make_classes()
    plain, other = MED().fit(X, y), MED().fit(X * unit, y)
    np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-6)
    X, y = make_quantity()
    plain, other = MED().fit(X, y), MED().fit(X, y * unit)
    np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-6)
    np.testing.assert_allclose(other.coef_ / unit, plain.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.bool_])
def test_tables_of_other_types(kind):
    X, y = make_classes()
    X = (np.round(3 * X) if kind is not np.bool_ else X > 0).astype(kind)
    found, plain = MED().fit(X, y), MED().fit(X.astype(float), y)
    np.testing.assert_allclose(found.sigma_, plain.sigma_, rtol=1e-5)


# small, odd and bad input


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
        (np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [1.0, 0.0]]), [0, 0, 1, 1]),
    ],
)
def test_tables_of_a_few_rows(X, y):
    for arguments in ({}, {"p0": 1.0}, {"stop": 1}, {"c": 1.001, "task": "classification"}, {"c": 1e6}):
        found = MED(**arguments).fit(X, y)
        if found.get_support().any():
            assert len(found.estimator_.predict(found.transform(X))) == len(y)


def test_nothing_to_find():
    rng = np.random.RandomState(0)
    X, y = rng.randn(100, 10), rng.permutation(np.repeat([0, 1], 50))
    found = MED(p0=1e-6).fit(X, y)
    assert found.n_chosen_ == 0
    assert not found.coef_.any()
    tasks = np.arange(100) % 2
    assert MED(p0=1e-6).fit(X, y, tasks=tasks).coef_.shape == (2, 10)


def test_heavy_imbalance():
    X, y = make_classes()
    y[:] = 0
    y[[4, 9]] = 1
    for arguments in ({}, {"class_weight": "balanced"}):
        assert MED(stop=2, **arguments).fit(X, y).get_support().sum() == 2


@pytest.mark.parametrize("p0", [1e-300, 1e-12, 1.0 - 1e-12, 1.0])
@pytest.mark.parametrize("kappa", [1e-3, 1e3])
def test_extreme_priors(kappa, p0):
    X, y = make_classes(20, 60)
    found = MED(p0=p0, kappa=kappa, stop=3).fit(X, y)
    assert found.certificate_["projected_gradient"] < 1e-6
    assert np.all((found.scores_ >= 0) & (found.scores_ <= 1))


def test_with_rules_and_in_a_comparison():
    X, y = make_classes(50, 8)
    probed = MED(stop=MonteCarloProbe(n_draws=19, random_state=0)).fit(X, y)
    assert 0 < probed.get_support().sum() <= 8
    assert 0 < MED(stop="cross-validation").fit(X, y).get_support().sum() <= 8
    assert "MED" in str(compare([MED()], X, y, ks=(2, 4), n_seeds=1, n_random=10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p0": 0.0}, "'p0' parameter"),
        ({"p0": 1.5}, "'p0' parameter"),
        ({"kappa": 0.0}, "'kappa' parameter"),
        ({"c": -1.0}, "'c' parameter"),
        ({"c": 1.0}, "c=1 leaves every multiplier at zero.*above 1"),
        ({"c": 0.5}, "c=0.5 leaves every multiplier at zero"),
        ({"epsilon": -1.0}, "'epsilon' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        MED(**arguments).fit(X, y)


def test_class_weights_are_refused_for_a_quantity():
    X, y = make_quantity()
    with pytest.raises(ValueError, match="class_weight is for classes"):
        MED(class_weight="balanced").fit(X, y)


@pytest.mark.parametrize("arguments", [{"c": 1e100}, {"kappa": 1e300}, {"kappa": 1e-300}])
def test_priors_that_overflow_are_named(arguments):
    X, y = make_classes()
    [(name, value)] = arguments.items()
    with pytest.raises(ValueError, match=f"^{name}={value:g} ".replace("+", r"\+")):
        MED(**arguments).fit(X, y)
