# Every target sets itself up: `make test` on a fresh clone needs only Python >= 3.11 and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test test-fast test-kernels lint format clean
.PHONY: bench bench-cases bench-export bench-rigs bench-real bench-search docs-cases

install: $(STAMP)

# pyproject.toml and the version are what an editable install depends on; sources are picked up live.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "adjoin needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $(STAMP)

# Its files are made again each time: nothing of yours is in that folder.
demo: install
	@mkdir -p demo
	@cd demo && $(CURDIR)/$(BIN)/adjoin demo --force

# A worker per core; tests/conftest.py says which gets what.
WORKERS := --numprocesses auto --maxprocesses 4

test: install
	$(BIN)/python -m pytest $(WORKERS)

test-fast: install
	$(BIN)/python -m pytest $(WORKERS) -m "not slow"

test-kernels: install
	$(BIN)/python -m pytest -q tests/kernels tests/test_model.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python benchmarks/free_run.py
	$(BIN)/python benchmarks/forward.py
	$(BIN)/python benchmarks/osa_speed.py
	$(BIN)/python benchmarks/abc_speed.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/after_sampling.py
	$(BIN)/python benchmarks/sweep.py

bench-cases: install
	$(BIN)/python benchmarks/osa_academic.py
	$(BIN)/python benchmarks/osa_silverbox.py
	$(BIN)/python benchmarks/abc_academic.py
	$(BIN)/python benchmarks/abc_silverbox.py
	$(BIN)/python benchmarks/waves.py prediction simulation abc
	$(BIN)/python benchmarks/narmax.py
	$(BIN)/python benchmarks/simulation_academic.py
	$(BIN)/python benchmarks/simulation_silverbox.py

# Exported C against Python, 300 random models; a C compiler is needed.
bench-export: install
	$(BIN)/python benchmarks/exported.py

bench-rigs: install
	$(BIN)/python benchmarks/drive.py
	$(BIN)/python benchmarks/offset.py
	$(BIN)/python benchmarks/rigs.py --json rigs.jsonl
	$(BIN)/python benchmarks/discover.py rigs --grid rigs.jsonl
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/advice.py

# Measured records, from ADJOIN_DATA or ../shared/data; REAL="--only building --no-test" for a part.
bench-real: install
	$(BIN)/python benchmarks/real.py $(REAL)

# Whether chains find what is there, and agree: planted systems, then measured records; hours.
bench-search: install
	$(BIN)/python benchmarks/planted.py delays
	$(BIN)/python benchmarks/planted.py alphabet
	$(BIN)/python benchmarks/planted.py masses
	$(BIN)/python benchmarks/abc_calibration.py
	$(BIN)/python benchmarks/mixing.py
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/averages.py
	$(BIN)/python benchmarks/forward_selection.py
	$(BIN)/python benchmarks/simulation_records.py
	$(BIN)/python benchmarks/discover.py records --seed 0 --seed 1 --seed 2

# The pages in docs/cases, by full runs: three quarters of an hour on two cores.
docs-cases: install
	cd docs/cases && for case in academic waves silverbox; do \
	  ../../$(BIN)/adjoin case $$case --out $$case --force || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
