"""Edges of the unsupervised methods, their rules and their judges: odd tables in, the same answers out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from tamis import (
    MCFS,
    SPEC,
    FeatureMedoids,
    FisherScore,
    GreedyReconstruction,
    LaplacianScore,
    PCALeverage,
    PivotedQR,
    ReliefF,
)
from tamis.assess import compare, feature_r2, fit_score, knn_accuracy, knn_predict, redundancy
from tamis.base import Ranker, rule_names
from tamis.dimension import (
    GMST,
    MLE,
    BoxCounting,
    CorrelationDimension,
    DimensionEstimator,
    PackingDimension,
    PairwiseSparsity,
    TwoNN,
)
from tamis.stop import FITPlateau

GRAPH = [LaplacianScore(), LaplacianScore(weight="rbf"), SPEC(phi=3)]
RANKERS = [*GRAPH, MCFS(), ReliefF(), FeatureMedoids(), GreedyReconstruction(), PCALeverage(), PivotedQR()]
STEADY = [TwoNN(), MLE(), CorrelationDimension(), BoxCounting(), PairwiseSparsity()]
ESTIMATORS = [*STEADY, GMST(), PackingDimension()]
WEIGHTS = ["heat", "binary", "cosine", "rbf", "class"]


def make_table(n_samples: int = 50, n_features: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns and two classes."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n_samples, 3)) @ rng.standard_normal((3, n_features))
    X += 0.5 * rng.standard_normal(X.shape)
    return X, np.arange(n_samples) % 2


def make_sparse_table() -> np.ndarray:
    rng = np.random.RandomState(0)
    X = np.where(rng.uniform(size=(60, 12)) < 0.3, rng.standard_normal((60, 12)), 0.0)
    X[:, 3] = 0.0
    return X


def sparse_forms(X: np.ndarray) -> dict[str, Any]:
    """One table as scipy may hand it over: other formats, stored zeros, indices out of order, wide indices."""
    unsorted = sparse.csr_matrix(X)
    for start, end in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):
        unsorted.indices[start:end] = unsorted.indices[start:end][::-1].copy()
        unsorted.data[start:end] = unsorted.data[start:end][::-1].copy()
    unsorted.has_sorted_indices = False
    parts = sparse.coo_array(X)
    rows = np.concatenate([parts.row, np.arange(len(X))])
    columns = np.concatenate([parts.col, np.full(len(X), 3)])
    zeros = sparse.csr_array((np.concatenate([parts.data, np.zeros(len(X))]), (rows, columns)), shape=X.shape)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    others = {"csc matrix": sparse.csc_matrix(X), "coo": parts, "lil": sparse.lil_array(X)}
    return {**others, "unsorted": unsorted, "zeros": zeros, "wide": wide}


def name_of(each: Any) -> str:
    return type(each).__name__ + "".join(f" {value}" for value in each.get_params().values() if value in WEIGHTS)


every = pytest.mark.parametrize("ranker", RANKERS, ids=name_of)


@every
@pytest.mark.parametrize("shape", [(2, 5), (3, 5), (2, 1), (30, 1), (5, 200), (300, 2)], ids=str)
def test_tables_of_any_shape_are_ranked_without_a_warning(ranker: Ranker, shape: tuple[int, int]) -> None:
    X = np.random.RandomState(0).standard_normal(shape)
    for stop in ("auto", 1, None):
        found = clone(ranker).set_params(stop=stop).fit(X, np.arange(len(X)) % 2)
        assert (0 if found.supervised else 1) <= found.stop_.n_features <= shape[1]
        assert np.isfinite(found.scores_[found.order_]).all()


@every
def test_two_points_repeated_are_ranked_without_a_warning(ranker: Ranker) -> None:
    X = np.tile(np.random.RandomState(0).standard_normal((2, 5)), (20, 1))
    found = clone(ranker).fit(X, np.arange(40) % 2)
    assert found.stop_.n_features >= 1


@every
@pytest.mark.parametrize("rule", rule_names())
def test_every_rule_works_with_every_method_or_says_why_not(ranker: Ranker, rule: str) -> None:
    X, y = make_table()
    selector = clone(ranker).set_params(stop=rule)
    refused = {"probe", "fisher-test", "leave-one-out", "effective-number", "own-choice"} | (
        set() if ranker.supervised else {"monte-carlo-probe"}
    )
    if rule in refused:
        with pytest.raises(ValueError, match="use "):
            selector.fit(X, y)
        return
    assert 0 <= selector.fit(X, y).stop_.n_features <= X.shape[1]
    assert selector.stop_.reason


@every
def test_the_kind_of_table_does_not_change_the_selection(ranker: Ranker) -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X, y = make_table()
    expected = clone(ranker).fit(X, y)
    names = list("abcdefg")
    tables = [
        pandas.DataFrame(X, columns=names).astype("Float64"),
        pandas.DataFrame(X, columns=names).astype("double[pyarrow]"),
        pandas.DataFrame(X),
        polars.DataFrame(X, schema=names),
        pyarrow.table(dict(zip(names, X.T, strict=True))),
        X.astype(object),
        X.tolist(),
        np.asfortranarray(X),
        np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    ]
    for table in tables:
        found = clone(ranker).fit(table, y)
        np.testing.assert_array_equal(found.order_, expected.order_)
        assert found.stop_.n_features == expected.stop_.n_features


@pytest.mark.parametrize("ranker", [each for each in RANKERS if not isinstance(each, MCFS)], ids=name_of)
def test_a_copy_in_other_units_never_comes_before_the_lowest_index(ranker: Ranker) -> None:
    for seed in range(8):
        X, y = make_table(n_features=3, seed=seed)
        found = clone(ranker).set_params(stop=None).fit(np.column_stack([X, 2.54 * X[:, 0] + 1.0]), y)
        assert found.ranking_[0] <= found.ranking_[3]


@pytest.mark.parametrize("ranker", [LaplacianScore(), SPEC(), MCFS(), ReliefF()], ids=name_of)
def test_more_neighbors_than_samples_are_all_of_them(ranker: Ranker) -> None:
    X, y = make_table(20)
    few, many = (clone(ranker).set_params(n_neighbors=k, stop=None).fit(X, y) for k in (19, 10_000))
    np.testing.assert_array_equal(few.scores_, many.scores_)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e30, 1e200])
def test_relief_does_not_mind_extreme_units(unit: float) -> None:
    X, y = make_table()
    np.testing.assert_allclose(ReliefF().fit(X * unit, y).scores_, ReliefF().fit(X, y).scores_, atol=1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_laplacian_score_is_spec_in_another_form_whatever_the_weight(weight: str) -> None:
    X, y = make_table()
    for table in (X, np.column_stack([X, X[:, 0], np.ones(50)]), (X > 0).astype(float)):
        laplacian = LaplacianScore(weight=weight).fit(table, y).scores_
        assert np.nanmin(laplacian) >= -2 - 1e-12
        assert np.nanmax(laplacian) <= 0
        for algorithm in ("product", "spectrum"):
            spec = SPEC(weight=weight, algorithm=algorithm).fit(table, y).scores_
            np.testing.assert_allclose(spec, laplacian, rtol=1e-6, atol=1e-9)


def test_the_laplacian_score_of_unequal_classes_is_the_fisher_score_in_another_form() -> None:
    X, _ = make_table()
    y = np.repeat(["a", "b", "c"], [5, 10, 35])
    fisher = FisherScore().fit(X, y).scores_
    np.testing.assert_allclose(LaplacianScore(weight="class").fit(X, y).scores_, -1 / (1 + fisher), rtol=1e-10)


@pytest.mark.parametrize("form", sparse_forms(make_sparse_table()))
def test_sparse_tables_of_any_format_give_what_dense_ones_do(form: str) -> None:
    X, y = make_sparse_table(), np.arange(60) % 2
    table = sparse_forms(X)[form]
    for ranker in (*GRAPH, SPEC(phi=1)):
        found, expected = clone(ranker).fit(table), clone(ranker).fit(X)
        np.testing.assert_array_equal(found.order_, expected.order_)
        np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-8)
        assert found.stop_.n_features == expected.stop_.n_features
    np.testing.assert_allclose(feature_r2(table, [0, 1, 4]), feature_r2(X, [0, 1, 4]), rtol=1e-8)
    np.testing.assert_array_equal(knn_predict(table, y, [0, 1, 4]), knn_predict(X, y, [0, 1, 4]))
    assert np.isclose(MLE(n_subsamples=0).fit(table).dimension_, MLE(n_subsamples=0).fit(X).dimension_)
    alternatives = [[group.alternatives for group in redundancy(each, threshold=0.05)] for each in (table, X)]
    assert alternatives[0] == alternatives[1]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_a_dimension_depends_on_neither_units_nor_constant_columns_nor_jobs(estimator: DimensionEstimator) -> None:
    X, _ = make_table(60)
    expected = clone(estimator).set_params(random_state=0).fit(X)
    tables = (X * 10.0 ** np.arange(7) - 7.0, np.column_stack([X, np.full(60, 0.1)]), np.asfortranarray(X), X + 2.0**30)
    for table in tables:
        assert np.isclose(clone(estimator).set_params(random_state=0).fit(table).dimension_, expected.dimension_)
    jobs = clone(estimator).set_params(random_state=0, n_jobs=2).fit(X)
    np.testing.assert_array_equal(jobs.subsample_dimensions_, expected.subsample_dimensions_)


@pytest.mark.parametrize("estimator", STEADY, ids=name_of)
def test_a_dimension_without_chance_does_not_depend_on_the_order_of_rows(estimator: DimensionEstimator) -> None:
    X, _ = make_table(60)
    shuffled = X[np.random.RandomState(1).permutation(60)]
    estimator = clone(estimator).set_params(n_subsamples=0)
    assert np.isclose(clone(estimator).fit(shuffled).dimension_, clone(estimator).fit(X).dimension_)


def test_the_curve_of_the_plateau_is_the_fit_along_the_order() -> None:
    X, _ = make_table()
    for table in (X, np.repeat(X[:15], 6, axis=0)):
        found = LaplacianScore(stop=FITPlateau()).fit(table)
        expected = [fit_score(table, found.order_[:k]) for k in found.stop_.curve_at]
        np.testing.assert_allclose(found.stop_.curve, expected, atol=1e-10)


def test_a_comparison_reports_what_fit_score_says_of_each_selection() -> None:
    X, _ = make_table()
    frame = compare([FeatureMedoids(), MCFS()], {"table": X}, ks=[1, 3], metrics=["fit"]).frame()
    rows = zip(frame["ranker"], frame["k"], frame["value"], strict=True)
    values = {(ranker, k): value for ranker, k, value in rows}
    for ranker in (FeatureMedoids(), MCFS()):
        for k in (1, 3):
            expected = fit_score(X, clone(ranker).set_params(stop=k).fit(X))
            assert np.isclose(values[type(ranker).__name__, k], expected)


def test_nearest_neighbor_accuracy_does_not_depend_on_how_labels_are_written() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = make_table()
    expected, words = knn_accuracy(X, y), np.array(["no", "yes"])[y]
    nullable = pandas.Series(y, dtype="Int64")
    kinds = [y.tolist(), y == 1, words, words.tolist(), nullable, pandas.Categorical(words), polars.Series(words)]
    assert [knn_accuracy(X, labels) for labels in kinds] == [expected] * len(kinds)


def test_a_grid_search_reaches_the_parameters_of_a_rule_inside_a_method() -> None:
    X, y = make_table()
    pipeline = make_pipeline(PivotedQR(stop=FITPlateau()), LogisticRegression())
    grid = {"pivotedqr__stop__tolerance": [0.01, 0.3], "pivotedqr__standardize": [True, False]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
