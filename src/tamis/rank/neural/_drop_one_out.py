"""Drop-one-out: inputs that survive a sparse penalty, ranked by what the network loses without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.base import Candidates, Elimination, Ranking, Step
from tamis.rank.neural._penalties import sparse_group_lasso, sparse_group_lasso_step
from tamis.rank.neural._supervised import EliminationRanker, NetworkElimination, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training


class DropOneOut(EliminationRanker):
    r"""Rank features by what a network with sparse first weights loses when one of them is dropped.

    .. math:: \min_W L(W) + \lambda \sum_j \big( (1 - \rho) \sqrt{q} \|w_j\|_2 + \rho \|w_j\|_1 \big)
              + \frac{\alpha}{2} \|W_{2\dots}\|^2, \qquad S_j = L(W \text{ with } w_j = 0) - L(W)

    where :math:`w_j` holds the q weights from input j to the first layer, under the sparse-group lasso of Simon et al.
    (2013), and L is the mean loss (Ye and Sun 2018). Inputs whose weights are all zero drop out; of the others the one
    with the least :math:`S_j` is removed, the network trained again, and so on.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all that survive the penalty.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    sparsity : float, default=0.02
        :math:`\lambda`: the larger, the fewer inputs survive.
    l1_ratio : float, default=0.1
        :math:`\rho`: share of the lasso; 0 is the group lasso.
    step : int or float, default=1
        Inputs to remove at a time, or the fraction of those that remain.
    alpha : float, default=0.01
        Decay of the weights after the first layer: without it they would grow to make up for those.
    tol : float, default=0.0001
        A training ends when the last ten objectives differ by less.
    hidden_units, max_iter, max_samples, task, standardize, device, random_state : as for FQI
        The network, its training, and how many rows it is trained on.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        What dropping a feature cost when it was its turn; 0 where the penalty dropped it, which is then not ranked, and
        NaN for constant columns.
    path_ : tuple of Step
        Best feature first; ``info`` holds the loss with all ``n_inputs`` that remained then.
    n_iter_ : int
        Iterations of all trainings.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` (of the penalized training on all inputs).

    Notes
    -----
    The network is first trained with weight decay alone, then by proximal gradient steps under the penalty: from a
    random start the penalty would drop inputs before the network knows what they are good for. Zeros are exact. Cost: a
    few hundred passes over ``X``, then a training for each input that survives.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Constant columns never enter, copies of a
    surviving column are removed first, at no cost.

    Deviations: as the thesis describes it, elimination ends once leaving a feature out changes too much; here it goes
    on to the last, and a stopping rule may cut the order. Training is by proximal steps, so that zeros are exact.

    References
    ----------
    Ye and Sun, "Variable selection via penalized neural network: a drop-out-one loss approach", ICML 2018. Simon,
    Friedman, Hastie and Tibshirani, "A sparse-group lasso", JCGS 22, 2013. Doquet, "Agnostic feature selection", PhD
    thesis, 2019, Sec. 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import DropOneOut
    >>> X = np.random.RandomState(0).standard_normal((200, 8))
    >>> y = np.tanh(2 * X[:, 1]) + X[:, 3] * X[:, 6]
    >>> DropOneOut(stop=3, random_state=0).fit(X, y).get_feature_names_out()
    array(['x1', 'x3', 'x6'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = EliminationRanker.provides | {"own_choice"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **EliminationRanker._parameter_constraints,
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        sparsity: float = 0.02,
        l1_ratio: float = 0.1,
        step: float = 1,
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
        self.sparsity = sparsity
        self.l1_ratio = l1_ratio
        self.step = step
        self.hidden_units = hidden_units
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.max_samples = max_samples
        self.task = task
        self.standardize = standardize
        self.device = device
        self.random_state = random_state

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> NetworkElimination:
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        network = self._start(task)
        start = self._train_from_start(network, task)
        trainings = [self._fit_network(network, task), start]
        has_weight = np.flatnonzero(network.layers[0][0].abs().amax(dim=1).cpu().numpy() > 0)
        return NetworkElimination(network.keep_inputs(has_weight), task, has_weight, trainings, self._fit_network)

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        ranking = super()._conclude(elimination, path, n_candidates)
        reason = f"{ranking.order.size} of {n_candidates} features have weights that are not zero"
        return replace(ranking, n_chosen=ranking.order.size, reason=reason)

    def _fit_network(self, network: Perceptron, task: Task) -> Training:
        from tamis.rank.neural._network import train_proximal

        shape = network.layers[0][0].shape
        n_top = shape.numel()

        def penalty(theta: Any) -> Any:
            return sparse_group_lasso(theta[:n_top].view(shape), self.sparsity, self.l1_ratio)

        def shrink(theta: Any, length: float) -> Any:
            first = theta[:n_top].view(shape)
            first.copy_(sparse_group_lasso_step(first, length, self.sparsity, self.l1_ratio))
            return theta

        return train_proximal(
            network,
            self._decayed(network, task, after=n_top),
            penalty,
            shrink,
            max_iter=self.max_iter,
            tol=self.tol,
            ticks=self._epochs(),
        )
