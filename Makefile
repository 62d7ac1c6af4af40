# make serve   start a broker; ARGS="--port 9093 ..." are its arguments
# make build   compile what has changed
# make test    run every test, in two processes; ARGS="-k name ..." are pytest's arguments
# make check   the quick answer: lint, types, and the quick tests of the rooms
# make docs    build the documentation in build/docs
#
# They set up .venv first: Python 3.11+ with its venv module is all they need. A C compiler makes
# the broker fast; without one its modules run as they are.

PYTHON ?= python3
ARGS ?=
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
# what is compiled again when it changes: the sources that the last build noted, by setup.py
SOURCES := pyproject.toml setup.py $(wildcard $(addprefix broker_lite/,$(shell cat broker_lite/native.*.sums 2>/dev/null | cut -d' ' -f2)))
# the tests of make check
CHECKED := $(addprefix tests/,tidy errors settings wire record protocol coordinator control log handler explain)

.PHONY: serve build test check docs
.DELETE_ON_ERROR:

serve: $(VENV)/installed
	@exec $(BIN)/broker-lite serve $(ARGS)

# one build for all: after a test the stamp of the tests is the one that counts
build: $(or $(wildcard $(VENV)/installed-test),$(VENV)/installed)

test: $(VENV)/installed-test
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder $(ARGS)

check: $(VENV)/installed-test
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet tests/tidy/test_tidy.py
	$(BIN)/python -m pytest --quiet --numprocesses $(WORKERS) --dist loadscope --no-loadscope-reorder \
	  -m "not slow and not kafka and not client" $(CHECKED) $(ARGS)

docs: $(VENV)/installed-test
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky docs build/docs
	@echo "built: build/docs/index.html"

# a virtual environment that works; one that was begun and not finished is made anew
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "broker-lite: Python 3.11 or newer is needed: apt install python3 (or PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "broker-lite: $(PYTHON) lacks its venv module: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

$(VENV)/installed: $(SOURCES) | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-test: $(SOURCES) | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[spark,registry,lake,test,lint,docs]'
	@touch $@ $(VENV)/installed
