"""Tables read in blocks of rows give what the same rows give in memory, and never more than sums leave them."""

import warnings

import numpy as np
import pytest

from tamis import (
    RFE,
    CorrelationScore,
    ElasticNet,
    FeatureMedoids,
    FisherScore,
    ForwardLeastSquares,
    GramSchmidt,
    GreedyReconstruction,
    GroupLasso,
    Lasso,
    MaxVariance,
    PCALeverage,
    PivotedQR,
    ReliefF,
    SparseGroupLasso,
)
from tamis.assess import fit_score
from tamis.base import NothingKeptWarning
from tamis.base._row_blocks import TAKE_ROW_BLOCKS
from tamis.dictionary import Monomials
from tamis.dimension import TwoNN
from tamis.stop import CrossValidation, FITPlateau, IntrinsicDimension, MonteCarloProbe, Probe
from tests.oracles.row_blocks import ListBlocks

NAMES = [f"column {j}" for j in range(12)]
CUTS = [700, 1500, 1501]


def a_table(task="regression", n=3000, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 12)) * (1 + np.arange(12)) + 100 * np.arange(12)
    X[:, 7] = X[:, 0] + 1e-7 * rng.standard_normal(n)  # nearly a copy
    X[:, 8] = 3.0
    y = X[:, 0] - X[:, 3] / 4 + rng.standard_normal(n)
    if task == "regression":
        return X, y
    return X, np.digitize(y, np.quantile(y, [0.3, 0.7])) if task == "classes" else (y > np.median(y)).astype(int)


def blocks(X):
    return ListBlocks(X, CUTS, NAMES)


RANKERS = [
    (GramSchmidt(), "regression", 2),
    (GramSchmidt(stop="leave-one-out"), "regression", None),
    (GramSchmidt(fit_intercept=False, stop=4), "regression", None),
    (GramSchmidt(keep=[2], exclude=[0]), "two classes", None),
    (GramSchmidt(), "classes", None),
    (GramSchmidt(groups=np.arange(12) // 2, stop="fisher-test"), "classes", None),
    (ForwardLeastSquares(), "regression", None),
    (CorrelationScore(stop=4), "regression", 2),
    (CorrelationScore(center=False, stop=4), "regression", None),
    (CorrelationScore(stop=4), "classes", None),
    (FisherScore(stop=3), "classes", None),
    (FisherScore(stop=3, form="unbiased"), "two classes", None),
    (MaxVariance(stop=3), "regression", 1),
    (MaxVariance(stop=2, groups=np.arange(12) // 3), "regression", None),
    (Lasso(stop=3), "regression", 1),
    (Lasso(cv=3), "regression", None),
    (ElasticNet(stop=3), "regression", None),
    (GroupLasso(stop=2, groups=np.arange(12) // 2), "regression", None),
    (SparseGroupLasso(stop=2, groups=np.arange(12) // 2), "regression", None),
    (GroupLasso(stop=2, groups=np.arange(12) // 2, loss="squared"), "two classes", None),
    (GreedyReconstruction(stop=4), "regression", 1),
    (FeatureMedoids(stop=4), "regression", 1),
    (PivotedQR(stop=4), "regression", 1),
    (PCALeverage(stop=4), "regression", 1),
]


@pytest.mark.parametrize(("ranker", "task", "n_passes"), RANKERS, ids=[f"{r!r}, {t}" for r, t, _ in RANKERS])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_give_what_rows_in_memory_give(ranker, task, n_passes, weighted):
    X, y = a_table(task)
    weight = np.random.RandomState(1).randint(0, 4, len(X)).astype(float)
    given = {"sample_weight": weight} if weighted and isinstance(ranker, GramSchmidt | CorrelationScore) else {}
    ranker.fit(X, y, **given)
    order, scores, support, reason = ranker.order_, ranker.scores_, ranker.support_, ranker.stop_.reason
    table = blocks(X)
    ranker.fit(table, y, **given)
    np.testing.assert_array_equal(ranker.order_, order)
    np.testing.assert_allclose(ranker.scores_, scores, rtol=1e-6, atol=1e-9 * np.nanmax(np.abs(scores)))
    np.testing.assert_array_equal(ranker.support_, support)
    assert ranker.stop_.reason.replace("column ", "x") == reason
    assert ranker.get_feature_names_out().tolist() == [NAMES[j] for j in np.flatnonzero(support)]
    assert ranker.n_features_in_ == 12
    if n_passes is not None:  # one more may be needed where columns are dependent: these are
        assert table.n_passes <= n_passes + 1


def test_the_model_of_blocks_is_that_of_rows():
    X, y = a_table()
    in_memory, in_blocks = GramSchmidt(stop=3).fit(X, y), GramSchmidt(stop=3).fit(blocks(X), y)
    kept = in_memory.transform(X[:50])
    np.testing.assert_allclose(in_blocks.estimator_.predict(kept), in_memory.estimator_.predict(kept), rtol=1e-9)
    for one, other in zip(in_memory.path_, in_blocks.path_, strict=True):
        assert one.info["press"] == pytest.approx(other.info["press"], rel=1e-9)


@pytest.mark.parametrize("method", [CorrelationScore, FisherScore])
def test_a_probe_permutes_within_blocks_and_keeps_what_it_keeps_in_memory(method):
    X, y = a_table("two classes")
    X = np.delete(X, 7, axis=1)
    in_memory, in_blocks = method().fit(X, y), method().fit(ListBlocks(X, CUTS), y)
    assert in_blocks.order_[:2].tolist() == in_memory.order_[:2].tolist() == [0, 3]
    assert in_blocks.support_[[0, 3]].all()
    assert "permuted copies" in in_blocks.stop_.reason


@pytest.mark.parametrize("fdr", [None, 0.1])
def test_a_probe_in_blocks_keeps_noise_no_more_often_than_its_risk(fdr):
    kept = 0
    for seed in range(60):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_t(3, size=(90, 8)), rng.standard_t(3, size=90)
        rule = MonteCarloProbe(0.1, fdr=fdr, n_draws=19, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingKeptWarning)
            kept += CorrelationScore(stop=rule).fit(ListBlocks(X, [40]), y).n_features_ > 0
    assert kept <= 6 + 3 * np.sqrt(60 * 0.1 * 0.9)


@pytest.mark.parametrize("groups", [None, np.arange(8) // 2])
def test_permuted_residuals_in_blocks_hold_the_risk_where_tails_are_heavy(groups):
    n_kept, found = 0, 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_cauchy((120, 8)), rng.standard_cauchy(120)
        rule = Probe(0.1, null="permutation", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingKeptWarning)
            n_kept += GramSchmidt(stop=rule, groups=groups).fit(ListBlocks(X, [50]), y).n_features_ > 0
        y = X[:, 2] + 0.1 * y
        found += bool(GramSchmidt(stop=rule, groups=groups).fit(ListBlocks(X, [50]), y).support_[2])
    assert n_kept <= 4 + 3 * np.sqrt(40 * 0.1 * 0.9)
    assert found >= 35


def test_permuting_within_one_block_is_permuting_all_rows():
    rng = np.random.RandomState(0)
    X, y = rng.standard_cauchy((400, 6)), rng.standard_cauchy(400)
    y += X[:, 1]
    rule = Probe(0.05, null="permutation", n_draws=199)
    in_memory, in_blocks = GramSchmidt(stop=rule).fit(X, y), GramSchmidt(stop=rule).fit(ListBlocks(X), y)
    n = in_memory.n_features_
    assert in_blocks.n_features_ == n
    np.testing.assert_allclose(in_blocks.stop_.curve[: n + 1], in_memory.stop_.curve[: n + 1], atol=0.12)


@pytest.mark.parametrize(
    ("rule", "n_seen"), [(FITPlateau(), 1000), (FITPlateau(max_samples=1500), 1500), (IntrinsicDimension(), 2000)]
)
def test_rules_that_compare_rows_see_a_sample_and_say_so(rule, n_seen):
    X, _ = a_table()
    found = MaxVariance(stop=rule).fit(blocks(X))
    assert f"(on {n_seen} of 3000 rows)" in found.stop_.reason
    assert found.n_features_ >= 1


def test_the_plateau_is_that_of_the_same_rows_in_memory_where_all_are_seen():
    X, _ = a_table(n=900)
    in_memory, in_blocks = (MaxVariance(stop=FITPlateau()).fit(each) for each in (X, ListBlocks(X, [400])))
    assert in_blocks.n_features_ == in_memory.n_features_
    np.testing.assert_allclose(in_blocks.stop_.curve, in_memory.stop_.curve, rtol=1e-9)
    assert "rows)" not in in_blocks.stop_.reason


@pytest.mark.parametrize("cv", [None, [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]])
@pytest.mark.parametrize("grouped", [False, True])
def test_rows_of_weight_zero_do_not_count_in_folds(cv, grouped):
    rng = np.random.RandomState(1)
    X = rng.standard_normal((200, 12))
    y = X[:, 0] + 0.3 * X[:, 1] + rng.standard_normal(200)
    weight = np.where(np.arange(200) % 20, 1.0, 0.0)
    groups = np.arange(200) // 7 if grouped and cv is None else None
    in_memory, in_blocks = (
        Lasso(cv=cv).fit(each, y, sample_weight=weight, row_groups=groups) for each in (X, ListBlocks(X, [50]))
    )
    assert in_blocks.alpha_ == pytest.approx(in_memory.alpha_, rel=1e-8)
    assert in_blocks.n_features_ == in_memory.n_features_


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_without_an_intercept_columns_far_from_zero_have_the_shape_of_the_rows(offset):
    for seed in range(10):
        rng = np.random.RandomState(seed)
        X = rng.standard_normal((300, 5))
        X[:, 4] += offset
        y = 0.12 * X[:, 0] + X[:, 1] + rng.standard_normal(300) + 0.13 * X[:, 4] / offset
        in_memory, in_blocks = (GramSchmidt(fit_intercept=False).fit(each, y) for each in (X, ListBlocks(X, [70])))
        assert in_blocks.stop_.reason == in_memory.stop_.reason


def test_advice_on_rules_can_be_followed():
    X, y = a_table()
    with pytest.raises(ValueError, match=r"CrossValidation needs the rows in memory.*; use a number of features"):
        RFE("ridge", stop=CrossValidation()).fit(blocks(X), y)
    with pytest.raises(ValueError, match=r"Probe, FisherTest, LeaveOneOut\) or a number of features"):
        GramSchmidt(stop=CrossValidation()).fit(blocks(X), y)


@pytest.mark.parametrize("call", [TwoNN().fit, lambda X: fit_score(X, [0])])
def test_what_needs_rows_in_memory_says_so(call):
    with pytest.raises(ValueError, match="needs rows in memory here, and X is read in blocks"):
        call(blocks(a_table()[0]))


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (ReliefF(), "ReliefF needs all rows in memory, and X is read in blocks.*GramSchmidt"),
        (GramSchmidt(stop="cross-validation"), "CrossValidation needs the rows in memory"),
        (GramSchmidt(stop=MonteCarloProbe()), "GramSchmidt ranks permuted copies among the features"),
        (CorrelationScore(stop=MonteCarloProbe(conditional=True)), "conditional=True needs the rows"),
        (CorrelationScore(groups=np.arange(12) // 2), "copies of groups of columns need the rows"),
        (GramSchmidt(dictionary=Monomials(2)), "dictionary computes features of rows in memory"),
        (FisherScore(form="unbiased"), "form='unbiased' has no probe"),
        (GramSchmidt(multiclass="ovr"), "multiclass='ovr' sets rows apart"),
        (GroupLasso(), "this loss needs all rows in memory"),
        (Lasso(class_weight="balanced"), "rows cannot be set apart"),
    ],
)
def test_what_needs_rows_is_refused_with_what_to_do(ranker, message):
    X, y = a_table("two classes" if isinstance(ranker, FisherScore) else "classes")
    with pytest.raises(ValueError, match=message):
        ranker.fit(blocks(X), y)


def test_weights_are_refused_where_copies_are_permuted():
    X, y = a_table()
    with pytest.raises(ValueError, match="rows with weights are permuted in memory only"):
        CorrelationScore().fit(blocks(X), y, sample_weight=np.ones(len(X)))


def test_missing_and_infinite_entries_are_refused_by_name():
    X, y = a_table()
    X[[5, 2000], 2], X[7, 4] = np.nan, np.inf
    for ranker in (GramSchmidt(), CorrelationScore(), FisherScore(), MaxVariance()):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="column 'column 2' holds 2 missing values"):
            ranker.fit(blocks(X), (y > np.median(y)).astype(int))


def test_targets_of_another_length_or_none_are_refused():
    X, y = a_table()
    with pytest.raises(ValueError, match="3000 rows, but y has 2999"):
        GramSchmidt().fit(blocks(X), y[1:])
    with pytest.raises(ValueError, match="requires y"):
        GramSchmidt().fit(blocks(X), None)
    with pytest.raises(ValueError, match="at least 2 and 1 are needed"):
        GramSchmidt().fit(ListBlocks(X[:1]), y[:1])


def test_nothing_kept_is_said_with_a_look_at_some_rows():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((3000, 12))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NothingKeptWarning)
        GramSchmidt().fit(blocks(X), np.abs(X[:, 4]))
    assert "A forest on a sample of the rows does see something (first 'column 4'" in str(caught[0].message)


def test_methods_that_take_blocks_are_those_that_the_error_names():
    import tamis
    from tamis.base import Ranker

    public = [getattr(tamis, name) for name in tamis.__all__]
    provides = {each.__name__: each.provides for each in public if isinstance(each, type) and issubclass(each, Ranker)}
    declared = {name: what for name, what in provides.items() if isinstance(what, frozenset)}
    assert sorted(name for name, what in declared.items() if "row_blocks" in what) == list(TAKE_ROW_BLOCKS)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_taken_from_all_blocks_in_one_pass(order):
    X = np.asarray(a_table()[0], order=order)
    table, rows = blocks(X), np.array([0, 699, 700, 1500, 2999])
    np.testing.assert_array_equal(table.take_rows(rows), X[rows])
    np.testing.assert_array_equal(table.take_rows(rows[1:2], np.array([5, 2])), X[699:700][:, [5, 2]])
    assert table.n_passes == 2
    assert table.take_rows(rows).flags.c_contiguous


def test_passes_report_how_far_they_are():
    X, y = a_table()
    table, seen = blocks(X), []

    def watch(parts, total, purpose):
        seen.append(purpose)
        return parts

    table.watch = watch
    table.sum(lambda block: (block.sum(axis=0),), purpose="sums")
    assert seen == ["sums"]
    GramSchmidt(stop=2).fit(table, y)
    assert table.watch is watch  # as it was before
