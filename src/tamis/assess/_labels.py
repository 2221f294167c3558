"""Two labelings of the same samples side by side: predicted classes or clusters against the true classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from tamis._sklearn import is_pandas_na
from tamis.assess._support import as_numpy


def clustering_accuracy(y_true: Any, y_pred: Any) -> float:
    r"""Share of samples in the right class, under the best one-to-one match of clusters and classes (ACC).

    .. math:: \mathrm{ACC} = \max_{\theta} \frac{1}{n} \sum_{i=1}^n \delta(\theta(\hat y_i), y_i)

    with :math:`\theta` one-to-one: Doquet (2019), Eq. 5.4, as the papers it cites read it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes: numbers, text, anything that sorts.
    y_pred : array-like of shape (n_samples,)
        Clusters, whatever they are called.

    Returns
    -------
    float
        In (0, 1], higher is better.

    Notes
    -----
    Cost: the Hungarian algorithm on the table of counts, clusters by classes. With more clusters than classes some
    clusters go unmatched, and all of their samples count as wrong; with fewer, some classes do. Deviation from the
    thesis: as printed, its maximum runs over all maps; that is :func:`purity`.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.2.2.1. Cai, Zhang and He, "Unsupervised feature
    selection for multi-cluster data", KDD 2010.

    Examples
    --------
    >>> from tamis.assess import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    0.75
    """
    true, pred = _encode_both(y_true, y_pred)
    counts = contingency_matrix(true, pred)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / true.size)


def purity(y_true: Any, y_pred: Any) -> float:
    r"""Share of samples that belong to the most frequent class of their cluster.

    .. math:: \mathrm{purity} = \max_{\theta} \frac{1}{n} \sum_{i=1}^n \delta(\theta(\hat y_i), y_i)
        = \frac{1}{n} \sum_k \max_c |A_k \cap B_c|

    over every map :math:`\theta` from clusters to classes: Doquet (2019), Eq. 5.4 as printed.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    float
        In (0, 1], higher is better.

    Notes
    -----
    Cost: one pass over the labels. Purity never falls when a cluster is split, and reaches 1 with one cluster per
    sample: compare it only at equal numbers of clusters, or use :func:`clustering_accuracy`, which it bounds from
    above.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.2.2.1.

    Examples
    --------
    >>> from tamis.assess import purity
    >>> purity(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    1.0
    """
    true, pred = _encode_both(y_true, y_pred)
    counts = contingency_matrix(true, pred, sparse=True)
    return float(counts.max(axis=0).sum() / true.size)


def normalized_mutual_info(y_true: Any, y_pred: Any) -> float:
    r"""Mutual information of two labelings over the mean of their entropies (NMI).

    .. math:: \mathrm{NMI} = \frac{2\, I(\hat y, y)}{H(\hat y) + H(y)}

    Doquet (2019), Eq. 5.9.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes.
    y_pred : array-like of shape (n_samples,)
        Clusters.

    Returns
    -------
    float
        In [0, 1], higher is better. Two labelings of one label each agree, 1; one label against several says
        nothing, 0.

    Notes
    -----
    Cost: one pass over the labels. The measure grows with the number of clusters, even by chance: compare it only at
    equal numbers. The work is scikit-learn's ``normalized_mutual_info_score``.

    References
    ----------
    Doquet, "Agnostic feature selection", PhD thesis, 2019, Sec. 5.2.2.2.

    Examples
    --------
    >>> from tamis.assess import normalized_mutual_info
    >>> round(normalized_mutual_info(["cat", "cat", "dog", "dog"], [1, 1, 0, 2]), 3)
    0.8
    """
    # codes, since scikit-learn warns of labels that look like quantities
    return float(normalized_mutual_info_score(*_encode_both(y_true, y_pred), average_method="arithmetic"))


def balanced_error_rate(y_true: Any, y_pred: Any) -> float:
    r"""Mean over the classes of the share of their samples that was predicted wrong (BER).

    .. math:: \mathrm{BER} = \frac{1}{C} \sum_{c=1}^C \frac{1}{n_c} \sum_{i: y_i = c} (1 - \delta(\hat y_i, c))

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Classes; those that occur here are the ones averaged over.
    y_pred : array-like of shape (n_samples,)
        Predicted classes, under the same names.

    Returns
    -------
    float
        In [0, 1]. An error: LOWER is better, and guessing gives :math:`1 - 1/C`.

    Notes
    -----
    Cost: one pass over the labels. One minus scikit-learn's balanced accuracy. A prediction that is no true class is
    an error like any other.

    References
    ----------
    Guyon, Gunn, Ben-Hur and Dror, "Result analysis of the NIPS 2003 feature selection challenge", NIPS 17, 2004.

    Examples
    --------
    >>> from tamis.assess import balanced_error_rate
    >>> balanced_error_rate(["ill", "well", "well", "well"], ["well", "well", "well", "well"])
    0.5
    """
    true, pred = _check_labels(y_true, y_pred)
    if _is_text(true) != _is_text(pred):
        words = {True: "text", False: "numbers"}
        raise ValueError(
            f"y_true holds {words[_is_text(true)]} and y_pred {words[_is_text(pred)]}: name the classes alike"
        )
    codes = _encode(true, "y_true")
    errors = np.bincount(codes, weights=true != pred)
    return float(np.mean(errors / np.bincount(codes)))


def _check_labels(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two label vectors of the same length without missing entries."""
    true, pred = read_labels(y_true, "y_true"), read_labels(y_pred, "y_pred")
    if true.size != pred.size:
        raise ValueError(f"y_true has {true.size} labels, but y_pred has {pred.size}: give one of each per sample")
    return true, pred


def read_labels(y: Any, name: str) -> np.ndarray:
    """Labels as numpy, one per sample and none missing."""
    values = as_numpy(y)
    if values.ndim != 1:
        raise ValueError(f"{name} must hold one label per sample, in one dimension; got shape {values.shape}")
    if not values.size:
        raise ValueError(f"{name} is empty: there is nothing to judge")
    if missing := _count_missing(values):
        raise ValueError(f"{name} holds {missing} missing label{'s' if missing > 1 else ''}; drop those samples first")
    return values


def _count_missing(values: np.ndarray) -> int:
    if values.dtype.kind == "O":
        # pandas' NA has no truth value, so it must be asked for before the comparison
        return sum(value is None or is_pandas_na(value) or bool(value != value) for value in values.tolist())
    return int(np.count_nonzero(values != values))


def _is_text(values: np.ndarray) -> bool:
    return values.dtype.kind in "UST" or (values.dtype.kind == "O" and isinstance(values[0], str))


def _encode_both(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    true, pred = _check_labels(y_true, y_pred)
    return _encode(true, "y_true"), _encode(pred, "y_pred")


def _encode(values: np.ndarray, name: str) -> np.ndarray:
    """Place of each label among the sorted ones."""
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(
            f"{name} mixes labels that cannot be sorted, such as numbers and text; use one kind"
        ) from error
