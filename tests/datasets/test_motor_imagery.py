"""Simulated subjects have the physics they promise; recordings are cut where their annotations say."""

import sys

import numpy as np
import pytest
from scipy.io import savemat

from tamis.datasets._motor_imagery import make_motor_imagery
from tamis.datasets._recordings import read_motor_imagery

SFREQ = 250.0


def test_a_subject_has_the_parts_and_shapes_it_promises():
    subject = make_motor_imagery(31, random_state=0)
    assert subject.X.shape == (31, 22, 500)
    assert sorted(np.bincount(subject.y)) == [15, 16]
    assert subject.mixing.shape == (22, 92)
    assert subject.rhythms.shape == (10, 2)
    assert subject.positions.shape == (22, 2)
    assert {"C3", "Cz", "C4"} < set(subject.channel_names)
    assert len(set(subject.channel_names)) == 22
    other = make_motor_imagery(4, n_channels=7, n_times=300, sfreq=128.0, n_rhythms=0, random_state=0)
    assert other.X.shape == (4, 7, 300)
    assert other.channel_names[6] == "E7"


def test_the_same_seed_is_the_same_subject():
    first, again, other = (make_motor_imagery(6, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert first.band == again.band != other.band


@pytest.mark.parametrize("seed", range(20))
def test_bands_are_where_they_should_be(seed):
    subject = make_motor_imagery(2, n_times=50, random_state=seed)
    low, high = subject.band
    assert 8.0 <= low < high <= 30.0
    assert 4.0 <= high - low <= 8.0
    assert 0.3 <= subject.desynchronization <= 0.8
    assert ((subject.rhythms[:, 1] < low) | (subject.rhythms[:, 0] > high)).all()


def test_the_hemisphere_opposite_to_the_hand_loses_the_stated_share_of_power_in_the_band_alone():
    settings = {"band": (10.0, 14.0), "n_rhythms": 0, "random_state": 0}
    subject = make_motor_imagery(600, n_times=250, desynchronization=0.6, **settings)
    weights = np.linalg.lstsq(subject.mixing[:, :2], np.eye(22), rcond=None)[0]  # (2, n_channels)
    spectra = np.abs(np.fft.rfft(weights @ subject.X)) ** 2
    frequencies = np.fft.rfftfreq(250, 1 / SFREQ)
    inside, outside = (frequencies > 10.5) & (frequencies < 13.5), (frequencies > 20.0) & (frequencies < 30.0)
    for side in (0, 1):
        away = subject.y == 1 - side  # left hand (0): right side (1)
        power = {name: spectra[:, side][:, kept].mean(axis=1) for name, kept in {"in": inside, "out": outside}.items()}
        assert power["in"][away].mean() / power["in"][~away].mean() < 0.75
        np.testing.assert_allclose(power["out"][away].mean(), power["out"][~away].mean(), rtol=0.1)
    nothing = make_motor_imagery(600, n_times=250, desynchronization=0.0, **settings)
    power = (np.abs(np.fft.rfft(weights @ nothing.X)) ** 2)[:, 0][:, inside].mean(axis=1)
    np.testing.assert_allclose(power[nothing.y == 0].mean(), power[nothing.y == 1].mean(), rtol=0.1)


def test_the_background_falls_with_frequency():
    subject = make_motor_imagery(100, n_rhythms=0, band=(12.0, 16.0), random_state=0)
    spectrum = (np.abs(np.fft.rfft(subject.X)) ** 2).mean(axis=(0, 1))
    frequencies = np.fft.rfftfreq(500, 1 / SFREQ)
    low, high = (spectrum[(frequencies > f) & (frequencies < f + 2)].mean() for f in (3.0, 25.0))
    assert 4.0 < low / high < 12.0  # 1/f gives 6.5, noise of the electrodes lowers it, leaks raise both


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_trials": 1}, "n_trials=1"),
        ({"sfreq": 50.0}, "sfreq=50 is too low"),
        ({"band": (20.0, 10.0)}, "band="),
        ({"band": (8.0, 30.0)}, "no room for other rhythms"),
        ({"desynchronization": 1.5}, "desynchronization=1.5"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_motor_imagery(**arguments)


def load_mne():
    return pytest.importorskip("mne", reason="mne is not installed: pip install 'tamis[signal]'")


def recording(marks, seconds=60.0, first=0, dated=False):
    """Volts that tell sample and channel: two EEG channels, an EOG said to be EEG as in GDF files, and a trigger."""
    mne = load_mne()
    n = int(seconds * SFREQ)
    data = 1e-6 * (np.arange(4)[:, None] * 1e5 + np.arange(n))
    info = mne.create_info(["C3", "C4", "EOG-left", "STI"], SFREQ, ["eeg", "eeg", "eeg", "stim"])
    raw = mne.io.RawArray(data, info, first_samp=first, verbose="ERROR")
    if dated:
        raw.set_meas_date(1_300_000_000.0)
    onset, length, text = zip(*marks, strict=True)
    onset = np.array(onset) + (first / SFREQ if dated else 0.0)
    raw.set_annotations(mne.Annotations(onset, length, text, orig_time=raw.info["meas_date"]))
    return raw


MARKS = [(5.0, 0, "769"), (12.0, 0, "771"), (20.0, 0, "770"), (28.0, 0, "769"), (3.0, 7.5, "768")]


def expected_trial(cue, window=(0.5, 2.5)):
    times = np.arange(round((cue + window[0]) * SFREQ), round((cue + window[1]) * SFREQ))
    return np.stack([times, 1e5 + times])


@pytest.mark.parametrize(("first", "dated"), [(0, False), (700, False), (700, True)])
def test_trials_are_cut_after_their_cues(first, dated):
    trials = read_motor_imagery(recording(MARKS, first=first, dated=dated))
    assert list(trials.y) == ["left", "right", "left"]
    assert list(trials.channel_names) == ["C3", "C4"]
    assert trials.sfreq == SFREQ
    np.testing.assert_allclose(trials.X, [expected_trial(cue) for cue in (5.0, 20.0, 28.0)])


def test_a_file_gives_what_the_recording_does(tmp_path):
    raw = recording(MARKS)
    path = tmp_path / "subject_raw.fif"
    raw.save(path, fmt="double", verbose="ERROR")
    for given in (path, str(path)):
        trials = read_motor_imagery(given, window=(-1.0, 1.0), channels=["EOG-left", "C3"])
        np.testing.assert_allclose(trials.X[:, 1], [expected_trial(cue, (-1, 1))[0] for cue in (5.0, 20.0, 28.0)])
        assert list(trials.channel_names) == ["EOG-left", "C3"]


def test_labels_of_an_evaluation_come_from_a_file_or_an_array(tmp_path):
    raw = recording([(cue, 0, "783") for cue in (5.0, 12.0, 20.0, 28.0)])
    path = tmp_path / "truth.mat"
    savemat(path, {"classlabel": np.array([[2], [4], [1], [3]], dtype=np.uint8)})
    same = (path, str(path), [2, 4, 1, 3], ["right", "tongue", "left", "feet"], [770, 772, 769, 771.0])
    for labels in same:
        trials = read_motor_imagery(raw, labels=labels)
        assert list(trials.y) == ["right", "left"]
        np.testing.assert_allclose(trials.X, [expected_trial(cue) for cue in (5.0, 20.0)])
    feet = read_motor_imagery(raw, labels=path, events={"feet": "771", "tongue": "772"})
    assert list(feet.y) == ["tongue", "feet"]


def test_trials_marked_as_bad_are_left_out_and_their_neighbors_are_not():
    # As in dataset IIa: the mark stands at the beginning of the trial, 2 s before its cue, and lasts up to the next.
    raw = recording([*MARKS, (10.0, 7.5, "1023"), (18.0, 7.5, "1023")])
    assert read_motor_imagery(raw).X.shape[0] == 3
    trials = read_motor_imagery(raw, reject="1023")
    np.testing.assert_allclose(trials.X, [expected_trial(cue) for cue in (5.0, 28.0)])
    instants = recording([*MARKS, (10.0, 0.0, "1023"), (26.0, 0.0, "1023")])
    np.testing.assert_allclose(
        read_motor_imagery(instants, reject="1023").X, [expected_trial(cue) for cue in (5.0, 20.0)]
    )
    spans = recording([*MARKS, (13.0, 9.0, "BAD")])
    np.testing.assert_allclose(read_motor_imagery(spans, reject="BAD").X, [expected_trial(cue) for cue in (5.0, 28.0)])
    assert read_motor_imagery(recording(MARKS), reject="1023").X.shape[0] == 3


def test_what_a_recording_lacks_is_named(tmp_path):
    raw = recording(MARKS)
    with pytest.raises(ValueError, match="no annotation 1 or 2; it has 768, 769, 770, 771"):
        read_motor_imagery(raw, events={"a": "1", "b": "2"})
    with pytest.raises(ValueError, match="no annotation 783"):
        read_motor_imagery(raw, labels=[1, 2])
    with pytest.raises(ValueError, match="labels holds 2 classes and the recording 1 cues"):
        read_motor_imagery(raw, labels=[1, 2], cue="771")
    with pytest.raises(ValueError, match="no channel 'Oz'"):
        read_motor_imagery(raw, channels=["Oz"])
    with pytest.raises(ValueError, match="must be 'eeg' or a list"):
        read_motor_imagery(raw, channels="C3")
    with pytest.raises(ValueError, match=r"around the cue at 28\.00 s"):
        read_motor_imagery(recording(MARKS, seconds=30.0))
    with pytest.raises(ValueError, match="window="):
        read_motor_imagery(raw, window=(2.5, 0.5))
    with pytest.raises(ValueError, match="no trial is left"):
        read_motor_imagery(raw, labels=[3], cue="771")
    with pytest.raises(FileNotFoundError, match="no recording"):
        read_motor_imagery(tmp_path / "none_raw.fif")
    savemat(tmp_path / "other.mat", {"labels": [1]})
    with pytest.raises(ValueError, match="no variable classlabel; it has labels"):
        read_motor_imagery(raw, labels=tmp_path / "other.mat", cue="771")


def test_without_mne_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(ImportError, match=r"pip install 'tamis\[signal\]'"):
        read_motor_imagery("subject.gdf")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": [1, 2, 1, 2], "events": {"0": "769", "1": "770"}}, "label '1' may mean"),
        ({"labels": [0, 1, 0, 1]}, "labels holds '0'"),
        ({"labels": ["left", "rigth", "left", "left"]}, "labels holds 'rigth'"),
        ({"events": {"left": "783", "foot": "771"}}, "no annotation 771, which events gives for 'foot'"),
        ({"events": {"a": "783", "b": "783"}}, "an annotation of its own"),
        ({"events": {}}, "an annotation of its own"),
    ],
)
def test_labels_and_events_that_do_not_fit_are_refused(given, message):
    raw = recording([(cue, 0, "783") for cue in (5.0, 12.0, 20.0, 28.0)])
    with pytest.raises(ValueError, match=message):
        read_motor_imagery(raw, **given)
