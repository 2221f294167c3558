"""Optimal brain damage: weights that matter least are pruned, and inputs ranked by how long they keep one."""

from __future__ import annotations

import warnings
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import HasMethods
from tamis.base import Ranking, Step, track
from tamis.base._elimination import count_rounds, countdown
from tamis.kernels.arrays.columns import as_columns, to_numpy
from tamis.kernels.arrays.copies import order_columns
from tamis.kernels.arrays.scaling import ldexp_columns, overflow_exponents, standardize_columns
from tamis.rank.backward._linear_saliency import check_known, saliency_of
from tamis.rank.model._model_derivatives import fit_quietly
from tamis.rank.neural._supervised import BackwardRanker, Departure, Task

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training


_CLOSE = 1e-9  # saliencies that differ by less, relatively, are the same


class OptimalBrainDamage(BackwardRanker):
    r"""Rank features by how long they keep a weight in a model whose least salient weights are pruned.

    .. math:: s_i = \frac{1}{2} h_{ii} w_i^2, \qquad h_{ii} = \frac{\partial^2 T}{\partial w_i^2}

    is what deleting the weight :math:`w_i` adds to the objective T, to second order and at its minimum (LeCun, Denker
    and Solla 1990; Doquet 2019, Eq. 3.13). The weights of least :math:`s_i` are deleted, the model is trained again,
    and so on; an input dies with its last weight, and the last to die is the best. The model is a network, or a linear
    or generalized linear one (Lal et al. 2006, Sec. 2.3), where a feature is an input.

    Parameters
    ----------
    estimator : scikit-learn model or None, default=None
        None is a network, which needs torch. Else an unfitted LinearRegression, Ridge, RidgeClassifier, Lasso,
        ElasticNet, LogisticRegression, LinearSVC (squared hinge), PoissonRegressor, GammaRegressor or TweedieRegressor,
        which needs none; sparse tables are welcome then.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps half.
    step : int, float or "halving", default=0.2
        Weights of the network, or inputs of the estimator, to delete at a time: a count, a fraction of those left, or
        down to the next power of two.
    standardize : bool, default=True
        Center the columns and scale them to unit variance first; sparse ones are only scaled.
    tol : float, default=0.0001
        Of each training of the network, as for FQI.
    hidden_units, alpha, max_iter, task, device : as for FQI
        The network, its weight decay and its training; an estimator brings its own.
    random_state : int, RandomState or None, default=None
        Of the network, or of an estimator that has none itself.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Saliency of a feature's last weights when they were deleted; NaN for constant columns, which are not ranked.
    path_ : tuple of Step
        Best feature first; ``info`` holds ``n_weights``, how many the network had then, or ``n_features``.
    n_iter_ : int
        Iterations of all trainings; one for each that is solved directly.
    order_, ranking_, support_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and, of the network, ``objective`` (of the first).

    Notes
    -----
    An estimator's objective is T = (sum over the rows of its loss) + (decay / 2) :math:`\|w\|^2`, up to a factor that
    no ranking depends on, the loss being half the squared error, the log loss, the squared hinge or half the deviance.
    With several classes :math:`s_i` is summed over them, the Hessian of the softmax being taken at its diagonal. For
    least squares and ridge the second order is all there is: :math:`s_i = (\|x_i\|^2 + \text{decay}) w_i^2 / 2` is
    exactly what T rises by. Cost, beside the trainings: one pass over the table in each round. Intercepts stay. An l1
    penalty is straight between the weight and zero, and so adds nothing.

    Of the network: weights of all layers are pruned, biases are not. T is the loss with weight decay. The diagonal of
    its Hessian is exact, where the paper's backward pass leaves out what two units do together: q^2 numbers per sample
    for q units in a layer, in blocks of rows. Off the minimum a curvature may be negative; such weights go first.

    Cost: one training and, with the default, a shorter one for every fifth of the weights. Inputs that die in the same
    round are ranked by their saliency in it, with an estimator too.

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
    >>> from sklearn.linear_model import Ridge
    >>> OptimalBrainDamage(Ridge(), stop=1).fit(X, y).get_feature_names_out()
    array(['x1'], dtype=object)
    """

    step: Any

    _parameter_constraints: ClassVar[dict] = {
        **BackwardRanker._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        stop: Any = "auto",
        step: float | str = 0.2,
        hidden_units: tuple[int, ...] = (10,),
        alpha: float = 1e-2,
        max_iter: int = 2000,
        tol: float = 1e-4,
        task: str = "auto",
        standardize: bool = True,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
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

    @property
    def accepts(self) -> frozenset[str]:  # type: ignore[override]
        """Sparse tables, where there is an estimator."""
        return frozenset() if self.estimator is None else frozenset({"sparse"})

    def _rank(self, X: Any, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        if self.estimator is not None:
            return self._rank_by_estimator(X, np.asarray(y), rng)
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

    def _rank_by_estimator(self, X: Any, y: np.ndarray, rng: np.random.RandomState) -> Ranking:
        """Inputs of a linear model in the order in which they are deleted, the last one first."""
        check_known(self.estimator)
        Z, inputs, copies = self._table(X)
        if not inputs.size:
            raise ValueError("every column of X is constant, up to rounding: there is nothing to rank")
        model = clone(self.estimator)
        if model.get_params().get("random_state", 0) is None:
            model.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        departed = [Step(int(copy), 0.0, {"copy": True}) for copy in copies[::-1]]
        trainings: list[tuple[int, bool]] = []
        saliency, n_rounds = np.full(Z.shape[1], np.nan), count_rounds(self.step, inputs.size)
        for n_left in track(self, countdown(self.step, inputs.size), task_name="prune", total=n_rounds):
            trainings.append(fit_quietly(model, Z[:, inputs], y))
            saliency[:] = np.nan
            saliency[inputs] = saliency_of(model, Z[:, inputs], y)
            leaving = Ranking.from_scores(saliency, rounding=_CLOSE).order[::-1][: self._batch(n_left)]
            departed += [Step(int(j), float(saliency[j]), {"n_features": n_left}) for j in leaving]
            inputs = inputs[~np.isin(inputs, leaving)]
        saliency[leaving] = np.nan
        rest = Ranking.from_scores(saliency).order[::-1]  # there are some if a callback has ended the pruning
        departed += [Step(int(j), float(saliency[j]), {}) for j in rest]
        order = np.array([step.feature for step in departed[::-1]], dtype=np.int64)
        scores = np.full(Z.shape[1], np.nan)
        scores[order] = [step.criterion for step in departed[::-1]]
        return Ranking(order, scores, tuple(departed[::-1]), self._certify_fits(trainings))

    def _table(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """What the estimator sees: the table, its distinct columns that vary, ordered by their values, and copies."""
        X = X.astype(float)
        Z = ldexp_columns(X, overflow_exponents(X)) if self.standardize else X
        varies = np.flatnonzero(to_numpy(as_columns(Z).norm2) > 0)
        inputs = varies[order_columns(Z[:, varies])]
        Z = standardize_columns(Z) if self.standardize else Z
        return Z.tocsc() if sparse.issparse(Z) else Z, inputs, np.setdiff1d(varies, inputs)

    def _certify_fits(self, trainings: list[tuple[int, bool]]) -> dict[str, Any]:
        """How the estimator's trainings went; a warning if one of them was cut short."""
        short = sum(not converged for _, converged in trainings)
        if short:
            warnings.warn(
                f"{type(self.estimator).__name__} did not converge in {short} of {len(trainings)} trainings of "
                "OptimalBrainDamage; raise its max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = sum(n_iter for n_iter, _ in trainings)
        return {"converged": short == 0, "n_iter": self.n_iter_}
