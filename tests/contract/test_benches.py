"""Every benchmark can be found and run by name, and the page of figures is what they printed."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from bench import BENCHES, figures, table
from bench.speed import load
from tamis import MaxVariance, PolynomialSelection

FOLDER = Path(figures.__file__).parent


@pytest.mark.parametrize("module", BENCHES.values())
def test_a_benchmark_has_a_run_function_with_a_quick_mode(module):
    assert importlib.import_module(module).run.__kwdefaults__ == {"quick": False}


def test_every_module_that_runs_alone_is_named():
    alone = {
        f"bench.{path.parent.name}.{path.stem}"
        for folder in ("auto", "errors", "papers", "speed", "tables")
        for path in (FOLDER / folder).glob("*.py")
        if "\ndef run(*, quick: bool = False)" in path.read_text()
    }
    assert alone == set(BENCHES.values())


def test_the_page_of_figures_is_written_from_what_is_recorded():
    assert figures.PAGE.read_text() == figures.page(figures.records()), "python -m bench NAME --record writes it"
    assert set(figures.records()) <= set(BENCHES)


def test_what_a_full_run_shows_is_kept_and_written(monkeypatch, tmp_path, capsys):
    for name, value in (("RESULTS", tmp_path / "results"), ("PAGE", tmp_path / "figures.md")):
        monkeypatch.setattr(figures, name, value)
    monkeypatch.setattr(table, "SHOWN", [])
    table.note("There is no GPU.")
    figures.keep("infinite-gpu", table.SHOWN, 1.0)
    assert figures.records() == {}
    table.show("Seconds", ("method", "|w| > 0"), [("RFE", 0.5)])
    figures.keep("rfe-speed", table.SHOWN, 61.2)
    figures.write()
    [(name, record)] = figures.records().items()
    assert (name, record["seconds"], len(record["shown"])) == ("rfe-speed", 61, 2)
    page = (tmp_path / "figures.md").read_text()
    assert "**Seconds**\n\n| method | \\|w\\| > 0 |\n| --- | --- |\n| RFE | 0.5 |\n" in page
    assert page.count("No full run is recorded yet.") == len(BENCHES) - 1
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == list(BENCHES)
    assert "Seconds\n" in capsys.readouterr().out


def test_a_refusal_is_told_apart_from_a_fit():
    X, y = load.make_table(6, 20_000)
    assert "candidates" in load.fit_or_refuse(PolynomialSelection(), X, y)
    assert load.fit_or_refuse(MaxVariance(stop=1), np.ascontiguousarray(X[:, :5]), y) == ""


@pytest.mark.parametrize(("seconds", "is_reached"), [(0.2, True), (30.0, False)])
def test_a_method_may_refuse_a_large_table_at_once_but_not_late(monkeypatch, capsys, seconds, is_reached):
    found = {"seconds": seconds, "processor_seconds": seconds, "tables": 3.0, "warning": "", "refused": "lower degree"}
    monkeypatch.setattr(load, "measure", lambda name, shape: found)
    monkeypatch.setattr(load, "methods", lambda: ["PolynomialSelection"])
    monkeypatch.setattr(load, "SHAPES", ((500, 20_000),))
    assert load.run()["reached"] is is_reached
    assert f"refused in {seconds} s: lower degree" in capsys.readouterr().out


def test_a_method_that_fails_breaks_its_limits():
    assert load.breaks({"error": "IndexError"}) == "failed"
    assert load.breaks(None)
