"""Columns of numbers with heavy tails: which these are, and how a ranker sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.table._source import Source, sample_rows

_FAR_OUT = 30.0  # robust standard deviations; the largest of ten thousand log-normal values is about there
_ROWS = 2000  # from which quartiles are estimated
_QUARTILES_OF_GAUSSIAN = 1.349  # distance between them, in standard deviations


@dataclass(frozen=True)
class HeavyTails:
    """Columns that reach far beyond what their middle half suggests.

    Attributes
    ----------
    columns : ndarray of int
        Of ``Source.numbers``.
    median, spread : ndarray
        Of each; the spread is the standard deviation of a Gaussian with the same quartiles.
    reach : ndarray
        Largest distance from the median, in spreads.
    """

    columns: np.ndarray
    median: np.ndarray
    spread: np.ndarray
    reach: np.ndarray


def find_heavy_tails(source: Source) -> HeavyTails:
    """Columns with values further than 30 robust standard deviations from the median, which booleans have not.

    Quartiles are estimated from at most 2000 rows; the extremes are those of all.
    """
    is_number = np.array([source.read_as.get(j, "number") != "boolean" for j in source.places.tolist()], dtype=bool)
    low, median, high = _quartiles(source.numbers[sample_rows(source.n_rows, _ROWS)])
    spread = (high - low) / _QUARTILES_OF_GAUSSIAN
    least, most = np.fmin.reduce(source.numbers, axis=0), np.fmax.reduce(source.numbers, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.maximum(most - median, median - least) / spread
    columns = np.flatnonzero(is_number & (spread > 0) & (reach > _FAR_OUT))
    return HeavyTails(columns, median[columns], spread[columns], reach[columns])


def compress_tails(values: np.ndarray, tails: HeavyTails) -> np.ndarray:
    r"""Values of these columns as :math:`m + s \operatorname{asinh}((x - m) / s)`, m the median and s the spread.

    The identity around the median and the logarithm far from it: single values no longer decide about variances and
    products. It increases, keeps the unit, and follows every change of unit and offset.
    """
    return tails.median + tails.spread * np.arcsinh((values - tails.median) / tails.spread)


def _quartiles(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of what every column holds; sorting puts NaN last."""
    ordered = np.sort(numbers, axis=0)
    n_filled = len(numbers) - np.isnan(ordered[-1]) * np.isnan(numbers).sum(axis=0)
    places = (np.clip(np.round(q * (n_filled - 1)).astype(int), 0, None) for q in (0.25, 0.5, 0.75))
    low, median, high = (ordered[place, np.arange(ordered.shape[1])] for place in places)
    return low, median, high
