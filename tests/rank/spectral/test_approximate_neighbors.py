"""Graphs of approximate neighbors rank as those of exact ones do."""

import numpy as np
import pytest
from scipy import sparse

from tamis import CGSSL, MCFS, NDFS, RSFS, RUFS, SPEC, LaplacianScore


def a_table(n=400):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, 8))
    X[:, :3] += 6.0 * rng.randint(3, size=n)[:, None]
    return X


@pytest.mark.parametrize("weight", ["heat", "binary", "cosine", "rbf"])
def test_scores_are_nearly_those_of_the_exact_graph(weight):
    X = a_table()
    exact, approximate = (
        LaplacianScore(stop=3, weight=weight, neighbors=each).fit(X) for each in ("exact", "approximate")
    )
    np.testing.assert_allclose(approximate.scores_, exact.scores_, atol=0.02)
    np.testing.assert_array_equal(np.sort(approximate.order_[:3]), np.sort(exact.order_[:3]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", [SPEC, MCFS, NDFS, CGSSL, RSFS, RUFS])
def test_every_method_on_a_graph_takes_it(method):
    seed = {"random_state": 0} if "random_state" in method().get_params() else {}
    found = method(stop=3, neighbors="approximate", **seed).fit(a_table(150))
    assert found.support_.sum() == 3


def test_sparse_tables_are_referred_to_the_exact_search():
    with pytest.raises(ValueError, match="neighbors='approximate' is for dense tables"):
        LaplacianScore(neighbors="approximate").fit(sparse.csr_array(a_table(50)))


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="'neighbors' parameter of LaplacianScore"):
        LaplacianScore(neighbors="fast").fit(a_table(50))
