"""Band-passed trials and spatial filters the slow way: each trial filtered in time, each band's eigenproblem alone."""

import numpy as np
from scipy.linalg import eigh
from scipy.signal import detrend
from scipy.signal.windows import tukey


def faded(trial, taper):
    """Channels of a trial without their lines, faded in and out by a window of mean square one."""
    n_times = trial.shape[-1]
    window = tukey(2 * n_times + 1, taper)[1::2]  # values in the middle of each sampling interval
    return detrend(trial, axis=-1) * window / np.sqrt(np.mean(window**2))


def gain(frequency, low, high, transition):
    """Power gain of a band at one frequency: half a cosine across each edge."""

    def passed(edge):
        if frequency <= edge - transition / 2:
            return 0.0
        if frequency >= edge + transition / 2:
            return 1.0
        return (1 - np.cos(np.pi * (frequency - edge + transition / 2) / transition)) / 2

    return passed(low) - passed(high)


def filtered(trial, sfreq, low, high, transition, taper):
    """Channels of a trial in a band, as functions of time."""
    spectrum = np.fft.fft(faded(trial, taper), axis=-1)
    frequencies = np.abs(np.fft.fftfreq(trial.shape[-1], 1 / sfreq))
    gains = np.array([gain(f, low, high, transition) for f in frequencies])
    return np.fft.ifft(spectrum * np.sqrt(gains), axis=-1).real


def covariances(trials, sfreq, low, high, transition, taper):
    """Of each trial in a band, around zero: a band-passed signal has no mean."""
    found = []
    for trial in trials:
        wave = filtered(trial, sfreq, low, high, transition, taper)
        found.append(wave @ wave.T / wave.shape[-1])
    return np.array(found)


def shrunk(covariance, shrinkage):
    size = len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * np.trace(covariance) / size * np.eye(size)


def filters(first, second, n_components):
    """Rows: largest eigenvalue, smallest, second largest, ..."""
    _, vectors = eigh(first, first + second)
    left, chosen = list(range(len(first))), []
    for k in range(n_components):
        chosen.append(left.pop(0 if k % 2 else -1))
    return vectors[:, chosen].T


def features(train, y, trials, sfreq, bands, n_components, transition, taper, shrinkage):
    """Log variances of trials with the filters of each band, learned on the training trials; two classes or more."""
    blocks = []
    for low, high in bands:
        known = covariances(train, sfreq, low, high, transition, taper)
        means = [shrunk(known[y == label].mean(axis=0), shrinkage) for label in np.unique(y)]
        if len(means) == 2:
            rows = filters(means[0], means[1], n_components)
        else:
            others = [np.mean(means[:c] + means[c + 1 :], axis=0) for c in range(len(means))]
            rows = np.vstack([filters(own, rest, n_components) for own, rest in zip(means, others, strict=True)])
        new = covariances(trials, sfreq, low, high, transition, taper)
        blocks.append(np.log([[w @ S @ w for w in rows] for S in new]))
    return np.hstack(blocks)
