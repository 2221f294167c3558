"""The library's own checks on every instance of every method."""

import pytest

from tamis.testing import RANKER_CHECKS, instances


@pytest.mark.parametrize("check", RANKER_CHECKS, ids=lambda check: check.__name__)
# keeping nothing is a valid answer, and `transform` says so
@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize("ranker", instances(), ids=repr)
def test_ranker(ranker, check):
    check(ranker)
