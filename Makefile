# Set-up and the two jobs: `make run` and `make test`. A second call installs nothing.

PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: run test check browser format bench clean

run: .venv/.for-use
	$(BIN)/python -m harness run config.yaml

test: check browser
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

# The browser that tests drive: Debian's, where there is none and apt may install it.
browser:
	@[ -n "$$CHROMIUM$$(command -v chromium || command -v chromium-browser || command -v google-chrome)" ] || \
	  { $(SUDO) apt-get update -qq && \
	    $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	      apt-get install -qq --yes --no-install-recommends chromium fonts-liberation; } >/dev/null 2>&1 || \
	  echo "no browser here, and apt installs none: the tests that drive one are skipped"

check: .venv/.for-development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/.for-development
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.for-development
	$(BIN)/python benchmarks/table.py

clean:
	rm -rf .venv .harness .pytest_cache .mypy_cache .ruff_cache

# torch comes first and by itself: left to its dependents, pip may choose a build with several
# gigabytes of CUDA. The build tools are pinned like all else, so the build is not isolated.
.venv/.base: constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(PIP) torch
	$(PIP) hatchling editables
	touch $@

.venv/.for-use: .venv/.base pyproject.toml
	$(PIP) --no-build-isolation --editable '.[offline,fast,static]'
	touch $@

.venv/.for-development: .venv/.base pyproject.toml
	$(PIP) --no-build-isolation --editable '.[dev]'
	touch $@ .venv/.for-use
