"""Draws of a probe: in each, features are ranked among copies of them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import resample

from tamis._sklearn import safe_indexing
from tamis.base import Candidates, Ranker, Ranking, Shared, finish, note_interruption, open_parallel, track
from tamis.kernels.arrays.transfer import is_on_host
from tamis.stop._copy_scores import scores_of_copies
from tamis.stop._draw_statistics import compares_scores, spread_units, statistics_of_draws
from tamis.stop._probe_copies import PermutedRows, ProbeCopies
from tamis.stop._step_down import FalseDiscoveryRate, FamilyRisk

_BATCH = 10  # draws between two looks at whether the answer is settled; fixed, so that n_jobs changes nothing


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


@dataclass(frozen=True)
class Draws:
    """A ranker among copies of the candidates, draw after draw.

    Attributes
    ----------
    ranker : Ranker
    ranking : Ranking
        What it found without copies.
    candidates : Candidates
    y : ndarray or None
    plan : DrawPlan
    n_jobs : int or None
    """

    ranker: Ranker
    ranking: Ranking
    candidates: Candidates
    y: np.ndarray | None
    plan: DrawPlan
    n_jobs: int | None

    def run(
        self, seeds: np.ndarray, error_control: FamilyRisk | FalseDiscoveryRate, *, may_end_early: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the features and of their copies, one row per draw, until the answer is settled.

        Parameters
        ----------
        seeds : ndarray of int
            One for each draw.
        error_control : FamilyRisk or FalseDiscoveryRate
        may_end_early : bool, default=True
            Whether the draws that were finished decide after Ctrl-C, where they suffice.
        """
        ranker, candidates = self.ranker, self.candidates
        shared, are_weights = Shared(self.plan), self.plan.weighing is not None
        feature_scores: list[np.ndarray] = []
        copy_scores: list[np.ndarray] = []
        unit = 1.0 if are_weights else spread_units(ranker.spread_by_chance(candidates))
        shares_work = candidates.in_blocks or is_on_host(candidates.table)  # else it is one device that does it all
        try:
            with (
                open_parallel(self.n_jobs if shares_work else None, shared=[candidates, shared]) as parallel,
                closing(self._batches(parallel, seeds, shared)) as batches,
                closing(track(ranker, batches, task_name="probe", total=len(seeds), interruptible=False)) as watched,
            ):
                for of_features, of_copies in watched:
                    feature_scores.append(of_features / unit)
                    copy_scores.append(of_copies / unit)
                    if len(feature_scores) % _BATCH == 0 and len(feature_scores) < len(seeds):
                        so_far = np.array(feature_scores), np.array(copy_scores)
                        scores, copies = statistics_of_draws(*so_far, ranker, are_weights=are_weights)
                        if error_control.settled(scores, copies, len(seeds), candidates.keep.tolist()):
                            break
        except KeyboardInterrupt:
            # Ctrl-C does not look at the scores: p-values of the draws so far are valid, but cannot fall below 1/(1+B)
            n_drawn = len(copy_scores)
            can_decide = (1 + n_drawn) * error_control.level >= 1 and may_end_early
            if not can_decide or not note_interruption(ranker, f"interrupted after {n_drawn} of {len(seeds)} draws"):
                raise
            del feature_scores[n_drawn:]
        return np.array(feature_scores), np.array(copy_scores)

    def _batches(
        self, parallel: Parallel, seeds: np.ndarray, shared: Shared[DrawPlan]
    ) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
        """Draw after draw, ten at a time: by the ranker's shortcut where it has one, else by ranking."""
        ranker, candidates, y = self.ranker, self.candidates, self.y
        for start in range(0, len(seeds), _BATCH):
            batch = seeds[start : start + _BATCH].tolist()
            if not self.plan.needs_ranking:
                shortcut = scores_of_copies(ranker, self.ranking, candidates, y, batch)
                if shortcut is not None:
                    yield from shortcut
                    continue
            draws = parallel(delayed(one_draw)(ranker, candidates, y, seed, shared) for seed in batch)
            try:
                for draw in draws:  # noqa: UP028 (`yield from` would close the draws before they are finished)
                    yield draw
            finally:
                finish(draws)


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
    untested = np.union1d(candidates.excluded, candidates.keep)
    if plan.n_probes is None or plan.n_probes >= n_candidates - untested.size:
        return np.arange(n_candidates)
    return np.sort(rng.permutation(np.setdiff1d(np.arange(n_candidates), untested))[: plan.n_probes])


def _sample_rows(y: np.ndarray, plan: DrawPlan, rng: np.random.RandomState) -> np.ndarray:
    """Rows that are ranked in a draw, ascending."""
    rows = np.arange(len(y))
    given: dict[str, Any] = {"replace": False, "n_samples": plan.max_samples, "random_state": rng}
    return np.sort(resample(rows, stratify=y if plan.has_classes else None, **given))
