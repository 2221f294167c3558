r"""Linear support vector machines on many subsets of features at once.

For each subset, with :math:`\tilde x = (x, 1)` so that the intercept is penalized like a weight,

.. math:: \min_w \tfrac12 \|w\|^2 + \sum_i c_i \max(0, 1 - s_i \langle w, \tilde x_i\rangle)^2,

the problem of liblinear's squared hinge. More rows than columns: Newton's method in the primal, where a step is one
small linear system per subset. No more: coordinate descent in the dual on the Gram matrix, one coordinate of all
subsets at a time; those that take long are handed to Newton's method, on as many columns as there are rows.
"""

from __future__ import annotations

import numpy as np

Weights = tuple[np.ndarray, np.ndarray]

_PASSES = 40  # over the rows, after which coordinate descent is given up
_DAMPING = 1e-13  # of a Hessian's unit diagonal, so that it can always be solved with
_JITTER = 1e-10  # of the mean diagonal: what makes a singular Gram matrix one that can be factored


def fit_svm(tables: np.ndarray, signs: np.ndarray, cost: np.ndarray, *, tol: float, max_iter: int) -> Weights:
    """Train on every subset and every labeling.

    Parameters
    ----------
    tables : ndarray of shape (n_subsets, n_rows, n_columns)
        The columns of each subset over the same rows.
    signs : ndarray of shape (n_labelings, n_rows)
        1 or -1.
    cost : ndarray of shape (n_labelings, n_rows)
        What a squared error of each row costs; positive.
    tol : float
        Largest violation of optimality, on the scale of margins of one.
    max_iter : int
        Newton steps at most.

    Returns
    -------
    weights : ndarray of shape (n_subsets, n_labelings, n_columns)
    intercept : ndarray of shape (n_subsets, n_labelings)
    """
    signs, cost = signs.astype(tables.dtype), cost.astype(tables.dtype)
    _, n_rows, n_columns = tables.shape
    if n_rows > n_columns:  # the dual has no full rank then, and coordinate descent takes ever more passes
        return descend_primal(tables, signs, cost, tol=tol, max_iter=max_iter)
    gram = tables @ tables.transpose(0, 2, 1)
    gram += 1.0
    dual, settled = descend_dual(gram, signs, cost, tol=tol, max_iter=_PASSES)
    for place in np.flatnonzero(~settled.all(axis=0)):
        left = np.flatnonzero(~settled[:, place])
        dual[left, place] = _finish_dual(tables[left], signs[place], cost[place], tol, max_iter)
    signed = dual * signs
    return signed @ tables, signed.sum(axis=2)


def descend_dual(
    gram: np.ndarray, signs: np.ndarray, cost: np.ndarray, *, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Coordinate descent on :math:`\tfrac12 a'Qa - 1'a, a \ge 0`; :math:`Q_{ij} = s_i s_j K_{ij} + [i = j] / 2c_i`.

    Parameters
    ----------
    gram : ndarray of shape (n_subsets, n_rows, n_rows)
    signs, cost, tol
        As for :func:`fit_svm`.
    max_iter : int
        Passes over the rows at most.

    Returns
    -------
    dual : ndarray of shape (n_subsets, n_labelings, n_rows)
    settled : ndarray of shape (n_subsets, n_labelings)
        Which have converged.
    """
    n_rows = gram.shape[1]
    # Machines last: what is done to one coordinate of all machines runs over memory without gaps.
    by_row = gram.transpose(1, 2, 0)[:, :, None, :]
    quadratic = by_row * (signs.T[:, None, :, None] * signs.T[None, :, :, None])
    rows = np.arange(n_rows)
    quadratic[rows, rows] += (0.5 / cost.T)[:, :, None]
    shape = quadratic.shape[2:]
    quadratic = quadratic.reshape(n_rows, n_rows, -1)
    inverse = 1.0 / quadratic[rows, rows]
    dual, gradient = np.zeros_like(inverse), -np.ones_like(inverse)
    moved, change = np.empty_like(inverse[0]), np.empty_like(inverse)
    coordinates = list(zip(dual, gradient, inverse, quadratic, strict=True))  # views: indexing would cost as much again
    for _ in range(max_iter):
        for value, slope, unit, row in coordinates:
            np.multiply(slope, unit, out=moved)
            np.subtract(value, moved, out=moved)
            np.maximum(moved, 0.0, out=moved)
            np.subtract(moved, value, out=moved)
            np.add(value, moved, out=value)
            np.multiply(row, moved, out=change)
            np.add(gradient, change, out=gradient)
        # At the optimum the gradient is zero where the dual is positive, and nowhere negative.
        settled = np.abs(np.where(dual > 0, gradient, np.minimum(gradient, 0.0))).max(axis=0) <= tol
        if settled.all():
            break
    return dual.reshape(n_rows, *shape).transpose(2, 1, 0), settled.reshape(shape).T


def _finish_dual(tables: np.ndarray, sign: np.ndarray, cost: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """Dual of one labeling by Newton's method, on rows with the same Gram matrix, as long as there are many."""
    tables = tables.astype(float)  # single precision would not do for a factor
    gram = tables @ tables.transpose(0, 2, 1) + 1.0
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += _JITTER * np.einsum("bii->b", gram)[:, None] / diagonal.size
    _, slack = _descend(np.linalg.cholesky(gram), sign, cost, tol, max_iter)
    return 2.0 * cost * np.maximum(slack, 0.0)


def descend_primal(tables: np.ndarray, signs: np.ndarray, cost: np.ndarray, *, tol: float, max_iter: int) -> Weights:
    """Newton's method, with halved steps where a whole one would not descend; arguments as for :func:`fit_svm`."""
    extended = np.concatenate([tables, np.ones((*tables.shape[:2], 1), dtype=tables.dtype)], axis=2)
    labelings = zip(signs, cost, strict=True)
    weights = np.stack([_descend(extended, sign, price, tol, max_iter)[0] for sign, price in labelings], axis=1)
    return weights[:, :, :-1], weights[:, :, -1]


def _descend(tables: np.ndarray, sign: np.ndarray, price: np.ndarray, tol: float, max_iter: int) -> Weights:
    """Weights of one labeling, and the slack 1 - s f: only rows where it is positive count."""
    w = np.zeros((tables.shape[0], tables.shape[2]), dtype=tables.dtype)
    slack = np.ones(tables.shape[:2], dtype=tables.dtype)
    diagonal = np.arange(w.shape[1])
    for _ in range(max_iter):
        weight = 2.0 * price * (slack > 0)
        gradient = w - np.einsum("brk,br->bk", tables, weight * slack * sign)
        hessian = (tables * weight[:, :, None]).transpose(0, 2, 1) @ tables
        hessian[:, diagonal, diagonal] += 1.0
        unit = np.sqrt(hessian[:, diagonal, diagonal])  # columns of any size, and the intercept's ones
        hessian /= unit[:, :, None] * unit[:, None, :]
        hessian[:, diagonal, diagonal] += _DAMPING
        step = np.linalg.solve(hessian, (gradient / unit)[:, :, None]) / unit[:, :, None]
        move = (tables @ step)[:, :, 0] * sign
        length = _choose_length(w, step[:, :, 0], slack, move, price)
        w -= length * step[:, :, 0]
        slack += length * move
        if np.abs(length * move).max() <= tol:
            break
    return w, slack


def _choose_length(
    w: np.ndarray, step: np.ndarray, slack: np.ndarray, move: np.ndarray, price: np.ndarray
) -> np.ndarray:
    """Length of each subset's step: one, or the largest power of a half that descends."""
    length = np.ones((len(w), 1), dtype=w.dtype)
    start = _objective(w, slack, price)
    for _ in range(20):
        worse = _objective(w - length * step, slack + length * move, price) > start
        if not worse.any():
            break
        length[worse] /= 2.0
    return length


def _objective(w: np.ndarray, slack: np.ndarray, price: np.ndarray) -> np.ndarray:
    return 0.5 * np.einsum("bk,bk->b", w, w) + np.maximum(slack, 0.0) ** 2 @ price
