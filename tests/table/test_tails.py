"""Heavy tails: found, compressed for the ranker, and told."""

import numpy as np
import pytest

from tamis import RFE, GramSchmidt, TableSelector
from tamis.table import check_table
from tamis.table._source import read_source
from tamis.table._tails import compress_tails, find_heavy_tails

N = 200


def heavy(seed=0, n=N):
    x = np.random.default_rng(seed).standard_cauchy(n) * 1000 + 50
    x[:2] = -3e6, 5e5
    return x


def test_columns_that_reach_far_beyond_their_middle_half_are_found_by_their_extremes_on_all_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    outlier = x.copy()
    outlier[4321] = -100.0
    source = read_source(
        {"plain": x, "outlier": outlier, "flag": rng.random(5000) < 1e-3, "zeros": np.arange(5000) > 4998}
    )
    tails = find_heavy_tails(source)
    assert [source.names[source.places[j]] for j in tails.columns] == ["outlier"]
    assert tails.reach[0] == pytest.approx(100, rel=0.1)


def test_compressed_values_keep_their_order_the_middle_and_the_unit():
    x = heavy()
    values = []
    for scale, offset in ((1.0, 0.0), (1e-3, 0.0), (-2.0, 7.0)):
        table = (scale * x + offset)[:, None]
        values.append((compress_tails(table, find_heavy_tails(read_source({"x": table[:, 0]})))[:, 0] - offset) / scale)
    assert np.all(np.diff(values[0][np.argsort(x)]) >= 0)
    near = np.abs(x - np.median(x)) < 100
    np.testing.assert_allclose(values[0][near], x[near], atol=2)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-10)
    # a mirrored column has its middle value on the other side of the gap in the middle
    assert np.corrcoef(values[2], values[0])[0, 1] > 0.9999


def test_the_encoding_tells_that_tails_are_compressed_and_the_column_comes_out_as_it_was():
    x, rng = heavy(), np.random.default_rng(1)
    y = np.arcsinh(x / 1000) + 0.5 * rng.normal(size=N)
    X = {"x": np.where(np.arange(N) % 5 == 4, np.nan, x), "noise": rng.normal(size=N)}
    before = X["x"].copy()
    found = TableSelector(RFE(stop=1)).fit(X, y)
    assert "heavy tails" in found.encoding_["x"]
    assert "median" in found.encoding_["x"]
    assert found.encoding_["noise"] == "number, as it is"
    np.testing.assert_array_equal(X["x"], before)
    np.testing.assert_array_equal(found.transform(X)["x"], before)
    assert [each.column for each in check_table(X, y) if each.code == "heavy-tail"] == ["x"]


def test_a_table_of_complete_numbers_goes_to_a_ranker_that_knows_groups_as_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[7, 3] = 1e4
    y = X[:, 0] + rng.normal(size=60)
    np.testing.assert_array_equal(TableSelector().fit(X, y).scores_, GramSchmidt().fit(X, y).scores_)


@pytest.mark.filterwarnings("ignore::tamis.base.NothingKeptWarning")
def test_a_column_of_heavy_tails_does_not_hide_others_from_an_elimination():
    n_found = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = {f"x{j}": rng.normal(size=N) for j in range(6)} | {"cauchy": heavy(seed), "other": heavy(seed + 99)}
        y = X["x0"] - X["x1"] + rng.normal(size=N) > 0
        n_found += len({"x0", "x1"} & set(TableSelector(RFE()).fit(X, y).get_feature_names_out()))
    assert n_found >= 9


@pytest.mark.parametrize("largest", [1e308, 1.7e308])
def test_the_largest_numbers_that_there_are_neither_warn_nor_become_infinite(largest):
    rng = np.random.default_rng(0)
    both, outlier = np.where(rng.normal(size=N) > 0, largest, -largest), rng.normal(size=N)
    outlier[7] = largest
    source = read_source({"both": both, "outlier": outlier})
    tails = find_heavy_tails(source)
    assert tails.columns.tolist() == [1]
    assert np.isfinite(compress_tails(source.numbers[:, [1]], tails)).all()
