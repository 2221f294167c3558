"""Leading eigenvectors by block iterations against a dense decomposition."""

import numpy as np
import pytest

from tamis.rank.spectral._leading_eigenvectors import leading_eigenvectors


def operator(values, seed=0):
    Q = np.linalg.qr(np.random.RandomState(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T, Q


@pytest.mark.parametrize(
    "values",
    [np.linspace(0.1, 5.0, 60), np.logspace(-6, 2, 60), np.r_[np.full(50, 1.0), np.full(10, 3.0)]],
    ids=["close", "far apart", "equal"],
)
@pytest.mark.parametrize("count", [1, 4, 10])
def test_values_and_vectors_are_those_of_a_dense_decomposition(values, count):
    M, _ = operator(values)
    start = np.random.RandomState(1).standard_normal((60, count))
    found, vectors = leading_eigenvectors(lambda x: M @ x, start, 1e-10)
    np.testing.assert_allclose(found, np.sort(values)[-count:], rtol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-10)
    np.testing.assert_allclose(M @ vectors, vectors * found, atol=1e-8 * values.max())


def test_a_start_that_is_near_takes_fewer_products():
    M, Q = operator(np.logspace(-3, 2, 200))
    rng = np.random.RandomState(1)
    products = []
    for start in (rng.standard_normal((200, 5)), Q[:, -5:] + 1e-6 * rng.standard_normal((200, 5))):
        taken = []
        leading_eigenvectors(lambda x, taken=taken: (taken.append(x.shape[1]), M @ x)[1], start, 1e-8)
        products.append(sum(taken))
    assert products[1] < products[0]


def test_dependent_columns_of_the_start_do_no_harm():
    values = np.linspace(0.1, 5.0, 40)
    M, _ = operator(values)
    found, _ = leading_eigenvectors(lambda x: M @ x, np.repeat(np.random.RandomState(0).rand(40, 2), 2, axis=1), 1e-10)
    np.testing.assert_allclose(found, values[-4:], rtol=1e-9)
