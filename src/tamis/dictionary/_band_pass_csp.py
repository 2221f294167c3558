"""Common spatial patterns in frequency bands whose edges are continuous parameters."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, array_namespace, device
from tamis.dictionary._band_pass import Bands
from tamis.dictionary._base import Array
from tamis.dictionary._csp import average_by_class, find_filters_of_classes, find_patterns, shrink_covariances
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.signals.spectra import cross_spectra, pack_quadratic_forms, unpack_symmetric

_BLOCK_NUMBERS = 2**22  # covariances held at once
_FLOOR = 1e-10  # filters give unit variance to the sum of both classes


class BandPassCSP(Bands):
    r"""Log variances of spatially filtered trials in a frequency band, the filters learned in that band.

    .. math::
        \phi_\theta(x)_k = \log w_{\theta k}^T \, S_\theta(x) \, w_{\theta k}, \qquad
        \bar S_{\theta,1} w_{\theta k} = \lambda_k (\bar S_{\theta,1} + \bar S_{\theta,2}) w_{\theta k},

    with :math:`S_\theta(x)` the covariance of the channels of a trial in the band :math:`\theta = (f_{low}, f_{high})`
    and :math:`\bar S_{\theta,y}` its mean over the training trials of class :math:`y`; the filters kept are those of
    the largest and smallest :math:`\lambda` (Flamary et al. 2011, Secs. 2.2 and 3).

    Parameters
    ----------
    sfreq : float
        Sampling frequency of the signals in Hz.
    n_components : int, default=4
        Number of filters, half from each end. With more than two classes, as many for each class against the others.
    band : tuple of float, default=(8.0, 30.0)
        No edge is outside of it, in Hz.
    min_width, max_width : float, default=2.0 and None
        Least and greatest width of a band in Hz; None is that of ``band``. The paper has at least 20 Hz in 8-30 Hz.
    transition : float, default=1.0
        Width of the soft edges in Hz, whose middle is the edge; at least the distance between two bins.
    taper : float, default=0.1
        Share of the signal, half at each end, that fades in and out.
    shrinkage : float, default=0.01
        Share of the identity, scaled to the same trace, in the covariances of the classes. A little makes filters of
        channels with a common average reference, whose covariances are singular.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_bins,)
        Bins of the spectrum that some band passes, in Hz.
    classes_ : ndarray
        Labels seen in ``fit``.
    n_columns : int
        Number of filters: ``n_components``, times the number of classes if there are more than two.

    Notes
    -----
    :meth:`prepare` holds the real cross-spectra of all pairs of channels, n_trials * n_bins * C (C + 1) / 2 numbers of
    the type of the signals: 27 MB for 288 trials of 22 channels and 2 s in 8-30 Hz. Their sum over the bins of a band
    is the covariance of the filtered trial (Parseval), so that no signal is ever filtered: :meth:`learn` sums class
    means, one matrix product for all bands, and solves one eigenproblem of size C per band, on the CPU; :meth:`compute`
    is O(n_trials * n_bins * C^2 / 2) per band, in blocks of bands that bound memory. Filters know the trials that
    :meth:`learn` was given and are never learned again on new ones. Trials are not scaled to equal power.

    With two classes, filters are ordered by the end of the spectrum: the most variance in the first class, the most in
    the second, and so on.

    References
    ----------
    Flamary, Yger and Rakotomamonjy, "Selecting from an infinite set of features in SVM", ESANN, 2011, Sec. 3. Lotte
    and Guan, IEEE Transactions on Biomedical Engineering 58, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.datasets import make_motor_imagery
    >>> from tamis.dictionary import BandPassCSP
    >>> subject = make_motor_imagery(60, n_channels=8, band=(10.0, 14.0), random_state=0)
    >>> csp = BandPassCSP(subject.sfreq, n_components=2).fit(subject.X, subject.y)
    >>> trials, bands = csp.prepare(subject.X), np.array([[10.0, 14.0], [20.0, 30.0]])
    >>> filters = csp.learn(trials, subject.y, bands)
    >>> filters.shape
    (2, 2, 8)
    >>> csp.compute(trials, bands, filters).shape
    (60, 4)
    """

    is_learned: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        **Bands._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        sfreq: float,
        *,
        n_components: int = 4,
        band: tuple[float, float] = (8.0, 30.0),
        min_width: float = 2.0,
        max_width: float | None = None,
        transition: float = 1.0,
        taper: float = 0.1,
        shrinkage: float = 0.01,
    ) -> None:
        self.sfreq = sfreq
        self.n_components = n_components
        self.band = band
        self.min_width = min_width
        self.max_width = max_width
        self.transition = transition
        self.taper = taper
        self.shrinkage = shrinkage

    def fit(self, signals: Array, y: Any = None) -> BandPassCSP:
        """Check the training signals and count the classes."""
        signals = self._fit_bands(signals)
        n_channels = signals.shape[1]
        if n_channels < 2:
            raise ValueError("spatial filters need two channels or more; use BandPass for a single one")
        if self.n_components > n_channels:
            raise ValueError(f"n_components={self.n_components} is more than the {n_channels} channels; lower it")
        if y is None:
            raise ValueError("spatial filters are learned from classes: give y")
        self.classes_ = np.unique(to_numpy(y))
        if self.classes_.size < 2:
            raise ValueError("y holds a single class: there is nothing to tell apart")
        self.n_columns = self.n_components * (1 if self.classes_.size == 2 else self.classes_.size)
        return self

    def prepare(self, signals: Array) -> Array:
        """Real cross-spectra of all pairs of channels, of shape (n_trials, n_bins, n_pairs)."""
        return cross_spectra(self._amplitudes(signals))

    def learn(self, signals: Array, y: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Filters of each band, of shape (n_parameters, n_filters, n_channels)."""
        covariances = self._class_covariances(signals, y, parameters)
        if self.shrinkage > 0.0:
            covariances = shrink_covariances(covariances, self.shrinkage)
        try:
            return find_filters_of_classes(covariances, self.n_components)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"covariances of the channels are singular with shrinkage={self.shrinkage:g}: raise it, or leave out "
                "channels that others determine"
            ) from error

    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """Log variance of each band and filter, of shape (n_trials, n_parameters * n_filters)."""
        if learned is None:
            raise ValueError("learned is missing: give the filters that learn(signals, y, parameters) returned")
        xp = array_namespace(signals)
        gains = self._gains_like(parameters, signals)
        forms = xp.asarray(pack_quadratic_forms(learned), dtype=signals.dtype, device=device(signals))
        n_trials, _, n_pairs = signals.shape
        parts = []
        for some in blocks(len(parameters), _BLOCK_NUMBERS // (n_trials * n_pairs)):
            covariances = gains[some] @ signals  # (n_trials, n_some, n_pairs)
            variances = xp.permute_dims(covariances, (1, 0, 2)) @ xp.permute_dims(forms[some], (0, 2, 1))
            parts.append(xp.reshape(xp.permute_dims(variances, (1, 0, 2)), (n_trials, -1)))
        return xp.log(xp.clip(xp.concat(parts, axis=1), min=_FLOOR))

    def patterns(self, signals: Array, y: np.ndarray, parameters: np.ndarray, learned: np.ndarray) -> np.ndarray:
        """How what each filter passes shows on the channels, of shape (n_parameters, n_filters, n_channels).

        Parameters
        ----------
        signals, y : array
            Prepared training signals and their classes, which count equally.
        parameters, learned : ndarray
            Bands, and their filters.
        """
        return find_patterns(self._class_covariances(signals, y, parameters).mean(axis=0), learned)

    def names(self, parameters: np.ndarray, input_features: Any = None) -> np.ndarray:
        """``band 9.8-13.2 Hz filter 0``, with the class that a filter singles out if there are more than two."""
        filters = [f"filter {k}" for k in range(self.n_components)]
        if self.classes_.size > 2:
            filters = [f"class {label} {name}" for label in self.classes_ for name in filters]
        return np.array([f"{band} {name}" for band in self._band_names(parameters) for name in filters], dtype=object)

    def _class_covariances(self, signals: Array, y: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Mean covariance of each class in each band: (n_classes, n_parameters, n_channels, n_channels), on the CPU."""
        y = to_numpy(y)
        codes = np.minimum(np.searchsorted(self.classes_, y), self.classes_.size - 1)
        if not np.array_equal(np.unique(y), self.classes_):
            raise ValueError(f"y must hold every class of fit ({', '.join(map(str, self.classes_))}), and no other")
        means = to_numpy(average_by_class(signals, codes, self.classes_.size)).astype(float)
        return unpack_symmetric(self._gains(parameters) @ means, self.signal_shape_[0])
