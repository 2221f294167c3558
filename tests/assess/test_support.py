"""A selection may come as a mask, as indices or as a fitted selector."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.svm import SVC

from tamis import MaxVariance
from tamis.assess._support import as_support, known_length

X = np.array([[0.0, 1.0, 0.0, 4.0], [0.0, 2.0, 1.0, 0.0], [1.0, 9.0, 2.0, 8.0]])


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_a_mask_gives_its_true_places(mask):
    expected = [place for place, keep in enumerate(mask) if keep]
    assert as_support(mask, len(mask), allow_empty=True).tolist() == expected
    assert known_length(mask) == len(mask)


@given(st.lists(st.integers(0, 19), unique=True, min_size=1))
def test_indices_keep_their_order(indices):
    assert as_support(indices, 20).tolist() == indices
    assert as_support(np.array(indices, dtype=np.uint8), 20).tolist() == indices
    assert known_length(indices) is None


def test_none_means_all_features():
    assert as_support(None, 4).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.asarray, pd.Series, pd.Index, pl.Series, torch.asarray],
    ids=["list", "tuple", "numpy", "pandas", "index", "polars", "torch"],
)
@pytest.mark.parametrize("dispatch", [False, True])
def test_masks_and_indices_may_come_from_any_library(container, dispatch):
    with config_context(array_api_dispatch=dispatch):
        assert as_support(container([True, False, True]), 3).tolist() == [0, 2]
        assert as_support(container([2, 0]), 3).tolist() == [2, 0]


def test_a_fitted_ranker_or_any_scikit_learn_selector_speaks_for_itself():
    assert as_support(MaxVariance(stop=2).fit(X), 4).tolist() == [1, 3]
    assert as_support(VarianceThreshold(1.0).fit(X), 4).tolist() == [1, 3]
    assert as_support(MaxVariance(stop=2).fit(X)).tolist() == [1, 3]
    assert known_length(MaxVariance(stop=2).fit(X)) == 4


def test_a_ranker_fitted_on_another_namespace_is_read_back():
    with config_context(array_api_dispatch=True):
        ranker = MaxVariance(stop=2).fit(torch.asarray(X))
        assert isinstance(ranker.support_, torch.Tensor)
        assert as_support(ranker, 4).tolist() == [1, 3]


def test_a_selector_that_was_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        as_support(MaxVariance(), 4)


def test_a_model_with_support_vectors_is_no_selector():
    with pytest.raises(ValueError, match=r"SVC is no feature selector"):
        as_support(SVC().fit(X, [0, 1, 1]), 4)


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ([True, False], r"speaks of 2 features, but there are 4"),
        ([1, 4], r"index 4, but there are 4 features, 0 to 3"),
        ([-1, 2], r"index -1"),
        ([1, 2, 1], r"index 1 more than once"),
        ([0, 1, 1, 0], r"more than once; if it is a mask, make it boolean"),
        ([], r"keeps no feature: there is nothing to judge"),
        ([False] * 4, r"nothing to judge"),
        ([0.0, 1.0], r"booleans \(a mask\) or integers \(indices\); got list of float64"),
        (["age"], r"must hold booleans"),
        (np.ones((2, 4), dtype=bool), r"boolean mask, a list of indices or a fitted selector.*\(2, 4\)"),
        (3, r"got int of shape \(\)"),
    ],
)
def test_a_bad_selection_is_refused_with_its_reason(support, message):
    with pytest.raises(ValueError, match=message):
        as_support(support, 4)


def test_errors_use_the_name_of_the_parameter():
    with pytest.raises(ValueError, match="probes holds index 9"):
        as_support([9], 4, name="probes")


def test_an_empty_selection_may_be_allowed():
    assert as_support([], 4, allow_empty=True).tolist() == []
    assert as_support(np.zeros(4, dtype=bool), 4, allow_empty=True).tolist() == []


def test_all_features_cannot_be_listed_when_their_number_is_unknown():
    with pytest.raises(ValueError, match="their number is not known"):
        as_support(None)
