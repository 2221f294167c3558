"""Optimal brain damage: weights that matter least are pruned, and inputs ranked by how long they keep one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import HasMethods
from tamis.base import Candidates, Elimination, Ranking, Step, StepSize, WeightedRanker, n_to_eliminate
from tamis.kernels.arrays.copies import order_columns
from tamis.kernels.arrays.scaling import rescale_columns, standardize_columns, varying_columns
from tamis.rank.backward._linear_saliency import check_known, saliency_of
from tamis.rank.model._model_derivatives import fit_quietly
from tamis.rank.neural._supervised import EliminationRanker, NetworkElimination, Task
from tamis.rank.neural._torch import limit_training_threads, load_torch

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Training


class OptimalBrainDamage(EliminationRanker):
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
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    step : int, float or "halving", default=0.2
        Weights of the network, or inputs of the estimator, to delete at a time: a count, a fraction of those left, or
        down to the next power of two.
    standardize : bool, default=True
        Center the columns and scale them to unit variance first; sparse ones are only scaled.
    tol : float, default=0.0001
        Of each training of the network, as for FQI.
    hidden_units, alpha, max_iter, max_samples, task, device : as for FQI
        The network, its weight decay and its training; an estimator brings its own, and learns from all rows.
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
    penalty is straight between the weight and zero, and so adds nothing. Missing values have no square to sum, and
    none of these models takes them: impute them first.

    Of the network: weights of all layers are pruned, biases are not. T is the loss with weight decay. The diagonal of
    its Hessian is exact, where the paper's backward pass leaves out what two units do together: q^2 numbers per sample
    for q units in a layer, in blocks of rows. Off the minimum a curvature may be negative; such weights go first.

    Cost: one training and, with the default, a shorter one for every fifth of the weights, on the inputs that have any
    left. Inputs that die in the same round are ranked by their saliency in it, with an estimator too. The default rule
    eliminates twenty times: about a minute of one processor for 500 rows of 20 000 columns, of which callbacks are told
    draw by draw; a number as ``stop`` eliminates once, in seconds.

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

    _parameter_constraints: ClassVar[dict] = {
        **EliminationRanker._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        step: float | str = 0.2,
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
        self.estimator = estimator
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
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

    def _trains_network(self) -> bool:
        return self.estimator is None

    @property
    def provides(self) -> frozenset[str]:  # type: ignore[override]
        """Weights of the rows; sparse tables, where there is an estimator."""
        return WeightedRanker.provides | (frozenset() if self.estimator is None else {"sparse"})

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        if self.estimator is not None:  # first: another table does not help a model that is not known
            check_known(self.estimator)
        return super()._validate(X, y, sample_weight)

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> Elimination:
        if self.estimator is not None:
            return self._start_on_estimator(candidates.table, np.asarray(y), candidates.sample_weight, rng)
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        network = self._start(task)
        return WeightPruning(network, task, [self._train_from_start(network, task)], self.alpha, self._train)

    def _start_on_estimator(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, rng: np.random.RandomState
    ) -> EstimatorElimination:
        Z, inputs, copies = self._table(X, weight)
        if not inputs.size:
            raise ValueError("every column of X is constant, up to rounding: there is nothing to rank")
        model = clone(self.estimator)
        if model.get_params().get("random_state", 0) is None:
            model.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        return EstimatorElimination(model, Z, y, inputs, copies, weight)

    def _table(self, X: Any, weight: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray]:
        """What the estimator sees: the table, its distinct columns that vary, ordered by their values, and copies."""
        X = X.astype(float)
        Z = rescale_columns(X) if self.standardize else X
        varies = varying_columns(Z, weight)
        inputs = varies[order_columns(Z[:, varies])]
        Z = standardize_columns(Z, weight) if self.standardize else Z
        return Z.tocsc() if sparse.issparse(Z) else Z, inputs, np.setdiff1d(varies, inputs)

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        if isinstance(elimination, WeightPruning):
            return super()._conclude(elimination, path, n_candidates)
        assert isinstance(elimination, EstimatorElimination)
        copies = [Step(int(copy), 0.0, {"copy": True}) for copy in elimination.copies]
        certificate = elimination.certificate()
        if not certificate["converged"]:
            warnings.warn(
                f"{type(self.estimator).__name__} did not converge in {elimination.n_short} of "
                f"{len(elimination.trainings)} trainings of OptimalBrainDamage; raise its max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = certificate["n_iter"]
        return Ranking.from_path(path + copies, n_candidates, certificate)


class EstimatorElimination(Elimination):
    """Inputs of a linear or generalized linear model, by the saliency of their weights.

    Parameters
    ----------
    model : scikit-learn model
    Z : table
    y : ndarray
    inputs, copies : ndarray of int
        Distinct columns that vary, in an order that depends on their values alone, and columns that repeat them.
    sample_weight : ndarray of shape (n_samples,) or None
    """

    def __init__(
        self,
        model: Any,
        Z: Any,
        y: np.ndarray,
        inputs: np.ndarray,
        copies: np.ndarray,
        sample_weight: np.ndarray | None = None,
    ) -> None:
        self.model, self.Z, self.y, self.sample_weight = model, Z, y, sample_weight
        self.remaining, self.copies = inputs, copies
        self.trainings: list[tuple[int, bool]] = []
        self._saliency = np.full(inputs.size, np.nan)

    def train(self) -> bool:
        """Fit the model on the inputs that remain."""
        table = self.Z[:, self.remaining]
        self.trainings.append(fit_quietly(self.model, table, self.y, self.sample_weight))
        self._saliency = saliency_of(self.model, table, self.y, self.sample_weight)
        return True

    def criteria(self) -> np.ndarray:
        """Saliency of the weights of each input in the model."""
        return self._saliency

    def remove(self, leaving: np.ndarray) -> None:
        """Leave them out of the next model."""
        stay = ~np.isin(self.remaining, leaving)
        self.remaining, self._saliency = self.remaining[stay], self._saliency[stay]

    @property
    def n_short(self) -> int:
        """Trainings that were cut short."""
        return sum(not converged for _, converged in self.trainings)

    def certificate(self) -> dict[str, Any]:
        """How the estimator's trainings went."""
        return {"converged": self.n_short == 0, "n_iter": sum(n_iter for n_iter, _ in self.trainings)}


class WeightPruning(NetworkElimination):
    """Weights of a trained network, pruned by their saliency; an input leaves with its last weight.

    Parameters
    ----------
    network, task, trainings
        As for :class:`NetworkElimination`.
    alpha : float
        Weight decay.
    train : callable
        Trains a network on a task where some of its weights, given by a mask, are free.
    """

    def __init__(
        self,
        network: Perceptron,
        task: Task,
        trainings: list[Training],
        alpha: float,
        train: Callable[..., Training],
    ) -> None:
        super().__init__(network, task, np.arange(task.Z.shape[1]), trainings, train)
        self.alpha = alpha
        self._is_weight = network.is_weight().cpu().numpy().astype(bool)  # that was not deleted

    def n_rounds(self, step: StepSize) -> None:
        """Inputs leave when their weights happen to."""

    def _first_layer(self, values: np.ndarray) -> np.ndarray:
        """Values of the first layer's weights, one row per input that remains."""
        shape = self.network.layers[0][0].shape
        return values[: shape.numel()].reshape(shape)

    def _saliency(self) -> np.ndarray:
        """What deleting each weight adds to the objective; nothing for those already deleted."""
        from tamis.rank.neural._network import curvature

        with limit_training_threads(load_torch("OptimalBrainDamage"), len(self._Z), self.network.theta.numel()):
            hessian_diagonal = curvature(self.network, self._Z, self.task.target) + self.alpha
        saliency = (0.5 * hessian_diagonal * self.network.theta.square()).cpu().numpy()
        return np.where(self._is_weight, saliency, 0.0)

    def criteria(self) -> np.ndarray:
        """Saliency of each input's weights together."""
        return self._first_layer(self._saliency()).sum(axis=1)

    def next_to_leave(self, step: StepSize) -> tuple[np.ndarray, np.ndarray]:
        """Inputs whose last weights are deleted now, and the one that has won when no other has any."""
        saliency = self._saliency()
        worth = self._first_layer(saliency).sum(axis=1)
        weights = np.flatnonzero(self._is_weight)
        deleted = weights[np.argsort(saliency[weights], kind="stable")[: n_to_eliminate(step, weights.size)]]
        self._is_weight[deleted] = False
        self.network.theta[deleted] = 0.0
        is_connected = self._first_layer(self._is_weight).any(axis=1)
        dead, connected = np.flatnonzero(~is_connected), np.flatnonzero(is_connected)
        winner = connected if connected.size == 1 else connected[:0]
        leaving = np.concatenate([dead[np.argsort(worth[dead], kind="stable")], winner])
        return self.remaining[leaving], worth[leaving]

    def remove(self, leaving: np.ndarray) -> None:
        """Take inputs without a weight out of the network."""
        if leaving.size:
            stays = ~np.isin(self.remaining, leaving)
            first = self._first_layer(self._is_weight)
            self._is_weight = np.concatenate([first[stays].reshape(-1), self._is_weight[first.size :]])
            super().remove(leaving)
        self._is_trained = False

    def train(self) -> bool:
        """Train the weights that were not deleted."""
        if not self._is_trained:
            is_bias = ~self.network.is_weight().cpu().numpy().astype(bool)
            task = self.task.with_inputs(self._Z)
            self.trainings.append(self._train(self.network, task, self._is_weight | is_bias))
            self._is_trained = True
        return True

    def info(self) -> Mapping[str, Any]:
        """Weights that were not deleted."""
        return {"n_weights": int(self._is_weight.sum())}
