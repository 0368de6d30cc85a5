# `make demo` and `make test` need Python 3.11 or newer and nothing else.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: demo test coverage test-slow test-browser test-e2e test-all lint lock clean

demo: .venv/installed
	$(BIN)/python -m examples.register.demo demo

# A file's tests stay in one process, and share what they set up.
test: .venv/installed
	$(PYTEST) -m "not slow and not browser and not e2e" -n auto --maxprocesses 4 --dist loadfile

# The same, slower: which lines no test comes to.
coverage: .venv/installed
	$(PYTEST) -m "not slow and not browser and not e2e" -n auto --maxprocesses 4 --dist loadfile --cov --cov-report=term

# Runs repeated, revised and cut off, real tables within the time and memory promised, and processes killed.
test-slow: .venv/installed
	$(PYTEST) -m "slow and not browser and not e2e" -n auto --maxprocesses 4 --dist loadfile

# Pages in a real browser; skipped where there is none, and with RELEASEGATE_E2E_BROWSER=required they fail there.
test-browser: .venv/installed
	$(PYTEST) -m "browser and not e2e" tests/desk

# A real Prefect server and worker, and a real browser where there is one. RELEASEGATE_E2E_BROWSER=required fails
# where there is none.
test-e2e: .venv/installed
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		echo "no chromium or no chromedriver: no form is filled in (apt-get install chromium chromium-driver)"
	$(PYTEST) -m e2e tests/e2e

test-all: test test-slow test-browser test-e2e

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
