"""Columns that stay, columns that are not ranked, and the fewest to keep."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge

from tamis import OFW, RFE, CorrelationScore, ForwardLeastSquares, GramSchmidt, Lasso, MaxVariance, PolynomialSelection
from tamis.dictionary import Monomials
from tamis.stop import CrossValidation, FisherTest, LeaveOneOut, MonteCarloProbe, Probe


def make_correlated(seed=0, n_samples=150, n_features=12):
    """Column 0 is a proxy of columns 1 and 2, which make the target with column 3."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] = X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n_samples)
    y = X[:, 1] + X[:, 2] + 0.7 * X[:, 3] + 0.5 * rng.standard_normal(n_samples)
    return X, y


def residuals(values, on):
    basis = np.column_stack([np.ones(len(on)), on])
    return values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0]


@pytest.mark.parametrize("ranker", [GramSchmidt(), ForwardLeastSquares()])
def test_a_forward_search_from_kept_columns_is_one_on_what_these_leave_unexplained(ranker):
    X, y = make_correlated()
    kept, others = [1, 5], [j for j in range(12) if j not in (1, 5)]
    found = clone(ranker).set_params(keep=kept, stop=None).fit(X, y)
    alone = clone(ranker).set_params(stop=None).fit(residuals(X[:, others], X[:, kept]), residuals(y, X[:, kept]))
    assert found.order_[:2].tolist() == kept
    expected = np.array(others)[alone.order_]
    if isinstance(ranker, GramSchmidt):
        np.testing.assert_array_equal(found.order_[2:], expected)
        np.testing.assert_allclose(found.scores_[expected], alone.scores_[alone.order_], rtol=1e-8)
    else:  # candidates are not projected there: only what is left of the target is
        assert found.order_[2] == np.argmax(
            [-1 if j in kept else np.corrcoef(X[:, j], residuals(y, X[:, kept]))[0, 1] ** 2 for j in range(12)]
        )


def test_a_column_that_only_repeats_a_kept_one_is_not_kept_any_more():
    X, y = make_correlated()
    assert GramSchmidt().fit(X, y).support_[0]
    found = GramSchmidt(keep=[1, 2]).fit(X, y)
    assert found.support_[[1, 2, 3]].all()
    assert not found.support_[0]


def test_an_elimination_never_removes_a_kept_column():
    X, y = make_correlated()
    found = RFE("ridge", keep=[7, 9], stop=None).fit(X, y)
    remaining, left = list(range(12)), []
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    while remaining:
        weights = np.abs(Ridge(alpha=0.5).fit(Z[:, remaining], y - y.mean()).coef_)
        free = [j for j in remaining if j not in (7, 9)] or remaining
        worst = min(free, key=lambda j: weights[remaining.index(j)])
        left.append(worst)
        remaining.remove(worst)
    assert found.order_.tolist() == left[::-1]


@pytest.mark.parametrize(
    "stop", [Probe(), Probe(correction="none"), Probe(null="permutation"), FisherTest(), LeaveOneOut(), 3, None]
)
def test_rules_judge_what_comes_after_the_kept_columns(stop):
    X, y = make_correlated()
    found = GramSchmidt(keep=[7, 8, 9], stop=stop).fit(X, y)
    assert found.support_[[7, 8, 9]].all()
    if stop == 3:
        assert found.n_features_ == 3
    else:
        assert found.support_[3]
    assert "'x7', 'x8', 'x9' stay, as asked" in found.stop_.reason


@pytest.mark.parametrize("stop", ["auto", MonteCarloProbe(fdr=0.1, n_draws=39), CrossValidation(cv=3)])
def test_rules_that_rank_again_know_the_kept_columns(stop):
    X, y = make_correlated()
    found = CorrelationScore(keep="x7", exclude=["x0"], stop=stop).fit(X, y)
    assert found.order_[0] == 7
    assert found.support_[[1, 2, 3]].all()
    assert not found.support_[0]


def test_excluded_columns_change_nothing_for_the_others():
    X, y = make_correlated()
    found = GramSchmidt(exclude=[0, 4]).fit(X, y)
    without = GramSchmidt().fit(np.delete(X, [0, 4], axis=1), y)
    np.testing.assert_array_equal(np.delete(np.arange(12), [0, 4])[without.order_], found.order_)
    assert without.stop_.n_features == found.stop_.n_features
    np.testing.assert_allclose(found.stop_.curve, without.stop_.curve)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_sparse_tables_lose_excluded_columns_too(form):
    X, y = make_correlated()
    X[np.abs(X) < 0.3] = 0
    dense, held = GramSchmidt(exclude=[0], keep=[5]).fit(X, y), GramSchmidt(exclude=[0], keep=[5]).fit(form(X), y)
    np.testing.assert_array_equal(dense.order_, held.order_)


def test_a_kept_column_that_adds_nothing_stays_with_a_weight_of_zero():
    X, y = make_correlated()
    X[:, 4] = 7.0
    X[:, 6] = X[:, 5]
    found = GramSchmidt(keep=[4, 5, 6]).fit(X, y)
    assert found.support_[[4, 5, 6]].all()
    model = found.estimator_
    features = found.get_support(indices=True)
    plain = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X[:, features]]), y, rcond=None)[0]
    expected = np.column_stack([np.ones(len(X)), X[:, features]]) @ plain
    np.testing.assert_allclose(model.predict(X[:, model.features]), expected, atol=1e-8)
    assert set(model.features.tolist()) == set(features.tolist())
    assert model.coef[model.features.tolist().index(4)] == 0


def test_groups_stay_and_go_as_a_whole_by_label_or_by_a_column_of_theirs():
    X, y = make_correlated()
    groups = {"first": [0, 1], "rest": [10, 11]}
    found = GramSchmidt(groups=groups, keep=["rest"], exclude=[0]).fit(X, y)
    assert found.support_[[10, 11]].all()
    assert not found.support_[[0, 1]].any()


def test_columns_are_found_by_the_names_of_a_frame():
    X, y = make_correlated()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    found = GramSchmidt(keep=["gene 8"], exclude=["gene 3"]).fit(frame, y)
    assert "gene 8" in found.get_feature_names_out()
    assert "gene 3" not in found.get_feature_names_out()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"keep": ["x99"]}, "keep names column 'x99', which X does not have"),
        ({"keep": ["gene 8"], "exclude": ["gene 8"]}, "'gene 8' is in both keep and exclude"),
        ({"keep": [12]}, "keep names column 12, but X has columns 0 to 11"),
        ({"exclude": "gene8"}, "did you mean 'gene 8'"),
        ({"exclude": [True] * 12}, "flatnonzero"),
        ({"exclude": list(range(12))}, "nothing to rank"),
        ({"keep": [0], "dictionary": Monomials(2)}, "dictionary"),
        ({"min_features": -1}, "min_features"),
    ],
)
def test_columns_that_cannot_be_set_apart_are_named(parameters, message):
    X, y = make_correlated()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    with pytest.raises(ValueError, match=message):
        GramSchmidt(**parameters).fit(frame, y)


def test_the_fewest_to_keep_are_kept_and_the_reason_says_so():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((60, 10)), rng.standard_normal(60)
    for ranker in (GramSchmidt(), CorrelationScore(), Lasso(), RFE()):
        found = clone(ranker).set_params(min_features=4).fit(X, y)
        assert found.n_features_ == 4
        assert "at least 4 asked for" in found.stop_.reason
    assert GramSchmidt(min_features=2, stop=5).fit(X, y).n_features_ == 5
    assert GramSchmidt(min_features=50).fit(X, y).n_features_ == 10


def test_a_supervised_ranker_never_keeps_half_because_nobody_asked():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((80, 30)), rng.standard_normal(80)
    X[:, 0] += 3 * y
    for ranker in (CorrelationScore(), RFE()):
        found = ranker.fit(X, y)
        assert found.support_[0]
        assert found.n_features_ <= 2
        assert "as asked" not in found.stop_.reason


def test_unsupervised_baselines_say_whose_number_it_is():
    X = make_correlated()[0]
    assert "as asked" not in MaxVariance().fit(X).stop_.reason
    from tamis import RandomSelection

    assert "the default of RandomSelection" in RandomSelection(random_state=0).fit(X).stop_.reason


def test_methods_without_a_sequence_put_the_kept_columns_first():
    X, y = make_correlated()
    assert PolynomialSelection(keep=[7]).fit(X, y).order_[0] == 7
    assert OFW(keep=[7], n_subsets=20, random_state=0).fit(X, y > 0).order_[0] == 7
