"""Wavelets of tables: the product of mother wavelets, on the inputs drawn, and whether the right ones are found."""

import numpy as np
import pytest
from scipy import sparse

from tamis import GramSchmidt
from tamis.dictionary import Pool
from tamis.dictionary._wavelets import MOTHERS, Wavelets

MOTHER = {
    "gaussian_derivative": lambda z: -z * np.exp(-(z**2) / 2),
    "mexican_hat": lambda z: (1 - z**2) * np.exp(-(z**2) / 2),
    "morlet": lambda z: np.cos(5 * z) * np.exp(-(z**2) / 2),
}


def table(n=60, d=4, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d)) * np.linspace(1, 50, d) + np.linspace(-5, 1000, d)


def slow(wavelet, X, train, theta, max_inputs):
    """One factor after the other, from the documented meaning of the parameters."""
    columns = np.empty((len(X), len(theta)))
    inputs = np.flatnonzero(train.std(axis=0) > 0)
    for at, row in enumerate(theta):
        product = np.ones(len(X))
        factors = row.reshape(-1, 2 if max_inputs is None else 3)
        for i, factor in enumerate(factors):
            place = i if max_inputs is None else int(factor[0])
            if place >= inputs.size:
                continue
            x, seen = X[:, inputs[place]], train[:, inputs[place]]
            m = seen.min() + factor[-2] * (seen.max() - seen.min())
            product *= MOTHER[wavelet]((x - m) / (factor[-1] * seen.std()))
        columns[:, at] = product
    return columns


@pytest.mark.parametrize("wavelet", MOTHERS)
@pytest.mark.parametrize("max_inputs", [1, 2, 3, 9, None])
def test_every_feature_is_a_product_of_mother_wavelets(wavelet, max_inputs):
    X, new = table(), table(seed=1)
    wavelets = Wavelets(wavelet, max_inputs=max_inputs).fit(X)
    theta = wavelets.sample(40, np.random.RandomState(0))
    assert theta.shape == (40, len(wavelets.space()))
    expected = slow(wavelet, new, X, theta, max_inputs)
    np.testing.assert_allclose(wavelets.compute(wavelets.prepare(new), theta), expected, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("max_inputs", [2, None])
def test_a_feature_is_the_same_alone_and_among_others(max_inputs):
    X = table()
    wavelets = Wavelets(max_inputs=max_inputs).fit(X)
    theta = wavelets.sample(30, np.random.RandomState(0))
    alone = np.hstack([wavelets.compute(wavelets.prepare(X), theta[j : j + 1]) for j in range(30)])
    np.testing.assert_allclose(wavelets.compute(wavelets.prepare(X), theta), alone, rtol=1e-12, atol=1e-14)


def test_single_precision_stays_single():
    X = table()
    wavelets = Wavelets().fit(X)
    theta = wavelets.sample(30, np.random.RandomState(0))
    features = wavelets.compute(wavelets.prepare(X.astype(np.float32)), theta)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, wavelets.compute(wavelets.prepare(X), theta), atol=2e-3)


@pytest.mark.parametrize("wavelet", MOTHERS)
def test_torch_gives_what_numpy_gives(wavelet):
    torch = pytest.importorskip("torch")
    X = table()
    wavelets, moved = Wavelets(wavelet).fit(X), Wavelets(wavelet).fit(torch.asarray(X))
    theta = moved.sample(20, np.random.RandomState(0))
    features = moved.compute(moved.prepare(torch.asarray(X)), theta)
    assert isinstance(features, torch.Tensor)
    np.testing.assert_allclose(features.numpy(), wavelets.compute(wavelets.prepare(X), theta), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("max_inputs", [1, 2, 4, None])
def test_draws_are_in_the_space(max_inputs):
    wavelets = Wavelets(dilation=(0.3, 0.9), max_inputs=max_inputs).fit(table())
    theta = wavelets.sample(300, np.random.RandomState(0))
    low, high = np.array([(p.low, p.high) for p in wavelets.space()]).T
    assert np.all((theta >= low) & (theta <= high))
    np.testing.assert_allclose(wavelets.clip(theta), theta, rtol=1e-9)
    evenly = wavelets.from_unit(np.random.RandomState(1).uniform(size=theta.shape))
    corners = wavelets.from_unit(np.vstack([np.zeros(theta.shape[1]), np.ones(theta.shape[1])]))
    for parameters in (evenly, corners):
        assert np.isfinite(wavelets.compute(wavelets.prepare(table()), parameters)).all()


def test_one_wavelet_looks_at_few_inputs_main_effects_and_interactions():
    X = table(d=50)
    names = Wavelets().fit(X).names(Wavelets().fit(X).sample(400, np.random.RandomState(0)))
    factors = np.array([name.count("m=") for name in names])
    assert set(factors) == {1, 2}
    assert 0.35 < np.mean(factors == 1) < 0.65
    assert all(len({part.split()[-3] for part in name.split(" * ")}) == name.count("m=") for name in names)


def test_constant_columns_are_never_looked_at():
    X = table()
    X[:, 1] = 0.1
    wavelets = Wavelets(max_inputs=3).fit(X)
    theta = wavelets.sample(200, np.random.RandomState(0))
    assert not any("x1 " in name for name in wavelets.names(theta))
    elsewhere = X.copy()
    elsewhere[:, 1] = 5.0
    features = wavelets.compute(wavelets.prepare(elsewhere), theta)
    np.testing.assert_array_equal(features, wavelets.compute(wavelets.prepare(X), theta))


@pytest.mark.parametrize("d", [1, 1000])
def test_most_features_vary_whatever_the_number_of_columns(d):
    X = np.random.RandomState(0).standard_normal((200, d))
    wavelets = Wavelets().fit(X)
    features = wavelets.compute(wavelets.prepare(X), wavelets.sample(200, np.random.RandomState(0)))
    assert np.mean(features.std(axis=0) > 1e-2) > 0.9


def test_names_are_in_the_units_of_the_table():
    X = np.column_stack([np.linspace(0, 10, 11), np.linspace(100, 200, 11)])
    wavelets = Wavelets("mexican_hat").fit(X)
    [name] = wavelets.names(np.array([[1.5, 0.25, 1.0, 0.5, 0.5, 2.0]]), ["age", "weight"])
    assert name == f"mexican_hat weight m=125 d={X[:, 1].std():.4g} * age m=5 d={2 * X[:, 0].std():.4g}"
    [name] = wavelets.names(np.array([[0.5, 0.25, 1.0, 3.0, 0.5, 2.0]]))
    assert name == f"mexican_hat x0 m=2.5 d={X[:, 0].std():.4g}"


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"dilation": (2.0, 0.1)}, table(), "dilation=.* must be a pair"),
        ({"wavelet": "haar"}, table(), "'wavelet' parameter of Wavelets"),
        ({"max_inputs": 0}, table(), "'max_inputs' parameter of Wavelets"),
        ({}, np.ones((5, 2)), "constant"),
        ({}, np.array([[1.0, 2.0], [3.0, np.nan]]), "column 1 holds 1 missing"),
        ({}, sparse.csr_array(np.eye(4)), "dense array"),
    ],
)
def test_what_cannot_be_is_refused(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        Wavelets(**parameters).fit(X)


@pytest.mark.parametrize("seed", range(5))
def test_gram_schmidt_finds_the_inputs_and_places_of_two_wavelets_among_many_inputs(seed):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-3, 3, size=(400, 10))
    psi = MOTHER["gaussian_derivative"]
    y = 2 * psi((X[:, 3] - 1.0) / 0.7) + 2 * psi((X[:, 7] + 1.0) / 0.9) + 0.1 * rng.standard_normal(400)
    found = GramSchmidt(max_features=20, dictionary=Pool(Wavelets(), 3000, random_state=seed)).fit(X, y)
    assert found.stop_.n_features >= 2
    first = [found.dictionary_.names(found.order_[j : j + 1])[0] for j in range(2)]
    where = {}
    for name in first:
        assert " * " not in name
        _, column, place, _ = name.split()
        where[column] = float(place.removeprefix("m="))
    assert set(where) == {"x3", "x7"}
    assert abs(where["x3"] - 1.0) < 0.5
    assert abs(where["x7"] + 1.0) < 0.5


def test_an_interaction_of_two_inputs_is_found():
    rng = np.random.RandomState(0)
    X = rng.uniform(-3, 3, size=(600, 4))
    psi = MOTHER["gaussian_derivative"]
    y = 3 * psi(X[:, 0]) * psi(X[:, 2]) + 0.1 * rng.standard_normal(600)
    found = GramSchmidt(stop=1, dictionary=Pool(Wavelets(), 3000, random_state=0)).fit(X, y)
    [name] = found.get_feature_names_out()
    assert {part.split()[-3] for part in name.split(" * ")} == {"x0", "x2"}


@pytest.mark.parametrize("wavelet", MOTHERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_many_factors_stay_finite(wavelet, dtype):
    X = np.random.RandomState(0).standard_normal((20, 300)).astype(dtype)
    dictionary = Wavelets(wavelet=wavelet, max_inputs=None).fit(X)
    parameters = dictionary.sample(10, np.random.RandomState(1))
    assert np.isfinite(dictionary.compute(dictionary.prepare(X), parameters)).all()


@pytest.mark.parametrize("max_inputs", [None, 2])
def test_no_wavelet_has_no_name(max_inputs):
    dictionary = Wavelets(max_inputs=max_inputs).fit(np.random.RandomState(0).standard_normal((20, 3)))
    assert dictionary.names(np.empty((0, len(dictionary.space())))).size == 0
