"""Deep feature selection: a network behind one factor per input, most of which are exactly zero."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tamis._sklearn import Interval
from tamis.base import Candidates, Ranking
from tamis.rank.neural._penalties import elastic_net, elastic_net_step
from tamis.rank.neural._supervised import NetworkRanker, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training

_SHARES = (0.1, 1.0)  # of the penalty, one training after another


class DeepFeatureSelection(NetworkRanker):
    r"""Rank features by the factor with which a sparse one-to-one layer lets them into a network.

    .. math:: \min_{w, W} L(f_W(w \odot x)) + \lambda \Big( \frac{1 - \rho}{2} \|w\|_2^2 + \rho \|w\|_1 \Big)
              + \frac{\alpha}{2} \|W\|^2, \qquad S_j = |w_j|

    (Li, Chen and Wasserman 2016): w holds one factor per input, under an elastic net, W the weights of the network
    behind them, and L is the mean cross-entropy or squared error.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps all whose factor is not zero.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    sparsity : float, default=0.03
        :math:`\lambda`: the larger, the more factors are zero.
    l1_ratio : float, default=0.9
        :math:`\rho`: share of the lasso in the elastic net; 0 gives no zeros.
    tol : float, default=0.0001
        Training ends when the last ten objectives differ by less.
    hidden_units, alpha, max_iter, max_samples, task, standardize, device, random_state : as for FQI
        The network, its weight decay, its training, and how many rows it is trained on.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Absolute factors; features whose factor is exactly 0 are not ranked, nor are constant columns, whose score is
        NaN.
    n_iter_ : int
        Iterations of all trainings.
    order_, ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` (of the last training).

    Notes
    -----
    The network is first trained with all factors at 1, then together with them by proximal gradient steps, under a
    tenth of the penalty and under all of it: at once it would drop inputs before the network knows what they are good
    for. Zeros are exact. Cost: hundreds to a few thousand passes over ``X``, of which callbacks are told one by one
    (500 rows, 20 000 columns: about a minute of one processor). The default rule needs no further training;
    :class:`tamis.stop.MonteCarloProbe` trains once more for every draw.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Copies of a column enter once and share its
    score; constant columns never enter.

    Deviations: the paper trains by gradient descent and puts an elastic net on the weights W also; here these decay
    without its l1 part. The thesis calls the penalty a sparse-group lasso; it is the elastic net.

    References
    ----------
    Li, Chen and Wasserman, "Deep feature selection: theory and application to identify enhancers and promoters",
    Journal of Computational Biology 23, 2016. Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import DeepFeatureSelection
    >>> X = np.random.RandomState(0).standard_normal((200, 8))
    >>> y = np.tanh(2 * X[:, 1]) + X[:, 3] * X[:, 6]
    >>> DeepFeatureSelection(random_state=0).fit(X, y).get_feature_names_out()
    array(['x1', 'x3', 'x6'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = NetworkRanker.provides | {"own_choice"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("own-choice", {})

    _parameter_constraints: ClassVar[dict] = {
        **NetworkRanker._parameter_constraints,
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
        sparsity: float = 0.03,
        l1_ratio: float = 0.9,
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
        network = self._start(task, one_to_one=True)
        n_weights = network.theta.numel() - task.Z.shape[1]
        trainings = [self._train_from_start(network, task)]
        task = task.with_inputs(task.Z.contiguous())  # row after row, which a pass over a wide table is faster with
        trainings += [self._train_sparse(network, task, n_weights, share) for share in _SHARES]
        ranking = Ranking.from_scores(task.inputs.share(network.theta[n_weights:].abs().cpu().numpy()))
        order = ranking.order[ranking.scores[ranking.order] > 0]
        reason = f"{order.size} of {ranking.scores.size} features have a factor that is not zero"
        certificate = self._certify(trainings[::-1])
        return Ranking(order, ranking.scores, certificate=certificate, n_chosen=order.size, reason=reason)

    def _train_sparse(self, network: Perceptron, task: Task, n_weights: int, share: float) -> Training:
        """Train weights and factors, from where they are, under a share of the penalty and as much less precisely."""
        from tamis.rank.neural._network import train_proximal

        sparsity = share * self.sparsity

        def penalty(theta: Any) -> Any:
            return elastic_net(theta[n_weights:], sparsity, self.l1_ratio)

        def shrink(theta: Any, length: float) -> Any:
            factors = theta[n_weights:]
            factors.copy_(elastic_net_step(factors, length, sparsity, self.l1_ratio))
            return theta

        return train_proximal(
            network,
            self._decayed(network, task),
            penalty,
            shrink,
            max_iter=self.max_iter,
            tol=self.tol / share,
            ticks=self._epochs(),
        )
