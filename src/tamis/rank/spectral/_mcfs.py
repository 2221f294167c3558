"""MCFS: features with which a lasso explains the clusters of the samples."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from tamis._sklearn import Interval, get_namespace_and_device, safe_indexing
from tamis.base import Candidates, Ranking, track
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.scaling import center_varying
from tamis.kernels.arrays.tolerances import TIE
from tamis.kernels.arrays.transfer import from_numpy, is_on_host, like, to_numpy
from tamis.kernels.graph.affinity import informative_eigenvectors, inverse_root
from tamis.rank._row_sample import note_rows
from tamis.rank.spectral._base import GraphRanker

_TWIN = 1e-5  # distance of two columns, relative to their norm, below which the lasso path cannot tell them apart
_OPTIMAL = 1e-8  # violation of the optimality conditions that rounding explains
_FEWEST_SCREENED = 256  # columns of a device among which a path is sought first
_COMPARED = 2**24  # entries of columns that are compared at a time


class MCFS(GraphRanker):
    r"""Rank features by the largest weight they get when a lasso explains the smoothest functions on the samples.

    .. math:: S_j = \max_k |a_{kj}|, \qquad
              a_k = \arg\min_a \|y_k - Z a\|_2^2 + \beta_k \|a\|_1, \qquad k = 1 \dots \kappa

    with :math:`y_k` the eigenvectors of :math:`(\Delta - M) y = \lambda \Delta y`, the first left out, and Z the
    standardized table (Cai, Zhang and He 2010; Doquet 2019, Eqs. 3.27 and 3.28).

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" stops where the features kept recover all features as well as more of them would.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_clusters : int, default=5
        :math:`\kappa`: eigenvectors to explain.
    n_nonzero : int, default=100
        Steps along the path of each lasso, which sets :math:`\beta_k`: at most so many features get a weight per
        cluster.
    alpha : float, default=0.0
        :math:`\beta`, where the path ends at the latest.
    absolute : bool, default=True
        False takes the maximum of the weights with their signs, which depend on those of the eigenvectors, as
        scikit-feature does.
    n_neighbors, weight, width, self_loops, standardize, max_samples, neighbors : as for LaplacianScore
        The graph. Columns are centered in any case.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Largest weight; NaN where a feature gets none, which is then not ranked.
    coef_ : ndarray of shape (n_clusters, n_features)
        Weights :math:`a_k`.
    penalty_ : ndarray of shape (n_clusters,)
        :math:`\beta_k` at the end of each path.
    order_, ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``kkt``: largest violation of the optimality conditions of Eq. 3.27, relative to :math:`2 \|Z'y_k\|_\infty`.

    Notes
    -----
    Cost: a neighbor search, a few eigenvectors of the sparse graph, and per cluster a least-angle path (lasso form) of
    ``n_nonzero`` steps, O(n D) each; of an array on a device only the columns that a path may take, and what it is at
    each step, come back. Copies of a column, up to sign, get the weight that one of them would get alone.
    Eigenvectors have unit norm in the degrees; their common scale does not change the order. Where several have the
    same eigenvalue around the last one taken, as in a graph of more parts than clusters, the choice among them is
    arbitrary; with ``weight="class"`` no more than the number of classes less one are taken.

    Limits: 100 features recover the others a little less well than 100 random ones on the eight sets of the thesis
    (mean FIT 0.722 against 0.727, ``python -m bench spectral``).

    References
    ----------
    Cai, Zhang and He, "Unsupervised feature selection for multi-cluster data", KDD 2010. Doquet, "Agnostic feature
    selection", PhD thesis, 2019, Sec. 3.2.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import MCFS
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> MCFS(n_clusters=2, n_nonzero=1, stop=1).fit(X).get_feature_names_out()
    array(['petal length (cm)'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = GraphRanker.provides | {"array_api"}
    _parameter_constraints: ClassVar[dict] = {
        **GraphRanker._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "absolute": ["boolean"],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        n_clusters: int = 5,
        n_nonzero: int = 100,
        alpha: float = 0.0,
        absolute: bool = True,
        n_neighbors: int = 5,
        weight: str = "heat",
        width: float | None = None,
        self_loops: bool = False,
        standardize: bool = True,
        max_samples: int | None = 5000,
        neighbors: str = "exact",
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_clusters = n_clusters
        self.n_nonzero = n_nonzero
        self.alpha = alpha
        self.absolute = absolute
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.width = width
        self.self_loops = self_loops
        self.standardize = standardize
        self.max_samples = max_samples
        self.neighbors = neighbors

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X, y, rows = self._sample_rows(candidates.table, y)
        X = self._rescale(X)
        graph = self._graph(X, y)
        _, vectors = informative_eigenvectors(graph, self.n_clusters)
        Y = inverse_root(graph.degree)[:, None] * vectors
        Y -= Y.mean(axis=0)
        Z, varies = center_varying(X, scale=self.standardize)
        distinct, copy_of, sign = group_copies(Z)
        Z = safe_indexing(Z, distinct, axis=1)
        solve = lasso_weights if is_on_host(Z) else screened_lasso_weights
        found = (solve(Z, target, self.n_nonzero, self.alpha) for target in Y.T)
        paths = list(track(self, found, task_name="path", total=Y.shape[1], interruptible=False))
        coef = np.zeros((len(paths), X.shape[1]))
        coef[:, varies] = np.array([weights for weights, _ in paths])[:, copy_of] * sign
        kkt = max(kkt_violation(Z, target, *path) for target, path in zip(Y.T, paths, strict=True))
        size = np.abs(coef) if self.absolute else coef
        scores = np.where((coef != 0).any(axis=0), size.max(axis=0), np.nan)
        self.coef_, self.penalty_ = (like(values, X) for values in (coef, np.array([penalty for _, penalty in paths])))
        ranking = Ranking.from_scores(scores, rounding=TIE.float64)
        return Ranking(
            ranking.order,
            ranking.scores,
            certificate={"converged": True, "kkt": kkt},
            notes=note_rows(rows, candidates.table.shape[0]),
        )


def group_copies(Z: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct columns, the place among these of the one that each column copies, and the sign between the two.

    Copies are equal up to sign and rounding, so their projections on a random direction are adjacent when sorted.
    """
    xp, _, device = get_namespace_and_device(Z)
    direction = from_numpy(np.random.RandomState(0).standard_normal(Z.shape[0]), xp, device, Z.dtype)
    along = to_numpy(direction @ Z)
    size = np.sqrt(to_numpy(xp.sum(Z * Z, axis=0)))
    order = np.argsort(np.abs(along), kind="stable")
    left, right = order[:-1], order[1:]
    near = np.flatnonzero(np.abs(along[right]) - np.abs(along[left]) <= 1e-4 * size[left])
    alike = np.zeros(left.size, dtype=bool)
    for part in blocks(near.size, _COMPARED // Z.shape[0]):
        some = near[part]
        signs = np.where(np.sign(along[left[some]]) * np.sign(along[right[some]]) < 0, -1.0, 1.0)
        signed = safe_indexing(Z, right[some], axis=1) * from_numpy(signs, xp, device, Z.dtype)
        distance2 = xp.sum((safe_indexing(Z, left[some], axis=1) - signed) ** 2, axis=0)
        alike[some] = np.sqrt(to_numpy(distance2)) <= _TWIN * size[left[some]]
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(np.append(False, ~alike))
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    distinct = np.sort(first)
    copy_of = np.searchsorted(distinct, first)[member]
    sign = np.where(np.sign(along) * np.sign(along[distinct[copy_of]]) < 0, -1.0, 1.0)
    return distinct, copy_of, sign


def lasso_weights(Z: np.ndarray, y: np.ndarray, n_nonzero: int, alpha: float) -> tuple[np.ndarray, float]:
    r"""Weights and :math:`\beta` at the end of some steps along the lasso path of Eq. 3.27, or at ``alpha``."""
    return last_optimal_knot(Z, y, *lasso_path(Z, y, n_nonzero, alpha))


def screened_lasso_weights(Z: Any, y: np.ndarray, n_nonzero: int, alpha: float) -> tuple[np.ndarray, float]:
    r"""The same of columns on a device, from which only those come that a path may take.

    The path of some columns is that of all if the gradient of no other one exceeds :math:`\beta` at a knot, for both
    are linear from one knot to the next. Those that do join, and the path is computed again.
    """
    xp, _, device = get_namespace_and_device(Z)
    gradient = 2.0 * np.abs(to_numpy(from_numpy(y, xp, device, Z.dtype) @ Z))
    n_more = max(_FEWEST_SCREENED, 2 * n_nonzero)
    chosen = np.sort(np.argsort(-gradient, kind="stable")[:n_more])
    while True:
        some = to_numpy(safe_indexing(Z, chosen, axis=1))
        coefs, betas = lasso_path(some, y, n_nonzero, alpha)
        residuals = from_numpy(y[:, None] - some @ coefs, xp, device, Z.dtype)
        excess = xp.max(2.0 * xp.abs(Z.T @ residuals) - from_numpy(betas, xp, device, Z.dtype)[None, :], axis=1)
        excess = to_numpy(excess) / gradient.max()
        excess[chosen] = 0.0
        others = np.flatnonzero(excess > _OPTIMAL)
        if others.size == 0:
            break
        chosen = np.union1d(chosen, others[np.argsort(-excess[others], kind="stable")[:n_more]])
    weights = np.zeros(Z.shape[1])
    weights[chosen], beta = last_optimal_knot(some, y, coefs, betas)
    return weights, beta


def lasso_path(Z: np.ndarray, y: np.ndarray, n_nonzero: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Weights of shape (n_columns, n_knots) and :math:`\beta` at the knots of the lasso path of Eq. 3.27."""
    n_samples = len(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it drops columns that others make redundant, as it should
        alphas, _, coefs = lars_path(
            Z, y, method="lasso", max_iter=n_nonzero, alpha_min=alpha / (2 * n_samples), copy_X=True
        )
    return coefs, 2 * n_samples * alphas


def last_optimal_knot(Z: np.ndarray, y: np.ndarray, coefs: np.ndarray, betas: np.ndarray) -> tuple[np.ndarray, float]:
    """The last knot of a path that meets the KKT conditions; some may not where columns are nearly dependent."""
    knots = ((coefs[:, k], float(betas[k])) for k in range(betas.size - 1, 0, -1))
    optimal = (knot for knot in knots if kkt_violation(Z, y, *knot) < _OPTIMAL)
    return next(optimal, (coefs[:, 0], float(betas[0])))


def kkt_violation(Z: Any, y: np.ndarray, a: np.ndarray, beta: float) -> float:
    r"""How far ``a`` is from optimal in Eq. 3.27.

    :math:`2 Z'(y - Za)` must equal :math:`\beta\,\mathrm{sign}(a)`, and lie within :math:`\pm\beta` where a is zero.
    """
    xp, _, device = get_namespace_and_device(Z)
    target, weights = (from_numpy(each, xp, device, Z.dtype) for each in (y, a))
    gradient, start = (2.0 * to_numpy(Z.T @ each) for each in (target - Z @ weights, target))
    excess = np.where(a != 0, np.abs(gradient - beta * np.sign(a)), np.maximum(np.abs(gradient) - beta, 0.0))
    return float(excess.max() / max(np.abs(start).max(), np.finfo(float).tiny))
