"""As many features as the data have dimensions."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context

from tamis import CorrelationScore, FeatureMedoids, GramSchmidt, MaxVariance
from tamis.base import ColumnCandidates, Ranking
from tamis.dictionary import Monomials
from tamis.dimension import MLE, PackingDimension, TwoNN
from tamis.kernels.neighbors.two_nn import measure_two_nn
from tamis.stop import IntrinsicDimension


@pytest.fixture
def X():
    """Three dimensions in ten columns."""
    rng = np.random.RandomState(0)
    return rng.uniform(size=(200, 3)) @ rng.standard_normal((3, 10)) * np.logspace(0, 2, 10)


class Fixed:
    """An estimator that knows the answer."""

    def __init__(self, dimension):
        self.dimension = dimension

    def fit(self, X):
        self.dimension_ = self.dimension
        return self


@pytest.mark.parametrize("multiple", [1.0, 0.5, 2, 1.7])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_number_kept_is_the_dimension_times_the_multiple_rounded_up(X, multiple, standardize):
    dimension = TwoNN(standardize=standardize, n_subsamples=0).fit(X).dimension_
    rule = IntrinsicDimension(multiple=multiple, standardize=standardize)
    found = MaxVariance(stop=rule).fit(X)
    kept = int(np.ceil(multiple * dimension))
    assert found.stop_.n_features == found.support_.sum() == kept
    assert f"about {dimension:.1f} dimensions (2-NN)" in found.stop_.reason
    assert found.stop_.reason.endswith(f"kept {kept}")


def test_the_name_finds_the_rule_and_no_target_is_needed(X):
    found = MaxVariance(stop="intrinsic-dimension").fit(X)
    assert found.stop_.reason == MaxVariance(stop=IntrinsicDimension()).fit(X).stop_.reason


@pytest.mark.parametrize("ranker", [CorrelationScore, GramSchmidt])
def test_it_cuts_any_ranking(X, ranker):
    noisy = X + 0.01 * np.random.RandomState(1).standard_normal(X.shape)
    found = ranker(stop=IntrinsicDimension(), task="regression").fit(noisy, X[:, 0])
    assert found.stop_.n_features == np.ceil(TwoNN(n_subsamples=0).fit(noisy).dimension_)
    np.testing.assert_array_equal(np.flatnonzero(found.support_), np.sort(found.order_[: found.stop_.n_features]))


@pytest.mark.parametrize("dimension", [2.0, 2.0000000000001, 1.3])
def test_another_estimator_may_be_given_and_rounding_adds_no_feature(X, dimension):
    found = MaxVariance(stop=IntrinsicDimension(Fixed(dimension))).fit(X)
    assert found.stop_.n_features == 2
    assert found.stop_.reason == f"the data have about {dimension:.1f} dimensions (Fixed): kept 2"


def test_the_estimators_of_the_library_fit_and_draw_from_the_seed(X):
    found = MaxVariance(stop=IntrinsicDimension(MLE(n_neighbors=5))).fit(X)
    assert found.stop_.n_features == np.ceil(MLE(n_neighbors=5).fit(X).dimension_)
    estimator = PackingDimension(n_subsamples=0)
    reasons = {MaxVariance(stop=IntrinsicDimension(estimator)).fit(X).stop_.reason for _ in range(3)}
    assert len(reasons) == 1
    assert estimator.random_state is None
    assert not hasattr(estimator, "dimension_")


def test_one_feature_is_kept_at_least_and_the_ranked_ones_at_most(X):
    assert MaxVariance(stop=IntrinsicDimension(Fixed(0.0))).fit(X).stop_.n_features == 1
    assert MaxVariance(stop=IntrinsicDimension(multiple=1e-3)).fit(X).stop_.n_features == 1
    found = MaxVariance(stop=IntrinsicDimension(multiple=100)).fit(X)
    assert found.stop_.n_features == 10
    assert "kept all 10 ranked, though" in found.stop_.reason
    infinite = MaxVariance(stop=IntrinsicDimension(Fixed(np.inf))).fit(X)
    assert infinite.stop_.n_features == 10
    assert "no finite dimension (Fixed): kept all 10" in infinite.stop_.reason


def test_two_samples_and_an_empty_ranking_have_an_answer_too(X):
    two = MaxVariance(stop=IntrinsicDimension()).fit([[0.0, 1.0], [2.0, 9.0]])
    assert two.stop_.n_features == 1
    assert "2 samples are too few" in two.stop_.reason
    rng = np.random.RandomState(0)
    nothing = Ranking(np.empty(0, dtype=int), np.full(10, np.nan))
    assert IntrinsicDimension().decide(MaxVariance(), nothing, ColumnCandidates(X), None, rng).n_features == 0


def test_sparse_tables_and_tensors_give_the_same_number(X):
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    expected = MaxVariance(stop=IntrinsicDimension()).fit(X).stop_.reason
    assert MaxVariance(stop=IntrinsicDimension()).fit(sparse.csr_array(X)).stop_.reason == expected
    with config_context(array_api_dispatch=True):
        assert MaxVariance(stop=IntrinsicDimension()).fit(torch.asarray(X)).stop_.reason == expected
        for estimator in (MLE(), PackingDimension(n_subsamples=0)):
            on_device = MaxVariance(stop=IntrinsicDimension(estimator)).fit(torch.asarray(X))
            assert on_device.stop_.reason == MaxVariance(stop=IntrinsicDimension(estimator)).fit(X).stop_.reason


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_very_large_and_very_small_numbers_change_nothing(X, scale):
    rule, rng, ranking = IntrinsicDimension(), np.random.RandomState(0), Ranking.from_scores(np.arange(10.0))
    expected = rule.decide(MaxVariance(), ranking, ColumnCandidates(X), None, rng)
    assert rule.decide(MaxVariance(), ranking, ColumnCandidates(scale * X), None, rng).reason == expected.reason


def test_weights_are_not_looked_at_except_zero(X):
    weight = np.repeat([0.0, 1.0, 3.0], [50, 100, 50])
    found = CorrelationScore(stop=IntrinsicDimension()).fit(X, X[:, 0], sample_weight=weight)
    plain = CorrelationScore(stop=IntrinsicDimension()).fit(X[50:], X[50:, 0])
    assert found.stop_.reason == plain.stop_.reason


def test_with_a_dictionary_the_variables_are_measured(X):
    found = GramSchmidt(stop=IntrinsicDimension(), dictionary=Monomials(2)).fit(X, X[:, 0] ** 2)
    dimension = TwoNN(n_subsamples=0).fit(X).dimension_
    assert f"about {dimension:.1f} dimensions" in found.stop_.reason


@pytest.mark.parametrize(
    ("parameter", "value"), [("multiple", 0), ("multiple", -1), ("estimator", 3), ("standardize", 2)]
)
def test_bad_parameters_are_refused_by_name(X, parameter, value):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of IntrinsicDimension"):
        MaxVariance(stop=IntrinsicDimension(**{parameter: value})).fit(X)


def test_a_class_in_place_of_an_estimator_is_refused(X):
    with pytest.raises(TypeError, match="instance"):
        MaxVariance(stop=IntrinsicDimension(TwoNN)).fit(X)


def test_a_sequential_ranker_does_not_go_its_whole_way():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 400)) + 0.5 * rng.standard_normal((60, 400))
    ranker = FeatureMedoids(stop=IntrinsicDimension()).fit(X)
    assert ranker.stop_.n_features < ranker.order_.size < 400
    more = FeatureMedoids(stop=IntrinsicDimension(multiple=10)).fit(X)
    assert more.stop_.n_features == int(np.ceil(10 * measure_two_nn(X)))
