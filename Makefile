# Everything a person types. `make help` lists it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PACKAGES := connect connectors
ARGS ?=
TEST ?=
RUNS ?= 20
HISTORY_S ?= 600
SOAK_S ?= 3600
MIXED_S ?= 3600
QUICK := -q -n 4 -p no:schemathesis --dist loadfile -m quick tests/unit tests/shape
# The tests that need services. They wait for those most of the time, so two cores are busy with six processes.
PROCESSES ?= 6
SERVED = -q -p no:schemathesis -m "not quick and not chaos" $(BEYOND_CHECK) -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
# What `make check` leaves out: whole folders, and of the unit tests the files that hold more than quick ones.
BEYOND_CHECK := tests/integration tests/kit tests/spec tests/golden $(shell grep -rlE --include='*.py' 'mark.thorough|quick_first' tests/unit)
PACKAGE_FILES := pyproject.toml setup.py constraints.txt $(wildcard connect/native/src/* connectors/jdbc/native/src/* connectors/cassandra/native/src/*)
# On Linux a wheel is for every system with glibc 2.17: Zig's compiler links against the one that it is told, and auditwheel
# reads from the wheel what it asks for. The Python that runs Zig is isolated (-I) from the environment that pip builds in,
# which has no Zig. Elsewhere the platform's own compiler is taken.
ifeq ($(shell uname -s),Linux)
MACHINE := $(shell uname -m)
WHEEL_TOOLS := auditwheel ziglang
ZIG := $(CURDIR)/$(BIN)/python -I -m ziglang c++ -target $(MACHINE)-linux-gnu.2.17
WHEEL_COMPILER := CC="$(ZIG)" CXX="$(ZIG)" LDFLAGS=-s CONNECT_PLATFORM=manylinux_2_17_$(MACHINE)
WHEEL_CHECK := $(BIN)/auditwheel show dist/*-abi3-*.whl | grep -q '"manylinux_2_17_$(MACHINE)"' || \
	{ $(BIN)/auditwheel show dist/*-abi3-*.whl >&2; exit 1; }
else
WHEEL_TOOLS := setuptools
WHEEL_COMPILER :=
WHEEL_CHECK := true
endif
# Workers start task hosts, and tests start workers: compiling everything anew in each of them would double their start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo check lint units units-twice test test-twice flaky test-bigquery wheels mutants planted bench chaos soak sanitize reference screenshots docs clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/dev.installed ## Make .venv with the connect command and all that tests need

demo: $(VENV)/demo.installed ## Real data from a database through Kafka into S3 (ARGS="--exit --seed 7")
	$(BIN)/connect demo $(ARGS)

check: setup ## Format, lint, types, imports, unit tests: under a minute
	@$(MAKE) --no-print-directory --jobs=2 lint units

# Side by side: types are checked on one core.
lint:
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

# A third of their time they wait: two cores are busy with four processes.
units:
	$(BIN)/python -m pytest $(QUICK)

units-twice:
	$(BIN)/python -m tests.flaky.second_try $(QUICK)

test: check ## Every test, on real Kafka and S3
	$(BIN)/python -m pytest $(SERVED) $(ARGS)

test-twice: setup ## The same, and what failed once more, alone: a flaky test is shown with both outputs
	@$(MAKE) --no-print-directory --jobs=2 lint units-twice
	$(BIN)/python -m tests.flaky.second_try $(SERVED) $(ARGS)

flaky: setup ## Run a test again and again under load (TEST=tests/...::name RUNS=20)
	@test -n "$(TEST)" || { echo "Say make flaky TEST=tests/integration/...::test_name" >&2; exit 1; }
	$(BIN)/python -m tests.flaky.run_again --runs $(RUNS) $(TEST)

test-bigquery: setup ## The BigQuery sink on Google's service (PROJECT=... DATASET=prefix of the datasets it makes)
	@test -n "$(PROJECT)" -a -n "$(DATASET)" || { echo "Say make test-bigquery PROJECT=... DATASET=..." >&2; exit 1; }
	CONNECT_BIGQUERY_PROJECT=$(PROJECT) CONNECT_BIGQUERY_DATASET=$(DATASET) \
		$(BIN)/python -m pytest -q -rs -p no:schemathesis tests/integration/bigquery $(ARGS)

wheels: $(VENV)/bin/python ## Two wheels in dist/: one with native code for this platform, and a pure one
	rm -rf dist build/lib* build/bdist* build/temp*
	$(PIP) install --constraint constraints.txt $(WHEEL_TOOLS)
	$(WHEEL_COMPILER) $(PIP) wheel --no-deps --wheel-dir dist .
	@$(BIN)/python -m zipfile -l dist/*-abi3-*.whl | grep -c '_[a-z]*[.]abi3[.]so' | grep -qx 3 || \
		{ echo "The wheel lacks native code: see what '$(PIP) wheel -v .' says, with the variables above." >&2; exit 1; }
	@$(WHEEL_CHECK)
	rm -rf build/lib* build/bdist* build/temp*
	CONNECT_PURE=1 $(PIP) wheel --no-deps --wheel-dir dist .

mutants: setup ## Break each invariant once in a copy: fails where no quick test notices (ARGS="6:")
	$(BIN)/python -m tests.mutants.run_mutants $(ARGS)

planted: setup ## Plant each defect of a list in a copy: fails where no random history finds it (ARGS="cluster")
	$(BIN)/python -m tests.mutants.run_planted $(ARGS)

bench: setup ## Data paths and a cluster beside Java Connect; writes bench.json (ARGS="--only cluster")
	$(BIN)/python -m tests.bench $(ARGS)

chaos: sanitize ## Random histories of each part (HISTORY_S=600 seconds each); workers of two releases (MIXED_S=3600); ten seeds of kills; databases under stress; a gigabyte
	CONNECT_DRAWN_CASES=1 $(BIN)/python -m pytest -q -n 2 -p no:schemathesis -m hypothesis tests/unit tests/golden tests/kit
	CONNECT_HISTORY_S=$(HISTORY_S) $(BIN)/python -m pytest -q -s -p no:schemathesis --timeout=$$(($(HISTORY_S) + 900)) -m histories tests
	CONNECT_MIXED_S=$(MIXED_S) $(BIN)/python -m pytest -q -s -m chaos tests/kit tests/spec tests/unit/s3 tests/unit/bigquery tests/unit/cluster tests/integration
	CONNECT_STRESS_S=60 $(BIN)/python -m pytest -q -s tests/integration/jdbc/test_jdbc_stress.py \
		tests/integration/jdbc/test_jdbc_first_read.py
	$(BIN)/connect demo --exit --with bigquery,cassandra $(ARGS)
	@set -e; for seed in 1 2 3 4 5 6 7 8 9 10; do $(BIN)/connect demo --exit --seed $$seed $(ARGS); done

soak: setup ## Rows from a database to S3 and BigQuery for SOAK_S=3600 seconds, with restarts; a report in build/soak/soak.html
	CONNECT_SOAK_S=$(SOAK_S) $(BIN)/python -m pytest -q -s -p no:schemathesis tests/integration/e2e/test_e2e_soak.py

sanitize: setup ## The native code's tests under AddressSanitizer and UndefinedBehaviorSanitizer (needs g++)
	$(BIN)/python -m tests.sanitize.sanitize_native $(ARGS)

reference: setup ## Write connect/REFERENCE.md, the table of docs/reach.md and the picture of BigQuery's modes from the declarations
	$(BIN)/connect reference > connect/REFERENCE.md.new
	mv connect/REFERENCE.md.new connect/REFERENCE.md
	$(BIN)/python -m connect.tools.reference.reach_table docs/reach.md
	$(BIN)/python docs/site/bigquery_modes.py > docs/bigquery-modes.svg

screenshots: setup ## Take every picture of the documents anew, into docs/
	CONNECT_SCREENSHOTS=$(CURDIR)/docs $(BIN)/python -m pytest -q -p no:schemathesis -m '' tests/integration/ui/test_ui_pictures.py \
		tests/integration/backfill/test_backfill_pages.py \
		tests/integration/poc/test_poc_source.py::test_a_source_that_fits_passes_every_check_and_leaves_nothing_behind

docs: setup ## The documents as a site with a search, in build/docs/site
	$(BIN)/python docs/site/build_site.py

clean: ## Remove what setup made
	rm -rf $(VENV) build *.egg-info connect/native/*.so connectors/jdbc/native/*.so connectors/cassandra/native/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"Connect for Kafka needs Python 3.11 to 3.13, and {sys.executable} is {v[0]}.{v[1]}. Run: make PYTHON=/path/to/python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.installed: $(VENV)/bin/python $(PACKAGE_FILES)
	$(PIP) install --constraint constraints.txt --editable '.[demo]'
	@touch $@

$(VENV)/dev.installed: $(VENV)/bin/python $(PACKAGE_FILES)
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	$(PIP) install --constraint constraints.txt --no-deps sqlalchemy-firebird firebird-driver firebird-base \
		clickhouse-connect ibm-db-sa sqlalchemy-cockroachdb sqlalchemy-redshift
	@touch $@ $(VENV)/demo.installed
