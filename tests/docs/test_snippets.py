"""The Python in the README and in docs/ runs as it stands, on small data under the names that it uses."""

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from tamis import GramSchmidt
from tamis.datasets import make_motor_imagery

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^>]+ -->\n)?```python\n(.*?)```", re.DOTALL)


def given() -> dict[str, Any]:
    """What a snippet may use without saying where it comes from."""
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 60)) + rng.standard_normal((60, 60))
    X[:, 0] += 2 * y
    images = np.sin(np.where(y, 1.5, 0.7)[:, None, None] * np.arange(12)) + rng.standard_normal((60, 12, 12))
    subject = make_motor_imagery(60, n_channels=4, n_times=250, random_state=0)
    return {
        "X": X,
        "y": y,
        "X_new": X[::3],
        "table": pd.DataFrame(X, columns=[f"column {j}" for j in range(60)]),
        "images": images,
        "more_images": images[::3],
        "more_y": y[::3],
        "trials": subject.X[np.argsort(subject.y)],
        "selector": GramSchmidt().fit(X, y),
    }


def snippets(page: Path) -> list[str]:
    return [code for reason, code in BLOCK.findall(page.read_text()) if not reason]


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_the_python_on_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    names = given()
    for code in snippets(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            exec(compile(code, page.name, "exec"), names)
