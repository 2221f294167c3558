"""What once misled AutoSelector, or ended its search: outputs, labels, folds, units and files of odd kinds."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, ShuffleSplit
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from tamis import AutoSelector
from tamis._sklearn import openmp_effective_n_threads
from tamis.base import NothingKeptWarning
from tamis.learn._portfolio import MODELS

LONG = 600.0
WITHOUT_MODELS = dict.fromkeys([entry.name for entry in MODELS])


def classes(n_rows=200, n_columns=6, share=0.5, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < share).astype(int)
    return rng.normal(size=(n_rows, n_columns)) + 0.8 * y[:, None] * (np.arange(n_columns) < 3), y


def quick(models="auto", **given):
    if isinstance(models, dict):
        models = WITHOUT_MODELS | models
    return AutoSelector(LONG, **{"rankers": ["fisher"], "models": models, "n_bootstraps": 100, **given})


class Odd(ClassifierMixin, BaseEstimator):
    """Its outputs are not what they should be."""

    def __init__(self, kind="columns"):
        self.kind = kind

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return {"columns": np.zeros((len(X), 2)), "short": np.zeros(len(X) - 1), "nan": np.full(len(X), np.nan)}[
            self.kind
        ]

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
@pytest.mark.parametrize("kind", ["columns", "short", "nan"])
def test_outputs_of_another_shape_are_failures_of_that_model_alone(kind, scoring):
    selector = quick({"odd": Odd(kind), "plain": LogisticRegression()}, scoring=scoring).fit(*classes())
    status = np.array(selector.results_["status"])
    is_odd = np.array(selector.results_["model"]) == "odd"
    assert set(status[is_odd]) == {"failed"}
    assert "complete" in status[~is_odd]
    assert all("predictions" in error for error in np.array(selector.results_["error"])[is_odd])


def test_models_whose_decisions_are_known_once_they_are_fitted_are_parted_too():
    stack = StackingClassifier([("lr", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))], cv=3)
    selector = quick({"stack": stack}).fit(*classes(800, share=0.07))
    others, labels = classes(4000, share=0.07, seed=1)
    assert selector.estimate_.low <= selector.score(others, labels) <= selector.estimate_.high


def test_models_are_given_labels_and_not_their_codes():
    X, y = classes(share=0.3)
    labels = np.array(["a", "b"])[y]
    weighted = LogisticRegression(class_weight={"a": 1, "b": 3})
    selector = quick({"weighted": weighted}).fit(X, labels)
    assert set(selector.results_["status"]) <= {"complete", "dropped"}
    assert set(selector.predict(X)) == {"a", "b"}


@pytest.mark.parametrize("cv", [LeaveOneOut(), ShuffleSplit(60, test_size=1, random_state=0)])
def test_a_single_row_does_not_drop_what_is_wrong_on_it(cv):
    X, y = classes(120)
    selector = quick(["ridge"], cv=cv).fit(X, y)
    assert np.mean(np.array(selector.results_["status"]) == "complete") > 0.3
    assert selector.n_features_ > 0


def test_folds_of_one_class_cannot_be_scored_by_areas():
    with pytest.raises(ValueError, match=r"scoring='roc_auc' compares rows .* cv=LeaveOneOut\(\) has a fold"):
        quick(["ridge"], cv=LeaveOneOut(), scoring="roc_auc").fit(*classes(60))


@pytest.mark.parametrize("n_rows", [60, 150, 301])
def test_guesses_that_rounding_lifts_are_guesses(n_rows):
    X, y = np.random.default_rng(0).normal(size=(n_rows, 3)), np.arange(n_rows) % 2
    with pytest.warns(NothingKeptWarning):
        assert quick({"guess": DummyClassifier()}).fit(X, y).n_features_ == 0


def test_units_in_which_squares_are_lost_are_refused_by_name():
    X, y = classes()
    X[:, 2] *= 1e-300
    with pytest.raises(ValueError, match=r"squares are lost to models, about 2\^-9\d\d, in 'x2': give"):
        quick(["ridge"]).fit(X, y)


def test_small_integers_are_learned_from_as_floats():
    rng = np.random.default_rng(0)
    X = rng.poisson(np.exp(rng.normal(size=(150, 8)))).clip(max=200)
    y = (X[:, 0] + X[:, 1] > 3).astype(int)
    for table in (X.astype(np.uint8), sparse.csr_array(X.astype(np.uint8))):
        small, usual = (quick(["logistic"]).fit(each, y) for each in (table, table.astype(float)))
        assert small.estimate_ == usual.estimate_
        assert np.array_equal(small.decision_function(table), usual.decision_function(table.astype(float)))
        assert "failed" not in small.results_["status"]


def test_fractions_and_bytes_as_classes_are_refused_before_the_search():
    X, y = classes()
    with pytest.raises(ValueError, match="y holds fractions as classes: give them as text"):
        quick(["ridge"]).fit(X, y * 0.5)
    with pytest.raises(ValueError, match="y holds bytes: give labels as text"):
        quick(["ridge"]).fit(X, np.array([b"no", b"yes"], dtype=object)[y])


def test_an_area_takes_no_class_that_fit_did_not_see():
    X, y = load_breast_cancer(return_X_y=True)
    selector = quick(["ridge"], scoring="roc_auc").fit(X, y)
    with pytest.raises(ValueError, match="a class that fit did not see: 7"):
        selector.score(X, np.r_[7, y[1:]])


class Masked(LogisticRegression):
    """Two of them that their own text does not tell apart."""

    def __init__(self, mask=None):
        super().__init__()
        self.mask = mask


def test_a_checkpoint_is_not_taken_for_one_of_another_model(tmp_path, monkeypatch):
    from tamis.learn import _race_file

    path = tmp_path / "race.npz"
    monkeypatch.setattr(_race_file.RaceFile, "discard", lambda self: None)
    one, other = np.ones(5000), np.ones(5000)
    other[2500] = -1.0
    quick({"mine": Masked(one)}, checkpoint=path).fit(*classes())
    quick({"mine": Masked(one)}, checkpoint=path).fit(*classes())
    with pytest.raises(ValueError, match="belongs to another run"):
        quick({"mine": Masked(other)}, checkpoint=path).fit(*classes())


def test_a_checkpoint_that_cannot_be_written_is_told_before_the_search_and_does_not_end_one(tmp_path, monkeypatch):
    from tamis.rank._checkpoint import Checkpoint

    def fail(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(Checkpoint, "write", fail)
    with pytest.raises(ValueError, match="checkpoint: no space left on device"):
        quick(["ridge"], checkpoint=tmp_path / "race.npz").fit(*classes())
    monkeypatch.undo()
    from tamis.learn._race_file import RaceFile

    begin = RaceFile.begin

    def begin_and_fill(self, *arguments):
        begin(self, *arguments)
        monkeypatch.setattr(Checkpoint, "write", fail)

    monkeypatch.setattr(RaceFile, "begin", begin_and_fill)
    with pytest.warns(UserWarning, match="checkpoint: no space left on device. The run goes on"):
        assert quick(["ridge"], checkpoint=tmp_path / "race.npz").fit(*classes()).n_features_ > 0


def test_columns_that_tell_no_row_from_another_are_not_kept_with_all_others():
    X, y = classes()
    table = {f"x{j}": column for j, column in enumerate(X.T)} | {"empty": np.full(200, np.nan), "same": np.ones(200)}
    selector = AutoSelector(LONG, rankers=[], models=["ridge"], n_bootstraps=50).fit(table, y)
    assert selector.get_feature_names_out().tolist() == [f"x{j}" for j in range(6)]
    assert "all but 'empty', 'same', which tell no row from another, are kept" in selector.reason_
    assert selector.predict(table).shape == (200,)


class CountsThreads(LogisticRegression):
    """A model that takes down how many threads of OpenMP it may use."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y):
        self.seen.append(openmp_effective_n_threads())
        return super().fit(X, y)


@pytest.mark.parametrize(("n_rows", "n_threads"), [(60, 1), (6000, 2)])
def test_fits_of_small_tables_wait_for_no_other_thread(n_rows, n_threads):
    X, y = classes(n_rows)
    CountsThreads.seen.clear()
    with threadpool_limits(2, user_api="openmp"):
        given = {"rankers": ["fisher"], "models": WITHOUT_MODELS | {"mine": CountsThreads()}, "n_bootstraps": 10}
        AutoSelector(20, **given).fit(X, y)
        assert openmp_effective_n_threads() == 2
    assert CountsThreads.seen[-1] == n_threads  # the fit to all rows
    assert n_threads == 2 or set(CountsThreads.seen) == {1}
