"""Sequential forward floating selection."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import cross_val_score

from tamis._sklearn import HasMethods, Interval, StrOptions
from tamis.base import Candidates, Ranker, Ranking, Step, track
from tamis.kernels.arrays.scaling import rescale_columns, standardize_columns, varying_columns
from tamis.kernels.arrays.targets import encode_target
from tamis.rank.forward._floating_search import Criterion, ExplainedVariance, FloatingSearch, Score, forward_order


class FloatingSelection(Ranker):
    r"""Keep the set that forward selection with steps back finds (sequential forward floating selection).

    .. math:: S \leftarrow S \cup \{\arg\max_j J(S \cup \{j\})\}, \qquad\text{then, while } \max_{j \in S}
              J(S \setminus \{j\}) > J(B_{|S| - 1}), \quad S \leftarrow S \setminus \{j\},

    with :math:`B_k` the best set of k features seen so far (Pudil, Novovičová and Kittler 1994). J is the share of the
    target's variance that least squares explains, or the cross-validated score of an estimator. Forward selection
    cannot undo a choice that later ones make superfluous; here a feature leaves again as soon as the others do better
    without it than any set of that size did.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Whose cross-validated score is J; None for least squares.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_beyond : int, default=2
        The search goes on until so many more features are in than are asked for: it may come back with a better set.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn; for an estimator only.
    scoring : str, callable or None, default=None
        Score of an estimator, higher being better; None is the estimator's own.
    task : {"auto", "regression", "classification"}, default="auto"
        For least squares: "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes,
        whose indicators are explained together.

    Attributes
    ----------
    order_, ranking_, support_, stop_
        As for every ranker. The kept features only are ranked, in the order in which plain forward selection takes them
        from the set.
    scores_ : ndarray of shape (n_features,)
        Increase of J in that order; NaN for features that are not kept.
    path_ : tuple of Step
        Best feature first; ``info`` holds ``score``, J of the features so far.
    certificate_ : dict
        ``converged``, ``n_iter`` (features that entered), ``n_exclusions`` (that left again), ``score`` (J of the set),
        and ``best_scores``, a mapping from every number of features to the largest J seen.

    Notes
    -----
    Sets of different sizes are not nested: rules that look at several sizes have a set searched for at each. With
    ``stop=None`` there is nothing to search for: all features are put in the order of plain forward selection.

    Cost with least squares: two products of the table with a vector per feature that enters or leaves, and
    O(n k + k^3 / 3), k being in; memory: two copies of the table. With an estimator: cross-validation of D - k sets
    for the next feature and of k for leaving, no set twice.

    Constant features are not ranked, nor, with least squares, those that depend linearly on others that are in: no
    more features are kept than there are rows less one. J by least squares is on the training rows, so that it tells
    which features and not how many; cross-validation of many sets is optimistic, too: judge the result on other rows.

    Deviations from the paper: where a set that has grown is worse than one of that size seen before, the search goes on
    from the latter (Somol et al. 1999).

    References
    ----------
    Pudil, Novovičová and Kittler, "Floating search methods in feature selection", Pattern Recognition Letters 15, 1994.
    Somol, Pudil, Novovičová and Paclík, "Adaptive floating search methods in feature selection", Pattern Recognition
    Letters 20, 1999. Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006,
    Sec. 2 ("nested methods": features are added and removed in turn).

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FloatingSelection
    >>> a, b, noise = np.random.RandomState(0).standard_normal((3, 100))
    >>> X = np.column_stack([a + b + 0.5 * noise, a, b])  # column 0 is the best one alone
    >>> FloatingSelection(stop=2).fit(X, a + b).get_support(indices=True)
    array([1, 2])
    """

    one_shot: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = Ranker.provides - {"nested"}

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_beyond": [Interval(Integral, 0, None, closed="left")],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "task": [StrOptions({"auto", "regression", "classification"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        n_beyond: int = 2,
        cv: Any = 5,
        scoring: Any = None,
        task: str = "auto",
    ) -> None:
        self.estimator = estimator
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_beyond = n_beyond
        self.cv = cv
        self.scoring = scoring
        self.task = task

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._rank_top(candidates, y, rng, None)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        """The best set of the given size; without one, all in the order of forward selection."""
        criterion = self._criterion(candidates.table, np.asarray(y))
        search = FloatingSearch(criterion)
        is_kept = np.ones(candidates.n_candidates, dtype=bool)
        if n_top is not None and n_top > 0:
            n_columns = min(n_top + self.n_beyond, candidates.n_candidates)
            for _ in track(self, search.run(n_columns), task_name="include"):
                pass
            is_kept = np.isin(np.arange(candidates.n_candidates), search.best[min(n_top, max(search.best))][1])
        path = self._order(criterion, is_kept)
        best_scores = {size: score for size, (score, _) in sorted(search.best.items())}
        certificate = {
            "converged": True,
            "n_iter": search.n_inclusions or len(path),
            "n_exclusions": search.n_exclusions,
            "score": path[-1].info["score"] if path else 0.0,
            "best_scores": best_scores,
        }
        return Ranking.from_path(path, candidates.n_candidates, certificate)

    def _order(self, criterion: Criterion, is_kept: np.ndarray) -> list[Step]:
        path: list[Step] = []
        last = 0.0
        for column, score in track(self, forward_order(criterion, is_kept), task_name="order"):
            path.append(Step(column, score - last, {"score": score}))
            last = score
        return path

    def _criterion(self, X: np.ndarray, y: np.ndarray) -> Criterion:
        if self.estimator is None:
            values = encode_target(y, self.task).values
            values = values / np.abs(values).max()  # so that squares of large numbers do not overflow
            return ExplainedVariance(standardize_columns(X.astype(float)), values - values.mean(axis=0))
        varies = np.zeros(X.shape[1], dtype=bool)
        varies[varying_columns(rescale_columns(X))] = True
        return Score(lambda columns: self._cross_validate(X[:, columns], y), varies)

    def _cross_validate(self, X: np.ndarray, y: np.ndarray) -> float:
        scores = cross_val_score(self.estimator, X, y, cv=self.cv, scoring=self.scoring, error_score="raise")
        return float(np.mean(scores))
