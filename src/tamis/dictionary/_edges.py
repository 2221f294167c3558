"""Binary edge detectors of gray-level images."""

from __future__ import annotations

from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tamis._sklearn import Interval, check_feature_names_in, fit_context
from tamis.base._raw_input import fill_masked
from tamis.dictionary._edge_detection import STEPS, Plane, iterate_planes, locate_places, widen_pixels
from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.kernels.arrays.tolerances import ceil_count

_BLOCK_PIXELS = 2**18  # of one block of images: a few arrays of this size are held at once


class Edges(TransformerMixin, BaseEstimator):
    r"""Is there an edge of this orientation near this place? A binary feature per orientation, place and vagueness.

    .. math::
        \delta_{e,v}(I, z) = \max_{|k| \le v} \, \mathbf{1}\bigl[\, |I(z_k) - I(z_k + e)| >
        \max_{(a, b) \in N(z_k, e)} |I(a) - I(b)| \,\bigr], \qquad z_k = z + k e,

    with :math:`e` the step across the edge and :math:`N(z, e)` the six pairs made of :math:`z` or :math:`z + e` and one
    of their other neighbors: beyond, along :math:`e`, and on both sides, across it. Only differences are compared, so
    that neither brightness, nor contrast, nor a negative changes a detector. These are the features of faces and of
    digits in Gadat and Younes (2007, Secs. 5.2.1 and 5.2.3).

    Parameters
    ----------
    vagueness : tuple of int, default=(0, 1, 2)
        How many steps along its normal, one way and the other, an edge may be displaced; a detector per value.
    orientations : tuple of int, default=(0, 45, 90, 135)
        Of the edge, in degrees, as seen: 0 is a horizontal edge, 45 one that rises to the right.
    polarity : bool, default=False
        Have two detectors in place of each, one for edges whose lower side (the right one of vertical edges) is the
        brighter, and one for the others.
    image_shape : tuple of int, default=None
        Height and width, needed if the images come as flat rows, which are read row by row.
    min_frequency : float, default=0.01
        Detectors that are on in less than this share of the training images, or off in less, are dropped. 0 keeps all
        that are not the same in all training images.
    min_contrast : float, default=0.0
        Smallest difference of gray levels that makes an edge. Other values than 0 give up the indifference to contrast.

    Attributes
    ----------
    orientation_, vagueness_, row_, column_ : ndarray of shape (n_detectors,)
        Of every kept detector; the place is that of :math:`z`, the upper pixel (the left one of vertical edges).
    polarity_ : ndarray of shape (n_detectors,)
        1 where :math:`z + e` must be the brighter, -1 the darker, 0 if that does not matter.
    frequency_ : ndarray of shape (n_detectors,)
        Share of the training images in which the detector is on.
    image_shape_ : tuple of int
    n_features_in_ : int
        Number of pixels.

    Notes
    -----
    A place needs all eight pixels in the image, which leaves (h - 3)(w - 2) of them for horizontal edges and
    (h - 3)(w - 3) for diagonal ones; the maximum over displacements runs over places. Images whose border matters can
    be widened first: ``np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")``. One step across a diagonal edge is a
    diagonal one. Cost: some 20 operations per pixel and orientation, in blocks of images, so that memory is that of the
    result, one byte per image and detector.

    Differences that rounding alone tells apart are equal, so that gray levels from 0 to 1 give what those from 0 to
    255 give.

    The paper cites two others for the detectors and for which of them are kept, and gives neither rule; it has 1926 on
    its faces (19 x 19 pixels) and 2418 on USPS (16 x 16). Here, a frequency decides: 3168 and 2092.

    References
    ----------
    Gadat and Younes, JMLR 8, 2007, Sec. 5.2. Amit and Geman, Neural Computation 11, 1999. Fleuret and Geman,
    International Journal of Computer Vision 41, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tamis.dictionary import Edges
    >>> edges = Edges(vagueness=(0, 1)).fit(load_digits().images)
    >>> edges.transform(load_digits().images).shape
    (1797, 203)
    >>> edges.get_feature_names_out()[:2]
    array(['edge 0 v0 at (1, 2)', 'edge 0 v0 at (1, 3)'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict] = {
        "vagueness": ["array-like"],
        "orientations": ["array-like"],
        "polarity": ["boolean"],
        "image_shape": ["array-like", None],
        "min_frequency": [Interval(Real, 0, 0.5, closed="both")],
        "min_contrast": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        vagueness: tuple[int, ...] = (0, 1, 2),
        orientations: tuple[int, ...] = (0, 45, 90, 135),
        polarity: bool = False,
        image_shape: tuple[int, int] | None = None,
        min_frequency: float = 0.01,
        min_contrast: float = 0.0,
    ) -> None:
        self.vagueness = vagueness
        self.orientations = orientations
        self.polarity = polarity
        self.image_shape = image_shape
        self.min_frequency = min_frequency
        self.min_contrast = min_contrast

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Edges:
        """Find out which detectors are on neither too seldom nor too often.

        Parameters
        ----------
        X : array of shape (n_images, height, width), or (n_images, height * width) with ``image_shape``
        y : ignored

        Returns
        -------
        Edges
        """
        planes = self._planes()
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.image_shape_ = self._shape_of(X)
        images = self._check_images(X, reset=True)
        for orientation in dict.fromkeys(orientation for orientation, _, _ in planes):
            _check_size(self.image_shape_, orientation)
        layout = np.concatenate([_lay_out(self.image_shape_, plane) for plane in planes])
        counts = np.zeros(len(layout), dtype=np.int64)
        for rows in blocks(len(images), self._block_size()):
            counts += self._count(images[rows], planes)
        needed = max(1, ceil_count(self.min_frequency * len(images)))
        kept = (counts >= needed) & (len(images) - counts >= needed)
        if not kept.any():
            raise ValueError(
                f"no edge detector is on in {needed} or more of the {len(images)} images and off in as many; give more "
                "images, or lower min_frequency or min_contrast"
            )
        self.orientation_, self.polarity_, self.vagueness_, self.row_, self.column_ = layout[kept].T
        self.frequency_ = counts[kept] / len(images)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Whether each detector is on.

        Parameters
        ----------
        X : array of shape (n_images, height, width) or (n_images, height * width)

        Returns
        -------
        ndarray of shape (n_images, n_detectors), of uint8
            1 where it is on, 0 where it is off.
        """
        check_is_fitted(self, "row_")
        return self.compute(X, np.arange(self.row_.size))

    def compute(self, X: Any, indices: Any) -> np.ndarray:
        """The given detectors only, in the order given: some columns of what :meth:`transform` returns."""
        check_is_fitted(self, "row_")
        images = self._check_images(X, reset=False)
        indices = np.arange(self.row_.size)[indices]
        detectors = np.column_stack([self.orientation_, self.polarity_, self.vagueness_, self.row_, self.column_])
        planes, member = np.unique(detectors[indices, :3], axis=0, return_inverse=True)
        places = [(np.flatnonzero(member == p), plane) for p, plane in enumerate(map(_as_plane, planes))]
        result = np.empty((len(images), indices.size), dtype=np.uint8)

        def fill(rows: slice) -> None:
            maps = iterate_planes(widen_pixels(images[rows]), [plane for _, plane in places], self.min_contrast)
            for (chosen, plane), plane_map in zip(places, maps, strict=True):
                top, left, _, _ = locate_places(self.image_shape_, plane[0])
                at = detectors[indices[chosen]]
                result[rows, chosen] = plane_map[at[:, 3] - top, at[:, 4] - left].T

        list(map_in_threads(fill, list(blocks(len(images), self._block_size()))))
        return result

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as ``edge 45 v1 at (3, 4)``, or ``edge 45+ v1 at (3, 4)`` with polarity."""
        check_is_fitted(self, "row_")
        check_feature_names_in(self, input_features)
        signs = np.array(["", "+", "-"])[self.polarity_]
        detectors = zip(self.orientation_, signs, self.vagueness_, self.row_, self.column_, strict=True)
        return np.array([f"edge {o}{sign} v{v} at ({r}, {c})" for o, sign, v, r, c in detectors], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _planes(self) -> list[Plane]:
        """Every orientation, sign and vagueness, in the order of the detectors."""
        for name in ("orientations", "vagueness"):
            values = list(getattr(self, name))
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name}={values} must hold at least one value, and none of them twice")
        if unknown := [value for value in self.orientations if value not in STEPS]:
            raise ValueError(f"orientations holds {unknown[0]!r}; choose among {', '.join(map(str, STEPS))}")
        if wrong := [value for value in self.vagueness if not isinstance(value, Integral) or int(value) < 0]:
            raise ValueError(f"vagueness holds {wrong[0]!r}; give numbers of steps: 0, 1, 2, ...")
        signs = (1, -1) if self.polarity else (0,)
        return [_as_plane(plane) for plane in product(self.orientations, signs, self.vagueness)]

    def _count(self, images: np.ndarray, planes: list[Plane]) -> np.ndarray:
        """In how many images each detector is on."""
        maps = iterate_planes(widen_pixels(images), planes, self.min_contrast)
        return np.concatenate([np.count_nonzero(plane_map, axis=-1).ravel() for plane_map in maps])

    def _block_size(self) -> int:
        return _BLOCK_PIXELS // self.n_features_in_

    def _check_images(self, X: Any, *, reset: bool) -> np.ndarray:
        """Finite gray levels of shape (n_images, height, width)."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        shape = self.image_shape_
        if len(X.shape) not in (2, 3):
            raise ValueError(
                f"images must be gray levels of shape (n_images, height, width), not {X.shape}; average colors first"
            )
        if X.shape[0] == 0:
            raise ValueError("there are no images: X has 0 sample(s)")
        if len(X.shape) == 3:
            if tuple(X.shape[1:]) != shape:
                raise ValueError(f"images have {_by(X.shape[1:])} pixels, and {_by(shape)} are expected")
            X = np.asarray(X).reshape(len(X), -1)
        elif reset and X.shape[1] != shape[0] * shape[1]:
            raise ValueError(f"rows hold {X.shape[1]} pixels, which is not {_by(shape)}; correct image_shape")
        table = validate_data(self, fill_masked(X), reset=reset, dtype="numeric", ensure_all_finite=False)
        if table.dtype.kind == "f" and not np.isfinite(table).all():
            invalid = np.flatnonzero(~np.isfinite(table).all(axis=1))
            raise ValueError(
                f"Input X contains NaN or infinity in {invalid.size} of {len(table)} images, the first being image "
                f"{invalid[0]}; fill or drop them first"
            )
        return table.reshape(len(table), *shape)

    def _shape_of(self, X: Any) -> tuple[int, int]:
        """Height and width: the parameter, else those of the images."""
        if self.image_shape is None:
            if len(X.shape) < 3:
                raise ValueError(
                    "rows are flat: say image_shape=(height, width), or give images of shape (n_images, height, width)"
                )
            return tuple(X.shape[1:3])
        shape = np.asarray(self.image_shape)
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 1:
            raise ValueError(f"image_shape={self.image_shape} must be the height and the width, two integers")
        return int(shape[0]), int(shape[1])


def _as_plane(values: Any) -> Plane:
    orientation, sign, vagueness = (int(value) for value in values)
    return orientation, sign, vagueness


def _lay_out(image_shape: tuple[int, int], plane: Plane) -> np.ndarray:
    """Orientation, sign, vagueness, row and column of every detector of a plane."""
    top, left, rows, columns = locate_places(image_shape, plane[0])
    places = np.indices((rows, columns)).reshape(2, -1).T + np.array([top, left])
    return np.column_stack([np.tile(plane, (len(places), 1)), places])


def _check_size(image_shape: tuple[int, int], orientation: int) -> None:
    """Refuse images that have no place for an edge."""
    _, _, rows, columns = locate_places(image_shape, orientation)
    if rows * columns == 0:
        _, _, left_rows, left_columns = locate_places((9, 9), orientation)
        raise ValueError(
            f"images of {_by(image_shape)} pixels are too small for edges of orientation {orientation}, which need "
            f"{_by((10 - left_rows, 10 - left_columns))}; give larger images or leave that orientation out"
        )


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
