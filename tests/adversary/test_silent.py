"""Input that once gave a wrong answer without a word."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import AdaBoostRegressor, ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeRegressor

import tamis
from tamis import (
    OFW,
    RFE,
    AutoSelector,
    CorrelationScore,
    ElasticNet,
    FeatureMedoids,
    FisherScore,
    FloatingSelection,
    ForwardLeastSquares,
    GramSchmidt,
    GreedyReconstruction,
    InfiniteSVM,
    Lasso,
    LogisticLasso,
    MaxVariance,
    ModelImportance,
    OFWClassifier,
    PCALeverage,
    PivotedQR,
    ReliefF,
    ScalingFactors,
    SensitivityRanking,
    TableSelector,
    TreeSelector,
)
from tamis.assess import knn_accuracy, knn_r2, redundancy
from tamis.assess._results_file import ResultsFile
from tamis.base import NothingKeptWarning
from tamis.dictionary import RBF
from tamis.rank import _checkpoint
from tamis.rank._checkpoint import Checkpoint
from tamis.stop import CrossValidation, Probe
from tamis.table import check_table
from tamis.testing.instances import ARGUMENTS

N_ROWS, N_COLUMNS = 60, 8


def table(seed=0):
    """Columns of as many digits as any power of two leaves them, and classes that two of them tell."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N_ROWS, N_COLUMNS)) * np.linspace(1, 2, N_COLUMNS) * 1024) / 1024
    return X, (X[:, 4] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=N_ROWS) > 0).astype(int)


def first_of(name):
    arguments = ARGUMENTS[name][0]
    method = getattr(tamis, name)(**arguments)
    return method.set_params(random_state=0) if "random_state" in method.get_params() else method


@pytest.mark.filterwarnings("ignore")  # of short training, as in the common checks
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_units_of_any_size_give_the_same_order_or_are_refused(name):
    X, y = table()
    expected = first_of(name).fit(X, y)
    for exponent in (-565, 531):
        try:
            found = first_of(name).fit(np.ldexp(X, exponent), y)
        except ValueError as refusal:
            if "units" in str(refusal):
                continue
            raise
        assert found.order_.tolist() == expected.order_.tolist()
        assert found.n_features_ == expected.n_features_


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "weighted", "missing", "no intercept"])
@pytest.mark.parametrize("size", [1e-170, 1e160])
def test_correlations_do_not_depend_on_units(kind, size):
    X, y = table()
    given, scorer = {}, CorrelationScore(stop=3)
    if kind == "float32":
        X, size = X.astype(np.float32), 1e-25 if size < 1 else 1e25
    if kind == "missing":
        X[::7, 3] = np.nan
    if kind == "weighted":
        given = {"sample_weight": np.arange(1.0, N_ROWS + 1)}
    if kind == "no intercept":
        scorer = GramSchmidt(stop=3, fit_intercept=False)
    units = np.full(N_COLUMNS, size, dtype=X.dtype)
    units[2] = 1.0 if kind != "float32" else units[2]
    scaled = sparse.csr_array(X * units) if kind == "sparse" else X * units
    plain = sparse.csr_array(X) if kind == "sparse" else X
    assert scorer.fit(scaled, y, **given).order_.tolist() == scorer.fit(plain, y, **given).order_.tolist()


def test_models_of_users_are_not_given_values_whose_squares_are_lost():
    X, y = table()
    with pytest.raises(
        ValueError, match=r"squares are lost to models, about 2\^-56\d, in 'x0', .* and 3 more: .*units"
    ):
        ModelImportance(stop=2).fit(X * 1e-170, y)


@pytest.mark.parametrize("fit", [GramSchmidt(stop=2).fit, TableSelector(FisherScore(stop=2)).fit])
def test_names_that_stand_twice_are_refused(fit):
    X, y = table()
    frame = pd.DataFrame(X, columns=list("aabbcdef"))
    with pytest.raises(ValueError, match="X has 2 columns 'a', 2 columns 'b': give each column a name of its own"):
        fit(frame, y)


def test_masked_entries_are_missing():
    X, y = table()
    masked = np.ma.array(X, mask=X > 2.5)
    with pytest.raises(ValueError, match="hold missing values"):
        GramSchmidt(stop=2).fit(masked, y)
    filled = masked.filled(np.nan)
    scores = [CorrelationScore(stop=2).fit(each, y).scores_.tolist() for each in (masked, filled)]
    assert scores[0] == scores[1]
    given = {"rankers": ["fisher"], "models": ["ridge"], "n_bootstraps": 10}
    found = [AutoSelector(60, **given).fit(each, y).support_.tolist() for each in (masked, filled)]
    assert found[0] == found[1]
    assert GramSchmidt(stop=2).fit(np.ma.array(X), y).order_.tolist() == GramSchmidt(stop=2).fit(X, y).order_.tolist()


def test_masked_targets_and_weights_are_refused():
    X, y = table()
    holes = np.arange(N_ROWS) < 3
    with pytest.raises(ValueError, match="Input y contains NaN or no label in 3 of 60 rows"):
        GramSchmidt(stop=2).fit(X, np.ma.array(y, mask=holes))
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        GramSchmidt(stop=2).fit(X, y, sample_weight=np.ma.array(np.ones(N_ROWS), mask=holes))


def test_containers_without_rows_or_with_gradients_are_refused_in_a_line():
    X, y = table()
    torch = pytest.importorskip("torch")
    for given, message in (
        (pl.DataFrame(X).lazy(), r"X is a LazyFrame.*X\.collect\(\)"),
        (torch.tensor(X, requires_grad=True), r"tracks gradients.*X\.detach\(\)"),
        (X + 1j, "Complex data not supported: X holds complex numbers"),
        (X + 1e15, "every column of X is constant, up to rounding"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            GramSchmidt(stop=2).fit(given, y)
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ValueError, match="whole numbers of 2\\^63 and more"):
        GramSchmidt(stop=2).fit(X, [2**63 + i for i in range(N_ROWS)])


@pytest.mark.parametrize("method", [FisherScore(), CorrelationScore(), tamis.RFE(), tamis.MED()])
def test_a_forgotten_target_is_named_and_no_class_that_nobody_has_met(method):
    with pytest.raises(ValueError, match=rf"^This {type(method).__name__} estimator requires y"):
        method.fit(table()[0])


def test_a_rule_names_the_methods_that_it_is_for():
    with pytest.raises(ValueError, match=r"Probe is for methods that extend .*GramSchmidt.* ReliefF is none of them"):
        ReliefF(stop=Probe()).fit(*table())


def test_no_changed_bit_of_a_checkpoint_is_taken_for_a_state(tmp_path):
    path = tmp_path / "state"
    run = Checkpoint(path, {"run": "this"})
    run.resume(0, is_free=False)
    run.save({"weights": np.arange(50.0)})
    written = path.read_bytes()
    for bit in np.random.default_rng(0).permutation(8 * len(written))[:300].tolist():
        damaged = bytearray(written)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(damaged))
        with pytest.raises(ValueError, match="remove it first"):
            Checkpoint(path, {"run": "this"}).resume(0, is_free=False)
    for size in (0, 1, _checkpoint._TRAILER_SIZE, len(written) - 1):
        path.write_bytes(written[:size])
        with pytest.raises(ValueError, match="remove it first"):
            Checkpoint(path, {"run": "this"}).resume(0, is_free=False)
    path.write_bytes(written)
    assert Checkpoint(path, {"run": "this"}).resume(0, is_free=False)[1]["weights"].tolist() == list(range(50))


WRITER = """
import sys
from tamis.assess import knn_accuracy, knn_r2, redundancy
from tamis.assess._results_file import ResultsFile
file = ResultsFile(sys.argv[1])
for task in range(25):
    file.add(f"{sys.argv[2]} {task}", "same", [{"error": "", "value": 1.0}])
"""


def test_processes_that_write_to_one_file_of_results_keep_the_tasks_of_each_other(tmp_path):
    path = tmp_path / "results.jsonl"
    runs = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    file = ResultsFile(path)
    assert all(file.rows(f"{name} {task}", "same") for name in "ab" for task in range(25))
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.jsonl"]


MODELS = (ModelImportance, SensitivityRanking, FloatingSelection, RFE)


@pytest.mark.parametrize("method", MODELS)
def test_targets_that_a_model_cannot_learn_are_refused_in_the_same_words(method):
    X = table()[0]
    labels, quantities = np.array(["a", "b"])[np.arange(len(X)) % 2], np.arange(len(X)) + 0.5
    with pytest.raises(ValueError, match="y holds one class only"):
        method(SVC(kernel="linear"), stop=2).fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(ValueError, match="y holds quantities, and estimator=SVC needs classes; "):
        method(SVC(kernel="linear"), stop=2).fit(X, quantities)
    with pytest.raises(ValueError, match="y holds labels"):
        method(SVR(kernel="linear"), stop=2).fit(X, labels)


def test_a_model_that_was_trained_before_does_not_look_at_the_target():
    X, y = table()
    model = SVC(kernel="linear").fit(X, y > np.median(y))
    SensitivityRanking(model, stop=2).fit(X, np.zeros(len(X)))


def test_a_plateau_counts_the_features_that_a_method_selects_not_those_it_was_asked_for():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 14))
    X, y = np.column_stack([one, one, one, other, one]), np.arange(14) % 3
    found = ScalingFactors(stop="fit-plateau", radius="ball", discard="second-order").fit(X, y)
    assert found.n_features_ == found.support_.sum() == found.stop_.n_features
    assert (found.stop_.curve_at <= found.order_.size).all()


def test_judgments_do_not_depend_on_units():
    X, y = table()
    large = np.ldexp(X, 900)
    assert knn_accuracy(large, y) == knn_accuracy(X, y)
    assert knn_r2(X, np.ldexp(X[:, 0], 900)) == knn_r2(X, X[:, 0])
    assert [each.alternatives for each in redundancy(large)] == [each.alternatives for each in redundancy(X)]
    classes = np.tile(y, 5)
    leak = {"leak": np.ldexp(np.where(classes, 3.0, 1.0) + np.arange(300) / 1000, 900)}
    assert check_table(leak, classes).codes() == ["leak"]


def test_records_are_no_table_to_check():
    with pytest.raises(ValueError, match=r"structured array of the fields .a.: give pandas.DataFrame"):
        check_table(np.zeros(5, dtype=[("a", float)]))


@pytest.mark.parametrize("exponent", [-900, -565, 531, 900])
@pytest.mark.parametrize("method", [CorrelationScore, ForwardLeastSquares, GramSchmidt, RFE, ReliefF, Lasso])
def test_units_of_the_target_do_not_matter(method, exponent):
    X, y = table()
    quantity = X[:, 4] + 0.5 * X[:, 2] + 0.1 * y
    expected = method(stop=3, task="regression").fit(X, quantity)
    found = method(stop=3, task="regression").fit(X, np.ldexp(quantity, exponent))
    np.testing.assert_array_equal(found.order_, expected.order_)


@pytest.mark.parametrize("exponent", [-900, 900])
def test_models_of_users_are_not_given_quantities_whose_squares_are_lost(exponent):
    X, y = table()
    with pytest.raises(ValueError, match=r"y holds .* square .*: .*give other units"):
        ModelImportance(Ridge(), stop=2).fit(X, np.ldexp(X[:, 4] + y, exponent))


def test_units_of_several_targets_do_not_matter():
    X, _ = table()
    expected = GramSchmidt(stop=3).fit(X, X[:, [4, 2]])
    found = GramSchmidt(stop=3).fit(X, np.ldexp(X[:, [4, 2]], [900, -900]))
    np.testing.assert_array_equal(found.order_, expected.order_)


@pytest.mark.parametrize("call", [check_table, lambda X: TableSelector(GramSchmidt()).fit(X, np.arange(30) % 2)])
def test_what_is_no_table_is_refused_in_a_line(call):
    for nothing in (np.arange(30.0), 0.5, object()):
        with pytest.raises(ValueError, match=r"^Expected 2D array, got .*(rows x columns|one row)$"):
            call(nothing)


def test_labels_too_large_to_be_told_from_fractions_are_quantities():
    X, y = table()
    with pytest.raises(ValueError, match="y holds quantities"):
        RFE(LinearSVC(), stop=2).fit(X, np.where(y, 1e300, 0.0))


@pytest.mark.filterwarnings("ignore:OFW has not converged")
@pytest.mark.parametrize("exponent", [-900, 900])
def test_units_do_not_matter_to_what_votes_or_computes_features(exponent):
    X, y = table()
    large = np.ldexp(X, exponent)
    voters = OFWClassifier(OFW("ridge", max_iter=10), n_classifiers=5, random_state=0)
    np.testing.assert_array_equal(voters.fit(large, y).predict(large), voters.fit(X, y).predict(X))
    np.testing.assert_array_equal(RBF().fit(large).deviation_, np.ldexp(RBF().fit(X).deviation_, exponent))


def test_complex_labels_are_refused_in_a_line():
    X, y = table()
    with pytest.raises(ValueError, match=r"^Complex data not supported: y holds complex numbers; give their parts"):
        knn_accuracy(X, y + 1j)


def test_columns_of_one_name_are_refused_before_they_are_checked():
    with pytest.raises(ValueError, match=r"^X has 2 columns 'a': give each column a name of its own"):
        check_table(pd.DataFrame(np.zeros((5, 2)), columns=["a", "a"]))


@pytest.mark.parametrize("exponent", [-900, 900])
def test_units_do_not_matter_to_a_cross_validated_number_of_features(exponent):
    X, y = table()
    expected, found = (GramSchmidt(stop="cross-validation").fit(each, y) for each in (X, np.ldexp(X, exponent)))
    np.testing.assert_array_equal(found.stop_.curve, expected.stop_.curve)


def test_columns_whose_deviation_is_rounding_are_refused_though_their_range_is_larger():
    X = 1 + 1e-13 * np.random.default_rng(0).normal(size=(40, 4)) * 0.7
    for method in (FeatureMedoids(), MaxVariance(), GramSchmidt()):
        with pytest.raises(ValueError, match="every column of X is constant, up to rounding"):
            method.fit(X, np.arange(40) % 2)


def test_tensors_that_are_not_dense_are_refused_as_signals():
    signals = torch.eye(6).reshape(6, 6).to_sparse()
    with pytest.raises(ValueError, match=r"give X.to_dense\(\)"):
        InfiniteSVM(RBF()).fit(signals, np.arange(6) % 2)


def regression(seed=0):
    """A quantity that columns 3 and 1 explain."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6))
    return X, X[:, 3] + 0.4 * X[:, 1] + 0.1 * rng.normal(size=80)


FOREIGN_UNITS = {
    "columns with an offset": (np.zeros(6) + 1e9, 1.0, 0.0, 1.0),
    "one column with an offset": (np.array([0, 0, 0, 1e9, 0, 0]), 1.0, 0.0, 1.0),
    "small columns": (np.zeros(6), 1e-9, 0.0, 1.0),
    "a small target": (np.zeros(6), 1.0, 0.0, 1e-9),
    "a target with an offset": (np.zeros(6), 1.0, 1e9, 1.0),
}


def in_foreign_units(kind, X, y):
    offset, unit, offset_of_y, unit_of_y = FOREIGN_UNITS[kind]
    return unit * X + offset, unit_of_y * y + offset_of_y


@pytest.mark.parametrize("kind", FOREIGN_UNITS)
@pytest.mark.parametrize("estimator", [None, ExtraTreesRegressor(20)])
def test_impurities_of_forests_do_not_depend_on_units(estimator, kind):
    X, y = regression()
    expected = ModelImportance(estimator, stop=2, random_state=0).fit(X, y)
    found = ModelImportance(estimator, stop=2, random_state=0).fit(*in_foreign_units(kind, X, y))
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=0.01)


def test_a_forest_that_draws_copies_keeps_what_it_keeps_in_other_units():
    X, y = regression()
    expected, found = (ModelImportance(random_state=0).fit(X + offset, y) for offset in (0.0, 1e9))
    assert found.n_features_ == expected.n_features_ > 0
    np.testing.assert_array_equal(found.support_, expected.support_)


@pytest.mark.parametrize("kind", FOREIGN_UNITS)
@pytest.mark.parametrize(
    "selector",
    [
        RFE(RandomForestRegressor(5), stop=2, standardize=False),
        FloatingSelection(RandomForestRegressor(5), stop=2),
        FloatingSelection(make_pipeline(SimpleImputer(), GradientBoostingRegressor()), stop=2),
        ModelImportance(RandomForestRegressor(5), importance="permutation", stop=2),
        ModelImportance(AdaBoostRegressor(), stop=2),
        GramSchmidt(stop=CrossValidation(DecisionTreeRegressor())),
    ],
)
def test_trees_of_users_are_not_given_what_they_cannot_read(selector, kind):
    X, y = regression()
    what = "y" if "target" in kind else "column 'x3'" if kind.startswith("one") else "column 'x0'"
    with pytest.raises(ValueError, match=f"^{what} is constant, or nearly so, to .*: subtract its .* in other units$"):
        selector.fit(*in_foreign_units(kind, X, y))


@pytest.mark.parametrize("kind", ["a small target", "a target with an offset"])
def test_a_search_over_models_takes_no_trees_that_see_nothing_of_the_target(kind):
    X, y = regression()
    with pytest.raises(ValueError, match=r"^y is constant, or nearly so, to RandomForestRegressor"):
        AutoSelector(20, models={"forest": RandomForestRegressor(5)}).fit(*in_foreign_units(kind, X, y))


def test_steps_and_standardization_may_give_trees_columns_that_they_can_read():
    X, y = regression()
    scaled = make_pipeline(StandardScaler(), RandomForestRegressor(10, random_state=0))
    for selector in (FloatingSelection(scaled, stop=2), RFE(RandomForestRegressor(10, random_state=0), stop=2)):
        assert set(selector.fit(X + 1e9, y).get_support(indices=True)) == {1, 3}


def test_users_trees_read_columns_of_few_values_far_from_zero():
    X, y = regression()
    years = np.where(X[:, 3] > 0, 2.0**25, 2.0**25 + 8)
    selector = FloatingSelection(RandomForestRegressor(5, random_state=0), stop=1)
    assert selector.fit(np.column_stack([X[:, 0], years]), y).order_.tolist() == [1]


@pytest.mark.parametrize("kind", FOREIGN_UNITS)
def test_the_forest_behind_a_warning_sees_the_same_in_other_units(kind):
    rng = np.random.default_rng(0)
    half, noise = rng.normal(size=(200, 6)), 0.1 * rng.normal(size=200)
    X, y = np.vstack([half, -half]), np.tile(half[:, 3] ** 2 + noise, 2)  # no column is correlated with y
    with pytest.warns(NothingKeptWarning, match="does see something .first 'x3'"):
        CorrelationScore().fit(*in_foreign_units(kind, X, y))


@pytest.mark.parametrize("unit", [1e-150, 1e-5, 1e3, 1e5, 1e150])
@pytest.mark.parametrize("method", [ElasticNet(), ForwardLeastSquares(algorithm="lars", stop=None)])
def test_no_penalty_or_tolerance_has_a_unit_of_its_own(method, unit):
    X, y = regression()
    expected, found = (clone(method).fit(X, target) for target in (y, unit * y))
    assert found.order_.tolist() == expected.order_.tolist()
    assert found.n_features_ == expected.n_features_ > 0


@pytest.mark.filterwarnings("ignore:OFW has not converged")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("exponents", [[0, 0, 0, -565, 0, 0], [0, 0, 0, 565, 0, 0], [-565, 531, 0, -900, 900, -60]])
@pytest.mark.parametrize(
    "method",
    [OFW("ridge", max_iter=10, random_state=0), FeatureMedoids(), GreedyReconstruction(), PCALeverage(), PivotedQR()],
)
def test_each_column_may_have_a_unit_of_its_own_where_columns_are_standardized(method, exponents, kind):
    X, y = regression()
    scaled = np.ldexp(X, exponents)
    if kind == "sparse":
        if not isinstance(method, OFW):
            return
        X, scaled = sparse.csr_array(X), sparse.csr_array(scaled)
    expected, found = (clone(method).fit(table, y > 0) for table in (X, scaled))
    np.testing.assert_array_equal(found.order_, expected.order_)


def test_columns_that_are_lost_beside_one_of_large_units_end_a_search_without_an_error():
    X, _ = regression()
    found = GreedyReconstruction(standardize=False, stop=None).fit(X * [1, 1, 1, 1e160, 1, 1])
    assert found.order_[0] == 3


def test_learners_that_see_columns_as_they_are_are_not_given_lost_squares():
    X, y = table()
    with pytest.raises(ValueError, match="squares are lost to models"):
        OFW("ridge", standardize=False).fit(X * 1e-170, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labels", [np.arange(80) * 7, np.arange(80.0), [f"id {i}" for i in range(80)]])
@pytest.mark.parametrize(
    "method",
    [
        FisherScore(),
        ScalingFactors(),
        OFW(),
        LogisticLasso(),
        GramSchmidt(task="classification"),
        ModelImportance(task="classification"),
        TableSelector(FisherScore()),
        AutoSelector(20, task="classification"),
        OFWClassifier(),
    ],
)
def test_a_class_for_every_row_is_refused_whatever_its_type(method, labels):
    X, _ = regression()
    with pytest.raises(ValueError, match=r"y holds 80 different .* in 80 rows, such as .*: a class takes rows"):
        method.fit(X, labels)


@pytest.mark.parametrize("method", [GramSchmidt(), TreeSelector(), Lasso(), CorrelationScore()])
def test_weights_beyond_what_can_be_counted_are_refused(method):
    X, y = regression()
    for weight in (1e20, 1e200):
        with pytest.raises(ValueError, match="more rows than can be counted"):
            method.fit(X, y, sample_weight=np.r_[weight, np.ones(79)])


def test_weights_of_millions_of_rows_are_not_written_out():
    X, y = regression()
    assert 3 in GramSchmidt(stop=Probe(null="permutation")).fit(X, y, sample_weight=np.r_[1e12, np.ones(79)]).order_
