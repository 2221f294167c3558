"""FIT against one scikit-learn regressor per feature."""

import array_api_strict
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

from tamis import SPEC, MaxVariance
from tamis.assess import feature_gram, feature_r2, fit_score
from tamis.datasets import load, names
from tests.oracles import neighbors as oracle


def table(n=40, d=15, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, 4)) @ rng.standard_normal((4, d)) + 0.2 * rng.standard_normal((n, d)) + 10


@pytest.mark.parametrize("mode", ["loo", "thesis"])
@pytest.mark.parametrize("n_neighbors", [1, 5])
def test_it_is_the_r2_of_a_regressor_per_feature(mode, n_neighbors):
    X = table()
    kept = np.array([2, 7, 9])
    expected = oracle.feature_r2(X, kept, n_neighbors, mode)
    np.testing.assert_allclose(feature_r2(X, kept, mode=mode, n_neighbors=n_neighbors), expected, atol=1e-10)
    assert fit_score(X, kept, mode=mode, n_neighbors=n_neighbors) == pytest.approx(expected.mean(), abs=1e-10)


@pytest.mark.parametrize("mode", ["loo", "thesis"])
def test_the_gram_matrix_gives_the_same_mean(mode):
    X = table(d=200)
    X[:, 5] = 1.7
    with_gram = fit_score(X, [0, 5, 9], mode=mode, gram=feature_gram(X))
    assert with_gram == pytest.approx(fit_score(X, [0, 5, 9], mode=mode), abs=1e-12)


def test_held_out_rows_are_predicted_from_the_others():
    X = table(60)
    known, held_out, kept = X[:40], X[40:], [1, 3]
    scale = known.std(axis=0)
    guess = KNeighborsRegressor(5).fit((known / scale)[:, kept], known).predict((held_out / scale)[:, kept])
    expected = r2_score(held_out, guess, multioutput="raw_values")
    np.testing.assert_allclose(feature_r2(known, kept, X_test=held_out), expected, atol=1e-10)


def test_a_mask_indices_a_ranker_and_all_features_are_read_alike():
    X = table()
    ranker = MaxVariance(stop=4).fit(X)
    by_ranker = fit_score(X, ranker)
    assert by_ranker == fit_score(X, ranker.support_) == fit_score(X, np.flatnonzero(ranker.support_))
    assert fit_score(X, None) == fit_score(X, np.arange(15))


def test_units_do_not_matter_unless_asked_to():
    X = table()
    scaled = X * 10.0 ** np.arange(-7, 8)
    assert fit_score(scaled, [0, 14]) == pytest.approx(fit_score(X, [0, 14]))
    assert fit_score(scaled, [0, 14], standardize=False) != pytest.approx(fit_score(X, [0, 14], standardize=False))


def test_constant_features_are_recovered_by_anything_and_do_not_count():
    X = table()
    padded = np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X))])
    assert feature_r2(padded, [0, 1])[-2:].tolist() == [1.0, 1.0]
    assert fit_score(padded, [0, 1]) == pytest.approx(fit_score(X, [0, 1]), abs=1e-12)
    assert fit_score(padded, [0, 1, 15]) == pytest.approx(fit_score(X, [0, 1]), abs=1e-12)


def test_sparse_tables_and_data_frames_give_the_same():
    X = sparse.random_array((50, 20), density=0.4, rng=0, format="csr")
    X = X + sparse.csr_array(np.eye(50, 20))
    expected = feature_r2(X.toarray(), [0, 3])
    np.testing.assert_allclose(feature_r2(X, [0, 3]), expected, atol=1e-10)
    np.testing.assert_allclose(feature_r2(pd.DataFrame(X.toarray()), [0, 3]), expected, atol=1e-12)


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["loo", "thesis"])
def test_array_api_input_gives_the_same(container, dtype, mode):
    X = table().astype(dtype)
    with config_context(array_api_dispatch=True):
        found = feature_r2(container(X), [0, 3], mode=mode)
        held_out = fit_score(container(X[:30]), [0, 3], X_test=container(X[30:]))
        by_gram = fit_score(container(X), [0, 3], gram=feature_gram(container(X)), mode=mode)
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found, feature_r2(X, [0, 3], mode=mode), atol=tolerance)
    assert held_out == pytest.approx(fit_score(X[:30], [0, 3], X_test=X[30:]), abs=tolerance)
    assert by_gram == pytest.approx(fit_score(X, [0, 3], mode=mode), abs=tolerance)


def test_only_a_figure_of_every_feature_leaves_the_device(transfers):
    X = torch.asarray(table(n=60))
    with config_context(array_api_dispatch=True):
        fit_score(X, [0, 3])
    assert 0 < max(transfers) <= 60


def test_single_precision_loses_little():
    X = table(200)
    np.testing.assert_allclose(feature_r2(X.astype(np.float32), [0, 3]), feature_r2(X, [0, 3]), atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "test"}, "mode='test' is unknown"),
        ({"n_neighbors": 40}, "more than the 39 rows"),
        ({"n_neighbors": 0}, "at least 1"),
        ({"X_test": np.ones((3, 2))}, "X_test has 2 columns"),
        ({"gram": np.eye(3)}, "gram has shape"),
        ({"gram": np.eye(40), "X_test": np.ones((3, 15))}, "leave it out"),
        ({"support": []}, "nothing to judge"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X = table()
    with pytest.raises(ValueError, match=message):
        fit_score(X, **{"support": [0], **arguments})


@pytest.mark.parametrize(
    ("name", "published"), [("yale", 0.659), ("orl", 0.769), ("warppie10p", 0.895), ("isolet", 0.733)]
)
def test_the_thesis_table_of_spec_is_reproduced(name, published):
    if name not in names():
        pytest.skip(f"data set {name} is missing: set TAMIS_DATA to its folder")
    X = load(name).X.astype(float)
    spec = SPEC(weight="rbf", width=0.5**0.5, self_loops=True, prefer="rough", algorithm="spectrum", stop=100).fit(X)
    assert fit_score(X, spec, mode="thesis") == pytest.approx(published, abs=0.001)


def test_a_selector_or_test_rows_of_other_columns_are_refused():
    frame = pd.DataFrame(table(), columns=[f"x{j}" for j in range(15)])
    ranker = MaxVariance(stop=3).fit(frame)
    turned = frame[frame.columns[::-1]]
    with pytest.raises(ValueError, match="give the columns in the same order"):
        fit_score(turned, ranker)
    with pytest.raises(ValueError, match="in another order"):
        fit_score(frame, ranker, X_test=turned)


@pytest.mark.parametrize("known", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("judged", [np.asarray, sparse.csr_array])
def test_test_rows_may_be_sparse_or_dense_whatever_the_others_are(known, judged):
    X = table(60)
    expected = feature_r2(X[:40], [1, 3], X_test=X[40:])
    np.testing.assert_allclose(feature_r2(known(X[:40]), [1, 3], X_test=judged(X[40:])), expected, atol=1e-9)


def test_a_constant_that_differs_in_the_test_rows_is_not_recovered():
    X = np.column_stack([table(40)[:, :2], np.zeros(40)])
    X_test = np.column_stack([table(40, seed=1)[:, :2], np.ones(40)])
    assert feature_r2(X, [0], X_test=X_test)[2] == 0


def test_a_table_of_constants_has_nothing_to_lose():
    X = np.ones((10, 3))
    assert fit_score(X, [0]) == fit_score(X, [0], gram=feature_gram(X)) == 1


def test_a_column_of_zeros_among_held_out_rows_is_no_catastrophe():
    X = table(40)
    X_test = np.column_stack([table(20, seed=1)[:, :2], np.zeros(20)])
    assert feature_r2(X[:, :3], [0], X_test=X_test)[2] == 0
