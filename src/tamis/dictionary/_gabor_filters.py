"""Responses of images to Gabor functions, added up over places, for many functions and images at once.

A Gabor function is a plane wave under a Gaussian; rows of ``parameters`` hold its angle, its frequency, and the widths
of the Gaussian along the wave and across it. Everything is in single precision, on the device of the images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.fft import next_fast_len

from tamis._sklearn import array_namespace, device
from tamis.kernels.arrays.blocks import blocks

Array = Any

# Beyond so many widths, a Gaussian is below 3e-7 of its peak: rounding, in single precision.
_REACH = 5.5
_BLOCK_NUMBERS = 2**21
# Costs in multiplications of a large matrix product, measured on one core with images of 16 x 16 to 256 x 256: of a
# pixel gathered for a product, of a place (calls, whatever their size), and of a pixel through an FFT and the pooling.
_GATHER_COST, _PLACE_COST, _FFT_COST = 12.0, 6e5, 250.0


def place_locations(size: int, n_locations: int | None) -> np.ndarray:
    """Centers of ``n_locations`` equal pieces of an axis of ``size`` pixels, or every pixel."""
    n_locations = size if n_locations is None else n_locations
    return np.floor((np.arange(n_locations) + 0.5) * size / n_locations).astype(np.intp)


def evaluate_gabors(
    parameters: np.ndarray, rows: np.ndarray, columns: np.ndarray, *, quadrature: bool = True, like: Array = None
) -> tuple[Array, ...]:
    """Cosine Gabor functions of unit envelope on a grid of offsets, and sines; each (n_parameters, n_rows, n_columns).

    Waves and the axes of the Gaussian are sums over the two axes, so that sines and cosines are taken per axis, in
    double precision, and only the exponential per pixel. ``like`` is an array whose namespace and device to use.
    """
    xp = array_namespace(like) if like is not None else np
    where = {} if like is None else {"device": device(like)}
    angle, frequency, along, across = np.asarray(parameters, dtype=np.float64).T[:, :, None]
    norm = np.pi**-0.25 / np.sqrt(np.sqrt(along * across))  # once per axis

    def tables(offsets: np.ndarray, u: np.ndarray, v: np.ndarray) -> list[Array]:
        """Along one axis: what it adds to both coordinates of the Gaussian, and its share of the wave."""
        u, v = u * offsets, v * offsets
        phase = 2 * np.pi * frequency * u
        parts = [u / (np.sqrt(2) * along), v / (np.sqrt(2) * across), norm * np.cos(phase), norm * np.sin(phase)]
        return [xp.asarray(part.astype(np.float32), **where) for part in parts]

    # Rows run downward and angles counterclockwise, hence the minus.
    ru, rv, rcos, rsin = (table[:, :, None] for table in tables(rows, -np.sin(angle), np.cos(angle)))
    cu, cv, ccos, csin = (table[:, None, :] for table in tables(columns, np.cos(angle), np.sin(angle)))
    envelope = xp.exp(-((ru + cu) ** 2) - (rv + cv) ** 2)
    cosine = envelope * (rcos * ccos - rsin * csin)
    return (cosine, envelope * (rsin * ccos + rcos * csin)) if quadrature else (cosine,)


def sum_responses(
    images: Array,
    parameters: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    *,
    quadrature: bool,
    method: str = "auto",
) -> Array:
    """Absolute responses to cosine Gabor functions, or moduli of the quadrature pair, summed over a grid of places.

    Parameters
    ----------
    images : array of float32 of shape (n_images, height, width)
    parameters : ndarray of shape (n_parameters, 4)
    rows, columns : ndarray of int
        Of the places; there is one at each crossing.
    quadrature : bool
    method : {"auto", "product", "fft"}
        Matrix products with the pixels around each place, or all places by FFT; "auto" counts operations.

    Returns
    -------
    array of float32 of shape (n_images, n_parameters)
    """
    xp = array_namespace(images)
    n_images, *shape = images.shape
    sums = xp.empty((n_images, len(parameters)), dtype=xp.float32, device=device(images))
    reach = np.ceil(_REACH * parameters[:, 2:].max(axis=1, initial=0.0)).astype(np.int64)
    order = np.argsort(reach, kind="stable")  # a block is as wide as its widest: like goes with like
    start = 0
    while start < order.size:
        chosen = order[start : _end_block(reach[order], start, shape)]
        offsets = [np.arange(-radius, radius + 1) for radius in np.minimum(reach[chosen[-1]], np.array(shape) - 1)]
        filters = evaluate_gabors(parameters[chosen], *offsets, quadrature=quadrature, like=images)
        by_fft = method == "fft" or (method == "auto" and _fft_is_cheaper(images, filters[0], rows, columns))
        add = _add_by_fft if by_fft else _add_by_products
        sums[:, xp.asarray(chosen, device=device(images))] = add(images, filters, rows, columns)
        start += chosen.size
    return sums


def _end_block(reach: np.ndarray, start: int, shape: list[int]) -> int:
    """Where to end a block of parameters, sorted by reach, so that neither memory nor waste gets large."""
    grids = np.prod([2 * np.minimum(reach[start:], size - 1) + 1 for size in shape], axis=0)
    windows = np.prod([np.minimum(2 * reach[start:] + 1, size) for size in shape], axis=0)
    fits = (np.arange(1, grids.size + 1) * grids <= _BLOCK_NUMBERS) & (windows <= 2 * windows[0])
    return start + max(1, int(np.count_nonzero(np.cumprod(fits))))


def _add_by_products(images: Array, filters: tuple[Array, ...], rows: np.ndarray, columns: np.ndarray) -> Array:
    """A product per place: the pixels within reach of it, times the filters cut to the same pixels."""
    xp = array_namespace(images)
    n_images, height, width = images.shape
    n_filters, *radius = _measure(filters[0])
    window = min(height, 2 * radius[0] + 1) * min(width, 2 * radius[1] + 1)
    parts = []
    for chosen in blocks(n_images, _BLOCK_NUMBERS // max(window, n_filters)):
        block = images[chosen]
        total = xp.zeros((block.shape[0], n_filters), dtype=xp.float32, device=device(images))
        for row in rows.tolist():
            r, cut_r = _overlap(row, radius[0], height)
            for column in columns.tolist():
                c, cut_c = _overlap(column, radius[1], width)
                pixels = xp.reshape(block[:, r, c], (block.shape[0], -1))
                total += _pool([pixels @ xp.reshape(f[:, cut_r, cut_c], (n_filters, -1)).T for f in filters], xp)
        parts.append(total)
    return xp.concat(parts, axis=0)


def _add_by_fft(images: Array, filters: tuple[Array, ...], rows: np.ndarray, columns: np.ndarray) -> Array:
    """Correlations of whole images, padded with as many zeros as filters reach, and sampled at the places."""
    xp = array_namespace(images)
    n_filters, *radius = _measure(filters[0])
    size = _pad_sides(images.shape[1:], radius)
    # The conjugate makes a convolution a correlation. A filter starts at -radius, which moves responses as far.
    spectra = [xp.conj(xp.fft.rfftn(f, s=size, axes=(1, 2))) for f in filters]
    at_row, at_column = (
        xp.asarray((places - r) % side, device=device(images))
        for places, r, side in zip((rows, columns), radius, size, strict=True)
    )
    total = xp.empty((images.shape[0], n_filters), dtype=xp.float32, device=device(images))
    for chosen in blocks(images.shape[0], _BLOCK_NUMBERS // (8 * size[0] * size[1])):
        transformed = xp.fft.rfftn(images[chosen], s=size, axes=(1, 2))
        for f in range(n_filters):
            responses = [xp.fft.irfftn(transformed * spectrum[f], s=size, axes=(1, 2)) for spectrum in spectra]
            sampled = [xp.take(xp.take(r, at_row, axis=1), at_column, axis=2) for r in responses]
            total[chosen, f] = xp.sum(_pool(sampled, xp), axis=(1, 2))
    return total


def _pool(responses: list[Array], xp: Any) -> Array:
    """Absolute value of one response, or modulus of two."""
    if len(responses) == 1:
        return xp.abs(responses[0])
    return xp.sqrt(responses[0] * responses[0] + responses[1] * responses[1])


def _overlap(place: int, radius: int, size: int) -> tuple[slice, slice]:
    """The pixels within reach of a place, and the same as a part of the filter centered there."""
    first, last = max(0, place - radius), min(size, place + radius + 1)
    return slice(first, last), slice(first - place + radius, last - place + radius)


def _measure(filters: Array) -> tuple[int, int, int]:
    """How many filters there are, and how far they reach along rows and columns."""
    return filters.shape[0], filters.shape[1] // 2, filters.shape[2] // 2


def _pad_sides(shape: Sequence[int], radius: Sequence[int]) -> tuple[int, int]:
    height, width = (next_fast_len(size + r, real=True) for size, r in zip(shape, radius, strict=True))
    return height, width


def _fft_is_cheaper(images: Array, filters: Array, rows: np.ndarray, columns: np.ndarray) -> bool:
    """Compare what both ways cost, for these images and filters."""
    n_images, *shape = images.shape
    n_filters, *radius = _measure(filters)
    pixels = 1.0  # over all places
    for places, r, size in zip((rows, columns), radius, shape, strict=True):
        pixels *= np.sum(np.minimum(size, places + r + 1) - np.maximum(0, places - r))
    products = pixels * (n_images * n_filters + _GATHER_COST * (n_images + n_filters))
    transforms = _FFT_COST * float(np.prod(_pad_sides(shape, radius))) * (n_images + 1) * (n_filters + 1)
    return products + _PLACE_COST * rows.size * columns.size > transforms
