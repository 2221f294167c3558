"""What pyproject.toml says of dependencies and versions holds, and the wheel works on its own."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tamis

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
INSTALLED_AS = {
    "sklearn": "scikit-learn",
    "array_api_strict": "array-api-strict",
    "faiss": "faiss-cpu",
    "xgboost": "xgboost-cpu",
}
OURS = {"tamis", "tests", "bench"}


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def imported(folder: Path) -> set[str]:
    """Packages that modules import, or skip a test for the lack of, by the name under which they are installed."""
    found = set()
    for path in folder.rglob("*.py"):
        text = path.read_text()
        found.update(name.split(".")[0] for name in re.findall(r'importorskip\("([\w.]+)"', text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return {INSTALLED_AS.get(name, name) for name in found - OURS - set(sys.stdlib_module_names)}


CORE = names(PROJECT["project"]["dependencies"])


def test_the_test_group_names_all_that_tests_import():
    assert imported(ROOT / "tests") <= CORE | names(PROJECT["dependency-groups"]["test"])


def test_dependencies_and_extras_name_all_that_the_library_imports():
    extras = set().union(*map(names, PROJECT["project"]["optional-dependencies"].values()))
    at_hand = {"pandas", "pyarrow", "threadpoolctl"}  # whoever passes such a table has it; scikit-learn brings the last
    assert imported(ROOT / "src") <= CORE | extras | at_hand


def test_the_lowest_versions_are_the_ones_that_are_tested():
    oldest = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints-oldest.txt").read_text(), re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"].values()
    for requirement in [*PROJECT["project"]["dependencies"], *(each for extra in extras for each in extra)]:
        name, lowest = requirement.split(">=")
        if name != "torch":  # no other than the newest can be installed where this is tested
            assert [*oldest[name].split("."), "0", "0"][:3] == [*lowest.split("."), "0", "0"][:3], name


def test_every_pinned_tool_is_pinned_once():
    for file in ("constraints.txt", "constraints-oldest.txt"):
        pinned = re.findall(r"^([\w.-]+)==", (ROOT / file).read_text(), re.MULTILINE)
        assert len(pinned) == len(set(pinned))


def test_the_changelog_tells_of_this_version():
    assert re.search(rf"^## {re.escape(tamis.__version__)} ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_runs_the_demo_in_a_bare_environment(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"tamis-{tamis.__version__}-")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "bare")], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *pins, str(wheel)], check=True)
    command = [str(tmp_path / "bare" / "bin" / "tamis")]
    demo = subprocess.run([*command, "demo"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "Why it stops there" in demo
    version = subprocess.run([*command, "--version"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert version.strip() == f"tamis {tamis.__version__}"
