"""How much selections made on different draws of the data agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy.stats import norm

from tamis.assess._support import as_numpy, as_support, is_selector, known_length
from tamis.base._raw_input import check_container
from tamis.kernels.arrays.blocks import blocks

_BLOCK = 2**22  # entries of a float block of the selection matrix


@dataclass(frozen=True)
class Stability:
    """How much several selections agree.

    Attributes
    ----------
    value : float
        The measure. Higher is better, except "hamming", which is a distance.
    interval : tuple of float or None
        Confidence interval, for "nogueira" alone.
    measure : str
    n_sets, n_features : int
        Number of selections, and of features to select from.
    mean_size : float
        Mean number of kept features.
    """

    value: float
    interval: tuple[float, float] | None
    measure: str
    n_sets: int
    n_features: int
    mean_size: float


def stability(
    supports: Any, *, measure: str = "nogueira", confidence: float = 0.95, n_features: int | None = None
) -> Stability:
    r"""Agreement of selections, say one per bootstrap draw or fold.

    .. math:: \hat\Phi = 1 - \frac{\frac{1}{d} \sum_{f=1}^d s_f^2}{\frac{\bar k}{d} (1 - \frac{\bar k}{d})},
        \qquad s_f^2 = \frac{M}{M - 1} \hat p_f (1 - \hat p_f)

    for :math:`M` selections among :math:`d` features, of mean size :math:`\bar k`, that keep feature :math:`f` with
    frequency :math:`\hat p_f` (Nogueira, Sechidis and Brown 2018, Definition 4).

    Parameters
    ----------
    supports : bool array of shape (n_sets, n_features), or list of masks, indices or fitted rankers
        At least two selections; index lists need ``n_features``.
    measure : {"nogueira", "kuncheva", "jaccard", "hamming"}, default="nogueira"
        The formula above; or a mean over all pairs :math:`i < j` of selections, of sizes :math:`k_i` and overlap
        :math:`r_{ij}`:

        - "kuncheva": :math:`(r_{ij} d - k^2) / (k (d - k))`, for selections of one size :math:`k` only, where it
          equals "nogueira";
        - "jaccard": :math:`r_{ij} / (k_i + k_j - r_{ij})`, not corrected for chance;
        - "hamming": :math:`(k_i + k_j - 2 r_{ij}) / d`, the share of features on which two selections differ. A
          DISTANCE: 0 for identical selections, lower is better. Times ``n_features`` it counts features.
    confidence : float, default=0.95
        Level of the interval that comes with "nogueira".
    n_features : int, default=None
        Number of features, where index lists do not tell.

    Returns
    -------
    Stability

    Notes
    -----
    "nogueira" and "kuncheva" are 1 for identical selections and, on average, 0 for random ones of one size; for random
    ones of unequal sizes "nogueira" is within about ``1 / n_sets`` of 0. Both may be negative. The interval is the
    normal one of the paper (Corollary 9), cut at 1. It supposes independent selections, and many: it is too narrow for
    fewer than about thirty, and shrinks to a point where all are identical. Selections from bootstrap draws or folds
    share their data, so that it speaks of those data alone. Selections that all keep nothing, or all keep everything,
    are identical: 1 (0/0 in the formulas), as are two empty ones for "jaccard".

    Cost: one pass over the selections, from the selection frequencies alone; "jaccard" also needs the
    ``n_sets`` x ``n_sets`` overlaps.

    References
    ----------
    Nogueira, Sechidis and Brown, "On the stability of feature selection algorithms", JMLR 18, 2018. Kuncheva, "A
    stability index for feature selection", 2007. Dunne, Cunningham and Azuaje, "Solutions to instability problems with
    sequential wrapper-based approaches to feature selection", 2002, whose average of Hamming distances Gadat and Younes
    (JMLR 8, 2007, Sec. 6.1) recommend.

    Examples
    --------
    >>> from tamis.assess import stability
    >>> found = stability([[0, 1, 2], [0, 1, 3], [0, 1, 2]], n_features=10)
    >>> round(found.value, 3)
    0.683
    >>> round(stability([[0, 1, 2], [0, 1, 3]], n_features=10, measure="hamming").value, 3)
    0.2
    """
    if measure not in _MEASURES:
        raise ValueError(f"measure={measure!r} is unknown; choose one of {', '.join(_MEASURES)}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1")
    Z = _selection_matrix(supports, n_features)
    n_sets, d = Z.shape
    value = _MEASURES[measure](Z)
    return Stability(
        value=value,
        interval=_interval(Z, value, confidence) if measure == "nogueira" else None,
        measure=measure,
        n_sets=n_sets,
        n_features=d,
        mean_size=float(Z.sum() / n_sets),
    )


def _nogueira(Z: np.ndarray) -> float:
    """One minus the observed variance of the selections over that of random ones (Definition 4)."""
    n_sets = len(Z)
    frequency = Z.mean(axis=0)
    by_chance = _chance_variance(frequency)
    if by_chance == 0:
        return 1.0
    return float(1 - n_sets / (n_sets - 1) * np.mean(frequency * (1 - frequency)) / by_chance)


def _chance_variance(frequency: np.ndarray) -> float:
    """Variance of a feature's selection if all were kept equally often; zero if every set is empty, or full."""
    share = frequency.mean()
    return float(share * (1 - share))


def _interval(Z: np.ndarray, value: float, confidence: float) -> tuple[float, float]:
    """Normal confidence interval, from what each selection contributes (Theorem 7 and Corollary 9)."""
    n_sets, d = Z.shape
    frequency = Z.mean(axis=0)
    by_chance = _chance_variance(frequency)
    if by_chance == 0:
        return value, value
    size, share = Z.sum(axis=1) / d, frequency.mean()
    typical = sum(block @ frequency[cols] for cols, block in _float_blocks(Z)) / d
    phi = (typical - size * share + value / 2 * (2 * share * size - size - share + 1)) / by_chance
    deviation = 2 / n_sets * np.sqrt(np.sum((phi - phi.mean()) ** 2))
    half = norm.ppf((1 + confidence) / 2) * deviation
    return float(value - half), float(min(value + half, 1.0))


def _kuncheva(Z: np.ndarray) -> float:
    """Mean pairwise overlap beyond that of random sets, over the most that it can be."""
    d, sizes = Z.shape[1], Z.sum(axis=1)
    k = int(sizes[0])
    if np.ptp(sizes):
        raise ValueError(
            f"measure='kuncheva' needs selections of one size, but they keep {sizes.min()} to {sizes.max()} features; "
            "use measure='nogueira', which equals it there and allows any sizes"
        )
    if k in (0, d):
        return 1.0
    count = Z.sum(axis=0)  # a feature kept c times is shared by c (c - 1) / 2 pairs
    overlap = np.sum(count * (count - 1)) / (len(Z) * (len(Z) - 1))
    return float((overlap * d - k**2) / (k * (d - k)))


def _jaccard(Z: np.ndarray) -> float:
    """Mean pairwise share of what either selection keeps that both keep."""
    sizes = Z.sum(axis=1).astype(float)
    overlap = np.zeros((len(Z), len(Z)))
    for _, block in _float_blocks(Z):
        overlap += block @ block.T
    union = sizes[:, None] + sizes - overlap
    pairs = np.triu_indices(len(Z), k=1)
    return float(np.mean(np.where(union == 0, 1.0, overlap / np.maximum(union, 1))[pairs]))


def _hamming(Z: np.ndarray) -> float:
    """Mean pairwise share of features that one selection keeps and the other does not."""
    count = Z.sum(axis=0)
    return float(2 * np.mean(count * (len(Z) - count)) / (len(Z) * (len(Z) - 1)))


_MEASURES = {"nogueira": _nogueira, "kuncheva": _kuncheva, "jaccard": _jaccard, "hamming": _hamming}


def _float_blocks(Z: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Groups of columns as floats, since only those multiply fast and all at once would be eight times the matrix."""
    for cols in blocks(Z.shape[1], _BLOCK // len(Z)):
        yield cols, Z[:, cols].astype(float)


def _selection_matrix(supports: Any, n_features: int | None) -> np.ndarray:
    """Selections as the rows of a boolean matrix."""
    if is_selector(supports):
        raise ValueError(f"supports is one {type(supports).__name__}; give a list of at least two selections")
    supports = check_container(supports, "supports")
    if nw.dependencies.is_into_dataframe(supports):
        supports = nw.from_native(supports, eager_only=True).to_numpy()
    sets = list(as_numpy(supports) if hasattr(supports, "ndim") else supports)
    if len(sets) < 2:
        raise ValueError(f"stability compares selections, and got {len(sets)}: give at least two")
    d = _settle_length(sets, n_features)
    if d < 1:
        raise ValueError(f"the selections are among {d} features: there is nothing to compare")
    Z = np.zeros((len(sets), d), dtype=bool)
    for i, each in enumerate(sets):
        Z[i, as_support(each, d, allow_empty=True, name=f"supports[{i}]")] = True
    return Z


def _settle_length(sets: list[Any], n_features: int | None) -> int:
    """Number of features: the one given, or what the masks and rankers say."""
    if n_features is not None:
        return n_features
    known = next((length for each in sets if (length := known_length(each)) is not None), None)
    if known is None:
        raise ValueError("lists of indices do not tell how many features there are: give n_features, or boolean masks")
    return known
