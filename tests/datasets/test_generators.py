"""The papers' generators make what they say."""

import numpy as np
import pytest

from tamis.datasets import make_linear, make_separable, make_sigmoid_network, make_xor


@pytest.mark.parametrize("make", [make_linear, make_separable, make_sigmoid_network, make_xor])
def test_the_same_seed_gives_the_same_data_and_another_seed_others(make):
    one, same, other = make(random_state=0), make(random_state=0), make(random_state=1)
    np.testing.assert_array_equal(one[0], same[0])
    np.testing.assert_array_equal(one[1], same[1])
    assert not np.array_equal(one[0], other[0])
    rng = np.random.RandomState(0)
    np.testing.assert_array_equal(make(random_state=rng)[0], one[0])
    assert not np.array_equal(make(random_state=rng)[0], one[0])


def test_the_linear_process_has_the_shape_of_the_paper_and_five_relevant_features():
    X, y = make_linear(random_state=0)
    assert (X.shape, y.shape) == ((15, 10), (15,))
    X, y = make_linear(100_000, random_state=0)
    coef = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.all(np.abs(coef[5:]) < 0.01)
    assert np.all(np.abs(coef[:5]) > 0.02)
    assert np.var(y - X @ coef) == pytest.approx(0.02, rel=0.05)


def test_given_coefficients_and_noise_are_used():
    X, y = make_linear(50, n_features=4, coef=[2, -1], noise=0.0, random_state=0)
    np.testing.assert_allclose(y, 2 * X[:, 0] - X[:, 1], rtol=1e-12)
    assert make_linear(20, n_features=3, random_state=0)[0].shape == (20, 3)


def test_more_coefficients_than_features_are_refused():
    with pytest.raises(ValueError, match=r"coef has 3 entries.*2 features"):
        make_linear(n_features=2, coef=[1, 2, 3])


def test_the_label_depends_on_the_first_two_features_up_to_flips():
    X, y = make_separable(20_000, random_state=3)
    assert set(np.unique(y)) == {0, 1}
    direction = np.linalg.lstsq(X[:, :2], 2.0 * y - 1, rcond=None)[0]
    agreement = np.mean((X[:, :2] @ direction > 0) == (y == 1))
    assert agreement == pytest.approx(0.9, abs=0.02)
    clean, labels = make_separable(5000, flip=0.0, random_state=3)
    direction = np.linalg.lstsq(clean[:, :2], 2.0 * labels - 1, rcond=None)[0]
    assert np.mean((clean[:, :2] @ direction > 0) == (labels == 1)) > 0.97


def test_a_share_of_the_distractors_depend_on_others_and_a_share_repeat_one():
    X, _ = make_separable(300, n_distractors=100, dependent=0.2, repeated=0.1, random_state=0)
    assert X.shape == (300, 102)
    assert np.linalg.matrix_rank(X) == 2 + 70
    assert np.unique(X, axis=1).shape[1] <= 102 - 10
    independent, _ = make_separable(300, n_distractors=100, dependent=0, repeated=0, random_state=0)
    assert np.linalg.matrix_rank(independent) == 102


def test_xor_is_told_by_the_product_of_two_variables_and_by_neither_alone():
    X, y = make_xor(20_000, n_distractors=3, random_state=0)
    assert X.shape == (20_000, 5)
    assert np.mean(y) == 0.5
    sign = 2.0 * y - 1
    assert abs(np.corrcoef(X[:, 0], sign)[0, 1]) < 0.04
    assert abs(np.corrcoef(X[:, 1], sign)[0, 1]) < 0.04
    assert np.corrcoef(X[:, 0] * X[:, 1], sign)[0, 1] > 0.7
    assert np.abs(X[:, 2:]).max() <= 2
    exact, labels = make_xor(200, spread=0.0, random_state=0)
    np.testing.assert_array_equal(exact[:, 0] * exact[:, 1], 2.0 * labels - 1)


def test_the_sigmoid_network_has_the_potential_asked_for_and_ignores_the_other_inputs():
    X, y = make_sigmoid_network(random_state=0)
    assert (X.shape, y.shape) == ((2000, 20), (2000,))
    assert X.std(axis=0) == pytest.approx(np.full(20, X.std()), rel=0.1)
    # one unit: the direction is the regression's, and the potential follows from the output
    X, y = make_sigmoid_network(50_000, potential_std=2.0, noise=0.0, n_inputs=3, n_hidden=1, random_state=1)
    coef = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean())[0]
    assert np.abs(coef[3:]).max() < 0.02 * np.abs(coef[:3]).max()
    middle, size = (y.max() + y.min()) / 2, (y.max() - y.min()) / 2
    inner = np.abs(y - middle) < 0.99 * size
    potential = np.arctanh((y[inner] - middle) / size)
    weights = np.linalg.lstsq(np.column_stack([X[inner], np.ones(len(potential))]), potential)[0]
    assert np.abs(weights[3:-1]).max() < 1e-3
    assert (X[:, :3] @ weights[:3]).std() == pytest.approx(2.0, rel=0.02)


def test_noise_is_added_to_the_output_of_the_network_and_leaves_the_rest_alone():
    quiet, loud = (make_sigmoid_network(5000, noise=noise, output_std=0.1, random_state=2) for noise in (0.0, 0.5))
    np.testing.assert_array_equal(quiet[0], loud[0])
    assert np.std(loud[1] - quiet[1]) == pytest.approx(0.5, rel=0.05)
    assert np.std(quiet[1]) < 0.5
