"""Sequential forward floating selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring

from tamis._sklearn import HasMethods, Interval, StrOptions
from tamis.base import (
    Candidates,
    Ranking,
    Step,
    WeightedRanker,
    fit_weighted,
    score_weighted,
    split_rows,
    track,
)
from tamis.kernels.arrays.scaling import standardize_columns
from tamis.kernels.arrays.targets import encode_target
from tamis.rank._missing import takes_missing, tells_rows_apart
from tamis.rank._validation import one_standard_error
from tamis.rank.forward._floating_search import (
    Criterion,
    ExplainedVariance,
    Features,
    FloatingSearch,
    Score,
    effective_number,
    forward_order,
    information_criterion,
)

_PATIENCE = 5  # features beyond the best set after which the method itself ends the search


class FloatingSelection(WeightedRanker):
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
        How many to keep; "auto" is the method's own choice: with least squares the set of least Bayesian information
        criterion, with an estimator the fewest features whose cross-validated score is within one standard error of the
        best.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep. The search starts
        from those that stay, and they never leave.
    n_beyond : int, default=2
        The search goes on until so many more features are in than are asked for: it may come back with a better set.
        Where the method chooses how many, it goes on until so many more are in than in the best set, at least five.
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
    n_chosen_ : int or None
        How many features the method itself chose; None where it was told how many.

    Notes
    -----
    Sets of different sizes are not nested: rules that look at several sizes have a set searched for at each. With
    ``stop=None`` there is nothing to search for: all features are put in the order of plain forward selection.

    Cost with least squares: two products of the table with a vector per feature that enters or leaves, and
    O(n k + k^3 / 3), k being in; memory: two copies of the table. With an estimator: cross-validation of D - k sets
    for the next feature and of k for leaving, no set twice.

    Constant features are not ranked, nor, with least squares, those that depend linearly on others that are in: no
    more features are kept than there are rows less one.

    How many: J by least squares is on the training rows and tells which features, not how many. The method's own choice
    of k of D features minimizes, for n rows and r targets,

    .. math:: n r \log(1 - J) + k (r \log n + 2 \log D) \frac{n}{n - k - 2},

    the Bayesian information criterion with :math:`2 \log D` per feature for the choice among D (Chen and Chen 2008, who
    take :math:`2 \log \binom{D}{k}`, too little for sets that grow one by one) and a factor for few rows (McQuarrie
    1999). The leave-one-out error, which does not know of the choice among D, would keep noise; this criterion keeps
    any of D noise columns with a chance that falls as :math:`1 / \sqrt{n}`, whatever D is: 1 to 5 % in simulations. Of
    several classes r is the effective number of indicators, :math:`(\mathrm{tr}\, S)^2 / \mathrm{tr}(S^2)`, S being
    their covariance. An estimator's score without features is that of the most frequent class or the mean.
    Cross-validation of many sets is optimistic, on noise too: judge the result on other rows, or use
    ``stop=MonteCarloProbe(n_draws=19)``.

    Missing values go to an estimator that takes them, in the training rows and in the others. A column that is missing
    in some rows is not constant, whatever its other values are: that it is missing may tell something.

    Weights of the rows count in least squares and in the number of rows n; an estimator has to take them in ``fit``,
    and they go to the scorer where that takes them.

    Deviations from the paper: where a set that has grown is worse than one of that size seen before, the search goes on
    from the latter (Somol et al. 1999).

    References
    ----------
    Pudil, Novovičová and Kittler, "Floating search methods in feature selection", Pattern Recognition Letters 15, 1994.
    Somol, Pudil, Novovičová and Paclík, "Adaptive floating search methods in feature selection", Pattern Recognition
    Letters 20, 1999. Chen and Chen, "Extended Bayesian information criteria for model selection with large model
    spaces", Biometrika 95, 2008. McQuarrie, "A small-sample correction for the Schwarz SIC model selection criterion",
    Statistics and Probability Letters 44, 1999. Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature
    Extraction, Springer, 2006, Sec. 2 ("nested methods": features are added and removed in turn).

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
    provides: ClassVar[frozenset[str]] = (WeightedRanker.provides - {"nested"}) | {"own_choice"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
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

    def _find_units(self) -> str | None:
        """Least squares sees to units itself; the given estimator sees columns as they are."""
        return None if self.estimator is None else "refused"

    def _takes_missing(self) -> bool:
        """Where the given estimator does."""
        return self.estimator is not None and takes_missing(self.estimator)

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        return self._rank_top(candidates, y, rng, None)

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        """The best set of the given size, or of the size that the method chooses; else all by forward selection."""
        y = np.asarray(y)
        criterion = self._criterion(candidates, y)
        search = FloatingSearch.starting_from(criterion, candidates.keep.tolist())
        is_kept, reason = np.ones(candidates.n_candidates, dtype=bool), ""
        if n_top is None and self._method_sets_size():
            weight = candidates.sample_weight
            chosen, reason = self._search_own(search, len(y) if weight is None else float(weight.sum()))
            is_kept = np.isin(np.arange(candidates.n_candidates), chosen)
        elif n_top is not None and n_top > 0:
            n_columns = min(n_top + self.n_beyond, candidates.n_candidates)
            for _ in track(self, search.run(n_columns), task_name="include"):
                pass
            is_kept = np.isin(np.arange(candidates.n_candidates), search.best_of(n_top))
        path = self._order(criterion, is_kept, search.start)
        best_scores = {size: score for size, (score, _) in sorted(search.best.items())}
        certificate = {
            "converged": True,
            "n_iter": search.n_inclusions or len(path),
            "n_exclusions": search.n_exclusions,
            "score": path[-1].info["score"] if path else 0.0,
            "best_scores": best_scores,
        }
        ranking = Ranking.from_path(path, candidates.n_candidates, certificate)
        return replace(ranking, n_chosen=len(path), reason=reason) if reason else ranking

    def _search_own(self, search: FloatingSearch, n_samples: float) -> tuple[Features, str]:
        """Search until the best set has not changed for a while; that set, and why it is kept."""
        n_columns = int(np.count_nonzero(search.criterion.can_enter(())))
        most = n_columns if self.estimator is not None else min(n_columns, int(n_samples) - 3)
        patience = max(self.n_beyond, _PATIENCE)
        for size in track(self, search.run(most), task_name="include", total=None):
            losses = self._losses(search, n_samples, n_columns)
            if size >= len(search.sets()[int(np.argmin(losses.mean(axis=0)))]) + patience:
                break
        losses, sets = self._losses(search, n_samples, n_columns), search.sets()
        mean, error, best, chosen = one_standard_error(losses)
        kept = f"{len(sets[chosen])} feature{'s' * (len(sets[chosen]) != 1)}"
        searched = f"sets of up to {len(sets[-1])} were searched"
        if self.estimator is None:
            return sets[chosen], f"the Bayesian information criterion is least with {kept}; {searched}"
        return sets[chosen], (
            f"the fewest within one standard error of the best cross-validated score: {kept} "
            f"({-mean[chosen]:.4g} against {-mean[best]:.4g} +- {error[best]:.2g} with {len(sets[best])}); {searched}"
        )

    def _losses(self, search: FloatingSearch, n_samples: float, n_columns: int) -> np.ndarray:
        """What the number of features is chosen by, lower being better: a row per fold, a column per set."""
        if isinstance(search.criterion, Score):
            return -np.column_stack([search.criterion.figures(chosen) for chosen in search.sets()])
        assert isinstance(search.criterion, ExplainedVariance)
        explained = [search.criterion.value(search.start), *(search.best[size][0] for size in sorted(search.best))]
        return information_criterion(
            np.array(explained),
            np.array([len(chosen) for chosen in search.sets()]),
            n_samples=n_samples,
            n_columns=n_columns,
            n_targets=effective_number(search.criterion.Y),
        )[None, :]

    def _order(self, criterion: Criterion, is_kept: np.ndarray, first: Features) -> list[Step]:
        path: list[Step] = []
        last = 0.0
        for column, score in track(self, forward_order(criterion, is_kept, first), task_name="order"):
            path.append(Step(column, score - last, {"score": score}))
            last = score
        return path

    def _criterion(self, candidates: Candidates, y: np.ndarray) -> Criterion:
        X, weight = candidates.table, candidates.sample_weight
        if self.estimator is None:
            values = encode_target(y, self.task).values
            values = values / np.abs(values).max()  # so that squares of large numbers do not overflow
            Z, Y = standardize_columns(X.astype(float), weight), values - np.average(values, axis=0, weights=weight)
            root = 1.0 if weight is None else np.sqrt(weight)[:, None]
            return ExplainedVariance(root * Z, root * Y)
        is_classes = is_classifier(self.estimator)
        folds = split_rows(
            self.cv, X, y, classifier=is_classes, kept_rows=self._kept_rows, row_groups=candidates.row_groups
        )
        without = DummyClassifier() if is_classes else DummyRegressor()
        scorer = check_scoring(self.estimator, scoring=self.scoring)

        def fold_score(columns: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
            Z, (of_train, of_test) = X[:, columns], (None, None) if weight is None else (weight[train], weight[test])
            model = fit_weighted(clone(self.estimator if columns.size else without), Z[train], y[train], of_train)
            return score_weighted(scorer, model, Z[test], y[test], of_test)

        def fold_scores(columns: np.ndarray) -> np.ndarray:
            return np.array([fold_score(columns, *fold) for fold in folds])

        return Score(fold_scores, tells_rows_apart(X, weight))
