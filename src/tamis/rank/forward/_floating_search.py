"""Floating search (Pudil, Novovicova and Kittler 1994): features enter one by one, and leave while that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.linalg import qr, qr_delete, solve_triangular

from tamis.kernels.arrays.tolerances import TIE

Features = tuple[int, ...]

_DEPENDENT = 1e-10  # share of a column's squared norm that others have to leave of it for it to enter
_MAX_DELETIONS = 64  # after which the decomposition is computed anew, so that rounding does not accumulate
_MIN_INCREASE = 1e-10  # of the criterion, relative to its size or to one: less is rounding


class Criterion(Protocol):
    """What a set of columns is worth; higher is better."""

    def can_enter(self, chosen: Features) -> np.ndarray:
        """Mask of the columns of the table that can enter the set."""

    def value(self, chosen: Features) -> float:
        """Criterion of the set."""

    def additions(self, chosen: Features) -> np.ndarray:
        """Criterion of the set with each column of the table besides; -inf for columns that cannot enter."""

    def removals(self, chosen: Features) -> np.ndarray:
        """Criterion of the set without each of its columns, in their order."""


@dataclass
class FloatingSearch:
    """The best sets of every size that a search has seen.

    Attributes
    ----------
    start : tuple of int
        Columns that are in from the start and never leave; see :meth:`starting_from`.
    best : dict
        Number of columns -> (criterion, columns).
    n_inclusions, n_exclusions : int
        Moves so far.
    """

    criterion: Criterion
    start: Features = ()
    best: dict[int, tuple[float, Features]] = field(default_factory=dict)
    n_inclusions: int = 0
    n_exclusions: int = 0

    @classmethod
    def starting_from(cls, criterion: Criterion, columns: Iterable[int]) -> FloatingSearch:
        """A search in which these columns are in, but for those that are constant or depend on others of them."""
        start: Features = ()
        for column in columns:
            if criterion.can_enter(start)[column]:
                start = (*start, int(column))
        return cls(criterion, start)

    def run(self, n_columns: int) -> Iterator[int]:
        """Include and exclude until so many are in or none can enter; yields how many are in after each round."""
        chosen = self.start
        while len(chosen) < n_columns:
            values = self.criterion.additions(chosen)
            column = first_largest(values)
            if not np.isfinite(values[column]):
                return
            chosen = self._include((*chosen, column), float(values[column]))
            while len(chosen) > len(self.start) + 1 and (fewer := self._exclude(chosen)) is not None:
                chosen = fewer
            yield len(chosen)

    def best_of(self, n_columns: int) -> Features:
        """The best set of so many columns, or of the most below that were seen."""
        sizes = [size for size in self.best if size <= n_columns]
        return self.best[max(sizes)][1] if sizes else self.start

    def sets(self) -> list[Features]:
        """The start and the best sets of every size beyond it, ascending."""
        return [self.start, *(self.best[size][1] for size in sorted(self.best))]

    def _include(self, chosen: Features, value: float) -> Features:
        """The larger set, or a better one of that size if there was one before (Somol et al. 1999)."""
        self.n_inclusions += 1
        if self._is_best(chosen, value):
            self.best[len(chosen)] = value, chosen
        return self.best[len(chosen)][1]

    def _exclude(self, chosen: Features) -> Features | None:
        """The set without the column least missed, if no set of that size was as good."""
        values = self.criterion.removals(chosen)
        values[: len(self.start)] = -np.inf  # they stay, and stay in front
        place = first_largest(values)
        fewer = chosen[:place] + chosen[place + 1 :]
        if not self._is_best(fewer, float(values[place])):
            return None
        self.n_exclusions += 1
        self.best[len(fewer)] = float(values[place]), fewer
        return fewer

    def _is_best(self, chosen: Features, value: float) -> bool:
        if len(chosen) not in self.best:
            return True
        before = self.best[len(chosen)][0]
        return value > before + _MIN_INCREASE * max(1.0, abs(before))


def forward_order(criterion: Criterion, allowed: np.ndarray, first: Features = ()) -> Iterator[tuple[int, float]]:
    """Some columns by plain forward selection among them, and the criterion with each that enters.

    Those of ``first`` enter before the others.
    """
    chosen: Features = ()
    is_allowed = allowed.copy()
    is_first = np.isin(np.arange(allowed.size), first)
    while is_allowed.any():
        among = is_allowed & is_first if np.any(is_allowed & is_first) else is_allowed
        values = np.where(among, criterion.additions(chosen), -np.inf)
        column = first_largest(values)
        if not np.isfinite(values[column]):
            return
        chosen, is_allowed[column] = (*chosen, column), False
        yield column, float(values[column])


def information_criterion(
    explained: np.ndarray, sizes: np.ndarray, *, n_samples: float, n_columns: int, n_targets: float
) -> np.ndarray:
    r"""Extended Bayesian information criterion of least squares, for few samples; lower is better.

    .. math:: n r \log(1 - J) + k (r \log n + 2 \log D) \frac{n}{n - k - 2}

    Parameters
    ----------
    explained : ndarray of shape (n_sizes,)
        J, the share of the variance of the targets that sets explain.
    sizes : ndarray of int of shape (n_sizes,)
        k, the columns of each, at most n - 3.
    n_samples, n_columns : float, int
        n, and D among which the sets were searched for.
    n_targets : float
        r, the effective number of targets.
    """
    left = np.maximum(1.0 - explained, _MIN_INCREASE)
    price = n_targets * np.log(n_samples) + 2.0 * np.log(n_columns)
    return n_samples * n_targets * np.log(left) + sizes * price * n_samples / (n_samples - sizes - 2.0)


def effective_number(Y: np.ndarray) -> float:
    r"""Effective number of targets, :math:`(\mathrm{tr}\, S)^2 / \mathrm{tr}(S^2)` with S their covariance.

    The sum of squares that noise explains of them is, in units of its mean, distributed as that of so many independent
    targets (Satterthwaite): m for m uncorrelated ones of equal variance, 1 for copies of one.
    """
    S = Y.T @ Y
    return float(np.trace(S) ** 2 / np.sum(S**2))


def first_largest(values: np.ndarray) -> int:
    """Place of the largest value, the first of those that are equal up to rounding."""
    largest = float(values.max())
    return int((values >= largest - TIE.float64 * abs(largest)).argmax()) if np.isfinite(largest) else 0


class ExplainedVariance:
    r"""Share of the variance of the targets that least squares on the chosen columns explains.

    With Q an orthonormal basis of the chosen columns, :math:`Z_S = Q R`, and E what they leave of the targets, column j
    adds :math:`\|z_j^\top E\|^2 / \|z_j - Q Q^\top z_j\|^2`; without column j of the set
    :math:`\|\beta_j\|^2 / (R^\top R)^{-1}_{jj}` is lost, with :math:`\beta = R^{-1} Q^\top Y`.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Centered, of equal norms; constant columns are zero.
    Y : ndarray of shape (n_samples, n_targets)
        Centered.

    Notes
    -----
    A column that enters or leaves costs O(n k) for the decomposition and one product of the table with a vector; all k
    that could leave are judged in O(k^3 / 3).
    """

    def __init__(self, Z: np.ndarray, Y: np.ndarray) -> None:
        self.Z, self.Y = Z, Y
        self._total = float(np.sum(Y**2))
        self._norm2 = np.einsum("ij,ij->j", Z, Z)
        self._decompose(())

    def can_enter(self, chosen: Features) -> np.ndarray:
        """As for every criterion; columns that depend on the chosen ones cannot."""
        self._move_to(chosen)
        can_enter = self._remaining2 > _DEPENDENT * self._norm2
        can_enter[list(chosen)] = False
        return can_enter

    def value(self, chosen: Features) -> float:
        """As for every criterion."""
        self._move_to(chosen)
        return self._explained()

    def additions(self, chosen: Features) -> np.ndarray:
        """As for every criterion."""
        can_enter = self.can_enter(chosen)
        gain = np.einsum("jt,jt->j", *(2 * [self.Z.T @ self._error]))
        share = np.divide(gain, self._remaining2, out=np.zeros_like(gain), where=can_enter) / self._total
        return np.where(can_enter, self._explained() + share, -np.inf)

    def removals(self, chosen: Features) -> np.ndarray:
        """As for every criterion."""
        self._move_to(chosen)
        inverse = solve_triangular(self._R, np.eye(len(chosen)))
        beta = inverse @ (self._Q.T @ self.Y)
        lost = np.sum(beta**2, axis=1) / np.sum(inverse**2, axis=1)
        return self._explained() - lost / self._total

    def _explained(self) -> float:
        return 1.0 - float(np.sum(self._error**2)) / self._total

    def _move_to(self, chosen: Features) -> None:
        """Follow a column that entered or left; any other set is decomposed anew."""
        if chosen == self._chosen:
            return
        if chosen[:-1] == self._chosen:
            self._append(chosen[-1])
            return
        gone = [place for place, column in enumerate(self._chosen) if column not in chosen]
        is_one_less = len(gone) == 1 and self._chosen[: gone[0]] + self._chosen[gone[0] + 1 :] == chosen
        if is_one_less and chosen and self._n_deletions < _MAX_DELETIONS:
            self._delete(gone[0])
        else:
            self._decompose(chosen)

    def _decompose(self, chosen: Features) -> None:
        self._chosen, self._n_deletions = chosen, 0
        self._Q, self._R = np.empty((len(self.Z), 0)), np.empty((0, 0))
        if chosen:
            self._Q, self._R = qr(self.Z[:, list(chosen)], mode="economic")
        self._remaining2 = self._norm2 - np.sum((self._Q.T @ self.Z) ** 2, axis=0)
        self._error = self.Y - self._Q @ (self._Q.T @ self.Y)

    def _append(self, column: int) -> None:
        k = len(self._chosen)
        direction, loading = self._project_out(self._Q, self.Z[:, column])
        R = np.zeros((k + 1, k + 1))
        R[:k, :k], R[:k, k], R[k, k] = self._R, loading, np.linalg.norm(direction)
        direction /= R[k, k]
        self._chosen, self._R, self._Q = (*self._chosen, column), R, np.column_stack([self._Q, direction])
        self._remaining2 = self._remaining2 - (direction @ self.Z) ** 2
        self._error = self._error - np.outer(direction, direction @ self._error)

    def _delete(self, place: int) -> None:
        column = self._chosen[place]
        self._Q, self._R = qr_delete(self._Q, self._R, place, which="col")
        self._chosen = self._chosen[:place] + self._chosen[place + 1 :]
        self._n_deletions += 1
        direction, _ = self._project_out(self._Q, self.Z[:, column])
        direction /= np.linalg.norm(direction)
        self._remaining2 = self._remaining2 + (direction @ self.Z) ** 2
        self._error = self._error + np.outer(direction, direction @ self.Y)

    @staticmethod
    def _project_out(Q: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the basis leaves of a column, and its coordinates on the basis."""
        loading = np.zeros(Q.shape[1])
        for _ in range(2):  # twice is enough to be orthogonal
            part = Q.T @ column
            column, loading = column - Q @ part, loading + part
        return column, loading


class Score:
    """The mean of figures of a set of columns that are computed one set at a time, such as the scores of every fold.

    Parameters
    ----------
    evaluate : callable
        Gives the figures of columns, ascending.
    varies : ndarray of bool of shape (n_columns,)
        Columns that can enter.
    """

    def __init__(self, evaluate: Callable[[np.ndarray], np.ndarray], varies: np.ndarray) -> None:
        self.evaluate, self.varies = evaluate, varies
        self._known: dict[frozenset[int], np.ndarray] = {}

    def can_enter(self, chosen: Features) -> np.ndarray:
        """As for every criterion."""
        can_enter = self.varies.copy()
        can_enter[list(chosen)] = False
        return can_enter

    def additions(self, chosen: Features) -> np.ndarray:
        """As for every criterion."""
        values = np.full(self.varies.size, -np.inf)
        for column in np.flatnonzero(self.can_enter(chosen)):
            values[column] = self.value((*chosen, int(column)))
        return values

    def removals(self, chosen: Features) -> np.ndarray:
        """As for every criterion."""
        return np.array([self.value(chosen[:place] + chosen[place + 1 :]) for place in range(len(chosen))])

    def value(self, chosen: Features) -> float:
        """As for every criterion."""
        return float(np.mean(self.figures(chosen)))

    def figures(self, chosen: Features) -> np.ndarray:
        """Those of which the criterion is the mean; no set is evaluated twice."""
        key = frozenset(chosen)
        if key not in self._known:
            self._known[key] = np.asarray(self.evaluate(np.array(sorted(chosen), dtype=int)), dtype=float)
        return self._known[key]
