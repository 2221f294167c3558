"""Edge detectors are what loops over pixels say, and behave as scikit-learn's transformers do."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tamis import FisherScore
from tamis.datasets import load, names
from tamis.dictionary import Edges
from tamis.dictionary._edge_detection import find_edges, locate_places, spread_edges, widen_pixels
from tests.oracles import edges as oracle

ORIENTATIONS = (0, 45, 90, 135)
IMAGES = arrays(np.int16, st.tuples(st.just(2), st.integers(4, 8), st.integers(4, 8)), elements=st.integers(0, 6))


def random_images(n=40, height=7, width=9, seed=0, levels=12):
    return np.random.RandomState(seed).randint(0, levels, size=(n, height, width)).astype(np.uint8)


def maps(images, orientation, vagueness=0):
    """Detectors of all places: (n_rows, n_columns, n_images)."""
    return spread_edges(find_edges(widen_pixels(images), orientation), orientation, vagueness)


@pytest.mark.parametrize("polarity", [False, True])
@pytest.mark.parametrize("min_contrast", [0, 6])
@pytest.mark.parametrize(("height", "width"), [(7, 9), (4, 4), (9, 4)])
def test_detectors_are_those_found_by_loops_over_pixels(polarity, min_contrast, height, width):
    images = random_images(30, height, width)
    shape = {"polarity": polarity, "min_contrast": min_contrast, "vagueness": (2, 0, 1)}
    found = Edges(min_frequency=0, **shape).fit(images)
    table, expected, kept = found.transform(images), [], []
    for orientation in ORIENTATIONS:
        for sign in (1, -1) if polarity else (0,):
            for v in (2, 0, 1):
                for r, c in oracle.places(images[0], orientation):
                    column = [oracle.detector(image, orientation, v, r, c, sign, min_contrast) for image in images]
                    if 0 < sum(column) < len(images):
                        expected.append(column)
                        kept.append((orientation, sign, v, r, c))
    assert table.dtype == np.uint8
    np.testing.assert_array_equal(table, np.array(expected).T)
    attributes = (found.orientation_, found.polarity_, found.vagueness_, found.row_, found.column_)
    np.testing.assert_array_equal(np.column_stack(attributes), kept)
    np.testing.assert_allclose(found.frequency_, table.mean(axis=0))


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_straight_edge_is_seen_with_its_orientation_as_people_see_it(orientation):
    rows, columns = np.indices((8, 8))
    bright = {0: rows > 3, 45: rows + columns > 7, 90: columns > 3, 135: rows - columns > 0}[orientation]
    on = [o for o in ORIENTATIONS if maps(bright[None], o).any()]
    assert on == [orientation]


@settings(max_examples=50, deadline=None)
@given(IMAGES, st.integers(1, 9), st.integers(-50, 50), st.sampled_from([1, -1]))
def test_brightness_contrast_and_negatives_change_nothing(images, gain, offset, sign):
    for orientation in ORIENTATIONS:
        expected = maps(images, orientation)
        np.testing.assert_array_equal(maps(sign * gain * images + offset, orientation), expected)
        for dtype in (np.float32, np.float64):  # where tenths make unequal what was equal
            changed = sign * dtype(gain) * (images.astype(dtype) / 10) + dtype(offset) / 7
            np.testing.assert_array_equal(maps(changed, orientation), expected)


@settings(max_examples=50, deadline=None)
@given(IMAGES, st.integers(0, 12))
def test_a_vaguer_detector_is_on_wherever_a_preciser_one_is(images, vagueness):
    for orientation in ORIENTATIONS:
        precise, vague = (maps(images, orientation, v) for v in (vagueness, vagueness + 1))
        assert np.all(vague >= precise)


@settings(max_examples=50, deadline=None)
@given(IMAGES, st.integers(0, 3))
def test_turning_an_image_turns_its_edges(images, vagueness):
    turned = np.rot90(images, axes=(1, 2))
    for orientation in ORIENTATIONS:
        expected = np.rot90(maps(images, orientation, vagueness), axes=(0, 1))
        np.testing.assert_array_equal(maps(turned, (orientation + 90) % 180, vagueness), expected)


def test_the_two_polarities_share_out_the_edges_and_a_negative_exchanges_them():
    images = random_images(300)  # enough for every detector to be kept
    parameters = {"vagueness": (0,), "min_frequency": 0}
    split = Edges(polarity=True, **parameters).fit(images)
    whole = Edges(**parameters).fit(images)
    count = {sign: split.transform(images)[:, split.polarity_ == sign].sum(axis=1, dtype=int) for sign in (1, -1)}
    np.testing.assert_array_equal(count[1] + count[-1], whole.transform(images).sum(axis=1, dtype=int))
    place = {name: j for j, name in enumerate(split.get_feature_names_out())}
    pairs = [(j, place[name.replace("+", "-")]) for name, j in place.items() if "+" in name]
    bright, dark = np.array(pairs).T
    np.testing.assert_array_equal(split.compute(11 - images, bright), split.compute(images, dark))


def test_detectors_on_too_seldom_or_too_often_are_dropped():
    images = random_images(100)
    every = Edges(min_frequency=0).fit(images)
    some = Edges(min_frequency=0.1).fit(images)
    kept = (every.frequency_ >= 0.1) & (every.frequency_ <= 0.9)
    assert 0 < kept.sum() < kept.size
    assert some.get_feature_names_out().tolist() == every.get_feature_names_out()[kept].tolist()
    np.testing.assert_array_equal(some.transform(images), every.transform(images)[:, kept])


def test_some_detectors_only_are_columns_of_all():
    images = random_images()
    edges = Edges(polarity=True).fit(images)
    table = edges.transform(images)
    for indices in ([3], [7, 2, 2, table.shape[1] - 1], [], np.arange(table.shape[1]) % 5 == 0):
        chosen = np.arange(table.shape[1])[np.array(indices, dtype=None if len(indices) else int)]
        np.testing.assert_array_equal(edges.compute(images, indices), table[:, chosen])
    with pytest.raises(IndexError):
        edges.compute(images, [table.shape[1]])


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float32, np.float64, bool])
def test_the_type_of_the_pixels_does_not_matter(dtype):
    images = random_images(levels=2 if dtype is bool else 12)
    expected = Edges().fit(images.astype(float)).transform(images.astype(float))
    np.testing.assert_array_equal(Edges().fit_transform(images.astype(dtype)), expected)


def test_flat_rows_and_images_and_lists_are_the_same():
    images = random_images()
    flat = images.reshape(len(images), -1)
    edges = Edges(image_shape=(7, 9)).fit(flat)
    assert edges.n_features_in_ == 63
    assert edges.image_shape_ == Edges().fit(images).image_shape_ == (7, 9)
    for same in (images, flat, images.tolist(), flat.tolist(), np.asfortranarray(images)):
        np.testing.assert_array_equal(edges.transform(same), edges.transform(images))
        np.testing.assert_array_equal(clone(edges).fit(same).row_, edges.row_)


def test_names_say_orientation_vagueness_and_place():
    edges = Edges(min_frequency=0, orientations=(45,), vagueness=(1,), polarity=True).fit(random_images())
    names_out = edges.get_feature_names_out()
    assert {"edge 45+ v1 at (3, 4)", "edge 45- v1 at (3, 4)"} <= set(names_out)
    assert len(set(names_out)) == edges.row_.size
    with pytest.raises(ValueError, match="input_features"):
        edges.get_feature_names_out(["a"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_with_names_comes_out_when_asked_for(library):
    images = random_images()
    frame = {"pandas": pd, "polars": pl}[library].DataFrame(
        {f"p{j}": column for j, column in enumerate(images.reshape(len(images), -1).T)}
    )
    edges = Edges(image_shape=(7, 9)).set_output(transform=library)
    for X in (frame, images):
        table = clone(edges).fit_transform(X)
        assert list(table.columns) == edges.fit(images).get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="feature names"):
        edges.fit(frame).transform(frame[frame.columns[::-1]])


def test_it_works_in_a_pipeline_with_a_ranker_and_survives_pickling():
    digits = load_digits()
    half = np.arange(len(digits.target)) % 2 == 0
    model = make_pipeline(Edges(image_shape=(8, 8)), FisherScore(stop=150), LogisticRegression(max_iter=1000))
    model.fit(digits.data[half], digits.target[half])
    assert model.score(digits.data[~half], digits.target[~half]) > 0.8
    np.testing.assert_array_equal(model.predict(0.3 - 0.02 * digits.data), model.predict(digits.data))
    assert all(name.startswith("edge ") for name in model[:-1].get_feature_names_out())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(digits.data), model.predict(digits.data))


def test_blocks_and_many_images_give_what_few_give_in_bounded_memory():
    images = random_images(6000, 16, 16)
    edges = Edges(min_frequency=0).fit(images[:200])
    tracemalloc.start()
    table = edges.transform(images)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert memory < 3 * table.nbytes + 2**26
    few = np.concatenate([edges.transform(images[start : start + 1000]) for start in range(0, 6000, 1000)])
    np.testing.assert_array_equal(table, few)


def test_the_places_are_those_with_all_neighbors_in_the_image():
    for shape in ((5, 8), (8, 5), (4, 4), (2, 9)):
        for orientation in ORIENTATIONS:
            top, left, rows, columns = locate_places(shape, orientation)
            expected = oracle.places(np.zeros(shape), orientation)
            assert [(top + r, left + c) for r in range(rows) for c in range(columns)] == expected


@pytest.mark.parametrize(
    ("parameters", "images", "message"),
    [
        ({}, np.zeros((5, 64)), r"rows are flat: say image_shape=\(height, width\)"),
        ({"image_shape": (8, 9)}, np.zeros((5, 64)), "rows hold 64 pixels, which is not 8 x 9; correct image_shape"),
        ({"image_shape": (8, 9)}, np.zeros((5, 8, 8)), "images have 8 x 8 pixels, and 8 x 9 are expected"),
        ({"image_shape": (8, 8, 1)}, np.zeros((5, 64)), "must be the height and the width"),
        ({"image_shape": (8.0, 8.0)}, np.zeros((5, 64)), "must be the height and the width"),
        ({}, np.zeros((5, 8, 8, 3)), "average colors first"),
        ({}, np.zeros(64), "rows are flat|gray levels of shape"),
        ({}, np.zeros((5, 3, 8)), "images of 3 x 8 pixels are too small for edges of orientation 0, which need 4 x 3"),
        ({"orientations": (135,)}, np.zeros((5, 4, 3)), "orientation 135, which need 4 x 4; give larger"),
        ({"orientations": (0, 30)}, random_images(), "orientations holds 30; choose among 0, 45, 90, 135"),
        ({"orientations": ()}, random_images(), "must hold at least one value"),
        ({"orientations": (0, 0)}, random_images(), "none of them twice"),
        ({"vagueness": (0, -1)}, random_images(), "vagueness holds -1; give numbers of steps"),
        ({"vagueness": (0.5,)}, random_images(), "vagueness holds 0.5"),
        ({"vagueness": 1}, random_images(), "'vagueness' parameter of Edges"),
        ({"min_frequency": 0.7}, random_images(), "'min_frequency' parameter of Edges"),
        ({}, np.zeros((5, 8, 8)), "no edge detector is on in 1 or more of the 5 images"),
        ({"min_contrast": 1000}, random_images(), "lower min_frequency or min_contrast"),
    ],
)
def test_what_cannot_be_is_refused_and_says_what_to_do(parameters, images, message):
    edges = Edges(**parameters)
    with pytest.raises(ValueError, match=message):
        edges.fit(images)
    with pytest.raises(NotFittedError):
        edges.transform(images)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_pixels_are_counted_and_located(bad):
    images = random_images().astype(float)
    edges = Edges().fit(images)
    images[[4, 9], 2, 3] = bad
    message = "NaN or infinity in 2 of 40 images, the first being image 4; fill or drop them first"
    with pytest.raises(ValueError, match=message):
        Edges().fit(images)
    with pytest.raises(ValueError, match=message):
        edges.transform(images)


def test_new_images_of_another_size_are_refused():
    edges = Edges().fit(random_images())
    with pytest.raises(ValueError, match="images have 9 x 7 pixels, and 7 x 9 are expected"):
        edges.transform(random_images(3, 9, 7))
    with pytest.raises(ValueError, match="X has 64 features, but Edges is expecting 63"):
        edges.transform(np.zeros((3, 64)))


@pytest.mark.parametrize(("name", "shape", "published"), [("cbcl_faces", (19, 19), 1926), ("usps", (16, 16), 2418)])
def test_there_are_about_as_many_detectors_as_in_the_paper(name, shape, published):
    if name not in names():
        pytest.skip(f"the data set {name} is not in the data folder; set TAMIS_DATA")
    edges = Edges(image_shape=shape).fit(load(name).X)
    assert published / 2 < edges.row_.size < published * 2
