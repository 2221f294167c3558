"""What TableSelector warns and complains of, in terms of the columns that were given and of code to write."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tamis import FisherScore, GramSchmidt, MaxVariance, PolynomialSelection, ReliefF, TableSelector, TreeSelector
from tamis.base import NothingKeptWarning
from tamis.stop import IntrinsicDimension

N = 200
NAMES = {ranker.__name__: ranker for ranker in (GramSchmidt, PolynomialSelection, ReliefF, TableSelector, TreeSelector)}


def a_table(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"city": rng.choice(["Lyon", "Nice", "Paris"], N)} | {name: rng.normal(size=N) for name in ("age", "a", "b")}
    )


def heard(selector, X, y):
    """Warnings at fit, in one text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector.fit(X, y)
    return "\n".join(str(one.message) for one in caught)


def test_that_nothing_is_kept_is_told_of_columns():
    told = heard(TableSelector(), a_table(), np.random.default_rng(1).normal(size=N))
    assert "keeps none of 4 columns: column 1, " in told
    assert "group" not in told


def test_a_nonlinear_relation_is_told_with_source_columns_and_code_that_takes_the_table():
    X = a_table()
    y = X["city"].map({"Lyon": -1, "Nice": 1, "Paris": 0}) * X["a"] + X["b"] ** 2
    with pytest.warns(NothingKeptWarning, match="does see something") as caught:
        TableSelector().fit(X, y)
    told = str(caught[0].message)
    assert "city=" not in told
    suggested = told.partition("Try ")[2].replace(" or ", ", ")
    for selector in eval(f"[{suggested}]", NAMES):
        assert isinstance(selector, TableSelector)
        selector.ranker.set_params(stop=1) if "stop" in selector.ranker.get_params() else None
        assert selector.fit(X, y).n_features_ >= 1


def test_columns_of_the_user_that_go_together_are_called_groups():
    told = heard(TableSelector(groups={"both": ["a", "b"]}), a_table(), np.random.default_rng(1).normal(size=N))
    assert "keeps none of 3 groups" in told


def test_more_columns_than_there_are_are_called_columns():
    assert heard(TableSelector(GramSchmidt(stop=9)), a_table(), a_table()["age"]) == (
        "9 columns are asked for, but there are 4: all are kept"
    )


@pytest.mark.parametrize("ranker", [None, GramSchmidt()])
def test_counts_are_warned_of_with_code_that_takes_the_table(ranker):
    X = a_table()
    y = np.random.default_rng(0).poisson(np.exp(1 + 0.3 * X["age"]))
    told = heard(TableSelector(ranker), X, np.minimum(y, 15))
    assert "write TableSelector(GramSchmidt(task='regression')) to explain a quantity" in told
    assert "or TableSelector(GramSchmidt(task='classification')) if they are labels" in told


def test_a_method_for_classes_names_others_as_they_are_written_here():
    with pytest.raises(
        ValueError, match=r"such as TableSelector\(GramSchmidt\(\)\) or TableSelector\(CorrelationScore"
    ):
        TableSelector(FisherScore()).fit(a_table(), np.random.default_rng(0).normal(size=N))


def test_a_rule_that_takes_no_groups_says_that_columns_are_encoded_as_several():
    with pytest.raises(ValueError, match=r"IntrinsicDimension .* encoded as several") as caught:
        TableSelector(MaxVariance(stop=IntrinsicDimension())).fit(a_table())
    assert "group" not in str(caught.value)


def test_to_exclude_all_columns_is_told_as_such():
    with pytest.raises(ValueError, match="exclude leaves no column"):
        TableSelector(GramSchmidt(exclude=["city", "age", "a", "b"])).fit(a_table(), np.arange(N))
    with pytest.raises(ValueError, match="exclude leaves no column"):
        GramSchmidt(exclude=[0, 1]).fit(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9.0))


@pytest.mark.parametrize(("given", "told"), [("rfe", "got 'rfe'"), (TreeSelector, "got the class TreeSelector")])
def test_what_is_no_ranker_is_named(given, told):
    with pytest.raises(ValueError, match=rf"'ranker' parameter of TableSelector must be .* such as RFE\(\).*{told}"):
        TableSelector(given).fit(a_table(), np.arange(N))
