# make demo    install into .venv and ask three small brains a few questions
# make test    everything that must hold: lint, types, imports, tests
# make help    the rest

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
JOBS ?= 2
FUZZ_SECONDS ?= 180

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test pytest lint format readme soak fuzz realfiles bench clean venv-semantic venv-dev

help:
	@echo 'make demo     install into $(VENV) and ask three small brains a few questions'
	@echo 'make test     lint, types, imports, tests'
	@echo 'make lint     lint, types and imports alone'
	@echo 'make pytest   tests alone; PYTEST_ARGS="-k fusion" chooses, JOBS=4 side by side'
	@echo 'make soak     the long runs; PYTEST_ARGS=--soak-examples=10000 makes them shorter'
	@echo 'make fuzz     queries nobody wrote, against the guard and the seal; FUZZ_SECONDS=600 for longer with atheris'
	@echo 'make bench    the benchmarks that there are, and how to run one'
	@echo 'make realfiles DIR=... every file below a folder through its reader: how many, how many passages, what failed'
	@echo 'make readme   put the output of the demo into the README'
	@echo 'make format   put the code into its format'
	@echo 'make clean    remove everything that was made here, $(VENV) included'
	@echo
	@echo 'PYTHON=python3.12 chooses the interpreter, 3.11 or newer; now: $(PYTHON)'

demo: venv-semantic
	@BIN='$(CURDIR)/$(BIN)' sh demo/run.sh

test: lint pytest

pytest: venv-dev
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

lint: venv-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

format: venv-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

readme: demo
	@$(BIN)/python demo/readme.py

realfiles: venv-dev
	$(BIN)/python bench/bench_readers.py real $(DIR)

soak: venv-dev
	$(BIN)/python -m pytest -m soak -n $(JOBS) $(PYTEST_ARGS)

fuzz: venv-dev
	@if $(BIN)/python -c 'import atheris' 2>/dev/null; then \
	    nice -n 10 $(BIN)/python tests/fuzz/fuzz_guard.py -max_total_time=$(FUZZ_SECONDS); \
	else \
	    echo 'without coverage: `$(BIN)/pip install atheris` is what guides by it'; \
	    $(BIN)/python -m pytest -m soak tests/sql/test_fuzz.py $(PYTEST_ARGS); \
	fi

bench: venv-dev
	@for file in bench/bench_*.py; do \
	    [ -f "$$file" ] || { echo 'no benchmark yet'; break; }; \
	    printf '%s/python %s\n    ' '$(BIN)' "$$file"; \
	    sed -n 's/^"""//; s/"""$$//; 1p' "$$file"; \
	done

clean:
	rm -rf $(VENV) demo-project build dist src/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv-semantic venv-dev: venv-%:
	@PYTHON='$(PYTHON)' .ci/venv $*
