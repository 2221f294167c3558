"""Gabor features are what loops over pixels say, know their wave, and do not care how they are computed."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis.datasets import load, names
from tamis.dictionary import Gabor
from tamis.dictionary._gabor_filters import evaluate_gabors, sum_responses
from tests.oracles import gabor as oracle

POOLINGS = ("modulus", "absolute")


def random_images(n=6, height=16, width=16, seed=0):
    return np.random.RandomState(seed).normal(size=(n, height, width))


def features(dictionary, images, parameters):
    return dictionary.compute(dictionary.prepare(images), parameters)


def grating(angle, frequency, size=32, phase=0.3):
    """A wave that goes toward the angle, counterclockwise from the right."""
    rows, columns = np.indices((size, size))
    return np.cos(2 * np.pi * frequency * (columns * np.cos(angle) - rows * np.sin(angle)) + phase)


def texture(height, width, seed=0, frequency=0.2):
    """Noise whose spectrum is a ring around a frequency."""
    spectrum = np.fft.fft2(np.random.RandomState(seed).normal(size=(height, width)))
    radius = np.hypot(*np.meshgrid(np.fft.fftfreq(height), np.fft.fftfreq(width), indexing="ij"))
    return np.fft.ifft2(spectrum * np.exp(-(((radius - frequency) / 0.03) ** 2))).real


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("n_locations", [1, 2, 3, None])
@pytest.mark.parametrize(("height", "width"), [(16, 16), (9, 13), (3, 20)])
def test_features_are_those_found_by_loops_over_locations_and_functions(pooling, n_locations, height, width):
    images = random_images(3, height, width)
    dictionary = Gabor(n_locations=n_locations, pooling=pooling, invariant_to=None, width=(0.5, 6)).fit(images)
    parameters = dictionary.sample(5, np.random.RandomState(1))
    expected = oracle.features(images, parameters, n_locations, pooling)
    found = features(dictionary, images, parameters)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    arguments = (images.astype(np.float32), parameters, *dictionary.locations_)
    for method in ("product", "fft"):
        found = sum_responses(*arguments, quadrature=pooling == "modulus", method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_products_and_ffts_agree_where_functions_are_smaller_than_images(pooling):
    images = random_images(3, 50, 70).astype(np.float32)
    dictionary = Gabor(n_locations=7, width=(0.5, 12)).fit(images)
    parameters = dictionary.sample(20, np.random.RandomState(0))
    arguments = (images, parameters, *dictionary.locations_)
    product, fft = (sum_responses(*arguments, quadrature=pooling == "modulus", method=m) for m in ("product", "fft"))
    np.testing.assert_allclose(product, fft, rtol=1e-4)


@pytest.mark.parametrize("n_locations", [3, None])
@pytest.mark.parametrize("size", [12, 40])
def test_a_feature_alone_is_what_it_is_among_others(n_locations, size):
    images = random_images(5, size, size)
    dictionary = Gabor(n_locations=n_locations, width=(0.5, 10)).fit(images)
    parameters = dictionary.sample(40, np.random.RandomState(0))
    table = features(dictionary, images, parameters)
    for j in (0, 17, 39):
        np.testing.assert_allclose(features(dictionary, images, parameters[[j]])[:, 0], table[:, j], rtol=1e-4)
    for i in (0, 4):
        np.testing.assert_allclose(features(dictionary, images[[i]], parameters)[0], table[i], rtol=1e-4)


@pytest.mark.parametrize("invariant_to", [None, "brightness", "contrast"])
def test_prepared_images_may_be_indexed_by_folds(invariant_to):
    images = random_images(8)
    dictionary = Gabor(invariant_to=invariant_to).fit(images)
    fold = np.array([5, 1, 2])
    np.testing.assert_allclose(dictionary.prepare(images)[fold], dictionary.prepare(images[fold]), rtol=1e-6)


def test_flat_rows_lists_and_tables_give_what_images_give():
    images = load_digits().images[:20]
    rows = images.reshape(20, -1)
    parameters = Gabor().sample(10, np.random.RandomState(0))
    expected = features(Gabor().fit(images), images, parameters)
    for signals in (rows, rows.astype(np.uint8), rows.astype(np.float32), rows.tolist(), pd.DataFrame(rows)):
        dictionary = Gabor(image_shape=(8, 8)).fit(signals)
        np.testing.assert_allclose(features(dictionary, signals, parameters), expected, rtol=1e-5)
    np.testing.assert_allclose(features(dictionary, images, parameters), expected, rtol=1e-5)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("angle", np.linspace(0, np.pi, 6, endpoint=False))
@pytest.mark.parametrize("frequency", [0.12, 0.2, 0.32])
def test_a_grating_answers_most_to_its_own_angle_and_frequency(pooling, angle, frequency):
    dictionary = Gabor(n_locations=5, pooling=pooling).fit(np.zeros((1, 32, 32)))
    angles, frequencies = np.linspace(0, np.pi, 12, endpoint=False), np.array([0.08, 0.12, 0.16, 0.2, 0.26, 0.32, 0.4])
    grid = np.array([(a, f, 4.0, 4.0) for a in angles for f in frequencies])
    best = grid[np.argmax(features(dictionary, grating(angle, frequency)[None], grid)[0])]
    np.testing.assert_allclose(best[:2], (angle, frequency), atol=1e-12)


def test_angles_are_counterclockwise_as_seen_and_half_a_turn_is_none():
    image = np.add.outer(-np.arange(16), np.arange(16))  # brighter toward the upper right
    image = np.cos(2 * np.pi * 0.15 * image)[None]
    dictionary = Gabor().fit(image)
    up, down = np.pi / 4, 3 * np.pi / 4
    frequency = 0.15 * np.sqrt(2)
    answers = features(dictionary, image, np.array([[a, frequency, 3, 2] for a in (up, down, up + np.pi)]))[0]
    assert answers[0] > 3 * answers[1]
    np.testing.assert_allclose(answers[2], answers[0], rtol=1e-4)


def test_shifting_a_texture_changes_moduli_much_less_than_absolute_responses():
    image = texture(48, 48)
    shifted = np.stack([image[i : i + 32, j : j + 32] for i in range(4) for j in range(4)])
    spread = {}
    for pooling in POOLINGS:
        dictionary = Gabor(n_locations=5, pooling=pooling, frequency=(0.15, 0.25), width=(3, 5)).fit(shifted)
        table = features(dictionary, shifted, dictionary.sample(60, np.random.RandomState(0)))
        spread[pooling] = np.median(table.std(axis=0) / table.mean(axis=0))
    assert spread["modulus"] < 0.6 * spread["absolute"]


@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 10), st.floats(-50, 50), st.integers(0, 1000))
def test_brightness_and_contrast_change_only_what_was_asked_for(gain, offset, seed):
    images = random_images(3, 12, 10, seed)
    parameters = Gabor().sample(8, np.random.RandomState(seed))
    bright, contrast = (Gabor(invariant_to=name).fit(images) for name in ("brightness", "contrast"))
    expected = features(bright, images, parameters)
    np.testing.assert_allclose(features(bright, gain * images + offset, parameters), gain * expected, rtol=1e-3)
    changed = features(contrast, gain * images + offset, parameters)
    np.testing.assert_allclose(changed, features(contrast, images, parameters), rtol=1e-3)


@pytest.mark.parametrize("level", [0.0, 0.1, 7.3, 1e6])
@pytest.mark.parametrize("invariant_to", ["brightness", "contrast"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_image_of_one_gray_level_answers_nothing(level, invariant_to, dtype):
    images = np.full((2, 9, 9), level, dtype=dtype)
    dictionary = Gabor(invariant_to=invariant_to).fit(images)
    assert not features(dictionary, images, dictionary.grid(16)).any()


def test_a_small_texture_on_a_bright_ground_is_kept():
    images = random_images(3)
    dictionary = Gabor(invariant_to="contrast").fit(images)
    parameters = dictionary.grid(16)
    expected = features(dictionary, images, parameters)
    np.testing.assert_allclose(features(dictionary, images * 1e-6 + 1e3, parameters), expected, rtol=1e-3, atol=1e-4)


def test_the_space_is_sampled_within_its_ranges_and_angles_go_round():
    dictionary = Gabor(frequency=(0.1, 0.3), width=(2, 5))
    parameters = dictionary.sample(500, np.random.RandomState(0))
    low, high = np.array([[p.low, p.high] for p in dictionary.space()]).T
    assert np.all(parameters >= low)
    assert np.all(parameters <= high)
    np.testing.assert_allclose(dictionary.from_unit(dictionary.to_unit(parameters)), parameters)
    beyond = dictionary.clip(np.array([[np.pi + 0.1, 0.9, 9.0, 0.1]]))[0]
    np.testing.assert_allclose(beyond, [0.1, 0.3, 5.0, 2.0])
    assert dictionary.grid(81).shape == (81, 4)


def test_atoms_are_the_functions_in_the_middle_of_an_image():
    dictionary = Gabor().fit(np.zeros((1, 15, 21)))
    parameters = dictionary.sample(4, np.random.RandomState(0))
    pictures = dictionary.atoms(parameters)
    expected = [oracle.gabor(*theta, 7, 10, (15, 21)).real for theta in parameters]
    np.testing.assert_allclose(pictures, expected, atol=1e-6)
    assert Gabor().fit(np.zeros((1, 16, 6))).atoms(parameters).shape == (4, 16, 6)


def test_functions_have_an_envelope_of_unit_norm():
    cosine, sine = evaluate_gabors(np.array([[0.4, 0.2, 3.0, 2.0]]), np.arange(-20, 21), np.arange(-20, 21))
    np.testing.assert_allclose(np.sum(cosine**2 + sine**2), 1.0, rtol=1e-5)


@pytest.mark.parametrize("invariant_to", [None, "brightness", "contrast"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize(("n_locations", "size"), [(3, 16), (None, 48)])
def test_torch_tensors_give_tensors_with_the_same_numbers(invariant_to, pooling, n_locations, size):
    torch = pytest.importorskip("torch")
    images = random_images(4, size, size)
    dictionary = Gabor(n_locations=n_locations, pooling=pooling, invariant_to=invariant_to).fit(torch.asarray(images))
    parameters = dictionary.sample(12, np.random.RandomState(0))
    found = features(dictionary, torch.asarray(images), parameters)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), features(dictionary, images, parameters), rtol=1e-4, atol=1e-4)
    integers = np.arange(256 * 2, dtype=np.int64).reshape(2, 16, 16) % 251
    small = Gabor().fit(integers)
    for tensor in (torch.asarray(integers), torch.asarray(integers.astype(np.uint8))):
        expected = features(small, integers, parameters)
        np.testing.assert_allclose(features(small, tensor, parameters).numpy(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n_locations", [5, None])
def test_memory_does_not_grow_with_the_number_of_locations(n_locations):
    images = random_images(600, 16, 16).astype(np.float32)
    dictionary = Gabor(n_locations=n_locations).fit(images)
    prepared = dictionary.prepare(images)
    parameters = dictionary.sample(300, np.random.RandomState(0))
    tracemalloc.start()
    table = dictionary.compute(prepared, parameters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * table.nbytes + 2**25  # all responses at once would take 25 or 256 tables


def test_a_clone_has_the_parameters_and_nothing_learned():
    dictionary = Gabor(n_locations=2, pooling="absolute", invariant_to=None, frequency=(0.1, 0.2)).fit(random_images())
    copy = clone(dictionary)
    assert copy.get_params() == dictionary.get_params()
    with pytest.raises(NotFittedError):
        copy.prepare(random_images())


def test_no_parameters_make_no_columns():
    images = random_images()
    dictionary = Gabor().fit(images)
    assert features(dictionary, images, np.empty((0, 4))).shape == (6, 0)


@pytest.mark.parametrize(
    ("arguments", "images", "message"),
    [
        ({"frequency": (0.4, 0.1)}, random_images(), r"frequency=\(0.4, 0.1\) must be two finite numbers"),
        ({"frequency": (0.1, 0.6)}, random_images(), "within 0 and 0.5 cycles"),
        ({"frequency": (0.1,)}, random_images(), "two finite numbers"),
        ({"width": (4, 1)}, random_images(), r"width=\(4, 1\) must be two finite numbers"),
        ({"width": (0, 1)}, random_images(), "width.*must be positive"),
        ({"width": (1, np.nan)}, random_images(), "width.*two finite numbers"),
        ({"n_locations": 17}, random_images(), "n_locations=17 per side is more than images of 16 x 16"),
        ({"n_locations": 0}, random_images(), "n_locations"),
        ({"pooling": "max"}, random_images(), "pooling"),
        ({"invariant_to": "color"}, random_images(), "invariant_to"),
        ({"image_shape": (4, 5)}, random_images(4, 1, 16)[:, 0], "16 pixels, which is not 4 x 5; correct image_shape"),
        ({"image_shape": (4, 5)}, random_images(4, 4, 4), "images have 4 x 4 pixels, and 4 x 5 are expected"),
        ({"image_shape": (4, 0)}, random_images(), "must be the height and the width"),
        ({}, random_images(4, 1, 16)[:, 0], "rows are flat: say image_shape"),
        ({}, np.zeros((2, 8, 8, 3)), "average colors first"),
        ({}, np.zeros((0, 8, 8)), "there are no images"),
        ({}, np.zeros((2, 8, 8), dtype=complex), "real numbers"),
    ],
)
def test_what_cannot_be_fitted_is_refused_by_name(arguments, images, message):
    with pytest.raises(ValueError, match=message):
        Gabor(**arguments).fit(images)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_gray_levels_are_refused_with_the_first_guilty_image(value, dtype):
    images = random_images().astype(dtype)
    dictionary = Gabor().fit(images)
    images[3, 2, 1] = images[5, 0, 0] = value
    with pytest.raises(ValueError, match="image 3 holds NaN, infinity, or gray levels beyond"):
        dictionary.prepare(images)


def test_new_images_of_another_size_and_wrong_parameters_are_refused():
    dictionary = Gabor().fit(random_images())
    with pytest.raises(ValueError, match="images have 8 x 8 pixels, and 16 x 16 are expected"):
        dictionary.prepare(random_images(2, 8, 8))
    with pytest.raises(ValueError, match=r"parameters must have shape \(n_parameters, 4\)"):
        dictionary.compute(dictionary.prepare(random_images()), np.zeros((3, 3)))


@pytest.mark.skipif("brodatz" not in names(), reason="the Brodatz textures are not among the data sets here")
def test_two_brodatz_textures_are_told_apart_by_moduli_more_than_by_absolute_responses():
    rng, textures = np.random.RandomState(0), load("brodatz")

    def draw(n, half):
        places = rng.randint(0, 305, size=(n, 2))
        return [[textures[k][half + r : half + r + 16, c : c + 16] for r, c in places] for k in ("D29", "D92")]

    train, test = np.concatenate(draw(200, 0)), np.concatenate(draw(500, 320))
    accuracy = {}
    for pooling, n_locations in (("absolute", 3), ("modulus", 5)):
        dictionary = Gabor(pooling=pooling, n_locations=n_locations).fit(train)
        parameters = dictionary.sample(300, np.random.RandomState(0))
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
        model.fit(features(dictionary, train, parameters), np.repeat([0, 1], 200))
        accuracy[pooling] = model.score(features(dictionary, test, parameters), np.repeat([0, 1], 500))
    assert accuracy["modulus"] > accuracy["absolute"] + 0.03
    assert accuracy["modulus"] > 0.85
