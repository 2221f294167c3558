"""Weights of the rows: which methods take them, and the way through a pipeline."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

import tamis
from tamis import RFE, FisherScore, Grafting, SVMBoundElimination, TreeSelector
from tamis.testing.instances import ARGUMENTS

WITHOUT_TARGET = {name for name in ARGUMENTS if not getattr(tamis, name).supervised}
# Neighbors of a weighted row are not defined; draws of rows and passes over them go by single rows.
UNWEIGHTED = {"ReliefF", "OFW", "PerceptronElimination"}


@pytest.mark.parametrize("name", sorted(set(ARGUMENTS) - WITHOUT_TARGET))
def test_all_methods_with_a_target_but_three_take_weights_and_ask_for_them(name):
    ranker = getattr(tamis, name)()
    takes = name not in UNWEIGHTED
    assert has_fit_parameter(ranker, "sample_weight") == takes == ("sample_weight" in ranker.provides)
    assert ("sample_weight" in ranker.get_metadata_routing().fit.requests) == takes


@pytest.mark.parametrize(
    "ranker",
    [
        FisherScore(stop=2),
        RFE(stop=2),
        TreeSelector(max_depth=2, stop=2),
        SVMBoundElimination(stop=2),
        Grafting(stop=2),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_pipelines_route_weights_to_a_ranker(ranker):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((60, 6)), np.arange(60) % 2
    X[:40, 1] += 9 * y[:40]
    X[40:, 0] += 3 * y[40:]
    assert clone(ranker).fit(X, y).order_[0] == 1
    with config_context(enable_metadata_routing=True):
        steps = (StandardScaler(), clone(ranker), LogisticRegression())
        model = make_pipeline(*(step.set_fit_request(sample_weight=True) for step in steps))
        model.fit(X, y, sample_weight=(np.arange(60) >= 40).astype(float))
    assert model[1].order_[0] == clone(ranker).fit(X[40:], y[40:]).order_[0] == 0
