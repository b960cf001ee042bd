# make reproduce        Figure 1 of the paper, into out/
# make test             everything: lint, format, types, import contract, doctests, tests
# make test-exhaustive  the same with ten times as many random problems
# make fuzz             a million random cases of solver, oracles, bandits and bounds (FUZZ=1000: fewer)
# make endurance        200,000 asks of every policy: nothing slows down, grows, or depends on saving
# make docs             the documentation as a site, into site/
# make study            Challenger against all other policies, into out-study/: an hour on two cores
# make kills            servers are killed under load, a thousand times in each of four settings
# make release        the package for an index, into dist/, tried in an empty environment
# make benchmarks       how fast oracles, bounds, policies and the engine are
PYTHON ?= python3
BIN := .venv/bin

FUZZ ?= 1000000

# How long the tests take as a rule: measure it anew when much has changed.
USUAL := about 15 minutes on two cores, with cold caches

.PHONY: expect install reproduce study test test-exhaustive fuzz endurance check docs kills release benchmarks clean

install: .venv/installed-test

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Armature needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

# The package, and nothing but it.
.venv/bin/armature: | .venv/bin/python
	@echo "installing into .venv"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .

.venv/installed-%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

reproduce: .venv/bin/armature
	$(BIN)/armature reproduce

study: .venv/bin/armature
	$(BIN)/python -m studies.challenger

check: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

expect:
	@echo "lint, formats, types and tests: $(USUAL)"

test: expect check
	$(BIN)/python -m pytest -n 2

test-exhaustive: check
	$(BIN)/python -m pytest -n 2 --exhaustive

fuzz: .venv/installed-test
	$(BIN)/python tests/helpers/fuzz.py --cases $(FUZZ)

endurance: .venv/installed-test
	$(BIN)/python tests/helpers/endurance.py

docs: .venv/installed-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

kills: .venv/installed-test
	$(BIN)/python tests/helpers/kill_service.py --kills 1000

# Built, checked, installed without anything else, and used once.
release: .venv/installed-release
	rm -rf dist build
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && empty/bin/armature --help >/dev/null && empty/bin/python -c \
	  "import armature as am; print(am.Bandit(am.Challenger(), am.Unimodal(3)).ask(), am.__version__)"

benchmarks: .venv/installed-bench
	$(BIN)/python benchmarks/oracles.py
	$(BIN)/python benchmarks/bounds.py
	$(BIN)/python benchmarks/policies.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/service.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
