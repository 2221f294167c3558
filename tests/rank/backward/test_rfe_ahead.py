"""Eliminations that are solved several at a time have the order, the criteria and the models of single ones."""

import numpy as np
import pytest

from tamis import RFE
from tamis.rank.backward import _tall_linear_solver, _wide_linear_solver


def make_data(n, d, n_classes=2, seed=0):
    """Neighboring columns are correlated, five of them decide on the class."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d))
    X[:, 1:] += X[:, :-1]
    output = X[:, :5] @ np.array([1.0, -0.8, 0.6, -0.4, 0.3]) + rng.standard_normal(n)
    return X, np.digitize(output, np.quantile(output, np.arange(1, n_classes) / n_classes))


@pytest.fixture
def one_by_one(monkeypatch):
    """A function that trains a model without looking ahead."""

    def fit(model, *args, **options):
        with monkeypatch.context() as patch:
            for module in (_tall_linear_solver, _wide_linear_solver):
                patch.setattr(module, "_MIN_AHEAD", 10**9)
            return model.fit(*args, **options)

    return fit


def assert_same(found, expected):
    assert found.certificate_["converged"]
    assert found.certificate_["residual"] <= 1e-10
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-4, atol=1e-10)
    np.testing.assert_allclose(
        [step.info["margin"] for step in found.path_], [step.info["margin"] for step in expected.path_], rtol=1e-6
    )


SHAPES = {"tall": (1700, 40), "wide": (30, 400)}
LOSSES = {"tall": ["logistic", "squared_hinge"], "wide": ["hinge", "squared_hinge", "ridge"]}
CASES = [(shape, loss) for shape, losses in LOSSES.items() for loss in losses]


@pytest.mark.parametrize("options", [{}, {"n_classes": 3}, {"n_classes": 3, "multiclass": "ovo"}], ids=str)
@pytest.mark.parametrize(("shape", "loss"), CASES)
def test_the_order_is_that_of_single_eliminations(shape, loss, options, one_by_one):
    n_classes, given = options.get("n_classes", 2), {k: v for k, v in options.items() if k != "n_classes"}
    X, y = make_data(*SHAPES[shape], n_classes)
    found, expected = (RFE(loss, stop=1, task="classification", **given) for _ in range(2))
    assert_same(found.fit(X, y), one_by_one(expected, X, y))


@pytest.mark.parametrize(("shape", "loss"), CASES)
def test_so_it_is_with_weights_of_rows_and_rare_classes(shape, loss, one_by_one):
    X, y = make_data(*SHAPES[shape])
    y[y == 1] = np.arange(np.count_nonzero(y)) % 5 == 0
    weight = np.random.RandomState(1).uniform(0.2, 3.0, y.size)
    found, expected = (RFE(loss, stop=1, task="classification", class_weight="balanced") for _ in range(2))
    found.fit(X, y, sample_weight=weight)
    assert_same(found, one_by_one(expected, X, y, sample_weight=weight))


@pytest.mark.parametrize("options", [{"keep": [7, 30, 31]}, {"step": 3}, {"groups": True}], ids=str)
@pytest.mark.parametrize(("shape", "loss"), CASES)
def test_so_it_is_where_other_features_leave_than_those_of_least_weight(shape, loss, options, one_by_one):
    X, y = make_data(*SHAPES[shape])
    if "groups" in options:
        options = {"groups": np.arange(X.shape[1]) // 2}
    found, expected = (RFE(loss, stop=4, task="classification", **options) for _ in range(2))
    assert_same(found.fit(X, y), one_by_one(expected, X, y))


@pytest.mark.parametrize(("shape", "loss"), CASES)
def test_of_equal_columns_the_last_leaves_first(shape, loss, one_by_one):
    X, y = make_data(*SHAPES[shape])
    X[:, 20:30] = X[:, 8:18]
    found, expected = (RFE(loss, stop=1, task="classification").fit(X, y), RFE(loss, stop=1, task="classification"))
    assert_same(found, one_by_one(expected, X, y))


@pytest.mark.parametrize(("shape", "loss"), CASES)
def test_several_eliminations_are_solved_at_a_time(shape, loss, monkeypatch):
    """Otherwise the tests above compare a form with itself."""
    X, y = make_data(*SHAPES[shape])
    module, name = (
        (_tall_linear_solver.LookAheadModel, "solve_ahead")
        if shape == "tall"
        else (_wide_linear_solver.DualSequence, "solve")
    )
    solved, original = [], getattr(module, name)

    def counted(*args):
        solved.append(original(*args))
        return solved[-1]

    monkeypatch.setattr(module, name, counted)
    RFE(loss, stop=1, task="classification").fit(X, y)
    assert max(solved) >= 4


def test_the_order_stays_that_of_the_active_set_method_where_pivots_fail(monkeypatch):
    X, y = make_data(60, 80)
    monkeypatch.setattr(_wide_linear_solver, "can_pivot", lambda svm: False)
    expected = RFE("squared_hinge", stop=1, C=100.0).fit(X, y)
    monkeypatch.undo()
    found = RFE("squared_hinge", stop=1, C=100.0).fit(X, y)
    assert_same(found, expected)
    monkeypatch.setattr(_wide_linear_solver.BlockPivoting, "eliminate", lambda self, column: False)
    assert_same(RFE("squared_hinge", stop=1, C=100.0).fit(X, y), expected)
