"""The group lasso: conditions, weights of groups, peers, and its limits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LinearRegression

from tamis import GroupLasso, Lasso, LogisticLasso
from tests.oracles import sparse_penalty as oracle

SIZES = [1, 2, 3, 4, 2]  # 12 columns
LABELS = np.repeat(np.arange(5), SIZES)
GROUPS = [np.flatnonzero(g == LABELS).tolist() for g in range(5)]
LOSSES = ["squared", "logistic", "squared_hinge"]


def make_table(n=50, seed=0, correlation=0.5):
    rng = np.random.RandomState(seed)
    X = (rng.standard_normal((n, 12)) + correlation * rng.standard_normal((n, 1))) * np.exp(rng.standard_normal(12)) + 2
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 2 * Z[:, 3] - Z[:, 4] + Z[:, 10] + rng.standard_normal(n)


def make_target(y, loss):
    return y if loss == "squared" else (y > np.median(y)).astype(int)


def weights_of(X, ranker):
    return np.atleast_2d(ranker.coef_)[0] * X.std(axis=0)


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("loss", LOSSES)
def test_conditions_hold_with_root_sizes_as_weights(loss, share):
    X, y = make_table()
    target = make_target(y, loss)
    alpha = share * GroupLasso(groups=LABELS, loss=loss, stop=1).fit(X, target).alpha_max_
    ranker = GroupLasso(groups=LABELS, loss=loss, alpha=alpha, order="magnitude").fit(X, target)
    signs = target if loss == "squared" else 2.0 * target - 1.0
    coef, intercept = np.atleast_2d(ranker.coef_)[0], np.ravel(ranker.intercept_)[0]
    terms = {"groups": GROUPS, "tau": 0.0, "weights": np.sqrt(SIZES)}
    assert oracle.kkt_violation(X, signs, coef, intercept, loss, alpha, **terms) <= 1e-7 * ranker.alpha_max_
    assert ranker.certificate_["relative_gap"] <= 1e-6
    assert ranker.alpha_ == pytest.approx(alpha, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_is_that_of_many_proximal_steps(loss):
    X, y = make_table()
    target = make_target(y, loss)
    signs = target if loss == "squared" else 2.0 * target - 1.0
    ranker = GroupLasso(groups=LABELS, loss=loss, alpha=0.1, order="magnitude").fit(X, target)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    terms = {"tau": 0.0, "weights": np.sqrt(SIZES)}
    w, b = oracle.minimize(Z, signs, loss, GROUPS, 0.1, n_iter=3000, **terms)
    np.testing.assert_allclose(weights_of(X, ranker), w, atol=1e-5)
    lowest = oracle.objective(Z, signs, w, b, loss, GROUPS, 0.1, **terms)
    assert ranker.certificate_["objective"] == pytest.approx(lowest, abs=1e-8)
    assert ranker.certificate_["objective"] - lowest <= ranker.certificate_["gap"] + 1e-10


def test_the_minimum_is_that_of_celer_for_groups_of_one_size():
    celer = pytest.importorskip("celer")
    X, y = make_table()
    Z = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    peer = celer.GroupLasso(groups=3, alpha=0.2 * np.sqrt(3), tol=1e-11).fit(Z, y)
    ranker = GroupLasso(groups=np.repeat(np.arange(4), 3), alpha=0.2).fit(X, y)
    np.testing.assert_allclose(weights_of(X, ranker), peer.coef_, atol=1e-6)


def test_groups_enter_whole():
    X, y = make_table()
    for share in np.geomspace(0.9, 0.01, 8):
        alpha = share * GroupLasso(groups=LABELS, stop=1).fit(X, y).alpha_max_
        coef = GroupLasso(groups=LABELS, alpha=alpha, order="magnitude").fit(X, y).coef_
        for group in GROUPS:
            assert np.all(coef[group] != 0) or np.all(coef[group] == 0)


@pytest.mark.parametrize("groups", [None, np.arange(12)])
@pytest.mark.parametrize("settings", [{"alpha": 0.2}, {"stop": 4}, {"alpha": 0.05, "order": "magnitude"}])
def test_groups_of_one_are_the_lasso(groups, settings):
    X, y = make_table()
    grouped, lasso = GroupLasso(groups=groups, **settings).fit(X, y), Lasso(**settings).fit(X, y)
    np.testing.assert_allclose(grouped.coef_, lasso.coef_, atol=1e-7)
    np.testing.assert_array_equal(grouped.order_, lasso.order_)
    settings = {**settings, "alpha": 0.05} if "alpha" in settings else settings
    logistic, single = GroupLasso(groups=groups, **settings).fit(X, y > 0), LogisticLasso(**settings).fit(X, y > 0)
    np.testing.assert_allclose(logistic.coef_, single.coef_, atol=1e-6)


def test_the_largest_penalty_divides_norms_by_the_root_of_sizes():
    X, y = make_table()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    correlations = Z.T @ (y - y.mean()) / len(y)
    expected = max(np.linalg.norm(correlations[group]) / np.sqrt(len(group)) for group in GROUPS)
    assert GroupLasso(groups=LABELS, stop=1).fit(X, y).alpha_max_ == pytest.approx(expected, rel=1e-12)


def test_a_mapping_names_and_scattered_columns_say_the_same():
    X, y = make_table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    names = ["one", "two", "three", "four", "five"]
    by_label = GroupLasso(groups=np.array(names)[LABELS], alpha=0.1).fit(X, y)
    by_place = GroupLasso(groups=dict(zip(names, GROUPS, strict=True)), alpha=0.1).fit(X, y)
    by_name = GroupLasso(
        groups={name: [f"c{j}" for j in group] for name, group in zip(names, GROUPS, strict=True)}, alpha=0.1
    ).fit(frame, y)
    assert by_label.group_order_.tolist() == by_place.group_order_.tolist() == by_name.group_order_.tolist()
    np.testing.assert_allclose(by_label.coef_, by_place.coef_, atol=1e-12)
    np.testing.assert_allclose(by_label.coef_, by_name.coef_, atol=1e-12)
    shuffle = np.random.RandomState(0).permutation(12)
    scattered = GroupLasso(groups=np.array(names)[LABELS[shuffle]], alpha=0.1).fit(X[:, shuffle], y)
    np.testing.assert_allclose(scattered.coef_, by_label.coef_[shuffle], atol=1e-8)


def test_k_counts_groups_and_ends_the_path():
    X, y = make_table()
    ranker = GroupLasso(groups=LABELS, stop=2).fit(X, y)
    whole = GroupLasso(groups=LABELS, alpha="path", stop=None).fit(X, y)
    assert ranker.group_order_[:2].tolist() == whole.group_order_[:2].tolist()
    assert ranker.support_.sum() == sum(SIZES[g] for g in ranker.group_order_[:2])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_group_with_a_constant_column_is_modeled_at_the_alpha_asked_for(loss):
    X, y = make_table()
    X[:, 4] = 1.0
    target = make_target(y, loss)
    ranker = GroupLasso(groups=LABELS, loss=loss, alpha=0.02).fit(X, target)
    assert ranker.alpha_ == 0.02
    coef, intercept = np.atleast_2d(ranker.coef_)[0], np.ravel(ranker.intercept_)[0]
    signs = target if loss == "squared" else 2.0 * target - 1.0
    terms = {"groups": GROUPS, "tau": 0.0, "weights": np.sqrt(SIZES)}
    assert oracle.kkt_violation(X, signs, coef, intercept, loss, 0.02, **terms) <= 1e-7


def test_copies_share_their_weight():
    X, y = make_table()
    X[:, 4] = X[:, 3]
    coef = GroupLasso(groups=LABELS, alpha=0.1).fit(X, y).coef_
    assert coef[3] == pytest.approx(coef[4], rel=1e-6)
    assert coef[3] != 0


def test_sparse_tables_give_what_dense_ones_do():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 12)) * (rng.random_sample((50, 12)) < 0.4)
    y = X[:, 3] + X[:, 4] + 0.5 * rng.standard_normal(50)
    for target in (y, y > 0):
        tables = (X, sparse.csr_array(X))
        dense, compressed = (GroupLasso(groups=LABELS, alpha=0.03).fit(table, target) for table in tables)
        np.testing.assert_allclose(compressed.coef_, dense.coef_, atol=1e-8)


def test_debiased_weights_are_those_of_least_squares():
    X, y = make_table()
    ranker = GroupLasso(groups=LABELS, stop=2, debias=True).fit(X, y)
    kept = ranker.get_support(indices=True)
    np.testing.assert_allclose(ranker.coef_[kept], LinearRegression().fit(X[:, kept], y).coef_, atol=1e-5)


def test_sample_weights_repeat_rows():
    X, y = make_table()
    counts = np.random.RandomState(0).randint(0, 4, len(y))
    weighted = GroupLasso(groups=LABELS, alpha=0.1).fit(X, y, sample_weight=counts)
    repeated = GroupLasso(groups=LABELS, alpha=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_auto_keeps_groups_with_a_weight():
    X, y = make_table()
    ranker = GroupLasso(groups=LABELS, n_alphas=10, cv=3).fit(X, y)
    assert ranker.alpha_ in ranker.cv_results_["alpha"]
    same = GroupLasso(groups=LABELS, alpha=ranker.alpha_).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, same.coef_, atol=1e-9)
    np.testing.assert_array_equal(ranker.support_, same.support_)


@settings(deadline=None, max_examples=6, derandomize=True)
@given(seed=st.integers(0, 49), unit=st.sampled_from([1e-150, 1e-5, 1e5, 1e150]))
def test_units_of_columns_and_target_do_not_matter(seed, unit):
    X, y = make_table(seed=seed)
    ranker = GroupLasso(groups=LABELS, stop=2, n_alphas=30).fit(X, y)
    of_columns = GroupLasso(groups=LABELS, stop=2, n_alphas=30).fit(X * unit, y)
    of_target = GroupLasso(groups=LABELS, stop=2, n_alphas=30).fit(X, y * unit)
    np.testing.assert_allclose(of_columns.coef_ * unit, ranker.coef_, atol=1e-7)
    np.testing.assert_allclose(of_target.coef_ / unit, ranker.coef_, atol=1e-7)
    assert (
        of_columns.group_order_[:2].tolist() == of_target.group_order_[:2].tolist() == ranker.group_order_[:2].tolist()
    )


def test_a_quantity_has_no_logistic_loss():
    with pytest.raises(ValueError, match="loss='logistic' is for classes"):
        GroupLasso(loss="logistic").fit(*make_table())


@pytest.mark.parametrize(
    ("groups", "message"),
    [([0, 1], "groups has 2 labels"), ({"a": [0, 99]}, "column 99"), ({"a": ["none"]}, "none")],
)
def test_bad_groups_are_named(groups, message):
    with pytest.raises(ValueError, match=message):
        GroupLasso(groups=groups).fit(*make_table())
