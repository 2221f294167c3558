"""Groups of columns work in one way in every ranker that provides them."""

import inspect

import numpy as np
import pandas
import pytest
import torch
from sklearn.base import clone

import tamis
from tamis import GramSchmidt, MaxVariance, SVMBoundElimination, TreeSelector
from tamis.base import Ranker
from tamis.stop import CrossValidation, MonteCarloProbe
from tamis.testing import instances
from tamis.testing.checks import fitted, make_data

METHODS = sorted(
    name
    for name in tamis.__all__
    if inspect.isclass(getattr(tamis, name))
    and issubclass(getattr(tamis, name), Ranker)
    and "groups" in inspect.signature(getattr(tamis, name)).parameters
)
RANKERS = [
    clone(ranker).set_params(stop=None)
    for name in METHODS
    for ranker in instances(name)
    if ranker.get_params().get("algorithm") != "lars"
    and ranker.get_params().get("form") != "unbiased"
    and ranker.get_params().get("group_correlation") is None
]
X, Y = make_data(50, 9)
NAMES = [f"c{j}" for j in range(9)]
LABELS = np.array(["u", "v", "u", "w", "v", "w", "w", "t", "t"])


def order_of_groups(found):
    return found.group_order_.tolist()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_with_groups_says_so(name):
    assert "groups" in getattr(tamis, name)().provides


def test_a_method_says_groups_only_if_it_takes_them():
    for name in tamis.__all__:
        method = getattr(tamis, name)
        if inspect.isclass(method) and issubclass(method, Ranker) and name not in METHODS:
            assert "groups" not in method().provides


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_groups_of_one_column_are_columns(ranker):
    columns = fitted(ranker, X, Y)
    groups = fitted(clone(ranker).set_params(groups=NAMES), X, Y)
    np.testing.assert_array_equal(groups.order_, columns.order_)
    np.testing.assert_allclose(groups.scores_, columns.scores_, rtol=1e-7, atol=1e-12)
    assert order_of_groups(groups) == [NAMES[j] for j in columns.order_]


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_columns_of_a_group_stay_or_go_together(ranker):
    found = fitted(clone(ranker).set_params(groups=LABELS, stop=2), X, Y)
    kept = order_of_groups(found)[: len(set(LABELS[found.support_]))]
    np.testing.assert_array_equal(found.support_, np.isin(LABELS, kept))
    assert found.n_features_ == found.support_.sum() == found.stop_.n_features
    assert [LABELS[j] for j in found.order_] == [g for g in order_of_groups(found) for _ in range((g == LABELS).sum())]
    for label in set(LABELS):
        assert len(set(np.nan_to_num(found.scores_[label == LABELS], nan=-7.0))) == 1
    assert "groups" in found.stop_.reason


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_labels_and_a_mapping_of_columns_say_the_same(ranker):
    mapping = {label: np.flatnonzero(label == LABELS).tolist() for label in dict.fromkeys(LABELS.tolist())}
    by_label = fitted(clone(ranker).set_params(groups=LABELS), X, Y)
    by_mapping = fitted(clone(ranker).set_params(groups=mapping), X, Y)
    np.testing.assert_array_equal(by_label.order_, by_mapping.order_)
    assert order_of_groups(by_label) == order_of_groups(by_mapping)


@pytest.mark.parametrize("name", [name for name in METHODS if getattr(tamis, name).supervised])
@pytest.mark.parametrize("rule", [CrossValidation(cv=2), MonteCarloProbe(0.25, n_draws=3)], ids=["cv", "probe"])
def test_rules_that_rank_again_decide_on_groups(name, rule):
    found = fitted(instances(name)[0].set_params(groups=LABELS, stop=rule), X, Y)
    assert set(LABELS[found.support_]).isdisjoint(LABELS[~found.support_])


@pytest.mark.parametrize("name", METHODS)
def test_a_wrong_number_of_labels_is_refused(name):
    with pytest.raises(ValueError, match="groups has 2 labels, but X has 9 columns"):
        getattr(tamis, name)(groups=["a", "b"]).fit(X, Y)


@pytest.mark.parametrize(
    "labels", [[1, 1, None] * 3, [1, 2, np.nan] * 3, pandas.array([1, None, 2] * 3, dtype="Int64"), [[1], [2], [3]] * 3]
)
def test_a_missing_label_is_refused(labels):
    with pytest.raises(ValueError, match="cannot be a label"):
        MaxVariance(groups=labels).fit(X)


def test_labels_may_be_a_tensor():
    labels = torch.asarray([0, 0, 1, 1, 1, 2, 2, 2, 2])
    assert sorted(MaxVariance(groups=labels).fit(X).group_order_) == [0, 1, 2]


def test_bounds_do_not_prefer_groups_for_their_size():
    rng = np.random.RandomState(0)
    labels = np.repeat(list("abcd"), [1, 3, 5, 3])
    for _ in range(3):
        table = rng.standard_normal((60, 12))
        y = table[:, 1] + table[:, 5] + 0.5 * rng.standard_normal(60) > 0
        for criterion in ("fixed", "retrain", "descent"):
            found = SVMBoundElimination(groups=labels, criterion=criterion, stop=None).fit(table, y)
            assert set(found.group_order_[:2]) == {"b", "c"}


def test_a_method_that_chooses_counts_columns_as_its_rule_does():
    found = TreeSelector(groups=LABELS).fit(X, Y)
    assert found.n_chosen_ == found.n_features_ == found.stop_.n_features
    assert found.stop_.n_groups == found.stop_.n_candidates == len(set(LABELS[found.support_]))


def test_redundant_groups_are_told_by_their_labels():
    labels = [*LABELS, "copy", "copy"]
    found = GramSchmidt(groups=labels, stop=None).fit(np.column_stack([X, -X[:, LABELS == "v"]]), Y)
    assert found.redundant_["v"].tolist() == ["copy"]
