# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test install dev lint types layers unit docs site clean

demo: install
	$(BIN)/tagfill demo

test: dev lint types layers site unit

install: $(VENV)/.installed
dev: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) -e ".[dev]"
	touch $@

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: dev
	$(BIN)/mypy

layers: dev
	$(BIN)/lint-imports

unit: dev
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term

site: dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

docs: install
	$(BIN)/python -m tagfill.methods._docs

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage tagfill-demo
