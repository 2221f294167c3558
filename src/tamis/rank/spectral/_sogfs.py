"""SOGFS: the graph of the samples is learned together with the projection in which neighbors are near."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.kernels.graph.row_sparse import irls_weights, row_sparse_norm
from tamis.rank.spectral._clusters import AlternatingRanker, isometric_rows
from tamis.rank.spectral._optimal_graph import (
    adaptive_scale,
    laplacian_of,
    learn_graph,
    smoothest_indicator,
    smoothest_projection,
)

_MOST_COMPONENTS = 40
_SWEEP_TOL = 1e-5  # of the projection in a sweep, from the last one; its errors in the objective go with the square
_ROUGH_TOL = 1e-4  # of a sweep that is taken only if it lowers the objective; larger ones end in other minima
_START_TOL = 1e-2  # of the first projection, whose eigenvalues are close, so that exact ones would take long
# Roughness z' L z of a column of unit variance, per sample, that rounding alone makes of a column without any.
_LEAST_ROUGHNESS = 1e-12


class SOGFS(AlternatingRanker):
    r"""Rank features by their weights in a projection where neighbors are near, with neighbors learned in it.

    .. math:: \min_{S, W, F} \sum_{ij} \left( \|W'z_i - W'z_j\|^2 s_{ij} + \alpha s_{ij}^2 \right) + \gamma \|W\|_{2,1}
              + 2 \lambda \, \mathrm{Tr}\, F' L_S F, \qquad S_j = \|w_j\|_2

    over :math:`S \ge 0` with rows that sum to one, :math:`W'W = I` and :math:`F'F = I`. Structured optimal graph
    feature selection (Nie et al. 2016; Doquet 2019, Eq. 3.37): S is the graph, :math:`L_S` the Laplacian of
    :math:`(S + S') / 2`, W the projection of the standardized table Z. The last term favors graphs that fall into as
    many parts as F has columns.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_clusters : int, default=5
        Columns of F.
    n_components : int, default=None
        Columns of W; None takes half as many as there are features that vary, 40 at most.
    gamma : float, default=10.0
        Weight of the l2,1 norm: the larger, the fewer features take part.
    alpha : float, default=None
        Weight of the squares of S: the larger, the more neighbors. None sets it once, so that there are about
        ``n_neighbors`` of them at the start.
    laplacian : float, default=None
        :math:`\lambda`; None takes :math:`\alpha`.
    max_iter : int, default=200
        Sweeps at most.
    tol : float, default=1e-4
        Sweeps end where one lowers the objective by less than this share of it.
    n_neighbors : int, default=5
    standardize : bool, default=True
        Columns of unit variance; they are centered in any case.
    max_samples : int or None, default=2000
        Rows to work on: of more, so many are drawn, always the same, and the reason says so. None takes all.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Row norms of the weights; NaN for constant columns, which are not ranked.
    feature_weights_ : ndarray of shape (n_features, n_components)
        W.
    cluster_indicator_ : ndarray of shape (n_sampled, n_clusters)
        F.
    sample_indices_ : ndarray of shape (n_sampled,)
        Rows of the table that it was ranked on: all, or ``max_samples`` of them.
    similarity_ : csr_array of shape (n_sampled, n_sampled)
        S.
    alpha_, laplacian_ : float
        :math:`\alpha` and :math:`\lambda` as used.
    objective_ : ndarray of shape (n_iter_,)
        After each sweep; never increases.
    n_iter_ : int
    order_, ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``orthogonality``: :math:`\|F'F - I\|`.

    Notes
    -----
    Cost per sweep: O(n^2) distances in a few coordinates, in blocks of rows; a few eigenvectors of a sparse matrix; and
    O(n D min(n, D)) for W, if there are more features than samples by products with an inverse of the size of the
    samples, from the last W. With 500 rows and 20 000 columns the sweeps take more than a minute; callbacks are told of
    each. W is found to a lesser precision where that lowers the objective; a sweep at full precision ends the others.

    Limits: with :math:`W'W = I` a combination of features that hardly varies brings all samples near, so that copies
    and, with more features than samples, chance combinations score well. With as many clusters as classes, 100 features
    recover the others less well than 100 random ones on the eight sets of the thesis (mean FIT 0.687 against 0.727).

    Deviations: the paper adapts :math:`\alpha` and :math:`\lambda` at every sweep, so that no objective goes down; here
    both are set once, in the projection that the start gives. The thesis squares the l2,1 norm, the original does not.

    References
    ----------
    Nie, Zhu and Li, "Unsupervised feature selection with structured graph optimization", AAAI 2016. Doquet, "Agnostic
    feature selection", PhD thesis, 2019, Sec. 3.2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from tamis import SOGFS
    >>> clusters, _ = make_blobs(200, centers=3, random_state=0, cluster_std=0.5)
    >>> X = np.hstack([clusters, np.random.default_rng(0).standard_normal((200, 5))])
    >>> SOGFS(n_clusters=3, stop=2).fit(X).get_feature_names_out()
    array(['x0', 'x1'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict] = {
        **AlternatingRanker._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "laplacian": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        n_clusters: int = 5,
        n_components: int | None = None,
        gamma: float = 10.0,
        alpha: float | None = None,
        laplacian: float | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_neighbors: int = 5,
        standardize: bool = True,
        max_samples: int | None = 2000,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.gamma = gamma
        self.alpha = alpha
        self.laplacian = laplacian
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.max_samples = max_samples

    def _model(self, Z: np.ndarray, X: np.ndarray, y: Any, rng: np.random.RandomState) -> GraphModel:
        n_components = self.n_components or min(_MOST_COMPONENTS, max(1, Z.shape[1] // 2))
        if n_components > Z.shape[1]:
            raise ValueError(f"n_components={n_components} is more than the {Z.shape[1]} features that vary")
        model = GraphModel(Z, self.n_clusters, n_components, self.n_neighbors, self.gamma)
        self.alpha_ = model.settle_scale(self.n_neighbors) if self.alpha is None else self.alpha
        self.laplacian_ = self.alpha_ if self.laplacian is None else self.laplacian
        model.alpha, model.laplacian = self.alpha_, self.laplacian_
        return model

    def _keep(self, model: GraphModel, varies: np.ndarray) -> None:
        self.similarity_ = model.S


class GraphModel:
    """Graph, clusters and projection, and the order in which they are updated."""

    alpha: float
    laplacian: float

    def __init__(self, Z: np.ndarray, n_clusters: int, n_components: int, n_neighbors: int, gamma: float) -> None:
        self.Z, self.gamma = Z, gamma
        points = isometric_rows(Z)
        self.S = learn_graph(points, adaptive_scale(points, n_neighbors))
        L = laplacian_of(self.S)
        self.F = smoothest_indicator(L, n_clusters)
        # Tangents at equal rows would leave W open where features outnumber samples: let the smoother ones weigh more.
        rough = np.maximum(np.einsum("ij,ij->j", Z, L @ Z), _LEAST_ROUGHNESS * len(Z))
        length = np.sqrt(n_components) / (rough * np.linalg.norm(1.0 / rough))
        self.A = smoothest_projection(Z, L, gamma / (2.0 * length), n_components, tol=_START_TOL)

    def settle_scale(self, n_neighbors: int) -> float:
        """The weight of the squares of S with which samples have so many neighbors in the projection as it is."""
        return adaptive_scale(self.Z @ self.A, n_neighbors)

    def sweep(self, *, is_relaxed: bool) -> float:
        """Update graph, clusters and projection once, the last roughly if relaxed; the objective that is then reached.

        The weights of the norm are not over-relaxed: features would drop out early, and not come back under W'W = I.
        """
        self.S = learn_graph(np.hstack([self.Z @ self.A, np.sqrt(self.laplacian) * self.F]), self.alpha)
        L = laplacian_of(self.S)
        self.F = smoothest_indicator(L, self.F.shape[1], near=self.F)
        penalty, count = self.gamma * irls_weights(self.A), self.A.shape[1]
        tol = _ROUGH_TOL if is_relaxed else _SWEEP_TOL
        self.A = smoothest_projection(self.Z, L, penalty, count, near=self.A, tol=tol)
        projected = self.Z @ self.A
        apart = 2.0 * np.vdot(projected, L @ projected) + 2.0 * self.laplacian * np.vdot(self.F, L @ self.F)
        return float(apart + self.alpha * np.vdot(self.S.data, self.S.data)) + self.gamma * row_sparse_norm(self.A)
