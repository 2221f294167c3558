"""Scores that are a mean over rows of a loss of each, so that any sample of the rows can be scored anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

Rows = np.ndarray


@dataclass(frozen=True)
class Metric:
    r"""A score, higher is better, :math:`s(w) = o - \sqrt[r]{\sum_i u_i(w) \ell_i}` with rows counted w_i times.

    Attributes
    ----------
    name : str
        As in scikit-learn.
    words : str
    task : {"classification", "regression"}
    output : {"label", "decision", "value"}
        What is asked of models: class codes, a decision value for the second class, a quantity.
    losses : function(y, output) -> losses of rows
    scales : function(y, counts) -> u of shape (n_samples_of_rows, n_rows)
    offset : float
    root : float
    finds_threshold : bool
        Whether decision values of models are parted where the score asks for it, and not where models do so.
    """

    name: str
    words: str
    task: str
    output: str
    losses: Callable[[Rows, Rows], Rows]
    scales: Callable[[Rows, Rows], Rows]
    offset: float = 1.0
    root: float = 1.0
    finds_threshold: bool = False

    @property
    def asked(self) -> str:
        """What models are asked for: decision values, where they give such, if labels are to be found from them."""
        return "decision or label" if self.finds_threshold else self.output

    @property
    def counts_classes_alike(self) -> bool:
        """Whether a rare class counts as much as a frequent one."""
        return self.scales is _by_class

    def score(self, mean_loss: np.ndarray) -> np.ndarray:
        """Scores from scaled sums of losses; linear terms of a few rows may sum to less than nothing."""
        return self.offset - np.maximum(mean_loss, 0.0) ** (1.0 / self.root)


def _wrong(y: Rows, output: Rows) -> Rows:
    return (y != output).astype(float)


def _squares(y: Rows, output: Rows) -> Rows:
    return (y - output) ** 2


def _absolutes(y: Rows, output: Rows) -> Rows:
    return np.abs(y - output)


def _misplaced(y: Rows, output: Rows) -> Rows:
    r"""Terms of rows whose mean by class is the share of misplaced pairs, ties by half.

    With :math:`m_i` the share of the rows of the other class that lie on the wrong side of row i and M the share of all
    pairs, :math:`2 m_i - M`: the linear part of the change of M with the weights of rows (Hoeffding's projection, as in
    DeLong et al. 1988). The mean of :math:`m_i` alone over some rows also holds the other rows, with which these are
    paired: rows left out of a sample would be scored by those in it, and errors would be half of what they are.
    """
    losses = np.zeros(y.size)
    first, second = np.sort(output[y == 0]), np.sort(output[y == 1])
    for is_second, others, sign in ((y == 1, first, 1.0), (y == 0, second, -1.0)):
        if others.size == 0:  # nothing to compare with: a guess
            return np.full(y.size, 0.5)
        values = output[is_second]
        below = np.searchsorted(others, values, "left") / others.size
        up_to = np.searchsorted(others, values, "right") / others.size
        above = 1.0 - (below + up_to) / 2
        losses[is_second] = above if sign > 0 else 1.0 - above
    return 2.0 * losses - losses[y == 1].mean()


def _alike(y: Rows, counts: Rows) -> Rows:
    """Every row counts alike."""
    total = counts.sum(axis=1, keepdims=True)
    return counts / np.where(total > 0, total, 1)


def _by_class(y: Rows, counts: Rows) -> Rows:
    """Every class that occurs counts alike."""
    scales = np.zeros(counts.shape)
    n_present = np.zeros((len(counts), 1))
    for code in np.unique(y):
        rows = y == code
        of_class = counts[:, rows].sum(axis=1, keepdims=True)
        scales[:, rows] = counts[:, rows] / np.where(of_class > 0, of_class, 1)
        n_present += of_class > 0
    return scales / np.maximum(n_present, 1)


def _by_variance(y: Rows, counts: Rows) -> Rows:
    """Squares over the sum of squares about the mean."""
    share = _alike(y, counts)
    center = share @ y
    total = (counts * (y[None, :] - center[:, None]) ** 2).sum(axis=1, keepdims=True)
    return counts / np.where(total > 0, total, 1)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "balanced_accuracy",
            "balanced accuracy (one minus the balanced error rate)",
            "classification",
            "label",
            _wrong,
            _by_class,
        ),
        Metric("accuracy", "accuracy", "classification", "label", _wrong, _alike),
        Metric("roc_auc", "area under the ROC curve", "classification", "decision", _misplaced, _by_class),
        Metric("r2", "R²", "regression", "value", _squares, _by_variance),
        Metric("neg_mean_squared_error", "minus mean squared error", "regression", "value", _squares, _alike, 0.0),
        Metric(
            "neg_root_mean_squared_error",
            "minus root mean squared error",
            "regression",
            "value",
            _squares,
            _alike,
            0.0,
            2.0,
        ),
        Metric("neg_mean_absolute_error", "minus mean absolute error", "regression", "value", _absolutes, _alike, 0.0),
    )
}


def find_metric(scoring: str | None, task: str, n_classes: int) -> Metric:
    """The metric that is asked for, or that of the task."""
    if scoring is None:
        return METRICS["balanced_accuracy" if task == "classification" else "r2"]
    usable = [name for name, metric in METRICS.items() if metric.task == task]
    if not isinstance(scoring, str) or scoring not in usable:
        raise ValueError(
            f"scoring={scoring!r} cannot be used for {task}: the estimate scores rows that models did not see again "
            f"and again, which takes a score that is a mean over rows; choose one of {', '.join(usable)}"
        )
    if scoring == "roc_auc" and n_classes != 2:
        raise ValueError(f"scoring='roc_auc' compares two classes, and y holds {n_classes}: use 'balanced_accuracy'")
    return METRICS[scoring]


def with_threshold(metric: Metric, n_classes: int) -> Metric:
    """The same score of labels that are found from decision values, where there are two classes that count alike."""
    return replace(metric, finds_threshold=n_classes == 2 and metric.name == "balanced_accuracy")


def guess_losses(metric: Metric, y: np.ndarray) -> np.ndarray:
    """Expected losses of rows for one who guesses without looking at X."""
    if metric.name == "balanced_accuracy":
        return np.full(y.size, 1.0 - 1.0 / np.unique(y).size)
    if metric.name == "roc_auc":
        return np.full(y.size, 0.5)
    if metric.task == "classification":
        return (y != np.bincount(y).argmax()).astype(float)
    guess = np.median(y) if metric.losses is _absolutes else np.mean(y)
    return metric.losses(y, np.full(y.size, guess))
