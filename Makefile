# make test             everything: lint, format, types, import contract, doctests, tests
# make test-exhaustive  the same with ten times as many random problems
# make benchmarks       how fast oracles, bounds, policies and the engine are
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install test test-exhaustive check benchmarks clean

install: .venv/installed-test

.venv/installed-%: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Armature needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

check: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n 2

test-exhaustive: check
	$(BIN)/python -m pytest -n 2 --exhaustive

benchmarks: .venv/installed-bench
	$(BIN)/python benchmarks/oracles.py
	$(BIN)/python benchmarks/bounds.py
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
