"""Least-squares rankers on groups of columns: rules, models and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from tamis import ForwardLeastSquares, GramSchmidt
from tamis.dictionary import Monomials
from tamis.stop import Probe

LABELS = np.repeat(list("abcd"), [1, 3, 5, 2])


def make_table(seed=0, n=60, signal=1.0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 11))
    return X, signal * (X[:, 1] + X[:, 6]) + rng.standard_normal(n)


@pytest.mark.parametrize("method", [GramSchmidt, ForwardLeastSquares])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_permutations_and_the_analytic_law_keep_the_same_groups(method, n_classes):
    X, y = make_table(signal=2.0)
    y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3])) if n_classes else y
    for null in ("gaussian", "permutation"):
        found = method(groups=LABELS, stop=Probe(0.05, null=null)).fit(X, y)
        assert set(found.group_order_[:2]) == {"b", "c"}
        assert set(LABELS[found.support_]) == {"b", "c"}


def test_the_published_probe_counts_every_group_of_every_draw():
    X, y = make_table(signal=2.0)
    found = GramSchmidt(groups=LABELS, stop=Probe(0.05, null="permutation", correction="none")).fit(X, y)
    assert set(LABELS[found.support_]) == {"b", "c"}


@pytest.mark.parametrize("null", ["gaussian", "permutation"])
def test_groups_without_any_relation_are_kept_no_more_often_than_the_risk(null):
    n_tables = 60
    kept = sum(
        GramSchmidt(groups=LABELS, stop=Probe(0.1, null=null, n_draws=39))
        .fit(*make_table(seed, signal=0.0))
        .n_features_
        > 0
        for seed in range(n_tables)
    )
    assert kept / n_tables <= 0.1 + 3 * np.sqrt(0.09 / n_tables)


def test_the_model_is_that_of_all_columns_of_the_kept_groups():
    X, y = make_table()
    found = GramSchmidt(groups=LABELS, stop=2).fit(X, y)
    model, kept = found.estimator_, np.flatnonzero(found.support_)
    direct = LinearRegression().fit(X[:, kept], y)
    np.testing.assert_allclose(model.predict(X[:, model.features]), direct.predict(X[:, kept]))
    assert found.model_at(0).features.size == 0
    sizes = np.cumsum([np.count_nonzero(label == LABELS) for label in found.group_order_[:1]])
    assert found.model_at(int(sizes[0])).features.size == sizes[0]
    with pytest.raises(ValueError, match="end within a group"):
        found.model_at(int(sizes[0]) - 1 if sizes[0] > 1 else int(sizes[0]) + 1)


def test_a_target_that_is_explained_ends_the_search():
    X, _ = make_table()
    found = GramSchmidt(groups=LABELS, stop=None).fit(X, X[:, 1] + X[:, 2])
    assert found.group_order_.tolist() == ["b"]
    found = GramSchmidt(groups=["u", "v"] * 5 + ["w"], stop=None).fit(X, np.zeros(60) + X[:, 10])
    assert found.group_order_.tolist() == ["w"]


def test_what_cannot_be_done_with_groups_is_refused():
    X, y = make_table()
    with pytest.raises(ValueError, match="give one of them"):
        GramSchmidt(groups=LABELS, dictionary=Monomials(2)).fit(X, y)
    with pytest.raises(ValueError, match="takes no groups"):
        ForwardLeastSquares(groups=LABELS, algorithm="lars").fit(X, y)
    with pytest.raises(ValueError, match="must be an array-like"):
        GramSchmidt(groups="abc").fit(X, y)
    with pytest.raises(ValueError, match="must be a list of columns"):
        GramSchmidt(groups={"a": 3}).fit(X, y)
