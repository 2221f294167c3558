"""Every benchmark can be found and run by name."""

import importlib

import pytest

from bench.__main__ import BENCHES


@pytest.mark.parametrize("module", BENCHES.values())
def test_a_benchmark_has_a_run_function_with_a_quick_mode(module):
    assert importlib.import_module(module).run.__kwdefaults__ == {"quick": False}
