# Each command sets up what it needs first; the second time that costs nothing.
PYTHON := .venv/bin/python
DOCS ?= samples/documents
export PORT HOST

.PHONY: run index test check format requirements setup

run: setup
	@$(PYTHON) -m local serve --samples samples/documents

index: setup
	@$(PYTHON) -m local index "$(DOCS)"

test: setup
	@$(PYTHON) -m pytest

check: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright
	@$(PYTHON) tools/requirements.py --check

format: setup
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

requirements: setup
	@$(PYTHON) tools/requirements.py

setup:
	@python3 tools/setup.py
