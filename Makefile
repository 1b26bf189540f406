# Two commands on a fresh machine: `make demo` and `make test`. Everything is set up in .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# Seed of `make test-order`; the tests print it.
ORDER ?= $(shell date +%s)

.PHONY: demo test test-slow test-order test-versions audit laws lint docs bench bench-speed bench-scale setup clean mutants

demo: $(READY)
	$(BIN)/dpsparse demo --out out

test: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest -n auto -m slow

test-order: $(READY)
	$(BIN)/python -m pytest -n auto -m "not slow" --order $(ORDER)

test-versions:
	$(PYTHON) tests/versions.py

audit: $(READY)
	$(BIN)/python -m pytest -n auto tests/attacks tests/audit

laws: $(READY)
	$(BIN)/python -m pytest -n auto tests/laws -m "not slow"

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

# Speed and memory against goals and peers, which get environments of their own in .venvs; tables and plots go into docs.
bench-speed: $(READY)
	$(BIN)/python -m benchmarks.speed.peers .venvs/speed
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.speed --peers .venvs/speed --docs docs

# Rows that do not fit in memory. A smaller one: make bench-scale ROWS=500000 FEATURES=100000 LIMIT=300MB
ROWS ?= 20000000
FEATURES ?= 1000000
NONZEROS ?= 50
LIMIT ?= 2GB
SCALED ?= select_polish

bench-scale: $(READY)
	$(BIN)/python -m benchmarks.out_of_core --parse
	$(BIN)/python -m benchmarks.out_of_core --rows $(ROWS) --features $(FEATURES) --nonzeros $(NONZEROS) --memory-limit $(LIMIT) --recipes $(SCALED)

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e ".[dev]"
	@touch $(READY)

clean:
	rm -rf .venv .venvs out docs/_build
