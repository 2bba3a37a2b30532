# Each command sets up what it needs first; the second time that costs nothing.
PYTHON := .venv/bin/python
DOCS ?= samples/documents
QUESTION := Does the Standard plan cover eye exams?
export PORT

.PHONY: run index sync test bench check format requirements docs goldens proto setup

# With HOST=func it runs in Azure Functions Core Tools, where they are installed; else in our own local host.
run: setup
	@$(PYTHON) -m local.index_command --first samples/documents
ifneq ($(and $(filter func,$(HOST)),$(shell command -v func)),)
	@. .venv/bin/activate && func start --port $(or $(PORT),7071)
else
ifeq ($(HOST),func)
	@echo "Azure Functions Core Tools (func) are not installed: the local host runs the app instead."
endif
	@$(PYTHON) -m local --try "$(QUESTION)"
endif

index: setup
	@$(PYTHON) -m local.index_command "$(DOCS)"

sync: setup
	@$(PYTHON) -m local.index_command --sync

test: setup
	@$(PYTHON) -m pytest

# With BENCH=team only that one.
bench: setup
	@$(PYTHON) -m bench $(BENCH)

check: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright
	@$(PYTHON) tools/requirements.py --check
	@$(PYTHON) tools/bicep.py
	@$(PYTHON) -m pytest tests/infra
	@$(PYTHON) tools/derived_docs.py --check

format: setup
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

requirements: setup
	@$(PYTHON) tools/requirements.py

docs: setup
	@$(PYTHON) tools/derived_docs.py

# Rewrites the expected bytes of every protocol, and the documentation's tables of protocols; review them with git diff.
goldens: setup
	@$(PYTHON) -m tests.wire
	@$(PYTHON) tools/derived_docs.py

proto: setup
	@$(PYTHON) tools/proto.py

setup:
	@python3 tools/setup.py
