"""A loss with an l1 and a squared l2 penalty: correlated features enter together."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates
from tamis.kernels.solvers.losses import LOSSES
from tamis.rank._linear_problem import LinearProblem
from tamis.rank.sparse._smooth_loss import FROM_SUMS, SmoothLossRanker


class ElasticNet(SmoothLossRanker):
    r"""A loss with an l1 and a squared l2 penalty: correlated features enter together.

    .. math:: \min_{w, b} \frac{1}{n} \sum_i L(w^\top x_i + b, y_i)
              + \alpha \Bigl( \rho \|w\|_1 + \frac{1 - \rho}{2 \sigma} \|w\|_2^2 \Bigr)

    with half the squared error or the logistic loss L, and :math:`\sigma` the standard deviation of a quantity y, or 1
    for classes: with it the two penalties relate alike in all units of y. What the lasso takes one of, of several
    features that are nearly the same, this takes all of, with weights alike.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that have a weight.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    loss : {"auto", "squared", "logistic", "squared_hinge"}, default="auto"
        "auto" is logistic for classes and squared for a quantity.
    alpha : float, "path" or "auto", default="auto"
        Weight of the penalty, in the units of y. "path" lowers it from ``alpha_max_``, the smallest at which all
        weights are zero, to a thousandth of that, or until as many features have entered as ``stop`` asks for. "auto"
        is chosen by cross-validation with ``stop="auto"`` (the largest within one standard error of the best), and is
        the path where ``stop`` says how many to keep.
    l1_ratio : float, default=0.5
        :math:`\rho`, above 0 and at most 1, which is the lasso.
    order : {"entry", "magnitude"}, default="entry"
        Features rank by when they first get a weight as alpha falls (at one alpha, those that still have it first), or
        by the size of their weights at the end.
    n_alphas : int, default=100
        Steps of the path.
    cv : int, splitter or iterable, default=5
        Folds for ``alpha="auto"``; a number is stratified and shuffled.
    debias : bool, default=False
        Give the model of the selected features weights without the penalty, which shrinks them.
    standardize : bool, default=True
        Penalize weights of columns of unit variance, so that units do not matter.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of a class's rows.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together. The penalty
        is that of single weights; a group is ranked by the first of them that enters.
    tol : float, default=1e-8
        Largest violation of the conditions for a minimum, relative to ``alpha_max_``.
    n_jobs : int, default=None
        Folds in parallel, through joblib.

    Attributes
    ----------
    order_ : ndarray
        Features that got a weight, best first.
    scores_ : ndarray of shape (n_features,)
        The alpha at which the feature entered, or the size of its weights (of columns of unit variance); NaN if it
        never had any.
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features) for classes
        Weights in the units of ``X``, of the selected features.
    intercept_ : float, or ndarray of shape (n_targets,) for classes
    estimator_ : LinearModel
        The same model for transformed tables: ``decision_function`` and ``predict``.
    alpha_, alpha_max_ : float
        The alpha of the model, and the smallest at which all weights are zero.
    cv_results_ : dict
        ``alpha``, ``mean_error`` and ``standard_error`` on held-out rows, where alpha was chosen by cross-validation.
    classes_ : ndarray
        Labels, for classification.
    ranking_, support_, path_, stop_, n_chosen_
        As for every ranker.
    certificate_ : dict
        Of the model at the end of the path, before ``stop`` cuts it: ``converged``, ``objective`` (mean loss plus alpha
        times the penalty), ``gap`` (largest duality gap along the path: how far objectives are, at most, from their
        minimum), ``relative_gap`` (of the loss without features), and ``kkt`` (largest violation of the
        conditions for a minimum).

    Notes
    -----
    Cost: a working set of columns grows along the path, and a squared loss needs only its Gram matrix. Several
    penalties are solved before one product of the table with their residuals checks all columns for all of them, so
    that 100 penalties take some ten passes over a wide table. Sparse tables stay sparse. Other losses add some Newton
    steps of O(n k^2) per penalty for k active features.

    ``alpha`` and ``l1_ratio`` are scikit-learn's for classes, and for a quantity of unit variance; scikit-learn has no
    :math:`\sigma`, so that there the unit of y decides which penalty counts. Friedman, Hastie and Tibshirani's glmnet
    brings y to unit variance, too. More than two classes are each set against the others.

    References
    ----------
    Zou and Hastie, "Regularization and variable selection via the elastic net", JRSS B 67, 2005. Lal, Chapelle, Weston
    and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 4.

    Examples
    --------
    >>> from tamis import ElasticNet
    >>> from tamis.datasets import make_linear
    >>> X, y = make_linear(n_samples=100, random_state=0)
    >>> sorted(ElasticNet(stop=5).fit(X, y).order_[:5].tolist())
    [0, 1, 2, 3, 4]
    """

    provides: ClassVar[frozenset[str]] = FROM_SUMS

    _parameter_constraints: ClassVar[dict] = {
        **SmoothLossRanker._parameter_constraints,
        "loss": [StrOptions({"auto", *LOSSES})],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        loss: str = "auto",
        alpha: float | str = "auto",
        l1_ratio: float = 0.5,
        order: str = "entry",
        n_alphas: int = 100,
        cv: Any = 5,
        debias: bool = False,
        standardize: bool = True,
        task: str = "auto",
        class_weight: Any = None,
        groups: Any = None,
        tol: float = 1e-8,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.order = order
        self.n_alphas = n_alphas
        self.cv = cv
        self.debias = debias
        self.standardize = standardize
        self.task = task
        self.class_weight = class_weight
        self.groups = groups
        self.tol = tol
        self.n_jobs = n_jobs

    def _penalty(self, problem: LinearProblem, members: Sequence[np.ndarray] | None) -> dict[str, Any]:
        return {"sparse_share": self.l1_ratio, "ridge_share": 1.0 - self.l1_ratio}

    def _shares_weight_among_copies(self, candidates: Candidates) -> bool:
        return self.l1_ratio < 1.0
