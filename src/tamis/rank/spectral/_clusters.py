"""Alternating minimization over cluster indicators and feature weights: the loop, the initialization, common terms."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranking, interrupt, interruption, track
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.arrays.scaling import center_varying, rescale_columns
from tamis.kernels.arrays.tolerances import TRAINED_TIE
from tamis.kernels.graph.affinity import Graph, smoothest_eigenvectors
from tamis.kernels.graph.cluster_indicator import (
    IndicatorProblem,
    descend,
    indicator_of,
    orthogonality_gap,
    orthogonality_penalty,
)
from tamis.kernels.graph.row_sparse import RowRidge, SampleGram, irls_weights, relaxed_irls_weights, row_sparse_norm
from tamis.rank._row_sample import note_rows
from tamis.rank.spectral._base import GraphRanker, RowSampleRanker

_OFFSET = 0.02  # what Li et al. add to the memberships at the start, so that none is zero
_STEPS = 10  # of the memberships, for each of the feature weights
_TOLERATED = 0.1  # share of the fall of the objective that ends the sweeps which weights of features may be behind


class Model(Protocol):
    """The unknowns of an alternating minimization; a sweep replaces arrays, and writes to none, so that copies last."""

    F: np.ndarray
    A: np.ndarray

    def sweep(self, *, is_relaxed: bool) -> float:
        """Update everything once; the objective afterwards, which a relaxed sweep, longer or rougher, may raise."""


def sweep_further(model: Model, objectives: list[float], tol: float) -> Model:
    """Sweep once more and append the objective: relaxed where that lowers it by more than ``tol``, else plainly.

    So it is always a plain sweep that tells convergence.
    """
    if objectives:
        ahead = copy(model)
        objective = ahead.sweep(is_relaxed=True)
        if objectives[-1] - objective > tol * abs(objective):
            objectives.append(objective)
            return ahead
    objectives.append(model.sweep(is_relaxed=False))
    return model


class AlternatingRanker(RowSampleRanker):
    """Base of methods whose objective goes down in sweeps, and whose scores are the row norms of a weight matrix.

    Subclasses store ``n_clusters``, ``max_iter``, ``tol`` and ``standardize``, and write :meth:`_model`.
    """

    supervised: ClassVar[bool] = False
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = GraphRanker.natural_stop

    n_clusters: int
    max_iter: int
    tol: float
    standardize: bool

    _parameter_constraints: ClassVar[dict] = {
        **RowSampleRanker._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    @abstractmethod
    def _model(self, Z: np.ndarray, X: np.ndarray, y: Any, rng: np.random.RandomState) -> Model:
        """The initial point; ``Z`` holds the columns of ``X`` that vary, centered, of unit variance if asked."""

    def _keep(self, model: Any, varies: np.ndarray) -> None:
        """Set the fitted attributes that only this method has."""

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X, y, rows = self._sample_rows(candidates.table, y)
        if self.n_clusters > X.shape[0]:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {X.shape[0]} samples; ask for fewer")
        if self.standardize:
            X = rescale_columns(X)
        X = np.ascontiguousarray(X)  # rounding then does not depend on how a table lies in memory
        Z, varies = center_varying(X, scale=self.standardize)
        # the threads of numpy's BLAS and of scipy's, which sweeps call in turn, would wait for each other
        with limit_blas_threads(Z.shape[0] * min(Z.shape)):
            model, converged = self._descend(self._model(Z, X, y, rng))
        self.n_iter_ = self.objective_.size
        self.cluster_indicator_ = model.F
        self.sample_indices_ = np.arange(X.shape[0]) if rows is None else rows
        self.feature_weights_ = np.zeros((X.shape[1], model.A.shape[1]))
        self.feature_weights_[varies] = model.A
        self._keep(model, varies)
        scores = np.where(varies, np.linalg.norm(self.feature_weights_, axis=1), np.nan)
        ranking = Ranking.from_scores(scores, rounding=TRAINED_TIE)
        certificate = {
            "converged": converged,
            "n_iter": self.n_iter_,
            "objective": float(self.objective_[-1]),
            "orthogonality": orthogonality_gap(model.F),
        }
        return Ranking(
            ranking.order, ranking.scores, certificate=certificate, notes=note_rows(rows, candidates.table.shape[0])
        )

    def _descend(self, model: Model) -> tuple[Model, bool]:
        """Sweep until the objective hardly moves; False, and a warning, if it still does after ``max_iter``."""
        objectives: list[float] = []
        converged = False
        watched = track(self, range(self.max_iter), task_name="sweep", total=self.max_iter)
        try:
            for _ in watched:
                model = sweep_further(model, objectives, self.tol)
                converged = len(objectives) > 1 and objectives[-2] - objectives[-1] <= self.tol * abs(objectives[-1])
                if converged:
                    break
        except KeyboardInterrupt:
            interrupt(watched)
        self.objective_ = np.array(objectives)
        if not converged and not interruption(self):
            name, n_sweeps = type(self).__name__, len(objectives)
            warnings.warn(
                f"{name} still lowers its objective after {n_sweeps} sweeps; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return model, converged


class Weights(NamedTuple):
    """Of the terms that all objectives have: regression, its l2,1 norm, orthogonality; and the tolerance of sweeps."""

    alpha: float
    beta: float
    gamma: float
    tol: float


class ClusterRanker(AlternatingRanker, GraphRanker):
    """Base of NDFS and its extensions: non-negative clusters that are smooth along a graph of the samples."""

    alpha: float
    beta: float
    gamma: float
    init: str

    _parameter_constraints: ClassVar[dict] = {
        **GraphRanker._parameter_constraints,
        **AlternatingRanker._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"k-means", "spectral"})],
        "random_state": ["random_state"],
    }

    def _start(
        self, Z: np.ndarray, X: np.ndarray, y: Any, rng: np.random.RandomState
    ) -> tuple[np.ndarray, Graph, np.ndarray, Weights]:
        """Arguments of every model: columns, graph, initial memberships by k-means, weights of the terms."""
        graph = self._graph(X, y)
        points = smoothest_eigenvectors(graph, self.n_clusters)[1] if self.init == "spectral" else isometric_rows(Z)
        labels = KMeans(self.n_clusters, n_init=10, random_state=rng).fit(points).labels_
        F = indicator_of(labels, self.n_clusters, offset=_OFFSET)
        return Z, graph, F, Weights(self.alpha, self.beta, self.gamma, self.tol)


class ClusterModel:
    r"""The terms that NDFS has, with hooks for what others add.

    .. math:: \mathrm{Tr}\, F'LF + \alpha (\|F - ZA\|^2 + \beta \|A\|_{2,1}) + \frac{\gamma}{2} \|F'F - I\|^2

    A sweep reweights the l2,1 norm (IRLS), then lowers the sum over F with A at its minimum for F throughout, then over
    the other unknowns of a method. An over-relaxed one takes weights of the norm further on from the last. With more
    features than samples, weights of the norm that change the objective by less than a tenth of ``tol``, all together,
    are left as they are.
    """

    def __init__(self, Z: np.ndarray, graph: Graph, F: np.ndarray, weights: Weights) -> None:
        self.Z, self.graph, self.F = Z, graph, F
        self.alpha, self.beta, self.gamma, tol = weights
        is_wide = Z.shape[1] > Z.shape[0]
        self._gram = None if is_wide else Z.T @ Z
        self._sample_gram = SampleGram(Z, _TOLERATED * tol) if is_wide else None
        self._relaxation = 1.0
        self._norm_weights = np.ones(Z.shape[1])
        self._fit(self._ridge(self.beta * self._norm_weights), F)

    def _ridge(
        self, penalty: np.ndarray, *, linear_term: np.ndarray | None = None, row_weight: np.ndarray | None = None
    ) -> RowRidge:
        return RowRidge(
            self.Z,
            penalty,
            linear_term=linear_term,
            row_weight=row_weight,
            gram=self._gram,
            sample_gram=self._sample_gram,
        )

    def _fit(self, regression: RowRidge, target: np.ndarray) -> None:
        """Set the weights of the features, and what they explain of the memberships."""
        self.A = regression.coefficients(target)
        self.fitted = self.Z @ self.A

    def sweep(self, *, is_relaxed: bool) -> float:
        """Update everything once; the objective afterwards."""
        self._norm_weights = relaxed_irls_weights(self.A, self._norm_weights) if is_relaxed else irls_weights(self.A)
        problem = self._problem()
        self.F, self._relaxation = descend(problem, self.F, _STEPS, self._relaxation)
        self._fit(problem.regression, self.F if problem.noise is None else self.F - problem.noise)
        self._update_rest()
        return self.objective()

    def _problem(self) -> IndicatorProblem:
        """The subproblem of F."""
        return IndicatorProblem(self.graph, self._regression(), self.alpha, self.gamma)

    def _regression(self) -> RowRidge:
        return self._ridge(self.beta * self._norm_weights)

    def _update_rest(self) -> None:
        """Update what else a method learns."""

    def objective(self) -> float:
        """The objective as it stands."""
        loss = float(np.sum(self._residual() ** 2)) + self.beta * row_sparse_norm(self.A)
        return self._graph_terms() + self.alpha * loss

    def _residual(self) -> np.ndarray:
        return self.F - self.fitted

    def _graph_terms(self, smoothness: float = 1.0) -> float:
        """Dirichlet energy of F along the graph, and its departure from orthogonality."""
        energy = float(np.vdot(self.F, self.F - self.graph.normalized_dot(self.F)))
        return smoothness * energy + orthogonality_penalty(self.F, self.gamma)


def isometric_rows(Z: np.ndarray) -> np.ndarray:
    """Rows with the same inner products as those of ``Z`` and at most as many entries as there are rows."""
    return Z if Z.shape[1] <= Z.shape[0] else np.asarray(np.linalg.qr(Z.T, mode="r")).T
