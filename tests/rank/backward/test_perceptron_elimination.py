"""Perceptron elimination: features that a large margin can spare go, until none can."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tamis import PerceptronElimination
from tamis.rank.backward._alma import adapt_norm, normalize_rows
from tamis.testing.checks import make_data
from tests.base.test_progress import Recorder
from tests.oracles import alma as oracle


def planted(seed, n_samples=60, n_features=100):
    """Two classes that columns 3 and 8 separate."""
    X = np.random.RandomState(seed).standard_normal((n_samples, n_features))
    return X, np.where(X[:, 3] - X[:, 8] > 0, "b", "a")


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("slack", [0.2, 1.0])
def test_features_that_separate_the_classes_are_found_among_many(seed, slack):
    X, y = planted(seed)
    found = PerceptronElimination(slack=slack, stop=2).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [3, 8]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("alpha", [0.5, 0.9])
@pytest.mark.parametrize("slack", [0.0, 1.0])
def test_the_first_round_leaves_out_as_many_as_the_margin_can_spare(seed, alpha, slack):
    X, y = planted(seed, 30, 12)
    found = PerceptronElimination(slack=slack, alpha=alpha, fit_intercept=False, stop=None).fit(X, y)
    p = adapt_norm(12)
    q = p / (p - 1)
    rows = normalize_rows(standardized(X), p)
    label = np.where(y == "b", 1.0, -1.0)
    w, u, n_corrections, _ = oracle.alma(rows, label, p, alpha, slack)
    gamma = np.sqrt(8) / alpha * np.sqrt((p - 1) / (n_corrections + 1))
    scale = np.sqrt(1 + slack**2)
    first = [step for step in found.path_ if step.info["n_features"] == 12]
    smallest = np.argsort(np.abs(w))
    affordable = [
        k for k in range(12) if np.sum(np.abs(w[smallest[:k]]) ** q) ** (1 / q) <= alpha * (1 - alpha) * gamma * scale
    ]
    if affordable[-1] > 0:
        assert [step.feature for step in first[::-1]] == smallest[: affordable[-1]].tolist()
        assert all(step.info["spared"] for step in first)
    else:
        assert found.n_chosen_ == 12
    kept = np.isin(np.arange(12), [step.feature for step in first if step.info["spared"]], invert=True)
    outputs = (label * (rows @ (w * kept)) + slack * label * u) / scale
    assert outputs.min() >= (1 - alpha) ** 2 * gamma  # the promise of the inequality
    shares = {step.feature: step.criterion for step in first}
    for j, share in shares.items():
        assert share == pytest.approx(np.abs(w[j]) ** q / np.sum(np.abs(w) ** q), rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_own_stop_is_where_no_hyperplane_can_spare_the_least_important_feature(classes):
    X, y = make_data(40, 20) if classes == 3 else planted(0, 40, 20)
    found = PerceptronElimination(fit_intercept=False).fit(X, y)
    kept = np.sort(found.order_[: found.stop_.n_features])
    p = adapt_norm(kept.size)
    q = p / (p - 1)
    rows = normalize_rows(standardized(X)[:, kept], p)
    share, spare = [], []
    for label in np.unique(y)[: classes if classes > 2 else 1]:
        w, _, n_corrections, _ = oracle.alma(rows, np.where(y == label, 1.0, -1.0), p, 0.5, 1.0)
        gamma = np.sqrt(8) / 0.5 * np.sqrt((p - 1) / (n_corrections + 1))
        share.append(np.abs(w) ** q / np.sum(np.abs(w) ** q))
        spare.append(np.abs(w) <= 0.25 * gamma * np.sqrt(2))
    least = np.mean(share, axis=0).argmin()
    assert kept.size == 1 or not np.all(spare, axis=0)[least]
    assert found.n_chosen_ == kept.size
    assert 1 <= kept.size < 20


def test_the_reason_names_the_feature_that_cannot_be_spared():
    X, y = planted(0)
    found = PerceptronElimination().fit(X, y)
    assert found.stop_.reason.startswith("to leave out 'x")
    assert f"the last of {found.stop_.n_features} features" in found.stop_.reason
    assert "could cost more than 50% of the margin" in found.stop_.reason
    assert {3, 8} <= set(found.get_support(indices=True))


def test_features_spared_come_before_those_that_only_the_ranking_left_out():
    X, y = planted(1)
    found = PerceptronElimination(stop=None).fit(X, y)
    assert sorted(found.order_) == list(range(100))
    spared = [step.info["spared"] for step in found.path_]
    assert spared == sorted(spared)
    assert found.n_chosen_ == spared.count(False)
    left = [step.info["n_features"] for step in found.path_]
    assert left == sorted(left)
    assert all(step.info["p"] == adapt_norm(step.info["n_features"]) for step in found.path_)


def test_what_is_chosen_does_not_depend_on_how_the_rest_is_ranked():
    X, y = planted(2)
    each = [PerceptronElimination(step=step).fit(X, y) for step in (1, 5, 0.5, "halving", 10**6)]
    for found in each[1:]:
        np.testing.assert_array_equal(found.support_, each[0].support_)
        assert sorted(found.order_) == list(range(100))


def test_units_and_offsets_do_not_matter_to_standardized_columns():
    X, y = planted(0, 40, 12)
    other = X * 10.0 ** np.linspace(-200, 200, 12) + np.linspace(-3, 3, 12) * 10.0 ** np.linspace(-200, 200, 12)
    plain, moved = (PerceptronElimination().fit(table, y) for table in (X, other))
    np.testing.assert_array_equal(plain.order_, moved.order_)
    np.testing.assert_allclose(plain.scores_, moved.scores_, rtol=1e-6)


def test_sparse_tables_give_what_dense_ones_of_the_same_scale_give():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 20)) * (rng.rand(50, 20) < 0.3)
    y = X[:, 0] - X[:, 1] > 0
    found = PerceptronElimination().fit(sparse.csr_array(X), y)
    dense = PerceptronElimination(standardize=False).fit(X / X.std(axis=0), y)
    np.testing.assert_array_equal(found.order_, dense.order_)
    np.testing.assert_allclose(found.scores_, dense.scores_, rtol=1e-6)
    assert set(found.order_[:2]) == {0, 1}


def test_rows_keep_their_order_unless_a_seed_shuffles_them():
    X, y = planted(0, 40, 30)
    shuffle = np.random.RandomState(5).permutation(40)
    seeded = PerceptronElimination(random_state=5, stop=None).fit(X, y)
    np.testing.assert_allclose(
        seeded.scores_, PerceptronElimination(stop=None).fit(X[shuffle], y[shuffle]).scores_, rtol=1e-6
    )
    np.testing.assert_array_equal(PerceptronElimination().fit(X, y).scores_, PerceptronElimination().fit(X, y).scores_)


def test_without_slack_labels_that_no_plane_separates_are_reported():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((60, 3)), rng.rand(60) < 0.5
    with pytest.warns(ConvergenceWarning, match=r"give slack > 0, which separates any classes"):
        found = PerceptronElimination(slack=0.0, max_iter=20).fit(X, y)
    assert not found.certificate_["converged"]
    assert found.n_chosen_ == 3
    assert "did not converge" in found.stop_.reason
    assert PerceptronElimination().fit(X, y).certificate_["converged"]


def test_quantities_are_refused():
    X, _ = planted(0, 20, 9)
    with pytest.raises(ValueError, match="continuous"):
        PerceptronElimination().fit(X, X[:, 0])


@pytest.mark.parametrize("parameters", [{"alpha": 0.0}, {"alpha": 1.1}, {"slack": -1.0}, {"step": 1.5}], ids=str)
def test_bad_parameters_are_named(parameters):
    X, y = planted(0, 20, 9)
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter of PerceptronElimination"):
        PerceptronElimination(**parameters).fit(X, y)


def test_a_callback_may_end_the_elimination_and_all_features_are_ranked_all_the_same():
    X, y = make_data(40, 10)
    whole = PerceptronElimination(step=1, stop=None).fit(X, y)
    ranker = PerceptronElimination(step=1)
    ranker.set_callbacks(Recorder({"eliminate step": 2}))
    found = ranker.fit(X, y)
    assert sorted(found.order_) == list(range(10))
    n_left = found.stop_.n_features
    assert 1 < n_left < 10
    np.testing.assert_array_equal(found.order_[n_left:], whole.order_[n_left:])
    assert found.stop_.reason.startswith("the elimination was ended before its time")


def test_columns_that_vary_by_rounding_only_are_nothing_to_rank():
    X = np.full((6, 2), 1e9)
    X[0] = np.nextafter(1e9, 2e9)
    with pytest.raises(ValueError, match="constant, up to rounding"):
        PerceptronElimination().fit(X, [0, 1] * 3)
