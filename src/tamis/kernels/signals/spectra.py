"""Spectra of many signals at once, and soft frequency bands as weights of their bins.

A mean over time of a product of band-passed signals is a sum over the bins of the product of their spectra (Parseval):
filtering with any number of bands is one matrix product. Arrays are numpy or any that the Array API knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis._sklearn import array_namespace, device

Array = Any


def weigh_bins(frequencies: np.ndarray, bands: np.ndarray, transition: float) -> np.ndarray:
    """Power gain of each band at each frequency: 1 inside, 0 outside, half a cosine of width ``transition`` between.

    An edge is where the gain is one half. Gains of adjacent bands add up to that of their union.

    Parameters
    ----------
    frequencies : ndarray of shape (n_bins,)
    bands : ndarray of shape (n_bands, 2)
        Lower and upper edge.
    transition : float
        Positive: gains are continuous in the edges.

    Returns
    -------
    ndarray of shape (n_bands, n_bins)
    """
    beyond = (frequencies[None, :, None] - bands[:, None, :]) / transition
    passed = 0.5 * (1.0 + np.sin(np.pi * np.clip(beyond, -0.5, 0.5)))
    return passed[:, :, 0] - passed[:, :, 1]


def transform_bins(signals: Array, bins: slice, taper: float) -> Array:
    """Complex amplitudes at some bins, scaled so that the sum of squares is the mean square of that part of a signal.

    Parameters
    ----------
    signals : array of shape (..., n_times)
    bins : slice
        Of the frequencies ``np.fft.rfftfreq(n_times, 1 / sfreq)``.
    taper : float
        Share of the signal, half at each end, that rises from and falls to zero as a cosine. Without it the jump from
        the last to the first value leaks into all bins.

    Returns
    -------
    array of shape (..., n_bins)
    """
    xp = array_namespace(signals)
    n_times = signals.shape[-1]
    weights = taper_weights(n_times, taper)
    scale = np.full(n_times // 2 + 1, np.sqrt(2.0) / n_times)  # bins stand for their negative frequencies, too
    scale[0] = 1.0 / n_times
    if n_times % 2 == 0:
        scale[-1] = 1.0 / n_times
    amplitudes = xp.fft.rfft(remove_line(signals) * _like(weights, signals))[..., bins]
    return amplitudes * _like(scale[bins], signals)


def taper_weights(n_times: int, taper: float) -> np.ndarray:
    """Cosine-tapered window of mean square one."""
    place = (np.arange(n_times) + 0.5) / n_times
    rise = np.minimum(place, 1.0 - place) / max(0.5 * taper, 1e-12)
    weights = np.sin(0.5 * np.pi * np.clip(rise, 0.0, 1.0)) ** 2
    return weights / np.sqrt(np.mean(weights**2))


def remove_line(signals: Array) -> Array:
    """Signals less the straight line that fits each best: drift is no oscillation, and leaks into all bins."""
    xp = array_namespace(signals)
    slope = np.linspace(-1.0, 1.0, signals.shape[-1])
    slope = _like(slope / np.linalg.norm(slope), signals)
    centered = signals - xp.mean(signals, axis=-1, keepdims=True)
    return centered - (centered @ slope)[..., None] * slope


def power_spectra(amplitudes: Array) -> Array:
    """Squared moduli of complex amplitudes."""
    xp = array_namespace(amplitudes)
    return xp.real(amplitudes) ** 2 + xp.imag(amplitudes) ** 2


def cross_spectra(amplitudes: Array) -> Array:
    r"""Real parts of the products of all pairs of channels, which are what covariances of filtered signals sum.

    Parameters
    ----------
    amplitudes : array of shape (n_signals, n_channels, n_bins)

    Returns
    -------
    array of shape (n_signals, n_bins, n_channels * (n_channels + 1) / 2)
        The upper triangle, row by row, as ``np.triu_indices`` has it.
    """
    xp = array_namespace(amplitudes)
    rows, columns = (xp.asarray(each, device=device(amplitudes)) for each in np.triu_indices(amplitudes.shape[1]))
    result = 0.0
    for part in (xp.real(amplitudes), xp.imag(amplitudes)):
        part = xp.permute_dims(part, (0, 2, 1))
        result = result + xp.take(part, rows, axis=2) * xp.take(part, columns, axis=2)
    return result


def unpack_symmetric(packed: np.ndarray, size: int) -> np.ndarray:
    """Symmetric matrices of shape (..., size, size) from their upper triangles."""
    rows, columns = np.triu_indices(size)
    full = np.empty((*packed.shape[:-1], size, size), dtype=packed.dtype)
    full[..., rows, columns] = packed
    full[..., columns, rows] = packed
    return full


def pack_quadratic_forms(vectors: np.ndarray) -> np.ndarray:
    """Weights ``q`` with ``q @ packed`` equal to ``v' S v``, for vectors of shape (..., size)."""
    rows, columns = np.triu_indices(vectors.shape[-1])
    return np.where(rows == columns, 1.0, 2.0) * vectors[..., rows] * vectors[..., columns]


def _like(values: np.ndarray, array: Array) -> Array:
    """Real numbers in the namespace, on the device and of the precision of an array."""
    xp = array_namespace(array)
    return xp.asarray(values, dtype=array.dtype, device=device(array))
