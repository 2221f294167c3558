r"""Multiplicative updates of scaling factors by the weights of a machine on the scaled columns.

.. math:: \sigma_j \leftarrow \sigma_j \left(\tilde w_j^2 / \sigma_j^p\right)^{t / (2 + p)}, \qquad
          \text{rescaled to a constant } \textstyle\sum_j \sigma_j^r,

with :math:`\tilde w_j` the weight of the scaled column. p = 0 and t = 1 is sigma times the size of the weights (Lal et
al. 2006, algorithm 4). With r = p and t = 1 it is the minimum over sigma of half the squared norm of a linear machine
whose weights are fixed, :math:`\frac12 \sum_j w_j^2 / \sigma_j^2`, under that constraint (their Eq. 18).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tamis.base import Candidates
from tamis.rank._linear_problem import LinearProblem
from tamis.rank._scaled_machines import ScaledMachines, Trained

_VANISHED = 1e-5  # of the largest scaling factor: below, a factor is zero and stays there
_CYCLE = 0.1  # of the last change: a smaller one over two rounds means that factors go back and forth
_LARGEST_DECREASE = 1e-3  # of a factor in one guarded step, against the one that grows most
_SHORTEST_STEP = 1e-4  # t at which a line search ends
_OBJECTIVE_ROUNDING = 1e-10  # relative


@dataclass(frozen=True)
class Round:
    """Machines on the columns that remain.

    Attributes
    ----------
    alive : ndarray of int
        Places of the remaining columns.
    sigma : ndarray
        Their scaling factors, with which the machines were trained.
    updated : ndarray
        Their factors after the update; zero for those that vanish.
    strength : ndarray
        Sizes of the update before any vanishes.
    machines : Trained
    settings : ScaledMachines
        Loss and kernel with which they were trained.
    """

    alive: np.ndarray
    sigma: np.ndarray
    updated: np.ndarray
    strength: np.ndarray
    machines: Trained
    settings: ScaledMachines


@dataclass(frozen=True)
class FactorUpdate:
    """Exponents of an update, and whether its length is searched.

    Attributes
    ----------
    p : float
    norm : float
        r, the exponent of the constraint.
    has_line_search : bool
        Halve t until the objective of the machines does not increase. The step is one of descent for any kernel: the
        objective falls by :math:`\\sum_j \\tilde w_j^2\\, d \\log \\sigma_j`, where the sum of :math:`\\sigma_j^p\\,
        d \\log \\sigma_j` is zero, and the step in :math:`\\log \\sigma_j` grows with :math:`\\tilde w_j^2 /
        \\sigma_j^p`. (Where some of these are negative, the least is taken from all.) For a linear kernel and r = p
        the objective never increases at t = 1.
    """

    p: float
    norm: float
    has_line_search: bool

    def ratios(self, half_derivatives: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """Squared weights against ``sigma^p``: they are equal at a fixed point."""
        if not self.has_line_search:
            return np.maximum(half_derivatives, 0.0) / sigma**self.p
        ratio = half_derivatives / sigma**self.p
        ratio = ratio - min(float(ratio.min(initial=0.0)), 0.0)
        # a factor that is zero at t = 1 would be so at every t
        return np.maximum(ratio, ratio.max(initial=0.0) * _LARGEST_DECREASE ** (2.0 + self.p))

    def step(self, sigma: np.ndarray, ratio: np.ndarray, t: float) -> np.ndarray:
        """The update before it is rescaled."""
        return sigma * ratio ** (t / (2.0 + self.p))

    def rescaled(self, sigma: np.ndarray, total: float) -> np.ndarray:
        """With zero for what has vanished, at a given sum of powers; all zero where nothing is left."""
        largest = sigma.max(initial=0.0)
        kept = np.where(sigma > _VANISHED * largest, sigma, 0.0)
        if largest == 0.0:
            return kept
        kept = kept / largest
        left = kept > 0
        kept[left] *= (total / np.sum(kept[left] ** self.norm)) ** (1.0 / self.norm)
        return kept


def multiplicative_updates(
    A: Any, alive: np.ndarray, owners: np.ndarray | None, machines: ScaledMachines, tol: float, update: FactorUpdate
) -> Iterator[Round]:
    """Train, multiply, rescale, leave out what has vanished; until nothing changes.

    Parameters
    ----------
    A : table of shape (n_samples, n_alive)
        Columns of the places ``alive``.
    alive : ndarray of int
    owners : ndarray or None
        The group of every place; None where each is one by itself.
    machines : ScaledMachines
    tol : float
        Largest change of a factor, relative to the largest one, at which nothing changes.
    update : FactorUpdate
    """
    sigma, before = np.ones(alive.size), np.zeros(0)
    total, t = float(alive.size), 1.0
    trained = None
    while alive.size:
        trained = machines.train(A, sigma) if trained is None else trained
        ratio = update.ratios(mean_over_groups(trained.half_derivatives, alive, owners), sigma)
        strength = update.step(sigma, ratio, 1.0)
        following = None
        if update.has_line_search:
            updated, following, t = _line_search(A, sigma, ratio, machines, trained, update, total, min(1.0, 2.0 * t))
        else:
            updated = update.rescaled(update.step(sigma, ratio, t), total)
        if not updated.any():  # no column makes the squared norm larger: there is nothing to multiply by
            yield Round(alive, sigma, sigma, strength, trained, machines)
            return
        yield Round(alive, sigma, updated, strength, trained, machines)
        left = updated > 0
        change = np.abs(updated - sigma).max()
        if change <= tol * updated.max():
            return
        if before.size == updated.size and np.abs(updated - before).max() <= _CYCLE * change:
            t *= 0.5  # back where it was two rounds ago: shorter steps have the same fixed points
        before, sigma, trained = sigma, updated[left], following
        if not left.all():
            alive, A = alive[left], A[:, np.flatnonzero(left)]


def _line_search(
    A: Any,
    sigma: np.ndarray,
    ratio: np.ndarray,
    machines: ScaledMachines,
    trained: Trained,
    update: FactorUpdate,
    total: float,
    t: float,
) -> tuple[np.ndarray, Trained, float]:
    """The first of t, t / 2, ... whose objective is not larger: factors, their machines, and t; none is the same."""
    if not ratio.any():
        return np.zeros_like(sigma), trained, t
    largest = trained.objective + _OBJECTIVE_ROUNDING * abs(trained.objective)
    while t >= _SHORTEST_STEP:
        updated = update.rescaled(update.step(sigma, ratio, t), total)
        left = np.flatnonzero(updated)
        following = machines.train(A[:, left], updated[left])
        if following.objective <= largest:
            return updated, following, t
        t *= 0.5
    return sigma, trained, t


def mean_over_groups(values: np.ndarray, alive: np.ndarray, owners: np.ndarray | None) -> np.ndarray:
    """Mean of what the columns of a group have, for each of them."""
    if owners is None:
        return values
    owner = owners[alive]
    return (np.bincount(owner, weights=values) / np.maximum(np.bincount(owner), 1))[owner]


def group_owners(candidates: Candidates) -> np.ndarray | None:
    """The candidate of every column; None where each is one."""
    if candidates.members is None:
        return None
    owners = np.empty(candidates.n_columns, dtype=np.int64)
    for candidate, columns in enumerate(candidates.members):
        owners[columns] = candidate
    return owners


def prepared_columns(problem: LinearProblem, features: np.ndarray) -> Any:
    """Columns in units of one: centered where they are dense; the intercept makes up for it where they are not."""
    if sparse.issparse(problem.table):
        return (problem.table[:, features] @ sparse.diags_array(problem.scale[features])).tocsc()
    columns = problem.columns.columns(features)  # an array of its own
    columns *= problem.scale[features]
    columns /= problem.columns.sqrt_weight[:, None]
    return columns
