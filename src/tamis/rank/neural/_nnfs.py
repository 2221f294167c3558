"""NNFS: a network whose small weights decay away, and whose least useful inputs are removed one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tamis._sklearn import Interval, StrOptions
from tamis.base import STEP_CONSTRAINT, Candidates, Ranker, Ranking, StepSize, interruption, n_to_eliminate
from tamis.rank._validation import held_out_rows, one_standard_error
from tamis.rank.neural._penalties import saturating_decay, saturating_decay_gradient
from tamis.rank.neural._supervised import EliminationRanker, NetworkElimination, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training

_COARSE_STEP = 0.1  # share of the inputs that leave at a time while the number of inputs is looked for, and
_MANY = 1000  # beyond so many inputs


class NNFS(EliminationRanker):
    r"""Rank features by leaving out, again and again, the input that a penalized network misses least.

    .. math:: \min_W L(W) + \epsilon_1 \sum \frac{\beta w^2}{1 + \beta w^2} + \epsilon_2 \sum w^2, \qquad
              S_j = L(W \text{ with } w_j = 0) - L(W)

    Neural-network feature selector (Setiono and Liu 1997): L is the mean cross-entropy (squared error for a quantity),
    the sums run over all weights, and :math:`S_j` is the cost of holding input j at its mean when it was its turn to
    leave. The network is trained again, from where it is, after each.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" is the method's own choice: the fewest inputs whose loss on held-out rows is within one
        standard error of the lowest.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    eps1 : float, default=0.001
        Weight of the saturating term, which drives small weights to zero and leaves large ones alone.
    eps2 : float, default=0.005
        Weight of the squares, which keeps weights from growing.
    beta : float, default=10.0
        How soon the first term saturates: it is half its limit at a weight of :math:`1 / \sqrt{\beta}`.
    step : int, float or "auto", default="auto"
        Inputs to remove at a time, or the fraction of those that remain; "auto" removes a tenth at a time while there
        are more than 1000, then one.
    tol : float, default=0.0001
        Of each training, as for FQI.
    validation_fraction : float, default=0.2
        Share of the rows, of every class alike, that the method's own choice holds out; whole groups of rows where
        ``fit`` is given ``row_groups``.
    hidden_units, max_iter, max_samples, task, standardize, device, random_state : as for FQI
        The network, its training, and how many rows it is trained on.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        What leaving a feature out cost when it was its turn; NaN for constant columns, which are not ranked.
    path_ : tuple of Step
        Best feature first; ``info`` holds the loss with all ``n_inputs`` that remained then and, where the method
        chose how many, ``held_out_loss``, that on held-out rows with so many inputs.
    n_chosen_ : int or None
        How many features the method itself chose; None where it was told how many.
    n_iter_ : int
        Iterations of all trainings on all rows.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` (of the first).

    Notes
    -----
    Cost: one training and a shorter one per round, on ever fewer inputs; each round tries all inputs at once. Beyond
    1000 inputs the default removes a tenth of them at a time: 20 000 of them, one at a time (``step=1``), take far
    more than a minute. For its own choice the method ranks on all rows, and eliminates once more on those that are
    not held out, where a tenth of the inputs leaves at a time if ``step`` is 1 or "auto". With 500 rows of 20 000
    columns both together take more than half a minute of a processor; callbacks are told of every round.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Constant columns never enter, copies of a column
    are removed first, at no cost.

    Deviations: the paper ranks by accuracy, which ties often, and adapts the penalties input by input; here the loss
    decides and the penalties stay. Its loss is a sum over the samples, ours a mean, and the weights of the penalties go
    with it. It ends where accuracy on held-out rows has dropped by more than a margin that the user gives; here that
    margin is the standard error of the loss on held-out rows, no input at all is a choice too, and the order comes from
    all rows. Beyond 1000 inputs more than one leaves at a time. With few rows few are held out and their standard error
    is large, so that little is kept; ``stop=CrossValidation(...)`` and ``stop=MonteCarloProbe(n_draws=19)`` make more
    of the rows, in far more time.

    References
    ----------
    Setiono and Liu, "Neural-network feature selector", IEEE Transactions on Neural Networks 8, 1997. Doquet, "Agnostic
    feature selection", PhD thesis, 2019, Sec. 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import NNFS
    >>> X = np.random.RandomState(0).standard_normal((200, 8))
    >>> y = np.tanh(2 * X[:, 1]) + X[:, 3] * X[:, 6]
    >>> NNFS(stop=3, random_state=0).fit(X, y).get_feature_names_out()
    array(['x1', 'x3', 'x6'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = EliminationRanker.provides | {"own_choice"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **EliminationRanker._parameter_constraints,
        "step": [*STEP_CONSTRAINT, StrOptions({"auto"})],
        "eps1": [Interval(Real, 0, None, closed="left")],
        "eps2": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="neither")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        eps1: float = 1e-3,
        eps2: float = 5e-3,
        beta: float = 10.0,
        step: float | str = "auto",
        validation_fraction: float = 0.2,
        hidden_units: tuple[int, ...] = (10,),
        max_iter: int = 2000,
        tol: float = 1e-4,
        max_samples: int | None = 5000,
        task: str = "auto",
        standardize: bool = True,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.eps1 = eps1
        self.eps2 = eps2
        self.beta = beta
        self.step = step
        self.validation_fraction = validation_fraction
        self.hidden_units = hidden_units
        self.max_iter = max_iter
        self.tol = tol
        self.max_samples = max_samples
        self.task = task
        self.standardize = standardize
        self.device = device
        self.random_state = random_state

    def _n_tasks(self) -> int | None:
        """A training and an elimination; the same on fewer rows where the method chooses how many."""
        if self.min_features is not None or not self._stopping_rule().reads_ranking_only:
            return None
        return 4 if self._method_sets_size() else 2

    def for_draws(self) -> Ranker:
        """As for every elimination."""
        copy = super().for_draws()
        return copy.set_params(step=_COARSE_STEP) if self.step == "auto" else copy

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        ranking = super()._rank(candidates, y, rng)
        if not self._method_sets_size():
            return ranking
        held_out = None if interruption(self) else self._eliminate_on_fewer_rows(candidates, y, rng)
        if interruption(self) or held_out is None:
            why = "the elimination was ended before its time" if interruption(self) else "too few rows to hold some out"
            return replace(ranking, n_chosen=ranking.order.size, reason=f"all that are ranked, for {why}")
        return self._choose(ranking, held_out)

    def _eliminate_on_fewer_rows(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> HeldOutElimination | None:
        """An elimination that knows the losses of held-out rows with every number of inputs that it came through."""
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        values = task.target.values.cpu().numpy()
        codes = values.argmax(axis=1) if task.target.is_class else None
        rows = held_out_rows(self.validation_fraction, codes, candidates.row_groups, len(values), rng)
        if not 2 <= rows.size <= len(values) - 2:
            return None
        seen, unseen = task.take_rows(np.setdiff1d(np.arange(len(values)), rows)), task.take_rows(rows)
        network = self._start(seen)
        first = self._fit_network(network, seen)
        elimination = HeldOutElimination(network, seen, np.arange(seen.Z.shape[1]), [first], self._fit_network, unseen)
        elimination.keep = candidates.keep
        self._eliminate(elimination)
        return elimination

    def _choose(self, ranking: Ranking, held_out: HeldOutElimination) -> Ranking:
        """The ranking with the fewest inputs whose held-out loss is within one standard error of the lowest."""
        sizes = sorted(held_out.losses)
        losses = np.column_stack([held_out.losses[size] for size in sizes])
        mean, error, best, chosen = one_standard_error(losses, held_out.unseen.sample_weight)
        known = dict(zip(sizes, mean.tolist(), strict=True))
        path = []
        for step in ranking.path:
            loss = known.get(step.info.get("n_inputs", -1))
            path.append(step if loss is None else replace(step, info={**step.info, "held_out_loss": loss}))
        reason = (
            f"the fewest inputs whose loss on {len(losses)} held-out rows is within one standard error of the "
            f"lowest: {sizes[chosen]} ({mean[chosen]:.4g} against {mean[best]:.4g} +- {error[best]:.2g} with "
            f"{sizes[best]})"
        )
        return replace(ranking, path=tuple(path), n_chosen=sizes[chosen], reason=reason)

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> NetworkElimination:
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        network = self._start(task)
        trainings = [self._fit_network(network, task)]
        return InputElimination(network, task, np.arange(task.Z.shape[1]), trainings, self._fit_network)

    def _fit_network(self, network: Perceptron, task: Task) -> Training:
        from tamis.rank.neural._network import train

        is_weight, constants = network.is_weight(), (self.eps1, self.eps2, self.beta)

        def objective() -> tuple[Any, Any]:
            loss, gradient = network.loss_and_gradient(task.Z, task.target)
            weights = is_weight * network.theta
            decay_gradient = saturating_decay_gradient(weights, *constants)
            return loss + saturating_decay(weights, *constants), gradient + decay_gradient

        return train(network, objective, max_iter=self.max_iter, tol=self.tol, ticks=self._epochs())


class InputElimination(NetworkElimination):
    """An elimination whose step may be "auto": a tenth at a time while there are many inputs, then one."""

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """Inputs that leave now, the least useful first, and what to report of each."""
        return super().next_to_leave(_resolve(step, self.n_remaining))

    def n_rounds(self, step: StepSize) -> int | None:
        """Rounds to come."""
        n_rounds, n_left = 0, self.n_remaining
        while n_left > 0:
            n_left -= n_to_eliminate(_resolve(step, n_left), n_left)
            n_rounds += 1
        return n_rounds


class HeldOutElimination(NetworkElimination):
    """An elimination that records the loss of held-out rows, round after round; a tenth leaves where one would.

    Parameters
    ----------
    network, task, places, trainings, train
        As for :class:`NetworkElimination`.
    unseen : Task
        The held-out rows.

    Attributes
    ----------
    losses : dict
        Number of inputs -> loss of every held-out row; 0 is what the target alone predicts.
    """

    def __init__(
        self,
        network: Perceptron,
        task: Task,
        places: np.ndarray,
        trainings: list[Training],
        train: Callable[..., Training],
        unseen: Task,
    ) -> None:
        super().__init__(network, task, places, trainings, train)
        self.unseen = unseen
        constant = task.target.constant_outputs().expand(len(unseen.Z), -1)
        self.losses = {0: unseen.target.losses(constant).cpu().numpy()}

    def train(self) -> bool:
        """Train from the weights as they are, and see how the held-out rows fare."""
        super().train()
        outputs = self.network(self.unseen.Z[:, self.places])
        self.losses[self.places.size] = self.unseen.target.losses(outputs).cpu().numpy()
        return True

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """Inputs that leave now, the least useful first, and what to report of each."""
        return super().next_to_leave(_coarser(step))

    def n_rounds(self, step: StepSize) -> int | None:
        """Rounds to come."""
        return super().n_rounds(_coarser(step))


def _resolve(step: StepSize, n_inputs: int) -> StepSize:
    """What "auto" stands for with so many inputs."""
    if step == "auto":
        return _COARSE_STEP if n_inputs > _MANY else 1
    return step


def _coarser(step: StepSize) -> StepSize:
    return _COARSE_STEP if step in (1, "auto") else step
