"""Signal-to-noise ratio: weights of an input against those of an input that is pure noise."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranking, interrupt, interruption, track
from tamis.rank.neural._supervised import NetworkRanker, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Training


class SignalToNoise(NetworkRanker):
    r"""Rank features by their weights in a network, against those of a noise input that is trained along with them.

    .. math:: S_j = 10 \log_{10} \frac{\sum_k w_{jk}^2}{\sum_k w_{Nk}^2}

    with :math:`w_{jk}` the weight from input j to the k-th unit of the first layer and N an input of uniform noise
    (Bauer, Alsing and Greene 2000), averaged over several draws of the noise.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that are ranked.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    n_draws : int, default=5
        Noise inputs, each with a network of its own.
    threshold : "noise", float or None, default="noise"
        Features at or below it, in decibels, are not ranked: "noise" is the noise input that got the largest weights of
        all draws, 0 the average one, None ranks every feature.
    tol : float, default=0.0001
        Of each training, as for FQI.
    hidden_units, alpha, max_iter, max_samples, task, standardize, device, random_state : as for FQI
        The network, its weight decay, its training, and how many rows it is trained on.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Ratios in decibels, 0 being the average noise; NaN for constant columns.
    threshold_ : float
        What features had to exceed to be ranked.
    n_iter_ : int
        Iterations of all trainings.
    order_, ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` (of the first).

    Notes
    -----
    Cost: ``n_draws`` trainings, each a few hundred passes over ``X``. An irrelevant feature exceeds the largest of m
    noise inputs about once in m + 1 times: raise ``n_draws`` where there are many features, or judge with
    :class:`tamis.stop.MonteCarloProbe`.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Copies of a column enter once and share its
    score; constant columns never enter.

    Deviations: the paper draws the noise once and leaves the cut to the reader; one draw varies by several decibels.
    The noise has the spread of the other inputs. A little weight decay is on by default (``alpha=0`` is the original).

    References
    ----------
    Bauer, Alsing and Greene, "Feature screening using signal-to-noise ratios", Neurocomputing 31, 2000. Doquet,
    "Agnostic feature selection", PhD thesis, 2019, Sec. 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SignalToNoise
    >>> X = np.random.RandomState(0).standard_normal((200, 8))
    >>> y = np.tanh(2 * X[:, 1]) + X[:, 3] * X[:, 6]
    >>> SignalToNoise(stop=3, random_state=0).fit(X, y).get_feature_names_out()
    array(['x1', 'x3', 'x6'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = NetworkRanker.provides | {"own_choice"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **NetworkRanker._parameter_constraints,
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "threshold": [StrOptions({"noise"}), Real, None],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        n_draws: int = 5,
        threshold: str | float | None = "noise",
        hidden_units: tuple[int, ...] = (10,),
        alpha: float = 1e-2,
        max_iter: int = 2000,
        tol: float = 1e-4,
        max_samples: int | None = 5000,
        task: str = "auto",
        standardize: bool = True,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.n_draws = n_draws
        self.threshold = threshold
        self.hidden_units = hidden_units
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.max_samples = max_samples
        self.task = task
        self.standardize = standardize
        self.device = device
        self.random_state = random_state

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        trainings: list[Training] = []
        power: list[np.ndarray] = []
        watched = track(self, range(self.n_draws), task_name="noise", total=self.n_draws, has_nested=True)
        try:
            for _ in watched:
                noisy = add_noise(task, rng)
                network = self._start(noisy)
                trainings.append(self._train_from_start(network, noisy))
                if interruption(self) and power:  # a network that was not trained to the end counts only where alone
                    break
                power.append(network.layers[0][0].square().sum(dim=1).cpu().numpy())
        except KeyboardInterrupt:
            interrupt(watched)
        decibels = 10.0 * np.log10(np.maximum(power, np.finfo(float).tiny))
        signal, noise = decibels[:, :-1].mean(axis=0), decibels[:, -1]
        ranking = Ranking.from_scores(task.inputs.share(signal - noise.mean()))
        self.threshold_ = self._limit(noise)
        order = ranking.order[ranking.scores[ranking.order] > self.threshold_]
        certificate = self._certify(trainings)
        reason = self._reason(order.size, ranking.scores.size)
        return Ranking(order, ranking.scores, certificate=certificate, n_chosen=order.size, reason=reason)

    def _limit(self, noise: np.ndarray) -> float:
        """Ratio, in decibels, at or below which features are not ranked."""
        if self.threshold is None:
            return -np.inf
        return float(noise.max() - noise.mean()) if isinstance(self.threshold, str) else float(self.threshold)

    def _reason(self, n_ranked: int, n_features: int) -> str:
        if self.threshold is None:
            return f"all {n_ranked} features, as asked"
        against = "the strongest noise input" if isinstance(self.threshold, str) else "the threshold"
        return f"{n_ranked} of {n_features} features exceed {against} ({self.threshold_:.2g} dB)"


def add_noise(task: Task, rng: np.random.RandomState) -> Task:
    """The inputs and, after them, one of uniform noise that has their spread."""
    from torch import cat, from_numpy

    noise, weight = rng.uniform(size=len(task.Z)), task.sample_weight
    noise -= np.average(noise, weights=weight)
    spread2 = np.average(np.square(task.inputs.table).mean(axis=1), weights=weight)
    noise *= np.sqrt(spread2 / np.average(np.square(noise), weights=weight))
    return task.with_inputs(cat([task.Z, from_numpy(noise)[:, None].to(task.Z.device)], dim=1))
