"""scikit-learn's own tests of RFE and RFECV, run on ours: exactly those that are listed here, with a reason, fail."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import feature_selection
from sklearn.linear_model import LinearRegression

from tests.rank.backward.scikit_learn_rfe import RFE, RFECV

# Each is a line of docs/from-scikit-learn.md.
DIFFERENT = {
    "test_RFE_fit_score_params": "`fit` takes no parameters but `sample_weight` and `row_groups`",
    "test_rfe_allow_nan_inf_in_x[None]": "infinite values are refused by the name of their column",
    "test_rfe_allow_nan_inf_in_x[5]": "infinite values are refused by the name of their column",
    "test_rfe_n_features_to_select_warning[RFE-n_features_to_select]": "the warning is there, in other words",
    "test_rfe_n_features_to_select_warning[RFECV-min_features_to_select]": (
        "`min_features` above the number of features is no mistake: all are kept"
    ),
    "test_results_per_cv_in_rfecv": "the scores of every fold are kept, its ranking is not",
}
PAGE = Path(__file__).parents[3] / "docs" / "from-scikit-learn.md"


def import_with(selectors):
    """scikit-learn's module of tests with other selectors in the place of its own, where its decorators see them."""
    spec = importlib.util.find_spec("sklearn.feature_selection.tests.test_rfe")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple("sklearn.feature_selection", **selectors):
        spec.loader.exec_module(module)
    return module


TESTS = {name: test for name, test in vars(import_with({"RFE": RFE, "RFECV": RFECV})).items() if name[:5] == "test_"}
globals().update(TESTS)


def test_the_page_lists_what_does_not_pass_and_nothing_else():
    listed = [line for line in PAGE.read_text().splitlines() if line.startswith("| `test_")]
    assert listed == [f"| `{name}` | {reason} |" for name, reason in DIFFERENT.items()]


@pytest.mark.parametrize("theirs", [feature_selection.RFE, feature_selection.RFECV])
def test_the_page_says_for_every_parameter_and_attribute_there_what_it_is_here(theirs):
    there = [row.split("|")[1] for row in PAGE.read_text().splitlines() if row.startswith("| `")]
    fitted = theirs(LinearRegression()).fit(np.eye(6), np.arange(6.0))
    attributes = {name for name in vars(fitted) if name.endswith("_")} - {"n_features_in_"}
    for name in {*inspect.signature(theirs).parameters, *attributes} - {"estimator"}:
        assert any(re.search(rf"\b{name}\b", cell) for cell in there), name


@pytest.fixture
def global_random_seed():
    """scikit-learn's tests run with any of 100; this is its default."""
    return 42


@pytest.fixture(autouse=True)
def expect(request, monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # one of the tests replaces it for good
    if request.node.name in DIFFERENT:
        request.applymarker(pytest.mark.xfail(reason=DIFFERENT[request.node.name], strict=True))
    with parallel_config(backend="threading"):  # some ask for two jobs; processes would take longer to start
        yield


pytestmark = pytest.mark.filterwarnings("ignore")  # scikit-learn's tests are written for its own filters
