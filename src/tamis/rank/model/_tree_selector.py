"""Importance in a decision tree, and what single splits tell of the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamis._sklearn import Interval, StrOptions
from tamis.base import (
    GROUPS_CONSTRAINT,
    Candidates,
    Ranker,
    Ranking,
    StoppingRule,
    WeightedRanker,
    heartbeat,
    rule_class,
    run_in_background,
    track,
)
from tamis.kernels.arrays.blocks import blocks
from tamis.kernels.arrays.copies import order_columns
from tamis.kernels.arrays.scaling import rescale_safely
from tamis.kernels.arrays.targets import encode_classes, encode_target, infer_task
from tamis.kernels.arrays.tolerances import TRAINED_TIE
from tamis.rank.model._classification_tree import grow_tree
from tamis.rank.model._forest import batch_ends, grow_forest
from tamis.rank.model._split_scores import (
    best_splits_either_side,
    gain_ratios,
    missing_on_either_side,
    rank_values,
    split_errors,
    split_information,
    split_variance,
    value_range,
)

_ENTRIES = 2**22  # of a table that are counted at a time
_NOTHING = 1e-12  # importance that rounding makes of splits that gain nothing
_STEPS = 30  # binary digits of a quantity, counted from its spread
_ROUNDING_OF_SHARES = 1e-9  # of a weight, so that a leaf of just that weight is allowed
_CLASSES_ONLY = ("gain_ratio", "error")
_CRITERIA = {  # by importance; "auto" is the first
    "impurity": ["gini", "entropy", "gain_ratio", "error"],
    "mutual_information": ["entropy"],
    "gain_ratio": ["gain_ratio"],
    "error": ["error"],
}
_TREES = {
    ("classification", False): DecisionTreeClassifier,
    ("classification", True): RandomForestClassifier,
    ("regression", False): DecisionTreeRegressor,
    ("regression", True): RandomForestRegressor,
}


class TreeSelector(WeightedRanker):
    r"""Rank features by their importance in a decision tree, or by what the best single split tells of the target.

    ``importance="impurity"`` grows a tree (CART) that splits node :math:`t` where that lowers the impurity most; a
    feature's score is its share of all that was gained,

    .. math:: \sum_{t \text{ splits on } x_i} \frac{n_t}{n} \left( I(t) - \frac{n_{t_L}}{n_t} I(t_L)
              - \frac{n_{t_R}}{n_t} I(t_R) \right),

    divided by the sum over the features. ``importance="mutual_information"`` takes every feature on its own,

    .. math:: \max_\theta\; MI(1_{x_i \le \theta}, y) = H(y) - H(y \mid 1_{x_i \le \theta})

    (Lal et al. 2006, Sec. 2.2), in nats; for a quantity, the share of its variance that the best split explains.
    ``importance="gain_ratio"`` divides that mutual information by the entropy of the two sides, and
    ``importance="error"`` is the largest drop of the error, the share of rows outside of the most frequent class,

    .. math:: \max_\theta\; \max_c P(y = c) - \sum_{s \in \{\le, >\}} \max_c P(y = c,\, x_i \mathbin{s} \theta).

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all features that the tree uses, those of a forest whose importance reaches the
        mean, and, where the importance is that of single splits, those that stand out from permuted copies
        (``MonteCarloProbe(n_draws=19)``).
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    importance : {"impurity", "mutual_information", "gain_ratio", "error"}, default="impurity"
        In a tree, or of the best single split; the last two are for classes.
    criterion : {"auto", "gini", "entropy", "squared_error", "gain_ratio", "error"}, default="auto"
        What a tree is grown by: impurity of a node, or the gain ratio of C4.5 (see below), or the fewest errors on the
        rows. "auto" is "gini" for classes, and "squared_error", the only one, for a quantity. For single
        splits it follows from ``importance``.
    max_depth : int, default=None
        Of the tree; None grows it until nothing is left to split.
    min_samples_leaf : int, default=1
        Rows that each side of a split has to hold, each as often as its weight says.
    ccp_alpha : float, default=0.0
        Branches that gain less impurity per leaf than this are cut (minimal cost-complexity pruning); the larger, the
        fewer features. The variance of a quantity counts as one. Not with "gain_ratio" and "error".
    n_trees : int, default=1
        More than one is scikit-learn's random forest, which resamples the rows for every tree and, for classes, draws
        anew at every node which features it may split on; the scores are means over trees. Not with "gain_ratio" and
        "error".
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" takes labels, two distinct values, or at most 20 distinct whole numbers as classes. A ``y`` of several
        columns is several quantities, or with "classification" several columns of classes.
    n_jobs : int, default=None
        For the trees of a forest.
    random_state : int, RandomState or None, default=None
        Decides between features that split a node equally well, and draws the rows and features of a forest. None
        decides the same way every time, unless there is a forest.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group stay or go together, by the
        sum of their importances, or by the best single split of any of them.

    Attributes
    ----------
    order_, ranking_, scores_, support_, path_, stop_, certificate_
        As for every ranker. ``scores_`` is the importance; NaN for features that the tree does not use or, where the
        importance is that of single splits, that no split can divide.

    Notes
    -----
    Missing values go to the side of a split where they gain the most, which may also be one of their own. With several
    targets the impurity of a node is the mean over them, each in units of its standard deviation, and so is what a
    single split tells, each by its own best split; not with ``criterion="gain_ratio"`` and "error".

    Trees see the ranks of the values: no increasing function of a column changes the result, and scikit-learn's single
    precision costs nothing. Columns with the same ranks are copies: only the first takes part in a tree, the others
    have no rank; their mutual information is the same. Columns are put in an order that depends on their values before
    a tree is grown, so that it does not matter where they stood.

    A split looks at one feature at a time: of two features that matter only together (an XOR) neither gains anything at
    the root, their mutual information is that of noise, and a tree comes upon them by chance. Grown to the end, a tree
    splits on noise, too: limit it by ``max_depth``, ``min_samples_leaf`` or ``ccp_alpha``, or cut the order by a rule.

    With ``criterion="gain_ratio"`` the threshold of a feature is that of its largest mutual information; of the
    features that reach the mean of these, over those that have any, the one with the largest ratio to the entropy of
    the sides splits the node (Quinlan 1993; 1996 for the threshold). With "error", of splits with the same number of
    errors the one with the largest mutual information does: often none lowers the error at once, though both sides of
    one can be split further. Nodes where no split has any mutual information are leaves. A feature's score is its share
    of the mutual information gained, or of the errors saved. Deviations from C4.5: splits are binary, no description
    length of thresholds is charged, and the tree is not pruned.

    Cost: O(n_samples n_features log n_samples) per level of the tree. Sparse tables stay sparse; single splits take
    time in proportion to what is stored. scikit-learn grows a tree in one call, which nothing can end: after Ctrl-C it
    goes on in the background until it is grown, and is dropped; nobody waits for it.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 2.2. Breiman,
    Friedman, Olshen and Stone, "Classification and regression trees", Wadsworth, 1984. Quinlan, "C4.5: programs for
    machine learning", Morgan Kaufmann, 1993; "Improved use of continuous attributes in C4.5", JAIR 4, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TreeSelector
    >>> X = np.random.RandomState(0).standard_normal((200, 6))
    >>> y = np.where(X[:, 2] > 0, X[:, 4] > 0.5, X[:, 4] > -0.5)
    >>> TreeSelector(max_depth=2).fit(X, y).get_feature_names_out()
    array(['x2', 'x4'], dtype=object)
    """

    one_shot: ClassVar[bool] = False  # copies of a feature that the tree uses have no score, though they are as good
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {
        "biased_scores",
        "groups",
        "missing",
        "own_choice",
        "several_targets",
        "sparse",
    }
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        "importance": [StrOptions({"impurity", "mutual_information", "gain_ratio", "error"})],
        "criterion": [StrOptions({"auto", "gini", "entropy", "squared_error", "gain_ratio", "error"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        importance: str = "impurity",
        criterion: str = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        n_trees: int = 1,
        task: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.importance = importance
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.n_trees = n_trees
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.groups = groups

    def _stopping_rule(self) -> StoppingRule:
        if isinstance(self.stop, str) and self.stop == "auto" and self.importance != "impurity":
            name, parameters = Ranker.natural_stop
            return rule_class(name)(**parameters)
        return super()._stopping_rule()

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        y = np.asarray(y)
        task = self._resolve_task(y)
        criterion = self._resolve_criterion(task)
        if criterion in _CLASSES_ONLY and self.importance == "impurity" and y.ndim == 2:
            raise ValueError(f"criterion='{criterion}' is for one target, and y has {y.shape[1]} columns; use 'gini'")
        with heartbeat(self, task_name="sort") as beat:
            codes = rank_values(candidates.table, on_block=beat)
        target = _integer_target(y, task, candidates.sample_weight)
        if self.importance != "impurity":
            return self._rank_splits(codes, target, task, candidates)
        return self._grow(codes, target, task, criterion, rng, candidates)

    def _resolve_task(self, y: np.ndarray) -> str:
        return infer_task(y) if self.task == "auto" else self.task

    def _resolve_criterion(self, task: str) -> str:
        if task == "regression":
            if self.importance in _CLASSES_ONLY:
                raise ValueError(
                    f"importance='{self.importance}' is for classes, and this is regression; use 'mutual_information' "
                    "or 'impurity'"
                )
            allowed = ["squared_error"]
        else:
            allowed = _CRITERIA[self.importance]
        if self.criterion == "auto":
            return allowed[0]
        if self.criterion not in allowed:
            raise ValueError(
                f"criterion='{self.criterion}' does not go with importance='{self.importance}' in {task}; use "
                f"{' or '.join(map(repr, allowed))}, or 'auto'"
            )
        if self.criterion in _CLASSES_ONLY and (self.n_trees > 1 or self.ccp_alpha > 0):
            name, value = ("n_trees", self.n_trees) if self.n_trees > 1 else ("ccp_alpha", self.ccp_alpha)
            raise ValueError(
                f"{name}={value} does not go with criterion='{self.criterion}', which grows one tree without pruning; "
                "limit it by max_depth or min_samples_leaf, or use 'gini' or 'entropy'"
            )
        return self.criterion

    def _grow(
        self,
        codes: Any,
        target: np.ndarray,
        task: str,
        criterion: str,
        rng: np.random.RandomState,
        candidates: Candidates,
    ) -> Ranking:
        """Importance in a tree, or forest, of the distinct columns that vary."""
        side = missing_on_either_side(codes)[0]  # where missing values are one value more
        lowest, highest = value_range(side)
        varies = np.flatnonzero(lowest < highest)
        distinct = varies[order_columns(side[:, varies])]
        if criterion in _CLASSES_ONLY:
            return self._grow_by_splits(codes, distinct, target, criterion, rng, candidates)
        is_forest, weight = self.n_trees > 1, candidates.sample_weight
        tree = _TREES[task, is_forest](
            criterion=criterion,
            max_depth=self.max_depth,
            ccp_alpha=self.ccp_alpha * (_mean_variance(target, weight) if task == "regression" else 1.0),
            **self._leaf_size(weight),
            random_state=0 if self.random_state is None and not is_forest else rng.randint(2**31 - 1),
        )
        table = codes[:, distinct]
        if is_forest:
            tree.set_params(n_jobs=self.n_jobs, warm_start=True)
            sizes = batch_ends(self.n_trees)
            grown = grow_forest(tree, sizes, table, target, weight)
            for tree in track(self, grown, task_name="trees", total=len(sizes)):  # noqa: B007
                pass
        else:
            tree = run_in_background(self, partial(tree.fit, table, target, sample_weight=weight), task_name="tree")
        trees = tree.estimators_ if is_forest else [tree]
        n_splits = int(sum(each.get_n_leaves() - 1 for each in trees))
        depth = int(max(each.get_depth() for each in trees))
        return self._conclude(tree.feature_importances_, distinct, n_splits, depth, candidates)

    def _leaf_size(self, weight: np.ndarray | None) -> dict[str, float]:
        """Parameters by which scikit-learn counts every row of a leaf as often as its weight says."""
        if weight is None:
            return {"min_samples_leaf": self.min_samples_leaf}
        share = self.min_samples_leaf / float(weight.sum())
        if share > 0.5:
            return {"min_samples_leaf": weight.size}  # no split leaves so many on both sides
        return {"min_weight_fraction_leaf": share * (1.0 - _ROUNDING_OF_SHARES)}

    def _grow_by_splits(
        self,
        codes: Any,
        distinct: np.ndarray,
        target: np.ndarray,
        criterion: str,
        rng: np.random.RandomState,
        candidates: Candidates,
    ) -> Ranking:
        """Importance in a tree by gain ratio or errors; a seed decides between features that are equally good."""
        distinct = distinct if self.random_state is None else rng.permutation(distinct)
        with heartbeat(self, task_name="node") as beat:
            tree = grow_tree(
                codes[:, distinct],
                target,
                criterion,
                max_depth=self.max_depth,
                min_samples_leaf=self.min_samples_leaf,
                weight=candidates.sample_weight,
                on_node=beat,
            )
        importance = tree.gains / (tree.gains.sum() or 1.0)
        return self._conclude(importance, distinct, tree.n_splits, tree.depth, candidates)

    def _conclude(
        self, by_column: np.ndarray, distinct: np.ndarray, n_splits: int, depth: int, candidates: Candidates
    ) -> Ranking:
        """The ranking by the importance of the distinct columns."""
        importance, is_distinct = np.zeros(candidates.table.shape[1]), np.zeros(candidates.table.shape[1])
        importance[distinct], is_distinct[distinct] = by_column, 1.0
        importance = candidates.sum_members(importance)
        scores = np.where(importance > _NOTHING, importance, np.nan)
        n_distinct = int(np.count_nonzero(candidates.sum_members(is_distinct)))
        ranking = Ranking.from_scores(scores, rounding=TRAINED_TIE)
        n_chosen, reason = self._choose(ranking, n_distinct, n_splits, candidates.noun)
        certificate = {"converged": True, "n_splits": n_splits, "depth": depth}
        return replace(ranking, certificate=certificate, n_chosen=n_chosen, reason=reason)

    def _choose(self, ranking: Ranking, n_distinct: int, n_splits: int, noun: str) -> tuple[int, str]:
        """All that the tree uses, or what is above the mean of a forest."""
        n_used, of = ranking.order.size, f"of {ranking.scores.size} {noun}s"
        if n_used == 0:
            return 0, "no split that is allowed gains anything"
        if self.n_trees == 1:
            return n_used, f"the tree splits on {n_used} {of}, at {n_splits} node{'s' * (n_splits > 1)}"
        mean = (1.0 - TRAINED_TIE) / n_distinct  # all the same is not below the mean
        above = int(np.count_nonzero(ranking.scores[ranking.order] >= mean))
        return above, f"{above} {of} reach the mean importance in the forest ({mean:.2g})"

    def _rank_splits(self, codes: Any, target: np.ndarray, task: str, candidates: Candidates) -> Ranking:
        """Features by their best split."""
        scores = self._score_candidates(codes, target, task, candidates, candidates.sample_weight)
        return Ranking.from_scores(scores, rounding=TRAINED_TIE)

    def scores_of_permuted_copies(
        self, candidates: Candidates, y: np.ndarray | None, permutations: np.ndarray
    ) -> np.ndarray | None:
        """What the best splits of copies tell whose rows are permuted; None for trees, in which candidates compete."""
        if self.importance == "impurity":
            return None
        task, weight = self._resolve_task(np.asarray(y)), candidates.sample_weight
        codes, target = rank_values(candidates.table), _integer_target(np.asarray(y), task, weight)
        back = np.argsort(permutations, axis=1)  # permuted rows against y are the rows against y permuted back
        return np.array(
            [
                self._score_candidates(codes, target[rows], task, candidates, None if weight is None else weight[rows])
                for rows in back
            ]
        )

    def _score_candidates(
        self, codes: Any, target: np.ndarray, task: str, candidates: Candidates, weight: np.ndarray | None
    ) -> np.ndarray:
        """What the best split of every column, or of any column of a group, tells of the target, or targets."""
        targets = target[:, None] if target.ndim == 1 else target
        scores = np.mean([self._score_splits(codes, each, task, weight) for each in targets.T], axis=0)
        if candidates.members is not None:
            scores = np.array([np.fmax.reduce(scores[columns]) for columns in candidates.members])
        return scores

    def _score_splits(self, codes: Any, target: np.ndarray, task: str, weight: np.ndarray | None) -> np.ndarray:
        """What the best split of every column tells of the target; NaN where no split is allowed."""
        n_features = codes.shape[1]
        n_sums = 2 if task == "regression" else int(target.max()) + 1
        stored = codes.nnz // n_features if sparse.issparse(codes) else codes.shape[0]
        parts = list(blocks(n_features, _ENTRIES // (max(stored, 1) * n_sums)))
        scores = np.full(n_features, np.nan)
        for block in track(self, parts, task_name="split", total=len(parts), interruptible=False):
            part, leaf = codes[:, block], self.min_samples_leaf
            if self.importance == "error":
                scores[block] = best_splits_either_side(part, target, split_errors, leaf, weight)[0]
            elif self.importance == "gain_ratio":
                scores[block] = best_splits_either_side(part, target, gain_ratios, leaf, weight)[1]
            else:
                best = split_variance if task == "regression" else split_information
                sides = missing_on_either_side(part)
                scores[block] = np.fmax.reduce([best(side, target, leaf, weight) for side in sides])
        return scores


def _integer_target(y: np.ndarray, task: str, weight: np.ndarray | None) -> np.ndarray:
    """What a tree predicts: class codes, or a quantity in whole steps of a billionth of its spread.

    Sums of whole numbers are exact: splits that divide the rows alike gain the same to the last digit, whatever column
    they belong to and whatever the unit is.
    """
    if task == "classification":
        return encode_classes(y)[1] if y.ndim == 1 else np.column_stack([encode_classes(each)[1] for each in y.T])
    if y.ndim == 2:
        values = encode_target(y, task).values
        deviation = values - np.average(values, axis=0, weights=weight)
        return np.rint(deviation / np.sqrt(np.average(deviation**2, axis=0, weights=weight)) * 2.0**_STEPS)
    values = rescale_safely(encode_target(y, task).values[:, 0])
    _, exponent = np.frexp(values.std())
    step = 2.0 ** (int(exponent) - _STEPS)
    return np.rint(values / step) - np.rint(values.mean() / step)


def _mean_variance(target: np.ndarray, weight: np.ndarray | None) -> float:
    """Variance of a quantity, or its mean over several: the impurity of the root."""
    mean = np.average(target, axis=0, weights=weight)
    return float(np.mean(np.average((target - mean) ** 2, axis=0, weights=weight)))
