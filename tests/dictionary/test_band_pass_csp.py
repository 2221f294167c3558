"""Spatial filters of bands are those of filtered trials, and know the training trials only."""

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tamis.datasets._motor_imagery import make_motor_imagery
from tamis.dictionary import BandPassCSP, _band_pass_csp
from tamis.dictionary._csp import find_filters, find_patterns, log_variances, shrink_covariances
from tamis.kernels.signals.spectra import unpack_symmetric
from tests.oracles import csp as oracle

SFREQ = 250.0
BANDS = np.array([[8.0, 30.0], [9.3, 12.1], [20.0, 24.0]])


def subject(n=40, n_classes=2, channels=5, seed=0):
    """Trials whose channels vary differently in each class."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % n_classes
    mixing = rng.standard_normal((n_classes, channels, channels))
    return mixing[y] @ rng.standard_normal((n, channels, 300)), y


@pytest.mark.parametrize("taper", [0.0, 0.1])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_components", [1, 3, 4])
def test_features_are_those_of_trials_filtered_in_time_and_one_eigenproblem_per_band(taper, n_classes, n_components):
    X, y = subject(n_classes=n_classes)
    csp = BandPassCSP(SFREQ, n_components=n_components, taper=taper, shrinkage=0.05).fit(X[:30], y[:30])
    learned = csp.learn(csp.prepare(X[:30]), y[:30], BANDS)
    assert learned.shape == (3, csp.n_columns, 5)
    found = csp.compute(csp.prepare(X), BANDS, learned)
    expected = oracle.features(X[:30], y[:30], X, SFREQ, BANDS, n_components, 1.0, taper, 0.05)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_cross_spectra_add_up_to_the_covariance_of_filtered_trials():
    X, y = subject()
    csp = BandPassCSP(SFREQ).fit(X, y)
    frequencies, gains = csp.atoms(BANDS)
    assert gains.shape == (3, frequencies.size)
    found = unpack_symmetric(gains @ csp.prepare(X), 5)
    for b, (low, high) in enumerate(BANDS):
        np.testing.assert_allclose(found[:, b], oracle.covariances(X, SFREQ, low, high, 1.0, 0.1), atol=1e-9)


def test_filters_make_both_covariances_diagonal():
    rng = np.random.RandomState(0)
    first, second = (a @ a.swapaxes(-1, -2) for a in rng.standard_normal((2, 7, 6, 9)))
    filters, shares = find_filters(first, second, 6)
    rows = filters.swapaxes(-1, -2)
    np.testing.assert_allclose(filters @ (first + second) @ rows, np.broadcast_to(np.eye(6), (7, 6, 6)), atol=1e-9)
    np.testing.assert_allclose(filters @ first @ rows, shares[..., None] * np.eye(6), atol=1e-9)
    assert (np.diff(shares[:, ::2]) <= 0).all()  # from the top
    assert (np.diff(shares[:, 1::2]) >= 0).all()  # from the bottom
    assert (shares[:, 0] >= shares[:, 1]).all()


def test_filters_do_not_depend_on_other_bands_nor_on_their_number(monkeypatch):
    X, y = subject()
    csp = BandPassCSP(SFREQ).fit(X, y)
    trials, bands = csp.prepare(X), csp.sample(23, np.random.RandomState(0))
    learned = csp.learn(trials, y, bands)
    together = csp.compute(trials, bands, learned)
    alone = np.hstack([csp.compute(trials, b[None], csp.learn(trials, y, b[None])) for b in bands])
    np.testing.assert_allclose(together, alone, rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(_band_pass_csp, "_BLOCK_NUMBERS", 1)
    np.testing.assert_allclose(csp.compute(trials, bands, learned), together, rtol=1e-10)


def test_new_trials_are_transformed_one_by_one_and_without_their_labels():
    X, y = subject(60)
    csp = BandPassCSP(SFREQ).fit(X[:40], y[:40])
    learned = csp.learn(csp.prepare(X[:40]), y[:40], BANDS)
    together = csp.compute(csp.prepare(X[40:]), BANDS, learned)
    one_by_one = np.vstack([csp.compute(csp.prepare(x[None]), BANDS, learned) for x in X[40:]])
    np.testing.assert_allclose(together, one_by_one, rtol=1e-10)
    shuffled = csp.learn(csp.prepare(X[:40]), np.random.RandomState(0).permutation(y[:40]), BANDS)
    assert not np.allclose(shuffled, learned)  # labels of the training trials do matter


def test_noise_is_at_chance_on_new_trials_whatever_the_bands():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((400, 6, 250)), rng.permutation(np.arange(400) % 2)
    csp = BandPassCSP(SFREQ).fit(X[:100], y[:100])
    bands = csp.sample(10, rng)
    learned = csp.learn(csp.prepare(X[:100]), y[:100], bands)
    train, test = (csp.compute(csp.prepare(part), bands, learned) for part in (X[:100], X[100:]))
    model = make_pipeline(StandardScaler(), LinearSVC(C=0.01)).fit(train, y[:100])
    assert model.score(test, y[100:]) < 0.6
    assert model.score(train, y[:100]) > 0.6  # filters learned on all trials would promise this much


def test_the_band_of_the_subject_beats_a_fixed_one():
    gains = []
    for seed in range(4):
        trials = make_motor_imagery(200, random_state=seed)
        train = slice(0, 100)
        csp = BandPassCSP(trials.sfreq).fit(trials.X[train], trials.y[train])
        bands, prepared = np.array([[8.0, 30.0], trials.band]), csp.prepare(trials.X)
        table = csp.compute(prepared, bands, csp.learn(prepared[train], trials.y[train], bands))
        model = make_pipeline(StandardScaler(), LinearSVC(C=0.1))
        fixed, own = (
            model.fit(part[train], trials.y[train]).score(part[100:], trials.y[100:]) for part in np.hsplit(table, 2)
        )
        gains.append(own - fixed)
    assert np.mean(gains) > 0.03


def test_patterns_point_to_the_sources():
    trials = make_motor_imagery(150, band=(10.0, 14.0), desynchronization=0.9, n_rhythms=0, random_state=0)
    csp = BandPassCSP(trials.sfreq, n_components=2).fit(trials.X, trials.y)
    prepared, bands = csp.prepare(trials.X), np.array([trials.band])
    patterns = csp.patterns(prepared, trials.y, bands, csp.learn(prepared, trials.y, bands))[0]
    sources = trials.mixing[:, :2].T  # class 0, the left hand, keeps the rhythm of the left side
    closeness = np.abs(np.corrcoef(np.vstack([patterns, sources]))[:2, 2:])
    assert closeness[0, 0] > max(0.8, closeness[0, 1])
    assert closeness[1, 1] > max(0.8, closeness[1, 0])


def test_a_pattern_passes_its_own_filter_with_gain_one():
    rng = np.random.RandomState(0)
    first, second = (a @ a.T for a in rng.standard_normal((2, 6, 9)))
    filters, _ = find_filters(first, second, 4)
    np.testing.assert_allclose(filters @ find_patterns(first + second, filters).T, np.eye(4), atol=1e-9)


def test_log_variances_of_covariances_are_those_of_filtered_trials():
    X, y = subject()
    covariances = X @ X.swapaxes(1, 2) / X.shape[-1]
    filters, _ = find_filters(covariances[y == 0].mean(axis=0), covariances[y == 1].mean(axis=0), 4)
    expected = np.log(((filters @ X) ** 2).mean(axis=-1))
    np.testing.assert_allclose(log_variances(covariances, filters), expected)


def test_channels_with_a_common_average_need_shrinkage_and_get_it_by_default():
    X, y = subject()
    X -= X.mean(axis=1, keepdims=True)
    csp = BandPassCSP(SFREQ).fit(X, y)
    trials = csp.prepare(X)
    learned = csp.learn(trials, y, BANDS)
    assert np.isfinite(csp.compute(trials, BANDS, learned)).all()
    strict = BandPassCSP(SFREQ, shrinkage=0.0).fit(X, y)
    with pytest.raises(ValueError, match="singular with shrinkage=0: raise it"):
        strict.learn(trials, y, BANDS)


def test_shrinkage_keeps_the_trace():
    X, _ = subject()
    covariances = X @ X.swapaxes(1, 2)
    shrunk = shrink_covariances(covariances, 0.3)
    np.testing.assert_allclose(np.trace(shrunk, axis1=1, axis2=2), np.trace(covariances, axis1=1, axis2=2))
    np.testing.assert_allclose(shrunk[3], oracle.shrunk(covariances[3], 0.3))


def test_a_trial_of_silence_has_finite_features():
    X, y = subject()
    csp = BandPassCSP(SFREQ).fit(X, y)
    learned = csp.learn(csp.prepare(X), y, BANDS)
    assert np.isfinite(csp.compute(csp.prepare(np.zeros_like(X[:2])), BANDS, learned)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tensors_give_tensors_of_the_same_numbers(dtype):
    X, y = subject()
    X = X.astype(dtype)
    csp, other = BandPassCSP(SFREQ).fit(X, y), BandPassCSP(SFREQ).fit(torch.asarray(X), torch.asarray(y))
    prepared = other.prepare(torch.asarray(X))
    learned = other.learn(prepared, torch.asarray(y), BANDS)
    assert isinstance(learned, np.ndarray)
    found = other.compute(prepared, BANDS, learned)
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.asarray(X).dtype
    expected = csp.compute(csp.prepare(X), BANDS, csp.learn(csp.prepare(X), y, BANDS))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-3 if dtype == "float32" else 1e-9)


def test_names_tell_band_filter_and_class():
    X, y = subject(n_classes=3)
    band = np.array([[9.8, 13.2]])
    many = BandPassCSP(SFREQ, n_components=2).fit(X, np.array(["feet", "left", "right"])[y])
    assert list(many.names(band))[:3] == [
        "band 9.8-13.2 Hz class feet filter 0",
        "band 9.8-13.2 Hz class feet filter 1",
        "band 9.8-13.2 Hz class left filter 0",
    ]
    two = BandPassCSP(SFREQ, n_components=2).fit(X, y > 0)
    assert list(two.names(band)) == ["band 9.8-13.2 Hz filter 0", "band 9.8-13.2 Hz filter 1"]


def test_bad_input_is_named():
    X, y = subject()
    with pytest.raises(ValueError, match="two channels or more; use BandPass"):
        BandPassCSP(SFREQ).fit(X[:, :1], y)
    with pytest.raises(ValueError, match="n_components=6 is more than the 5 channels"):
        BandPassCSP(SFREQ, n_components=6).fit(X, y)
    with pytest.raises(ValueError, match="give y"):
        BandPassCSP(SFREQ).fit(X)
    with pytest.raises(ValueError, match="single class"):
        BandPassCSP(SFREQ).fit(X, np.zeros(40))
    csp = BandPassCSP(SFREQ).fit(X, y)
    with pytest.raises(ValueError, match="learned is missing"):
        csp.compute(csp.prepare(X), BANDS)
    with pytest.raises(ValueError, match=r"every class of fit \(0, 1\)"):
        csp.learn(csp.prepare(X), np.zeros(40), BANDS)
