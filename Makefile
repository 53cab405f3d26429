# Set-up and the two jobs: `make run` and `make test`. A second call installs nothing.

PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
TOOLS := .venv-tools/bin
PIP := python -m pip --disable-pip-version-check install --quiet
LOCKED := $(PIP) --require-hashes --no-deps --no-build-isolation --requirement
PROJECT := $(PIP) --no-deps --no-build-isolation --editable .
AUDIT := $(TOOLS)/pip-audit --strict --disable-pip --progress-spinner off
COMPILE := ../$(TOOLS)/uv pip compile --quiet --universal --python-version 3.11 \
  --generate-hashes --no-annotate --no-emit-index-url --custom-compile-command "make lock" $(UPGRADE)

.PHONY: run test check browser format docs docs-site wheel golden golden-check bench published torture compatible lock audit clean

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
	$(BIN)/lint-imports --no-logo
	$(BIN)/python docs/plain_words.py

format: .venv/.for-development
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The generated pages and tables of the documentation.
docs: .venv/.for-development
	$(BIN)/python docs/tables.py

# The documentation as a site, in build/site; nothing in it comes from elsewhere.
docs-site: .venv/.for-development
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The package as one file, in dist/.
wheel: .venv/.base
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# What the behaviour tests compare with, written anew; all questions of all configurations: minutes.
golden: .venv/.for-development
	HARNESS_TEST_FULL=1 HARNESS_TEST_GOLDEN=write $(BIN)/python -m pytest --quiet tests/behaviour

golden-check: .venv/.for-development
	HARNESS_TEST_FULL=1 $(BIN)/python -m pytest --quiet tests/behaviour

bench: .venv/.for-development
	$(BIN)/python benchmarks/table.py

# Tables that others published, from data that you downloaded: `make published PUBLISHED=FOLDER`.
published: .venv/.for-development
	$(BIN)/python benchmarks/published.py

# The long part of the tests: hours. Its table goes into docs/reliability.md.
torture: .venv/.for-development
	$(BIN)/$(LOCKED) requirements/torture.txt
	$(BIN)/python -m torture.table

# Weekly: the oldest and the newest libraries that pyproject.toml allows, on every Python here.
compatible: .venv-tools/.ready
	$(TOOLS)/python -m torture.compatible

# After a change of dependencies. `make lock UPGRADE=--upgrade` takes the newest of everything.
lock: .venv-tools/.ready
	cd requirements && \
	  $(COMPILE) ../pyproject.toml build.in --extra dev --output-file development.txt && \
	  for name in use build torture tools; do cp development.txt $$name.txt; done && \
	  $(COMPILE) ../pyproject.toml build.in --extra offline --extra fast --extra static --output-file use.txt && \
	  for name in build torture tools; do $(COMPILE) $$name.in --output-file $$name.txt || exit; done

# Known holes in what is locked. The database is on the internet.
audit: .venv-tools/.ready
	$(AUDIT) --require-hashes $(addprefix --requirement requirements/,development.txt torture.txt tools.txt)
	$(AUDIT) --no-deps --requirement requirements/torch.txt

clean:
	rm -rf .venv .venv-tools .harness .pytest_cache .mypy_cache .ruff_cache

# requirements/ pins everything with hashes, torch aside: its build depends on the machine, and pip
# may choose one with several gigabytes of CUDA. What torch asks for beside CUDA is there before it.
.venv/.base: requirements/build.txt requirements/use.txt requirements/torch.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(BIN)/$(LOCKED) requirements/build.txt
	$(BIN)/$(LOCKED) requirements/use.txt
	$(BIN)/$(PIP) --requirement requirements/torch.txt
	touch $@

.venv/.for-use: .venv/.base pyproject.toml
	$(BIN)/$(PROJECT)
	touch $@

.venv/.for-development: .venv/.base pyproject.toml requirements/development.txt
	$(BIN)/$(LOCKED) requirements/development.txt
	$(BIN)/$(PROJECT)
	touch $@ .venv/.for-use

.venv-tools/.ready: requirements/tools.txt
	$(PYTHON) -m venv .venv-tools
	$(TOOLS)/$(LOCKED) requirements/tools.txt
	touch $@
