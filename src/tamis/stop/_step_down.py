"""P-values of features against permuted copies of all features, draw by draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class FamilyRisk:
    """Step-down maxima: the chance of keeping any feature of which the hypothesis holds that is tested."""

    def __init__(self, level: float) -> None:
        self.level = level

    def p_values(
        self, scores: np.ndarray, shadow: np.ndarray, n_draws: int, extra: int = 0, passed: Sequence[int] = ()
    ) -> np.ndarray:
        """p-values after stepping down; ``extra`` draws are taken to reach every feature."""
        out = np.zeros(scores.size, dtype=bool)
        out[list(passed)] = True
        while True:
            best = np.sort(np.where(out, -np.inf, shadow).max(axis=1, initial=-np.inf))
            reached = best.size - np.searchsorted(best, scores, side="left")
            p_values = (1 + reached + extra) / (1 + n_draws)
            joined = ~out & (p_values <= self.level)
            if not joined.any():
                return p_values
            out |= joined

    def settled(self, scores: np.ndarray, shadow: np.ndarray, n_draws: int, passed: Sequence[int] = ()) -> bool:
        """Whether the draws to come decide nothing: same features if all of them, or none, reached every feature."""
        fewest = self.p_values(scores, shadow, n_draws, passed=passed) <= self.level
        most = self.p_values(scores, shadow, n_draws, extra=n_draws - len(shadow), passed=passed) <= self.level
        return bool(np.array_equal(fewest, most))


class FalseDiscoveryRate:
    """Benjamini-Hochberg over p-values that pool every copy of every draw.

    Features that stay, or are left out, whatever their chance are no discoveries: neither they nor their copies count,
    or true ones among them would let others pass at a multiple of the rate.
    """

    def __init__(self, level: float, untested: Sequence[int] = ()) -> None:
        self.level = level
        self.untested = np.asarray(untested, dtype=int)

    def p_values(self, scores: np.ndarray, shadow: np.ndarray, n_draws: int, passed: Sequence[int] = ()) -> np.ndarray:
        """Adjusted p-values, those of untested features 1; copies that were not drawn are NaN."""
        tested = np.setdiff1d(np.arange(scores.size), self.untested)
        copies = shadow[:, tested]
        pool = np.sort(copies[np.isfinite(copies)])
        n_copies = np.count_nonzero(~np.isnan(copies))
        raw = (1 + pool.size - np.searchsorted(pool, scores[tested], side="left")) / (1 + n_copies)
        order = np.argsort(raw, kind="stable")
        stepped = raw[order] * raw.size / np.arange(1, raw.size + 1)
        adjusted = np.ones(scores.size)
        adjusted[tested[order]] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0)
        return adjusted

    def settled(self, scores: np.ndarray, shadow: np.ndarray, n_draws: int, passed: Sequence[int] = ()) -> bool:
        """Pooled p-values move with every draw."""
        return False
