"""Linear support vector machines on many subsets."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.rank.stochastic._batched_svm import fit_svm
from tamis.rank.stochastic._learners import LinearModels, SubsetLearner, balance_classes, separate_classes


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
    single: ClassVar[bool] = True

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
