"""Run the tests of what changed since main, or of the families named: ``make check``, ``make check FAMILY=backward``.

A module's tests are its own file in the mirrored folder, or the whole folder if it has none; those of a method include
our checks on its instances. scikit-learn's checks, and what uses a changed kernel, are left to ``make test``.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"


def changed_paths() -> list[str]:
    """Since the branch left main, committed or not, and files that git does not know yet."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return [*_git("diff", "--name-only", *base), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()


def tests_of(path: str) -> set[Path]:
    """Test files and folders of one path of the repository."""
    match PurePosixPath(path).parts:
        case ("src", "tamis", *folders, name):
            folder = TESTS.joinpath(*folders)
            own = folder / f"test_{PurePosixPath(name).stem.lstrip('_')}.py"
            return {own} if own.exists() else {folder} if folder.exists() and folders else set()
        case ("tests", "oracles", name):
            used = f"oracles.{PurePosixPath(name).stem} "
            return {test for test in TESTS.rglob("test_*.py") if used in test.read_text()}
        case ("tests", *_, name) if name.startswith("test_") and (ROOT / path).exists():
            return {ROOT / path}
        case ("docs", *_) | ("README.md",):
            return {TESTS / "docs"}
    return set()


def methods_of(path: str) -> set[str]:
    """Rankers that a module defines, or all of its family if it defines none and they may share it."""
    named = re.findall(r"from (\S+)\._(\w+) import (\w+)", (ROOT / "src" / "tamis" / "__init__.pyi").read_text())
    module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    own = {name for package, file, name in named if f"{package}._{file}" == module}
    return own or {name for package, _, name in named if package == module.rpartition(".")[0]}


def family(name: str) -> list[str]:
    """The folders of that name, such as ``src/tamis/rank/backward`` of backward, by their ``__init__.py``."""
    found = [path for path in sorted((ROOT / "src" / "tamis").rglob(name)) if path.is_dir()]
    if not found:
        raise SystemExit(f"there is no folder {name!r} in src/tamis")
    return [f"{folder.relative_to(ROOT).as_posix()}/__init__.py" for folder in found]


def commands(paths: Iterable[str]) -> list[list[str]]:
    """Arguments of pytest: what to run, and the common checks of the methods concerned."""
    paths = list(paths)
    targets = {TESTS / "contract"}.union(*map(tests_of, paths))
    targets = {each for each in targets if not targets.intersection(each.parents)}
    methods = set().union(*(methods_of(path) for path in paths if path.startswith("src/tamis/rank/")))
    found = [sorted(str(each.relative_to(ROOT)) for each in targets)]
    return [*found, ["tests/common/test_ranker_checks.py", "-k", " or ".join(sorted(methods))]] if methods else found


def main(families: list[str]) -> int:
    for arguments in commands(chain.from_iterable(map(family, families)) if families else changed_paths()):
        code = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "2", *arguments], cwd=ROOT).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
