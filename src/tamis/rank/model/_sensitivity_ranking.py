"""Sensitivity: how steeply a differentiable model's outputs change with each input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, Ranker, Ranking, StoppingRule, rule_class
from tamis.base._validation import known_names
from tamis.kernels.arrays.tolerances import ROUNDING, TRAINED_TIE
from tamis.rank._missing import deviations_of_known, standardize_known, takes_missing
from tamis.rank.model._model_derivatives import fit_quietly, is_fitted, is_model, measure_model
from tamis.rank.neural._supervised import NetworkRanker
from tamis.rank.neural._torch import choose_device, load_torch, recorded

_BLOCK = 2**21  # inputs of the model at a time


class SensitivityRanking(NetworkRanker):
    r"""Rank features by the derivatives of a model's outputs, over the training points.

    .. math:: S_j = \frac{1}{n} \sum_k \sum_c t_{jkc}^2 \quad \text{or} \quad \frac{1}{n} \sum_k \sum_c |t_{jkc}|,
              \qquad t_{jkc} = \left. \frac{\partial f_c}{\partial x^j} \right|_{x = x_k}

    (Lal et al. 2006, Eq. 6, with the l2 or the l1 norm of :math:`t_j`), c running over the outputs. A linear model
    :math:`f(x) = b + w \cdot x` gives :math:`w_j^2` or :math:`|w_j|`.

    Parameters
    ----------
    estimator : scikit-learn model, torch module, callable or None, default=None
        A scikit-learn model that was fitted on the columns of ``X`` as they are, or an unfitted one, a clone of which
        is fitted on ``X`` and ``y`` first, standardized if asked. Needs no torch.

        Or a trained model that maps a tensor of shape (n, n_features), with the columns of ``X`` as they are, to
        outputs of shape (n,) or (n, n_outputs), each row by itself. A module is put into evaluation mode meanwhile,
        and gets points in the precision and on the device of its parameters; another callable gets those of ``X`` and
        ``device``. None trains a network on ``X`` and ``y`` first.
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %. Of a
        model that was trained before, which knows no copies, it keeps all features that the outputs depend on.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    norm : {"l2", "l1"}, default="l2"
    standardize : bool, default=True
        Derivatives per standard deviation of a column, so that units do not matter; otherwise per unit.
    width : float, default=0.0001
        Step, in standard deviations, of the central differences that stand for the derivatives of scikit-learn's models
        where there is no formula. Take a large one, such as 0.5, for outputs that are steps, as those of trees.
    hidden_units, alpha, max_iter, tol, max_samples, task, device, random_state : as for FQI
        The network that is trained where no estimator is given, and how many rows it is trained on.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Sensitivities; NaN for constant columns, which are not ranked.
    n_iter_ : int
        Iterations of the training, where there is one.
    order_, ranking_, support_, path_, stop_
        As for every ranker.
    certificate_ : dict
        ``converged``, ``n_iter`` and ``objective`` of the training, where there is one.
    n_chosen_ : int
        How many features the outputs depend on.

    Notes
    -----
    Of scikit-learn's models, linear ones (by ``coef_``; the predictor is linear in generalized linear ones), support
    vector machines and KernelRidge with linear, rbf, poly or sigmoid kernels, perceptrons, and pipelines of scalers and
    one of these are differentiated in closed form: O(n D) per output and support vector or unit. With more than two
    classes a support vector machine has one output per pair of them, and a perceptron's are its logits, less their
    mean. All others take 2 n D predictions of ``decision_function``, else ``predict_proba``, else ``predict``.
    scikit-learn's ``clone``, which model selection makes of a ranker, forgets what a given model has learned, so that
    it is fitted on the rows at hand; ``sklearn.frozen.FrozenEstimator`` keeps it.

    ``y`` is not looked at where a model is given that was trained before. MonteCarloProbe refuses such a model, for it
    would have to be trained anew, on more columns: give it unfitted.

    Of torch models: one backward pass per output and block of rows, after the training if there is one. The outputs of
    our own network are the standardized quantity or the logits of the classes, less their mean over the classes, which
    no prediction depends on.

    Of our own network: a column's first weights are random combinations of its own values, so that neither the order of
    the columns nor their signs matter (that of the rows does, as another seed would). Copies of a column enter once and
    share its score; constant columns never enter.

    Weights of the rows count in the training, in standard deviations and in the mean of the derivatives; an estimator
    that is fitted here has to take them.

    Missing values go to a scikit-learn model that takes them, such as boosted trees or a pipeline that begins with an
    imputer. No output changes with a value that is not there: the derivative in a missing value is zero, and a feature
    counts in the rows where it is known. Standard deviations are those of the known values.

    A steep output is no proof that a feature matters, nor a flat one of the contrary: models that saturate are flat
    where they are sure. :class:`FQI` looks at the outputs themselves.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", 2006, Sec. 2.1. Leray and Gallinari, "Feature selection
    with neural networks", Behaviormetrika 26, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SensitivityRanking
    >>> X = np.random.RandomState(0).standard_normal((100, 3))
    >>> found = SensitivityRanking(lambda x: 3 * x[:, 2] - x[:, 0], standardize=False, stop=None).fit(X, X[:, 0])
    >>> found.scores_
    array([1., 0., 9.])
    >>> from sklearn.svm import SVC
    >>> SensitivityRanking(SVC(), stop=1).fit(X, X[:, 1] > 0).get_feature_names_out()
    array(['x1'], dtype=object)
    """

    provides: ClassVar[frozenset[str]] = NetworkRanker.provides | {"own_choice"}

    _parameter_constraints: ClassVar[dict] = {
        **NetworkRanker._parameter_constraints,  # the estimator is checked where it is used
        "norm": [StrOptions({"l2", "l1"})],
        "width": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        norm: str = "l2",
        width: float = 1e-4,
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
        self.estimator = estimator
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.norm = norm
        self.width = width
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

    def _is_trained(self) -> bool:
        """Whether a model is given that is taken as it is."""
        return self.estimator is not None and (not is_model(self.estimator) or is_fitted(self.estimator))

    def _model_to_fit(self) -> BaseEstimator | None:
        """As for every ranker; a model that was trained before does not look at the target."""
        return None if self._is_trained() else super()._model_to_fit()

    def _takes_missing(self) -> bool:
        """Where the given scikit-learn model does."""
        return is_model(self.estimator) and takes_missing(self.estimator)

    def _stopping_rule(self) -> StoppingRule:
        if isinstance(self.stop, str) and self.stop == "auto" and self._is_trained():
            return rule_class("own-choice")()
        return super()._stopping_rule()

    def for_draws(self) -> Ranker:
        """As for every ranker; a model that was trained before is refused."""
        if self._is_trained():
            raise ValueError(
                f"{type(self.estimator).__name__} was trained on the columns of X and cannot rank permuted copies "
                "beside them; give an unfitted model, or a number of features as stop"
            )
        return super().for_draws()

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        ranking = self._rank_by_derivatives(candidates, y, rng)
        scores = ranking.scores[ranking.order]
        n_chosen = int(np.count_nonzero(scores > ROUNDING.float64 * scores.max(initial=0.0)))
        reason = f"the model's outputs depend on {n_chosen} of {scores.size} features"
        if self._is_trained():
            reason += ", which is all that a model trained before can tell"
        return replace(ranking, n_chosen=n_chosen, reason=reason)

    def _rank_by_derivatives(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X, weight = candidates.table, candidates.sample_weight
        if is_model(self.estimator):
            return self._rank_by_estimator(np.asarray(X, dtype=float), np.asarray(y), weight, rng)
        torch = load_torch(type(self).__name__)
        with recorded(torch):
            if self.estimator is None:
                return self._rank_by_network(torch, candidates, y, rng)
            return self._rank_by_model(torch, X, weight)

    def _rank_by_network(
        self, torch: Any, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> Ranking:
        """Sensitivities of a network that is trained first."""
        task = self._task(candidates.table, y, rng, candidates.sample_weight)
        network = self._start(task)
        training = self._train_from_start(network, task)
        found = sensitivity(
            torch, lambda Z: task.target.center(network(Z)), task.Z, self.norm, candidates.sample_weight
        )
        ranking = Ranking.from_scores(task.inputs.share(found.cpu().numpy()))
        return Ranking(ranking.order, ranking.scores, certificate=self._certify([training]))

    def _rank_by_model(self, torch: Any, X: np.ndarray, weight: np.ndarray | None) -> Ranking:
        """Sensitivities of the given model."""
        if not callable(self.estimator):
            raise ValueError(
                f"estimator={self.estimator!r} is neither a scikit-learn model nor a torch module or another callable "
                "on tensors: SensitivityRanking needs a model with outputs to differentiate"
            )
        points, model = torch.as_tensor(X), self.estimator
        if not isinstance(model, torch.nn.Module):
            found = sensitivity(torch, model, points.to(choose_device(torch, self.device)), self.norm, weight)
            return Ranking.from_scores(self._in_units(X, found.cpu().numpy(), weight))
        if (parameter := next(model.parameters(), None)) is not None:
            points = points.to(device=parameter.device, dtype=parameter.dtype)
        training = model.training
        try:
            found = sensitivity(torch, model.eval(), points, self.norm, weight)
            return Ranking.from_scores(self._in_units(X, found.cpu().numpy(), weight))
        finally:
            model.train(training)

    def _rank_by_estimator(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, rng: np.random.RandomState
    ) -> Ranking:
        """Sensitivities of a scikit-learn model."""
        certificate: dict[str, Any] = {"converged": True}
        model, in_deviations = self.estimator, False
        if is_fitted(model):
            self._check_names(model)
        else:
            model, in_deviations = clone(model), self.standardize
            seeds = {name: seed for name, seed in model.get_params().items() if name.split("__")[-1] == "random_state"}
            model.set_params(**{name: rng.randint(2**31 - 1) for name, seed in seeds.items() if seed is None})
            X = standardize_known(X, weight) if in_deviations else X
            certificate = self._certify_fit(*fit_quietly(model, X, y, weight))
        found = measure_model(model, X, self.norm, self.width * deviations_of_known(X, weight), weight)
        scores = self._in_units(X, found, weight, by_deviation=not in_deviations)
        ranking = Ranking.from_scores(scores, rounding=TRAINED_TIE)
        return Ranking(ranking.order, ranking.scores, certificate=certificate)

    def _check_names(self, model: Any) -> None:
        """Refuse a model that knows the columns by other names, or in another order."""
        theirs, ours = known_names(model), known_names(self)
        if theirs is not None and ours is not None and list(theirs) != list(ours):
            raise ValueError("the columns of X are not those that estimator was fitted on, or stand in another order")

    def _certify_fit(self, n_iter: int, converged: bool) -> dict[str, Any]:
        """How the training of a scikit-learn model went; a warning if it was cut short."""
        if not converged:
            name = type(self.estimator).__name__
            warnings.warn(
                f"{name} did not converge when SensitivityRanking fitted it; raise its max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = n_iter
        return {"converged": converged, "n_iter": n_iter}

    def _in_units(
        self, X: np.ndarray, found: np.ndarray, weight: np.ndarray | None, *, by_deviation: bool = True
    ) -> np.ndarray:
        """Per standard deviation, if asked and not yet so; NaN for constant columns."""
        deviations = deviations_of_known(X, weight)
        unit = deviations if self.standardize and by_deviation else np.ones(X.shape[1])
        if not np.isfinite(found).all():
            raise ValueError(
                "estimator has derivatives that are not finite at some rows of X: there is nothing to rank by"
            )
        scores = found.astype(float) * unit ** (2 if self.norm == "l2" else 1)
        return np.where(deviations > 0, scores, np.nan)


def sensitivity(
    torch: Any, model: Callable[[Any], Any], points: Any, norm: str, sample_weight: np.ndarray | None = None
) -> Any:
    """Mean over the points of the squared ("l2") or absolute ("l1") derivatives of all outputs in every input."""
    weight = np.ones(len(points)) if sample_weight is None else sample_weight
    share = torch.from_numpy(weight / weight.sum()).to(points)
    total = points.new_zeros(points.shape[1])
    height = max(1, _BLOCK // points.shape[1])
    for top in range(0, len(points), height):
        block = points[top : top + height].detach().clone().requires_grad_()
        outputs = model(block)
        if not isinstance(outputs, torch.Tensor) or outputs.ndim == 0 or len(outputs) != len(block):
            raise ValueError("the model must give one row of outputs per row of inputs, as a tensor")
        if not outputs.requires_grad:
            raise ValueError("the model's outputs do not depend on its inputs in a way that torch can differentiate")
        for output in outputs.reshape(len(block), -1).T:
            (derivative,) = torch.autograd.grad(output.sum(), block, retain_graph=True, materialize_grads=True)
            total += share[top : top + height] @ (derivative.square() if norm == "l2" else derivative.abs())
    return total
