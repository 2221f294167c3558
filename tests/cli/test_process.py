"""The program as a process: demo, list, help, pipes, and what it needs to run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tamis as library
from tamis.base import rule_names
from tamis.cli._catalog import CATALOG, COSTS, FAMILIES
from tamis.cli._messages import in_options
from tamis.cli._methods import all_methods, kebab, method_class
from tamis.cli._parser import COMMANDS
from tamis.stop._promises import promise_of

CORE_ONLY = """
import sys
class Blocker:
    @staticmethod
    def find_spec(name, *_):
        if name.partition(".")[0] in {"polars", "rich", "pandas", "pyarrow", "matplotlib", "torch"}:
            raise ModuleNotFoundError(f"No module named '{name}'")
sys.meta_path.insert(0, Blocker)
from tamis.cli import main
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_demo_and_list_run_on_core_dependencies_alone():
    result = python(CORE_ONLY + "sys.exit(main(['demo']) or main(['list']))")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "worst concave points" in result.stdout
    assert "gram-schmidt" in result.stdout


def test_version_does_not_wait_for_scikit_learn():
    result = python(
        "import sys; from tamis.cli import main; code = main(['--version'])\n"
        "assert not {'sklearn', 'numpy', 'polars'} & set(sys.modules), 'heavy import'\n"
        "sys.exit(code)"
    )
    assert (result.returncode, result.stdout) == (0, f"tamis {library.__version__}\n"), result.stderr


def test_demo_fits_one_screen_and_tells_the_story(tamis):
    outcome = tamis("demo")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= 100
    assert "0 of 100" in outcome.out
    assert "'x" not in outcome.out
    assert "from tamis import GramSchmidt" in outcome.out


def test_demo_for_programs_counts_the_noise(tamis):
    report = tamis("demo", "--json").json
    assert report["calibrated"]["n_noise"] == 0
    assert report["uncorrected"]["n_noise"] > 0
    assert report["calibrated"]["features"][0]["name"] == "worst concave points"


def test_list_shows_every_method_and_rule_with_its_summary(tamis):
    report = tamis("list", "--json").json
    shown = {method["name"]: method for method in report["methods"]}
    assert "gram-schmidt" in shown
    assert all(method_class(name).__name__ == method["class"] for name, method in shown.items())
    assert [rule["name"] for rule in report["rules"]] == rule_names()
    text = tamis("list").out
    words = " ".join(text.split())
    for entry in (*report["methods"], *report["rules"]):
        assert entry["summary"]
        assert entry["name"] in text
        assert entry.get("use", entry["summary"]) in words
    assert "`" not in text


def test_every_method_is_in_the_catalog_with_a_cost_and_a_family_that_are_explained():
    assert set(CATALOG) >= {kebab(cls.__name__) for cls in all_methods()}
    assert all(method_class(name) for name in CATALOG)
    assert {cost for cost, _ in CATALOG.values()} <= set(COSTS)
    assert {cls.__module__.split(".")[2] for cls in all_methods()} <= set(FAMILIES)


def test_list_tells_the_cost_of_a_method_and_when_to_use_it(tamis):
    methods = tamis("list", "--json").json["methods"]
    text = tamis("list").out
    for method in methods:
        assert method["cost"]
        assert method["use"]
        line = next(line for line in text.splitlines() if line.split()[:1] == [method["name"]])
        assert f" {method['cost']} " in line
        assert method["use"].split()[0] in line
    for cost in {method["cost"] for method in methods}:
        assert f"cost {cost}" in text  # what it means


def test_list_tells_the_tasks_of_a_method(tamis):
    shown = {method["name"]: method["tasks"] for method in tamis("list", "--json").json["methods"]}
    assert shown["gram-schmidt"] == ["classification", "regression"]
    assert shown["fisher-score"] == ["classification"]
    assert shown["laplacian-score"] == []
    lines = dict(line.split()[:2] for line in tamis("list").out.splitlines() if re.match(r"  \w", line))
    assert (lines["gram-schmidt"], lines["fisher-score"], lines["laplacian-score"]) == ("both", "classes", "none")


def test_the_command_line_lists_the_promise_of_every_method(tamis):
    listed = {method["name"]: method for method in tamis("list", "--json").json["methods"]}
    text = tamis("list").out
    words = " ".join(text.split())
    for method in all_methods():
        name, promise = kebab(method.__name__), promise_of(method)
        assert listed[name]["auto"] == {"rule": method.natural_stop[0], "promise": promise.sentence}
        assert re.search(rf"^  {name} +\w+ +{re.escape(promise.word)} ", text, re.MULTILINE)
        assert f"auto {promise.word} {in_options(promise.sentence)}" in words


@pytest.mark.parametrize("columns", ["80", "60"])
def test_list_fits_a_narrow_terminal(columns, tamis, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = tamis("list").out.splitlines()
    assert max(map(len, lines)) <= max(int(columns), 75)
    assert any(line.startswith("  gram-schmidt") for line in lines)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GramSchmidt", "gram-schmidt"),
        ("L1SVM", "l1-svm"),
        ("OFW", "ofw"),
        ("FITPlateau", "fit-plateau"),
        ("RFE", "rfe"),
    ],
)
def test_names_are_kebab_case(name, expected):
    assert kebab(name) == expected


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_every_command_has_worked_examples(command, tamis):
    outcome = tamis(command.name, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"examples:\n  tamis {command.name}" in outcome.out


def test_the_module_runs_as_a_program_and_reports_its_exit_code(tmp_path: Path):
    command = [sys.executable, "-m", "tamis", "select", "missing.csv", "--target", "y"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "tamis: error: cannot read missing.csv: no such file\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes close differently on Windows")
def test_a_reader_that_goes_away_ends_the_program_quietly(csv: Path):
    command = [sys.executable, "-m", "tamis", "rank", csv, "--target", "y"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, env=buffered, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # long before the program has anything to say
        assert process.stderr.read() == "regression on 'y'\n"
        assert process.wait(timeout=60) == 0
