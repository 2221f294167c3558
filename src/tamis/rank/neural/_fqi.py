"""FQI: how much the outputs of a network change when an input is replaced by its mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.base import Candidates, Ranking
from tamis.rank.neural._supervised import NetworkRanker


class FQI(NetworkRanker):
    r"""Rank features by how much a network's outputs change when they are held at their mean.

    .. math:: S_j = \frac{1}{n} \sum_i \| f(x_i) - f(x_i^{(j)}) \|^2

    where :math:`x^{(j)}` is x with its j-th entry replaced by the mean of that column: the feature quality index of De,
    Pal and Pal (1997). f gives the probabilities of the classes, or the standardized quantity.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    hidden_units : tuple of int, default=(10,)
        Units of every hidden layer, all of them tanh; an empty tuple gives a linear model.
    alpha : float, default=0.01
        Weight decay: :math:`\frac{\alpha}{2}` times the sum of the squared weights, biases left out, is added to the
        mean loss.
    max_iter : int, default=2000
        Iterations of a training, at most.
    tol : float, default=1e-5
        Training ends when an iteration lowers the objective by less. The loss of the best constant is about 1.
    max_samples : int or None, default=5000
        Rows that the network is trained on at most: of more, so many are drawn at random, once for all trainings, and
        the reason says so. None takes all.
    task : {"auto", "regression", "classification"}, default="auto"
        Cross-entropy for classes, squared error of the standardized target for a quantity.
    standardize : bool, default=True
        Bring columns to unit variance, so that units do not matter. They are centered in any case.
    device : str, default="auto"
        Where the network is trained: the GPU if there is one, or any name of torch's.
    random_state : int, RandomState or None, default=None
        Where the weights start.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Feature quality indices; NaN for constant columns, which are not ranked.
    n_iter_ : int
        Iterations of all trainings.
    order_, ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` of the training.

    Notes
    -----
    Cost: a few hundred passes over ``X`` for the training (L-BFGS on all rows, in double precision), or over the
    products of rows where there are more than twice as many columns, with the same weights; then one pass that tries
    all inputs, a block at a time. Beyond ``max_samples`` rows it no longer grows with their number. The index
    looks at one feature at a time: of two that say nearly the same, each gets the part of the score that the network
    leaves to it. With thousands of columns the default rule, which trains twenty networks on twice as many, takes
    half a minute of one processor (500 rows, 20 000 columns: a second or two a draw); a number as ``stop`` trains
    one.

    A column's first weights are random combinations of its own values, so that neither the order of the columns nor
    their signs matter (that of the rows does, as another seed would). Copies of a column enter once and share its
    score; constant columns never enter.

    Deviations: the original holds a feature at zero, which is its mean here; a little weight decay by default keeps the
    weights finite where the classes can be told apart without error (``alpha=0`` is the original).

    References
    ----------
    De, Pal and Pal, "Feature analysis: neural network and fuzzy set theoretic approaches", Pattern Recognition 30,
    1997. Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 3.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FQI
    >>> X = np.random.RandomState(0).standard_normal((200, 8))
    >>> y = np.tanh(2 * X[:, 1]) + X[:, 3] * X[:, 6]
    >>> FQI(stop=3, random_state=0).fit(X, y).get_feature_names_out()
    array(['x1', 'x3', 'x6'], dtype=object)
    """

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        hidden_units: tuple[int, ...] = (10,),
        alpha: float = 1e-2,
        max_iter: int = 2000,
        tol: float = 1e-5,
        max_samples: int | None = 5000,
        task: str = "auto",
        standardize: bool = True,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
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
        from tamis.rank.neural._network import changes_without

        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        network = self._start(task)
        training = self._train_from_start(network, task)
        quality = changes_without(network, task.Z, task.target)
        ranking = Ranking.from_scores(task.inputs.share(quality))
        return Ranking(ranking.order, ranking.scores, certificate=self._certify([training]))
