# `make demo` and `make test` need Python 3.11 or newer and nothing else.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# A file's tests stay in one process, and share what they set up.
PARALLEL := -n auto --maxprocesses 4 --dist loadfile
# The longest files are divided: whoever is done takes tests from the other.
DIVIDED := -n auto --maxprocesses 4 --dist worksteal
# Nine thousand tests are compiled once, not by each process of each target; so are our modules for each command.
unexport PYTHONDONTWRITEBYTECODE
# Files in which there are tests of a kind.
of_kind = tests/$(1) $$(grep -rlw --include='test_*.py' 'mark\.$(1)' tests/unit tests/spec tests/integration)
FAST := not (integration or prefect or faults or browser or e2e or nightly) or smoke

.PHONY: demo test coverage test-integration test-prefect test-faults test-browser test-e2e test-base test-nightly test-all lint lock clean

demo: .venv/installed
	$(BIN)/python -m examples.register.demo demo

# docs/testing.md says which kinds of tests there are, and how long each takes.
test: .venv/installed
	RELEASEGATE_TEST_CPU_SECONDS=2 $(PYTEST) -m "$(FAST)" $(PARALLEL)

# Which lines no test comes to, but those of a browser and of the night.
coverage: .venv/installed
	$(PYTEST) -m "$(FAST)" $(PARALLEL) --cov --cov-report=
	$(PYTEST) -m integration $(PARALLEL) --cov --cov-append --cov-report=
	$(PYTEST) -m "prefect and not smoke" --cov --cov-append --cov-report=
	$(PYTEST) -m faults $(PARALLEL) --cov --cov-append --cov-report=term

# Whole flows in process, without a server.
test-integration: .venv/installed
	$(PYTEST) -m integration $(PARALLEL) $(call of_kind,integration)

# What only Prefect's server shows, and commands in processes of their own.
test-prefect: .venv/installed
	$(PYTEST) -m "prefect and not smoke" $(call of_kind,prefect)

# Kills, full disks, altered stores and two processes at once: one fixed case of each kind.
test-faults: .venv/installed
	$(PYTEST) -m faults $(PARALLEL) $(call of_kind,faults)

# Pages in a real browser; skipped where there is none, and with RELEASEGATE_E2E_BROWSER=required they fail there.
test-browser: .venv/installed
	$(PYTEST) -m browser $(PARALLEL) tests/browser

# A real Prefect server and worker, and a real browser where there is one. RELEASEGATE_E2E_BROWSER=required fails
# where there is none.
test-e2e: .venv/installed
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		echo "no chromium or no chromedriver: no form is filled in (apt-get install chromium chromium-driver)"
	$(PYTEST) -m e2e tests/e2e

# What is installed without extras makes a release, in an environment of its own.
test-base: .venv/installed
	PYTHON=$(PYTHON) tools/try_base.sh

# Each test is told as it ends. Faults in loops, 500 examples a property, benchmarks, papers, real tables, every command of the docs.
test-nightly: .venv/installed
	RELEASEGATE_EXAMPLES=nightly RELEASEGATE_E2E_BROWSER=required $(PYTEST) -v -m "nightly or (hypothesis and not (prefect or faults or browser or e2e))" \
		$(DIVIDED)

test-all: test test-integration test-prefect test-faults test-browser test-e2e test-base

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock:
	PYTHON=$(PYTHON) tools/lock.sh

clean:
	rm -rf .venv demo

# The stamp is newer than the pins: a second run installs nothing.
.venv/installed: requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@
