"""Linear support vector machines on many subsets of features at once."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.kernels.arrays.tolerances import HESSIAN_RIDGE
from tamis.rank.stochastic._subset_learner import LinearModels, SubsetLearner, balance_classes, separate_classes

Weights = tuple[np.ndarray, np.ndarray]

_MAX_DUAL_PASSES = 40  # over the rows: a dual that is still not optimal is handed to Newton's method
_GRAM_RIDGE = 1e-10  # added to a Gram matrix, relative to its mean diagonal, so that it has a Cholesky factor
_MAX_HALVINGS = 20  # of a Newton step that does not descend


class SubsetSVM(SubsetLearner):
    r"""Linear support vector machine with squared hinge, trained on many subsets of features at once.

    .. math:: \min_{w, b} \tfrac12 (\|w\|^2 + b^2) + C \sum_i \max(0, 1 - s_i (\langle w, x_i\rangle + b))^2

    for each subset; predictions are those of scikit-learn's ``LinearSVC`` at the same tolerance.

    Parameters
    ----------
    C : float, default=1.0
    class_weight : "balanced" or None, default=None
    tol : float, default=0.1
        Largest violation of optimality, on the scale of margins of one; liblinear's default is the same.
    max_iter : int, default=100
        Newton steps at most.

    Notes
    -----
    No more rows than columns: coordinate descent in the dual on the Gram matrices, one coordinate of all subsets at a
    time, and Newton's method for those that take long. More rows: Newton's method in the primal. Many classes are
    learned one against all others, where "balanced" weighs every row by its own class; liblinear leaves the
    weights of the others at one.

    Examples
    --------
    >>> from tamis import OFW
    >>> from tamis.rank.stochastic import SubsetSVM
    >>> OFW(SubsetSVM(C=0.1, class_weight="balanced"), subset_size=5)
    OFW(estimator=SubsetSVM(C=0.1, class_weight='balanced'), subset_size=5)
    """

    binary: ClassVar[bool] = True
    single_precision: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, *, C: float = 1.0, class_weight: str | None = None, tol: float = 0.1, max_iter: int = 100
    ) -> None:
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit_subsets(self, tables: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> LinearModels:
        """Train every subset; see :class:`SubsetLearner`."""
        signs = separate_classes(labels, n_classes)
        cost = self.C * np.repeat(balance_classes(labels, weight, self.class_weight), len(signs) // len(labels), axis=0)
        weights, intercept = fit_svm(tables, signs, cost, tol=self.tol, max_iter=self.max_iter)
        return LinearModels(weights, intercept, n_classes)

    def numbers_per_subset(self, n_train: int, n_test: int, size: int, n_classes: int) -> int:
        """Gram matrices, one per plane, or Hessians."""
        planes = 1 if n_classes == 2 else n_classes
        return planes * n_train * min(n_train, 4 * size) + size * size


def fit_svm(tables: np.ndarray, signs: np.ndarray, cost: np.ndarray, *, tol: float, max_iter: int) -> Weights:
    r"""Train on every subset and every labeling.

    .. math:: \min_w \tfrac12 \|w\|^2 + \sum_i c_i \max(0, 1 - s_i \langle w, \tilde x_i\rangle)^2,

    with :math:`\tilde x = (x, 1)`, so that the intercept is penalized like a weight, as in liblinear.

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
    if n_rows > n_columns:  # the Gram matrix is singular then, and coordinate descent needs many passes
        return newton_primal(tables, signs, cost, tol=tol, max_iter=max_iter)
    gram = tables @ tables.transpose(0, 2, 1)
    gram += 1.0
    dual, converged = coordinate_descent_dual(gram, signs, cost, tol=tol, max_iter=_MAX_DUAL_PASSES)
    for labeling in np.flatnonzero(~converged.all(axis=0)):
        remaining = np.flatnonzero(~converged[:, labeling])
        dual[remaining, labeling] = _newton_dual(tables[remaining], signs[labeling], cost[labeling], tol, max_iter)
    signed = dual * signs
    return signed @ tables, signed.sum(axis=2)


def coordinate_descent_dual(
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
    converged : ndarray of shape (n_subsets, n_labelings)
    """
    n_rows = gram.shape[1]
    # Subsets are the last axis, so that an update of one coordinate of all subsets is contiguous in memory.
    by_row = gram.transpose(1, 2, 0)[:, :, None, :]
    quadratic = by_row * (signs.T[:, None, :, None] * signs.T[None, :, :, None])
    rows = np.arange(n_rows)
    quadratic[rows, rows] += (0.5 / cost.T)[:, :, None]
    shape = quadratic.shape[2:]
    quadratic = quadratic.reshape(n_rows, n_rows, -1)
    inverse = 1.0 / quadratic[rows, rows]
    dual, gradient = np.zeros_like(inverse), -np.ones_like(inverse)
    update, change = np.empty_like(inverse[0]), np.empty_like(inverse)
    coordinates = list(zip(dual, gradient, inverse, quadratic, strict=True))  # views: indexing would cost as much again
    for _ in range(max_iter):
        for value, slope, inverse_curvature, row in coordinates:
            np.multiply(slope, inverse_curvature, out=update)
            np.subtract(value, update, out=update)
            np.maximum(update, 0.0, out=update)
            np.subtract(update, value, out=update)
            np.add(value, update, out=value)
            np.multiply(row, update, out=change)
            np.add(gradient, change, out=gradient)
        # KKT: the gradient is zero where the dual is positive, and nonnegative elsewhere.
        kkt_violation = np.abs(np.where(dual > 0, gradient, np.minimum(gradient, 0.0))).max(axis=0)
        converged = kkt_violation <= tol
        if converged.all():
            break
    return dual.reshape(n_rows, *shape).transpose(2, 1, 0), converged.reshape(shape).T


def _newton_dual(tables: np.ndarray, sign: np.ndarray, cost: np.ndarray, tol: float, max_iter: int) -> np.ndarray:
    """Dual of one labeling, by Newton's method on the Cholesky factor of the Gram matrix in the place of the rows."""
    tables = tables.astype(float)  # single precision is not enough for a Cholesky factor
    gram = tables @ tables.transpose(0, 2, 1) + 1.0
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += _GRAM_RIDGE * np.einsum("bii->b", gram)[:, None] / diagonal.size
    _, hinge = _newton(np.linalg.cholesky(gram), sign, cost, tol, max_iter)
    return 2.0 * cost * np.maximum(hinge, 0.0)


def newton_primal(tables: np.ndarray, signs: np.ndarray, cost: np.ndarray, *, tol: float, max_iter: int) -> Weights:
    """Newton's method with backtracking; arguments as for :func:`fit_svm`."""
    extended = np.concatenate([tables, np.ones((*tables.shape[:2], 1), dtype=tables.dtype)], axis=2)
    labelings = zip(signs, cost, strict=True)
    weights = np.stack([_newton(extended, sign, each, tol, max_iter)[0] for sign, each in labelings], axis=1)
    return weights[:, :, :-1], weights[:, :, -1]


def _newton(tables: np.ndarray, sign: np.ndarray, cost: np.ndarray, tol: float, max_iter: int) -> Weights:
    """Weights of one labeling, and the signed hinge 1 - s f: rows where it is not positive have no loss."""
    w = np.zeros((tables.shape[0], tables.shape[2]), dtype=tables.dtype)
    hinge = np.ones(tables.shape[:2], dtype=tables.dtype)
    diagonal = np.arange(w.shape[1])
    for _ in range(max_iter):
        weight = 2.0 * cost * (hinge > 0)
        gradient = w - np.einsum("brk,br->bk", tables, weight * hinge * sign)
        hessian = (tables * weight[:, :, None]).transpose(0, 2, 1) @ tables
        hessian[:, diagonal, diagonal] += 1.0
        unit = np.sqrt(hessian[:, diagonal, diagonal])  # Jacobi preconditioner: columns may differ in scale
        hessian /= unit[:, :, None] * unit[:, None, :]
        hessian[:, diagonal, diagonal] += HESSIAN_RIDGE
        step = np.linalg.solve(hessian, (gradient / unit)[:, :, None]) / unit[:, :, None]
        hinge_step = (tables @ step)[:, :, 0] * sign
        length = _line_search(w, step[:, :, 0], hinge, hinge_step, cost)
        w -= length * step[:, :, 0]
        hinge += length * hinge_step
        if np.abs(length * hinge_step).max() <= tol:
            break
    return w, hinge


def _line_search(
    w: np.ndarray, step: np.ndarray, hinge: np.ndarray, hinge_step: np.ndarray, cost: np.ndarray
) -> np.ndarray:
    """Length of each subset's step: one, or the largest power of a half that descends."""
    length = np.ones((len(w), 1), dtype=w.dtype)
    start = _objective(w, hinge, cost)
    for _ in range(_MAX_HALVINGS):
        worse = _objective(w - length * step, hinge + length * hinge_step, cost) > start
        if not worse.any():
            break
        length[worse] /= 2.0
    return length


def _objective(w: np.ndarray, hinge: np.ndarray, cost: np.ndarray) -> np.ndarray:
    return 0.5 * np.einsum("bk,bk->b", w, w) + np.maximum(hinge, 0.0) ** 2 @ cost
