"""What the tests of the command line share: a way to run it, and a table to run it on."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tamis.cli import Environment, main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def names(self) -> list[str]:
        return [feature["name"] for feature in self.json["features"]]


@pytest.fixture
def tamis() -> Callable[..., Outcome]:
    def run(*args: object) -> Outcome:
        env = Environment(stdout=io.StringIO(), stderr=io.StringIO())
        code = main([str(arg) for arg in args], env)
        return Outcome(code, env.stdout.getvalue(), env.stderr.getvalue())

    return run


@pytest.fixture(scope="session")
def table() -> pl.DataFrame:
    """Eight columns named as unnamed ones are, so that every format agrees on them; two of them matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8)).round(6)
    y = (2 * X[:, 5] - X[:, 2] + 0.3 * rng.standard_normal(120)).round(6)
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(8)} | {"y": y})


@pytest.fixture
def csv(table: pl.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    table.write_csv(path)
    return path


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    """A price that depends on the city and on the area, among text, booleans and an identifier."""
    rng = np.random.default_rng(1)
    n = 90
    city = rng.choice(["Lyon", "Nice", "Paris"], n)
    area = rng.uniform(10, 90, n).round(2)
    shops = pl.DataFrame(
        {
            "id": [f"shop-{i}" for i in range(n)],
            "city": city,
            "color": rng.choice(["red", "blue"], n),
            "open": rng.choice([True, False], n),
            "area": area,
            "noise": rng.standard_normal(n).round(4),
            "price": (area + 50 * (city == "Paris") + rng.standard_normal(n)).round(3),
        }
    )
    path = tmp_path / "shops.csv"
    shops.write_csv(path)
    return path


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make packages impossible to import."""

    def block(*packages: str) -> None:
        class Blocker:
            @staticmethod
            def find_spec(name: str, *_: object) -> None:
                if name.partition(".")[0] in packages:
                    raise ModuleNotFoundError(f"No module named '{name}'")

        for package in packages:
            monkeypatch.delitem(sys.modules, package, raising=False)
        monkeypatch.setattr(sys, "meta_path", [Blocker, *sys.meta_path])

    return block
