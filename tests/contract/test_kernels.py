"""A routine in kernels/ serves more than one method; what serves one stands beside it."""

import ast
from pathlib import Path

import pytest

import tamis
import tamis.assess
import tamis.dictionary
import tamis.dimension
import tamis.rank.neural
import tamis.rank.stochastic
import tamis.stop

SOURCE = Path(__file__).parents[2] / "src"


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


PATHS = {name_of(path): path for path in sorted((SOURCE / "tamis").rglob("*.py"))}
PACKAGES = [
    tamis,
    tamis.assess,
    tamis.dictionary,
    tamis.dimension,
    tamis.rank.neural,
    tamis.rank.stochastic,
    tamis.stop,
]


def imports_of(name: str) -> set[str]:
    """Modules of tamis that a module imports, at the top or inside of a function."""
    found = set()
    for node in ast.walk(ast.parse(PATHS[name].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found & set(PATHS)


IMPORTS = {name: imports_of(name) for name in PATHS}


def is_followed(name: str, start: str) -> bool:
    """Kernels, the contract, and what stands beside a method or above it; not the methods of other packages."""
    package, home = name.rpartition(".")[0], start.rpartition(".")[0]
    return name.startswith(("tamis.kernels.", "tamis.base")) or (
        package != "tamis" and f"{home}.".startswith(f"{package}.")
    )


def reached_from(start: str) -> set[str]:
    seen, ahead = {start}, [start]
    while ahead:
        fresh = {name for name in IMPORTS[ahead.pop()] if is_followed(name, start)} - seen
        seen |= fresh
        ahead += fresh
    return seen


def homes_of_methods() -> set[str]:
    """Modules that define a ranker, a rule, a dictionary, a predictor, an estimator of dimension or a way to judge."""
    public = [getattr(package, name) for package in PACKAGES for name in package.__all__ if name != "__version__"]
    homes = {value.__module__ for value in public}
    return {home for home in homes if not home.startswith(("tamis.plots.", "tamis.base"))}


REACHED = {home: reached_from(home) for home in homes_of_methods()}

# A solver of a textbook problem (the dual of an SVM, a group lasso) is a kernel whoever calls it: kernels/solvers is
# where one looks for it, and the next method that poses the problem finds it there.
SHARED = [
    name
    for name, path in PATHS.items()
    if name.startswith("tamis.kernels.") and path.stem != "__init__" and not name.startswith("tamis.kernels.solvers.")
]


@pytest.mark.parametrize("kernel", SHARED)
def test_a_kernel_serves_more_than_one_method(kernel):
    users = sorted(home for home, reached in REACHED.items() if kernel in reached)
    assert len(users) > 1, f"it serves {', '.join(users) or 'nothing'}: move it beside its method"
