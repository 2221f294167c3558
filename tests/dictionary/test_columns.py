"""A table as a dictionary gives what the table itself gives."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tamis import GramSchmidt
from tamis.datasets import make_linear
from tamis.dictionary import Columns
from tamis.stop import CrossValidation, Probe


def data():
    X, y = make_linear(n_samples=80, n_features=12, random_state=0)
    X[np.abs(X) < 0.3] = 0.0
    return X, y


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("stop", ["auto", 3, None, Probe(0.05, null="permutation"), CrossValidation(cv=3)])
def test_gram_schmidt_ranks_them_as_it_ranks_the_table(kind, stop):
    X, y = data()
    plain = GramSchmidt(stop=stop).fit(kind(X), y)
    found = GramSchmidt(stop=stop, dictionary=Columns()).fit(kind(X), y)
    np.testing.assert_array_equal(found.order_, plain.order_)
    np.testing.assert_allclose(found.scores_, plain.scores_)
    np.testing.assert_array_equal(found.support_, plain.support_)
    np.testing.assert_allclose(found.transform(kind(X)), X[:, plain.support_])


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_selections_of_several_problems_are_united(multiclass):
    X, y = data()
    codes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    plain = GramSchmidt(stop=2, multiclass=multiclass).fit(X, codes)
    found = GramSchmidt(stop=2, multiclass=multiclass, dictionary=Columns()).fit(X, codes)
    np.testing.assert_array_equal(found.support_, plain.support_)
    np.testing.assert_array_equal(found.transform(X), plain.transform(X))
    np.testing.assert_array_equal(found.get_feature_names_out(), plain.get_feature_names_out())


def test_names_are_those_of_the_table():
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(12)])
    found = GramSchmidt(stop=3, dictionary=Columns()).fit(frame, y)
    assert found.get_feature_names_out().tolist() == frame.columns[found.support_].tolist()
    assert Columns().fit(X).names(np.array([4, 1]), None).tolist() == ["x4", "x1"]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_come_dense_and_in_the_order_asked(kind):
    X, _ = data()
    dictionary = Columns().fit(kind(X))
    assert dictionary.n_candidates(12) == 12
    found = dictionary.compute(kind(X), np.array([5, 0, 5]))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, X[:, [5, 0, 5]])
    assert dictionary.compute(kind(X), np.array([], dtype=int)).shape == (80, 0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_what_is_missing_is_named(kind):
    X, _ = data()
    X[3:5, 7] = np.nan
    with pytest.raises(ValueError, match="column 7 holds 2 missing or infinite values"):
        Columns().fit(kind(X))


def test_another_table_is_refused():
    X, _ = data()
    with pytest.raises(ValueError, match="11 columns, but Columns was fitted on 12"):
        Columns().fit(X).compute(X[:, :11], np.array([0]))
    with pytest.raises(ValueError, match="3 axes"):
        Columns().fit(X.reshape(20, 4, 12))
