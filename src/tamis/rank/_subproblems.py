"""Many classes as many two-class problems, each with its own selection (Stoppiglia et al., Sec. 6.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis._sklearn import move_to, safe_indexing
from tamis.base import Ranker, Ranking, StopDecision, StoppingRule, fresh, track, weight_argument
from tamis.base._validation import known_names
from tamis.kernels.arrays.targets import encode_classes, infer_task, subproblems


class SubproblemMixin(Ranker):
    """Adds ``multiclass="ovr" | "ovo"`` to a ranker that has the parameters ``task`` and ``multiclass``.

    The selection is the union over the sub-problems; ``subproblems_`` maps ``(label,)``, for one class against the
    rest, or ``(label, label)`` to the ranker fitted on it.
    """

    task: str
    multiclass: str

    def _select(
        self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None, rule: StoppingRule
    ) -> tuple[Ranking, StopDecision]:
        y = np.asarray(y)
        task = infer_task(y) if self.task == "auto" else self.task
        if self.multiclass == "joint" or task == "regression" or np.unique(y).size <= 2:
            return super()._select(X, y, sample_weight, rule)
        classes, codes = encode_classes(y)
        self.subproblems_ = {}
        parts = list(subproblems(codes, classes.size, self.multiclass))
        for against, rows in track(self, parts, task_name=self.multiclass, total=len(parts)):
            labels = tuple(classes[list(against)].tolist())
            ranker = fresh(self, task="classification", multiclass="joint", stop=rule)
            weight = None if sample_weight is None else sample_weight[rows]
            labeled = (codes[rows] == against[0]).astype(int)
            if (names := known_names(self)) is not None:
                ranker.name_features(names)
            ranker.fit(safe_indexing(X, rows), labeled, **weight_argument(weight))
            self.subproblems_[labels] = ranker
        return merge(list(self.subproblems_.values()), self.multiclass)


def merge(rankers: list[Any], scheme: str) -> tuple[Ranking, StopDecision]:
    """Union of selections: kept features first, by their best rank over the sub-problems."""
    each_rank = [move_to(ranker.ranking_, xp=np, device="cpu") for ranker in rankers]
    rank = np.min(each_rank, axis=0)
    ranked = np.any([r <= ranker.order_.shape[0] for r, ranker in zip(each_rank, rankers, strict=True)], axis=0)
    kept = np.any([ranker.get_support() for ranker in rankers], axis=0)
    scores = np.fmax.reduce([move_to(ranker.scores_, xp=np, device="cpu") for ranker in rankers])
    order = np.lexsort((np.arange(rank.size), -np.nan_to_num(scores), rank, ~kept))
    certificate = {"converged": all(ranker.certificate_["converged"] for ranker in rankers)}
    sizes = [ranker.stop_.n_features for ranker in rankers]
    pairing = "one-vs-one" if scheme == "ovo" else "one-vs-rest"
    reason = (
        f"union of {len(rankers)} {pairing} problems, which keep {min(sizes)} to {max(sizes)} features each; "
        "subproblems_ holds them"
    )
    decision = StopDecision(int(kept.sum()), reason)
    return Ranking(order[ranked[order]], scores, (), certificate), decision
