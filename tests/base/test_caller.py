"""Warnings point to the code that called fit, however deep they arise."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import GramSchmidt, ReliefF, TableSelector


@pytest.mark.parametrize(
    "selector",
    [GramSchmidt(), ReliefF(), TableSelector(), TableSelector(ReliefF()), make_pipeline(StandardScaler(), ReliefF())],
    ids=lambda selector: repr(selector).replace("\n", ""),
)
def test_warnings_point_to_the_call_of_fit(selector):
    rng = np.random.RandomState(0)
    X, counts = rng.standard_normal((120, 3)), np.minimum(rng.poisson(4, 120), 12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector.fit(X, counts)
    assert len(caught) >= 2  # counts, and nothing kept
    assert {one.filename for one in caught} == {__file__}
