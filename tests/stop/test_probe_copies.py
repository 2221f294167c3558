"""Copies of candidates that have no part in the target: in their units, with the correlations that they promise."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tamis.base import ColumnCandidates, GroupCandidates
from tamis.stop._probe_copies import (
    MOST_COLUMNS,
    Knockoffs,
    PermutedResiduals,
    PermutedRows,
    read_covariance,
    why_no_model_of_columns,
)


def correlated(n, d=5, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) * 10.0 ** np.arange(d) + 3.0


def residual(X, j, members):
    others = np.setdiff1d(np.arange(X.shape[1]), members)
    A = np.column_stack([np.ones(len(X)), X[:, others]])
    return X[:, j] - A @ np.linalg.lstsq(A, X[:, j], rcond=None)[0]


def test_knockoffs_keep_the_correlations_with_all_other_columns_and_the_units():
    X = correlated(100_000)
    found = Knockoffs(ColumnCandidates(X), None, np.random.RandomState(0)).draw(X, np.random.RandomState(1))
    np.testing.assert_allclose(found.mean(axis=0), X.mean(axis=0), atol=0.02 * X.std(axis=0).max())
    np.testing.assert_allclose(found.std(axis=0), X.std(axis=0), rtol=0.02)
    own, both = np.corrcoef(X.T), np.corrcoef(X.T, found.T)[:5, 5:]
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(np.corrcoef(found.T), own, atol=0.02)
    np.testing.assert_allclose(both[off], own[off], atol=0.02)
    assert np.all(np.diag(both) < 0.95)


def test_residuals_are_those_of_a_regression_on_all_other_columns():
    X = correlated(60)
    copies = PermutedResiduals(ColumnCandidates(X), np.cov(X.T, bias=True))
    found = copies.draw(X, np.random.RandomState(2))
    rows = np.random.RandomState(2).permutation(60)
    for j in range(5):
        rest = residual(X, j, [j])
        np.testing.assert_allclose(found[:, j], X[:, j] - rest + rest[rows], rtol=1e-6)


def test_residuals_of_a_group_are_those_of_a_regression_on_the_other_groups():
    X, codes = correlated(60), np.array([0, 1, 0, 2, 1])
    found = PermutedResiduals(GroupCandidates(X, codes), np.cov(X.T, bias=True)).draw(X, np.random.RandomState(2))
    rows = np.random.RandomState(2).permutation(60)
    for j in range(5):
        rest = residual(X, j, np.flatnonzero(codes == codes[j]))
        np.testing.assert_allclose(found[:, j], X[:, j] - rest + rest[rows], rtol=1e-6)


@pytest.mark.parametrize("kind", [Knockoffs, PermutedResiduals])
def test_constant_columns_stay_and_the_precision_does(kind):
    X = correlated(50).astype(np.float32)
    X[:, 2] = 7.0
    given = (ColumnCandidates(X), None, np.random.RandomState(0))
    copies = kind(*given) if kind is Knockoffs else kind(*given[:2])
    found = copies.draw(X, np.random.RandomState(0))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[:, 2], 7.0)


def test_copies_of_a_column_share_a_knockoff_whatever_their_sign_and_unit():
    X = correlated(50, 3)
    X = np.column_stack([X, 5.0 - 2.0 * X[:, 1]])
    found = Knockoffs(ColumnCandidates(X), None, np.random.RandomState(0)).draw(X, np.random.RandomState(0))
    np.testing.assert_allclose(found[:, 3], 5.0 - 2.0 * found[:, 1], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_columns_does_not_matter(seed):
    X, order = correlated(40, 6, seed), np.random.RandomState(seed).permutation(6)
    found, again = (
        Knockoffs(ColumnCandidates(Z), None, np.random.RandomState(0)).draw(Z, np.random.RandomState(0))
        for Z in (X, X[:, order])
    )
    np.testing.assert_allclose(again, found[:, order], rtol=1e-6)


def test_weights_count_as_repetitions_in_the_correlation():
    X, weight = correlated(40), np.random.RandomState(0).randint(1, 4, size=40)
    repeated = np.repeat(X, weight, axis=0)
    one = PermutedResiduals(ColumnCandidates(X, sample_weight=weight.astype(float)), None)
    other = PermutedResiduals(ColumnCandidates(repeated), None)
    np.testing.assert_allclose(one.columns.mean, other.columns.mean)
    np.testing.assert_allclose(one.columns.scale, other.columns.scale)


def test_the_certificate_says_what_is_known_of_the_columns():
    X = correlated(2000, seed=5)
    given = Knockoffs(ColumnCandidates(X), np.cov(X.T), np.random.RandomState(0)).certificate()
    assert given["covariance"] == "given"
    assert given["moment_mismatch"] < 2 * given["moment_mismatch_by_chance"]
    assert -0.1 < given["mean_correlation_with_knockoff"] < 1
    assert PermutedResiduals(ColumnCandidates(X), None).certificate() == {"covariance": "Ledoit-Wolf"}
    assert PermutedRows(np.empty(0, dtype=int)).certificate() == {}


def test_a_covariance_is_refused_in_words():
    for bad, words in (
        (np.eye(3), "X has 4 columns"),
        ([["one"]], "a table of numbers"),
        (np.full((4, 4), np.nan), "not finite"),
        (np.arange(16.0).reshape(4, 4), "not symmetric"),
        (np.ones((4, 4)), "not positive definite"),
    ):
        with pytest.raises(ValueError, match=words):
            read_covariance(bad, list("abcd"))


def test_a_covariance_of_other_columns_or_in_another_order_is_refused():
    frame = pd.DataFrame(np.eye(2), columns=["b", "a"])
    with pytest.raises(ValueError, match="in the order of X"):
        read_covariance(frame, ["a", "b"])
    np.testing.assert_array_equal(read_covariance(frame, ["b", "a"]), np.eye(2))
    np.testing.assert_array_equal(read_covariance(pd.DataFrame(np.eye(2)), ["a", "b"]), np.eye(2))


def test_tables_whose_columns_cannot_be_modeled_are_named():
    X = correlated(30)
    assert why_no_model_of_columns(ColumnCandidates(X)) == ""
    assert "dense" in why_no_model_of_columns(ColumnCandidates(sparse.csr_array(X)))
    assert str(MOST_COLUMNS) in why_no_model_of_columns(ColumnCandidates(np.zeros((2, MOST_COLUMNS + 1))))
    missing = X.copy()
    missing[0, 0] = np.nan
    assert "missing" in why_no_model_of_columns(ColumnCandidates(missing))
    labels = ColumnCandidates(X)
    labels.is_discrete[3] = True
    assert "'x3'" in why_no_model_of_columns(labels)


def test_knockoffs_of_columns_far_from_gaussian_have_their_values():
    rng = np.random.default_rng(0)
    rare, heavy, normal = (rng.random((200, 3)) < 0.04) * 1.0, rng.standard_t(2, (200, 3)), rng.normal(size=(200, 3))
    X = np.hstack([rare, heavy, normal])
    copies = Knockoffs(ColumnCandidates(X), None, np.random.RandomState(0))
    found = copies.draw(X, np.random.RandomState(1))
    assert copies.certificate()["n_matched_margins"] == 6
    np.testing.assert_allclose(np.sort(found[:, :6], axis=0), np.sort(X[:, :6], axis=0), rtol=1e-9, atol=1e-9)
    assert np.abs(np.sort(found[:, 6:], axis=0) - np.sort(normal, axis=0)).max() > 0.01


def test_gaussian_and_balanced_binary_columns_have_gaussian_knockoffs():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(100, 200)), rng.random((100, 100)) < 0.5])
    copies = Knockoffs(ColumnCandidates(X), None, np.random.RandomState(0))
    assert copies.certificate()["n_matched_margins"] <= 3


def test_knockoffs_with_matched_margins_stay_correlated_with_other_columns():
    rng = np.random.default_rng(0)
    shared = rng.standard_t(3, 2000)
    X = shared[:, None] + rng.standard_t(3, (2000, 4))
    found = Knockoffs(ColumnCandidates(X), None, np.random.RandomState(0)).draw(X, np.random.RandomState(1))
    correlation = np.corrcoef(np.hstack([X, found]).T)
    others = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(correlation[:4, 4:][others], correlation[:4, :4][others], atol=0.12)
