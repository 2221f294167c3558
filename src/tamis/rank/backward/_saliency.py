"""What deleting a weight of a linear or generalized linear model adds to its objective, to second order.

With outputs ``f = X w`` (plus an intercept) and the objective

    T(w) = sum_k s_k loss(y_k, f_k) + decay / 2 ||w||^2,

the second derivative in a weight is ``h_ii = sum_k s_k loss''(y_k, f_k) x_ki^2 + decay``, and the saliency
``h_ii w_i^2 / 2``. Functions here give ``loss''``, for one output or several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

from tamis.kernels.arrays.blocks import blocks

_NUMBERS = 2**20  # of a block of the table that is squared at a time


def logistic_curvature(outputs: np.ndarray) -> np.ndarray:
    """Second derivatives of the log loss: of one output per row for two classes, of one logit per class beyond.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_outputs)

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
        :math:`P (1 - P)`, the diagonal of the softmax Hessian where there are several.
    """
    probability = expit(outputs) if outputs.shape[1] == 1 else softmax(outputs, axis=1)
    return probability * (1.0 - probability)


def squared_hinge_curvature(margins: np.ndarray) -> np.ndarray:
    """Second derivatives of :math:`\\max(0, 1 - m)^2` in the output, at these margins."""
    return np.where(margins < 1.0, 2.0, 0.0)


def deviance_curvature(prediction: np.ndarray, y: np.ndarray, power: float, *, log_link: bool) -> np.ndarray:
    r"""Second derivatives of half the deviance of a Tweedie model in its linear predictor.

    In the mean :math:`\mu` they are :math:`l' = (\mu - y) \mu^{-p}` and :math:`l'' = \mu^{-p} - p (\mu - y)
    \mu^{-p-1}`; with a log link the chain rule makes that :math:`l'' \mu^2 + l' \mu`.
    """
    slope = (prediction - y) * prediction**-power
    curvature = prediction**-power - power * (prediction - y) * prediction ** (-power - 1.0)
    return curvature * prediction**2 + slope * prediction if log_link else curvature


def sum_squares(X: Any, curvature: np.ndarray) -> np.ndarray:
    """``sum_k curvature_kc x_ki^2`` for every output and column, of shape (n_outputs, n_features)."""
    if sparse.issparse(X):
        squares = X.astype(float).tocsc(copy=True)
        squares.data **= 2
        return np.asarray(squares.T @ curvature).T
    total = np.zeros((curvature.shape[1], X.shape[1]))
    for rows in blocks(X.shape[0], _NUMBERS // X.shape[1]):
        total += curvature[rows].T @ np.square(X[rows], dtype=float)
    return total


def measure_saliency(X: Any, weights: np.ndarray, curvature: np.ndarray, decay: float) -> np.ndarray:
    """Saliency of every column: what deleting its weights adds to the objective, summed over the outputs.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
    weights : ndarray of shape (n_outputs, n_features)
    curvature : ndarray of shape (n_samples, n_outputs)
        Second derivatives of the loss of every row in its outputs, times the row's weight.
    decay : float
        Of the penalty.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    return 0.5 * np.sum((sum_squares(X, curvature) + decay) * weights**2, axis=0)
