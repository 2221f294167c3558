"""Gabor features the slow way: one function, one location, one image at a time, in double precision."""

import numpy as np


def gabor(angle, frequency, along, across, row, column, shape):
    """A complex Gabor function around a place, at every pixel of the image."""
    rows, columns = np.indices(shape)
    right, up = columns - column, row - rows
    u = right * np.cos(angle) + up * np.sin(angle)
    v = up * np.cos(angle) - right * np.sin(angle)
    gaussian = np.exp(-(u**2) / (2 * along**2) - v**2 / (2 * across**2)) / np.sqrt(np.pi * along * across)
    return gaussian * np.exp(2j * np.pi * frequency * u)


def places(size, n_locations):
    """The pixel that holds the middle of each of n equal pieces."""
    if n_locations is None:
        return list(range(size))
    return [int((2 * k + 1) * size // (2 * n_locations)) for k in range(n_locations)]


def features(images, parameters, n_locations, pooling):
    shape = images.shape[1:]
    table = np.zeros((len(images), len(parameters)))
    for j, theta in enumerate(parameters):
        for row in places(shape[0], n_locations):
            for column in places(shape[1], n_locations):
                function = gabor(*theta, row, column, shape)
                for i, image in enumerate(images):
                    response = np.sum(function * image)
                    table[i, j] += abs(response) if pooling == "modulus" else abs(response.real)
    return table
