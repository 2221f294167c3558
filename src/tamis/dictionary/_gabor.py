"""Gabor features of textures."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval, StrOptions, array_namespace, is_array_api_obj
from tamis.dictionary._base import Array, Dictionary, Parameter
from tamis.dictionary._gabor_filters import evaluate_gabors, place_locations, sum_responses

_LARGEST = 1e15  # its square, summed over pixels, is finite in single precision
_FLAT = 16  # spread of gray levels, in roundings of the largest, that is no texture


class Gabor(Dictionary):
    r"""How much of a wave of this angle, frequency and extent is there in the image, wherever it is?

    .. math::
        \phi_\theta(I) = \sum_{z} \Bigl| \sum_{x} g_\theta(x - z) \, I(x) \Bigr|, \qquad
        g_\theta(x) = \frac{1}{\sqrt{\pi \sigma_1 \sigma_2}} \exp\Bigl(-\frac{u^2}{2 \sigma_1^2}
        - \frac{v^2}{2 \sigma_2^2}\Bigr) \, e^{2 i \pi f u},

    with :math:`u` and :math:`v` the coordinates of the offset :math:`x` along the wave, whose angle is
    :math:`\varphi`, and across it, and :math:`\theta = (\varphi, f, \sigma_1, \sigma_2)`; :math:`z` runs over a grid of
    locations. With ``pooling="absolute"``, :math:`g_\theta` is the real part only, a cosine: these are the features of
    Flamary, Yger and Rakotomamonjy (2011, Secs. 2.2 and 3).

    Parameters
    ----------
    n_locations : int or None, default=5
        Locations per side of the image: the centers (rounded down) of that many equal pieces of its height and of its
        width. 3 makes 9 locations, 5 makes 25; None takes every pixel.
    pooling : {"modulus", "absolute"}, default="modulus"
        What is summed: the modulus of the responses to a cosine and a sine, which hardly depends on where in a period
        the location falls, or the absolute response to the cosine.
    invariant_to : {"brightness", "contrast"} or None, default="contrast"
        "brightness" takes the mean out of every image (which is the same as taking it out of every function, as cut
        at the border); "contrast" divides by the standard deviation besides; None, the paper's, does neither.
    frequency : tuple of float, default=(0.05, 0.5)
        Lowest and highest, in cycles per pixel.
    width : tuple of float, default=(1.0, 4.0)
        Smallest and largest of both :math:`\sigma`, in pixels.
    image_shape : tuple of int, default=None
        Height and width, needed if the images come as flat rows, which are read row by row.

    Attributes
    ----------
    image_shape_ : tuple of int
    locations_ : tuple of ndarray
        Rows and columns of the locations; there is one at each crossing.

    Notes
    -----
    Angles are in radians, counterclockwise from the horizontal as seen; 0 is a wave that goes from left to right, whose
    crests are vertical. Angles and frequencies are drawn evenly, widths by ratio. Functions are cut at the border of
    the image, as if there were zeros beyond; without ``invariant_to``, that border is an edge as bright as the image.
    Brightness and contrast may well tell classes apart, as long as the light does not change: 16 x 16 patches of the
    textures D29 and D92 of Brodatz are told apart in 97% of the cases with neither taken out, in 94% without
    brightness and in 89% without both; where light differs at random by up to 30%, in 82%, 81% and 89%.

    Cost: one matrix product per location, of the images with all functions, restricted to the pixels within 5.5 widths
    (beyond, a Gaussian is below the rounding of single precision, in which all is computed), or, where counting
    operations says so, for many locations on large images, FFTs of whole images. Both work in blocks: memory is that of
    the images and of the result. A function of two different widths is no product of one function of rows and
    one of columns unless its angle is a multiple of 90 degrees, so that there are no separable convolutions.
    Images may be torch tensors; features stay on their device.

    References
    ----------
    Flamary, Yger and Rakotomamonjy, "Selecting from an infinite set of features in SVM", ESANN, 2011, Secs. 2.2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis.dictionary import Gabor
    >>> row, column = np.indices((16, 16))
    >>> waves = np.stack([np.cos(2 * np.pi * column / 4), np.cos(2 * np.pi * row / 4)])
    >>> dictionary = Gabor().fit(waves)
    >>> parameters = np.array([[0, 0.25, 2, 2], [np.pi / 2, 0.25, 2, 2]])
    >>> dictionary.compute(dictionary.prepare(waves), parameters).round(-1)
    array([[100.,   0.],
           [  0., 100.]], dtype=float32)
    >>> print(dictionary.names(parameters)[0])
    gabor angle=0rad frequency=0.25/px along=2px across=2px
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_locations": [Interval(Integral, 1, None, closed="left"), None],
        "pooling": [StrOptions({"modulus", "absolute"})],
        "invariant_to": [StrOptions({"brightness", "contrast"}), None],
        "frequency": ["array-like"],
        "width": ["array-like"],
        "image_shape": ["array-like", None],
    }

    def __init__(
        self,
        *,
        n_locations: int | None = 5,
        pooling: Literal["modulus", "absolute"] = "modulus",
        invariant_to: Literal["brightness", "contrast"] | None = "contrast",
        frequency: tuple[float, float] = (0.05, 0.5),
        width: tuple[float, float] = (1.0, 4.0),
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.n_locations = n_locations
        self.pooling = pooling
        self.invariant_to = invariant_to
        self.frequency = frequency
        self.width = width
        self.image_shape = image_shape

    def space(self) -> tuple[Parameter, ...]:
        """Angle, frequency, and the widths along the wave and across it."""
        lowest, highest = (float(value) for value in self.frequency)
        narrowest, widest = (float(value) for value in self.width)
        return (
            Parameter("angle", 0.0, np.pi, "circular", "rad"),
            Parameter("frequency", lowest, highest, "linear", "/px"),
            Parameter("along", narrowest, widest, "log", "px"),
            Parameter("across", narrowest, widest, "log", "px"),
        )

    def fit(self, signals: Array, y: Any = None) -> Gabor:
        """Check the ranges, and place the locations on the images.

        Parameters
        ----------
        signals : array of shape (n_images, height, width), or (n_images, height * width) with ``image_shape``
        y : ignored

        Returns
        -------
        Gabor
        """
        self._validate_params()
        low, high = _check_range("frequency", self.frequency)
        if low < 0 or high > 0.5:
            raise ValueError(
                f"frequency={self.frequency} must be within 0 and 0.5 cycles per pixel: pixels cannot tell faster waves"
            )
        if _check_range("width", self.width)[0] <= 0:
            raise ValueError(f"width={self.width} must be positive")
        signals = _as_array(signals)
        self.image_shape_ = self._shape_of(signals)
        self._check_shape(signals)
        if self.n_locations is not None and self.n_locations > min(self.image_shape_):
            raise ValueError(
                f"n_locations={self.n_locations} per side is more than images of {_by(self.image_shape_)} pixels have; "
                "lower it, or take every pixel with None"
            )
        self.signal_shape_ = tuple(signals.shape[1:])
        height, width = self.image_shape_
        self.locations_ = place_locations(height, self.n_locations), place_locations(width, self.n_locations)
        return self

    def prepare(self, signals: Array) -> Array:
        """Flat images in single precision, without what the features are invariant to.

        Parameters
        ----------
        signals : array of shape (n_images, height, width) or (n_images, height * width)

        Returns
        -------
        array of float32 of shape (n_images, height * width)
        """
        check_is_fitted(self, "locations_")
        signals = _as_array(signals)
        self._check_shape(signals)
        xp = array_namespace(signals)
        exact = signals.dtype == xp.float32 or signals.dtype.itemsize <= 2  # others are rounded after centering
        pixels = xp.astype(xp.reshape(signals, (signals.shape[0], -1)), xp.float32 if exact else xp.float64)
        largest = xp.max(xp.abs(pixels), axis=1, keepdims=True)
        fine = (largest < _LARGEST)[:, 0]  # not so for NaN
        if not bool(xp.all(fine)):
            raise ValueError(
                f"image {int(xp.argmin(xp.astype(fine, xp.int8)))} holds NaN, infinity, or gray levels beyond "
                f"{_LARGEST:g}; fill, drop or scale such images first"
            )
        if self.invariant_to is not None:
            pixels = pixels - xp.mean(pixels, axis=1, keepdims=True)
            spread = xp.std(pixels, axis=1, keepdims=True)
            flat = spread <= _FLAT * xp.finfo(pixels.dtype).eps * largest
            scale = spread if self.invariant_to == "contrast" else xp.ones_like(spread)
            pixels = xp.where(flat, xp.zeros_like(pixels), pixels / xp.where(flat, xp.ones_like(scale), scale))
        return xp.astype(pixels, xp.float32)

    def compute(self, signals: Array, parameters: np.ndarray, learned: Any = None) -> Array:
        """Responses summed over the locations, a column per Gabor function.

        Parameters
        ----------
        signals : array of shape (n_images, height * width)
            What :meth:`prepare` returned.
        parameters : ndarray of shape (n_parameters, 4)
        learned : ignored

        Returns
        -------
        array of float32 of shape (n_images, n_parameters)
        """
        check_is_fitted(self, "locations_")
        images = array_namespace(signals).reshape(signals, (signals.shape[0], *self.image_shape_))
        parameters = _check_parameters(parameters)
        return sum_responses(images, parameters, *self.locations_, quadrature=self.pooling == "modulus")

    def atoms(self, parameters: np.ndarray) -> np.ndarray:
        """The cosine functions as pictures, in the middle of an image.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters, 4)

        Returns
        -------
        ndarray of shape (n_parameters, height, width)
        """
        check_is_fitted(self, "locations_")
        rows, columns = (np.arange(size) - (size - 1) / 2 for size in self.image_shape_)
        return evaluate_gabors(_check_parameters(parameters), rows, columns)[0]

    def _shape_of(self, signals: Array) -> tuple[int, int]:
        """Height and width: the parameter, else those of the images."""
        if self.image_shape is None:
            if len(signals.shape) < 3:
                raise ValueError(
                    "rows are flat: say image_shape=(height, width), or give images of shape (n_images, height, width)"
                )
            return tuple(signals.shape[1:3])
        shape = np.asarray(self.image_shape)
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 1:
            raise ValueError(f"image_shape={self.image_shape} must be the height and the width, two integers")
        return int(shape[0]), int(shape[1])

    def _check_shape(self, signals: Array) -> None:
        shape = tuple(signals.shape)
        if len(shape) not in (2, 3):
            raise ValueError(
                f"images must be gray levels of shape (n_images, height, width), not {shape}; average colors first"
            )
        if shape[0] == 0:
            raise ValueError("there are no images: the first axis has length 0")
        if len(shape) == 3 and shape[1:] != self.image_shape_:
            raise ValueError(f"images have {_by(shape[1:])} pixels, and {_by(self.image_shape_)} are expected")
        if len(shape) == 2 and shape[1] != self.image_shape_[0] * self.image_shape_[1]:
            raise ValueError(f"rows hold {shape[1]} pixels, which is not {_by(self.image_shape_)}; correct image_shape")


def _as_array(signals: Any) -> Array:
    """Arrays of any namespace as they are; lists and tables as numpy's, of real numbers."""
    signals = signals if is_array_api_obj(signals) else np.asarray(signals)
    if isinstance(signals, np.ndarray) and signals.dtype.kind not in "biuf":
        raise ValueError(f"images must hold real numbers, not {signals.dtype}; convert them first")
    return signals


def _check_range(name: str, values: Any) -> tuple[float, float]:
    """Two finite numbers, the lower one first."""
    ends = np.asarray(values)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not np.isfinite(ends).all() or ends[0] > ends[1]:
        raise ValueError(f"{name}={values} must be two finite numbers, the lower one first")
    return float(ends[0]), float(ends[1])


def _check_parameters(parameters: Any) -> np.ndarray:
    parameters = np.asarray(parameters, dtype=np.float64)
    if parameters.ndim != 2 or parameters.shape[1] != 4:
        raise ValueError(f"parameters must have shape (n_parameters, 4), not {parameters.shape}; see space()")
    return parameters


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
