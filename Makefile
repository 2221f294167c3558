# Two commands: `make demo` shows what tamis does, `make test` proves it. Both start from a bare Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := -m pip install --quiet --disable-pip-version-check --constraint
PIP := $(BIN)/python $(INSTALL) constraints.txt
PIP_OLDEST := .venv-oldest/bin/python $(INSTALL) constraints-oldest.txt
ALL := --editable '.[neural,plot,cli,scale,signal]'
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -q

.PHONY: demo test check lint coverage test-slow test-oldest adversary bench wheel clean

demo: .venv/core
	$(BIN)/python -m tamis demo

test: .venv/all lint
	$(PYTEST) -n 2

# Lint, types and the tests of what changed since main, or of one folder: make check FAMILY=backward
check: .venv/all lint
	$(ONE_THREAD) $(BIN)/python tests/changed.py $(FAMILY)

lint: .venv/all
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: .venv/all
	$(PYTEST) -n 2 --cov --cov-report=term:skip-covered

# What takes long for reasons of its own: the wheel in a bare environment
test-slow: .venv/all
	$(PYTEST) -m slow

# The suite with the lowest versions that pyproject.toml names
test-oldest: .venv-oldest/all
	$(ONE_THREAD) .venv-oldest/bin/python -m pytest -q -n 2 -W default

# Thousands of bad files, arrays and signals; the seed is printed: make adversary CASES=20000 SEED=1
CASES ?= 5000
adversary: .venv/all
	$(ONE_THREAD) $(BIN)/python -m tests.adversary --cases $(CASES) $(if $(SEED),--seed $(SEED))

bench: .venv/peers
	$(BIN)/python -m bench all --record

wheel: .venv/core
	$(BIN)/python -m hatchling build --target wheel

clean:
	rm -rf .venv .venv-oldest build dist .coverage .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --upgrade pip hatchling editables
	$(PIP) --no-build-isolation --editable .
	touch $@

.venv/all: .venv/core
	$(PIP) --upgrade setuptools # some test packages come as source only, and older versions cannot build wheels
	$(PIP) --no-build-isolation $(ALL) --group test --group lint --group bench
	touch $@

.venv/peers: .venv/all
	$(PIP) --group peers
	touch $@

.venv-oldest/all: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	$(PIP_OLDEST) --upgrade pip hatchling editables setuptools
	$(PIP_OLDEST) --no-build-isolation $(ALL) --group test
	touch $@
