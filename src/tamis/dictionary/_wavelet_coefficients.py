"""Inner products of signals with wavelets at any time and scale."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval, StrOptions, array_namespace
from tamis.dictionary._base import Array, Dictionary, Parameter
from tamis.dictionary._table import as_like, check_range
from tamis.dictionary._wavelets import MOTHERS, modulate

_SHORTEST = 4  # samples of a signal


class WaveletCoefficients(Dictionary):
    r"""How much of a wavelet is in a signal, at some time and scale.

    .. math:: \phi_{\tau, s}(x) = \frac{1}{c_{\tau, s}} \sum_t x(t) \, \psi\Bigl(\frac{t - \tau}{s}\Bigr),

    with :math:`\psi` the mother wavelet and :math:`c` the norm of the sampled wavelet. This is the continuous wavelet
    transform, of which :class:`tamis.InfiniteSVM`, or :class:`tamis.GramSchmidt` through
    :class:`tamis.dictionary.Pool`, selects the coefficients that matter. (:class:`tamis.dictionary.Wavelets` are
    functions of the columns of a table instead.)

    Parameters
    ----------
    wavelet : {"mexican_hat", "gaussian_derivative", "morlet"}, default="mexican_hat"
        :math:`\psi(z)` is :math:`1 - z^2`, :math:`-z` or :math:`\cos 5z`, times :math:`e^{-z^2/2}`.
    sfreq : float, default=1.0
        Samples per unit of time, such as Hz; times and scales are in these units.
    scale : tuple of float, default=None
        Smallest and largest :math:`s` in units of time; None is from one sample to an eighth of the signal.

    Attributes
    ----------
    n_columns : int
        Number of channels: one coefficient for each.
    signal_shape_ : tuple of int

    Notes
    -----
    The parameters of a feature are the time and the scale. All coefficients of all signals are one matrix product, in
    the precision of the signals: O(n_signals n_channels n_times n_parameters). Wavelets that reach beyond the signal
    are cut at its ends.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GramSchmidt
    >>> from tamis.dictionary import Pool, WaveletCoefficients
    >>> rng = np.random.RandomState(0)
    >>> X, y = rng.standard_normal((100, 64)), np.arange(100) % 2
    >>> X[:, 30:34] += y[:, None]
    >>> pool = Pool(WaveletCoefficients(), 500, random_state=0)
    >>> found = GramSchmidt(stop=1, dictionary=pool).fit(X, y)
    >>> bool(abs(found.dictionary_.parameters_[found.order_[0], 0] - 31.5) < 4)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "wavelet": [StrOptions(set(MOTHERS))],
        "sfreq": [Interval(Real, 0, None, closed="neither")],
        "scale": [tuple, list, None],
    }

    def __init__(
        self, wavelet: str = "mexican_hat", *, sfreq: float = 1.0, scale: tuple[float, float] | None = None
    ) -> None:
        self.wavelet = wavelet
        self.sfreq = sfreq
        self.scale = scale

    def fit(self, signals: Array, y: Any = None) -> WaveletCoefficients:
        """Learn the length of the signals and the number of channels.

        Parameters
        ----------
        signals : array of shape (n_signals, n_times) or (n_signals, n_channels, n_times)
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        if self.scale is not None:
            check_range("scale", self.scale)
        signals = _check_signals(signals)
        super().fit(signals, y)
        self.n_columns = 1 if len(signals.shape) == 2 else int(signals.shape[1])
        return self

    def space(self) -> tuple[Parameter, ...]:
        """Time and scale; known after ``fit``."""
        check_is_fitted(self, "signal_shape_")
        n_times = self.signal_shape_[-1]
        low, high = (1 / self.sfreq, max(n_times / 8, 1) / self.sfreq) if self.scale is None else self.scale
        return (Parameter("time", 0.0, (n_times - 1) / self.sfreq), Parameter("scale", float(low), float(high), "log"))

    def prepare(self, signals: Array) -> Array:
        """The signals, checked against those of ``fit``."""
        check_is_fitted(self, "signal_shape_")
        signals = _check_signals(signals)
        if tuple(signals.shape[1:]) != self.signal_shape_:
            raise ValueError(
                f"signals of shape {tuple(signals.shape[1:])}, but WaveletCoefficients was fitted on "
                f"{self.signal_shape_}; give signals of the same channels and length"
            )
        return signals

    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """One coefficient per parameter and channel, of shape (n_signals, n_parameters * n_channels)."""
        xp = array_namespace(signals)
        z = (np.arange(self.signal_shape_[-1]) / self.sfreq - parameters[:, :1]) / parameters[:, 1:]
        atoms = modulate(self.wavelet, z) * np.exp(-0.5 * z**2)
        atoms /= np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), np.finfo(float).tiny)
        product = signals @ as_like(atoms.T, signals)
        if len(signals.shape) == 2:
            return product
        return xp.reshape(xp.permute_dims(product, (0, 2, 1)), (signals.shape[0], -1))


def _check_signals(signals: Any) -> Array:
    """Finite floats with two axes or three, or an error that says what to do."""
    if not hasattr(signals, "shape") or not hasattr(signals, "__array__"):
        raise ValueError(f"WaveletCoefficients takes a dense array of signals, not {type(signals).__name__}")
    if len(signals.shape) not in (2, 3):
        raise ValueError(
            "WaveletCoefficients takes signals of shape (n_signals, n_times) or (n_signals, n_channels, n_times), not "
            f"an array of {len(signals.shape)} axes"
        )
    if signals.shape[-1] < _SHORTEST:
        raise ValueError(f"signals of {signals.shape[-1]} samples are too short for wavelets; give {_SHORTEST} or more")
    xp = array_namespace(signals)
    if not xp.isdtype(signals.dtype, "real floating"):
        signals = xp.astype(signals, xp.float64)
    finite = xp.isfinite(signals)
    if not bool(xp.all(finite)):
        each = xp.all(xp.reshape(finite, (signals.shape[0], -1)), axis=1)
        first = int(xp.argmax(xp.astype(~each, xp.int64)))
        raise ValueError(f"signal {first} holds missing or infinite values; drop or repair it first")
    return signals
