"""Who selects the columns: tamis on tables as they are, and peers behind the preparation that their users write.

Each takes a frame and a target and gives the names of the source columns that are kept. Of a column that was encoded as
several, one is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tamis import RFE, CorrelationScore, ReliefF, TableSelector, TreeSelector
from tamis.base import Ranker
from tamis.stop import MonteCarloProbe

SEPARATOR = "\N{RIGHTWARDS ARROW}"  # between a source column and what it became; in no name of a table
Contestant = Callable[[pd.DataFrame, np.ndarray, int], set[str]]


def is_quantity(y: np.ndarray) -> bool:
    """Classes are text in these tables."""
    return np.issubdtype(y.dtype, np.number)


def by_tamis(ranker: Callable[[int], Ranker] | None = None) -> Contestant:
    """The table goes in as it is."""

    def select(X: pd.DataFrame, y: np.ndarray, seed: int) -> set[str]:
        selector = TableSelector(None if ranker is None else ranker(seed)).fit(X, y)
        return set(selector.get_feature_names_out())

    return select


def encode_for_peers(X: pd.DataFrame) -> pd.DataFrame:
    """Missing numbers at the median, text one-hot (rare levels pooled, missing a level), dates as days and month.

    Columns without any variance are dropped, as an identifier's are: every level of it is rare.
    """
    frame = X.copy()
    for name in X.select_dtypes("datetime"):
        frame[f"{name}{SEPARATOR}days"] = (X[name] - X[name].min()).dt.days.astype(float)
        frame[f"{name}{SEPARATOR}month"] = X[name].dt.month.astype(float)
        frame = frame.drop(columns=name)
    numbers = make_column_selector(dtype_include="number")
    one_hot = OneHotEncoder(
        min_frequency=5,
        max_categories=31,
        handle_unknown="infrequent_if_exist",
        drop="if_binary",
        sparse_output=False,
        feature_name_combiner=lambda name, level: f"{name}{SEPARATOR}{level}",
    )
    levels = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), one_hot)
    encoder = ColumnTransformer(
        [
            ("number", SimpleImputer(strategy="median"), numbers),
            ("text", levels, make_column_selector(dtype_exclude="number")),
        ],
        verbose_feature_names_out=False,
    )
    is_number = {name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])}
    frame = frame.astype({name: float if name in is_number else object for name in frame.columns})
    for name in set(frame.columns) - is_number:
        frame[name] = frame[name].where(frame[name].isna(), frame[name].astype(str)).astype(object)
    encoded = encoder.set_output(transform="pandas").fit_transform(frame)
    return encoded.loc[:, encoded.nunique() > 1]


def source_of(names: Any) -> set[str]:
    return {name.split(SEPARATOR)[0] for name in names}


def forest(y: np.ndarray, seed: int, **given: Any) -> Any:
    """Peers' random forest."""
    kind = RandomForestRegressor if is_quantity(y) else RandomForestClassifier
    return kind(random_state=seed, **given)


def boruta(X: pd.DataFrame, y: np.ndarray, seed: int) -> set[str]:
    """Trees of depth 5, as its page says, 100 of them and 50 rounds for its time; "tentative" columns are not kept."""
    from boruta import BorutaPy

    encoded = encode_for_peers(X)
    codes = y if is_quantity(y) else np.unique(y, return_inverse=True)[1]
    model = forest(y, seed, max_depth=5, max_features=1 / 3 if is_quantity(y) else "sqrt")
    found = BorutaPy(model, n_estimators=100, max_iter=50, random_state=seed).fit(encoded.to_numpy(), codes)
    return source_of(encoded.columns[found.support_])


def rfecv(X: pd.DataFrame, y: np.ndarray, seed: int) -> set[str]:
    """scikit-learn's RFECV with a linear model on standardized columns."""
    encoded = encode_for_peers(X)
    model = Ridge() if is_quantity(y) else LogisticRegression()
    found = RFECV(model, step=1, cv=5).fit(StandardScaler().fit_transform(encoded), y)
    return source_of(encoded.columns[found.support_])


def feature_engine_probe(X: pd.DataFrame, y: np.ndarray, seed: int) -> set[str]:
    """feature-engine throughout: its imputers, parts of dates, rare levels pooled, levels by mean target, its probe."""
    from feature_engine.selection import ProbeFeatureSelection

    encoded = encode_by_feature_engine(X, y)
    scoring = "r2" if is_quantity(y) else "accuracy"
    found = ProbeFeatureSelection(forest(y, seed, n_estimators=50), scoring=scoring, random_state=seed)
    return source_of(found.fit(encoded, pd.Series(y)).get_feature_names_out())


def feature_engine_shuffling(X: pd.DataFrame, y: np.ndarray, seed: int) -> set[str]:
    """The same, then columns whose shuffling costs more of the score than the mean."""
    from feature_engine.selection import SelectByShuffling

    encoded = encode_by_feature_engine(X, y)
    scoring = "r2" if is_quantity(y) else "accuracy"
    found = SelectByShuffling(forest(y, seed, n_estimators=50), scoring=scoring, random_state=seed)
    return source_of(found.fit(encoded, pd.Series(y)).get_feature_names_out())


def encode_by_feature_engine(X: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    from feature_engine.datetime import DatetimeFeatures
    from feature_engine.encoding import OrdinalEncoder, RareLabelEncoder
    from feature_engine.imputation import CategoricalImputer, MeanMedianImputer
    from feature_engine.selection import DropConstantFeatures

    dates = list(X.select_dtypes("datetime"))
    numbers = list(X.select_dtypes("number"))
    text = [name for name in X.columns if name not in {*dates, *numbers}]
    frame = X.rename(columns={name: f"{name}{SEPARATOR}" for name in dates})
    frame = frame.astype(dict.fromkeys(text, object) | dict.fromkeys(numbers, float))
    frame[text] = frame[text].where(frame[text].isna(), frame[text].astype(str))
    steps = []
    if dates:
        steps.append(DatetimeFeatures([f"{name}{SEPARATOR}" for name in dates], missing_values="ignore"))
    if text:
        codes = pd.Series(y) if is_quantity(y) else pd.Series(np.unique(y, return_inverse=True)[1])
        frame = make_pipeline(
            CategoricalImputer(variables=text),
            RareLabelEncoder(tol=0.01, n_categories=10, variables=text),
            OrdinalEncoder(variables=text),
        ).fit_transform(frame, codes)
    for step in [*steps, MeanMedianImputer(), DropConstantFeatures()]:
        frame = step.fit_transform(frame)
    return frame


def single_splits(seed: int) -> Ranker:
    return TreeSelector(importance="mutual_information")


def tamis_forest(seed: int) -> Ranker:
    probe = MonteCarloProbe(n_draws=19)
    return TreeSelector(n_trees=20, min_samples_leaf=5, stop=probe, random_state=seed)


@dataclass(frozen=True)
class Entry:
    """A contestant, the package that it needs, and how much of it there is time for.

    ``tables`` are the generated tables of each task that it sees, of the smaller and of the larger size; of a packaged
    table it sees one half if it is slow.
    """

    select: Contestant
    package: str = "tamis"
    tables: tuple[int, int] = (10, 3)
    is_slow: bool = True


CONTESTANTS = {
    "TableSelector()": Entry(by_tamis(), tables=(100, 100), is_slow=False),
    "TableSelector(CorrelationScore())": Entry(
        by_tamis(lambda seed: CorrelationScore()), tables=(100, 50), is_slow=False
    ),
    "TableSelector(TreeSelector), single splits": Entry(by_tamis(single_splits), tables=(100, 50), is_slow=False),
    "TableSelector(TreeSelector), 20 trees": Entry(by_tamis(tamis_forest), tables=(20, 5)),
    "TableSelector(ReliefF())": Entry(by_tamis(lambda seed: ReliefF()), tables=(20, 3)),
    "TableSelector(RFE())": Entry(by_tamis(lambda seed: RFE()), tables=(20, 5)),
    "feature-engine, ProbeFeatureSelection": Entry(feature_engine_probe, "feature_engine"),
    "feature-engine, SelectByShuffling": Entry(feature_engine_shuffling, "feature_engine"),
    "RFECV, linear": Entry(rfecv, "sklearn", tables=(5, 2)),
    "Boruta": Entry(boruta, "boruta", tables=(2, 1)),
}


def installed() -> dict[str, Entry]:
    """Those whose package is here."""
    return {name: entry for name, entry in CONTESTANTS.items() if find_spec(entry.package) is not None}
