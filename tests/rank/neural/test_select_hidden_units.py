"""The number of hidden units by the random probe, and the network that it trains."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis.datasets import make_sigmoid_network
from tamis.rank.neural import select_hidden_units
from tamis.rank.neural._sigmoid_network import (
    SigmoidNetwork,
    Trainer,
    draw_units,
    draw_useful_unit,
    orthonormal_basis,
    train,
)
from tamis.rank.neural._unit_probe import chance_on_held_out_rows, chance_on_training_rows

WAYS = ("destructive", "constructive")


def small_process(seed, noise, n_samples=600, n_hidden=3):
    """A process whose units are all loud."""
    X, _ = make_sigmoid_network(n_samples, n_inputs=4, n_irrelevant=0, potential_std=2.0, random_state=seed)
    rng = np.random.default_rng(seed)
    W = 1.5 * np.linalg.qr(rng.standard_normal((4, 4)))[0][:n_hidden] / X.std()
    output = np.array([1.0, -0.7, 0.8])[:n_hidden]
    return X, 2.0 + np.tanh(X @ W.T + 0.3) @ output + noise * rng.standard_normal(n_samples)


def random_network(rng, n_hidden=3, n_features=4):
    V = draw_units(n_hidden, n_features, rng)
    return SigmoidNetwork(V[:, :-1], V[:, -1], rng.standard_normal(n_hidden), 0.3)


# --- the network ----------------------------------------------------------------------------------------------------


def test_the_tangent_holds_the_derivatives_by_every_weight():
    rng = np.random.RandomState(0)
    network, X, step = random_network(rng), rng.standard_normal((7, 4)), 1e-6

    def moved(k, by):
        flat = np.concatenate([[network.output_bias], network.output_weights, network.units.ravel()])
        flat[k] += by
        V = flat[4:].reshape(3, 5)
        return SigmoidNetwork(V[:, :-1], V[:, -1], flat[1:4], flat[0]).predict(X)

    expected = [(moved(k, step) - moved(k, -step)) / (2 * step) for k in range(1 + 3 + 15)]
    np.testing.assert_allclose(network.tangent(X), np.transpose(expected), atol=1e-8)


def test_a_rescaled_network_is_the_same_function_of_raw_data():
    rng = np.random.RandomState(1)
    network, X = random_network(rng), rng.standard_normal((20, 4))
    mean, scale = rng.standard_normal(4), rng.uniform(0.1, 10, 4)
    raw = network.rescaled(mean, scale, 5.0, 3.0)
    np.testing.assert_allclose(raw.predict(X * scale + mean), 5.0 + 3.0 * network.predict(X), rtol=1e-12)


def test_training_recovers_a_noiseless_network_to_rounding_and_its_weights_too():
    rng = np.random.RandomState(2)
    true, X = random_network(rng), rng.standard_normal((300, 4))
    y = true.predict(X)
    trained = Trainer(X, y, 10, 500, 1e-4, rng).from_random_units(3)
    assert trained.converged
    assert trained.error < 1e-12
    sign = np.sign(trained.network.output_weights)[:, None]
    distances = np.abs((trained.network.units * sign)[:, None] - (true.units * np.sign(true.output_weights)[:, None]))
    assert np.all(distances.max(axis=2).min(axis=0) < 1e-9)


def test_training_never_ends_above_the_best_output_layer_for_its_start_and_its_slope_is_zero():
    rng = np.random.RandomState(3)
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    V = draw_units(2, 3, rng)
    start = train(X, y, V, max_iter=0, tol=1e-4)
    A = np.column_stack([np.ones(100), np.tanh(X @ V[:, :-1].T + V[:, -1])])
    output, sse = np.linalg.lstsq(A, y)[:2]
    np.testing.assert_allclose([start.network.output_bias, *start.network.output_weights], output, rtol=1e-9)
    assert start.error == pytest.approx(np.sqrt(sse[0] / 100))
    end = train(X, y, V, max_iter=2000, tol=1e-12)
    assert end.error < start.error
    slope = end.network.tangent(X).T @ (y - end.network.predict(X))
    assert np.abs(slope).max() < 1e-3


def test_dependent_units_and_constant_columns_do_not_stop_a_training():
    rng = np.random.RandomState(4)
    X = np.column_stack([rng.standard_normal((80, 2)), np.zeros(80)])
    V = draw_units(1, 3, rng)
    trained = train(X, np.tanh(X[:, 0]), np.vstack([V, V, 1e3 * V]), max_iter=200, tol=1e-4)
    assert np.isfinite(trained.error)
    assert trained.error < 1e-2


def test_a_basis_spans_columns_of_any_scale_and_drops_dependent_ones():
    rng = np.random.default_rng(5)
    columns = rng.standard_normal((30, 3)) * [1e-9, 1.0, 1e9]
    basis = orthonormal_basis(np.column_stack([columns, columns @ [1e9, 1.0, 0.0], np.zeros(30)]))
    assert basis.shape == (30, 3)
    np.testing.assert_allclose(basis @ (basis.T @ columns), columns, rtol=1e-6, atol=1e-12)


def test_the_unit_to_start_from_explains_more_than_most_random_ones():
    rng = np.random.RandomState(6)
    X = rng.standard_normal((500, 3))
    y = np.tanh(2 * X[:, 0] - X[:, 1])
    empty = train(X, y, np.zeros((0, 4)), max_iter=1, tol=0.0).network
    unit = draw_useful_unit(empty, X, y, rng)
    assert np.corrcoef(np.tanh(X @ unit[:-1] + unit[-1]), y)[0, 1] ** 2 > 0.8


# --- the probe ------------------------------------------------------------------------------------------------------


def test_a_unit_that_a_smaller_network_lacks_matters_and_one_that_it_has_does_not():
    rng = np.random.RandomState(0)
    larger, X = random_network(rng), 2 * rng.standard_normal((400, 4))
    smaller = SigmoidNetwork(larger.hidden_weights[:2], larger.hidden_bias[:2], larger.output_weights[:2], 0.3)
    y = larger.predict(X) + 0.05 * rng.standard_normal(400)
    assert chance_on_held_out_rows(larger, smaller, X, y) < 1e-10
    assert chance_on_held_out_rows(smaller, smaller, X, y) == 1.0
    away = SigmoidNetwork(larger.hidden_weights, larger.hidden_bias, -larger.output_weights, 0.3)
    constant = SigmoidNetwork(np.zeros((0, 4)), np.zeros(0), np.zeros(0), 0.3)
    assert chance_on_held_out_rows(away, constant, X, y) == 1.0


def test_more_weights_than_rows_leave_nothing_to_judge():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((8, 4)), rng.standard_normal(8)
    assert chance_on_held_out_rows(random_network(rng, 3), random_network(rng, 2), X, y) == 1.0


@pytest.mark.parametrize("n_true", [0, 1])
def test_held_out_rows_keep_a_needless_unit_no_more_often_than_the_risk(n_true):
    n_draws, risk, kept = 40, 0.1, 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 2))
        y = n_true * 2 * np.tanh(1.5 * X[:, 0] + X[:, 1]) + rng.standard_normal(300)
        found = select_hidden_units(
            X, y, n_hidden=n_true + 1, direction="constructive", risk=risk, n_starts=2, random_state=seed
        )
        kept += found.n_hidden > n_true
    assert kept / n_draws <= risk + 3 * np.sqrt(risk * (1 - risk) / n_draws)


def test_on_the_rows_that_trained_it_a_needless_unit_beats_the_published_probe():
    kept = []
    for seed in range(20):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((300, 8)), rng.standard_normal(300)
        unit = Trainer(X, y, 2, 200, 1e-4, rng).from_random_units(1).network
        chances = [chance_on_training_rows(unit, X, y, rule) for rule in ("none", "best-of-remaining")]
        assert chances[0] == pytest.approx(chances[1])  # a single candidate: the best of one
        kept.append(chances[0] <= 0.05)
    assert np.mean(kept) > 0.8


def test_a_repeated_unit_is_irrelevant_by_every_rule():
    rng = np.random.RandomState(0)
    one, X = random_network(rng, 1), rng.standard_normal((50, 4))
    twice = SigmoidNetwork(
        np.repeat(one.hidden_weights, 2, 0), np.repeat(one.hidden_bias, 2), np.array([1.0, 1.0]), 0.0
    )
    y = twice.predict(X) + 0.1 * rng.standard_normal(50)
    for rule in ("none", "best-of-remaining"):
        assert chance_on_training_rows(twice, X, y, rule) == 1.0


# --- the choice -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("noise", [1e-10, 0.05])
def test_the_units_of_a_small_process_are_found_down_to_its_noise(way, noise):
    found = [
        select_hidden_units(*small_process(seed, noise), n_hidden=6, direction=way, random_state=seed)
        for seed in range(3)
    ]
    assert [one.n_hidden for one in found] == [3, 3, 3]
    for seed, one in enumerate(found):
        X, y = small_process(seed, noise)
        assert one.error == pytest.approx(noise, rel=0.15)
        assert np.sqrt(np.mean((y - one.predict(X)) ** 2)) == pytest.approx(one.error, rel=1e-4)
        assert one.converged


def test_the_paths_of_both_ways_hold_the_rounds_and_their_chances():
    X, y = small_process(0, 0.05)
    down = select_hidden_units(X, y, n_hidden=5, random_state=0)
    assert [one.n_hidden for one in down.path] == [5, 4, 3]
    assert [one.chance > 0.05 for one in down.path] == [True, True, False]
    assert down.reason == "each of the 3 units matters at a risk of 0.05"
    up = select_hidden_units(X, y, n_hidden=5, direction="constructive", random_state=0)
    assert [one.n_hidden for one in up.path] == [1, 2, 3, 4]
    assert [one.chance > 0.05 for one in up.path] == [False, False, False, True]
    assert "of 4 units one would beat a random vector" in up.reason
    assert np.all(np.diff([one.error for one in up.path]) < 0)


@pytest.mark.parametrize("way", WAYS)
def test_the_rules_on_training_rows_keep_at_least_the_true_units(way):
    X, y = small_process(0, 0.05)
    for correction in ("none", "best-of-remaining"):
        found = select_hidden_units(X, y, n_hidden=4, direction=way, correction=correction, random_state=0)
        assert found.n_hidden >= 3


@pytest.mark.parametrize("way", WAYS)
def test_noise_needs_no_unit_and_units_of_the_data_do_not_matter(way):
    rng = np.random.default_rng(0)
    noise = select_hidden_units(rng.standard_normal((200, 3)), rng.standard_normal(200), direction=way, random_state=1)
    assert noise.n_hidden == 0
    assert noise.network.hidden_weights.shape == (0, 3)
    X, y = small_process(1, 0.05)
    plain = select_hidden_units(X, y, n_hidden=4, direction=way, random_state=0)
    scaled = select_hidden_units(X * [1e3, 1, 1e-3, 1] + 7, 100 * y - 5, n_hidden=4, direction=way, random_state=0)
    assert scaled.n_hidden == plain.n_hidden
    assert scaled.error == pytest.approx(100 * plain.error, rel=1e-3)


def test_the_same_seed_gives_the_same_network_and_data_frames_do():
    X, y = small_process(0, 0.05, n_samples=200)
    one, same = (select_hidden_units(X, y, n_hidden=4, random_state=3) for _ in range(2))
    frame = select_hidden_units(pd.DataFrame(X), pd.Series(y), n_hidden=4, random_state=3)
    np.testing.assert_array_equal(one.network.units, same.network.units)
    np.testing.assert_array_equal(one.network.units, frame.network.units)
    np.testing.assert_array_equal(one.predict(pd.DataFrame(X)), one.predict(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_samples", [2, 3, 30])
def test_few_rows_a_constant_target_and_constant_columns_are_no_trouble(way, n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 2))
    X[:, 1] = 5.0
    for y in (X[:, 0], np.full(n_samples, 3.0)):
        found = select_hidden_units(X, y, n_hidden=3, direction=way, random_state=0)
        assert found.n_hidden <= 3
        assert np.all(np.isfinite(found.predict(X)))
    assert found.n_hidden == 0
    np.testing.assert_allclose(found.predict(X), 3.0)


def test_bad_input_is_refused_in_words():
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20.0)
    with pytest.raises(ValueError, match="direction"):
        select_hidden_units(X, y, direction="backward")
    with pytest.raises(ValueError, match="n_hidden"):
        select_hidden_units(X, y, n_hidden=0)
    with pytest.raises(ValueError, match="y holds labels"):
        select_hidden_units(X, np.repeat(["a", "b"], 10))
    with pytest.raises(ValueError, match="20 rows, but y has 19"):
        select_hidden_units(X, y[1:])
    with pytest.raises(ValueError, match="column"):
        select_hidden_units(np.where(X > 1, np.nan, X), y)
    found = select_hidden_units(X, y, n_hidden=1, random_state=0)
    with pytest.raises(ValueError, match="3 columns, but the network has 2 inputs"):
        found.predict(np.zeros((4, 3)))


def test_a_training_cut_short_warns():
    X, y = small_process(0, 0.05, n_samples=200)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        found = select_hidden_units(X, y, n_hidden=3, max_iter=3, correction="none", random_state=0)
    assert not found.converged


def test_torch_is_not_needed():
    code = "import sys; import tamis.rank.neural as n; n.select_hidden_units; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("size", "target_size"), [(1e200, 1.0), (1e-200, 1.0), (1e300, 1.0), (1.0, 1e200), (1.0, 1e-200)]
)
def test_numbers_of_any_size_need_as_many_units(size, target_size):
    X, y = make_sigmoid_network(200, n_inputs=2, n_irrelevant=0, n_hidden=1, noise=0.1, random_state=0)
    plain = select_hidden_units(X, y, n_hidden=2, random_state=0)
    found = select_hidden_units(X * size, y * target_size, n_hidden=2, random_state=0)
    assert found.n_hidden == plain.n_hidden
    np.testing.assert_allclose(found.predict(X * size) / target_size, plain.predict(X), rtol=1e-6, atol=1e-6)


def test_weights_beyond_all_numbers_and_a_missing_target_are_refused():
    X, y = make_sigmoid_network(60, n_inputs=2, n_irrelevant=0, n_hidden=1, noise=0.1, random_state=0)
    with pytest.raises(ValueError, match="in the units of X and y"):
        select_hidden_units(X * 1e-310, y, n_hidden=1, random_state=0)
    with pytest.raises(ValueError, match="y is None"):
        select_hidden_units(X, None)
