"""Where to part two classes: decision values of a model cross zero at the wrong place when classes are rare."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

_MAX_ITER = 30
_TOL = 1e-8  # of the gradient, in shares of the rows
_RIDGE = 1e-10  # of the Hessian, for decision values that hardly differ
_HALVINGS = 20
_LEAST_GAIN = 0.5  # standard errors by which a threshold must be better than none


def find_thresholds(y: np.ndarray, decisions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Decision values that part two classes better than zero does, where there are such.

    Those of :func:`find_borders`, or 0, where a model parts by itself, unless they part more rows rightly by half a
    standard error.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        0 and 1.
    decisions : ndarray of shape (n_rows, n_models)
        Of models that have not seen these rows.
    weights : ndarray of shape (n_rows,)
        By which each class counts as it does in the score.

    Returns
    -------
    ndarray of shape (n_models,)
    """
    thresholds = find_borders(y, decisions, weights)
    return np.where(_is_better(y, decisions, thresholds, weights), thresholds, 0.0)


def find_borders(y: np.ndarray, decisions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Decision values at which both classes are as likely, by Platt's logistic regression of the class on them.

    .. math:: \min_{a, b} -\sum_i u_i \big( t_i \log \pi_i + (1 - t_i) \log (1 - \pi_i) \big), \qquad
        \pi_i = \frac{1}{1 + e^{-a d_i - b}}, \qquad \theta = -b / a

    with weights :math:`u` by which each class counts as it does in the score, and targets :math:`t_i = (m + 1) / (m +
    2)` for rows of the second class, :math:`1 / (m + 2)` for others, m the number of rows of the rarer one: classes
    which are parted without error leave :math:`a` finite. Platt's targets have the number of rows of their own class in
    place of m, and move the border into the rarer class, whose targets are then farther from 0 and 1.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        0 and 1.
    decisions : ndarray of shape (n_rows, n_models)
        Of models that have not seen these rows.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_models,)
        0 for columns that tell nothing or the contrary, and where a class is missing.

    Notes
    -----
    Cost: some ten Newton steps, each a pass over ``decisions``.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999. Lin, Lin and Weng, "A note on Platt's
    probabilistic outputs for support vector machines", Machine Learning 68, 2007.
    """
    n_second = int(y.sum())
    thresholds = np.zeros(decisions.shape[1])
    center, spread = decisions.mean(axis=0), decisions.std(axis=0)
    varies = np.isfinite(spread) & (spread > 1e-12 * np.maximum(np.abs(center), 1e-300))
    if n_second in (0, y.size) or not varies.any():
        return thresholds
    z = (decisions[:, varies] - center[varies]) / spread[varies]
    n_rarer = min(n_second, y.size - n_second)
    target = np.where(y == 1, n_rarer + 1, 1) / (n_rarer + 2)
    slope, intercept = _fit_logistic(z, target, weights / weights.sum())
    crosses = slope > 1e-6
    theta = np.where(crosses, -intercept / np.where(crosses, slope, 1.0), 0.0)
    thresholds[varies] = np.where(crosses, center[varies] + theta * spread[varies], 0.0)
    return thresholds


def _is_better(y: np.ndarray, decisions: np.ndarray, thresholds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Whether labels by the thresholds are right more often than those by zero, by half a standard error."""
    second, u = (y == 1)[:, None], (weights / weights.sum())[:, None]
    gain = ((decisions > 0) != second).astype(float) - ((decisions > thresholds) != second)
    mean = (u * gain).sum(axis=0)
    error = np.sqrt(np.maximum(y.size * (u**2 * gain**2).sum(axis=0) - mean**2, 0.0) / y.size)
    return np.asarray(mean > _LEAST_GAIN * error)


def _fit_logistic(z: np.ndarray, target: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and intercept of each column of ``z`` by Newton's method, steps halved until the loss falls."""
    slope, intercept = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    loss = _loss(z, target, u, slope, intercept)
    for _ in range(_MAX_ITER):
        chance = expit(slope * z + intercept)
        residual = u[:, None] * (chance - target[:, None])
        gradient = np.stack([(residual * z).sum(axis=0), residual.sum(axis=0)])
        if np.abs(gradient).max() < _TOL:
            break
        curvature = u[:, None] * chance * (1 - chance)
        h_ss, h_si, h_ii = (curvature * z**2).sum(axis=0), (curvature * z).sum(axis=0), curvature.sum(axis=0)
        h_ss, h_ii = h_ss + _RIDGE, h_ii + _RIDGE
        determinant = h_ss * h_ii - h_si**2
        step_s = (h_ii * gradient[0] - h_si * gradient[1]) / determinant
        step_i = (h_ss * gradient[1] - h_si * gradient[0]) / determinant
        length = np.ones(slope.size)
        for _ in range(_HALVINGS):
            new = _loss(z, target, u, slope - length * step_s, intercept - length * step_i)
            rises = ~(new <= loss + 1e-15)
            if not rises.any():
                break
            length[rises] /= 2
        length[rises], new[rises] = 0.0, loss[rises]
        slope, intercept, loss = slope - length * step_s, intercept - length * step_i, new
    return slope, intercept


def _loss(z: np.ndarray, target: np.ndarray, u: np.ndarray, slope: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    value = slope * z + intercept
    return np.asarray(u @ (np.logaddexp(0.0, value) - target[:, None] * value))
