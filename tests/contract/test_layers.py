"""Imports point one way, and `import tamis` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tamis"

# What a part may import of the others; scikit-learn's private names (_sklearn) are open to all.
METHODS = {"kernels", "engine", "base", "rank", "stop", "dimension", "dictionary"}
ALLOWED = {
    "_signals": set(),
    "_sklearn": set(),
    "kernels": set(),
    "engine": {"kernels"},
    "base": {"kernels", "engine"},
    "datasets": set(),
    "rank": {"kernels", "engine", "base", "dictionary"},
    "stop": {"kernels", "engine", "base"},
    "dimension": {"kernels", "base"},
    "dictionary": {"kernels", "base"},
    "table": {"kernels", "engine", "base", "rank", "stop"},
    "learn": METHODS | {"table"},
    "assess": METHODS | {"learn", "table"},
    "plots": METHODS | {"learn", "table", "assess"},
    "report": METHODS | {"learn", "table", "assess", "plots"},
    "testing": {"base", "tamis"},
}
HEAVY = ("torch", "matplotlib", "pandas", "polars", "sklearn", "rich")


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name == "tamis":
                parts.add("tamis")
            elif name.startswith("tamis."):
                parts.add(name.split(".")[1])
    return parts - {part_of(path), "_sklearn"}


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if part_of(path) in ALLOWED]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    assert imported_parts(path) <= ALLOWED[part_of(path)]


def test_every_part_of_the_library_has_its_place_in_the_layers():
    top = {"__init__", "__main__", "cli"}
    assert {part_of(path) for path in SOURCE.rglob("*.py")} <= set(ALLOWED) | top


def test_importing_tamis_loads_nothing_heavy():
    code = f"import sys, tamis; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_using_a_ranker_loads_neither_torch_nor_matplotlib_nor_polars():
    code = (
        "import sys; from tamis import GramSchmidt; from tamis.datasets import make_linear; "
        "GramSchmidt().fit(*make_linear(30, random_state=0)); "
        "print([name for name in ('torch', 'matplotlib', 'polars') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


RANKER_NAMES = {"ranker", "rankers", "run", "selector", "self"}


def probed_rankers(path: Path) -> list[str]:
    """Calls of getattr on what is named like a ranker."""
    return [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id in RANKER_NAMES
    ]


def test_nothing_outside_base_probes_a_ranker_with_getattr():
    dictionaries = SOURCE / "dictionary"  # whose own parameters are none of a ranker
    outside = [path for path in MODULES if part_of(path) != "base" and dictionaries not in path.parents]
    assert [place for path in outside for place in probed_rankers(path)] == []


def test_every_public_name_of_the_contract_is_imported_from_base_itself():
    """What stands in ``tamis.base.__all__`` is not taken from the private modules behind it."""
    import tamis.base

    public = set(tamis.base.__all__)
    for path in MODULES:
        if part_of(path) == "base":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tamis.base._"):
                assert not public & {alias.name for alias in node.names}, path
