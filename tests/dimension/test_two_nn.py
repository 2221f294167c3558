"""2-NN: the recipe, the published table, and its subsamples."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context

from tamis.datasets import load
from tamis.dimension import MLE, TwoNN
from tamis.kernels.arrays.scaling import standardize_columns
from tamis.kernels.neighbors.two_nn import fit_two_nn, measure_two_nn
from tests.oracles import dimension as oracle

# Doquet (2019), table 6.2: unnormalized, normalized
TABLE = {
    "arcene": (18.01, 39.89),
    "isolet": (8.29, 8.53),
    "orl": (5.60, 5.50),
    "pixraw10p": (3.74, 3.94),
    "prostate_ge": (22.27, 22.32),
    "tox171": (6.35, 14.75),
    "warppie10p": (2.63, 2.62),
    "yale": (9.27, 9.62),
}


def load_or_skip(name):
    try:
        return load(name).X
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", TABLE)
def test_the_published_dimensions_are_reproduced(name):
    X = load_or_skip(name)
    found = [TwoNN(standardize=standardize, n_subsamples=0).fit(X).dimension_ for standardize in (False, True)]
    np.testing.assert_allclose(found, TABLE[name], atol=0.005)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("discard", [0.0, 0.1, 0.35])
@pytest.mark.parametrize("n", [3, 10, 37])
def test_the_estimate_follows_the_recipe(seed, discard, n):
    X = np.random.RandomState(seed).standard_normal((n, 3)) * [1, 5, 0.2]
    raw = TwoNN(discard=discard, standardize=False, n_subsamples=0).fit(X)
    assert raw.dimension_ == pytest.approx(oracle.two_nn(X, discard), rel=1e-9)
    scaled = TwoNN(discard=discard, n_subsamples=0).fit(X)
    assert scaled.dimension_ == pytest.approx(oracle.two_nn(oracle.standardize(X), discard), rel=1e-9)


def test_a_sample_with_a_copy_counts_but_lies_on_no_line():
    X = np.random.RandomState(0).standard_normal((40, 3))
    X[1] = X[0]
    found = TwoNN(standardize=False, n_subsamples=0).fit(X)
    assert found.dimension_ == pytest.approx(oracle.two_nn(X), rel=1e-9)


def test_more_copies_than_are_discarded_are_told_and_the_estimate_stays_finite():
    X = np.random.RandomState(0).standard_normal((40, 3))
    X[:20] = X[20:]
    with pytest.warns(UserWarning, match=r"40 of 40 samples are copies .* drop the copies"):
        assert TwoNN().fit(X).dimension_ == 0
    X[:12] += 1.0
    with pytest.warns(UserWarning, match=r"16 of 40 samples are copies"):
        found = TwoNN(standardize=False, n_subsamples=0).fit(X)
    assert found.dimension_ == pytest.approx(oracle.two_nn(X), rel=1e-9)


def test_neighbors_that_are_all_equally_far_have_no_finite_dimension():
    assert TwoNN(standardize=False).fit(np.eye(6)).dimension_ == np.inf
    assert TwoNN(standardize=False).fit(np.eye(6)).standard_error_ is None


def test_one_ratio_beyond_the_rest_is_discarded():
    near, far = np.ones(20), np.linspace(1.1, 2.0, 20)
    calm = fit_two_nn(np.column_stack([near, far]))
    far[-1] = 1e6
    assert fit_two_nn(np.column_stack([near, far])) == calm


@pytest.mark.parametrize("subsample", [0.1, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("copies", [0, 5])
def test_subsamples_are_searched_as_tables_of_their_own(subsample, copies):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((150, 4))
    X[:copies] = X[copies : 2 * copies]
    found = TwoNN(standardize=False, subsample=subsample, n_subsamples=5, random_state=3)
    prepared = found.fit(X)._prepare(X)
    size = max(3, int(subsample * 150))
    for _ in range(5):
        rows = np.sort(rng.choice(150, size, replace=False))
        assert found._estimate(prepared, rows, rng) == pytest.approx(oracle.two_nn(X[rows]), rel=1e-9)


def test_sparse_tables_give_the_same_dimension():
    X = np.random.RandomState(0).standard_normal((80, 12))
    X[np.abs(X) < 1] = 0
    for standardize in (True, False):
        expected = TwoNN(standardize=standardize, random_state=0).fit(X)
        for container in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
            found = TwoNN(standardize=standardize, random_state=0).fit(container(X))
            assert found.dimension_ == pytest.approx(expected.dimension_, rel=1e-9)
            np.testing.assert_allclose(found.subsample_dimensions_, expected.subsample_dimensions_, rtol=1e-9)
            assert measure_two_nn(container(X), standardize=standardize) == pytest.approx(expected.dimension_, rel=1e-9)


@pytest.mark.parametrize("subsample", [0.1, 0.8])
@pytest.mark.parametrize("n_columns", [3, 20])
def test_tensors_give_the_same_dimension_and_stay_tensors(subsample, n_columns):
    X = np.random.RandomState(0).standard_normal((80, n_columns))
    for estimator in (TwoNN, MLE):
        for standardize in (True, False):
            arguments = {"standardize": standardize, "subsample": subsample, "random_state": 0}
            expected = estimator(**arguments).fit(X)
            with config_context(array_api_dispatch=True):
                found = estimator(**arguments).fit(torch.asarray(X))
            assert found.dimension_ == pytest.approx(expected.dimension_, rel=1e-9)
            assert isinstance(found.subsample_dimensions_, torch.Tensor)
            np.testing.assert_allclose(found.subsample_dimensions_, expected.subsample_dimensions_, rtol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_standardized_columns_have_unit_variance_and_constant_ones_vanish(container):
    X = np.random.RandomState(0).standard_normal((50, 5)) * np.logspace(-4, 4, 5) + 3.0
    X[:, 2] = 0.1
    Z = standardize_columns(container(X))
    Z = Z.toarray() if sparse.issparse(Z) else Z
    np.testing.assert_allclose(Z.std(axis=0), [1, 1, 0, 1, 1], rtol=1e-9, atol=1e-15)
