"""The sparse group lasso: conditions, and its limits the lasso and the group lasso."""

import numpy as np
import pytest
from scipy import sparse

from tamis import GroupLasso, Lasso, SparseGroupLasso
from tests.oracles import sparse_penalty as oracle

SIZES = [1, 2, 3, 4, 2]  # 12 columns
LABELS = np.repeat(np.arange(5), SIZES)
GROUPS = [np.flatnonzero(g == LABELS).tolist() for g in range(5)]
LOSSES = ["squared", "logistic", "squared_hinge"]


def make_table(n=50, seed=0):
    rng = np.random.RandomState(seed)
    X = (rng.standard_normal((n, 12)) + 0.5 * rng.standard_normal((n, 1))) * np.exp(rng.standard_normal(12)) + 2
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 2 * Z[:, 3] - Z[:, 6] + rng.standard_normal(n)


def make_target(y, loss):
    return y if loss == "squared" else (y > np.median(y)).astype(int)


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("ratio", [0.2, 0.8])
@pytest.mark.parametrize("loss", LOSSES)
def test_conditions_hold_and_the_model_is_that_at_the_alpha_asked_for(loss, ratio, share):
    X, y = make_table()
    target = make_target(y, loss)
    alpha = share * SparseGroupLasso(groups=LABELS, loss=loss, l1_ratio=ratio, stop=1).fit(X, target).alpha_max_
    ranker = SparseGroupLasso(groups=LABELS, loss=loss, l1_ratio=ratio, alpha=alpha, n_alphas=10).fit(X, target)
    assert ranker.alpha_ == pytest.approx(alpha, rel=1e-12)
    signs = target if loss == "squared" else 2.0 * target - 1.0
    coef, intercept = np.atleast_2d(ranker.coef_)[0], np.ravel(ranker.intercept_)[0]
    terms = {"groups": GROUPS, "tau": ratio, "weights": np.sqrt(SIZES)}
    assert oracle.kkt_violation(X, signs, coef, intercept, loss, alpha, **terms) <= 1e-7 * ranker.alpha_max_
    assert ranker.certificate_["relative_gap"] <= 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_is_that_of_many_proximal_steps(loss):
    X, y = make_table()
    target = make_target(y, loss)
    signs = target if loss == "squared" else 2.0 * target - 1.0
    ranker = SparseGroupLasso(groups=LABELS, loss=loss, l1_ratio=0.5, alpha=0.1, order="magnitude").fit(X, target)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    terms = {"tau": 0.5, "weights": np.sqrt(SIZES)}
    w, b = oracle.minimize(Z, signs, loss, GROUPS, 0.1, n_iter=3000, **terms)
    np.testing.assert_allclose(np.atleast_2d(ranker.coef_)[0] * X.std(axis=0), w, atol=1e-5)
    lowest = oracle.objective(Z, signs, w, b, loss, GROUPS, 0.1, **terms)
    assert ranker.certificate_["objective"] == pytest.approx(lowest, abs=1e-8)
    assert ranker.certificate_["objective"] - lowest <= ranker.certificate_["gap"] + 1e-10


@pytest.mark.parametrize("classes", [False, True])
def test_all_of_the_l1_norm_is_the_lasso_and_none_of_it_the_group_lasso(classes):
    X, y = make_table()
    target, loss = (y > 0, "logistic") if classes else (y, "squared")
    given = {"groups": LABELS, "alpha": 0.04, "loss": loss}
    groups = SparseGroupLasso(l1_ratio=0.0, **given).fit(X, target)
    np.testing.assert_allclose(groups.coef_, GroupLasso(**given).fit(X, target).coef_, atol=1e-7)
    if not classes:
        single = SparseGroupLasso(l1_ratio=1.0, **given).fit(X, target)
        np.testing.assert_allclose(single.coef_, Lasso(alpha=0.04).fit(X, target).coef_, atol=1e-7)


@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
def test_groups_of_one_are_the_lasso(ratio):
    X, y = make_table()
    lasso = Lasso(alpha=0.2).fit(X, y)
    for groups in (None, np.arange(12)):
        ranker = SparseGroupLasso(groups=groups, l1_ratio=ratio, alpha=0.2).fit(X, y)
        np.testing.assert_allclose(ranker.coef_, lasso.coef_, atol=1e-7)
        np.testing.assert_array_equal(ranker.order_, lasso.order_)


def test_some_columns_of_a_group_that_is_kept_may_have_no_weight():
    X, y = make_table()
    ranker = SparseGroupLasso(groups=LABELS, l1_ratio=0.9, alpha=0.2).fit(X, y)
    kept = ranker.coef_[ranker.support_]
    assert np.any(kept == 0)
    for group in ranker.group_order_[: ranker.stop_.n_groups]:
        assert np.any(ranker.coef_[GROUPS[group]] != 0)


def test_sparse_tables_give_what_dense_ones_do():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 12)) * (rng.random_sample((50, 12)) < 0.4)
    y = X[:, 3] + X[:, 4] + 0.5 * rng.standard_normal(50)
    tables = (X, sparse.csr_array(X))
    dense, compressed = (SparseGroupLasso(groups=LABELS, alpha=0.03).fit(table, y) for table in tables)
    np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)


def test_auto_keeps_the_model_at_the_chosen_alpha():
    X, y = make_table()
    ranker = SparseGroupLasso(groups=LABELS, n_alphas=10, cv=3).fit(X, y)
    same = SparseGroupLasso(groups=LABELS, alpha=ranker.alpha_).fit(X, y)
    assert ranker.alpha_ in ranker.cv_results_["alpha"]
    np.testing.assert_allclose(ranker.coef_, same.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"l1_ratio": -0.1}, "l1_ratio"), ({"l1_ratio": 1.1}, "l1_ratio"), ({"loss": "logistic"}, "loss='logistic'")],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseGroupLasso(**parameters).fit(*make_table())
