"""What the target is taken for, and saying so."""

import numpy as np
import pytest

import tamis
from tamis import CorrelationScore, FisherScore, GramSchmidt, MaxVariance, ReliefF
from tamis.kernels.arrays.targets import looks_like_counts


def make_counts(seed=0, n_samples=200):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_samples, 20))
    return X, rng.poisson(np.exp(0.7 + 0.35 * X[:, :3].sum(axis=1)))


@pytest.mark.parametrize("ranker", [GramSchmidt(), CorrelationScore(), ReliefF(stop=3)])
def test_counts_taken_as_classes_are_warned_of_with_the_parameter_to_set(ranker):
    X, y = make_counts()
    y = np.minimum(y, 15)
    with pytest.warns(UserWarning, match="look like counts or ratings: give task='regression'"):
        ranker.fit(X, y)
    assert ranker.task_ == "classification"
    found = ranker.set_params(task="regression").fit(X, y)
    assert found.task_ == "regression"
    assert found.support_[:3].sum() >= 2


def test_the_reason_says_what_the_target_was_taken_for():
    X, _ = make_counts()
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 3, 200)
    assert GramSchmidt().fit(X, labels).stop_.reason.endswith("y taken as 3 classes")
    assert GramSchmidt().fit(X, rng.standard_normal(200)).stop_.reason.endswith("y taken as a quantity")
    assert FisherScore().fit(X, labels).task_ == "classification"
    assert MaxVariance().fit(X).task_ == "unsupervised"


def test_codes_of_classes_do_not_look_like_counts():
    rng = np.random.RandomState(0)
    for n_classes in (3, 5, 10, 20):
        assert not looks_like_counts(rng.randint(0, n_classes, 300))
    assert not looks_like_counts(np.array(["a", "b"]))
    assert not looks_like_counts(rng.standard_normal(100))
    assert not looks_like_counts(10 * rng.poisson(3, 200))


@pytest.mark.parametrize("mean", [1.0, 2.0, 4.0])
def test_poisson_counts_and_ratings_look_like_counts(mean):
    rng = np.random.RandomState(0)
    assert looks_like_counts(rng.poisson(mean, 300))
    assert looks_like_counts(rng.choice([1, 2, 3, 4, 5], 300, p=[0.05, 0.1, 0.2, 0.4, 0.25]))


def test_every_ranker_says_what_it_can_explain():
    for name in tamis.__all__:
        cls = getattr(tamis, name)
        if isinstance(cls, type) and issubclass(cls, tamis.base.Ranker):
            assert cls.tasks <= {"classification", "regression"}
            assert cls.tasks
