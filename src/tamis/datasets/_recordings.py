"""Trials of imagined movements cut out of recordings."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

_CLASSES = ("left", "right", "feet", "tongue")  # of dataset IIa
_LEAD = 2.5  # seconds before a cue where a mark still concerns its trial


def read_motor_imagery(
    recording: Any,
    *,
    labels: Any = None,
    events: Mapping[str, str] | None = None,
    cue: str = "783",
    window: tuple[float, float] = (0.5, 2.5),
    channels: str | Sequence[str] = "eeg",
    reject: str | None = None,
) -> Bunch:
    """Cut the trials out of a recording, ready for :class:`tamis.dictionary.BandPassCSP`.

    Parameters
    ----------
    recording : str, Path or mne.io.Raw
        A file in any format that mne reads (GDF, FIF, EDF, ...), or what it has read. The defaults are those of dataset
        IIa of BCI competition IV.
    labels : array, str or Path, default=None
        Classes of the trials where the recording does not tell them, one for each ``cue``: names of ``events``, their
        annotations, or the competition's numbers, where 1 stands for annotation 769, 2 for 770 and so on. A path is
        that of a MATLAB file whose variable ``classlabel`` holds them.
    events : dict of str to str, default=None
        What to call each class, and the annotation of its cues. None is ``{"left": "769", "right": "770"}``. Trials of
        other classes are left out.
    cue : str, default="783"
        Annotation of cues whose class is unknown, for ``labels``.
    window : tuple of float, default=(0.5, 2.5)
        Beginning and end of a trial, in seconds after its cue.
    channels : "eeg" or sequence of str, default="eeg"
        Names, or all EEG channels; those whose name begins with "EOG" are none, whatever the file says.
    reject : str, default=None
        Annotation of trials to leave out: "1023" in dataset IIa. A mark concerns the trials that it overlaps, and the
        one whose cue comes 2.5 s after it or sooner: there it stands at the beginning of a trial, 2 s before the cue.

    Returns
    -------
    Bunch
        ``X`` of shape (n_trials, n_channels, n_times) in microvolt, ``y`` (names of the classes), ``sfreq`` and
        ``channel_names``.

    Notes
    -----
    mne is needed: ``pip install 'tamis[signal]'``. Signals are not filtered.

    References
    ----------
    Flamary, Yger and Rakotomamonjy, "Selecting from an infinite set of features in SVM", ESANN, 2011, Sec. 3.
    """
    if not window[0] < window[1]:
        raise ValueError(f"window={tuple(window)} must be a beginning and a later end, in seconds")
    events = {"left": "769", "right": "770"} if events is None else dict(events)
    if len(set(map(str, events.values()))) < max(len(events), 1):
        raise ValueError(f"events={events} must give each class an annotation of its own")
    raw = _open_recording(recording)
    sfreq = float(raw.info["sfreq"])
    if labels is None:
        names = {str(mark): name for name, mark in events.items()}
        starts, _, marks = _locate_marks(raw, list(names))
        if missing := [mark for mark in names if mark not in set(marks)]:
            raise ValueError(
                f"the recording has no annotation {missing[0]}, which events gives for {names[missing[0]]!r}"
            )
        classes = np.array([names[mark] for mark in marks])
    else:
        starts, _, _ = _locate_marks(raw, [str(cue)])
        classes = _name_labels(labels, events, starts.size)
    span = np.round(np.array(window) * sfreq).astype(int)
    kept = classes != ""
    if reject is not None:
        kept &= ~_find_rejected(raw, str(reject), starts, span)
    starts, classes = starts[kept], classes[kept]
    if starts.size == 0:
        raise ValueError("no trial is left: see events, labels and reject")
    outside = (starts + span[0] < 0) | (starts + span[1] > raw.n_times)
    if outside.any():
        second = starts[outside][0] / sfreq
        raise ValueError(
            f"the recording does not hold the whole window={tuple(window)} around the cue at {second:.2f} s: shorten "
            "window, or remove that annotation"
        )
    picked = _pick_channels(raw, channels)
    X = np.stack([1e6 * raw.get_data(picked, start + span[0], start + span[1]) for start in starts])
    return Bunch(X=X, y=classes, sfreq=sfreq, channel_names=np.array(picked, dtype=object))


def _open_recording(recording: Any) -> Any:
    """An mne Raw object, whose file is read when trials are cut."""
    try:
        mne = importlib.import_module("mne")
    except ModuleNotFoundError as error:
        raise ImportError(
            "read_motor_imagery reads recordings with mne: install it with pip install 'tamis[signal]'"
        ) from error
    if not isinstance(recording, str | Path):
        return recording
    if not Path(recording).is_file():
        raise FileNotFoundError(f"no recording {recording}")
    return mne.io.read_raw(recording, preload=False, verbose="ERROR")


def _locate_marks(raw: Any, wanted: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First samples, lengths in samples and texts of the annotations wanted, in the order of time."""
    notes = raw.annotations
    texts = np.array([str(text) for text in notes.description], dtype=object)
    chosen = np.isin(texts, wanted)
    if not chosen.any():
        found = ", ".join(sorted(set(texts))) or "no annotation"
        raise ValueError(f"the recording has no annotation {' or '.join(wanted)}; it has {found}")
    onsets, durations = notes.onset[chosen], notes.duration[chosen]
    starts = (
        np.round(onsets * raw.info["sfreq"]).astype(int) - raw.first_samp
    )  # onsets count from sample 0, even if cut
    lengths = np.round(durations * raw.info["sfreq"]).astype(int)
    order = np.argsort(starts, kind="stable")
    return starts[order], lengths[order], texts[chosen][order]


def _name_labels(labels: Any, events: Mapping[str, str], n_cues: int) -> np.ndarray:
    """The class of each cue; empty where it is none of the events."""
    if isinstance(labels, str | Path):
        content = loadmat(labels)
        if "classlabel" not in content:
            held = ", ".join(sorted(key for key in content if not key.startswith("__")))
            raise ValueError(f"the file of labels has no variable classlabel; it has {held}")
        labels = content["classlabel"]
    values = np.asarray(labels).ravel()
    if values.size != n_cues:
        raise ValueError(f"labels holds {values.size} classes and the recording {n_cues} cues")
    names: dict[str, str] = {}
    for name, mark in events.items():
        number = [str(int(mark) - 768)] if str(mark).isdigit() else []
        for text in [str(name), str(mark), *number]:
            if names.setdefault(text, name) != name:
                raise ValueError(f"label {text!r} may mean {names[text]!r} or {name!r}: give the classes other names")
    texts = [f"{value:g}" if isinstance(value, np.number) else str(value) for value in values]
    # numbers from 1 on are other classes, and the competition's have names; anything else is a mistake
    others = [text for text in texts if text not in names and text not in _CLASSES]
    if unknown := [text for text in others if not text.isdigit() or int(text) < 1]:
        raise ValueError(f"labels holds {unknown[0]!r}, which is none of {', '.join(names)}")
    return np.array([names.get(text, "") for text in texts])


def _find_rejected(raw: Any, mark: str, starts: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Which trials a mark concerns; a recording without any such mark has none to reject."""
    if mark not in {str(text) for text in raw.annotations.description}:
        return np.zeros(starts.size, dtype=bool)
    onsets, lengths, _ = _locate_marks(raw, [mark])
    onsets, ends = onsets[:, None], starts + span[1]
    begins = (onsets >= starts - _LEAD * raw.info["sfreq"]) & (onsets < ends)
    overlaps = (onsets < ends) & (onsets + lengths[:, None] > starts + span[0])
    return (begins | overlaps).any(axis=0)


def _pick_channels(raw: Any, channels: str | Sequence[str]) -> list[str]:
    """Names of the channels to keep."""
    if isinstance(channels, str):
        if channels != "eeg":
            raise ValueError(f"channels={channels!r} must be 'eeg' or a list of names")
        kinds = zip(raw.ch_names, raw.get_channel_types(), strict=True)
        left_out = set(raw.info["bads"])
        picked = [
            name
            for name, kind in kinds
            if kind == "eeg" and not name.upper().startswith("EOG") and name not in left_out
        ]
        if not picked:
            raise ValueError("the recording has no EEG channel; give names of channels")
        return picked
    missing = [name for name in channels if name not in raw.ch_names]
    if missing:
        raise ValueError(f"the recording has no channel {missing[0]!r}; it has {', '.join(raw.ch_names)}")
    return list(channels)
