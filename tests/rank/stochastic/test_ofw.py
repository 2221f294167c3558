"""Optimal Feature Weighting finds what matters, says how sure that is, and repeats itself."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from tamis import OFW, CorrelationScore, FisherScore, RandomSelection
from tamis.datasets import make_ternary
from tamis.kernels.arrays.entropy import effective_number
from tamis.rank import _checkpoint
from tamis.rank.stochastic import GradientDescent, SubsetEvaluation, SubsetNeighbors, SubsetTree, _energy, _search
from tamis.rank.stochastic._energy import Splitter
from tamis.rank.stochastic._gradient_descent import METHODS
from tamis.stop import CrossValidation, MonteCarloProbe
from tamis.testing.checks import make_data, same
from tests.oracles import feature_weighting as oracle


def quick(estimator="ridge", *, descent=None, **parameters):
    """A run that is over soon: it converges after 40 steps at the earliest, and is not asked for much."""
    method = GradientDescent(**{"mu": 2, **(descent or {})})
    defaults = {"subset_size": 2, "n_subsets": 20, "method": method, "tol": 0.8, "random_state": 0}
    return OFW(estimator, **{**defaults, **parameters})


def identical(one, other):
    """Both runs found the same, to the last digit, all along."""
    np.testing.assert_array_equal(one.probability_, other.probability_)
    np.testing.assert_array_equal(one.order_, other.order_)
    assert one.energy_ == other.energy_
    for name in one.history_:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])
    assert hasattr(one, "null_energy_") == hasattr(other, "null_energy_")
    if hasattr(one, "null_energy_"):
        assert one.null_energy_ == other.null_energy_
        np.testing.assert_array_equal(one.null_history_["energy"], other.null_history_["energy"])


# What is found


@pytest.mark.parametrize("method", METHODS)
def test_the_features_that_matter_get_the_weight(method):
    X, y = make_data(n_samples=90)
    found = OFW(method=method, subset_size=2, n_subsets=30, random_state=0).fit(X, y)
    assert found.probability_[:2].sum() >= 0.9
    assert found.order_[:2].tolist() == [0, 1]
    assert found.energy_ < 0.8 * found.history_["energy"][0]


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        ("tree", {"n_subsets": 50}),
        ("ridge", {}),
        ("svm", {"n_subsets": 50}),
        (SubsetNeighbors(n_neighbors=3, metric="hamming"), {"evaluation": SubsetEvaluation(80, test="out-of-bag")}),
    ],
    ids=["tree", "ridge", "svm", "hamming"],
)
def test_nine_of_a_hundred_ternary_features_get_nearly_all_the_weight(estimator, parameters):
    X, y = make_ternary(random_state=0)
    found = OFW(estimator, subset_size=3, standardize=False, random_state=0, **parameters).fit(X, y)
    assert found.probability_[:9].sum() >= 0.95
    assert found.certificate_["converged"]


def test_the_exact_search_ends_where_no_feature_can_gain(monkeypatch):
    """Optimality over the simplex: slopes of kept features are equal, k times the energy, and others are no smaller."""
    posed = []

    class Remembered(_search.ExactEnergy):
        def evaluate(self, probability, rng):
            posed[:] = [self, probability]
            return super().evaluate(probability, rng)

    monkeypatch.setattr(_search, "ExactEnergy", Remembered)
    X, y = make_data(n_samples=90, n_features=5)
    found = OFW("tree", method="exact", subset_size=2, tol=1e-4, max_iter=3000, random_state=0).fit(X, y)
    problem, probability = posed  # its own columns, in an order of their own
    order = np.argsort(np.argsort(probability))  # the last step moved them a little, and changed no order
    probability = np.sort(found.probability_)[order]
    errors = dict(zip(problem.draws.sets, problem.errors, strict=True))

    def error(draw):
        return errors[tuple(sorted(set(draw)))]

    slopes = np.array([oracle.partial_derivative(probability, error, 2, j) for j in range(5)])
    energy = oracle.energy(probability, error, 2)
    assert found.history_["energy"][-1] == pytest.approx(energy, abs=1e-4), "of the step before"
    assert np.all(slopes >= 2 * energy - 1e-3)
    np.testing.assert_allclose(slopes[probability > 0.01], 2 * energy, atol=1e-3)
    assert np.all(np.diff(found.history_["energy"]) <= 1e-12)


def test_the_weights_are_a_probability_and_so_are_those_on_the_way():
    X, y = make_data()
    found = quick().fit(X, y)
    assert found.probability_.sum() == pytest.approx(1)
    assert found.effective_number_ == pytest.approx(effective_number(found.probability_))
    assert found.history_["effective_number"][-1] == found.effective_number_
    np.testing.assert_array_equal(found.scores_, np.where(found.probability_ > 0, found.probability_, np.nan))
    history = found.history_
    assert history["energy"].shape == history["effective_number"].shape == (found.n_iter_,)
    assert history["probability"].shape == (history["iteration"].size, 8)
    np.testing.assert_allclose(history["probability"].sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(history["probability"][0], 1 / 8)
    assert history["iteration"][0] == 0
    assert np.all(np.diff(history["iteration"]) > 0)
    np.testing.assert_allclose(history["probability"][-1], found.probability_, rtol=1e-6)  # in single precision


def test_the_error_that_is_reported_is_that_of_fresh_draws():
    """Subsets of one feature from a probability that has all but settled on the first: a stump's error on it."""
    rng = np.random.RandomState(0)
    y = np.arange(400) % 2
    X = rng.standard_normal((400, 4))
    X[:, 0] += 2.0 * y
    found = OFW(SubsetTree(max_depth=1), subset_size=1, random_state=0).fit(X, y)
    stump = DecisionTreeClassifier(max_depth=1).fit(X[:, :1], y)
    assert found.probability_[0] > 0.99
    assert found.energy_ == pytest.approx(1 - stump.score(X[:, :1], y), abs=0.05)


# Runs that end early, and steps that are projected


def test_steps_that_lead_outside_are_counted():
    X, y = make_data()
    found = quick(descent={"method": "euclidean", "learning_rate": 50.0}, tol=1.0, max_iter=40).fit(X, y)
    assert found.certificate_["n_projections"] > 0
    assert found.probability_.sum() == pytest.approx(1)
    assert quick(descent={"learning_rate": 50.0}, tol=1.0).fit(X, y).certificate_["n_projections"] == 0


def test_a_run_that_is_cut_short_warns_and_says_so():
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match="after 62 steps.*tol=0.*raise max_iter=62"):
        found = quick(max_iter=62, descent={"mu": 3}, tol=0.0).fit(X, y)
    assert not found.certificate_["converged"]
    assert found.certificate_["n_iter"] == found.n_iter_ == found.history_["energy"].size == 62


def test_too_few_steps_to_tell_are_named():
    with pytest.warns(ConvergenceWarning, match="max_iter=12 is below 20 mu"):
        quick(max_iter=12, descent={"mu": 10}).fit(*make_data())


def test_a_regressor_is_refused():
    with pytest.raises(ValueError, match="is no classifier"):
        quick(LinearRegression()).fit(*make_data())


def test_a_run_with_a_free_seed_goes_on_with_the_size_that_was_chosen(tmp_path, monkeypatch):
    X, y = make_data()
    place = tmp_path / "state"
    options = {"subset_size": [1, 2, 4, 6], "tol": 1.0, "random_state": None, "checkpoint": place}
    with monkeypatch.context() as patch:
        patch.setattr(_checkpoint.Checkpoint, "discard", lambda self: None)
        first = quick(**options).fit(X, y)
    again = quick(**options).fit(X, y)
    assert again.subset_size_errors_ == first.subset_size_errors_
    assert again.subset_size_ == first.subset_size_
    np.testing.assert_array_equal(again.probability_, first.probability_)
    assert not place.exists()


# Classes


def test_support_vector_machines_judge_one_against_all_and_others_all_at_once(monkeypatch):
    seen = []

    def spy(*arguments, **options):
        seen.append(options["one_vs_all"])
        return Splitter(*arguments, **options)

    monkeypatch.setattr(_energy, "Splitter", spy)
    X, y = make_data()
    for target in (y, y > 0):
        for parameters in (("svm", "auto"), ("ridge", "auto"), ("svm", "native"), ("ridge", "ovr")):
            quick(parameters[0], evaluation=SubsetEvaluation(multiclass=parameters[1])).fit(X, target)
    assert seen == [True, False, False, True, False, False, False, False]


# The same result, however it is computed

TREE = DecisionTreeClassifier(max_features=1, max_depth=2)


def test_the_number_of_workers_changes_nothing_for_a_classifier_that_draws():
    X, y = make_data()
    one, two = (quick(TREE, n_subsets=6, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    identical(one, two)


def test_a_dask_cluster_gives_the_same_result():
    distributed = pytest.importorskip("distributed", reason="the extra scale brings distributed")
    X, y = make_data()
    method = quick(TREE, n_subsets=4, tol=1.0)
    expected = clone(method).fit(X, y)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster), parallel_config("dask"):
        before = cluster.scheduler.transition_counter
        found = clone(method).fit(X, y)
        assert cluster.scheduler.transition_counter > before, "the workers were asked"
    identical(found, expected)


@pytest.mark.parametrize("estimator", ["svm", "ridge", "neighbors", "tree", TREE], ids=str)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_tables_give_the_same_when_nothing_is_scaled(estimator, kind):
    X, y = make_data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    method = quick(estimator, standardize=False, evaluation="out-of-bag", n_subsets=8)
    same(clone(method).fit(kind(X), y), clone(method).fit(X, y))


@pytest.mark.parametrize("estimator", ["svm", TREE], ids=str)
def test_a_sparse_table_is_never_made_dense_as_a_whole(estimator, monkeypatch):
    rng = np.random.RandomState(0)
    X = sparse.random_array((40, 600), density=0.1, rng=rng, format="csr")
    y = np.arange(40) % 2
    widths = []
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix):
        dense = kind.toarray
        monkeypatch.setattr(kind, "toarray", lambda self, *a, _f=dense: widths.append(self.shape[1]) or _f(self, *a))
    quick(estimator, subset_size=3, n_subsets=5).fit(X, y)
    assert 0 < max(widths) <= 15


# Runs that are interrupted

RUN = """
import time, numpy as np
import tamis.rank._checkpoint as checkpoint
from tamis import OFW
from tamis.rank.stochastic import GradientDescent
from tamis.testing.checks import make_data
checkpoint._SECONDS = 0.0
save = checkpoint.Checkpoint.save
def slowly(self, state):
    save(self, state)
    print(self.path, flush=True)
    time.sleep(0.01)
checkpoint.Checkpoint.save = slowly
OFW("ridge", subset_size=2, n_subsets=20, tol=0.8, random_state=0, method=GradientDescent({method!r}, mu=2),
    null_control=True, checkpoint={path!r}).fit(*make_data())
"""


@pytest.mark.parametrize("phase", ["first", "second"])
def test_a_run_that_was_killed_goes_on_to_the_same_result(phase, tmp_path):
    path = tmp_path / "state.npz"
    X, y = make_data()
    method = quick(descent={"method": "diffusion"}, null_control=True)
    expected = clone(method).fit(X, y)
    assert expected.n_iter_ >= 20
    script = RUN.format(path=str(path), method="diffusion")
    running = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    places = {"first": f"{path}\n", "second": f"{path}.null\n"}
    saved = 0
    while saved < 10:
        line = running.stdout.readline()
        assert line in places.values()
        saved += line == places[phase]
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    assert path.exists()
    assert path.with_name("state.npz.null").exists() == (phase == "second")
    identical(clone(method).set_params(checkpoint=path).fit(X, y), expected)
    assert os.listdir(tmp_path) == []


def interrupt(monkeypatch, place, after):
    """Stop as a user would, once the file at a place was written a number of times."""
    monkeypatch.setattr(_checkpoint, "_SECONDS", 0.0)
    save, saves = _checkpoint.Checkpoint.save, []

    def save_and_stop(self, state):
        save(self, state)
        saves.append(str(self.path))
        if saves[-1] == str(place) and saves.count(saves[-1]) == after:
            raise KeyboardInterrupt

    monkeypatch.setattr(_checkpoint.Checkpoint, "save", save_and_stop)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("suffix", ["", ".null"])
def test_an_interrupted_run_ends_as_one_that_was_not(method, suffix, tmp_path, monkeypatch):
    X, y = make_data()
    run = quick(descent={"method": method}, null_control=True)
    expected = clone(run).fit(X, y)
    run.set_params(checkpoint=tmp_path / "state")
    interrupt(monkeypatch, f"{run.checkpoint}{suffix}", 7)
    with pytest.raises(KeyboardInterrupt):
        run.fit(X, y)
    identical(run.fit(X, y), expected)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", ["", ".null"])
def test_an_interrupted_run_without_a_seed_goes_on_with_the_one_it_drew(suffix, tmp_path, monkeypatch):
    X, y = make_data()
    run = quick(null_control=True, checkpoint=tmp_path / "state", random_state=np.random.RandomState(5))
    seed = np.random.RandomState(5)
    expected = quick(null_control=True, random_state=seed).fit(X, y)
    interrupt(monkeypatch, f"{run.checkpoint}{suffix}", 7)
    with pytest.raises(KeyboardInterrupt):
        run.fit(X, y)
    identical(run.fit(X, y), expected)


def test_the_state_of_another_run_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "state"
    X, y = make_data()
    run = quick(checkpoint=path)
    path.write_bytes(b"no state")
    with pytest.raises(ValueError, match="is no state of a training run"):
        run.fit(X, y)
    path.unlink()
    monkeypatch.setattr(_checkpoint.Checkpoint, "discard", lambda self: None)
    run.fit(X, y)
    with pytest.raises(ValueError, match=r"another run \(X differ\)"):
        run.fit(X + 1.0, y)
    with pytest.raises(ValueError, match=r"\(y differ\)"):
        run.fit(X, y[::-1])
    for name, value in [
        ("subset_size", 3),
        ("estimator", "tree"),
        ("method__method", "riemannian"),
        ("method__decay", 7.0),
        ("evaluation", SubsetEvaluation(balanced=True)),
        ("random_state", 1),
    ]:
        differs = "balanced" if name == "evaluation" else name.removeprefix("method__")
        with pytest.raises(ValueError, match=rf"\({differs} differ\)"):
            clone(run).set_params(**{name: value}).fit(X, y)
    identical(clone(run).set_params(n_jobs=2, stop=1).fit(X, y), run.fit(X, y))


def test_a_checkpoint_that_cannot_be_written_is_refused_at_once(tmp_path):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"checkpoint=.* there is no folder .*nowhere"):
        quick(checkpoint=tmp_path / "nowhere" / "state").fit(X, y)
    with pytest.raises(ValueError, match=r"checkpoint=.* is a folder"):
        quick(checkpoint=tmp_path).fit(X, y)


# When there is nothing to find


def test_permuted_labels_tell_signal_from_noise():
    X, y = make_data(n_samples=90)
    found = OFW("ridge", subset_size=2, n_subsets=30, null_control=True, random_state=0).fit(X, y)
    assert found.energy_ < found.null_energy_ - 0.2
    assert set(found.null_history_) == set(found.history_)
    plain = OFW("ridge", subset_size=2, n_subsets=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.probability_, found.probability_)
    assert not hasattr(plain, "null_energy_")


def test_noise_of_few_rows_and_many_columns_does_no_better_than_permuted_labels():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((24, 300)), np.arange(24) % 2
    found = OFW("ridge", subset_size=10, n_subsets=50, null_control=3, random_state=0).fit(X, y)
    start = found.history_["energy"][:10].mean()
    assert found.energy_ < start - 0.05, "the error falls, though there is nothing to learn"
    assert found.null_energies_.shape == (3,)
    assert found.null_energy_ == pytest.approx(found.null_energies_.mean())
    assert found.null_energy_ < start - 0.05
    assert found.energy_ > found.null_energies_.min() - 0.5 * (start - found.null_energies_.min())


# Which columns take part


@pytest.mark.parametrize(
    ("preselect", "kept"),
    [
        (3, None),
        (100, list(range(8))),
        (0.2, [0, 1]),
        (SelectKBest(k=2), [0, 1]),
        (FisherScore(stop=2), [0, 1]),
        (VarianceThreshold(), list(range(8))),
    ],
    ids=str,
)
def test_only_preselected_features_take_part(preselect, kept):
    X, y = make_data(n_samples=200)
    if kept is None:
        kept = FisherScore(stop=preselect).fit(X, y).get_support(indices=True)
    found = quick(preselect=preselect).fit(X, y)
    assert set(found.order_) <= set(kept)
    np.testing.assert_allclose(found.history_["probability"][0][kept], 1 / len(kept))
    assert found.probability_[np.setdiff1d(np.arange(8), kept)].sum() == 0
    assert np.isnan(found.scores_[np.setdiff1d(np.arange(8), kept)]).all()


def test_a_threshold_is_held_against_the_fisher_score_of_two_classes_as_the_paper_defines_it():
    X, y = make_data(n_samples=200)
    scores = FisherScore(form="unbiased").fit(X, y > 0).scores_
    limit = float(np.sort(scores)[4:6].mean())
    found = quick(preselect=limit).fit(X, y > 0)
    np.testing.assert_array_equal(np.flatnonzero(found.history_["probability"][0]), np.flatnonzero(scores > limit))


def test_a_preselection_that_keeps_nothing_is_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match=r"preselect=1000.0: no feature has a Fisher score above it; lower it"):
        quick(preselect=1000.0).fit(X, y)
    nothing = CorrelationScore(stop=MonteCarloProbe(0.01, n_draws=99, random_state=0))
    noise = np.random.RandomState(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="keeps no feature: there is nothing to weigh"):
        quick(preselect=nothing).fit(noise, np.arange(30) % 2)


def test_near_copies_share_one_weight_that_is_reported_once():
    X, y = make_data(n_samples=90)
    noise = 1e-3 * np.random.RandomState(1).standard_normal(90)
    table = np.column_stack([X, -2.0 * X[:, 0] + noise, X[:, 5] + noise, np.full(90, 2.0)])
    found = quick(group_correlation=0.95).fit(table, y)
    leaders = found.group_of_
    assert leaders[0] == leaders[8]
    assert leaders[5] == leaders[9]
    alone = [1, 2, 3, 4, 6, 7, 10]
    np.testing.assert_array_equal(leaders[alone], alone)
    np.testing.assert_array_equal(leaders[leaders], leaders)
    best = FisherScore().fit(table[:, :10], y).scores_
    assert leaders[0] == (0 if best[0] >= best[8] else 8)
    led = np.flatnonzero(leaders != np.arange(11))
    assert found.probability_[led].sum() == 0
    assert not np.isin(led, found.order_).any()
    assert found.order_[0] == leaders[0]
    np.testing.assert_allclose(found.history_["probability"][0][np.unique(leaders[:10])], 1 / 8)


def test_without_near_copies_grouping_changes_nothing():
    X, y = make_data()
    grouped = quick(group_correlation=0.99).fit(X, y)
    np.testing.assert_array_equal(grouped.group_of_, np.arange(8))
    identical(grouped, quick().fit(X, y))
    assert not hasattr(quick().fit(X, y), "group_of_")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_copies_and_constant_columns_never_take_part(kind):
    X, y = make_data()
    table = np.column_stack([np.full(60, 3.0), X, X[:, 0], X[:, 0], X[:, 4]])
    found = quick(standardize=False).fit(kind(table), y)
    plain = quick(standardize=False).fit(kind(X), y)
    np.testing.assert_array_equal(found.probability_[1:9], plain.probability_)
    assert np.isnan(found.scores_[[0, 9, 10, 11]]).all()


# Features per subset


def test_of_several_sizes_the_one_with_the_least_held_out_error_is_chosen():
    """Two features that say nothing alone: subsets of one learn nothing."""
    rng = np.random.RandomState(0)
    X = rng.choice([-1.0, 1.0], (120, 4)) + 0.2 * rng.standard_normal((120, 4))
    y = X[:, 0] * X[:, 1] > 0
    found = quick(SubsetTree(max_depth=3), subset_size=[4, 1, 4], tol=1.0).fit(X, y)
    assert list(found.subset_size_errors_) == [1, 4]
    assert found.subset_size_errors_[1] > 0.35
    assert found.subset_size_errors_[4] < 0.2
    assert found.subset_size_ == 4
    assert not hasattr(quick(subset_size=3).fit(X, y), "subset_size_errors_")


def test_the_size_is_chosen_alike_by_any_number_of_workers():
    X, y = make_data()
    one, two = (quick(subset_size=(1, 3), tol=1.0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.subset_size_errors_ == two.subset_size_errors_
    identical(one, two)


@pytest.mark.parametrize(("given", "used"), [("sqrt", 3), (1, 1), (8, 8), (100, 8), (np.int64(2), 2)])
def test_the_size_is_the_root_of_the_number_of_features_or_given(given, used):
    X, y = make_data()
    assert quick(subset_size=given).fit(X, y).subset_size_ == used


@pytest.mark.parametrize(("n_features", "used"), [(1, 1), (2, 2), (4, 2), (5, 3)])
def test_two_features_are_looked_at_together(n_features, used):
    """Classes side by side along one feature cannot be told apart by planes."""
    X, y = make_data(n_features=8)
    assert quick(subset_size="sqrt").fit(X[:, :n_features], y).subset_size_ == used


# What is refused


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"subset_size": []}, r"subset_size=\[\] must hold whole numbers"),
        ({"subset_size": [0, 2]}, r"subset_size=\[0, 2\] must hold whole numbers of features, at least 1"),
        ({"subset_size": [1.5]}, r"subset_size=\[1.5\] must hold"),
        ({"subset_size": "log"}, "'subset_size' parameter of OFW"),
        ({"estimator": "forest"}, "'estimator' parameter of OFW"),
        ({"estimator": VarianceThreshold()}, "'estimator' parameter of OFW"),
        ({"method": "newton"}, "'method' parameter of OFW"),
        ({"n_subsets": 1}, "'n_subsets' parameter of OFW"),
        ({"evaluation": SubsetEvaluation(2)}, "train_size=2 rows cannot hold 3 classes: raise it"),
        ({"evaluation": SubsetEvaluation(1.5)}, "'train_size' parameter of SubsetEvaluation"),
        ({"evaluation": "holdout"}, "'evaluation' parameter of OFW"),
        ({"preselect": 0}, "'preselect' parameter of OFW"),
        ({"group_correlation": 1.1}, "'group_correlation' parameter of OFW"),
        ({"descent": {"mu": 1}}, "'mu' parameter of GradientDescent"),
        ({"descent": {"learning_rate": 0.0}}, "'learning_rate' parameter of GradientDescent"),
        ({"descent": {"method": "newton"}}, "'method' parameter of GradientDescent"),
        ({"stop": "no-rule"}, "stop='no-rule' is no stopping rule"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named(parameters, words):
    X, y = make_data()
    with pytest.raises(ValueError, match=words):
        quick(**parameters).fit(X, y)


def test_targets_that_are_no_classes_are_refused():
    X, y = make_data()
    with pytest.raises(ValueError, match="continuous"):
        quick().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"one class only \(1\)"):
        quick().fit(X, np.ones(60, dtype=int))
    with pytest.raises(ValueError, match="a class has a single row, so that subset_size cannot be cross-validated"):
        quick(subset_size=[1, 2]).fit(X, np.append(7, y[1:]))
    assert quick().fit(X, np.append(7, y[1:])).classes_.tolist() == [0, 1, 2, 7]


def test_an_exact_search_over_too_many_draws_is_refused():
    X, y = make_data(n_features=60)
    with pytest.raises(ValueError, match=r"method='exact' would look at .* draws of 5 out of 60 features"):
        quick(descent={"method": "exact"}, subset_size=5).fit(X, y)


# Together with the rest


def test_it_serves_in_a_pipeline_whose_subset_size_is_searched_for():
    X, y = make_data()
    pipeline = make_pipeline(quick(tol=1.0), LogisticRegression())
    searched = GridSearchCV(pipeline, {"ofw__subset_size": [1, 3]}, cv=2).fit(X, y)
    assert searched.best_estimator_[0].subset_size_ == searched.best_params_["ofw__subset_size"]
    assert searched.score(X, y) > 0.7


def test_tables_keep_their_names():
    pandas = pytest.importorskip("pandas")
    X, y = make_data()
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    found = quick(stop=2).set_output(transform="pandas").fit(frame, np.array(["p", "q", "r"])[y])
    assert found.transform(frame).columns.tolist() == ["a", "b"]
    assert found.classes_.tolist() == ["p", "q", "r"]


@pytest.mark.parametrize(
    "stop",
    [MonteCarloProbe(0.2, n_draws=4, random_state=0), CrossValidation(LogisticRegression(), cv=2), "effective-number"],
    ids=lambda stop: type(stop).__name__,
)
def test_any_rule_cuts_the_ranking(stop):
    X, y = make_data()
    found = quick(stop=stop, tol=1.0).fit(X, y)
    assert found.support_[0]
    assert found.stop_.reason


def test_a_ranker_that_draws_may_preselect():
    X, y = make_data()
    found = quick(preselect=RandomSelection(stop=5, random_state=3)).fit(X, y)
    assert set(found.order_) <= set(RandomSelection(stop=5, random_state=3).fit(X, y).get_support(indices=True))


# What users once stumbled over


def test_units_and_offsets_of_columns_do_not_matter():
    X, y = make_data()
    scale = 10.0 ** np.arange(-3, 5)
    plain, other = (quick(tol=0.3).fit(table, y) for table in (X, X * scale + 3 * scale))
    np.testing.assert_allclose(other.probability_, plain.probability_, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_unit_of_the_whole_table_does_not_matter(factor):
    X, y = make_data()
    np.testing.assert_allclose(
        quick("svm").fit(X * factor, y).probability_, quick("svm").fit(X, y).probability_, rtol=1e-6
    )


def test_machines_bear_large_numbers_where_nothing_is_standardized():
    X, y = make_data()
    found = quick("svm", standardize=False).fit(X * 1e8, y)
    assert found.order_[0] == 0


def test_a_classifier_that_fails_is_named_with_what_it_was_given():
    X, y = make_data(n_samples=30)
    rare = np.where(np.arange(30) < 2, 7, y)
    with pytest.raises(ValueError, match=r"QuadraticDiscriminantAnalysis failed on 6 rows.*Raise train_size"):
        quick(QuadraticDiscriminantAnalysis(), evaluation=SubsetEvaluation(6)).fit(X, rare)


@pytest.mark.parametrize("estimator", [KMeans(), OneClassSVM()])
def test_what_is_no_classifier_is_refused(estimator):
    with pytest.raises(ValueError, match="is no classifier"):
        quick(estimator).fit(*make_data())


def test_sizes_beyond_the_number_of_columns_are_one_size():
    X, y = make_data()
    found = quick(subset_size=range(6, 12), tol=1.0).fit(X, y)
    assert set(found.subset_size_errors_) == {6, 7, 8}


def test_the_energy_is_judged_on_draws_that_the_search_has_not_seen(monkeypatch):
    drawn = []
    draw = Splitter.draw

    def remember(self, rng):
        split = draw(self, rng)
        drawn.append(split.train.tolist())
        return split

    monkeypatch.setattr(Splitter, "draw", remember)
    found = quick(max_iter=40, descent={"learning_rate": 1.0}).fit(*make_data())
    searched, judged = drawn[: found.n_iter_], drawn[found.n_iter_ :]
    assert len(judged) == _search._FINAL_BATCHES
    assert not any(rows in searched for rows in judged)


# Many rows and many classes


def test_a_step_learns_from_few_of_many_rows_and_the_reason_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 6))
    y = (X[:, 1] + X[:, 4] > 0).astype(int)
    found = quick("ridge", stop=2, tol=0.3).fit(X, y)
    assert sorted(found.order_[:2].tolist()) == [1, 4]
    assert "each step learned from 1000 of 2500 rows" in found.stop_.reason
    assert "each step" not in quick("ridge", stop=2).fit(X[:200], y[:200]).stop_.reason


@pytest.mark.parametrize(("n_classes", "learner"), [(2, "svm"), (3, "ridge"), (10, "ridge")])
def test_ridge_takes_the_place_of_one_machine_per_class_where_there_are_more_than_two(n_classes, learner):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40 * n_classes, 4))
    y = np.arange(len(X)) % n_classes
    X[:, 2] += y
    identical(quick("auto").fit(X, y), quick(learner).fit(X, y))
