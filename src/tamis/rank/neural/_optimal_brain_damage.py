"""Optimal brain damage: weights that matter least are pruned, and inputs ranked by how long they keep one."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.base import Ranking, track
from tamis.rank.neural._supervised import BackwardRanker, Departure, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training


class OptimalBrainDamage(BackwardRanker):
    r"""Rank features by how long they keep a connection to a network whose least salient weights are pruned.

    .. math:: s_i = \frac{1}{2} h_{ii} w_i^2, \qquad h_{ii} = \frac{\partial^2 T}{\partial w_i^2}

    is what deleting the weight :math:`w_i` adds to the objective T, to second order and at its minimum (LeCun, Denker
    and Solla 1990; Doquet 2019, Eq. 3.13). The weights of least :math:`s_i` are deleted, the network is trained again,
    and so on; an input dies with its last weight, and the last to die is the best.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps half.
    step : int or float, default=0.2
        Weights to delete at a time, or the fraction of those left.
    tol : float, default=0.0001
        Of each training, as for FQI.
    hidden_units, alpha, max_iter, task, standardize, device, random_state : as for FQI
        The network, its weight decay and its training.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Saliency of a feature's last weights when they were deleted; NaN for constant columns, which are not ranked.
    path_ : tuple of Step
        Best feature first; ``info`` holds ``n_weights``, how many the network had then.
    n_iter_ : int
        Iterations of all trainings.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` (of the first).

    Notes
    -----
    Weights of all layers are pruned, biases are not. T is the loss with weight decay. The diagonal of its Hessian is
    exact, where the paper's backward pass leaves out what two units do together: q^2 numbers per sample for q units in
    a layer, in blocks of rows. Off the minimum a curvature may be negative; such weights go first.

    Cost: one training and, with the default, a shorter one for every fifth of the weights. Inputs that die in the same
    round are ranked by their saliency in it.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Constant columns never enter, copies of a column
    are left out first, at no cost.

    References
    ----------
    LeCun, Denker and Solla, "Optimal brain damage", NIPS 2, 1990. Lal, Chapelle, Weston and Elisseeff, "Embedded
    methods", 2006, Sec. 2.3. Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OptimalBrainDamage
    >>> X = np.random.RandomState(0).standard_normal((200, 8))
    >>> y = np.tanh(2 * X[:, 1]) + X[:, 3] * X[:, 6]
    >>> OptimalBrainDamage(stop=3, random_state=0).fit(X, y).get_feature_names_out()
    array(['x1', 'x3', 'x6'], dtype=object)
    """

    def __init__(
        self,
        *,
        stop: Any = "auto",
        step: float = 0.2,
        hidden_units: tuple[int, ...] = (10,),
        alpha: float = 1e-2,
        max_iter: int = 2000,
        tol: float = 1e-4,
        task: str = "auto",
        standardize: bool = True,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.stop = stop
        self.step = step
        self.hidden_units = hidden_units
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.task = task
        self.standardize = standardize
        self.device = device
        self.random_state = random_state

    def _rank(self, X: np.ndarray, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        task = self._task(X, y, rng)
        network = self._start(task)
        trainings = [self._train(network, task)]
        departures = self._prune(network, task, trainings)
        return self._rank_departed(task, departures, trainings)

    def _prune(self, network: Perceptron, task: Task, trainings: list[Training]) -> list[Departure]:
        """Inputs in the order in which they die; ``network`` is already trained."""
        is_weight: np.ndarray = network.is_weight().cpu().numpy().astype(bool)
        left: np.ndarray = is_weight.copy()
        shape = network.layers[0][0].shape
        alive = np.arange(shape[0])
        departures: list[Departure] = []
        for _ in track(self, count(), task_name="prune"):
            saliency = np.where(left, self._saliency(network, task), 0.0)
            worth = saliency[: shape.numel()].reshape(shape).sum(axis=1)
            candidates = np.flatnonzero(left)
            deleted = candidates[np.argsort(saliency[candidates], kind="stable")[: self._batch(candidates.size)]]
            left[deleted] = False
            network.theta[deleted] = 0.0
            connected = np.flatnonzero(left[: shape.numel()].reshape(shape).any(axis=1))
            dead, alive = np.setdiff1d(alive, connected), connected
            last = alive if alive.size <= 1 else alive[:0]  # the one that is left has won
            info = {"n_weights": candidates.size}
            for group in (dead, last):
                departures += [(int(j), float(worth[j]), info) for j in group[np.argsort(worth[group], kind="stable")]]
            if alive.size <= 1:
                return departures
            trainings.append(self._train(network, task, left | ~is_weight))
        rest = alive[np.argsort(worth[alive], kind="stable")]  # a callback has ended the pruning
        return departures + [(int(j), float(worth[j]), {}) for j in rest]

    def _saliency(self, network: Perceptron, task: Task) -> Any:
        """What deleting each weight adds to the objective."""
        from tamis.rank.neural._network import curvature

        bend = curvature(network, task.Z, task.goal) + self.alpha
        return (0.5 * bend * network.theta.square()).cpu().numpy()
