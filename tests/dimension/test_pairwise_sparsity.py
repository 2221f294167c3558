"""Concentration of the pairwise distances."""

import numpy as np
import pytest

from tamis.dimension import PairwiseSparsity, _pairs
from tests.oracles import dimension as oracle


@pytest.mark.parametrize("block", [1, 100, 2**20])
def test_the_estimate_follows_its_formula_in_blocks_of_any_size(monkeypatch, block):
    monkeypatch.setattr(_pairs, "_BLOCK", block)
    X = np.random.RandomState(0).standard_normal((40, 5)) + 1e3
    found = PairwiseSparsity(standardize=False, n_subsamples=0).fit(X)
    assert found.dimension_ == pytest.approx(oracle.pairwise_sparsity(X), rel=1e-9)


def test_equal_distances_are_infinite_as_the_formula_says():
    found = PairwiseSparsity(standardize=False).fit(3.7 * np.eye(7))
    assert found.dimension_ == np.inf
    assert found.standard_error_ is None


def test_gaussian_samples_have_about_as_many_dimensions_as_columns():
    X = np.random.RandomState(0).standard_normal((400, 30))
    assert PairwiseSparsity(n_subsamples=0).fit(X).dimension_ == pytest.approx(30, rel=0.1)
