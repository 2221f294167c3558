"""Derivatives of models in their inputs, row by row: kernel machines, perceptrons, and differences for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tamis.kernels.arrays.blocks import blocks

NUMBERS = 2**21  # that are held at a time


def kernel_derivatives(
    points: np.ndarray,
    vectors: np.ndarray,
    coefficients: np.ndarray,
    kernel: str,
    *,
    gamma: float = 1.0,
    degree: float = 3.0,
    coef0: float = 0.0,
) -> np.ndarray:
    r"""Derivatives of :math:`f_c(x) = \sum_s a_{cs} k(x, v_s)` at every point.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    vectors : ndarray of shape (n_vectors, n_features)
    coefficients : ndarray of shape (n_outputs, n_vectors)
    kernel : {"rbf", "poly", "sigmoid"}
        :math:`e^{-\gamma \|x - v\|^2}`, :math:`(\gamma x \cdot v + r)^d` or :math:`\tanh(\gamma x \cdot v + r)`, with
        ``degree`` d and ``coef0`` r.

    Returns
    -------
    ndarray of shape (n_points, n_outputs, n_features)
    """
    product = points @ vectors.T
    if kernel == "rbf":
        distance2 = np.sum(points**2, axis=1)[:, None] + np.sum(vectors**2, axis=1) - 2.0 * product
        factor = 2.0 * gamma * np.exp(-gamma * np.maximum(distance2, 0.0))  # dk/dx = factor (v - x)
    elif kernel == "poly":
        factor = gamma * degree * (gamma * product + coef0) ** (degree - 1.0)  # dk/dx = factor v, here and below
    else:
        factor = gamma * (1.0 - np.tanh(gamma * product + coef0) ** 2)
    derivatives = np.empty((len(points), len(coefficients), points.shape[1]))
    for c, coefficient in enumerate(coefficients):
        derivatives[:, c] = (factor * coefficient) @ vectors
    if kernel == "rbf":
        derivatives -= (factor @ coefficients.T)[:, :, None] * points[:, None, :]
    return derivatives


_ACTIVATIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    "identity": (lambda sums: sums, np.ones_like),
    "logistic": (lambda sums: 0.5 * (1.0 + np.tanh(0.5 * sums)), lambda units: units * (1.0 - units)),
    "tanh": (np.tanh, lambda units: 1.0 - units**2),
    "relu": (lambda sums: np.maximum(sums, 0.0), lambda units: (units > 0).astype(float)),
}  # each with its derivative, as a function of the activation itself


def network_derivatives(
    points: np.ndarray, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], activation: str
) -> np.ndarray:
    """Derivatives of a perceptron's outputs, before any activation of the last layer, at every point.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : sequence of ndarray of shape (n_units_before, n_units)
    biases : sequence of ndarray of shape (n_units,)
    activation : {"identity", "logistic", "tanh", "relu"}

    Returns
    -------
    ndarray of shape (n_points, n_outputs, n_features)
    """
    activate, derivative = _ACTIVATIONS[activation]
    units, by_sums = points, []  # by_sums: derivatives of the units of each hidden layer by their weighted sums
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        units = activate(units @ weight + bias)
        by_sums.append(derivative(units))
    derivatives = np.broadcast_to(weights[-1].T, (len(points), *weights[-1].T.shape))
    for weight, by_sum in zip(weights[-2::-1], by_sums[::-1], strict=True):
        derivatives = (derivatives * by_sum[:, None, :]) @ weight.T
    return derivatives


def mean_derivatives(
    derivatives: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    per_row: int,
    norm: str,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Mean over the rows of the squared ("l2") or absolute ("l1") derivatives, summed over outputs, in blocks of rows.

    Parameters
    ----------
    derivatives : callable
        Maps points to an array of shape (n_points, n_outputs, n_features).
    X : ndarray of shape (n_samples, n_features)
    per_row : int
        How many numbers that takes for one point.
    norm : {"l2", "l1"}
    sample_weight : ndarray of shape (n_samples,) or None
        How often each row counts.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    share, total = _shares(X, sample_weight), np.zeros(X.shape[1])
    for rows in blocks(X.shape[0], NUMBERS // per_row):
        total += share[rows] @ _size(derivatives(X[rows]), norm).sum(axis=1)
    return total


def mean_differences(
    predict: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
    width: np.ndarray,
    norm: str,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    r"""The same with central differences, :math:`(f(x + h_j e_j) - f(x - h_j e_j)) / (2 h_j)`.

    Parameters
    ----------
    predict : callable
        Maps points to outputs, of shape (n_points,) or (n_points, n_outputs).
    X : ndarray of shape (n_samples, n_features)
    width : ndarray of shape (n_features,)
        :math:`h_j`; columns of width zero are left out, with derivative zero.
    norm : {"l2", "l1"}
    sample_weight : ndarray of shape (n_samples,) or None
        How often each row counts.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    share, total = _shares(X, sample_weight), np.zeros(X.shape[1])
    moved = np.flatnonzero(width > 0)
    for rows in blocks(X.shape[0], NUMBERS // X.shape[1]):
        block = X[rows]
        for some in blocks(moved.size, NUMBERS // block.size):
            columns = moved[some]
            above, below = (_outputs(predict, block, columns, sign * width[columns]) for sign in (1.0, -1.0))
            derivatives = (above - below) / (2.0 * width[columns])[:, None, None]
            total[columns] += _size(derivatives, norm).sum(axis=2) @ share[rows]
    return total


def _outputs(
    predict: Callable[[np.ndarray], np.ndarray], block: np.ndarray, columns: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    """Outputs where one column at a time is shifted, of shape (n_columns, n_points, n_outputs)."""
    points = np.tile(block, (columns.size, 1, 1))
    points[np.arange(columns.size), :, columns] += shift[:, None]
    outputs = np.asarray(predict(points.reshape(-1, block.shape[1])), dtype=float)
    return outputs.reshape(columns.size, len(block), -1)


def _shares(X: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
    """Share of every row in a mean over the rows."""
    return np.full(X.shape[0], 1.0 / X.shape[0]) if sample_weight is None else sample_weight / sample_weight.sum()


def _size(derivatives: np.ndarray, norm: str) -> np.ndarray:
    return np.square(derivatives) if norm == "l2" else np.abs(derivatives)
