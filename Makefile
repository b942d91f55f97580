# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FAST := tests/losses tests/evaluate tests/observe tests/linear tests/labels/test_table.py \
  tests/labels/test_split.py tests/labels/test_stats.py tests/methods/test_registry.py \
  tests/test_settings.py tests/test_files.py tests/test_console.py
MODELS := $(addprefix tests/models/test_,backbones.py weight_sources.py network.py graphs.py presets.py)
NOTEBOOKS := -p nbmake.pytest_plugin --nbmake --nbmake-timeout=600
TESTERS := pytest pytest-xdist pytest-timeout pytest-cov hypothesis httpx
# Each process of a test imports torch: compiled modules are kept, even where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: torture torture-ray torture-files torture-server locked audit bench demo test fast quick install dev hooks lint types layers unit coverage doctest lowest newest notebooks docs site dist services clean

demo: install
	$(BIN)/tagfill demo

test: dev
	$(MAKE) -j 2 types site doctest lint layers
	$(MAKE) unit

# The tests that take seconds, for every save: pure functions, labels, settings, one run of a method.
fast: dev
	$(MAKE) -j 3 lint types quick

quick: dev
	$(BIN)/python -m pytest -q -n 2 -m "not slow" $(FAST)

install: $(VENV)/.installed
dev: $(VENV)/.installed-dev

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[serve]"
	touch $@

# One resolution for everything; modules are compiled when they are imported, most never are.
$(VENV)/.installed-dev: pyproject.toml constraints.txt tests/serve/studio.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile -e ".[dev]"
	$(PIP) --no-compile --no-deps -r tests/serve/studio.txt
	touch $(VENV)/.installed $@

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: dev
	$(BIN)/mypy

layers: dev
	$(BIN)/lint-imports

doctest: dev
	$(BIN)/python -m pytest -q --doctest-modules --ignore=src/tagfill/serve/migrations src

hooks: dev
	$(BIN)/pre-commit install

# The oldest and the newest versions of the dependencies that pyproject.toml allows; torch then comes with its CUDA packages (6 GB).
lowest newest:
	$(PYTHON) -m venv .venv-$@
	$(PYTHON) benchmarks/versions.py $@ > .venv-$@/constraints.txt
	.venv-$@/bin/python -m pip install --quiet -c .venv-$@/constraints.txt \
	  -e ".[serve,postgres,onnx,tune,hf,lite,tensorboard]" $(TESTERS)
	.venv-$@/bin/python -m pytest -q -n 2 -m "not slow" $(FAST) $(MODELS)

# What some tests need from Debian; where apt does not work they skip and say so.
services:
	@if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  (apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
	    chromium postgresql libimage-exiftool-perl) >/dev/null 2>&1 \
	  || echo "services: apt-get did not work; tests that need Chromium, PostgreSQL or exiftool skip"; \
	else echo "services: no apt-get, or not root; tests that need Chromium, PostgreSQL or exiftool skip"; fi

# A file's tests run in one process, so that its servers and runs are started once; long files first.
unit: dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(NOTEBOOKS) tests examples

# The same tests, and a share of lines and branches that must not fall; about half as long again.
coverage: dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term

# The tests that disturb on purpose, at many more moments and with many more files. Ray comes first and alone: it gives up
# on a machine that is busy for 15 seconds. Then both halves side by side, to their end; half an hour is the server's.
torture: dev
	$(MAKE) torture-ray
	$(MAKE) -k -j 2 torture-files torture-server

torture-ray: dev
	TAGFILL_TORTURE=10 $(BIN)/python -m pytest -q --timeout 3600 tests/jobs

torture-files: dev
	TAGFILL_TORTURE=10 TAGFILL_MUTATIONS=10000 $(BIN)/python -m pytest -q --timeout 14400 tests/torture tests/labels/test_mutations.py tests/models/test_bundle.py tests/train/test_strange_runs.py tests/serve/test_jobs.py

torture-server: dev
	TAGFILL_SOAK_SECONDS=1800 $(BIN)/python -m pytest -q tests/serve/test_soak.py

notebooks: dev
	$(BIN)/python -m pytest -q -n 2 $(NOTEBOOKS) examples

site: dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# Wheel and sdist, installed into a clean environment and run outside of the repository.
dist: dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv dist/clean
	dist/clean/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd dist && clean/bin/tagfill --version && clean/bin/tagfill scenes drawn --count 60 \
	  && clean/bin/tagfill train drawn --out run --mode linear && clean/bin/tagfill predict run drawn/images
	$(BIN)/cyclonedx-py environment dist/clean --output-reproducible -o dist/sbom.json
	rm -rf dist/clean dist/drawn dist/run

# The web app with files whose hashes are known (Linux, Python 3.11), in an environment of its own.
locked:
	$(PYTHON) -m venv .venv-locked
	.venv-locked/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	.venv-locked/bin/python -m pip install --quiet --no-deps -e .
	.venv-locked/bin/python -m pip check && .venv-locked/bin/tagfill --version

# Faults and secrets in the code, and known faults of what it needs; the last needs the network and says what it skips.
audit:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check bandit pip-audit detect-secrets
	.venv-audit/bin/bandit --quiet --recursive --severity-level medium src
	git ls-files -z | xargs -0 .venv-audit/bin/detect-secrets-hook --disable-plugin KeywordDetector \
	  --disable-plugin Base64HighEntropyString --disable-plugin HexHighEntropyString --exclude-files 'docs/images/'
	.venv-audit/bin/pip-audit --disable-pip --no-deps -r requirements.lock

bench: install
	$(BIN)/python benchmarks/performance.py

docs: install
	$(BIN)/python -m tagfill.methods._docs

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest .venv-locked .venv-audit .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage tagfill-demo site dist
