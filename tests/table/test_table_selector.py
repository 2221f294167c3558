"""TableSelector: source columns of mixed tables in, the same columns out."""

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import (
    RFE,
    CorrelationScore,
    FloatingSelection,
    GramSchmidt,
    GroupLasso,
    MaxVariance,
    ReliefF,
    TableSelector,
    TreeSelector,
)
from tamis.base import NothingKeptWarning
from tamis.stop import CrossValidation, MonteCarloProbe

N = 300


def mixed(seed=0, n=N):
    """Numbers, text, a boolean and a date with 20 % missing; an identifier; and a target of some of them."""
    rng = np.random.default_rng(seed)
    size, city = rng.normal(size=n), rng.choice(["Lyon", "Nice", "Paris", "Toulouse"], n)
    level = rng.integers(0, 30, n)
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    y = size + 1.5 * (city == "Nice") + np.linspace(-2, 2, 30)[level] + rng.normal(size=n)
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, size),
            "noise": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": pd.Series(city).where(rng.random(n) >= 0.2, None),
            "level": [f"k{code}" for code in level],
            "other": rng.choice(list("abcdef"), n),
            "many": [f"m{code}" for code in rng.integers(0, 100, n)],
            "owner": rng.random(n) < 0.5,
            "start": pd.Series(start).where(rng.random(n) >= 0.2, pd.NaT),
            "id": [f"u{i}" for i in range(n)],
        }
    )
    return X, y


TRUE = ["size", "city", "level"]


@pytest.mark.filterwarnings("ignore:No features were selected", "ignore::tamis.base.NothingKeptWarning")
@parametrize_with_checks([TableSelector(), TableSelector(CorrelationScore(stop=1))])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "convert", [lambda X: X, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_columns_of_every_library_come_out_as_they_came_in(convert):
    frame, y = mixed()
    X = convert(frame)
    selector = TableSelector().fit(X, y)
    assert selector.get_feature_names_out().tolist() == TRUE
    out = selector.transform(X)
    assert type(out) is type(X)
    back = out if isinstance(out, pd.DataFrame) else out.to_pandas()
    reference = X[TRUE] if isinstance(X, pd.DataFrame) else X.select(TRUE).to_pandas()
    pd.testing.assert_frame_equal(back, reference)
    summary = selector.summary()
    assert type(summary) is type(X)


def test_all_libraries_and_mappings_give_the_same_answer():
    frame, y = mixed()
    tables = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), {c: frame[c].to_numpy() for c in frame}]
    fits = [TableSelector().fit(X, y) for X in tables]
    for other in fits[1:]:
        np.testing.assert_allclose(other.scores_, fits[0].scores_)
        np.testing.assert_array_equal(other.order_, fits[0].order_)
        assert other.encoding_ == fits[0].encoding_
        assert other.stop_.reason == fits[0].stop_.reason
    kept = fits[-1].transform(tables[-1])
    assert list(kept) == TRUE
    assert kept["size"] is tables[-1]["size"]


def test_gram_schmidt_ranks_where_no_ranker_is_given():
    X, y = mixed()
    selector = TableSelector().fit(X, y)
    assert isinstance(selector.ranker_, GramSchmidt)
    np.testing.assert_array_equal(selector.order_, TableSelector(GramSchmidt()).fit(X, y).order_)


def test_fitted_attributes_speak_of_source_columns():
    X, y = mixed()
    selector = TableSelector().fit(X, y)
    assert selector.n_features_in_ == 9
    assert selector.feature_names_in_.tolist() == list(X)
    assert selector.n_features_ == selector.stop_.n_features == selector.support_.sum() == 3
    np.testing.assert_array_equal(np.sort(selector.order_[:3]), np.flatnonzero(selector.support_))
    np.testing.assert_array_equal(selector.ranking_[selector.order_], 1 + np.arange(selector.order_.size))
    assert selector.task_ == "regression"
    assert "group" not in selector.stop_.reason
    assert set(selector.encoding_) == set(X)
    assert set(selector.not_ranked_) == {"id"}
    assert np.isnan(selector.scores_[8])
    assert 8 not in selector.order_
    assert selector.encoded_as_["size"] == ["size", "size is missing"]
    assert "median" in selector.encoding_["size"]
    assert "one-hot" in selector.encoding_["city"]


def test_the_summary_names_why_a_column_is_not_kept():
    X, y = mixed()
    summary = TableSelector().fit(X, y).summary().set_index("feature")
    assert summary.loc[TRUE, "kept"].all()
    assert summary.loc[TRUE, "why_not"].isna().all()
    assert "identifier" in summary.loc["id", "why_not"]
    assert summary.loc["noise", "why_not"] == "after the cut"
    assert summary.loc["size", "encoded_as"] == "size, size is missing"
    assert (summary.loc[TRUE, "risk"] <= 0.05).all()
    assert summary.loc["noise", "risk"] > 0.05
    excluded = TableSelector(GramSchmidt(exclude="other")).fit(X, y).summary().set_index("feature")
    assert excluded.loc["other", "why_not"] == "excluded, as asked"


def test_a_notebook_shows_the_kept_columns_and_the_reason():
    X, y = mixed()
    selector = TableSelector()
    assert "keeps" not in selector._repr_html_()
    shown = selector.fit(X, y)._repr_html_()
    assert "TableSelector keeps 3 of 9 features" in shown
    assert "city" in shown


@pytest.mark.parametrize("ranker", [GramSchmidt(), CorrelationScore(stop=MonteCarloProbe(n_draws=19)), ReliefF(stop=3)])
def test_a_table_of_numbers_gives_the_result_of_the_ranker_itself(ranker):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 8))
    y = X[:, 0] - X[:, 3] + rng.normal(size=100)
    y = y > 0 if isinstance(ranker, ReliefF) else y
    alone = clone(ranker).fit(X, y)
    for table in (X, pd.DataFrame(X).add_prefix("c"), {f"c{j}": X[:, j] for j in range(8)}):
        selector = TableSelector(ranker).fit(table, y)
        np.testing.assert_array_equal(selector.order_, alone.order_)
        np.testing.assert_allclose(selector.scores_, alone.scores_, rtol=1e-10)  # layouts differ in memory
        np.testing.assert_array_equal(selector.support_, alone.support_)
    same = TableSelector(ranker).fit(X, y)
    np.testing.assert_array_equal(same.scores_, alone.scores_)
    assert same.stop_.reason == alone.stop_.reason


@pytest.mark.parametrize(
    "ranker",
    [GroupLasso(), TreeSelector(n_trees=20, random_state=0, stop=4), CorrelationScore(), FloatingSelection(stop=3)],
)
def test_rankers_with_and_without_groups_find_planted_columns(ranker):
    X, y = mixed()
    selector = TableSelector(ranker).fit(X, y)
    assert selector.support_[[0, 3]].all()
    assert not selector.support_[8]


def test_a_source_column_counts_as_its_best_column_where_the_ranker_knows_no_groups():
    X, y = mixed()
    selector = TableSelector(FloatingSelection(stop=None)).fit(X, y)
    best = np.nanmax([selector.ranker_.scores_[k] for k in range(2)])
    assert selector.scores_[0] == best
    assert selector.encoded_as_["city"] == ["city (mean target)"]


def test_unsupervised_rankers_need_no_target():
    X, _ = mixed()
    selector = TableSelector(MaxVariance(stop=2)).fit(X)
    assert selector.task_ == "unsupervised"
    assert selector.n_features_ == 2
    assert "how frequent" in selector.encoding_["many"]


@pytest.mark.parametrize(
    "labels", [lambda y: y > 0, lambda y: np.where(y > 0, "a", "b"), lambda y: np.digitize(y, [-1, 1])]
)
def test_labels_of_any_kind_are_explained(labels):
    X, y = mixed()
    target = labels(y)
    for given in (target, pd.Series(target), pd.Series(target).astype("category"), pl.Series(target.tolist())):
        selector = TableSelector().fit(X, given)
        assert selector.task_ == "classification"
        assert selector.support_[3]


def test_missing_labels_are_refused_with_their_number():
    X, y = mixed()
    labels = pd.Series(np.where(y > 0, "a", "b")).where(np.arange(N) > 1, None)
    for given in (labels, labels.astype("category"), pd.Series(y).where(np.arange(N) > 1).astype("Float64")):
        with pytest.raises(ValueError, match="NaN or no label in 2 of 300 rows"):
            TableSelector().fit(X, given)


def test_missing_values_are_imputed_passed_or_refused_as_asked():
    X, y = mixed()
    with pytest.raises(ValueError, match=r"'size' \(\d+\), 'noise' \(\d+\), 'city' \(\d+\), 'start'"):
        TableSelector(missing="error").fit(X, y)
    with pytest.raises(ValueError, match="GramSchmidt takes no missing values"):
        TableSelector(missing="pass").fit(X, y)
    complete, y = mixed()
    complete = complete.drop(columns=["size", "noise", "city", "start"])
    assert TableSelector(missing="error").fit(complete, y).n_features_ == 1


class TakesMissing(CorrelationScore):
    """A ranker that takes missing values and knows of discrete columns."""

    provides = CorrelationScore.provides | {"missing"}
    _parameter_constraints: ClassVar = {**CorrelationScore._parameter_constraints, "discrete": ["array-like", None]}

    def __init__(self, *, stop="auto", groups=None, task="auto", discrete=None):
        super().__init__(stop=stop, groups=groups, task=task)
        self.discrete = discrete

    def _rank(self, candidates, y, rng):
        self.seen_ = candidates.table
        candidates.table = np.nan_to_num(candidates.table)
        return super()._rank(candidates, y, rng)


def test_rankers_that_take_missing_values_and_discrete_columns_get_both():
    X, y = mixed()
    selector = TableSelector(TakesMissing(stop=4)).fit(X, y)
    assert np.isnan(selector.ranker_.seen_[:, 0]).sum() == X["size"].isna().sum()
    assert selector.encoded_as_["size"] == ["size"]
    assert "left to the ranker" in selector.encoding_["size"]
    names = [name for columns in selector.encoded_as_.values() for name in columns]
    assert [names[k] for k in selector.ranker_.discrete] == ["city", "level", "other", "many"]
    assert "median" in TableSelector(TakesMissing(stop=4), missing="impute").fit(X, y).encoding_["size"]
    assert TableSelector(TakesMissing(stop=4), missing="pass").fit(X, y).n_features_ == 4


def test_an_indicator_of_missing_values_can_be_all_that_counts():
    rng = np.random.default_rng(0)
    gone = rng.random(N) < 0.4
    X = pd.DataFrame(
        {"a": rng.normal(size=N), "b": np.where(gone, np.nan, rng.normal(size=N)), "c": np.where(gone, np.nan, 1)}
    )
    assert TableSelector().fit(X.drop(columns="c"), gone + rng.normal(size=N)).get_feature_names_out().tolist() == ["b"]
    assert TableSelector().fit(X.drop(columns="b"), gone + rng.normal(size=N)).encoded_as_["c"] == ["c is missing"]


def test_groups_join_source_columns():
    X, y = mixed()
    selector = TableSelector(groups={"where": ["city", "other"]}).fit(X, y)
    assert selector.support_[2]
    assert selector.support_[4]
    assert selector.n_features_ == 4
    assert selector.stop_.n_groups == 3
    with pytest.raises(ValueError, match="FloatingSelection ranks no groups"):
        TableSelector(FloatingSelection(), groups={"where": ["city", "other"]}).fit(X, y)
    with pytest.raises(ValueError, match="give groups= to TableSelector"):
        TableSelector(GramSchmidt(groups=[0, 1])).fit(X, y)


def test_keep_and_exclude_of_the_ranker_name_source_columns():
    X, y = mixed()
    selector = TableSelector(GramSchmidt(keep=["other", 1], exclude="city")).fit(X, y)
    assert selector.support_[[0, 1, 3, 4]].all()
    assert not selector.support_[2]
    assert selector.order_[:2].tolist() == [4, 1]
    assert 2 not in selector.order_
    assert TableSelector(GramSchmidt(keep="id")).fit(X, y).get_feature_names_out().tolist() == [*TRUE, "id"]
    with pytest.raises(ValueError, match="keep names column 'Size', which X does not have; did you mean 'size'"):
        TableSelector(GramSchmidt(keep="Size")).fit(X, y)


def test_rows_of_weight_zero_count_nowhere():
    X, y = mixed()
    doubled, wrong = pd.concat([X, X.assign(size=1e6, city="elsewhere")]), np.concatenate([y, 1e6 + y])
    weight = np.repeat([1.0, 0.0], N)
    weighted, alone = TableSelector().fit(doubled, wrong, sample_weight=weight), TableSelector().fit(X, y)
    np.testing.assert_allclose(weighted.scores_[:8], alone.scores_[:8], rtol=1e-8)
    with pytest.raises(ValueError, match="ReliefF takes no weights"):
        TableSelector(ReliefF()).fit(X, y, sample_weight=np.ones(N))


def test_groups_of_rows_reach_the_rule():
    X, y = mixed()
    ranker = GramSchmidt(stop=CrossValidation(LinearRegression(), cv=GroupKFold(3)))
    with pytest.raises(ValueError, match="row_groups"):
        TableSelector(ranker).fit(X, y)
    assert TableSelector(ranker).fit(X, y, row_groups=np.arange(N) % 9).support_[3]


def test_any_transformer_with_names_can_encode():
    X, y = mixed()
    X = X.drop(columns=["start", "id", "owner"])
    numbers, texts = ["size", "noise"], ["city", "level", "other", "many"]
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(max_categories=31, sparse_output=False), texts),
    )
    selector = TableSelector(encoder=encoder).fit(X, y)
    assert selector.support_[[0, 2, 3]].all()
    assert "ColumnTransformer" in selector.encoding_["city"]
    assert len(selector.encoded_as_["other"]) == 6


class NamesOfItsOwn(TransformerMixin, BaseEstimator):
    """Names that say nothing, and an attribute that tells where they come from, as skrub's encoders have it."""

    def fit(self, X, y=None):
        self.input_to_outputs_ = {"size": ["a"], "city": ["b", "c"]}
        return self

    def transform(self, X):
        city = X["city"].to_numpy()
        return np.column_stack([X["size"], city == "Nice", city == "Paris"]).astype(float)

    def get_feature_names_out(self, input_features=None):
        return np.array(["a", "b", "c"], dtype=object)


def test_an_encoder_may_say_itself_where_its_columns_come_from():
    X, y = mixed()
    selector = TableSelector(encoder=NamesOfItsOwn()).fit(X[["size", "city"]], y)
    assert selector.encoded_as_ == {"size": ["a", "a is missing"], "city": ["b", "c"]}
    assert selector.get_feature_names_out().tolist() == ["size", "city"]


@pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas], ids=["pandas", "polars"])
def test_the_vectorizer_of_skrub_can_encode(convert):
    skrub = pytest.importorskip("skrub")
    frame, y = mixed()
    X = convert(frame)
    selector = TableSelector(encoder=skrub.TableVectorizer(cardinality_threshold=10)).fit(X, y)
    assert selector.get_feature_names_out().tolist() == TRUE
    assert list(selector.transform(X).columns) == TRUE
    assert all("TableVectorizer" in sentence for sentence in selector.encoding_.values())
    assert len(selector.encoded_as_["other"]) == 6


def test_encoders_that_cannot_be_followed_are_refused_with_words():
    X, y = mixed()
    X = X[["size", "noise"]].fillna(0.0)
    renamed = FunctionTransformer(
        lambda Z: Z.rename(columns=lambda c: f"new_{c}"), feature_names_out=lambda _, n: ["new_" + c for c in n]
    )
    with pytest.raises(ValueError, match="'new_size', 'new_noise', whose source column cannot be told"):
        TableSelector(encoder=renamed).fit(X, y)
    same = FunctionTransformer(feature_names_out="one-to-one")
    assert TableSelector(encoder=same).fit(X, y).support_[0]
    left = TableSelector(encoder=same).fit(mixed()[0][["size", "noise"]], y)
    assert left.encoded_as_["size"] == ["size", "size is missing"]
    with pytest.raises(ValueError, match="leaves 'city' as text"):
        TableSelector(encoder=same).fit(pd.DataFrame({"city": ["a", "b"] * 150, "size": X["size"]}), y)
    with pytest.raises(ValueError, match="X is a mapping"):
        TableSelector(encoder=same).fit({"a": np.arange(N), "b": y}, y)


def test_a_pipeline_with_a_model_that_takes_raw_columns_clones_and_pickles():
    X, y = mixed()
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", max_iter=20)
    X = X.assign(**{c: X[c].astype("category") for c in ("city", "level", "other", "many", "id")})
    pipeline = clone(make_pipeline(TableSelector(), model)).fit(X, y)
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    assert list(pipeline[0].get_feature_names_out()) == TRUE


def test_set_output_is_honored():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    out = TableSelector(GramSchmidt(stop=2)).set_output(transform="polars").fit_transform(X, X[:, 0])
    assert isinstance(out, pl.DataFrame)
    frame, y = mixed()
    kept = TableSelector().set_output(transform="pandas").fit_transform(frame, y)
    pd.testing.assert_frame_equal(kept, frame[TRUE])


def test_what_cannot_be_used_is_refused_with_words():
    X, y = mixed()
    with pytest.raises(ValueError, match="no column of X can be ranked: 'one': constant"):
        TableSelector().fit({"one": np.ones(5)}, np.arange(5.0))
    with pytest.raises(ValueError, match="infinity: 1 values in 'size'"):
        TableSelector().fit(X.assign(size=np.where(np.arange(N) == 3, np.inf, 0.0)), y)
    with pytest.raises(ValueError, match="X has 300 rows, but y has 299"):
        TableSelector().fit(X, y[1:])
    with pytest.raises(ValueError, match="requires y"):
        TableSelector().fit(X)
    with pytest.raises(ValueError, match="feature names"):
        TableSelector().fit(X, y).transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="'b', no array of 3 values"):
        TableSelector().fit({"a": np.arange(3), "b": np.arange(2)}, np.arange(3))


@pytest.mark.parametrize("ranker", [GramSchmidt(), CorrelationScore(stop=MonteCarloProbe(n_draws=19))])
def test_planted_columns_are_found_and_noise_is_kept_at_about_the_risk(ranker):
    """20 % missing, 30 and 100 levels, an identifier: over seeds, and with the target permuted."""
    kept, false, n_seeds = np.zeros(9), 0, 20
    for seed in range(n_seeds):
        X, y = mixed(seed)
        kept += TableSelector(ranker).fit(X, y).support_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingKeptWarning)
            false += TableSelector(ranker).fit(X, np.random.default_rng(seed).permutation(y)).support_.any()
    assert kept[[0, 2, 3]].min() >= 0.8 * n_seeds
    assert kept[[1, 4, 5, 6, 7]].sum() <= 5  # one is expected at a risk of 5 %
    assert false <= 5  # P(more than 5 of 20 | 5 %) is below 1e-3


@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
@pytest.mark.parametrize(
    "ranker",
    [
        CorrelationScore(),
        RFE(task="classification"),
        TreeSelector(n_trees=10, min_samples_leaf=5, stop=MonteCarloProbe(n_draws=19), random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_columns_that_become_many_do_not_hide_a_number_and_a_flag(ranker):
    rng = np.random.default_rng(0)
    n = 400
    number, flag = rng.normal(size=n), rng.random(n) < 0.4
    X = {
        "number": number,
        "flag": flag,
        **{f"text{i}": rng.integers(0, 30, n).astype(str) for i in range(2)},
        **{f"date{i}": np.datetime64("2021-01-01") + rng.integers(0, 1000, n) for i in range(2)},
        "noise": rng.normal(size=n),
    }
    y = number + 2 * flag - 0.8 + 0.7 * rng.normal(size=n) > 0
    assert TableSelector(ranker).fit(X, y).get_feature_names_out().tolist() == ["number", "flag"]


def test_eliminations_see_text_as_few_columns():
    X, y = mixed()
    found = TableSelector(RFE(stop=3)).fit(X, y)
    assert found.encoded_as_["level"] == ["level (mean target)"]
    assert len(TableSelector().fit(X, y).encoded_as_["level"]) == 30
