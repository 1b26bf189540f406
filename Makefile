# Two commands on a fresh machine: `make demo` and `make test`. Everything is set up in .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
SPARK := .venv/.spark

# Seed of `make test-order`; the tests print it.
ORDER ?= $(shell date +%s)

.PHONY: demo test test-slow test-order test-versions test-cluster audit laws lint docs bench bench-scale setup clean mutants

demo: $(READY)
	$(BIN)/dpsparse demo --out out

test: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow and not cluster"

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto -m "slow and not cluster"

# Workers in processes of their own: Dask, and Spark where Java is installed (Debian: default-jre-headless).
test-cluster: $(SPARK)
	$(BIN)/python -m pytest -W ignore tests/cluster

test-order: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow and not cluster" --order $(ORDER)

test-versions:
	$(PYTHON) tests/versions.py

audit: $(READY)
	$(BIN)/python -m pytest -n auto tests/attacks tests/audit

laws: $(READY)
	$(BIN)/python -m pytest -n auto tests/laws -m "not slow and not cluster"

mutants: $(READY)
	cd tests && ../$(BIN)/python -m mutants.run

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/pip install -q -c constraints.txt -e ".[docs]"
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(READY)
	$(BIN)/python -m benchmarks

# What a question costs on a cluster beside its work, rates, and a simulation for a cluster that is not here.
bench-scale: $(SPARK)
	$(BIN)/python -m benchmarks.scale_cluster --engine dask
	@if command -v java > /dev/null; then $(BIN)/python -m benchmarks.scale_cluster --engine spark --count 10 --recipes select_polish; \
	else echo "Spark is left out: Java is not installed"; fi
	$(BIN)/python -m benchmarks.simulate_cluster

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	@touch $(READY)

$(SPARK): $(READY)
	@if command -v java > /dev/null; then $(BIN)/pip install -q -c constraints.txt -e ".[spark]"; \
	else echo "Spark is left out: Java is not installed"; fi
	@touch $(SPARK)

clean:
	rm -rf .venv .venvs out docs/_build
