"""Tables of which no column has anything to do with the target: laws of columns, and targets drawn without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import toeplitz

RARE = (0.01, 0.05)  # shares of ones of rare binary columns, drawn evenly between them
MEANS = (0.2, 2.0)  # of counts
NEVER = 0.3  # share of counts that are zero whatever their mean
AUTOREGRESSION = 0.9
POSITIVE = 0.1  # share of the smaller class where classes are unbalanced
Random = np.random.Generator
Shape = tuple[int, int]


def gaussian(shape: Shape, rng: Random) -> np.ndarray:
    return rng.standard_normal(shape)


def student(shape: Shape, rng: Random) -> np.ndarray:
    """Three degrees of freedom: variance, and no fourth moment."""
    return rng.standard_t(3, shape)


def rare_binary(shape: Shape, rng: Random) -> np.ndarray:
    return (rng.uniform(size=shape) < rng.uniform(*RARE, shape[1])).astype(float)


def counts(shape: Shape, rng: Random) -> np.ndarray:
    """Poisson, with too many zeros."""
    return rng.poisson(rng.uniform(*MEANS, shape[1]), shape) * (rng.uniform(size=shape) >= NEVER).astype(float)


def autoregressive(shape: Shape, rng: Random) -> np.ndarray:
    return rng.standard_normal(shape) @ np.linalg.cholesky(autoregressive_covariance(shape[1])).T


def autoregressive_covariance(p: int) -> np.ndarray:
    return toeplitz(AUTOREGRESSION ** np.arange(p))


def normal_target(n: int, rng: Random) -> np.ndarray:
    return rng.standard_normal(n)


def student_target(n: int, rng: Random) -> np.ndarray:
    return rng.standard_t(3, n)


def lognormal_target(n: int, rng: Random) -> np.ndarray:
    return np.exp(1.5 * rng.standard_normal(n))


def classes(n: int, rng: Random) -> np.ndarray:
    return rng.permutation(np.arange(n) % 2)


def unbalanced_classes(n: int, rng: Random) -> np.ndarray:
    return rng.permutation((np.arange(n) < POSITIVE * n).astype(int))


@dataclass(frozen=True)
class NullDesign:
    """A law of tables; called with a shape and a seed it draws one.

    ``covariance`` is that of the columns, given their number, where they are Gaussian; else None.
    """

    columns: Callable[[Shape, Random], np.ndarray]
    target: Callable[[int, Random], np.ndarray]
    covariance: Callable[[int], np.ndarray] | None = None

    @property
    def task(self) -> str:
        return "classification" if self.target in (classes, unbalanced_classes) else "regression"

    def __call__(self, shape: Shape, seed: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        return self.columns(shape, rng), self.target(shape[0], rng)


NULL_DESIGNS = {
    "Gaussian": NullDesign(gaussian, normal_target, np.eye),
    "t3, t3 target": NullDesign(student, student_target),
    "rare binary, lognormal target": NullDesign(rare_binary, lognormal_target),
    "counts, lognormal target": NullDesign(counts, lognormal_target),
    "AR .9": NullDesign(autoregressive, normal_target, autoregressive_covariance),
    "Gaussian, classes": NullDesign(gaussian, classes, np.eye),
    "t3, classes": NullDesign(student, classes),
    "rare binary, classes": NullDesign(rare_binary, classes),
    "counts, classes": NullDesign(counts, classes),
    "AR .9, classes": NullDesign(autoregressive, classes, autoregressive_covariance),
    "Gaussian, 10 % positive": NullDesign(gaussian, unbalanced_classes, np.eye),
    "rare binary, 10 % positive": NullDesign(rare_binary, unbalanced_classes),
}
ONE_PER_LAW = (  # for methods that take long: each law of columns, each kind of target
    "Gaussian",
    "t3, t3 target",
    "counts, lognormal target",
    "AR .9",
    "rare binary, classes",
    "Gaussian, 10 % positive",
)
PLAIN = ("Gaussian", "Gaussian, classes")  # for rules that promise nothing
