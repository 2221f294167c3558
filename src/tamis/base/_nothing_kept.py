"""What to tell people when no feature is kept: a look at whether the relation is there, but nonlinear."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from tamis._sklearn import move_to
from tamis.base._caller import caller_level
from tamis.engine import RowBlocks
from tamis.kernels.arrays.targets import OUTLYING, is_outlying, looks_like_counts
from tamis.kernels.arrays.tree_units import in_tree_units, quantity_in_tree_units

if TYPE_CHECKING:
    from tamis.base._candidates import Candidates
    from tamis.base._ranker import Ranker

_N_DRAWS = 19  # the fewest that can tell a risk of 5 %
_MOST_ROWS = 1000
_MOST_COLUMNS = 2000
_MOST_NAMED = 3


class NothingKeptWarning(UserWarning):
    """No feature is kept. That is a valid answer; the message says what else could be tried."""


def warn_of_nothing_kept(ranker: Ranker, candidates: Candidates, y: np.ndarray) -> None:
    """Warn that nothing is kept, say whether a forest sees something, and name the next thing to try.

    Where the warning is ignored no forest is grown.
    """
    if _is_ignored(NothingKeptWarning):
        return
    said = f"{type(ranker).__name__} keeps none of {candidates.n_rankable} {candidates.noun}s: {ranker.stop_.reason}"
    seen = columns_seen_by_forest(candidates, y, ranker.task_) if ranker.ranks_columns() else []
    causes = _causes_in_target(ranker, y)
    if seen:
        names = list(dict.fromkeys(f"'{candidates.name(candidates.candidate_of(j))}'" for j in seen))
        advice = (
            f"A forest on a sample of the rows does see something (first {', '.join(names[:_MOST_NAMED])}; the best "
            "column beats permuted copies of all, risk 0.05): the relation may be nonlinear, or of a kind that this "
            f"method does not see. Try {_other_rankers(ranker)}"
        )
    elif not ranker.ranks_columns():
        advice = "More rows, a higher risk or another dictionary may show more"
    else:
        advice = "A forest on a sample of the rows sees nothing either"
        advice += "" if causes else ". More rows or a higher risk may show more"
    advice = ". ".join([*causes, advice])
    warnings.warn(f"{said}. {advice}", NothingKeptWarning, stacklevel=caller_level())


def _causes_in_target(ranker: Ranker, y: np.ndarray) -> list[str]:
    """What about the target may hide everything, each in a sentence that says what to do."""
    if ranker.task_ == "regression" and y.ndim == 1 and (n_far := int(np.count_nonzero(is_outlying(y.astype(float))))):
        rows = f"{n_far} row{'s' * (n_far != 1)}"
        return [
            f"y lies more than {OUTLYING:g} robust standard deviations from its median in {rows}, which may hide all "
            "else: check these rows, or clip or transform y"
        ]
    guessed = ranker.get_params(deep=False).get("task") == "auto"
    if ranker.task_ == "classification" and guessed and looks_like_counts(y):
        code = ranker.written(f"{type(ranker).__name__}(task='regression')")
        return [f"y was taken as classes, but looks like counts or ratings: try {code} first"]
    return []


def _other_rankers(ranker: Ranker) -> str:
    """Code to try next: methods that see more than linear relations, and no dictionaries where these are not taken."""
    codes = ["TreeSelector(n_trees=100)", "ReliefF()", "PolynomialSelection()", "GramSchmidt(dictionary=Monomials(2))"]
    others = [code for code in codes if not code.startswith(f"{type(ranker).__name__}(") or "dictionary" in code]
    if ranker.written("") != "":
        others.remove(codes[-1])
    *first, last = map(ranker.written, others)
    return f"{', '.join(first)} or {last}"


def _is_ignored(category: type[Warning]) -> bool:
    """Whether warnings of that category are ignored, whatever they say and wherever they come from."""
    for action, message, of_category, module, _ in warnings.filters:
        if message is None and module is None and issubclass(category, of_category):
            return action == "ignore"
    return False


def columns_seen_by_forest(candidates: Candidates, y: np.ndarray, task: str, random_state: int = 0) -> list[int]:
    """Columns by importance in forests, best first, if the best beats permuted copies of all in each of 19 draws.

    If no column is related to the target, columns and copies are exchangeable, and the best of all beats 19 sets of
    copies with a probability of 1 / 20. The first draw in which it does not settles the answer, so that a look at noise
    takes about two forests.

    Parameters
    ----------
    candidates : Candidates
        A sample of rows and, of very wide tables, of columns is looked at.
    y : ndarray
    task : {"classification", "regression"}
    random_state : int, default=0

    Returns
    -------
    list of int
        Columns of the table that beat all copies on average; empty where nothing is seen.
    """
    rng = np.random.RandomState(random_state)
    rows = np.sort(rng.permutation(len(y))[:_MOST_ROWS])
    columns = np.sort(rng.permutation(candidates.n_columns)[:_MOST_COLUMNS])
    X, target = in_tree_units(_dense_part(candidates.table, rows, columns)), np.asarray(y)[rows]
    if task == "regression":
        target = quantity_in_tree_units(target)
    if task == "classification" and np.unique(target).size < 2:
        return []
    forest = ExtraTreesClassifier if task == "classification" else ExtraTreesRegressor
    total, total_of_best_copy = np.zeros(columns.size), 0.0
    for _ in range(_N_DRAWS):
        model = forest(n_estimators=30, min_samples_leaf=3, max_features=0.5, random_state=rng.randint(2**31 - 1))
        both = np.column_stack([X, X[rng.permutation(rows.size)]])
        importance = model.fit(both, target).feature_importances_
        of_columns, best_copy = importance[: columns.size], importance[columns.size :].max()
        if best_copy >= of_columns.max():
            return []
        total += of_columns
        total_of_best_copy += best_copy
    order = np.argsort(-total, kind="stable")
    return columns[order[total[order] > total_of_best_copy]].tolist()


def _dense_part(table: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some rows and columns of a table of any library as a dense numpy array."""
    if sparse.issparse(table):
        return table.tocsr()[rows][:, columns].toarray()
    if isinstance(table, RowBlocks):
        return table.take_rows(rows, columns).astype(float)
    return np.asarray(move_to(table, xp=np, device="cpu"))[np.ix_(rows, columns)].astype(float)
