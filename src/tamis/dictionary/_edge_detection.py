"""Edges between adjacent pixels, told by comparing gray levels only, for many images at once.

Images come as an array of shape (height, width, n_images): with the images last, every operation runs along them, and
moving a window of pixels is a slice. An edge is between the pixels ``z`` and ``z + e``, with ``z`` the upper one (the
left one of a vertical edge); the places of an orientation are the ``z`` whose six other neighbors are in the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamis.kernels.arrays.tolerances import ROUNDING

# Orientation of the edge (degrees, counterclockwise from horizontal) and the step (rows, columns) that crosses it.
STEPS = {0: (1, 0), 45: (1, 1), 90: (0, 1), 135: (1, -1)}

Plane = tuple[int, int, int]  # orientation, sign (0: any), vagueness


def widen_pixels(images: np.ndarray) -> np.ndarray:
    """Images of shape (n, height, width) as (height, width, n), in a float type whose differences are exact enough."""
    exact = images.dtype == np.float32 or images.dtype.itemsize <= 2  # differences of 16-bit integers fit 24 bits
    return np.ascontiguousarray(np.moveaxis(images, 0, -1), dtype=np.float32 if exact else np.float64)


def locate_places(image_shape: tuple[int, int], orientation: int) -> tuple[int, int, int, int]:
    """First row, first column, number of rows and number of columns of the places of an orientation."""
    offsets = np.array([offset for pair in [_crossing(orientation), *_others(orientation)] for offset in pair])
    lowest, highest = offsets.min(axis=0), offsets.max(axis=0)
    rows, columns = np.maximum(0, image_shape - (highest - lowest))
    return int(-lowest[0]), int(-lowest[1]), int(rows), int(columns)


def find_edges(pixels: np.ndarray, orientation: int, *, sign: int = 0, min_contrast: float = 0.0) -> np.ndarray:
    """Where an edge is, as booleans of shape (n_rows, n_columns, n_images) over the places of the orientation.

    ``sign`` 1 asks for ``z + e`` to be the brighter of the two pixels, -1 for the darker, 0 for neither.
    """
    top, left, rows, columns = locate_places(pixels.shape[:2], orientation)

    def difference(pair: tuple[tuple[int, int], tuple[int, int]]) -> np.ndarray:
        (r0, c0), (r1, c1) = ((top + row, left + column) for row, column in pair)
        return pixels[r1 : r1 + rows, c1 : c1 + columns] - pixels[r0 : r0 + rows, c0 : c0 + columns]

    crossing = difference(_crossing(orientation))
    contrast = np.abs(crossing)
    strongest = np.zeros_like(contrast)
    for pair in _others(orientation):
        other = difference(pair)
        np.maximum(strongest, np.abs(other, out=other), out=strongest)
    slack = ROUNDING.of(pixels) * np.abs(pixels).max(axis=(0, 1))  # equal differences need not stay so in floats
    edges = contrast > strongest + slack
    if min_contrast > 0:
        edges &= contrast >= min_contrast - slack
    if sign:
        edges &= crossing * sign > 0
    return edges


def spread_edges(edges: np.ndarray, orientation: int, vagueness: int) -> np.ndarray:
    """On where an edge is at most ``vagueness`` steps away along the normal, among the places of the orientation."""
    row, column = STEPS[orientation]
    spread = edges.copy() if vagueness else edges
    for k in range(1, min(vagueness, max(edges.shape[:2]) - 1) + 1):
        for sign in (k, -k):
            here, there = _overlap(edges.shape[0], sign * row), _overlap(edges.shape[1], sign * column)
            spread[here[0], there[0]] |= edges[here[1], there[1]]
    return spread


def iterate_planes(pixels: np.ndarray, planes: Sequence[Plane], min_contrast: float) -> Iterator[np.ndarray]:
    """Detectors of each plane (orientation, sign, vagueness); those of one orientation and sign should be neighbors."""
    found: dict[tuple[int, int], np.ndarray] = {}
    for orientation, sign, vagueness in planes:
        if (orientation, sign) not in found:  # only the latest is kept: memory is that of one plane
            found = {(orientation, sign): find_edges(pixels, orientation, sign=sign, min_contrast=min_contrast)}
        yield spread_edges(found[orientation, sign], orientation, vagueness)


def _crossing(orientation: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The pair of pixels, as offsets from ``z``, that an edge separates."""
    return (0, 0), STEPS[orientation]


def _others(orientation: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The six pairs it is compared with: beyond on both sides, and across, with both neighbors of both pixels."""
    e, p = np.array(STEPS[orientation]), np.array(STEPS[(orientation + 90) % 180])
    zero = np.zeros_like(e)
    pairs = [(-e, zero), (e, 2 * e), (-p, zero), (zero, p), (e - p, e), (e, e + p)]
    return [((int(a[0]), int(a[1])), (int(b[0]), int(b[1]))) for a, b in pairs]


def _overlap(size: int, shift: int) -> tuple[slice, slice]:
    """Slices ``here`` and ``there`` of an axis such that ``there`` is ``here`` moved by ``shift``."""
    length = max(0, size - abs(shift))
    here, there = max(0, -shift), max(0, shift)
    return slice(here, here + length), slice(there, there + length)
