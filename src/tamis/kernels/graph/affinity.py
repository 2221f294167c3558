r"""Similarity of samples as a graph, and the smoothness (Dirichlet energy) of features along it.

A graph holds non-negative symmetric weights :math:`M_{ik}` between different samples and one weight for the loop of a
sample to itself. The loop enters the degrees :math:`\Delta_{ii} = \sum_k M_{ik}` alone, as it cancels in the Laplacian:

.. math:: f' (\Delta - M) f = \tfrac12 \sum_{i \ne k} M_{ik} (f_i - f_k)^2

is computed without loops, and so keeps its digits even where all other weights are tiny beside them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import normalize

from tamis._sklearn import get_namespace_and_device, max_precision_float_dtype, move_to
from tamis.kernels.arrays.blocks import blocks, map_in_threads
from tamis.kernels.arrays.transfer import from_numpy, to_numpy
from tamis.kernels.neighbors.search import nearest_neighbors

_BLOCK = 2**23  # numbers of a kernel matrix held at a time
_CACHE = 2**18  # numbers of it that one thread computes at a time
_DEVICE_BLOCK = 2**26  # the same on an accelerator
_DENSE = 200  # samples up to which a dense eigendecomposition is faster than Lanczos


class Graph(ABC):
    """Weights between samples, as a linear operator.

    Attributes
    ----------
    n_samples : int
    loop : float
        Weight of every sample with itself.
    between : ndarray of shape (n_samples,)
        Sum of the weights to other samples.
    """

    n_samples: int
    loop: float
    between: np.ndarray

    @property
    def degree(self) -> np.ndarray:
        """Diagonal of Delta."""
        return self.between + self.loop

    @cached_property
    def _root(self) -> np.ndarray:
        return inverse_root(self.degree)

    @abstractmethod
    def dot(self, F: Any) -> Any:
        """Weights between different samples times ``F``."""

    def normalized_dot(self, F: np.ndarray) -> np.ndarray:
        """``Delta^-1/2 M Delta^-1/2 F``, loops included; samples without any weight give zero."""
        root = self._root[:, None] if F.ndim == 2 else self._root
        return root * (self.dot(root * F) + self.loop * root * F)


class SparseGraph(Graph):
    """A few neighbors per sample."""

    def __init__(self, weights: sparse.csr_array, *, loop: float = 0.0) -> None:
        self.weights = weights
        self.n_samples = weights.shape[0]
        self.loop = loop
        self.between = np.asarray(weights.sum(axis=1)).ravel()

    def dot(self, F: Any) -> Any:
        """Sparse product."""
        return self.weights @ F


class ClassGraph(Graph):
    """Weight 1 / (size of the class) between samples of one class, 0 otherwise; never held as a matrix."""

    def __init__(self, codes: np.ndarray) -> None:
        self.n_samples = codes.size
        self.codes = codes
        self.share = 1.0 / np.bincount(codes)[codes]
        self.members = sparse.csr_array((np.ones(codes.size), (codes, np.arange(codes.size))))
        self.loop = 0.0
        self.between = np.ones(codes.size)  # loops are part of the class means, and cost no digits here

    def dot(self, F: Any) -> Any:
        """Class means, given back to the members."""
        means = self.members @ F
        if sparse.issparse(F):
            return sparse.diags_array(self.share) @ (self.members.T @ means)
        return (self.members.T @ means) * (self.share[:, None] if F.ndim == 2 else self.share)


class KernelGraph(Graph):
    """All pairs, ``exp(-d^2 / (2 width^2))``; a matrix too large to hold is computed by blocks at every product."""

    def __init__(self, X: Any, width: float, *, loop: float = 1.0) -> None:
        self.X = X if sparse.issparse(X) else X - X.mean(axis=0)
        self.width = width
        self.loop = loop
        self.n_samples = X.shape[0]
        self._matrix: np.ndarray | None = None
        self.between = self.dot(np.ones(self.n_samples))

    def dot(self, F: Any) -> np.ndarray:
        """One pass over the kernel matrix."""
        if self._matrix is not None:
            return self._matrix @ F
        parts = list(blocks(self.n_samples, _CACHE // self.n_samples))
        if self.n_samples**2 > _BLOCK:
            return np.concatenate(list(map_in_threads(lambda part: self._kernel(part) @ F, parts)))
        self._matrix = np.concatenate(list(map_in_threads(self._kernel, parts)))
        return self._matrix @ F

    def _kernel(self, part: slice) -> np.ndarray:
        rows = np.arange(part.start, part.stop)
        kernel = euclidean_distances(self.X[rows], self.X, squared=True)
        with np.errstate(over="ignore"):
            kernel /= -2.0 * self.width
            kernel /= self.width  # not by its square, which may be too large or too small for a number
            np.exp(kernel, out=kernel)
        kernel[np.arange(rows.size), rows] = 0.0
        return kernel


class DeviceKernelGraph(Graph):
    """The same of an array of any namespace: the kernel is computed where that lives, in double precision if it can be.

    A matrix of numpy is multiplied there and comes back.
    """

    def __init__(self, X: Any, width: float, *, loop: float = 1.0) -> None:
        self._xp, _, self._device = get_namespace_and_device(X)
        self.X = X - self._xp.mean(X, axis=0)
        self.width = width
        self.loop = loop
        self.n_samples = X.shape[0]
        self._matrix: Any = None
        if self.n_samples**2 <= _DEVICE_BLOCK:
            self._matrix = self._kernel(slice(0, self.n_samples))
        self.between = self.dot(np.ones(self.n_samples))

    def dot(self, F: Any) -> Any:
        """One pass over the kernel matrix."""
        if isinstance(F, np.ndarray):
            accumulator = max_precision_float_dtype(self._xp, self._device)
            return to_numpy(self.dot(from_numpy(F, self._xp, self._device, accumulator))).astype(float, copy=False)
        if self._matrix is not None:
            return self._matrix @ F
        parts = blocks(self.n_samples, _DEVICE_BLOCK // self.n_samples)
        return self._xp.concat([self._kernel(part) @ F for part in parts], axis=0)

    def _kernel(self, part: slice) -> Any:
        xp, everyone = self._xp, self._xp.arange(self.n_samples, device=self._device)
        kernel = xp.exp(self._squared_distances(part) / (-2.0 * self.width) / self.width)
        return xp.where(everyone[part][:, None] == everyone[None, :], xp.zeros_like(kernel), kernel)

    def _squared_distances(self, part: slice) -> Any:
        """Of some rows and all, a block of columns in double precision at a time."""
        xp, accumulator = self._xp, max_precision_float_dtype(self._xp, self._device)
        shape = (part.stop - part.start, self.n_samples)
        product = xp.zeros(shape, dtype=accumulator, device=self._device)
        norm2 = xp.zeros(self.n_samples, dtype=accumulator, device=self._device)
        for columns in blocks(self.X.shape[1], _DEVICE_BLOCK // self.n_samples):
            points = xp.astype(self.X[:, columns], accumulator, copy=False)
            product += points[part, :] @ points.T
            norm2 += xp.sum(points * points, axis=1)
        return xp.clip(norm2[part][:, None] + norm2[None, :] - 2.0 * product, min=0.0)


def neighbor_graph(
    X: Any,
    n_neighbors: int,
    *,
    weight: str = "heat",
    width: float | None = None,
    loop: float = 0.0,
    search: Callable[[Any, int], tuple[Any, Any]] = nearest_neighbors,
) -> SparseGraph:
    """Connect every sample with its nearest neighbors, symmetrically.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    n_neighbors : int
        At most the number of other samples is used.
    weight : {"heat", "binary", "cosine"}
        ``exp(-d^2 / (2 width^2))``; 1; or the cosine between the samples, by which their neighbors are found too
        (negative ones count as zero).
    width : float, default=None
        Of the heat kernel; None takes the root mean square of the distances to the neighbors.
    loop : float, default=0
        Weight of every sample with itself.
    search : callable, default=nearest_neighbors
        Given points and a number, gives rows and distances of neighbors, exact or approximate.

    Returns
    -------
    SparseGraph
    """
    n_samples = X.shape[0]
    n_neighbors = min(n_neighbors, n_samples - 1)
    points = normalize(X) if weight == "cosine" else X
    indices, distances = map(to_numpy, search(points, n_neighbors))
    distances = distances.astype(float)
    if weight == "heat":
        scale = heat_width(distances) if width is None else width
        values = heat_kernel(distances, scale)
    elif weight == "cosine":
        empty = _rows_of_zeros(points)  # rows of zeros have no direction
        values = np.clip(1.0 - distances**2 / 2.0, 0.0, None)
        values[empty[:, None] | empty[indices]] = 0.0
    else:
        values = np.ones_like(distances)
    ends = np.arange(0, indices.size + 1, n_neighbors)
    directed = sparse.csr_array((values.ravel(), indices.ravel(), ends), shape=(n_samples, n_samples))
    return SparseGraph(directed.maximum(directed.T).tocsr(), loop=loop)


def _rows_of_zeros(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(abs(X).sum(axis=1)).reshape(-1) == 0
    xp, _, _ = get_namespace_and_device(X)
    return ~to_numpy(xp.any(X != 0, axis=1))


def heat_kernel(distances: np.ndarray, width: float) -> np.ndarray:
    """``exp(-d^2 / (2 width^2))``, zero where that is too small for a number."""
    with np.errstate(over="ignore"):
        return np.exp(-0.5 * (distances / width) ** 2)


def heat_width(distances: np.ndarray) -> float:
    """Root mean square of the distances; 1 where all are zero."""
    return float(np.sqrt(np.mean(distances**2))) or 1.0


def inverse_root(degree: np.ndarray) -> np.ndarray:
    """``degree^-1/2``, zero for samples without any weight."""
    positive = degree > 0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, degree, 1.0)), 0.0)


def laplacian_dot(graph: Graph, F: Any) -> Any:
    """``(Delta - M) F``; loops cancel."""
    if sparse.issparse(F):
        return sparse.diags_array(graph.between) @ F - graph.dot(F)
    return (graph.between[:, None] if F.ndim == 2 else graph.between) * F - graph.dot(F)


def dirichlet_energy(graph: Graph, X: Any) -> np.ndarray:
    """``f' (Delta - M) f`` of every column: one sparse product, in blocks of columns, where the graph is sparse."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(laplacian_dot(graph, X)).sum(axis=0)).ravel()
    if not isinstance(X, np.ndarray):
        return _dirichlet_energy_on_device(graph, X)
    energy = np.empty(X.shape[1])
    for block in blocks(X.shape[1], _BLOCK // X.shape[0]):
        F = X[:, block].astype(float)
        F -= F.mean(axis=0)  # changes nothing but rounding errors: constants are in the null space of the Laplacian
        energy[block] = np.einsum("ij,ij->j", F, laplacian_dot(graph, F))
    return np.clip(energy, 0.0, None)


def _dirichlet_energy_on_device(graph: Graph, X: Any) -> np.ndarray:
    """The same where the table lives: a number for each column comes back."""
    if isinstance(graph, SparseGraph):
        return _energy_along_edges(graph, X)
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    found = []
    for block in blocks(X.shape[1], _DEVICE_BLOCK // X.shape[0]):
        F = xp.astype(X[:, block], accumulator, copy=True)
        F -= xp.mean(F, axis=0)
        if isinstance(graph, ClassGraph):
            energy = _scatter_in_classes(graph, F)
        else:
            between = from_numpy(graph.between, xp, device, accumulator)
            energy = xp.sum(F * (between[:, None] * F - graph.dot(F)), axis=0)
        found.append(to_numpy(energy))
    return np.clip(np.concatenate(found).astype(float), 0.0, None)


def _scatter_in_classes(graph: ClassGraph, F: Any) -> Any:
    """Sum of squared deviations of every column from the mean of the class."""
    xp, _, device = get_namespace_and_device(F)
    codes, share = from_numpy(graph.codes, xp, device), from_numpy(graph.share, xp, device, F.dtype)
    classes = xp.arange(graph.members.shape[0], dtype=codes.dtype, device=device)
    means = xp.where(classes[:, None] == codes[None, :], share[None, :], xp.zeros_like(share)[None, :]) @ F
    return xp.sum((F - xp.take(means, codes, axis=0)) ** 2, axis=0)


def _energy_along_edges(graph: SparseGraph, X: Any) -> np.ndarray:
    """Sum over the edges of ``w (f_i - f_k)^2``, by gathering rows where the table lives."""
    xp, _, device = get_namespace_and_device(X)
    accumulator = max_precision_float_dtype(xp, device)
    edges = sparse.triu(graph.weights, k=1).tocoo()
    ends = [move_to(end.astype(np.int64), xp=xp, device=device) for end in (edges.row, edges.col)]
    weight = xp.astype(move_to(edges.data, xp=xp, device=device), accumulator)
    energy = xp.zeros(X.shape[1], dtype=accumulator, device=device)
    for some in blocks(edges.nnz, _DEVICE_BLOCK // X.shape[1]):
        difference = xp.take(X, ends[0][some], axis=0) - xp.take(X, ends[1][some], axis=0)
        energy = energy + weight[some] @ xp.astype(difference, accumulator, copy=False) ** 2
    return to_numpy(energy)


def smoothest_eigenvectors(graph: Graph, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest eigenvalues of the normalized Laplacian, ascending, with their eigenvectors as columns.

    Every connected component is decomposed by itself, so that the eigenvalue 0 has its multiplicity, the number of
    components; small ones densely, large ones by Lanczos iterations from a fixed start. The largest entry of each
    vector is positive.
    """
    n_vectors = min(n_vectors, graph.n_samples)
    components = _components(graph)
    values, vectors, owners = [], [], []
    for number, rows in enumerate(components):
        value, vector = _largest_similarities(graph, rows, min(n_vectors, rows.size))
        values.append(1.0 - value)
        vectors.append(vector)
        owners += [(number, column) for column in range(value.size)]
    every = np.concatenate(values)
    chosen = np.argsort(every, kind="stable")[:n_vectors]
    embedding = np.zeros((graph.n_samples, n_vectors))
    for place, index in enumerate(chosen):
        number, column = owners[index]
        embedding[components[number], place] = vectors[number][:, column]
    largest = np.argmax(np.abs(embedding) > np.abs(embedding).max(axis=0) * (1 - 1e-8), axis=0)
    return np.clip(every[chosen], 0.0, None), embedding * np.sign(embedding[largest, np.arange(n_vectors)])


def informative_eigenvectors(graph: Graph, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """The same without the trivial eigenvector ``Delta^1/2 1``; all are orthogonal to it.

    In a graph of several components it is one direction of the eigenspace of 0; the others are kept. Fewer are returned
    where there are no more.
    """
    if isinstance(graph, ClassGraph):
        n_vectors = min(n_vectors, graph.members.shape[0] - 1)  # all directions within classes have eigenvalue 1
    trivial = np.sqrt(graph.degree)
    trivial /= np.linalg.norm(trivial)
    values, vectors = smoothest_eigenvectors(graph, max(n_vectors + 1, len(_components(graph))))
    in_null_space = values < 1e-10
    others = vectors[:, in_null_space] - np.outer(trivial, trivial @ vectors[:, in_null_space])
    basis, size, _ = linalg.svd(others, full_matrices=False)
    kept = basis[:, size > 1e-6]
    values = np.concatenate([np.zeros(kept.shape[1]), values[~in_null_space]])[:n_vectors]
    return values, np.column_stack([kept, vectors[:, ~in_null_space]])[:, :n_vectors]


def _components(graph: Graph) -> list[np.ndarray]:
    """Rows of every connected component; a graph that is no sparse matrix is taken as connected."""
    if not isinstance(graph, SparseGraph):
        return [np.arange(graph.n_samples)]
    n_components, labels = csgraph.connected_components(graph.weights, directed=False)
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels, minlength=n_components))[:-1])


def _largest_similarities(graph: Graph, rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of ``Delta^-1/2 M Delta^-1/2`` on some rows, descending, with eigenvectors."""
    if isinstance(graph, SparseGraph):
        root = inverse_root(graph.degree[rows])
        matrix = graph.weights[rows][:, rows] if rows.size < graph.n_samples else graph.weights
        scaled = sparse.diags_array(root) @ matrix @ sparse.diags_array(root) + sparse.diags_array(graph.loop * root**2)
        operator: Any = scaled.tocsr()
        dense = scaled.toarray if rows.size <= _DENSE or 3 * count >= rows.size else None
    else:
        shape = (graph.n_samples, graph.n_samples)
        operator = LinearOperator(shape, matvec=graph.normalized_dot, matmat=graph.normalized_dot, dtype=float)
        small = graph.n_samples <= _DENSE or 3 * count >= graph.n_samples
        dense = (lambda: graph.normalized_dot(np.eye(graph.n_samples))) if small else None
    if dense is not None:
        values, vectors = linalg.eigh(dense(), subset_by_index=(rows.size - count, rows.size - 1))
    else:
        start = np.random.RandomState(0).uniform(0.5, 1.0, rows.size)
        values, vectors = eigsh(operator, k=count, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]
