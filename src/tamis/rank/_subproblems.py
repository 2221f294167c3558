"""Many classes as many two-class problems, each with its own selection (Stoppiglia et al., Sec. 6.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tamis.base import Candidates, Ranker, Ranking, StopDecision, StoppingRule, arranged, fresh, interrupt, track
from tamis.kernels.arrays.targets import encode_classes, infer_task, subproblems


class SubproblemMixin(Ranker):
    """Adds ``multiclass="ovr" | "ovo"`` to a ranker that has the parameters ``task`` and ``multiclass``.

    The selection is the union over the sub-problems, among which a rule divides the risk that it accepts.
    ``subproblems_`` maps ``(label,)``, for one class against the rest, or ``(label, label)`` to the ranker fitted on
    it.
    """

    task: str
    multiclass: str

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        y = np.asarray(y)
        if self.multiclass == "joint" or y.ndim == 2:  # several columns are several quantities
            return super()._select(candidates, y, rule)
        task = infer_task(y) if self.task == "auto" else self.task
        if task == "regression" or np.unique(y).size <= 2:
            return super()._select(candidates, y, rule)
        if candidates.in_blocks:
            raise ValueError(
                f"multiclass='{self.multiclass}' sets rows apart, which are read in blocks; use multiclass='joint'"
            )
        classes, codes = encode_classes(y)
        self.subproblems_: dict[tuple[Any, ...], Ranker] = {}
        found: list[tuple[Ranking, StopDecision]] = []
        parts = list(subproblems(codes, classes.size, self.multiclass))
        share = rule.divided(len(parts))
        watched = track(self, parts, task_name=self.multiclass, total=len(parts))
        try:
            for against, rows in watched:
                labels = tuple(classes[list(against)].tolist())
                # where orders end early, those of the problems must be long enough for the fewest that are asked for
                fewest = None if self.one_shot else self.min_features
                ranker = fresh(self, task="classification", multiclass="joint", stop=share, min_features=fewest)
                if candidates.column_names is not None:
                    ranker.name_features(candidates.column_names)
                is_first = (codes[rows] == against[0]).astype(int)
                found.append(ranker._fit_candidates(candidates.take_rows(rows), is_first, share))
                self.subproblems_[labels] = ranker
        except KeyboardInterrupt:
            interrupt(watched)
        ranking, decision = unite(found, self.multiclass, candidates.noun)
        ranking = arranged(ranking, candidates)
        if ranking.n_forced:
            decision = replace(decision, reason=f"{decision.reason}; {candidates.kept_in_words()}")
        n_wanted = min(self.min_features or 0, ranking.order.size)
        if decision.n_features < n_wanted:
            reason = f"{decision.reason}; at least {self.min_features} asked for"
            decision = replace(decision, n_features=n_wanted, reason=reason)
        return ranking, decision


def unite(found: list[tuple[Ranking, StopDecision]], scheme: str, noun: str) -> tuple[Ranking, StopDecision]:
    """Union of selections: kept candidates first, by their best rank over the sub-problems."""
    rankings = [ranking for ranking, _ in found]
    rank = np.min([ranking.ranks() for ranking in rankings], axis=0)
    scores = np.fmax.reduce([ranking.scores for ranking in rankings])
    is_ranked, is_kept = np.zeros((2, scores.size), dtype=bool)
    for ranking, decision in found:
        is_ranked[ranking.order] = True
        is_kept[ranking.order[: decision.n_features]] = True
    order = np.lexsort((np.arange(rank.size), -np.nan_to_num(scores), rank, ~is_kept))
    certificate = {"converged": all(ranking.certificate["converged"] for ranking in rankings)}
    sizes = [decision.n_features for _, decision in found]
    pairing = "one-vs-one" if scheme == "ovo" else "one-vs-rest"
    reason = (
        f"union of {len(found)} {pairing} problems, which keep {min(sizes)} to {max(sizes)} {noun}s each; "
        "subproblems_ holds them"
    )
    return Ranking(order[is_ranked[order]], scores, (), certificate), StopDecision(int(is_kept.sum()), reason)
