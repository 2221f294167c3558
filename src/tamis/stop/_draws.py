"""One draw of a probe: features are ranked among copies of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import resample

from tamis._sklearn import safe_indexing
from tamis.base import Candidates, Ranker, Shared
from tamis.stop._draw_statistics import compares_scores
from tamis.stop._probe_copies import PermutedRows, ProbeCopies


@dataclass(frozen=True)
class DrawPlan:
    """What all draws have in common.

    Attributes
    ----------
    copies : ProbeCopies
    weighing : Ranker or None
        Whose weights are compared, of one model of all features and copies; None where these are ranked.
    n_probes : int or None
        How many features have a copy in a draw; None is all.
    max_samples : int or None
        How many rows are ranked in a draw; None is all.
    has_classes : bool
        Whether rows are sampled from every class alike.
    """

    copies: ProbeCopies
    weighing: Ranker | None = None
    n_probes: int | None = None
    max_samples: int | None = None
    has_classes: bool = False

    @property
    def needs_ranking(self) -> bool:
        """Whether scores that a method has for permuted copies of all features are not what is asked for."""
        is_plain = isinstance(self.copies, PermutedRows) and self.copies.kept.size == 0
        return not is_plain or self.max_samples is not None


def one_draw(
    ranker: Ranker, candidates: Candidates, y: np.ndarray, seed: int, shared: Shared[DrawPlan]
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the features and of their copies; columns are shuffled so that ties favor none.

    Copies that were not drawn are NaN, what has no score is minus infinity.
    """
    plan, rng = shared.value, np.random.RandomState(seed)
    copies = plan.copies.draw(candidates.table, rng)
    copied = _choose_copied(candidates, plan, rng)
    if copied.size < candidates.n_candidates:
        copies = safe_indexing(copies, candidates.columns_of(copied), axis=1)
    column_order = rng.permutation(candidates.n_columns + copies.shape[1])
    if plan.max_samples is not None and plan.max_samples < candidates.table.shape[0]:
        rows = _sample_rows(y, plan, rng)
        candidates, y, copies = candidates.take_rows(rows), y[rows], safe_indexing(copies, rows)
    # the copies themselves are not held while these are ranked
    among, source = candidates.among_copies(copies, column_order, copied)
    del copies
    seeded = (plan.weighing or ranker).for_draws()
    if "random_state" in seeded.get_params():
        seeded.set_params(random_state=seed)
    ranking = seeded.rank_top(among, y, None)
    scored = plan.weighing is not None or compares_scores(ranker)
    scores = ranking.scores if scored else -ranking.ranks()
    n_candidates = candidates.n_candidates
    value = np.full(2 * n_candidates, np.nan)
    value[source] = np.where(np.isnan(scores), 0.0 if plan.weighing is not None else -np.inf, scores)
    if isinstance(plan.copies, PermutedRows):
        value[n_candidates + plan.copies.kept] = -np.inf
    return value[:n_candidates], value[n_candidates:]


def _choose_copied(candidates: Candidates, plan: DrawPlan, rng: np.random.RandomState) -> np.ndarray:
    """Candidates that have a copy in a draw."""
    n_candidates = candidates.n_candidates
    if plan.n_probes is None or plan.n_probes >= n_candidates - candidates.excluded.size:
        return np.arange(n_candidates)
    rankable = np.setdiff1d(np.arange(n_candidates), candidates.excluded)
    return np.sort(rng.permutation(rankable)[: plan.n_probes])


def _sample_rows(y: np.ndarray, plan: DrawPlan, rng: np.random.RandomState) -> np.ndarray:
    """Rows that are ranked in a draw, ascending."""
    rows = np.arange(len(y))
    given: dict[str, Any] = {"replace": False, "n_samples": plan.max_samples, "random_state": rng}
    return np.sort(resample(rows, stratify=y if plan.has_classes else None, **given))
