"""Tables of mixed columns whose relevant columns are known."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

TASKS = ("regression", "two classes", "three classes")
MISSING = 0.2
NOISE = 1.5  # standard deviation beside the seven relevant columns, each of variance 1


@dataclass(frozen=True)
class PlantedTable:
    """A table, its target, and what is known of its columns.

    The near copy of a relevant column is in neither set: either of the two finds it.
    """

    X: pd.DataFrame
    y: np.ndarray
    leak: pd.Series
    relevant: dict[str, set[str]]  # name -> columns any of which finds it
    noise: set[str]


def make_table(task: str, n_rows: int, seed: int) -> PlantedTable:
    """Seven relevant columns, one of each type, their near copy, fifteen columns of noise and an identifier."""
    rng = np.random.default_rng(seed)
    columns, effects = _relevant(n_rows, rng)
    columns["size_copy"] = columns["size"] + 0.02 * rng.standard_normal(n_rows)
    noise = _noise(n_rows, rng)
    signal = sum((effect - effect.mean()) / effect.std() for effect in effects.values())
    y = _target(signal + NOISE * rng.standard_normal(n_rows), task)
    leak = pd.Series(y).astype(str) if task != "regression" else pd.Series(y + 0.01 * rng.standard_normal(n_rows))
    X = pd.DataFrame(columns | noise)
    X = X.mask(rng.random(X.shape) < MISSING)
    X["reference"] = [f"R{code:06d}" for code in rng.permutation(n_rows)]
    relevant = {name: {name} for name in effects} | {"size": {"size", "size_copy"}}
    X = X[rng.permutation(X.columns)]
    return PlantedTable(X, y, leak, relevant, set(noise) | {"reference"})


def _relevant(n_rows: int, rng: np.random.Generator) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Columns of every type, and what each adds to the target."""
    size, income = rng.standard_normal(n_rows), rng.lognormal(size=n_rows)
    city, branch = rng.integers(0, 4, n_rows), rng.integers(0, 30, n_rows)
    flag, count, day = rng.random(n_rows) < 0.4, rng.poisson(2.0, n_rows), rng.integers(0, 1000, n_rows)
    columns = {
        "size": size,
        "income": income,
        "city": _text("city", city),
        "branch": _text("branch", branch),
        "member": flag.astype(object),
        "orders": count.astype(float),
        "joined": pd.Timestamp("2021-01-01") + pd.to_timedelta(day, unit="D"),
    }
    effects = {
        "size": size,
        "income": np.log(income),
        "city": rng.standard_normal(4)[city],
        "branch": rng.standard_normal(30)[branch],
        "member": flag.astype(float),
        "orders": count.astype(float),
        "joined": day / 1000.0,
    }
    return columns, effects


def _noise(n_rows: int, rng: np.random.Generator) -> dict[str, object]:
    """Columns of the same types that tell nothing, two of them with tails of a Cauchy law, one of 200 levels."""
    day = rng.integers(0, 1000, n_rows)
    return {
        **{f"normal_{i}": rng.standard_normal(n_rows) for i in range(3)},
        **{f"cauchy_{i}": rng.standard_cauchy(n_rows) for i in range(2)},
        **{f"text4_{i}": _text("t", rng.integers(0, 4, n_rows)) for i in range(2)},
        "text30": _text("u", rng.integers(0, 30, n_rows)),
        "text200": _text("v", rng.integers(0, 200, n_rows)),
        **{f"flag_{i}": (rng.random(n_rows) < 0.3).astype(object) for i in range(2)},
        **{f"count_{i}": rng.poisson(3.0, n_rows).astype(float) for i in range(2)},
        "lognormal": rng.lognormal(sigma=1.5, size=n_rows),
        "visited": pd.Timestamp("2021-01-01") + pd.to_timedelta(day, unit="D"),
    }


def _text(prefix: str, codes: np.ndarray) -> np.ndarray:
    return np.array([f"{prefix} {code}" for code in codes], dtype=object)


def _target(latent: np.ndarray, task: str) -> np.ndarray:
    """The quantity itself, or its halves or thirds as classes; the middle third is the first in the alphabet."""
    if task == "regression":
        return latent
    if task == "two classes":
        return np.where(latent > np.median(latent), "yes", "no").astype(object)
    third = np.searchsorted(np.quantile(latent, [1 / 3, 2 / 3]), latent)
    return np.array(["low", "fair", "high"], dtype=object)[third]
