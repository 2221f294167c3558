"""Kernel matrices are made of a sample of many rows, always the same one, in which no class is lacking."""

import numpy as np
import pytest

from tamis import JCFO, ScalingFactors
from tamis.datasets import make_linear
from tamis.rank._row_sample import draw_rows, with_all_classes

RANKERS = [ScalingFactors(stop=2, kernel="linear", tol=0.1), JCFO(stop=2)]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_a_sample_is_ranked_as_a_table_of_its_rows(ranker):
    X, y = make_linear(n_samples=80, n_features=5, coef=[3, 2], random_state=0)
    y = (y > 0).astype(int)
    rows = draw_rows(80, 50)
    alone = ranker.set_params(max_samples=None).fit(X[rows], y[rows]).scores_.copy()
    sampled = ranker.set_params(max_samples=50).fit(X, y)
    assert "ranked on 50 of 80 rows" in sampled.stop_.reason
    np.testing.assert_allclose(sampled.scores_, alone, rtol=1e-6)
    if isinstance(ranker, JCFO):
        assert np.isin(sampled.support_samples_, rows).all()


def test_rare_classes_are_in_every_sample():
    y = np.array(["common"] * 98 + ["rare"] * 2)
    rows = with_all_classes(np.arange(10), y)
    np.testing.assert_array_equal(rows, [*range(10), 98, 99])
