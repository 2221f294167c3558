"""How well the chosen configuration will do, corrected for its having been chosen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from tamis.learn._metrics import METRICS, Metric

_BLOCK = 2**21  # entries of a block of bootstrap counts
_FEWEST_DRAWS = 100  # however little time there is
_TIMED_DRAWS = 2

Chooser = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Estimate:
    """How well the fitted estimator will do on rows it has not seen; where nothing is kept, it guesses.

    Attributes
    ----------
    metric : str
        Name of the score, higher is better.
    value : float
        Corrected for the choice among configurations.
    low, high : float
        Interval.
    naive : float
        Cross-validated score of what was chosen, or refused, as if it had been the only configuration: mostly too high.
    chance : float
        Score of guessing without a look at the features.
    n_rows : int
        Rows behind the estimate.
    """

    metric: str
    value: float
    low: float
    high: float
    naive: float
    chance: float
    n_rows: int

    def prediction_interval(self, n_rows: int) -> tuple[float, float]:
        r"""Interval for the score on a test set of so many new rows of the same kind.

        .. math:: \hat s \pm |\hat s - s_\pm| \sqrt{1 + \frac{n}{(e - 1) \, m}}

        with :math:`s_\pm` the ends of the interval for the score on ever more rows, told from n rows (see
        :func:`summarize`), and m new ones: a test set differs by chance from the score that it measures. With groups of
        rows, these are to be new groups of like sizes.

        Parameters
        ----------
        n_rows : int
            Of the test set.

        Returns
        -------
        low, high : float
        """
        if n_rows < 1:
            raise ValueError(f"n_rows={n_rows} must be the number of rows of a test set: give 1 or more")
        if self.metric not in METRICS:
            raise ValueError(f"scores of new rows can be told with a target y only, not for {self.metric}")
        growth = np.sqrt(1.0 + self.n_rows / ((np.e - 1.0) * n_rows))
        low = self.value - growth * abs(self.value - self.low)
        high = self.value + growth * abs(self.high - self.value)
        least = 0.0 if METRICS[self.metric].task == "classification" else -np.inf
        return float(max(low, least)), float(min(high, METRICS[self.metric].offset))


def draw_counts(
    n_rows: int, n_draws: int, row_groups: np.ndarray | None, rng: np.random.RandomState
) -> Iterator[np.ndarray]:
    """How often each row is in bootstrap samples, in blocks of samples; groups of rows are drawn as a whole."""
    group = np.arange(n_rows) if row_groups is None else np.unique(row_groups, return_inverse=True)[1].ravel()
    n_groups = int(group.max()) + 1
    step = max(1, _BLOCK // n_rows)
    for start in range(0, n_draws, step):
        n = min(step, n_draws - start)
        drawn = np.stack([np.bincount(rng.randint(n_groups, size=n_groups), minlength=n_groups) for _ in range(n)])
        yield drawn[:, group].astype(float)


def bootstrap_scores(
    metric: Metric,
    y: np.ndarray,
    choose_losses: Chooser,
    *,
    judged: np.ndarray,
    n_draws: int,
    row_groups: np.ndarray | None,
    rng: np.random.RandomState,
    has_time: Callable[[], bool] = lambda: True,
) -> np.ndarray:
    r"""Score, on the rows left out, of what each bootstrap sample of the rows would have chosen.

    .. math:: s_b = s\big(\text{rows not in } b; \; \hat\jmath(\text{rows in } b)\big), \qquad b = 1..B

    with :math:`\hat\jmath` the whole choice (bootstrap bias-corrected cross-validation, Tsamardinos, Greasidou and
    Borboudakis 2018). Nothing is trained: predictions of all configurations for rows they had not seen are at hand.

    Parameters
    ----------
    metric : Metric
    y : ndarray
    choose_losses : function(scales, counts) -> ndarray of shape (n_samples, n_rows)
        Losses of all rows under what each sample chooses.
    judged : ndarray of bool of shape (n_rows,)
        Rows that may be scored: those by which no configuration was dropped.
    n_draws : int
    row_groups : ndarray or None
    rng : RandomState
    has_time : function() -> bool
        Asked after every block of samples, once there are 100: none is drawn any more where it says no.

    Returns
    -------
    ndarray of shape (n_draws,)
        Fewer where a sample leaves out too little to be scored, or where time was short.
    """
    scores, n_drawn = [], 0
    for counts in draw_counts(y.size, n_draws, row_groups, rng):
        losses = choose_losses(metric.scales(y, counts), counts)
        out = ((counts == 0) & judged[None, :]).astype(float)
        usable = _can_be_scored(metric, y, out)
        scales = metric.scales(y, out)
        scores.append(metric.score((scales * losses).sum(axis=1))[usable])
        n_drawn += len(counts)
        if n_drawn >= _FEWEST_DRAWS and not has_time():
            break
    return np.concatenate(scores)


def seconds_of_fewest(metric: Metric, y: np.ndarray, choose_losses: Chooser, n_draws: int) -> float:
    """Seconds that as many bootstrap samples take as are drawn however little time there is, told from two."""
    given = {"judged": np.ones(y.size, dtype=bool), "n_draws": _TIMED_DRAWS, "row_groups": None}
    started = time.perf_counter()
    bootstrap_scores(metric, y, choose_losses, **given, rng=np.random.RandomState(0))  # type: ignore[arg-type]
    return (time.perf_counter() - started) / _TIMED_DRAWS * min(n_draws, _FEWEST_DRAWS)


def _can_be_scored(metric: Metric, y: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Samples that leave out rows of every class, or rows whose target varies."""
    if metric.task == "classification" and metric.name != "accuracy":
        return np.asarray(np.all([out[:, y == code].any(axis=1) for code in np.unique(y)], axis=0))
    if metric.name == "r2":
        return np.asarray(out.sum(axis=1) > 2)
    return np.asarray(out.any(axis=1))


def summarize(
    metric: Metric, y: np.ndarray, scores: np.ndarray, *, naive: float, chance: float, confidence: float
) -> Estimate:
    r"""Mean and percentiles of bootstrap scores (Tsamardinos et al. 2018, Sec. 5).

    A sample leaves out a share of about 1/e of the rows. For one configuration, whatever is chosen, the variance of
    its score on these is :math:`e - 1` times that of its score on all rows, so that the percentiles are 1.3 times as
    far apart as independent losses would ask for. They stay so: losses of rows that models of overlapping training
    rows predict are not independent, and without that width the interval misses more often than it says.

    Scores of classes never have a narrower interval than Wilson's for the share of so many rows: where hardly a row is
    wrong, samples of the rows hardly differ, and yet the next hundred rows may hold a few that are. Rows count as
    independent there, whatever groups they are in.

    Parameters
    ----------
    metric : Metric
    y : ndarray
        Of the rows behind the scores.
    scores : ndarray
    naive, chance, confidence : float
    """
    low, high = np.quantile(scores, [(1 - confidence) / 2, (1 + confidence) / 2]) if scores.size else (np.nan, np.nan)
    value = float(scores.mean()) if scores.size else float("nan")
    if metric.task == "classification":
        n_effective = 1.0 / float((metric.scales(y, np.ones((1, y.size))) ** 2).sum())
        least, most = _wilson_interval(value, n_effective, confidence)
        low, high = np.minimum(low, least), np.maximum(high, most)
    return Estimate(metric.name, value, float(low), float(high), float(naive), float(chance), int(y.size))


def _wilson_interval(share: float, n_rows: float, confidence: float) -> tuple[float, float]:
    """Wilson's interval (1927) for a share of so many rows."""
    z = float(norm.ppf((1 + confidence) / 2))
    center = (share + z**2 / (2 * n_rows)) / (1 + z**2 / n_rows)
    half = z / (1 + z**2 / n_rows) * np.sqrt(max(share * (1 - share), 0.0) / n_rows + z**2 / (4 * n_rows**2))
    return float(center - half), float(center + half)
