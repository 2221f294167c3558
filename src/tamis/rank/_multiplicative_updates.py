r"""Multiplicative updates of scaling factors, sigma times the size of the weights (Lal et al. 2006, algorithm 4)."""

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


def multiplicative_updates(
    A: Any, alive: np.ndarray, owners: np.ndarray | None, machines: ScaledMachines, tol: float
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
    """
    sigma, before = np.ones(alive.size), np.zeros(0)
    power, exponent = float(alive.size), 1.0
    while alive.size:
        trained = machines.train(A, sigma)
        size = np.sqrt(mean_over_groups(trained.weights2, alive, owners))
        strength, updated = sigma * size, sigma * size**exponent
        updated[updated <= _VANISHED * updated.max(initial=0.0)] = 0.0
        total = float(updated @ updated)
        if total == 0.0:  # no column makes the squared norm larger: there is nothing to multiply by
            yield Round(alive, sigma, sigma, strength, trained, machines)
            return
        updated *= np.sqrt(power / total)
        yield Round(alive, sigma, updated, strength, trained, machines)
        left = updated > 0
        change = np.abs(updated - sigma).max()
        if change <= tol * updated.max():
            return
        if before.size == updated.size and np.abs(updated - before).max() <= _CYCLE * change:
            exponent *= 0.5  # back where it was two rounds ago: shorter steps have the same fixed points
        before, sigma = sigma, updated[left]
        if not left.all():
            alive, A = alive[left], A[:, np.flatnonzero(left)]


def mean_over_groups(weights2: np.ndarray, alive: np.ndarray, owners: np.ndarray | None) -> np.ndarray:
    """Mean squared weight of the columns of a group, for each of them."""
    if owners is None:
        return weights2
    owner = owners[alive]
    return (np.bincount(owner, weights=weights2) / np.maximum(np.bincount(owner), 1))[owner]


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
    return problem.columns.columns(features) * problem.scale[features] / problem.columns.sqrt_weight[:, None]
