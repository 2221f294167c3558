"""Gram-Schmidt ranking as its users see it: order, model, errors, weights, memory, pipelines."""

import tracemalloc

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import GramSchmidt
from tamis.datasets import make_linear
from tamis.stop import FisherTest, LeaveOneOut, MonteCarloProbe, Probe
from tests.oracles import least_squares
from tests.oracles.gram_schmidt import brute_force, deflation

N, D = 40, 7
TARGETS = ["regression", "two classes", "three classes"]
WEIGHTS = {"plain": None, "weighted": 0.2 + np.random.RandomState(4).uniform(size=N), "counted": np.arange(N) % 3.0}


def data(kind="regression", seed=0, n=N, d=D):
    """Columns with means, scales and correlations; the target depends on three of them."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d))) * np.linspace(1, 5, d)
    X += rng.uniform(-3, 3, size=d)
    signal = X[:, 1] - 0.5 * X[:, 4] + 0.5 * X[:, d - 1] + 2 * rng.standard_normal(n)
    if kind == "regression":
        return X, signal
    ranks = np.argsort(np.argsort(signal))
    return X, np.array(["low", "high"])[ranks * 2 // n] if kind == "two classes" else ranks * 3 // n


def encoded(y):
    """The target as least squares sees it, written out."""
    if y.dtype.kind == "f":
        return y[:, None]
    labels = np.unique(y)
    if labels.size == 2:
        return np.where(y == labels[1], 1.0, -1.0)[:, None]
    return np.column_stack([(y == label).astype(float) for label in labels])


def peak(function):
    """Largest memory that a call allocates at any time, in bytes."""
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("orthogonalization", ["classical", "modified"])
def test_the_order_is_that_of_brute_force(kind, weight, orthogonalization):
    X, y = data(kind)
    order, shares = brute_force(X, encoded(y), weight)
    found = GramSchmidt(stop=None, orthogonalization=orthogonalization).fit(X, y, sample_weight=weight)
    assert found.order_.tolist() == order
    np.testing.assert_allclose(found.scores_[order], shares, rtol=1e-6, atol=1e-9)
    assert found.certificate_["orthogonality"] < 1e-10


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
def test_the_model_along_the_path_is_the_least_squares_model_on_its_features(kind, weight, fit_intercept):
    X, y = data(kind)
    Y = encoded(y)
    found = GramSchmidt(stop=None, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    total = least_squares.squared_error(X[:, :0], Y, weight, fit_intercept)
    for k in range(D + 1):
        model = found.model_at(k)
        features = np.sort(found.order_[:k])
        coef, intercept = least_squares.fit(X[:, features], Y, weight, fit_intercept)
        np.testing.assert_array_equal(model.features, features)
        np.testing.assert_allclose(model.coef, coef, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(model.intercept, intercept, rtol=1e-7, atol=1e-8)
        left = least_squares.squared_error(X[:, features], Y, weight, fit_intercept)
        assert model.r2 == pytest.approx(1 - left / total, abs=1e-9)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
def test_press_along_the_path_is_the_error_of_models_fitted_without_each_row(kind, weight, fit_intercept):
    X, y = data(kind, seed=1)
    found = GramSchmidt(stop=None, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    for k in range(D + 1):
        expected = least_squares.leave_one_out(X[:, found.order_[:k]], encoded(y), weight, fit_intercept)
        assert found.model_at(k).press == pytest.approx(expected, rel=1e-7)


def test_press_is_infinite_once_a_row_is_fitted_whatever_its_target():
    X, y = data(n=12, d=20)
    found = GramSchmidt(stop=None).fit(X, y)
    assert found.path_[-1].info["press"] == np.inf


def test_predictions_are_those_of_the_linear_model_on_the_selected_features():
    X, y = data()
    found = GramSchmidt(stop=4).fit(X, y)
    features = found.estimator_.features
    expected = LinearRegression().fit(X[:, features], y).predict(X[:, features])
    np.testing.assert_allclose(found.estimator_.predict(X[:, features]), expected, rtol=1e-9)
    assert sorted(features) == found.get_support(indices=True).tolist()


@pytest.mark.parametrize("kind", TARGETS[1:])
def test_predicted_labels_are_the_classes_with_the_largest_output(kind):
    X, y = data(kind)
    found = GramSchmidt(stop=4).fit(X, y)
    model = found.estimator_
    columns = X[:, model.features]
    coef, intercept = least_squares.fit(columns, encoded(y))
    output = columns @ coef + intercept
    labels = np.unique(y)
    best = (output[:, 0] > 0).astype(int) if labels.size == 2 else output.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(columns), labels[best])
    np.testing.assert_allclose(model.decision_function(columns), output, atol=1e-9)


def test_a_sparse_table_predicts_as_a_dense_one():
    X, y = data()
    model = GramSchmidt(stop=3).fit(X, y).estimator_
    columns = X[:, model.features]
    np.testing.assert_allclose(model.predict(sparse.csr_array(columns)), model.predict(columns), rtol=1e-10)


def test_asking_for_a_model_beyond_the_path_says_how_long_it_is():
    found = GramSchmidt(stop=2).fit(*data())
    with pytest.raises(ValueError, match=r"n_features=3.*2 steps"):
        found.model_at(3)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("multiclass", ["joint", "ovr", "ovo"])
def test_weights_are_repeated_rows(kind, multiclass):
    X, y = data(kind)
    count = np.random.RandomState(2).randint(0, 4, size=N)
    ranker = GramSchmidt(stop=Probe(risk=0.2, null="gaussian"), multiclass=multiclass)
    weighted = clone(ranker).fit(X, y, sample_weight=count)
    repeated = clone(ranker).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-8)
    np.testing.assert_allclose(weighted.stop_.curve, repeated.stop_.curve, rtol=1e-7)
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    if multiclass == "joint":
        one, other = weighted.estimator_, repeated.estimator_
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-7)
        np.testing.assert_allclose(one.intercept, other.intercept, rtol=1e-7)


def test_weights_in_any_container_are_the_same_weights():
    X, y = data()
    weight = 0.5 + np.random.RandomState(0).uniform(size=N)
    expected = GramSchmidt(stop=3).fit(X, y, sample_weight=weight)
    for container in (list, pd.Series, pl.Series, torch.asarray):
        found = GramSchmidt(stop=3).fit(X, y, sample_weight=container(weight))
        np.testing.assert_array_equal(found.order_, expected.order_)
        np.testing.assert_allclose(found.scores_, expected.scores_)


def test_weights_reach_the_ranker_through_a_pipeline_with_metadata_routing():
    X, y = data()
    weight = np.where(np.arange(N) < N // 2, 3.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = GramSchmidt(stop=3).set_fit_request(sample_weight=True)
        model = LinearRegression().set_fit_request(sample_weight=False)
        pipeline = Pipeline([("select", ranker), ("model", model)]).fit(X, y, sample_weight=weight)
    expected = GramSchmidt(stop=3).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline["select"].order_, expected.order_)
    np.testing.assert_allclose(pipeline["select"].scores_, expected.scores_)
    assert not np.allclose(expected.scores_, GramSchmidt(stop=3).fit(X, y).scores_, equal_nan=True)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_tables_give_what_dense_ones_give(kind, container):
    X, y = data(kind, d=12)
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.6] = 0.0
    dense, thin = (GramSchmidt(stop=Probe(0.2)).fit(table, y) for table in (X, container(X)))
    np.testing.assert_array_equal(thin.order_, dense.order_)
    np.testing.assert_allclose(thin.scores_, dense.scores_, rtol=1e-8)
    np.testing.assert_allclose(thin.stop_.curve, dense.stop_.curve, rtol=1e-6)
    np.testing.assert_allclose(thin.estimator_.coef, dense.estimator_.coef, rtol=1e-7)
    kept = GramSchmidt(stop=2).fit(container(X), y).transform(container(X))
    assert sparse.issparse(kept)
    np.testing.assert_array_equal(kept.toarray(), X[:, np.sort(dense.order_[:2])])


@pytest.mark.parametrize("stop", [5, "auto"])
def test_a_wide_sparse_table_is_never_made_dense(stop):
    rng = np.random.RandomState(0)
    n, d = 2000, 200_000
    X = sparse.random_array((n, d), density=5e-3, rng=rng, format="csc")
    y = (X[:, [17, 60_000]] @ np.array([3.0, -2.0])) + 0.01 * rng.standard_normal(n)
    found, memory = peak(lambda: GramSchmidt(stop=stop).fit(X, y))
    assert set(found.order_[:2].tolist()) == {17, 60_000}
    assert found.support_[[17, 60_000]].all()
    assert memory < 0.15 * (n * d * 8)


def test_float32_finds_the_order_of_float64_and_no_double_copy_of_the_table_is_made():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((1500, 6000)).astype(np.float32)
    y = X[:, :6].astype(float) @ [6, 5, 4, 3, 2, 1] + rng.standard_normal(1500)
    found, memory = peak(lambda: GramSchmidt(stop=6).fit(X, y))
    assert memory < 0.5 * X.nbytes
    double = GramSchmidt(stop=6).fit(X.astype(float), y)
    np.testing.assert_array_equal(found.order_, double.order_)
    np.testing.assert_allclose(found.scores_[found.order_], double.scores_[double.order_], rtol=1e-4)
    assert found.scores_.dtype == np.float32
    assert found.transform(X).dtype == np.float32


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_dense_table_is_not_copied(order):
    rng = np.random.RandomState(0)
    X = np.asarray(rng.standard_normal((1500, 4000)), order=order)
    _, memory = peak(lambda: GramSchmidt(stop=5).fit(X, rng.standard_normal(1500)))
    assert memory < 0.25 * X.nbytes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_long_path_on_a_wide_table_does_not_end_up_copying_it(dtype):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((200, 40_000)).astype(dtype), rng.standard_normal(200)
    found, memory = peak(lambda: GramSchmidt(stop=150).fit(X, y))
    assert found.order_.size == 150
    assert memory < 0.75 * (X.size * 8)


def test_a_float32_path_ends_when_the_target_is_explained_to_single_precision():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((80, 3000)).astype(np.float32), rng.standard_normal(80)
    found = GramSchmidt(stop=None).fit(X, y)
    assert 1 - found.path_[-2].info["r2"] > 1e-14
    double = GramSchmidt(stop=None).fit(X.astype(float), y)
    told_apart = sum(step.info["r2"] < 1 - 1e-6 for step in double.path_)
    np.testing.assert_array_equal(found.order_[:told_apart], double.order_[:told_apart])


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_torch_tensors_give_the_same_order_and_torch_attributes(kind, dtype):
    X, y = data(kind)
    expected = GramSchmidt(stop=Probe(0.3)).fit(X, y)
    tensor = torch.asarray(X, dtype=dtype)
    with sklearn.config_context(array_api_dispatch=True):
        found = GramSchmidt(stop=Probe(0.3)).fit(tensor, y)
        kept = found.transform(tensor)
    np.testing.assert_array_equal(found.order_.numpy(), expected.order_)
    np.testing.assert_array_equal(found.support_.numpy(), expected.support_)
    np.testing.assert_allclose(found.scores_.numpy(), expected.scores_, rtol=1e-8 if dtype == torch.float64 else 1e-3)
    for attribute in (found.order_, found.scores_, found.ranking_, found.support_, kept):
        assert isinstance(attribute, torch.Tensor)
    assert found.scores_.dtype == kept.dtype == dtype
    np.testing.assert_allclose(kept.numpy(), X[:, expected.support_], rtol=1e-6)


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
def test_errors_of_steps_that_are_verified_together_are_those_of_each(container):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 6200))  # wide enough for blocks of steps
    y = X[:, :6].sum(axis=1) + rng.standard_normal(40)
    expected = GramSchmidt(max_features=25).fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        found = GramSchmidt(max_features=25).fit(container(X), y)
    assert found.stop_.reason == expected.stop_.reason
    for one, other in zip(found.path_, expected.path_, strict=True):
        assert (one.feature, one.info["n_candidates"]) == (other.feature, other.info["n_candidates"])
        np.testing.assert_allclose(
            [one.info["r2"], one.info["press"]], [other.info["r2"], other.info["press"]], rtol=1e-9
        )
        np.testing.assert_allclose(one.info["residual_shape"], other.info["residual_shape"], atol=1e-9)


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"stop": 3},
        {"stop": Probe(0.3, null="permutation", n_draws=19)},
        {"stop": LeaveOneOut()},
        {"stop": FisherTest(0.2)},
        {"stop": MonteCarloProbe(0.5, n_draws=4)},
        {"stop": 2, "multiclass": "ovr"},
        {"stop": 2, "multiclass": "ovo"},
        {"stop": 3, "fit_intercept": False, "orthogonalization": "modified"},
    ],
    ids=str,
)
def test_every_rule_and_scheme_works_on_arrays_of_other_libraries(container, weighted, parameters):
    X, y = data("three classes")
    weight = 1.0 + np.arange(N) % 2 if weighted else None
    expected = GramSchmidt(**parameters).fit(X, y, sample_weight=weight)
    with sklearn.config_context(array_api_dispatch=True):
        found = GramSchmidt(**parameters).fit(container(X), container(y), sample_weight=weight)
        np.testing.assert_array_equal(np.asarray(found.order_), expected.order_)
        np.testing.assert_array_equal(found.get_support(), expected.support_)
        np.testing.assert_allclose(np.asarray(found.scores_), expected.scores_, rtol=1e-8)
    assert found.stop_.reason == expected.stop_.reason


@pytest.mark.parametrize(
    "container",
    [np.ascontiguousarray, np.asfortranarray, np.float32, sparse.csr_array, torch.asarray, array_api_strict.asarray],
    ids=["C order", "F order", "float32", "csr", "torch", "strict"],
)
@pytest.mark.parametrize("kind", ["regression", "three classes"])
def test_the_blocks_used_beyond_eight_thousand_candidates_change_nothing(container, kind):
    causes, y = data(kind)
    rng = np.random.RandomState(0)
    X = causes @ rng.standard_normal((D, 9000)) + 3 * rng.standard_normal((N, 9000))
    order, shares, _ = deflation(X, encoded(y), n_steps=10)
    with sklearn.config_context(array_api_dispatch=True):
        found = GramSchmidt(stop=10).fit(container(X), y)
    assert np.asarray(found.order_).tolist() == order
    np.testing.assert_allclose(np.asarray(found.scores_)[order], shares, rtol=1e-4)


def test_redundant_lists_the_copies_of_a_kept_feature_and_nothing_else():
    X, y = data(d=6)
    table = np.column_stack([X, 3 * X[:, 4] - 7, X[:, 0], np.full(N, 2.0), X[:, 4]])
    found = GramSchmidt(stop=None).fit(table, y)
    assert {key: value.tolist() for key, value in found.redundant_.items()} == {4: [6, 9], 0: [7]}
    assert sorted(found.order_) == list(range(6))


def test_a_combination_is_redundant_under_the_last_of_its_parts():
    X, y = data(d=5)
    y = 5 * X[:, 1] + 3 * X[:, 3] + 0.1 * y
    table = np.column_stack([X, X[:, 1] - X[:, 3]])
    found = GramSchmidt(stop=None).fit(table, y)
    pair = [feature for feature in found.order_ if feature in (1, 3, 5)]
    (left,) = {1, 3, 5} - set(pair)
    assert {key: value.tolist() for key, value in found.redundant_.items()} == {pair[1]: [left]}


def test_without_an_intercept_one_more_dimension_is_left_at_every_step():
    X, y = data()
    with_it, without = (GramSchmidt(stop=None, fit_intercept=flag).fit(X, y) for flag in (True, False))
    assert [step.info["dof"] for step in with_it.path_] == [N - n for n in range(1, D + 1)]
    assert [step.info["dof"] for step in without.path_] == [N - n + 1 for n in range(1, D + 1)]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_an_intercept_the_columns_are_taken_as_they_are(fit_intercept):
    X, y = data(seed=5)
    order, _, _ = deflation(X, y[:, None], fit_intercept=fit_intercept)
    assert GramSchmidt(stop=None, fit_intercept=fit_intercept).fit(X, y).order_.tolist() == order


def test_two_classes_are_one_problem_whatever_the_scheme():
    X, y = data("two classes")
    joint, ovr, ovo = (GramSchmidt(stop=4, multiclass=scheme).fit(X, y) for scheme in ("joint", "ovr", "ovo"))
    for found in (ovr, ovo):
        np.testing.assert_array_equal(found.order_, joint.order_)
        np.testing.assert_array_equal(found.scores_, joint.scores_)
        assert not hasattr(found, "subproblems_")


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_a_scheme_unites_the_selections_of_its_two_class_problems(scheme):
    X, y = data("three classes", d=15)
    names = np.array(["red", "green", "blue"])[y]
    found = GramSchmidt(stop=2, multiclass=scheme).fit(X, names)
    pairs = [("blue",), ("green",), ("red",)]
    if scheme == "ovo":
        pairs = [("blue", "green"), ("blue", "red"), ("green", "red")]
    assert list(found.subproblems_) == pairs
    union = set()
    for labels, ranker in found.subproblems_.items():
        rows = np.isin(names, labels) if scheme == "ovo" else np.ones(N, dtype=bool)
        alone = GramSchmidt(stop=2).fit(X[rows], (names[rows] == labels[0]).astype(int))
        np.testing.assert_array_equal(ranker.order_, alone.order_)
        union |= set(alone.get_support(indices=True).tolist())
    assert set(found.get_support(indices=True).tolist()) == union
    assert set(found.order_[: len(union)].tolist()) == union
    assert found.stop_.n_features == len(union)


def test_max_features_ends_the_path_whatever_the_rule():
    X, y = data()
    whole = GramSchmidt(stop=None).fit(X, y)
    for stop in (None, 5, Probe(0.9), LeaveOneOut()):
        found = GramSchmidt(stop=stop, max_features=3).fit(X, y)
        np.testing.assert_array_equal(found.order_, whole.order_[:3])
    assert GramSchmidt(stop=2, max_features=3).fit(X, y).order_.size == 2


def test_the_probe_ends_the_path_a_few_steps_after_its_cut():
    X, y = make_linear(200, n_features=60, coef=[3, 3, 3], random_state=0)
    found = GramSchmidt(stop=Probe(0.01, null="gaussian", n_beyond=4)).fit(X, y)
    assert found.stop_.n_features == 3
    assert len(found.path_) == 3 + 1 + 4


def test_a_target_without_noise_ends_the_path_once_it_is_explained():
    X, _ = data()
    found = GramSchmidt(stop=None).fit(X, 2 * X[:, 2] - X[:, 5])
    assert sorted(found.order_) == [2, 5]
    assert found.estimator_.r2 == pytest.approx(1)
    assert found.ranking_[[0, 1, 3, 4, 6]].tolist() == [3] * 5
    assert "2" in found.stop_.reason
    assert "add nothing" in found.stop_.reason


def test_names_come_out_as_they_went_in_and_the_refused_one_is_named():
    X, y = make_linear(100, n_features=6, coef=[2, 2], random_state=0)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(6)])
    found = GramSchmidt(stop=Probe(0.01)).fit(frame, y)
    assert found.get_feature_names_out().tolist() == ["gene 0", "gene 1"]
    assert f"'gene {found.order_[2]}'" in found.stop_.reason


def test_a_grid_search_over_the_risk_of_the_rule_works_in_a_pipeline():
    X, y = make_linear(120, n_features=30, noise=2.0, random_state=1)
    pipeline = make_pipeline(StandardScaler(), GramSchmidt(stop=Probe(null="gaussian")), LinearRegression())
    grid = GridSearchCV(pipeline, {"gramschmidt__stop__risk": [0.001, 0.01, 0.3]}, cv=3).fit(X, y)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    chosen = grid.best_estimator_["gramschmidt"]
    assert chosen.stop.risk == grid.best_params_["gramschmidt__stop__risk"]
    assert chosen.stop_.threshold == chosen.stop.risk


def test_fitting_again_forgets_the_classes_of_an_earlier_fit():
    ranker = GramSchmidt(stop=3).fit(*data("three classes"))
    X, y = data("regression")
    model = ranker.fit(X, y).estimator_
    assert model.classes is None
    expected = LinearRegression().fit(X[:, model.features], y).predict(X[:, model.features])
    np.testing.assert_allclose(model.predict(X[:, model.features]), expected, rtol=1e-8)


def test_fitting_again_forgets_the_subproblems_of_an_earlier_fit():
    X, y = data("three classes")
    ranker = GramSchmidt(stop=2, multiclass="ovr").fit(X, y)
    ranker.set_params(multiclass="joint").fit(X, y)
    assert not hasattr(ranker, "subproblems_")


def test_the_model_is_on_the_selected_features_when_the_rule_reorders_them():
    for seed in range(10, 30):
        rng = np.random.RandomState(seed)
        causes = rng.standard_normal((30, 3))
        X = causes @ rng.standard_normal((3, 12)) + 0.6 * rng.standard_normal((30, 12))
        y = causes.sum(axis=1) + 0.5 * rng.standard_normal(30)
        found = GramSchmidt(stop=MonteCarloProbe(0.5, n_draws=9)).fit(X, y)
        kept = found.get_support(indices=True)
        path = GramSchmidt(stop=None).fit(X, y).order_[: kept.size]
        if sorted(path) != kept.tolist():
            break
    else:
        raise AssertionError("no drawing where the steadier order keeps other features than the path; draw more")
    assert sorted(found.estimator_.features) == kept.tolist()


def test_united_problems_have_no_single_model_and_say_where_the_models_are():
    found = GramSchmidt(stop=2, multiclass="ovr").fit(*data("three classes"))
    with pytest.raises((AttributeError, ValueError), match="subproblems_"):
        _ = found.estimator_
    assert all(ranker.estimator_.features.size == 2 for ranker in found.subproblems_.values())
