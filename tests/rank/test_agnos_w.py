import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import AgnosW

pytest.importorskip("torch", reason="the extra neural brings torch")


def test_a_feature_that_only_one_lesser_unit_reads_does_not_win():
    """Four columns share a quantity, one is noise: its own principal component must not lift it to the top."""
    rng = np.random.RandomState(0)
    shared = rng.standard_normal((150, 1))
    X = np.hstack([shared + 0.3 * rng.standard_normal((150, 4)), rng.standard_normal((150, 1))])
    assert AgnosW(stop=1, random_state=0).fit(X).order_[0] < 4


def test_a_strong_penalty_changes_nothing_about_who_may_be_ranked():
    X = np.random.RandomState(0).standard_normal((50, 12))
    with pytest.warns(ConvergenceWarning, match="alpha=50 leaves no feature of any importance"):
        found = AgnosW(stop=None, alpha=50.0, random_state=0).fit(X)
    assert sorted(found.order_) == list(range(12))
    assert found.certificate_["converged"]
