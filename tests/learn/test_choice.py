"""The choice among configurations and its estimate agree with what is computed row by row."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from tamis.learn import _bias_corrected
from tamis.learn._bias_corrected import bootstrap_scores, draw_counts, summarize
from tamis.learn._choice import TOLERANCE, Rule, paired, support_with_few_rows, vote, voters
from tamis.learn._costs import Costs, Guard
from tamis.learn._metrics import METRICS, find_metric, guess_losses
from tamis.learn._permuted_targets import permute_groups
from tests.oracles.auto_selector import bias_corrected, choose, error_of_difference_of_areas

N_ROWS, N_CONFIGURATIONS = 40, 6


def draw(name, seed):
    """A target and losses of a few configurations, some much alike."""
    rng = np.random.default_rng(seed)
    if METRICS[name].task == "classification":
        y = np.r_[np.zeros(25, dtype=int), np.ones(15, dtype=int)]
        losses = (rng.random((N_ROWS, N_CONFIGURATIONS)) < np.linspace(0.35, 0.2, N_CONFIGURATIONS)).astype(float)
    else:
        y = rng.normal(size=N_ROWS)
        losses = rng.random((N_ROWS, N_CONFIGURATIONS)) * np.linspace(1.3, 1.0, N_CONFIGURATIONS)
    return y, losses


def rule(prefer, **given):
    is_all = np.zeros(N_CONFIGURATIONS, dtype=bool)
    is_all[-2:] = True
    return Rule(prefer, np.arange(N_CONFIGURATIONS), is_all, given.get("support"))


@pytest.mark.parametrize("name", ["balanced_accuracy", "accuracy", "r2"])
@pytest.mark.parametrize("prefer", ["accurate", "balanced", "small"])
def test_choice_on_samples_of_rows_is_that_of_the_definition(name, prefer):
    for seed in range(5):
        y, losses = draw(name, seed)
        counts = np.vstack([np.ones(N_ROWS), *draw_counts(N_ROWS, 20, None, np.random.RandomState(seed))])
        chosen = rule(prefer).choose(losses, METRICS[name].scales(y, counts), counts)
        for row, found in zip(counts, chosen, strict=True):
            rows = np.repeat(np.arange(N_ROWS), row.astype(int)).tolist()
            expected = choose(name, y.tolist(), losses, rows, TOLERANCE[prefer])
            if prefer == "accurate":  # of equally good ones the first, up to rounding
                expected = choose(name, y.tolist(), losses, rows, 0.0)
            assert found == expected


@pytest.mark.parametrize("name", ["balanced_accuracy", "r2"])
def test_estimate_is_that_of_the_definition(name):
    y, losses = draw(name, 0)
    metric, the_rule = METRICS[name], rule("balanced")
    found = bootstrap_scores(
        metric,
        y,
        lambda scales, counts: losses[:, the_rule.choose(losses, scales, counts)].T,
        judged=np.ones(N_ROWS, dtype=bool),
        n_draws=25,
        row_groups=None,
        rng=np.random.RandomState(3),
    )
    (counts,) = draw_counts(N_ROWS, 25, None, np.random.RandomState(3))
    samples = [np.repeat(np.arange(N_ROWS), row.astype(int)).tolist() for row in counts]
    np.testing.assert_allclose(found, bias_corrected(name, y.tolist(), losses, samples, 0.5), rtol=1e-12)


def test_estimate_of_the_best_of_many_guesses_is_near_chance_where_the_naive_score_is_not():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    losses = rng.integers(2, size=(200, 300)).astype(float)
    metric = METRICS["accuracy"]
    naive = float(metric.score(losses.mean(axis=0).min()))
    best = Rule("accurate", np.arange(300), np.zeros(300, dtype=bool), False)
    scores = bootstrap_scores(
        metric,
        y,
        lambda scales, counts: losses[:, best.choose(losses, scales, counts)].T,
        judged=np.ones(200, dtype=bool),
        n_draws=200,
        row_groups=None,
        rng=np.random.RandomState(0),
    )
    assert naive > 0.57
    assert abs(scores.mean() - 0.5) < 0.02


@pytest.mark.parametrize("n_rows", [60, 200])
def test_estimate_has_little_bias_and_its_interval_holds_the_true_score(n_rows):
    """Forty configurations of known risks, whose losses are correlated as those of models of one table are."""
    metric, best = METRICS["accuracy"], Rule("balanced", np.arange(40), np.zeros(40, dtype=bool), False)
    held, above, naive = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        risks = rng.uniform(0.2, 0.3, size=40)
        shared, own = rng.normal(size=(n_rows, 1)), rng.normal(size=(n_rows, 40))
        losses = (np.sqrt(0.5) * (shared + own) < norm.ppf(risks)).astype(float)
        counts, y = np.ones((1, n_rows)), np.zeros(n_rows, dtype=int)
        chosen = best.choose(losses, counts / n_rows, counts)[0]
        scores = bootstrap_scores(
            metric,
            y,
            lambda scales, counts, losses=losses: losses[:, best.choose(losses, scales, counts)].T,
            judged=np.ones(n_rows, dtype=bool),
            n_draws=200,
            row_groups=None,
            rng=np.random.RandomState(seed),
        )
        found = summarize(metric, y, scores, naive=1 - losses[:, chosen].mean(), chance=0.5, confidence=0.95)
        true = 1 - risks[chosen]
        held.append(found.low <= true <= found.high)
        above.append(found.value - true)
        naive.append(found.naive - true)
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 60)
    assert abs(np.mean(above)) < 3 * np.std(above) / np.sqrt(60) + 0.002
    assert np.mean(naive) > 3 * np.std(naive) / np.sqrt(60)


def test_area_of_the_best_of_many_guesses_is_near_one_half_on_rows_left_out():
    """Rows left out are paired with rows by which the choice was made: these must not help them."""
    metric, best = METRICS["roc_auc"], Rule("accurate", np.arange(100), np.zeros(100, dtype=bool), False)
    naive, corrected = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=150)
        losses = np.column_stack([metric.losses(y, decision) for decision in rng.normal(size=(100, 150))])
        naive.append(metric.score((metric.scales(y, np.ones((1, 150))) @ losses).min()))
        scores = bootstrap_scores(
            metric,
            y,
            lambda scales, counts, losses=losses: losses[:, best.choose(losses, scales, counts)].T,
            judged=np.ones(150, dtype=bool),
            n_draws=100,
            row_groups=None,
            rng=np.random.RandomState(seed),
        )
        corrected.append(scores.mean())
    assert np.mean(naive) > 0.58
    assert abs(np.mean(corrected) - 0.5) < 3 * np.std(corrected) / np.sqrt(10) + 0.01


def test_standard_error_of_a_difference_of_areas_is_that_of_delong():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.repeat([0, 1], [120, 80]))
    decisions = rng.normal(size=(200, 1)) + rng.normal(size=(200, 2)) + y[:, None] * np.array([1.5, 1.0])
    metric = METRICS["roc_auc"]
    losses = np.column_stack([metric.losses(y, decision) for decision in decisions.T])
    difference, error = paired(losses, metric.scales(y, np.ones((1, 200))), 1, 0)
    assert difference == pytest.approx(roc_auc_score(y, decisions[:, 0]) - roc_auc_score(y, decisions[:, 1]))
    assert error == pytest.approx(error_of_difference_of_areas(y, decisions), rel=0.03)


def test_an_area_is_never_above_one_nor_does_one_class_alone_tell_anything():
    metric = METRICS["roc_auc"]
    y = np.array([0, 0, 0, 1, 1, 1])
    losses = metric.losses(y, np.array([0.0, 1.0, 4.0, 3.0, 5.0, 6.0]))
    counts = np.array([[1.0, 1, 0, 0, 1, 1]])  # without the pair that is misplaced
    assert metric.score(metric.scales(y, counts) @ losses).tolist() == [1.0]
    assert metric.losses(np.ones(4, dtype=int), np.arange(4.0)).tolist() == [0.5] * 4


def test_rows_that_are_not_judged_do_not_enter_the_estimate():
    y, losses = draw("accuracy", 0)
    losses[:10] = 1.0
    judged = np.arange(N_ROWS) >= 10
    scores = bootstrap_scores(
        METRICS["accuracy"],
        y,
        lambda scales, counts: np.where(judged, 0.0, 1.0)[None, :].repeat(len(counts), axis=0),
        judged=judged,
        n_draws=10,
        row_groups=None,
        rng=np.random.RandomState(0),
    )
    assert scores.tolist() == [1.0] * 10


def test_groups_of_rows_are_drawn_together():
    groups = np.repeat(np.arange(8), 5)
    (counts,) = draw_counts(40, 30, groups, np.random.RandomState(0))
    assert (counts.reshape(30, 8, 5) == counts.reshape(30, 8, 5)[:, :, :1]).all()
    assert (counts[:, ::5].sum(axis=1) == 8).all()


def test_with_few_rows_all_features_stay_unless_fewer_are_clearly_better():
    rng = np.random.default_rng(0)
    losses = np.repeat((rng.random((N_ROWS, 1)) < 0.3).astype(float), N_CONFIGURATIONS, axis=1)
    wrong = np.flatnonzero(losses[:, 0])
    counts = np.ones((1, N_ROWS))
    few = rule("accurate", support=1.64)
    losses[wrong[:2], 0] = 0.0  # the first is right on two rows more: less than 1.64 standard errors
    assert rule("accurate").choose(losses, counts / N_ROWS, counts).tolist() == [0]
    assert few.choose(losses, counts / N_ROWS, counts).tolist() == [4]
    losses[wrong[:5], 0] = 0.0
    assert few.choose(losses, counts / N_ROWS, counts).tolist() == [0]


def test_support_that_fewer_features_need_grows_with_what_was_tried():
    assert support_with_few_rows("balanced", 100, 1) == pytest.approx(1.645, abs=1e-3)
    assert support_with_few_rows("accurate", 100, 500) == pytest.approx(norm.ppf(1 - 1e-4))
    assert support_with_few_rows("small", 100, 500) == 0
    assert support_with_few_rows("balanced", 150, 500) is None


def test_best_of_many_subsets_as_good_as_all_features_seldom_displaces_them():
    kept_all = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        losses = (rng.random((100, 300)) < 0.15).astype(float)  # all as good
        is_all, counts = np.arange(300) == 299, np.ones((1, 100))
        support = support_with_few_rows("balanced", 100, 300)
        chosen = Rule("balanced", np.arange(300), is_all, support).choose(losses, counts / 100, counts)
        kept_all.append(chosen[0] == 299)
    assert np.mean(kept_all) >= 0.85


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    ones = np.ones((1, 60))
    predicted = rng.integers(2, size=60)
    balanced, auc = METRICS["balanced_accuracy"], METRICS["roc_auc"]
    value = balanced.score(balanced.scales(y, ones) @ balanced.losses(y, predicted))[0]
    assert value == pytest.approx(balanced_accuracy_score(y, predicted))
    decision = np.round(y + rng.normal(size=60), 1)
    value = auc.score(auc.scales(y, ones) @ auc.losses(y, decision))[0]
    assert value == pytest.approx(roc_auc_score(y, decision))


@pytest.mark.parametrize("name", sorted(METRICS))
def test_guessing_scores_what_chance_gives(name):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300) if METRICS[name].task == "classification" else rng.normal(size=300)
    metric = METRICS[name]
    chance = metric.score(metric.scales(y, np.ones((1, 300))) @ guess_losses(metric, y))[0]
    usual = {"balanced_accuracy": 0.5, "roc_auc": 0.5, "r2": 0.0, "accuracy": max(np.mean(y), 1 - np.mean(y))}
    assert chance == pytest.approx(usual[name]) if name in usual else chance < 0


def test_unknown_scores_are_refused():
    with pytest.raises(ValueError, match="choose one of balanced_accuracy"):
        find_metric("r2", "classification", 2)


def test_votes_go_to_the_most_frequent_code_and_quantities_to_the_mean():
    assert vote(np.array([[0, 1, 1], [2, 0, 2], [0, 1, 2]]), "classification").tolist() == [1, 2, 0]
    assert vote(np.array([[0.0, 1.0], [2.0, 4.0]]), "regression").tolist() == [0.5, 3.0]
    assert voters(np.array([0.3, 0.1, 0.1, 0.2])).tolist() == [1, 2, 3, 0]


def test_costs_scale_with_rows_and_columns_from_the_nearest_fit():
    costs = Costs()
    assert costs.predict("svm", 100, 10, (2.0, 1.0)) is None
    costs.observe("svm", 100, 10, 1.0)
    assert costs.predict("svm", 200, 30, (2.0, 1.0)) == pytest.approx(12.0)
    assert costs.predict("svm", 100, 1, (2.0, 1.0)) == pytest.approx(10**-0.5)  # some work is that of rows
    costs.observe("svm", 200, 30, 5.0)
    assert costs.predict("svm", 200, 30, (2.0, 1.0)) == pytest.approx(5.0)


def test_once_time_is_up_a_hundred_bootstrap_samples_are_enough(monkeypatch):
    monkeypatch.setattr(_bias_corrected, "_BLOCK", 30 * 40)
    y, metric = np.arange(40) % 2, find_metric("accuracy", "classification", 2)
    losses = np.tile((np.arange(40) % 3 == 0).astype(float), (1000, 1))

    def scores(**given):
        return bootstrap_scores(
            metric,
            y,
            lambda scales, counts: losses[: len(counts)],
            judged=np.ones(40, dtype=bool),
            n_draws=200,
            row_groups=None,
            rng=np.random.RandomState(0),
            **given,
        )

    assert scores().size == 200
    np.testing.assert_array_equal(scores(has_time=lambda: False), scores()[:120])


def test_nothing_begins_that_would_not_end_in_time():
    now = [0.0]
    guard = Guard(10.0, lambda: now[0])
    assert guard.allows(5.0)
    assert guard.allows(None)
    now[0] = 6.0
    assert not guard.allows(5.0)
    now[0] = 10.0
    assert not guard.allows(None)


def test_targets_are_permuted_by_groups_of_rows():
    rng = np.random.RandomState(0)
    group = rng.permutation(np.repeat(np.arange(6), 4))
    seen = set()
    for _ in range(20):
        order = permute_groups(group, rng)
        assert sorted(order.tolist()) == list(range(24))
        given = {code: set(group[order[group == code]].tolist()) for code in range(6)}
        assert all(len(codes) == 1 for codes in given.values())
        seen.add(tuple(order.tolist()))
        for code in range(6):  # rows of a group stay in their sequence
            assert (np.diff(order[group == code]) > 0).all()
    assert len(seen) > 10
    assert sorted(permute_groups(np.array([0, 0, 0, 1, 2, 2]), rng).tolist()) == list(range(6))
    alone = permute_groups(np.arange(24), np.random.RandomState(3))
    assert sorted(alone.tolist()) == list(range(24))
    assert (alone != np.arange(24)).any()


def summary_of(y, losses, metric="accuracy", n_draws=300):
    """The estimate of a single configuration."""
    metric = METRICS[metric]
    scores = bootstrap_scores(
        metric,
        y,
        lambda scales, counts: np.tile(losses, (len(counts), 1)),
        judged=np.ones(y.size, dtype=bool),
        n_draws=n_draws,
        row_groups=None,
        rng=np.random.RandomState(0),
    )
    return summarize(metric, y, scores, naive=1 - losses.mean(), chance=0.5, confidence=0.95)


def test_without_a_single_error_the_interval_is_that_of_wilson():
    y = np.repeat([0, 1], 60)
    found = summary_of(y, np.zeros(120))
    assert found.value == found.high == 1.0
    np.testing.assert_allclose(found.low, least_share(120, 120))
    rare = np.repeat([0, 1], [110, 10])  # the rare class counts for half, and its ten rows tell little
    assert summary_of(rare, np.zeros(120), "balanced_accuracy").low < found.low


def least_share(n_right, n_rows):
    """Lower end of Wilson's interval by its definition: the share p of which n_right lies at the edge of chance."""
    z = norm.ppf(0.975)
    return brentq(lambda p: (n_right / n_rows - p) - z * np.sqrt(p * (1 - p) / n_rows), 1e-9, 1 - 1e-9)


@pytest.mark.parametrize("n_new", [20, 100, 1000])
def test_prediction_intervals_hold_scores_of_test_sets_as_often_as_they_say(n_new):
    rng = np.random.default_rng(n_new)
    held = []
    for _ in range(200):
        losses = (rng.random(150) < 0.2).astype(float)
        low, high = summary_of(np.zeros(150, dtype=int), losses).prediction_interval(n_new)
        held.append(low - 1e-12 <= 1 - rng.binomial(n_new, 0.2) / n_new <= high + 1e-12)
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 200)


def test_prediction_intervals_narrow_to_the_interval_with_more_rows_and_stay_below_the_best_score():
    y = np.repeat([0, 1], 60)
    found = summary_of(y, (np.arange(120) % 20 == 0).astype(float))
    few, many = found.prediction_interval(5), found.prediction_interval(10**9)
    assert few[0] < found.low
    assert few[1] == 1.0
    np.testing.assert_allclose(many, (found.low, found.high), rtol=1e-6)
    low, high = replace(found, metric="r2", value=0.3, low=0.35, high=0.6).prediction_interval(30)  # by heavy tails
    assert low < 0.25
    assert high > 0.6
    assert replace(found, value=0.6, low=0.5, high=0.7).prediction_interval(1)[0] == 0.0
    with pytest.raises(ValueError, match="n_rows=0 must be the number of rows of a test set"):
        found.prediction_interval(0)
    with pytest.raises(ValueError, match="with a target y only, not for fit"):
        replace(found, metric="fit").prediction_interval(10)
