r"""Linear models of two classes whose rows are read in blocks: gradients and Hessians at many weights at once.

.. math:: F(w) = \tfrac12 \sum_j p_j w_j^2 + \sum_i c_i \ell(m_i), \qquad m_i = y_i \langle w, z_i \rangle,

with :math:`\ell(m) = \max(0, 1 - m)^2` or :math:`\log(1 + e^{-m})`. Weights are optimal where

.. math:: \nabla F(w) = \mathrm{diag}(p) w + \sum_i c_i \ell'(m_i) y_i z_i = 0,

a sum over rows, and so is the Hessian :math:`\mathrm{diag}(p) + \sum_i c_i \ell''(m_i) z_i z_i^\top`. One block of rows
is multiplied by all weights together, so that a pass over the rows tells the gradients of many models.

Rows with a margin of more than 1 have no squared hinge loss. Where few rows have less, as with classes that can be
separated, those of least margin are gathered: they stand for all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tamis.kernels.arrays.blocks import CACHE_ENTRIES, blocks

_FEWEST_ROWS = 256  # of a piece of a block


@dataclass(frozen=True)
class Evaluation:
    """Weights at which sums over rows are wanted.

    Attributes
    ----------
    loss : {"squared_hinge", "logistic"}
    intercept : float
        Value of the column that the first entry of the weights multiplies; 0 where there is none.
    mean, scale : ndarray of shape (n_columns,)
        Columns are shifted and multiplied by these.
    weights : ndarray of shape (n_vectors, n_entries)
    positive : ndarray of int of shape (n_vectors,)
        Code of the class of which y is 1; it is -1 of all others.
    objective_at, hessian_at, nearest_at : tuple of int
        Places of the weights at which the loss, the Hessian, or rows of least margin are wanted.
    n_nearest : int
        How many of these rows.
    """

    loss: str
    intercept: float
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    positive: np.ndarray
    objective_at: tuple[int, ...] = ()
    hessian_at: tuple[int, ...] = ()
    nearest_at: tuple[int, ...] = ()
    n_nearest: int = 0


class NearRows(NamedTuple):
    """Rows of least margin of a model.

    Attributes
    ----------
    places : ndarray of int of shape (n_rows,)
        Where they are in the table, ascending.
    entries : ndarray of shape (n_rows, n_entries)
    signs, cost, margin : ndarray of shape (n_rows,)
    """

    places: np.ndarray
    entries: np.ndarray
    signs: np.ndarray
    cost: np.ndarray
    margin: np.ndarray

    def joined(self, other: NearRows) -> NearRows:
        """Rows of both, each once."""
        places, first = np.unique(np.concatenate([self.places, other.places]), return_index=True)
        both = (np.concatenate(pair)[first] for pair in zip(self[1:], other[1:], strict=True))
        return NearRows(places, *both)

    def least(self, n_most: int) -> NearRows:
        """So many of least margin."""
        if self.margin.size <= n_most:
            return self
        kept = np.sort(np.argsort(self.margin, kind="stable")[:n_most])
        return NearRows(*(each[kept] for each in self))


@dataclass
class LossSums:
    """What rows tell of models at given weights; that of parts of the rows can be merged.

    Attributes
    ----------
    gradients : ndarray of shape (n_vectors, n_entries)
        Without the penalty.
    losses : ndarray of shape (len(objective_at),)
    hessians : ndarray of shape (len(hessian_at), n_entries, n_entries)
        Without the penalty.
    n_curved : ndarray of shape (len(hessian_at),)
        Rows that have a share in these.
    nearest : list of NearRows
        For each of ``nearest_at``.
    n_nearest : int
    """

    gradients: np.ndarray
    losses: np.ndarray
    hessians: np.ndarray
    n_curved: np.ndarray
    nearest: list[NearRows]
    n_nearest: int

    def merge(self, other: LossSums) -> LossSums:
        """Those of the rows of both."""
        pairs = zip(self.nearest, other.nearest, strict=True)
        return LossSums(
            self.gradients + other.gradients,
            self.losses + other.losses,
            self.hessians + other.hessians,
            self.n_curved + other.n_curved,
            [one.joined(another).least(self.n_nearest) for one, another in pairs],
            self.n_nearest,
        )


def sums_of_block(at: Evaluation, block: np.ndarray, codes: np.ndarray, cost: np.ndarray, start: int) -> LossSums:
    """What one block of rows tells.

    Parameters
    ----------
    at : Evaluation
    block : ndarray of shape (n_rows, n_columns)
    codes : ndarray of int of shape (n_rows,)
        Class of every row.
    cost : ndarray of shape (n_rows,)
    start : int
        Place of the first row.
    """
    height = max(_FEWEST_ROWS, CACHE_ENTRIES // (2 * sum(at.weights.shape)))
    found: LossSums | None = None
    for rows in blocks(len(block), height):
        part = _sums_of_rows(at, block[rows], codes[rows], cost[rows], start + rows.start)
        found = part if found is None else found.merge(part)
    assert found is not None  # blocks have rows
    return found


def _sums_of_rows(at: Evaluation, block: np.ndarray, codes: np.ndarray, cost: np.ndarray, start: int) -> LossSums:
    """Rows so few that what is computed of them stays in a cache."""
    table = prepare_rows(block, at.mean, at.scale, at.intercept)
    signs = _signs(codes, at.positive)
    margin = signs * (table @ at.weights.T)
    curvature = cost[:, None] * curvatures(at.loss, margin[:, at.hessian_at])
    counting = np.flatnonzero(cost)
    nearest = []
    for vector in at.nearest_at:
        own_signs = _signs(codes[counting], at.positive[[vector]])[:, 0]
        columns = table[counting], own_signs, cost[counting], margin[counting, vector]
        nearest.append(NearRows(start + counting, *columns).least(at.n_nearest))
    slope = slopes(at.loss, margin)
    slope *= signs
    slope *= cost[:, None]
    return LossSums(
        slope.T @ table,
        cost @ _losses(at.loss, margin[:, at.objective_at]),
        np.array([_hessian(table, each) for each in curvature.T]).reshape(-1, table.shape[1], table.shape[1]),
        np.count_nonzero(curvature, axis=0),
        nearest,
        at.n_nearest,
    )


def prepare_rows(block: np.ndarray, mean: np.ndarray, scale: np.ndarray, intercept: float) -> np.ndarray:
    """Shifted and scaled columns in double precision, beside a constant one first unless ``intercept`` is 0."""
    n_before = 1 if intercept else 0
    table = np.empty((len(block), n_before + block.shape[1]))
    table[:, :n_before] = intercept
    columns = table[:, n_before:]
    np.subtract(block, mean, out=columns)
    columns *= scale
    return table


def _signs(codes: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Targets 1 and -1, one column per vector of weights, or one for all where they have the same class."""
    different = positive[:1] if np.all(positive == positive[0]) else positive
    return np.where(codes[:, None] == different, 1.0, -1.0)


def _losses(loss: str, margin: np.ndarray) -> np.ndarray:
    return np.maximum(1.0 - margin, 0.0) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -margin)


def slopes(loss: str, margin: np.ndarray) -> np.ndarray:
    """First derivative of the loss in the margin."""
    if loss == "squared_hinge":
        slope = margin - 1.0
        np.minimum(slope, 0.0, out=slope)
        slope *= 2.0
        return slope
    slope = np.negative(margin)
    expit(slope, out=slope)
    return np.negative(slope, out=slope)


def curvatures(loss: str, margin: np.ndarray) -> np.ndarray:
    """Second derivative of the loss in the margin."""
    if loss == "squared_hinge":
        return np.where(margin < 1.0, 2.0, 0.0)
    probability = expit(margin)
    return probability * (1.0 - probability)


def _hessian(table: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(curvature)
    part = table if rows.size == len(table) else table[rows]
    part = part * np.sqrt(curvature[rows])[:, None]
    return np.asarray(part.T @ part)  # one triangle is computed, for both factors are the same
