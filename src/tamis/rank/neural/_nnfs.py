"""NNFS: a network whose small weights decay away, and whose least useful inputs are removed one by one."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.base import Candidates
from tamis.rank.neural._penalties import saturating_decay, saturating_decay_gradient
from tamis.rank.neural._supervised import EliminationRanker, NetworkElimination, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training


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
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    eps1 : float, default=0.001
        Weight of the saturating term, which drives small weights to zero and leaves large ones alone.
    eps2 : float, default=0.005
        Weight of the squares, which keeps weights from growing.
    beta : float, default=10.0
        How soon the first term saturates: it is half its limit at a weight of :math:`1 / \sqrt{\beta}`.
    step : int or float, default=1
        Inputs to remove at a time, or the fraction of those that remain.
    tol : float, default=0.0001
        Of each training, as for FQI.
    hidden_units, max_iter, task, standardize, device, random_state : as for FQI
        The network and its training.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        What leaving a feature out cost when it was its turn; NaN for constant columns, which are not ranked.
    path_ : tuple of Step
        Best feature first; ``info`` holds the loss with all ``n_inputs`` that remained then.
    n_iter_ : int
        Iterations of all trainings.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` (of the first).

    Notes
    -----
    Cost: one training and D shorter ones, on ever fewer inputs; each round tries all inputs at once. With thousands of
    features let ``step`` be a fraction.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Constant columns never enter, copies of a column
    are removed first, at no cost.

    Deviations: the paper ranks by accuracy, which ties often, and adapts the penalties input by input; here the loss
    decides and the penalties stay. Its loss is a sum over the samples, ours a mean, and the weights of the penalties go
    with it. It ends where accuracy on held-out rows has dropped too far, for which there is
    ``stop=CrossValidation(...)``.

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

    _parameter_constraints: ClassVar[dict] = {
        **EliminationRanker._parameter_constraints,
        "eps1": [Interval(Real, 0, None, closed="left")],
        "eps2": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
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
        step: float = 1,
        hidden_units: tuple[int, ...] = (10,),
        max_iter: int = 2000,
        tol: float = 1e-4,
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
        self.hidden_units = hidden_units
        self.max_iter = max_iter
        self.tol = tol
        self.task = task
        self.standardize = standardize
        self.device = device
        self.random_state = random_state

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> NetworkElimination:
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        network = self._start(task)
        trainings = [self._fit_network(network, task)]
        return NetworkElimination(network, task, np.arange(task.Z.shape[1]), trainings, self._fit_network)

    def _fit_network(self, network: Perceptron, task: Task) -> Training:
        from tamis.rank.neural._network import train

        is_weight, constants = network.is_weight(), (self.eps1, self.eps2, self.beta)

        def objective() -> tuple[Any, Any]:
            loss, gradient = network.loss_and_gradient(task.Z, task.target)
            weights = is_weight * network.theta
            decay_gradient = saturating_decay_gradient(weights, *constants)
            return loss + saturating_decay(weights, *constants), gradient + decay_gradient

        return train(network, objective, max_iter=self.max_iter, tol=self.tol, ticks=self._epochs())
