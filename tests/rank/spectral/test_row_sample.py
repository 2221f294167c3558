"""Methods that compare each row with each work on a sample of many rows, the same one each time, and say so."""

import numpy as np
import pytest
from sklearn.base import clone

from tamis import CGSSL, MCFS, NDFS, RSFS, RUFS, SOGFS, SPEC, LaplacianScore, NeighborFaithful
from tamis.base import Ranker
from tamis.rank._row_sample import draw_rows

METHODS = [LaplacianScore, SPEC, MCFS, NDFS, CGSSL, RSFS, RUFS, SOGFS, NeighborFaithful]


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    clusters = rng.randint(3, size=90)
    return np.hstack([3 * np.eye(3)[clusters] + 0.3 * rng.standard_normal((90, 3)), rng.standard_normal((90, 3))])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_rows_than_asked_for_are_ranked_on_a_sample_of_them(method: type[Ranker], table):
    ranker = method(stop=3, max_samples=60)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)
    sampled = clone(ranker).fit(table)
    assert "ranked on 60 of 90 rows" in sampled.stop_.reason
    np.testing.assert_array_equal(clone(ranker).fit(table).scores_, sampled.scores_)
    for max_samples in (None, 90):
        assert "rows" not in clone(ranker).set_params(max_samples=max_samples).fit(table).stop_.reason


@pytest.mark.parametrize("method", [LaplacianScore, SPEC, MCFS, SOGFS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sample_is_ranked_as_a_table_of_its_rows(method: type[Ranker], table):
    rows = draw_rows(90, 60)
    sampled = method(stop=None, max_samples=60).fit(table)
    np.testing.assert_allclose(sampled.scores_, method(stop=None).fit(table[rows]).scores_)


def test_what_is_known_of_samples_says_of_which(table):
    found = NDFS(stop=2, n_clusters=3, max_samples=40, random_state=0).fit(table)
    assert len(found.cluster_indicator_) == len(found.sample_indices_) == 40
    assert np.all(np.diff(found.sample_indices_) > 0)


def test_a_graph_of_classes_needs_no_sample(table):
    y = np.arange(90) % 3
    found = LaplacianScore(weight="class", max_samples=10, stop=2).fit(table, y)
    np.testing.assert_array_equal(found.scores_, LaplacianScore(weight="class", stop=2).fit(table, y).scores_)


def test_samples_are_drawn_without_replacement_and_in_order():
    rows = draw_rows(1000, 100, 3)
    assert rows.size == np.unique(rows).size == 100
    assert np.all(np.diff(rows) > 0)
    assert draw_rows(100, 100) is None
    assert draw_rows(100, None) is None
