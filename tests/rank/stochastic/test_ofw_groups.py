"""Optimal Feature Weighting of groups of columns: a probability over groups, whose columns enter learners together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from tamis import OFW, FisherScore
from tamis.kernels.arrays.entropy import effective_number
from tamis.rank import _checkpoint
from tamis.rank.stochastic import (
    GradientDescent,
    SubsetEvaluation,
    SubsetNeighbors,
    SubsetRidge,
    SubsetSVM,
    SubsetTree,
)
from tamis.rank.stochastic._column_groups import ColumnGroups
from tamis.rank.stochastic._energy import Energy, ExactEnergy
from tamis.rank.stochastic._gradient_descent import (
    METHODS,
    count_draws,
    count_errors,
    euclidean_direction,
    natural_direction,
    riemannian_direction,
)
from tamis.rank.stochastic._preselection import choose_groups
from tamis.rank.stochastic._subset_estimator import SubsetEstimator
from tamis.rank.stochastic._subset_learner import SubsetTable
from tamis.testing.checks import make_data
from tests.oracles import feature_weighting as oracle

LABELS = np.array(["u", "v", "u", "w", "u", "w", "t", "t"])
TREE = DecisionTreeClassifier(max_features=1, max_depth=2)
LEARNERS = ["svm", "ridge", "neighbors", "hamming", "tree", TREE]
PRECISE = [
    SubsetSVM(tol=1e-8),
    SubsetRidge(),
    SubsetNeighbors(n_neighbors=3),
    SubsetNeighbors(n_neighbors=3, metric="hamming"),
    SubsetTree(),
    SubsetEstimator(RidgeClassifier()),
]


def quick(estimator="ridge", *, descent=None, **parameters):
    """A run that is over soon."""
    method = GradientDescent(**{"mu": 2, **(descent or {})})
    defaults = {"subset_size": 2, "n_subsets": 20, "method": method, "tol": 0.8, "random_state": 0}
    return OFW(estimator, **{**defaults, **parameters})


def identical(one, other):
    """Both runs found the same, to the last digit, all along."""
    np.testing.assert_array_equal(one.probability_, other.probability_)
    np.testing.assert_array_equal(one.scores_, other.scores_)
    np.testing.assert_array_equal(one.order_, other.order_)
    assert one.energy_ == other.energy_
    for name in one.history_:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])


def with_copies_and_a_constant():
    X, y = make_data()
    return np.column_stack([np.full(60, 3.0), X[:, 4], X, X[:, 0]]), y


# Groups of one column


@pytest.mark.parametrize("estimator", LEARNERS, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_groups_of_one_column_give_what_columns_give_with_every_learner(estimator, kind):
    X, y = with_copies_and_a_constant()
    method = quick(estimator, subset_size=4, n_subsets=8, standardize=estimator != "hamming")
    columns = clone(method).fit(kind(X), y)
    identical(clone(method).set_params(groups=list("abcdefghijk")).fit(kind(X), y), columns)


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_one_column_give_what_columns_give_with_every_method(method):
    X, y = with_copies_and_a_constant()
    run = quick(descent={"method": method}, null_control=2, preselect=5)
    columns, groups = run.fit(X, y), clone(run).set_params(groups={}).fit(X, y)
    identical(groups, columns)
    np.testing.assert_array_equal(groups.null_energies_, columns.null_energies_)


# From groups to columns


@settings(deadline=None, max_examples=60, derandomize=True)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6), size=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_a_subset_of_groups_holds_all_their_columns_and_is_given_once(sizes, size, seed):
    rng = np.random.RandomState(seed)
    members = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes)[:-1])
    subsets = rng.randint(len(sizes), size=(7, size))
    seen = np.zeros(7, dtype=int)
    for places, columns in ColumnGroups(members).expand(subsets):
        seen[places] += 1
        for place, row in zip(places, columns, strict=True):
            groups = set(subsets[place].tolist())
            assert set(row) == {column for group in groups for column in members[group]}
            assert row.size == sum(sizes[group] for group in groups) + size - len(groups)
    np.testing.assert_array_equal(seen, 1)


def energy_of_groups(learner, members, size, n_classes=2, n_rows=50):
    X, y = make_data(n_samples=n_rows)
    splitter = SubsetEvaluation().splitter(np.minimum(y, n_classes - 1), learner)
    if isinstance(learner, SubsetNeighbors) and learner.metric == "hamming":
        X = np.round(X)
    return Energy(SubsetTable(X), splitter, learner, size, 20, ColumnGroups(members))


@pytest.mark.parametrize("learner", PRECISE, ids=str)
@pytest.mark.parametrize("n_rows", [12, 50])  # fewer, or more, than the columns of some subsets
def test_the_error_of_groups_is_that_of_a_learner_on_their_columns_alone(learner, n_rows):
    members = [np.array([0, 3, 4, 5]), np.array([1]), np.array([2, 7, 6])]
    energy = energy_of_groups(learner, members, 3, n_rows=n_rows)
    subsets = np.array(oracle.all_draws(3, 3))
    split = energy.splitter.draw(np.random.RandomState(0))
    with learner:
        found = energy.errors(subsets, split, np.random.RandomState(1))
        for subset, error in zip(subsets, found, strict=True):
            columns = np.unique(np.concatenate([members[group] for group in subset]))
            alone = split.errors(learner.predict_split(energy.table, columns[None], split, 0))
            assert error == pytest.approx(alone[0], abs=1e-12)


# The gradient, against enumeration


def ridge_error(energy, members, split):
    """Error of a draw of groups, by scikit-learn on the columns of the groups."""
    X = energy.table.values

    def error(draw):
        columns = np.unique(np.concatenate([members[group] for group in draw]))
        model = RidgeClassifier().fit(X[np.ix_(split.train, columns)], split.train_labels[0], split.train_count)
        wrong = model.predict(X[np.ix_(split.test, columns)]) != split.test_labels[0]
        return float(wrong @ split.test_weight[0])

    return error


@pytest.mark.parametrize(
    ("direction", "exact"),
    [
        (euclidean_direction, oracle.euclidean_gradient),
        (riemannian_direction, oracle.riemannian_gradient),
        (natural_direction, oracle.natural_gradient),
    ],
    ids=["euclidean", "riemannian", "natural"],
)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_mean_direction_over_every_draw_of_groups_is_the_exact_one(direction, exact, size):
    members = [np.array([0]), np.array([1, 6]), np.array([2, 3, 7]), np.array([4, 5])]
    energy = energy_of_groups(SubsetRidge(), members, size)
    probability = np.array([0.4, 0.1, 0.2, 0.3])
    split = energy.splitter.draw(np.random.RandomState(3))
    draws = oracle.all_draws(4, size)
    errors = energy.errors(np.array(draws), split, np.random.RandomState(0))
    assert np.ptp(errors) > 0.02
    mean = np.zeros(4)
    for draw, error in zip(draws, errors, strict=True):
        counted = count_errors(np.array([draw]), np.array([error]), 4)
        mean += oracle.chance(probability, draw) * direction(counted, probability)
    np.testing.assert_allclose(mean, exact(probability, ridge_error(energy, members, split), size), atol=1e-12)


def test_the_exact_energy_sums_over_every_draw_of_groups():
    members = [np.array([0]), np.array([1, 6]), np.array([2, 3, 7, 4, 5])]
    energy = energy_of_groups(SubsetRidge(), members, 2)
    posed = ExactEnergy(energy, np.random.RandomState(0))
    assert len(posed.draws.members) == count_draws(3, 2)
    rng = np.random.RandomState(0)
    by_split = [ridge_error(energy, members, energy.splitter.draw(rng)) for _ in range(10)]

    def error(draw):
        return float(np.mean([each(draw) for each in by_split]))

    probability = np.array([0.5, 0.2, 0.3])
    value, counted = posed.evaluate(probability, rng)
    assert value == pytest.approx(oracle.energy(probability, error, 2), abs=1e-12)
    np.testing.assert_allclose(counted, oracle.counted_errors(probability, error, 2), atol=1e-12)


def test_an_exact_search_over_too_many_draws_of_groups_is_refused():
    X, y = make_data(n_features=60)
    groups = np.arange(60) // 2
    with pytest.raises(ValueError, match=r"method='exact' would look at .* draws of 7 out of 30 groups"):
        quick(descent={"method": "exact"}, subset_size=7, groups=groups).fit(X, y)


# What is found


def test_columns_that_tell_nothing_but_together_get_the_weight_as_a_group():
    """The class is the parity of three signs: a tree on all three finds it, and no two of them tell anything."""
    rng = np.random.RandomState(0)
    X, parity = rng.standard_normal((240, 20)), [3, 8, 15]
    X[:, parity] = rng.choice([-1.0, 1.0], (240, 3))
    y = np.prod(X[:, parity], axis=1) > 0
    labels = np.array(list("aabbbbcccdddddeeffff"))
    labels[parity] = "p"
    method = OFW("tree", subset_size=1, n_subsets=30, stop=1, random_state=0)
    found, columns = clone(method).set_params(groups=labels).fit(X, y), method.fit(X, y)
    assert dict(zip(found.group_names_, found.probability_, strict=True))["p"] > 0.95
    np.testing.assert_array_equal(np.flatnonzero(found.support_), parity)
    assert found.energy_ < 0.1
    assert columns.energy_ > 0.3


@pytest.mark.parametrize("estimator", ["svm", "ridge"])
def test_weak_columns_that_are_strong_together_win_over_a_stronger_one(estimator):
    rng = np.random.RandomState(0)
    y = np.arange(300) % 2
    X = rng.standard_normal((300, 12))
    X[:, :3] += 0.9 * y[:, None]
    X[:, 11] += 1.2 * y
    assert FisherScore().fit(X, y).order_[0] == 11
    labels = list("wwwabbccccde")
    found = OFW(estimator, subset_size=1, groups=labels, random_state=0).fit(X, y)
    assert found.probability_[0] > 0.9
    assert found.group_order_[0] == "w"


def test_the_probability_is_over_groups_and_scores_speak_of_columns():
    X, y = make_data()
    found = quick(groups=LABELS, null_control=True).fit(X, y)
    assert found.group_names_ == ["u", "v", "w", "t"]
    assert found.probability_.shape == (4,)
    assert found.probability_.sum() == pytest.approx(1)
    by_label = dict(zip(found.group_names_, found.probability_, strict=True))
    np.testing.assert_array_equal(found.scores_, [by_label[label] for label in LABELS])
    assert found.effective_number_ == pytest.approx(effective_number(found.probability_))
    for history in (found.history_, found.null_history_):
        assert history["probability"].shape == (history["iteration"].size, 4)
        np.testing.assert_allclose(history["probability"][0], 1 / 4)
    kept = int(np.ceil(found.effective_number_))
    assert set(LABELS[found.support_]) == set(found.group_order_[:kept])
    assert found.stop_.reason.startswith(f"{found.effective_number_:.1f} groups share the probability")
    assert not hasattr(quick().fit(X, y), "group_names_")


@pytest.mark.parametrize(("given", "used"), [("sqrt", 2), (3, 3), (8, 4), ([9], 4)])
def test_the_size_of_a_subset_counts_groups(given, used):
    X, y = make_data()
    assert quick(subset_size=given, groups=LABELS, tol=1.0).fit(X, y).subset_size_ == used


def test_the_size_is_chosen_for_groups_of_named_columns():
    """Two groups hold what matters: subsets of both do better than subsets of one."""
    pandas = pytest.importorskip("pandas")
    X = np.random.RandomState(0).standard_normal((120, 5))
    frame = pandas.DataFrame(X, columns=list("abcde"))
    groups = {"one": ["a", "b"], "two": ["d", "c"]}
    found = quick(subset_size=[1, 3], groups=groups, tol=1.0).fit(frame, X[:, 0] + X[:, 3] > 0)
    assert found.group_names_ == ["one", "two", "e"]
    assert found.subset_size_errors_[3] < found.subset_size_errors_[1] - 0.05
    assert found.subset_size_ == 3


def test_neither_the_order_of_columns_nor_that_of_groups_matters():
    X, y = make_data()
    found = quick(groups=LABELS).fit(X, y)
    moved = np.random.RandomState(4).permutation(8)
    other = quick(groups=LABELS[moved]).fit(X[:, moved], y)
    np.testing.assert_array_equal(other.scores_, found.scores_[moved])
    assert other.group_order_.tolist() == found.group_order_.tolist()


# Which groups and columns take part


def test_constant_columns_and_copies_change_nothing_in_a_group():
    X, y = make_data()
    plain = quick(groups=LABELS).fit(X, y)
    table = np.column_stack([X, np.full(60, 3.0), X[:, 2], X[:, 0], np.full(60, 7.0)])
    found = quick(groups=[*LABELS, "u", "u", "u", "constant"]).fit(table, y)
    np.testing.assert_array_equal(found.scores_, [*plain.scores_, *plain.scores_[[0, 0, 0]], np.nan])
    for run in (plain, found):
        for label, columns in zip("uvwt", run.group_columns_, strict=False):
            np.testing.assert_array_equal(np.sort(columns), np.flatnonzero(label == LABELS))
    assert found.group_columns_[4].size == 0


def test_a_column_that_two_groups_hold_counts_once_where_both_are_drawn():
    X, y = make_data()
    table = np.column_stack([X[:, :3], X[:, 0]])
    pool, used = choose_groups(table, y, None, [np.array([0, 1]), np.array([2, 3])])
    assert sorted(pool.columns.tolist()) == [0, 1, 2]
    [(_, both)] = pool.groups.expand(np.array([[0, 1]]))
    assert sorted(pool.columns[both[0]].tolist()) == [0, 0, 1, 2]
    assert [sorted(each.tolist()) for each in used] == [[0, 1], [2, 3]]


def test_of_groups_that_are_copies_the_first_takes_part():
    X, y = make_data()
    found = quick(groups=[*LABELS, "x", "y", "x"]).fit(np.column_stack([X, X[:, 5], X[:, 1], X[:, 3]]), y)
    plain = quick(groups=LABELS).fit(X, y)
    np.testing.assert_array_equal(found.probability_, [*plain.probability_, 0.0, 0.0])
    assert np.isnan(found.scores_[8:]).all()


def test_a_group_takes_part_as_a_whole_where_any_of_its_columns_is_preselected():
    X, y = make_data(n_samples=200)
    kept = FisherScore(stop=2).fit(X, y).get_support(indices=True)
    assert kept.tolist() == [0, 1]
    found = quick(preselect=2, groups=LABELS).fit(X, y)
    np.testing.assert_array_equal(np.isnan(found.scores_), ~np.isin(LABELS, ["u", "v"]))
    assert [each.size for each in found.group_columns_] == [3, 1, 0, 0]
    only = np.isin(LABELS, ["u", "v"])
    alone = quick(groups=LABELS[only]).fit(X[:, only], y)
    np.testing.assert_array_equal(found.probability_[:2], alone.probability_)


def test_two_ways_to_group_columns_are_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="group_correlation finds that in the data: give one of them"):
        quick(groups=LABELS, group_correlation=0.9).fit(X, y)


# Runs that are interrupted


def test_an_interrupted_run_on_groups_ends_as_one_that_was_not(tmp_path, monkeypatch):
    X, y = make_data()
    run = quick(groups=LABELS, null_control=True)
    expected = clone(run).fit(X, y)
    run.set_params(checkpoint=tmp_path / "state")
    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)
    save, saves = _checkpoint.Checkpoint.save, []

    def save_and_stop(self, state):
        save(self, state)
        saves.append(self.path)
        if len(saves) == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save_and_stop)
    with pytest.raises(KeyboardInterrupt):
        run.fit(X, y)
    identical(run.fit(X, y), expected)


def test_the_state_of_a_run_on_other_groups_is_refused(tmp_path, monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(_checkpoint.Checkpoint, "discard", lambda self: None)
    for place, first, other in (("groups", LABELS, LABELS[::-1]), ("no groups", LABELS, None), ("none", None, LABELS)):
        run = quick(groups=first, checkpoint=tmp_path / place)
        found = run.fit(X, y)
        with pytest.raises(ValueError, match=r"another run \(groups differ\)"):
            clone(run).set_params(groups=other).fit(X, y)
        if first is not None:
            mapping = {label: np.flatnonzero(label == LABELS).tolist() for label in "uvwt"}
            identical(clone(run).set_params(groups=mapping).fit(X, y), found)
