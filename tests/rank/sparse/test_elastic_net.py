"""The elastic net: scikit-learn's minima, shares of copies, and its limits."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import ElasticNet as PeerElasticNet
from sklearn.linear_model import LogisticRegression

from tamis import ElasticNet, Lasso, LogisticLasso
from tests.oracles.sparse_penalty import kkt_violation


def make_table(n=60, d=12, correlation=1.0, seed=0):
    rng = np.random.RandomState(seed)
    X = (rng.standard_normal((n, d)) + correlation * rng.standard_normal((n, 1))) * np.exp(rng.standard_normal(d)) + 1
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 3 * Z[:, 0] - 2 * Z[:, 1] + Z[:, 2] + rng.standard_normal(n)


@pytest.mark.parametrize("shape", [(60, 12), (25, 80)])
@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_the_minimum_is_that_of_scikit_learn_for_a_target_of_unit_variance(shape, ratio, unit):
    X, y = make_table(*shape)
    y *= unit / y.std()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ranker = ElasticNet(alpha=0.1 * unit, l1_ratio=ratio, order="magnitude").fit(X, y)
    peer = PeerElasticNet(0.1, l1_ratio=ratio, tol=1e-13, max_iter=200_000)
    if shape == (60, 12):
        peer.fit(Z, y / unit)
        np.testing.assert_allclose(ranker.coef_ * X.std(axis=0), unit * peer.coef_, atol=1e-6 * unit)
        np.testing.assert_array_equal(ranker.support_, peer.coef_ != 0)
    violation = kkt_violation(
        X, y, ranker.coef_, ranker.intercept_, "squared", 0.1 * unit * ratio, l2=0.1 * (1 - ratio)
    )
    assert violation <= 1e-7 * ranker.alpha_max_
    assert ranker.certificate_["relative_gap"] <= 1e-6


def test_the_minimum_is_that_of_celer():
    celer = pytest.importorskip("celer")
    X, y = make_table(25, 80)
    y /= y.std()
    Z = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    peer = celer.ElasticNet(0.2, l1_ratio=0.7, tol=1e-11).fit(Z, y)
    np.testing.assert_allclose(
        ElasticNet(alpha=0.2, l1_ratio=0.7).fit(X, y).coef_ * X.std(axis=0), peer.coef_, atol=1e-6
    )


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_conditions_hold_for_classes(loss):
    X, y = make_table()
    labels = y > np.median(y)
    ranker = ElasticNet(alpha=0.05, l1_ratio=0.6, loss=loss).fit(X, labels)
    signs = np.where(labels, 1.0, -1.0)
    assert kkt_violation(X, signs, ranker.coef_[0], ranker.intercept_[0], loss, 0.03, l2=0.02) <= 1e-7


def test_logistic_loss_is_scikit_learns():
    X, y = make_table()
    labels = y > 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    peer = LogisticRegression(C=1 / (0.05 * len(y)), l1_ratio=0.6, solver="saga", tol=1e-10, max_iter=50_000)
    peer.fit(Z, labels)
    ranker = ElasticNet(alpha=0.05, l1_ratio=0.6).fit(X, labels)
    np.testing.assert_allclose(ranker.coef_ * X.std(axis=0), peer.coef_, atol=1e-5)


def test_with_all_of_the_l1_norm_it_is_the_lasso():
    X, y = make_table()
    np.testing.assert_allclose(
        ElasticNet(alpha=0.2, l1_ratio=1.0).fit(X, y).coef_, Lasso(alpha=0.2).fit(X, y).coef_, atol=1e-9
    )
    np.testing.assert_allclose(
        ElasticNet(alpha=0.02, l1_ratio=1.0).fit(X, y > 0).coef_,
        LogisticLasso(alpha=0.02).fit(X, y > 0).coef_,
        atol=1e-7,
    )


def test_copies_share_their_weight():
    X, y = make_table()
    twice = np.column_stack([X[:, 0], X])
    ranker = ElasticNet(alpha=0.3).fit(twice, y)
    assert ranker.coef_[0] != 0
    assert ranker.coef_[0] == pytest.approx(ranker.coef_[1], rel=1e-6)


def test_sparse_tables_give_what_dense_ones_do():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 30)) * (rng.random_sample((50, 30)) < 0.3)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(50)
    for target in (y, y > 0):
        dense, compressed = (ElasticNet(alpha=0.05).fit(table, target) for table in (X, sparse.csr_array(X)))
        np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e3, 1e150])
def test_units_of_columns_do_not_matter(unit):
    X, y = make_table()
    ranker, scaled = ElasticNet(alpha=0.1).fit(X, y), ElasticNet(alpha=0.1).fit(unit * X, y)
    np.testing.assert_allclose(scaled.coef_ * unit, ranker.coef_, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_units_of_the_target_may_be_extreme(factor):
    X, y = make_table()
    ranker = ElasticNet(n_alphas=10).fit(X, factor * y)
    assert ranker.certificate_["converged"]


@pytest.mark.parametrize("target", ["quantity", "classes"])
def test_a_tiny_alpha_converges(target):
    X, y = make_table()
    ranker = ElasticNet(alpha=1e-10).fit(X, y if target == "quantity" else y > 0)
    assert ranker.certificate_["converged"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l1_ratio": 0.0}, "l1_ratio"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"alpha": 0.0}, "alpha"),
        ({"loss": "hinge"}, "loss"),
        ({"loss": "logistic"}, "loss='logistic' is for classes"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        ElasticNet(**parameters).fit(*make_table())
