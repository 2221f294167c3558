"""Forward search over groups of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.kernels.arrays.columns import as_columns
from tamis.kernels.probe.law import probe_survival
from tamis.kernels.solvers.group_search import GroupSearch
from tamis.kernels.solvers.orthogonal_search import OrthogonalSearch
from tests.oracles.group_search import judge_groups, search_groups

QUICK = settings(deadline=None, max_examples=25, derandomize=True)


def make_problem(seed, n_targets=1, n=40):
    rng = np.random.RandomState(seed)
    sizes = rng.randint(1, 5, size=6)
    members = np.split(rng.permutation(sizes.sum()), np.cumsum(sizes)[:-1])
    X = rng.standard_normal((n, sizes.sum())) * 10.0 ** rng.randint(-2, 3, sizes.sum()) + rng.standard_normal()
    Y = X[:, members[1]].sum(axis=1) / 3 + rng.standard_normal(n)
    if n_targets > 1:
        Y = np.digitize(Y, np.quantile(Y, np.arange(1, n_targets) / n_targets))[:, None] == np.arange(n_targets)
    return X, members, Y.reshape(n, -1).astype(float)


@QUICK
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 4]), st.booleans())
def test_steps_are_those_of_the_search_that_projects_every_group_anew(seed, n_targets, fit_intercept):
    X, members, Y = make_problem(seed, n_targets)
    found = list(GroupSearch(as_columns(X, fit_intercept=fit_intercept), members, Y))
    expected = search_groups(X, members, Y, fit_intercept=fit_intercept)
    assert [step.feature for step in found] == [group for group, _ in expected]
    np.testing.assert_allclose([step.cos2 for step in found], [value for _, value in expected], rtol=1e-6)


@QUICK
@given(st.integers(0, 10**6), st.sampled_from([1, 3]))
def test_groups_of_one_column_are_searched_as_columns(seed, n_targets):
    X, _, Y = make_problem(seed, n_targets)
    columns = as_columns(X)
    found = list(GroupSearch(columns, [np.array([j]) for j in range(X.shape[1])], Y))
    expected = list(OrthogonalSearch(columns, Y))
    assert [step.feature for step in found] == [step.feature for step in expected]
    np.testing.assert_allclose([step.cos2 for step in found], [step.cos2 for step in expected], rtol=1e-8)
    for step, column in zip(found, expected, strict=True):
        assert (step.n_candidates, step.n_targets) == (column.n_candidates, column.n_targets)
        np.testing.assert_allclose(step.directions[0].loading, column.loading, rtol=1e-6, atol=1e-9)


def test_a_group_that_others_span_is_redundant_and_dependent_columns_add_no_direction():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((30, 5))
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(30)])
    y = X[:, [0]] + X[:, [1]] + 0.1 * rng.standard_normal((30, 1))
    members = [np.array([0, 1, 5]), np.array([5]), np.array([2, 6]), np.array([6])]
    steps = list(GroupSearch(as_columns(X), members, y))
    assert [step.feature for step in steps] == [1, 0, 2]
    assert [len(step.directions) for step in steps] == [1, 1, 1]
    first = next(GroupSearch(as_columns(X), members, y).follow([0]))
    assert len(first.directions) == 2
    assert first.redundant.tolist() == [1]
    assert list(GroupSearch(as_columns(X), members, y).follow([3])) == []


def test_weights_count_as_repeated_rows():
    X, members, Y = make_problem(3)
    weight = np.random.RandomState(0).randint(1, 4, len(X))
    weighted = list(GroupSearch(as_columns(X, weight.astype(float)), members, Y))
    repeated = list(GroupSearch(as_columns(np.repeat(X, weight, axis=0)), members, np.repeat(Y, weight, axis=0)))
    assert [(step.feature, step.dof) for step in weighted] == [(step.feature, step.dof) for step in repeated]
    np.testing.assert_allclose([step.cos2 for step in weighted], [step.cos2 for step in repeated])


@pytest.mark.parametrize("n_targets", [1, 3])
def test_a_random_group_does_better_as_often_as_its_survival_says(n_targets):
    rng = np.random.RandomState(0)
    members = [np.arange(3), np.arange(3, 5), np.array([5])]
    below = np.zeros(3)
    for _ in range(400):
        X, Y = rng.standard_normal((25, 6)), np.eye(n_targets)[rng.randint(n_targets, size=25)][:, : max(1, n_targets)]
        Y = rng.standard_normal((25, 1)) if n_targets == 1 else Y
        below += GroupSearch(as_columns(X), members, Y).judge()[1] <= 0.1
    np.testing.assert_allclose(below / 400, 0.1, atol=0.045)


@QUICK
@given(st.integers(0, 10**6), st.sampled_from([1, 3]))
def test_survivals_against_the_targets_themselves_are_those_of_the_search(seed, n_targets):
    X, members, Y = make_problem(seed, n_targets)
    search = GroupSearch(as_columns(X), members, Y)
    U = search.Y @ search._whitener()
    np.testing.assert_allclose(search.survivals_against(U), search.judge()[1], rtol=1e-6, atol=1e-12)
    explained = judge_groups(X - X.mean(axis=0), members, Y - Y.mean(axis=0))
    ranks = np.array([group.size for group in members])
    np.testing.assert_allclose(search.judge()[1], probe_survival(explained, 39, U.shape[1], ranks), rtol=1e-6)


def test_noise_that_must_explain_everything_is_not_chosen_for_it():
    rng = np.random.RandomState(0)
    X, labels = rng.standard_normal((20, 14)), np.arange(20) % 10
    X[:, 12] += 3 * (labels == 0)
    Y = (labels[:, None] == np.arange(10)).astype(float)
    members = [np.arange(12), np.array([12]), np.array([13])]
    explained, survival = GroupSearch(as_columns(X), members, Y).judge()
    assert explained[0] == pytest.approx(1.0)
    assert survival[0] == 1.0
    assert next(iter(GroupSearch(as_columns(X), members, Y))).feature == 1


def test_nearly_dependent_columns_are_judged_by_all_that_they_span():
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, 100)
    powers = np.column_stack([x**k for k in range(1, 11)])
    basis = np.linalg.qr(np.column_stack([np.ones(100), powers]))[0]
    y = 10 * basis[:, 9:10] + 0.01 * rng.standard_normal((100, 1))
    X = np.column_stack([powers, rng.standard_normal(100)])
    search = GroupSearch(as_columns(X), [np.arange(10), np.array([10])], y)
    explained, _ = search.judge()
    step = next(iter(search))
    assert step.feature == 0
    assert explained[0] == pytest.approx(step.cos2, abs=1e-3)
    assert step.cos2 > 0.99


def test_single_precision_finds_redundant_groups():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((50, 6))
    mixed = [X[:, [0, 1]] @ rng.standard_normal((2, 2)) for _ in range(4)]
    table = np.column_stack([X, *mixed])
    members = [
        np.array([0, 1]),
        np.array([2, 3]),
        np.array([4, 5]),
        *(np.arange(6 + 2 * i, 8 + 2 * i) for i in range(4)),
    ]
    y = X[:, [0]] + X[:, [1]] + 0.1 * rng.standard_normal((50, 1))
    double, single = (list(GroupSearch(as_columns(table.astype(t)), members, y)) for t in (float, np.float32))
    assert [(s.feature, s.n_candidates) for s in single] == [(s.feature, s.n_candidates) for s in double]
    assert single[0].redundant.size == 4
