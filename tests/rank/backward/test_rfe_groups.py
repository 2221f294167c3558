"""Groups of features stay or go together."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tamis import RFE as DefaultRFE
from tamis.base._groups import read_groups
from tamis.stop import CrossValidation, MonteCarloProbe
from tests.oracles import rfe as oracle

RFE = partial(DefaultRFE, stop=0.5)  # these tests are of the elimination; the default rule orders by many of them
QUICK = settings(deadline=None, max_examples=20, derandomize=True)
LABELS = ["a", "b", "a", "c", "d", "b", "a", "e", "f", "c"]
MEMBERS = [[0, 2, 6], [1, 5], [3, 9], [4], [7], [8]]
SIZES = [(8, 10), (40, 10)]


def make_data(n_samples=40, n_features=10, n_classes=2, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % n_classes
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] += y
    X[:, 4] -= y == 1
    return X, y


def groups_left_first(found):
    """Groups in the order in which they leave, as the steps tell."""
    labels = [step.info["group"] for step in found.path_][::-1]
    return [label for place, label in enumerate(labels) if place == 0 or labels[place - 1] != label]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "ridge"])
@pytest.mark.parametrize("n_leaving", [1, 2])
def test_groups_leave_by_the_norm_of_their_weights(loss, size, norm, n_classes, n_leaving):
    X, y = make_data(*size, n_classes)
    found = RFE(loss, groups=LABELS, group_norm=norm, step=n_leaving, standardize=False, task="classification").fit(
        X, y
    )
    gone, rounds = oracle.eliminate(X, oracle.pose(y), loss, groups=MEMBERS, norm=norm, n_leaving=n_leaving)
    assert found.order_.tolist() == [j for columns in gone[::-1] for j in columns]
    assert found.group_order_.tolist() == [LABELS[columns[0]] for columns in gone[::-1]]
    leaving = iter(gone)
    for now in rounds:
        for columns in [next(leaving) for _ in range(min(n_leaving, len(now.left)))]:
            criterion = now.criteria[now.left.index(columns)]
            np.testing.assert_allclose(found.scores_[columns], criterion, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_groups_leave_a_kernel_as_a_whole(kernel, n_classes):
    X, y = make_data(24, 10, n_classes)
    parameters = {"gamma": 0.1} | ({"degree": 2, "coef0": 0.5} if kernel == "poly" else {})
    found = RFE(groups=LABELS, kernel=kernel, standardize=False, **parameters).fit(X, y)
    evaluate = oracle.named_kernel(kernel, **parameters)
    gone, rounds = oracle.eliminate(X, oracle.pose(y), "squared_hinge", kernel=evaluate, groups=MEMBERS)
    assert found.order_.tolist() == [j for columns in gone[::-1] for j in columns]
    for columns, now in zip(gone, rounds, strict=True):
        np.testing.assert_allclose(found.scores_[columns], now.criteria.min(), rtol=1e-5)


@QUICK
@given(st.lists(st.integers(0, 5), min_size=3, max_size=12), st.booleans(), st.sampled_from([1, 2, 0.5, "halving"]))
def test_members_of_a_group_stand_side_by_side(labels, wide, step):
    X, y = make_data(6 if wide else 30, max(len(labels), 5))
    X = X[:, : len(labels)]
    found = RFE(groups=labels, step=step, stop=None).fit(X, y)
    assert sorted(found.order_.tolist()) == list(range(len(labels)))
    ranked = np.array(labels)[found.order_]
    assert np.count_nonzero(np.diff(ranked)) == len(set(labels)) - 1
    np.testing.assert_array_equal(found.group_order_, ranked[np.append(True, np.diff(ranked) != 0)])
    for label in set(labels):
        members = np.flatnonzero(np.array(labels) == label)
        assert np.all(np.diff(found.ranking_[members]) > 0)
        assert np.unique(found.scores_[members]).size == 1


@pytest.mark.parametrize(
    "parameters", [{}, {"step": 3}, {"kernel": "rbf"}, {"group_norm": "l1"}, {"estimator": "hinge"}]
)
@pytest.mark.parametrize("size", [(8, 10), (40, 10)])
def test_groups_of_one_column_each_are_no_groups(size, parameters):
    X, y = make_data(*size, 3)
    plain = RFE(**parameters).fit(X, y)
    grouped = RFE(groups=[f"g{j}" for j in range(10)], **parameters).fit(X, y)
    if parameters.get("group_norm") != "l1":
        np.testing.assert_allclose(grouped.scores_, plain.scores_, rtol=1e-7)
    np.testing.assert_array_equal(grouped.order_, plain.order_)
    np.testing.assert_array_equal(grouped.support_, plain.support_)


def test_one_group_of_everything_is_ranked():
    X, y = make_data()
    found = RFE(groups=["all"] * 10).fit(X, y)
    assert found.support_.all()
    assert found.group_order_.tolist() == ["all"]


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 5, 6, 0.5, None])
def test_the_number_to_keep_counts_groups(stop):
    X, y = make_data()
    found = RFE(groups=LABELS, stop=stop).fit(X, y)
    n_groups = {0.5: 3, None: 6}.get(stop, stop)
    kept = found.group_order_[:n_groups].tolist()
    np.testing.assert_array_equal(found.support_, [label in kept for label in LABELS])
    assert found.stop_.n_features == found.support_.sum() == found.transform(X).shape[1]
    assert re.search(rf"\({found.support_.sum()} columns? of {n_groups} groups?\);", found.stop_.reason)


def test_more_groups_than_there_are_are_all_kept():
    X, y = make_data()
    with pytest.warns(UserWarning, match="7 groups are asked for, but there are 6"):
        found = RFE(groups=LABELS, stop=7).fit(X, y)
    assert found.support_.all()


def test_steps_tell_the_group_of_each_column():
    X, y = make_data()
    found = RFE(groups=LABELS).fit(X, y)
    assert [step.feature for step in found.path_] == found.order_.tolist()
    assert [step.info["group"] for step in found.path_] == [LABELS[j] for j in found.order_]
    assert groups_left_first(found)[::-1] == found.group_order_.tolist()
    left = 10
    for label in groups_left_first(found):
        told = {step.info["n_features"] for step in found.path_ if step.info["group"] == label}
        assert told == {left}
        left -= LABELS.count(label)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_labels_or_places_or_names_say_the_same(make):
    X, y = make_data()
    expected = RFE(groups=LABELS, standardize=False).fit(make(X), y)
    mapping = {label: [j for j, own in enumerate(LABELS) if own == label] for label in "abc"}
    places = RFE(groups=mapping, standardize=False).fit(make(X), y)
    np.testing.assert_array_equal(places.order_, expected.order_)
    np.testing.assert_array_equal(places.support_, expected.support_)
    for labels in (np.array(LABELS), pd.Series(LABELS), tuple(LABELS)):
        found = RFE(groups=labels, standardize=False).fit(make(X), y)
        np.testing.assert_array_equal(found.order_, expected.order_)


def test_columns_may_be_named_and_those_that_are_not_stand_alone():
    X, y = make_data()
    names = [f"column {letter}" for letter in "abcdefghij"]
    frame = pd.DataFrame(X, columns=names)
    mapping = {label: [names[j] for j, own in enumerate(LABELS) if own == label] for label in "abc"}
    found = RFE(groups=mapping).fit(frame, y)
    expected = RFE(groups=LABELS).fit(X, y)
    np.testing.assert_array_equal(found.order_, expected.order_)
    assert set(found.group_order_) == {"a", "b", "c", names[4], names[7], names[8]}
    alone = RFE(groups={"first": names[0]}).fit(frame, y)
    np.testing.assert_array_equal(alone.order_, RFE().fit(X, y).order_)


def test_a_group_may_be_called_as_a_column_that_is_not_in_it():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    found = RFE(groups={"j": ["a", "b"]}, stop=None).fit(frame, y)
    assert len(found.group_order_) == 9
    expected = RFE(groups=[0, 0, 1, 2, 3, 4, 5, 6, 7, 8], stop=None).fit(X, y)
    np.testing.assert_array_equal(found.order_, expected.order_)


@pytest.fixture
def customers():
    """Four numbers and two categories; of these the color tells the class."""
    rng = np.random.RandomState(0)
    n = 150
    frame = pd.DataFrame(rng.standard_normal((n, 4)), columns=["age", "income", "height", "weight"])
    frame["color"] = rng.choice(["red", "green", "blue", "black"], n)
    frame["city"] = rng.choice(["Oslo", "Rome", "Lyon"], n)
    score = 1.5 * frame["color"].isin(["red", "blue"]) + 0.8 * frame["age"] + 0.3 * rng.standard_normal(n)
    return frame, (score > score.median()).to_numpy().astype(int)


ENCODE = ColumnTransformer(
    [
        ("numbers", StandardScaler(), ["age", "income", "height", "weight"]),
        ("categories", OneHotEncoder(sparse_output=False), ["color", "city"]),
    ],
    verbose_feature_names_out=False,
).set_output(transform="pandas")


def encoded_groups(names):
    return {category: [name for name in names if name.startswith(f"{category}_")] for category in ("color", "city")}


def whole_or_nothing(found):
    """Whether no category is split."""
    names = found.feature_names_in_.tolist()
    columns = [[names.index(name) for name in members] for members in encoded_groups(names).values()]
    return [len(members) for members in columns] == [4, 3] and all(
        found.support_[members].all() or not found.support_[members].any() for members in columns
    )


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_an_encoded_category_stays_or_goes_as_a_whole_for_every_number(customers, stop, norm):
    frame, y = customers
    table = clone(ENCODE).fit_transform(frame)
    groups = encoded_groups(list(table.columns))
    found = RFE(groups=groups, group_norm=norm, stop=stop).fit(table, y)
    assert whole_or_nothing(found)
    assert len(found.group_order_) == 6
    assert set(found.group_order_[:2]) == {"age", "color"}


@pytest.mark.parametrize(
    "rule",
    [CrossValidation(LogisticRegression(), rule="one-se"), MonteCarloProbe(0.2, n_draws=9, random_state=0)],
    ids=["cross-validation", "probe"],
)
def test_an_encoded_category_stays_or_goes_as_a_whole_whoever_decides(customers, rule):
    frame, y = customers
    table = clone(ENCODE).fit_transform(frame)
    found = RFE(groups=encoded_groups(list(table.columns)), stop=rule).fit(table, y)
    assert whole_or_nothing(found)
    assert {"age", *(f"color_{name}" for name in ("red", "green", "blue", "black"))} <= set(
        found.get_feature_names_out()
    )


def test_cross_validation_counts_groups(customers):
    frame, y = customers
    table = clone(ENCODE).fit_transform(frame)
    found = RFE(groups=encoded_groups(list(table.columns)), stop=CrossValidation(LogisticRegression())).fit(table, y)
    np.testing.assert_array_equal(found.stop_.curve_at, [1, 2, 3, 4, 5, 6])


def test_an_encoded_category_stays_or_goes_as_a_whole_in_a_pipeline(customers):
    frame, y = customers
    groups = encoded_groups(list(clone(ENCODE).fit_transform(frame).columns))
    model = make_pipeline(clone(ENCODE), RFE(groups=groups, stop=2), LogisticRegression()).fit(frame, y)
    assert whole_or_nothing(model[1])
    assert model.score(frame, y) > 0.85


@pytest.mark.parametrize("estimator", [RandomForestClassifier(n_estimators=5, random_state=0)])
def test_groups_work_with_any_estimator(estimator):
    X, y = make_data()
    found = RFE(estimator, groups=LABELS, standardize=False).fit(X, y)
    importances = clone(estimator).fit(X, y).feature_importances_
    means = [importances[columns].mean() for columns in MEMBERS]
    assert found.group_order_[-1] == "abcdef"[int(np.argmin(means))]
    np.testing.assert_allclose(found.path_[-1].criterion, min(means))


def test_a_large_group_of_noise_does_not_stay_for_its_size():
    for seed in range(3):
        rng = np.random.RandomState(seed)
        X = rng.standard_normal((100, 26))
        y = X[:, 25] + rng.standard_normal(100) > 0
        found = RFE(groups=[*["noise"] * 24, "weak", "strong"]).fit(X, y)
        assert found.group_order_[0] == "strong"


def test_of_equal_groups_the_last_leaves_first():
    X, y = make_data(30, 6)
    found = RFE(groups=[0, 0, 1, 2, 3, 4, 5, 5], standardize=False).fit(np.column_stack([X, X[:, :2]]), y)
    order = found.group_order_.tolist()
    assert order.index(0) < order.index(5)


def test_a_group_with_a_column_that_another_has_is_refused_by_names():
    X, y = make_data()
    with pytest.raises(ValueError, match=r"groups has column 3 in both 'one' and 'two'"):
        RFE(groups={"one": [1, 3], "two": [3, 4]}).fit(X, y)


@pytest.mark.parametrize(("column", "told"), [("z", "'z'"), (10, "10"), (-1, "-1")])
def test_a_group_with_a_column_that_is_not_there_is_refused_by_name(column, told):
    frame = pd.DataFrame(make_data()[0], columns=list("abcdefghij"))
    with pytest.raises(ValueError, match=rf"groups\['one'\] names column {told}, which X does not have"):
        RFE(groups={"one": ["a", column]}).fit(frame, make_data()[1])


@pytest.mark.parametrize("labels", [["a"] * 9, ["a"] * 11, []])
def test_too_few_or_too_many_labels_are_counted(labels):
    X, y = make_data()
    with pytest.raises(ValueError, match=f"groups has {len(labels)} labels, but X has 10 columns: give one per column"):
        RFE(groups=labels).fit(X, y)


def test_a_column_named_twice_in_a_group_is_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="groups has column 1"):
        RFE(groups={"one": [1, 1]}).fit(X, y)


@pytest.mark.parametrize("bad", [{"one": 3}, {"one": [1.5]}, {"one": [None]}, "ab", 3])
def test_what_is_no_group_is_refused_as_such(bad):
    X, y = make_data()
    with pytest.raises(ValueError, match="groups"):
        RFE(groups=bad).fit(X, y)


def test_groups_are_numbered_as_they_appear():
    codes, labels = read_groups(["y", "x", "y", 3], 4, list("abcd"))
    assert codes.tolist() == [0, 1, 0, 2]
    assert labels == ["y", "x", 3]
    codes, labels = read_groups({"pair": ["d", "b"]}, 4, list("abcd"))
    assert codes.tolist() == [0, 1, 2, 1]
    assert labels == ["a", "pair", "c"]
