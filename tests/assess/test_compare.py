"""A comparison judges every line alike, beside random, and can be stopped and taken up again."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier

from tamis import FisherScore, ForwardLeastSquares, GramSchmidt, MaxVariance, NeighborFaithful, RandomSelection
from tamis.assess._compare import compare
from tamis.assess._comparison import Comparison
from tamis.assess._criteria import Criterion, split_rows
from tamis.assess._fit import fit_score
from tamis.assess._knn import knn_accuracy
from tamis.base import Ranker, Ranking
from tamis.dictionary import Monomials
from tamis.table import TableSelector

WINE = load_wine(return_X_y=True)
REFERENCES = ["random", "all features"]


class Recorder(Ranker):
    """Ranks columns as they come, and remembers what it was given."""

    supervised = False
    seen: list = []  # noqa: RUF012

    def __init__(self, *, stop=None, random_state=None):
        self.stop = stop
        self.random_state = random_state

    def _rank(self, candidates, y, rng):
        X = candidates.table
        Recorder.seen.append((self.stop, self.random_state, X.shape, y))
        return Ranking.from_scores(-np.arange(X.shape[1], dtype=float))


class Apart(Recorder):
    """The same, but its sets are not nested."""

    provides = Recorder.provides - {"nested"}


class Plain(Recorder):
    """The same without a seed."""

    def __init__(self, *, stop=None):
        self.stop = stop
        self.random_state = None

    @classmethod
    def _get_param_names(cls):
        return ["stop"]


class Failing(Ranker):
    """Never ranks anything, and says so with the name of a column."""

    supervised = False

    def __init__(self, *, stop=None, error=RuntimeError):
        self.stop = stop
        self.error = error

    def _rank(self, candidates, y, rng):
        raise self.error(f"cannot rank {candidates.name(0)}")


class Few(Ranker):
    """Ranks three features only."""

    supervised = False

    def __init__(self, *, stop=None):
        self.stop = stop

    def _rank(self, candidates, y, rng):
        scores = np.full(candidates.n_candidates, np.nan)
        scores[[4, 1, 2]] = 3, 2, 1
        return Ranking.from_scores(scores)


@pytest.fixture(autouse=True)
def _forget():
    Recorder.seen.clear()


def width(X, y, support):
    return support.size + support.sum() / 1000


def without_seconds(comparison):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in comparison.rows]


def values(comparison, **wanted):
    return [row["value"] for row in comparison.rows if all(row[name] == each for name, each in wanted.items())]


def test_a_row_holds_the_figure_of_a_ranker_cut_at_k():
    table = compare([MaxVariance()], *WINE, ks=[2, 5], metrics=["fit", "knn_accuracy"])
    order = MaxVariance(stop=None).fit(WINE[0]).order_
    for k in (2, 5):
        assert values(table, ranker="MaxVariance", k=k, metric="fit") == [fit_score(WINE[0], np.sort(order[:k]))]
        assert values(table, ranker="MaxVariance", k=k, metric="knn_accuracy") == [
            knn_accuracy(*WINE, np.sort(order[:k]))
        ]
    assert values(table, ranker="all features", metric="fit") == [fit_score(WINE[0], None)]
    assert {row["evaluation"] for row in table.rows} == {"in-sample"}
    assert all(row["seconds"] >= 0 and row["error"] == "" and row["n_kept"] == row["k"] for row in table.rows)


def test_held_out_lines_are_ranked_on_training_rows_and_judged_on_the_others():
    X, y = WINE
    table = compare([FisherScore(), MaxVariance()], X, y, ks=[3], metrics="knn_accuracy", n_seeds=2, random_state=5)
    for i, seed in enumerate((5, 6)):
        train, test = split_rows(y, len(y), 0.3, seed)
        for ranker in (FisherScore(stop=3), MaxVariance(stop=3)):
            kept = ranker.fit(X[train], y[train]).get_support(indices=True)
            expected = knn_accuracy(X[train], y[train], kept, X_test=X[test], y_test=y[test])
            assert values(table, ranker=type(ranker).__name__)[i] == expected
    assert {row["evaluation"] for row in table.rows} == {"held-out"}


def test_each_ranker_is_fitted_once_per_seed_and_training_rows():
    X, y = WINE
    compare([Recorder()], X, y, ks=[1, 2, 4], metrics=["fit", "knn_accuracy", width], n_seeds=2)
    assert Recorder.seen == [(4, 0, X.shape, None), (4, 1, X.shape, None)]
    Recorder.seen.clear()
    compare([Recorder()], X, y, ks=[1, 2], metrics=["fit", "fit-held-out", "balanced_error_rate"], n_seeds=2)
    assert [shape[0] for _, _, shape, _ in Recorder.seen] == [178, 178, 124, 124]


def test_a_ranker_whose_sets_are_not_nested_is_fitted_for_every_k():
    X, y = WINE
    Apart.seen.clear()
    compare([Apart()], X, y, ks=[2, 5], metrics="fit", n_seeds=1)
    assert [stop for stop, *_ in Apart.seen] == [2, 5]
    found = compare([NeighborFaithful()], X, y, ks=[2, 5], metrics="fit", n_seeds=1).frame()
    for ranker, k, value in zip(found["ranker"], found["k"], found["value"], strict=True):
        if ranker == "NeighborFaithful":
            assert value == pytest.approx(NeighborFaithful(stop=int(k), random_state=0).fit(X).fit_)


def test_what_no_seed_changes_is_done_once():
    table = compare([Plain(), Recorder()], WINE[0], ks=[2])
    assert len(Recorder.seen) == 1 + 3
    assert [row["seed"] for row in table.rows] == [0, 0, 1, 2, *range(10), 0]
    Recorder.seen.clear()
    compare([Plain()], WINE[0], ks=[2], evaluation="held-out")
    assert len(Recorder.seen) == 3


def test_the_random_line_has_many_draws_and_takes_turns_on_the_splits():
    X, y = WINE
    table = compare([FisherScore()], X, y, ks=[2], metrics="fit", n_seeds=2, n_random=11)
    found = values(table, ranker="random")
    assert len(found) == 11
    for draw in (0, 1, 2, 10):
        train, test = split_rows(y, len(y), 0.3, draw % 2)
        kept = RandomSelection(stop=2, random_state=draw).fit(X[train]).get_support(indices=True)
        assert found[draw] == fit_score(X[train], kept, X_test=X[test])
    assert len(values(compare([FisherScore()], X, y, ks=[2], metrics="fit", n_seeds=12), ranker="random")) == 12


def naive_marks(comparison):
    """Group, average and compare, one row at a time."""
    found = {}
    for row in comparison.rows:
        found.setdefault((row["dataset"], row["metric"], row["k"], row["ranker"]), []).append(row["value"])
    marks = {}
    for (dataset, metric, k, ranker), each in found.items():
        random = found.get((dataset, metric, k, "random"))
        if random is None:
            marks[dataset, metric, k, ranker] = False
            continue
        center = sum(random) / len(random)
        spread = math.sqrt(sum((value - center) ** 2 for value in random) / (len(random) - 1))
        mean = sum(each) / len(each)
        if comparison.higher_is_better[metric]:
            marks[dataset, metric, k, ranker] = mean <= center + spread
        else:
            marks[dataset, metric, k, ranker] = mean >= center - spread
    return marks


def marks(comparison):
    columns = comparison.summary()
    keys = zip(*(columns[name] for name in ("dataset", "metric", "k", "ranker")), strict=True)
    return dict(zip(keys, columns["like_random"], strict=True))


def test_what_is_within_one_deviation_of_random_or_worse_is_marked():
    data = {"wine": WINE, "iris": load_iris(return_X_y=True)}
    table = compare([FisherScore(), MaxVariance()], data, ks=[1, 3], metrics=["knn_accuracy", "balanced_error_rate"])
    found = marks(table)
    assert found == naive_marks(table)
    assert len(set(found.values())) == 2
    assert "~" in str(table)
    assert "~ within one standard deviation of random, or worse" in str(table)
    assert "~" in table._repr_html_()


@settings(max_examples=50, deadline=None)
@given(
    numbers=st.lists(st.integers(-50, 50), min_size=26, max_size=26),
    higher=st.booleans(),
)
def test_marks_follow_their_definition_whatever_the_values(numbers, higher):
    # quarters are exact, and a tie at the very edge is a matter of rounding
    rows = [
        {"dataset": "a", "metric": "m", "k": k, "ranker": ranker, "seed": seed, "evaluation": "in-sample"}
        for ranker, n_seeds in (("one", 3), ("random", 10))
        for seed in range(n_seeds)
        for k in (1, 2)
    ]
    for row, number in zip(rows, numbers, strict=True):
        row.update(value=number / 4, error="", n_kept=row["k"], seconds=0.0)
    table = Comparison(rows, {"m": higher})
    columns = table.summary()
    edge = np.abs(np.subtract(columns["mean"], columns["random_mean"])) - columns["random_std"]
    for key, mark in naive_marks(table).items():
        place = list(zip(columns["k"], columns["ranker"], strict=True)).index(key[2:])
        assert marks(table)[key] == mark or abs(edge[place]) < 1e-9


def test_a_ranking_of_all_features_is_like_random_and_like_all():
    table = compare([MaxVariance()], *WINE, ks=[13], metrics="knn_accuracy")
    assert set(marks(table).values()) == {True}
    assert len(set(values(table))) == 1
    np.testing.assert_allclose(table.summary()["random_std"], 0, atol=1e-15)


def test_numbers_beyond_the_features_are_skipped_with_a_note():
    table = compare([MaxVariance()], {"iris": load_iris().data, "wine": WINE[0]}, ks=[10, 2, 2, 40])
    assert {(row["dataset"], row["k"]) for row in table.rows if row["ranker"] == "MaxVariance"} == {
        ("iris", 2),
        ("wine", 2),
        ("wine", 10),
    }
    assert table.notes == (
        "k = 10 skipped on 'iris', which has 4 features",
        "k = 40 skipped on 'iris', which has 4 features",
        "k = 40 skipped on 'wine', which has 13 features",
    )
    assert table.notes[0] in str(table)
    with pytest.raises(ValueError, match=r"'data' has 4 features, fewer than any of ks=\[10, 20\]"):
        compare([MaxVariance()], load_iris().data, ks=[10, 20])


def test_a_ranker_that_ranks_fewer_is_judged_with_what_it_has():
    table = compare([Few()], WINE[0], ks=[2, 3, 8], metrics=width)
    kept = [(row["k"], row["n_kept"], row["value"]) for row in table.rows if row["ranker"] == "Few"]
    assert kept == [(2, 2, 2.005), (3, 3, 3.007), (8, 3, 3.007)]
    assert "<" in str(table)
    assert "judged with fewer features than k" in str(table)


def test_a_failing_ranker_does_not_harm_the_others():
    healthy = compare([MaxVariance()], *WINE, ks=[2, 4], metrics="fit")
    with pytest.warns(RuntimeWarning, match="bad failed in part or whole.* first: RuntimeError: cannot rank x0"):
        table = compare({"bad": Failing(), "MaxVariance": MaxVariance()}, *WINE, ks=[2, 4], metrics="fit")
    failed = [row for row in table.rows if row["ranker"] == "bad"]
    assert [row["k"] for row in failed] == [2, 4]
    assert all(row["error"] == "RuntimeError: cannot rank x0" and math.isnan(row["value"]) for row in failed)
    assert [row for row in without_seconds(table) if row["ranker"] != "bad"] == without_seconds(healthy)
    summary = table.summary()
    assert summary["n_values"][0] == 0
    assert not summary["like_random"][0]
    assert "failed !" in " ".join(str(table).split())


def test_a_failing_metric_does_not_harm_the_others():
    def picky(X, y, support):
        if support.size == 2:
            raise ZeroDivisionError("not two")
        return 1.0

    with pytest.warns(RuntimeWarning, match="ZeroDivisionError: not two"):
        table = compare([MaxVariance()], *WINE, ks=[2, 4], metrics=[picky, "fit"])
    assert [row["error"] != "" for row in table.rows] == [
        row["k"] == 2 and row["metric"] == "picky" for row in table.rows
    ]


def test_an_interrupt_is_no_failure(tmp_path):
    rankers = {"good": MaxVariance(), "stopped": Failing(error=KeyboardInterrupt)}
    with pytest.raises(KeyboardInterrupt):
        compare(rankers, *WINE, ks=[2], results_file=tmp_path / "results.jsonl")
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2


def test_the_number_of_jobs_changes_nothing():
    arguments = {"ks": [1, 3], "metrics": ["fit", "knn_accuracy", "purity", "balanced_error_rate"], "n_seeds": 2}
    rankers = [FisherScore(), GramSchmidt(), RandomSelection()]
    one = compare(rankers, *WINE, **arguments)
    done = []
    two = compare(rankers, *WINE, **arguments, n_jobs=2, progress=lambda *count: done.append(count))
    assert without_seconds(one) == without_seconds(two)
    assert done == [(i, 18) for i in range(1, 19)]


def test_workers_share_the_table():
    def is_shared(X, y, support):
        return isinstance(X, np.memmap)

    X = np.random.RandomState(0).standard_normal((300, 600))
    table = compare([Plain()], X, ks=[1], metrics=is_shared, n_jobs=2)
    assert set(values(table)) == {1.0}


def test_frames_are_read_as_arrays_and_errors_name_their_columns():
    pandas = pytest.importorskip("pandas")
    X, y = WINE
    frame = pandas.DataFrame(X.copy(), columns=[f"column {j}" for j in range(13)])
    plain = compare([FisherScore()], X, y, ks=[3])
    assert without_seconds(compare([FisherScore()], frame, pandas.Series(y), ks=[3])) == without_seconds(plain)
    with pytest.warns(RuntimeWarning, match="cannot rank column 0"):
        compare([Failing()], frame, ks=[3])
    frame.loc[3, "column 2"] = np.nan
    with pytest.raises(ValueError, match="'fit' is for numbers, and data set 'a' holds text or missing values"):
        compare([FisherScore()], {"a": (frame, y)}, ks=[3], metrics="fit")
    with pytest.raises(ValueError, match=r"data set 'a': .*NaN|data set 'a': .*missing"):
        compare([FisherScore()], {"a": (frame.to_numpy(), y)}, ks=[3])


def test_polars_frames_are_read_too():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({f"c{j}": column for j, column in enumerate(WINE[0].T)})
    plain = compare([FisherScore()], *WINE, ks=[3])
    assert without_seconds(compare([FisherScore()], frame, polars.Series(WINE[1]), ks=[3])) == without_seconds(plain)


def test_sparse_tables_give_the_figures_of_dense_ones():
    X = np.where(WINE[0] > np.quantile(WINE[0], 0.1, axis=0), WINE[0], 0)
    metrics = ["fit", "knn_accuracy", "balanced_error_rate"]
    dense = compare([FisherScore()], X, WINE[1], ks=[3], metrics=metrics)
    thin = compare([FisherScore()], sparse.csr_array(X), WINE[1], ks=[3], metrics=metrics)
    np.testing.assert_allclose(values(thin), values(dense), atol=1e-9)


def test_labels_may_be_text_and_bunches_are_unpacked():
    wine = load_wine()
    named = {"plain": WINE, "text": (WINE[0], wine.target_names[WINE[1]]), "bunch": wine}
    table = compare([FisherScore()], named, ks=[3], metrics=["knn_accuracy", "balanced_error_rate"])
    assert values(table, dataset="plain") == values(table, dataset="text") == values(table, dataset="bunch")


def test_a_regression_target_is_ranked_and_judged_by_fit_and_by_its_neighbors():
    X = WINE[0]
    table = compare([GramSchmidt(), ForwardLeastSquares()], X[:, 1:], X[:, 0], ks=[2])
    assert {row["metric"] for row in table.rows} == {"fit", "knn_r2"}
    assert {row["error"] for row in table.rows} == {""}


def test_rankers_of_one_class_are_told_apart_by_their_parameters():
    rankers = [FisherScore(), FisherScore(threshold=0.1, stop=3), MaxVariance(stop=2)]
    table = compare(rankers, *WINE, ks=[2], metrics="fit", n_seeds=1)
    expected = ["FisherScore", "FisherScore(threshold=0.1)", "MaxVariance", *REFERENCES]
    assert list(dict.fromkeys(table.frame()["ranker"])) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rankers": []}, "rankers is empty"),
        ({"rankers": [FisherScore]}, r"no ranker of this library: give an instance, FisherScore\(\)"),
        ({"rankers": [FisherScore(stop=1), FisherScore(stop=2)]}, "holds FisherScore twice"),
        ({"rankers": {"random": FisherScore()}}, "'random' is the name of a line of reference"),
        ({"rankers": [GramSchmidt(dictionary=Monomials(2))]}, "GramSchmidt ranks the features of a dictionary"),
        ({"data": {}, "y": None}, "data must hold one data set"),
        ({"data": {"a": WINE}}, "y goes with one table"),
        ({"y": None, "metrics": "fit"}, "FisherScore is supervised and data set 'data' has no y"),
        ({"y": None, "metrics": "purity"}, "metric 'purity' needs y, and data set 'data' has none"),
        ({"y": WINE[1][:-1]}, "data set 'data': X has 178 rows, but y has 177"),
        ({"y": np.zeros(178)}, "one class only"),
        ({"y": np.arange(178) == 0}, "data set 'data' cannot be split: .*only 1 member"),
        ({"data": np.ones((178, 4))}, "data set 'data': every column of X is constant"),
        ({"ks": []}, r"ks=\[\] must be whole numbers"),
        ({"ks": [0, 3]}, r"ks=\[0, 3\] must be whole numbers, each at least 1"),
        ({"ks": [2.5]}, "must be whole numbers"),
        ({"n_seeds": 0}, "n_seeds=0 must be a whole number, at least 1"),
        ({"n_random": 3}, "n_random=3: the spread of random selections needs 10 draws or more"),
        ({"test_size": 3}, "test_size=3 must lie between 0 and 1"),
        ({"random_state": None}, "random_state=None must be a whole number"),
        ({"evaluation": "in-sample"}, "would judge FisherScore on the rows whose y they have seen"),
        ({"results_file": "no/such/folder/a"}, "there is no folder no/such/folder"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(arguments, message):
    given = {"rankers": [FisherScore()], "data": WINE[0], "y": WINE[1], "ks": [2], "metrics": "knn_accuracy"}
    with pytest.raises(ValueError, match=message):
        compare(**(given | arguments))


def test_the_frame_and_the_summary_are_columns_of_one_length():
    pandas = pytest.importorskip("pandas")
    table = compare([MaxVariance(), Recorder()], *WINE, ks=[2, 4])
    frame, summary = pandas.DataFrame(table.frame()), pandas.DataFrame(table.summary())
    assert len(frame) == len(table.rows)
    means = frame.groupby(["ranker", "k", "metric"])["value"].mean()
    deviations = frame.groupby(["ranker", "k", "metric"])["value"].std().fillna(0.0)
    for line in summary.itertuples():
        assert line.mean == pytest.approx(means[line.ranker, line.k, line.metric])
        assert line.std == pytest.approx(deviations[line.ranker, line.k, line.metric])


def test_html_is_escaped():
    table = compare({"<b>": MaxVariance()}, {"a & b": WINE[0]}, ks=[2])
    assert "&lt;b&gt;" in table._repr_html_()
    assert "<b>" not in table._repr_html_()
    assert "a &amp; b" in table._repr_html_()


class Stop(Exception):
    pass


def stop_after(n_tasks):
    def progress(done, total):
        if done == n_tasks:
            raise Stop

    return progress


RESUMED = {"ks": [1, 3], "metrics": ["fit", "knn_accuracy"], "n_seeds": 2}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_run_that_was_stopped_goes_on_to_the_same_results(tmp_path, n_jobs):
    path = tmp_path / "results.jsonl"
    rankers = [FisherScore(), Recorder()]
    whole = compare(rankers, *WINE, **RESUMED)
    with pytest.raises(Stop):
        compare(rankers, *WINE, **RESUMED, n_jobs=n_jobs, results_file=path, progress=stop_after(3))
    assert len(path.read_text().splitlines()) == 1 + 3
    done = []
    resumed = compare(rankers, *WINE, **RESUMED, results_file=str(path), progress=lambda *count: done.append(count))
    assert done == [(i, 16) for i in range(4, 17)]
    assert without_seconds(resumed) == without_seconds(whole)
    done.clear()
    assert compare(rankers, *WINE, **RESUMED, results_file=path, progress=stop_after(1)).rows == resumed.rows
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_a_run_that_was_killed_goes_on_to_the_same_results(tmp_path):
    path = tmp_path / "results.jsonl"
    code = (
        "import sys, time; from sklearn.datasets import load_wine; from tamis import FisherScore, MaxVariance; "
        "from tamis.assess._compare import compare; "
        "compare([FisherScore(), MaxVariance()], *load_wine(return_X_y=True), ks=[1, 3], n_seeds=2, "
        "metrics=['fit', 'knn_accuracy'], results_file=sys.argv[1], progress=lambda *_: time.sleep(0.1))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)])
    try:
        while process.poll() is None and not (path.exists() and len(path.read_text().splitlines()) > 4):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        assert process.wait() == -signal.SIGKILL
    n_found = len(path.read_text().splitlines()) - 1
    done = []
    rankers = [FisherScore(), MaxVariance()]
    resumed = compare(rankers, *WINE, **RESUMED, results_file=path, progress=lambda *count: done.append(count))
    assert 4 <= n_found < 16
    assert len(done) == 16 - n_found
    assert without_seconds(resumed) == without_seconds(compare(rankers, *WINE, **RESUMED))


@pytest.mark.parametrize(
    ("change", "n_again"),
    [
        ({}, 0),
        ({"rankers": [FisherScore(threshold=0.5), MaxVariance()]}, 2),
        ({"rankers": [FisherScore(stop=1), MaxVariance()]}, 0),
        ({"ks": [1, 2]}, 16),
        ({"metrics": ["fit"]}, 16),
        ({"data": WINE[0] * 2}, 16),
        ({"y": WINE[1][::-1]}, 16),
        ({"n_seeds": 3}, 3 + 6),  # a seed more of three lines; draws 2, 3, 4, 5, 8 and 9 move to other splits
        ({"test_size": 0.5}, 16),
    ],
    ids=lambda change: str(list(change)) if isinstance(change, dict) else "",
)
def test_only_tasks_that_changed_are_run_again(tmp_path, change, n_again):
    path = tmp_path / "results.jsonl"
    first = {"rankers": [FisherScore(), MaxVariance()], "data": WINE[0], "y": WINE[1], **RESUMED}
    compare(**first, results_file=path)
    done = []
    changed = first | change
    found = compare(**changed, results_file=path, progress=lambda *count: done.append(count))
    assert without_seconds(found) == without_seconds(compare(**changed))
    assert len(done) == n_again


def test_failed_tasks_are_tried_again_and_others_are_kept(tmp_path):
    path = tmp_path / "results.jsonl"
    with pytest.warns(RuntimeWarning, match="Failing failed"):
        compare([Failing(), Plain()], WINE[0], ks=[2], results_file=path)
    done = []
    with pytest.warns(RuntimeWarning, match="Failing failed"):
        compare([Failing(), Plain()], WINE[0], ks=[2], results_file=path, progress=lambda *count: done.append(count))
    assert done == [(13, 13)]
    compare([Plain()], WINE[0], ks=[2], results_file=path)
    assert len(path.read_text().splitlines()) == 1 + 13  # a smaller comparison takes nothing out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a file of results"),
        (b"a,b\n1,2\n", "is not a file of results"),
        (b"\xff\xfe\x00\x01", "is not a file of results"),
        (b'{"format": "tamis comparison", "version": 2}\n', "is not a file of results"),
        (b'{"format": "tamis comparison", "version": 1}\n{"task": "x", "finger', "is damaged at line 2"),
        (b'{"format": "tamis comparison", "version": 1}\n[]\n', "is damaged at line 2"),
        (b'{"format": "tamis comparison", "version": 1}\n{"task": "x", "fingerprint": "y", "rows": [3]}', "line 2"),
    ],
)
def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path, content, message):
    path = tmp_path / "results.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        compare([Plain()], WINE[0], ks=[2], results_file=path)
    assert path.read_bytes() == content
    with pytest.raises(ValueError, match="is a folder"):
        compare([Plain()], WINE[0], ks=[2], results_file=tmp_path)


def test_the_file_is_whole_after_every_task(tmp_path):
    path = tmp_path / "results.jsonl"
    sizes = []

    def look(done, total):
        header, *tasks = [json.loads(line) for line in path.read_text().splitlines()]
        assert header["format"] == "tamis comparison"
        assert [set(task) for task in tasks] == [{"task", "fingerprint", "rows"}] * done
        sizes.append(len(tasks))

    compare([Plain()], WINE[0], ks=[2], results_file=path, progress=look)
    assert sizes == list(range(1, 13))


def test_a_real_data_set_gives_the_figures_of_the_thesis():
    from tamis import datasets

    if "yale" not in datasets.names():
        pytest.skip("data set yale is missing: set TAMIS_DATA to its folder")
    table = compare([MaxVariance()], datasets.load("yale"), ks=[100], metrics="fit-thesis")
    assert values(table, ranker="all features")[0] == pytest.approx(0.712, abs=5e-4)
    assert np.mean(values(table, ranker="random")) == pytest.approx(0.696, abs=0.005)


# quantities, models, folds, mixed tables


DIABETES = load_diabetes(return_X_y=True)


def test_classes_are_not_looked_for_in_rounded_quantities():
    """The target of diabetes holds whole numbers, half of which come twice: no names, and no accuracy."""
    with pytest.raises(ValueError, match=r"'knn_accuracy' needs classes.*'knn_r2'.*task='classification'"):
        compare([MaxVariance()], *DIABETES, ks=[3], metrics="knn_accuracy")
    with pytest.raises(ValueError, match=r"'knn_r2' needs quantities.*'knn_accuracy'"):
        compare([MaxVariance()], *WINE, ks=[3], metrics="knn_r2")


def test_the_task_chooses_the_metrics():
    table = compare([GramSchmidt()], *DIABETES, ks=[3])
    assert list(table.higher_is_better) == ["fit", "knn_r2"]
    assert np.mean(values(table, ranker="GramSchmidt", metric="knn_r2")) > 0.1
    whole = np.round(WINE[0][:, 0] * 2)  # could be either
    both = [compare([MaxVariance()], WINE[0], whole, ks=[3], task=task) for task in ("classification", "regression")]
    assert [list(table.higher_is_better)[1] for table in both] == ["knn_accuracy", "knn_r2"]


def test_any_model_and_score_judges_held_out_rows():
    X, y = WINE
    tree = DecisionTreeClassifier(max_depth=3)
    metric = Criterion.from_estimator(tree, "neg_log_loss")
    table = compare([FisherScore()], X, y, ks=[2], metrics=metric, n_seeds=2)
    assert metric.name == "DecisionTreeClassifier neg_log_loss"
    train, test = split_rows(y, len(y), 0.3, 1)
    kept = np.sort(FisherScore(stop=2).fit(X[train], y[train]).order_[:2])
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train][:, kept], y[train])
    expected = -log_loss(y[test], model.predict_proba(X[test][:, kept]))
    assert values(table, ranker="FisherScore")[1] == pytest.approx(expected)


def test_models_of_the_wrong_task_and_scores_that_do_not_exist_are_refused_before_any_work():
    with pytest.raises(ValueError, match="needs classes"):
        compare([MaxVariance()], *DIABETES, ks=[3], metrics=Criterion.from_estimator(DecisionTreeClassifier()))
    with pytest.raises(ValueError, match="accuracyy"):
        Criterion.from_estimator(DecisionTreeClassifier(), "accuracyy")


@pytest.mark.parametrize(
    "other", [DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(random_state=1)], ids=["depth", "seed"]
)
def test_results_of_another_model_are_not_taken_from_the_file(tmp_path, other):
    path = tmp_path / "results.jsonl"
    ran = []

    def count(done, total):
        ran.append(total)

    def run(model, **more):
        ran.clear()
        metric = Criterion.from_estimator(model, name="tree")
        compare([Plain()], *WINE, ks=[2], metrics=metric, results_file=path, progress=count, **more)
        return len(ran)

    assert run(DecisionTreeClassifier()) > 0
    assert run(DecisionTreeClassifier()) == 0
    assert run(other) > 0
    assert run(other, cv=3) > 0
    assert run(other, cv=3) == 0


def test_each_fold_of_a_cross_validation_is_held_out_once():
    table = compare([FisherScore()], *WINE, ks=[3], metrics="knn_accuracy", cv=4)
    assert [row["seed"] for row in table.rows if row["ranker"] == "FisherScore"] == [0, 1, 2, 3]
    assert {row["evaluation"] for row in table.rows} == {"held-out"}
    assert table.summary()["n_seeds"] == [4, 10, 4]
    with pytest.raises(ValueError, match="cv judges held-out rows"):
        compare([MaxVariance()], *WINE, ks=[3], cv=4, evaluation="in-sample")


@pytest.mark.parametrize("cv", [None, GroupKFold(3)], ids=["splits", "folds"])
def test_rows_of_a_group_are_never_on_both_sides(cv):
    """Each group is a cloud of its own with a label by chance: neighbors within it would give the label away."""
    rng = np.random.RandomState(0)
    patients = np.repeat(np.arange(30), 10)
    X = rng.standard_normal((30, 6))[patients] + 0.01 * rng.standard_normal((300, 6))
    y = rng.randint(2, size=30)[patients]
    apart = compare([MaxVariance()], X, y, ks=[6], metrics="knn_accuracy-held-out", cv=cv, row_groups=patients)
    mixed = compare([MaxVariance()], X, y, ks=[6], metrics="knn_accuracy-held-out")
    assert np.mean(values(apart, ranker="MaxVariance")) < 0.75
    assert np.mean(values(mixed, ranker="MaxVariance")) == 1.0
    with pytest.raises(ValueError, match="cannot be split"):
        compare([MaxVariance()], X, y, ks=[6], metrics="knn_accuracy-held-out", cv=GroupKFold(3))
    with pytest.raises(ValueError, match="row_groups has 3"):
        compare([MaxVariance()], X, y, ks=[6], row_groups=[1, 2, 3])


@pytest.fixture(params=["pandas", "polars"])
def passengers(request):
    """Text, numbers with gaps, and a date; the text and one number tell the target."""
    library = pytest.importorskip(request.param)
    rng = np.random.RandomState(0)
    n = 150
    port = rng.choice(["north", "south", "east"], n)
    fare = rng.standard_normal(n)
    columns = {
        "port": port.tolist(),
        "fare": [None if rng.uniform() < 0.1 else float(value) for value in fare],
        "noise": rng.standard_normal(n).tolist(),
        "ticket": [f"t{k}" for k in rng.randint(40, size=n)],
    }
    y = np.where((port == "north").astype(float) + 0.8 * fare + 0.3 * rng.standard_normal(n) > 0.4, "yes", "no")
    return library.DataFrame(columns), y


def test_mixed_tables_are_ranked_by_source_column_and_judged_by_a_model(passengers, tmp_path):
    path = tmp_path / "results.jsonl"
    rankers = {"plain": FisherScore(), "own": TableSelector(GramSchmidt())}
    table = compare(rankers, *passengers, ks=[2], results_file=path)
    assert list(table.higher_is_better) == ["balanced_accuracy"]
    assert not [row["error"] for row in table.rows if row["error"]]
    for name in rankers:
        assert np.mean(values(table, ranker=name)) > 0.8
    assert np.mean(values(table, ranker="random")) < 0.8
    again = compare(rankers, *passengers, ks=[2], results_file=path)
    assert again.rows == table.rows  # read from the file, to the time that it took


def test_mixed_tables_take_models_that_encode_by_themselves(passengers):
    frame, y = passengers
    forest = Criterion.from_estimator(RandomForestClassifier(20), "roc_auc")
    assert np.mean(values(compare([GramSchmidt()], frame, y, ks=[2], metrics=forest), ranker="GramSchmidt")) > 0.8
    raw = Criterion.from_estimator(DecisionTreeClassifier(), encode=False)
    with pytest.warns(RuntimeWarning, match="could not convert"):
        compare([GramSchmidt()], frame, y, ks=[2], metrics=raw)


def test_mixed_tables_without_a_target_say_what_to_give(passengers):
    with pytest.raises(ValueError, match="a mixed table without y"):
        compare([MaxVariance()], passengers[0], ks=[2])
