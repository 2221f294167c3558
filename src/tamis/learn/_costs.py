"""How long a fit will take, told from those before it, and whether that still fits in the time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_SAFETY = 1.3
_LEAST = 1e-3  # seconds below which figures are noise
_FEWER_COLUMNS = 0.5  # of the exponent for fewer columns: a part of every fit, such as steps over rows, stays


class Costs:
    r"""Seconds of earlier fits by name, scaled to other sizes.

    .. math:: \hat t(n, p) = t' \, (n / n')^a (p / p')^b

    with the fit of the same name whose size :math:`(n', p')` is nearest on a logarithmic scale; b counts half where
    :math:`p < p'`, for some of the work does not grow with the columns.
    """

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[int, int, float]]] = {}

    def observe(self, name: str, n_rows: int, n_columns: int, seconds: float) -> None:
        """Take down a fit."""
        self._seen.setdefault(name, []).append((n_rows, max(1, n_columns), max(seconds, _LEAST)))

    def predict(self, name: str, n_rows: int, n_columns: int, exponents: tuple[float, float]) -> float | None:
        """Seconds of another fit; None where there was none of that name."""
        seen = self._seen.get(name)
        if not seen:
            return None
        table = np.array(seen)
        ratio = np.log(np.array([n_rows, max(1, n_columns)]) / table[:, :2])
        distance = np.abs(ratio).sum(axis=1)
        near = distance <= distance.min() + 1e-9
        ratio[:, 1] *= np.where(ratio[:, 1] < 0, _FEWER_COLUMNS, 1.0)
        seconds = table[near, 2] * np.exp(ratio[near] @ np.array(exponents))
        return float(seconds.max())


class Guard:
    """Whether there is time for another fit.

    Parameters
    ----------
    end : float
        Time of ``clock`` at which nothing may run any more.
    clock : function
    most : float, default=inf
        Seconds that a single fit may take.
    """

    def __init__(self, end: float, clock: Callable[[], float], most: float = np.inf) -> None:
        self.end, self.clock, self.most = end, clock, most

    def allows(self, seconds: float | None) -> bool:
        """Whether a fit of so many seconds ends in time; one of unknown length may begin as long as there is any."""
        left = self.end - self.clock()
        return left > 0 if seconds is None else seconds <= self.most and _SAFETY * seconds <= left
