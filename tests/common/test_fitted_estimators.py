"""Methods whose docstring promises ``estimator_`` have one that predicts from what ``transform`` keeps."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from tamis.testing import instances

PREDICTING = {
    type(ranker).__name__: ranker for ranker in reversed(instances()) if "estimator_" in (type(ranker).__doc__ or "")
}


def test_there_are_such_methods():
    assert {"RFE", "GramSchmidt", "Lasso", "L1SVM", "JCFO", "Grafting", "PolynomialSelection"} <= set(PREDICTING)


@pytest.mark.parametrize("name", sorted(PREDICTING))
def test_a_promised_estimator_predicts_from_the_columns_that_are_kept(name):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 6))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int) if "classification" in PREDICTING[name].tasks else X[:, 0]
    ranker = PREDICTING[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clone(ranker).fit(X, y)
        predicted = found.estimator_.predict(found.transform(X))
    assert predicted.shape == (60,)
    assert np.mean(predicted == y) > 0.7 if found.task_ == "classification" else np.corrcoef(predicted, y)[0, 1] > 0.5
