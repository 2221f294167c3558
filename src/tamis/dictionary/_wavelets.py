"""Wavelets of the rows of a table: products of translated and dilated mother wavelets."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval, StrOptions, array_namespace, device
from tamis.dictionary._base import Array, Parameter
from tamis.dictionary._table import TableDictionary, as_like, check_range, name_inputs

_FAR = 1e4  # dilations away, where every wavelet is zero, and squares are finite in single precision
MOTHERS = ("gaussian_derivative", "mexican_hat", "morlet")


def modulate(wavelet: str, z: Array) -> Array:
    """What multiplies the Gaussian envelope exp(-z^2 / 2) of a mother wavelet."""
    if wavelet == "gaussian_derivative":
        return -z
    return 1 - z**2 if wavelet == "mexican_hat" else array_namespace(z).cos(5 * z)


class Wavelets(TableDictionary):
    r"""Oscillations that live somewhere along one input, or a few, at some scale.

    .. math:: \phi_{m, d}(x) = \prod_{k \in K} \psi\Bigl(\frac{x_k - m_k}{d_k}\Bigr),

    with :math:`\psi` the mother wavelet, :math:`K` the inputs that the wavelet looks at, a translation :math:`m_k` and
    a dilation :math:`d_k` for each. With :class:`tamis.dictionary.Pool`, a library from which
    :class:`tamis.GramSchmidt` selects the wavelons of a network (Stoppiglia et al. 2003, Sec. 5; Oussar and Dreyfus
    2000).

    Parameters
    ----------
    wavelet : {"gaussian_derivative", "mexican_hat", "morlet"}, default="gaussian_derivative"
        :math:`\psi(z)` is :math:`-z`, :math:`1 - z^2` or :math:`\cos 5z`, times :math:`e^{-z^2/2}`. The first is
        that of Oussar and Dreyfus.
    dilation : tuple of float, default=(0.1, 2.0)
        Smallest and largest dilation, in standard deviations of the input.
    max_inputs : int or None, default=2
        Most inputs that one wavelet looks at. None is the paper's: each looks at all.

    Attributes
    ----------
    inputs_ : ndarray of shape (n_inputs,)
        Columns that vary, which wavelets can look at.
    low_, high_, mean_, deviation_ : ndarray of shape (n_features,)
        Of the training columns.
    rows_ : ndarray of shape (n_rows, n_features)
        Training rows near which wavelets are placed.
    n_features_in_ : int

    Notes
    -----
    The product over all inputs dies out as they become many: each factor is below one almost everywhere. So a wavelet
    looks at ``max_inputs`` of them at most, drawn with it, which also says which inputs matter; half of the time a
    factor after the first is left out, so that the dictionary holds main effects and interactions.

    The parameters of a feature are, per factor, the place of its input among ``inputs_`` (its whole part; beyond their
    number there is no factor; absent with ``max_inputs=None``), the translation as a share of the input's range, and
    the dilation. Wavelets are placed near training rows. :meth:`names` gives :math:`m` and :math:`d` in the table's own
    units. Cost: O(n_samples n_parameters max_inputs), in the precision of the table.

    References
    ----------
    Stoppiglia, Dreyfus, Dubois and Oussar, JMLR 3, 2003, Sec. 5. Oussar and Dreyfus, "Initialization by selection for
    wavelet network training", Neurocomputing 34, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GramSchmidt
    >>> from tamis.dictionary import Pool, Wavelets
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, size=(300, 4))
    >>> y = X[:, 2] * np.exp(-2 * X[:, 2] ** 2) + 0.05 * rng.standard_normal(300)
    >>> found = GramSchmidt(stop=1, dictionary=Pool(Wavelets(), 1000, random_state=0)).fit(X, y)
    >>> found.get_feature_names_out()[0].split()[1]
    'x2'
    """

    _parameter_constraints: ClassVar[dict] = {
        "wavelet": [StrOptions(set(MOTHERS))],
        "dilation": ["array-like"],
        "max_inputs": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        wavelet: str = "gaussian_derivative",
        *,
        dilation: tuple[float, float] = (0.1, 2.0),
        max_inputs: int | None = 2,
    ) -> None:
        self.wavelet = wavelet
        self.dilation = dilation
        self.max_inputs = max_inputs

    def fit(self, signals: Array, y: Any = None) -> Wavelets:
        """Learn the range and the spread of every input.

        Parameters
        ----------
        signals : array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_range("dilation", self.dilation)
        super().fit(signals, y)
        self.inputs_ = np.flatnonzero(self.deviation_ > 0)
        return self

    def _n_factors(self) -> int:
        check_is_fitted(self)
        return self.inputs_.size if self.max_inputs is None else min(self.max_inputs, self.inputs_.size)

    def space(self) -> tuple[Parameter, ...]:
        """Input, translation and dilation of each factor; known after ``fit``."""
        factors: list[Parameter] = []
        for i in range(self._n_factors()):
            if self.max_inputs is not None:
                factors.append(Parameter(f"input {i}", 0.0, self.inputs_.size * (1.0 if i == 0 else 2.0)))
            factors.append(Parameter(f"translation {i}", 0.0, 1.0))
            factors.append(Parameter(f"dilation {i}", float(self.dilation[0]), float(self.dilation[1]), "log"))
        return tuple(factors)

    def sample(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw ``n`` wavelets near training rows, of distinct inputs."""
        n_factors, n_inputs = self._n_factors(), self.inputs_.size
        low, high = self.low_[self.inputs_], self.high_[self.inputs_]
        share = (self._near_rows(n, rng)[:, self.inputs_] - low) / (high - low)
        dilation = self.dilation[0] * (self.dilation[1] / self.dilation[0]) ** rng.uniform(size=(n, n_factors))
        if self.max_inputs is None:
            return np.stack([share, dilation], axis=2).reshape(n, -1)
        place = np.argsort(rng.uniform(size=(n, n_inputs)), axis=1)[:, :n_factors]
        left_out = rng.uniform(size=place.shape) < 0.5
        left_out[:, 0] = False
        code = np.where(left_out, 1.5 * n_inputs, place + 0.5)
        return np.stack([code, np.take_along_axis(share, place, axis=1), dilation], axis=2).reshape(n, -1)

    def prepare(self, signals: Array) -> Array:
        """The inputs that vary, centered and scaled."""
        X = super().prepare(signals)
        X = array_namespace(X).take(X, _places(self.inputs_, X), axis=1)
        return (X - as_like(self.mean_[self.inputs_], X)) / as_like(self.deviation_[self.inputs_], X)

    def _decode(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Per feature and factor: the input's place among ``inputs_``, whether it counts, translation and dilation."""
        n_factors, n_inputs = self._n_factors(), self.inputs_.size
        parts = np.asarray(parameters, dtype=float).reshape(
            len(parameters), n_factors, 2 if self.max_inputs is None else 3
        )
        place = np.broadcast_to(np.arange(n_factors), parts.shape[:2])
        counts = np.ones(place.shape, dtype=bool)
        if self.max_inputs is not None:
            place = np.floor(parts[:, :, 0]).astype(np.int64)
            counts[:, 1:] = place[:, 1:] < n_inputs
            place = np.clip(place, 0, n_inputs - 1)
        column = self.inputs_[place]
        translation = self.low_[column] + parts[:, :, -2] * (self.high_ - self.low_)[column]
        return place, counts, translation, parts[:, :, -1] * self.deviation_[column]

    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """One wavelet per parameter, of shape (n_samples, n_parameters)."""
        xp = array_namespace(signals)
        place, counts, translation, dilation = self._decode(parameters)
        column = self.inputs_[place]
        # in the units of what is prepared; a factor that does not count has z = 0
        offset = (translation - self.mean_[column]) / self.deviation_[column]
        rate = counts * self.deviation_[column] / dilation
        product = 1.0
        for i in range(place.shape[1]):
            inputs = xp.take(signals, _places(place[:, i], signals), axis=1)
            z = (inputs - as_like(offset[:, i], signals)) * as_like(rate[:, i], signals)
            z = xp.clip(z, -_FAR, _FAR)
            factor = as_like(counts[:, i].astype(float), signals)
            product = product * (factor * modulate(self.wavelet, z) * xp.exp(-0.5 * z**2) + (1 - factor))
        return product

    def names(self, parameters: np.ndarray, input_features: Any = None) -> np.ndarray:
        """Names such as ``mexican_hat age m=43.2 d=5.1 * weight m=70 d=2``."""
        inputs = name_inputs(self.n_features_in_, input_features)
        place, *rest = self._decode(parameters)
        named = []
        for columns, counts, translation, dilation in zip(self.inputs_[place], *rest, strict=True):
            each = zip(columns, counts, translation, dilation, strict=True)
            factors = [f"{inputs[j]} m={m:.4g} d={d:.4g}" for j, counted, m, d in each if counted]
            named.append(f"{self.wavelet} " + " * ".join(factors))
        return np.array(named, dtype=object)


def _places(indices: np.ndarray, signals: Array) -> Array:
    return array_namespace(signals).asarray(np.ascontiguousarray(indices), device=device(signals))
