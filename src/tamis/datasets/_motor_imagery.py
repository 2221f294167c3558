"""Simulated trials of imagined movements."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft
from sklearn.utils import Bunch, check_random_state

# Electrodes of dataset IIa, row by row from front to back, in steps of 3.5 cm to the right and to the front.
_ROWS = {
    2: "Fz",
    1: "FC3 FC1 FCz FC2 FC4",
    0: "C5 C3 C1 Cz C2 C4 C6",
    -1: "CP3 CP1 CPz CP2 CP4",
    -2: "P1 Pz P2",
    -3: "POz",
}
_HEAD = 3.5  # radius of the part of the head where sources are, in steps
_SPREAD = 1.5  # standard deviation of the map of a source, in steps: what volume conduction blurs
_MOTOR = 5.0  # root mean squares in microvolt: of each motor rhythm,
_RHYTHMS = (3.0, 6.0)  # of other rhythms,
_BACKGROUND = 15.0  # of all background sources together,
_SENSOR = 1.0  # and of the noise of each electrode
_N_BACKGROUND = 80
_FADING = (0.1, 0.5)  # standard deviation over trials of the log amplitude of motor and other rhythms
_BLOCK_TRIALS = 16


def make_motor_imagery(
    n_trials: int = 144,
    *,
    n_channels: int = 22,
    n_times: int = 500,
    sfreq: float = 250.0,
    band: tuple[float, float] | None = None,
    desynchronization: float | None = None,
    n_rhythms: int = 10,
    random_state: Any = None,
) -> Bunch:
    r"""Trials of a simulated subject who imagines to move the left or the right hand.

    .. math:: x_i(t) = A \, \mathrm{diag}(g_i) \, s_i(t) + \epsilon_i(t), \qquad
              g_{i,m}^2 \propto 1 - \rho \, [m \text{ is opposite to the hand } y_i],

    the setting of Flamary et al. (2011, Sec. 3): two motor rhythms, one per hemisphere, have the band of the subject,
    and the one opposite to the hand loses a share :math:`\rho` of its power. Other rhythms, between 7 and 31 Hz but
    outside of that band, come and go whatever the hand; a fixed band of 8-30 Hz hears them all, and they are too many
    for spatial filters to cancel.

    Parameters
    ----------
    n_trials : int, default=144
        Half of them for each hand. Trials for training and for testing must come from one call: each draws a subject.
    n_channels : int, default=22
        22 are the electrodes of dataset IIa of BCI competition IV; any other number is spread over the head.
    n_times : int, default=500
    sfreq : float, default=250.0
        In Hz, at least 64.
    band : tuple of float, default=None
        Of the motor rhythms, in Hz. None draws one of 4 to 8 Hz in 8-30 Hz.
    desynchronization : float, default=None
        The share :math:`\rho`, from 0 (nothing to tell) to 1. None draws one from 0.3 to 0.8: subjects differ.
    n_rhythms : int, default=10
        Number of other rhythms.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    Bunch
        ``X`` of shape (n_trials, n_channels, n_times) in microvolt; ``y``, 0 for left and 1 for right; ``band``,
        ``desynchronization``, ``sfreq``, ``channel_names``; ``positions`` of shape (n_channels, 2), to the right and to
        the front; ``mixing`` :math:`A` of shape (n_channels, 2 + n_rhythms + 80), whose first columns are the left and
        the right motor rhythm, then the other ``rhythms``, an array of their bands, then the background.

    Notes
    -----
    Sources are Gaussian noise with the spectrum of their kind: flat in a band for rhythms (other rhythms are 2
    to 4 Hz wide), power falling as 1/f for the 80 sources of the background. They are cut out of longer
    records, so that trials are not periodic. Maps are Gaussian bumps around random places (near C3 and C4 for the motor
    rhythms) of random sign. Amplitudes change from trial to trial, by 10 % for motor and 50 % for other rhythms.
    Strengths were chosen for accuracies of spatial filters and a linear SVM that are about those of the nine subjects
    of the paper, with means of about .78 in 8-30 Hz and .87 in the subject's own band.

    References
    ----------
    Flamary, Yger and Rakotomamonjy, "Selecting from an infinite set of features in SVM", ESANN, 2011, Sec. 3.

    Examples
    --------
    >>> from tamis.datasets import make_motor_imagery
    >>> subject = make_motor_imagery(20, random_state=0)
    >>> subject.X.shape
    (20, 22, 500)
    """
    _check_setting(n_trials, n_channels, sfreq, band, desynchronization)
    rng = check_random_state(random_state)
    if band is None:
        width = rng.uniform(4.0, 8.0)
        low = rng.uniform(8.0, 30.0 - width)
        band = (low, low + width)
    if desynchronization is None:
        desynchronization = rng.uniform(0.3, 0.8)
    channel_names, positions = _place_electrodes(n_channels)
    rhythms = np.array([_draw_band_outside(band, rng) for _ in range(n_rhythms)]).reshape(-1, 2)
    motor = np.array([[-2.0, 0.0], [2.0, 0.0]]) + 0.3 * rng.standard_normal((2, 2))
    mixing = _draw_maps(positions, motor, n_rhythms + _N_BACKGROUND, rng)
    strengths = np.concatenate(
        [
            [_MOTOR, _MOTOR],
            rng.uniform(*_RHYTHMS, size=n_rhythms),
            np.full(_N_BACKGROUND, _BACKGROUND / np.sqrt(_N_BACKGROUND)),
        ]
    )
    y = rng.permutation(np.arange(n_trials) % 2)
    gains = np.tile(strengths, (n_trials, 1))
    fading = np.repeat(_FADING, [2, n_rhythms])
    gains[:, : fading.size] *= np.exp(fading * rng.standard_normal((n_trials, fading.size)))
    gains[np.arange(n_trials), 1 - y] *= np.sqrt(1.0 - desynchronization)  # the left hand is on the right side
    X = _draw_trials(mixing, gains, np.vstack([[band, band], rhythms]), n_times, sfreq, rng)
    X += _SENSOR * rng.standard_normal(X.shape)
    return Bunch(
        X=X,
        y=y,
        band=tuple(map(float, band)),
        desynchronization=float(desynchronization),
        mixing=mixing,
        rhythms=rhythms,
        sfreq=float(sfreq),
        channel_names=channel_names,
        positions=positions,
    )


def _check_setting(
    n_trials: int, n_channels: int, sfreq: float, band: tuple[float, float] | None, desynchronization: float | None
) -> None:
    if n_trials < 2 or n_channels < 2:
        raise ValueError(f"n_trials={n_trials} and n_channels={n_channels} must be 2 or more")
    if sfreq < 64.0:
        raise ValueError(f"sfreq={sfreq:g} is too low for rhythms of up to 31 Hz; give 64 or more")
    if band is not None and not 1.0 <= band[0] < band[1] <= sfreq / 2.0:
        raise ValueError(f"band={band} must be two frequencies from 1 Hz to sfreq / 2 = {sfreq / 2:g} Hz, in order")
    if band is not None and band[0] < 11.5 and band[1] > 26.5:
        raise ValueError(f"band={band} leaves no room for other rhythms between 7 and 31 Hz; give a narrower one")
    if desynchronization is not None and not 0.0 <= desynchronization <= 1.0:
        raise ValueError(f"desynchronization={desynchronization} must be from 0 to 1")


def _place_electrodes(n_channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Names and positions: those of dataset IIa, or a spiral over the head."""
    if n_channels == 22:
        rows = [(names.split(), front) for front, names in _ROWS.items()]
        places = [(right - (len(row) - 1) / 2, front) for row, front in rows for right in range(len(row))]
        return np.array([name for row, _ in rows for name in row], dtype=object), np.array(places, dtype=float)
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(n_channels)  # the golden angle covers a disc evenly
    radius = _HEAD * np.sqrt((np.arange(n_channels) + 0.5) / n_channels)
    names = np.array([f"E{c + 1}" for c in range(n_channels)], dtype=object)
    return names, radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])


def _draw_band_outside(band: tuple[float, float], rng: np.random.RandomState) -> tuple[float, float]:
    """A band of 2 to 4 Hz between 7 and 31 Hz, half a hertz or more away from the given one."""
    while True:
        width = rng.uniform(2.0, 4.0)
        low = rng.uniform(7.0, 31.0 - width)
        if low + width < band[0] - 0.5 or low > band[1] + 0.5:
            return low, low + width


def _draw_maps(positions: np.ndarray, motor: np.ndarray, n_others: int, rng: np.random.RandomState) -> np.ndarray:
    """How each source shows on the electrodes: the motor ones, then others at random places and of random sign."""
    radius, angle = _HEAD * np.sqrt(rng.uniform(size=n_others)), rng.uniform(0.0, 2.0 * np.pi, size=n_others)
    places = np.vstack([motor, radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])])
    distance2 = ((positions[:, None] - places) ** 2).sum(axis=2)
    signs = np.concatenate([[1.0, 1.0], rng.choice([-1.0, 1.0], size=n_others)])
    return signs * np.exp(-0.5 * distance2 / _SPREAD**2)


def _draw_trials(
    mixing: np.ndarray, gains: np.ndarray, bands: np.ndarray, n_times: int, sfreq: float, rng: np.random.RandomState
) -> np.ndarray:
    """Mixtures of noise of unit power, in the bands for the first sources and falling as 1/f for the others."""
    n_long = fft.next_fast_len(n_times + int(np.ceil(sfreq)), real=True)
    frequencies = fft.rfftfreq(n_long, 1.0 / sfreq)
    spectra = np.empty((mixing.shape[1], frequencies.size))
    spectra[: len(bands)] = (frequencies >= bands[:, :1]) & (frequencies <= bands[:, 1:])
    spectra[len(bands) :] = np.where(frequencies > 0.0, 1.0 / np.maximum(frequencies, 1.0), 0.0)
    amplitudes = 0.5 * n_long * np.sqrt(spectra / spectra.sum(axis=1, keepdims=True))
    X = np.empty((len(gains), len(mixing), n_times))
    for start in range(0, len(gains), _BLOCK_TRIALS):
        some = slice(start, start + _BLOCK_TRIALS)
        waves = rng.standard_normal((*gains[some].shape, frequencies.size, 2)).view(complex)[..., 0]
        waves *= gains[some][:, :, None] * amplitudes
        X[some] = fft.irfft(mixing @ waves, n_long)[..., :n_times]
    return X
