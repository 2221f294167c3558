"""InfiniteSVM on dictionaries without an end: what holds when a search ends, and what its certificate is worth."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tamis import InfiniteSVM
from tamis.datasets import make_motor_imagery
from tamis.dictionary import RBF, BandPass, BandPassCSP, Columns, Dictionary, Gabor, Parameter, Pool
from tamis.learn import _map_candidates as _candidates
from tests.oracles.hinge_fista import duality_gap, negative_gradients, objective, violation

# where the end of a search matters, its certificate is asked
pytestmark = pytest.mark.filterwarnings("ignore:InfiniteSVM ended:sklearn.exceptions.ConvergenceWarning")


class Wave(Dictionary):
    """Sine waves along a line: one parameter, so that all of them can be looked at."""

    def space(self):
        return (Parameter("frequency", 0.4, 12.0),)

    def compute(self, signals, parameters, learned=None):
        return np.sin(signals[:, :1] * parameters[:, 0])


class TwoWaves(Wave):
    """Sine and cosine."""

    n_columns = 2

    def compute(self, signals, parameters, learned=None):
        phase = signals[:, :1] * parameters[:, 0]
        return np.stack([np.sin(phase), np.cos(phase)], axis=2).reshape(len(signals), -1)


SWEEP = np.linspace(0.4, 12.0, 4001)[:, None]


def make_line(seed=0, n=80, n_classes=2):
    """Points of a line whose class follows a wave, with noise."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    score = np.sin(5 * X[:, 0]) + 0.8 * rng.standard_normal(n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def make_disk(seed=0, n=80, n_classes=2):
    """Points of the plane in rings around one that is not in the middle."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    score = np.linalg.norm(X - [1, 0], axis=1) + 0.2 * rng.standard_normal(n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def make_images(n=40, seed=0):
    """Waves of two angles in noise."""
    rng = np.random.RandomState(seed)
    row, column = np.indices((12, 12))
    y, phase = np.arange(n) % 2, rng.uniform(0, 2 * np.pi, size=(n, 1, 1))
    position = np.where(y[:, None, None] == 1, row, column)
    return np.cos(2 * np.pi * position / 4 + phase) + 1.5 * rng.standard_normal((n, 12, 12)), y


def encode(y):
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1.0, -1.0)
    return Y[:, 1:] if classes.size == 2 else Y


def problems(svm, Y):
    """Which targets are solved together."""
    return [slice(0, Y.shape[1])] if svm.share_features else [slice(k, k + 1) for k in range(Y.shape[1])]


def at_end(svm, X, y):
    """What the conditions need: columns, targets, weights, intercept, C and width, for every problem."""
    Z, Y, size = svm.transform(X), encode(y), svm.dictionary_.n_columns
    width = size if svm.penalty == "l1/l2" else 1
    ends = []
    for targets in problems(svm, Y):
        W = svm.coef_.T[:, targets]
        # a map of another class is no part of this problem
        mine = np.repeat(np.any(W.reshape(-1, size * W.shape[1]) != 0, axis=1), size)
        ends.append((Z[:, mine], Y[:, targets], W[mine], svm.intercept_[targets], svm.C_, width))
    return ends


def sweep(svm, X, y):
    """Norms of ``r`` of all waves."""
    F = svm.dictionary_.compute(X, SWEEP)
    Z = (F - F.mean(axis=0)) / F.std(axis=0)
    Y = encode(y)
    outputs = svm.decision_function(X).reshape(len(X), -1)
    signed_hinge = svm.C_ / len(X) * Y * np.maximum(0.0, 1.0 - Y * outputs)
    gradients = (Z.T @ signed_hinge).reshape(len(SWEEP), -1)
    return np.linalg.norm(gradients, axis=1)


# every end of a search


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("n_add", [1, 4])
@pytest.mark.parametrize(
    ("dictionary", "make", "penalty", "n_classes", "share_features"),
    [
        (Wave(), make_line, "l1/l2", 2, False),
        (RBF(), make_disk, "l1/l2", 2, False),
        (RBF(), make_disk, "l1", 3, False),
        (RBF(), make_disk, "l1/l2", 3, True),
        (TwoWaves(), make_line, "l1/l2", 2, False),
        (TwoWaves(), make_line, "l1/l2", 3, True),
        (TwoWaves(), make_line, "l1", 3, False),
    ],
)
def test_the_conditions_hold_on_the_active_set(dictionary, make, penalty, n_classes, share_features, n_add, refine):
    X, y = make(n_classes=n_classes)
    svm = InfiniteSVM(
        dictionary,
        penalty=penalty,
        share_features=share_features,
        n_add=n_add,
        refine=refine,
        n_candidates=30,
        max_rounds=25,
        tol=1e-2,
        random_state=0,
    )
    svm.fit(X, y)
    ends = at_end(svm, X, y)
    assert svm.importances_.size > 0
    for end in ends:
        assert violation(*end) <= svm.tol
    assert svm.certificate_["kkt_residual"] <= svm.tol
    np.testing.assert_allclose(svm.certificate_["objective"], sum(objective(*end) for end in ends), rtol=1e-9)
    values = np.array([r.objective for r in svm.history_])
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert np.all(np.diff([r.n_evaluations for r in svm.history_]) >= 30)
    assert svm.n_iter_ == len(svm.history_) <= 25


def test_a_search_that_may_not_end_says_so():
    X, y = make_disk()
    svm = InfiniteSVM(RBF(), C=100, max_rounds=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_rounds"):
        svm.fit(X, y)
    assert svm.n_iter_ == 1
    assert not svm.certificate_["converged"]
    assert svm.certificate_["violation_outside"] > 1
    assert svm.certificate_["gap"] > 0
    assert svm.certificate_["n_checked"] > 0


def test_a_finite_search_that_may_not_end_says_so():
    X, y = make_disk()
    svm = InfiniteSVM(Pool(RBF(), 50, random_state=0), C=100, max_rounds=1)
    with pytest.warns(ConvergenceWarning, match="max_rounds"):
        svm.fit(X, y)
    assert not svm.certificate_["converged"]


def test_a_search_that_found_its_end_says_so():
    found = 0
    for seed in range(10):
        X, y = make_line(seed)
        svm = InfiniteSVM(Wave(), C=10, tol=0.05, random_state=seed).fit(X, y)
        assert not svm.certificate_["exhaustive"]
        assert 0 < svm.certificate_["violating_share"] < 1
        assert svm.certificate_["converged"] == (svm.certificate_["violation_outside"] <= 1 + svm.tol)
        assert abs(svm.params_["frequency"][0] - 5) < 0.5
        found += svm.certificate_["converged"]
    assert found >= 5


def test_the_largest_pull_shrinks_from_more_than_one_to_about_one():
    X, y = make_disk()
    svm = InfiniteSVM(RBF(), tol=0.1, random_state=0).fit(X, y)
    assert svm.history_[0].violation > 1 + svm.tol
    assert svm.history_[-1].violation <= 1 + svm.tol
    assert svm.C_min_ < svm.C_


def test_refinement_lowers_the_objective_mostly():
    better = 0
    for seed in range(20):
        X, y = make_line(seed)
        svm = InfiniteSVM(Wave(), C=30, n_candidates=5, max_rounds=6, patience=6, random_state=seed)
        plain, refined = (clone(svm).set_params(refine=refine).fit(X, y) for refine in (False, True))
        better += refined.certificate_["objective"] <= plain.certificate_["objective"]
    assert better >= 14


# the certificate


def search_in_a_hurry(dictionary, seed):
    """A search that looks at little, all gradients at its end, and the objective of one that looks at much."""
    X, y = make_line(seed)
    hurried = InfiniteSVM(dictionary, C=40, n_candidates=20, refine=seed % 2 == 0, max_rounds=300, random_state=seed)
    thorough = InfiniteSVM(Pool(dictionary, parameters=SWEEP[::40]), C=40, tol=1e-4)
    hurried.fit(X, y)
    best = min(thorough.fit(X, y).certificate_["objective"], hurried.certificate_["objective"])
    return hurried, X, y, sweep(hurried, X, y), best


@pytest.fixture(scope="module")
def many_ends():
    return [search_in_a_hurry(Wave(), seed) for seed in range(30)]


def check_gap_of_all(svm, X, y, gradients, best):
    """Hinges shrunk until no wave is pulled by more than one are feasible for the dual, whatever was looked at."""
    hinge = np.maximum(0.0, 1.0 - encode(y) * svm.decision_function(X)[:, None])
    a = svm.C_ / len(X) * hinge / max(1.0, gradients.max())
    gap = svm.certificate_["objective"] - (a.sum() - len(X) / (2 * svm.C_) * np.sum(a**2))
    assert svm.certificate_["objective"] - best <= gap + 1e-6


def test_the_gap_with_the_largest_of_all_pulls_bounds_what_is_left_to_gain(many_ends):
    for end in many_ends:
        check_gap_of_all(*end)


def test_the_gap_is_a_bound_for_maps_of_two_columns_too():
    for seed in range(4):
        check_gap_of_all(*search_in_a_hurry(TwoWaves(), seed))


def test_the_share_of_violating_maps_is_mostly_below_its_bound(many_ends):
    missed = 0
    for svm, _, _, gradients, _ in many_ends:
        share = np.mean(gradients > svm.certificate_["violation_outside"] + 1e-9)  # draws are even over the sweep
        missed += share > svm.certificate_["violating_share"]
    assert missed <= 6  # of 30, where 1 or 2 are to be expected


def test_the_estimated_gap_mostly_bounds_what_is_left_to_gain(many_ends):
    missed = sum(
        svm.certificate_["objective"] - best > svm.certificate_["gap"] + 1e-3 * best for svm, _, _, _, best in many_ends
    )
    assert missed <= 10  # an estimate: no candidate that was looked at is beyond it


def test_violations_outside_are_not_above_the_largest_pull_there_is(many_ends):
    for svm, _, _, gradients, _ in many_ends:
        assert svm.certificate_["violation_outside"] <= gradients.max() + 0.01
        assert svm.certificate_["gap"] >= 0


def test_of_a_pool_the_gap_is_that_of_all_its_features():
    X, y = make_line()
    svm = InfiniteSVM(Pool(TwoWaves(), 60, random_state=0), C=40, max_rounds=4).fit(X, y)
    F = svm.dictionary_.compute(X, np.arange(120))
    Z, W = (F - F.mean(axis=0)) / F.std(axis=0), np.zeros((60, 2))
    W[svm.params_["index"]] = svm.coef_.reshape(-1, 2)
    end = (Z, encode(y), W.reshape(-1, 1), svm.intercept_, svm.C_, 2)
    np.testing.assert_allclose(svm.certificate_["gap"], duality_gap(*end), rtol=1e-5)
    gradients, _ = negative_gradients(*end)
    np.testing.assert_allclose(
        svm.certificate_["violation_outside"], np.linalg.norm(gradients, axis=(1, 2)).max(), rtol=1e-6
    )


def test_more_candidates_prove_more():
    X, y = make_line()
    few, many = (InfiniteSVM(Wave(), tol=0.1, n_candidates=n, random_state=0).fit(X, y) for n in (20, 200))
    assert many.certificate_["n_checked"] > few.certificate_["n_checked"]
    assert many.certificate_["violating_share"] < few.certificate_["violating_share"]


# the same whatever the way


@pytest.mark.parametrize("dictionary", [RBF(), TwoWaves()], ids=repr)
def test_the_same_seed_gives_the_same_machine_whatever_the_number_of_threads(dictionary, monkeypatch):
    monkeypatch.setattr(_candidates, "_BLOCK_NUMBERS", 80 * 16)  # several blocks of candidates per round
    X, y = make_disk()
    svm = InfiniteSVM(dictionary, tol=0.05, max_rounds=15, random_state=5)
    one, again, two = (clone(svm).set_params(n_jobs=jobs).fit(X, y) for jobs in (1, 1, 2))
    for other in (again, two):
        assert other.history_ == one.history_
        assert other.certificate_ == one.certificate_
        assert np.array_equal(other.coef_, one.coef_)
        for name, values in one.params_.items():
            assert np.array_equal(other.params_[name], values)


def test_blocks_of_candidates_change_nothing_but_rounding(monkeypatch):
    X, y = make_disk()
    whole = InfiniteSVM(RBF(), tol=0.05, max_rounds=10, random_state=5).fit(X, y)
    monkeypatch.setattr(_candidates, "_BLOCK_NUMBERS", 80 * 7)
    parts = InfiniteSVM(RBF(), tol=0.05, max_rounds=10, random_state=5).fit(X, y)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_another_seed_gives_another_machine_that_says_much_the_same():
    X, y = make_disk(n=150)
    one, two = (InfiniteSVM(RBF(), tol=0.05, random_state=seed).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(one.coef_, two.coef_)
    assert np.mean(one.predict(X) == two.predict(X)) > 0.9
    np.testing.assert_allclose(one.certificate_["objective"], two.certificate_["objective"], rtol=0.1)


@pytest.mark.parametrize(
    "dictionary", [Gabor(n_locations=3), Pool(Gabor(n_locations=3), 30, random_state=0)], ids=["drawn", "pool"]
)
def test_tensors_give_what_arrays_give(dictionary):
    torch = pytest.importorskip("torch")
    X, y = make_images()
    X = X.astype(np.float32)
    svm = InfiniteSVM(dictionary, C=10, tol=0.2, n_candidates=30, random_state=0)
    arrays, tensors = clone(svm).fit(X, y), clone(svm).fit(torch.as_tensor(X), torch.as_tensor(y))
    assert arrays.importances_.size > 0
    assert isinstance(tensors.coef_, np.ndarray)
    for name, values in arrays.params_.items():
        np.testing.assert_allclose(tensors.params_[name], values, rtol=1e-5)
    np.testing.assert_allclose(tensors.coef_, arrays.coef_, atol=1e-3)
    outputs = tensors.decision_function(torch.as_tensor(X))
    assert isinstance(outputs, np.ndarray)
    np.testing.assert_allclose(outputs, arrays.decision_function(X), atol=2e-3)
    np.testing.assert_allclose(tensors.decision_function(X), outputs, atol=2e-3)
    assert np.array_equal(tensors.predict(torch.as_tensor(X)), tensors.classes_[(outputs > 0).astype(int)])


def test_a_table_may_be_a_tensor():
    torch = pytest.importorskip("torch")
    X, y = make_disk()
    for dictionary in (Columns(), RBF()):
        svm = InfiniteSVM(dictionary, C=10, tol=0.1, random_state=0)
        arrays, tensors = clone(svm).fit(X, y), clone(svm).fit(torch.as_tensor(X), y)
        np.testing.assert_allclose(
            tensors.decision_function(torch.as_tensor(X)), arrays.decision_function(X), atol=1e-6
        )


def test_a_tensor_that_is_not_finite_is_refused():
    torch = pytest.importorskip("torch")
    X, y = make_images()
    X[7, 3, 3] = np.nan
    with pytest.raises(ValueError, match="7"):
        InfiniteSVM(Gabor(n_locations=3)).fit(torch.as_tensor(X), y)


# new signals


@pytest.fixture(scope="module")
def subject():
    return make_motor_imagery(80, n_channels=6, n_times=200, band=(10.0, 14.0), random_state=0)


@pytest.fixture(scope="module")
def machine(subject):
    dictionary = BandPassCSP(subject.sfreq, n_components=2)
    return InfiniteSVM(dictionary, C=10, tol=0.1, n_candidates=30, random_state=0).fit(subject.X[:50], subject.y[:50])


def test_features_of_the_training_signals_have_zero_mean_and_unit_variance(subject, machine):
    features = machine.transform(subject.X[:50])
    assert features.shape[1] == 2 * machine.importances_.size > 0
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(features.std(axis=0), 1.0, atol=1e-8)


def test_what_is_said_of_a_signal_does_not_depend_on_the_others(subject, machine):
    new = subject.X[50:]
    together = machine.decision_function(new)
    alone = np.concatenate([machine.decision_function(new[i : i + 1]) for i in range(len(new))])
    np.testing.assert_allclose(alone, together, atol=1e-8)
    np.testing.assert_allclose(machine.decision_function(new[::-1])[::-1], together, atol=1e-8)
    louder = np.concatenate([new[:5], 100 * new[5:]])
    np.testing.assert_allclose(machine.decision_function(louder)[:5], together[:5], atol=1e-8)
    assert machine.predict(new[:1]).shape == (1,)
    assert [stage.shape for stage in machine.staged_predict(new[:1])] == [(1,)] * machine.n_iter_


def test_predictions_leave_the_machine_as_it_is(subject, machine):
    before = machine.decision_function(subject.X[:50])
    machine.predict(subject.X[50:])
    assert np.array_equal(machine.decision_function(subject.X[:50]), before)


def test_bands_and_filters_are_found(subject, machine):
    assert machine.score(subject.X[50:], subject.y[50:]) > 0.6
    assert set(machine.params_) == {"low", "high"}
    assert np.all(machine.params_["high"] - machine.params_["low"] >= 2.0 - 1e-9)
    outputs = machine.transform(subject.X) @ machine.coef_[0] + machine.intercept_[0]
    np.testing.assert_allclose(machine.decision_function(subject.X), outputs)
    assert len(machine.get_feature_names_out()) == machine.coef_.shape[1]
    assert np.array_equal(list(machine.staged_predict(subject.X))[-1], machine.predict(subject.X))


@pytest.mark.parametrize(
    ("dictionary", "make"),
    [(RBF(), make_disk), (Wave(), make_line), (Gabor(n_locations=3), make_images)],
    ids=["table", "line", "images"],
)
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_stages_names_and_single_signals_work_with_and_without_features(dictionary, make, C):
    X, y = make()
    svm = InfiniteSVM(dictionary, C=C, tol=0.2, n_candidates=30, random_state=0).fit(X, y)
    assert (svm.importances_.size == 0) == (C == 0.01)
    stages = list(svm.staged_predict(X))
    assert len(stages) == svm.n_iter_
    assert np.array_equal(stages[-1], svm.predict(X))
    assert svm.transform(X[:1]).shape == (1, len(svm.get_feature_names_out()))
    np.testing.assert_allclose(svm.decision_function(X), svm.transform(X) @ svm.coef_[0] + svm.intercept_[0])
    np.testing.assert_allclose(svm.transform(X).mean(axis=0), 0.0, atol=1e-4)
    assert all(values.shape == svm.importances_.shape for values in svm.params_.values())
    assert len(svm.params_) == len(svm.dictionary_.space())


def test_without_standardization_columns_have_unit_norm():
    X, y = make_disk()
    svm = InfiniteSVM(RBF(), C=100, standardize=False, tol=0.1, random_state=0).fit(X, y)
    assert svm.importances_.size > 0
    np.testing.assert_allclose(np.linalg.norm(svm.transform(X), axis=0), 1.0)


def test_flat_rows_are_images_where_the_dictionary_knows_their_shape():
    X, y = make_images()
    images = InfiniteSVM(Gabor(n_locations=3), C=10, tol=0.2, random_state=0).fit(X, y)
    rows = InfiniteSVM(Gabor(n_locations=3, image_shape=(12, 12)), C=10, tol=0.2, random_state=0).fit(
        X.reshape(40, -1), y
    )
    np.testing.assert_allclose(rows.decision_function(X.reshape(40, -1)), images.decision_function(X), atol=1e-6)
    assert images.n_features_in_ == rows.n_features_in_ == 144


def test_one_channel_needs_no_axis_of_its_own():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((40, 128)), np.arange(40) % 2
    X[y == 1] += np.sin(2 * np.pi * 12 * np.arange(128) / 64 + rng.uniform(0, 6, size=(20, 1)))
    svm = InfiniteSVM(BandPass(64.0), C=10, tol=0.1, random_state=0).fit(X, y)
    assert svm.score(X, y) > 0.9
    heaviest = svm.params_["low"][0], svm.params_["high"][0]
    assert heaviest[0] < 13 < heaviest[1] + 2
