"""TableEncoder: what training rows teach holds for rows that come later."""

import numpy as np
import pandas as pd
import pytest

from tamis.table._source import read_source
from tamis.table._table_encoder import TableEncoder


def table(n_samples=200, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n_samples)
    size[:20] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "city": rng.choice(["Lyon", "Nice", "Paris"], size=n_samples),
            "street": [f"street {k}" for k in rng.integers(50, size=n_samples)],
            "day": np.datetime64("2024-01-01") + np.arange(n_samples).astype("timedelta64[D]"),
            "name": [f"person {i}" for i in range(n_samples)],
            "country": "France",
        }
    )


def test_training_rows_are_encoded_as_later_ones_but_for_means_of_the_target():
    X, y = table(), np.arange(200) % 2
    encoder = TableEncoder(task="classification")
    seen = encoder.fit_transform(X, y)
    again = encoder.transform(X)
    plain = encoder.places_ != list(X).index("street")
    np.testing.assert_array_equal(seen[:, plain], again[:, plain])
    assert not np.array_equal(seen[:, ~plain], again[:, ~plain])


def test_missing_numbers_are_the_median_of_the_training_rows():
    X = table()
    encoder = TableEncoder().fit(X)
    encoded = encoder.transform(X.assign(size=np.nan))
    assert np.all(encoded[:, 0] == X["size"].median())
    indicator = np.flatnonzero(encoder.places_ == 0)[1]
    assert encoded[:, indicator].tolist() == [1.0] * len(X)


def test_columns_that_cannot_tell_rows_apart_have_no_encoding():
    encoder = TableEncoder().fit(table())
    assert not {4, 5} & set(encoder.places_.tolist())


def test_a_level_that_was_never_seen_is_like_the_mean_of_all():
    X, y = table(), np.arange(200.0)
    encoder = TableEncoder(task="regression").fit(X, y)
    street = encoder.places_ == list(X).index("street")
    assert encoder.transform(X.assign(street="elsewhere"))[:, street].tolist() == [[0.0]] * len(X)


def test_encoding_of_rows_taken_from_a_table_is_that_of_these_rows():
    X, y = table(), np.arange(200) % 2
    rows = np.arange(0, 200, 3)
    from_source = TableEncoder(task="classification").fit_source(read_source(X).take_rows(rows), y[rows])
    np.testing.assert_array_equal(
        from_source, TableEncoder(task="classification").fit_transform(X.iloc[rows].reset_index(drop=True), y[rows])
    )


def test_a_column_that_holds_something_else_is_named():
    encoder = TableEncoder().fit(table())
    with pytest.raises(ValueError, match="'size' held numbers"):
        encoder.transform(table().assign(size="large"))
    with pytest.raises(ValueError, match="'day' held dates"):
        encoder.transform(table().assign(day="soon"))
