"""`make check` finds the tests of what changed."""

import pytest

from tests.changed import ROOT, commands, family


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("src/tamis/rank/backward/_rfe.py", "tests/rank/backward/test_rfe.py"),
        ("src/tamis/rank/backward/_no_such_file.py", "tests/rank/backward"),
        ("src/tamis/kernels/solvers/logistic.py", "tests/kernels/solvers/test_logistic.py"),
        ("tests/stop/test_probe.py", "tests/stop/test_probe.py"),
        ("tests/oracles/relief.py", "tests/rank/relief/test_relief_f.py"),
        ("README.md", "tests/docs"),
    ],
)
def test_a_file_has_its_tests_in_the_mirrored_folder(path, tests):
    first, *_ = commands([path])
    assert tests in first
    assert "tests/contract" in first
    assert all((ROOT / each).exists() for each in first)


def test_a_family_is_a_folder_of_tests_and_the_common_checks_of_its_methods():
    first, [checks, _, chosen] = commands(family("relief"))
    assert first == ["tests/contract", "tests/rank/relief"]
    assert (checks, chosen) == ("tests/common/test_ranker_checks.py", "ReliefF")


def test_folders_of_the_same_name_are_one_family():
    assert commands(family("subset"))[0] == ["tests/contract", "tests/kernels/subset", "tests/rank/subset"]
    with pytest.raises(SystemExit, match="no folder 'greedy'"):
        family("greedy")


def test_a_method_has_its_own_common_checks_and_what_a_family_shares_those_of_all():
    assert commands(["src/tamis/rank/backward/_rfe.py"])[1][-1] == "RFE"
    assert "RFE or SVMBoundElimination" in commands(["src/tamis/rank/backward/_no_such_file.py"])[1][-1]


def test_a_file_within_a_folder_that_runs_anyway_is_not_run_twice():
    assert commands(["src/tamis/stop/__init__.py", "tests/stop/test_probe.py"]) == [["tests/contract", "tests/stop"]]
