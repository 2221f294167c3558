r"""A graph of the samples that is learned together with a projection of them.

.. math:: \min_{S, W, F} \sum_{ij} \left( \|W'z_i - W'z_j\|^2 s_{ij} + \alpha s_{ij}^2 \right) + \gamma \|W\|_{2,1}
          + 2 \lambda \, \mathrm{Tr}\, F' L_S F, \qquad S \ge 0, \; S 1 = 1, \; s_{ii} = 0, \; W'W = I, \; F'F = I,

with :math:`L_S` the Laplacian of :math:`(S + S') / 2`, for which

.. math:: \sum_{ij} \|x_i - x_j\|^2 s_{ij} = 2 \, \mathrm{Tr}\, X' L_S X .

Each of the three has an exact minimum given the others: a projection of every row on the simplex, and two sets of
eigenvectors (for W, of a sum in which the l2,1 norm is replaced by its tangent).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.metrics.pairwise import euclidean_distances

from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.neighbors.search import nearest_neighbors
from tamis.rank.spectral._leading_eigenvectors import leading_eigenvectors

_BLOCK = 2**22  # distances held at a time
_DENSE = 300  # size up to which a dense eigendecomposition is faster than Lanczos


def project_rows_onto_simplex(V: np.ndarray) -> np.ndarray:
    """Nearest point to every row among those with non-negative entries that sum to one.

    Only entries within one of the largest can be positive, so that few need sorting.
    """
    highest = V.max(axis=1, keepdims=True)
    many = int(np.count_nonzero(highest - 1.0 < V, axis=1).max())
    top = V if many == V.shape[1] else -np.partition(-V, many - 1, axis=1)[:, :many]
    top = -np.sort(-(top - highest), axis=1)
    excess = (np.cumsum(top, axis=1) - 1.0) / np.arange(1, many + 1)
    size = np.count_nonzero(top > excess, axis=1)
    threshold = excess[np.arange(len(V)), size - 1]
    return np.maximum(V - highest - threshold[:, None], 0.0)


def adaptive_scale(points: np.ndarray, n_neighbors: int) -> float:
    r"""The :math:`\alpha` with which a row of S has about ``n_neighbors`` positive entries, averaged over the rows.

    .. math:: \alpha = \frac{1}{n} \sum_i \Big( \frac{k}{2} d_{i,k+1} - \frac12 \sum_{j \le k} d_{ij} \Big)

    with d the squared distances to the nearest others, ascending (Nie et al. 2016).
    """
    n_neighbors = max(1, min(n_neighbors, len(points) - 2))
    found = nearest_neighbors(points, min(n_neighbors + 1, len(points) - 1))[1] ** 2
    scale = 0.5 * float(np.mean(n_neighbors * found[:, -1] - found[:, :n_neighbors].sum(axis=1)))
    return scale if scale > 0 else 1.0  # all points at the same distance: any will do


def learn_graph(points: np.ndarray, alpha: float) -> sparse.csr_array:
    r"""Rows of S that minimize :math:`\sum_{ij} \|x_i - x_j\|^2 s_{ij} + \alpha s_{ij}^2`.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_coordinates)
    alpha : float
        The smaller, the fewer neighbors.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Rows sum to one; zeros, such as the whole diagonal, are not stored.

    Notes
    -----
    In blocks of rows: never more than a few million distances at a time.
    """
    n_samples = len(points)
    found = []
    for block in blocks(n_samples, _BLOCK // n_samples):
        rows = np.arange(block.start, block.stop)
        V = euclidean_distances(points[rows], points, squared=True)
        V *= -0.5 / alpha
        own = (np.arange(rows.size), rows)
        V[own] = -np.inf
        V[own] = V.max(axis=1) - 2.0  # zero after the projection: more than one below the largest
        found.append(sparse.csr_array(project_rows_onto_simplex(V)))
    return sparse.vstack(found, format="csr")


def laplacian_of(S: sparse.csr_array) -> sparse.csr_array:
    """Laplacian of ``(S + S') / 2``."""
    both = (S + S.T) / 2.0
    return (sparse.diags_array(np.asarray(both.sum(axis=1)).ravel()) - both).tocsr()


def smoothest_indicator(L: sparse.csr_array, count: int, *, near: np.ndarray | None = None) -> np.ndarray:
    """Orthonormal F that minimizes ``Tr F'LF`` for a Laplacian: eigenvectors of its smallest eigenvalues.

    Parameters
    ----------
    L : csr_array of shape (n_samples, n_samples)
    count : int
        Columns of F.
    near : ndarray of shape (n_samples, count), default=None
        Where the graph has more components than columns are asked for, the minimum is not unique: the nearest to this.

    Returns
    -------
    ndarray of shape (n_samples, count)

    Notes
    -----
    Indicators of the connected components span the null space; the other eigenvectors are found in its complement, by a
    dense decomposition for few samples, by Lanczos iterations from a fixed start for many.
    """
    n_samples = L.shape[0]
    n_components, component = csgraph.connected_components(L, directed=False)
    size = np.bincount(component)[component]
    indicators = sparse.csr_array((size**-0.5, (np.arange(n_samples), component)))
    if n_components >= count:
        rotation = np.eye(n_components, count) if near is None else linalg.polar(indicators.T @ near)[0]
        return indicators @ rotation
    null_space, n_missing = indicators.toarray(), count - n_components
    if n_samples <= _DENSE or 3 * count >= n_samples:
        vectors = linalg.eigh(L.toarray(), subset_by_index=(n_components, count - 1))[1]
        return np.hstack([null_space, vectors])
    top = 2.0 * float(L.diagonal().max())  # no eigenvalue is larger

    def shifted(x: np.ndarray) -> np.ndarray:
        x = x.ravel()
        return top * (x - indicators @ (indicators.T @ x)) - L @ x

    operator = LinearOperator(L.shape, matvec=shifted, dtype=float)
    start = np.random.RandomState(0).uniform(0.5, 1.0, n_samples)
    return np.hstack([null_space, eigsh(operator, k=n_missing, which="LA", v0=start)[1][:, ::-1]])


def smoothest_projection(
    Z: np.ndarray,
    L: sparse.csr_array,
    penalty: np.ndarray,
    count: int,
    *,
    near: np.ndarray | None = None,
    tol: float = 1e-10,
) -> np.ndarray:
    r"""Orthonormal W that minimizes :math:`2\, \mathrm{Tr}\, W'Z'LZW + \sum_j p_j \|w_j\|^2`.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
    L : csr_array of shape (n_samples, n_samples)
    penalty : ndarray of shape (n_features,)
        p, all positive.
    count : int
        Columns of W.
    near : ndarray of shape (n_features, count), default=None
        With more features than samples, where to start from; the nearer, the quicker.
    tol : float, default=1e-10
        With more features than samples, the residual of each eigenvector, as a share of the inverse of the smallest
        eigenvalue; errors of the minimum go with its square.

    Returns
    -------
    ndarray of shape (n_features, count)

    Notes
    -----
    These are eigenvectors of ``M = 2 Z'LZ + P``, found from its inverse, in which features without weight have small
    entries, not large ones. With more features than samples neither is ever formed: block iterations on

    .. math:: M^{-1} = P^{-1} - P^{-1} Z' (I + 2 L K)^{-1} 2 L Z P^{-1}, \qquad K = Z P^{-1} Z',

    need one factorization of the size of the samples. Cost O(n D min(n, D)).
    """
    n_samples, n_features = Z.shape
    if n_features <= n_samples or 3 * count >= n_features:
        inverse = _dense_inverse(Z, L, penalty)
        inverted, W = linalg.eigh(inverse, subset_by_index=(n_features - count, n_features - 1))
    else:
        if near is None:  # a combination of rows depends on the features, not on their order
            near = Z.T @ np.random.RandomState(0).standard_normal((n_samples, count)) / penalty[:, None]
        inverted, W = leading_eigenvectors(_inverse_product(Z, L, penalty), near, tol)
    return _refine_light_rows(Z, L, penalty, 1.0 / inverted, W)


def _dense_inverse(Z: np.ndarray, L: sparse.csr_array, penalty: np.ndarray) -> np.ndarray:
    """Inverse of ``2 Z'LZ + P``, scaled so that penalties far apart cost no digits."""
    root = penalty**-0.5
    scaled = Z * root
    inner = 2.0 * (scaled.T @ (L @ scaled))
    inner[np.diag_indices_from(inner)] += 1.0
    inverse = root[:, None] * linalg.cho_solve(linalg.cho_factor(inner), np.diag(root))
    return (inverse + inverse.T) / 2.0


def _inverse_product(Z: np.ndarray, L: sparse.csr_array, penalty: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Product of columns with the inverse of ``2 Z'LZ + P``, by an algebra of the size of the samples."""
    scaled = Z * penalty**-0.5
    inner = 2.0 * (L @ (scaled @ scaled.T))
    inner[np.diag_indices_from(inner)] += 1.0
    factor = linalg.lu_factor(inner, overwrite_a=True, check_finite=False)
    divisor = penalty[:, None]

    def solve(x: np.ndarray) -> np.ndarray:
        x = x / divisor
        return np.asarray(x - (Z.T @ linalg.lu_solve(factor, 2.0 * (L @ (Z @ x)), check_finite=False)) / divisor)

    return solve


def _refine_light_rows(
    Z: np.ndarray, L: sparse.csr_array, penalty: np.ndarray, values: np.ndarray, W: np.ndarray
) -> np.ndarray:
    """Rows of features with tiny weights, to their own relative precision.

    The eigensolver has an absolute error of the size of the largest row. ``M w = v w`` gives each from the others:
    ``w_j = 2 z_j' L Z w / (v - p_j)``. The nearest orthonormal matrix, ``W (W'W)^-1/2``, mixes columns, so that rows
    keep their precision.
    """
    light = np.flatnonzero(penalty > 100.0 * values.max())
    W[light] = 2.0 * (Z[:, light].T @ (L @ (Z @ W))) / (values - penalty[light, None])
    lengths2, rotation = linalg.eigh(W.T @ W)
    return np.asarray(W @ ((rotation / np.sqrt(lengths2)) @ rotation.T))
