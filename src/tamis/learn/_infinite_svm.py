"""Support vector machine that selects its features from an infinite set while it learns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from math import prod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import Interval, StrOptions, check_feature_names_in, fit_context, is_torch_array
from tamis.base import check_classes_recur, interruption, track
from tamis.base._new_rows import check_new_rows
from tamis.base._raw_input import check_container
from tamis.base._validation import check_not_lost_to_rounding, check_table
from tamis.dictionary._base import Dictionary, FiniteDictionary
from tamis.dictionary._columns import Columns
from tamis.kernels.arrays.targets import encode_classes
from tamis.learn._active_set import ActiveSetSearch, Solution
from tamis.learn._map_candidates import (
    ExhaustiveCandidates,
    FeatureMap,
    SampledCandidates,
    column_indices,
    compute_columns,
    prepare_signals,
)
from tamis.learn._scored_labels import LabelClassifier
from tamis.learn._signals import check_finite_signals, check_labels, is_table


class InfiniteSVM(CallbackSupportMixin, LabelClassifier, TransformerMixin, BaseEstimator):
    r"""Support vector machine on the few feature maps, of infinitely many, that it needs.

    .. math:: \min_{\Theta, W, b} \frac{C}{2n} \sum_i \bigl(1 - y_i (b + \sum_{\theta \in \Theta} \langle w_\theta,
              \phi_\theta(x_i) \rangle)\bigr)_+^2 + \sum_{\theta \in \Theta} \|w_\theta\|_2

    over finite sets :math:`\Theta` of parameters of a dictionary (Flamary et al. 2011, Eq. 2). At the minimum, with
    :math:`r_\theta = \frac{C}{n} \sum_i y_i \phi_\theta(x_i) (1 - y_i f(x_i))_+`, Eqs. (3) and (4) say

    .. math:: r_\theta = w_\theta / \|w_\theta\| \ \text{ for } \theta \in \Theta, \qquad
              \|r_\theta\| \le 1 \ \text{ for all others.}

    Parameters
    ----------
    dictionary : Dictionary, FiniteDictionary or None, default=None
        Where features come from: :class:`~tamis.dictionary.Gabor`, :class:`~tamis.dictionary.BandPassCSP`, ... or your
        own. None is :class:`~tamis.dictionary.Columns`, the columns of a table.
    C : float or "cv", default=20.0
        Weight of the loss. The first feature enters at ``C_min_``, mostly between 1 and 5; "cv" chooses along ``path``.
    penalty : {"l1/l2", "l1"}, default="l1/l2"
        A norm per map, or one per column. They differ for maps of several columns alone.
    n_candidates : int, default=100
        Samples of an infinite dictionary in every round. All features of a finite one are evaluated.
    n_add : int, default=1
        Maps added in one round, at most; several are not too much alike.
    refine : bool, default=True
        Before a violating candidate is added, maximize its violation by local search over its parameters.
    max_rounds : int, default=500
    patience : int, default=3
        End after so many rounds in which no candidate violates its condition.
    standardize : bool, default=True
        Features of zero mean and unit variance over the training signals. False scales to unit norm, as the paper does;
        C must then grow with the root of the number of signals.
    share_features : bool, default=False
        With more than two classes, one against all others each: one set of maps for all classes, or one for each. For
        many classes, sharing is faster, and often better.
    path : tuple of float, default=(2.0, 4.0, 8.0, 16.0, 32.0)
        Values of ``C / C_min_`` that "cv" tries.
    cv : int or cross-validation splitter, default=5
        Folds of ``C="cv"``.
    tol : float, default=1e-2
        By how much candidates may violate the second condition above. On the active set, and for all features of a
        finite dictionary, both conditions are met to 1e-6, or to ``tol`` if that is less.
    n_jobs : int, default=None
        Threads for the candidates of a round, where they are many, or folds at once for ``C="cv"``.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    params_ : dict of str to ndarray of shape (n_selected,)
        Parameters of the selected maps by name, the heaviest first; indices for a finite dictionary.
    importances_ : ndarray of shape (n_selected,)
        Norm of the weights of every selected map.
    coef_ : ndarray of shape (n_targets, n_selected * n_columns)
        Weights of what :meth:`transform` gives. One row for two classes, and one per class otherwise.
    intercept_ : ndarray of shape (n_targets,)
    dictionary_ : fitted dictionary
    certificate_ : dict
        ``converged`` if the search ended by itself; ``kkt_residual`` on the active set; ``violation_outside``, the
        largest norm of r among ``n_checked`` candidates drawn afresh at the end, and after local search from the best
        of them; ``gap``, by how much the objective may be above its minimum, as far as these tell;
        ``violating_share``: with 95 % confidence, no larger share of all draws has a larger norm; ``exhaustive`` if all
        candidates were evaluated, ...
    history_ : list of Round
        Objective, active maps, largest violation and candidates so far, round by round.
    C_, C_min_ : float
        The value used, and the one at which the first feature of the first round enters.
    cv_results_ : dict
        Mean and standard deviation of the accuracy and number of maps for every C tried.
    n_iter_ : int
        Rounds.
    n_features_in_, feature_names_in_
        As for every estimator; numbers per signal.

    Notes
    -----
    Algorithm 1 of the paper, with these differences. The problem on the active set is solved by a proximal Newton
    method in place of FISTA: some milliseconds, to rounding. The intercept is free, and optimal at every step. Maps
    without a weight are dropped. Candidates are refined. Columns are standardized. The gap is estimated.

    Cost of a round: ``n_candidates`` features of all signals and one product with them, refinement as much as 64 more,
    and a solve that starts where the last one ended. Memory: the columns of the active set, and a block of candidates.
    torch signals are worked on where they are, if the dictionary can; only the active columns come back.

    :meth:`staged_predict` gives what the machine would have said after every round.

    References
    ----------
    Flamary, Yger and Rakotomamonjy, "Selecting from an infinite set of features in SVM", ESANN, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import InfiniteSVM
    >>> from tamis.dictionary import RBF
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-2, 2, size=(300, 2))
    >>> y = np.linalg.norm(X - [1, 0], axis=1) < 0.8  # inside a disk
    >>> svm = InfiniteSVM(RBF(), C=100, random_state=0).fit(X[:200], y[:200])
    >>> svm.score(X[200:], y[200:]) > 0.95
    True
    >>> list(svm.params_)
    ['center 0', 'center 1', 'width']
    """

    _parameter_constraints: ClassVar[dict] = {
        "dictionary": [Dictionary, FiniteDictionary, None],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "penalty": [StrOptions({"l1/l2", "l1"})],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_add": [Interval(Integral, 1, None, closed="left")],
        "refine": ["boolean"],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "share_features": ["boolean"],
        "path": ["array-like"],
        "cv": ["cv_object"],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        dictionary: Any = None,
        *,
        C: float | str = 20.0,
        penalty: str = "l1/l2",
        n_candidates: int = 100,
        n_add: int = 1,
        refine: bool = True,
        max_rounds: int = 500,
        patience: int = 3,
        standardize: bool = True,
        share_features: bool = False,
        path: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0, 32.0),
        cv: Any = 5,
        tol: float = 1e-2,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.dictionary = dictionary
        self.C = C
        self.penalty = penalty
        self.n_candidates = n_candidates
        self.n_add = n_add
        self.refine = refine
        self.max_rounds = max_rounds
        self.patience = patience
        self.standardize = standardize
        self.share_features = share_features
        self.path = path
        self.cv = cv
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> InfiniteSVM:
        """Select maps and learn their weights.

        Parameters
        ----------
        X : array of shape (n_samples, ...)
            Signals, images, or a table: what the dictionary takes.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self
        """
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        signals = self._check_signals(X, y)
        check_classes_recur(labels := check_labels(y, signals, type(self).__name__))
        self.classes_, codes = encode_classes(labels)
        rng = check_random_state(self.random_state)
        search = self._start_search(signals, codes, rng)
        self.C_min_ = search.find_C_min(np.random.RandomState(rng.randint(2**31 - 1)))
        self.__dict__.pop("cv_results_", None)  # of an earlier fit
        if self.C == "cv":
            self.C_, self.cv_results_ = self._choose_C(signals, codes, rng)
        else:
            self.C_ = float(self.C)
        self._stages: list[Solution] = []
        self._interruption = ""  # what Ctrl-C has ended in this fit, in words
        rounds = search.rounds(self.C_, self.max_rounds, self.patience)
        try:
            for _ in track(self, rounds, task_name="round", total=self.max_rounds):
                self._stages.append(search.solution())
            self._store(search)
        finally:
            del self._interruption
        context.call_on_fit_task_end(estimator=self)
        return self

    def _start_search(self, signals: Any, codes: np.ndarray, rng: np.random.RandomState) -> ActiveSetSearch:
        """A search on these signals, with a dictionary fitted on no others."""
        labels = self.classes_[codes]
        self.dictionary_ = (Columns() if self.dictionary is None else clone(self.dictionary)).fit(signals, labels)
        candidates: Any
        if isinstance(self.dictionary_, FiniteDictionary):
            candidates = ExhaustiveCandidates(self.dictionary_, signals, standardize=self.standardize)
        else:
            candidates = SampledCandidates(
                self.dictionary_,
                prepare_signals(self.dictionary_, signals),
                labels,
                n_candidates=self.n_candidates,
                standardize=self.standardize,
                n_jobs=self.n_jobs,
            )
        return ActiveSetSearch(
            candidates,
            encode_one_vs_rest(codes),
            is_shared=self.share_features,
            is_grouped=self.penalty == "l1/l2",
            n_add=self.n_add,
            refine=self.refine,
            tol=self.tol,
            rng=rng,
        )

    def _store(self, search: ActiveSetSearch) -> None:
        maps, weights, self.intercept_ = search.solution()
        norms = np.sqrt(np.einsum("mqk,mqk->m", weights, weights))
        order = np.argsort(-norms, kind="stable")
        self._maps: list[FeatureMap] = [maps[i] for i in order]
        self.importances_ = norms[order]
        self.coef_ = weights[order].reshape(-1, self.intercept_.size).T
        self.params_ = self._name_parameters()
        self.history_, self.n_iter_ = search.history, len(search.history)
        self.certificate_ = search.certify(self.C_, self.patience)
        if words := interruption(self):
            self.certificate_ |= {"converged": False, "interrupted": True}
            warnings.warn(f"InfiniteSVM was {words}", ConvergenceWarning, stacklevel=3)
        elif not self.certificate_["converged"]:
            warnings.warn(
                f"InfiniteSVM ended after {self.n_iter_} rounds, and more features could be added (objective "
                f"{self.certificate_['objective']:.4g}, gap about {self.certificate_['gap']:.2g}); raise max_rounds or "
                "tol, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _name_parameters(self) -> dict[str, np.ndarray]:
        if isinstance(self.dictionary_, FiniteDictionary):
            return {"index": np.array([int(feature_map.parameter) for feature_map in self._maps], dtype=int)}
        names = [parameter.name for parameter in self.dictionary_.space()]
        return {name: np.array([each.parameter[i] for each in self._maps]) for i, name in enumerate(names)}

    # C by cross-validation

    def _choose_C(
        self, signals: Any, codes: np.ndarray, rng: np.random.RandomState
    ) -> tuple[float, dict[str, np.ndarray]]:
        """The C of highest mean accuracy over the folds, the smallest of equals, and the accuracies.

        Every fold fits its own dictionary and grows its own active set along the path, from the smallest C to the
        largest, each from the solution of the last one.
        """
        factors = np.sort(np.asarray(self.path, dtype=float))
        if factors.ndim != 1 or not factors.size or not np.all((factors > 0) & (factors < np.inf)):
            raise ValueError(f"path={self.path!r} must hold positive multiples of the smallest C, such as (2, 4, 8)")
        if np.isinf(self.C_min_):
            raise ValueError('C="cv" has nothing to choose: no feature is correlated with the classes')
        values = self.C_min_ * factors
        folds = list(check_cv(self.cv, codes, classifier=True).split(np.zeros(len(codes)), codes))
        seeds = rng.randint(2**31 - 1, size=len(folds))
        tasks = (
            delayed(self._clone_for_fold()._score_path)(signals, codes, train, test, values, int(seed))
            for (train, test), seed in zip(folds, seeds, strict=True)
        )
        scores = np.array(Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks))
        accuracy, n_active = scores[:, :, 0], scores[:, :, 1]
        mean = accuracy.mean(axis=0)
        best = int(np.flatnonzero(mean >= mean.max() - 1e-12)[0])
        return float(values[best]), {
            "C": values,
            "mean_accuracy": mean,
            "std_accuracy": accuracy.std(axis=0),
            "mean_n_active": n_active.mean(axis=0),
        }

    def _clone_for_fold(self) -> InfiniteSVM:
        """An unfitted copy that knows all classes."""
        copy = clone(self).set_params(n_jobs=1)
        copy.classes_ = self.classes_
        return copy

    def _score_path(
        self, signals: Any, codes: np.ndarray, train: np.ndarray, test: np.ndarray, values: np.ndarray, seed: int
    ) -> list[tuple[float, int]]:
        """Accuracy on the samples held out, and the number of maps, for every C."""
        n_classes = codes.max() + 1
        if np.unique(codes[train]).size < n_classes:
            raise ValueError(f"a fold lacks one of the {n_classes} classes; lower cv, or give a C")
        search = self._start_search(signals[train], codes[train], np.random.RandomState(seed))
        held_out = prepare_signals(self.dictionary_, signals[test])
        scores = []
        for C in values:
            for _ in search.rounds(float(C), self.max_rounds, self.patience):
                pass
            maps, weights, intercept = search.solution()
            columns = compute_columns(self.dictionary_, held_out, maps)
            predicted = _decode(columns @ weights.reshape(-1, intercept.size) + intercept)
            scores.append((float(np.mean(predicted == codes[test])), len(maps)))
        return scores

    # prediction

    def transform(self, X: Any) -> np.ndarray:
        """The selected features of signals, scaled as on the training signals.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Returns
        -------
        ndarray of shape (n_samples, n_selected * n_columns)
        """
        check_is_fitted(self)
        return self._compute_columns(X, self._maps)

    def _compute_columns(self, X: Any, maps: list[FeatureMap]) -> np.ndarray:
        return compute_columns(self.dictionary_, prepare_signals(self.dictionary_, self._check_new_signals(X)), maps)

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed outputs: one figure for two classes, positive for the second; one per class otherwise.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        outputs = self.transform(X) @ self.coef_.T + self.intercept_
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> np.ndarray:
        """Class of each signal.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        outputs = self.transform(X) @ self.coef_.T + self.intercept_
        return self.classes_[_decode(outputs)]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Class of each signal after every round.

        Parameters
        ----------
        X : array of shape (n_samples, ...)

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        every = {feature_map.key: feature_map for maps, _, _ in self._stages for feature_map in maps}
        position = {key: i for i, key in enumerate(every)}
        columns = self._compute_columns(X, list(every.values()))
        by_map = columns.reshape(len(columns), len(every), self.dictionary_.n_columns)
        for maps, weights, intercept in self._stages:
            rows = [position[feature_map.key] for feature_map in maps]
            yield self.classes_[_decode(np.einsum("nmq,mqk->nk", by_map[:, rows], weights) + intercept)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of what :meth:`transform` gives."""
        check_is_fitted(self)
        if not self._maps:
            return np.empty(0, dtype=object)
        parameters = np.stack([feature_map.parameter for feature_map in self._maps])
        if len(self.signal_shape_) == 1 or isinstance(self.dictionary_, FiniteDictionary):
            input_features = check_feature_names_in(self, input_features)
        if isinstance(self.dictionary_, FiniteDictionary):
            parameters = column_indices(parameters, self.dictionary_.n_columns)
        return self.dictionary_.names(parameters, input_features)

    # signals of any shape

    def _check_signals(self, X: Any, y: Any) -> Any:
        """Training signals: a table as every method takes it, or finite numbers along three axes or more."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._to_numpy_if_needed(check_container(X))
        if is_table(X):
            table, _ = check_table(self, X, y, accept_sparse=self.__sklearn_tags__().input_tags.sparse)
            check_not_lost_to_rounding(table)
            self.signal_shape_ = table.shape[1:]
            return table
        signals = check_finite_signals(X)
        if isinstance(signals, np.ndarray):
            check_not_lost_to_rounding(signals.reshape(len(signals), -1))
        self.signal_shape_ = tuple(signals.shape[1:])
        self.n_features_in_ = prod(self.signal_shape_)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        return signals

    def _check_new_signals(self, X: Any) -> Any:
        """Signals like those of training."""
        X = self._to_numpy_if_needed(check_container(X))
        if len(self.signal_shape_) == 1 and not is_torch_array(X):
            return check_new_rows(self, X, accept_sparse=self.__sklearn_tags__().input_tags.sparse)
        signals = check_finite_signals(X)
        if tuple(signals.shape[1:]) != tuple(self.signal_shape_):
            raise ValueError(
                f"signals have the shape {tuple(signals.shape[1:])}, and {type(self).__name__} was fitted on "
                f"{tuple(self.signal_shape_)}"
            )
        return signals

    def _to_numpy_if_needed(self, X: Any) -> Any:
        """Torch signals as numpy arrays, where the dictionary takes no tensors."""
        accepts_torch = self.dictionary is not None and self.dictionary.accepts_torch
        return np.asarray(X.cpu()) if is_torch_array(X) and not accepts_torch else X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # tags are also asked of an estimator whose parameters are not valid
        is_dictionary = isinstance(self.dictionary, Dictionary | FiniteDictionary)
        tags.input_tags.sparse = self.dictionary is None or (is_dictionary and self.dictionary.accepts_sparse)
        tags.input_tags.three_d_array = not tags.input_tags.sparse
        return tags


def encode_one_vs_rest(codes: np.ndarray) -> np.ndarray:
    """Targets of 1 and -1: one column for two classes (the second is positive), otherwise one per class."""
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def _decode(outputs: np.ndarray) -> np.ndarray:
    """Codes of classes from outputs of shape (n_samples, n_targets)."""
    return (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
