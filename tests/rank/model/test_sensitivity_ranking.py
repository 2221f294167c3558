"""Sensitivity: derivatives of a model's outputs in its inputs."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR

from tamis import SensitivityRanking
from tamis.rank.model._model_derivatives import find_derivatives
from tamis.stop import MonteCarloProbe
from tests.oracles import networks as oracle

WEIGHTS = np.array([2.0, 0.0, -3.0, 0.5])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
def test_features_that_matter_come_first(task, seed):
    X, y = oracle.planted(seed, task)
    found = SensitivityRanking(stop=3, random_state=seed).fit(X, y)
    assert found.support_.nonzero()[0].tolist() == [0, 1, 2]


@pytest.fixture
def table():
    X = np.random.RandomState(0).standard_normal((30, 4)) * [1.0, 2.0, 0.5, 10.0] + 3.0
    return X, X[:, 0]


def linear(x):
    return x @ torch.as_tensor(WEIGHTS, dtype=x.dtype) + 1.0


def test_a_linear_model_gives_its_squared_or_absolute_weights(table):
    X, y = table
    for norm, expected in (("l2", WEIGHTS**2), ("l1", np.abs(WEIGHTS))):
        found = SensitivityRanking(linear, norm=norm, standardize=False, stop=None).fit(X, y)
        np.testing.assert_allclose(found.scores_, expected)
    scaled = SensitivityRanking(linear, stop=None).fit(X, y)
    np.testing.assert_allclose(scaled.scores_, (WEIGHTS * X.std(axis=0)) ** 2)
    assert scaled.order_.tolist() == [3, 0, 2, 1]


def test_a_linear_network_that_was_trained_here_gives_squared_weights_too():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((500, 4)) * [1.0, 2.0, 0.5, 10.0]
    y = X @ WEIGHTS
    found = SensitivityRanking(hidden_units=(), alpha=0.0, tol=1e-13, stop=None).fit(X, y)
    np.testing.assert_allclose(found.scores_, (WEIGHTS * X.std(axis=0) / y.std()) ** 2, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("block", [5, 2**21])
def test_derivatives_agree_with_finite_differences_over_all_outputs(table, norm, block, monkeypatch):
    monkeypatch.setattr("tamis.rank.model._sensitivity_ranking._BLOCK", block)
    X, y = table
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()
    found = SensitivityRanking(model, norm=norm, standardize=False, stop=None).fit(X, y)
    total = np.zeros(4)
    for x in X:
        for c in range(3):
            slope = oracle.slope(lambda x, c=c: model(torch.from_numpy(x)[None])[0, c].item(), x)
            total += slope**2 if norm == "l2" else np.abs(slope)
    np.testing.assert_allclose(found.scores_, total / len(X), rtol=1e-6)


def test_a_module_is_left_as_it_was(table):
    X, y = table
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1), torch.nn.Dropout(0.9))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found, again = (SensitivityRanking(model, stop=None).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(found.scores_, again.scores_)  # no dropout while it is judged
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_module_gets_its_own_precision_and_a_callable_that_of_the_table(table):
    X, y = table
    seen = []

    def model(x):
        seen.append(x.dtype)
        return linear(x)

    SensitivityRanking(model, stop=None).fit(X.astype(np.float32), y)
    SensitivityRanking(model, stop=None).fit(X, y)
    assert seen == [torch.float32, torch.float64]
    assert SensitivityRanking(torch.nn.Linear(4, 1), stop=None).fit(X, y).order_.size == 4


def test_constant_columns_are_not_ranked_whatever_the_model_says(table):
    X, y = table
    X[:, 2] = 7.0
    found = SensitivityRanking(linear, standardize=False, stop=None).fit(X, y)
    assert np.isnan(found.scores_[2])
    assert found.order_.tolist() == [0, 3, 1]


def test_models_that_cannot_be_differentiated_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match=r"estimator='linear' is neither a scikit-learn model nor a torch module"):
        SensitivityRanking("linear").fit(X, y)
    with pytest.raises(ValueError, match=r"NearestLabel\(\) gives labels only"):
        SensitivityRanking(NearestLabel()).fit(X, y > 3)
    with pytest.raises(ValueError, match="in a way that torch can differentiate"):
        SensitivityRanking(lambda x: (x > 0).double()).fit(X, y)
    with pytest.raises(ValueError, match="one row of outputs per row of inputs, as a tensor"):
        SensitivityRanking(lambda x: x.detach().numpy()).fit(X, y)
    with pytest.raises(ValueError, match="one row of outputs per row"):
        SensitivityRanking(lambda x: x.sum(dim=0)).fit(X, y)
    with pytest.raises(ValueError, match="one row of outputs per row"):
        SensitivityRanking(torch.sum).fit(X, y)


def test_a_model_may_be_cloned_and_set(table):
    X, y = table
    ranker = clone(SensitivityRanking(torch.nn.Linear(4, 1)))
    assert ranker.fit(X, y).order_.size == 4
    np.testing.assert_allclose(
        ranker.set_params(estimator=linear, standardize=False, stop=None).fit(X, y).scores_, WEIGHTS**2
    )


def trained_models(X):
    y = X @ WEIGHTS
    return {
        "callable": linear,
        "module": torch.nn.Linear(4, 1),
        "fitted": LinearRegression().fit(X, y),
        "frozen": FrozenEstimator(LinearRegression().fit(X, y)),
    }


@pytest.mark.parametrize("kind", ["callable", "module", "fitted", "frozen"])
def test_of_a_model_that_was_trained_before_all_features_stay_that_its_outputs_depend_on(table, kind):
    X, y = table
    found = SensitivityRanking(trained_models(X)[kind]).fit(X, y)
    assert found.n_features_ == found.n_chosen_ == (4 if kind == "module" else 3)  # a weight is zero
    assert "the model's outputs depend on" in found.stop_.reason
    assert "a model trained before" in found.stop_.reason


@pytest.mark.parametrize("kind", ["callable", "module", "fitted", "frozen"])
def test_a_model_that_was_trained_before_knows_no_permuted_copies(table, kind):
    X, y = table
    with pytest.raises(ValueError, match=r"was trained on the columns of X .*; give an unfitted model, or a number"):
        SensitivityRanking(trained_models(X)[kind], stop=MonteCarloProbe(n_draws=19)).fit(X, y)


def test_an_unfitted_model_is_judged_by_permuted_copies():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((100, 6))
    found = SensitivityRanking(LinearRegression()).fit(X, X[:, 2] + 0.3 * rng.standard_normal(100))
    assert found.get_support(indices=True).tolist() == [2]
    assert "permuted copies" in found.stop_.reason


def test_derivatives_are_recorded_even_where_the_caller_has_turned_that_off(table):
    X, y = table
    for ranker in (SensitivityRanking(linear, stop=None), SensitivityRanking(stop=None, random_state=0)):
        expected = ranker.fit(X, y).scores_
        for context in (torch.no_grad(), torch.inference_mode()):
            with context:
                np.testing.assert_allclose(ranker.fit(X, y).scores_, expected)


def test_an_output_that_ignores_the_inputs_adds_nothing(table):
    X, y = table
    bias = torch.ones(1, requires_grad=True)
    found = SensitivityRanking(lambda x: bias.expand(len(x)), stop=None).fit(X, y)
    np.testing.assert_array_equal(found.scores_, np.zeros(4))


def test_derivatives_that_are_not_finite_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="derivatives that are not finite"):
        SensitivityRanking(lambda x: (x - x).sqrt()).fit(X, y)


class NearestLabel(ClassifierMixin, BaseEstimator):
    """A classifier that says nothing but labels."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def logits(model, X):
    """Outputs of a perceptron before the last activation, less their mean over three classes or more."""
    for weight, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        sums = X @ weight + bias
        X = {
            "tanh": np.tanh(sums),
            "relu": np.maximum(sums, 0),
            "logistic": 1 / (1 + np.exp(-sums)),
            "identity": sums,
        }[model.activation]
    outputs = X @ model.coefs_[-1] + model.intercepts_[-1]
    return outputs - outputs.mean(axis=1, keepdims=True) if outputs.shape[1] > 2 else outputs


def decisions(model, X):
    return model.decision_function(X)


def predictions(model, X):
    return model.predict(X)


def log_predictions(model, X):
    return np.log(model.predict(X))


def network(kind, **parameters):
    return kind(hidden_layer_sizes=(6, 4), solver="lbfgs", max_iter=5000, random_state=0, **parameters)


def pairs(kind, **parameters):
    return kind(decision_function_shape="ovo", **parameters)


# model, kind of target, outputs that are differentiated
MODELS = [
    (LinearRegression(), "quantity", predictions),
    (PoissonRegressor(), "positive", log_predictions),
    (LogisticRegression(), "three", decisions),
    (LinearSVC(random_state=0), "two", decisions),
    (SGDClassifier(random_state=0), "three", decisions),
    *[
        (model, target, outputs)
        for kernel in ("linear", "rbf", "poly", "sigmoid")
        for model, target, outputs in [
            (SVC(kernel=kernel, gamma=0.3, coef0=0.5), "two", decisions),
            (pairs(SVC, kernel=kernel), "three", decisions),
            (NuSVC(kernel=kernel, nu=0.3, gamma="auto"), "two", decisions),
            (SVR(kernel=kernel, coef0=0.2), "quantity", predictions),
            (NuSVR(kernel=kernel, degree=2), "quantity", predictions),
            (KernelRidge(kernel=kernel, alpha=100.0), "quantity", predictions),
            (KernelRidge(kernel=kernel, alpha=100.0, gamma=0.2, degree=2, coef0=0.0), "quantities", predictions),
        ]
    ],
    *[
        (network(MLPRegressor, activation=name), "quantity", logits)
        for name in ("identity", "logistic", "tanh", "relu")
    ],
    (network(MLPRegressor), "quantities", logits),
    (network(MLPClassifier, activation="tanh", alpha=1.0), "two", logits),
    (network(MLPClassifier, activation="tanh", alpha=1.0), "three", logits),
    *[
        (make_pipeline(scaler, SVC()), "two", decisions)
        for scaler in (StandardScaler(), StandardScaler(with_std=False), MinMaxScaler(), MaxAbsScaler(), RobustScaler())
    ],
    (make_pipeline("passthrough", MinMaxScaler(), StandardScaler(), Ridge()), "quantity", predictions),
    (GridSearchCV(make_pipeline(StandardScaler(), SVR()), {"svr__C": [1.0, 10.0]}, cv=2), "quantity", predictions),
]


def modeled(kind, n_samples=40):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n_samples, 4)) * [1.0, 2.0, 0.5, 1.0]
    signal = np.tanh(X[:, 0]) + 0.3 * X[:, 1] ** 2 - X[:, 2] + 0.2 * rng.standard_normal(n_samples)
    targets = {
        "quantity": signal,
        "quantities": np.column_stack([signal, X[:, 3] ** 2]),
        "positive": np.exp(signal),
        "two": np.where(signal > 0.3, "yes", "no"),
        "three": np.digitize(signal, [0.0, 0.8]),
    }
    return X, targets[kind]


@pytest.mark.parametrize(
    ("model", "kind", "outputs"),
    MODELS,
    ids=lambda value: getattr(value, "__name__", str(value).replace("\n", "")[:60]),
)
def test_derivatives_of_scikit_learn_models_agree_with_differences(model, kind, outputs):
    X, y = modeled(kind)
    model = clone(model).fit(X, y)
    X = X + 0.1 * np.random.RandomState(1).standard_normal(X.shape)  # a fit puts the kinks of relu on its own rows
    found = find_derivatives(model).at(X)
    width = 1e-5
    for j in range(4):
        shift = width * (np.arange(4) == j)
        expected = (outputs(model, X + shift) - outputs(model, X - shift)).reshape(len(X), -1) / (2 * width)
        np.testing.assert_allclose(np.abs(found[:, :, j]), np.abs(expected), rtol=1e-4, atol=1e-6)  # either sign


@pytest.mark.parametrize(
    ("model", "kind", "outputs"),
    MODELS,
    ids=lambda value: getattr(value, "__name__", str(value).replace("\n", "")[:60]),
)
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_scores_are_means_of_those_derivatives_in_whatever_blocks(model, kind, outputs, norm, monkeypatch):
    X, y = modeled(kind)
    if np.ndim(y) > 1:
        y = y[:, 0]
    model = clone(model).fit(X, y)
    derivatives = find_derivatives(model).at(X)
    expected = np.sum(derivatives**2 if norm == "l2" else np.abs(derivatives), axis=(0, 1)) / len(X)
    for numbers in (1, 2**21):
        monkeypatch.setattr("tamis.rank.model._derivative_norms.NUMBERS", numbers)
        found = SensitivityRanking(model, norm=norm, standardize=False, stop=None).fit(X, y)
        np.testing.assert_allclose(found.scores_, expected, rtol=1e-9)
    scaled = SensitivityRanking(model, norm=norm, stop=None).fit(X, y)
    np.testing.assert_allclose(scaled.scores_, expected * X.std(axis=0) ** (2 if norm == "l2" else 1), rtol=1e-9)


def test_a_linear_scikit_learn_model_gives_its_squared_or_absolute_weights(table):
    X, _ = table
    y = X @ WEIGHTS
    for norm, power in (("l2", 2), ("l1", 1)):
        for model in (LinearRegression(), LinearRegression().fit(X, y)):
            found = SensitivityRanking(model, norm=norm, standardize=False, stop=None).fit(X, y)
            np.testing.assert_allclose(found.scores_, np.abs(WEIGHTS) ** power, atol=1e-12)
            scaled = SensitivityRanking(model, norm=norm, stop=None).fit(X, y)
            np.testing.assert_allclose(scaled.scores_, np.abs(WEIGHTS * X.std(axis=0)) ** power, atol=1e-12)


@pytest.mark.parametrize("numbers", [1, 200, 2**21])
def test_models_without_a_formula_are_differentiated_by_differences(numbers, monkeypatch):
    monkeypatch.setattr("tamis.rank.model._derivative_norms.NUMBERS", numbers)
    X, y = modeled("quantity")
    squares = make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(
        X, X[:, 0] ** 2 - 3 * X[:, 1] + X[:, 2] * X[:, 3]
    )
    assert find_derivatives(squares) is None
    found = SensitivityRanking(squares, standardize=False, stop=None).fit(X, y)
    expected = np.mean([(2 * X[:, 0]) ** 2, np.full(len(X), 9.0), X[:, 3] ** 2, X[:, 2] ** 2], axis=1)
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-6)


def test_a_gaussian_process_and_a_forest_with_a_wide_step_find_what_matters():
    X, y = modeled("quantity", 150)
    for model, width in ((GaussianProcessRegressor(alpha=0.1), 1e-4), (RandomForestRegressor(20), 0.5)):
        found = SensitivityRanking(model, width=width, random_state=0).fit(X, y)
        assert found.order_[-1] == 3


def test_an_unfitted_model_is_fitted_on_a_clone_and_a_fitted_one_is_left_alone():
    X, y = modeled("two")
    model = SVC()
    found = SensitivityRanking(model, standardize=False, stop=None).fit(X, y)
    assert not hasattr(model, "support_")
    given = SensitivityRanking(SVC().fit(X, y), standardize=False, stop=None).fit(X, np.roll(y, 7))
    np.testing.assert_allclose(found.scores_, given.scores_)
    frozen = clone(SensitivityRanking(FrozenEstimator(SVC().fit(X, y)), standardize=False, stop=None))
    np.testing.assert_allclose(frozen.fit(X, np.roll(y, 7)).scores_, given.scores_)


def test_an_unfitted_model_sees_standardized_columns_so_that_units_do_not_matter():
    X, y = modeled("two")
    other = X * 10.0 ** np.array([-150, 200, 0, 3]) + 5 * 10.0 ** np.array([-150, 200, 0, 3])
    plain, moved = (SensitivityRanking(SVC(), stop=None).fit(values, y) for values in (X, other))
    np.testing.assert_allclose(plain.scores_, moved.scores_, rtol=1e-4)
    through = SensitivityRanking(make_pipeline(StandardScaler(), SVC()).fit(X, y), stop=None).fit(X, y)
    np.testing.assert_allclose(plain.scores_, through.scores_, rtol=1e-6)


def test_a_model_that_was_fitted_on_names_takes_the_table_without_a_warning():
    pandas = pytest.importorskip("pandas")
    X, y = modeled("quantity")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for model in (make_pipeline(StandardScaler(), Ridge()), make_pipeline(PolynomialFeatures(), Ridge())):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = SensitivityRanking(model.fit(frame, y), stop=1).fit(frame, y)
        assert found.get_feature_names_out().size == 1


def test_a_model_of_other_columns_is_refused():
    X, y = modeled("quantity")
    with pytest.raises(ValueError, match="estimator was fitted on 3 features and X has 4"):
        SensitivityRanking(Ridge().fit(X[:, :3], y)).fit(X, y)


def test_a_training_that_was_cut_short_is_reported():
    X, y = modeled("two")
    with pytest.warns(ConvergenceWarning, match="MLPClassifier did not converge when SensitivityRanking fitted it"):
        found = SensitivityRanking(MLPClassifier(max_iter=2)).fit(X, y)
    assert found.certificate_ == {"converged": False, "n_iter": 2}


def test_a_scikit_learn_model_needs_no_torch():
    code = (
        "import sys; from tamis import SensitivityRanking; "
        "from sklearn.svm import SVR; from tamis.datasets import make_linear; "
        "SensitivityRanking(SVR()).fit(*make_linear(30, random_state=0)); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "estimator",
    [SVC(gamma=0.25, tol=1e-8), KernelRidge(kernel="rbf"), Ridge().fit(np.eye(4), range(4)), GaussianNB()],
    ids=str,
)
def test_weights_of_rows_stand_for_repeated_rows(estimator):
    rng = np.random.RandomState(0)
    X = 2.0 * rng.standard_normal((40, 4)) + np.array([0.0, 1.0, 0.0, 3.0])
    y = X[:, 0] + 0.3 * rng.standard_normal(40) > 0.3
    weight = np.tile([1.0, 3.0, 0.0, 2.0], 10)
    rows = rng.permutation(np.repeat(np.arange(40), weight.astype(int)))
    for norm in ("l2", "l1"):
        weighted = SensitivityRanking(estimator, stop=2, norm=norm).fit(X, y, sample_weight=weight)
        repeated = SensitivityRanking(estimator, stop=2, norm=norm).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-3)


def test_weights_of_rows_are_refused_by_an_estimator_that_takes_none():
    X = np.random.RandomState(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match="takes none in fit"):
        SensitivityRanking(KNeighborsRegressor(), stop=1).fit(X, X[:, 0], sample_weight=np.ones(20))


# missing values


@pytest.fixture
def incomplete():
    X = np.random.RandomState(0).standard_normal((120, 4)) * [1.0, 10.0, 1.0, 1.0]
    y = 3.0 * X[:, 0] + 0.1 * X[:, 1]
    X[::4, 1] = np.nan
    return X, y


def test_the_derivative_in_a_missing_value_is_zero(incomplete):
    X, y = incomplete
    model = make_pipeline(SimpleImputer(), LinearRegression()).fit(X, y)
    found = SensitivityRanking(model, standardize=False, stop=None).fit(X, y)
    np.testing.assert_allclose(found.scores_, model[-1].coef_ ** 2 * [1.0, 0.75, 1.0, 1.0], rtol=1e-6)


def test_standard_deviations_are_those_of_known_values(incomplete):
    X, y = incomplete
    model = make_pipeline(SimpleImputer(), LinearRegression()).fit(X, y)
    found = SensitivityRanking(model, stop=None).fit(X, y)
    expected = (model[-1].coef_ * np.nanstd(X, axis=0)) ** 2 * [1.0, 0.75, 1.0, 1.0]
    np.testing.assert_allclose(found.scores_, expected, rtol=1e-6)
    unfitted = SensitivityRanking(clone(model), stop=None).fit(X, y)  # imputed at the mean, in any units
    np.testing.assert_allclose(unfitted.scores_, expected, rtol=1e-6)


def test_missing_values_go_to_trees_and_units_do_not_matter(incomplete):
    X, y = incomplete
    ranker = SensitivityRanking(HistGradientBoostingRegressor(max_iter=20), width=0.5, stop=None)
    assert ranker.__sklearn_tags__().input_tags.allow_nan
    found = ranker.fit(X, y)
    assert found.order_[:2].tolist() == [0, 1]
    np.testing.assert_allclose(clone(ranker).fit(X * [1.0, 8.0, 1.0, 1.0], y).scores_, found.scores_)


@pytest.mark.parametrize(
    "estimator", [None, Ridge(), lambda points: points[:, 0]], ids=["network", "ridge", "callable"]
)
def test_missing_values_are_refused_where_no_model_takes_them_and_the_error_says_what_does(estimator, incomplete):
    with pytest.raises(ValueError, match=r"holds 30 missing values.*TableSelector\(.*make_pipeline\(SimpleImputer"):
        SensitivityRanking(estimator, stop=1).fit(*incomplete)
