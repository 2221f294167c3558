"""AGNOS-W, and what it has in common with AGNOS-G."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import AgnosG, AgnosW

pytest.importorskip("torch", reason="the extra neural brings torch")

BOTH = pytest.mark.parametrize("method", [AgnosW, AgnosG])


@BOTH
def test_a_feature_that_only_one_lesser_unit_reads_does_not_win(method):
    """Four columns share a quantity, one is noise: its own principal component must not lift it to the top."""
    rng = np.random.RandomState(0)
    shared = rng.standard_normal((150, 1))
    X = np.hstack([shared + 0.3 * rng.standard_normal((150, 4)), rng.standard_normal((150, 1))])
    assert method(stop=1, random_state=0).fit(X).order_[0] < 4


@BOTH
def test_a_penalty_that_leaves_nothing_is_told_of(method):
    X = np.random.RandomState(0).standard_normal((50, 12))
    with pytest.warns(ConvergenceWarning, match="no feature of any importance: lower alpha=50"):
        found = method(stop=None, alpha=50.0, random_state=0).fit(X)
    assert sorted(found.order_) == list(range(12))
    assert not found.certificate_["converged"]
