"""Support vector machine that selects its features from an infinite set while it learns."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from tamis._sklearn import Interval, StrOptions, fit_context
from tamis.base import track
from tamis.dictionary._base import Dictionary, FiniteDictionary
from tamis.dictionary._columns import Columns
from tamis.kernels.arrays.targets import encode_classes
from tamis.learn._active_search import ActiveSearch
from tamis.learn._candidates import Drawn, Swept
from tamis.learn._penalty_path import choose_C
from tamis.learn._prediction import MapClassifier
from tamis.learn._signals import check_labels, check_signals


class InfiniteSVM(CallbackSupportMixin, MapClassifier):
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
        Draws from an infinite dictionary in every round. A finite one is swept whole.
    n_add : int, default=1
        Maps added in one round, at most; several are not too much alike.
    refine : bool, default=True
        Before a violating candidate is added, climb to parameters nearby that violate more.
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
        largest norm of r among ``n_checked`` candidates drawn afresh at the end, and where climbs from the best of them
        lead; ``gap``, by how much the objective may be above its minimum, as far as these tell; ``violating_share``:
        with 95 % confidence, no larger share of all draws has a larger norm; ``exhaustive`` if all were looked at, ...
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
        signals = check_signals(self, X, y)
        self.classes_, codes = encode_classes(check_labels(y))
        rng = check_random_state(self.random_state)
        search = self._open(signals, codes, rng)
        self.C_min_ = search.smallest_C(np.random.RandomState(rng.randint(2**31 - 1)))
        self.__dict__.pop("cv_results_", None)  # of an earlier fit
        if self.C == "cv":
            self.C_, self.cv_results_ = choose_C(self, signals, codes, self.C_min_, rng)
        else:
            self.C_ = float(self.C)
        self._stages = []
        rounds = search.rounds(self.C_, self.max_rounds, self.patience)
        for _ in track(self, rounds, task_name="round", total=self.max_rounds):
            self._stages.append(search.weights())
        self._store(search)
        context.call_on_fit_task_end(estimator=self)
        return self

    def _open(self, signals: Any, codes: np.ndarray, rng: np.random.RandomState) -> ActiveSearch:
        """A search on these signals, with a dictionary that has seen no others."""
        labels = self.classes_[codes]
        self.dictionary_ = (Columns() if self.dictionary is None else clone(self.dictionary)).fit(signals, labels)
        candidates: Any
        if isinstance(self.dictionary_, FiniteDictionary):
            candidates = Swept(self.dictionary_, signals, standardize=self.standardize)
        else:
            candidates = Drawn(
                self.dictionary_,
                self.dictionary_.prepare(signals),
                labels,
                n_candidates=self.n_candidates,
                standardize=self.standardize,
                n_jobs=self.n_jobs,
            )
        return ActiveSearch(
            candidates,
            encode_one_vs_rest(codes),
            is_shared=self.share_features,
            is_grouped=self.penalty == "l1/l2",
            n_add=self.n_add,
            refine=self.refine,
            tol=self.tol,
            rng=rng,
        )

    def _store(self, search: ActiveSearch) -> None:
        kept, weights, intercept = search.weights()
        size = np.sqrt(np.einsum("mqk,mqk->m", weights, weights))
        order = np.argsort(-size, kind="stable")
        self._kept = [kept[i] for i in order]
        self.importances_ = size[order]
        self.coef_ = weights[order].reshape(-1, intercept.size).T
        self.intercept_ = intercept
        self.params_ = self._name_parameters()
        self.history_, self.n_iter_ = search.history, len(search.history)
        self.certificate_ = search.check(self.C_, self.patience)
        if not self.certificate_["converged"]:
            warnings.warn(
                f"InfiniteSVM ended after {self.n_iter_} rounds, and more features could be added (objective "
                f"{self.certificate_['objective']:.4g}, gap about {self.certificate_['gap']:.2g}); raise max_rounds or "
                "tol, or lower C",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _name_parameters(self) -> dict[str, np.ndarray]:
        if isinstance(self.dictionary_, FiniteDictionary):
            return {"index": np.array([int(block.parameter) for block in self._kept], dtype=int)}
        names = [parameter.name for parameter in self.dictionary_.space()]
        return {name: np.array([block.parameter[i] for block in self._kept]) for i, name in enumerate(names)}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.dictionary is None or getattr(self.dictionary, "accepts_sparse", False)
        tags.input_tags.three_d_array = not tags.input_tags.sparse
        return tags


def encode_one_vs_rest(codes: np.ndarray) -> np.ndarray:
    """Targets of 1 and -1: one column for two classes (the second is positive), otherwise one per class."""
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
