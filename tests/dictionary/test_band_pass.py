"""Powers in bands are those of filtered signals, and the space of bands holds bands only."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tamis.dictionary import BandPass
from tests.oracles import csp as oracle

SFREQ = 250.0


def noise(n=6, channels=3, times=500, seed=0):
    return np.random.RandomState(seed).standard_normal((n, channels, times)).cumsum(axis=-1)


def sines(*frequencies, times=500):
    return np.cos(2 * np.pi * np.array(frequencies)[:, None] * (np.arange(times) + 0.5) / SFREQ)


@pytest.mark.parametrize("taper", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("times", [500, 377])
def test_powers_are_mean_squares_of_signals_filtered_in_time(taper, times):
    signals, bands = noise(times=times), np.array([[8.0, 30.0], [9.3, 12.1], [20.0, 22.0]])
    found = BandPass(SFREQ, taper=taper, log=False).fit(signals)
    expected = [
        [(oracle.filtered(trial, SFREQ, low, high, 1.0, taper) ** 2).mean(axis=-1) for low, high in bands]
        for trial in signals
    ]
    np.testing.assert_allclose(found.compute(found.prepare(signals), bands), np.reshape(expected, (6, -1)))
    logs = clone(found).set_params(log=True).fit(signals)
    np.testing.assert_allclose(logs.compute(logs.prepare(signals), bands), np.log(np.reshape(expected, (6, -1))))


def test_a_sine_is_heard_inside_of_the_band_and_not_outside():
    signals = sines(6.0, 9.0, 15.0, 29.0, 33.0)
    bands = BandPass(SFREQ, log=False, taper=0.2).fit(signals)
    power = bands.compute(bands.prepare(signals), np.array([[8.0, 30.0], [13.0, 17.0], [9.0, 11.0]]))
    np.testing.assert_allclose(power[[1, 2, 3], 0], 0.5, rtol=0.05)
    assert power[[0, 4], 0].max() < 1e-2
    np.testing.assert_allclose(power[2, 1], 0.5, rtol=0.05)
    assert power[[0, 1, 3, 4], 1].max() < 1e-2
    np.testing.assert_allclose(power[1, 2], 0.25, rtol=0.1)  # an edge is where half of the power passes


def test_a_line_does_not_leak_into_the_band_and_a_slow_wave_little():
    times = np.arange(500) / SFREQ
    slow = np.stack([100.0 + 50.0 * times, 20.0 * np.sin(2 * np.pi * 1.3 * times + 1.0)])
    leaks = []
    for taper in (0.0, 0.1):
        bands = BandPass(SFREQ, log=False, taper=taper).fit(slow)
        leaks.append(bands.compute(bands.prepare(slow), np.array([[8.0, 30.0]]))[:, 0])
    assert max(leaks[0][0], leaks[1][0]) < 1e-20
    assert leaks[1][1] < 1e-3 * np.var(slow[1])
    assert leaks[1][1] < 0.2 * leaks[0][1]


def test_adjacent_bands_add_up_to_their_union():
    signals = noise()
    bands = BandPass(SFREQ, log=False).fit(signals)
    left, right, whole = (
        bands.compute(bands.prepare(signals), np.array([[8, 13.3], [13.3, 30], [8, 30.0]]))
        .reshape(6, 3, 3)
        .swapaxes(0, 1)
    )
    np.testing.assert_allclose(left + right, whole)


def test_features_are_continuous_in_the_edges():
    signals = noise()
    bands = BandPass(SFREQ).fit(signals)
    prepared = bands.prepare(signals)
    edges = np.linspace(9.0, 12.0, 3001)
    for column in (0, 1):
        parameters = np.tile([8.5, 20.0], (edges.size, 1))
        parameters[:, column] = edges + 6.0 * column
        steps = np.diff(bands.compute(prepared, parameters).reshape(6, -1, 3), axis=1)
        assert np.abs(steps).max() < 0.02  # a step is 0.001 Hz, a thousandth of the transition


def test_a_band_is_the_same_alone_and_among_others():
    signals, rng = noise(), np.random.RandomState(1)
    bands = BandPass(SFREQ).fit(signals)
    prepared, parameters = bands.prepare(signals), bands.sample(40, rng)
    alone = np.hstack([bands.compute(prepared, row[None]) for row in parameters])
    np.testing.assert_allclose(bands.compute(prepared, parameters), alone, rtol=1e-10)
    np.testing.assert_allclose(bands.prepare(signals[2:3]), prepared[2:3])


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.5, 22.0),
    st.one_of(st.none(), st.floats(0.0, 25.0)),
    st.lists(st.tuples(st.floats(-2, 3), st.floats(-2, 3)), min_size=1, max_size=8),
    st.integers(0, 1000),
)
def test_every_band_of_the_space_is_a_band(min_width, more, points, seed):
    max_width = None if more is None else min_width + more
    bands = BandPass(SFREQ, min_width=min_width, max_width=max_width)
    drawn = bands.sample(50, np.random.RandomState(seed))
    brought = bands.from_unit(np.array(points))
    grid = bands.grid(81)
    for found in (drawn, brought, grid, bands.grid(1)):
        width = found[:, 1] - found[:, 0]
        assert found.min() >= 8.0
        assert found.max() <= 30.0 + 1e-9
        assert width.min() >= min_width - 1e-9
        assert max_width is None or width.max() <= max_width + 1e-9
        np.testing.assert_allclose(bands.from_unit(bands.to_unit(found)), found, atol=1e-9)
        np.testing.assert_allclose(bands.clip(found), found, atol=1e-9)
    assert 1 <= len(grid) <= 81


def test_bands_are_drawn_evenly():
    bands = BandPass(SFREQ, min_width=2.0, max_width=12.0)
    drawn = bands.sample(20000, np.random.RandomState(0))
    rng = np.random.RandomState(1)
    tried = rng.uniform(8.0, 30.0, size=(200000, 2))
    width = tried[:, 1] - tried[:, 0]
    even = tried[(width >= 2.0) & (width <= 12.0)]
    for direction in ([1, 0], [0, 1], [-1, 1]):
        found, expected = (np.quantile(bands @ direction, [0.1, 0.5, 0.9]) for bands in (drawn, even))
        np.testing.assert_allclose(found, expected, atol=0.25)


def test_a_grid_holds_the_widest_band_and_regular_edges():
    bands = BandPass(SFREQ, min_width=20.0)
    np.testing.assert_allclose(bands.grid(1), [[8.0, 30.0]])
    np.testing.assert_allclose(bands.grid(6), [[8, 28], [8, 29], [8, 30], [9, 29], [9, 30], [10, 30]])
    np.testing.assert_allclose(BandPass(SFREQ, min_width=22.0).sample(3, np.random.RandomState(0)), [[8.0, 30.0]] * 3)


def test_names_tell_band_and_channel():
    bands = BandPass(SFREQ).fit(noise())
    parameters = np.array([[9.8, 13.2]])
    assert list(bands.names(parameters)) == [f"band 9.8-13.2 Hz channel {c}" for c in range(3)]
    assert bands.names(parameters, ["C3", "Cz", "C4"])[2] == "band 9.8-13.2 Hz C4"
    single = BandPass(SFREQ).fit(noise()[:, 0])
    assert list(single.names(parameters)) == ["band 9.8-13.2 Hz"]


def test_atoms_are_gains_at_frequencies():
    bands = BandPass(SFREQ, transition=2.0).fit(noise())
    frequencies, gains = bands.atoms(np.array([[10.0, 20.0]]))
    expected = [oracle.gain(f, 10.0, 20.0, 2.0) for f in frequencies]
    np.testing.assert_allclose(gains[0], expected, atol=1e-12)
    assert frequencies[0] > 7.0
    assert frequencies[-1] < 31.0


def test_a_single_channel_may_come_without_its_axis():
    signals = noise(channels=1)
    flat = BandPass(SFREQ).fit(signals[:, 0])
    bands = np.array([[8.0, 12.0]])
    full = BandPass(SFREQ).fit(signals)
    np.testing.assert_array_equal(
        flat.compute(flat.prepare(signals[:, 0]), bands), full.compute(full.prepare(signals), bands)
    )


def test_a_flat_channel_has_a_finite_power():
    signals = noise()
    signals[2, 1] = 5.0
    bands = BandPass(SFREQ).fit(signals)
    assert np.isfinite(bands.compute(bands.prepare(signals), bands.grid(10))).all()
    silent = BandPass(SFREQ).fit(np.zeros((2, 3, 500)))
    assert np.isfinite(silent.compute(silent.prepare(np.zeros((2, 3, 500))), silent.grid(10))).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tensors_give_tensors_of_the_same_numbers(dtype):
    signals = noise().astype(dtype)
    bands = BandPass(SFREQ).fit(signals)
    tensor = torch.asarray(signals)
    other = BandPass(SFREQ).fit(tensor)
    parameters = bands.sample(7, np.random.RandomState(0))
    found = other.compute(other.prepare(tensor), parameters)
    assert isinstance(found, torch.Tensor)
    assert found.dtype == tensor.dtype
    np.testing.assert_allclose(
        found.numpy(), bands.compute(bands.prepare(signals), parameters), rtol=1e-3 if dtype == "float32" else 1e-9
    )


def test_whole_numbers_and_lists_are_signals():
    signals = (100 * noise()).astype(np.int16)
    bands = BandPass(SFREQ).fit(signals)
    np.testing.assert_array_equal(bands.prepare(signals.tolist()), bands.prepare(signals.astype(float)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"band": (30.0, 8.0)}, "band=.*lower and a higher"),
        ({"band": (8.0, 200.0)}, "beyond 125 Hz, half of sfreq"),
        ({"min_width": 25.0}, "min_width=25 Hz does not fit"),
        ({"min_width": 4.0, "max_width": 3.0}, "max_width=3 is less than"),
        ({"transition": 0.0}, "transition"),
        ({"min_width": 0.2}, "give at least 1250 times or raise min_width"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        BandPass(SFREQ, **arguments).fit(noise())


def test_bad_signals_are_named():
    bands, signals = BandPass(SFREQ).fit(noise()), noise()
    with pytest.raises(ValueError, match="not \\(500,\\)"):
        BandPass(SFREQ).fit(signals[0, 0])
    with pytest.raises(ValueError, match="2 channels and 500 times, and those of fit had 3 and 500"):
        bands.prepare(signals[:, :2])
    with pytest.raises(ValueError, match="hold nothing"):
        bands.prepare(signals[:0])
    with pytest.raises(ValueError, match="real numbers"):
        bands.prepare(signals.astype(complex))
    signals[4, 1, 7] = np.nan
    with pytest.raises(ValueError, match="signal 4 holds NaN"):
        bands.prepare(signals)


def test_names_of_other_channels_are_refused():
    signals = np.random.RandomState(0).standard_normal((4, 3, 200))
    dictionary = BandPass(100.0).fit(signals)
    with pytest.raises(ValueError, match="names 2 channels, and there are 3"):
        dictionary.names(np.array([[9.0, 12.0]]), ["C3", "Cz"])
