"""Power of signals in frequency bands whose edges are continuous parameters."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval, array_namespace, device
from tamis.dictionary._base import Array, Dictionary, Parameter
from tamis.kernels.arrays.tolerances import ceil_count
from tamis.kernels.signals.spectra import power_spectra, transform_bins, weigh_bins

_FLOOR = 1e-12  # of the variance of the training signals: a flat channel has a finite logarithm


class Bands(Dictionary):
    """What dictionaries of frequency bands share: the space of both edges, the bins of the spectrum, their gains."""

    _parameter_constraints: ClassVar[dict] = {
        "sfreq": [Interval(Real, 0, None, closed="neither")],
        "band": ["array-like"],
        "min_width": [Interval(Real, 0, None, closed="neither")],
        "max_width": [Interval(Real, 0, None, closed="neither"), None],
        "transition": [Interval(Real, 0, None, closed="neither")],
        "taper": [Interval(Real, 0, 1, closed="both")],
    }
    sfreq: float
    band: tuple[float, float]
    min_width: float
    max_width: float | None
    transition: float
    taper: float

    def space(self) -> tuple[Parameter, ...]:
        """Lower and upper edge in Hz, each over what the narrowest band leaves to it."""
        low, high = self._check_band()
        return (
            Parameter("low", low, high - self.min_width, unit="Hz"),
            Parameter("high", low + self.min_width, high, unit="Hz"),
        )

    def sample(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw ``n`` bands evenly among those that are wide, and narrow, enough."""
        share = rng.uniform(size=(n, 2))
        room = 1.0 - (1.0 - self._spread()) ** 2
        spread = 1.0 - np.sqrt(1.0 - room * share[:, 0])  # the wider the band, the fewer places there are for it
        start = (1.0 - spread) * share[:, 1]
        return self.from_unit(np.column_stack([start, start + spread]))

    def grid(self, n: int) -> np.ndarray:
        """At most ``n`` bands whose edges are on a regular grid; the widest one alone for ``n`` less than 3."""
        spread = self._spread()
        best = np.array([[0.5 - 0.5 * spread, 0.5 + 0.5 * spread]])
        for levels in range(2, n + 1):
            first, last = np.triu_indices(levels)
            kept = (last - first) <= spread * (levels - 1) + 1e-9
            if kept.sum() > n:
                break
            best = np.column_stack([first, last])[kept] / (levels - 1)
        return self.from_unit(best)

    def from_unit(self, unit: np.ndarray) -> np.ndarray:
        """Bands at points of the unit square; points that are no bands are brought to the nearest one."""
        unit = np.clip(unit, 0.0, 1.0)
        spread = unit[:, 1] - unit[:, 0]
        amiss = 0.5 * (np.clip(spread, 0.0, self._spread()) - spread)
        return super().from_unit(unit + np.column_stack([-amiss, amiss]))

    def atoms(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies in Hz, and the power gains of each band at them, of shape (n_parameters, n_frequencies)."""
        check_is_fitted(self, "frequencies_")
        return self.frequencies_, self._gains(parameters)

    def _fit_bands(self, signals: Array) -> Array:
        """Check parameters and training signals, and choose the bins of the spectrum."""
        self._validate_params()
        self._check_band()
        signals = _as_trials(signals)
        n_times = signals.shape[2]
        needed = ceil_count(self.sfreq / self.min_width)
        if n_times < needed:
            raise ValueError(
                f"signals of {n_times} times cannot tell bands of min_width={self.min_width:g} Hz apart at "
                f"sfreq={self.sfreq:g}: give at least {needed} times or raise min_width"
            )
        self.signal_shape_ = tuple(signals.shape[1:])
        frequencies = np.fft.rfftfreq(n_times, 1.0 / self.sfreq)
        self.transition_ = max(float(self.transition), float(frequencies[1]))
        heard = np.abs(frequencies - np.mean(self.band)) < 0.5 * (self.band[1] - self.band[0] + self.transition_)
        self.bins_ = slice(int(heard.argmax()), int(heard.argmax() + heard.sum()))
        self.frequencies_ = frequencies[self.bins_]
        return signals

    def _amplitudes(self, signals: Array) -> Array:
        """Complex amplitudes of (n_trials, n_channels, n_bins)."""
        check_is_fitted(self, "frequencies_")
        signals = _as_trials(signals)
        if tuple(signals.shape[1:]) != self.signal_shape_:
            raise ValueError(
                f"signals have {signals.shape[1]} channels and {signals.shape[2]} times, and those of fit had "
                f"{self.signal_shape_[0]} and {self.signal_shape_[1]}"
            )
        return transform_bins(signals, self.bins_, self.taper)

    def _gains(self, parameters: np.ndarray) -> np.ndarray:
        return weigh_bins(self.frequencies_, np.asarray(parameters, dtype=float), self.transition_)

    def _gains_like(self, parameters: np.ndarray, signals: Array) -> Array:
        """Gains on the device of the signals."""
        xp = array_namespace(signals)
        return xp.asarray(self._gains(parameters), dtype=signals.dtype, device=device(signals))

    def _spread(self) -> float:
        """How far apart the two coordinates of a band may be in the unit square."""
        low, high = self._check_band()
        room = high - low - self.min_width
        if self.max_width is None or room <= 0.0:
            return 1.0
        return float(np.clip((self.max_width - self.min_width) / room, 0.0, 1.0))

    def _check_band(self) -> tuple[float, float]:
        edges = np.asarray(self.band, dtype=float)
        if edges.shape != (2,) or not 0.0 <= edges[0] < edges[1]:
            raise ValueError(f"band={self.band} must be a lower and a higher frequency in Hz, such as (8.0, 30.0)")
        low, high = float(edges[0]), float(edges[1])
        if high > self.sfreq / 2.0:
            raise ValueError(
                f"band={self.band} reaches beyond {self.sfreq / 2:g} Hz, half of sfreq={self.sfreq:g}: lower it"
            )
        if self.min_width > high - low:
            raise ValueError(f"min_width={self.min_width:g} Hz does not fit in band={self.band}: lower it")
        if self.max_width is not None and self.max_width < self.min_width:
            raise ValueError(f"max_width={self.max_width:g} is less than min_width={self.min_width:g}: raise it")
        return low, high

    def _band_names(self, parameters: np.ndarray) -> list[str]:
        return [f"band {low:.4g}-{high:.4g} Hz" for low, high in parameters]


class BandPass(Bands):
    r"""Log power of every channel in a frequency band.

    .. math::
        \phi_\theta(x)_c = \log \frac{1}{T} \sum_t (h_\theta * x_c)(t)^2 = \log \sum_f g_\theta(f) \, P_c(f),
        \qquad \theta = (f_{low}, f_{high}),

    with :math:`P_c` the power spectrum of channel :math:`c` and :math:`g_\theta = |\hat h_\theta|^2` the power gain of
    the band: 1 inside, 0 outside, half a cosine between (Flamary et al. 2011, Sec. 2.2).

    Parameters
    ----------
    sfreq : float
        Sampling frequency of the signals in Hz.
    band : tuple of float, default=(8.0, 30.0)
        No edge is outside of it, in Hz.
    min_width, max_width : float, default=2.0 and None
        Least and greatest width of a band in Hz; None is that of ``band``. The paper has at least 20 Hz in 8-30 Hz.
    transition : float, default=1.0
        Width of the soft edges in Hz, whose middle is the edge; at least the distance between two bins.
    taper : float, default=0.1
        Share of the signal, half at each end, that fades in and out.
    log : bool, default=True
        False gives the power itself.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_bins,)
        Bins of the spectrum that some band passes, in Hz.
    n_columns : int
        Number of channels.

    Notes
    -----
    Signals are of shape (n_trials, n_channels, n_times), or (n_trials, n_times) for a single channel, of numpy or of
    any Array-API namespace; integers become floats, other types are kept. :meth:`prepare` fits a line to each signal
    and removes it, tapers (a whole Hann window would cost half of the data, none would let slow waves leak into the
    band) and takes the spectrum, n_trials * n_channels * n_bins numbers; :meth:`compute` is one matrix product of gains
    with them, O(n_trials * n_channels * n_bins) per band. Features are continuous in both edges, and the powers of
    adjacent bands add up to that of their union.

    References
    ----------
    Flamary, Yger and Rakotomamonjy, "Selecting from an infinite set of features in SVM", ESANN, 2011, Sec. 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dictionary import BandPass
    >>> times = np.arange(500) / 250.0
    >>> signals = np.sin(2 * np.pi * np.array([[10.0], [20.0]]) * times)
    >>> bands = BandPass(sfreq=250.0, log=False).fit(signals)
    >>> bands.compute(bands.prepare(signals), np.array([[8.0, 12.0], [18.0, 22.0]])).round(1)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    _parameter_constraints: ClassVar[dict] = {**Bands._parameter_constraints, "log": ["boolean"]}

    def __init__(
        self,
        sfreq: float,
        *,
        band: tuple[float, float] = (8.0, 30.0),
        min_width: float = 2.0,
        max_width: float | None = None,
        transition: float = 1.0,
        taper: float = 0.1,
        log: bool = True,
    ) -> None:
        self.sfreq = sfreq
        self.band = band
        self.min_width = min_width
        self.max_width = max_width
        self.transition = transition
        self.taper = taper
        self.log = log

    def fit(self, signals: Array, y: Any = None) -> BandPass:
        """Check the training signals; ``y`` is ignored."""
        signals = self._fit_bands(signals)
        xp = array_namespace(signals)
        self.n_columns = int(signals.shape[1])
        self.floor_ = _FLOOR * float(xp.mean(xp.var(signals, axis=-1))) or _FLOOR
        return self

    def prepare(self, signals: Array) -> Array:
        """Power spectra of shape (n_trials, n_channels, n_bins)."""
        return power_spectra(self._amplitudes(signals))

    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """Log power of each band and channel, of shape (n_trials, n_parameters * n_channels)."""
        xp = array_namespace(signals)
        power = signals @ self._gains_like(parameters, signals).T  # (n_trials, n_channels, n_parameters)
        power = xp.reshape(xp.permute_dims(power, (0, 2, 1)), (signals.shape[0], -1))
        return xp.log(xp.clip(power, min=self.floor_)) if self.log else power

    def names(self, parameters: np.ndarray, input_features: Any = None) -> np.ndarray:
        """``band 9.8-13.2 Hz channel 3``; names of channels in place of numbers if given."""
        bands = self._band_names(parameters)
        if self.n_columns == 1:
            return np.array(bands, dtype=object)
        if input_features is not None and len(input_features) != self.n_columns:
            raise ValueError(f"input_features names {len(input_features)} channels, and there are {self.n_columns}")
        unnamed = [f"channel {c}" for c in range(self.n_columns)]
        channels = unnamed if input_features is None else list(input_features)
        return np.array([f"{band} {channel}" for band in bands for channel in channels], dtype=object)


def _as_trials(signals: Array) -> Array:
    """Finite signals of shape (n_trials, n_channels, n_times), of a float type."""
    signals = signals if hasattr(signals, "shape") else np.asarray(signals)
    xp = array_namespace(signals)
    if len(signals.shape) not in (2, 3):
        raise ValueError(
            f"signals must be of shape (n_trials, n_channels, n_times), or (n_trials, n_times), not {signals.shape}"
        )
    if 0 in signals.shape:
        raise ValueError(f"signals of shape {tuple(signals.shape)} hold nothing")
    if len(signals.shape) == 2:
        signals = signals[:, None, :]
    if not xp.isdtype(signals.dtype, "real floating"):
        if not xp.isdtype(signals.dtype, ("integral", "bool")):
            raise ValueError(f"signals must be real numbers, not {signals.dtype}")
        return xp.astype(signals, xp.float64)
    finite = xp.all(xp.isfinite(signals), axis=(1, 2))
    if not bool(xp.all(finite)):
        invalid = int(xp.argmax(xp.astype(~finite, xp.int8)))
        raise ValueError(f"signal {invalid} holds NaN or infinity; fill or drop it first")
    return signals
