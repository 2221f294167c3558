"""ReliefF on columns of labels and with missing values, against plain loops over all that a missing value may be."""

import numpy as np
import pandas as pd
import pytest

from tamis import ReliefF
from tamis.stop import MonteCarloProbe
from tests.oracles.relief import mixed_relief_f

N, DISCRETE = 18, [1, 4]


def table(seed=0, missing=0.2):
    """Quantities and labels, two columns complete, and one that a whole class lacks."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((N, 6)) * [1, 1, 10, 1, 1, 1]
    X[:, DISCRETE] = rng.randint(3, size=(N, 2)) * 7 - 2
    y = rng.randint(3, size=N)
    gaps = rng.uniform(size=X.shape) < missing
    gaps[:, [0, 4]] = False
    X[gaps] = np.nan
    if missing:
        X[y == 2, 5] = np.nan
    return X, y


@pytest.mark.parametrize("difference", ["absolute", "squared"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_the_score_is_that_of_the_plain_loops(n_neighbors, missing, difference):
    X, y = table(missing=missing)
    power = 1 if difference == "absolute" else 2
    found = ReliefF(stop=None, n_neighbors=n_neighbors, discrete=DISCRETE, difference=difference).fit(X, y)
    expected = mixed_relief_f(X, y, n_neighbors, DISCRETE, power) * np.mean(~np.isnan(X), axis=0)
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("difference", ["absolute", "squared"])
def test_the_regression_score_is_that_of_the_plain_loops(difference):
    X, _ = table()
    y = np.random.RandomState(1).standard_normal(N)
    power = 1 if difference == "absolute" else 2
    found = ReliefF(stop=None, n_neighbors=5, discrete=DISCRETE, difference=difference, sigma=3.0).fit(X, y)
    expected = mixed_relief_f(X, y, 5, DISCRETE, power, task="regression", sigma=3.0) * np.mean(~np.isnan(X), axis=0)
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_the_codes_of_labels_do_not_matter(metric):
    X, y = table(missing=0.0)
    recoded = X.copy()
    recoded[:, 1] = np.array([50.0, -3.0, 0.1])[((X[:, 1] + 2) / 7).astype(int)]
    plain, other = (ReliefF(stop=None, discrete=DISCRETE, metric=metric).fit(t, y).scores_ for t in (X, recoded))
    np.testing.assert_allclose(plain, other, rtol=1e-10)
    assert not np.allclose(plain, ReliefF(stop=None, metric=metric).fit(X, y).scores_)


def test_discrete_columns_by_mask_place_and_name_are_the_same():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    expected = ReliefF(stop=None, discrete=DISCRETE).fit(X, y).scores_
    for discrete in (["b", "e"], np.isin(np.arange(6), DISCRETE), ["b", 4]):
        np.testing.assert_array_equal(ReliefF(stop=None, discrete=discrete).fit(frame, y).scores_, expected)


def test_unknown_discrete_columns_are_named():
    X, y = table()
    with pytest.raises(ValueError, match=r"discrete names column 'z'"):
        ReliefF(discrete=["z"]).fit(pd.DataFrame(X, columns=list("abcdef")), y)
    with pytest.raises(ValueError, match=r"discrete is a mask of 3.*6 columns"):
        ReliefF(discrete=[True, False, True]).fit(X, y)


def test_permuted_copies_of_discrete_columns_are_discrete():
    """A probe puts copies of the columns among them, in another order."""
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((60, 4)), np.arange(60) % 2
    X[:, 2] = np.where(rng.uniform(size=60) < 0.9, y, rng.randint(5, size=60)) * 1000
    X[rng.uniform(size=60) < 0.2, 2] = np.nan
    found = ReliefF(stop=MonteCarloProbe(n_draws=19), discrete=[2]).fit(X, y)
    assert found.get_support(indices=True).tolist() == [2]
    raw, unit = (
        ReliefF(stop=None, discrete=[2]).fit(X, y).scores_,
        found.spread_by_chance(found._make_candidates(X, y, None)),
    )
    np.testing.assert_allclose(found.scores_[2], (raw * np.median(unit) / unit)[2], atol=0.2)


def test_columns_without_values_come_last():
    X, y = table()
    X[:, 3] = np.nan
    X[1:, 5] = np.nan
    scores = ReliefF(stop=None).fit(X, y).scores_
    assert scores[[3, 5]].tolist() == [-1, -1]
    rest = [0, 1, 2, 4]
    np.testing.assert_allclose(scores[rest], ReliefF(stop=None).fit(X[:, rest], y).scores_, rtol=1e-9)


def test_manhattan_distances_take_no_missing_values():
    X, y = table()
    with pytest.raises(ValueError, match="NaN"):
        ReliefF(metric="manhattan").fit(X, y)


def test_single_precision_gives_nearly_the_same_scores():
    X, y = table(seed=2)
    double, single = (ReliefF(stop=None, discrete=DISCRETE).fit(X.astype(t), y).scores_ for t in (float, np.float32))
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_relief_finds_the_columns_of_an_xor_with_gaps():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(300, 5))
    y = X[:, 1] * X[:, 3] > 0
    X[rng.uniform(size=X.shape) < 0.15] = np.nan
    assert ReliefF(stop=2).fit(X, y).get_support(indices=True).tolist() == [1, 3]


def numbers_labels_and_groups(seed, n=500):
    """Six numbers, six columns of two labels, and two groups of five numbers; the first number tells the class."""
    rng = np.random.RandomState(seed)
    X = np.hstack([rng.standard_normal((n, 6)), rng.randint(2, size=(n, 6)), rng.standard_normal((n, 10))])
    return X, X[:, 0] + 2 * rng.standard_normal(n) > 0, list(range(6, 12)), [*range(12), *[12] * 5, *[13] * 5]


def test_a_number_stands_out_from_permuted_labels_and_groups():
    for seed in range(4):
        X, y, labels, groups = numbers_labels_and_groups(seed)
        selector = ReliefF(discrete=labels, groups=groups, stop=MonteCarloProbe(n_draws=19)).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [0]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_scores_of_noise_spread_as_the_differences_of_random_rows(missing):
    scores, expected = [], None
    for seed in range(60):
        X, y, labels, groups = numbers_labels_and_groups(seed, n=100)
        X[np.random.RandomState(seed).uniform(size=X.shape) < np.repeat([missing, 0], [3, 19])] = np.nan
        ranker = ReliefF(discrete=labels, groups=groups, stop=None).fit(X, np.random.RandomState(seed).permutation(y))
        scores.append(ranker.scores_[[*range(13), 17]])  # a score per group
        if expected is None:
            candidates = ranker._make_candidates(X, y, None)
            expected = ranker.spread_by_chance(candidates)
    spread = np.std(scores, axis=0)
    kinds = [slice(0, 3), slice(3, 6), slice(6, 12), slice(12, 14)]  # 180, 180, 360 and 120 scores
    found, told = (np.array([np.sqrt(np.mean(values[kind] ** 2)) for kind in kinds]) for values in (spread, expected))
    np.testing.assert_allclose(found / found[1], told / told[1], rtol=0.4)
    assert told.max() > 2 * told.min()


def test_numbers_alone_all_spread_alike():
    X, y = table(missing=0.0)
    ranker = ReliefF()
    assert ranker.spread_by_chance(ranker._make_candidates(X[:, [0, 2, 3]], y, None)) is None
