# Two commands need nothing but Python 3.11 and make:  make demo   make test
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
# Byte code is worth a factor of two to three at every start; some machines switch it off.
RUN    := env -u PYTHONDONTWRITEBYTECODE

.PHONY: demo test check format bench docs wheel clean

demo: $(VENV)/.ready
	@$(RUN) $(BIN)/python -m hermes_cron.demo

test: $(VENV)/.ready-dev
	@scripts/debian-packages postgresql prometheus strace
	$(RUN) $(BIN)/python -m pytest -q -n auto $(PYTEST)

check: $(VENV)/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(RUN) $(BIN)/python -m pytest -q tests/docs

format: $(VENV)/.ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-dev
	@$(BIN)/python -m compileall -q hermes_cron $(VENV)/lib || true
	$(RUN) $(BIN)/python -m benchmarks $(BENCH)

docs: $(VENV)/.ready-dev
	$(BIN)/python docs/generate.py

wheel: $(VENV)/.ready-dev
	$(BIN)/uv build --quiet --out-dir dist

clean:
	rm -rf $(VENV) dist build

$(VENV)/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hermes-cron needs Python 3.11 or newer; set PYTHON="; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'

$(VENV)/.ready: pyproject.toml uv.lock | $(VENV)/bin/uv
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --no-dev --extra postgres --inexact --compile-bytecode
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --all-extras --inexact --compile-bytecode
	@touch $@
