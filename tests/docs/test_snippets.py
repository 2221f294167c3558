"""The Python in the README and in docs/ runs as it stands, on small data under the names that it uses."""

import os
import re
import signal
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
    names = {} if page.name == "README.md" else given()  # a new user pastes the README into an empty session
    for code in snippets(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            exec(compile(code, page.name, "exec"), names)


class CtrlC:
    """In the place of a progress bar: sends SIGINT, as a keyboard does, at the end of the third elimination."""

    def __init__(self):
        self.n_ended = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.n_ended += context.task_name == "eliminate step"
        if self.n_ended == 3 and context.task_name == "eliminate step":
            signal.raise_signal(signal.SIGINT)


def test_the_example_of_a_long_run_shows_what_ctrl_c_leaves(monkeypatch, capsys):
    pages = (ROOT / "docs").glob("*.md")
    (example,) = [code for page in pages for code in snippets(page) if '"interrupted"' in code]
    monkeypatch.setattr("sklearn.callback.ProgressBar", CtrlC)
    names = given()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            exec(example, names)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "interrupted after 3 of 60 steps" in capsys.readouterr().out
    assert names["X_kept"].shape == (60, 10)
