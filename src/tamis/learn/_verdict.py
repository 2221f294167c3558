"""From the predictions of all configurations to the one chosen, and to what it is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, rankdata

from tamis.learn._bias_corrected import Estimate, bootstrap_scores, seconds_of_fewest, summarize
from tamis.learn._choice import Rule, paired, support_with_few_rows, vote, voters
from tamis.learn._configurations import Configuration
from tamis.learn._metrics import Metric, guess_losses
from tamis.learn._permuted_targets import permuted_scores
from tamis.learn._portfolio import ALL
from tamis.learn._race import Race

_TIMED = 8  # configurations among which the choice is timed
_FAR = 2.0  # half-widths of the interval between the estimate and chance from which on it is no noise
_ABOVE_PERMUTED = 2.5  # standard deviations; the estimate keeps a little of the optimism of the choice
_EQUAL = 1e-9  # of a score, by which rounding may lift a guess
_RISK = 0.05  # of calling noise better than guessing


@dataclass(frozen=True)
class Verdict:
    """What was chosen, among what.

    Attributes
    ----------
    prefer : {"balanced", "accurate", "small"}
        What decided.
    chosen : tuple of Configuration
        One, or those that vote.
    complete : list of Configuration
        With predictions of all rows, those with the fewest features first.
    scores, errors : ndarray
        Score of each of these, and the standard error of its difference from the best, in units of the mean loss.
    best_loss : float
        Mean loss of the best.
    best, reference : Configuration
        With the highest score; with the highest score among those with all features (None where there is none).
    estimate : Estimate
    refused : Estimate or None
        Of what would have been chosen, where nothing does better than guessing; ``estimate`` is then that of a guess.
    is_noise : bool
        Nothing does better than guessing.
    within : ndarray of bool
        Complete configurations within one standard error of the best.
    needs_support : bool
        Whether there are so few rows that fewer features than all had to be better.
    notes : list of str
        What else is to be said.
    """

    prefer: str
    chosen: tuple[Configuration, ...]
    complete: list[Configuration]
    scores: np.ndarray
    errors: np.ndarray
    best_loss: float
    best: Configuration
    reference: Configuration | None
    estimate: Estimate
    refused: Estimate | None
    is_noise: bool
    within: np.ndarray
    needs_support: bool
    notes: list[str]


def seconds_to_judge(race: Race, prefer: str, n_bootstraps: int) -> float:
    """Seconds that :func:`judge` takes at least, told from two bootstrap samples of the rows."""
    rule = Rule(prefer, np.arange(_TIMED), np.zeros(_TIMED, dtype=bool), support=None)
    losses = np.zeros((race.data.y.size, _TIMED))
    return seconds_of_fewest(
        race.metric, race.data.y, lambda *sample: losses.T[rule.choose(losses, *sample)], n_bootstraps
    )


def judge(
    race: Race,
    *,
    prefer: str,
    ensemble: bool,
    n_bootstraps: int,
    confidence: float,
    row_groups: np.ndarray | None,
    seed: int,
) -> Verdict:
    """Choose among the complete configurations, and estimate what the choice is worth.

    Where the few features within one standard error of the best are no better than guessing, and those within half of
    one are, the latter are kept: there is something to be found.
    """

    def under(preference: str) -> Verdict:
        return _judge(race, preference, ensemble, n_bootstraps, confidence, row_groups, seed)

    verdict = under(prefer)
    if verdict.is_noise and prefer == "small" and not ensemble:
        other = under("balanced")
        if not other.is_noise:
            note = "what keeps the fewest features is no better than guessing, so that prefer='balanced' decided"
            return replace(other, notes=[note, *other.notes])
    return verdict


def _judge(
    race: Race,
    prefer: str,
    ensemble: bool,
    n_bootstraps: int,
    confidence: float,
    row_groups: np.ndarray | None,
    seed: int,
) -> Verdict:
    complete, metric = race.complete(), race.metric
    rows, outputs = race.rows(), race.outputs(complete)
    losses, y = race.losses(outputs), race.data.y[rows]
    ones = np.ones((1, y.size))
    scales = metric.scales(y, ones)
    mean = (scales @ losses)[0]
    chooser = _Chooser(race, complete, outputs, losses, prefer, ensemble, rows.size)
    chosen = chooser.places(scales, ones)[0]
    own = chooser.losses_of(chosen)
    scores = bootstrap_scores(
        metric,
        y,
        chooser,
        judged=_judged(race),
        n_draws=n_bootstraps,
        row_groups=None if row_groups is None else row_groups[rows],
        rng=np.random.RandomState(seed),
        has_time=race.has_time_to_judge,
    )
    guess = guess_losses(metric, y)
    estimate = summarize(
        metric,
        y,
        scores,
        naive=float(metric.score(scales @ own)[0]),
        chance=round(float(metric.score(scales @ guess)[0]), 12),  # 0, and not a rounding error, for R²
        confidence=confidence,
    )
    best = int(mean.argmin())
    pairs = np.array([paired(losses, scales, j, best) for j in range(len(complete))])
    is_noise, notes = _is_noise(
        race, estimate, complete[chosen[0]], _beats(guess, losses[:, best], scales, len(complete)), seed, row_groups
    )
    refused = estimate if is_noise else None
    if is_noise:
        estimate = _estimate_of_guess(metric, y, guess, estimate, confidence, n_bootstraps, seed)
    if scores.size < n_bootstraps and not race.has_time_to_judge():
        notes.append(f"{scores.size} bootstrap samples, for there was no time for more")
    every = [j for j, each in enumerate(complete) if each.ranker == ALL]
    return Verdict(
        prefer=prefer,
        chosen=tuple(complete[j] for j in chosen),
        complete=complete,
        scores=metric.score(mean),
        errors=pairs[:, 1],
        best_loss=float(mean[best]),
        best=complete[best],
        reference=complete[min(every, key=lambda j: mean[j])] if every else None,
        estimate=estimate,
        refused=refused,
        is_noise=is_noise,
        notes=notes,
        within=pairs[:, 0] <= pairs[:, 1] + 1e-12,
        needs_support=chooser.rule.support is not None,
    )


def _estimate_of_guess(
    metric: Metric, y: np.ndarray, guess: np.ndarray, refused: Estimate, confidence: float, n_draws: int, seed: int
) -> Estimate:
    """What guessing scores on rows left out of samples, about what it scores on all."""
    scores = bootstrap_scores(
        metric,
        y,
        lambda scales, counts: np.tile(guess, (len(counts), 1)),
        judged=np.ones(y.size, dtype=bool),
        n_draws=n_draws,
        row_groups=None,
        rng=np.random.RandomState(seed),
    )
    found = summarize(metric, y, scores, naive=refused.naive, chance=refused.chance, confidence=confidence)
    chance = refused.chance
    return replace(found, value=chance, low=min(found.low, chance), high=max(found.high, chance))


class _Chooser:
    """The choice as a function of how often each row counts."""

    def __init__(
        self,
        race: Race,
        complete: list[Configuration],
        outputs: np.ndarray,
        losses: np.ndarray,
        prefer: str,
        ensemble: bool,
        n_rows: int,
    ) -> None:
        self.race, self.outputs, self.losses, self.ensemble = race, outputs, losses, ensemble
        self.task = race.metric.task
        self._votes: dict[tuple[int, ...], np.ndarray] = {}
        self.rule = Rule(
            prefer,
            np.array([each.n_features for each in complete]),
            np.array([each.ranker == ALL for each in complete]),
            support_with_few_rows(prefer, n_rows, len(race.configurations)),
        )

    def places(self, scales: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
        """Configurations that each sample of the rows chooses."""
        if self.ensemble:
            return [voters(mean) for mean in scales @ self.losses]
        return [np.array([j]) for j in self.rule.choose(self.losses, scales, counts)]

    def losses_of(self, places: np.ndarray) -> np.ndarray:
        """Losses of rows under some configurations that vote, or under one."""
        if places.size == 1:
            return self.losses[:, places[0]]
        key = tuple(np.sort(places).tolist())
        if key not in self._votes:
            # of decision values of different models only the ranks can be averaged
            outputs = self.outputs[:, list(key)]
            outputs = self._ranks(outputs) if self.race.metric.output == "decision" else outputs
            self._votes[key] = self.race.losses(vote(outputs, self.task)[:, None])[:, 0]
        return self._votes[key]

    def _ranks(self, outputs: np.ndarray) -> np.ndarray:
        parts, start = [], 0
        for _, test in self.race.folds:
            part = outputs[start : start + test.size]
            parts.append(rankdata(part, axis=0) / test.size)  # equal values share their rank: rows may be sorted by y
            start += test.size
        return np.vstack(parts)

    def __call__(self, scales: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return np.stack([self.losses_of(places) for places in self.places(scales, counts)])


def _judged(race: Race) -> np.ndarray:
    """Rows that did not decide which configurations went on."""
    rows = race.rows()
    return ~np.isin(rows, race.first_look()) if race.was_halved else np.ones(rows.size, dtype=bool)


def _is_noise(
    race: Race,
    estimate: Estimate,
    configuration: Configuration,
    beats: bool,
    seed: int,
    row_groups: np.ndarray | None,
) -> tuple[bool, list[str]]:
    """Whether what was chosen is no better than guessing, and what to say of how that was settled.

    Where the interval is not far from chance the target is permuted: folds share what the sample holds by chance, so
    that scores of noise vary more than an interval over rows tells.
    """
    if np.isnan(estimate.value):  # no sample leaves out rows of every class
        return not beats, [
            "too few rows, or groups of rows, for an estimate: none is left out with rows of every class"
        ]
    above = estimate.value - estimate.chance
    if above <= _EQUAL:
        return True, []
    if estimate.low <= estimate.chance and not beats:
        return True, []
    if above > _FAR * (estimate.value - estimate.low):
        return False, []
    if not race.allows(race.seconds_for_permutations(configuration)):
        return estimate.low <= estimate.chance, ["no time to compare it with permuted targets"]
    scores = np.array(list(permuted_scores(race, configuration, seed, row_groups)))
    scores = scores[np.isfinite(scores)]
    if scores.size < 2:
        return estimate.low <= estimate.chance, []
    least = float(scores.mean() + _ABOVE_PERMUTED * scores.std(ddof=1))
    note = f"permuted targets score {scores.mean():.3g} +- {scores.std(ddof=1):.2g}"
    return estimate.value <= least, [note]


def _beats(guess: np.ndarray, losses: np.ndarray, scales: np.ndarray, n_tried: int) -> bool:
    """Whether the best of several configurations is better than guessing by more than the best of as many guesses."""
    difference, error = paired(np.column_stack([losses, guess]), scales, 0, 1)
    return difference < -_EQUAL and difference <= -norm.ppf(1 - _RISK / n_tried) * error
