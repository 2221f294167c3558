"""Every method and rule is exported, checked, tested and documented; the message names what was forgotten."""

import ast
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import tokenize
from pathlib import Path

import pytest
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin

import tamis
import tamis.assess
import tamis.dictionary
import tamis.dimension
import tamis.learn
import tamis.plots
import tamis.rank
import tamis.rank.stochastic
import tamis.stop
import tamis.table
from tamis.base import CAPABILITIES, Ranker, StoppingRule, rule_names
from tamis.testing.instances import ARGUMENTS

ROOT = Path(__file__).parents[2]


def modules_of(package) -> list:
    return [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not found.ispkg
    ]


def public_classes(package, base: type) -> list[type]:
    """Classes defined in a private module that is named after them."""
    found = []
    for module in modules_of(package):
        for name, value in vars(module).items():
            own = inspect.isclass(value) and value.__module__ == module.__name__ and issubclass(value, base)
            if own and not name.startswith("_") and module.__name__.endswith("._" + snake(name)):
                found.append(value)
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


METHODS = public_classes(tamis.rank, Ranker)
CLASSIFIERS = public_classes(tamis.learn, ClassifierMixin)
SELECTORS = [*public_classes(tamis.table, SelectorMixin), tamis.AutoSelector]
RULES = public_classes(tamis.stop, StoppingRule)
LEARNERS = [getattr(tamis.rank.stochastic, name) for name in tamis.rank.stochastic.__all__ if name != "SubsetLearner"]


@pytest.mark.parametrize("method", [*METHODS, *CLASSIFIERS, *SELECTORS], ids=lambda c: c.__name__)
def test_a_method_is_exported(method):
    assert method.__name__ in tamis.__all__, "add it to src/tamis/__init__.pyi"
    assert getattr(tamis, method.__name__) is method


@pytest.mark.parametrize("method", METHODS, ids=lambda c: c.__name__)
def test_a_method_is_checked_at_its_boundaries(method):
    each = ARGUMENTS.get(method.__name__)
    assert each, "add a line to src/tamis/testing/instances.py"
    assert len(each) >= 2
    stops = [arguments.get("stop", "auto") for arguments in each]
    assert 1 in stops, "k = 1 is missing in src/tamis/testing/instances.py"
    assert None in stops, "k = D (stop=None) is missing in src/tamis/testing/instances.py"


@pytest.mark.parametrize("method", [*METHODS, *CLASSIFIERS, *SELECTORS], ids=lambda c: c.__name__)
def test_a_method_has_a_test_file(method):
    folder = Path(*method.__module__.split(".")[1:-1])
    assert (ROOT / "tests" / folder / f"test_{snake(method.__name__)}.py").is_file()


@pytest.mark.parametrize("method", [*METHODS, *CLASSIFIERS], ids=lambda c: c.__name__)
def test_a_method_has_a_line_in_the_docs(method):
    assert f"| `{method.__name__}` |" in (ROOT / "docs" / "methods.md").read_text(), "add it to docs/methods.md"


@pytest.mark.parametrize("method", METHODS, ids=lambda c: c.__name__)
def test_the_docs_say_whether_a_method_takes_groups_weights_and_sparse_tables(method):
    lines = re.findall(rf"^\| `{method.__name__}` \|.*$", (ROOT / "docs" / "methods.md").read_text(), re.MULTILINE)
    cell = lines[0].split("|")[5]
    assert ("groups" in cell) == ("groups" in method().provides)
    assert ("weights" in cell) == ("sample_weight" in method().provides)
    assert ("sparse" in cell) >= ("sparse" in method().provides)


@pytest.mark.parametrize("method", METHODS, ids=lambda c: c.__name__)
def test_what_a_method_provides_is_a_known_capability(method):
    assert method().provides <= CAPABILITIES.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda c: c.__name__)
def test_a_rule_is_exported_tested_and_documented(rule):
    assert rule.__name__ in tamis.stop.__all__, "add it to src/tamis/stop/__init__.py"
    assert rule in StoppingRule._registry.values(), 'give it a name: class YourRule(StoppingRule, name="your-rule")'
    assert (ROOT / "tests" / "stop" / f"test_{snake(rule.__name__)}.py").is_file()
    assert f"| `{rule.__name__}` |" in (ROOT / "docs" / "rules.md").read_text(), "add it to docs/rules.md"


def test_what_is_exported_exists_and_is_a_method_or_a_classifier():
    for name in tamis.__all__:
        value = getattr(tamis, name)
        assert name == "__version__" or value in [*METHODS, *CLASSIFIERS, *SELECTORS]
    assert sorted(tamis.__all__) == dir(tamis)
    assert len(rule_names()) == len(RULES) == len(tamis.stop.__all__)


def test_an_unknown_name_says_so():
    with pytest.raises(AttributeError, match="NoSuchMethod"):
        _ = tamis.NoSuchMethod


NOT_FOR_USE = {"Dictionary", "FiniteDictionary", "Parameter"}  # what dictionaries are made of
DICTIONARIES = [getattr(tamis.dictionary, name) for name in tamis.dictionary.__all__ if name not in NOT_FOR_USE]
DOCUMENTED = [*METHODS, *CLASSIFIERS, *SELECTORS, *RULES, *LEARNERS, *DICTIONARIES]


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda c: c.__name__)
def test_a_docstring_holds_objective_parameters_and_example(documented):
    text = inspect.getdoc(documented)
    if documented is not tamis.stop.TopK:
        assert ".. math::" in text or ":math:" in text
    for section in ("Parameters\n---", "Notes\n---", "Examples\n---"):
        assert section in text
    for parameter in inspect.signature(documented).parameters:
        assert re.search(rf"^(\w+, )*{parameter}(, \w+)* :", text, re.MULTILINE), f"{parameter} is not documented"
    if issubclass(documented, Ranker | ClassifierMixin):
        assert "Attributes\n---" in text
        assert "References\n---" in text


def documented_modules() -> list:
    packages = (
        tamis.rank,
        tamis.learn,
        tamis.table,
        tamis.stop,
        tamis.dimension,
        tamis.dictionary,
        tamis.assess,
        tamis.plots,
    )
    named = [
        importlib.import_module(f"tamis.{name}")
        for name in ("datasets._generators", "datasets._motor_imagery", "testing")
    ]
    return [module for package in packages for module in modules_of(package)] + named


@pytest.mark.parametrize("module", documented_modules(), ids=lambda m: m.__name__)
def test_the_examples_in_docstrings_run(module, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert doctest.testmod(module).failed == 0


def test_contributing_shows_the_code_as_it_is():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    blocks = re.findall(r"<!-- include: (\S+) -->\n```python\n(.*?)```\n<!-- end -->", text, re.DOTALL)
    assert blocks
    for path, code in blocks:
        assert code == (ROOT / path).read_text(), f"CONTRIBUTING.md shows another version of {path}"


def lines_of_code(path: Path) -> int:
    """Lines that hold code: neither blank nor comment nor docstring."""
    text = path.read_text()
    blank = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            code.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(code)


def test_a_method_reads_in_one_sitting():
    for module in modules_of(tamis.rank) + modules_of(tamis.learn) + modules_of(tamis.stop):
        assert lines_of_code(Path(module.__file__)) <= 300, module.__name__


def test_what_is_no_code_is_not_counted_as_such(tmp_path):
    text = '"""A module.\n\nTwo lines of code."""\n\n# why\ndef one():\n    """Return 1."""\n    return 1  # no more\n'
    (tmp_path / "module.py").write_text(text)
    assert lines_of_code(tmp_path / "module.py") == 2
