"""Majority vote of classifiers on subsets of features drawn from a learned probability."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import HasMethods, Interval, StrOptions, check_n_features, fit_context
from tamis.base._new_rows import check_new_rows
from tamis.base._target_values import check_holds_classes
from tamis.base._validation import check_table
from tamis.kernels.arrays.targets import encode_classes
from tamis.learn._scored_labels import LabelClassifier
from tamis.rank.stochastic._ofw import LEARNERS, OFW, make_learner
from tamis.rank.stochastic._subset_ensemble import fit_ensemble


class OFWClassifier(LabelClassifier, BaseEstimator):
    r"""Vote of classifiers on subsets of features drawn from the probability that :class:`~tamis.OFW` learned.

    .. math:: \bar A(x) = \arg\max_c \sum_{i=1}^n [A_{\omega^{(i)}}(x) = c], \qquad \omega^{(i)} \sim P^{\otimes k}

    (Gadat & Younes 2007, Sec. 2.2 and Figure 1): a random forest's idea, with features drawn by what they are worth.

    Parameters
    ----------
    ofw : OFW, default=None
        How the probability is learned; None is ``OFW()``: give one to search over ``ofw__subset_size``. One that is
        fitted already stays as it is inside of scikit-learn's ``FrozenEstimator``.
    n_classifiers : int, default=50
    estimator : name, learner or classifier, default=None
        What votes, as for :class:`~tamis.OFW`; None is what the probability was learned with, and "svm" where that was
        left to "auto": with many classes ridge finds the features as well, and votes worse.
    random_state : int, RandomState or None, default=None
        Draws the subsets, and seeds ``ofw`` if it has no seed of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ofw_ : OFW
    subsets_ : ndarray of shape (n_classifiers, subset_size)
        The features drawn; one that was drawn twice counts once. With groups of columns in ``ofw``, a list of arrays:
        the columns of the groups drawn, smaller subsets first.
    n_features_in_, feature_names_in_
        As for every estimator.

    Notes
    -----
    All classifiers learn from all rows. Many classes: each classifier gives one of them, support vector machines by the
    largest decision function. Votes that tie go to the first class.

    References
    ----------
    Gadat and Younes, "A stochastic algorithm for feature selection in pattern recognition", JMLR 8, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamis import OFW, OFWClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> voters = OFWClassifier(OFW(subset_size=2), n_classifiers=20, random_state=0).fit(X[::2], y[::2])
    >>> voters.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "ofw": [OFW, FrozenEstimator, None],
        "n_classifiers": [Interval(Integral, 1, None, closed="left")],
        "estimator": [StrOptions(set(LEARNERS)), HasMethods("fit_subsets"), HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, ofw: Any = None, *, n_classifiers: int = 50, estimator: Any = None, random_state: Any = None
    ) -> None:
        self.ofw = ofw
        self.n_classifiers = n_classifiers
        self.estimator = estimator
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> OFWClassifier:
        """Learn the probability, draw subsets from it, and train a classifier on each.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        table, labels = check_table(self, X, y, accept_sparse=True)
        assert labels is not None  # else it was refused
        check_holds_classes(labels, type(self).__name__)
        rng = check_random_state(self.random_state)
        self.ofw_ = self._learn_probability(X, y, rng)  # which knows the columns by the names that X has
        check_n_features(self.ofw_, table, reset=False)
        self.classes_, codes = encode_classes(labels)
        subsets = self.ofw_._draw_columns(self.n_classifiers, rng)
        self.subsets_ = subsets[0] if self.ofw_.groups is None else [np.unique(row) for each in subsets for row in each]
        estimator = self.ofw_.estimator if self.estimator is None else self.estimator
        if isinstance(estimator, str) and estimator == "auto":
            estimator = "svm"  # 50 votes cost little, where thousands of subsets were compared to find the features
        with make_learner(estimator, self.ofw_.n_jobs, self.classes_.size) as learner:
            self._ensemble = fit_ensemble(
                learner, table, codes, self.classes_.size, subsets, standardize=self.ofw_.standardize
            )
        return self

    def _learn_probability(self, X: Any, y: Any, rng: np.random.RandomState) -> OFW:
        """The probability: learned now, or as it was learned before."""
        if isinstance(self.ofw, FrozenEstimator):
            check_is_fitted(self.ofw.estimator)
            if not isinstance(self.ofw.estimator, OFW):
                raise ValueError(f"ofw={self.ofw} holds no OFW: freeze a fitted OFW")
            return self.ofw.estimator
        ofw = OFW() if self.ofw is None else clone(self.ofw)
        if ofw.random_state is None:
            ofw.set_params(random_state=int(rng.randint(np.iinfo(np.int32).max)))
        return ofw.fit(X, y)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Share of the votes for each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = check_new_rows(self, X, accept_sparse=True)
        votes = self._ensemble.predict(X.tocsr() if sparse.issparse(X) else X)
        return np.stack([(votes == code).mean(axis=0) for code in range(self.classes_.size)], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Class with most votes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        shares = self.predict_proba(X)  # first, for it says so where nothing was fitted
        return self.classes_[shares.argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
