# Each command installs what it needs first, and no more; the second time that costs nothing.
PYTHON := .venv/bin/python
QUESTION := Does the Standard plan cover eye exams?
# The unit tests: neither the hosted app nor what generates requests for it is even read. tests/kinds.py finds them.
UNIT := -m "unit and not reading and not nightly" -n 3 --dist worksteal --ignore tests/app -p no:schemathesis
export PORT CORS BICEP
# Containers often set it: every start would then compile each package anew, and cost twice the time.
unexport PYTHONDONTWRITEBYTECODE
# The tests read scans and make vectors: they take the packages that a user gets with OCR=local and EMBEDDINGS=local.
test unit nightly coverage check live bench soak: export SETUP_EXTRAS := 1

COMMANDS := help run index sync api-key test unit nightly coverage newest live bench eval feedback person audit teams-app soak check format release requirements docs figures screenshots goldens proto setup setup-run setup-test setup-evaluation
.PHONY: $(COMMANDS)

# A slip is an error before anything runs: a word that is no command, such as a folder without DOCS=, and a name that neither
# a command here nor the app knows, such as docs= or port=.
OWN := ALLOWED_HOSTS ARGS BASE BENCH BICEP CLIENT COMPARE CORS DOCS ERASE HOST ID MINUTES NAME OPEN OUT PORT PYTHON QUESTION QUESTIONS RAI_REFERENCE_FAULTS RAI_REFERENCE_POLICY SAMPLES SETUP_EXTRAS SINCE T VERSION WHO
GIVEN := $(foreach word,$(MAKEOVERRIDES),$(if $(findstring =,$(word)),$(firstword $(subst =, ,$(word)))))
GIVEN := $(foreach name,$(filter-out $(OWN),$(GIVEN)),$(if $(filter command,$(origin $(name))),$(name)))
ifneq ($(GIVEN),)
SETTINGS := $(shell sed -n 's/^ *"\([A-Za-z_]*\)":.*/\1/p' local.settings.sample.json)
$(foreach name,$(filter-out $(SETTINGS) OTEL_% WEBSITE_% AzureFunctionsJobHost__% AzureWebJobs%,$(GIVEN)),$(error $(name)= is no name that make or the app knows. Names are in capitals, such as DOCS=folder and PORT=7072; `make help` has those of make, docs/settings.md those of the app))
endif
$(foreach word,$(filter-out $(COMMANDS),$(MAKECMDGOALS)),$(error There is no command '$(word)'. `make help` lists them; a folder of documents is indexed by `make index DOCS=$(word)`))

help: ## say what each command does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# With HOST=func it runs in Azure Functions Core Tools, where they are installed; else in our own local host.
run: setup ## serve the app on http://127.0.0.1:7071/api; OPEN=1 opens its page, PORT=7072 moves it, CORS=http://localhost:3000 lets its pages call, ALLOWED_HOSTS=host.docker.internal lets containers call, HOST=func uses Core Tools
	@$(PYTHON) -m local.index_command --first samples/documents $(IF_SOME_FAILED)
ifneq ($(and $(filter func,$(HOST)),$(shell command -v func)),)
	@. .venv/bin/activate && func start --port $(or $(PORT),7071) $(if $(CORS),--cors "$(CORS)")
else
ifeq ($(HOST),func)
	@echo "Azure Functions Core Tools (func) are not installed: the local host runs the app instead."
endif
	@$(PYTHON) -m local --try "$(QUESTION)" $(if $(OPEN),--open)
endif

# Code 3: documents failed and others are indexed, so that the command has done what it can.
IF_SOME_FAILED := || { code=$$?; [ $$code = 3 ] && echo "What failed is named above, each with why; the other documents are indexed." || exit $$code; }

index: setup ## index a folder of documents: make index DOCS=folder; the samples: DOCS=samples
	@$(PYTHON) -m local.index_command "$(if $(filter samples,$(DOCS)),samples/documents,$(DOCS))" $(IF_SOME_FAILED)

sync: setup ## index what has changed in the container of documents, and finish what has broken off
	@$(PYTHON) -m local.index_command --sync $(IF_SOME_FAILED)

api-key: setup ## make an API key for a caller: make api-key NAME=nightly-report
	@$(PYTHON) -m local.api_key_command "$$NAME"

test: setup-test ## run all tests, or those of a part: make test T=tests/wire
ifdef T
	@$(PYTHON) -m pytest --durations=10 $(T)
else
	@$(PYTHON) -m pytest --durations=30 -m "not nightly" -n 4 --dist loadfile --no-loadscope-reorder -p no:schemathesis
endif

unit: setup-test ## run the tests that start no process, on two cores
	@$(PYTHON) -m pytest --durations=10 $(UNIT)

nightly: setup-test ## run what `make test` leaves out: what takes long and seldom finds anything
	@$(PYTHON) -m pytest --durations=20 -m "nightly or hypothesis" --hypothesis-profile ci

newest: setup-test ## take the newest of each client in the tests, and write the table of docs/clients.md if all pass
	@$(PYTHON) -m tests.clients.newest

coverage: setup-test ## run the unit tests and report which lines of shared/ they reach
	@COVERAGE_CORE=sysmon $(PYTHON) -m pytest $(UNIT) --cov=shared --cov-report=term:skip-covered

live: setup-test ## run the contract tests against the real services that the settings name
	@$(PYTHON) -m tests.live

bench: setup-test ## run the benchmarks, or one: make bench BENCH=team
	@$(PYTHON) -m bench $(BENCH)

eval: setup-evaluation ## measure answers: make eval SAMPLES=1; QUESTIONS=file.jsonl [DOCS=folder] [BASE=url]; COMPARE="a.json b.json"
	@$(PYTHON) -m evaluation $(if $(QUESTIONS),--questions "$(QUESTIONS)") $(if $(SAMPLES),--samples) \
	  $(if $(COMPARE),--compare $(COMPARE)) $(if $(DOCS),--docs "$(DOCS)") \
	  $(if $(BASE),--base "$(BASE)") $(if $(OUT),--out "$(OUT)") $(ARGS)

feedback: setup ## write what callers said of answers as questions: make feedback OUT=questions.jsonl
	@$(PYTHON) -m local.feedback_command "$(or $(OUT),.data/feedback/questions.jsonl)"

person: setup ## export or delete what is kept of a person: make person ID=name OUT=person.zip; make person ID=name ERASE=1
	@$(PYTHON) -m local.person_command "$(ID)" $(if $(ERASE),--erase,--out "$(OUT)")

audit: setup ## print the audit record: make audit SINCE=2026-11-27 WHO=key:name
	@$(PYTHON) -m local.audit_command $(if $(SINCE),--since "$(SINCE)") $(if $(WHO),--who "$(WHO)")

teams-app: ## make the package for Teams: make teams-app ID=client-id NAME="Contoso chat" WHO=Contoso BASE=https://contoso.com CLIENT=client-id OUT=teams-app.zip
	@python3 tools/teams_app.py --bot "$(ID)" --name "$(NAME)" --organisation "$(WHO)" --website "$(BASE)" --client "$(CLIENT)" --out "$(or $(OUT),teams-app.zip)"

soak: setup-test ## run the app under load with kills and faults, and report what does not hold: make soak MINUTES=3
	@$(PYTHON) -m tests.soak $(MINUTES)

check: setup-test ## check lint, formats, types, infra/ (with BICEP=, or a bicep on the path), pipelines and generated files
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/pyright
	@$(PYTHON) tools/requirements.py --check
	@$(PYTHON) -m tests.infra.snapshots --check
	@$(PYTHON) tools/models.py
	@$(PYTHON) tools/figures.py --check
	@.venv/bin/actionlint -shellcheck .venv/bin/shellcheck
	@.venv/bin/check-jsonschema --quiet --regex-variant nonunicode --builtin-schema vendor.azure-pipelines .azdo/pipelines/*.yml
	@.venv/bin/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	@.venv/bin/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/fault.yml
	@.venv/bin/hadolint Dockerfile
	@.venv/bin/shellcheck .ci/run infra/hooks/*.sh
	@$(PYTHON) tools/vendor.py --check
	@$(PYTHON) tools/page_types.py
	@$(PYTHON) tools/derived_docs.py --check
	@$(PYTHON) -m tests.clients.table --check

format: setup-test ## format, and mend what the linter can
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

release: ## give what is unreleased a version: make release VERSION=0.2.0
	@python3 tools/release.py "$$VERSION"

requirements: setup-test ## write requirements.txt from uv.lock
	@$(PYTHON) tools/requirements.py

docs: setup-test ## write what the code decides: OpenAPI, settings, tables of protocols and of clients
	@$(PYTHON) tools/derived_docs.py
	@$(PYTHON) -m tests.clients.table

figures: setup-test ## write the size of what is deployed to bench/figures.json, which `make check` compares
	@$(PYTHON) tools/figures.py

screenshots: setup-test ## take the pictures of the playground for docs/images/
	@$(PYTHON) -m tests.app.playground.screenshots

goldens: setup-test ## write the expected bytes of every protocol and the docs' tables of protocols; review with git diff
	@$(PYTHON) -m tests.wire
	@$(PYTHON) tools/derived_docs.py

proto: setup-test ## generate the gRPC messages of rai.proto
	@$(PYTHON) tools/proto.py

setup: setup-run ## install what runs the app; OCR=local: what reads scans too; EMBEDDINGS=local: what makes vectors

setup-test: ## install also what checks and tests it

setup-run setup-test setup-evaluation:
	@cd / && python3 "$(CURDIR)/tools/setup.py" $(@:setup-%=%) # from elsewhere: pyenv would insist on .python-version for any python3
