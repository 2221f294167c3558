r"""Soft memberships of samples in clusters: non-negative, smooth along a graph, nearly orthogonal.

With S the normalized similarities of a graph, a cluster indicator F of shape (n_samples, n_clusters) minimizes

.. math:: J(F) = \nu \, \mathrm{Tr}\, F'(I - S) F + \alpha \, \ell(F - N) + \sum_i v_i \|t_i - f_i C\|^2
          + \frac{\gamma}{2} \|F'F - I\|^2, \qquad F \ge 0,

where :math:`\ell(Y) = \min_A \sum_i d_i \|y_i - z_i A\|^2 + \ldots` is the loss of a ridge regression of Y
on the features. The methods here use some of these terms each.

*The step.* At a positive :math:`\tilde F`, :math:`\ell` lies below its value with :math:`A` held at the best for
:math:`\tilde F`, so that its gradient there needs no derivative of A. Collect the attraction

.. math:: B = \alpha d (Z A + N) + v T C', \qquad G = C C',

split both in non-negative parts, :math:`B = B^+ - B^-`, and write :math:`u = F / \tilde F` entry by entry. By
:math:`2 xy \le x^2 + y^2` the terms of J with a plus sign are at most

.. math:: f_i G^+ f_i' \le \sum_k (\tilde F G^+)_{ik} \tilde F_{ik} u_{ik}^2, \quad
          2 B^- F \le B^- \tilde F (1 + u^2), \quad
          \|F'F\|^2 \le \sum_{ik} (\tilde F \tilde F' \tilde F)_{ik} \tilde F_{ik} u_{ik}^4,

and by :math:`z \ge 1 + \log z` those with a minus sign are at least sums of :math:`\log u_{ik}`. The bound touches J at
u = 1 and separates: with

.. math:: a = (\nu + \alpha d) \tilde F + v \tilde F G^+ + B^-, \quad b = \gamma \tilde F \tilde F' \tilde F, \quad
          c = \nu S \tilde F + v \tilde F G^- + B^+ + \gamma \tilde F,

each entry minimizes :math:`a u^2 + b u^4 / 2 - 2 c \log u` (times :math:`\tilde F`), so :math:`a u^2 + b u^4 = c`,

.. math:: u^2 = \frac{2 c}{a + \sqrt{a^2 + 4 b c}},

and J cannot rise (majorization-minimization). As each bound is unimodal, the same holds for the minimum of the bound
above a floor, which keeps entries from staying at zero for good. The usual rule :math:`u = (c / (a + b))^{1/4}` bounds
squares by fourth powers too, and so takes shorter steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.kernels.graph.affinity import Graph
from tamis.kernels.graph.row_sparse import RowRidge

FLOOR = 1e-10  # least membership; a multiplicative step could not leave zero
_MAX_RELAXATION = 16.0  # exponent of the factors of a step
_MAX_FACTOR = 1e6  # factor of an over-relaxed step


class Reconstruction(NamedTuple):
    """Samples as mixtures of centers: v as a column, ``T C'`` and ``G = C C'``."""

    weight: np.ndarray
    projection: np.ndarray
    gram: np.ndarray


class Evaluation(NamedTuple):
    """At a point F: ``S F``, ``Z A`` and J up to a constant."""

    smoothed: np.ndarray
    fitted: np.ndarray
    value: float


@dataclass(frozen=True)
class IndicatorProblem:
    r"""The terms of J.

    Attributes
    ----------
    graph : Graph
        Its ``normalized_dot`` multiplies with S.
    regression : RowRidge
        :math:`\ell`.
    alpha : float
        Weight of :math:`\ell`.
    orthogonality : float
        :math:`\gamma`.
    smoothness : float, default=1
        :math:`\nu`.
    noise : ndarray of shape (n_samples, n_clusters), default=None
        N; None stands for zero.
    reconstruction : Reconstruction, default=None
        None leaves the term out.
    """

    graph: Graph
    regression: RowRidge
    alpha: float
    orthogonality: float
    smoothness: float = 1.0
    noise: np.ndarray | None = None
    reconstruction: Reconstruction | None = None

    def evaluate(self, F: np.ndarray) -> Evaluation:
        """Evaluate J and what its step needs: one product with the graph, one regression."""
        smoothed = self.graph.normalized_dot(F)
        target = F if self.noise is None else F - self.noise
        fitted = self.regression.fitted(target)
        value = self.smoothness * np.vdot(F, F - smoothed) + self.alpha * self.regression.loss(target, fitted)
        if self.reconstruction is not None:
            weight, projection, gram = self.reconstruction
            value += np.vdot(F, weight * (F @ gram - 2.0 * projection))
        return Evaluation(smoothed, fitted, float(value) + orthogonality_penalty(F, self.orthogonality))

    def factors(self, F: np.ndarray, at: Evaluation) -> np.ndarray:
        """Factors u that minimize the bound at ``F``."""
        loss_weight = self.alpha * self.regression.row_weight
        attraction = loss_weight * (at.fitted if self.noise is None else at.fitted + self.noise)
        a = (self.smoothness + loss_weight) * F
        c = self.smoothness * at.smoothed + self.orthogonality * F
        if self.reconstruction is not None:
            weight, projection, gram = self.reconstruction
            attraction = attraction + weight * projection
            a += weight * (F @ np.maximum(gram, 0.0))
            c += weight * (F @ np.maximum(-gram, 0.0))
        a += np.maximum(-attraction, 0.0)
        c += np.maximum(attraction, 0.0)
        b = self.orthogonality * (F @ (F.T @ F))
        return np.sqrt(2.0 * c / (a + np.sqrt(a * a + 4.0 * b * c)))


def orthogonality_gap(F: np.ndarray) -> float:
    """``||F'F - I||``."""
    return float(np.linalg.norm(F.T @ F - np.eye(F.shape[1])))


def orthogonality_penalty(F: np.ndarray, weight: float) -> float:
    """``weight / 2 ||F'F - I||^2``."""
    return 0.5 * weight * orthogonality_gap(F) ** 2


def indicator_of(labels: np.ndarray, n_clusters: int, *, offset: float) -> np.ndarray:
    """Memberships of unit norm per cluster, plus a positive offset: a multiplicative step could not leave zero."""
    members = (labels[:, None] == np.arange(n_clusters)).astype(float)
    return members / np.sqrt(np.maximum(members.sum(axis=0), 1.0)) + offset


def descend(
    problem: IndicatorProblem, F: np.ndarray, n_steps: int, relaxation: float = 1.0
) -> tuple[np.ndarray, float]:
    r"""Lower J by multiplicative steps with over-relaxation.

    A step multiplies by :math:`u^\omega`. The bound proves descent for :math:`\omega = 1`; larger exponents are tried,
    kept where J goes down, and raised by half; else the plain step is taken and the exponent starts over.

    Parameters
    ----------
    problem : IndicatorProblem
    F : ndarray of shape (n_samples, n_clusters)
        At least ``FLOOR`` everywhere.
    n_steps : int
    relaxation : float, default=1
        The first :math:`\omega`.

    Returns
    -------
    F : ndarray
    relaxation : float
        :math:`\omega` for the next call.
    """
    at = problem.evaluate(F)
    for _ in range(n_steps):
        factors = problem.factors(F, at)
        if relaxation > 1.0:
            relaxed = np.maximum(F * np.minimum(factors**relaxation, _MAX_FACTOR), FLOOR)
            at_relaxed = problem.evaluate(relaxed)
            if at_relaxed.value <= at.value:
                F, at, relaxation = relaxed, at_relaxed, min(1.5 * relaxation, _MAX_RELAXATION)
                continue
            relaxation = 1.0
        else:
            relaxation = 1.5
        F = np.maximum(F * factors, FLOOR)
        at = problem.evaluate(F)
    return F, relaxation
