# Two commands: `make demo` shows what tamis does, `make test` proves it. Both start from a bare Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
ALL := --editable '.[neural,plot,cli,scale,signal]'

.PHONY: demo test lint bench clean

demo: .venv/core
	$(BIN)/python -m tamis demo

test: .venv/all lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

lint: .venv/all
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/peers
	$(BIN)/python -m bench probe
	$(BIN)/python -m bench gram-schmidt-speed
	$(BIN)/python -m bench dimension
	$(BIN)/python -m bench spectral
	$(BIN)/python -m bench spectral-speed
	$(BIN)/python -m bench agnos
	$(BIN)/python -m bench agnos-speed
	$(BIN)/python -m bench hidden-units
	$(BIN)/python -m bench fit-speed

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --upgrade pip hatchling editables
	$(PIP) --no-build-isolation --editable .
	touch $@

.venv/all: .venv/core
	$(PIP) --no-build-isolation $(ALL) --group test --group lint --group bench
	touch $@

.venv/peers: .venv/all
	$(PIP) --group peers
	touch $@
