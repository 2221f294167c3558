"""The orthogonal search chooses what trying every candidate would, in blocks or not."""

from itertools import islice

import array_api_strict
import numpy as np
import pytest
import sklearn
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.arrays.targets import encode_target
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch
from tests.oracles.gram_schmidt import brute_force, centered, deflation

N = 26


def problem(kind, seed=0, n=N, d=8):
    """Correlated columns of unequal scales and a target of the given kind."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) * np.logspace(-2, 2, d) + 1.0
    signal = X[:, 0] / X[:, 0].std() - X[:, d // 2] / X[:, d // 2].std() + rng.standard_normal(n)
    if kind == "regression":
        return X, signal[:, None]
    n_classes = {"two classes": 2, "four classes": 4}[kind]
    labels = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    return X, encode_target(labels, "classification").values


KINDS = ["regression", "two classes", "four classes"]
WEIGHTS = {"plain": None, "weighted": 0.1 + np.random.RandomState(9).uniform(size=N), "counted": np.arange(N) % 3.0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_is_the_one_that_brute_force_finds(kind, weight, fit_intercept, seed):
    X, Y = problem(kind, seed)
    order, shares = brute_force(X, Y, weight, fit_intercept)
    steps = list(OrthogonalSearch(as_columns(X, weight, fit_intercept=fit_intercept), Y))
    assert [step.feature for step in steps] == order
    np.testing.assert_allclose([step.cos2 for step in steps], shares, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("project", [True, False], ids=["gram-schmidt", "matching pursuit"])
def test_every_step_is_the_one_that_explicit_deflation_finds_with_more_features_than_rows(kind, project):
    X, Y = problem(kind, seed=2, d=70)
    order, shares, _ = deflation(X, Y, n_steps=15, project_candidates=project)
    steps = list(islice(OrthogonalSearch(as_columns(X), Y, project_candidates=project), 15))
    assert [step.feature for step in steps] == order
    np.testing.assert_allclose([step.cos2 for step in steps], shares, rtol=1e-6)
    assert [step.n_candidates for step in steps] == list(range(70, 55, -1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "container", [sparse.csr_array, torch.asarray, array_api_strict.asarray], ids=["csr", "torch", "strict"]
)
def test_the_search_does_not_depend_on_the_kind_of_table(kind, container):
    X, Y = problem(kind)
    expected = list(OrthogonalSearch(as_columns(X), Y))
    with sklearn.config_context(array_api_dispatch=True):
        found = list(OrthogonalSearch(as_columns(container(X)), Y))
    assert [step.feature for step in found] == [step.feature for step in expected]
    np.testing.assert_allclose([step.cos2 for step in found], [step.cos2 for step in expected], rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_directions_are_orthonormal_and_rebuild_columns_and_targets(kind, fit_intercept):
    X, Y = problem(kind)
    steps = list(OrthogonalSearch(as_columns(X, fit_intercept=fit_intercept), Y))
    Q = np.column_stack([step.q for step in steps])
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-10)
    Z = centered(X, fit_intercept=fit_intercept)
    for n, step in enumerate(steps, start=1):
        np.testing.assert_allclose(Q[:, :n] @ step.loading, Z[:, step.feature], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(step.projection, step.q @ centered(Y, fit_intercept=fit_intercept), atol=1e-9)
        assert step.orthogonality_loss < 1e-10


@pytest.mark.parametrize("orthogonalization", ["classical", "modified"])
def test_directions_stay_orthogonal_on_nearly_dependent_columns(orthogonalization):
    X = np.vander(np.linspace(0.5, 1, 60), 14, increasing=True)[:, 1:]
    y = np.random.RandomState(0).standard_normal((60, 1))
    steps = list(OrthogonalSearch(as_columns(X), y, orthogonalization=orthogonalization, tol=1e-16))
    Q = np.column_stack([step.q for step in steps])
    assert Q.shape[1] >= 6
    assert np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < 1e-10
    assert max(step.orthogonality_loss for step in steps) < 1e-10
    assert np.abs(Q.sum(axis=0)).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_classical_and_modified_gram_schmidt_agree(kind):
    X, Y = problem(kind, seed=3, d=40)
    classical, modified = (
        list(islice(OrthogonalSearch(as_columns(X), Y, orthogonalization=name), 20))
        for name in ("classical", "modified")
    )
    assert [step.feature for step in classical] == [step.feature for step in modified]
    for one, other in zip(classical, modified, strict=True):
        assert one.cos2 == pytest.approx(other.cos2, rel=1e-9)
        np.testing.assert_allclose(one.q, other.q, atol=1e-9)


def make_table(kind, rng, n, d):
    if kind == "independent":
        return rng.standard_normal((n, d))
    if kind == "correlated":
        return rng.standard_normal((n, 4)) @ rng.standard_normal((4, d)) + 0.3 * rng.standard_normal((n, d))
    if kind == "nearly equal":
        return np.repeat(rng.standard_normal((n, 1 + d // 6)), 6, axis=1)[:, :d] + 1e-3 * rng.standard_normal((n, d))
    if kind == "duplicated":
        return rng.standard_normal((n, max(4, d // 4)))[:, rng.randint(max(4, d // 4), size=d)]
    if kind == "all but one equal":
        return np.repeat(rng.standard_normal((n, 2)), [d - 1, 1], axis=1)
    if kind == "binary":
        return (rng.uniform(size=(n, d)) < 0.3).astype(float)
    return np.where(np.arange(d) % 3, rng.standard_normal((n, d)), 1.5)  # a third of the columns constant


TABLES = ["independent", "correlated", "nearly equal", "duplicated", "all but one equal", "binary", "constants"]


CONTAINERS = {"numpy": np.asarray, "torch": torch.asarray, "strict": array_api_strict.asarray}


@settings(deadline=None, max_examples=150, derandomize=True)
@given(
    kind=st.sampled_from(TABLES),
    container=st.sampled_from(list(CONTAINERS)),
    target=st.sampled_from(["regression", "classes"]),
    working_set=st.integers(2, 9),
    width=st.integers(3, 12),
    weighted=st.booleans(),
    project=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_blocks_find_exactly_what_the_plain_search_finds(
    kind, container, target, working_set, width, weighted, project, seed
):
    rng = np.random.RandomState(seed)
    n, d = 40, width * working_set + 1
    X = make_table(kind, rng, n, d)
    signal = X[:, : min(d, 5)] @ rng.standard_normal(min(d, 5)) + 0.5 * rng.standard_normal(n)
    Y = signal[:, None] if target == "regression" else np.eye(3)[np.argsort(np.argsort(signal)) * 3 // n]
    weight = 0.5 + rng.uniform(size=n) if weighted else None
    plain = list(islice(OrthogonalSearch(as_columns(X, weight), Y, project_candidates=project, working_set=d), 20))
    with sklearn.config_context(array_api_dispatch=True):
        columns = as_columns(CONTAINERS[container](X), weight)
        blocks = OrthogonalSearch(columns, Y, project_candidates=project, working_set=working_set)
        assert columns.n_candidates > 2 * working_set
        blocked = list(islice(blocks, 20))
    assert [step.feature for step in blocked] == [step.feature for step in plain]
    assert [step.n_candidates for step in blocked] == [step.n_candidates for step in plain]
    assert [step.redundant.tolist() for step in blocked] == [step.redundant.tolist() for step in plain]
    assert [step.n_targets for step in blocked] == [step.n_targets for step in plain]
    np.testing.assert_allclose([s.cos2 for s in blocked], [s.cos2 for s in plain], rtol=1e-8, atol=1e-10)
    for one, other in zip(blocked, plain, strict=True):
        np.testing.assert_allclose(np.asarray(one.q), other.q, atol=1e-8)
        np.testing.assert_allclose(one.projection, other.projection, atol=1e-8)
        np.testing.assert_allclose(one.orthogonality_loss, 0.0, atol=1e-10)


@pytest.mark.parametrize("n_verified", [1, 3, 100])
def test_steps_on_a_device_do_not_depend_on_how_many_are_verified_together(n_verified, monkeypatch):
    rng = np.random.RandomState(0)
    X = make_table("correlated", rng, 50, 120)
    y = rng.standard_normal((50, 1))
    expected = list(islice(OrthogonalSearch(as_columns(X), y), 20))
    monkeypatch.setattr("tamis.kernels.solvers.orthogonal_search._VERIFIED_ELEMENTS", n_verified * 120)
    with sklearn.config_context(array_api_dispatch=True):
        found = list(islice(OrthogonalSearch(as_columns(torch.asarray(X)), y, working_set=20), 20))
    assert [step.feature for step in found] == [step.feature for step in expected]
    assert max(step.n_following for step in found) <= n_verified - 1
    assert (n_verified == 1) == all(step.n_following == 0 for step in found)


@pytest.mark.parametrize("limit", [1, 3, 10, None])
def test_a_limit_on_the_number_of_steps_does_not_change_those_that_are_made(limit):
    rng = np.random.RandomState(0)
    X = make_table("correlated", rng, 50, 120)
    y = rng.standard_normal((50, 1))
    expected = [step.feature for step in islice(OrthogonalSearch(as_columns(X), y), 10)]
    found = OrthogonalSearch(as_columns(X), y, limit=limit, working_set=10)
    assert [step.feature for step in islice(found, limit or 10)] == expected[: limit or 10]


@pytest.mark.parametrize("working_set", [3, 100])
@pytest.mark.parametrize("first", [0, 7, 18])
def test_among_equal_columns_the_first_is_chosen_and_the_others_are_redundant(working_set, first):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 20))
    copies = list(range(first, 20))
    X[:, copies] = X[:, [19]]
    y = X[:, [19]] + 0.1 * rng.standard_normal((30, 1))
    step = next(iter(OrthogonalSearch(as_columns(X), y, working_set=working_set)))
    assert step.feature == first
    assert step.redundant.tolist() == copies[1:]


def test_the_search_ends_when_nothing_is_left_of_the_target():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 12))
    steps = list(OrthogonalSearch(as_columns(X), X[:, [2, 5, 11]] @ [[3.0], [2.0], [1.0]]))
    assert sorted(step.feature for step in steps) == [2, 5, 11]
    assert steps[-1].cos2 == pytest.approx(1)


def test_the_search_ends_when_every_candidate_is_used_up():
    rng = np.random.RandomState(0)
    base = rng.standard_normal((30, 3))
    X = base @ rng.standard_normal((3, 9))
    steps = list(OrthogonalSearch(as_columns(X), rng.standard_normal((30, 1))))
    assert len(steps) == 3
    chosen = [step.feature for step in steps]
    others = np.setdiff1d(np.arange(9), chosen)
    np.testing.assert_array_equal(np.sort(np.concatenate([step.redundant for step in steps])), others)


def test_more_features_than_rows_make_no_more_steps_than_there_are_dimensions():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((12, 40)), rng.standard_normal((12, 1))
    assert len(list(OrthogonalSearch(as_columns(X), y))) == 11
    assert len(list(OrthogonalSearch(as_columns(X, fit_intercept=False), y))) == 12


@pytest.mark.parametrize("kind", KINDS)
def test_following_the_order_of_a_search_repeats_its_steps(kind):
    X, Y = problem(kind, seed=4, d=20)
    searched = list(islice(OrthogonalSearch(as_columns(X), Y), 12))
    followed = list(OrthogonalSearch(as_columns(X), Y).follow([step.feature for step in searched]))
    assert [step.feature for step in followed] == [step.feature for step in searched]
    for one, other in zip(followed, searched, strict=True):
        assert one.cos2 == pytest.approx(other.cos2, rel=1e-9)
        assert one.n_candidates == other.n_candidates
        np.testing.assert_allclose(one.loading, other.loading, rtol=1e-8, atol=1e-9)


def test_following_any_order_measures_the_share_of_the_rest_that_each_feature_explains():
    X, Y = problem("regression")
    given_order = [5, 1, 7, 0]
    steps = list(OrthogonalSearch(as_columns(X), Y).follow(given_order))
    before = np.sum(centered(Y) ** 2)
    for k, step in enumerate(steps, start=1):
        A = np.column_stack([np.ones(N), X[:, given_order[:k]]])
        after = np.sum((Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]) ** 2)
        assert step.cos2 == pytest.approx(1 - after / before, rel=1e-8)
        before = after
    assert [step.feature for step in steps] == given_order


def test_following_ends_at_a_feature_that_adds_nothing():
    X, Y = problem("regression")
    X[:, 3] = X[:, 1] - 2 * X[:, 2]
    steps = list(OrthogonalSearch(as_columns(X), Y).follow([1, 2, 3, 4]))
    assert [step.feature for step in steps] == [1, 2]
    assert steps[-1].redundant.tolist() == [3]


def test_selecting_features_and_updating_the_candidates_later_leaves_the_search_where_following_does():
    X, Y = problem("four classes", seed=6, d=15)
    X[:, 9] = X[:, 2]
    followed, selected = (OrthogonalSearch(as_columns(X), Y) for _ in range(2))
    order = [2, 7, 0, 4]
    assert len(list(followed.follow(order))) == 4
    assert all(selected.select(feature) for feature in order[:3])
    selected.update_candidates()
    assert selected.select(order[3])
    assert not selected.select(9)
    selected.update_candidates()
    selected.update_candidates()
    np.testing.assert_allclose(selected.Y, followed.Y, atol=1e-10)
    np.testing.assert_allclose(np.stack(selected.basis), np.stack(followed.basis), atol=1e-10)
    np.testing.assert_array_equal(selected.projected.remaining, followed.projected.remaining)
    remaining = followed.projected.remaining
    np.testing.assert_allclose(selected.projected.norm2[remaining], followed.projected.norm2[remaining], rtol=1e-8)
    np.testing.assert_allclose(selected.explained(), followed.explained(), rtol=1e-8, atol=1e-12)


def test_cos2_of_all_candidates_is_their_squared_correlation_before_any_step():
    X, Y = problem("regression")
    search = OrthogonalSearch(as_columns(X), Y)
    expected = [np.corrcoef(x, Y[:, 0])[0, 1] ** 2 for x in X.T]
    np.testing.assert_allclose(search.explained(), expected, rtol=1e-10)


def test_a_target_that_does_not_vary_has_no_cosine_and_no_step():
    search = OrthogonalSearch(as_columns(np.eye(4)), np.full((4, 1), 2.5))
    assert search.explained().tolist() == [0, 0, 0, 0]
    assert list(search) == []
