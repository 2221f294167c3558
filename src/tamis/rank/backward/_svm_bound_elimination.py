"""Backward elimination by bounds on the leave-one-out error of a support vector machine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions, safe_indexing
from tamis.base import (
    GROUPS_CONSTRAINT,
    STEP_CONSTRAINT,
    BackwardRanker,
    Candidates,
    Elimination,
    Ranking,
    Step,
    WeightedRanker,
)
from tamis.kernels.arrays.blocks import limit_blas_threads
from tamis.kernels.arrays.scaling import (
    rescale_columns,
    rescale_safely,
    standardize_columns,
    varying_columns,
)
from tamis.kernels.arrays.targets import encode_classes
from tamis.kernels.solvers.feature_kernel import FeatureKernel, resolve_gamma
from tamis.kernels.solvers.gram import check_gram_fits
from tamis.kernels.solvers.svm_bounds import Bound, RadiusMarginBound, SpanBound, measure_norms2
from tamis.kernels.solvers.warm_started_svms import WarmStartedSVMs
from tamis.rank._kernel_parameters import KERNEL_CONSTRAINTS
from tamis.rank._row_sample import SampledRanker
from tamis.rank.backward._radius_variance_elimination import RadiusVarianceElimination

_WITHOUT_GRAM = (
    "use bound='radius-margin', radius='variance', criterion='fixed', kernel='linear', standardize=True and a finite "
    "C, which need no such matrix"
)
_NOISE = 1e-13  # criteria whose difference is this small relative to the bound are equal: it is made of many sums


class SVMBoundElimination(SampledRanker, BackwardRanker, WeightedRanker):
    r"""Backward elimination of the features without which a bound on the leave-one-out error is smallest.

    .. math:: LOO \le 4 R^2 \|w\|^2 \qquad\text{or}\qquad LOO \le \sum_k \alpha_k S_k^2,
              \quad S_k^2 = \frac{1}{(\tilde K^{-1})_{kk}},
              \quad \tilde K = \begin{pmatrix} K_{SV} & 1 \\ 1^T & 0 \end{pmatrix}

    (Lal et al. 2006, Eq. 14 and Sec. 2.3, "Bounds for Support Vector Machines"; after Rakotomamonjy 2003): a support
    vector machine is trained on the remaining features, and that one is eliminated without which the bound is smallest.

    Parameters
    ----------
    stop : rule, str, int, float or None, default="auto"
        How many to keep; "auto" keeps those that rank above permuted copies of all features, at a risk of 5 %.
    keep, exclude, min_features : columns, columns, int, default=None
        As for every ranker: columns that stay, columns that are not ranked, and the fewest to keep.
    bound : {"radius-margin", "span"}, default="radius-margin"
    criterion : {"fixed", "retrain", "derivative", "descent"}, default="fixed"
        "fixed": the bound without the feature, at the same :math:`\alpha`. "retrain": after retraining, at the cost
        of as many SVMs as features in each round. "derivative": absolute derivative of the bound by a scale of the
        feature. "descent": that derivative with its sign turned, how much of the feature lowers the bound.
    radius : {"variance", "ball"}, default="variance"
        Variance in place of the squared radius (Eq. 17), or the smallest ball that holds all points. The ball rests on
        a few outliers, and with large slack it follows features that have some rather than those that tell classes
        apart.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", or another of scikit-learn's pairwise kernels, or a function of two tables.
        Derivatives are for the four that are named.
    gamma : float, "scale" or "auto", default="scale"
        As in scikit-learn: "scale" is one over the number of features times the variance of the table, "auto" one over
        the number of features (of those that are not constant); it stays the same as features are eliminated.
    degree : float, default=3
    coef0 : float, default=0.0
    C : float, default=1.0
        Cost of squared slack, as a ridge 1/C on the diagonal of the kernel; ``np.inf`` for a hard margin.
    step : int, float or "halving", default=1
        How many are eliminated in each round: a count, a fraction of the remaining ones, or down to a power of two.
    standardize : bool, default=True
        Whether to bring columns to zero mean and unit variance first; sparse ones keep their mean, which changes
        nothing for "linear" and "rbf".
    tol : float, default=1e-10
        Largest violation of the KKT conditions, on the scale of margins of one.
    max_iter : int, default=10000
        Iterations per SVM and round.
    max_samples : int or None, default=5000
        Rows to work on where no kernel matrix is needed, as by default: of more, so many are drawn, always the same,
        and the reason says so. None takes all.
    groups : array-like of shape (n_features,) or mapping, default=None
        A label per column, or label -> columns (names or places): columns of a group leave together. Groups are
        compared by the change of the bound without all of them, or its derivative by their common scale, per column:
        the radius shrinks with every column, whatever it is worth.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The criterion when the feature was eliminated: the bound without it, or the derivative; NaN for constant
        columns, which are not ranked.
    n_iter_ : int
        Iterations of the solver in all.
    order_, ranking_, support_, path_, stop_, certificate_
        As for every ranker. ``path_`` holds, with the features that remained at that time, "bound", "radius2",
        "margin" (the smallest 1/||w||), "n_features", and with the span "loo_errors", which counts
        :math:`\alpha_k S_k^2 \ge 1`: an estimate, see below.

    Notes
    -----
    Several classes: one SVM for each against the rest; bounds are summed. Cost of a round with a linear kernel:
    O(n D) with the radius and the margin, O(n^2 D) with the span, and O(n^2) per iteration of the solver, which
    starts from the solution of the round before; other kernels O(r^2 D), with the span O(r^3 D), for r support vectors.
    Memory O(n^2): more than 23 170 rows are refused. The default, a linear kernel on standardized columns with
    "variance", "fixed" and a finite C, takes the time and memory of :class:`~tamis.RFE`, and any number of rows: see
    below. With 500 rows and 20 000 columns the default probe takes about a minute, for 19 eliminations of twice as many
    columns, a tenth of them at a time; a number as ``stop`` spares them. Callbacks are told of every elimination and
    draw.

    A row of weight m costs and counts what m copies of it would, in the SVMs, the variance and the ball; the span, for
    which rows are left out one at a time, takes whole weights only and repeats the rows.

    The span assumes that the support vectors stay the same when one of them is left out: then
    :math:`\alpha_k S_k^2 = 1 - y_k f_{-k}(x_k)` is exact, and so is "loo_errors" (Vapnik and Chapelle 2000). As a rule
    some change with a row: "loo_errors" may then be a few errors above or below what brute force counts, and the sum
    is an approximation of the bound rather than one.

    Deviations from the paper. With :math:`\alpha` fixed, :math:`\|w\|^2` is twice the dual objective,
    :math:`2 \sum \alpha_k - v^T K v`, which grows without a useful feature; :math:`v^T K v` alone, the same before
    the removal, would shrink. So measured, "fixed" never exceeds "retrain" with the radius and margin. The span with
    :math:`\alpha` fixed sees labels through :math:`\alpha` only, next to nothing when D is larger than n: use
    "retrain" or "descent" with it. The absolute value in "derivative" cannot tell a feature that lowers the bound from
    one that raises it, and with large slack noise raises it most: "descent" can. With ``C=np.inf``, features that
    remain when the classes can no longer be separated are ranked by the last SVM that could be trained;
    ``certificate_["fewest_features_trained"]`` says on how many.

    A linear kernel on standardized columns with "variance" and "fixed" gives the order of recursive feature elimination
    by :math:`w_p^2`, summed over the SVMs. Each column then adds one to :math:`R^2`, so that the bound without column p
    is :math:`4 (R^2 - 1) (\|w\|^2 + w_p^2)`, in which only :math:`w_p^2` depends on p, and
    :math:`R^2 = D + (1 - 1/n) / C > 1` as long as there is a choice.

    References
    ----------
    Lal, Chapelle, Weston and Elisseeff, "Embedded methods", in Feature Extraction, Springer, 2006, Sec. 2.3.
    Rakotomamonjy, "Variable selection using SVM-based criteria", JMLR 3, 2003. Vapnik and Chapelle, "Bounds on error
    expectation for support vector machines", Neural Computation 12, 2000. Chapelle, Vapnik, Bousquet and Mukherjee,
    "Choosing multiple parameters for support vector machines", Machine Learning 46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from tamis import SVMBoundElimination
    >>> X, y = make_classification(n_samples=80, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    >>> SVMBoundElimination(stop=3).fit(X, y).get_feature_names_out()
    array(['x0', 'x1', 'x2'], dtype=object)
    """

    tasks: ClassVar[frozenset[str]] = frozenset({"classification"})
    provides: ClassVar[frozenset[str]] = WeightedRanker.provides | {"groups", "sparse"}
    one_shot: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict] = {
        **SampledRanker._parameter_constraints,
        "bound": [StrOptions({"radius-margin", "span"})],
        "criterion": [StrOptions({"fixed", "retrain", "derivative", "descent"})],
        "radius": [StrOptions({"ball", "variance"})],
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="right")],
        "step": STEP_CONSTRAINT,
        "standardize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "groups": GROUPS_CONSTRAINT,
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        bound: str = "radius-margin",
        criterion: str = "fixed",
        radius: str = "variance",
        kernel: str | Callable[[np.ndarray, np.ndarray], np.ndarray] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        C: float = 1.0,
        step: float | str = 1,
        standardize: bool = True,
        tol: float = 1e-10,
        max_iter: int = 10_000,
        max_samples: int | None = 5000,
        groups: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.bound = bound
        self.criterion = criterion
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.step = step
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.max_samples = max_samples
        self.groups = groups

    def _samples_rows(self) -> bool:
        return self._is_recursive_elimination()

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        with limit_blas_threads(candidates.table.shape[0] ** 2):
            return super()._rank(candidates, y, rng)

    def _start_elimination(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState
    ) -> Elimination:
        X, signs, weight = candidates.table, _one_against_rest(np.asarray(y)), candidates.sample_weight
        if weight is not None and self.bound == "span":
            rows = _repeated_rows(weight)
            X, signs, weight = safe_indexing(X, rows), signs[:, rows], None
        Z, features = self._columns(X.astype(float, copy=False), weight)
        members = None
        if candidates.members is not None:
            members = [np.flatnonzero(np.isin(features, columns)) for columns in candidates.members]
        if self._is_recursive_elimination():
            return RadiusVarianceElimination(
                Z, signs, self.C, features, members, tol=self.tol, max_iter=self.max_iter, sample_weight=weight
            )
        check_gram_fits(Z.shape[0], _WITHOUT_GRAM)
        # Standardized columns have unit variance, also sparse ones, which keep their mean: "scale" is "auto" then.
        gamma = "auto" if self.standardize and self.gamma == "scale" else self.gamma
        gamma = resolve_gamma(gamma, Z, weight)
        kernel = FeatureKernel(Z, self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        needs_ball = self.bound == "radius-margin" and self.radius == "ball"
        svms = WarmStartedSVMs(
            kernel.matrix,
            signs,
            ridge=1.0 / self.C if weight is None else 1.0 / (self.C * weight),
            ball=needs_ball,
            tol=self.tol,
            max_iter=self.max_iter,
            counts=weight,
        )
        counts = 1.0 if weight is None else weight
        return BoundElimination(kernel, svms, self.bound, self.criterion, self.C, features, members, counts)

    def _is_recursive_elimination(self) -> bool:
        """Whether the bound orders columns as their squared weights do, for which no kernel matrix is needed."""
        return (
            (self.bound, self.criterion, self.radius) == ("radius-margin", "fixed", "variance")
            and isinstance(self.kernel, str)
            and self.kernel == "linear"
            and self.standardize
            and bool(np.isfinite(self.C))
        )

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        certificate = elimination.certificate()
        if not certificate["converged"]:
            message = (
                f"an SVM did not converge (violation {certificate['residual']:.1e}); raise max_iter or tol, or lower C"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.n_iter_ = certificate["n_iter"]
        certificate["fewest_features_trained"] = min(step.info["n_features"] for step in path)
        return Ranking.from_path(path, n_candidates, certificate)

    def _columns(self, X: Any, weight: np.ndarray | None) -> tuple[Any, np.ndarray]:
        """Columns that vary, as the SVMs are given them, and their indices."""
        X = rescale_columns(X) if self.standardize else rescale_safely(X)
        features = varying_columns(X, weight)
        if not features.size:
            raise ValueError("every column of X is constant, up to rounding: there is nothing to rank")
        if sparse.issparse(X):
            X = X.tocsc()[:, features]
        elif features.size < X.shape[1]:  # as a rule all vary, and a wide table need not be copied
            X = X[:, features]
        return (standardize_columns(X, weight) if self.standardize else X), features


class BoundElimination(Elimination):
    """Features, or groups of them, by the bound without them.

    Parameters
    ----------
    kernel : FeatureKernel
        Of the columns that vary.
    svms : WarmStartedSVMs
    bound : {"radius-margin", "span"}
    criterion : {"fixed", "retrain", "derivative", "descent"}
    C : float
    features : ndarray
        Columns of the table that those of the kernel are.
    members : list of ndarray or None
        Columns of the kernel in each group; constant columns are in none.
    counts : ndarray of shape (n_rows,) or float, default=1.0
        How often each row counts.
    """

    def __init__(
        self,
        kernel: FeatureKernel,
        svms: WarmStartedSVMs,
        bound: str,
        criterion: str,
        C: float,
        features: np.ndarray,
        members: list[np.ndarray] | None,
        counts: np.ndarray | float = 1.0,
    ) -> None:
        self.kernel, self.svms, self.counts = kernel, svms, counts
        self.bound, self.criterion, self.C = bound, criterion, C
        self.features, self.members = features, members
        if members is None:
            self._place = {int(column): place for place, column in enumerate(features)}
            self.remaining = features
        else:
            self.remaining = np.array([g for g, columns in enumerate(members) if columns.size], dtype=np.int64)
        self._judged = np.empty(0)
        self._reported = np.empty(0)
        self._info: dict[str, Any] = {}
        self._column: np.ndarray | None = None  # that a linear kernel has lost since the SVMs were trained
        self._is_trained = True
        self._judge()

    def _columns_of(self, candidate: int) -> np.ndarray:
        """Columns of the kernel."""
        return np.array([self._place[candidate]]) if self.members is None else self.members[candidate]

    def criteria(self) -> np.ndarray:
        """Changes of the bound, which have more digits than the bound, or its derivatives."""
        return self._judged

    def reported(self, criteria: np.ndarray) -> np.ndarray:
        """The bound without each, or its derivative."""
        return self._reported

    def remove(self, leaving: np.ndarray) -> None:
        """Take them out of the kernel."""
        columns = np.concatenate([self._columns_of(candidate) for candidate in leaving.tolist()])
        self._column = _downdate_column(self.kernel, columns)
        self.kernel.remove(columns)
        stay = ~np.isin(self.remaining, leaving)
        self.remaining = self.remaining[stay]
        self._judged, self._reported = self._judged[stay], self._reported[stay]
        self._is_trained = False

    def train(self) -> bool:
        """Train the SVMs from where they are; False if a hard margin does not exist any more."""
        if self._is_trained:
            return True
        try:
            self.svms.retrain(self.kernel.matrix, self._column)
        except ValueError:
            if np.isfinite(self.C):
                raise
            return False
        self._is_trained = True
        self._judge()
        return True

    def _bound(self, K: np.ndarray, svms: WarmStartedSVMs) -> Bound:
        if self.bound == "span":
            return SpanBound(K, svms.solutions, 1.0 / self.C)
        return RadiusMarginBound(K, svms.solutions, svms.weights, 1.0 / self.C, self.counts)

    def _judge(self) -> None:
        """Criteria of all that remain, and what is reported of them, by the SVMs as they are trained."""
        bound = self._bound(self.kernel.matrix, self.svms)
        self.rounding_tol = _NOISE * bound.value
        self._info = self._describe(bound)
        if self.criterion in ("fixed", "retrain"):
            changes = self._changes(bound)
            self._judged, self._reported = changes / self._sizes(), bound.value + changes
        else:
            gradient = self._gradient(bound)
            self._reported = np.abs(gradient) if self.criterion == "derivative" else -gradient
            self._judged = self._reported / self._sizes()

    def _sizes(self) -> np.ndarray | float:
        """Columns of each candidate: every column that leaves makes the radius smaller, whatever it is worth."""
        return 1.0 if self.members is None else np.array([self.members[g].size for g in self.remaining], dtype=float)

    def _changes(self, bound: Bound) -> np.ndarray:
        """Of the bound without each candidate alone, with the dual variables as they are or trained again."""
        if self.criterion == "retrain":
            return np.array([self._retrain(self._columns_of(j)) for j in self.remaining.tolist()]) - bound.value
        if self.members is None:
            return bound.changes(self.kernel, self.kernel.remaining)
        groups = (self.members[g] for g in self.remaining)
        return np.array(
            [self._bound(self.kernel.without_group(columns), self.svms).value - bound.value for columns in groups]
        )

    def _gradient(self, bound: Bound) -> np.ndarray:
        """By the scale of each candidate: that of a group is common to its columns."""
        features = self.kernel.remaining
        gradient = bound.gradient(self.kernel, features)
        if self.members is None:
            return gradient
        by_column = np.zeros(self.features.size)
        by_column[features] = gradient
        return np.array([by_column[self.members[g]].sum() for g in self.remaining])

    def _retrain(self, columns: np.ndarray) -> float:
        """The bound of SVMs trained without some columns; infinite where a hard margin needs them."""
        K = self.kernel.without_group(columns)
        try:
            return self._bound(K, self.svms.retrained_copy(K, _downdate_column(self.kernel, columns))).value
        except ValueError:
            if np.isfinite(self.C):
                raise
            return np.inf

    def _describe(self, bound: Bound) -> dict[str, Any]:
        norm2 = measure_norms2(self.kernel.matrix, self.svms.solutions, 1.0 / self.C, self.counts).max()
        margin = float(norm2**-0.5) if norm2 > 0 else np.inf  # an SVM that is still at zero after max_iter
        info = {"bound": bound.value, "margin": margin, "n_features": self.kernel.remaining.size}
        if isinstance(bound, RadiusMarginBound):
            return {**info, "radius2": bound.radius2}
        return {**info, "loo_errors": bound.n_errors} if isinstance(bound, SpanBound) else info

    def info(self) -> Mapping[str, Any]:
        """Bound and margin of the SVMs as they are trained."""
        return self._info

    def certificate(self) -> dict[str, Any]:
        """How well the SVMs were trained."""
        return {"converged": self.svms.converged, "residual": self.svms.residual, "n_iter": self.svms.n_iter}


def _downdate_column(kernel: FeatureKernel, leaving: np.ndarray) -> np.ndarray | None:
    """The column x of a linear kernel that loses ``x x'``; None for other kernels and several features."""
    return kernel.columns(leaving)[:, 0] if kernel.kernel == "linear" and leaving.size == 1 else None


def _repeated_rows(sample_weight: np.ndarray) -> np.ndarray:
    """Rows as often as whole weights say: the span leaves them out one at a time."""
    if np.any(sample_weight != np.round(sample_weight)):
        raise ValueError(
            "bound='span' leaves out one row at a time, of which sample_weight must say how often each is there, in "
            "whole numbers; use these, or bound='radius-margin'"
        )
    check_gram_fits(int(sample_weight.sum()), _WITHOUT_GRAM)
    return np.repeat(np.arange(sample_weight.size), sample_weight.astype(np.int64))


def _one_against_rest(y: np.ndarray) -> np.ndarray:
    """Signs of each SVM, one row for two classes and one per class beyond."""
    classes, codes = encode_classes(y)
    indicators = codes == np.arange(classes.size)[:, None]
    return np.where(indicators[1:] if classes.size == 2 else indicators, 1.0, -1.0)
