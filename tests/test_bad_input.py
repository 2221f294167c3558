"""Bad input is refused before any work, with a message that names the column or the parameter."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import tamis
from tamis import (
    RFE,
    CorrelationScore,
    FisherScore,
    ForwardLeastSquares,
    GramSchmidt,
    Lasso,
    MaxVariance,
    RandomSelection,
)
from tamis.base._validation import TAKE_SEVERAL_TARGETS
from tamis.dictionary import Monomials
from tamis.stop import CrossValidation, FisherTest, LeaveOneOut, MonteCarloProbe, Probe, TopK
from tamis.testing import instances

RANKERS = [GramSchmidt(), ForwardLeastSquares(), CorrelationScore(), FisherScore(), MaxVariance(), RandomSelection()]
SUPERVISED = RANKERS[:4]
WEIGHTED = RANKERS[:3]
INCOMPLETE_REFUSED = [ranker for ranker in RANKERS if "missing" not in ranker.provides]
every = pytest.mark.parametrize("ranker", RANKERS, ids=repr)
supervised = pytest.mark.parametrize("ranker", SUPERVISED, ids=repr)
weighted = pytest.mark.parametrize("ranker", WEIGHTED, ids=repr)
refuse_incomplete = pytest.mark.parametrize("ranker", INCOMPLETE_REFUSED, ids=repr)
NAMES = ["age", "height", "weight"]


@pytest.fixture
def X():
    return np.random.RandomState(0).standard_normal((20, 3))


@pytest.fixture
def y():
    return np.arange(20) % 2


def frame(X, **columns):
    return pd.DataFrame(dict(zip(NAMES, X.T, strict=True)) | columns)


def refuses(ranker, X, y, *words, error=ValueError, **fit):
    """Fitting raises, and the message holds every word."""
    with pytest.raises(error) as caught:
        clone(ranker).fit(X, y, **fit)
    message = str(caught.value)
    for word in words:
        assert re.search(r"\by\b", message) if word == "y" else word in message, message


# missing and infinite values


@pytest.mark.parametrize(
    ("ranker", "value", "words"),
    [
        *((ranker, np.nan, ("NaN", "missing")) for ranker in INCOMPLETE_REFUSED),
        *((ranker, np.inf, ("infinity", "infinite")) for ranker in RANKERS),
        *((ranker, -np.inf, ("infinity",)) for ranker in RANKERS),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_and_infinite_values_are_counted_by_column(ranker, X, y, value, words, dtype):
    X[[2, 5, 7], 1] = value
    refuses(ranker, X.astype(dtype), y, *words, "column 'x1' holds 3")
    refuses(ranker, frame(X.astype(dtype)), y, *words, "column 'height' holds 3")
    refuses(ranker, pl.DataFrame(dict(zip(NAMES, X.T, strict=True))), y, *words, "column 'height' holds 3")


@refuse_incomplete
def test_several_columns_with_missing_values_are_all_named(ranker, X, y):
    X[0, 0], X[:2, 2] = np.nan, np.nan
    refuses(ranker, frame(X), y, "'age' (1)", "'weight' (2)")


@refuse_incomplete
def test_many_columns_with_missing_values_are_counted_and_not_listed(ranker, y):
    X = np.random.RandomState(0).standard_normal((20, 12))
    X[3] = np.nan
    refuses(ranker, X, y, "'x0'", "7 more")


@every
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_missing_values_in_sparse_tables_are_named_too(ranker, X, y, container):
    X[X < 0] = 0.0
    X[4, 2] = np.nan
    refuses(ranker, container(X), y, "NaN", "'x2' holds 1")
    X[4, 2] = np.inf
    refuses(ranker, container(X), y, "infinity", "'x2' holds 1")


@every
def test_columns_of_a_table_without_names_may_be_named(ranker, X, y):
    X[4, 2] = np.nan
    refuses_named = clone(ranker).name_features(NAMES)
    with pytest.raises(ValueError, match="'weight' holds 1"):
        refuses_named.fit(sparse.csr_array(X), y)


@every
def test_missing_values_in_tensors_are_named_too(ranker, X, y):
    X[4, 2] = np.nan
    with sklearn.config_context(array_api_dispatch=True):
        refuses(ranker, torch.asarray(X), y, "NaN", "'x2' holds 1")


def test_tensors_of_constant_columns_are_refused_and_one_column_that_varies_suffices():
    X, y = np.tile(np.arange(4.0), (20, 1)), np.arange(20) % 2
    with sklearn.config_context(array_api_dispatch=True):
        refuses(CorrelationScore(stop=1), torch.asarray(X), y, "every column of X is constant")
        X[-1, 3] = 7.0
        assert CorrelationScore(stop=1).fit(torch.asarray(X), y).get_support(indices=True).tolist() == [3]


@refuse_incomplete
def test_nulls_of_nullable_columns_are_missing_values(ranker, X, y):
    refuses(ranker, frame(X, income=pd.array([1, None] * 10, dtype="Int64")), y, "'income' holds 10")
    columns = dict(zip(NAMES, X.T, strict=True)) | {"income": [1, None] * 10}
    refuses(ranker, pl.DataFrame(columns), y, "'income' holds 10")
    refuses(ranker, pa.table(columns), y, "'income' holds 10")


@refuse_incomplete
def test_none_among_numbers_is_a_missing_value(ranker, X, y):
    table = X.astype(object)
    table[3, 1] = None
    refuses(ranker, table, y, "'x1' holds 1")


@supervised
def test_sums_that_overflow_are_no_infinite_values(ranker, X, y):
    found = clone(ranker).set_params(stop=None).fit((X * 1e37).astype(np.float32), y)
    np.testing.assert_array_equal(found.order_, clone(ranker).set_params(stop=None).fit(X, y).order_)


# columns that are no numbers


@every
def test_columns_of_text_are_named(ranker, X, y):
    city, color = ["Paris", "Rome"] * 10, ["red", "blue"] * 10
    for table in (frame(X, city=city, color=color), pl.DataFrame(frame(X, city=city, color=color))):
        refuses(ranker, table, y, "'city'", "'color'", "not numeric", "encode")
    refuses(ranker, pa.Table.from_pandas(frame(X, city=city)), y, "'city'", "not numeric")


@every
def test_columns_of_text_in_arrays_are_named_by_their_place(ranker, X, y):
    table = X.astype(object)
    table[:, 2] = "a"
    refuses(ranker, table, y, "column 2", "not numeric")
    refuses(ranker, np.array(table.tolist()), y, "column 2", "not numeric")


@every
def test_columns_of_text_in_lists_are_refused(ranker, y):
    refuses(ranker, [[1.0, "a"]] * 10 + [[2.0, "b"]] * 10, y, "'a'")


@every
def test_categories_are_named(ranker, X, y):
    refuses(ranker, frame(X, city=pd.Categorical(["Paris", "Rome"] * 10)), y, "'city'", "not numeric")
    table = pl.DataFrame(dict(zip(NAMES, X.T, strict=True))).with_columns(
        city=pl.Series(["Paris", "Rome"] * 10, dtype=pl.Categorical)
    )
    refuses(ranker, table, y, "'city'", "not numeric")


@every
def test_dates_are_named(ranker, X, y):
    dates = pd.date_range("2020-01-01", periods=20)
    refuses(ranker, frame(X, day=dates), y, "'day'", "not numeric")
    refuses(ranker, pl.DataFrame(frame(X, day=dates)), y, "'day'", "not numeric")
    refuses(ranker, frame(X, wait=dates - dates[0]), y, "'wait'", "not numeric")


@every
def test_truth_values_and_whole_numbers_are_numbers(ranker, X, y):
    table = frame(X, member=y == 1, visits=np.arange(20))
    assert clone(ranker).fit(table, y).feature_names_in_.tolist() == [*NAMES, "member", "visits"]


@every
def test_complex_numbers_are_refused(ranker, X, y):
    refuses(ranker, X + 1j, y, "Complex")


# shapes


@every
def test_tables_without_rows_or_columns_are_refused(ranker, X, y):
    refuses(ranker, X[:0], y[:0], "0 sample")
    refuses(ranker, X[:, :0], y, "0 feature")
    refuses(ranker, sparse.csr_array(X[:, :0]), y, "0 feature")
    refuses(ranker, pd.DataFrame(index=range(20)), y, "0 feature")


@every
def test_one_row_is_too_few(ranker, X, y):
    refuses(ranker, X[:1], y[:1], "minimum of 2")


@every
def test_a_single_column_has_to_be_a_table(ranker, X, y):
    refuses(ranker, X[:, 0], y, "2D array", "reshape")
    refuses(ranker, 3.0, y, error=(TypeError, ValueError))


@every
def test_a_table_of_constants_has_nothing_to_rank(ranker, y):
    refuses(ranker, np.full((20, 3), 0.1), y, "every column", "constant")
    refuses(ranker, sparse.csr_array((20, 3)), y, "every column", "constant")
    refuses(ranker, np.repeat([[0.1, 5.0, 1e9]], 20, axis=0).astype(np.float32), y, "every column", "constant")


# targets


@supervised
def test_a_target_is_needed(ranker, X):
    with pytest.raises((ValueError, TypeError), match="y"):
        clone(ranker).fit(X, None)


@supervised
def test_a_target_of_another_length_is_refused_with_both_lengths(ranker, X, y):
    refuses(ranker, X, y[:19], "20", "19")
    refuses(ranker, sparse.csr_array(X), np.append(y, 1), "20", "21")


@supervised
def test_a_target_of_one_value_is_refused(ranker, X):
    refuses(ranker, X, np.ones(20), "one class")
    refuses(ranker, X, ["yes"] * 20, "one class", "yes")


@pytest.mark.parametrize("ranker", WEIGHTED, ids=repr)
def test_a_constant_quantity_is_refused_with_its_value(ranker, X):
    refuses(clone(ranker).set_params(task="regression"), X, np.full(20, 2.5), "constant", "2.5")


@supervised
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_targets_are_counted(ranker, X, value, word):
    y = np.random.RandomState(0).standard_normal(20)
    y[[3, 4]] = value
    refuses(ranker, X, y, "y", word, "2 of 20")
    refuses(ranker, X, pd.Series(y), "y", word, "2 of 20")
    refuses(ranker, X, y.tolist(), "y", word, "2 of 20")


@supervised
def test_missing_labels_are_refused(ranker, X):
    labels = np.array(["a", "b"] * 10, dtype=object)
    labels[7] = None
    refuses(ranker, X, labels, "y")
    refuses(ranker, X, pd.Series(labels), "y")
    labels[7] = np.nan
    refuses(ranker, X, labels, "y", "NaN")


@pytest.mark.parametrize("ranker", [FisherScore(), RFE(), Lasso()], ids=repr)
def test_two_targets_at_once_are_refused_with_the_names_of_methods_that_take_them(ranker, X, y):
    Y = np.column_stack([y, y])
    for target in (Y, pd.DataFrame(Y), pl.DataFrame(Y), pa.table({"a": y, "b": y})):
        refuses(ranker, X, target, "y", "2 columns", type(ranker).__name__, "GramSchmidt", "TreeSelector")


def test_the_methods_that_the_error_names_are_those_that_take_several_targets():
    able = {type(ranker).__name__ for ranker in instances() if ranker._takes_several_targets()}
    assert sorted(able) == sorted(TAKE_SEVERAL_TARGETS)


@refuse_incomplete
def test_the_error_for_missing_values_ends_with_code_that_mends_it(ranker, X, y):
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN") as caught:
        clone(ranker).fit(X, y)
    pipeline = str(caught.value).split(" or ")[-1]
    found = eval(pipeline, {**vars(tamis), "make_pipeline": make_pipeline, "SimpleImputer": SimpleImputer})
    found.set_params(**{f"{found.steps[-1][0]}__stop": 1}).fit(X, y)
    assert f"TableSelector({ranker!r})" in str(caught.value)


@pytest.mark.parametrize("ranker", WEIGHTED, ids=repr)
def test_labels_are_no_quantities(ranker, X, y):
    refuses(clone(ranker).set_params(task="regression"), X, np.array(["a", "b"])[y], "labels", "task='classification'")


# weights


@weighted
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-np.ones(20), ("sample_weight", "Negative")),
        (np.zeros(20), ("ample", "weight")),
        (np.eye(20)[3], ("sample_weight", "1 rows")),
        (np.ones(19), ("sample_weight", "19", "20")),
        (np.ones((20, 2)), ("ample",)),
        (np.where(np.arange(20) == 3, np.nan, 1), ("sample_weight", "NaN")),
        (np.full(20, np.inf), ("sample_weight", "infinity")),
        (np.full(20, 1e-3), ("sample_weight", "0.02", "mean of 1")),
    ],
    ids=["negative", "zero", "one row", "short", "two columns", "missing", "infinite", "tiny"],
)
def test_weights_that_cannot_be_counts_of_rows_are_refused(ranker, X, y, weight, words):
    refuses(ranker, X, y, *words, sample_weight=weight)


@weighted
def test_a_target_that_is_constant_where_the_weights_are_not_zero_is_refused(ranker, X, y):
    weight = (y == 1).astype(float)
    refuses(ranker, X, y, "y", "one class", sample_weight=weight)
    quantity = np.where(y == 1, 0.3, np.arange(20.0))
    refuses(clone(ranker).set_params(task="regression"), X, quantity, "y", "constant", sample_weight=weight)


@weighted
def test_a_table_that_is_constant_where_the_weights_are_not_zero_is_refused(ranker, X, y):
    weight = (np.arange(20) < 10).astype(float)
    X[:10] = [0.1, 0.2, 0.3]
    refuses(ranker, X, y, "constant", sample_weight=weight)


# parameters


@every
@pytest.mark.parametrize("stop", [0, -1, 1.5, 0.0, 1.0, -0.2, [3], {"k": 3}])
def test_a_stop_that_is_no_rule_is_refused_by_the_name_of_the_parameter(ranker, X, y, stop):
    refuses(clone(ranker).set_params(stop=stop), X, y, "'stop' parameter", type(ranker).__name__)


@every
def test_more_features_than_there_are_are_asked_for_with_a_warning(ranker, X, y):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = clone(ranker).set_params(stop=4).fit(X, y)
    assert any("4 features are asked for, but there are 3" in str(one.message) for one in told)
    assert 1 <= found.n_features_ <= 3


@every
def test_an_unknown_rule_is_answered_with_the_known_ones(ranker, X, y):
    refuses(clone(ranker).set_params(stop="prob"), X, y, "stop='prob'", "probe", "top-k", "leave-one-out")


@every
def test_a_rule_must_be_an_instance_and_not_the_class(ranker, X, y):
    with pytest.raises((TypeError, ValueError), match=r"TopK\(\)|instance"):
        clone(ranker).set_params(stop=TopK).fit(X, y)


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        *[(rule(risk), "risk") for rule in (Probe, FisherTest, MonteCarloProbe) for risk in (0, 1, -0.1, 1.5, "low")],
        (Probe(correction="bonferroni"), "correction"),
        (Probe(null="uniform"), "null"),
        (Probe(n_draws=0), "n_draws"),
        (Probe(n_beyond=-1), "n_beyond"),
        (Probe(random_state="x"), "random_state"),
        (FisherTest(against="last"), "against"),
        (LeaveOneOut(patience=0), "patience"),
        (MonteCarloProbe(fdr=1.0), "fdr"),
        (MonteCarloProbe(n_draws=0), "n_draws"),
        (MonteCarloProbe(conditional="yes"), "conditional"),
        (CrossValidation(rule="two-se"), "rule"),
        (CrossValidation("logistic"), "estimator"),
        (CrossValidation(cv="five"), "cv"),
    ],
    ids=repr,
)
def test_a_bad_parameter_of_a_rule_is_named_with_the_rule(X, rule, name):
    y = np.random.RandomState(1).standard_normal(20)
    refuses(GramSchmidt(stop=rule), X, y, f"'{name}' parameter of {type(rule).__name__}")


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (GramSchmidt(task="ranking"), "task"),
        (GramSchmidt(multiclass="all"), "multiclass"),
        (GramSchmidt(orthogonalization="householder"), "orthogonalization"),
        (GramSchmidt(fit_intercept="no"), "fit_intercept"),
        (GramSchmidt(max_features=0), "max_features"),
        (GramSchmidt(max_features=2.5), "max_features"),
        (GramSchmidt(tol=0.0), "tol"),
        (GramSchmidt(tol=1.5), "tol"),
        (GramSchmidt(dictionary="monomials"), "dictionary"),
        (ForwardLeastSquares(algorithm="lasso"), "algorithm"),
        (CorrelationScore(center=2), "center"),
        (FisherScore(form="biased"), "form"),
        (FisherScore(threshold=-1), "threshold"),
        (RandomSelection(random_state="seed"), "random_state"),
    ],
    ids=repr,
)
def test_a_bad_parameter_of_a_ranker_is_named_with_the_ranker(X, y, ranker, name):
    refuses(ranker, X, y, f"'{name}' parameter of {type(ranker).__name__}")


@pytest.mark.parametrize(
    ("dictionary", "name"),
    [
        (Monomials(0), "degree"),
        (Monomials(1.5), "degree"),
        (Monomials(min_degree=0), "min_degree"),
        (Monomials(interaction_only=3), "interaction_only"),
        (Monomials(standardize="yes"), "standardize"),
    ],
    ids=repr,
)
def test_a_bad_parameter_of_a_dictionary_is_named_with_the_dictionary(X, y, dictionary, name):
    refuses(GramSchmidt(stop=1, dictionary=dictionary), X, y, f"'{name}' parameter of Monomials")


@every
def test_an_unknown_parameter_is_refused(ranker):
    with pytest.raises(ValueError, match="n_trees"):
        clone(ranker).set_params(n_trees=3)
    with pytest.raises(TypeError, match="n_trees"):
        type(ranker)(n_trees=3)


@pytest.mark.parametrize("rule", [Probe(), FisherTest(), LeaveOneOut()], ids=repr)
@pytest.mark.parametrize("ranker", [CorrelationScore(), FisherScore(), MaxVariance()], ids=repr)
def test_a_rule_and_a_ranker_that_do_not_fit_are_both_named_before_any_work(ranker, rule, X, y, monkeypatch):
    monkeypatch.setattr(type(ranker), "_rank", lambda *arguments: pytest.fail("ranked before the check"))
    refuses(clone(ranker).set_params(stop=rule), X, y, type(rule).__name__, type(ranker).__name__, "GramSchmidt")


# use before fit, and on other tables


@every
@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
def test_use_before_fit_is_refused_by_name(ranker, X, method):
    with pytest.raises(NotFittedError, match=type(ranker).__name__):
        getattr(clone(ranker), method)(X)


@every
@pytest.mark.parametrize("method", ["get_support", "get_feature_names_out"])
def test_asking_for_the_selection_before_fit_is_refused_by_name(ranker, method):
    with pytest.raises(NotFittedError, match=type(ranker).__name__):
        getattr(clone(ranker), method)()


@pytest.mark.parametrize("ranker", [GramSchmidt(), ForwardLeastSquares()], ids=repr)
def test_asking_for_the_model_before_fit_is_refused_by_name(ranker):
    with pytest.raises(NotFittedError, match=type(ranker).__name__):
        ranker.model_at(1)
    for name in ("estimator_", "redundant_"):
        with pytest.raises(AttributeError, match=type(ranker).__name__):
            getattr(ranker, name)


@every
@pytest.mark.parametrize("dictionary", [None, Monomials(2)], ids=["columns", "dictionary"])
def test_another_number_of_columns_is_refused_with_both_numbers(ranker, X, y, dictionary):
    if dictionary is not None and "dictionary" not in ranker.get_params():
        return
    ranker = clone(ranker).set_params(stop=1, **({"dictionary": dictionary} if dictionary else {}))
    found = ranker.fit(X, y)
    with pytest.raises(ValueError, match=r"2 features.*3 features"):
        found.transform(X[:, :2])


@every
@pytest.mark.parametrize("dictionary", [None, Monomials(2)], ids=["columns", "dictionary"])
def test_other_names_of_columns_are_refused_and_listed(ranker, X, y, dictionary):
    if dictionary is not None and "dictionary" not in ranker.get_params():
        return
    ranker = clone(ranker).set_params(stop=1, **({"dictionary": dictionary} if dictionary else {}))
    found = ranker.fit(frame(X), y)
    with pytest.raises(ValueError, match=r"(?s)feature names.*salary"):
        found.transform(frame(X).rename(columns={"height": "salary"}))
    with pytest.raises(ValueError, match="order"):
        found.transform(frame(X)[NAMES[::-1]])


@every
def test_the_inverse_takes_as_many_columns_as_were_kept(ranker, X, y):
    found = clone(ranker).set_params(stop=2).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 columns, but 2 are kept"):
        found.inverse_transform(X)


def test_a_dictionary_has_no_inverse_that_could_be_mistaken_for_the_variables(X, y):
    found = GramSchmidt(stop=2, dictionary=Monomials(2)).fit(X, y)
    with pytest.raises((AttributeError, NotImplementedError, ValueError), match="dictionary"):
        found.inverse_transform(found.transform(X))


def test_a_truth_value_is_no_number_of_features():
    with pytest.raises(ValueError, match="stop=True is neither"):
        MaxVariance(stop=True).fit(np.eye(4))
