"""Columns, groups and dictionary features as candidates: one interface."""

import numpy as np
import pytest
from scipy import sparse

from tamis.base import (
    COLUMNS,
    PERMUTED_COPIES,
    ROWS,
    UNGROUPED,
    ColumnCandidates,
    DictionaryCandidates,
    GroupCandidates,
    Ranking,
    Step,
    StopDecision,
)
from tamis.dictionary import Monomials

X = np.arange(20.0).reshape(4, 5) ** 2
WEIGHT = np.array([1.0, 2.0, 1.0, 3.0])
NAMES = ["a", "b", "c", "d", "e"]
GROUPS = ["u", "v", "u", "w", "v"]


def test_columns_are_themselves():
    columns = ColumnCandidates(X, sample_weight=WEIGHT, column_names=NAMES)
    assert (columns.n_candidates, columns.n_columns, columns.members) == (5, 5, None)
    assert columns.name(3) == columns.column_name(3) == "d"
    np.testing.assert_array_equal(columns.compute(X, np.array([3, 1])), X[:, [3, 1]])
    np.testing.assert_array_equal(columns.sum_members(np.arange(5.0)), np.arange(5.0))
    assert columns.provides == {COLUMNS, ROWS, UNGROUPED, PERMUTED_COPIES}
    assert ColumnCandidates(X).name(2) == "x2"


def test_groups_are_numbered_as_they_appear_and_stand_for_their_columns():
    groups = GroupCandidates(X, GROUPS, column_names=NAMES)
    assert (groups.n_candidates, groups.labels, groups.name(2)) == (3, ["u", "v", "w"], "w")
    assert [each.tolist() for each in groups.members] == [[0, 2], [1, 4], [3]]
    np.testing.assert_array_equal(groups.columns_of(np.array([2, 0])), [3, 0, 2])
    np.testing.assert_array_equal(groups.compute(X, np.array([1])), X[:, [1, 4]])
    np.testing.assert_array_equal(groups.sum_members(np.arange(5.0)), [2.0, 5.0, 3.0])
    assert groups.columns_of(np.array([], dtype=int)).size == 0
    assert groups.provides == {COLUMNS, ROWS, PERMUTED_COPIES}


@pytest.mark.parametrize("kind", ["columns", "groups"])
def test_some_rows_keep_weights_names_and_labels(kind):
    make = {"columns": ColumnCandidates, "groups": lambda X, **k: GroupCandidates(X, {"first": ["a", "e"]}, **k)}[kind]
    part = make(X, sample_weight=WEIGHT, column_names=NAMES).take_rows(np.array([3, 0]))
    np.testing.assert_array_equal(part.table, X[[3, 0]])
    np.testing.assert_array_equal(part.sample_weight, [3.0, 1.0])
    assert [part.name(j) for j in range(part.n_candidates)] == (
        NAMES if kind == "columns" else ["first", "b", "c", "d"]
    )


@pytest.mark.parametrize("kind", ["columns", "groups", "sparse"])
def test_among_copies_each_candidate_knows_whom_it_stands_for(kind):
    table = sparse.csr_array(X) if kind == "sparse" else X
    own = GroupCandidates(table, GROUPS) if kind == "groups" else ColumnCandidates(table)
    place = np.random.RandomState(0).permutation(10)
    among, source = own.among_copies(-table, place)
    assert among.n_candidates == source.size == 2 * own.n_candidates
    assert sorted(source) == list(range(2 * own.n_candidates))
    for j, of in enumerate(source):
        sign, candidate = (1, of) if of < own.n_candidates else (-1, of - own.n_candidates)
        mine, original = among.compute(among.table, np.array([j])), own.compute(table, np.array([candidate]))
        if kind == "sparse":
            mine, original = mine.toarray(), original.toarray()
        assert sorted(map(tuple, mine.T)) == sorted(map(tuple, sign * original.T))


def test_a_ranking_of_groups_is_one_of_their_columns():
    groups = GroupCandidates(X, GROUPS, column_names=NAMES)
    ranking = Ranking.from_path([Step(2, 5.0), Step(0, 1.0)], 3)
    columns, decision = groups.to_features(ranking, StopDecision(2, "because"))
    assert columns.order.tolist() == [3, 0, 2]
    np.testing.assert_array_equal(columns.scores, [1.0, np.nan, 1.0, 5.0, np.nan])
    assert [(each.feature, each.info["group"]) for each in columns.path] == [(3, "w"), (0, "u"), (2, "u")]
    assert (decision.n_features, decision.reason) == (3, "because (3 columns of 2 groups)")
    assert groups.fitted_attributes(ranking)["group_order_"].tolist() == ["w", "u"]


def test_features_of_a_dictionary_are_computed_and_named():
    made = DictionaryCandidates(X, Monomials(2), None, column_names=NAMES)
    names = [made.name(j) for j in range(made.n_candidates)]
    assert made.n_candidates == 20
    assert names[:5] == NAMES
    assert made.compute(X, np.array([0, 7])).shape == (4, 2)
    assert made.provides == {ROWS, UNGROUPED}
    assert made.take_rows(np.array([0, 1, 3])).n_candidates == 20
    with pytest.raises(ValueError, match="no columns of X"):
        made.columns_of(np.array([0]))
    with pytest.raises(ValueError, match="permuted copies"):
        made.among_copies(X, np.arange(10))
