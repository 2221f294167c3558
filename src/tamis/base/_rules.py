"""Stopping rules: the contract, and the registry in which ``stop=`` finds them by name."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from tamis.base._candidates import COLUMNS, PERMUTED_COPIES, ROWS, UNGROUPED, Candidates
from tamis.base._ranking import Ranking, Step, StopDecision

if TYPE_CHECKING:
    from tamis.base._ranker import Ranker

# Why candidates may lack what a rule requires, and what to do, in words.
_OF_CANDIDATES = {
    COLUMNS: "judges columns of X, and {ranker} ranks features of a dictionary; use Probe or a number of features",
    UNGROUPED: "counts single columns and takes no {noun}s{several}; use CrossValidation or a number of {noun}s",
    ROWS: "needs the rows in memory, and they are read in blocks; use {of_path}a number of features",
    PERMUTED_COPIES: "permutes the columns of X and cannot see those of a dictionary; use Probe",
}

# Which rankers a rule is for, in words.
_OF_RANKERS = {
    "nested_linear": "methods that extend a least-squares model step by step (GramSchmidt, ForwardLeastSquares)",
    "own_choice": "methods that say themselves how many features to keep (sparse models, scaling factors, trees)",
    "probability": "methods that learn a probability over the features (OFW)",
}


class StoppingRule(BaseEstimator):
    """Decides how much of a ranking to keep.

    ``requires`` names what the rule needs of the ranker (its ``provides``) and of the candidates (theirs). A rule that
    works along a sequential ranker's path may end it early through :meth:`enough` or :meth:`most`.
    """

    requires: ClassVar[frozenset[str]] = frozenset()
    reads_ranking_only: ClassVar[bool] = False  # and not the table: it can also cut, at once, what Ctrl-C ended
    _registry: ClassVar[dict[str, type[StoppingRule]]] = {}
    _parameter_constraints: ClassVar[dict] = {}

    def __init_subclass__(cls, name: str | None = None) -> None:
        super().__init_subclass__()
        if name is not None:
            StoppingRule._registry[name] = cls

    @abstractmethod
    def decide(
        self,
        ranker: Ranker,
        ranking: Ranking,
        candidates: Candidates,
        y: np.ndarray | None,
        rng: np.random.RandomState,
    ) -> StopDecision:
        """Cut ``ranking``, which ``ranker`` found among ``candidates`` for the target ``y``."""

    def check(self, ranker: Ranker, candidates: Candidates) -> None:
        """Refuse bad parameters, and rankers or candidates that lack what the rule needs, before any work is done."""
        self._validate_params()
        missing = self.requires - ranker.provides - candidates.provides
        if of_candidates := missing & _OF_CANDIDATES.keys():
            several = " that are encoded as several" if candidates.noun == "column" else ""
            is_linear = "nested_linear" in ranker.provides
            of_path = "a rule that reads the path (Probe, FisherTest, LeaveOneOut) or " if is_linear else ""
            why = _OF_CANDIDATES[min(of_candidates)].format(
                ranker=type(ranker).__name__, noun=candidates.noun, several=several, of_path=of_path
            )
            raise ValueError(f"{type(self).__name__} {why}")
        if missing:
            others = "MonteCarloProbe or CrossValidation" if ranker.supervised else "FITPlateau or CrossValidation"
            what = " and ".join(_OF_RANKERS.get(each, f"methods that provide {each!r}") for each in sorted(missing))
            raise ValueError(
                f"{type(self).__name__} is for {what}, and {type(ranker).__name__} is none of them; use {others}, "
                "which work with any ranker"
            )

    def max_rows_in_blocks(self) -> int | None:
        """How many rows of a table that is read in blocks it looks at, at most; None where it needs none of them."""
        return None

    def most(self, n_candidates: int) -> int | None:
        """Upper bound on how many candidates can be kept, if known beforehand."""
        return None

    def enough(self, path: Sequence[Step]) -> bool:
        """Whether the steps so far settle the decision."""
        return False

    def divided(self, n_problems: int) -> StoppingRule:
        """The rule for one of several problems whose selections are united, so that the union keeps its promise.

        A rule that accepts a risk divides it among the problems (Bonferroni's inequality).
        """
        return self


def rankings_at(
    ranker: Ranker, candidates: Candidates, y: np.ndarray | None, sizes: Sequence[int]
) -> Iterator[Ranking]:
    """Rankings whose first k candidates are what the method selects at k, for each k of ascending ``sizes``.

    One ranking serves for all where the sets are nested. Where they are not, the method is run anew at each k: the
    first k of a larger set are no set that it would ever select.
    """
    if "nested" not in ranker.provides:
        yield from (ranker.rank_top(candidates, y, k) for k in sizes)
        return
    ranking = ranker.rank_top(candidates, y, sizes[-1] if sizes[-1] <= candidates.n_candidates else None)
    yield from (ranking for _ in sizes)


def rule_names() -> list[str]:
    """Names by which ``stop=`` finds the rules."""
    importlib.import_module("tamis.stop")  # fills the registry; not at the top, for rules import this package
    return sorted(StoppingRule._registry)


def rule_class(name: str) -> type[StoppingRule]:
    """The rule of that name."""
    known = rule_names()
    if name not in known:
        raise ValueError(f"stop='{name}' is no stopping rule; choose 'auto' or one of {', '.join(known)}")
    return StoppingRule._registry[name]
