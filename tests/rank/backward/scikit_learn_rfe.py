"""scikit-learn's RFE and RFECV in terms of ours: parameters and attributes renamed, nothing else."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import ProgressBar

from tamis import RFE as OurRFE
from tamis.stop import CrossValidation


def sizes_of_rounds(n_features, fewest, step):
    """Numbers of features at which an elimination of ``step`` at a time stands, ascending from ``fewest``."""
    return sorted({max(size, fewest) for size in range(n_features, fewest - step, -step)} | {min(fewest, n_features)})


class Renamed(BaseEstimator):
    """What both have: the selector behind it has all attributes of which this has none."""

    def fit(self, X, y, *, groups=None, **parameters):
        n_features = np.shape(X)[1]
        # there a fraction is one of all features, here of those that are left
        step = max(1, int(self.step * n_features)) if 0 < self.step < 1 else int(self.step)
        self.selector_ = self.renamed(n_features, step)
        if self.verbose:
            self.selector_.set_callbacks(ProgressBar())
        self.selector_.fit(X, y, row_groups=groups, **parameters)
        self.ranking_ = self.compress(self.selector_, step)
        return self

    def compress(self, selector, step):
        """Rank 1 for all that are kept, and one rank for all that left in a round."""
        sizes = np.array(sizes_of_rounds(selector.n_features_in_, selector.n_features_, step))
        return 1 + np.searchsorted(sizes, selector.ranking_)

    def renamed(self, n_features, step):
        raise NotImplementedError

    def __getattr__(self, name):
        if name.startswith("__") or name == "selector_":
            raise AttributeError(name)
        return getattr(vars(self).get("selector_") or self.renamed(2, 1), name)

    def __sklearn_tags__(self):
        return self.renamed(2, 1).__sklearn_tags__()


class RFE(Renamed):
    def __init__(self, estimator, *, n_features_to_select=None, step=1, verbose=0, importance_getter="auto"):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.verbose = verbose
        self.importance_getter = importance_getter

    def renamed(self, n_features, step):
        return OurRFE(
            self.estimator,
            stop=0.5 if self.n_features_to_select is None else self.n_features_to_select,
            step=step,
            standardize=False,
            importance_getter=self.importance_getter,
        )


class RFECV(Renamed):
    def __init__(
        self,
        estimator,
        *,
        step=1,
        min_features_to_select=1,
        cv=None,
        scoring=None,
        verbose=0,
        n_jobs=None,
        importance_getter="auto",
    ):
        self.estimator = estimator
        self.step = step
        self.min_features_to_select = min_features_to_select
        self.cv = cv
        self.scoring = scoring
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.importance_getter = importance_getter

    def renamed(self, n_features, step):
        return OurRFE(
            self.estimator,
            stop=CrossValidation(
                self.estimator,
                cv=5 if self.cv is None else self.cv,
                scoring=self.scoring,
                n_jobs=self.n_jobs,
                n_features=sizes_of_rounds(n_features, min(self.min_features_to_select, n_features), step),
            ),
            min_features=self.min_features_to_select,
            step=step,
            standardize=False,
            importance_getter=self.importance_getter,
        )

    @property
    def cv_results_(self):
        decision = self.selector_.stop_
        return {
            "n_features": decision.curve_at,
            "mean_test_score": decision.curve,
            "std_test_score": decision.fold_scores.std(axis=0),
            **{f"split{i}_test_score": scores for i, scores in enumerate(decision.fold_scores)},
        }
