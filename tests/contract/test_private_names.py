"""scikit-learn's private names enter through tamis._sklearn and nowhere else."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tamis"
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "_sklearn.py"]


def private_imports(code: str) -> list[str]:
    """Names of scikit-learn that are imported and of which a part begins with an underscore, or is vendored."""
    imported = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
    of_scikit_learn = [name.split(".") for name in imported if name.split(".")[0] == "sklearn"]
    return [
        ".".join(parts)
        for parts in of_scikit_learn
        if any(part.startswith("_") or part == "externals" for part in parts)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_but_one_imports_private_names_of_scikit_learn(path):
    assert private_imports(path.read_text()) == [], "import it in tamis._sklearn, and from there"


@pytest.mark.parametrize(
    "code",
    [
        "from sklearn.utils import _safe_indexing",
        "from sklearn.utils._array_api import get_namespace",
        "import sklearn.linear_model._cd_fast as fast",
        "from sklearn.externals.array_api_compat import device",
        "def f():\n    from sklearn.base import _fit_context as fit_context",
    ],
)
def test_a_private_name_is_found_wherever_it_is_imported(code):
    assert len(private_imports(code)) == 1


def test_public_names_and_other_libraries_are_left_alone():
    assert (
        private_imports("from sklearn.base import clone\nfrom scipy._lib import x\nfrom tamis._sklearn import y") == []
    )
